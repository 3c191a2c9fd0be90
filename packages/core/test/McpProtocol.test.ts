import { assert, describe, it } from "@effect/vitest"
import { McpProtocol } from "@mcp-runtime/core"
import { FastCheck } from "effect"

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const nested = (levels: number, wrap: (value: unknown) => unknown): unknown => {
  let value: unknown = 0
  for (let i = 0; i < levels; i++) value = wrap(value)
  return value
}

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))

/** The value of something that must decode. */
const decoded = <A>(result: McpProtocol.Decoded<A>): A => {
  assert("value" in result, JSON.stringify(result))
  return result.value
}

describe("McpProtocol.freeze", () => {
  it("freezes in place, all the way down", () => {
    const value = json({ a: [{ b: { c: [1, [2]] } }, null, "x"], d: {}, e: [] })
    assert.isTrue(McpProtocol.freeze(value))
    assert.isTrue(isDeepFrozen(value))
    for (const plain of [undefined, null, 0, "x", true]) assert.isTrue(McpProtocol.freeze(plain))
  })

  it("any JSON value", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue({ maxDepth: 5 }), (value) => {
        const before = JSON.stringify(value)
        assert.isTrue(McpProtocol.freeze(value) && isDeepFrozen(value))
        assert.strictEqual(JSON.stringify(value), before)
      }),
      { numRuns: 300 }
    )
  })

  it("freezes a key called __proto__ like any other", () => {
    const value = JSON.parse(`{"__proto__": {"a": []}}`) as Record<string, { readonly a: unknown }>
    assert.isTrue(McpProtocol.freeze(value))
    const own = Object.getOwnPropertyDescriptor(value, "__proto__")!.value as { readonly a: unknown }
    assert.isTrue(isDeepFrozen(own) && isDeepFrozen(own.a))
    assert.isFalse(Object.isFrozen(Object.prototype))
  })

  it("what is nested more deeply than maxDepth is refused, in objects and in lists, at the exact level", () => {
    for (const wrap of [(value: unknown) => ({ value }), (value: unknown) => [value]]) {
      assert.isTrue(McpProtocol.freeze(nested(McpProtocol.maxDepth, wrap)))
      assert.isFalse(McpProtocol.freeze(nested(McpProtocol.maxDepth + 1, wrap)))
      assert.isFalse(McpProtocol.freeze(nested(1_000_000, wrap)))
    }
  })

  it("what is wide, shared or cyclic ends", () => {
    const wide = Array.from({ length: 300_000 }, (_, i) => ({ i }))
    assert.isTrue(McpProtocol.freeze(wide))
    assert.isTrue(Object.isFrozen(wide[299_999]))
    const shared = { x: [1] }
    assert.isTrue(McpProtocol.freeze({ a: shared, b: [shared, shared] }))
    assert.isTrue(isDeepFrozen(shared))
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    assert.isFalse(McpProtocol.freeze(cyclic))
  })
})

describe("McpProtocol.isObject", () => {
  it("is true of JSON objects only", () => {
    for (const value of [{}, { a: 1 }]) assert.isTrue(McpProtocol.isObject(value))
    for (const value of [undefined, null, 0, "", true, [], [{}]]) assert.isFalse(McpProtocol.isObject(value))
  })
})

const tool = {
  name: "read",
  title: "Read",
  description: "Reads",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  outputSchema: { type: "object" },
  annotations: {
    title: "Read",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false
  },
  execution: { taskSupport: "optional" },
  icons: [{ src: "https://x/i.png", mimeType: "image/png", sizes: ["16x16"], theme: "dark" }],
  _meta: { a: 1 },
  later: "a field of a later revision"
}
const prompt = {
  name: "ask",
  title: "Ask",
  description: "Asks",
  arguments: [{ name: "a", title: "A", description: "d", required: true }, { name: "b" }],
  icons: [],
  _meta: {}
}
const resource = {
  uri: "file:///a",
  name: "a",
  title: "A",
  description: "d",
  mimeType: "text/plain",
  size: 3,
  annotations: { audience: ["user", "assistant"], priority: 0.5, lastModified: "2026-01-01" },
  icons: [{ src: "x" }],
  _meta: {}
}
const { size: _, uri, ...rest } = resource
const template = { ...rest, uriTemplate: `${uri}{x}` }
const task = {
  taskId: "t1",
  status: "working",
  statusMessage: "busy",
  createdAt: "2026-01-01",
  lastUpdatedAt: "2026-01-01",
  ttl: null,
  pollInterval: 100
}

interface Kind {
  readonly item: McpProtocol.JsonObject
  readonly decode: (item: unknown) => McpProtocol.Decoded<unknown>
  readonly required: ReadonlyArray<string>
}

const kinds: Record<string, Kind> = {
  tool: { item: tool, decode: McpProtocol.decodeTool, required: ["name", "inputSchema"] },
  prompt: { item: prompt, decode: McpProtocol.decodePrompt, required: ["name"] },
  resource: { item: resource, decode: McpProtocol.decodeResource, required: ["uri", "name"] },
  "resource template": {
    item: template,
    decode: McpProtocol.decodeResourceTemplate,
    required: ["uriTemplate", "name"]
  },
  task: { item: task, decode: McpProtocol.decodeTask, required: ["taskId", "status"] }
}

for (const [kind, { decode, item, required }] of Object.entries(kinds)) {
  describe(`a ${kind}`, () => {
    it("is kept by reference where nothing is wrong", () => {
      const frozen = json(item)
      McpProtocol.freeze(frozen)
      assert.strictEqual(decoded(decode(frozen)), frozen)
      const least = json(Object.fromEntries(required.map((_) => [_, item[_]])))
      assert.strictEqual(decoded(decode(least)), least)
    })

    it("P19: without a field that it needs it is left out, with the reason", () => {
      for (const field of required) {
        for (const wrong of [undefined, null, 7, "", []]) {
          const result = decode({ ...item, [field]: wrong })
          assert("problem" in result)
          assert.include(result.problem, `"${field}"`)
        }
      }
      for (const wrong of [undefined, null, 7, "x", [], [item]]) {
        const result = decode(wrong)
        assert("problem" in result)
        assert.include(result.problem, "is not an object")
      }
    })

    it("P19: an optional field of the wrong kind is dropped, and everything else kept by reference", () => {
      const wrong = (value: unknown) => typeof value === "object" && value !== null ? 7 : [{}]
      for (const field of Object.keys(item).filter((_) => !required.includes(_) && _ !== "later")) {
        for (const bad of [wrong(item[field]), ...(item[field] === null ? [] : [null])]) {
          const input = Object.freeze({ ...item, [field]: bad })
          const value = decoded(decode(input)) as McpProtocol.JsonObject
          const { [field]: _, ...others } = item
          assert.deepStrictEqual(value, others, field)
          assert.isFalse(Object.hasOwn(value, field))
          assert.isTrue(Object.isFrozen(value))
          for (const other of Object.keys(others)) assert.strictEqual(value[other], item[other])
        }
      }
    })

    it("never throws, whatever it is made of", () => {
      FastCheck.assert(
        FastCheck.property(
          FastCheck.oneof(
            FastCheck.jsonValue(),
            FastCheck.dictionary(FastCheck.constantFrom(...Object.keys(item)), FastCheck.jsonValue()).map((_) => ({
              ...item,
              ..._
            }))
          ),
          (value) => {
            const result = decode(value)
            assert.isTrue("value" in result || result.problem !== "")
          }
        ),
        { numRuns: 300 }
      )
    })
  })
}

describe("parts of items", () => {
  it("a tool that has a name is called by it when it is left out, within a bound", () => {
    const result = McpProtocol.decodeTool({ name: "x".repeat(1000) })
    assert("problem" in result)
    assert.strictEqual(result.name, "x".repeat(128))
    assert.notProperty(McpProtocol.decodeTool({}), "value")
  })

  it("a hint that is not a truth value is dropped, the others stay", () => {
    const annotations = { title: "t", readOnlyHint: "true", idempotentHint: true, vendor: 1 }
    const value = decoded(McpProtocol.decodeTool({ ...tool, annotations }))
    assert.deepStrictEqual(value.annotations as unknown, { title: "t", idempotentHint: true, vendor: 1 })
    assert.isTrue(Object.isFrozen(value) && Object.isFrozen(value.annotations))
    const execution = { taskSupport: "perhaps" }
    assert.deepStrictEqual(decoded(McpProtocol.decodeTool({ ...tool, execution })).execution, {})
  })

  it("a bad argument, role or icon does not cost the good ones", () => {
    const args = [{ name: "a", required: "yes" }, { name: 7 }, null, { name: "b" }]
    const value = decoded(McpProtocol.decodePrompt({ ...prompt, arguments: args, icons: [{ src: "x" }, {}, 7] }))
    assert.deepStrictEqual(value.arguments, [{ name: "a" }, { name: "b" }])
    assert.strictEqual(value.arguments![1] as unknown, args[3])
    assert.deepStrictEqual(value.icons, [{ src: "x" }])
    assert.isTrue(Object.isFrozen(value.arguments) && Object.isFrozen(value.arguments![0]))
    const annotations = { audience: ["user", "robot"], priority: 1 }
    assert.deepStrictEqual(decoded(McpProtocol.decodeResource({ ...resource, annotations })).annotations, {
      priority: 1
    })
  })

  it("T01: a task has one of the five states", () => {
    for (const status of ["working", "input_required", "completed", "failed", "cancelled"]) {
      assert.strictEqual(decoded(McpProtocol.decodeTask({ taskId: "t", status })).status, status)
    }
    for (const status of ["done", "Working", "", 1]) {
      assert("problem" in McpProtocol.decodeTask({ taskId: "t", status }))
    }
    assert.strictEqual(decoded(McpProtocol.decodeTask({ ...task, ttl: 5 })).ttl, 5)
  })
})
