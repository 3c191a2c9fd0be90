import { assert, describe, it } from "@effect/vitest"
import { type McpError, McpProtocol, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import { configWith } from "./configWith.js"

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly nextCursor?: unknown
}

interface Kind {
  readonly field: string
  readonly list: (
    session: McpSession.McpSession,
    options?: McpSession.RequestOptions
  ) => Effect.Effect<McpProtocol.Listing<unknown>, McpError.McpError>
  readonly item: (i: number) => McpProtocol.JsonObject
}

const kinds: Record<string, Kind> = {
  "tools/list": {
    field: "tools",
    list: McpSession.listTools,
    item: (i) => ({ name: `t${i}`, inputSchema: { type: "object" } })
  },
  "prompts/list": { field: "prompts", list: McpSession.listPrompts, item: (i) => ({ name: `p${i}` }) },
  "resources/list": {
    field: "resources",
    list: McpSession.listResources,
    item: (i) => ({ uri: `file:///${i}`, name: `r${i}` })
  },
  "resources/templates/list": {
    field: "resourceTemplates",
    list: McpSession.listResourceTemplates,
    item: (i) => ({ uriTemplate: `file:///${i}/{x}`, name: `r${i}` })
  },
  "tasks/list": { field: "tasks", list: McpSession.listTasks, item: (i) => ({ taskId: `t${i}`, status: "working" }) }
}

const capabilities: McpProtocol.ServerCapabilities = { tools: {}, prompts: {}, resources: {}, tasks: { list: {} } }

type GivePage = (
  cursor: unknown,
  request: ScriptedServer.Request
) => Effect.Effect<Page | ScriptedServer.Reply, ScriptedServer.RpcError | McpError.McpError>

/** A session with a server that gives these pages of one list. */
const paged = (page: GivePage, options: { readonly method?: string; readonly limits?: object } = {}) =>
  Effect.gen(function*() {
    const method = options.method ?? "tools/list"
    const config = yield* configWith({ limits: options.limits })
    const server = yield* ScriptedServer.make({
      config,
      capabilities,
      handlers: {
        [method]: (request) =>
          Effect.map(
            page(request.params.cursor, request),
            (answer) =>
              answer instanceof ScriptedServer.Reply
                ? answer
                : { [kinds[method]!.field]: answer.items, nextCursor: answer.nextCursor }
          )
      }
    })
    const session = yield* McpSession.open(server.channel)
    const asked = Effect.map(server.receivedOf(method), (all) => all.map((_) => _.params.cursor))
    return { server, session, asked }
  })

const tool = kinds["tools/list"]!.item

describe("complete lists", () => {
  for (const [method, { item, list }] of Object.entries(kinds)) {
    it.scoped(`${method}: all pages are followed, in order, each cursor sent once`, () =>
      Effect.gen(function*() {
        const pages: Record<string, Page> = {
          "": { items: [item(0), item(1)], nextCursor: "a" },
          a: { items: [], nextCursor: " " },
          " ": { items: [item(2)], nextCursor: "c" },
          c: { items: [item(3)] }
        }
        const { asked, session } = yield* paged((cursor) => Effect.succeed(pages[String(cursor ?? "")]!), { method })
        const { dropped, items } = yield* list(session)
        assert.deepStrictEqual(items, [0, 1, 2, 3].map(item))
        assert.deepStrictEqual(dropped, [])
        assert.deepStrictEqual(yield* asked, [undefined, "a", " ", "c"])
        assert.isTrue(Object.isFrozen(items) && Object.isFrozen(items[0]) && Object.isFrozen(dropped))
        assert.throws(() => (items as Array<unknown>).push(1), TypeError)
      }))

    it.scoped(`${method}: an answer that is no list is InvalidResult`, () =>
      Effect.gen(function*() {
        const { field } = kinds[method]!
        for (const wrong of [{}, { [field]: {} }, { [field]: "x" }, [], 7, null, { other: [] }]) {
          const { session } = yield* paged(
            (_, request) => Effect.succeed(ScriptedServer.raw(ScriptedServer.result(request.id, wrong))),
            { method }
          )
          const fiber = yield* Effect.fork(Effect.flip(list(session, { timeout: "1 second" })))
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(error._tag, "InvalidResult", JSON.stringify(wrong))
          assert.strictEqual(error.executed, "yes")
          assert.strictEqual(error.operation, method)
        }
      }))
  }

  it.scoped("asking again asks again, from the first page", () =>
    Effect.gen(function*() {
      const { asked, session } = yield* paged((cursor) =>
        Effect.succeed(cursor === undefined ? { items: [tool(0)], nextCursor: "a" } : { items: [tool(1)] })
      )
      const list = McpSession.listTools(session)
      assert.deepStrictEqual((yield* list).items, (yield* list).items)
      assert.deepStrictEqual(yield* asked, [undefined, "a", undefined, "a"])
    }))

  it.scoped("an empty, absent or null cursor ends the list; any other that is not a text is InvalidResult", () =>
    Effect.gen(function*() {
      for (const nextCursor of ["", undefined, null]) {
        const { asked, session } = yield* paged(() => Effect.succeed({ items: [tool(0)], nextCursor }))
        assert.strictEqual((yield* McpSession.listTools(session)).items.length, 1)
        assert.strictEqual((yield* asked).length, 1)
      }
      for (const nextCursor of [2, 0, false, {}, []]) {
        const { session } = yield* paged(() => Effect.succeed({ items: [tool(0)], nextCursor }))
        const error = yield* Effect.flip(McpSession.listTools(session))
        assert(error._tag === "InvalidResult", "half a list is not a list")
        assert.include(error.message, "nextCursor")
      }
    }))

  it.scoped("an empty list is a list", () =>
    Effect.gen(function*() {
      const { session } = yield* paged(() => Effect.succeed({ items: [] }))
      assert.deepStrictEqual(yield* McpSession.listTools(session), { items: [], dropped: [] })
    }))

  it.scoped("metadata goes along with every page", () =>
    Effect.gen(function*() {
      const { server, session } = yield* paged((cursor) =>
        Effect.succeed({ items: [], nextCursor: cursor === undefined ? "a" : undefined })
      )
      yield* McpSession.listTools(session, { meta: { trace: "t" } })
      assert.deepStrictEqual((yield* server.receivedOf("tools/list")).map((_) => _.params), [
        { _meta: { trace: "t" } },
        { cursor: "a", _meta: { trace: "t" } }
      ])
    }))
})

describe("bad items", () => {
  it.scoped("P19: one bad tool in three is dropped and reported, the others are kept", () =>
    Effect.gen(function*() {
      const { session } = yield* paged(() => Effect.succeed({ items: [tool(0), { name: "bad" }, tool(2)] }))
      assert.deepStrictEqual(yield* McpSession.listTools(session), {
        items: [tool(0), tool(2)] as never,
        dropped: [{ index: 1, name: "bad", problem: `"inputSchema" is not an object` }]
      })
    }))

  it.scoped("P19: an index counts through all pages; what is dropped counts against the limit", () =>
    Effect.gen(function*() {
      const { session } = yield* paged((cursor) =>
        Effect.succeed(
          cursor === undefined ? { items: [tool(0), 7], nextCursor: "a" } : { items: [null, tool(3), { name: "" }] }
        ), { limits: { items: 5 } })
      const { dropped, items } = yield* McpSession.listTools(session)
      assert.deepStrictEqual(items.map((_) => _.name), ["t0", "t3"])
      assert.deepStrictEqual(dropped.map((_) => _.index), [1, 2, 4])
      const { session: flooded } = yield* paged(() => Effect.succeed({ items: [1, 2, 3, 4, 5, 6] }), {
        limits: { items: 5 }
      })
      assert.strictEqual((yield* Effect.flip(McpSession.listTools(flooded)))._tag, "LimitExceeded")
    }))

  it.scoped("an optional field of the wrong kind costs that field only", () =>
    Effect.gen(function*() {
      const { session } = yield* paged(() => Effect.succeed({ items: [{ ...tool(0), description: 7, title: "t" }] }))
      assert.deepStrictEqual(yield* McpSession.listTools(session), {
        items: [{ ...tool(0), title: "t" }] as never,
        dropped: []
      })
    }))
})

describe("lists without end", () => {
  const secret = "cursor-s3cret"

  const cycles: ReadonlyArray<ReadonlyArray<string>> = [["A"], ["A", "B"], ["A", "B", "C"], ["start", "A", "A"]]
  for (const cycle of cycles) {
    it.scoped(`V08: the cursors ${cycle.join(" -> ")} -> ${cycle[0]} are a ProtocolViolation, at the repetition`, () =>
      Effect.gen(function*() {
        const names = cycle.map((_) => `${secret}-${_}`)
        let page = 0
        const { asked, session } = yield* paged(() =>
          Effect.sync(() => ({ items: [tool(page)], nextCursor: names[page++ % names.length] }))
        )
        const error = yield* Effect.flip(McpSession.listTools(session))
        assert(error._tag === "ProtocolViolation", error.message)
        assert.strictEqual(error.executed, "yes")
        assert.notInclude(JSON.stringify(error) + error.message, secret)
        assert.strictEqual((yield* asked).length, new Set(cycle).size + 1)
      }))
  }

  it.scoped("V08: cursors that never end stop at limits.pages, and a list of exactly so many is complete", () =>
    Effect.gen(function*() {
      let page = 0
      const endless = yield* paged(() => Effect.sync(() => ({ items: [], nextCursor: `${secret}${page++}` })), {
        limits: { pages: 5 }
      })
      const error = yield* Effect.flip(McpSession.listTools(endless.session))
      assert(error._tag === "LimitExceeded" && error.limit === "pages" && error.max === 5)
      assert.strictEqual(error.operation, "tools/list")
      assert.notInclude(error.message, secret)
      assert.strictEqual((yield* endless.asked).length, 5)
      const five = yield* paged(
        (cursor) =>
          Effect.sync(() => {
            const n = Number(cursor ?? 0)
            return { items: [tool(n)], nextCursor: n < 4 ? String(n + 1) : undefined }
          }),
        { limits: { pages: 5 } }
      )
      assert.strictEqual((yield* McpSession.listTools(five.session)).items.length, 5)
    }))

  it.scoped("V08: items stop at limits.items, on one page or over many", () =>
    Effect.gen(function*() {
      const wide = yield* paged(() => Effect.succeed({ items: Array.from({ length: 11 }, (_, i) => tool(i)) }), {
        limits: { items: 10 }
      })
      const error = yield* Effect.flip(McpSession.listTools(wide.session))
      assert(error._tag === "LimitExceeded" && error.limit === "items" && error.max === 10)
      let page = 0
      const many = yield* paged(
        () => Effect.sync(() => ({ items: [tool(0), tool(1), tool(2)], nextCursor: `${page++}` })),
        {
          limits: { items: 10 }
        }
      )
      assert.strictEqual((yield* Effect.flip(McpSession.listTools(many.session)))._tag, "LimitExceeded")
      assert.strictEqual((yield* many.asked).length, 4)
      const ten = yield* paged(() => Effect.succeed({ items: Array.from({ length: 10 }, (_, i) => tool(i)) }), {
        limits: { items: 10 }
      })
      assert.strictEqual((yield* McpSession.listTools(ten.session)).items.length, 10)
    }))

  it.scoped("a thousand pages need no stack", () =>
    Effect.gen(function*() {
      const { asked, session } = yield* paged((cursor) =>
        Effect.sync(() => {
          const n = Number(cursor ?? 0)
          return { items: [tool(n)], nextCursor: n < 999 ? String(n + 1) : undefined }
        })
      )
      assert.strictEqual((yield* McpSession.listTools(session)).items.length, 1000)
      assert.strictEqual((yield* asked).length, 1000)
    }))
})

describe("lists that fail", () => {
  it.scoped("a failure on page 3 gives only the error, and nothing is asked after it", () =>
    Effect.gen(function*() {
      const { asked, session } = yield* paged((cursor) =>
        cursor === "2"
          ? Effect.fail(new ScriptedServer.RpcError({ code: -32000, message: "later" }))
          : Effect.succeed({ items: [tool(0)], nextCursor: String(Number(cursor ?? 0) + 1) })
      )
      const error = yield* Effect.flip(McpSession.listTools(session))
      assert(error._tag === "RemoteError" && error.code === -32000 && error.operation === "tools/list")
      assert.deepStrictEqual(yield* asked, [undefined, "1", "2"])
    }))

  it.scoped("P07: interruption during page 2 cancels that page, once", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const { asked, server, session } = yield* paged((cursor) =>
        cursor === undefined
          ? Effect.succeed({ items: [tool(0)], nextCursor: "2" })
          : Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
      )
      const fiber = yield* Effect.fork(McpSession.listTools(session))
      yield* Deferred.await(reached)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      const second = (yield* server.receivedOf("tools/list"))[1]!
      yield* server.awaitReceived("notifications/cancelled")
      const cancelled = yield* server.receivedOf("notifications/cancelled")
      assert.deepStrictEqual(cancelled.map((_) => _.params.requestId), [second.id])
      assert.strictEqual((yield* asked).length, 2)
      assert.strictEqual((yield* session.stats).inFlight, 0)
    }))

  it.scoped("P01: the deadline holds for each page, not for the list", () =>
    Effect.gen(function*() {
      const { asked, server, session } = yield* paged((cursor) => {
        const n = Number(cursor ?? 0)
        const page = { items: [tool(n)], nextCursor: n < 5 ? String(n + 1) : undefined }
        return n === 4 ? Effect.never : Effect.delay(Effect.succeed(page), "900 millis")
      })
      const fiber = yield* Effect.fork(Effect.flip(McpSession.listTools(session, { timeout: "1 second" })))
      for (let n = 0; n < 4; n++) {
        yield* server.awaitReceived((_) => _.method === "tools/list" && Number(_.params.cursor ?? 0) === n)
        yield* TestClock.adjust("900 millis")
      }
      yield* server.awaitReceived((_) => _.params.cursor === "4")
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.millis === 1000)
      assert.strictEqual((yield* asked).length, 5)
      assert.strictEqual((yield* server.receivedOf("notifications/cancelled")).length, 1)
    }))

  it.scoped("P01: maxTotal holds for the list as a whole", () =>
    Effect.gen(function*() {
      for (const slow of [900, 1000]) {
        const { asked, server, session } = yield* paged((cursor) => {
          const n = Number(cursor ?? 0)
          return Effect.delay(Effect.succeed({ items: [tool(n)], nextCursor: String(n + 1) }), slow)
        })
        const startedAt = yield* TestClock.currentTimeMillis
        const fiber = yield* Effect.fork(
          Effect.flip(McpSession.listTools(session, { timeout: "5 seconds", maxTotal: "3 seconds" }))
        )
        for (let n = 0; n < 3; n++) {
          yield* server.awaitReceived((_) => _.method === "tools/list" && Number(_.params.cursor ?? 0) === n)
          assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
          yield* TestClock.adjust(slow)
        }
        yield* TestClock.adjust(3000 - 3 * slow)
        const error = yield* Effect.flatten(Effect.flatten(Fiber.poll(fiber)))
        assert(error._tag === "RequestTimeout" && error.kind === "total" && error.millis === 3000)
        assert.strictEqual((yield* TestClock.currentTimeMillis) - startedAt, 3000)
        assert.strictEqual(
          (yield* server.receivedOf("notifications/cancelled")).length,
          slow === 900 ? 1 : (yield* asked).length - 3
        )
      }
    }))

  it.scoped("P02: a total that is no time is refused before anything is sent", () =>
    Effect.gen(function*() {
      const { asked, session } = yield* paged(() => Effect.succeed({ items: [] }))
      for (const maxTotal of [0, -1, Number.NaN, "soon" as never]) {
        const error = yield* Effect.flip(McpSession.listTools(session, { maxTotal }))
        assert(error._tag === "ConfigInvalid" && error.problems[0]!.field === "maxTotal")
      }
      assert.deepStrictEqual(yield* asked, [])
      yield* McpSession.listTools(session, { maxTotal: null })
      yield* McpSession.listTools(session, { maxTotal: Number.POSITIVE_INFINITY })
    }))

  it.scoped("a server that has resources and does not know of templates has none of these", () =>
    Effect.gen(function*() {
      const failing = (code: number) => () => Effect.fail(new ScriptedServer.RpcError({ code, message: "no" }))
      const open = (code: number) =>
        Effect.flatMap(
          ScriptedServer.make({
            capabilities: { resources: {} },
            handlers: { "resources/templates/list": failing(code), "resources/list": failing(code) }
          }),
          (server) => McpSession.open(server.channel)
        )
      const session = yield* open(-32601)
      assert.deepStrictEqual(yield* McpSession.listResourceTemplates(session), { items: [], dropped: [] })
      assert.strictEqual((yield* Effect.flip(McpSession.listResources(session)))._tag, "RemoteError")
      const other = yield* Effect.flip(McpSession.listResourceTemplates(yield* open(-32603)))
      assert(other._tag === "RemoteError" && other.code === -32603)
      const half = yield* ScriptedServer.make({
        capabilities: { resources: {} },
        handlers: {
          "resources/templates/list": ({ params }) =>
            params.cursor === undefined
              ? Effect.succeed({ resourceTemplates: [{ name: "x", uriTemplate: "x:{y}" }], nextCursor: "2" })
              : failing(-32601)()
        }
      })
      const lost = yield* Effect.flip(McpSession.listResourceTemplates(yield* McpSession.open(half.channel)))
      assert.strictEqual(lost._tag, "RemoteError")
    }))

  it.scoped("P17: a capability counts where it is announced, also as an empty object; null and false are none", () =>
    Effect.gen(function*() {
      const announced: ReadonlyArray<readonly [unknown, boolean]> = [[{}, true], [true, true], [null, false], [
        false,
        false
      ]]
      for (const [tools, there] of announced) {
        const server = yield* ScriptedServer.make({
          handlers: {
            initialize: () =>
              Effect.succeed({ protocolVersion: McpProtocol.latestProtocolVersion, capabilities: { tools } })
          }
        })
        const session = yield* McpSession.open(server.channel)
        const exit = yield* Effect.either(McpSession.listTools(session))
        assert.strictEqual(exit._tag, there ? "Right" : "Left")
        if (exit._tag === "Left") assert.strictEqual(exit.left._tag, "CapabilityMissing")
        assert.strictEqual((yield* server.receivedOf("tools/list")).length, there ? 1 : 0)
      }
    }))
})
