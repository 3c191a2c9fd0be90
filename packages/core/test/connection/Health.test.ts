/**
 * How a connection notices that its server is out of reach, and what it says and does about it.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import {
  connect,
  echo,
  expired,
  failure,
  forkExit,
  http,
  inMemory,
  pass,
  ready,
  record,
  refused,
  settled,
  stdio,
  tagOf,
  tags
} from "./kit.js"

const keepAlive = { keepAlive: { every: "10 seconds", timeout: "2 seconds" } }

const pings = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(server.receivedOf("ping"), (all) => all.map((_) => _.at))

describe("keep-alive", () => {
  it.scoped("asks only a server that is silent", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, ...keepAlive })
      yield* ready(connection)
      yield* pass(5000)
      yield* server.notify("notifications/x")
      yield* pass(5000)
      assert.deepStrictEqual(yield* pings(server), [])
      yield* pass(10_000)
      assert.deepStrictEqual(yield* pings(server), [20_000])
      yield* pass(5000)
      yield* echo(connection)
      yield* pass(5000)
      assert.deepStrictEqual(yield* pings(server), [20_000])
    }))

  it.scoped("never without the option", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http)
      yield* ready(connection)
      yield* pass(3_600_000)
      assert.deepStrictEqual(yield* pings(server), [])
    }))

  it.scoped("takes no turn: it goes out while all turns are taken; a serial server that works is left alone", () =>
    Effect.gen(function*() {
      for (const [concurrency, expected] of [[2, [10_000]], ["serial", []]] as const) {
        const { connection, server } = yield* connect({ ...stdio, ...keepAlive, concurrency }, {
          handlers: { "x/hang": () => Effect.never }
        })
        const calls = yield* Effect.forEach([1, 2, 3], () => forkExit(connection.request("x/hang")))
        const start = yield* TestClock.currentTimeMillis
        yield* pass(10_000)
        assert.deepStrictEqual((yield* pings(server)).map((_) => _ - start), [...expected], String(concurrency))
        assert.strictEqual(yield* tagOf(connection), "Ready")
        yield* Fiber.interruptAll(calls)
        yield* pass(10_000)
        assert.strictEqual((yield* pings(server)).length, expected.length + 1)
      }
    }))

  it.scoped("one silence: Degraded; an answer: Ready again", () =>
    Effect.gen(function*() {
      let silent = true
      const { connection, server } = yield* connect({ ...stdio, ...keepAlive }, {
        handlers: { ping: () => silent ? Effect.never : Effect.succeed({}) }
      })
      yield* ready(connection)
      const states = yield* record(connection)
      yield* pass(11_999)
      assert.deepStrictEqual(tags(states), ["Ready"])
      yield* pass(1)
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.deepStrictEqual([state.since, state.generation, state.reason], [12_000, 1, "Unreachable"])
      assert.strictEqual(state.error?._tag, "RequestTimeout")
      silent = false
      yield* pass(500)
      assert.deepStrictEqual(tags(states), ["Ready", "Degraded", "Ready"])
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
    }))

  it.scoped("a second silence: the session is made anew; a silence, an answer, a silence: it is not", () =>
    Effect.gen(function*() {
      for (const answered of [true, false]) {
        let count = 0
        const { connection, server } = yield* connect({ ...stdio, ...keepAlive }, {
          handlers: {
            ping: ({ session }) => session > 1 || (answered && count++ % 2 === 1) ? Effect.succeed({}) : Effect.never
          }
        })
        yield* ready(connection)
        yield* pass(60_000, 250)
        assert.strictEqual((yield* server.receivedOf("initialize")).length, answered ? 1 : 2)
      }
    }))

  it.scoped("the second silence ends running calls with a typed error", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect({ ...stdio, ...keepAlive }, {
        handlers: { ping: () => Effect.never, "x/hang": () => Effect.never }
      })
      const call = yield* forkExit(connection.request("x/hang", {}, { timeout: null }))
      yield* pass(18_000, 250)
      const error = failure(yield* Fiber.join(call))
      assert.strictEqual(error._tag, "OutcomeUnknown")
    }))

  it.scoped("a ping that was never sent, or one beside which something came, is no silence", () =>
    Effect.gen(function*() {
      const unsent = new McpError.RequestTimeout({
        server: "s",
        operation: "ping",
        executed: "no",
        kind: "wait",
        millis: 2000
      })
      const scripts: Array<ScriptedServer.Handler> = [
        () => Effect.fail(unsent),
        (_, peer) => Effect.zipRight(peer.notify("notifications/x"), Effect.never)
      ]
      for (const answer of scripts) {
        const { connection, server } = yield* connect({ ...http, ...keepAlive }, { handlers: { ping: answer } })
        yield* ready(connection)
        const states = yield* record(connection)
        yield* pass(60_000, 500)
        assert.isAtLeast((yield* pings(server)).length, 5)
        assert.deepStrictEqual(tags(states), ["Ready"])
        assert.strictEqual((yield* connection.stats).losses, 0)
      }
    }))

  it.scoped("one that was never sent is asked again while the server is out of reach", () =>
    Effect.gen(function*() {
      let isDown = true
      const unsent = new McpError.RequestTimeout({
        server: "s",
        operation: "ping",
        executed: "no",
        kind: "wait",
        millis: 5000
      })
      const { connection, server } = yield* connect(http, {
        handlers: { ping: () => isDown ? Effect.fail(unsent) : Effect.succeed({}) },
        accept: ({ method }) => isDown && method === "tools/call" ? Effect.fail(refused) : Effect.void
      })
      yield* ready(connection)
      yield* Effect.flip(echo(connection, { replay: "never" }))
      yield* pass(10_000, 500)
      assert.isAtLeast((yield* pings(server)).length, 3)
      assert.strictEqual(yield* tagOf(connection), "Degraded")
      isDown = false
      yield* pass(30_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual((yield* connection.stats).losses, 0)
    }))

  for (const [reads, losses] of [[true, 0], [false, 1]] as const) {
    it.scoped(`a server that ${reads ? "reads what waits in its pipe is there" : "reads nothing of it is not"}`, () =>
      Effect.gen(function*() {
        const { connection } = yield* connect(
          { ...stdio, ...keepAlive },
          { handlers: { ping: ({ session }) => session === 1 ? Effect.never : Effect.succeed({}) } },
          {},
          (channel) => ({
            ...channel,
            open: (events) => Effect.map(channel.open(events), (wire) => ({ ...wire, reading: () => () => reads }))
          })
        )
        yield* ready(connection)
        const states = yield* record(connection)
        yield* pass(60_000, 500)
        assert.strictEqual((yield* connection.stats).losses, losses)
        if (reads) assert.deepStrictEqual(tags(states), ["Ready"])
      }))
  }

  it.scoped("the second silence over HTTP: a new session, and what is under way has its answer in the old one", () =>
    Effect.gen(function*() {
      const answered = yield* Deferred.make<void>()
      const { connection, server } = yield* connect({ ...http, ...keepAlive }, {
        handlers: {
          ping: ({ session }) => session === 1 ? Effect.never : Effect.succeed({}),
          "x/long": () => Effect.as(Deferred.await(answered), { done: true })
        }
      })
      const call = yield* Effect.fork(connection.request("x/long", {}, { timeout: null }))
      yield* pass(18_000, 250)
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 2)
      yield* Deferred.succeed(answered, undefined)
      assert.deepStrictEqual(yield* Fiber.join(call), { done: true })
      assert.strictEqual((yield* server.receivedOf("x/long")).length, 1)
    }))

  it.scoped("a call whose session is given up is told why, and goes on in the next one where it may", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, ...keepAlive }, {
        handlers: {
          ping: ({ session }) => session === 1 ? Effect.never : Effect.succeed({}),
          "x/hang": () => Effect.never,
          "x/ask": ({ session }) => session === 1 ? Effect.never : Effect.succeed({ session })
        }
      })
      const call = yield* forkExit(connection.request("x/hang", {}, { timeout: null }))
      const idempotent = yield* Effect.fork(connection.request("x/ask", {}, { timeout: null, replay: "always" }))
      yield* pass(18_000, 250)
      const error = failure(yield* Fiber.join(call))
      assert(error._tag === "OutcomeUnknown")
      assert(error.error._tag === "ConnectionClosed")
      assert.strictEqual(error.error.reason, "Reset")
      assert.include(error.message, "ping: no answer within")
      assert.notInclude(error.message, "by this application")
      assert.deepStrictEqual(yield* Fiber.join(idempotent), { session: 2 })
      assert.strictEqual((yield* server.receivedOf("x/hang")).length, 1)
    }))

  it.scoped("a serial server that has begun to work after a silence is left alone; its answer is an answer", () =>
    Effect.gen(function*() {
      const answered = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(
        { ...stdio, concurrency: "serial", keepAlive: { every: "10 seconds", timeout: "1 second" } },
        {
          handlers: { ping: () => Effect.never },
          tools: [{ name: "t", call: () => Effect.as(Deferred.await(answered), "late") }]
        }
      )
      yield* connection.awaitReady
      yield* pass(11_000)
      assert.strictEqual(yield* tagOf(connection), "Degraded")
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, { timeout: "1 hour" }))
      yield* server.awaitReceived("tools/call")
      yield* pass(60_000)
      assert.strictEqual((yield* server.receivedOf("ping")).length, 1)
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(call)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("an error is an answer: whoever does not know ping is there", () =>
    Effect.gen(function*() {
      for (const code of [-32601, -32603]) {
        const { connection, server } = yield* connect({ ...http, ...keepAlive }, {
          handlers: { ping: () => Effect.fail(new ScriptedServer.RpcError({ code, message: "what?" })) }
        })
        yield* ready(connection)
        const states = yield* record(connection)
        yield* pass(60_000, 5000)
        assert.isAtLeast((yield* pings(server)).length, 3)
        assert.deepStrictEqual(tags(states), ["Ready"])
      }
    }))

  it.scoped("SessionExpired: one new session, without a call", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, ...keepAlive }, {
        handlers: { ping: ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({}) }
      })
      yield* ready(connection)
      yield* pass(10_000)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
      assert.deepStrictEqual((yield* server.stats).live, [2])
    }))
})

describe("a call that does not reach the server", () => {
  const down = (config: object, script: ScriptedServer.Options = {}) =>
    Effect.gen(function*() {
      let isDown = true
      const { connection, server } = yield* connect(config, {
        ...script,
        accept: ({ id, method }) =>
          isDown && id !== undefined && method !== "initialize" ? Effect.fail(refused) : Effect.void
      })
      yield* ready(connection)
      return { connection, server, up: Effect.sync(() => void (isDown = false)) }
    })

  it.scoped("Degraded at once, and pings with growing pauses until it answers", () =>
    Effect.gen(function*() {
      const { connection, server, up } = yield* down(http)
      const error = yield* Effect.flip(echo(connection, { replay: "never" }))
      assert.strictEqual(error._tag, "ConnectFailed")
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.strictEqual(state.reason, "Unreachable")
      assert.strictEqual(state.error?._tag, "ConnectFailed")
      yield* pass(120_000, 500)
      const at = yield* pings(server)
      assert.deepStrictEqual(at.slice(0, 8), [500, 1500, 3500, 7500, 15_500, 31_500, 61_500, 91_500])
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 1)
      yield* up
      yield* pass(30_000, 500)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      const { length } = yield* pings(server)
      yield* pass(120_000)
      assert.strictEqual((yield* pings(server)).length, length)
    }))

  it.scoped("a call that reaches it is as good as a ping", () =>
    Effect.gen(function*() {
      const { connection, server, up } = yield* down(http)
      yield* Effect.flip(echo(connection, { replay: "never" }))
      yield* up
      yield* echo(connection)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(60_000)
      assert.deepStrictEqual(yield* pings(server), [])
    }))

  it.scoped("a thousand of them: one timer, and no more pings than one causes", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* down({ ...http, concurrency: "unbounded", limits: { inFlight: 2000 } })
      const before = (yield* TestClock.sleeps()).length
      yield* Effect.forEach(
        Array.from({ length: 1000 }),
        () => Effect.exit(echo(connection, { replay: "never", timeout: null })),
        { concurrency: "unbounded", discard: true }
      )
      yield* settled
      assert.isAtMost((yield* TestClock.sleeps()).length, before + 2)
      for (let i = 0; i < 10; i++) {
        yield* pass(1000, 500)
        yield* Effect.forEach(
          Array.from({ length: 100 }),
          () => Effect.exit(echo(connection, { replay: "never", timeout: null })),
          { concurrency: "unbounded", discard: true }
        )
      }
      assert.isAtMost((yield* pings(server)).length, 5)
      yield* settled
      assert.isAtMost((yield* TestClock.sleeps()).length, before + 2)
    }))

  it.scoped("a ping that finds the session gone makes a new one", () =>
    Effect.gen(function*() {
      let restarted = false
      const { connection } = yield* connect(http, {
        accept: ({ id, method, session }) =>
          session > 1 || id === undefined || method === "initialize"
            ? Effect.void
            : Effect.fail(restarted ? expired : refused)
      })
      yield* ready(connection)
      yield* Effect.flip(echo(connection, { replay: "never" }))
      restarted = true
      yield* pass(500)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
    }))

  it.scoped("a 503 to a ping is a server out of reach, a 400 is one that answers", () =>
    Effect.gen(function*() {
      for (const [status, expected] of [[503, "Degraded"], [400, "Ready"]] as const) {
        const error = new McpError.HttpError({ server: "s", operation: "x", executed: "no", status, body: "" })
        const { connection } = yield* connect({ ...http, ...keepAlive }, {
          handlers: { ping: () => Effect.fail(error) }
        })
        yield* ready(connection)
        yield* pass(10_000)
        assert.strictEqual(yield* tagOf(connection), expected)
      }
    }))
})

describe("the server's own stream", () => {
  const streaming = (options: ScriptedServer.Options = {}) =>
    connect(http, { listen: (peer) => peer.serverStream("open"), ...options })

  it.scoped("down: Degraded, calls work; back: Ready, and what was listed is listed again", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* streaming()
      yield* McpConnection.listTools(connection)
      const states = yield* record(connection)
      yield* server.serverStream("down")
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.deepStrictEqual([state.reason, state.error], ["StreamDown", undefined])
      yield* echo(connection)
      assert.strictEqual((yield* server.receivedOf("tools/list")).length, 1)
      yield* server.serverStream("open")
      yield* settled
      assert.strictEqual((yield* server.receivedOf("tools/list")).length, 2)
      assert.deepStrictEqual(tags(states), ["Ready", "Degraded", "Ready"])
      yield* pass(60_000)
      assert.deepStrictEqual(yield* pings(server), [])
    }))

  it.scoped("down and back in no time: the lists are listed again all the same", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* streaming()
      yield* McpConnection.listTools(connection)
      yield* settled
      yield* Effect.zipRight(server.serverStream("down"), server.serverStream("open"))
      yield* settled
      assert.strictEqual((yield* server.receivedOf("tools/list")).length, 2)
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("back while the server is out of reach: the lists are listed again as well", () =>
    Effect.gen(function*() {
      let isDown = false
      const { connection, server } = yield* streaming({
        accept: ({ method }) => isDown && method === "tools/call" ? Effect.fail(refused) : Effect.void
      })
      yield* McpConnection.listTools(connection)
      yield* server.serverStream("down")
      isDown = true
      yield* Effect.flip(echo(connection, { replay: "never" }))
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Degraded")
      assert.strictEqual(state.reason, "Unreachable")
      yield* server.serverStream("open")
      yield* settled
      assert.strictEqual((yield* server.receivedOf("tools/list")).length, 2)
    }))

  it.scoped("gone for good: one ping, which may say that the session is forgotten", () =>
    Effect.gen(function*() {
      for (const forgotten of [false, true]) {
        const { connection, server } = yield* streaming({
          handlers: { ping: ({ session }) => forgotten && session === 1 ? Effect.fail(expired) : Effect.succeed({}) }
        })
        yield* ready(connection)
        yield* settled
        yield* server.serverStream("none")
        yield* settled
        yield* pass(60_000)
        assert.strictEqual((yield* pings(server)).length, 1)
        const state = yield* connection.state
        assert(state._tag === "Ready")
        assert.strictEqual(state.generation, forgotten ? 2 : 1)
      }
    }))

  it.scoped("never there: no ping", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http)
      yield* ready(connection)
      yield* server.serverStream("none")
      yield* pass(60_000)
      assert.deepStrictEqual(yield* pings(server), [])
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))
})

describe("a session that is lost under many", () => {
  it.scoped("50 calls meet SessionExpired: one initialize, 50 successes, each sent exactly twice", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...http, concurrency: "unbounded" }, {
        handlers: {
          "x/work": ({ params, session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({ n: params.n })
        }
      })
      yield* ready(connection)
      const results = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, n) => n),
        (n) => connection.request("x/work", { n }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results, Array.from({ length: 50 }, (_, n) => ({ n })))
      assert.strictEqual((yield* server.receivedOf("initialize")).length, 2)
      const sent = (yield* server.receivedOf("x/work")).map((_) => `${_.params.n} in ${_.session}`)
      assert.strictEqual(new Set(sent).size, 100)
      assert.strictEqual(sent.length, 100)
      assert.strictEqual((yield* connection.stats).replays, 50)
    }))

  const drained = Effect.gen(function*() {
    const { connection, server } = yield* connect(http, {
      handlers: {
        "x/hang": () => Effect.never,
        "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
      }
    })
    const running = yield* forkExit(connection.request("x/hang", {}, { timeout: null }))
    const { id } = yield* server.awaitReceived("x/hang")
    yield* connection.request("x/expire")
    return { connection, server, running, id }
  })

  it.scoped("calls that still run finish in the old one; new ones go to the new one", () =>
    Effect.gen(function*() {
      const { connection, id, running, server } = yield* drained
      yield* pass(59_000)
      yield* echo(connection)
      assert.deepStrictEqual((yield* server.receivedOf("tools/call")).map((_) => _.session), [2])
      assert.deepStrictEqual((yield* server.stats).live, [1, 2])
      assert.strictEqual((yield* connection.stats).open, 2)
      yield* (yield* server.session(1)).sendRaw(ScriptedServer.result(id, {}))
      assert(Exit.isSuccess(yield* Fiber.join(running)))
      yield* settled
      assert.deepStrictEqual((yield* server.stats).live, [2])
      assert.strictEqual((yield* server.receivedOf("x/hang")).length, 1)
    }))

  it.scoped("for a minute at most", () =>
    Effect.gen(function*() {
      const { running, server } = yield* drained
      yield* pass(59_999)
      assert.deepStrictEqual((yield* server.stats).live, [1, 2])
      yield* pass(1)
      assert.deepStrictEqual((yield* server.stats).live, [2])
      assert.strictEqual(failure(yield* Fiber.join(running))._tag, "OutcomeUnknown")
    }))

  it.scoped("close ends both", () =>
    Effect.gen(function*() {
      const { connection, running, server } = yield* drained
      yield* connection.close
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.strictEqual(failure(yield* Fiber.join(running))._tag, "OutcomeUnknown")
      assert.strictEqual((yield* connection.stats).open, 0)
    }))

  it.scoped("in memory nothing is asked of a stream", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory, { listen: (peer) => peer.serverStream("open") })
      yield* ready(connection)
      yield* server.serverStream("down")
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))
})
