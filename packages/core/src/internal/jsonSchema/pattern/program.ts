/**
 * Turns the tree of a pattern into a program for the matcher: an automaton whose states are followed all at once.
 *
 * Owns: the states, and the bound of their number. Counted repetitions are written out, so that a short text can ask for
 * very many.
 * May not touch: texts to match.
 */
import type { CharSet } from "./charSet.js"
import type { Budget } from "./match.js"
import { type EdgeKind, Refused, type Tree } from "./parse.js"

/** One state. Each but `Match` goes on to `next`; `Split` goes on to both. */
export type State =
  | { readonly _tag: "Chars"; readonly set: CharSet; readonly next: number }
  | { readonly _tag: "Split"; readonly next: number; readonly other: number }
  | { readonly _tag: "Edge"; readonly kind: EdgeKind; readonly next: number }
  | { readonly _tag: "Look"; readonly index: number; readonly isNegated: boolean; readonly next: number }
  | { readonly _tag: "Match" }

/** An automaton. It reads a text forwards or, to find where a look-ahead holds, backwards. */
export interface Program {
  readonly states: ReadonlyArray<State>
  readonly start: number
  readonly isBackward: boolean
  /** Whether nothing can match but from the start of the text. */
  readonly isAnchored: boolean
}

/** A pattern: its program, and those of its look-arounds, each after the ones inside it. */
export interface Compiled {
  readonly main: Program
  readonly looks: ReadonlyArray<Program>
}

const maxWork = 20_000

export const compile = (tree: Tree, budget: Budget): Compiled => {
  const writer = new Writer(budget)
  const main = writer.program(tree, false)
  return { main, looks: writer.looks }
}

class Writer {
  readonly looks: Array<Program> = []
  private readonly indexes = new Map<Tree, number>()
  private states: Array<State> = []
  private isBackward = false
  private work = 0

  constructor(private readonly budget: Budget) {}

  program(tree: Tree, isBackward: boolean): Program {
    const outer = [this.states, this.isBackward] as const
    this.states = [{ _tag: "Match" }]
    this.isBackward = isBackward
    const start = this.write(tree, 0)
    const program = { states: this.states, start, isBackward, isAnchored: !isBackward && isAnchored(tree) }
    ;[this.states, this.isBackward] = outer
    return program
  }

  /** Writes a tree that goes on to the state `next`, and says where it begins. */
  private write(tree: Tree, next: number): number {
    if (++this.work > maxWork || --this.budget.steps < 0) throw new Refused("it is too large")
    switch (tree._tag) {
      case "Chars":
        return this.add({ _tag: "Chars", set: tree.set, next })
      case "Edge":
        return this.add({ _tag: "Edge", kind: tree.kind, next })
      case "Look":
        return this.add({ _tag: "Look", index: this.lookIndex(tree), isNegated: tree.isNegated, next })
      case "Sequence":
        return this.isBackward
          ? tree.items.reduce((next, item) => this.write(item, next), next)
          : tree.items.reduceRight((next, item) => this.write(item, next), next)
      case "Choice":
        return tree.items
          .map((item) => this.write(item, next))
          .reduceRight((other, start) => this.add({ _tag: "Split", next: start, other }))
      case "Repeat":
        return this.writeRepeat(tree.item, tree.min, tree.max, next)
    }
  }

  private writeRepeat(item: Tree, min: number, max: number, next: number): number {
    let start = next
    if (max === Infinity) {
      start = this.states.length
      this.states.push({ _tag: "Match" })
      const body = this.write(item, start)
      this.states[start] = { _tag: "Split", next: body, other: next }
    } else {
      // Each one that need not be there leads out of all that follow it, so that few states are followed at a time.
      for (let i = min; i < max; i++) start = this.add({ _tag: "Split", next: this.write(item, start), other: next })
    }
    for (let i = 0; i < min; i++) start = this.write(item, start)
    return start
  }

  private lookIndex(tree: Tree & { readonly _tag: "Look" }): number {
    const known = this.indexes.get(tree)
    if (known !== undefined) return known
    const program = this.program(tree.item, !tree.isBehind)
    const index = this.looks.push(program) - 1
    this.indexes.set(tree, index)
    return index
  }

  private add(state: State): number {
    return this.states.push(state) - 1
  }
}

const isAnchored = (tree: Tree): boolean => {
  switch (tree._tag) {
    case "Edge":
      return tree.kind === "start"
    case "Sequence":
      return tree.items.length > 0 && isAnchored(tree.items[0]!)
    case "Choice":
      return tree.items.every(isAnchored)
    default:
      return false
  }
}
