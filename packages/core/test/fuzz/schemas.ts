/**
 * Schemas of tools, as hostile servers write them, and values for them.
 *
 * Holds: no schema and no value makes it throw or take long; where `ajv` has an answer to a schema of the usual kind, ours is
 * the same or "unknown"; a strict schema is one by its form, and a schema that can't be one is given back as it was.
 */
import { JsonSchema, type McpProtocol, ToolSchema } from "@mcp-runtime/core"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { FastCheck } from "effect"
import { freeze } from "../../src/internal/protocol/json.js"
import { holds, same } from "./kit/holds.js"
import { edited, edits, hostile, json, made, objectOf } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { resultsOf } from "./traffic.js"

type Schema = McpProtocol.JsonObject

const isObject = (u: unknown): u is Schema => typeof u === "object" && u !== null && !Array.isArray(u)

// -------------------------------------------------------------------------------------------------
// Usual schemas, against ajv
// -------------------------------------------------------------------------------------------------

const propertyName = FastCheck.constantFrom("a", "b", "c", "length", "0", "toString", "a/b", "~")
const count = FastCheck.nat({ max: 3 })
const small = FastCheck.oneof(FastCheck.integer({ min: -3, max: 5 }), FastCheck.constantFrom(0.5, 2.5))
const text = FastCheck.constantFrom("", "a", "ab", "abc", "😀", "1", "aab")

const scalar = FastCheck.oneof(small, text, FastCheck.boolean(), FastCheck.constant(null))

const value: FastCheck.Arbitrary<unknown> = FastCheck.letrec<{ value: unknown }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 3 },
    scalar,
    FastCheck.array(tie("value"), { maxLength: 3 }),
    FastCheck.array(FastCheck.tuple(propertyName, tie("value")), { maxLength: 3 }).map(objectOf)
  )
})).value

const type = FastCheck.constantFrom("string", "number", "integer", "boolean", "null", "array", "object")
const pattern = FastCheck.constantFrom(
  "^a",
  "b$",
  "a+b",
  "^[a-c]*$",
  "\\d",
  "^(a|b)+$",
  ".",
  "^.{2}$",
  "\\p{L}",
  "(?=a)"
)

const keyword = (
  schema: FastCheck.Arbitrary<unknown>,
  list: FastCheck.Arbitrary<unknown>,
  map: FastCheck.Arbitrary<unknown>
) =>
  FastCheck.oneof(
    pair("type", FastCheck.oneof(type, FastCheck.uniqueArray(type, { minLength: 1, maxLength: 3 }))),
    pair("enum", FastCheck.array(value, { minLength: 1, maxLength: 3 })),
    pair("const", value),
    pair("minimum", small),
    pair("maximum", small),
    pair("exclusiveMinimum", small),
    pair("exclusiveMaximum", small),
    pair("multipleOf", FastCheck.constantFrom(1, 2, 0.5)),
    pair("minLength", count),
    pair("maxLength", count),
    pair("pattern", pattern),
    pair("minItems", count),
    pair("maxItems", count),
    pair("uniqueItems", FastCheck.boolean()),
    pair("minProperties", count),
    pair("maxProperties", count),
    pair("required", FastCheck.uniqueArray(propertyName, { maxLength: 3 })),
    pair("items", schema),
    pair("contains", schema),
    pair("additionalProperties", schema),
    pair("propertyNames", schema),
    pair("not", schema),
    pair("if", schema),
    pair("then", schema),
    pair("else", schema),
    pair("properties", map),
    pair("patternProperties", FastCheck.array(FastCheck.tuple(pattern, schema), { maxLength: 2 }).map(objectOf)),
    pair("allOf", list),
    pair("anyOf", list),
    pair("oneOf", list),
    pair("$ref", FastCheck.constantFrom("#", "#/definitions/x", "#/definitions/y"))
  )

const keyword2020 = (
  schema: FastCheck.Arbitrary<unknown>,
  list: FastCheck.Arbitrary<unknown>,
  map: FastCheck.Arbitrary<unknown>
) =>
  FastCheck.oneof(
    { arbitrary: keyword(schema, list, map), weight: 6 },
    {
      arbitrary: FastCheck.oneof(
        pair("prefixItems", list),
        pair("minContains", count),
        pair("maxContains", count),
        pair("unevaluatedProperties", schema),
        pair("unevaluatedItems", schema),
        pair(
          "dependentRequired",
          FastCheck.array(FastCheck.tuple(propertyName, FastCheck.uniqueArray(propertyName, { maxLength: 2 })), {
            maxLength: 2
          }).map(objectOf)
        ),
        pair("dependentSchemas", map)
      ),
      weight: 1
    }
  )

const pair = <A>(name: string, value: FastCheck.Arbitrary<A>) => value.map((_) => [name, _] as const)

/** Before 2019, nothing counts beside `$ref`: ajv counts it. */
const alone = (schema: Schema): Schema => Object.hasOwn(schema, "$ref") ? { $ref: schema.$ref } : schema

const schemaBy = (keywords: typeof keyword, change = (schema: Schema) => schema): FastCheck.Arbitrary<Schema> =>
  FastCheck.letrec<{ schema: unknown; object: Schema; list: unknown; map: unknown }>((tie) => ({
    schema: FastCheck.oneof({ maxDepth: 3 }, FastCheck.boolean(), tie("object")),
    object: FastCheck.array(keywords(tie("schema"), tie("list"), tie("map")), { maxLength: 3 }).map((_) =>
      change(objectOf(_))
    ),
    list: FastCheck.array(tie("schema"), { minLength: 1, maxLength: 3 }),
    map: FastCheck.array(FastCheck.tuple(propertyName, tie("schema")), { maxLength: 3 }).map(objectOf)
  })).object

const rooted = (schema: FastCheck.Arbitrary<Schema>, $schema: string): FastCheck.Arbitrary<Schema> =>
  FastCheck.tuple(schema, schema, schema).map(([root, x, y]) => ({ ...root, definitions: { x, y }, $schema }))

const usual = FastCheck.oneof(
  FastCheck.record({
    draft: FastCheck.constant(7 as const),
    schema: rooted(schemaBy(keyword, alone), "http://json-schema.org/draft-07/schema#")
  }),
  FastCheck.record({
    draft: FastCheck.constant(2020 as const),
    schema: rooted(schemaBy(keyword2020), "https://json-schema.org/draft/2020-12/schema")
  })
)

const quiet = {
  // ajv (8.20) that stops at the first error also skips what stands behind `prefixItems`, where the list is shorter than these.
  allErrors: true,
  strict: false,
  ownProperties: true,
  validateFormats: false,
  logger: false,
  validateSchema: false,
  addUsedSchema: false
} as const

/**
 * Where ajv (8.20) is wrong. It takes a property that is called like one of `Object.prototype` for evaluated, and so it does with
 * all items of a list in which `contains` found nothing; what it says of an empty list that must contain something is what it said
 * of the list before.
 */
const isAjvWrong = (schema: string, value: string): boolean => {
  const has = (keyword: string) => schema.includes(`"${keyword}"`)
  return (has("unevaluatedProperties") && value.includes("\"toString\"")) ||
    (has("contains") && (has("unevaluatedItems") || (value !== "[]" && value.includes("[]"))))
}

/** What ajv says; nothing where it is known to be wrong, does not like the schema, or goes round in circles. */
const byAjv = (
  draft: 7 | 2020,
  schema: Schema,
  values: ReadonlyArray<unknown>
): ReadonlyArray<boolean | undefined> | undefined => {
  const text = JSON.stringify(schema)
  try {
    const validate = (draft === 7 ? new Ajv(quiet) : new Ajv2020(quiet)).compile(schema)
    return values.map((_) => isAjvWrong(text, JSON.stringify(_)) ? undefined : validate(_) === true)
  } catch {
    return undefined
  }
}

export const validationPart = part({
  name: "validation",
  about: "a value fits a schema where ajv says so",
  inputs: 300,
  share: 0.5,
  input: FastCheck.record({ usual, values: FastCheck.array(value, { minLength: 1, maxLength: 6 }) }),
  check: ({ usual: { draft, schema }, values }) => {
    const expected = byAjv(draft, schema, values)
    const validator = JsonSchema.compile(schema)
    values.forEach((value, i) => {
      const answer = validator.validate(value)
      if (answer._tag === "Unknown" || expected?.[i] === undefined) return
      same(
        answer._tag,
        expected[i] ? "Valid" : "Invalid",
        `${JSON.stringify(value)} by ${JSON.stringify(schema)}`
      )
    })
  }
})

// -------------------------------------------------------------------------------------------------
// Hostile schemas
// -------------------------------------------------------------------------------------------------

const tools = resultsOf("tools/list").flatMap((_) => (_ as { readonly tools: ReadonlyArray<McpProtocol.Tool> }).tools)
const real = tools.flatMap((_) => _.outputSchema === undefined ? [_.inputSchema] : [_.inputSchema, _.outputSchema])

const odd: ReadonlyArray<Schema> = [
  { $ref: "#" },
  { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
  { type: "object", properties: { a: { $ref: "#" } }, required: ["a"], anyOf: [{ $ref: "#" }, { type: "object" }] },
  { type: "string", pattern: "^(a+)+$" },
  { type: "string", pattern: "(?:(?:a*)*)*b", format: "regex" },
  { type: "object", patternProperties: { "^(a|a)*$": { type: "string", pattern: "(.*)*x" } } },
  { $dynamicRef: "#x", $dynamicAnchor: "x", items: { $dynamicRef: "#x" } },
  { $id: "https://a.example/x", $ref: "https://a.example/x", $anchor: "y" },
  { allOf: [{ anyOf: [{ oneOf: [{ not: {} }, true] }, false] }], enum: [1, [1], { a: 1 }] }
]

/** Enough to be held up by, not enough to prove anything by time. */
const steps = 20_000

const mostReason = 1000

const hostileSchema = FastCheck.oneof(
  {
    arbitrary: FastCheck.record({ schema: FastCheck.constantFrom<unknown>(...real, ...odd), changes: edits(5) }),
    weight: 6
  },
  { arbitrary: FastCheck.record({ schema: schemaBy(keyword2020), changes: edits(1) }), weight: 2 },
  { arbitrary: FastCheck.record({ schema: json, changes: edits(1) }), weight: 1 }
)

const nested = (levels: number): Schema => {
  let schema: Schema = { type: "string" }
  for (let i = 0; i < levels; i++) schema = { anyOf: [{ type: "null" }, { type: "object", properties: { a: schema } }] }
  return schema
}

const listOf = <A>(size: number, item: (i: number) => A): Array<A> => Array.from({ length: size }, (_, i) => item(i))

const compiling = (schema: Schema, value?: unknown) => () => {
  // Another object each time: what was compiled is remembered.
  const { validate } = JsonSchema.compile({ ...schema, title: String(performance.now()) })
  return validate(value)
}

const converting = (schema: Schema) => () => [
  ToolSchema.strict({ ...schema }),
  ToolSchema.strict({ ...schema }, { optional: "nullable" })
]

export const schemasPart = part({
  name: "schemas",
  about: "any schema and any value: an answer, in bounded time; strict only where it is",
  inputs: 700,
  share: 1.5,
  input: FastCheck.record({
    written: hostileSchema,
    value: FastCheck.oneof(hostile, value.map((value) => ({ value }))),
    optional: FastCheck.constantFrom("require" as const, "nullable" as const)
  }),
  check: ({ optional, value: given, written }) => {
    const schema = edited(written.schema, written.changes)
    if (!isObject(schema)) return
    const value = made(given)
    const validator = JsonSchema.compile(schema)
    const answer = validator.validate(value, { steps })
    if (answer._tag === "Invalid") {
      holds(answer.problems.length > 0 && answer.problems.length <= 16, `${answer.problems.length} problems`)
      for (const { path, problem } of answer.problems) {
        holds(path.length + problem.length < mostReason, `${path}: ${problem}`)
      }
    }
    for (const reason of validator.undecidable) holds(reason.length < mostReason, reason)
    const strict = ToolSchema.strict(schema, { optional })
    if (strict.strict) isStrict(strict.schema, 0)
    else holds(strict.schema === schema && (strict.reason ?? "").length < mostReason, "it is not given back as it was")
    if (isObject(value)) ToolSchema.withoutFillIns(schema, value)
    ToolSchema.normalized(schema)
    if (strict.strict) holds(freeze(strict.schema), "the strict schema is too deep")
  },
  growths: [
    { name: "enum", from: 500, most: 100_000, run: (n) => compiling({ enum: listOf(n, (i) => `v${i}`) }, "x") },
    {
      name: "enum of objects",
      from: 200,
      most: 50_000,
      run: (n) => compiling({ enum: listOf(n, (i) => ({ i })) }, { i: -1 })
    },
    {
      name: "uniqueItems",
      from: 200,
      most: 20_000,
      run: (n) => compiling({ uniqueItems: true }, listOf(n, (i) => ({ i })))
    },
    { name: "required", from: 500, most: 50_000, run: (n) => compiling({ required: listOf(n, (i) => `p${i}`) }, {}) },
    {
      name: "properties",
      from: 200,
      most: 30_000,
      run: (n) =>
        compiling({ properties: objectOf(listOf(n, (i) => [`p${i}`, { type: "string" }] as const)) as Schema }, {})
    },
    {
      name: "chain of references",
      from: 200,
      most: 30_000,
      run: (n) =>
        compiling({
          $defs: objectOf(listOf(n, (i) => [`d${i}`, i === 0 ? {} : { $ref: `#/$defs/d${i - 1}` }] as const)) as Schema,
          $ref: `#/$defs/d${n - 1}`
        }, 1)
    },
    {
      name: "pattern and long text",
      from: 2000,
      most: 100_000,
      run: (n) => compiling({ pattern: "^(a|aa)+$" }, `${"a".repeat(n)}b`)
    },
    {
      name: "strict: properties",
      from: 100,
      most: 10_000,
      run: (n) =>
        converting({
          type: "object",
          properties: objectOf(listOf(n, (i) => [`p${i}`, { type: "string" }] as const)) as Schema
        })
    },
    {
      name: "strict: branches",
      from: 50,
      most: 5000,
      run: (n) =>
        converting({
          type: "object",
          properties: {
            a: {
              anyOf: listOf(
                n,
                (i) => ({ type: "object", properties: { kind: { const: `k${i}` } }, required: ["kind"] })
              )
            }
          }
        })
    },
    {
      name: "strict: nested unions",
      from: 2,
      most: 200,
      run: (n) => converting({ type: "object", properties: { a: nested(n) } })
    }
  ]
})

/** By its form: each object closed, and all its properties required. */
const isStrict = (schema: unknown, depth: number): void => {
  if (!isObject(schema) || depth > 300) return
  if (isObject(schema.properties)) {
    same(schema.additionalProperties, false, "additionalProperties of a strict object")
    same(
      [...(schema.required as ReadonlyArray<string> ?? [])].sort(),
      Object.keys(schema.properties).sort(),
      "required of a strict object"
    )
    for (const inner of Object.values(schema.properties)) isStrict(inner, depth + 1)
  }
  for (const key of ["anyOf", "$defs", "definitions"]) {
    const inner = schema[key]
    if (typeof inner === "object" && inner !== null) {
      for (const one of Object.values(inner)) isStrict(one, depth + 1)
    }
  }
  isStrict(schema.items, depth + 1)
}
