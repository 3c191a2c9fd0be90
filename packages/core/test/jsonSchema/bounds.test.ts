import { assert, describe, it } from "@effect/vitest"
import * as JsonSchema from "@mcp-runtime/core/JsonSchema"

const nested = (depth: number, around: (inner: unknown) => unknown, innermost: unknown): unknown => {
  let value = innermost
  for (let i = 0; i < depth; i++) value = around(value)
  return value
}

const many = <A>(count: number, make: (i: number) => A) => Array.from({ length: count }, (_, i) => make(i))

const tag = (schema: unknown, value: unknown, steps?: number) =>
  JsonSchema.compile(schema as { readonly [key: string]: unknown }).validate(value, { steps })._tag

describe("V05, V06: bounds", () => {
  it("V06: circles of references end as unknown, unless something else is wrong", () => {
    assert.deepStrictEqual(JsonSchema.compile({ $ref: "#" }).validate(1), {
      _tag: "Unknown",
      reason: "it leads too deep, or round in circles"
    })
    assert.strictEqual(tag({ $ref: "#", type: "string" }, 1), "Invalid")
    assert.strictEqual(
      tag({ anyOf: [{ $ref: "#" }, { $ref: "#" }], allOf: [{ $ref: "#" }, { $ref: "#" }] }, 1),
      "Unknown"
    )
    assert.strictEqual(tag({ not: { $ref: "#" } }, 1), "Unknown")
  })

  it("a value of 256 levels is walked, by three schemas a level", () => {
    const schema = { properties: { c: { allOf: [{ $ref: "#" }] } } }
    const deep = (leaf: unknown) => nested(255, (c) => ({ c }), leaf)
    assert.strictEqual(tag(schema, deep({})), "Valid")
    assert.strictEqual(tag({ ...schema, required: ["c"] }, deep({})), "Invalid")
  })

  it("V06: a deep or endless value or schema never runs out of stack", () => {
    const tree = { additionalProperties: { $ref: "#" }, items: { $ref: "#" } }
    assert.strictEqual(tag(tree, nested(100_000, (c) => [c], 1)), "Unknown")
    const endless: Record<string, unknown> = {}
    endless.self = endless
    assert.strictEqual(tag(tree, endless), "Unknown")
    assert.strictEqual(tag({ const: 1, uniqueItems: true }, endless), "Invalid")
    assert.strictEqual(tag({ uniqueItems: true }, [endless]), "Unknown")
    assert.strictEqual(tag(nested(100_000, (not) => ({ not }), {}), 1), "Unknown")
    assert.strictEqual(tag(endless, 1), "Unknown")
    const chain = Object.fromEntries(many(20_000, (i) => [`p${i}`, { $ref: `#/$defs/p${i + 1}` }]))
    assert.strictEqual(tag({ $ref: "#/$defs/p0", $defs: chain }, 1), "Unknown")
  })

  it("V06: a schema that is too large is unknown", () => {
    assert.strictEqual(tag({ description: "x".repeat(1_000_001) }, 1), "Unknown")
    assert.strictEqual(tag({ allOf: many(100_001, () => ({})) }, 1), "Unknown")
  })

  it("V06: steps bound what a validation costs, and never make a value invalid", () => {
    const items = many(100, (i) => ({ i }))
    for (
      const schema of [
        { items: { type: "object", properties: { i: { type: "integer" } } } },
        { uniqueItems: true },
        { not: { contains: false } },
        { items: { anyOf: many(5, (i) => ({ properties: { i: { const: i - 10 } } })).concat({} as never) } },
        { items: { properties: { i: true }, unevaluatedProperties: false } },
        { contains: { properties: { i: { const: 99 } } } }
      ]
    ) {
      assert.strictEqual(tag(schema, items), "Valid")
      for (let steps = 0; steps < 1500; steps += 7) assert.notStrictEqual(tag(schema, items, steps), "Invalid")
      assert.strictEqual(tag(schema, items, 50), "Unknown")
    }
  })

  it("V06: nor do they hide what is wrong", () => {
    const { validate } = JsonSchema.compile({ items: { type: "object" } })
    for (let steps = 0; steps < 300; steps++) {
      assert.notStrictEqual(validate([...many(100, () => ({})), 1], { steps })._tag, "Valid")
    }
    const answer = validate([1, ...many(100_000, () => ({}))], { steps: 10 })
    assert.strictEqual(answer._tag, "Invalid")
    if (answer._tag === "Invalid") assert.isAbove(answer.problems.length, 0)
  })

  it("V06: exponential and quadratic schemas end within the steps", () => {
    const wide = (n: number): unknown => n === 0 ? { type: "string" } : { anyOf: many(4, () => wide(n - 1)) }
    assert.strictEqual(tag({ items: wide(5), not: { contains: { type: "string" } } }, many(10_000, () => 1)), "Invalid")
    assert.strictEqual(tag({ items: { not: wide(5) } }, many(10_000, () => 1)), "Unknown")
    const unevaluated = nested(200, (inner) => ({ anyOf: [inner] }), { additionalProperties: true }) as object
    const wideObject = Object.fromEntries(many(2000, (i) => [`k${i}`, 1]))
    assert.strictEqual(
      tag({ items: { ...unevaluated, unevaluatedProperties: false } }, many(100, () => wideObject)),
      "Unknown"
    )
    assert.strictEqual(tag({ uniqueItems: true }, many(10_000, (i) => ({ i }))), "Valid")
    assert.strictEqual(tag({ items: { multipleOf: 5e-324 } }, many(100_000, () => 1.5e308)), "Unknown")
  })

  it("problems are bounded in number and length", () => {
    const { validate } = JsonSchema.compile({
      additionalProperties: { enum: many(1000, (i) => `choice ${i}`.repeat(100)) }
    })
    const answer = validate(Object.fromEntries(many(1000, (i) => [`${"k".repeat(10_000)}${i}`, 1])))
    assert.strictEqual(answer._tag, "Invalid")
    if (answer._tag !== "Invalid") return
    assert.strictEqual(answer.problems.length, 16)
    for (const { path, problem } of answer.problems) assert.isBelow(path.length + problem.length, 520)
    const deep = nested(200, (c) => ({ ["a\u0000".repeat(50)]: c }), 1)
    const inDeep = JsonSchema.compile({ type: "object", additionalProperties: { $ref: "#" } }).validate(deep)
    assert.isTrue(
      inDeep._tag === "Invalid" && inDeep.problems.every(({ path }) => path.length < 300 && !path.includes("\u0000"))
    )
  })

  it("values that are not of JSON are no danger", () => {
    const hostile = new Proxy({}, {
      ownKeys: () => {
        throw new Error("no")
      }
    })
    assert.strictEqual(tag({ additionalProperties: false }, hostile), "Unknown")
    assert.strictEqual(tag({ type: "string" }, Symbol("x")), "Invalid")
    assert.strictEqual(tag({ type: "integer" }, 1n), "Invalid")
    assert.strictEqual(tag(hostile, 1), "Unknown")
  })

  it("V05: a schema is prepared once, by identity and by text", () => {
    const schema = { type: "string", title: "V05" }
    assert.strictEqual(JsonSchema.compile(schema), JsonSchema.compile(schema))
    const frozen = Object.freeze({ type: "string", title: "V05" })
    assert.strictEqual(JsonSchema.compile(frozen).undecidable, JsonSchema.compile(schema).undecidable)
    assert.strictEqual(JsonSchema.compile(frozen).validate("x")._tag, "Valid")
  })

  it("V07: no code is generated", () => {
    const original = globalThis.Function
    let asked = 0
    globalThis.Function = new Proxy(original, {
      construct: () => {
        asked++
        throw new EvalError("forbidden")
      },
      apply: () => {
        asked++
        throw new EvalError("forbidden")
      }
    })
    try {
      const schema = {
        title: "V07",
        type: "object",
        properties: { a: { pattern: "^(a|b)+$" } },
        unevaluatedProperties: false
      }
      assert.strictEqual(tag(schema, { a: "ab" }), "Valid")
      assert.strictEqual(tag(schema, { a: "c" }), "Invalid")
    } finally {
      globalThis.Function = original
    }
    assert.strictEqual(asked, 0)
  })

  it("V02: preparing one schema takes nothing from another", () => {
    const kept = JsonSchema.compile({ title: "V02", type: "string" })
    for (let i = 0; i < 600; i++) JsonSchema.compile({ title: `V02 ${i}`, type: "number" })
    assert.strictEqual(kept.validate(1)._tag, "Invalid")
    assert.strictEqual(kept.validate("")._tag, "Valid")
  })
})
