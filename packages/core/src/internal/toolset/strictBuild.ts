/**
 * Builds strict nodes from what the schemas of a place say.
 *
 * Owns: closing, requiring, unions, references among the new nodes, and where `null` was added.
 * May not touch: the original; what must hold for all nodes together, which is checked when they are all there.
 */
import type { JsonObject } from "../../McpProtocol.js"
import { inside, maxDepth, own } from "./strictDocument.js"
import type { Document, Part, Parts } from "./strictDocument.js"
import { gather, isReference } from "./strictFacts.js"
import type { Facts } from "./strictFacts.js"
import { includesType, typeOf, typesOf } from "./strictNodes.js"
import type { Origin, StrictGraph, StrictNode } from "./strictNodes.js"

/** What is done with properties that may be absent. */
export type Optional = "require" | "nullable"

/** A union, to be looked at when all nodes are there. */
export interface BuiltUnion {
  readonly node: StrictNode
  readonly path: string
  readonly exclusive: boolean
}

/** A property that is null where it would be absent. */
export interface FillIn {
  readonly bare: StrictNode
  readonly path: string
  /** Whether the original says itself that absent is as good as null. */
  readonly isNullByDefault: boolean
}

/** The nodes of one schema, and what is still to be checked. */
export interface Built extends StrictGraph {
  readonly names: ReadonlyMap<string, StrictNode>
  readonly unions: ReadonlyArray<BuiltUnion>
  readonly fillIns: ReadonlyArray<FillIn>
}

/** Objects and their properties may be called anything, also `__proto__`: entries never assign. */
const frozen = (entries: Iterable<readonly [string, unknown]>): StrictNode => Object.freeze(Object.fromEntries(entries))

const nothing: StrictNode = Object.freeze({ type: "null" })

export class Builder {
  private readonly origins = new Map<StrictNode, Origin>()
  private readonly unions: Array<BuiltUnion> = []
  private readonly fillIns: Array<FillIn> = []
  /** By the schema that is referred to. */
  private readonly references = new Map<JsonObject, string>()
  private readonly names = new Map<string, StrictNode>()
  private readonly taken = new Set<string>()
  private readonly waiting: Array<{ readonly name: string; readonly part: Part }> = []

  constructor(private readonly document: Document, private readonly optional: Optional) {}

  build(): Built | undefined {
    const { document } = this
    const facts = gather(document, [document.root], "")
    if (facts === undefined) return undefined
    if (facts.union !== undefined) return document.refuse("", "the arguments are a union")
    if (facts.values !== undefined || facts.types?.some((_) => _ !== "object")) {
      return document.refuse("", "the arguments are not always an object")
    }
    this.references.set(document.root.schema, "#")
    if (isReference(document.root)) {
      const target = this.target(document.root, "")
      if (target !== undefined) this.references.set(target.schema, "#")
    }
    const root = this.shape(facts, "", 0)
    if (root === undefined) return undefined
    for (let next = this.waiting.pop(); next !== undefined; next = this.waiting.pop()) {
      const node = this.place([next.part], next.name, 0)
      if (node === undefined) return undefined
      this.names.set(next.name, node)
    }
    const targets = new Map<string, StrictNode>([["#", root]])
    for (const [name, node] of this.names) targets.set(pointer(name), node)
    return {
      root,
      targets,
      names: this.names,
      origins: this.origins,
      unions: this.unions,
      fillIns: this.fillIns,
      fillsIn: this.fillIns.length > 0
    }
  }

  /** The node for all schemas of one place. */
  private place(parts: Parts, path: string, depth: number): StrictNode | undefined {
    const { document } = this
    if (depth > maxDepth) return document.refuse(path, `is nested too deeply (more than ${maxDepth} levels)`)
    if (!document.affords(path, 1)) return undefined
    const only = parts.length === 1 ? parts[0] : undefined
    if (only !== undefined && isReference(only)) return this.reference(only, path)
    const facts = gather(document, parts, path)
    return facts === undefined ? undefined : this.shape(facts, path, depth)
  }

  /** A reference of one's own stays one, so that recursion does and nothing is repeated. It can have no words beside it. */
  private reference(part: Part, path: string): StrictNode | undefined {
    const target = this.target(part, path)
    if (target === undefined) return undefined
    let reference = this.references.get(target.schema)
    if (reference === undefined) {
      const name = this.name(String(part.schema.$ref))
      reference = pointer(name)
      this.references.set(target.schema, reference)
      this.waiting.push({ name, part: target })
    }
    const node = frozen([["$ref", reference]])
    const words = annotations(new Map(Object.entries(part.schema)))
    return words.length === 0 ? node : frozen([...words, ["anyOf", Object.freeze([node])]])
  }

  /** The first schema of a chain of references that says something itself. */
  private target(part: Part, path: string): Part | undefined {
    const seen = new Set<JsonObject>()
    let at = part
    while (isReference(at)) {
      if (!this.document.affords(path, 1)) return undefined
      if (seen.has(at.schema)) return this.document.refuse(path, "refers to itself without anything between")
      seen.add(at.schema)
      const next = this.document.resolve(at.schema.$ref, at, path)
      if (next === undefined) return undefined
      at = next
    }
    return at
  }

  /** The last word of a reference if it can be a name, a number after it if need be. */
  private name(reference: string): string {
    const last = reference.slice(reference.lastIndexOf("/") + 1)
    const stem = /^[A-Za-z0-9][A-Za-z0-9_-]{0,47}$/.test(last) ? last : "schema"
    let name = stem
    for (let i = this.taken.size + 1; this.taken.has(name); i++) name = `${stem}-${i}`
    this.taken.add(name)
    return name
  }

  private shape(facts: Facts, path: string, depth: number): StrictNode | undefined {
    if (facts.union !== undefined) return this.union(facts, path, depth)
    const { document } = this
    const types = typesIn(facts)
    if (types === undefined) return document.refuse(path, "does not say of which type it is")
    if (types.length === 0) return document.refuse(path, "accepts no value: those it lists are of another type")
    const entries: Array<readonly [string, unknown]> = [
      ["type", types.length === 1 ? types[0] : Object.freeze([...types])],
      ...annotations(facts.annotations)
    ]
    if (facts.values !== undefined) {
      entries.push(["enum", Object.freeze(facts.values.filter((_) => includesType(types, typeOf(_))))])
    }
    for (const [key, bound] of facts.bounds) entries.push([key, bound])
    if (types.includes("array")) {
      if (facts.items === undefined) return document.refuse(path, "does not say what its items are")
      const items = this.place(facts.items, inside(path, "items"), depth + 1)
      if (items === undefined) return undefined
      entries.push(["items", items])
    }
    return types.includes("object") ? this.object(facts, entries, path, depth) : frozen(entries)
  }

  private object(
    facts: Facts,
    entries: Array<readonly [string, unknown]>,
    path: string,
    depth: number
  ): StrictNode | undefined {
    const { document } = this
    if (facts.open) return document.refuse(path, "accepts properties that it does not declare")
    if (facts.properties.size === 0 && !facts.isClosed) {
      return document.refuse(path, "is an object that declares no properties and accepts any")
    }
    for (const name of facts.required) {
      if (!facts.properties.has(name)) return document.refuse(inside(path, name), "is required but not described")
    }
    const properties: Array<readonly [string, StrictNode]> = []
    const optional = new Map<string, StrictNode>()
    for (const [name, parts] of facts.properties) {
      const at = inside(path, name)
      const bare = this.place(parts, at, depth + 1)
      if (bare === undefined) return undefined
      if (!facts.required.has(name)) optional.set(name, bare)
      if (this.optional === "require" || facts.required.has(name)) properties.push([name, bare])
      else {
        const isNullByDefault = parts.every((_) => own(_.schema, "default") === null)
        this.fillIns.push({ bare, path: at, isNullByDefault })
        properties.push([name, this.orNull(bare)])
      }
    }
    entries.push(
      ["properties", frozen(properties)],
      ["required", Object.freeze([...facts.properties.keys()])],
      ["additionalProperties", false]
    )
    const node = frozen(entries)
    this.origins.set(node, { optional, closed: facts.isClosed, implied: facts.types === undefined })
    return node
  }

  private union(facts: Facts, path: string, depth: number): StrictNode | undefined {
    const { branches, exclusive } = facts.union!
    const base = facts.isBare ? undefined : facts.withoutUnion()
    const nodes: Array<StrictNode> = []
    for (let i = 0; i < branches.length; i++) {
      const node = this.branch(base, branches[i]!, inside(path, i), depth + 1)
      if (node === undefined) return undefined
      nodes.push(node)
    }
    const node = frozen([...annotations(facts.annotations), ["anyOf", Object.freeze(nodes)]])
    this.unions.push({ node, path, exclusive })
    return node
  }

  private branch(base: Facts | undefined, part: Part, path: string, depth: number): StrictNode | undefined {
    if (base === undefined) return this.place([part], path, depth)
    const { document } = this
    if (depth > maxDepth) return document.refuse(path, `is nested too deeply (more than ${maxDepth} levels)`)
    if (!document.affords(path, 1 + base.properties.size + base.required.size)) return undefined
    const facts = gather(document, [part], path, base.withoutUnion())
    return facts === undefined ? undefined : this.shape(facts, path, depth)
  }

  /** The same node, accepting null too. What is said of it stays outside. */
  private orNull(node: StrictNode): StrictNode {
    if (node.$ref !== undefined || node.properties !== undefined || node.items !== undefined) {
      const words = annotations(new Map(Object.entries(node)))
      const bare = words.length === 0 ? node : this.withoutWords(node)
      return frozen([...words, ["anyOf", Object.freeze([bare, nothing])]])
    }
    const types = typesOf(node)
    const entries = new Map(Object.entries(node))
    if (node.anyOf !== undefined) entries.set("anyOf", Object.freeze([...node.anyOf, nothing]))
    else if (!types.includes("null")) entries.set("type", Object.freeze([...types, "null"]))
    if (node.enum?.includes(null) === false) entries.set("enum", Object.freeze([...node.enum, null]))
    return frozen(entries)
  }

  private withoutWords(node: StrictNode): StrictNode {
    const bare = frozen(Object.entries(node).filter(([key]) => !words.has(key)))
    const origin = this.origins.get(node)
    if (origin !== undefined) this.origins.set(bare, origin)
    return bare
  }
}

const pointer = (name: string): string => `#/$defs/${name}`

/** The types of a place, if it says or implies any: an object by its properties, anything by the values it lists. */
const typesIn = (facts: Facts): ReadonlyArray<string> | undefined => {
  const { types, values } = facts
  if (values === undefined) return types ?? (facts.properties.size > 0 ? ["object"] : undefined)
  const found = new Set(values.map(typeOf))
  if (types !== undefined) return types.filter((type) => [...found].some((_) => includesType([type], _)))
  return [...found].filter((_) => _ !== "integer" || !found.has("number"))
}

const words: ReadonlySet<string> = new Set(["title", "description", "default"])

/**
 * What tells the model more. A default of null says no more than that null is possible, and those of objects and lists would
 * have to be copied.
 */
const annotations = (all: ReadonlyMap<string, unknown>): ReadonlyArray<readonly [string, unknown]> => {
  const kept: Array<readonly [string, unknown]> = []
  for (const key of words) {
    const value = all.get(key)
    if (typeof value === "string" || (key === "default" && (Number.isFinite(value) || typeof value === "boolean"))) {
      kept.push([key, value])
    }
  }
  return kept
}
