/**
 * From the text of a schema to its nodes.
 *
 * Owns: one node per schema and the order of work, which has no recursion, so that neither a deep schema nor a long chain of
 * references is a danger; and the list of what can't be decided.
 * May not touch: what keywords mean, which is in `keywords/`.
 */
import * as McpError from "../../McpError.js"
import { isObject } from "../protocol/json.js"
import type { Dialect } from "./dialect.js"
import { addKeywords } from "./keywords/index.js"
import { type Check, Node } from "./node.js"
import { make as makePattern, type Pattern } from "./pattern/pattern.js"
import { cut } from "./problems.js"
import { Document, type Resource, type Schema } from "./resource.js"
import { Unknown } from "./verdict.js"

export interface Compiled {
  readonly root: Node
  /** Why parts of it can't be decided. */
  readonly undecidable: ReadonlyArray<string>
  /** How much memory it takes, roughly, in bytes. */
  readonly size: number
}

const maxNodes = 100_000
const maxUndecidable = 16

/** Of all patterns of a schema together: their characters, and the states that they become. */
const maxPatternWork = 100_000

export const compile = (schema: unknown): Compiled => {
  const document = new Document(schema, maxNodes)
  const wasDynamic = document.isDynamic
  const compiled = compileIn(document)
  // What is under a keyword that nobody knows is only found by who is led there, and then nodes know too little of the way.
  return document.isDynamic === wasDynamic ? compiled : compileIn(document)
}

const compileIn = (document: Document): Compiled => {
  const compiler = new Compiler(document)
  const root = compiler.node(document.root.root, document.root, "#")
  compiler.work()
  if (!compiler.isTooLarge) return { root, size: compiler.size, undecidable: compiler.undecidable }
  return neverDecided("it has too many schemas in it")
}

/** What stands for a schema of which nothing can be said. */
export const neverDecided = (reason: string): Compiled => {
  const root = new Node()
  root.any.push((_, run) => run.unknown(reason))
  return { root, size: 0, undecidable: [reason] }
}

class Compiler {
  readonly undecidable: Array<string> = []
  private readonly nodes = new Map<unknown, Node>()
  private readonly patterns = new Map<string, Pattern | string>()
  private readonly pending: Array<Place> = []
  private readonly always = new Node()
  private readonly never = new Node()
  private left = maxNodes
  private readonly patternBudget = { steps: maxPatternWork }

  constructor(readonly document: Document) {
    this.never.types = 0
  }

  get isTooLarge(): boolean {
    return this.left < 0 || this.document.isTooLarge
  }

  get size(): number {
    return 1000 * (maxNodes - this.left) + 100 * (maxPatternWork - this.patternBudget.steps)
  }

  work(): void {
    for (let place = this.pending.pop(); place !== undefined; place = this.pending.pop()) {
      if (this.isTooLarge) return
      addKeywords(place)
    }
  }

  /** The node of a schema, whose checks are added later. */
  node(schema: unknown, outer: Resource, at: string): Node {
    if (schema === true) return this.always
    if (schema === false) return this.never
    const known = this.nodes.get(schema)
    if (known !== undefined) return known
    this.left--
    const node = new Node()
    if (!isObject(schema)) {
      node.any.push(this.giveUp(at, "is not a schema"))
      return node
    }
    const resource = this.document.homeOf(schema) ?? outer
    if (this.document.isDynamic) node.resource = resource
    this.nodes.set(schema, node)
    this.pending.push(new Place(this, schema, resource, node, at))
    return node
  }

  pattern(source: string): Pattern | string {
    const known = this.patterns.get(source)
    if (known !== undefined) return known
    const pattern = makePattern(source, this.patternBudget)
    this.patterns.set(source, pattern)
    return pattern
  }

  /** A check of what can't be decided. */
  giveUp(at: string, why: string): Check<unknown> {
    const reason = McpError.displayText(`${at} ${why}`, 300)
    if (this.undecidable.length < maxUndecidable && !this.undecidable.includes(reason)) this.undecidable.push(reason)
    return (_, run) => {
      run.unknown(reason)
      return Unknown
    }
  }
}

/** A schema at its place in the document, as keywords see it. */
export class Place {
  readonly dialect: Dialect

  constructor(
    private readonly compiler: Compiler,
    readonly schema: Schema,
    readonly resource: Resource,
    readonly node: Node,
    readonly at: string
  ) {
    this.dialect = resource.dialect
  }

  get document(): Document {
    return this.compiler.document
  }

  /**
   * The value of a keyword. Nothing where it is not there, or no value that the keyword can have: then it can't be decided for
   * the values that the keyword looks at, whose checks are in `checks`.
   */
  read<A, V>(keyword: string, is: (u: unknown) => u is A, checks: Array<Check<V>>): A | undefined {
    if (!this.has(keyword)) return undefined
    const value = this.schema[keyword]
    if (is(value)) return value
    checks.push(this.giveUp(keyword, "is not what the keyword can be"))
    return undefined
  }

  has(keyword: string): boolean {
    return Object.hasOwn(this.schema, keyword)
  }

  child(keyword: string): Node | undefined {
    return this.has(keyword) ? this.nodeOf(this.schema[keyword], keyword) : undefined
  }

  children<V>(keyword: string, checks: Array<Check<V>>): ReadonlyArray<Node> {
    const list = this.read(keyword, isList, checks) ?? []
    return list.map((schema, index) => this.nodeOf(schema, `${keyword}/${index}`))
  }

  named<V>(keyword: string, checks: Array<Check<V>>): ReadonlyMap<string, Node> {
    const map = this.read(keyword, isObject, checks) ?? {}
    return new Map(Object.keys(map).map((name) => [name, this.nodeOf(map[name], `${keyword}/${cut(name, 64)}`)]))
  }

  nodeOf(schema: unknown, under: string): Node {
    return this.compiler.node(schema, this.resource, `${this.at}/${under}`)
  }

  /** The node of a schema elsewhere in the document. */
  nodeAt(schema: unknown, resource: Resource, reference: string): Node {
    return this.compiler.node(schema, resource, reference)
  }

  /** The pattern, or the check of what can't be decided. */
  pattern(source: string, keyword: string): Pattern | Check<unknown> {
    const pattern = this.compiler.pattern(source)
    return typeof pattern === "string"
      ? this.giveUp(keyword, `is a pattern that can't be decided: ${pattern}`)
      : pattern
  }

  giveUp(keyword: string, why: string): Check<unknown> {
    return this.compiler.giveUp(`${this.at}/${keyword}`, why)
  }
}

export const isList = (u: unknown): u is ReadonlyArray<unknown> => Array.isArray(u)
