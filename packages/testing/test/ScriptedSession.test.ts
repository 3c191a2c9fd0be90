/**
 * A real session over the scripted server, under `TestClock`: what users of the test kit write.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpError, McpSession, McpTransport } from "@mcp-runtime/core"
import { LeakCheck, ScriptedServer } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, type Scope, Stream, TestClock } from "effect"

/** A test with its scope closed and nothing left behind at its end. */
const leakFree = <A, E>(
  name: string,
  effect: () => Effect.Effect<A, E, Scope.Scope>
) => it.effect(name, () => LeakCheck.scoped(effect()))

const open = (options: ScriptedServer.Options = {}, sessionOptions: McpSession.SessionOptions = {}) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make(options)
    const session = yield* McpSession.open(server.channel, sessionOptions)
    return { server, session }
  })

const tool = (call: NonNullable<ScriptedServer.ScriptedTool["call"]>): ScriptedServer.Options => ({
  tools: [{ name: "tool", call }]
})

const callTool = (session: McpSession.McpSession, options?: McpSession.RequestOptions) =>
  session.request("tools/call", { name: "tool", arguments: {} }, options)

describe("a session over a scripted server", () => {
  leakFree("opens with one handshake, calls a tool, and closes", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        info: { name: "demo", version: "1.0.0" },
        sessionId: () => "sid",
        listen: (peer) => peer.serverStream("open")
      })
      const result = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* McpSession.open(server.channel)
        assert.strictEqual(session.info.implementation.name, "demo")
        assert.strictEqual(session.info.sessionId, "sid")
        return yield* session.request("tools/call", { name: "echo", arguments: { a: 1 } }, { timeout: "1 second" })
      }))
      assert.deepStrictEqual(result, { content: [{ type: "text", text: `{"a":1}` }] })
      assert.deepStrictEqual((yield* server.received).map((_) => _.method), [
        "initialize",
        "notifications/initialized",
        "tools/call"
      ])
      const { closed, listening, live, negotiated } = yield* server.stats
      assert.deepStrictEqual([closed, live, listening], [1, [], [1]])
      assert.deepStrictEqual(negotiated, [{ session: 1, protocolVersion: "2025-11-25" }])
    }))

  leakFree(
    "P01: a slow tool times out at its time, is cancelled once, and its late answer harms nothing",
    () =>
      Effect.gen(function*() {
        const { server, session } = yield* open({
          ...tool(() => Effect.delay(Effect.succeed("done"), "1 hour")),
          cancellation: "ignore"
        })
        const call = yield* Effect.fork(Effect.flip(callTool(session, { timeout: "1 second" })))
        const { id } = yield* server.awaitReceived("tools/call")
        yield* TestClock.adjust("999 millis")
        assert.isNull(call.unsafePoll())
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Fiber.join(call))._tag, "RequestTimeout")
        const cancelled = yield* server.awaitReceived("notifications/cancelled")
        assert.strictEqual(cancelled.params.requestId, id)
        assert.strictEqual(cancelled.at, 1000)
        yield* TestClock.adjust("1 hour")
        yield* session.request("ping")
        assert.strictEqual((yield* server.receivedOf("notifications/cancelled")).length, 1)
        assert.deepStrictEqual((yield* server.stats).released, [{ session: 1, id: id as number }])
        assert.strictEqual((yield* session.stats).warnings.UnknownResponse, 1)
      })
  )

  leakFree("an interrupted call is cancelled, and its handler with it", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const { server, session } = yield* open(
        tool(() => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)))
      )
      const call = yield* Effect.fork(callTool(session))
      yield* server.awaitStats((_) => _.handling === 1)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(interrupted)
      assert.strictEqual((yield* server.receivedOf("notifications/cancelled")).length, 1)
      assert.strictEqual((yield* session.stats).inFlight, 0)
    }))

  leakFree(
    "P05: progress in one chunk with the result is delivered before the call returns",
    () =>
      Effect.gen(function*() {
        const { session } = yield* open(
          tool((_, request) =>
            Effect.succeed(ScriptedServer.before(
              [
                ScriptedServer.progress(request, { progress: 1, total: 2 }),
                ScriptedServer.progress(request, { progress: 2, total: 2 })
              ],
              { content: [] }
            ))
          )
        )
        const seen: Array<number> = []
        yield* callTool(session, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
        assert.deepStrictEqual(seen, [1, 2])
      })
  )

  leakFree(
    "P20: a notification in one chunk before the result is there when the call returns",
    () =>
      Effect.gen(function*() {
        const { session } = yield* open(
          tool(() => Effect.succeed(ScriptedServer.before([ScriptedServer.notification("x/y")], { content: [] })))
        )
        yield* callTool(session)
        const [first] = yield* session.incoming.pipe(Stream.take(1), Stream.runCollect)
        assert.strictEqual(first!.method, "x/y")
      })
  )

  leakFree("an answer inside of send, twice, with its id as text, with another id", () =>
    Effect.gen(function*() {
      const { session } = yield* open({
        reaction: "insideSend",
        handlers: {
          twice: () => Effect.succeed(ScriptedServer.twice({ n: 1 })),
          text: () => Effect.succeed(ScriptedServer.withStringId({ n: 2 })),
          other: () => Effect.succeed(ScriptedServer.withId("other", {}))
        }
      })
      assert.deepStrictEqual(yield* session.request("twice"), { n: 1 })
      assert.deepStrictEqual(yield* session.request("text"), { n: 2 })
      const other = yield* Effect.fork(Effect.flip(session.request("other", {}, { timeout: "1 second" })))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(other))._tag, "RequestTimeout")
      assert.strictEqual((yield* session.stats).warnings.UnknownResponse, 2)
    }))

  leakFree("S11: a disconnect fails what is pending at once, and completes closed", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open(tool(() => Effect.never))
      const call = yield* Effect.fork(Effect.flip(callTool(session)))
      yield* server.awaitStats((_) => _.handling === 1)
      yield* server.disconnect()
      const error = yield* Fiber.join(call)
      assert.deepStrictEqual([error._tag, error.executed], ["ConnectionClosed", "maybe"])
      assert.strictEqual((yield* Deferred.await(session.closed))._tag, "ConnectionClosed")
      assert.strictEqual((yield* Effect.flip(session.request("ping"))).executed, "no")
    }))

  leakFree(
    "C01, C02: the server asks; a handler answers, and is interrupted when the server gives up",
    () =>
      Effect.gen(function*() {
        const started = yield* Deferred.make<void>()
        const ended = yield* Deferred.make<void>()
        const { server } = yield* open({}, {
          handlers: {
            roots: { list: Effect.succeed([{ uri: "file:///a" }]) },
            requests: {
              "x/hang": () =>
                Deferred.succeed(started, undefined).pipe(
                  Effect.zipRight(Effect.never),
                  Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
                )
            }
          }
        })
        assert.deepStrictEqual(yield* server.request("roots/list"), { roots: [{ uri: "file:///a" }] })
        assert.strictEqual((yield* Effect.flip(server.request("x/none"))).code, -32601)
        const asking = yield* Effect.fork(server.request("x/hang"))
        yield* Deferred.await(started)
        yield* Fiber.interrupt(asking)
        yield* Deferred.await(ended)
      })
  )

  leakFree(
    "the transport service gives scripted servers to code that knows only their configuration",
    () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make({ name: "files" })
        const { items } = yield* Effect.gen(function*() {
          const transport = yield* McpTransport.McpTransport
          const channel = yield* transport.channel(server.channel.config)
          return yield* McpSession.listTools(yield* McpSession.open(channel))
        }).pipe(Effect.provide(ScriptedServer.layer(server)))
        assert.deepStrictEqual(items.map((_) => _.name), ["echo"])
      })
  )
})

/** Every step at which `open` waits for the server. */
const steps: ReadonlyArray<{
  readonly name: string
  readonly options: ScriptedServer.Options
  readonly reached: (server: ScriptedServer.ScriptedServer) => Effect.Effect<unknown>
}> = [
  { name: "start", options: { start: () => Effect.never }, reached: (_) => _.awaitStats((_) => _.attempts === 1) },
  {
    name: "the sending of initialize",
    options: { accept: () => Effect.never },
    reached: (_) => _.awaitReceived("initialize")
  },
  {
    name: "the answer to initialize",
    options: { handlers: { initialize: () => Effect.never } },
    reached: (_) => _.awaitStats((_) => _.handling === 1)
  },
  {
    name: "the sending of initialized",
    options: { accept: (_) => _.method === "notifications/initialized" ? Effect.never : Effect.void },
    reached: (_) => _.awaitReceived("notifications/initialized")
  },
  {
    name: "the standalone stream",
    options: { listen: () => Effect.never },
    reached: (_) => _.awaitStats((_) => _.listening.length === 1)
  }
]

describe("opening a session that hangs at", () => {
  for (const { name, options, reached } of steps) {
    const opening = Effect.gen(function*() {
      const server = yield* ScriptedServer.make(options)
      const fiber = yield* Effect.fork(Effect.scoped(McpSession.open(server.channel)))
      yield* reached(server)
      return { server, fiber }
    })

    leakFree(
      `${name}: S04, P13: the deadline ends it, and nothing is open when it fails`,
      () =>
        Effect.gen(function*() {
          const { fiber, server } = yield* opening
          yield* TestClock.adjust("30 seconds")
          const exit = yield* Fiber.await(fiber)
          const error: McpError.McpError = yield* Effect.flip(exit)
          assert.strictEqual(error._tag, "RequestTimeout")
          const { handling, live } = yield* server.stats
          assert.deepStrictEqual([handling, live], [0, []])
          assert.deepStrictEqual(yield* server.receivedOf("notifications/cancelled"), [])
        })
    )

    leakFree(
      `${name}: P09, P11: interrupted, it leaves nothing open and cancels nothing`,
      () =>
        Effect.gen(function*() {
          const { fiber, server } = yield* opening
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
          const { handling, live } = yield* server.stats
          assert.deepStrictEqual([handling, live], [0, []])
          assert.deepStrictEqual(yield* server.receivedOf("notifications/cancelled"), [])
        })
    )
  }
})

describe("opening a session", () => {
  leakFree("P13: that dies at start, or fails there, has closed it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ start: () => Effect.die("broken") })
      const exit = yield* Effect.exit(Effect.scoped(McpSession.open(server.channel)))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  leakFree("P12: with no common version fails, and closes", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ protocolVersions: ["1999-01-01"] })
      const error = yield* Effect.flip(McpSession.open(server.channel))
      assert.strictEqual(error._tag, "VersionMismatch")
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))
})
