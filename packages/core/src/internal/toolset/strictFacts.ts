/**
 * What the schemas of one place say together: references followed, `allOf` merged, annotations set apart.
 *
 * Owns: the meaning of each keyword, and which of them a strict schema can say.
 * May not touch: what becomes of it. A keyword that only describes, or that no dialect knows, is left out; one that restricts
 * values and has no place in a strict schema is a refusal.
 */
import type { JsonObject } from "../../McpProtocol.js"
import { isObject } from "../protocol/json.js"
import { inside, maxDepth, own } from "./strictDocument.js"
import type { Document, Part, Parts } from "./strictDocument.js"
import { includesType, isScalar } from "./strictNodes.js"
import type { Scalar } from "./strictNodes.js"

/** Schemas of which a value must match one, at least or (`exclusive`) exactly. */
export interface Union {
  readonly branches: ReadonlyArray<Part>
  readonly exclusive: boolean
}

/** The names that one schema declares; closed if it accepts no others. */
interface Declared {
  readonly names: ReadonlySet<string>
  readonly closed: boolean
}

export class Facts {
  readonly annotations = new Map<string, unknown>()
  readonly bounds = new Map<string, string | number>()
  readonly properties = new Map<string, Array<Part>>()
  readonly required = new Set<string>()
  readonly declared: Array<Declared> = []
  types: ReadonlyArray<string> | undefined
  values: ReadonlyArray<Scalar> | undefined
  items: Array<Part> | undefined
  union: Union | undefined
  /** The schema that combines all others here, and lets in only what they declare: `unevaluatedProperties`. */
  sealer: JsonObject | undefined
  /** Whether it says that names it doesn't declare are welcome. */
  open = false

  /** Whether it restricts nothing besides its union. */
  get isBare(): boolean {
    return this.types === undefined && this.values === undefined && this.items === undefined &&
      this.sealer === undefined &&
      !this.open && this.bounds.size === 0 && this.required.size === 0 && this.declared.length === 0
  }

  get isClosed(): boolean {
    return this.sealer !== undefined || this.declared.some((_) => _.closed)
  }

  /**
   * The same without the union: what each of its branches is added to. It is not sealed: a branch knows its own names, and
   * whether it is the one that matches is not decided by what the others declare.
   */
  withoutUnion(): Facts {
    const copy = new Facts()
    for (const [key, value] of this.bounds) copy.bounds.set(key, value)
    for (const [name, parts] of this.properties) copy.properties.set(name, [...parts])
    for (const name of this.required) copy.required.add(name)
    copy.declared.push(...this.declared)
    copy.types = this.types
    copy.values = this.values
    copy.items = this.items === undefined ? undefined : [...this.items]
    copy.open = this.open
    return copy
  }
}

const silent = new Set([
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "$anchor",
  "$dynamicAnchor",
  "$vocabulary"
])
const descriptive = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "contentEncoding",
  "contentMediaType",
  "contentSchema"
])

/** Keywords that restrict values and that no strict schema can say, with what they say when they restrict nothing. */
const foreign = new Map<string, (value: unknown) => boolean>([
  ["not", () => false],
  ["if", () => false],
  ["dependentRequired", (_) => isObject(_) && Object.keys(_).length === 0],
  ["dependentSchemas", (_) => isObject(_) && Object.keys(_).length === 0],
  ["dependencies", (_) => isObject(_) && Object.keys(_).length === 0],
  ["patternProperties", (_) => isObject(_) && Object.keys(_).length === 0],
  ["propertyNames", (_) => _ === true],
  ["minProperties", (_) => _ === 0],
  ["maxProperties", () => false],
  ["unevaluatedProperties", (_) => _ === true],
  ["prefixItems", () => false],
  ["contains", () => false],
  ["unevaluatedItems", (_) => _ === true],
  ["uniqueItems", (_) => _ === false],
  ["$dynamicRef", () => false],
  ["$recursiveRef", () => false]
])

/** Those of them that an older dialect does not know. */
const since2019 = new Set(["unevaluatedProperties", "unevaluatedItems"])

const bounds = new Map<string, "least" | "greatest" | "same">([
  ["minimum", "greatest"],
  ["exclusiveMinimum", "greatest"],
  ["maximum", "least"],
  ["exclusiveMaximum", "least"],
  ["minLength", "greatest"],
  ["maxLength", "least"],
  ["minItems", "greatest"],
  ["maxItems", "least"],
  ["multipleOf", "same"],
  ["pattern", "same"],
  ["format", "same"]
])

const counts = new Set(["minLength", "maxLength", "minItems", "maxItems"])

/** The formats that strict schemas know. Any other is left out: formats describe, unless somebody chooses to check them. */
const formats = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid"
])

const typeNames = new Set(["string", "number", "integer", "boolean", "object", "array", "null"])

/** Whether a schema says nothing but where to look. */
export const isReference = (part: Part): boolean => {
  if (!Object.hasOwn(part.schema, "$ref")) return false
  for (const key in part.schema) {
    if (key !== "$ref" && restricts(key)) return false
  }
  return true
}

const restricts = (key: string): boolean =>
  foreign.has(key) || bounds.has(key) || key === "type" || key === "enum" || key === "const" || key === "properties" ||
  key === "required" || key === "additionalProperties" || key === "items" ||
  key === "anyOf" || key === "oneOf" || key === "allOf"

/** What these schemas say together, on top of what is known. */
export const gather = (
  document: Document,
  parts: Parts,
  path: string,
  facts: Facts = new Facts()
): Facts | undefined => {
  const underWay = new Set<object>()
  const [only] = parts
  // It sees the names of all that its schema combines: here, all there are.
  if (
    parts.length === 1 && facts.isBare && !document.isBefore2019 &&
    own(only!.schema, "unevaluatedProperties") === false
  ) {
    facts.sealer = only!.schema
  }
  for (const part of parts) {
    if (!add(document, facts, part, path, underWay)) return undefined
  }
  if (facts.declared.some((_) => _.closed && _.names.size < facts.properties.size)) {
    return document.refuse(path, "combines schemas of which one forbids the properties of another")
  }
  return facts
}

/** The outermost comes first: its words are kept. */
const add = (document: Document, facts: Facts, part: Part, path: string, underWay: Set<object>): boolean => {
  if (underWay.has(part.schema)) {
    document.refuse(path, "refers to itself without anything between")
    return false
  }
  if (underWay.size > maxDepth) {
    document.refuse(path, `combines too many schemas inside each other (more than ${maxDepth})`)
    return false
  }
  if (!document.affords(path, 1 + Object.keys(part.schema).length)) return false
  underWay.add(part.schema)
  const added = addKeywords(document, facts, part, path) && addDeclared(document, facts, part, path) &&
    addReference(document, facts, part, path, underWay) && addAllOf(document, facts, part, path, underWay)
  underWay.delete(part.schema)
  return added
}

const addReference = (document: Document, facts: Facts, part: Part, path: string, underWay: Set<object>): boolean => {
  if (!Object.hasOwn(part.schema, "$ref")) return true
  if (document.isBefore2019 && !isReference(part)) {
    document.refuse(path, `restricts values beside a "$ref", which its dialect ignores`)
    return false
  }
  const target = document.resolve(part.schema.$ref, part, path)
  return target !== undefined && add(document, facts, target, path, underWay)
}

const addAllOf = (document: Document, facts: Facts, part: Part, path: string, underWay: Set<object>): boolean => {
  const all = own(part.schema, "allOf")
  if (all === undefined) return true
  if (!Array.isArray(all)) return fails(document, path, "allOf")
  for (const one of all) {
    const inner = document.part(one, part.embedded, path)
    if (inner === undefined || !add(document, facts, inner, path, underWay)) return false
  }
  return true
}

const fails = (document: Document, path: string, keyword: string): false => {
  document.refuse(path, `has a malformed "${keyword}"`)
  return false
}

const addKeywords = (document: Document, facts: Facts, part: Part, path: string): boolean => {
  const schema = part.schema
  for (const key of Object.keys(schema)) {
    const value = schema[key]
    if (key === "unevaluatedProperties" && value === false && facts.sealer === part.schema) continue
    if (document.isBefore2019 && since2019.has(key)) continue
    const restrictsNothing = foreign.get(key)
    if (restrictsNothing !== undefined) {
      if (restrictsNothing(value)) continue
      document.refuse(path, `says "${key}", which a strict schema cannot`)
      return false
    }
    if (descriptive.has(key)) {
      if (!facts.annotations.has(key)) facts.annotations.set(key, value)
    } else if (bounds.has(key)) {
      if (!addBound(document, facts, key, value, path)) return false
    } else if (!silent.has(key) && !addKeyword(document, facts, key, part, path)) return false
  }
  return true
}

const addKeyword = (document: Document, facts: Facts, key: string, part: Part, path: string): boolean => {
  const value = part.schema[key]
  switch (key) {
    case "type":
      return addTypes(document, facts, value, path)
    case "enum":
      return Array.isArray(value) && value.length > 0
        ? addValues(document, facts, value, path)
        : fails(document, path, key)
    case "const":
      return addValues(document, facts, [value], path)
    case "required":
      if (!Array.isArray(value) || !value.every((_) => typeof _ === "string")) return fails(document, path, key)
      if (!document.affords(path, value.length)) return false
      for (const name of value) facts.required.add(name)
      return true
    case "items": {
      if (Array.isArray(value)) {
        document.refuse(path, "describes the items of a list one by one, which a strict schema cannot")
        return false
      }
      const items = document.part(value, part.embedded, inside(path, "items"))
      if (items === undefined) return false
      if (facts.items === undefined) facts.items = [items]
      else facts.items.push(items)
      return true
    }
    case "anyOf":
    case "oneOf":
      return addUnion(document, facts, key, part, path)
    default:
      return true
  }
}

const addTypes = (document: Document, facts: Facts, value: unknown, path: string): boolean => {
  const types: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  if (types.length === 0 || types.length > typeNames.size || !types.every((_) => typeNames.has(_ as string))) {
    return fails(document, path, "type")
  }
  const named = [...new Set(types as ReadonlyArray<string>)]
  const before = facts.types
  facts.types = before === undefined
    ? named
    : [
      ...named.filter((_) => includesType(before, _)),
      ...before.filter((_) => !named.includes(_) && includesType(named, _))
    ]
  if (facts.types.length > 0) return true
  document.refuse(path, "accepts no value: its types exclude each other")
  return false
}

const addValues = (document: Document, facts: Facts, values: ReadonlyArray<unknown>, path: string): boolean => {
  if (!document.affords(path, values.length)) return false
  if (!values.every(isScalar)) {
    document.refuse(path, "lists values that are objects or lists, which a strict schema cannot")
    return false
  }
  if (!values.every((_) => typeof _ !== "number" || Number.isFinite(_))) {
    document.refuse(path, "lists a number that is too large to be written")
    return false
  }
  const before = facts.values === undefined ? undefined : new Set(facts.values)
  facts.values = [...new Set(before === undefined ? values : values.filter((_) => before.has(_)))]
  if (facts.values.length > 0) return true
  document.refuse(path, "accepts no value: the values it lists exclude each other")
  return false
}

/** Whether the keyword can say this. What a server has written as `1e999` would be `null` to whoever gets the schema. */
const isBound = (key: string, value: unknown): boolean => {
  if (key === "pattern" || key === "format") return typeof value === "string"
  if (typeof value !== "number" || !Number.isFinite(value)) return false
  return counts.has(key) ? Number.isInteger(value) && value >= 0 : key !== "multipleOf" || value > 0
}

const addBound = (document: Document, facts: Facts, key: string, value: unknown, path: string): boolean => {
  if (!isBound(key, value)) return fails(document, path, key)
  const bound = value as string | number
  if (key === "format" && !formats.has(bound as string)) return true
  if (key === "pattern" && (bound as string).includes("(?") && /\(\?<?[=!]/.test(bound as string)) {
    document.refuse(path, `has a "pattern" that looks ahead or behind, which a strict schema cannot`)
    return false
  }
  const before = facts.bounds.get(key)
  if (before === undefined) facts.bounds.set(key, bound)
  else if (before !== bound) {
    const kept = bounds.get(key)
    if (kept === "same") {
      document.refuse(path, `combines schemas with a different "${key}"`)
      return false
    }
    facts.bounds.set(
      key,
      kept === "least" ? Math.min(before as number, bound as number) : Math.max(before as number, bound as number)
    )
  }
  return true
}

const addUnion = (document: Document, facts: Facts, key: "anyOf" | "oneOf", part: Part, path: string): boolean => {
  const value = part.schema[key]
  if (!Array.isArray(value) || value.length === 0) return fails(document, path, key)
  if (facts.union !== undefined) {
    document.refuse(path, `combines several "anyOf" or "oneOf"`)
    return false
  }
  if (!document.affords(path, value.length)) return false
  const branches: Array<Part> = []
  for (const one of value) {
    const branch = document.part(one, part.embedded, path)
    if (branch === undefined) return false
    branches.push(branch)
  }
  facts.union = { branches, exclusive: key === "oneOf" }
  return true
}

const addDeclared = (document: Document, facts: Facts, part: Part, path: string): boolean => {
  const properties = own(part.schema, "properties")
  const additional = own(part.schema, "additionalProperties")
  if (properties !== undefined && !isObject(properties)) return fails(document, path, "properties")
  if (additional !== undefined && additional !== false) {
    if (additional !== true && !isObject(additional)) return fails(document, path, "additionalProperties")
    facts.open = true
  }
  if (properties === undefined && additional === undefined) return true
  const names = Object.keys(properties ?? {})
  if (!document.affords(path, names.length)) return false
  for (const name of names) {
    const declared = document.part((properties!)[name], part.embedded, inside(path, name))
    if (declared === undefined) return false
    const known = facts.properties.get(name)
    if (known === undefined) facts.properties.set(name, [declared])
    else known.push(declared)
  }
  facts.declared.push({ names: new Set(names), closed: additional === false })
  return true
}
