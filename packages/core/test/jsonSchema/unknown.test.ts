import { assert, describe, it } from "@effect/vitest"
import * as JsonSchema from "@mcp-runtime/core/JsonSchema"

/** Undecidable for strings, valid for all else. */
const u = { pattern: "(a)\\1" }

const tag = (schema: { readonly [key: string]: unknown }, value: unknown) =>
  JsonSchema.compile(schema).validate(value)._tag

describe("V03: what can't be decided makes unknown what depends on it, and nothing else", () => {
  const cases: ReadonlyArray<readonly [object, unknown, string]> = [
    [u, 1, "Valid"],
    [u, "aa", "Unknown"],
    [{ not: u }, "x", "Unknown"],
    [{ not: u }, 1, "Invalid"],
    [{ allOf: [u, { minLength: 5 }] }, "x", "Invalid"],
    [{ allOf: [u, { maxLength: 5 }] }, "x", "Unknown"],
    [{ anyOf: [u, { maxLength: 5 }] }, "x", "Valid"],
    [{ anyOf: [u, { minLength: 5 }] }, "x", "Unknown"],
    [{ oneOf: [u, { maxLength: 5 }] }, "x", "Unknown"],
    [{ oneOf: [u, { maxLength: 5 }, { maxLength: 6 }] }, "x", "Invalid"],
    [{ oneOf: [u, false] }, "x", "Unknown"],
    [{ if: u, then: { minLength: 5 }, else: { minLength: 6 } }, "x", "Invalid"],
    [{ if: u, then: { minLength: 1 }, else: { maxLength: 6 } }, "x", "Valid"],
    [{ if: u, then: false }, "x", "Unknown"],
    [{ contains: u, minContains: 2 }, ["x"], "Invalid"],
    [{ contains: u }, ["x"], "Unknown"],
    [{ contains: u }, ["x", 1], "Valid"],
    [{ contains: u, maxContains: 1 }, ["x", 1], "Unknown"],
    [{ contains: u, maxContains: 1 }, ["x", 1, 1], "Invalid"],
    [{ properties: { a: u, b: { type: "null" } } }, { a: "x", b: 1 }, "Invalid"],
    [{ properties: { a: u, b: { type: "null" } } }, { a: "x", b: null }, "Unknown"],
    [{ items: u, minItems: 3 }, ["x"], "Invalid"],
    [{ propertyNames: u }, { x: 1 }, "Unknown"],
    [{ propertyNames: u }, {}, "Valid"],
    [{ patternProperties: { "(a)\\1": false } }, { x: 1 }, "Unknown"],
    [{ patternProperties: { "(a)\\1": { type: "number" } } }, { x: 1 }, "Valid"],
    [{ patternProperties: { "(a)\\1": true }, additionalProperties: false }, { x: 1 }, "Unknown"],
    [{ patternProperties: { "(a)\\1": true }, additionalProperties: { type: "number" } }, { x: 1 }, "Valid"],
    [
      { properties: { x: true }, patternProperties: { "(a)\\1": true }, additionalProperties: false },
      { x: 1 },
      "Valid"
    ],
    [{ anyOf: [{ properties: { a: u } }, true], unevaluatedProperties: false }, { a: "x" }, "Unknown"],
    [{ anyOf: [{ properties: { a: u } }, true], unevaluatedProperties: false }, { a: 1 }, "Valid"],
    [{ anyOf: [{ properties: { a: u } }, true], unevaluatedProperties: { type: "string" } }, { a: "x" }, "Valid"],
    [{ anyOf: [{ prefixItems: [u] }, true], unevaluatedItems: false }, ["x"], "Unknown"],
    [{ contains: u, minContains: 0, unevaluatedItems: false }, ["x"], "Unknown"],
    [{ if: { properties: { a: u } }, then: true, else: true, unevaluatedProperties: false }, { a: "x" }, "Unknown"],
    [
      {
        if: { required: ["a"], properties: { a: u } },
        then: { properties: { a: true } },
        else: true,
        unevaluatedProperties: false
      },
      { a: "b" },
      "Unknown"
    ],
    [{ if: { not: { not: { items: u } } }, then: { prefixItems: [true] }, unevaluatedItems: false }, ["b"], "Unknown"],
    [{ if: u, then: { minLength: 1 }, unevaluatedProperties: false }, "x", "Valid"],
    [{ type: "any" }, 1, "Unknown"],
    [{ type: "any", minimum: 3 }, 1, "Invalid"],
    [{ minLength: "3" }, "x", "Unknown"],
    [{ minLength: "3" }, 3, "Valid"],
    [{ required: true }, {}, "Unknown"],
    [{ properties: { a: 5 } }, { a: 1 }, "Unknown"],
    [{ properties: { a: 5 } }, {}, "Valid"],
    [{ type: "string", nullable: true }, null, "Unknown"],
    [{ type: "string", nullable: true }, 1, "Invalid"],
    [{ type: "string", nullable: true }, "x", "Valid"]
  ]
  for (const [schema, value, expected] of cases) {
    it(`${JSON.stringify(schema)} of ${JSON.stringify(value)}: ${expected}`, () => {
      assert.strictEqual(tag(schema as { readonly [key: string]: unknown }, value), expected)
    })
  }

  it("says why", () => {
    const { undecidable, validate } = JsonSchema.compile({ properties: { a: u } })
    assert.deepStrictEqual(undecidable, [
      "#/properties/a/pattern is a pattern that can't be decided: it refers back to what a group has matched"
    ])
    assert.deepStrictEqual(validate({ a: "" }), { _tag: "Unknown", reason: undecidable[0]! })
  })
})
