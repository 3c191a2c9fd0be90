/**
 * How a lost session comes back: the ladder, remote servers that stay away for long, errors that end the tries, and the
 * commands that may come at any moment.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpConnection, McpError } from "@mcp-runtime/core"
import { Effect, Exit, Fiber, Schedule } from "effect"
import {
  connect,
  connectFailed,
  echo,
  expired,
  failure,
  forbidden,
  forkExit,
  http,
  inMemory,
  notFound,
  pass,
  ready,
  refused,
  settled,
  spawnFailed,
  stdio,
  tagOf,
  tryTimes,
  unauthorized
} from "./kit.js"

/** The first session is good; what the later tries do is up to the test. */
const afterLoss = (
  config: object,
  fails: (attempt: number) => McpError.McpError | undefined,
  options?: McpConnection.ConnectionOptions
) =>
  Effect.gen(function*() {
    const { note, times } = tryTimes()
    const { connection, server } = yield* connect(config, {
      start: (n) => {
        const error = n === 1 ? undefined : fails(n)
        return Effect.zipRight(note, error === undefined ? Effect.void : Effect.fail(error))
      }
    }, options)
    yield* ready(connection)
    times.length = 0
    yield* server.disconnect()
    yield* settled
    return { connection, server, times }
  })

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((time, i) => time - times[i]!)

describe("the ladder", () => {
  it.scoped("at once, after 500, 1000, 2000 and 4000 ms, exactly", () =>
    Effect.gen(function*() {
      for (const config of [stdio, http, inMemory]) {
        const { connection, times } = yield* afterLoss(config, (n) => n < 6 ? refused : undefined)
        for (const [i, wait] of [500, 1000, 2000, 4000].entries()) {
          assert.strictEqual(times.length, i + 1)
          yield* pass(wait - 1)
          assert.strictEqual(times.length, i + 1)
          yield* pass(1)
          assert.strictEqual(times.length, i + 2)
        }
        assert.strictEqual(yield* tagOf(connection), "Ready")
      }
    }))

  it.scoped("calls wait meanwhile and succeed, each is sent once", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* afterLoss(http, (n) => n < 6 ? refused : undefined)
      const calls = yield* Effect.forEach(Array.from({ length: 10 }), () => Effect.fork(echo(connection)))
      yield* pass(7500, 500)
      for (const call of calls) yield* Fiber.join(call)
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 10)
      assert.strictEqual((yield* server.stats).attempts, 6)
      assert.strictEqual((yield* connection.stats).replays, 0)
    }))

  it.scoped("its times count from the loss, also if the old session is slow to end", () =>
    Effect.gen(function*() {
      const { note, times } = tryTimes()
      const { connection, server } = yield* connect(http, {
        start: () => note,
        close: (n) => n === 2 ? Effect.sleep("400 millis") : Effect.void
      })
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      yield* server.disconnect()
      yield* settled
      yield* pass(499, 100)
      assert.deepStrictEqual(times, [0, 0])
      yield* pass(1)
      assert.deepStrictEqual(times, [0, 0, 500])
    }))

  it.scoped("a session that was stable begins it anew; one that was not goes on where it was", () =>
    Effect.gen(function*() {
      const { connection, server, times } = yield* afterLoss(http, () => undefined)
      yield* server.disconnect()
      yield* settled
      yield* pass(500)
      assert.deepStrictEqual(gaps(times), [500])
      yield* pass(29_999)
      yield* server.disconnect()
      yield* settled
      yield* pass(999)
      assert.strictEqual(times.length, 2)
      yield* pass(1)
      assert.strictEqual(times.length, 3)
      yield* pass(30_000)
      yield* server.disconnect()
      yield* settled
      assert.strictEqual(times.length, 4)
      const state = yield* connection.state
      assert(state._tag === "Ready")
      assert.strictEqual(state.generation, 5)
    }))

  it.scoped("a remote server is tried for ever, ever more slowly: 12 to 15 s, growing to 4 to 5 minutes", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* afterLoss(http, () => refused)
      yield* pass(7500, 500)
      assert.deepStrictEqual(gaps(times), [500, 1000, 2000, 4000])
      const seen = new Set<number>()
      for (let i = 0; i < 12; i++) {
        const state = yield* connection.state
        assert(state._tag === "Reconnecting" && state.nextAt !== undefined)
        const slow = Math.min(15_000 * 2 ** i, 300_000)
        const wait = state.nextAt - times.at(-1)!
        assert.isTrue(Number.isInteger(wait))
        assert.isAtMost(wait, slow)
        assert.isAtLeast(wait, slow * 0.8)
        seen.add(wait / slow)
        const before = times.length
        yield* pass(wait - 1)
        assert.strictEqual(times.length, before)
        yield* pass(1)
        assert.strictEqual(times.length, before + 1)
      }
      assert.isAbove(seen.size, 6)
    }))
})

describe("a use while the tries are slow", () => {
  const slow = Effect.gen(function*() {
    let up = false
    const parts = yield* afterLoss(http, () => up ? undefined : refused)
    yield* pass(7500, 500)
    yield* pass(2000)
    return { ...parts, come: Effect.sync(() => void (up = true)) }
  })

  it.scoped("causes a try at once, and fails with its error", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* slow
      const before = times.length
      const error = yield* Effect.flip(echo(connection, { replay: "never" }))
      assert(error._tag === "ConnectFailed")
      assert.strictEqual(error.operation, "tools/call")
      assert.strictEqual(times.length, before + 1)
      assert.strictEqual(times.at(-1), 9500)
    }))

  it.scoped("but not more often than each second, however many there are", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* slow
      const before = times.length
      yield* Effect.flip(ready(connection))
      const uses = yield* Effect.forEach(Array.from({ length: 50 }), () => forkExit(ready(connection)))
      assert.strictEqual(times.length, before + 1)
      const state = yield* connection.state
      assert(state._tag === "Reconnecting")
      assert.strictEqual(state.nextAt, 10_500)
      yield* pass(999)
      assert.strictEqual(times.length, before + 1)
      yield* pass(1)
      for (const use of uses) assert.strictEqual(failure(yield* Fiber.join(use))._tag, "ConnectFailed")
      assert.strictEqual(times.length, before + 2)
    }))

  it.scoped("finds the server when it is back", () =>
    Effect.gen(function*() {
      const { come, connection } = yield* slow
      yield* come
      yield* echo(connection, { replay: "never" })
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("whoever waits when they become slow is told", () =>
    Effect.gen(function*() {
      const { connection } = yield* afterLoss(http, () => refused)
      const call = yield* forkExit(echo(connection, { replay: "never" }))
      yield* pass(7499, 500)
      assert.strictEqual((yield* Fiber.poll(call))._tag, "None")
      yield* pass(1)
      assert.strictEqual(failure(yield* Fiber.join(call))._tag, "ConnectFailed")
    }))
})

describe("a schedule of one's own", () => {
  it.scoped("says when, and how often; then uses fail until the cool-down has passed", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* afterLoss(http, () => refused, {
        reconnect: {
          schedule: Schedule.intersect(Schedule.recurs(3), Schedule.spaced("2 seconds")),
          coolDown: "10 seconds"
        }
      })
      yield* pass(10_000, 1000)
      assert.deepStrictEqual(times, [2000, 4000, 6000])
      const state = yield* connection.state
      assert(state._tag === "Failed")
      assert.strictEqual(state.retryAt, 16_000)
    }))

  it.scoped("one that never tries", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* afterLoss(http, () => undefined, { reconnect: { schedule: Schedule.stop } })
      assert.deepStrictEqual(times, [])
      assert.strictEqual(yield* tagOf(connection), "Failed")
    }))

  it.scoped("one that asks what the error was", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* afterLoss(http, (n) => n === 4 ? notFound : refused, {
        reconnect: {
          schedule: Schedule.recurWhile((error: McpError.McpError) => error._tag !== "HttpError").pipe(
            Schedule.addDelay(() => "1 second")
          )
        }
      })
      yield* pass(10_000, 1000)
      assert.deepStrictEqual(times, [1000, 2000, 3000])
      assert.strictEqual(yield* tagOf(connection), "Failed")
    }))

  it.scoped("options that make no sense are refused before anything is opened, all of them", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.asVoid(connect(http, {}, {
        reconnect: { coolDown: -1, schedule: "often" as never, stableAfter: "forever" as never }
      })))
      assert(error._tag === "ConfigInvalid")
      assert.sameMembers(error.problems.map((_) => _.field), [
        "reconnect.schedule",
        "reconnect.coolDown",
        "reconnect.stableAfter"
      ])
      for (const coolDown of [0, Infinity, "soon" as never]) {
        const error = yield* Effect.flip(Effect.asVoid(connect(http, {}, { reconnect: { coolDown } })))
        assert.strictEqual(error._tag, "ConfigInvalid")
      }
    }))
})

describe("errors that end the tries", () => {
  const finals: ReadonlyArray<McpError.McpError> = [
    new McpError.VersionMismatch({
      server: "scripted",
      operation: "initialize",
      executed: "no",
      requested: "1",
      offered: [],
      supported: []
    }),
    spawnFailed("NotFound"),
    new McpError.ConfigInvalid({ server: "scripted", operation: "open", executed: "no", problems: [] }),
    connectFailed("Tls"),
    connectFailed("BadUrl"),
    forbidden
  ]

  it.scoped("at once, with the error; the next use tries again", () =>
    Effect.gen(function*() {
      for (const final of finals) {
        let fixed = false
        const { connection, times } = yield* afterLoss(http, () => fixed ? undefined : final)
        const state = yield* connection.state
        assert(state._tag === "Failed", final._tag)
        assert.strictEqual(state.error._tag, final._tag)
        assert.strictEqual(state.retryAt, undefined)
        yield* pass(600_000)
        assert.strictEqual(times.length, 1)
        const error = yield* Effect.flip(echo(connection))
        assert.strictEqual(error._tag, final._tag)
        assert.strictEqual(times.length, 2)
        fixed = true
        yield* echo(connection)
      }
    }))

  it.scoped("others go on: SpawnFailed for want of something, ConnectFailed by name, a handshake that broke", () =>
    Effect.gen(function*() {
      for (const error of [spawnFailed("Other"), connectFailed("NameNotFound"), expired]) {
        const { connection } = yield* afterLoss(http, (n) => n === 2 ? error : undefined)
        assert.strictEqual(yield* tagOf(connection), "Reconnecting")
        yield* pass(500)
        assert.strictEqual(yield* tagOf(connection), "Ready")
      }
    }))

  it.scoped("Unauthorized asks for credentials; the next use tries again", () =>
    Effect.gen(function*() {
      const { connection, times } = yield* afterLoss(http, (n) => n < 4 ? unauthorized : undefined)
      assert.strictEqual(yield* tagOf(connection), "NeedsAuthorization")
      yield* pass(600_000)
      assert.strictEqual(times.length, 1)
      assert.strictEqual((yield* Effect.flip(echo(connection)))._tag, "Unauthorized")
      assert.strictEqual(times.length, 2)
      assert.strictEqual(yield* tagOf(connection), "NeedsAuthorization")
      yield* echo(connection)
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))

  it.scoped("a 404 for the new handshake is told at once; the next call tries again, and succeeds when the server is back", () =>
    Effect.gen(function*() {
      let gone = false
      const { connection, server } = yield* connect(http, {
        start: (n) => gone && n > 1 ? Effect.fail(notFound) : Effect.void,
        handlers: {
          "x/work": ({ session }) => session === 1 ? Effect.fail(expired) : Effect.succeed({ session })
        }
      })
      yield* ready(connection)
      gone = true
      const error = yield* Effect.flip(connection.request("x/work"))
      assert(error._tag === "HttpError")
      assert.strictEqual(error.status, 404)
      assert.strictEqual(error.operation, "x/work")
      assert.strictEqual(error.executed, "no")
      gone = false
      const call = yield* forkExit(connection.request("x/work"))
      yield* pass(500)
      assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.deepStrictEqual((yield* server.receivedOf("x/work")).map((_) => _.session), [1, 3])
    }))
})
