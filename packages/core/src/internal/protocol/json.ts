/**
 * JSON values as they come from a server.
 *
 * Owns: what a JSON object is, and freezing.
 */
import type { JsonObject } from "../../McpProtocol.js"

/**
 * How deeply a message may be nested. JSON itself sets no bound, and code that walks a value must not run out of stack.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxDepth = 256

/**
 * Whether a value is a JSON object.
 *
 * @since 0.1.0
 * @category guards
 */
export const isObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)

/**
 * Freezes a JSON value in place and everything inside it. Answers `false`, leaving the value unusable, when it is nested
 * more deeply than `maxDepth`.
 *
 * @since 0.1.0
 * @category freezing
 */
export const freeze = (value: unknown): boolean => freezeWithin(value, maxDepth)

const freezeWithin = (value: unknown, depth: number): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (depth === 0) return false
  Object.freeze(value)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i]
      if (typeof item === "object" && item !== null && !freezeWithin(item, depth - 1)) return false
    }
    return true
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    if (typeof item === "object" && item !== null && !freezeWithin(item, depth - 1)) return false
  }
  return true
}
