/**
 * `recovery: "isolated"`: a tool call that is sent again in a session of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpConfig, McpConnection, McpTransport, RequestLimit } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Duration, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { closeBoundOf } from "../../src/internal/config/accessors.js"
import {
  arrivals,
  closed,
  config,
  connectFailed,
  countOf,
  errorOf,
  http,
  interruptNow,
  lost,
  macrotask,
  openAi,
  policy,
  replays,
  run,
  tagOf,
  timeouts,
  untilDone
} from "./replayKit.js"

const isolated = (extra: Partial<McpConfig.HttpConfig> = {}) =>
  config({ recovery: "isolated", timeouts: timeouts({ request: 1000, handshake: 2000 }), ...extra })

const always = { replay: "always" } as const

const hangs: ReadonlyArray<ScriptedServer.ScriptedTool> = [{ name: "t", call: () => Effect.never }, { name: "echo" }]

const closesFor = (server: ScriptedServer.ScriptedServer, live: ReadonlyArray<number>) =>
  server.awaitStats((_) => _.live.join() === live.join())

/** A tool that fails in the shared session, and hangs, says when it has begun, in those of its own. */
const hangingAside = (extra: Partial<ScriptedServer.Options> = {}) =>
  ScriptedServer.make({
    config: isolated({ timeouts: timeouts({ request: 60_000 }) }),
    tools: [
      { name: "t", call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.never },
      { name: "echo" }
    ],
    ...extra
  })

describe("isolated replays", () => {
  const table = [
    { replays: 0, shared: 1, aside: 0, delays: [] },
    { replays: 1, shared: 1, aside: 1, delays: [] },
    { replays: 2, shared: 2, aside: 1, delays: [1] },
    { replays: 3, shared: 2, aside: 2, delays: [1] },
    { replays: 4, shared: 3, aside: 2, delays: [1, 2] },
    { replays: 5, shared: 3, aside: 3, delays: [1, 2] },
    { replays: 6, shared: 4, aside: 3, delays: [1, 2, 4] }
  ]
  for (const row of table) {
    it.scoped(`everything times out: ${row.replays} replays are ${row.shared} shared, ${row.aside} isolated`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({ config: isolated(), tools: hangs })
        const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(row.replays) })
        const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
        assert.strictEqual(tagOf(exit), "RequestTimeout")
        assert.strictEqual(errorOf(exit).executed, "maybe")
        const calls = yield* arrivals(server)
        const shared = calls.filter((_) => _.session === 1)
        assert.deepStrictEqual(
          { shared: shared.length, aside: calls.length - shared.length },
          { shared: row.shared, aside: row.aside }
        )
        // Each takes its second; what is more between two of them is the delay.
        const waited = calls.slice(1).map((_, i) => (_.at - calls[i]!.at) / 1000 - 1).filter((_) => _ > 0)
        assert.deepStrictEqual(waited, row.delays)
        const asides = calls.filter((_) => _.session !== 1).map((_) => _.session)
        assert.strictEqual(new Set(asides).size, asides.length, "each in a session of its own")
        assert.strictEqual((yield* server.receivedOf("notifications/cancelled")).length, calls.length)
        yield* closesFor(server, [1])
        assert.strictEqual(yield* replays(connection), row.replays)
        assert.strictEqual((yield* connection.stats).sessions, 1)
      }))
  }

  it.scoped("a call of its own session succeeds, the session is closed, and it never had a listener", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated(),
        tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(http(503)) : Effect.succeed("ok") }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* McpConnection.listTools(connection)
      yield* McpConnection.callTool(connection, { name: "t" }, always)
      yield* closesFor(server, [1])
      const stats = yield* server.stats
      assert.deepStrictEqual([stats.opened, stats.closed], [2, 1])
      assert.deepStrictEqual(stats.listening, [1])
      assert.strictEqual(yield* TestClock.currentTimeMillis, 0, "no backoff before it")
      assert.strictEqual(yield* countOf(server, "tools/list"), 1, "nothing but the call is sent over it")
      assert.strictEqual((yield* connection.state)._tag, "Degraded", "a 503 means that a gateway has answered")
    }))

  it.scoped("under a bound over several servers, both sessions have one place in the round", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const fails = yield* Deferred.make<void>()
      const holds = yield* Deferred.make<void>()
      const told = (name: string) => ({ name, call: () => Effect.sync(() => void order.push(name)) })
      const a = yield* ScriptedServer.make({
        name: "a",
        config: isolated({ timeouts: timeouts({ request: 60_000 }) }),
        tools: [
          {
            name: "t",
            call: (_, { session }) =>
              session === 1
                ? Effect.zipRight(Deferred.await(fails), Effect.fail(lost))
                : Effect.sync(() => void order.push("a"))
          },
          told("a")
        ]
      })
      const b = yield* ScriptedServer.make({ name: "b", tools: [told("b")] })
      const c = yield* ScriptedServer.make({ name: "c", tools: [{ name: "c", call: () => Deferred.await(holds) }] })
      const requests = yield* RequestLimit.make(1)
      const connections = yield* Effect.forEach(
        [a, b, c],
        ({ channel }) => Effect.tap(McpConnection.fromChannel(channel, { requests }), (_) => _.awaitReady)
      )
      const call = (i: number, name: string) =>
        Effect.zipLeft(
          Effect.fork(Effect.exit(McpConnection.callTool(connections[i]!, { name }, always))),
          Effect.repeatN(macrotask, 4)
        )
      const calls = [yield* call(0, "t"), yield* call(2, "c")]
      yield* Deferred.succeed(fails, undefined)
      yield* a.awaitStats((_) => _.opened === 2)
      yield* Effect.repeatN(macrotask, 4)
      for (const [i, name] of [[0, "a"], [1, "b"], [1, "b"]] as const) calls.push(yield* call(i, name))
      yield* Deferred.succeed(holds, undefined)
      yield* Fiber.joinAll(calls)
      assert.deepStrictEqual(order, ["a", "b", "a", "b"])
    }))

  it.scoped("without the wish of the caller, what may have run is never sent again, isolated or not", () =>
    Effect.gen(function*() {
      for (const failure of [http(503), lost, closed("Reset")]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const server = yield* ScriptedServer.make({
            config: isolated(),
            tools: [{ name: "t", call: () => Effect.fail(failure) }]
          })
          const connection = yield* McpConnection.fromChannel(server.channel)
          const exit = yield* run(McpConnection.callTool(connection, { name: "t" }))
          assert.strictEqual(tagOf(exit), `OutcomeUnknown(${failure._tag})`)
          assert.deepStrictEqual([(yield* server.stats).attempts, yield* countOf(server, "tools/call")], [1, 1])
        }))
      }
    }))

  it.scoped("a tool that a trusted server calls read-only is, and other requests stay in the shared session", () =>
    Effect.gen(function*() {
      const failing = ({ session }: { readonly session: number }, times: { left: number }) =>
        session === 1 && times.left-- > 0 ? Effect.fail(lost) : Effect.succeed({ content: [], contents: [] })
      const [tool, resource] = [{ left: 1 }, { left: 1 }]
      const server = yield* ScriptedServer.make({
        config: isolated({ trusted: true }),
        capabilities: { tools: {}, resources: {} },
        tools: [{ name: "t", annotations: { readOnlyHint: true } }],
        handlers: {
          "tools/call": (request) => failing(request, tool),
          "resources/read": (request) => failing(request, resource)
        }
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* McpConnection.listTools(connection)
      assert.strictEqual(tagOf(yield* run(McpConnection.callTool(connection, { name: "t" }))), "ok")
      assert.strictEqual(tagOf(yield* run(McpConnection.readResource(connection, "file:///r"))), "ok")
      assert.deepStrictEqual((yield* arrivals(server)).map((_) => _.session), [1, 2])
      assert.deepStrictEqual((yield* arrivals(server, "resources/read")).map((_) => _.session), [1, 1])
    }))

  it.scoped("what the session has no part in is not isolated: 429, 408, a refused argument", () =>
    Effect.gen(function*() {
      for (const failure of [http(429, "no"), http(408)]) {
        yield* Effect.scoped(Effect.gen(function*() {
          let times = 1
          const server = yield* ScriptedServer.make({
            config: isolated(),
            tools: [{ name: "t", call: () => times-- > 0 ? Effect.fail(failure) : Effect.succeed("ok") }]
          })
          const connection = yield* McpConnection.fromChannel(server.channel)
          yield* run(McpConnection.callTool(connection, { name: "t" }, always))
          assert.deepStrictEqual((yield* arrivals(server)).map((_) => _.session), [1, 1])
        }))
      }
    }))

  it.scoped("a session that can't be set up counts as a replay", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated(),
        tools: hangs,
        start: (n) => n > 1 ? Effect.fail(connectFailed()) : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(4) })
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
      assert.strictEqual(tagOf(exit), "RequestTimeout")
      assert.strictEqual(yield* countOf(server, "tools/call"), 3, "all of them shared")
      assert.strictEqual((yield* server.stats).attempts, 3, "the shared session, and two set-ups")
      assert.strictEqual(yield* replays(connection), 4)
      assert.deepStrictEqual((yield* server.stats).live, [1])
    }))

  it.scoped("the last set-up fails: the error says that an earlier time it may have run", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated(),
        tools: hangs,
        start: (n) => n > 1 ? Effect.fail(connectFailed()) : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(1) })
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
      assert.deepStrictEqual([tagOf(exit), errorOf(exit).executed], ["ConnectFailed", "maybe"])
    }))

  for (
    const [how, start] of [["dies", Effect.dieMessage("scripted")], ["interrupts itself", Effect.interrupt]] as const
  ) {
    it.scoped(`a set-up that ${how} is a failure of it, which the caller neither dies of nor is interrupted by`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          config: isolated(),
          tools: hangs,
          start: (n) => n > 1 ? start : Effect.void
        })
        const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(1) })
        const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
        assert.deepStrictEqual([tagOf(exit), errorOf(exit).executed], ["HandshakeFailed", "maybe"])
        yield* closesFor(server, [1])
      }))
  }

  for (const hung of ["start", "initialize"] as const) {
    it.scoped(`a set-up that hangs in ${hung} is one replay, and the budget goes on`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          config: isolated(),
          tools: [{ name: "t", call: () => first-- > 0 ? Effect.never : Effect.succeed("ok") }],
          start: (n) => hung === "start" && n > 1 ? Effect.never : Effect.void,
          accept: ({ method, session }) =>
            hung === "initialize" && session > 1 && method === "initialize" ? Effect.never : Effect.void
        })
        let first = 1
        const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(2) })
        const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
        assert.strictEqual(tagOf(exit), "ok")
        assert.deepStrictEqual(yield* arrivals(server), [{ at: 0, session: 1 }, { at: 3000, session: 1 }])
        yield* closesFor(server, [1])
      }))
  }

  it.scoped("the shared session serves the others meanwhile", () =>
    Effect.gen(function*() {
      const server = yield* hangingAside()
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
      yield* Effect.all(
        Array.from({ length: 20 }, () => McpConnection.callTool(connection, { name: "echo" })),
        { concurrency: "unbounded", discard: true }
      )
      assert.deepStrictEqual((yield* server.stats).live, [1, 2])
      yield* Fiber.interrupt(call)
    }))

  it.scoped("it takes no turn of a shared session that does one thing at a time", () =>
    Effect.gen(function*() {
      const server = yield* hangingAside({ config: isolated({ concurrency: "serial" }) })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
      yield* McpConnection.callTool(connection, { name: "echo" })
      yield* Fiber.interrupt(call)
    }))
})

describe("the end of an isolated replay", () => {
  const hangingClose = (n: number) => n > 1 ? Effect.never : Effect.void

  for (const [name, answer] of [["success", Effect.succeed("ok")], ["failure", Effect.fail(lost)]] as const) {
    it.scoped(`a close that hangs does not delay its ${name}`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          config: isolated(),
          tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(lost) : answer }],
          close: hangingClose
        })
        const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(1) })
        const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
        assert.strictEqual(tagOf(exit), name === "success" ? "ok" : "ResponseLost")
        assert.strictEqual(yield* TestClock.currentTimeMillis, 0)
        yield* TestClock.adjust(closeBoundOf(isolated()))
      }))
  }

  it.scoped("a set-up that hangs and can't be closed does not delay the failure", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated(),
        tools: hangs,
        accept: ({ method, session }) => session > 1 && method === "initialize" ? Effect.never : Effect.void,
        close: hangingClose
      })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: openAi(1) })
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
      assert.deepStrictEqual([tagOf(exit), errorOf(exit).executed], ["RequestTimeout", "maybe"])
      assert.strictEqual(yield* TestClock.currentTimeMillis, 2000)
      yield* TestClock.adjust(closeBoundOf(isolated()))
    }))

  it.scoped("interrupted in its own session: told so once, over at once, closed", () =>
    Effect.gen(function*() {
      const server = yield* hangingAside({ close: hangingClose })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
      const exit = yield* interruptNow(call)
      assert.isTrue(Exit.isInterrupted(exit))
      const cancelled = yield* server.receivedOf("notifications/cancelled")
      assert.deepStrictEqual(cancelled.map((_) => _.session), [2])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* countOf(server, "tools/call"), 2)
      assert.strictEqual((yield* server.stats).attempts, 2)
    }))

  it.scoped("interrupted while its session is set up: nothing was sent, and it is closed", () =>
    Effect.gen(function*() {
      const server = yield* hangingAside({
        accept: ({ method, session }) => session > 1 && method === "initialize" ? Effect.never : Effect.void,
        close: hangingClose
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "initialize" && _.session === 2)
      assert.isTrue(Exit.isInterrupted(yield* interruptNow(call)))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* countOf(server, "notifications/cancelled"), 0)
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
    }))

  for (const how of ["close", "disable", "reconnect", "the scope"] as const) {
    it.scoped(`${how} ends it with a typed error, and its session`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          config: isolated({ timeouts: timeouts({ request: 60_000 }) }),
          // Certainly not executed the first time.
          tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(connectFailed()) : Effect.never }]
        })
        const scope = yield* Scope.make()
        const connection = yield* Scope.extend(McpConnection.fromChannel(server.channel), scope)
        const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
        yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
        if (how === "the scope") yield* Scope.close(scope, Exit.void)
        else if (how === "reconnect") yield* Effect.asVoid(connection.reconnect)
        else yield* connection[how]
        const exit = yield* untilDone(call)
        assert.strictEqual(errorOf(exit).executed, "maybe", "it was sent over its own session")
        assert.strictEqual(tagOf(exit), "OutcomeUnknown(ConnectionClosed)")
        assert.strictEqual(yield* countOf(server, "tools/call"), 2)
        yield* closesFor(server, how === "reconnect" ? [3] : [])
        yield* Scope.close(scope, Exit.void)
      }))
  }

  it.scoped("close while its session is set up leaves nothing behind", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = yield* ScriptedServer.make({
        config: isolated(),
        tools: [{ name: "t", call: () => Effect.fail(connectFailed()) }],
        start: (n) => n > 1 ? Deferred.await(gate) : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
      yield* server.awaitStats((_) => _.attempts === 2)
      yield* connection.close
      yield* Deferred.succeed(gate, undefined)
      const exit = yield* untilDone(call)
      assert.deepStrictEqual([tagOf(exit), errorOf(exit).executed], ["ConnectionClosed", "no"])
      yield* macrotask
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
    }))

  it.scoped("it counts as use: idleness does not close its session under it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated({ lifetime: { idle: Duration.seconds(5) }, timeouts: timeouts({ request: 60_000 }) }),
        tools: [{
          name: "t",
          call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.delay(Effect.succeed("ok"), "30 seconds")
        }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, always))
      assert.strictEqual(tagOf(exit), "ok")
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual((yield* connection.state)._tag, "Ready", "idle since the call has ended, not longer")
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* connection.state)._tag, "Idle")
      yield* closesFor(server, [])
    }))

  it.scoped("the loss of an unused shared session does not close it", () =>
    Effect.gen(function*() {
      const answer = yield* Deferred.make<string>()
      const server = yield* ScriptedServer.make({
        config: isolated({ lifetime: { idle: Duration.seconds(50) }, timeouts: timeouts({ request: 60_000 }) }),
        tools: [{
          name: "t",
          call: (_, { session }) => session === 1 ? Effect.fail(lost) : Deferred.await(answer)
        }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
      const shared = yield* server.session(1)
      yield* shared.disconnect()
      yield* macrotask
      yield* Deferred.succeed(answer, "ok")
      assert.strictEqual(tagOf(yield* untilDone(call)), "ok")
    }))

  it.scoped("nor does a shared session that can't come back", () =>
    Effect.gen(function*() {
      const answer = yield* Deferred.make<string>()
      let channels = 0
      const server = yield* ScriptedServer.make({
        config: isolated({ timeouts: timeouts({ request: 60_000 }) }),
        start: (n) => n > 2 ? Effect.fail(connectFailed("Tls")) : Effect.void,
        tools: [{
          name: "t",
          call: (_, { session }) => session === 1 ? Effect.fail(lost) : Deferred.await(answer)
        }]
      })
      const connection = yield* McpConnection.make(server.channel.config).pipe(
        Effect.provideService(McpTransport.McpTransport, {
          channel: () =>
            Effect.acquireRelease(
              Effect.sync(() => {
                channels++
                return server.channel
              }),
              () => Effect.sync(() => channels--)
            )
        })
      )
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }, always))
      yield* server.awaitReceived((_) => _.method === "tools/call" && _.session === 2)
      yield* Effect.flatMap(server.session(1), (_) => _.disconnect())
      yield* server.awaitStats((_) => _.attempts === 3)
      yield* macrotask
      assert.strictEqual((yield* connection.state)._tag, "Failed")
      assert.strictEqual(channels, 1, "its sockets are there")
      yield* Deferred.succeed(answer, "ok")
      assert.strictEqual(tagOf(yield* untilDone(call)), "ok")
      yield* connection.close
      assert.strictEqual(channels, 0)
    }))

  it.scoped("a hundred of them leave nothing", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: isolated({ concurrency: "unbounded" }),
        tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.succeed("ok") }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: policy({ replays: 1 }) })
      const results = yield* Effect.all(
        Array.from({ length: 100 }, () => McpConnection.callTool(connection, { name: "t" }, always)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.length, 100)
      yield* closesFor(server, [1])
      assert.strictEqual(yield* countOf(server, "tools/call"), 200)
      assert.strictEqual((yield* connection.stats).open, 1)
    }))
})
