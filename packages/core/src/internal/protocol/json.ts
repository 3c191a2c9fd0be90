/**
 * JSON values as they come from a server.
 *
 * Owns: what a JSON object is, freezing, how large a value is, and how what is sent gets more `_meta`.
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

/** Some servers write `null` for whatever they do not have. */
export const withoutNulls = (object: JsonObject): JsonObject => {
  for (const field in object) {
    if (object[field] === null) {
      return Object.freeze(Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)))
    }
  }
  return object
}

/** What parameters have as `_meta` of their own, with more, which wins. What is no object says nothing. */
export const mergedMeta = (params: JsonObject | undefined, meta: JsonObject | undefined): JsonObject | undefined => {
  const own = params?._meta
  return isObject(own) ? { ...own, ...meta } : meta
}

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

/** What an item is called, to be shown. */
export const nameOf = (item: JsonObject): string | undefined => shown(item.name)

const shown = (u: unknown): string | undefined => typeof u === "string" && u !== "" ? u.slice(0, 128) : undefined

/** Stands in a list for an item that is nested too deeply. It keeps nothing of it but what it is called. */
export class TooDeep {
  readonly name: string | undefined

  constructor(item: unknown) {
    this.name = isObject(item) ? nameOf(item) ?? shown(item.uri) : undefined
    Object.freeze(this)
  }
}

/** Of a message: the message, its result, and the list in it. */
const levelsAboveItems = 3

/**
 * The result of a message that `freeze` has refused, frozen, with a `TooDeep` for each item of one of its lists that is
 * nested too deeply. Nothing where something else is.
 */
export const freezeByItem = (result: unknown, field: string): JsonObject | undefined => {
  if (!isObject(result)) return undefined
  const { [field]: list, ...rest } = result
  if (!Array.isArray(list) || !freezeWithin(rest, maxDepth - 1)) return undefined
  const items = list.map((item) => freezeWithin(item, maxDepth - levelsAboveItems) ? item : new TooDeep(item))
  return Object.freeze({ ...rest, [field]: Object.freeze(items) })
}

/**
 * Measures values in one walk each: how long their JSON text is, in characters and without what escapes and spaces add, and
 * how deeply they are nested. It stops where they are larger together than it may be.
 */
export class Measure {
  size = 0

  constructor(private readonly most: number) {}

  get isExceeded(): boolean {
    return this.size > this.most
  }

  /** How large these are together, where that is no more than `most`; else something that is. */
  static of(most: number, ...values: ReadonlyArray<unknown>): number {
    const measure = new Measure(most)
    for (const value of values) measure.add(value)
    return measure.size
  }

  /** Adds a value, and says how many objects and lists are inside each other in it. */
  add(value: unknown): number {
    return this.walk(value, 1)
  }

  private walk(value: unknown, level: number): number {
    switch (typeof value) {
      case "string":
        this.size += value.length + 2
        return 0
      case "number":
        this.size += String(value).length
        return 0
      case "object":
        if (value === null) break
        // It was frozen, so that it ends long before the stack does.
        if (level > maxDepth) return 1
        return 1 + (Array.isArray(value) ? this.walkList(value, level) : this.walkObject(value as JsonObject, level))
    }
    this.size += 4
    return 0
  }

  private walkList(list: ReadonlyArray<unknown>, level: number): number {
    let deepest = 0
    this.size += 2
    for (let i = 0; i < list.length && this.size <= this.most; i++) {
      this.size++
      deepest = Math.max(deepest, this.walk(list[i], level + 1))
    }
    return deepest
  }

  private walkObject(object: JsonObject, level: number): number {
    let deepest = 0
    this.size += 2
    for (const key in object) {
      if (this.size > this.most) break
      this.size += key.length + 4
      deepest = Math.max(deepest, this.walk(object[key], level + 1))
    }
    return deepest
  }
}
