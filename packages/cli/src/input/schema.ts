/**
 * What a tool asks for, in few words, from its input schema.
 *
 * Owns: reading of JSON Schemas that may be anything: bounded, and without ever following more than a few references.
 * May not touch: validation; that is the library's.
 */
import * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import { oneLine, shownName } from "../output/text.js"

type JsonObject = McpProtocol.JsonObject

const empty: JsonObject = {}
const most = 64

const objectOf = (u: unknown): JsonObject | undefined => (McpProtocol.isObject(u) ? u : undefined)

/** The schema behind a reference to the same document. */
export const resolve = (schema: unknown, root: JsonObject): JsonObject => {
  let found = objectOf(schema) ?? empty
  for (let step = 0; step < 8 && typeof found.$ref === "string"; step++) {
    const pointer = found.$ref
    if (!pointer.startsWith("#/")) return empty
    let target: unknown = root
    for (const part of pointer.slice(2).split("/", most)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
      const parent = objectOf(target)
      target = parent !== undefined && Object.hasOwn(parent, key) ? parent[key] : undefined
    }
    found = objectOf(target) ?? empty
  }
  return found
}

export interface Property {
  readonly name: string
  readonly schema: JsonObject
  readonly required: boolean
}

/** The properties of an object, the required ones first. */
export const propertiesOf = (schema: unknown, root: JsonObject): ReadonlyArray<Property> => {
  const resolved = resolve(schema, root)
  const properties = objectOf(resolved.properties) ?? empty
  const required = new Set(Array.isArray(resolved.required) ? resolved.required.slice(0, 10_000) : [])
  const all = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: resolve(schema, root),
    required: required.has(name)
  }))
  return [...all.filter((_) => _.required), ...all.filter((_) => !_.required)]
}

/** Whether properties that are not named may be there, as far as one would write them on a command line. */
export const isOpen = (schema: unknown, root: JsonObject): boolean => {
  const resolved = resolve(schema, root)
  const { additionalProperties } = resolved
  return additionalProperties === true || objectOf(additionalProperties) !== undefined ||
    objectOf(resolved.patternProperties) !== undefined ||
    ["allOf", "anyOf", "oneOf", "if", "$ref"].some((key) => resolved[key] !== undefined) ||
    Object.keys(objectOf(resolved.properties) ?? empty).length === 0
}

/** The types that a value may have; none where everything may be. */
export const typesOf = (schema: unknown, root: JsonObject, depth = 0): ReadonlySet<string> => {
  const resolved = resolve(schema, root)
  const types = new Set<string>()
  const { type } = resolved
  if (typeof type === "string") types.add(type)
  if (Array.isArray(type)) { for (const one of type.slice(0, most)) if (typeof one === "string") types.add(one) }
  if (types.size > 0 || depth > 4) return types
  if (Array.isArray(resolved.enum)) { for (const value of resolved.enum.slice(0, most)) types.add(typeOf(value)) }
  else if (Object.hasOwn(resolved, "const")) types.add(typeOf(resolved.const))
  else if (objectOf(resolved.properties) !== undefined) types.add("object")
  for (const key of ["anyOf", "oneOf"]) {
    const options = resolved[key]
    if (!Array.isArray(options)) continue
    for (const option of options.slice(0, most)) {
      const found = typesOf(option, root, depth + 1)
      if (found.size === 0) return found
      for (const one of found) types.add(one)
    }
  }
  return types
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "object" ? "object" : typeof value

/** In words: `integer`, `"small" or "large"`, `list of string`. */
export const describe = (schema: JsonObject, root: JsonObject): string => {
  const resolved = resolve(schema, root)
  const choices = choicesOf(resolved)
  if (choices !== undefined) return choices
  const types = [...typesOf(resolved, root)].filter((_) => _ !== "null").map((type) => {
    if (type !== "array") return oneLine(type.slice(0, 64))
    const items = [...typesOf(resolved.items, root)]
    return items.length === 1 ? `list of ${oneLine(items[0]!.slice(0, 64))}` : "list"
  })
  return types.length === 0 ? "anything" : types.join(" or ")
}

const choicesOf = ({ enum: values }: JsonObject): string | undefined =>
  Array.isArray(values) && values.length > 0 && values.length <= 12
    ? values.map((_) => oneLine(JSON.stringify(_).slice(0, 64))).join(" | ")
    : undefined

/** The arguments of a tool in one line: `text, [limit: integer]`. */
export const summary = (schema: JsonObject): string =>
  propertiesOf(schema, schema).slice(0, 40).map(({ name, required, schema: property }) => {
    const type = describe(property, schema)
    const shown = `${shownName(name)}${type === "string" ? "" : `: ${type}`}`
    return required ? shown : `[${shown}]`
  }).join(", ")
