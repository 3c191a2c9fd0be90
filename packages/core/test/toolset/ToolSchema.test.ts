import { assert, describe, it } from "@effect/vitest"
import type { JsonObject, Tool } from "@mcp-runtime/core/McpProtocol"
import * as ToolSchema from "@mcp-runtime/core/ToolSchema"
import * as Words from "../../src/internal/toolset/words.js"
import { processorMillis } from "../processor.js"

const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject

const range = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i)

const nullable = (schema: JsonObject) => ToolSchema.strict(schema, { optional: "nullable" })

const forecast: JsonObject = Object.freeze({
  type: "object",
  properties: Object.freeze({ city: Object.freeze({ type: "string" }), days: Object.freeze({ type: "integer" }) }),
  required: Object.freeze(["city"])
})

const tool = (fields: Partial<Tool>): Tool => ({ name: "t", inputSchema: {}, ...fields })

describe("words of a tool", () => {
  it("description, then title, then the annotations' title, then nothing; empty ones don't count", () => {
    const annotations = { title: "of annotations" }
    assert.strictEqual(Words.describe(tool({ description: "d", title: "t", annotations })), "d")
    assert.strictEqual(Words.describe(tool({ title: "t", annotations })), "t")
    assert.strictEqual(Words.describe(tool({ description: "", title: "", annotations })), "of annotations")
    assert.strictEqual(Words.describe(tool({ annotations: {} })), "")
    assert.strictEqual(Words.describe(tool({})), "")
    assert.strictEqual(Words.titleOf(tool({ description: "d", title: "t", annotations })), "t")
    assert.strictEqual(Words.titleOf(tool({ description: "d", title: "", annotations })), "of annotations")
    assert.strictEqual(Words.titleOf(tool({ description: "d" })), undefined)
  })
})

describe("normalized", () => {
  it("adds properties where an object has none, and nothing else", () => {
    const schema = Object.freeze({ type: "object", additionalProperties: { type: "string" } })
    const made = ToolSchema.normalized(schema)
    assert.deepStrictEqual(made, { type: "object", additionalProperties: { type: "string" }, properties: {} })
    assert.isTrue(Object.isFrozen(made) && Object.isFrozen(made.properties))
    assert.strictEqual(ToolSchema.normalized(schema), made)
    assert.deepStrictEqual(ToolSchema.normalized({}), { properties: {} })
  })

  it("is the same schema where it has them, or is not of an object", () => {
    for (const schema of [forecast, { type: "string" }, { type: ["object", "null"] }, { properties: 1 }]) {
      assert.strictEqual(ToolSchema.normalized(schema), schema)
    }
  })

  it("takes properties from the schema itself, not from what every object has", () => {
    const made = ToolSchema.normalized(Object.create({ properties: {} }) as JsonObject)
    assert.isTrue(Object.hasOwn(made, "properties"))
  })
})

describe("strict", () => {
  it("requires what was optional, or lets it be null", () => {
    assert.deepStrictEqual(ToolSchema.strict(forecast), {
      strict: true,
      schema: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city", "days"],
        additionalProperties: false
      }
    })
    assert.deepStrictEqual(nullable(forecast), {
      strict: true,
      schema: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: ["integer", "null"] } },
        required: ["city", "days"],
        additionalProperties: false
      }
    })
  })

  it("gives words their place: none beside a reference, all outside of what null was added to", () => {
    const { schema } = nullable({
      type: "object",
      properties: {
        a: { $ref: "#/$defs/P", description: "a person" },
        b: { $ref: "#/$defs/P", description: "another" },
        c: { type: "string", enum: ["x"], description: "c" },
        d: { type: "array", items: { type: "string" }, title: "D" },
        e: { type: "string", default: "x", examples: ["y"], $comment: "z", format: "uri" }
      },
      required: ["a"],
      $defs: { P: { type: "object", properties: { n: { type: "string" } }, required: ["n"], description: "P" } }
    })
    assert.deepStrictEqual(schema.properties, {
      a: { description: "a person", anyOf: [{ $ref: "#/$defs/P" }] },
      b: { description: "another", anyOf: [{ $ref: "#/$defs/P" }, { type: "null" }] },
      c: { type: ["string", "null"], description: "c", enum: ["x", null] },
      d: { title: "D", anyOf: [{ type: "array", items: { type: "string" } }, { type: "null" }] },
      e: { type: ["string", "null"], default: "x" }
    })
    assert.deepStrictEqual(Object.keys(schema.$defs as JsonObject), ["P"])
  })

  it("puts what a root refers to in its place, also for those inside who refer to it", () => {
    const { schema } = ToolSchema.strict({
      $ref: "#/$defs/Node",
      $defs: { Node: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Node" } } } } }
    })
    assert.deepStrictEqual(schema, {
      type: "object",
      properties: { kids: { type: "array", items: { $ref: "#" } } },
      required: ["kids"],
      additionalProperties: false
    })
  })

  it("converts a frozen schema once, for each option", () => {
    const converted = ToolSchema.strict(forecast)
    assert.strictEqual(ToolSchema.strict(forecast), converted)
    assert.strictEqual(ToolSchema.strict(forecast, { optional: "require" }), converted)
    assert.strictEqual(ToolSchema.strict(forecast, { optional: undefined }), converted)
    assert.strictEqual(nullable(forecast), nullable(forecast))
    assert.notStrictEqual(nullable(forecast), converted)
    const unconverted = Object.freeze({ type: "string" })
    assert.strictEqual(ToolSchema.strict(unconverted), ToolSchema.strict(unconverted))
  })

  it("does not remember what may change", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } as Record<string, unknown> }
    assert.isTrue(ToolSchema.strict(schema).strict)
    schema.properties.b = {}
    assert.isFalse(ToolSchema.strict(schema).strict)
  })

  it("20: a root that is no object is not strict", () => {
    for (const type of ["string", "number", "array", ["object", "null"], ["string", "object"]]) {
      const schema = { type, items: { type: "string" }, properties: { a: { type: "string" } } }
      const result = ToolSchema.strict(schema)
      assert.isFalse(result.strict)
      assert.strictEqual(result.schema, schema)
    }
  })

  it("is not strict with a bound that is none, or a number that is null once it is written", () => {
    const all = [
      `{"type":"number","minimum":1e999}`,
      `{"type":"number","exclusiveMaximum":-1e999}`,
      `{"type":"number","multipleOf":0}`,
      `{"type":"string","minLength":-1}`,
      `{"type":"string","maxLength":1.5}`,
      `{"type":"array","items":{"type":"string"},"maxItems":0.5}`,
      `{"type":"number","enum":[1,1e999]}`,
      `{"const":-1e999}`
    ]
    for (const property of all) {
      const schema = parse(`{"type":"object","properties":{"a":${property}},"required":["a"]}`)
      const result = ToolSchema.strict(schema)
      assert.isFalse(result.strict, property)
      assert.strictEqual(result.schema, schema)
    }
    const { schema } = ToolSchema.strict(
      parse(`{"type":"object","properties":{"a":{"type":"number","default":1e999}}}`)
    )
    assert.deepStrictEqual(schema.properties, { a: { type: "number" } })
  })

  it("a property called __proto__ is one like any other", () => {
    const schema = parse(
      `{"type":"object","properties":{"__proto__":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`
    )
    assert.strictEqual(
      JSON.stringify(nullable(schema).schema),
      `{"type":"object","properties":{"__proto__":{"type":["string","null"]},"b":{"type":"string"}},` +
        `"required":["__proto__","b"],"additionalProperties":false}`
    )
    const kept = ToolSchema.withoutFillIns(schema, parse(`{"__proto__":null,"b":"x"}`))
    assert.strictEqual(JSON.stringify(kept), `{"b":"x"}`)
    const given = ToolSchema.withoutFillIns(schema, parse(`{"__proto__":"y","b":"x"}`))
    assert.strictEqual(JSON.stringify(given), `{"__proto__":"y","b":"x"}`)
    assert.strictEqual(Object.getPrototypeOf(kept), Object.prototype)
    assert.isFalse(ToolSchema.strict(parse(`{"type":"object","properties":{"a":{"$ref":"#/__proto__"}}}`)).strict)
  })

  const one = (schema: unknown, $defs: JsonObject = {}): JsonObject => ({
    type: "object",
    properties: { a: schema },
    required: ["a"],
    $defs
  })

  const tower = (wrap: (inner: JsonObject) => JsonObject): JsonObject =>
    range(20_000).reduce<JsonObject>((inner) => wrap(inner), { type: "string" })

  const hostile: Readonly<Record<string, JsonObject>> = {
    "objects without end": tower((a) => ({ type: "object", properties: { a }, required: ["a"] })),
    "allOf without end": one(tower((_) => ({ allOf: [_] }))),
    "anyOf without end": one(tower((_) => ({ anyOf: [_] }))),
    "a list of a million values": one({ enum: range(1_000_000) }),
    "a pattern without end": one({ type: "string", pattern: "(?".repeat(100_000) }),
    "a reference without end": one({ $ref: `#/${"a/".repeat(100_000)}` }),
    "unions of unions": one(
      { oneOf: range(300).map(() => ({ $ref: "#/$defs/u" })) },
      { u: { anyOf: range(300).map((i) => ({ type: "object", properties: { k: { const: i % 2 } } })) } }
    ),
    "a base for many branches": one({
      type: "object",
      properties: Object.fromEntries(range(300).map((i) => [`p${i}`, { type: "string" }])),
      anyOf: range(300).map((i) => ({ required: [`p${i}`] }))
    }),
    "branches that double": one(
      range(30).reduce<JsonObject>((_) => ({ type: "object", properties: { a: { type: "string" } }, anyOf: [_, _] }), {
        type: "object",
        properties: { b: { type: "string" } }
      })
    ),
    "a recursion that grows": one({ $ref: "#/$defs/A" }, {
      A: { allOf: [{ $ref: "#/$defs/B" }], type: "object", properties: { next: { $ref: "#/$defs/A" } } },
      B: { type: "object", properties: { next: { $ref: "#/$defs/B" } } }
    }),
    "names that all become one": {
      type: "object",
      properties: Object.fromEntries(range(20_000).map((i) => [`p${i}`, { $ref: `#/$defs/%20${i}` }])),
      $defs: Object.fromEntries(range(20_000).map((i) => [` ${i}`, { type: "string" }]))
    }
  }
  for (const [name, schema] of Object.entries(hostile)) {
    it(`${name}: bounded, and untouched`, () => {
      for (const optional of ["require", "nullable"] as const) {
        const started = processorMillis()
        const result = ToolSchema.strict(schema, { optional })
        assert.isBelow(processorMillis() - started, 3000)
        assert.isFalse(result.strict)
        assert.strictEqual(result.schema, schema)
        assert.isBelow(result.reason!.length, 400)
      }
    })
  }
})

describe("withoutFillIns", () => {
  it("takes out the nulls of what may be absent, everywhere, and no others", () => {
    const schema: JsonObject = {
      type: "object",
      properties: {
        a: { type: "string" },
        real: { type: ["string", "null"] },
        deep: {
          type: "array",
          items: { type: "object", properties: { x: { type: "integer" }, y: { type: "null" } }, required: ["y"] }
        },
        either: {
          oneOf: [
            { type: "object", properties: { k: { const: 1 }, n: { type: ["string", "null"] } }, required: ["k", "n"] },
            { type: "object", properties: { k: { const: 2 }, n: { type: "string" } }, required: ["k"] }
          ]
        }
      },
      required: ["real"]
    }
    assert.strictEqual(nullable(schema).reason, undefined)
    const taken = (value: JsonObject) => ToolSchema.withoutFillIns(schema, value)
    assert.deepStrictEqual(taken({ a: null, real: null, deep: null, either: null }), { real: null })
    assert.deepStrictEqual(
      taken({ a: "a", real: null, deep: [{ x: null, y: null }, { x: 1, y: null }], either: { k: 1, n: null } }),
      { a: "a", real: null, deep: [{ y: null }, { x: 1, y: null }], either: { k: 1, n: null } }
    )
    assert.deepStrictEqual(taken({ real: "r", either: { k: 2, n: null } }), { real: "r", either: { k: 2 } })
  })

  it("tells objects of a union by their names", () => {
    const object = (...names: ReadonlyArray<string>) => ({
      type: "object",
      properties: Object.fromEntries(names.map((_) => [_, { type: "string" }]))
    })
    const schema = { type: "object", properties: { a: { anyOf: [object("x"), object("x", "y")] } }, required: ["a"] }
    assert.deepStrictEqual(ToolSchema.withoutFillIns(schema, { a: { x: null, y: null } }), { a: {} })
    assert.deepStrictEqual(ToolSchema.withoutFillIns(schema, { a: { x: null } }), { a: {} })
  })

  it("leaves alone what it does not know, and what is not as it should be", () => {
    const args = { city: "Oslo", days: [null], extra: null, toString: null }
    assert.strictEqual(ToolSchema.withoutFillIns(forecast, args), args)
    const nothing = {}
    assert.strictEqual(ToolSchema.withoutFillIns(forecast, nothing), nothing)
  })

  it("changes neither the arguments nor what of them is whole", () => {
    const schema: JsonObject = {
      type: "object",
      properties: {
        a: { type: "string" },
        list: { type: "array", items: { type: "object", properties: { x: { type: "string" } } } }
      }
    }
    const args = Object.freeze({ a: null, list: Object.freeze([Object.freeze({ x: "1" })]) })
    const kept = ToolSchema.withoutFillIns(schema, args)
    assert.deepStrictEqual(kept, { list: [{ x: "1" }] })
    assert.strictEqual(kept.list, args.list)
  })

  it("is the identity for what was not converted", () => {
    const args = { a: null }
    assert.strictEqual(ToolSchema.withoutFillIns({ type: "object" }, args), args)
    assert.strictEqual(
      ToolSchema.withoutFillIns({ type: "object", properties: { a: { type: ["string", "null"] } } }, args),
      args
    )
  })

  it("ends for values without end", () => {
    const schema = { type: "object", properties: { v: { type: "string" }, next: { $ref: "#" } }, required: ["v"] }
    const deep = range(100_000).reduce<JsonObject>((next) => ({ v: "", next }), { v: "", next: null })
    assert.isTrue(Object.hasOwn(ToolSchema.withoutFillIns(schema, deep), "next"))
  })
})
