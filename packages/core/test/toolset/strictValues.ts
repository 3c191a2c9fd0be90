/**
 * Values for schemas, made without any of the code under test: from the shape of a schema, and by damaging values.
 */
import type { JsonObject } from "@mcp-runtime/core/McpProtocol"
import { FastCheck } from "effect"

const own = (object: unknown, key: string): unknown =>
  typeof object === "object" && object !== null && Object.hasOwn(object, key)
    ? (object as JsonObject)[key]
    : undefined

/** A value as the original wants it, and with null where an optional property is absent. */
export interface Sample {
  readonly plain: unknown
  readonly filled: unknown
  /** Whether all of it is of the schema's shape. */
  readonly whole: boolean
}

const same = (value: unknown): Sample => ({ plain: value, filled: value, whole: true })

const foreign = (value: unknown): Sample => ({ plain: value, filled: value, whole: false })

const pointTo = (root: JsonObject, reference: string): unknown => {
  if (reference === "#") return root
  if (!reference.startsWith("#/")) return {}
  let at: unknown = root
  for (const key of decodeURIComponent(reference.slice(2)).split("/")) {
    at = own(at, key.replaceAll("~1", "/").replaceAll("~0", "~"))
  }
  return at
}

const entries = (pairs: ReadonlyArray<readonly [string, unknown]>): JsonObject => Object.fromEntries(pairs)

const isRecord = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)

const texts = FastCheck.constantFrom("", "a", "b", "cat", "dog", "2024-01-01", "x@y.z", "long enough", "A1")
const integers = FastCheck.oneof(FastCheck.integer({ min: -3, max: 12 }), FastCheck.constantFrom(100, 1000))
const numbers = FastCheck.oneof(integers, FastCheck.constantFrom(0.5, -1.25, 99.9))

const junk: FastCheck.Arbitrary<unknown> = FastCheck.oneof(
  texts,
  numbers,
  FastCheck.boolean(),
  FastCheck.constantFrom<Array<unknown>>(null, [], {}, [null], { a: null }, { a: "a", b: 1 }, [1, "a"])
)

/** Samples that mostly match the schema, seen from its shape. */
export const samples = (schema: unknown, root: JsonObject, depth: number = 5): FastCheck.Arbitrary<Sample> =>
  shaped(schema, root, depth) ?? junk.map(depth >= 0 && isRecord(schema) && !refers(schema) ? same : foreign)

const refers = (schema: JsonObject): boolean =>
  ["$ref", "allOf", "anyOf", "oneOf"].some((_) => Object.hasOwn(schema, _))

/** Nothing for a schema that has no shape. */
const shaped = (schema: unknown, root: JsonObject, depth: number): FastCheck.Arbitrary<Sample> | undefined => {
  if (!isRecord(schema) || depth < 0) return undefined
  const parts: Array<FastCheck.Arbitrary<Sample> | undefined> = []
  if (typeof own(schema, "$ref") === "string") {
    parts.push(shaped(pointTo(root, String(schema.$ref)), root, depth - 1))
  }
  const all = own(schema, "allOf")
  if (Array.isArray(all)) { for (const one of all) parts.push(shaped(one, root, depth - 1)) }
  const base = ofShape(schema, root, depth)
  for (const key of ["anyOf", "oneOf"]) {
    const branches = own(schema, key)
    if (!Array.isArray(branches)) continue
    const without = base === undefined ? junk.map(foreign) : FastCheck.constant(same({}))
    if (branches.length > 0) parts.push(FastCheck.oneof(...branches.map((_) => shaped(_, root, depth - 1) ?? without)))
  }
  parts.push(base)
  const found = parts.filter((_) => _ !== undefined)
  return found.length < 2 ? found[0] : FastCheck.tuple(...found).map(together)
}

/** Objects of several schemas for one place have the properties of all. */
const together = (all: ReadonlyArray<Sample>): Sample => {
  if (!all.every((_) => isRecord(_.plain))) return all[all.length - 1]!
  const merged = (side: "plain" | "filled") => entries(all.flatMap((_) => Object.entries(_[side] as JsonObject)))
  const plain = merged("plain")
  // What one left out, another may have put in.
  return {
    plain,
    whole: all.every((_) => _.whole),
    filled: { ...merged("filled"), ...entries(all.flatMap((_) => sharedOf(_, plain))) }
  }
}

const sharedOf = (sample: Sample, plain: JsonObject) =>
  Object.entries(sample.filled as JsonObject).filter(([name]) =>
    Object.hasOwn(plain, name) && Object.hasOwn(sample.plain as JsonObject, name)
  )

const ofShape = (schema: JsonObject, root: JsonObject, depth: number): FastCheck.Arbitrary<Sample> | undefined => {
  const values = own(schema, "enum")
  if (Array.isArray(values) && values.length > 0) return FastCheck.constantFrom(...values).map(same)
  if (Object.hasOwn(schema, "const")) return FastCheck.constant(same(schema.const))
  const type = own(schema, "type")
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
  if (types.length === 0 && Object.hasOwn(schema, "properties")) types.push("object")
  if (types.length === 0) return undefined
  return FastCheck.oneof(...types.map((_) => ofType(String(_), schema, root, depth)))
}

const ofType = (type: string, schema: JsonObject, root: JsonObject, depth: number): FastCheck.Arbitrary<Sample> => {
  switch (type) {
    case "string":
      return texts.map(same)
    case "integer":
      return integers.map(same)
    case "number":
      return numbers.map(same)
    case "boolean":
      return FastCheck.boolean().map(same)
    case "null":
      return FastCheck.constant(same(null))
    case "array": {
      const items = own(schema, "items")
      const length = { maxLength: depth > 1 ? 2 : 0, minLength: 0 }
      return FastCheck.array(samples(items, root, depth - 1), length).map((list) => ({
        whole: list.every((_) => _.whole),
        plain: list.map((_) => _.plain),
        filled: list.map((_) => _.filled)
      }))
    }
    default:
      return ofObject(schema, root, depth)
  }
}

const ofObject = (schema: JsonObject, root: JsonObject, depth: number): FastCheck.Arbitrary<Sample> => {
  const properties = own(schema, "properties")
  const required = own(schema, "required")
  const fields = Object.entries(isRecord(properties) ? properties : {}).map(([name, property]) => {
    const isOptional = !Array.isArray(required) || !required.includes(name)
    const isNullByDefault = own(property, "default") === null
    const value = samples(property, root, depth - 1)
    const present = value.map((sample) => ({
      name,
      sample: isOptional && isNullByDefault && sample.plain === null ? undefined : sample
    }))
    if (!isOptional) return present
    const absent = FastCheck.constant({ name, sample: undefined })
    return depth <= 1 ? absent : FastCheck.oneof({ arbitrary: present, weight: 2 }, { arbitrary: absent, weight: 1 })
  })
  return FastCheck.tuple(...fields).map((all) => ({
    whole: all.every(({ sample }) => sample?.whole !== false),
    plain: entries(all.flatMap(({ name, sample }) => sample === undefined ? [] : [[name, sample.plain] as const])),
    filled: entries(all.map(({ name, sample }) => [name, sample === undefined ? null : sample.filled] as const))
  }))
}

/**
 * The schema (2020-12), accepting no properties but those that it declares. Where schemas combine, only the outermost knows
 * all names.
 */
export const closed = ({ $schema, ...schema }: JsonObject): JsonObject =>
  closedAt(String($schema).includes("draft-07") ? withoutLater(schema) : schema) as JsonObject

/** What is no keyword yet would be one. */
const withoutLater = (schema: JsonObject): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value) => key.startsWith("unevaluated") ? undefined : value)

const combining = ["$ref", "allOf", "properties", "required"]

const closedAt = (schema: unknown): unknown => {
  if (!isRecord(schema)) return schema
  return combining.some((_) => Object.hasOwn(schema, _))
    ? { ...(closedInside(schema) as JsonObject), unevaluatedProperties: false }
    : closedInside(schema, closedAt)
}

const closedInside = (
  schema: unknown,
  branch: (schema: unknown) => unknown = (_: unknown): unknown => closedInside(_)
): unknown => {
  if (!isRecord(schema)) return schema
  return entries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "items") return [key, closedAt(value)]
      if (Array.isArray(value) && key === "allOf") return [key, value.map((_) => closedInside(_))]
      if (Array.isArray(value) && (key === "anyOf" || key === "oneOf")) return [key, value.map((_) => branch(_))]
      if (!isRecord(value)) return [key, value]
      if (key === "properties") return [key, entries(Object.entries(value).map(([name, _]) => [name, closedAt(_)]))]
      // What is referred to is closed where it is used.
      if (key === "$defs" || key === "definitions") {
        return [key, entries(Object.entries(value).map(([name, _]) => [name, closedInside(_)]))]
      }
      return [key, value]
    })
  )
}

/** The value with something wrong with it somewhere. */
export const damaged = (value: unknown, choices: ReadonlyArray<number>, bad: unknown): unknown => {
  const [choice = 0, ...rest] = choices
  if (rest.length === 0) return bad
  if (Array.isArray(value)) {
    if (value.length === 0 || choice % 4 === 0) return [...value, bad]
    const at = choice % value.length
    return value.map((_, i) => i === at ? damaged(_, rest, bad) : _)
  }
  if (!isRecord(value)) return bad
  const names = Object.keys(value)
  if (names.length === 0 || choice % 5 === 0) return { ...value, extra: bad }
  const at = names[choice % names.length]!
  if (choice % 7 === 0) return entries(Object.entries(value).filter(([name]) => name !== at))
  return entries(Object.entries(value).map(([name, _]) => [name, name === at ? damaged(_, rest, bad) : _] as const))
}

/** How to damage something. */
export const damages = FastCheck.tuple(
  FastCheck.array(FastCheck.nat({ max: 27 }), { minLength: 1, maxLength: 5 }),
  FastCheck.oneof({ arbitrary: FastCheck.constant(null), weight: 2 }, { arbitrary: junk, weight: 3 })
)
