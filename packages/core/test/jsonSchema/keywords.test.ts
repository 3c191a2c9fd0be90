import { assert, describe, it } from "@effect/vitest"
import * as JsonSchema from "@mcp-runtime/core/JsonSchema"

const draft = {
  4: "http://json-schema.org/draft-04/schema#",
  6: "http://json-schema.org/draft-06/schema#",
  7: "http://json-schema.org/draft-07/schema#",
  2019: "https://json-schema.org/draft/2019-09/schema",
  2020: "https://json-schema.org/draft/2020-12/schema"
}

type Case = readonly [
  schema: { readonly [key: string]: unknown },
  fits: ReadonlyArray<unknown>,
  fitsNot: ReadonlyArray<unknown>
]

const check = (name: string, cases: ReadonlyArray<Case>) =>
  it(name, () => {
    for (const [schema, fits, fitsNot] of cases) {
      const { validate } = JsonSchema.compile(schema)
      for (const value of fits) {
        assert.deepStrictEqual(validate(value), { _tag: "Valid" }, JSON.stringify([schema, value]))
      }
      for (const value of fitsNot) {
        const answer = validate(value)
        assert.strictEqual(answer._tag, "Invalid", JSON.stringify([schema, value]))
        if (answer._tag === "Invalid") assert.isAbove(answer.problems.length, 0)
      }
    }
  })

describe("V01: what each keyword allows", () => {
  check("types", [
    [{ type: "integer" }, [1, 1.0, -3, 1e20], [1.5, "1", null, true, [], {}, Number.NaN]],
    [{ type: ["string", "null"] }, ["", null], [0, false, {}]],
    [{ type: "object" }, [{}, { a: 1 }], [[], null, "x", undefined]],
    [{ type: "array" }, [[]], [{}, null]],
    [{ type: "number" }, [0, -1.5], ["0", true, Number.POSITIVE_INFINITY]],
    [{}, [null, 1, "a", [], {}], []]
  ])

  check("enum and const compare by value, whatever the order of properties", [
    [{ enum: [1, "1", null, { a: [1, { b: 2 }], c: 3 }] }, [1, "1", null, { c: 3, a: [1, { b: 2 }] }], [
      true,
      "null",
      { a: [1, { b: 2 }] },
      [1]
    ]],
    [{ const: false }, [false], [0, "", null]],
    [{ const: 0 }, [0, -0], [false, "0"]],
    [{ const: [{ x: "," }, "]"] }, [[{ x: "," }, "]"]], [[{ x: "," }], ["]", { x: "," }]]],
    [{ const: { ["__proto__"]: 1 } }, [], [{}]],
    [{ enum: [] }, [], [null, 1]]
  ])

  check("numbers", [
    [{ minimum: 1, maximum: 3 }, [1, 2.5, 3, "x"], [0.99, 3.01]],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1.01, 2.99], [1, 3]],
    [{ $schema: draft[4], minimum: 1, exclusiveMinimum: true }, [1.01], [1]],
    [{ maximum: 1, exclusiveMaximum: true }, [0.5], [1]],
    [{ maximum: 1, exclusiveMaximum: false }, [1], [2]]
  ])

  check("multipleOf counts in decimals", [
    [{ multipleOf: 0.1 }, [0.3, 0.7, 4.1, 1e300, 0, -0.2], [0.35, 1e-7]],
    [{ multipleOf: 0.01 }, [4.35, 0.07, 1.1, 19.99], [4.355, 0.075]],
    [{ multipleOf: 3 }, [9, -3, 0], [10, 4.5]],
    [{ multipleOf: 1e-8 }, [12391239123, 1e308], []],
    [{ multipleOf: 2.5 }, [5, 7.5], [6]]
  ])

  check("strings are counted in characters", [
    [{ minLength: 2, maxLength: 3 }, ["ab", "abc", "😀😀", "😀😀😀", 7], ["a", "abcd", "😀", "😀😀😀😀"]],
    [{ pattern: "^a+$" }, ["a", "aaa", 1], ["", "ab"]],
    [{ pattern: "b" }, ["abc"], ["ac"]],
    [{ format: "email", contentEncoding: "base64" }, ["no address"], []]
  ])

  check("lists", [
    [{ minItems: 1, maxItems: 2 }, [[1], [1, 2], "x"], [[], [1, 2, 3]]],
    [{ items: { type: "integer" } }, [[], [1, 2]], [[1, "2"]]],
    [{ prefixItems: [{ type: "string" }], items: { type: "integer" } }, [["a", 1, 2], [], ["a"]], [[1], ["a", "b"]]],
    [{ prefixItems: [{ type: "string" }] }, [["a", 1, "b"]], [[1]]],
    [{ $schema: draft[7], items: [{ type: "string" }], additionalItems: { type: "integer" } }, [["a", 1]], [[
      "a",
      "b"
    ]]],
    [{ $schema: draft[7], items: { type: "string" }, additionalItems: false }, [["a", "b"]], [[1]]],
    [{ $schema: draft[7], prefixItems: [false] }, [[1]], []],
    [{ items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", 1], [1]]],
    [{ items: false }, [[]], [[1]]]
  ])

  check("contains", [
    [{ contains: { const: 1 } }, [[0, 1], [1]], [[], [0]]],
    [{ contains: { const: 1 }, minContains: 2, maxContains: 3 }, [[1, 1], [1, 0, 1, 1]], [[1], [1, 1, 1, 1]]],
    [{ contains: { const: 1 }, minContains: 0 }, [[], [0]], []],
    [{ contains: { const: 1 }, minContains: 0, maxContains: 1 }, [[], [1]], [[1, 1]]],
    [{ minContains: 3 }, [[]], []],
    [{ $schema: draft[7], contains: { const: 1 }, minContains: 2 }, [[1]], [[]]],
    [{ $schema: draft[4], contains: false }, [[1]], []],
    [{ contains: {}, prefixItems: [false] }, [], [[], [1]]],
    [{ additionalProperties: { contains: { contains: {} } } }, [{ a: [""] }], [{ a: [""], b: [] }]]
  ])

  check("uniqueItems", [
    [{ uniqueItems: true }, [
      [1, "1", true, "true", null, "null", [1], "[1]", { a: 1 }, "{\"a\":1}"],
      [[1, 2], [2, 1]],
      [{ a: 1 }, { b: 1 }]
    ], [[1, 1], [{ a: 1, b: 2 }, { b: 2, a: 1 }], [[], []], ["a", "b", "a"], [0, -0]]],
    [{ uniqueItems: false }, [[1, 1]], []]
  ])

  check("objects", [
    [{ required: ["a", "toString"] }, [{ a: null, toString: 1 }, []], [{ a: 1 }, { a: undefined, toString: 1 }]],
    [{ properties: { a: { type: "string" }, constructor: { type: "number" } } }, [{}, { a: "x", b: 1 }], [
      { a: 1 },
      { constructor: "x" }
    ]],
    [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }, {}, { a: 1, b: undefined }], [{ b: 1 }]],
    [{ additionalProperties: { type: "integer" } }, [{ a: 1 }], [{ a: "1" }]],
    [{ patternProperties: { "^x": { type: "integer" } }, additionalProperties: false }, [{ x1: 1 }], [{ x1: "1" }, {
      y: 1
    }]],
    [{ properties: { xa: { minimum: 5 } }, patternProperties: { "^x": { maximum: 6 } } }, [{ xa: 5 }], [{ xa: 4 }, {
      xa: 7
    }]],
    [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }, {}], [{ abc: 1 }]],
    [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }, { a: 1, b: 2, c: undefined }], [{}, { a: 1, b: 2, c: 3 }]],
    [JSON.parse(`{"properties": {"__proto__": {"type": "number"}}, "additionalProperties": false}`), [
      JSON.parse(`{"__proto__": 1}`),
      {}
    ], [JSON.parse(`{"__proto__": "a"}`)]]
  ])

  check("dependencies", [
    [{ dependentRequired: { a: ["b"] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
    [{ dependentSchemas: { a: { maxProperties: 1 } } }, [{ a: 1 }, { b: 1, c: 1 }], [{ a: 1, b: 1 }]],
    [{ $schema: draft[7], dependencies: { a: ["b"], c: { required: ["d"] } } }, [{ a: 1, b: 1 }, { c: 1, d: 1 }], [
      { a: 1 },
      { c: 1 }
    ]],
    [{ $schema: draft[7], dependentRequired: { a: ["b"] } }, [{ a: 1 }], []]
  ])

  check("logic", [
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
    [{ anyOf: [{ type: "string" }, { minimum: 2 }] }, ["a", 2], [1]],
    [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, [0, 3], [1, 2]],
    [{ not: { type: "string" } }, [1], ["a"]],
    [{ not: {} }, [], [1, null]],
    [{ if: { minimum: 10 }, then: { multipleOf: 10 }, else: { multipleOf: 2 } }, [20, 4], [11, 3]],
    [{ if: true, else: false }, [1], []],
    [{ then: false, else: false }, [1], []],
    [{ $schema: draft[6], if: true, then: false }, [1], []]
  ])

  check("unevaluatedProperties", [
    [
      { properties: { a: true }, allOf: [{ properties: { b: true } }], unevaluatedProperties: false },
      [{ a: 1, b: 1 }],
      [{ c: 1 }]
    ],
    [
      {
        anyOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 1 } }, required: ["b"] }],
        unevaluatedProperties: false
      },
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ a: 1, b: 2 }, { a: 2 }]
    ],
    [
      {
        if: { properties: { k: { const: 1 } }, required: ["k"] },
        then: { properties: { x: true } },
        else: { properties: { y: true } },
        unevaluatedProperties: false
      },
      [{ k: 1, x: 1 }, { y: 1 }],
      [{ k: 1, y: 1 }, { k: 2, y: 1 }, { x: 1 }]
    ],
    [{ not: { not: { properties: { a: true } } }, unevaluatedProperties: false }, [{}], [{ a: 1 }]],
    [{ allOf: [{ unevaluatedProperties: true }], unevaluatedProperties: false }, [{ a: 1 }], []],
    [{ allOf: [{ properties: { a: true } }, { unevaluatedProperties: false }] }, [{}], [{ a: 1 }]],
    [{ $ref: "#/$defs/a", unevaluatedProperties: { type: "integer" }, $defs: { a: { properties: { a: true } } } }, [{
      a: "x",
      b: 1
    }], [{ b: "x" }]],
    [{ dependentSchemas: { a: { properties: { b: true } } }, properties: { a: true }, unevaluatedProperties: false }, [
      { a: 1, b: 1 }
    ], [{ b: 1 }]],
    [{ properties: { in: { properties: { a: true } } }, unevaluatedProperties: false }, [{ in: { z: 1 } }], [
      { a: 1 },
      { in: { a: 1 }, a: 1 }
    ]],
    [{ $schema: draft[7], unevaluatedProperties: false }, [{ a: 1 }], []],
    [{ patternProperties: { "^a": {} }, unevaluatedProperties: false }, [{ a: 1 }], [{ toString: [] }]]
  ])

  check("unevaluatedItems", [
    [{ prefixItems: [true], unevaluatedItems: false }, [[1]], [[1, 2]]],
    [{ items: true, unevaluatedItems: false }, [[1, 2]], []],
    [{ allOf: [{ prefixItems: [true, true] }], prefixItems: [true], unevaluatedItems: false }, [[1, 2]], [[1, 2, 3]]],
    [{ contains: { type: "string" }, unevaluatedItems: { type: "integer" } }, [["a", 1]], [["a", null]]],
    [{ oneOf: [{ contains: false }, {}], unevaluatedItems: { type: "integer" } }, [[1]], [["a"]]],
    [{ $schema: draft[2019], items: [true], unevaluatedItems: false }, [[1]], [[1, 2]]],
    [{ $schema: draft[2019], contains: true, unevaluatedItems: false }, [], [[1]]]
  ])

  it("problems say where and what, and nothing of the value", () => {
    const { validate } = JsonSchema.compile({
      type: "object",
      properties: {
        a: { type: "array", items: { type: "object", properties: { "b c": { type: "integer", minimum: 3 } } } },
        d: { anyOf: [{ type: "string" }, { type: "null" }] },
        e: { anyOf: [{ type: "null" }, { type: "object", required: ["f"], properties: { f: { enum: ["x", "y"] } } }] }
      },
      required: ["g"],
      additionalProperties: false
    })
    const answer = validate({ a: [{}, { "b c": 2 }, { "b c": "secret" }], d: 1, e: { f: "secret" }, h: "secret" })
    assert.deepStrictEqual(answer, {
      _tag: "Invalid",
      problems: [
        { path: "g", problem: "is missing" },
        { path: "a[1][\"b c\"]", problem: "must be at least 3" },
        { path: "a[2][\"b c\"]", problem: "must be a whole number" },
        { path: "d", problem: "must be a string, or must be null" },
        { path: "e.f", problem: "must be one of \"x\", \"y\"" },
        { path: "h", problem: "is not allowed" }
      ]
    })
    assert.deepStrictEqual(validate("secret"), {
      _tag: "Invalid",
      problems: [{ path: "", problem: "must be an object" }]
    })
  })
})
