/**
 * A new session is as good as the one before it: what the application had asked of it is asked again, before anybody may
 * use it.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { connect, echo, expired, failure, forkExit, http, pass, ready, record, settled, tagOf, tags } from "./kit.js"

const everything = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true },
  logging: {}
}

const lists: { readonly [method: string]: ScriptedServer.Handler } = {
  "prompts/list": () => Effect.succeed({ prompts: [] }),
  "resources/list": () => Effect.succeed({ resources: [] }),
  "resources/templates/list": () => Effect.succeed({ resourceTemplates: [] }),
  "resources/subscribe": () => Effect.succeed({}),
  "resources/unsubscribe": () => Effect.succeed({}),
  "logging/setLevel": () => Effect.succeed({})
}

const full = (script: ScriptedServer.Options = {}, config: object = {}, options?: McpConnection.ConnectionOptions) =>
  connect({ ...http, ...config }, {
    capabilities: everything,
    ...script,
    handlers: { ...lists, ...script.handlers }
  }, options)

/** What a session was asked, in order: methods, with what they are about. */
const asked = (server: ScriptedServer.ScriptedServer, session: number) =>
  Effect.map(
    server.received,
    (all) =>
      all.filter((_) => _.session === session && _.method !== undefined).map((_) =>
        [_.method, _.params.uri ?? _.params.level].filter((_) => _ !== undefined).join(" ")
      )
  )

const lose = (server: ScriptedServer.ScriptedServer) => Effect.zipRight(server.disconnect(), settled)

const useAll = (connection: McpConnection.McpConnection) =>
  Effect.all([
    McpConnection.subscribe(connection, "a:1"),
    McpConnection.subscribe(connection, "a:2"),
    McpConnection.subscribe(connection, "a:3"),
    McpConnection.unsubscribe(connection, "a:2"),
    McpConnection.setLogLevel(connection, "error"),
    McpConnection.listTools(connection),
    McpConnection.listPrompts(connection),
    McpConnection.listResources(connection),
    McpConnection.listResourceTemplates(connection)
  ], { discard: true })

describe("before Ready", () => {
  it.scoped("log level, subscriptions and all four lists are restored; nothing of callers goes out before", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({}, { logLevel: "debug" })
      yield* useAll(connection)
      const call = Effect.tap(Effect.fork(echo(connection)), () => Effect.yieldNow())
      yield* server.disconnect()
      const calls = yield* Effect.all([call, call, call])
      for (const call of calls) yield* Fiber.join(call)
      const second = yield* asked(server, 2)
      assert.deepStrictEqual(second.slice(0, 3), ["initialize", "notifications/initialized", "logging/setLevel error"])
      assert.sameMembers(second.slice(3, 9), [
        "resources/subscribe a:1",
        "resources/subscribe a:3",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list"
      ])
      assert.deepStrictEqual(second.slice(9), ["tools/call", "tools/call", "tools/call"])
    }))

  it.scoped("only what was asked for", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full()
      yield* ready(connection)
      yield* McpConnection.listPrompts(connection)
      yield* lose(server)
      assert.deepStrictEqual(yield* asked(server, 2), ["initialize", "notifications/initialized", "prompts/list"])
      yield* lose(server)
      yield* pass(500)
      assert.deepStrictEqual(yield* asked(server, 3), ["initialize", "notifications/initialized", "prompts/list"])
    }))

  it.scoped("also after close, and after a rest", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({}, { lifetime: { idle: "1 minute" } })
      yield* McpConnection.subscribe(connection, "a:1")
      yield* connection.close
      yield* ready(connection)
      assert.include(yield* asked(server, 2), "resources/subscribe a:1")
      yield* pass(60_000)
      assert.strictEqual(yield* tagOf(connection), "Idle")
      yield* ready(connection)
      assert.include(yield* asked(server, 3), "resources/subscribe a:1")
    }))

  it.scoped("a log level that was refused is not asked for again", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        handlers: {
          "logging/setLevel": ({ params }) =>
            params.level === "alert"
              ? Effect.fail(new ScriptedServer.RpcError({ code: -32602, message: "no such level" }))
              : Effect.succeed({}),
          "resources/subscribe": () => Effect.fail(new ScriptedServer.RpcError({ code: -32602, message: "no" }))
        }
      }, { logLevel: "info" })
      yield* Effect.flip(McpConnection.setLogLevel(connection, "alert"))
      yield* Effect.flip(McpConnection.subscribe(connection, "a:1"))
      yield* lose(server)
      assert.deepStrictEqual(yield* asked(server, 2), [
        "initialize",
        "notifications/initialized",
        "logging/setLevel info"
      ])
    }))

  it.scoped("the roots are announced, and their changes reach the new session", () =>
    Effect.gen(function*() {
      const change = yield* Deferred.make<void>()
      const { connection, server } = yield* full({}, {}, {
        handlers: {
          roots: {
            list: Effect.succeed([{ uri: "file:///a" }]),
            changes: Stream.fromEffect(Deferred.await(change))
          }
        }
      })
      yield* ready(connection)
      yield* lose(server)
      const hellos = yield* server.receivedOf("initialize")
      assert.deepStrictEqual(hellos.map((_) => (_.params.capabilities as { readonly roots: unknown }).roots), [
        { listChanged: true },
        { listChanged: true }
      ])
      const roots = yield* server.request("roots/list")
      assert.deepStrictEqual(roots, { roots: [{ uri: "file:///a" }] })
      yield* Deferred.succeed(change, undefined)
      yield* server.awaitReceived((_) => _.session === 2 && _.method === "notifications/roots/list_changed")
    }))

  it.scoped("it is the new list that counts", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        handlers: {
          "tools/list": ({ session }) =>
            Effect.succeed({ tools: [{ name: `tool${session}`, inputSchema: { type: "object" } }] })
        }
      })
      yield* McpConnection.listTools(connection)
      assert.isDefined(connection.catalog.tools.find("tool1"))
      yield* lose(server)
      assert.isUndefined(connection.catalog.tools.find("tool1"))
      assert.isDefined(connection.catalog.tools.find("tool2"))
    }))
})

describe("what is asked while the session is being replaced", () => {
  /** The first session expires for `x/expire`; what is hung there stays until the test answers it. */
  const replaced = (method: string) =>
    full({
      handlers: {
        "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({}),
        [method]: ({ session }) => session === 1 ? Effect.never : Effect.succeed({})
      }
    })

  it.scoped("a subscription that the old session still answers holds in the new one", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* replaced("resources/subscribe")
      yield* ready(connection)
      const call = yield* forkExit(McpConnection.subscribe(connection, "a:1"))
      const { id } = yield* server.awaitReceived("resources/subscribe")
      yield* connection.request("x/expire")
      yield* (yield* server.session(1)).sendRaw(ScriptedServer.result(id, {}))
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.include(yield* asked(server, 2), "resources/subscribe a:1")
    }))

  it.scoped("so does a log level", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* replaced("logging/setLevel")
      yield* ready(connection)
      const call = yield* forkExit(McpConnection.setLogLevel(connection, "error"))
      const { id } = yield* server.awaitReceived("logging/setLevel")
      yield* connection.request("x/expire")
      yield* (yield* server.session(1)).sendRaw(ScriptedServer.result(id, {}))
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.include(yield* asked(server, 2), "logging/setLevel error")
    }))
})

const refusal = new McpError.RemoteError({
  server: "scripted",
  operation: "x",
  executed: "maybe",
  code: -32603,
  reason: "not now"
})

describe("what goes wrong", () => {
  const restored = ["logging/setLevel", "resources/subscribe", "tools/list", "prompts/list", "resources/list"]

  it.scoped("a refusal is tolerated, whatever is refused", () =>
    Effect.gen(function*() {
      for (const method of restored) {
        const { connection, server } = yield* full({
          accept: ({ method: m, session }) =>
            m === method && session === 2
              ? Effect.fail(refusal)
              : Effect.void
        }, { logLevel: "info" })
        yield* useAll(connection)
        yield* lose(server)
        assert.strictEqual(yield* tagOf(connection), "Ready", method)
        assert.strictEqual((yield* server.stats).attempts, 2)
      }
    }))

  it.scoped("a session that ends meanwhile fails that try; the next one restores all of it", () =>
    Effect.gen(function*() {
      for (const method of restored) {
        const { connection, server } = yield* full({
          accept: ({ method: m, session }, peer) => m === method && session === 2 ? peer.disconnect() : Effect.void
        }, { logLevel: "info" })
        yield* useAll(connection)
        const states = yield* record(connection)
        yield* lose(server)
        assert.strictEqual(yield* tagOf(connection), "Reconnecting", method)
        assert.deepStrictEqual((yield* server.stats).live, [], method)
        yield* pass(500)
        const state = yield* connection.state
        assert(state._tag === "Ready", method)
        assert.strictEqual(state.generation, 2)
        assert.strictEqual((yield* asked(server, 3)).length, 9, method)
        assert.deepStrictEqual(tags(states), ["Ready", "Reconnecting", "Reconnecting", "Reconnecting", "Ready"])
      }
    }))

  it.scoped("also where nothing but the log level was to be restored", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        accept: ({ method, session }, peer) =>
          method === "logging/setLevel" && session === 2 ? peer.disconnect() : Effect.void
      }, { logLevel: "info" })
      yield* ready(connection)
      const states = yield* record(connection)
      yield* lose(server)
      assert.strictEqual(yield* tagOf(connection), "Reconnecting")
      yield* pass(500)
      assert.deepStrictEqual(tags(states), ["Ready", "Reconnecting", "Reconnecting", "Reconnecting", "Ready"])
      assert.strictEqual((yield* connection.stats).sessions, 2)
    }))

  it.scoped("so does a session that expires meanwhile", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        handlers: {
          "tools/list": ({ session }) => session === 2 ? Effect.fail(expired) : Effect.succeed({ tools: [] })
        }
      })
      yield* McpConnection.listTools(connection)
      yield* lose(server)
      assert.strictEqual(yield* tagOf(connection), "Reconnecting")
      yield* pass(500)
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("one that hangs meets its deadline, whatever hangs; callers wait", () =>
    Effect.gen(function*() {
      for (const method of restored) {
        const { connection, server } = yield* full({
          accept: ({ method: m, session }) => m === method && session === 2 ? Effect.never : Effect.void
        }, { logLevel: "info", timeouts: { handshake: "3 seconds" } })
        yield* useAll(connection)
        yield* lose(server)
        const call = yield* forkExit(echo(connection))
        yield* pass(2999)
        assert.strictEqual((yield* server.stats).attempts, 2, method)
        yield* pass(1)
        const state = yield* connection.state
        assert(state._tag === "Reconnecting", method)
        assert(state.error._tag === "RequestTimeout")
        assert.strictEqual(state.error.kind, "handshake")
        assert.deepStrictEqual((yield* server.stats).live, [])
        yield* pass(500)
        assert(Exit.isSuccess(yield* Fiber.join(call)), method)
        assert.deepStrictEqual((yield* server.receivedOf("tools/call")).map((_) => _.session), [3])
      }
    }))

  it.scoped("close during it ends it, and nothing is adopted", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        handlers: { "tools/list": ({ session }) => session === 2 ? Effect.never : Effect.succeed({ tools: [] }) }
      })
      yield* McpConnection.listTools(connection)
      yield* lose(server)
      const call = yield* forkExit(echo(connection))
      yield* connection.close
      assert.strictEqual(failure(yield* Fiber.join(call))._tag, "ConnectionClosed")
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.strictEqual(yield* tagOf(connection), "Closed")
    }))

  it.scoped("what the server says during it is heard after it, once", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* full({
        handlers: {
          "tools/list": ({ session }, peer) =>
            Effect.as(session === 2 ? peer.notify("notifications/x") : Effect.void, { tools: [] })
        }
      })
      yield* McpConnection.listTools(connection)
      const heard: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(connection.notifications, (_) => Effect.sync(() => void heard.push(_.method)))
      )
      yield* settled
      yield* lose(server)
      assert.deepStrictEqual(heard, ["notifications/x"])
    }))
})
