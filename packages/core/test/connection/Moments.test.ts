/**
 * `close`, `reconnect` and `disable` at any moment: whatever the connection is doing, and several at once.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Option, type Scope } from "effect"
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
  refused,
  settled,
  stdio,
  tagOf,
  unauthorized
} from "./kit.js"

type Parts = {
  readonly connection: McpConnection.McpConnection
  readonly server: ScriptedServer.ScriptedServer
  /** Waits for a session when the moment has come. */
  readonly waiting: ReadonlyArray<Fiber.RuntimeFiber<Exit.Exit<void, unknown>>>
  /** Is under way. */
  readonly running: ReadonlyArray<Fiber.RuntimeFiber<Exit.Exit<void, unknown>>>
}

const none = { waiting: [], running: [] }

const hanging = { "x/hang": () => Effect.never }

/** The first session hangs at this step of its opening. */
const connectingAt = (step: string) =>
  Effect.gen(function*() {
    const stuck = (session: number, at: string) => session === 1 && at === step ? Effect.never : Effect.void
    const parts = yield* connect(inMemory, {
      capabilities: { tools: {}, logging: {} },
      handlers: { "logging/setLevel": () => Effect.succeed({}) },
      start: (n) => stuck(n, "start"),
      accept: ({ method, session }) => stuck(session, String(method)),
      listen: () => step === "listen" ? Effect.never : Effect.void
    }, { logLevel: "info" })
    const waiting = yield* Effect.all([forkExit(echo(parts.connection)), forkExit(ready(parts.connection))])
    assert.strictEqual(yield* tagOf(parts.connection), "Connecting")
    return { ...parts, waiting, running: [] }
  })

const atMoments: ReadonlyArray<readonly [string, () => Effect.Effect<Parts, unknown, Scope.Scope>]> = [
  ["idle", () => Effect.map(connect(inMemory), (_) => ({ ..._, ...none }))],
  ...["start", "initialize", "notifications/initialized", "logging/setLevel"].map((step) =>
    [`connecting, at ${step}`, () => connectingAt(step)] as const
  ),
  ["ready, with running and queued calls", () =>
    Effect.gen(function*() {
      const parts = yield* connect({ ...inMemory, concurrency: 2 }, { handlers: hanging })
      const running = yield* Effect.forEach([1, 2, 3, 4], () => forkExit(parts.connection.request("x/hang")))
      assert.strictEqual((yield* parts.server.receivedOf("x/hang")).length, 2)
      return { ...parts, waiting: [], running }
    })],
  ["while an old session drains", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http, {
        handlers: {
          ...hanging,
          "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
        }
      })
      const running = [yield* forkExit(parts.connection.request("x/hang"))]
      yield* parts.connection.request("x/expire")
      return { ...parts, waiting: [], running }
    })],
  ["reconnecting, asleep", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http, { start: (n) => n === 2 ? Effect.fail(refused) : Effect.void })
      yield* ready(parts.connection)
      yield* parts.server.disconnect()
      const waiting = [yield* forkExit(echo(parts.connection))]
      assert.strictEqual(yield* tagOf(parts.connection), "Reconnecting")
      return { ...parts, waiting, running: [] }
    })],
  ["reconnecting, during a try", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http, { start: (n) => n === 2 ? Effect.never : Effect.void })
      yield* ready(parts.connection)
      yield* parts.server.disconnect()
      const waiting = [yield* forkExit(echo(parts.connection))]
      return { ...parts, waiting, running: [] }
    })],
  ["failed", () =>
    Effect.gen(function*() {
      const parts = yield* connect(inMemory, { start: (n) => n === 1 ? Effect.fail(refused) : Effect.void })
      yield* Effect.flip(ready(parts.connection))
      return { ...parts, ...none }
    })],
  ["without credentials", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http, { start: (n) => n === 1 ? Effect.fail(unauthorized) : Effect.void })
      yield* Effect.flip(ready(parts.connection))
      return { ...parts, ...none }
    })],
  ["with an open breaker", () =>
    Effect.gen(function*() {
      const parts = yield* connect(stdio)
      yield* ready(parts.connection)
      for (const wait of [0, 500, 1000, 2000, 4000, 0]) {
        yield* parts.server.disconnect()
        yield* settled
        yield* pass(wait)
      }
      assert.strictEqual(yield* tagOf(parts.connection), "Failed")
      return { ...parts, ...none }
    })],
  ["degraded", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http, { listen: (peer) => peer.serverStream("down") })
      yield* ready(parts.connection)
      yield* settled
      assert.strictEqual(yield* tagOf(parts.connection), "Degraded")
      return { ...parts, ...none }
    })],
  ["closed", () =>
    Effect.gen(function*() {
      const parts = yield* connect(http)
      yield* ready(parts.connection)
      yield* parts.connection.close
      return { ...parts, ...none }
    })]
]

for (const [name, moment] of atMoments) {
  describe(name, () => {
    it.scoped("close: everybody is told at once, nothing is left, and it is usable again", () =>
      Effect.gen(function*() {
        const { connection, running, server, waiting } = yield* moment()
        yield* connection.close
        for (const call of waiting) {
          const error = failure(yield* Fiber.join(call)) as { readonly _tag: string; readonly executed: string }
          assert.deepStrictEqual([error._tag, error.executed], ["ConnectionClosed", "no"])
        }
        for (const [i, call] of running.entries()) {
          const error = failure(yield* Fiber.join(call)) as { readonly _tag: string; readonly executed: string }
          assert.deepStrictEqual(
            [error._tag, error.executed],
            i < 2 ? ["OutcomeUnknown", "maybe"] : ["ConnectionClosed", "no"]
          )
        }
        assert.deepStrictEqual((yield* server.stats).live, [])
        assert.strictEqual(yield* tagOf(connection), "Closed")
        const { attempts } = yield* server.stats
        yield* pass(3_600_000)
        assert.strictEqual((yield* server.stats).attempts, attempts)
        yield* echo(connection)
        assert.strictEqual((yield* server.stats).attempts, attempts + 1)
        assert.strictEqual((yield* server.stats).live.length, 1)
      }))

    it.scoped("disable: the same, and nothing connects until enable", () =>
      Effect.gen(function*() {
        const { connection, running, server, waiting } = yield* moment()
        yield* connection.disable
        for (const call of [...waiting, ...running]) assert(Exit.isFailure(yield* Fiber.join(call)))
        assert.deepStrictEqual((yield* server.stats).live, [])
        const { attempts } = yield* server.stats
        assert.strictEqual((yield* Effect.flip(echo(connection)))._tag, "ConnectionUnavailable")
        yield* pass(3_600_000)
        assert.strictEqual((yield* server.stats).attempts, attempts)
        yield* connection.enable
        yield* echo(connection)
      }))

    it.scoped("reconnect, twice at once: one new session; who waited has it, also for a turn; who ran is told", () =>
      Effect.gen(function*() {
        const { connection, running, server, waiting } = yield* moment()
        const { attempts } = yield* server.stats
        yield* Effect.all([Effect.asVoid(connection.reconnect), Effect.asVoid(connection.reconnect)], {
          concurrency: "unbounded"
        })
        for (const call of waiting) assert(Exit.isSuccess(yield* Fiber.join(call)))
        const [sent, queued] = [running.slice(0, 2), running.slice(2)]
        for (const call of sent) assert(Exit.isFailure(yield* Fiber.join(call)))
        for (const call of queued) {
          assert.isNull(yield* Fiber.poll(call).pipe(Effect.map(Option.getOrNull)), "its turn comes in the new session")
          yield* Fiber.interrupt(call)
        }
        const stats = yield* server.stats
        assert.strictEqual(stats.attempts, attempts + 1)
        assert.deepStrictEqual(stats.live, [attempts + 1])
        assert.strictEqual(yield* Effect.map(tagOf(connection), (_) => _ === "Degraded" ? "Ready" : _), "Ready")
        yield* echo(connection)
      }))
  })
}

describe("a session that hangs in its end", () => {
  const stuck = (config: object = http) =>
    connect(config, { close: (n) => n === 1 ? Effect.never : Effect.void, handlers: hanging })

  it.scoped("close is bounded, and running calls are told before that", () =>
    Effect.gen(function*() {
      const { connection } = yield* stuck()
      const call = yield* forkExit(connection.request("x/hang"))
      const closing = yield* forkExit(connection.close)
      assert.strictEqual(failure(yield* Fiber.join(call))._tag, "OutcomeUnknown")
      assert.strictEqual((yield* Fiber.poll(closing))._tag, "None")
      yield* pass(8000)
      yield* Fiber.join(closing)
      assert.strictEqual(yield* tagOf(connection), "Closed")
    }))

  it.scoped("reconnect is bounded; another one meanwhile is the same; a call waits for it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* stuck()
      yield* ready(connection)
      const first = yield* forkExit(connection.reconnect)
      yield* pass(1000)
      const second = yield* forkExit(connection.reconnect)
      const call = yield* forkExit(echo(connection))
      yield* pass(8000)
      for (const fiber of [first, second, call]) assert(Exit.isSuccess(yield* Fiber.join(fiber)))
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 2)
      assert.strictEqual((yield* server.stats).attempts, 2)
    }))

  it.scoped("close during the end of a lost session", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* stuck()
      yield* ready(connection)
      yield* server.disconnect()
      const call = yield* forkExit(echo(connection))
      const closing = yield* forkExit(connection.close)
      yield* pass(16_000, 1000)
      yield* Fiber.join(closing)
      assert(Exit.isFailure(yield* Fiber.join(call)))
      assert.strictEqual(yield* tagOf(connection), "Closed")
      const { attempts } = yield* server.stats
      yield* pass(60_000)
      assert.strictEqual((yield* server.stats).attempts, attempts)
    }))

  it.scoped("close waits for a session that is ending already", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(http, {
        close: (n) => n === 1 ? Deferred.await(gate) : Effect.void,
        handlers: { "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({}) }
      })
      yield* connection.request("x/expire")
      yield* settled
      assert.deepStrictEqual((yield* server.stats).live, [1, 2])
      const closing = yield* forkExit(connection.close)
      assert.strictEqual((yield* Fiber.poll(closing))._tag, "None")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("the end of the scope is bounded", () =>
    Effect.gen(function*() {
      const inner = yield* Effect.fork(
        Effect.scoped(Effect.flatMap(stuck(), ({ connection }) => ready(connection)))
      )
      yield* settled
      yield* pass(8000)
      yield* Fiber.join(inner)
    }))
})

describe("a try that can't be interrupted", () => {
  const stubborn = Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    const parts = yield* connect({ ...http, timeouts: { handshake: null } }, {
      start: (n) => n === 2 ? Effect.uninterruptible(Deferred.await(gate)) : Effect.void,
      handlers: {
        ...hanging,
        "x/expire": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({})
      }
    })
    yield* ready(parts.connection)
    return { ...parts, gate }
  })

  it.scoped("close is bounded; what comes up later is closed, never adopted", () =>
    Effect.gen(function*() {
      const { connection, gate, server } = yield* stubborn
      yield* server.disconnect()
      yield* settled
      const closing = yield* forkExit(connection.close)
      yield* pass(8000)
      yield* Fiber.join(closing)
      yield* echo(connection)
      const before = yield* connection.state
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual((yield* server.stats).live, [3])
      assert.strictEqual(yield* connection.state, before)
      yield* echo(connection)
      assert.deepStrictEqual((yield* server.receivedOf("tools/call")).map((_) => _.session), [3, 3])
      assert.strictEqual((yield* connection.stats).open, 1)
    }))

  it.scoped("calls that still run in the session before are told at once", () =>
    Effect.gen(function*() {
      const { connection, gate } = yield* stubborn
      const running = yield* forkExit(connection.request("x/hang"))
      const waiting = yield* forkExit(connection.request("x/expire"))
      const closing = yield* forkExit(connection.close)
      assert.strictEqual((yield* Fiber.poll(running))._tag, "Some")
      assert.strictEqual((yield* Fiber.poll(waiting))._tag, "Some")
      yield* pass(8000)
      yield* Fiber.join(closing)
      yield* Deferred.succeed(gate, undefined)
    }))
})

describe("commands from several fibers at once", () => {
  it.scoped("end in a state that one of them asked for, with at most one session", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory, { close: () => Effect.yieldNow() })
      for (let round = 0; round < 20; round++) {
        const commands = [
          connection.close,
          Effect.asVoid(connection.reconnect),
          echo(connection),
          connection.close,
          Effect.asVoid(connection.reconnect),
          connection.disable,
          connection.enable
        ]
        const rotated = [...commands.slice(round % 7), ...commands.slice(0, round % 7)]
        yield* Effect.forEach(rotated, (_) => Effect.exit(_), { concurrency: "unbounded", discard: true })
        yield* connection.enable
        yield* settled
        assert.isAtMost((yield* server.stats).live.length, 1)
        yield* echo(connection)
        assert.strictEqual((yield* server.stats).live.length, 1)
      }
    }))

  it.scoped("close has the last word over a reconnect that came before it", () =>
    Effect.gen(function*() {
      for (const idle of [true, false]) {
        const { connection, server } = yield* connect(inMemory, { close: () => Effect.yieldNow() })
        if (!idle) yield* ready(connection)
        const first = yield* Effect.fork(Effect.exit(Effect.asVoid(connection.reconnect)))
        const second = yield* Effect.fork(connection.close)
        yield* Fiber.join(second)
        yield* settled
        assert.strictEqual(failure(yield* Fiber.join(first))._tag, "ConnectionClosed")
        assert.strictEqual(yield* tagOf(connection), "Closed")
        assert.deepStrictEqual((yield* server.stats).live, [])
      }
    }))

  it.scoped("a list whose pages are being read does not open again what was closed", () =>
    Effect.gen(function*() {
      for (let yields = 1; yields < 12; yields++) {
        const { connection, server } = yield* connect(inMemory, {
          tools: [{ name: "a" }, { name: "b" }, { name: "c" }],
          pageSize: 1
        })
        yield* ready(connection)
        const listing = yield* Effect.fork(Effect.exit(Effect.asVoid(McpConnection.listTools(connection))))
        yield* Effect.repeatN(Effect.yieldNow(), yields)
        yield* connection.close
        yield* settled
        yield* Fiber.join(listing)
        assert.deepStrictEqual((yield* server.stats).live, [], `after ${yields} yields`)
        assert.strictEqual(yield* tagOf(connection), "Closed")
      }
    }))

  it.scoped("whoever gives one may be interrupted: it is carried out all the same", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory)
      yield* ready(connection)
      const closing = yield* Effect.fork(connection.close)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(closing)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Closed")
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))
})
