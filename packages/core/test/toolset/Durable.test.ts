/**
 * What tells a tool stays the same: a workflow lists once, records it, and calls later, in another process.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpProtocol } from "@mcp-runtime/core"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Effect, FastCheck, JSONSchema, Schema } from "effect"
import { idOf } from "../../src/internal/toolset/table.js"
import { server, servers, toolset } from "./kit.js"

const throughJson = (recorded: Toolset.RecordedTool) =>
  Effect.gen(function*() {
    const text = JSON.stringify(yield* Schema.encode(Toolset.RecordedTool)(recorded))
    return yield* Schema.decodeUnknown(Toolset.RecordedTool)(JSON.parse(text))
  })

describe("ids", () => {
  it("no two tools have the same, whatever their names", () => {
    const text = FastCheck.stringOf(FastCheck.constantFrom("a", "/", "%", "%2F", "%25", "2", "F"), { maxLength: 4 })
    const identity = FastCheck.record({ server: text, tool: text })
    FastCheck.assert(
      FastCheck.property(identity, identity, (a, b) => {
        const same = a.server === b.server && a.tool === b.tool
        assert.strictEqual(idOf(a.server, a.tool) === idOf(b.server, b.tool), same)
      }),
      {
        numRuns: 5000,
        examples: [[{ server: "a/b", tool: "c" }, { server: "a", tool: "b/c" }], [{ server: "a%2Fb", tool: "c" }, {
          server: "a/b",
          tool: "c"
        }]]
      }
    )
    assert.strictEqual(idOf("a/b%", "c/%"), "a%2Fb%25/c/%")
  })

  it.scoped("a tool is found by them whatever its name has in it", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["b/c", "%2F", "__proto__"] })
      const box = (yield* toolset(all)).for()
      for (const tool of ["b/c", "%2F", "__proto__"]) {
        const result = yield* box.call({ server: "a", tool })
        assert.deepInclude(result, { _tag: "Success" })
      }
      assert.deepStrictEqual(yield* all[0]!.calls, ["b/c", "%2F", "__proto__"])
      for (
        const other of [{ server: "a/b", tool: "c" }, { server: "A", tool: "b/c" }, {
          server: "a",
          tool: "constructor"
        }]
      ) {
        assert.strictEqual((yield* box.call(other))._tag, "Failure")
      }
    }))
})

describe("a recorded tool", () => {
  const hostile = JSON.parse(
    `{"type":"object","__proto__":{"polluted":true},"properties":{"__proto__":{"type":"string"},"n":{"type":"integer"}}}`
  ) as McpProtocol.Tool["inputSchema"]

  it.scoped("is the same after it was JSON, with all that its server said", () =>
    Effect.gen(function*() {
      const one = yield* server("a", [
        { name: "x", title: "X", description: "Does x", inputSchema: hostile, outputSchema: { type: "object" } },
        "plain"
      ])
      for (const schemas of ["verbatim", "strict"] as const) {
        const made = yield* toolset([one], { id: "mine", schemas, includeReturnSchema: true })
        for (const tool of (yield* made.for().list).tools) {
          const recorded = Toolset.record(made, tool)
          assert.isTrue(recorded.inputSchema === tool.inputSchema, "nothing is copied")
          const read = yield* throughJson(recorded)
          assert.deepStrictEqual(JSON.stringify(read), JSON.stringify(recorded))
          assert.strictEqual(JSON.stringify(read.inputSchema), JSON.stringify(tool.inputSchema))
          assert.deepInclude(read, {
            toolset: "mine",
            server: "a",
            tool: tool.tool,
            name: tool.name,
            strict: tool.strict
          })
          assert.strictEqual(read.title, tool.title)
        }
      }
      assert.isUndefined(({} as { readonly polluted?: unknown }).polluted)
      assert.isObject(JSONSchema.make(Toolset.RecordedTool))
    }))

  it.scoped("what is none is not read as one", () =>
    Effect.gen(function*() {
      const made = yield* toolset([yield* server("a", ["x"])])
      const [tool] = (yield* made.for().list).tools
      const encoded = yield* Schema.encode(Toolset.RecordedTool)(Toolset.record(made, tool!))
      for (
        const change of [{ server: 1 }, { inputSchema: [] }, { inputSchema: null }, { inputSchema: "{}" }, {
          strict: "no"
        }, { name: null }]
      ) {
        const exit = yield* Effect.exit(Schema.decodeUnknown(Toolset.RecordedTool)({ ...encoded, ...change }))
        assert.strictEqual(exit._tag, "Failure", JSON.stringify(change))
      }
    }))

  it.scoped("is called after a restart, even where its name is another one now", () =>
    Effect.gen(function*() {
      const before = yield* Effect.scoped(Effect.gen(function*() {
        const made = yield* toolset(yield* servers({ a: ["x"], b: ["x"] }))
        const [, tool] = (yield* made.for().list).tools
        return JSON.stringify(yield* Schema.encode(Toolset.RecordedTool)(Toolset.record(made, tool!)))
      }))
      const all = yield* servers({ c: ["x"], b: ["y", "x"], a: ["x"] })
      const made = yield* toolset(all, { naming: ToolNaming.openAiAgents })
      const recorded = yield* Schema.decodeUnknown(Schema.parseJson(Toolset.RecordedTool))(before)
      assert.strictEqual(recorded.name, "b__x")
      const result = yield* made.for().call(recorded)
      assert(result._tag === "Success")
      assert.strictEqual(result.tool.name, "mcp_b__x")
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.calls), [[], ["x"], []])
      // By the name of then it is unknown.
      assert.strictEqual((yield* made.for().call(recorded.name))._tag, "Failure")
    }))
})
