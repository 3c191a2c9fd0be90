/**
 * What a connection hears of its session, and when: at once, in order, and before the answers that follow on the wire.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Chunk, Deferred, Effect, Fiber, Stream } from "effect"
import { connect, http, pass, ready, settled, stdio, tagOf } from "./kit.js"

const droppedOf = (connection: McpConnection.McpConnection) =>
  Effect.map(Effect.flatMap(connection.session, (_) => _.stats), (_) => _.warnings.DroppedNotification ?? 0)

const listChanged = ScriptedServer.notification("notifications/tools/list_changed")

const named = (count: number) => Array.from({ length: count }, (_, i) => `notifications/n${i}`)

const methods = (notifications: Chunk.Chunk<{ readonly method: string }>) =>
  Chunk.toReadonlyArray(notifications).map((_) => _.method)

describe("notifications", () => {
  it.scoped("P20: a list that has changed is out of date when the answer that follows is there", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(stdio, {
        handlers: { "x/run": () => Effect.succeed(ScriptedServer.before([listChanged], {})) }
      })
      yield* McpConnection.listTools(connection)
      const stale = yield* Effect.zipRight(
        connection.request("x/run"),
        Effect.map(connection.catalog.tools.current, (_) => _?.stale)
      )
      assert.isTrue(stale)
    }))

  it.scoped("P20: what comes with the answer to initialize is heard, in order", () =>
    Effect.gen(function*() {
      const names = named(20)
      const { connection, server } = yield* connect(stdio, {
        listen: (peer) => Effect.forEach(names, (_) => peer.notify(_), { discard: true })
      })
      const heard = yield* Effect.fork(Stream.runCollect(Stream.take(connection.notifications, names.length)))
      yield* settled
      yield* ready(connection)
      assert.deepStrictEqual(methods(yield* Fiber.join(heard)), names)
      assert.strictEqual((yield* server.stats).opened, 1)
    }))

  it.scoped("S16: of a flood a slow reader gets the last ones, and nobody else waits for it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, limits: { notifications: 10 } })
      yield* ready(connection)
      const slow = yield* Effect.fork(
        // The first has gone to who waited for it.
        Stream.runCollect(Stream.take(Stream.tap(connection.notifications, () => settled), 11))
      )
      yield* settled
      yield* server.sendRaw(...named(1000).map((_) => ScriptedServer.notification(_)), listChanged)
      yield* McpConnection.listTools(connection)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual(yield* droppedOf(connection), 990)
      const [first, ...last] = methods(yield* Fiber.join(slow))
      assert.strictEqual(first, "notifications/n0")
      assert.deepStrictEqual(last, [...named(1000).slice(-9), "notifications/tools/list_changed"])
    }))

  it.scoped("of a flood of large ones a slow reader gets the last ones, and a fast one all of them", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, limits: { messageBytes: 10_000 } })
      yield* ready(connection)
      const text = "x".repeat(3000)
      const open = yield* Deferred.make<void>()
      const slow = yield* Effect.fork(
        Stream.runCollect(Stream.take(Stream.tap(connection.notifications, () => Deferred.await(open)), 4))
      )
      const fast = yield* Effect.fork(Stream.runCollect(Stream.take(connection.notifications, 20)))
      yield* settled
      for (const name of named(20)) {
        yield* server.sendRaw(ScriptedServer.notification(name, { text }))
        yield* settled
      }
      assert.deepStrictEqual(methods(yield* Fiber.join(fast)), named(20))
      assert.strictEqual(yield* droppedOf(connection), 16)
      yield* Deferred.succeed(open, undefined)
      // The first has gone to who waited for it.
      assert.deepStrictEqual(methods(yield* Fiber.join(slow)), ["notifications/n0", ...named(20).slice(-3)])
    }))

  it.scoped("a slow reader of the states gets the last ones, where a server says much of itself", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect({ ...stdio, limits: { messageBytes: 10_000 } }, {
        instructions: "x".repeat(3000)
      })
      yield* ready(connection)
      const open = yield* Deferred.make<void>()
      const seen: Array<number> = []
      const slow = yield* Effect.fork(
        Stream.runForEach(connection.changes, (state) => {
          if (state._tag === "Ready") seen.push(state.generation)
          return Deferred.await(open)
        })
      )
      yield* settled
      for (let i = 0; i < 10; i++) yield* connection.reconnect
      yield* settled
      yield* Deferred.succeed(open, undefined)
      yield* settled
      yield* Fiber.interrupt(slow)
      const [first, ...last] = seen
      assert.strictEqual(first, 1)
      assert.isAtMost(last.length, 4)
      assert.strictEqual(last.at(-1), 11)
    }))

  it.scoped("P20: with no debounce, what a listing causes to be said comes after what caused the listing", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const inner = ScriptedServer.notification("inner")
      const { connection } = yield* connect(stdio, {
        reaction: "insideSend",
        handlers: {
          "tools/list": () => Effect.succeed(ScriptedServer.before([inner], { tools: [] })),
          "x/run": () => Effect.succeed(ScriptedServer.before([listChanged, ScriptedServer.notification("after")], {}))
        }
      }, {
        catalog: { debounce: 0 },
        handlers: { onNotification: (_) => Effect.sync(() => order.push(_.method)) }
      })
      yield* McpConnection.listTools(connection)
      yield* settled
      order.length = 0
      yield* connection.request("x/run")
      assert.deepStrictEqual(order, ["notifications/tools/list_changed", "after"])
      yield* settled
      assert.deepStrictEqual(order, ["notifications/tools/list_changed", "after", "inner"])
    }))
})

describe("the server's own stream", () => {
  it.scoped("that comes and goes: one ping at a time, and one after it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http, {
        listen: (peer) => peer.serverStream("open"),
        handlers: { ping: () => Effect.never }
      })
      yield* ready(connection)
      const flap = Effect.zipRight(server.serverStream("none"), server.serverStream("open"))
      const pings = Effect.map(server.receivedOf("ping"), (_) => _.length)
      yield* Effect.repeatN(flap, 100)
      yield* settled
      assert.strictEqual(yield* pings, 1)
      yield* pass(5000)
      assert.strictEqual(yield* tagOf(connection), "Degraded")
      assert.isAtMost(yield* pings, 3)
      assert.strictEqual((yield* connection.stats).losses, 0)
    }))
})

describe("the end of a session", () => {
  it.scoped("completes the changes of its stream, with the last state", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ listen: (peer) => peer.serverStream("open") })
      const states = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* McpSession.open(server.channel)
        const fiber = yield* Effect.fork(Stream.runCollect(session.serverStream.changes))
        yield* settled
        yield* server.disconnect()
        return yield* Fiber.join(fiber)
      }))
      assert.deepStrictEqual(Chunk.toReadonlyArray(states), ["open", "none"])
    }))

  it.scoped("is known before anybody has a turn: nothing is sent over it any more", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(http)
      yield* ready(connection)
      yield* Effect.zipRight(server.disconnect(), connection.request("x/run").pipe(Effect.ignore))
      yield* settled
      assert.deepStrictEqual((yield* server.receivedOf("x/run")).map((_) => _.session), [2])
    }))
})
