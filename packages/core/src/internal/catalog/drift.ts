/**
 * In what two lists differ.
 */
import type { Drift } from "../../Catalog.js"

/** Whether two JSON values are the same. They are frozen, and so not nested more deeply than `McpProtocol.maxDepth`. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  }
  if (Array.isArray(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) =>
    Object.hasOwn(b, key) &&
    sameJson((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
  )
}

/** Nothing where the two lists say the same, in whatever order. */
export const driftOf = <A>(
  before: ReadonlyMap<string, A>,
  after: ReadonlyMap<string, A>
): Drift | undefined => {
  const added: Array<string> = []
  const changed: Array<string> = []
  for (const [key, item] of after) {
    const old = before.get(key)
    if (old === undefined) added.push(key)
    else if (!sameJson(old, item)) changed.push(key)
  }
  const removed = [...before.keys()].filter((key) => !after.has(key))
  return added.length + changed.length + removed.length === 0
    ? undefined
    : Object.freeze({ added: Object.freeze(added), removed: Object.freeze(removed), changed: Object.freeze(changed) })
}
