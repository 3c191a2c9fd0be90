/**
 * Takes back what a model filled in: the nulls of properties that may be absent.
 *
 * Owns: finding them, in unions too.
 * May not touch: any other value. What is null in the original's own right stays.
 */
import { isObject } from "../protocol/json.js"
import { leaves, looksLike, propertyOf } from "./strictNodes.js"
import type { StrictGraph, StrictNode } from "./strictNodes.js"

/** How deeply values are looked at. No message may be deeper. */
const maxDepth = 256

/** The value without its fill-ins; the same reference where there are none. */
export const withoutFillIns = (graph: StrictGraph, value: unknown): unknown =>
  graph.fillsIn ? within(graph, graph.root, value, 0) : value

const within = (graph: StrictGraph, node: StrictNode, value: unknown, depth: number): unknown => {
  if (typeof value !== "object" || value === null || depth > maxDepth) return value
  const candidates = leaves(graph, node).filter((_) =>
    Array.isArray(value) ? _.items !== undefined : _.properties !== undefined
  )
  const leaf = candidates.length === 1 ? candidates[0] : candidates.find((_) => looksLike(graph, _, value))
  if (leaf === undefined) return value
  return isObject(value)
    ? ofObject(graph, leaf, value, depth)
    : ofList(graph, leaf, value as ReadonlyArray<unknown>, depth)
}

const ofList = (graph: StrictGraph, leaf: StrictNode, list: ReadonlyArray<unknown>, depth: number): unknown => {
  let changed = false
  const items = list.map((item) => {
    const kept = within(graph, leaf.items!, item, depth + 1)
    if (kept !== item) changed = true
    return kept
  })
  return changed ? Object.freeze(items) : list
}

const ofObject = (
  graph: StrictGraph,
  leaf: StrictNode,
  value: { readonly [name: string]: unknown },
  depth: number
): unknown => {
  const optional = graph.origins.get(leaf)!.optional
  const kept: Array<readonly [string, unknown]> = []
  let changed = false
  for (const name of Object.keys(value)) {
    const inner = value[name]
    if (inner === null && optional.has(name)) {
      changed = true
      continue
    }
    const property = propertyOf(leaf, name)
    const clean = property === undefined ? inner : within(graph, property, inner, depth + 1)
    if (clean !== inner) changed = true
    kept.push([name, clean])
  }
  return changed ? Object.freeze(Object.fromEntries(kept)) : value
}
