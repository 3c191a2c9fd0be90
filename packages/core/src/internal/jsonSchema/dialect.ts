/**
 * The revisions of JSON Schema, and where schemas stand inside schemas.
 */
import { isObject } from "../protocol/json.js"
import type { Schema } from "./resource.js"

/** Drafts 4, 6 and 7, 2019-09 and 2020-12. */
export type Dialect = 4 | 6 | 7 | 2019 | 2020

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ["draft-04", 4],
  ["draft-06", 6],
  ["draft-07", 7],
  ["draft/2019-09", 2019],
  ["draft/2020-12", 2020]
])

/** What `$schema` says. What it says nothing known of is taken for the newest. */
export const dialectOf = ($schema: unknown): Dialect => {
  if (typeof $schema !== "string") return 2020
  const name = /^https?:\/\/json-schema\.org\/(draft[-/][\d-]{1,7})\/schema#?$/.exec($schema)?.[1]
  return dialects.get(name ?? "") ?? 2020
}

const single = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties"
]

const lists = ["allOf", "anyOf", "items", "oneOf", "prefixItems"]

const maps = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]

/** Every schema directly inside a schema. */
export const subschemas = (schema: Schema): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  for (const key of single) if (isObject(schema[key])) found.push(schema[key])
  for (const key of lists) {
    const list = schema[key]
    if (Array.isArray(list)) { for (const item of list) found.push(item) }
  }
  for (const key of maps) {
    const map = schema[key]
    if (isObject(map)) { for (const name of Object.keys(map)) found.push(map[name]) }
  }
  return found
}
