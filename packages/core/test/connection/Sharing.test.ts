/**
 * Who uses a connection, and how long it is kept after nobody does: `hold`, and `lifetime: { idle }`.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpConnection } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import {
  connect,
  echo,
  expired,
  failure,
  forkExit,
  http,
  inMemory,
  pass,
  ready,
  record,
  refused,
  settled,
  tagOf,
  tags
} from "./kit.js"

const idle = { ...http, lifetime: { idle: "10 seconds" } }

const hold = (connection: McpConnection.McpConnection) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* Effect.asVoid(connection.hold).pipe(Scope.extend(scope))
    return Scope.close(scope, Exit.void)
  })

const hanging: ScriptedServer.Options = {
  handlers: {
    "x/hang": () => Effect.never,
    "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
  }
}

const answer = (server: ScriptedServer.ScriptedServer, session: number) =>
  Effect.gen(function*() {
    const { id } = yield* server.awaitReceived((_) => _.method === "x/hang" && _.session === session)
    yield* (yield* server.session(session)).sendRaw(ScriptedServer.result(id, {}))
    yield* settled
  })

describe("hold", () => {
  it.scoped("connects, and counts", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle)
      const first = yield* hold(connection)
      const second = yield* hold(connection)
      assert.strictEqual((yield* connection.stats).holders, 2)
      assert.strictEqual((yield* server.stats).attempts, 1)
      yield* first
      assert.strictEqual((yield* connection.stats).holders, 1)
      yield* pass(63_000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* second
      assert.strictEqual((yield* connection.stats).holders, 0)
      yield* pass(9999)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(1)
      assert.strictEqual(yield* tagOf(connection), "Idle")
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("one that fails or is interrupted holds nothing, and harms nobody", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection } = yield* connect(idle, {
        start: (n) => n === 1 ? Effect.fail(refused) : Deferred.await(gate)
      })
      const scope = yield* Effect.scope
      const failed = yield* Effect.exit(Effect.asVoid(connection.hold).pipe(Scope.extend(scope)))
      assert(Exit.isFailure(failed))
      assert.strictEqual((yield* connection.stats).holders, 0)
      const first = yield* Effect.fork(Effect.asVoid(connection.hold).pipe(Scope.extend(scope)))
      const second = yield* Effect.fork(Effect.asVoid(connection.hold).pipe(Scope.extend(scope)))
      yield* settled
      assert.strictEqual((yield* connection.stats).holders, 2)
      yield* Fiber.interrupt(first)
      assert.strictEqual((yield* connection.stats).holders, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(second)
      assert.strictEqual((yield* connection.stats).attempts, 2)
      yield* pass(60_000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("a session that is lost while somebody holds it comes back, without a call", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle)
      const release = yield* hold(connection)
      yield* server.disconnect()
      yield* settled
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
      yield* release
      yield* pass(10_000)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("after close it counts on, and the next use connects", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(idle)
      yield* Effect.asVoid(hold(connection))
      yield* connection.close
      assert.strictEqual(yield* tagOf(connection), "Closed")
      yield* echo(connection)
      yield* pass(60_000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual((yield* connection.stats).holders, 1)
    }))
})

describe("idleness", () => {
  it.scoped("releases exactly so long after the last use", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle)
      const states = yield* record(connection)
      for (const at of [0, 3000, 9999, 10_000]) {
        yield* pass(at - (at === 0 ? 0 : [0, 3000, 9999, 10_000].filter((_) => _ < at).at(-1)!), 1000)
        yield* echo(connection)
      }
      yield* pass(9999)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(1)
      assert.deepStrictEqual(tags(states), ["Idle", "Connecting", "Ready", "Idle"])
      assert.strictEqual(states.at(-1)!.since, 20_000)
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("also where it was only opened", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(idle)
      yield* ready(connection)
      yield* pass(9999)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(1)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("not while a call runs, and then counts from its end", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle, hanging)
      const call = yield* forkExit(connection.request("x/hang", {}, { timeout: null }))
      yield* pass(123_456)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* answer(server, 1)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      yield* pass(9999)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(1)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("keep-alive pings are no use", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...idle, keepAlive: { every: "3 seconds" } })
      yield* ready(connection)
      yield* pass(10_000, 500)
      assert.strictEqual((yield* server.receivedOf("ping")).length, 3)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("not while a call still runs in the session before", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle, hanging)
      const call = yield* forkExit(connection.request("x/hang"))
      yield* connection.request("x/expire")
      yield* pass(30_000, 1000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* answer(server, 1)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      yield* pass(9999)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(1)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("a call that comes at that very moment works", () =>
    Effect.gen(function*() {
      for (let yields = 0; yields < 12; yields++) {
        const { connection } = yield* connect(idle, { close: () => Effect.yieldNow() })
        yield* ready(connection)
        const call = yield* Effect.fork(
          Effect.sleep("10 seconds").pipe(
            Effect.zipRight(Effect.repeatN(Effect.yieldNow(), yields)),
            Effect.zipRight(echo(connection))
          )
        )
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(call)
        const second = yield* Effect.fork(
          Effect.zipRight(Effect.repeatN(Effect.yieldNow(), yields), echo(connection))
        )
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(second)
      }
    }))

  it.scoped("a call that comes while it is released waits for the end of that, and works", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(idle, {
        close: (n) => n === 1 ? Deferred.await(gate) : Effect.void
      })
      yield* ready(connection)
      yield* pass(10_000)
      const call = yield* forkExit(echo(connection))
      assert.strictEqual((yield* server.stats).attempts, 1)
      yield* Deferred.succeed(gate, undefined)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.deepStrictEqual((yield* server.stats).live, [2])
    }))

  it.scoped("a session that is lost while nobody uses it is not replaced", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(idle)
      yield* echo(connection)
      const states = yield* record(connection)
      yield* server.disconnect()
      yield* settled
      yield* pass(3_600_000)
      assert.deepStrictEqual(tags(states), ["Ready", "Idle"])
      assert.strictEqual((yield* server.stats).attempts, 1)
      yield* echo(connection)
      assert.strictEqual((yield* server.stats).attempts, 2)
    }))

  it.scoped("one that expires while a call still runs in it: that call ends as it would have", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...idle, keepAlive: { every: "3 seconds" } }, {
        handlers: {
          ...hanging.handlers,
          ping: ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
        }
      })
      const call = yield* forkExit(connection.request("x/hang"))
      yield* pass(3000)
      yield* server.awaitReceived("ping")
      yield* settled
      yield* answer(server, 1)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
    }))

  it.scoped("without it a session stays", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory)
      yield* ready(connection)
      yield* pass(86_400_000)
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* server.disconnect()
      yield* settled
      assert.strictEqual((yield* server.stats).attempts, 2)
    }))

  it.scoped("a try that nobody waits for any more is let come, and then released", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(idle, { start: () => Deferred.await(gate) })
      const call = yield* Effect.fork(echo(connection))
      yield* settled
      yield* Fiber.interrupt(call)
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* pass(10_000)
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))
})

describe("a close from another fiber", () => {
  it.scoped("gives those who hold it nothing to wait for: running calls have a typed error at once", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(idle, hanging)
      yield* Effect.asVoid(hold(connection))
      const calls = yield* Effect.forEach(Array.from({ length: 5 }), () => forkExit(connection.request("x/hang")))
      yield* connection.close
      for (const call of calls) {
        const error = failure(yield* Fiber.join(call))
        assert(error._tag === "OutcomeUnknown")
        assert.strictEqual(error.error._tag, "ConnectionClosed")
      }
    }))
})
