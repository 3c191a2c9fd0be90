import { assert, describe, it } from "@effect/vitest"
import { McpConnection, RetryPolicy } from "@mcp-runtime/core"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect, Either, ExecutionStrategy, Exit, Fiber, Scope, Stream } from "effect"
import { connect } from "./httpConnections.js"
import { everythingOverHttp, textOf } from "./realServers.js"

interface Restartable {
  readonly port: number
  readonly kill: Effect.Effect<void>
  readonly start: Effect.Effect<void, Error>
}

const restartable = (mode: "sse" | "streamableHttp"): Effect.Effect<Restartable, Error, Scope.Scope> =>
  Effect.gen(function*() {
    const outer = yield* Effect.scope
    let current = yield* Scope.fork(outer, ExecutionStrategy.sequential)
    const port = yield* Scope.extend(everythingOverHttp(mode), current)
    return {
      port,
      kill: Effect.suspend(() => Scope.close(current, Exit.void)),
      start: Effect.gen(function*() {
        current = yield* Scope.fork(outer, ExecutionStrategy.sequential)
        yield* Scope.extend(everythingOverHttp(mode, port), current)
      })
    }
  })

const patient = Either.getOrThrow(RetryPolicy.make({ replays: "unlimited", base: "50 millis", factor: 1 }))

const transports = [
  ["http", "streamableHttp", "/mcp"],
  ["auto", "streamableHttp", "/mcp"],
  ["sse", "sse", "/sse"]
] as const

const resource = "demo://resource/dynamic/text/1"

const generationReady = (connection: McpConnection.McpConnection, generation: number) =>
  Stream.runDrain(
    Stream.takeUntil(connection.changes, (_) => _._tag === "Ready" && _.generation >= generation)
  )

/** The server, asked for updates of what is subscribed to, gives them. */
const updated = (connection: McpConnection.McpConnection) =>
  Effect.gen(function*() {
    const update = yield* Effect.fork(
      Stream.runHead(Stream.filter(connection.notifications, (_) => _.method === "notifications/resources/updated"))
    )
    yield* Effect.yieldNow()
    yield* McpConnection.callTool(connection, { name: "toggle-subscriber-updates" })
    const notification = yield* Effect.flatten(Fiber.join(update))
    assert.strictEqual(notification.params.uri, resource)
  })

describe("server-everything, killed and started again on the same port", () => {
  for (const [transport, mode, path] of transports) {
    const using = <E>(
      use: (server: Restartable, connection: McpConnection.McpConnection) => Effect.Effect<void, E, Scope.Scope>
    ) =>
      LeakCheck.scoped(Effect.gen(function*() {
        const server = yield* restartable(mode)
        const connection = yield* connect(
          `http://127.0.0.1:${server.port}${path}`,
          { transport },
          { retry: patient }
        )
        const { items } = yield* McpConnection.listTools(connection)
        assert.isTrue(items.some((_) => _.name === "echo"))
        yield* McpConnection.subscribe(connection, resource)
        yield* use(server, connection)
      }))

    it.live(
      `${transport}: nobody calls, and yet the session is renewed, with its subscriptions`,
      () =>
        using((server, connection) =>
          Effect.gen(function*() {
            yield* server.kill
            yield* Stream.runDrain(Stream.takeUntil(connection.changes, (_) => _._tag !== "Ready"))
            yield* server.start
            yield* generationReady(connection, 2)
            assert.strictEqual((yield* connection.stats).sessions, 2)
            yield* updated(connection)
          })
        ),
      60_000
    )

    it.live(
      `${transport}: calls that were made while it was down have their answers`,
      () =>
        using((server, connection) =>
          Effect.gen(function*() {
            yield* server.kill
            yield* Stream.runDrain(Stream.takeUntil(connection.changes, (_) => _._tag !== "Ready"))
            const calls = yield* Effect.fork(
              Effect.forEach(
                Array.from({ length: 20 }, (_, i) => `message ${i}`),
                (message) =>
                  McpConnection.callTool(connection, { name: "echo", arguments: { message } }, { replay: "always" })
                    .pipe(
                      Effect.map((result) => textOf(result).includes(message))
                    ),
                { concurrency: "unbounded" }
              )
            )
            yield* Stream.runDrain(
              Stream.takeUntil(
                connection.changes,
                (_) => _._tag === "Reconnecting" || (_._tag === "Degraded" && _.reason === "Unreachable")
              )
            )
            yield* server.start
            assert.deepStrictEqual(yield* Fiber.join(calls), Array.from({ length: 20 }, () => true))
            yield* generationReady(connection, 2)
            yield* updated(connection)
          })
        ),
      60_000
    )
  }
})
