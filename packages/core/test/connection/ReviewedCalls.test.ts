/**
 * What a review of the calls over a connection has found: callers that can't be interrupted, errors of calls that say
 * something about the server, and wishes of calls that ended early. Each is held by a test.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpError, RetryPolicy } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import {
  connect,
  echo,
  expired,
  failure,
  forkExit,
  http,
  pass,
  ready,
  refused,
  settled,
  stdio,
  tagOf,
  unauthorized
} from "./kit.js"
import { http as httpError, lost, policy } from "./replayKit.js"

const count = (server: ScriptedServer.ScriptedServer, method: string) =>
  Effect.map(server.receivedOf(method), (all) => all.length)

const times = (server: ScriptedServer.ScriptedServer, method: string) =>
  Effect.map(server.receivedOf(method), (all) => all.map((_) => _.at))

describe("a caller that can't be interrupted", () => {
  /** A daemon: where it hangs, the test does not. */
  const call = (connection: McpConnection.McpConnection, options: McpConnection.CallOptions) =>
    Effect.tap(Effect.forkDaemon(Effect.uninterruptible(Effect.exit(echo(connection, options)))), () => settled)

  const ended = <E>(fiber: Fiber.RuntimeFiber<Exit.Exit<void, E>>) =>
    Effect.map(Fiber.poll(fiber), (polled) => {
      assert(Option.isSome(polled), "it has not ended")
      assert(Exit.isSuccess(polled.value))
      return polled.value.value
    })

  it.scoped("a replay is sent after its pause, and the call ends", () =>
    Effect.gen(function*() {
      let failures = 1
      const { connection, server } = yield* connect(http, {
        tools: [{ name: "echo", call: () => failures-- > 0 ? Effect.fail(refused) : Effect.succeed("ok") }]
      }, { retry: policy({ base: 250 }) })
      const fiber = yield* call(connection, { timeout: "5 seconds" })
      yield* pass(249)
      assert.deepStrictEqual(yield* times(server, "tools/call"), [0])
      yield* pass(1)
      assert.deepStrictEqual(yield* times(server, "tools/call"), [0, 250])
      assert(Exit.isSuccess(yield* ended(fiber)))
    }))

  it.scoped("the pause before a replay ends with the connection", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, {
        tools: [{ name: "echo", call: () => Effect.fail(refused) }]
      }, { retry: policy({ base: "1 minute", cap: null }) })
      const fiber = yield* call(connection, { timeout: null })
      yield* connection.close
      yield* settled
      assert.strictEqual(failure(yield* ended(fiber))._tag, "ConnectFailed")
      assert.strictEqual(yield* count(server, "tools/call"), 1)
    }))

  it.scoped("the success of its own session ends an isolated replay", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, recovery: "isolated" }, {
        tools: [{ name: "echo", call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.succeed("ok") }]
      })
      const fiber = yield* call(connection, { timeout: "5 seconds", replay: "always" })
      assert(Exit.isSuccess(yield* ended(fiber)))
      assert.deepStrictEqual((yield* server.receivedOf("tools/call")).map((_) => _.session), [1, 2])
      assert.deepStrictEqual((yield* server.stats).live, [1])
    }))

  it.scoped("an isolated replay that hangs ends with the connection", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect({ ...http, recovery: "isolated" }, {
        tools: [{ name: "echo", call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.never }]
      })
      const fiber = yield* call(connection, { timeout: null, replay: "always" })
      yield* connection.close
      yield* settled
      assert.strictEqual(failure(yield* ended(fiber)).executed, "maybe")
    }))

  it.scoped("its deadline holds while the server does not answer the handshake", () =>
    Effect.gen(function*() {
      for (const config of [stdio, http]) {
        const { connection } = yield* connect(config, { handlers: { initialize: () => Effect.never } })
        const fiber = yield* call(connection, { timeout: "1 second" })
        yield* pass(999)
        assert(Option.isNone(yield* Fiber.poll(fiber)))
        yield* pass(1)
        const error = failure(yield* ended(fiber))
        assert(error._tag === "RequestTimeout")
        assert.strictEqual(error.executed, "no")
      }
    }))
})

describe("what the error of a call says about the server", () => {
  it.scoped("503 to calls and pings: Degraded, and pings with growing pauses until one is answered", () =>
    Effect.gen(function*() {
      let isDown = true
      const answer = () => isDown ? Effect.fail(httpError(503)) : Effect.succeed({})
      const { connection, server } = yield* connect(http, { handlers: { "tools/call": answer, ping: answer } })
      yield* ready(connection)
      yield* Effect.exit(echo(connection, { replay: "never" }))
      yield* pass(500)
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.deepStrictEqual([state.reason, state.error?._tag], ["Unreachable", "HttpError"])
      yield* pass(40_000, 500)
      const at = yield* times(server, "ping")
      assert.isAtLeast(at.length, 4)
      assert.isAtMost(at.length, 8)
      const pauses = at.slice(1).map((_, i) => _ - at[i]!)
      assert.deepStrictEqual(pauses, [...pauses].sort((a, b) => a - b))
      assert.strictEqual(yield* tagOf(connection), "Degraded")
      isDown = false
      yield* pass(30_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      const pings = yield* count(server, "ping")
      yield* pass(120_000)
      assert.strictEqual(yield* count(server, "ping"), pings)
      assert.strictEqual(yield* count(server, "initialize"), 1)
    }))

  it.scoped("Unauthorized: Degraded without pings, until a call succeeds", () =>
    Effect.gen(function*() {
      let isRefused = true
      const { connection, server } = yield* connect(http, {
        tools: [{ name: "echo", call: () => isRefused ? Effect.fail(unauthorized) : Effect.succeed("ok") }]
      })
      yield* ready(connection)
      assert.strictEqual(failure(yield* Effect.exit(echo(connection)))._tag, "Unauthorized")
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.deepStrictEqual<Array<string | undefined>>(
        [state.reason, state.error?._tag],
        ["Unauthorized", "Unauthorized"]
      )
      yield* pass(120_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Degraded")
      assert.strictEqual(yield* count(server, "ping"), 0)
      isRefused = false
      yield* echo(connection)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(120_000, 500)
      assert.strictEqual(yield* count(server, "ping"), 0)
      assert.strictEqual(yield* count(server, "initialize"), 1)
    }))

  it.scoped("an isolated replay that finds no channel any more tells what happened", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, recovery: "isolated" }, {
        start: (session) => session === 1 ? Effect.void : Effect.fail(unauthorized),
        tools: [{ name: "echo", call: () => Effect.fail(httpError(503, "maybe", 10_000)) }]
      })
      yield* ready(connection)
      const call = yield* forkExit(echo(connection, { replay: "always" }))
      yield* pass(1000)
      yield* server.disconnect()
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "NeedsAuthorization")
      yield* pass(60_000, 500)
      const error = failure(yield* Fiber.join(call))
      assert.include(["OutcomeUnknown", "HttpError", "Unauthorized"], error._tag)
      assert.notInclude(error.message, "closed by this application")
      assert.strictEqual(error.executed, "maybe")
    }))
})

describe("what is no replay of the budget's", () => {
  it.scoped("a session that has expired is no error that a policy is asked about", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, {
        tools: [{ name: "echo", call: (_, { session }) => session === 1 ? Effect.fail(expired) : Effect.succeed("ok") }]
      }, { retry: policy({ when: (error) => error._tag === "HttpError" && error.status === 429 }) })
      yield* echo(connection)
      assert.deepStrictEqual((yield* server.receivedOf("tools/call")).map((_) => _.session), [1, 2])
      assert.strictEqual(yield* count(server, "initialize"), 2)
    }))

  const queued = (
    config: object,
    end: (server: ScriptedServer.ScriptedServer, fail: Effect.Effect<void>) => Effect.Effect<void>,
    expected: McpError.McpError["_tag"]
  ) =>
    Effect.gen(function*() {
      const over = yield* Deferred.make<never, McpError.McpError>()
      const { connection, server } = yield* connect({ ...config, concurrency: "serial" }, {
        handlers: { "x/run": () => Deferred.await(over), "x/next": () => Effect.succeed({}) }
      }, { retry: RetryPolicy.none })
      yield* ready(connection)
      const running = yield* forkExit(connection.request("x/run"))
      const next = yield* forkExit(connection.request("x/next"))
      assert.deepStrictEqual([yield* count(server, "x/run"), yield* count(server, "x/next")], [1, 0])
      yield* end(server, Effect.asVoid(Deferred.fail(over, expired)))
      yield* pass(1000, 500)
      assert.strictEqual(failure(yield* Fiber.join(running))._tag, expected)
      const exit = yield* Fiber.join(next)
      assert(Exit.isSuccess(exit), String(exit))
      assert.deepStrictEqual((yield* server.receivedOf("x/next")).map((_) => _.session), [2])
      assert.strictEqual((yield* connection.stats).replays, 0)
    })

  it.scoped("a call whose turn had not come when the process crashed runs in the next session", () =>
    queued(stdio, (server) => server.disconnect(), "OutcomeUnknown"))

  it.scoped("nor when the session of the call before it expired", () =>
    queued(http, (_, fail) => fail, "SessionExpired"))
})

describe("a wish that two have, and one of them gives up", () => {
  const wishing = (handlers: ScriptedServer.Options["handlers"]) =>
    connect(http, { capabilities: { tools: {}, logging: {}, resources: { subscribe: true } }, handlers: handlers! })

  /** Hangs so many times, then answers. */
  const hanging = (times: number) => () => times-- > 0 ? Effect.never : Effect.succeed({})

  it.scoped("a subscription stays that of the other, also in the next session", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* wishing({ "resources/subscribe": hanging(1) })
      const first = yield* forkExit(McpConnection.subscribe(connection, "a:b"))
      yield* McpConnection.subscribe(connection, "a:b")
      yield* Fiber.interrupt(first)
      yield* Effect.asVoid(connection.reconnect)
      assert.deepStrictEqual((yield* server.receivedOf("resources/subscribe")).map((_) => _.session), [1, 1, 2])
    }))

  it.scoped("a subscription that both gave up is none", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* wishing({ "resources/subscribe": hanging(2) })
      const both = [
        yield* forkExit(McpConnection.subscribe(connection, "a:b")),
        yield* forkExit(McpConnection.subscribe(connection, "a:b"))
      ]
      for (const fiber of both) yield* Fiber.interrupt(fiber)
      yield* Effect.asVoid(connection.reconnect)
      assert.strictEqual(yield* count(server, "resources/subscribe"), 2)
    }))

  const levels = (server: ScriptedServer.ScriptedServer, session: number) =>
    Effect.map(
      server.receivedOf("logging/setLevel"),
      (all) => all.filter((_) => _.session === session).map((_) => _.params.level)
    )

  for (const level of ["debug", "error"] as const) {
    it.scoped(`the level "error" stays, where another one gave up "${level}"`, () =>
      Effect.gen(function*() {
        const { connection, server } = yield* wishing({ "logging/setLevel": hanging(1) })
        const first = yield* forkExit(McpConnection.setLogLevel(connection, level))
        yield* McpConnection.setLogLevel(connection, "error")
        yield* Fiber.interrupt(first)
        yield* Effect.asVoid(connection.reconnect)
        assert.deepStrictEqual(yield* levels(server, 2), ["error"])
      }))
  }

  it.scoped("levels that both gave up are none, and the one before them stays", () =>
    Effect.gen(function*() {
      for (const before of [undefined, "warning"] as const) {
        let hangs = false
        const { connection, server } = yield* wishing({
          "logging/setLevel": () => hangs ? Effect.never : Effect.succeed({})
        })
        yield* ready(connection)
        if (before !== undefined) yield* McpConnection.setLogLevel(connection, before)
        hangs = true
        const first = yield* forkExit(McpConnection.setLogLevel(connection, "debug"))
        const second = yield* forkExit(McpConnection.setLogLevel(connection, "error"))
        yield* Fiber.interrupt(first)
        yield* Fiber.interrupt(second)
        hangs = false
        yield* Effect.asVoid(connection.reconnect)
        assert.deepStrictEqual(yield* levels(server, 2), before === undefined ? [] : [before])
      }
    }))
})
