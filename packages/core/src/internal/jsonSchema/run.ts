/**
 * One validation of one value: what it may still cost, where in the value it is, and what it has found.
 *
 * Owns: the budgets, the path, the problems, and what counts as evaluated so far.
 * May not touch: what keywords mean.
 */
import { Evaluated } from "./evaluated.js"
import type { Node } from "./node.js"
import { type PathKey, type Problem, Problems } from "./problems.js"
import type { Resource } from "./resource.js"
import { Invalid, Unknown, type Verdict } from "./verdict.js"

/** The resources on the way from the root of the schema to here, the last one first. */
export interface DynamicScope {
  readonly resource: Resource
  readonly outer: DynamicScope | undefined
}

/** Writing a problem down costs more than finding it. */
const stepsOfProblem = 50

export class Run {
  steps: number
  /** Why the verdict is unknown, if it is. */
  reason: string | undefined
  /** What is evaluated of the value at hand; nothing where nobody asks. */
  evaluated: Evaluated | undefined
  scope: DynamicScope | undefined
  private depth = 0
  private readonly path: Array<PathKey> = []

  constructor(steps: number, private readonly maxDepth: number, private problems: Problems | undefined) {
    this.steps = steps
  }

  /** Whether problems are being collected. Otherwise the first one is the end. */
  get isCollecting(): boolean {
    return this.problems !== undefined
  }

  /** Whether nothing that follows can change the verdict, nor is wanted. */
  isSettled(verdict: Verdict): boolean {
    return this.steps < 0 || (verdict === Invalid && (this.problems === undefined || this.problems.isFull))
  }

  /** Pays for work. `false` where that can't be paid: then nothing more is decided. */
  spend(steps: number): boolean {
    return (this.steps -= steps) >= 0 || this.isSpent()
  }

  private isSpent(): false {
    this.reason ??= "it takes too many steps"
    return false
  }

  enter(): boolean {
    if (--this.steps < 0) return this.isSpent()
    if (++this.depth <= this.maxDepth) return true
    this.steps = -1
    this.reason = "it leads too deep, or round in circles"
    return false
  }

  leave(): void {
    this.depth--
  }

  unknown(reason: string): Verdict {
    this.reason ??= this.steps < 0 ? "it takes too many steps" : reason
    return Unknown
  }

  fail(problem: string): Verdict {
    if (this.problems !== undefined) {
      this.steps -= stepsOfProblem
      this.problems.add(this.path, problem)
    }
    return Invalid
  }

  failAt(key: PathKey, problem: string): Verdict {
    if (this.problems === undefined) return Invalid
    this.path.push(key)
    this.fail(problem)
    this.path.pop()
    return Invalid
  }

  /** A value inside the one at hand. It is another one, so that nothing of it is evaluated yet. */
  inside(node: Node, value: unknown, key: PathKey): Verdict {
    const outer = this.evaluated
    this.evaluated = undefined
    if (this.problems !== undefined) this.path.push(key)
    const verdict = node.apply(value, this)
    if (this.problems !== undefined) this.path.pop()
    this.evaluated = outer
    return verdict
  }

  /** Whether a value fits, of which neither the problems nor what is evaluated count: of one inside, or of one way. */
  aside(node: Node, value: unknown): Verdict {
    const outer = this.evaluated
    this.evaluated = undefined
    const verdict = this.quietly(node, value)
    this.evaluated = outer
    return verdict
  }

  quietly(node: Node, value: unknown): Verdict {
    const outer = this.problems
    this.problems = undefined
    const verdict = node.apply(value, this)
    this.problems = outer
    return verdict
  }

  /** One of several ways for the same value: what it evaluates counts only where it is valid. */
  branch(node: Node, value: unknown): Verdict {
    const outer = this.evaluated
    if (outer === undefined) return node.apply(value, this)
    this.evaluated = new Evaluated()
    const verdict = node.apply(value, this)
    this.steps -= outer.add(this.evaluated, verdict)
    this.evaluated = outer
    return verdict
  }

  branchQuietly(node: Node, value: unknown): Verdict {
    const outer = this.problems
    this.problems = undefined
    const verdict = this.branch(node, value)
    this.problems = outer
    return verdict
  }

  /** The same, with its problems in a list of their own; an empty one where none are collected. */
  branchApart(node: Node, value: unknown, into: Array<Problems>): Verdict {
    const outer = this.problems
    if (outer === undefined) return this.branch(node, value)
    this.problems = new Problems()
    const verdict = this.branch(node, value)
    if (verdict === Invalid) into.push(this.problems)
    this.problems = outer
    return verdict
  }

  /** None of the ways is right: what is wrong with them, the one that came closest first. */
  failAll(apart: ReadonlyArray<Problems>): Verdict {
    this.problems?.addClosest(this.path, apart)
    return Invalid
  }

  found(): ReadonlyArray<Problem> {
    return this.problems?.list ?? []
  }
}
