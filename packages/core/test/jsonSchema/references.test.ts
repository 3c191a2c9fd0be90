import { assert, describe, it } from "@effect/vitest"
import * as JsonSchema from "@mcp-runtime/core/JsonSchema"
import { Ajv2019 } from "ajv/dist/2019.js"
import { Ajv2020 } from "ajv/dist/2020.js"

const draft7 = "http://json-schema.org/draft-07/schema#"

const tags = (schema: { readonly [key: string]: unknown }, ...values: ReadonlyArray<unknown>) =>
  values.map((value) => JsonSchema.compile(schema).validate(value)._tag)

describe("references", () => {
  it("V03: JSON pointers, escapes, and places under keywords that nobody knows", () => {
    const schema = {
      properties: {
        a: { $ref: "#/$defs/x~1y" },
        b: { $ref: "#/$defs/p%25~0" },
        c: { $ref: "#/unheard/0/deep" },
        d: { $ref: "#/properties/a" }
      },
      $defs: { "x/y": { type: "string" }, "p%~": { type: "number" } },
      unheard: [{ deep: { properties: { e: { type: "null" } } } }]
    }
    assert.deepStrictEqual(tags(schema, { a: "", b: 1, c: { e: null }, d: "" }), ["Valid"])
    assert.deepStrictEqual(tags(schema, { a: 1 }, { b: "" }, { c: { e: 1 } }, { d: 1 }), Array(4).fill("Invalid"))
  })

  it("V03: a reference out of the schema is unknown, not fetched, and matters only where it is asked", () => {
    const fetched: Array<unknown> = []
    const original = globalThis.fetch
    globalThis.fetch = (url) => {
      fetched.push(url)
      return Promise.reject(new Error("no network"))
    }
    try {
      for (
        const $ref of ["http://127.0.0.1:1/x.json", "other.json", "#/nowhere", "#nowhere", "urn:uuid:1#/a", "%", "#%"]
      ) {
        const schema = { type: "object", properties: { far: { $ref }, near: { type: "string" } } }
        const validator = JsonSchema.compile(schema)
        assert.strictEqual(validator.undecidable.length, 1)
        assert.strictEqual(validator.validate({ near: "x" })._tag, "Valid")
        assert.strictEqual(validator.validate({ far: 1, near: "x" })._tag, "Unknown")
        assert.strictEqual(validator.validate({ far: 1, near: 1 })._tag, "Invalid")
      }
    } finally {
      globalThis.fetch = original
    }
    assert.deepStrictEqual(fetched, [])
  })

  it("V04: an $id is known in its own schema only, in whatever order schemas come", () => {
    const of = (type: string) => ({
      $id: "https://x.test/same",
      type: "object",
      properties: { v: { $ref: "same#/$defs/v" } },
      $defs: { v: { type } }
    })
    const first = JsonSchema.compile(of("string"))
    const second = JsonSchema.compile(of("number"))
    assert.strictEqual(first.validate({ v: "" })._tag, "Valid")
    assert.strictEqual(first.validate({ v: 1 })._tag, "Invalid")
    assert.strictEqual(second.validate({ v: 1 })._tag, "Valid")
    assert.strictEqual(second.validate({ v: "" })._tag, "Invalid")
    assert.deepStrictEqual(tags({ $ref: "https://x.test/same" }, 1), ["Unknown"])
  })

  it("V03: an $id or an anchor that is there twice is unknown", () => {
    const twice = { $id: "twice", type: "string" }
    assert.deepStrictEqual(tags({ $ref: "twice", $defs: { a: twice, b: { ...twice, type: "null" } } }, "x", 1), [
      "Unknown",
      "Unknown"
    ])
    assert.deepStrictEqual(tags({ $ref: "#a", $defs: { a: { $anchor: "a" }, b: { $anchor: "a" } } }, "x"), ["Unknown"])
  })

  it("identifiers and anchors inside a schema", () => {
    const schema = {
      $id: "https://x.test/root.json",
      $ref: "inner/one.json#two",
      $defs: {
        one: { $id: "inner/one.json", $defs: { two: { $anchor: "two", items: { $ref: "three.json" } } } },
        three: { $id: "inner/three.json", type: "integer" }
      }
    }
    assert.deepStrictEqual(tags(schema, [1], ["1"]), ["Valid", "Invalid"])
    const older = { $schema: draft7, allOf: [{ $ref: "#foo" }], definitions: { a: { $id: "#foo", type: "integer" } } }
    assert.deepStrictEqual(tags(older, 1, "1"), ["Valid", "Invalid"])
    const urn = { $id: "urn:x:1", $ref: "urn:x:2", $defs: { a: { $id: "urn:x:2", type: "integer" } } }
    assert.deepStrictEqual(tags(urn, 1, "1"), ["Valid", "Invalid"])
  })

  it("an $id in a constant is none", () => {
    const schema = {
      anyOf: [{ $ref: "https://x.test/a" }, { type: "integer" }],
      $defs: {
        real: { $id: "https://x.test/a", type: "string" },
        fake: { enum: [{ $id: "https://x.test/a", type: "null" }] }
      }
    }
    assert.deepStrictEqual(tags(schema, "a", 1, null), ["Valid", "Valid", "Invalid"])
  })

  it("before 2019, what stands beside a reference means nothing", () => {
    const schema = {
      definitions: { a: { type: "string" } },
      properties: { a: { $ref: "#/definitions/a", maxLength: 1 } }
    }
    assert.deepStrictEqual(tags({ $schema: draft7, ...schema }, { a: "abc" }, { a: 1 }), ["Valid", "Invalid"])
    assert.deepStrictEqual(tags(schema, { a: "abc" }, { a: "a" }), ["Invalid", "Valid"])
  })

  it("before 2019, an $id beside a reference changes nothing", () => {
    const schema = {
      $schema: draft7,
      $id: "https://x.test/root",
      properties: { a: { $ref: "x.json", $id: "https://other.test/" } },
      definitions: { x: { $id: "x.json", type: "integer" }, y: { $id: "https://other.test/x.json", type: "string" } }
    }
    assert.deepStrictEqual(tags(schema, { a: 1 }, { a: "" }), ["Valid", "Invalid"])
  })

  it("recursive schemas", () => {
    const tree = {
      $ref: "#/$defs/tree",
      $defs: {
        tree: {
          type: "object",
          properties: { next: { $ref: "#/$defs/tree" }, v: { type: "number" } },
          additionalProperties: false
        }
      }
    }
    assert.deepStrictEqual(tags(tree, { next: { next: { v: 1 } } }, { next: { next: { v: "1" } } }), [
      "Valid",
      "Invalid"
    ])
  })

  it("$dynamicRef: the outermost anchor has the last word", () => {
    const list = { $id: "list", items: { $dynamicRef: "#item" }, $defs: { any: { $dynamicAnchor: "item" } } }
    const of = (type: string) => ({ $id: type, $ref: "list", $defs: { item: { $dynamicAnchor: "item", type } } })
    const schema = {
      $id: "https://x.test/root",
      properties: { s: { $ref: "string" }, n: { $ref: "number" }, any: { $ref: "list" } },
      $defs: { list, s: of("string"), n: of("number") }
    }
    assert.deepStrictEqual(tags(schema, { s: ["a"], n: [1], any: [1, "a"] }), ["Valid"])
    assert.deepStrictEqual(tags(schema, { s: [1] }, { n: ["a"] }), ["Invalid", "Invalid"])
  })

  it("$recursiveRef: the outermost resource that is recursive has the last word", () => {
    const $schema = "https://json-schema.org/draft/2019-09/schema"
    const schema = (outer: boolean) => ({
      $schema,
      $id: "https://x.test/strict",
      $recursiveAnchor: outer,
      $ref: "tree",
      required: ["v"],
      $defs: { tree: { $id: "tree", $recursiveAnchor: true, properties: { c: { $recursiveRef: "#" } } } }
    })
    assert.deepStrictEqual(tags(schema(true), { v: 1, c: { v: 1 } }, { v: 1, c: {} }), ["Valid", "Invalid"])
    assert.deepStrictEqual(tags(schema(false), { v: 1, c: {} }), ["Valid"])
  })

  describe("below a keyword that nobody knows, which only a reference leads to", () => {
    const dialects = {
      $dynamicRef: {
        ajv: Ajv2020,
        $schema: "https://json-schema.org/draft/2020-12/schema",
        anchor: { $dynamicAnchor: "node" },
        again: { $dynamicRef: "#node" }
      },
      $recursiveRef: {
        ajv: Ajv2019,
        $schema: "https://json-schema.org/draft/2019-09/schema",
        anchor: { $recursiveAnchor: true },
        again: { $recursiveRef: "#" }
      }
    }
    for (const [keyword, { $schema, again, ajv, anchor }] of Object.entries(dialects)) {
      /** Each node of the tree has a `v`, as the outermost resource says. */
      const of = (tree: object) => ({
        $schema,
        $id: "https://x.test/strict",
        ...anchor,
        $ref: "tree",
        required: ["v"],
        $defs: { tree: { $id: "tree", ...anchor, ...tree } }
      })
      const schemas = {
        "at once": of({ $ref: "#/x-foo/bar", "x-foo": { bar: { properties: { c: again } } } }),
        "for a child": of({ properties: { c: { $ref: "#/x-foo/bar" } }, "x-foo": { bar: again } }),
        "by way of another one": of({
          $ref: "#/x-foo/bar",
          "x-foo": { bar: { properties: { c: { $ref: "#/x-foo/0/baz" } } }, 0: { baz: { allOf: [again] } } }
        })
      }
      for (const [way, schema] of Object.entries(schemas)) {
        it(`${keyword} has the same meaning (${way})`, () => {
          const values = [{ v: 1, c: { v: 1 } }, { v: 1, c: {} }, { v: 1, c: { v: 1, c: {} } }, { c: {} }]
          assert.deepStrictEqual(tags(schema, ...values), ["Valid", "Invalid", "Invalid", "Invalid"])
          const validate = new ajv({ strict: false }).compile(schema)
          assert.deepStrictEqual(values.map((_) => validate(_) ? "Valid" : "Invalid"), tags(schema, ...values))
        })
      }
    }

    it("names are none there, and schemas that nothing leads to say nothing", () => {
      const schema = {
        $id: "https://x.test/root",
        $ref: "list",
        "x-foo": { $dynamicAnchor: "item", type: "string" },
        "x-bar": { $dynamicRef: "#item" },
        $defs: {
          list: { $id: "list", items: { $dynamicRef: "#item" }, $defs: { any: { $dynamicAnchor: "item" } } }
        }
      }
      assert.deepStrictEqual(tags(schema, ["a"], [1]), ["Valid", "Valid"])
    })
  })
})
