import { assert, describe, it } from "@effect/vitest"
import { McpConnection, RetryPolicy } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Either, Fiber } from "effect"
import {
  connect,
  countOf,
  echo,
  emptyResult,
  errorOf,
  interrupted,
  nothingElse,
  Stage,
  withServer
} from "./httpConnections.js"

const quick = Either.getOrThrow(RetryPolicy.make({ base: 0 }))

const isolated = (url: string) =>
  connect(url, { recovery: "isolated", timeouts: { close: "100 millis" } }, { retry: quick })

const always = { replay: "always" } as const

const unwell = HttpFixture.respond({ status: 503 })

const isShared = (request: HttpFixture.LoggedRequest) => request.session === "session-1"

/** The shared session is unwell for tools; others are what the test makes of them. */
const sharedIsUnwell = (
  otherwise: (request: HttpFixture.LoggedRequest) => HttpFixture.Reply | undefined = () => undefined
): HttpFixture.Options => ({
  override: (request) => request.rpc === "tools/call" && isShared(request) ? unwell : otherwise(request)
})

const ofMethod = (server: HttpFixture.HttpFixture, method: string) =>
  server.log.filter((_) => _.method === method).map((_) => _.session)

describe("a replay in a session of its own", () => {
  it.live("has its handshake, its id and its end; the shared session stays and serves the others meanwhile", () => {
    const stage = new Stage((_) => _.rpc === "tools/call" && !isShared(_))
    return withServer(sharedIsUnwell(stage.override), (server) =>
      Effect.gen(function*() {
        const connection = yield* isolated(server.url)
        yield* connection.awaitReady
        yield* server.awaitStreams((open) => open === 1)
        const fiber = yield* Effect.fork(echo(connection, "x", always))
        yield* stage.arrived(server, 1)
        const { items } = yield* McpConnection.listTools(connection)
        assert.strictEqual(items.length, 1)
        assert.strictEqual(server.openStreams(), 1)
        yield* stage.release(0)
        yield* Fiber.join(fiber)
        yield* server.awaitLog(() => ofMethod(server, "DELETE").length > 0)
        assert.deepStrictEqual(ofMethod(server, "DELETE"), ["session-2"])
        assert.deepStrictEqual(
          server.log.filter((_) => _.rpc === "tools/call").map((_) => _.session),
          ["session-1", "session-2"]
        )
        // It hears nothing unasked.
        assert.deepStrictEqual(ofMethod(server, "GET"), ["session-1"])
        assert.strictEqual(server.log.find((_) => _.rpc === "tools/list")?.session, "session-1")
        const { open, replays, sessions } = yield* connection.stats
        assert.deepStrictEqual([sessions, open, replays], [1, 1, 1])
        assert.strictEqual((yield* connection.session).info.sessionId, "session-1")
      }))
  })

  it.live("gives its result although the server never answers its DELETE", () =>
    withServer(
      sharedIsUnwell((_) => _.method === "DELETE" && !isShared(_) ? HttpFixture.hang : undefined),
      (server) =>
        Effect.gen(function*() {
          const config = { recovery: "isolated", timeouts: { close: "1 hour" } } as const
          const connection = yield* connect(server.url, config, { retry: quick })
          yield* echo(connection, "x", always)
          yield* server.awaitLog(() => ofMethod(server, "DELETE").length === 1)
          yield* echo(connection, "y", always)
          yield* server.awaitLog(() => ofMethod(server, "DELETE").length === 2)
          // The end of the scope would wait for them.
          yield* server.destroySockets
        })
    ))

  it.live("does not keep the scope open longer than the end of a session may take", () =>
    withServer(
      sharedIsUnwell((_) => _.method === "DELETE" ? HttpFixture.hang : undefined),
      (server) =>
        Effect.gen(function*() {
          const connection = yield* isolated(server.url)
          yield* echo(connection, "x", always)
          yield* server.awaitLog(() => ofMethod(server, "DELETE").length === 1)
        })
    ))

  it.live("takes its set-up from the budget: what follows a failed one is the last", () =>
    withServer(
      sharedIsUnwell((_) => _.rpc === "initialize" && _.index > 0 ? unwell : undefined),
      (server) =>
        Effect.gen(function*() {
          const connection = yield* isolated(server.url)
          yield* connection.awaitReady
          const error = yield* errorOf(echo(connection, "x", always))
          assert.isTrue(error._tag === "HttpError" && error.status === 503, error.message)
          assert.strictEqual(error.executed, "maybe")
          assert.strictEqual(countOf(server.log, "tools/call"), 2)
          assert.strictEqual(countOf(server.log, "initialize"), 2)
          assert.strictEqual((yield* connection.stats).replays, 2)
        })
    ))

  it.live("is of no use to what may have run: that is not sent again", () =>
    withServer(sharedIsUnwell(), (server) =>
      Effect.gen(function*() {
        const connection = yield* isolated(server.url)
        const error = yield* errorOf(echo(connection))
        assert.strictEqual(error._tag, "OutcomeUnknown")
        assert.strictEqual(countOf(server.log, "tools/call"), 1)
        assert.strictEqual(countOf(server.log, "initialize"), 1)
      })))

  it.live("fails in its turn, and the last replay is in the shared session again, not executed more than thrice", () =>
    withServer({ override: (_) => _.rpc === "tools/call" ? unwell : undefined }, (server) =>
      Effect.gen(function*() {
        const connection = yield* isolated(server.url)
        const error = yield* errorOf(echo(connection, "x", always))
        assert.strictEqual(error._tag, "HttpError")
        assert.deepStrictEqual(
          server.log.filter((_) => _.rpc === "tools/call").map((_) => _.session),
          ["session-1", "session-2", "session-1"]
        )
      })))

  it.live("interrupted: one cancelled and one DELETE, both its own, and the shared session goes on", () => {
    const stage = new Stage((_) => _.rpc === "tools/call" && !isShared(_))
    return withServer(sharedIsUnwell(stage.override), (server) =>
      Effect.gen(function*() {
        const connection = yield* isolated(server.url)
        const fiber = yield* Effect.fork(echo(connection, "x", always))
        yield* stage.arrived(server, 1)
        yield* interrupted(fiber)
        yield* server.awaitLog(() => ofMethod(server, "DELETE").length > 0)
        yield* McpConnection.ping(connection)
        yield* nothingElse
        assert.deepStrictEqual(ofMethod(server, "DELETE"), ["session-2"])
        assert.deepStrictEqual(
          server.log.filter((_) => _.rpc === "notifications/cancelled").map((_) => _.session),
          ["session-2"]
        )
        assert.strictEqual(countOf(server.log, "tools/call"), 2)
        assert.strictEqual((yield* connection.stats).sessions, 1)
      }))
  })

  for (const phase of ["handshake", "call"] as const) {
    for (const how of ["close", "scope"] as const) {
      it.live(`${how} during its ${phase}: a typed error, no socket, each known session deleted once`, () => {
        const stage = new Stage(
          (_) => phase === "call" ? _.rpc === "tools/call" && !isShared(_) : _.rpc === "initialize" && _.index > 0,
          emptyResult
        )
        return withServer(sharedIsUnwell(stage.override), (server) =>
          Effect.gen(function*() {
            const calling = yield* Effect.scoped(Effect.gen(function*() {
              const connection = yield* isolated(server.url)
              yield* connection.awaitReady
              const calling = yield* Effect.forkDaemon(errorOf(echo(connection, "x", always)))
              yield* stage.arrived(server, 1)
              if (how === "close") {
                yield* connection.close
                yield* server.awaitSockets((open) => open === 0)
              }
              return calling
            }))
            const error = yield* Fiber.join(calling)
            assert.isTrue(
              error._tag === "ConnectionClosed" || error._tag === "ConnectionUnavailable" || error._tag === "HttpError",
              error.message
            )
            assert.strictEqual(error.executed, "maybe")
            yield* server.awaitSockets((open) => open === 0)
            assert.deepStrictEqual(
              [...ofMethod(server, "DELETE")].sort(),
              phase === "call" ? ["session-1", "session-2"] : ["session-1"]
            )
          }))
      })
    }
  }
})
