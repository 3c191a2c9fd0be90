/**
 * The deadlines of a call over everything that it goes through, and its interruption in each of these phases.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpError } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Fiber, TestClock } from "effect"
import {
  arrivals,
  closed,
  config,
  connectFailed,
  countOf,
  errorOf,
  expired,
  http,
  interruptNow,
  lost,
  macrotask,
  policy,
  replays,
  run,
  tagOf,
  timeouts,
  untilDone
} from "./replayKit.js"

const always = { replay: "always" } as const

/** Fails unless it is a time-out of this kind. */
const timeoutOf = (exit: Exit.Exit<unknown, McpError.McpError>): McpError.RequestTimeout => {
  const error = errorOf(exit)
  return error._tag === "RequestTimeout"
    ? error
    : error._tag === "OutcomeUnknown" && error.error._tag === "RequestTimeout"
    ? error.error
    : assert.fail(error._tag)
}

const call = (connection: McpConnection.McpConnection, options?: McpConnection.CallOptions, name = "t") =>
  Effect.map(run(McpConnection.callTool(connection, { name }, options)), Exit.asVoid)

const silentFrom = (n: number): ScriptedServer.Options["start"] => (session) =>
  session >= n ? Effect.never : Effect.void

describe("the deadlines of a call", () => {
  for (const [name, options] of [["timeout", { timeout: 5000 }], ["maxTotal", { maxTotal: 5000 }]] as const) {
    it.scoped(`waiting for the first session counts against ${name}, and the error says what is waited for`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({ start: silentFrom(1) })
        const connection = yield* McpConnection.fromChannel(server.channel)
        const error = timeoutOf(yield* call(connection, options))
        assert.deepStrictEqual([error.kind, error.executed, error.millis], ["wait", "no", 5000])
        assert.include(error.message, "still connecting")
        assert.strictEqual(yield* TestClock.currentTimeMillis, 5000)
        assert.strictEqual(yield* countOf(server, "tools/call"), 0)
      }))

    it.scoped(`waiting for the next session counts against ${name}`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({ start: silentFrom(2) })
        const connection = yield* McpConnection.fromChannel(server.channel)
        yield* Effect.asVoid(connection.awaitReady)
        yield* server.disconnect()
        const error = timeoutOf(yield* call(connection, options))
        assert.deepStrictEqual([error.kind, error.executed, error.millis], ["wait", "no", 5000])
        assert.include(error.message, "to reconnect")
        assert.include(error.message, "the scripted server has disconnected")
      }))

    it.scoped(`waiting for a turn counts against ${name}`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          config: config({ concurrency: "serial" }),
          tools: [{ name: "t", call: () => Effect.never }]
        })
        const connection = yield* McpConnection.fromChannel(server.channel)
        const first = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
        yield* server.awaitReceived("tools/call")
        const error = timeoutOf(yield* call(connection, options))
        assert.deepStrictEqual([error.kind, error.executed, error.millis], ["wait", "no", 5000])
        assert.include(error.message, "under way")
        assert.strictEqual(yield* countOf(server, "tools/call"), 1)
        assert.strictEqual(yield* countOf(server, "notifications/cancelled"), 0, "what was not sent is not cancelled")
        yield* Fiber.interrupt(first)
      }))

    it.scoped(`what was waited for a session is gone from ${name} when the request is sent`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          start: () => Effect.sleep(4000),
          tools: [{ name: "t", call: () => Effect.never }]
        })
        const connection = yield* McpConnection.fromChannel(server.channel)
        const error = timeoutOf(yield* call(connection, options))
        assert.deepStrictEqual([error.executed, error.millis], ["maybe", 5000])
        assert.strictEqual(yield* TestClock.currentTimeMillis, 5000)
        assert.deepStrictEqual(yield* arrivals(server), [{ at: 4000, session: 1 }])
      }))
  }

  it.scoped("without bounds it waits as long as it takes", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: config({ timeouts: { handshake: null } }),
        start: () => Effect.sleep("2 hours")
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual(tagOf(yield* call(connection, { timeout: null, maxTotal: null }, "echo")), "ok")
    }))

  it.scoped("a replay has a fresh idle time and the same maxTotal", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.never }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const retry = policy({ replays: 5, base: 500, factor: 1 })
      const error = timeoutOf(yield* call(connection, { ...always, retry, timeout: 1000, maxTotal: 3500 }))
      assert.deepStrictEqual((yield* arrivals(server)).map((_) => _.at), [0, 1500, 3000])
      assert.deepStrictEqual([error.kind, error.millis, error.executed], ["total", 3500, "maybe"])
      assert.strictEqual(yield* TestClock.currentTimeMillis, 3500)
      assert.strictEqual(yield* countOf(server, "notifications/cancelled"), 3)
    }))

  it.scoped("a backoff that would outlast maxTotal is not waited for", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(connectFailed()) }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const retry = policy({ replays: 5, base: 2000, factor: 1, cap: null })
      const exit = yield* call(connection, { retry, maxTotal: 5000 })
      assert.strictEqual(tagOf(exit), "ConnectFailed")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 4000)
      assert.strictEqual(yield* countOf(server, "tools/call"), 3)
    }))

  it.scoped("until something was sent, tries to connect and the backoffs between them count against timeout", () =>
    Effect.gen(function*() {
      const retry = policy({ replays: 9, base: 400, factor: 1 })
      for (const [hangsFrom, end, at] of [[99, "ConnectFailed", 800], [2, "RequestTimeout", 1000]] as const) {
        yield* Effect.scoped(Effect.gen(function*() {
          const server = yield* ScriptedServer.make({
            config: config(),
            start: (n) => n >= hangsFrom ? Effect.never : Effect.fail(connectFailed())
          })
          const connection = yield* McpConnection.fromChannel(server.channel)
          const before = yield* TestClock.currentTimeMillis
          const exit = yield* call(connection, { retry, timeout: 1000 })
          assert.deepStrictEqual([tagOf(exit), (yield* TestClock.currentTimeMillis) - before], [end, at])
          assert.strictEqual(errorOf(exit).executed, "no")
        }))
      }
    }))

  it.scoped("progress renews the idle time of a replay, not its total", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        tools: [{
          name: "t",
          call: (_, request, peer) =>
            request.session === 1
              ? Effect.fail(expired)
              : Effect.forever(Effect.delay(peer.sendRaw(ScriptedServer.progress(request, { progress: 1 })), 800))
        }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const error = timeoutOf(yield* call(connection, { timeout: 1000, maxTotal: 10_000 }))
      assert.deepStrictEqual([error.kind, error.millis], ["total", 10_000])
    }))

  for (const first of ["lost", "timed out"] as const) {
    it.scoped(`what may have run once stays so: ${first}, then nothing can be sent`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          start: silentFrom(2),
          tools: [{
            name: "t",
            call: (_, __, peer) =>
              first === "timed out"
                ? Effect.never
                : Effect.zipRight(peer.disconnect(closed("Exited")), Effect.never)
          }]
        })
        const connection = yield* McpConnection.fromChannel(server.channel)
        const calling = yield* Effect.fork(Effect.asVoid(
          McpConnection.callTool(connection, { name: "t" }, { ...always, timeout: 1000, retry: policy({ replays: 1 }) })
        ))
        yield* server.awaitReceived("tools/call")
        if (first === "timed out") {
          yield* TestClock.adjust(1000)
          yield* server.disconnect()
        }
        const exit = yield* untilDone(calling)
        const error = timeoutOf(exit)
        assert.deepStrictEqual([error.kind, error.executed], ["wait", "maybe"])
      }))
  }

  it.scoped("what was certainly not executed, each time, stays so", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(connectFailed()) }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual(errorOf(yield* call(connection, always)).executed, "no")
      assert.strictEqual(yield* replays(connection), 2)
    }))

  for (const bad of [{ timeout: "0 seconds" }, { maxTotal: -1 }, { timeout: Number.NaN }] as const) {
    it.scoped(`a time that is none is refused, also before there is a session: ${JSON.stringify(bad)}`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make()
        const connection = yield* McpConnection.fromChannel(server.channel)
        for (let i = 0; i < 2; i++) {
          assert.strictEqual(tagOf(yield* call(connection, bad, "echo")), "ConfigInvalid")
        }
        assert.strictEqual(yield* countOf(server, "tools/call"), 0)
      }))
  }
})

describe("an interrupted call", () => {
  /** Ends in this phase at once, with so many cancellations, and nothing more is ever sent for it. */
  const phase = (
    name: string,
    make: Effect.Effect<ScriptedServer.ScriptedServer>,
    before: (
      server: ScriptedServer.ScriptedServer,
      connection: McpConnection.McpConnection
    ) => Effect.Effect<void, McpError.McpError>,
    reached: (server: ScriptedServer.ScriptedServer) => Effect.Effect<unknown>,
    expected: { readonly cancelled: number; readonly sent: number }
  ) =>
    it.scoped(`while it ${name}: over at once, never sent again`, () =>
      Effect.gen(function*() {
        const server = yield* make
        const connection = yield* McpConnection.fromChannel(server.channel)
        yield* before(server, connection)
        const cancelledBefore = yield* countOf(server, "notifications/cancelled")
        const ends: Array<string> = []
        const fiber = yield* McpConnection.callTool(connection, { name: "t" }, always).pipe(
          Effect.tapErrorCause((cause) => Effect.sync(() => ends.push(cause._tag))),
          Effect.fork
        )
        yield* reached(server)
        yield* macrotask
        const exit = yield* interruptNow(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        assert.deepStrictEqual(ends.filter((_) => _ === "Fail"), [])
        yield* macrotask
        const cancelled = (yield* countOf(server, "notifications/cancelled")) - cancelledBefore
        yield* TestClock.adjust("10 minutes")
        yield* macrotask
        const calls = (yield* server.receivedOf("tools/call")).filter((_) => _.params.name === "t")
        assert.deepStrictEqual({ cancelled, sent: calls.length }, expected)
        assert.strictEqual((yield* countOf(server, "notifications/cancelled")) - cancelledBefore, cancelled)
      }))

  const nothing = () => Effect.void
  const noSession: ReadonlyArray<ScriptedServer.ScriptedTool> = [{ name: "t", call: () => Effect.never }]

  phase(
    "waits for the transport",
    ScriptedServer.make({ start: silentFrom(1) }),
    nothing,
    (server) => server.awaitStats((_) => _.attempts === 1),
    { cancelled: 0, sent: 0 }
  )

  phase(
    "waits for the handshake",
    ScriptedServer.make({ handlers: { initialize: () => Effect.never } }),
    nothing,
    (server) => server.awaitReceived("initialize"),
    { cancelled: 0, sent: 0 }
  )

  phase(
    "waits for its turn",
    ScriptedServer.make({
      config: config({ concurrency: "serial", timeouts: timeouts({ request: 3_600_000 }) }),
      tools: [{ name: "first", call: () => Effect.never }, { name: "t" }]
    }),
    (server, connection) =>
      Effect.zipRight(
        Effect.fork(McpConnection.callTool(connection, { name: "first" })),
        Effect.asVoid(server.awaitReceived("tools/call"))
      ),
    () => macrotask,
    { cancelled: 0, sent: 0 }
  )

  phase(
    "runs",
    ScriptedServer.make({ tools: noSession }),
    nothing,
    (server) => server.awaitReceived("tools/call"),
    { cancelled: 1, sent: 1 }
  )

  phase(
    "waits for a backoff",
    ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(http(503)) }] }),
    nothing,
    (server) => server.awaitReceived("tools/call"),
    { cancelled: 0, sent: 1 }
  )

  phase(
    "waits for a reconnection",
    ScriptedServer.make({
      start: silentFrom(2),
      tools: [{ name: "t", call: (_, __, peer) => Effect.zipRight(peer.disconnect(), Effect.never) }]
    }),
    nothing,
    (server) =>
      Effect.zipRight(
        server.awaitStats((_) => _.attempts === 2),
        // The backoff is over, too.
        TestClock.adjust("300 millis")
      ),
    { cancelled: 0, sent: 1 }
  )

  phase(
    "waits between two tries to reconnect",
    ScriptedServer.make({
      config: config(),
      start: (n) => n > 1 ? Effect.fail(connectFailed()) : Effect.void
    }),
    (server, connection) => Effect.zipRight(Effect.asVoid(connection.awaitReady), server.disconnect()),
    () => macrotask,
    { cancelled: 0, sent: 0 }
  )

  phase(
    "runs again in the next session",
    ScriptedServer.make({
      tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(expired) : Effect.never }]
    }),
    nothing,
    (server) => server.awaitReceived((_) => _.session === 2 && _.method === "tools/call"),
    { cancelled: 1, sent: 2 }
  )

  phase(
    "runs in a session of its own",
    ScriptedServer.make({
      config: config({ recovery: "isolated" }),
      tools: [{ name: "t", call: (_, { session }) => session === 1 ? Effect.fail(lost) : Effect.never }]
    }),
    nothing,
    (server) => server.awaitReceived((_) => _.session === 2 && _.method === "tools/call"),
    { cancelled: 1, sent: 2 }
  )

  phase(
    "sets up a session of its own",
    ScriptedServer.make({
      config: config({ recovery: "isolated" }),
      tools: [{ name: "t", call: () => Effect.fail(lost) }],
      start: silentFrom(2)
    }),
    nothing,
    (server) => server.awaitStats((_) => _.attempts === 2),
    { cancelled: 0, sent: 1 }
  )

  it.scoped("leaves those alone who wait with it, and the handshake that it has begun", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ start: () => Effect.sleep("1 second") })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const starter = yield* Effect.fork(McpConnection.callTool(connection, { name: "echo" }))
      const others = yield* Effect.forEach(
        [1, 2, 3],
        () => Effect.fork(McpConnection.callTool(connection, { name: "echo" }))
      )
      yield* server.awaitStats((_) => _.attempts === 1)
      yield* interruptNow(starter)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(Fiber.all(others))).length, 3)
      assert.strictEqual((yield* server.stats).attempts, 1)
      assert.strictEqual(yield* countOf(server, "tools/call"), 3)
    }))
})
