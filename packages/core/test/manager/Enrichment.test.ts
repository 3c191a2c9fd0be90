/**
 * What servers offer beside their tools: read in the background, delaying and harming nothing. And what is logged.
 */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpError, type McpProtocol } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Fiber, Layer } from "effect"
import {
  assertNothingLeft,
  begun,
  fake,
  type FakeOptions,
  interrupted,
  type Line,
  over,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"
import { storeOf } from "./stores.js"

const capabilities: McpProtocol.ServerCapabilities = { tools: {}, prompts: {}, resources: { subscribe: true } }

const lists: { readonly [method: string]: ScriptedServer.Handler } = {
  "prompts/list": () => Effect.succeed({ prompts: [{ name: "p" }] }),
  "resources/list": () => Effect.succeed({ resources: [{ name: "r", uri: "x:r" }] }),
  "resources/templates/list": () => Effect.succeed({ resourceTemplates: [{ name: "t", uriTemplate: "x:{t}" }] }),
  "resources/subscribe": () => Effect.succeed({})
}

const rich = (name: string, handlers: typeof lists = {}, more: FakeOptions = {}) =>
  fake(name, { capabilities, handlers: { ...lists, ...handlers }, ...more })

const asked = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(
    server.received,
    (all) =>
      all.flatMap(({ id, method }) =>
        id === undefined || method === undefined || method === "initialize" ? [] : [method]
      )
  )

const others = ["prompts/list", "resources/list", "resources/templates/list", "resources/subscribe"]

const subscribed = { config: { subscriptions: ["x:1", "x:2"] } }

describe("McpManager: enrichment", () => {
  it.scoped("after it is ready: prompts, resources, templates and subscriptions, each once", () =>
    Effect.gen(function*() {
      const a = yield* rich("a", {}, subscribed)
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* settled
      const [first, ...rest] = yield* asked(a.server)
      assert.strictEqual(first, "tools/list")
      assert.sameMembers(rest, [...others, "resources/subscribe"])
      const { catalog } = yield* manager.connection("a")
      assert.deepStrictEqual((yield* catalog.prompts.current)?.items.map((_) => _.name), ["p"])
      assert.deepStrictEqual((yield* catalog.resources.current)?.items.map((_) => _.name), ["r"])
      assert.deepStrictEqual((yield* catalog.templates.current)?.items.map((_) => _.name), ["t"])
      const uris = (yield* a.server.receivedOf("resources/subscribe")).map((_) => _.params.uri)
      assert.sameMembers(uris, ["x:1", "x:2"])
    }))

  it.scoped("a server that takes one request at a time and hangs in a list is called all the same, after 5 seconds", () =>
    Effect.gen(function*() {
      const a = yield* rich("a", { "prompts/list": () => Effect.never }, { config: { concurrency: "serial" } })
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* settled
      const call = yield* Effect.fork(Effect.asVoid(manager.callTool("a", { name: "a" })))
      yield* pass(4900)
      assert.deepStrictEqual(yield* a.server.receivedOf("tools/call"), [])
      yield* pass(100)
      yield* Fiber.join(call)
      assert.strictEqual((yield* a.server.receivedOf("notifications/cancelled")).length, 1)
    }))

  it.scoped("nothing that the server does not say that it has; nothing but subscriptions where it is turned off", () =>
    Effect.gen(function*() {
      const a = yield* rich("a", {}, { ...subscribed, capabilities: { tools: {}, resources: {} } })
      const b = yield* rich("b", {}, { ...subscribed, capabilities: { tools: {} } })
      yield* (yield* over([a, b])).connectAll
      yield* settled
      assert.sameMembers([...yield* asked(a.server)], ["tools/list", "resources/list", "resources/templates/list"])
      assert.deepStrictEqual(yield* asked(b.server), ["tools/list"])
      const c = yield* rich("c", {}, subscribed)
      yield* (yield* over([c], { enrich: false })).connectAll
      yield* settled
      assert.deepStrictEqual(yield* asked(c.server), ["tools/list", "resources/subscribe", "resources/subscribe"])
    }))

  for (const hanging of others) {
    it.scoped(`a server that hangs on ${hanging} is connected at once, and works`, () =>
      Effect.gen(function*() {
        const a = yield* rich("a", { [hanging]: () => Effect.never }, subscribed)
        const manager = yield* over([a], { strict: true })
        const { took } = yield* timed(manager.connectAll)
        assert.strictEqual(took, 0)
        yield* manager.callTool("a", { name: "a" })
        yield* pass(300_000, 10_000)
        assert.strictEqual(yield* phases(manager), "a connected")
        assert.strictEqual((yield* a.server.stats).attempts, 1)
        yield* manager.callTool("a", { name: "a" })
        yield* manager.close
        yield* assertNothingLeft(a)
      }))

    it.scoped(`a server that fails on ${hanging}: the rest of it is there, and nobody is alarmed`, () =>
      Effect.gen(function*() {
        const lines: Array<Line> = []
        const a = yield* rich(
          "a",
          { [hanging]: () => Effect.fail(new RpcError({ code: -32603, message: "no" })) },
          subscribed
        )
        const manager = yield* over([a], { lines })
        yield* manager.connectAll
        yield* pass(60_000, 1000)
        assert.strictEqual(yield* phases(manager), "a connected")
        assert.strictEqual((yield* manager.errors).size, 0)
        const { catalog } = yield* manager.connection("a")
        const known = [
          yield* catalog.prompts.current,
          yield* catalog.resources.current,
          yield* catalog.templates.current
        ]
        const lists = known.map((_) => _?.items.length ?? 0)
        assert.strictEqual(lists.reduce((a, b) => a + b), hanging === "resources/subscribe" ? 3 : 2)
        assert.deepStrictEqual(lines.filter((_) => _.level !== "DEBUG"), [])
      }))
  }

  for (const hanging of ["prompts/list", "resources/subscribe"]) {
    it.scoped(`under a bound over all servers, one that hangs on ${hanging} takes no turn from calls`, () =>
      Effect.gen(function*() {
        const a = yield* rich("a", { [hanging]: () => Effect.never }, subscribed)
        const b = yield* fake("b")
        const manager = yield* over([a, b], { requests: 1 })
        yield* manager.connectAll
        yield* settled
        const { took } = yield* timed(manager.callTool("b", { name: "b" }))
        assert.strictEqual(took, 0)
      }))
  }

  it.scoped("a server that a use connects has it, too, once", () =>
    Effect.gen(function*() {
      const all = [
        yield* rich("a", {}, { config: { ...subscribed.config, lifetime: "lazy" } }),
        yield* rich("b", {}, { ...subscribed, way: "refused" }),
        yield* rich("c", {}, subscribed)
      ]
      const manager = yield* over(all, { store: storeOf({ a: ["a"] }).layer })
      yield* manager.callTool("c", { name: "c" })
      yield* manager.connectAll
      all[1]!.way = "works"
      for (const { name, server } of all) {
        yield* manager.callTool(name, { name })
        yield* settled
        const rest = (yield* asked(server)).filter((_) => !_.startsWith("tools/"))
        assert.sameMembers(rest, [...others, "resources/subscribe"], name)
      }
    }))

  it.scoped("what failed is no reason to connect a server that is idle by the time it would be asked for again", () =>
    Effect.gen(function*() {
      const unavailable = new McpError.HttpError({ server: "a", operation: "x", executed: "no", status: 503, body: "" })
      const a = yield* rich(
        "a",
        { "prompts/list": () => Effect.fail(unavailable) },
        { config: { lifetime: { idle: "10 millis" } } }
      )
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* pass(2500, 25)
      assert.strictEqual(yield* phases(manager), "a idle")
      assert.strictEqual((yield* a.server.stats).attempts, 1)
    }))

  it.scoped("it ends with the server", () =>
    Effect.gen(function*() {
      const a = yield* rich("a", { "prompts/list": () => Effect.never })
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* manager.disconnect("a")
      yield* settled
      yield* assertNothingLeft(a)
      yield* pass(120_000, 10_000)
      assert.strictEqual((yield* a.server.stats).attempts, 1)
    }))

  it.scoped("a subscription of the configuration is there again after the session was lost, and after a reconnect", () =>
    Effect.gen(function*() {
      const a = yield* rich("a", {}, { config: { subscriptions: ["x:1"] } })
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* settled
      yield* a.server.disconnect()
      yield* settled
      yield* manager.reconnect({ failedOnly: false })
      yield* settled
      const sessions = (yield* a.server.receivedOf("resources/subscribe")).map((_) => _.session)
      assert.sameMembers([...new Set(sessions)], [1, 2, 3])
    }))
})

describe("McpManager: what is logged", () => {
  const warnings = (lines: ReadonlyArray<Line>) =>
    lines.filter(({ level }) => level !== "DEBUG").map(({ level, server }) => `${level} ${String(server)}`)

  for (const mode of ["parallel", "sequential"] as const) {
    it.scoped(`${mode}: a server that fails in time is a single warning`, () =>
      Effect.gen(function*() {
        const lines: Array<Line> = []
        const all = yield* Effect.all([
          fake("a"),
          fake("b", { way: "refused" }),
          fake("c", { way: "hangs in tools/list" }),
          fake("d", { way: "exits" })
        ])
        const manager = yield* over(all, { lines, mode, connectTimeout: 1000 })
        yield* timed(manager.connectAll)
        yield* pass(60_000, 1000)
        assert.sameMembers(warnings(lines), ["WARN b", "WARN c", "WARN d"])
        assert.include(lines.find((_) => _.server === "b" && _.level === "WARN")?.text, "it is refused")
        lines.length = 0
        yield* timed(manager.reconnect())
        assert.sameMembers(warnings(lines), ["WARN b", "WARN c", "WARN d"])
      }))
  }

  it.scoped("whoever gets the error as a failure does not find it in the log as well", () =>
    Effect.gen(function*() {
      const lines: Array<Line> = []
      const all = yield* Effect.all([fake("a"), fake("b", { way: "refused" })])
      const manager = yield* over(all, { lines })
      yield* Effect.exit(manager.connect("b"))
      const strict = yield* over(all, { lines, strict: true })
      yield* Effect.exit(strict.connectAll)
      assert.deepStrictEqual(warnings(lines), [])
    }))

  it.scoped("one whose session can't be had again is a warning that it is lost, then one that it was given up, and failed", () =>
    Effect.gen(function*() {
      const lines: Array<Line> = []
      const a = yield* fake("a")
      const manager = yield* over([a], { lines })
      yield* manager.connectAll
      a.way = "unauthorized"
      yield* a.server.disconnect()
      yield* pass(10_000, 500)
      assert.deepStrictEqual(warnings(lines), ["WARN a", "WARN a"])
      const [lost, givenUp] = lines.filter((_) => _.level === "WARN").map((_) => _.text)
      assert.include(lost, "the session is lost")
      assert.include(givenUp, "there is no connection")
      assert.strictEqual((yield* views(manager)).errors, "a Unauthorized")
    }))

  it.effect("one that fails after the start, while its stored tools are shown, is a single warning, and failed", () =>
    Effect.gen(function*() {
      const lines: Array<Line> = []
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const store = Layer.succeedContext(yield* Layer.build(CatalogStore.layerMemory))
      yield* Effect.scoped(Effect.flatMap(over([a, b], { lines, store }), (_) => _.connectAll))
      yield* settled
      b.way = "hangs in initialize"
      const manager = yield* over([a, b], { lines, store, connectTimeout: "5 seconds" })
      const { took } = yield* timed(manager.connectAll)
      assert.strictEqual(took, 250)
      assert.deepStrictEqual([(yield* views(manager)).active, yield* phases(manager)], [
        "a b",
        "a connected, b connecting"
      ])
      assert.deepStrictEqual(warnings(lines), [])
      yield* pass(60_000, 250)
      assert.deepStrictEqual(warnings(lines), ["WARN b"])
      const { active, errors } = yield* views(manager)
      assert.deepStrictEqual([active, errors], ["a", "b RequestTimeout"])
    }).pipe(Effect.scoped))

  it.scoped("an interruption is no failure: nothing is logged", () =>
    Effect.gen(function*() {
      const lines: Array<Line> = []
      const a = yield* fake("a", { way: "hangs at start" })
      const manager = yield* over([a], { lines })
      const connecting = yield* begun(manager.connectAll)
      yield* interrupted(connecting)
      yield* Fiber.await(connecting)
      yield* settled
      assert.deepStrictEqual(warnings(lines), [])
      assert.strictEqual(yield* phases(manager), "a disconnected")
    }))
})
