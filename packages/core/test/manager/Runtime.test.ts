/**
 * Everything as one layer, and what a manager does whose scope has closed.
 */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpCatalog, type McpError, McpManager, McpRuntime } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Config, ConfigProvider, Context, Effect, Exit, Layer, Redacted, Scope, Stream } from "effect"
import {
  assertNothingLeft,
  begun,
  ending,
  type Fake,
  fake,
  fakes,
  isDone,
  overInScope,
  pass,
  settled,
  timed
} from "./kit.js"
import { storeOf, told } from "./stores.js"

const platform = (all: ReadonlyArray<Fake>, store: Layer.Layer<CatalogStore.CatalogStore> = CatalogStore.layerNone) =>
  Layer.merge(ScriptedServer.layer(...all.map((_) => _.server)), store)

const parts = Effect.all({ manager: McpManager.McpManager, catalog: McpCatalog.McpCatalog })

describe("the layer", () => {
  it.effect("gives a manager that has connected its servers, and their lists; its end closes everything", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b")
      const layer = McpRuntime.layer({ servers: servers.map((_) => _.config) }).pipe(Layer.provide(platform(servers)))
      yield* Effect.gen(function*() {
        const { catalog, manager } = yield* parts
        assert.deepStrictEqual(yield* manager.connected, ["a", "b"])
        assert.strictEqual(told(yield* catalog.tools), "a live: a, b live: b")
        assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "success")
      }).pipe(Effect.provide(layer))
      yield* settled
      yield* assertNothingLeft(...servers)
    }))

  it.scoped("of two in one program each has the lists of its own servers", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b")
      const shown = Effect.flatMap(McpCatalog.McpCatalog, (_) => Effect.map(_.current, told))
      class One extends Context.Tag("One")<One, string>() {}
      class Two extends Context.Tag("Two")<Two, string>() {}
      const over = (i: number) => Layer.provide(McpRuntime.layer({ servers: [servers[i]!.config] }), platform(servers))
      const both = Layer.merge(
        Layer.provide(Layer.effect(One, shown), over(0)),
        Layer.provide(Layer.effect(Two, shown), over(1))
      )
      const context = yield* Layer.build(both)
      assert.strictEqual(Context.get(context, One), "a live: a")
      assert.strictEqual(Context.get(context, Two), "b live: b")
    }))

  it.effect("with connect: false connects nothing before it is asked to", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b")
      const layer = McpRuntime.layer({ servers: servers.map((_) => _.config), connect: false })
      yield* Effect.gen(function*() {
        const { catalog, manager } = yield* parts
        assert.strictEqual((yield* servers[0]!.server.stats).attempts, 0)
        assert.strictEqual(told(yield* catalog.current), "a unknown:, b unknown:")
        yield* manager.callTool("a", { name: "a" })
        assert.deepStrictEqual(yield* manager.connected, ["a"])
      }).pipe(Effect.provide(Layer.provide(layer, platform(servers))))
      yield* assertNothingLeft(...servers)
    }))

  it.effect("is built after the gate, where the tools are stored", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b", { delay: 5000 })
      const layer = McpRuntime.layer({ servers: servers.map((_) => _.config) }).pipe(
        Layer.provide(platform(servers, storeOf({ a: ["a"], b: ["b"] }).layer))
      )
      const scope = yield* Scope.make()
      const { took } = yield* timed(Layer.buildWithScope(layer, scope))
      assert.strictEqual(took, 250)
      yield* Scope.close(scope, Exit.void)
      yield* assertNothingLeft(...servers)
    }))

  it.effect("that can't be built leaves nothing open: strict, a wrong configuration, an interruption", () =>
    Effect.gen(function*() {
      const servers = [
        yield* fake("a"),
        yield* fake("b", { way: "refused" }),
        yield* fake("c", { way: "unauthorized" })
      ]
      const configs = servers.map((_) => _.config)
      const strict = Layer.provide(McpRuntime.layer({ servers: configs, strict: true }), platform(servers))
      const failed = yield* Effect.exit(Effect.asVoid(Effect.provide(parts, strict)))
      assert.strictEqual(ending(failed), "b: b ConnectFailed, c Unauthorized")
      yield* assertNothingLeft(...servers)
      const wrong = Layer.provide(McpRuntime.layer({ servers: configs, concurrency: 0 }), platform(servers))
      assert.strictEqual(
        ending(yield* Effect.exit(Effect.asVoid(Effect.provide(parts, wrong)))),
        "<manager>: ConfigInvalid"
      )
      const slow = yield* fakes("a b", { delay: 5000 })
      const layer = Layer.provide(McpRuntime.layer({ servers: slow.map((_) => _.config) }), platform(slow))
      const building = yield* begun(Effect.asVoid(Effect.provide(parts, layer)))
      yield* pass(1000)
      yield* building.interruptAsFork(building.id())
      yield* settled
      assert.isTrue(yield* isDone(building))
      yield* pass(10_000, 1000)
      yield* assertNothingLeft(...slow)
    }))
})

describe("the layer from Config", () => {
  const options = (seen: Array<unknown> = []) => ({
    servers: Config.all([
      Config.all({
        name: Config.succeed("docs"),
        transport: Config.succeed("http" as const),
        url: Config.string("DOCS_URL"),
        headers: Config.all({ Authorization: Config.redacted("DOCS_TOKEN") })
      })
    ]),
    strict: Config.withDefault(Config.boolean("MCP_STRICT"), false),
    connection: Config.succeed((config: unknown) => {
      seen.push(config)
      return {}
    })
  })

  const given = (entries: ReadonlyArray<readonly [string, string]>) =>
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(entries)))

  it.effect("takes values and secrets of the environment", () =>
    Effect.gen(function*() {
      const docs = yield* fake("docs")
      const seen: Array<unknown> = []
      const layer = Layer.provide(McpRuntime.layerConfig(options(seen)), platform([docs]))
      yield* Effect.gen(function*() {
        const { manager } = yield* parts
        assert.deepStrictEqual(yield* manager.connected, ["docs"])
        const { config } = yield* manager.status("docs")
        assert(config?.transport === "http")
        assert.strictEqual(config.url, "http://127.0.0.1:1/mcp")
        const secret = config.headers?.Authorization
        assert(Redacted.isRedacted(secret))
        assert.strictEqual(Redacted.value(secret), "Bearer s3cret")
        assert.notInclude(JSON.stringify(yield* manager.state), "s3cret")
        assert.strictEqual(seen.length, 1)
      }).pipe(
        Effect.provide(layer),
        given([["DOCS_URL", "http://127.0.0.1:1/mcp"], ["DOCS_TOKEN", "Bearer s3cret"]])
      )
    }))

  it.effect("a variable that is missing or wrong is a ConfigError that names it, and nothing is opened", () =>
    Effect.gen(function*() {
      const docs = yield* fake("docs")
      const layer = Layer.provide(McpRuntime.layerConfig(options()), platform([docs]))
      const built = (entries: ReadonlyArray<readonly [string, string]>) =>
        Effect.flip(Effect.asVoid(Effect.provide(parts, layer)).pipe(given(entries)))
      const missing = yield* built([["DOCS_URL", "http://127.0.0.1:1/mcp"]])
      assert.include(String(missing), "DOCS_TOKEN")
      const wrong = yield* built([
        ["DOCS_URL", "http://127.0.0.1:1/mcp"],
        ["DOCS_TOKEN", "s3cret"],
        ["MCP_STRICT", "perhaps"]
      ])
      assert.include(String(wrong), "MCP_STRICT")
      assert.notInclude(String(wrong), "s3cret")
      assert.strictEqual((yield* docs.server.stats).attempts, 0)
    }))
})

describe("a manager whose scope has closed", () => {
  it.scoped("answers everything at once: with a typed error, or with what was known last", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b")
      const { end, manager } = yield* overInScope(servers)
      const lists = McpCatalog.make(manager)
      yield* manager.connectAll
      yield* end
      yield* settled
      const gone: Record<string, Effect.Effect<unknown, McpError.McpError>> = {
        connectAll: manager.connectAll,
        connect: manager.connect("a"),
        "connect an unknown one": manager.connect("x"),
        reconnect: manager.reconnect(),
        "reconnect all": manager.reconnect({ failedOnly: false }),
        disconnect: manager.disconnect("a"),
        reload: manager.reload([]),
        close: manager.close,
        status: manager.status("a"),
        connection: manager.connection("a"),
        callTool: manager.callTool("a", { name: "a" }),
        of: lists.of("a")
      }
      for (const [what, effect] of Object.entries(gone)) {
        const done = yield* begun(Effect.asVoid(effect))
        assert.isTrue(yield* isDone(done), `${what} hangs`)
        assert.match(ending(yield* done), /: ConnectionUnavailable$/, what)
      }
      const views: Record<string, Effect.Effect<unknown>> = {
        state: manager.state,
        configured: manager.configured,
        connected: manager.connected,
        failed: manager.failed,
        active: manager.active,
        errors: manager.errors,
        changes: Stream.runDrain(manager.changes),
        current: lists.current,
        tools: lists.tools,
        prompts: lists.prompts,
        resources: lists.resources,
        templates: lists.templates,
        invalidate: lists.invalidate,
        "changes of the lists": Stream.runDrain(lists.changes)
      }
      for (const [what, effect] of Object.entries(views)) {
        const done = yield* begun(Effect.asVoid(effect))
        assert.isTrue(yield* isDone(done), `${what} hangs`)
        assert.strictEqual(ending(yield* done), "success", what)
      }
      assert.deepStrictEqual(yield* manager.connected, [])
      yield* assertNothingLeft(...servers)
    }))

  it.scoped("what runs or waits when the scope closes ends with it, also where a server does not end", () =>
    Effect.gen(function*() {
      for (const closing of ["works", "hangs"] as const) {
        const servers = [yield* fake("a", { way: "hangs in initialize", closing }), yield* fake("b", { closing })]
        const { end, manager } = yield* overInScope(servers, { connectTimeout: null })
        const lists = McpCatalog.make(manager)
        const waiting = yield* Effect.forEach([
          manager.connectAll,
          manager.connect("a"),
          manager.reconnect(),
          manager.reload([servers[1]!.config]),
          manager.callTool("a", { name: "a" }, { timeout: null }),
          manager.close
        ], (effect: Effect.Effect<unknown, McpError.McpError>) => begun(Effect.asVoid(effect)))
        const following = yield* begun(Stream.runDrain(lists.changes))
        yield* pass(1000)
        const ended = yield* begun(end)
        yield* pass(12_000, 500)
        for (const [i, fiber] of [...waiting, following, ended].entries()) {
          assert.isTrue(yield* isDone(fiber), `${closing}: ${i} hangs`)
        }
        for (const server of servers) {
          server.closing = "works"
          server.letGo()
        }
        yield* settled
        yield* assertNothingLeft(...servers)
      }
    }))
})
