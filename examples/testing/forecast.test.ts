import { assert, it } from "@effect/vitest"
import { CatalogStore, McpError, McpRuntime } from "@mcp-runtime/core"
import { ScriptedServer } from "@mcp-runtime/testing"
import { Effect, Fiber, Layer, TestClock } from "effect"
import { forecast } from "./forecast.js"

/** The application with a server that is scripted. Nothing is stored, and time is the `TestClock`. */
const live = (server: ScriptedServer.ScriptedServer) =>
  McpRuntime.layer({ servers: [{ name: "weather", transport: "http", url: "https://weather.example.com/mcp" }] }).pipe(
    Layer.provide([ScriptedServer.layer(server), CatalogStore.layerNone])
  )

const scripted = (call: ScriptedServer.ScriptedTool["call"]) =>
  ScriptedServer.make({ name: "weather", kind: "http", tools: [{ name: "forecast", call }] })

it.effect("gives the forecast of the server", () =>
  Effect.gen(function*() {
    const server = yield* scripted(({ city }) => Effect.succeed(`Sun in ${city}.`))
    assert.strictEqual(yield* Effect.provide(forecast("Oslo"), live(server)), "Sun in Oslo.")
  }))

it.effect("gives up after 5 seconds, and the server is told", () =>
  Effect.gen(function*() {
    const server = yield* scripted(() => Effect.never)
    const fiber = yield* Effect.fork(Effect.provide(forecast("Oslo"), live(server)))
    yield* server.awaitReceived("tools/call")
    yield* TestClock.adjust("5 seconds")
    assert.strictEqual(yield* Fiber.join(fiber), "No forecast today.")
    yield* server.awaitReceived("notifications/cancelled")
    assert.lengthOf(yield* server.receivedOf("tools/call"), 1)
  }))

it.effect("waits as long as a busy server asks for, and tries again", () =>
  Effect.gen(function*() {
    const busy = new McpError.HttpError({
      server: "weather",
      operation: "tools/call",
      executed: "no",
      status: 429,
      retryAfterMillis: 3000,
      body: ""
    })
    let calls = 0
    const server = yield* scripted(() => (++calls === 1 ? Effect.fail(busy) : Effect.succeed("Rain.")))
    const fiber = yield* Effect.fork(Effect.provide(forecast("Oslo"), live(server)))
    yield* server.awaitReceived("tools/call")
    yield* TestClock.adjust("3 seconds")
    assert.strictEqual(yield* Fiber.join(fiber), "Rain.")
  }))

it.effect("has its answer within a second of a restart of the server", () =>
  Effect.gen(function*() {
    const server = yield* scripted(() => Effect.succeed("Snow."))
    const application = Effect.gen(function*() {
      yield* forecast("Oslo")
      yield* TestClock.adjust("1 hour")
      yield* server.disconnect()
      const fiber = yield* Effect.fork(forecast("Oslo"))
      yield* TestClock.adjust("1 second")
      return yield* Fiber.join(fiber)
    })
    assert.strictEqual(yield* Effect.provide(application, live(server)), "Snow.")
    assert.strictEqual((yield* server.stats).opened, 2)
  }))
