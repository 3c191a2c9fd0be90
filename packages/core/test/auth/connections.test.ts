import { assert, describe, it } from "@effect/vitest"
import {
  CatalogStore,
  McpAuth,
  McpConfig,
  McpConnection,
  McpManager,
  McpTransport,
  SecretResolver
} from "@mcp-runtime/core"
import { Deferred, Effect, Layer, Redacted, Stream, TestClock } from "effect"
import { auth, decoded, login, person, settle } from "./setup.js"
import * as World from "./world.js"

const gated = (world: World.World, gate: Deferred.Deferred<void>) =>
  person(world, (url) => Effect.map(Deferred.await(gate), () => world.visit(url)))

const untilState = (connection: McpConnection.McpConnection, tag: string) =>
  Stream.runHead(Stream.filter(connection.changes, (_) => _._tag === tag))

describe("connections that need a person", () => {
  it.scoped("a manager goes on without the server, and has it when the person is done", () =>
    Effect.gen(function*() {
      const world = World.make()
      const gate = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const manager = yield* McpManager.McpManager
        yield* settle
        yield* TestClock.adjust("1 second")
        yield* settle
        const before = yield* manager.status("secured")
        assert.strictEqual(before.phase, "failed")
        assert.strictEqual(before.error?._tag, "Unauthorized")
        assert.strictEqual(before.state?._tag, "NeedsAuthorization")
        // Its deadline is not that of the person.
        yield* TestClock.adjust("1 minute")
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        yield* settle
        yield* TestClock.adjust("1 second")
        const after = yield* manager.status("secured")
        assert.strictEqual(after.phase, "connected", JSON.stringify(after.error))
        assert.strictEqual(world.count("authorize"), 1)
      }).pipe(
        Effect.provide(
          McpManager.layer({ servers: [World.config] }).pipe(
            Layer.provide(auth(world, World.tokens(), gated(world, gate))),
            Layer.provide(CatalogStore.layerMemory)
          )
        )
      )
    }))

  it.scoped("a connection that was closed does not connect when the person is done, nor is the page left open", () =>
    Effect.gen(function*() {
      const world = World.make()
      const gate = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const connection = yield* McpConnection.make(yield* decoded())
        yield* Effect.flip(connection.awaitReady)
        yield* connection.close
        yield* settle
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        assert.strictEqual((yield* connection.state)._tag, "Closed")
        assert.strictEqual(world.count("authorize") + world.count("token"), 0)
      }).pipe(Effect.provide(auth(world, World.tokens(), gated(world, gate))))
    }))

  it.scoped("finish and authorize of another part of the program wake a connection, too", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const connection = yield* McpConnection.make(yield* decoded())
        yield* Effect.flip(connection.awaitReady)
        const ready = yield* Effect.fork(untilState(connection, "Ready"))
        yield* login(world)
        yield* ready
        // Mid-session: refused, and again allowed.
        world.tokens.clear()
        world.refreshes.clear()
        yield* Effect.flip(McpConnection.callTool(connection, { name: "tool" }))
        yield* untilState(connection, "Degraded")
        yield* login(world)
        yield* untilState(connection, "Ready")
        yield* McpConnection.callTool(connection, { name: "tool" })
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("references in the configuration are looked up for connections and for authorize", () =>
    Effect.gen(function*() {
      const world = World.make()
      const resolver = Layer.succeed(
        SecretResolver.SecretResolver,
        SecretResolver.make({ env: () => Effect.succeed(Redacted.make(World.mcp)) })
      )
      const input = { ...World.config, url: "${MCP_URL}", expand: true } as McpConfig.ServerConfigInput
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* McpConfig.decode(input)
        const connection = yield* McpConnection.make(config)
        yield* Effect.flip(connection.awaitReady)
        assert.strictEqual((yield* service.status(config))._tag, "Pending")
        const ready = yield* Effect.fork(untilState(connection, "Ready"))
        const { url } = yield* service.begin(config)
        yield* service.finish(config, world.visit(url))
        yield* ready
      }).pipe(
        Effect.provide(
          Layer.provideMerge(
            Layer.provide(McpTransport.layer, [world.http, resolver]),
            McpAuth.layer.pipe(Layer.provide([world.http, resolver, World.tokens().layer]))
          )
        ),
        Effect.scoped
      )
    }))
})
