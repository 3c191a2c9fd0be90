/**
 * How large a listing may be and how deeply its items may be nested: `limits.listBytes`, `limits.schemaDepth`, and what
 * `McpProtocol.maxDepth` means for lists. One monstrous item costs only itself.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, type McpError, McpProtocol, McpSession, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, FastCheck } from "effect"
import { freezeByItem, Measure, TooDeep } from "../src/internal/protocol/json.js"
import { configWith } from "./configWith.js"

const lists: Record<string, {
  readonly field: string
  readonly list: (
    session: McpSession.McpSession
  ) => Effect.Effect<McpProtocol.Listing<McpProtocol.JsonObject>, McpError.McpError>
  readonly item: (i: number) => McpProtocol.JsonObject
}> = {
  "tools/list": {
    field: "tools",
    list: McpSession.listTools as never,
    item: (i) => ({ name: `i${i}`, inputSchema: { type: "object" } })
  },
  "prompts/list": { field: "prompts", list: McpSession.listPrompts as never, item: (i) => ({ name: `i${i}` }) },
  "resources/list": {
    field: "resources",
    list: McpSession.listResources as never,
    item: (i) => ({ uri: `file:///${i}`, name: `i${i}` })
  },
  "resources/templates/list": {
    field: "resourceTemplates",
    list: McpSession.listResourceTemplates as never,
    item: (i) => ({ uriTemplate: `file:///${i}/{x}`, name: `i${i}` })
  },
  "tasks/list": {
    field: "tasks",
    list: McpSession.listTasks as never,
    item: (i) => ({ taskId: `i${i}`, status: "working", name: `i${i}` })
  }
}

/** Gives the results in turn, the last one for ever. A text is the JSON of one, as it would stand on a wire. */
const serving = (
  results: ReadonlyArray<unknown>,
  { limits, method = "tools/list" }: { readonly method?: string; readonly limits?: object } = {}
) =>
  Effect.gen(function*() {
    const config = yield* configWith({ limits })
    let asked = 0
    const server = yield* ScriptedServer.make({
      config,
      capabilities: { tools: {}, prompts: {}, resources: {}, tasks: { list: {} } },
      handlers: { [method]: () => Effect.sync(() => ({ answer: Math.min(asked++, results.length - 1) })) }
    })
    // Put in behind the server, which could not write the deepest of them.
    const put = (message: unknown): unknown => {
      const { id, result } = message as { readonly id?: unknown; readonly result?: { readonly answer?: number } }
      if (result?.answer === undefined) return message
      const answer = results[result.answer]
      return JSON.parse(
        `{"jsonrpc":"2.0","id":${Number(id)},"result":${typeof answer === "string" ? answer : JSON.stringify(answer)}}`
      )
    }
    const channel: McpTransport.Channel = {
      ...server.channel,
      open: (events) => server.channel.open({ ...events, message: (message) => events.message(put(message)) })
    }
    const session = yield* McpSession.open(channel)
    return { session, server, asked: () => asked }
  })

/** The JSON of so many objects or lists inside each other. */
const nested = (levels: number, wrap: "object" | "list" = "object"): string =>
  wrap === "list"
    ? "[".repeat(levels) + "]".repeat(levels)
    : `${`{"a":`.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`

const toolOf = (name: string, fields: Record<string, unknown>): McpProtocol.JsonObject => ({
  name,
  inputSchema: { type: "object" },
  ...fields
})

const parsed = (json: string): unknown => JSON.parse(json)

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))

/** Without the listing, which would be printed. */
const errorOf = (effect: Effect.Effect<unknown, McpError.McpError>) => Effect.flip(Effect.asVoid(effect))

describe("limits.schemaDepth", () => {
  for (const field of ["inputSchema", "outputSchema"]) {
    it.scoped(`drops the tool whose ${field} is nested more deeply, at the exact level, and keeps the others`, () =>
      Effect.gen(function*() {
        const tools = [
          toolOf("plain", {}),
          toolOf("at", { [field]: parsed(nested(100)) }),
          toolOf("over", { [field]: parsed(nested(101)) }),
          toolOf("lists", { [field]: { enum: parsed(nested(100, "list")) } }),
          toolOf("last", {})
        ]
        const { session } = yield* serving([{ tools }])
        const { dropped, items } = yield* McpSession.listTools(session)
        assert.deepStrictEqual(items.map((_) => _.name), ["plain", "at", "last"])
        const problem = `"${field}" is nested more than 100 levels deep`
        assert.deepStrictEqual(dropped, [{ index: 2, name: "over", problem }, { index: 3, name: "lists", problem }])
      }))
  }

  it.scoped("is as configured, up to what a message may hold at all", () =>
    Effect.gen(function*() {
      const tools = [2, 3, 200].map((n) => toolOf(`${n}`, { inputSchema: parsed(nested(n)) }))
      const names = (schemaDepth: number) =>
        Effect.gen(function*() {
          const { session } = yield* serving([{ tools }], { limits: { schemaDepth } })
          return (yield* McpSession.listTools(session)).items.map((_) => _.name)
        })
      assert.deepStrictEqual(yield* names(2), ["2"])
      assert.deepStrictEqual(yield* names(199), ["2", "3"])
      assert.deepStrictEqual(yield* names(200), ["2", "3", "200"])
      const error = yield* Effect.flip(McpConfig.decodeUnknown({
        name: "x",
        transport: "stdio",
        command: "x",
        limits: { schemaDepth: 201 }
      }))
      assert.deepStrictEqual(error.problems, [{ field: "limits.schemaDepth", problem: "must be at most 200" }])
    }))

  it.scoped("is about schemas: what else a tool brings, and other lists, may be nested as they like", () =>
    Effect.gen(function*() {
      const deep = parsed(nested(150))
      const { session } = yield* serving([{ tools: [toolOf("t", { _meta: deep })] }])
      assert.strictEqual((yield* McpSession.listTools(session)).items.length, 1)
      const prompts = yield* serving([{ prompts: [{ name: "p", inputSchema: deep, _meta: deep }] }], {
        method: "prompts/list"
      })
      assert.strictEqual((yield* McpSession.listPrompts(prompts.session)).items.length, 1)
    }))
})

describe("limits.listBytes", () => {
  const text = "x".repeat(1000)

  for (const [method, { field, item, list }] of Object.entries(lists)) {
    it.scoped(`${method}: holds for all pages together`, () =>
      Effect.gen(function*() {
        const pages = Array.from({ length: 10 }, (_, i) => ({
          [field]: [{ ...item(i), description: text }],
          nextCursor: i < 9 ? `${i}` : undefined
        }))
        const enough = yield* serving(pages, { method, limits: { listBytes: 12_000 } })
        assert.strictEqual((yield* list(enough.session)).items.length, 10)
        const { asked, session } = yield* serving(pages, { method, limits: { listBytes: 5000 } })
        const error = yield* errorOf(list(session))
        assert(error._tag === "LimitExceeded" && error.limit === "listBytes" && error.max === 5000, error.message)
        assert.deepStrictEqual([error.executed, error.operation], ["yes", method])
        assert.strictEqual(asked(), 5, "and nothing is asked after it")
      }))
  }

  it.scoped("holds within one page, and counts what is dropped and the cursors", () =>
    Effect.gen(function*() {
      const limits = { listBytes: 5000 }
      const wide = Array.from({ length: 10 }, (_, i) => toolOf(`t${i}`, { description: text }))
      const dropped = Array.from({ length: 10 }, () => ({ description: text }))
      const cursors = Array.from({ length: 10 }, (_, i) => ({ tools: [], nextCursor: `${i}${text}` }))
      for (
        const pages of [
          [{ tools: wide }],
          [{ tools: dropped }],
          [{ tools: [text + text, text + text, text + text] }],
          cursors
        ]
      ) {
        const { session } = yield* serving(pages, { limits })
        const error = yield* errorOf(McpSession.listTools(session))
        assert(error._tag === "LimitExceeded" && error.limit === "listBytes", error.message)
      }
    }))

  it.scoped("the session goes on, and the next listing has the bound for itself", () =>
    Effect.gen(function*() {
      const large = { tools: [toolOf("large", { description: text.repeat(3) })] }
      const small = { tools: [toolOf("small", { description: text })] }
      const { session } = yield* serving([large, small], { limits: { listBytes: 2000 } })
      assert.strictEqual((yield* errorOf(McpSession.listTools(session)))._tag, "LimitExceeded")
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* McpSession.listTools(session)).items.length, 1)
    }))

  it("a value is as large as its JSON, but for commas and what is escaped, and as deep as it is nested", () => {
    const depthOf = (value: unknown): number =>
      typeof value !== "object" || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf))
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue({ depthSize: "large" }), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value).replace(/\\./g, "e").replace(/u[0-9a-f]{4}/g, "e"))
        const measure = new Measure(Number.POSITIVE_INFINITY)
        assert.strictEqual(measure.add(plain), depthOf(plain))
        const json = JSON.stringify(plain)
        // One comma too many for each list and object, one letter too few for each `false`.
        assert.isAtMost(Math.abs(measure.size - json.length), (json.match(/[{[]|false/g) ?? []).length)
      }),
      { numRuns: 500 }
    )
  })

  it("measuring stops where it is too much", () => {
    const large = Array.from({ length: 1000 }, () => text)
    for (const value of [large, { ...large }]) {
      const seen: Array<unknown> = []
      const watched = new Proxy(value, {
        get: (target, key) => {
          if (key !== "length") seen.push(key)
          return Reflect.get(target, key)
        }
      })
      const measure = new Measure(10_000)
      measure.add(watched)
      assert.isTrue(measure.isExceeded)
      assert.isAtMost(seen.length, 10)
    }
  })
})

describe("an item that is nested more deeply than a message may be", () => {
  for (const [method, { field, item, list }] of Object.entries(lists)) {
    it.scoped(`${method}: costs only itself, however deep it is`, () =>
      Effect.gen(function*() {
        const { name: _, ...nameless } = item(3)
        const monster = (fields: McpProtocol.JsonObject, levels: number, wrap?: "list") =>
          `{"before":[{}],"_meta":${nested(levels, wrap)},${JSON.stringify(fields).slice(1)}`
        const items = [
          JSON.stringify(item(0)),
          monster(item(1), 300),
          monster(item(2), 100_000),
          monster({ ...nameless, z: 1 }, 100_000, "list"),
          nested(100_000, "list"),
          nested(100_000),
          JSON.stringify(item(6))
        ]
        const page = `{"_meta":{"a":[1]},"nextCursor":"2","${field}":[${items.join(",")}]}`
        const { session } = yield* serving([page, { [field]: [item(7)] }], { method })
        const listing = yield* list(session)
        assert.deepStrictEqual(listing.items, [item(0), item(6), item(7)])
        const problem = "is nested too deeply"
        assert.deepStrictEqual(listing.dropped, [
          { index: 1, name: "i1", problem },
          { index: 2, name: "i2", problem },
          { index: 3, ...(typeof nameless.uri === "string" && { name: nameless.uri }), problem },
          { index: 4, problem },
          { index: 5, problem }
        ])
        assert.isTrue(isDeepFrozen(listing))
      }))
  }

  it.scoped("counts through the pages like any other that is dropped", () =>
    Effect.gen(function*() {
      const page = (cursor: string) => `{"tools":[${nested(300)},{"name":"t","inputSchema":{}}]${cursor}}`
      const { session } = yield* serving([page(`,"nextCursor":"a"`), page("")], { limits: { items: 4 } })
      const { dropped, items } = yield* McpSession.listTools(session)
      assert.deepStrictEqual([items.length, dropped.map((_) => _.index)], [2, [0, 2]])
      const few = yield* serving([page("")], { limits: { items: 1 } })
      assert.strictEqual((yield* errorOf(McpSession.listTools(few.session)))._tag, "LimitExceeded")
    }))

  it("leaves nothing behind that is not frozen, nor anything of itself", () => {
    const result = parsed(`{"a":{"b":[{}]},"tools":[{"c":{}},{"name":"deep","x":${nested(1000)}}],"__proto__":{"d":1}}`)
    assert.isFalse(McpProtocol.freeze({ result }))
    const frozen = freezeByItem(result, "tools")!
    assert.isTrue(isDeepFrozen(frozen))
    assert.deepStrictEqual(Object.keys(frozen).sort(), ["__proto__", "a", "tools"])
    const [, deep] = frozen.tools as ReadonlyArray<unknown>
    assert(deep instanceof TooDeep)
    assert.deepStrictEqual({ ...deep }, { name: "deep" })
    assert.strictEqual(freezeByItem(result, "a"), undefined)
    assert.strictEqual(freezeByItem([], "tools"), undefined)
  })

  it.scoped("begins at the exact level", () =>
    Effect.gen(function*() {
      // The message, its result, its tools and the tool are four of them.
      const levels = McpProtocol.maxDepth - 4
      const meta = (n: number) => `{"name":"${n}","inputSchema":{},"_meta":${nested(n)}}`
      const { session } = yield* serving([`{"tools":[${meta(levels)},${meta(levels + 1)}]}`])
      const { dropped, items } = yield* McpSession.listTools(session)
      assert.deepStrictEqual(items.map((_) => _.name), [`${levels}`])
      assert.deepStrictEqual(dropped.map((_) => _.name), [`${levels + 1}`])
      assert.isTrue(isDeepFrozen(items))
    }))

  it.scoped("is an item of the list: whatever else is too deep fails the answer, and the session goes on", () =>
    Effect.gen(function*() {
      for (const levels of [300, 100_000]) {
        for (
          const result of [
            nested(levels),
            nested(levels, "list"),
            `{"tools":[],"_meta":${nested(levels)}}`,
            `{"tools":${nested(levels)}}`,
            `{"tools":[],"nextCursor":${nested(levels)}}`,
            `{"tools":[${nested(levels)}],"prompts":[${nested(levels)}]}`
          ]
        ) {
          const { session } = yield* serving([result, { tools: [] }])
          const error = yield* errorOf(McpSession.listTools(session))
          assert(error._tag === "InvalidResult" && error.executed === "yes", error.message)
          assert.include(error.message, "nested too deeply")
          assert.strictEqual((yield* McpSession.listTools(session)).items.length, 0)
        }
      }
    }))

  it.scoped("fails every answer that is no list, also the raw one of a list", () =>
    Effect.gen(function*() {
      const deep = nested(300)
      const raw = yield* serving([`{"tools":[${deep}]}`])
      assert.strictEqual((yield* errorOf(raw.session.request("tools/list")))._tag, "InvalidResult")
      const call = yield* serving([`{"content":[{"type":"text","text":"x","_meta":${deep}}]}`], {
        method: "tools/call"
      })
      const error = yield* errorOf(McpSession.callTool(call.session, { name: "t" }))
      assert(error._tag === "InvalidResult" && error.message.includes("nested too deeply"), error.message)
    }))

  it.scoped("an error beside such a list is an error", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ handlers: { "tools/list": () => Effect.never } })
      const session = yield* McpSession.open(server.channel)
      const listing = yield* Effect.fork(errorOf(McpSession.listTools(session)))
      const { id } = yield* server.awaitReceived("tools/list")
      const result = { tools: [parsed(nested(300))] }
      yield* server.sendRaw({ jsonrpc: "2.0", id, result, error: { code: 1, message: "no" } })
      assert.strictEqual((yield* listing)._tag, "InvalidResult")
    }))
})
