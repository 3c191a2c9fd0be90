/**
 * What a review of the owner of a connection has found: openings, losses and ends, each held by a test.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Fiber, Option, Schedule, Scope } from "effect"
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
  tryTimes,
  unauthorized
} from "./kit.js"

const idle = { lifetime: { idle: "60 seconds" } } as const

const count = (server: ScriptedServer.ScriptedServer, method: string) =>
  Effect.map(server.receivedOf(method), (all) => all.length)

/** The first opening succeeds, each later one fails with this. */
const onlyOnce = (error: McpError.McpError) => (session: number) => session === 1 ? Effect.void : Effect.fail(error)

/** The server's own stream breaks and is back. */
const reopen = (server: ScriptedServer.ScriptedServer) =>
  Effect.all([server.serverStream("down"), settled, server.serverStream("open"), settled], { discard: true })

const streaming = (options: ScriptedServer.Options = {}, config: object = {}) =>
  connect({ ...http, ...config }, { listen: (peer) => peer.serverStream("open"), ...options })

describe("one try at a time", () => {
  for (const sameSession of [true, false]) {
    const title = sameSession ? "a session that is lost twice" : "two sessions that are lost one after the other"
    it.scoped(`${title} among many uses: no try beside another`, () =>
      Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio)
        const lost: Array<number> = []
        for (let i = 0; lost.length < 2 && i < 400; i++) {
          yield* Effect.fork(Effect.exit(echo(connection, { replay: "always" })))
          yield* Effect.yieldNow()
          const session = (yield* server.stats).live.at(-1)
          if ((yield* tagOf(connection)) !== "Ready" || session === undefined) continue
          if (!sameSession && lost.includes(session)) continue
          yield* server.disconnect()
          lost.push(session)
        }
        yield* pass(20_000, 500)
        assert.lengthOf(lost, 2)
        assert.strictEqual(yield* tagOf(connection), "Ready")
        const { live, opened } = yield* server.stats
        assert.lengthOf(live, 1)
        assert.strictEqual((yield* connection.stats).open, 1)
        assert.strictEqual(opened, new Set(lost).size + 1)
      }))
  }

  it.scoped("many uses in a row without authorization: each is told so, and nothing stays open", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, { start: () => Effect.fail(unauthorized) })
      for (let i = 0; i < 50; i++) {
        assert.strictEqual(failure(yield* Effect.exit(echo(connection)))._tag, "Unauthorized")
        assert.strictEqual(yield* tagOf(connection), "NeedsAuthorization")
      }
      yield* settled
      assert.strictEqual((yield* connection.stats).open, 0)
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.isAtMost((yield* server.stats).attempts, 50)
    }))
})

describe("the tries after a loss", () => {
  it.scoped("a server that asks for a pause gets it", () =>
    Effect.gen(function*() {
      const { note, times } = tryTimes()
      const busy = new McpError.HttpError({
        server: "scripted",
        operation: "open",
        executed: "no",
        status: 429,
        body: "",
        retryAfterMillis: 60_000
      })
      const { connection, server } = yield* connect(http, {
        start: (session) => Effect.zipRight(note, onlyOnce(busy)(session))
      })
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      assert.deepStrictEqual(times, [0, 0])
      yield* pass(59_999, 499)
      assert.deepStrictEqual(times, [0, 0])
      yield* pass(6000, 500)
      assert.lengthOf(times, 3)
    }))

  it.scoped("a schedule of the user's that dies ends them, and whoever waits is told", () =>
    Effect.gen(function*() {
      const schedule = Schedule.map(Schedule.recurs(10), (): number => {
        throw new Error("x")
      })
      const { connection, server } = yield* connect(stdio, { start: onlyOnce(refused) }, { reconnect: { schedule } })
      yield* ready(connection)
      yield* server.disconnect()
      const waiting = yield* Effect.forkDaemon(Effect.exit(ready(connection)))
      yield* settled
      const exit = yield* Fiber.poll(waiting)
      assert(Option.isSome(exit) && Exit.isSuccess(exit.value), "it waits for ever")
      assert(Exit.isFailure(exit.value.value))
      assert.strictEqual(yield* tagOf(connection), "Failed")
    }))

  it.scoped("the last holder goes while the server refuses: Idle, and no more tries", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, ...idle }, { start: onlyOnce(refused) })
      const scope = yield* Scope.make()
      yield* Scope.extend(Effect.asVoid(connection.hold), scope)
      yield* server.disconnect()
      yield* pass(1000, 500)
      assert.strictEqual(yield* tagOf(connection), "Reconnecting")
      yield* Scope.close(scope, Exit.void)
      yield* pass(60_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Idle")
      const { attempts } = yield* server.stats
      yield* pass(3_600_000, 60_000)
      assert.strictEqual((yield* server.stats).attempts, attempts)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))
})

describe("a session that takes its time to close is ready for nobody", () => {
  /** Only the first: the end of the test does not wait for the clock. */
  const slow = { close: (session: number) => session === 1 ? Effect.sleep("3 seconds") : Effect.void }

  const ends = (
    title: string,
    config: object,
    end: (connection: McpConnection.McpConnection, server: ScriptedServer.ScriptedServer) => Effect.Effect<void>,
    expected: McpConnection.ConnectionState["_tag"]
  ) =>
    it.scoped(`${title}: ${expected} at once`, () =>
      Effect.gen(function*() {
        const { connection, server } = yield* connect({ ...stdio, ...config }, slow)
        yield* ready(connection)
        yield* end(connection, server)
        yield* settled
        const atOnce = [yield* tagOf(connection), ...(yield* server.stats).live]
        yield* pass(3000)
        assert.deepStrictEqual(atOnce, [expected, 1], "it is still closing")
        assert.strictEqual(yield* tagOf(connection), expected)
        assert.deepStrictEqual((yield* server.stats).live, [])
        // What comes after it is as good as ever.
        if (expected === "Disabled") return
        yield* echo(connection)
        assert.strictEqual(yield* tagOf(connection), "Ready")
      }))

  ends("closed by the application", {}, (_) => Effect.asVoid(Effect.fork(_.close)), "Closed")
  ends("disabled", {}, (_) => Effect.asVoid(Effect.fork(_.disable)), "Disabled")
  ends("nobody uses it", idle, () => pass(60_000), "Idle")
  ends("lost while nobody uses it", idle, (_, server) => server.disconnect(), "Idle")

  it.scoped("a use while it closes is made in the next one", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, ...idle }, slow)
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      const call = yield* forkExit(echo(connection))
      yield* pass(3000, 500)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.deepStrictEqual((yield* server.stats).live, [2])
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))
})

describe("new credentials", () => {
  it.scoped("are not listened for after the end, whenever it comes while a channel opens", () =>
    Effect.gen(function*() {
      const { server: { channel } } = yield* connect(http)
      const endedAfter = (turns: number) =>
        Effect.gen(function*() {
          const listeners = new Set<() => void>()
          const followCredentials = (listener: () => void) => {
            listeners.add(listener)
            return () => void listeners.delete(listener)
          }
          const scope = yield* Scope.make()
          const connection = yield* Scope.extend(McpConnection.fromChannel({ ...channel, followCredentials }), scope)
          const opening = yield* Effect.fork(ready(connection))
          yield* Effect.repeatN(Effect.yieldNow(), turns)
          yield* Scope.close(scope, Exit.void)
          yield* Fiber.await(opening)
          return listeners.size
        })
      for (let budget = 10; budget < 20; budget++) {
        for (let turns = 0; turns < 40; turns++) {
          const left = yield* Effect.withMaxOpsBeforeYield(endedAfter(turns), budget)
          assert.strictEqual(left, 0, `after ${turns} turns of ${budget}`)
        }
      }
    }))
})

describe("the lists that are refreshed because the stream was down", () => {
  it.scoped("are no use of the connection", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* streaming({}, idle)
      yield* McpConnection.listTools(connection)
      yield* pass(30_000)
      yield* reopen(server)
      yield* pass(29_000)
      yield* reopen(server)
      assert.strictEqual(yield* count(server, "tools/list"), 3)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(5000, 500)
      assert.strictEqual(yield* tagOf(connection), "Idle")
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("but a call is, also between two refreshes", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* streaming({}, idle)
      yield* McpConnection.listTools(connection)
      yield* pass(20_000)
      yield* reopen(server)
      yield* pass(10_000)
      yield* echo(connection)
      yield* pass(10_000)
      yield* reopen(server)
      yield* pass(49_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(5000, 500)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  const failing = (error: McpError.McpError) => {
    let lists = 0
    return streaming({
      handlers: { "tools/list": () => ++lists === 2 ? Effect.fail(error) : Effect.succeed({ tools: [] }) }
    })
  }

  it.scoped("find the session gone: there is a new one", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* failing(expired)
      yield* McpConnection.listTools(connection)
      yield* reopen(server)
      assert.strictEqual(yield* count(server, "initialize"), 2)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
      assert.deepStrictEqual((yield* server.stats).live, [2])
    }))

  it.scoped("are refreshed, too, if it was down while a new session was asked for them", () =>
    Effect.gen(function*() {
      let version = 1
      const { connection, server } = yield* streaming({
        handlers: {
          "tools/list": ({ session }, peer) =>
            Effect.suspend(() => {
              const tools = [{ name: `v${version}`, inputSchema: { type: "object" } }]
              // What it says of the change meanwhile, nobody hears.
              const reopened = Effect.zipRight(peer.serverStream("down"), peer.serverStream("open"))
              return Effect.as(session === 2 && version++ === 1 ? reopened : Effect.void, { tools })
            })
        }
      })
      yield* McpConnection.listTools(connection)
      yield* server.disconnect()
      yield* settled
      const tools = yield* connection.catalog.tools.get
      assert.deepStrictEqual(tools.items.map((_) => _.name), ["v2"])
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual(yield* count(server, "tools/list"), 3)
    }))

  it.scoped("do not reach the server: Degraded, and a ping", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* failing(refused)
      yield* McpConnection.listTools(connection)
      yield* reopen(server)
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.deepStrictEqual([state.reason, state.error?._tag], ["Unreachable", "ConnectFailed"])
      yield* pass(500)
      assert.strictEqual(yield* count(server, "ping"), 1)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual(yield* count(server, "initialize"), 1)
    }))
})
