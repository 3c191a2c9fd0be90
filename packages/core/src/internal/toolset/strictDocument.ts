/**
 * The schema that is being converted, as a document: where its references lead, how much work it may still cost, and why
 * it was given up.
 *
 * Owns: references, the budget, the reason.
 * May not touch: what keywords mean. It never changes the schema, and reads own properties only: a server chose the names.
 */
import type { JsonObject } from "../../McpProtocol.js"
import { isObject } from "../protocol/json.js"

/** How many nodes, keywords and comparisons a conversion may cost. References can make much of little. */
export const maxSteps = 100_000

/** How deeply schemas may be inside each other. */
export const maxDepth = 100

/** A schema of the document, and whether its references are relative to a nested `$id` (`id`, before draft 6) instead of the root. */
export interface Part {
  readonly schema: JsonObject
  readonly embedded: boolean
}

/** Schemas that hold together for one place, as with `allOf`. */
export type Parts = ReadonlyArray<Part>

/** Where in the document something is, for reasons. Bounded, since a server chose it. */
export const inside = (path: string, key: string | number): string => {
  const shown = typeof key === "number" ? `[${key}]` : key.length > 40 ? `${key.slice(0, 40)}...` : key
  return path === "" ? shown : path.length > 160 ? path : `${path}.${shown}`
}

/** A value under a key of the object itself, never of its prototype. */
export const own = (object: object, key: string): unknown =>
  Object.hasOwn(object, key) ? (object as JsonObject)[key] : undefined

const everything: JsonObject = Object.freeze({})

/** A fragment in a URI may be percent-encoded; malformed escapes lead nowhere. */
const decoded = (fragment: string): string | undefined => {
  if (!fragment.includes("%")) return fragment
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

/**
 * One conversion's view of a schema. Whoever cannot go on calls `refuse`, which remembers the first reason, and answers
 * `undefined`; so does everyone above.
 */
export class Document {
  readonly root: Part
  /**
   * Before 2019-09 a reference silenced what stands beside it, and nobody agrees on what such a schema accepts. Nor were
   * there `unevaluatedProperties` and `unevaluatedItems`.
   */
  readonly isBefore2019: boolean
  /** What sets a part of the document apart, so that its references are relative to that part. */
  private readonly idKeyword: "$id" | "id"
  reason: string | undefined
  /** What it has cost up to now. */
  steps = 0

  constructor(schema: JsonObject) {
    this.root = { schema, embedded: false }
    const dialect = own(schema, "$schema")
    const draft = typeof dialect === "string"
      ? /^https?:\/\/json-schema\.org\/draft-0([3-7])\//.exec(dialect)?.[1]
      : undefined
    this.isBefore2019 = draft !== undefined
    this.idKeyword = draft === "3" || draft === "4" ? "id" : "$id"
  }

  refuse(path: string, words: string): undefined {
    this.reason ??= path === "" ? words : `"${path}" ${words}`
    return undefined
  }

  /** Takes from the budget. */
  affords(path: string, steps: number): boolean {
    this.steps += steps
    if (this.steps <= maxSteps) return true
    this.refuse(path, `makes the schema too large to convert (more than ${maxSteps} steps)`)
    return false
  }

  /** What stands where a schema is expected. */
  part(value: unknown, embedded: boolean, path: string): Part | undefined {
    if (value === true) return { schema: everything, embedded }
    if (value === false) return this.refuse(path, "accepts no value")
    if (!isObject(value)) return this.refuse(path, "is not a schema")
    return {
      schema: value,
      embedded: embedded || (value !== this.root.schema && typeof own(value, this.idKeyword) === "string")
    }
  }

  /** Where a reference leads. */
  resolve(reference: unknown, from: Part, path: string): Part | undefined {
    if (typeof reference !== "string") return this.refuse(path, "refers to something that is not text")
    if (reference !== "#" && !reference.startsWith("#/")) {
      return this.refuse(path, "refers to something other than a place in the same schema")
    }
    if (from.embedded) return this.refuse(path, `refers to something from inside a nested "${this.idKeyword}"`)
    if (reference === "#") return this.root
    const pointer = decoded(reference.slice(2))
    if (pointer === undefined) return this.refuse(path, "refers to nothing: its escapes are malformed")
    if (pointer.length > 4096) return this.refuse(path, "has too long a reference")
    let at: unknown = this.root.schema
    for (const escaped of pointer.split("/")) {
      if (typeof at !== "object" || at === null) return this.refuse(path, "refers to nothing")
      const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~")
      at = Array.isArray(at) && !/^(0|[1-9]\d{0,8})$/.test(key) ? undefined : own(at, key)
      if (isObject(at) && typeof own(at, this.idKeyword) === "string") {
        return this.refuse(path, `refers to something across a nested "${this.idKeyword}"`)
      }
    }
    return at === undefined ? this.refuse(path, "refers to nothing") : this.part(at, false, path)
  }
}
