/**
 * The changes of a resource, as a stream.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { connect, pass, ready, settled, stdio } from "./kit.js"

/** A server of which a resource has changed by the time that it has been subscribed to. */
const eager: ScriptedServer.Options = {
  capabilities: { resources: { subscribe: true } },
  handlers: {
    "resources/subscribe": ({ params }, peer) =>
      Effect.as(peer.notify("notifications/resources/updated", { uri: String(params?.uri) }), {}),
    "resources/unsubscribe": () => Effect.succeed({})
  }
}

const asked = (server: ScriptedServer.ScriptedServer, session?: number) =>
  Effect.map(
    server.received,
    (all) =>
      all.flatMap(({ method = "", params, session: of }) =>
        method.endsWith("subscribe") && (session === undefined || of === session)
          ? [`${method.slice("resources/".length)} ${params.uri}`]
          : []
      )
  )

/** What it has told so far, until the scope is closed. */
const following = (connection: McpConnection.McpConnection, uri: string) =>
  Effect.gen(function*() {
    const heard: Array<string> = []
    const scope = yield* Scope.make()
    const fiber = yield* Effect.forkIn(
      Stream.runForEach(
        McpConnection.resourceUpdates(connection, uri),
        (update) => Effect.sync(() => void heard.push(update.uri))
      ),
      scope
    )
    yield* settled
    return { heard, fiber, end: Effect.zipRight(Scope.close(scope, Exit.void), settled) }
  })

describe("resourceUpdates", () => {
  it.scoped("tells what changes from the subscription on, also of parts, and nothing else", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const { end, heard } = yield* following(connection, "file:///a")
      assert.deepStrictEqual(heard, ["file:///a"])
      for (const uri of ["file:///a/part", "file:///b", "file:///a"]) {
        yield* server.notify("notifications/resources/updated", { uri })
      }
      yield* server.notify("notifications/resources/list_changed")
      yield* settled
      assert.deepStrictEqual(heard, ["file:///a", "file:///a/part", "file:///a"])
      yield* end
      assert.deepStrictEqual(yield* asked(server), ["subscribe file:///a", "unsubscribe file:///a"])
    }))

  it.scoped("goes on in the next session", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const { heard } = yield* following(connection, "a:1")
      yield* server.disconnect()
      yield* ready(connection)
      yield* settled
      assert.deepStrictEqual(yield* asked(server, 2), ["subscribe a:1"])
      assert.deepStrictEqual(heard, ["a:1", "a:1"])
    }))

  it.scoped("the server is told when the last one who follows has left, and not what the application has asked for itself", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const [one, other] = [yield* following(connection, "a:1"), yield* following(connection, "a:1")]
      yield* one.end
      assert.notInclude(yield* asked(server), "unsubscribe a:1")
      yield* other.end
      assert.include(yield* asked(server), "unsubscribe a:1")
      yield* McpConnection.subscribe(connection, "a:2")
      yield* (yield* following(connection, "a:2")).end
      assert.notInclude(yield* asked(server), "unsubscribe a:2")
      yield* server.disconnect()
      yield* ready(connection)
      assert.deepStrictEqual(yield* asked(server, 2), ["subscribe a:2"])
    }))

  it.scoped("who followed before the application took its subscription back takes nothing from who follows after it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const old = yield* following(connection, "a:1")
      yield* McpConnection.unsubscribe(connection, "a:1")
      const { heard } = yield* following(connection, "a:1")
      yield* old.end
      assert.deepStrictEqual((yield* asked(server)).slice(-2), ["unsubscribe a:1", "subscribe a:1"])
      yield* server.disconnect()
      yield* ready(connection)
      yield* settled
      assert.deepStrictEqual(yield* asked(server, 2), ["subscribe a:1"])
      assert.isAbove(heard.length, 1)
    }))

  it.scoped("another resource whose name begins alike is no part of it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const { heard } = yield* following(connection, "file:///a")
      for (const uri of ["file:///a.bak", "file:///ab", "file:///a#part", "file:///a?x"]) {
        yield* server.notify("notifications/resources/updated", { uri })
      }
      yield* settled
      assert.deepStrictEqual(heard.slice(1), ["file:///a#part", "file:///a?x"])
    }))

  it.scoped("keeps the session of a connection that nobody else uses", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, lifetime: { idle: "5 seconds" } }, eager)
      const { end, heard } = yield* following(connection, "a:1")
      yield* pass(60_000, 1000)
      yield* server.notify("notifications/resources/updated", { uri: "a:1" })
      yield* settled
      assert.lengthOf(heard, 2)
      yield* end
      yield* pass(60_000, 1000)
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("who leaves while the server is asked has it told", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, {
        ...eager,
        handlers: { ...eager.handlers, "resources/subscribe": () => Effect.never }
      })
      const { end } = yield* following(connection, "a:1")
      yield* end
      assert.deepStrictEqual(yield* asked(server), ["subscribe a:1", "unsubscribe a:1"])
    }))

  it.scoped("fails as the subscription does, and leaves no wish behind", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, {
        ...eager,
        handlers: {
          "resources/subscribe": () => Effect.fail(new ScriptedServer.RpcError({ code: -32002, message: "none" }))
        }
      })
      const { fiber } = yield* following(connection, "a:1")
      const exit = yield* Fiber.await(fiber)
      assert(Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error._tag === "RemoteError")
      yield* server.disconnect()
      yield* ready(connection)
      assert.deepStrictEqual(yield* asked(server), ["subscribe a:1"])
    }))

  it.scoped("a connection that closes ends nobody's session to say so", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, eager)
      const { end } = yield* following(connection, "a:1")
      yield* connection.close
      yield* end
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.deepStrictEqual(yield* asked(server), ["subscribe a:1"])
    }))
})
