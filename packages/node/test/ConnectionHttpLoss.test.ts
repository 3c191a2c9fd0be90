import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpError, RetryPolicy } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Clock, Deferred, Duration, Effect, Either, Fiber, Stream } from "effect"
import {
  awaitState,
  connect,
  countOf,
  door,
  echo,
  echoes,
  emptyResult,
  errorOf,
  Stage,
  withServer
} from "./httpConnections.js"

const quick = Either.getOrThrow(RetryPolicy.make({ base: 0 }))

const tools = [
  { name: "write", inputSchema: { type: "object" } },
  { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }
]

/** Its two tools are listed; the first answer to what is asked for is a failure, the next is an answer. */
const failingOnce = (method: string, failure: HttpFixture.Reply): HttpFixture.Options => {
  let left = 1
  let listed = false
  return {
    override: (request) => {
      if (request.rpc === method && (method !== "tools/list" || listed) && left-- > 0) return failure
      if (request.rpc === "tools/list") {
        listed = true
        return HttpFixture.result(request, { tools })
      }
      return request.rpc === "tools/call" ? emptyResult(request) : undefined
    }
  }
}

const failures: Record<string, readonly [HttpFixture.Reply, McpError.McpError["_tag"]]> = {
  ...Object.fromEntries(
    [500, 502, 503, 504].map((status) => [`HTTP ${status}`, [HttpFixture.respond({ status }), "HttpError"]] as const)
  ),
  "a socket destroyed after the request": [HttpFixture.destroy, "ConnectionClosed"],
  "an answer that breaks off": [
    HttpFixture.respond({ headers: { "content-type": "application/json" }, body: "{", ending: "destroy" }),
    "ResponseLost"
  ],
  "a stream without the answer": [HttpFixture.sse([]), "ResponseLost"],
  "no answer at all": [HttpFixture.hang, "RequestTimeout"]
}

describe.each(Object.entries(failures))("%s", (_, [failure, tag]) => {
  // Only one of them is told by the deadline.
  const timeouts = tag === "RequestTimeout" ? { request: "500 millis" } as const : {}
  const use = (
    tool: string,
    trusted: boolean,
    check: (call: Effect.Effect<unknown, McpError.McpError>, server: HttpFixture.HttpFixture) => Effect.Effect<
      void,
      McpError.McpError
    >
  ) =>
    withServer(failingOnce("tools/call", failure), (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { trusted, timeouts }, { retry: quick })
        yield* McpConnection.listTools(connection)
        yield* check(McpConnection.callTool(connection, { name: tool }), server)
        // Whatever it was, it was not the session.
        yield* McpConnection.callTool(connection, { name: tool })
        assert.strictEqual(countOf(server.log, "initialize"), 1)
      }))

  for (const [tool, trusted] of [["write", true], ["read", false]] as const) {
    it.live(`a tool that ${trusted ? "writes" : "says that it only reads, and is not believed"}, runs once`, () =>
      use(tool, trusted, (call, server) =>
        Effect.gen(function*() {
          const error = yield* errorOf(call)
          assert.strictEqual(error._tag, "OutcomeUnknown")
          assert.strictEqual(error.executed, "maybe")
          assert.strictEqual(error._tag === "OutcomeUnknown" ? error.error._tag : undefined, tag)
          assert.strictEqual(countOf(server.log, "tools/call"), 1)
        })))
  }

  it.live("a tool that only reads, of a trusted server, is sent again", () =>
    use("read", true, (call, server) =>
      Effect.map(call, () => {
        assert.strictEqual(countOf(server.log, "tools/call"), 2)
      })))

  it.live("a listing is sent again", () =>
    withServer(failingOnce("tools/list", failure), (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { timeouts }, { retry: quick })
        yield* McpConnection.listTools(connection)
        const { items } = yield* McpConnection.listTools(connection)
        assert.deepStrictEqual(items.map((_) => _.name), ["write", "read"])
        assert.strictEqual(countOf(server.log, "tools/list"), 3)
      })))
})

/** The clock, and how long it was asked to sleep. */
const spying = (clock: Clock.Clock, sleeps: Array<number>): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanos: clock.currentTimeNanos,
  sleep: (duration) =>
    Effect.suspend(() => {
      sleeps.push(Duration.toMillis(duration))
      return clock.sleep(duration)
    })
})

describe("refusals", () => {
  it.live("429: a tool call, which did not run, is sent again when the server has asked for it", () =>
    withServer(
      failingOnce("tools/call", HttpFixture.respond({ status: 429, headers: { "retry-after": "0.3" } })),
      (server) =>
        Effect.gen(function*() {
          const connection = yield* connect(server.url, {}, { retry: quick })
          yield* connection.awaitReady
          const sleeps: Array<number> = []
          const clock = yield* Effect.clock
          yield* Effect.withClock(McpConnection.callTool(connection, { name: "write" }), spying(clock, sleeps))
          assert.strictEqual(sleeps[0], 300)
          assert.strictEqual(countOf(server.log, "tools/call"), 2)
        })
    ))

  for (
    const [status, tag] of [
      [401, "Unauthorized"],
      [403, "Forbidden"],
      [400, "HttpError"],
      [404, "HttpError"],
      [409, "HttpError"]
    ] as const
  ) {
    it.live(`${status} without a session is ${tag}, once, and a listing too`, () =>
      withServer({
        sessions: false,
        override: (request) =>
          request.rpc === "tools/call" || request.rpc === "tools/list" ? HttpFixture.respond({ status }) : undefined
      }, (server) =>
        Effect.gen(function*() {
          const connection = yield* connect(server.url, {}, { retry: quick })
          for (
            const operation of [Effect.asVoid(echo(connection)), Effect.asVoid(McpConnection.listTools(connection))]
          ) {
            const error = yield* errorOf(operation)
            assert.strictEqual(error._tag, tag)
            assert.strictEqual(error.executed, "no")
          }
          assert.strictEqual(countOf(server.log, "tools/call"), 1)
          assert.strictEqual(countOf(server.log, "tools/list"), 1)
          assert.strictEqual(countOf(server.log, "initialize"), 1)
          assert.strictEqual((yield* connection.stats).replays, 0)
        })))
  }
})

describe("a server that is away for a while, on the same port", () => {
  const patient = Either.getOrThrow(RetryPolicy.make({ replays: "unlimited", base: "20 millis", factor: 1 }))

  for (const restarted of [true, false]) {
    it.live(`${restarted ? "restarted" : "its network was down"}: Degraded, then Ready, and who waited is answered`, () =>
      withServer({}, (server) =>
        Effect.gen(function*() {
          const port = yield* door(server)
          const connection = yield* connect(port.url, {}, { retry: patient })
          const seen: Array<string> = []
          yield* Effect.forkScoped(
            Stream.runForEach(connection.changes, (state) =>
              Effect.sync(() =>
                seen.push(state._tag === "Degraded" ? `${state._tag} ${state.reason}` : state._tag)
              ))
          )
          yield* McpConnection.listTools(connection)
          yield* echo(connection)
          yield* port.shut
          // Its stream tells; then no request meets a socket that is about to close.
          yield* awaitState(connection, "Degraded")
          const waiting = yield* Effect.fork(
            Effect.all([McpConnection.listTools(connection), McpConnection.ping(connection)], {
              concurrency: "unbounded"
            })
          )
          yield* Stream.runDrain(
            Stream.takeUntil(connection.changes, (_) => _._tag === "Degraded" && _.reason === "Unreachable")
          )
          // Certainly not executed: nobody listens.
          const calling = yield* Effect.fork(echo(connection))
          const refused = yield* errorOf(echo(connection, "x", { retry: RetryPolicy.none }))
          assert.isTrue(refused._tag === "ConnectFailed" && refused.reason === "Refused", refused.message)
          assert.strictEqual(refused.executed, "no")
          assert.strictEqual((yield* connection.state)._tag, "Degraded")
          if (restarted) yield* server.expireSessions
          yield* port.open
          yield* Fiber.join(waiting)
          yield* Fiber.join(calling)
          yield* awaitState(connection, "Ready")
          assert.strictEqual(server.executions("echo"), 2)
          assert.strictEqual(countOf(server.log, "initialize"), restarted ? 2 : 1)
          assert.include(seen, "Degraded Unreachable")
          assert.strictEqual((yield* connection.stats).sessions, restarted ? 2 : 1)
        })))
  }

  it.live("without a session it comes back by its schedule, and a call waits for it", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const port = yield* door(server)
        const connection = yield* connect(port.url, {}, { retry: patient })
        yield* echo(connection)
        yield* server.expireSessions
        // The renewal meets a closed door.
        const stage = new Stage((_) => _.rpc === "initialize")
        yield* server.setOverride(stage.override)
        const calling = yield* Effect.fork(echo(connection))
        yield* stage.arrived(server, 1)
        yield* port.shut
        yield* server.setOverride(undefined)
        yield* Stream.runDrain(
          Stream.takeUntil(connection.changes, (_) => _._tag === "Reconnecting" && _.nextAt !== undefined)
        )
        yield* port.open
        yield* Fiber.join(calling)
        assert.strictEqual((yield* connection.state)._tag, "Ready")
        assert.strictEqual(server.executions("echo"), 2)
      })))
})

describe("the server's own stream", () => {
  it.live("H10: dropped, it disturbs no call; when it is back, the lists are asked for again", () => {
    const stage = new Stage((_) => _.rpc === "tools/call")
    return withServer({ override: stage.override }, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        yield* McpConnection.listTools(connection)
        yield* server.awaitStreams((open) => open === 1)
        const running = yield* Effect.fork(
          Effect.all(Array.from({ length: 5 }, () => echo(connection)), { concurrency: "unbounded" })
        )
        yield* stage.arrived(server, 5)
        yield* server.endStreams("destroy")
        yield* awaitState(connection, "Degraded")
        const { reason } = (yield* connection.state) as Extract<McpConnection.ConnectionState, { _tag: "Degraded" }>
        assert.strictEqual(reason, "StreamDown")
        yield* server.awaitLog((log) => countOf(log, "tools/list") === 2)
        assert.strictEqual(server.openStreams(), 1)
        yield* awaitState(connection, "Ready")
        for (let i = 0; i < 5; i++) yield* stage.release(i)
        assert.strictEqual((yield* Fiber.join(running)).length, 5)
        assert.strictEqual(countOf(server.log, "tools/call"), 5)
        assert.strictEqual(countOf(server.log, "initialize"), 1)
      }))
  })

  it.live("H02: refused with 404 after it was open, the session is looked at and renewed without a call", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        yield* McpConnection.listTools(connection)
        yield* server.awaitStreams((open) => open === 1)
        const before = server.log.length
        yield* server.expireSessions
        yield* server.endStreams("end")
        yield* server.awaitLog((log) => log.some((_) => _.rpc === "tools/list" && _.session === "session-2"))
        yield* server.awaitStreams((open) => open === 1)
        yield* awaitState(connection, "Ready")
        const asked = server.log.slice(before)
        assert.deepStrictEqual(asked.slice(0, 2).map((_) => _.rpc ?? _.method), ["GET", "ping"])
        assert.strictEqual(countOf(asked, "initialize"), 1)
        assert.strictEqual((yield* connection.stats).sessions, 2)
      })))

  it.live("H02: refused with 404 while the session works, nothing is renewed", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        yield* connection.awaitReady
        yield* server.awaitStreams((open) => open === 1)
        yield* server.setOverride((_) => _.method === "GET" ? HttpFixture.respond({ status: 404 }) : undefined)
        yield* server.endStreams("end")
        yield* server.awaitLog((log) => countOf(log, "ping") === 1)
        yield* echo(connection)
        assert.strictEqual(countOf(server.log, "initialize"), 1)
        assert.strictEqual((yield* connection.state)._tag, "Ready")
      })))
})

const deleted = (server: HttpFixture.HttpFixture) =>
  server.log.filter((_) => _.method === "DELETE").map((_) => _.session)

describe("the end", () => {
  for (const how of ["close", "scope"] as const) {
    it.live(`${how}: 20 running calls have a typed error, no socket is left, the session is deleted once`, () => {
      const stage = new Stage((_) => _.rpc === "tools/call")
      return withServer({ override: stage.override }, (server) =>
        Effect.gen(function*() {
          const done = yield* Deferred.make<void>()
          const running = yield* Effect.fork(Effect.scoped(Effect.gen(function*() {
            const connection = yield* connect(server.url)
            const calls = yield* Effect.forkDaemon(
              Effect.all(Array.from({ length: 20 }, () => errorOf(echo(connection))), { concurrency: "unbounded" })
            )
            yield* stage.arrived(server, 16)
            yield* Deferred.await(done)
            if (how === "close") {
              yield* connection.close
              yield* server.awaitSockets((open) => open === 0)
              assert.strictEqual((yield* connection.state)._tag, "Closed")
            }
            return calls
          })))
          yield* Deferred.succeed(done, undefined)
          const errors = yield* Effect.flatMap(Fiber.join(running), Fiber.join)
          assert.strictEqual(errors.length, 20)
          let unknown = 0
          for (const error of errors) {
            const cause = error._tag === "OutcomeUnknown" ? error.error : error
            assert.isTrue(cause._tag === "ConnectionClosed" || cause._tag === "ConnectionUnavailable", error.message)
            if (error.executed === "maybe") unknown++
          }
          assert.strictEqual(unknown, 16)
          yield* server.awaitSockets((open) => open === 0)
          assert.deepStrictEqual(deleted(server), ["session-1"])
          assert.strictEqual(countOf(server.log, "tools/call"), 16)
        }))
    })
  }

  it.live("each of the sessions that were not lost is deleted once", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const ended = yield* Effect.scoped(Effect.gen(function*() {
          const connection = yield* connect(server.url)
          yield* echo(connection)
          yield* connection.reconnect
          yield* server.expireSessions
          yield* echo(connection)
          yield* connection.close
          yield* echo(connection)
          return (yield* connection.stats).sessions
        }))
        assert.strictEqual(ended, 4)
        assert.deepStrictEqual(deleted(server), ["session-1", "session-3", "session-4"])
      })))
})

describe("the older transport", () => {
  for (const transport of ["sse", "auto"] as const) {
    for (const ending of ["end", "destroy"] as const) {
      it.live(`${transport}: its stream dies (${ending}), the connection comes back, the next call works`, () =>
        withServer({ legacy: true }, (server) =>
          Effect.gen(function*() {
            const connection = yield* connect(server.url, { transport })
            assert.strictEqual(yield* echoes(connection, 5), 5)
            yield* McpConnection.listTools(connection)
            yield* server.expireSessions
            yield* server.endStreams(ending)
            yield* server.awaitLog((log) => countOf(log, "tools/list") === 2)
            assert.strictEqual(yield* echoes(connection, 5), 5)
            const { attempts, sessions } = yield* connection.stats
            assert.deepStrictEqual([attempts, sessions], [2, 2])
            // What `auto` has learned it keeps.
            const refused = server.log.filter((_) => _.method === "POST" && _.path === "/mcp")
            assert.strictEqual(refused.length, transport === "auto" ? 1 : 0)
          })))
    }
  }

  it.live("its stream dies under calls: they may have run, and are not sent again", () => {
    return withServer({
      legacy: true,
      override: (request) => request.rpc === "tools/call" ? HttpFixture.accepted : undefined
    }, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { transport: "sse" })
        const running = yield* Effect.fork(
          Effect.all(Array.from({ length: 5 }, () => errorOf(echo(connection))), { concurrency: "unbounded" })
        )
        yield* server.awaitLog((log) => countOf(log, "tools/call") === 5)
        yield* server.endStreams("destroy")
        for (const error of yield* Fiber.join(running)) {
          assert.strictEqual(error._tag, "OutcomeUnknown", error.message)
        }
        assert.strictEqual(countOf(server.log, "tools/call"), 5)
        yield* server.setOverride(undefined)
        yield* echo(connection)
      }))
  })
})
