/**
 * Strict schemas against an oracle that knows nothing of how they were made: a JSON Schema validator, and values made from
 * the shape of the original.
 */
import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "@mcp-runtime/core/McpProtocol"
import * as ToolSchema from "@mcp-runtime/core/ToolSchema"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { FastCheck } from "effect"
import { processorMillis } from "../processor.js"
import { corpus } from "./strictCorpus.js"
import { closed, damaged, damages, samples } from "./strictValues.js"

const runs = Number(process.env.STRICT_RUNS ?? 30)
const fuzzRuns = Number(process.env.STRICT_FUZZ_RUNS ?? 60)

const validator = (schema: JsonObject): (value: unknown) => boolean => {
  const options = { strict: false, validateFormats: false, ownProperties: true, logger: false } as const
  const ajv = String(schema.$schema).includes("draft-07") ? new Ajv(options) : new Ajv2020(options)
  const { $schema: _, ...rest } = schema
  const validate = ajv.compile(rest)
  return (value) => validate(value)
}

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

const said = new Set([
  "type",
  "title",
  "description",
  "default",
  "enum",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
  "format"
])

/** Whether a schema is in the subset, and frozen. */
const assertStrict = (root: JsonObject): void => {
  const visit = (u: unknown, isRoot: boolean): void => {
    const node = u as JsonObject
    assert.isTrue(typeof node === "object" && node !== null && Object.isFrozen(node))
    if (Object.hasOwn(node, "$ref")) {
      assert.deepStrictEqual(Object.keys(node), ["$ref"])
      const name = /^#\/\$defs\/(.+)$/.exec(String(node.$ref))?.[1]
      assert.isTrue(node.$ref === "#" || Object.hasOwn(root.$defs as JsonObject, name!))
      return
    }
    for (const key of Object.keys(node)) assert.isTrue(said.has(key) || (isRoot && key === "$defs"), key)
    if (isRoot) assert.strictEqual(node.type, "object")
    assert.isTrue((node.type === undefined) !== (node.anyOf === undefined), "one of type and anyOf")
    const types = ([] as Array<unknown>).concat(node.type ?? [])
    assert.strictEqual(types.includes("array"), node.items !== undefined)
    assert.strictEqual(types.includes("object"), node.properties !== undefined)
    if (node.properties !== undefined) {
      assert.strictEqual(node.additionalProperties, false)
      assert.deepStrictEqual(node.required, Object.keys(node.properties as JsonObject))
      assert.isTrue(Object.isFrozen(node.properties) && Object.isFrozen(node.required))
      for (const property of Object.values(node.properties as JsonObject)) visit(property, false)
    }
    if (node.items !== undefined) visit(node.items, false)
    for (const branch of (node.anyOf ?? []) as ReadonlyArray<unknown>) visit(branch, false)
  }
  visit(root, true)
  for (const target of Object.values((root.$defs ?? {}) as JsonObject)) visit(target, false)
}

interface Tried {
  readonly accepted: number
  readonly kept: number
}

/** Tries values on both: what the strict one accepts, and what the original accepts. */
const compare = (
  schema: JsonObject,
  optional: "require" | "nullable",
  numRuns: number,
  extra: ReadonlyArray<unknown> = [],
  depth: number = 5,
  seed?: number
): Tried => {
  const result = ToolSchema.strict(schema, { optional })
  assert.isTrue(result.strict)
  assertStrict(result.schema)
  const original = validator(schema)
  const declared = validator(closed(schema))
  const strict = validator(result.schema)
  const back = (value: unknown): unknown =>
    optional === "nullable" ? ToolSchema.withoutFillIns(schema, value as JsonObject) : value
  let accepted = 0
  let kept = 0
  const sound = (value: unknown): void => {
    if (!strict(value)) return
    accepted++
    assert.isTrue(original(back(value)), `only the strict schema accepts ${JSON.stringify(value)}`)
  }
  extra.forEach(sound)
  FastCheck.assert(
    FastCheck.property(
      samples(schema, schema, depth),
      samples(result.schema, result.schema, depth + 2),
      FastCheck.array(damages, { minLength: 3, maxLength: 3 }),
      (sample, other, changes) => {
        sound(sample.plain)
        sound(sample.filled)
        sound(other.plain)
        for (const [choices, bad] of changes) {
          sound(damaged(sample.filled, choices, bad))
          sound(damaged(other.plain, choices, bad))
        }
        const complete = optional === "nullable" || JSON.stringify(sample.plain) === JSON.stringify(sample.filled)
        if (!sample.whole || !complete || !original(sample.plain) || !declared(sample.plain)) return
        kept++
        assert.isTrue(strict(sample.filled), `the strict schema refuses ${JSON.stringify(sample.filled)}`)
        assert.deepStrictEqual(back(sample.filled), sample.plain)
      }
    ),
    { numRuns, ...(seed === undefined ? {} : { seed }) }
  )
  return { accepted, kept }
}

describe("strict schemas", () => {
  it("the corpus is large enough", () => {
    assert.isAtLeast(corpus.length, 60)
    assert.strictEqual(new Set(corpus.map((_) => _.name)).size, corpus.length)
    assert.isAtLeast(corpus.filter((_) => _.require === true).length, 60)
  })

  for (const { depth, name, nullable, require, schema, values } of corpus) {
    for (const [optional, expected] of [["require", require], ["nullable", nullable]] as const) {
      it(`${name} (${optional})`, () => {
        const before = JSON.stringify(schema)
        deepFreeze(schema)
        const started = processorMillis()
        const result = ToolSchema.strict(schema, { optional })
        assert.isBelow(processorMillis() - started, 1000)
        assert.strictEqual(JSON.stringify(schema), before)
        assert.strictEqual(ToolSchema.strict(schema, { optional }), result)
        assert.strictEqual(
          result.reason === undefined ? "converted" : result.reason,
          result.strict ? "converted" : result.reason
        )
        if (expected === true) {
          assert.strictEqual(result.reason, undefined)
          const { accepted, kept } = compare(
            schema,
            optional,
            runs,
            values,
            depth,
            process.env.STRICT_RUNS === undefined ? 1 : undefined
          )
          assert.isAtLeast(accepted, 1, "nothing was accepted, so that nothing was shown")
          assert.isAtLeast(kept, 1, "nothing was kept, so that nothing was shown")
        } else {
          assert.isFalse(result.strict)
          assert.strictEqual(result.schema, schema)
          assert.include(result.reason, expected)
          assert.isBelow(result.reason!.length, 400)
        }
      })
    }
  }
})

/** The schema of an object, told from others by a property. */
const tagged = (schema: JsonObject, index: number): JsonObject => ({
  ...schema,
  properties: { ...(schema.properties as JsonObject), k: { const: index } },
  required: [...(schema.required as ReadonlyArray<string>), "k"]
})

/** Schemas of any make, some of which can be converted. */
const schemas: FastCheck.Arbitrary<JsonObject> = (() => {
  const leaf: FastCheck.Arbitrary<JsonObject> = FastCheck.constantFrom<Array<JsonObject>>(
    { type: "string" },
    { type: "string" },
    { type: "string" },
    { type: "integer" },
    { type: "boolean" },
    { type: "integer" },
    { type: "number", minimum: 1 },
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"] },
    { type: ["integer", "string"] },
    { const: "a" },
    { const: "b" },
    { enum: ["a", "b", null] },
    { enum: [1, "a"] },
    { type: "string", default: null },
    { type: ["string", "null"], default: null },
    { $ref: "#/$defs/x" },
    { $ref: "#/$defs/y" },
    { $ref: "#/$defs/x", description: "words" },
    { type: "string", minLength: 1 }
  )
  const names = FastCheck.constantFrom("a", "b", "c")
  const { schema } = FastCheck.letrec<{ schema: JsonObject; object: JsonObject; branches: ReadonlyArray<JsonObject> }>((
    tie
  ) => ({
    object: FastCheck.record({
      properties: FastCheck.dictionary(names, tie("schema"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
      required: FastCheck.uniqueArray(names, { maxLength: 3 }),
      more: FastCheck.constantFrom<Array<JsonObject>>(
        {},
        {},
        {},
        {},
        { additionalProperties: false },
        { unevaluatedProperties: false }
      )
    }).map(({ more, properties, required }): JsonObject => ({
      type: "object",
      properties,
      required: required.filter((_) => Object.hasOwn(properties, _)),
      ...more
    })),
    branches: FastCheck.oneof(
      FastCheck.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      FastCheck.array(tie("object"), { minLength: 1, maxLength: 3 }),
      FastCheck.array(tie("object"), { minLength: 1, maxLength: 3 }).map((_) => _.map(tagged))
    ),
    schema: FastCheck.oneof(
      { maxDepth: 3, depthSize: "small" },
      leaf,
      tie("object"),
      tie("schema").map((items): JsonObject => ({ type: "array", items })),
      tie("branches").map((anyOf): JsonObject => ({ anyOf })),
      tie("branches").map((oneOf): JsonObject => ({ oneOf })),
      FastCheck.tuple(tie("object"), tie("object")).map((allOf): JsonObject => ({ allOf })),
      FastCheck.tuple(tie("object"), tie("object")).map(([base, one]): JsonObject => ({ ...base, allOf: [one] })),
      FastCheck.tuple(tie("object"), tie("branches")).map(([base, oneOf]): JsonObject => ({ ...base, oneOf })),
      FastCheck.tuple(tie("object"), tie("branches")).map(([base, anyOf]): JsonObject => ({ ...base, anyOf }))
    )
  }))
  return FastCheck.tuple(schema, schema, schema, FastCheck.boolean()).map(([a, x, y, isRequired]) =>
    deepFreeze<JsonObject>({
      type: "object",
      properties: { a },
      ...(isRequired ? { required: ["a"] } : {}),
      $defs: { x, y }
    })
  )
})()

describe("strict schemas of any make", () => {
  for (const optional of ["require", "nullable"] as const) {
    it(`mean what the original means (${optional})`, () => {
      let converted = 0
      let accepted = 0
      FastCheck.assert(
        FastCheck.property(schemas, (schema) => {
          if (!ToolSchema.strict(schema, { optional }).strict) return
          converted++
          accepted += compare(schema, optional, 15).accepted
        }),
        { numRuns: fuzzRuns }
      )
      assert.isAtLeast(converted, fuzzRuns / 20)
      assert.isAtLeast(accepted, fuzzRuns)
    })
  }
})
