/**
 * What strict schemas are made of, and what can be said of one without looking at a value.
 *
 * Owns: the nodes, which values they can tell apart, and where `null` stands for nothing.
 * May not touch: the original schema.
 */
import { isObject } from "../protocol/json.js"
import { own } from "./strictDocument.js"

export type Scalar = string | number | boolean | null

/** A node of a strict schema. Frozen once it is complete. */
export interface StrictNode {
  readonly type?: string | ReadonlyArray<string>
  readonly enum?: ReadonlyArray<Scalar>
  readonly properties?: { readonly [name: string]: StrictNode }
  readonly items?: StrictNode
  readonly anyOf?: ReadonlyArray<StrictNode>
  readonly $ref?: string
  readonly [keyword: string]: unknown
}

/** What closing an object and requiring all of it have taken away. */
export interface Origin {
  /** The properties that may be absent in the original, each as it was before it could be null. */
  readonly optional: ReadonlyMap<string, StrictNode>
  /** Whether the original accepts no other properties. */
  readonly closed: boolean
  /** Whether the original does not say that it is an object, and so accepts whatever is none. */
  readonly implied: boolean
}

/** The finished nodes of one schema. */
export interface StrictGraph {
  readonly root: StrictNode
  /** By reference, as in `$ref`. */
  readonly targets: ReadonlyMap<string, StrictNode>
  readonly origins: ReadonlyMap<StrictNode, Origin>
  /** Whether an optional property is null where it would be absent. */
  readonly fillsIn: boolean
}

export const isScalar = (u: unknown): u is Scalar =>
  u === null || typeof u === "string" || typeof u === "boolean" || typeof u === "number"

export const typesOf = (node: StrictNode): ReadonlyArray<string> =>
  node.type === undefined ? [] : typeof node.type === "string" ? [node.type] : node.type

/** The JSON Schema type of a value; whole numbers are `"integer"`. */
export const typeOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
    ? "array"
    : typeof value === "number" && Number.isInteger(value)
    ? "integer"
    : typeof value

/** Whether a value of one type can be of one of these. */
export const overlaps = (types: ReadonlyArray<string>, type: string): boolean =>
  types.includes(type) ||
  (type === "integer" && types.includes("number")) || (type === "number" && types.includes("integer"))

/** Whether every value of a type is of one of these. */
export const includesType = (types: ReadonlyArray<string>, type: string): boolean =>
  types.includes(type) || (type === "integer" && types.includes("number"))

/** What a node comes down to once references are followed and unions opened. */
export const leaves = (graph: StrictGraph, node: StrictNode): ReadonlyArray<StrictNode> => {
  if (node.$ref === undefined && node.anyOf === undefined) return [node]
  const seen = new Set<StrictNode>()
  const found: Array<StrictNode> = []
  const open = [node]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    if (next.$ref !== undefined) open.push(graph.targets.get(next.$ref)!)
    else if (next.anyOf !== undefined) { for (let i = next.anyOf.length - 1; i >= 0; i--) open.push(next.anyOf[i]!) }
    else found.push(next)
  }
  return found
}

export const acceptsNull = (leaf: StrictNode): boolean =>
  typesOf(leaf).includes("null") && leaf.enum?.includes(null) !== false

/** How many objects inside each other are looked at to tell two nodes apart. What discriminates is near the top. */
const sight = 2

/**
 * Which values the second of two nodes is taken to accept: those that the strict schema does, or all that the original
 * does. The values of the first are then as the original gets them, without what was filled in.
 */
export type View = "strict" | "original"

export interface Comparison {
  readonly graph: StrictGraph
  readonly view: View
  /** Whether that many steps may still be made. */
  readonly affords: (steps: number) => boolean
}

/**
 * Whether no value is accepted by both nodes, seen from types, listed values and the properties of objects. `false` where it
 * cannot be told.
 */
export const areApart = (by: Comparison, left: StrictNode, right: StrictNode, depth: number = sight): boolean => {
  const mine = leaves(by.graph, left)
  const others = leaves(by.graph, right)
  return by.affords(mine.length + others.length) &&
    mine.every((a) => others.every((b) => leavesAreApart(by, a, b, depth)))
}

const leavesAreApart = (by: Comparison, a: StrictNode, b: StrictNode, depth: number): boolean => {
  const { graph, view } = by
  if (!by.affords(1 + (a.enum?.length ?? 0))) return false
  const types = typesOf(b)
  const implied = view === "original" && graph.origins.get(b)?.implied === true
  const values = b.enum
  if (a.enum !== undefined) {
    return !implied && a.enum.every((value) => !overlaps(types, typeOf(value)) || values?.includes(value) === false)
  }
  return typesOf(a).every((type) => {
    if (type === "object" && types.includes("object")) return objectsAreApart(by, a, b, depth)
    if (implied) return false
    return !overlaps(types, type) || values?.every((value) => !overlaps([type], typeOf(value))) === true
  })
}

const objectsAreApart = (by: Comparison, a: StrictNode, b: StrictNode, depth: number): boolean => {
  if (depth === 0) return false
  const { graph, view } = by
  const mine = graph.origins.get(a)!
  const others = graph.origins.get(b)!
  const names = Object.keys(a.properties!)
  if (!by.affords(names.length)) return false
  const isCertain = (name: string): boolean => view === "strict" || !graph.fillsIn || !mine.optional.has(name)
  for (const name in b.properties!) {
    if (Object.hasOwn(a.properties!, name)) continue
    if (view === "strict" || !others.optional.has(name)) return true
  }
  return names.some((name) => {
    if (!isCertain(name)) return false
    const other = propertyOf(b, name)
    if (other === undefined) return view === "strict" || others.closed
    const bare = view === "strict" ? other : others.optional.get(name) ?? other
    return areApart(by, propertyOf(a, name)!, bare, depth - 1)
  })
}

export const propertyOf = (node: StrictNode, name: string): StrictNode | undefined =>
  own(node.properties!, name) as StrictNode | undefined

/**
 * Whether a value is accepted by a leaf, as far as `areApart` can see. It sees no less, so that of two nodes that are apart a
 * value is of one at most.
 */
export const looksLike = (graph: StrictGraph, leaf: StrictNode, value: unknown, depth: number = sight): boolean => {
  if (!includesType(typesOf(leaf), typeOf(value))) return false
  if (leaf.enum !== undefined) return isScalar(value) && leaf.enum.includes(value)
  if (!isObject(value) || depth === 0) return true
  const names = Object.keys(leaf.properties!)
  return names.length === Object.keys(value).length && names.every((name) => {
    if (!Object.hasOwn(value, name)) return false
    const inner = value[name]
    return leaves(graph, propertyOf(leaf, name)!).some((_) => looksLike(graph, _, inner, depth - 1))
  })
}
