/**
 * How many requests are under way at once over all sessions that share a `RequestLimit`, and whose turn it is.
 * `TurnstileSchedules.test.ts` has the same under random schedules.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError, McpSession, RequestLimit } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { configWith } from "./configWith.js"
import { failure, forkWork, hanging, macrotask, range, said, sentNumbers, work } from "./gateWire.js"
import { answerTo, peer, recording } from "./turnstileWire.js"

interface Ours {
  readonly ungated?: boolean
  readonly unattended?: boolean
}

describe("the turns over all sessions", () => {
  it.scoped("go round: who has had one and wants another waits for all who were there before", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(2)
      const order: Array<string> = []
      const a = yield* peer("a", { requests: turns, concurrency: 2 }, order)
      const b = yield* peer("b", { requests: turns }, order)
      const c = yield* peer("c", { requests: turns }, order)
      for (const n of [1, 2, 3, 4]) yield* forkWork(a.session, n)
      for (const n of [1, 2]) yield* forkWork(b.session, n)
      yield* forkWork(c.session, 1)
      assert.deepStrictEqual(order, ["a1", "a2"])
      for (const [who, n] of [[a, 1], [a, 2], [b, 1], [c, 1], [a, 3]] as const) yield* answerTo(who.server, n)
      // The third of `a` had to wait for the first, so that it came after `b` and `c`.
      assert.deepStrictEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"])
    }))

  it.scoped("go round from whoever came first, where it waits for nothing else", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(2)
      const order: Array<string> = []
      const a = yield* peer("a", { requests: turns }, order)
      const b = yield* peer("b", { requests: turns }, order)
      const c = yield* peer("c", { requests: turns }, order)
      for (const n of [1, 2, 3, 4, 5]) yield* forkWork(a.session, n)
      for (const n of [1, 2]) yield* forkWork(b.session, n)
      yield* forkWork(c.session, 1)
      const answers = [[a, 1], [a, 2], [a, 3], [b, 1], [c, 1], [a, 4]] as const
      for (const [who, n] of answers) yield* answerTo(who.server, n)
      assert.deepStrictEqual(order, ["a1", "a2", "a3", "b1", "c1", "a4", "b2", "a5"])
    }))

  it.scoped("several that become free at once go to as many sessions", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(3)
      const order: Array<string> = []
      const a = yield* peer("a", { requests: turns }, order)
      const b = yield* peer("b", { requests: turns }, order)
      const c = yield* peer("c", { requests: turns }, order)
      for (const n of range(9)) yield* forkWork(a.session, n)
      for (const n of range(3)) yield* forkWork(b.session, n)
      for (const n of range(3)) yield* forkWork(c.session, n)
      const sent = yield* a.server.receivedOf("x/work")
      yield* a.server.sendRaw(...sent.map(({ id }) => ScriptedServer.result(id!, {})))
      yield* macrotask
      assert.deepStrictEqual(order, ["a0", "a1", "a2", "a3", "b0", "c0"])
    }))

  it.scoped("nobody is kept waiting by a server that is asked without end", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const order: Array<string> = []
      const busy = yield* peer("a", { requests: turns }, order, { handlers: { "x/work": () => Effect.succeed({}) } })
      const calm = yield* peer("b", { requests: turns }, order, { handlers: { "x/work": () => Effect.succeed({}) } })
      const flood = yield* Effect.fork(Effect.forEach(range(1000), (n) => work(busy.session, n), { concurrency: 10 }))
      yield* busy.server.awaitReceived("x/work")
      yield* work(calm.session, 1)
      assert.isAtMost(order.indexOf("b1"), 40)
      yield* Fiber.interrupt(flood)
    }))

  it.scoped("the sessions over one channel have one place in the round", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const order: Array<string> = []
      const server = yield* ScriptedServer.make(hanging)
      const channel = recording(server.channel, (n) => order.push(`a${String(n)}`))
      const [one, two] = yield* Effect.all([
        McpSession.open(channel, { requests: turns }),
        McpSession.open(channel, { requests: turns })
      ])
      const other = yield* peer("b", { requests: turns }, order)
      for (const n of range(3)) yield* forkWork(one, n)
      for (const n of [10, 11]) yield* forkWork(two, n)
      for (const n of range(3)) yield* forkWork(other.session, n)
      for (const next of ["a0", "a1", "b0", "a10", "b1", "a2", "b2", "a11"]) {
        assert.strictEqual(order.at(-1), next)
        const n = Number(next.slice(1))
        if (next.startsWith("b")) yield* answerTo(other.server, n)
        else yield* answerTo(server, n, yield* server.session(n < 10 ? 1 : 2))
      }
    }))

  it.scoped("and share it: of several permits at once, one has no more than the other", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(2)
      const order: Array<string> = []
      const hung = yield* peer("b", { requests: turns }, order)
      const server = yield* ScriptedServer.make(hanging)
      const channel = recording(server.channel, (n) => order.push(`a${String(n)}`))
      const [one, two] = yield* Effect.all([
        McpSession.open(channel, { requests: turns }),
        McpSession.open(channel, { requests: turns })
      ])
      for (const n of [0, 1]) yield* forkWork(hung.session, n)
      for (const n of [0, 1]) yield* forkWork(one, n)
      for (const n of [10, 11]) yield* forkWork(two, n)
      yield* hung.server.disconnect()
      yield* macrotask
      assert.deepStrictEqual(order, ["b0", "b1", "a0", "a10"])
    }))

  for (const reaction of ["later", "insideSend"] as const) {
    it.scoped(`200 sessions with 50 requests each, answered ${reaction}: none is lost, and nothing overflows`, () =>
      Effect.gen(function*() {
        const turns = yield* RequestLimit.make(3)
        const order: Array<string> = []
        const script = { reaction, handlers: { "x/work": () => Effect.succeed({}) } }
        const peers = yield* Effect.forEach(range(200), (i) => peer(`${i} `, { requests: turns }, order, script))
        yield* Effect.forEach(
          peers,
          ({ session }) => Effect.forEach(range(50), (n) => work(session, n), { concurrency: "unbounded" }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(order.length, 10_000)
      }))

    it.scoped(`10 000 requests of one session, answered ${reaction}`, () =>
      Effect.gen(function*() {
        const turns = yield* RequestLimit.make(1)
        const order: Array<string> = []
        const script = { reaction, handlers: { "x/work": () => Effect.succeed({}) } }
        const config = yield* configWith({ limits: { inFlight: 20_000 } })
        const { session } = yield* peer("a", { requests: turns }, order, { ...script, config })
        yield* Effect.forEach(range(10_000), (n) => work(session, n), { concurrency: "unbounded", discard: true })
        assert.deepStrictEqual(order, range(10_000).map((n) => `a${n}`))
      }))
  }
})

describe("a permit", () => {
  it.scoped("is taken only by what is sent: 50 calls that wait for a serial server keep nobody waiting", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(2)
      const order: Array<string> = []
      const serial = yield* peer("a", { requests: turns, concurrency: 1 }, order)
      const quick = yield* peer("b", { requests: turns, concurrency: 1 }, order, {
        handlers: { "x/work": () => Effect.succeed({}) }
      })
      for (const n of range(50)) yield* forkWork(serial.session, n)
      yield* Effect.forEach(range(100), (n) => work(quick.session, n), { concurrency: 5 })
      assert.deepStrictEqual(order, ["a0", ...range(100).map((n) => `b${n}`)])
    }))

  it.scoped("is kept by a server that hangs until its deadlines, and then comes back", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(3)
      const order: Array<string> = []
      const hung = yield* peer("a", { requests: turns }, order)
      const other = yield* peer("b", { requests: turns }, order)
      for (const n of range(3)) yield* forkWork(hung.session, n, { timeout: "2 seconds" })
      const short = yield* forkWork(other.session, 0, { timeout: "1 second" })
      for (const n of [1, 2, 3, 4]) yield* forkWork(other.session, n, { timeout: null })
      yield* TestClock.adjust("1 second")
      const error = failure(yield* Fiber.join(short))
      assert(error._tag === "RequestTimeout" && error.kind === "wait" && error.executed === "no")
      assert.strictEqual(
        error.detail,
        "as many other requests were under way over all servers as may be at once (3)"
      )
      assert.isTrue(McpError.isReplayable(error))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(order, ["a0", "a1", "a2"])
      yield* TestClock.adjust("1 millis")
      yield* macrotask
      assert.deepStrictEqual(order, ["a0", "a1", "a2", "b1", "b2", "b3"])
      assert.strictEqual((yield* hung.server.receivedOf("notifications/cancelled")).length, 3)
    }))

  it.scoped("is not what one waits for whose own session has no turn: the deadline says so", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(2)
      const { session } = yield* peer("a", { requests: turns, concurrency: 1 }, [])
      yield* forkWork(session, 0, { timeout: "1 second" })
      const waiting = yield* forkWork(session, 1, { timeout: "1 second" })
      yield* TestClock.adjust("1 second")
      const error = failure(yield* Fiber.join(waiting))
      assert(error._tag === "RequestTimeout" && error.kind === "wait")
      assert.strictEqual(error.detail, "as many other requests were under way as may be at once (1)")
    }))

  it.scoped("is not needed by a ping, an opening, and what nobody waits for", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const order: Array<string> = []
      const hung = yield* peer("a", { requests: turns }, order)
      yield* forkWork(hung.session, 0)
      const { server, session } = yield* peer("b", { requests: turns, logLevel: "info" }, order, {
        capabilities: { logging: {}, tools: {} },
        handlers: { "x/work": () => Effect.never, "logging/setLevel": () => Effect.succeed({}) }
      })
      yield* McpSession.ping(session, { ungated: true } as McpSession.RequestOptions & Ours)
      yield* McpSession.listTools(session, { unattended: true } as McpSession.RequestOptions & Ours)
      assert.deepStrictEqual(yield* said(server), ["logging/setLevel", "ping", "tools/list"])
      yield* forkWork(session, 0)
      assert.deepStrictEqual(order, ["a0"])
      yield* answerTo(hung.server, 0)
      assert.deepStrictEqual(order, ["a0", "b0"])
    }))

  it.scoped("that is not needed is not waited for once what came before it has gone", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const hung = yield* peer("a", { requests: turns }, [])
      yield* forkWork(hung.session, 0)
      const { server, session } = yield* peer("b", { requests: turns }, [])
      const first = yield* forkWork(session, 0)
      const listing = yield* Effect.fork(
        McpSession.listTools(session, { unattended: true } as McpSession.RequestOptions & Ours)
      )
      yield* macrotask
      assert.deepStrictEqual(yield* said(server), [], "the order of a session holds")
      yield* Fiber.interrupt(first)
      yield* Fiber.join(listing)
      assert.deepStrictEqual(yield* said(server), ["tools/list"])
    }))

  for (
    const [how, end] of [
      ["times out", () => TestClock.adjust("1 second")],
      ["is interrupted", (call: Fiber.RuntimeFiber<unknown>) => Fiber.interrupt(call)]
    ] as const
  ) {
    it.scoped(`of a request that ${how} is handed on after its server was told`, () =>
      Effect.gen(function*() {
        const turns = yield* RequestLimit.make(1)
        const server = yield* ScriptedServer.make(hanging)
        const both = (n: number) => McpSession.open(server.channel, { requests: turns, generation: n })
        const [one, two] = yield* Effect.all([both(1), both(2)])
        const first = yield* forkWork(one, 0, { timeout: "1 second" })
        yield* forkWork(two, 1)
        yield* end(first)
        yield* macrotask
        const [sent] = yield* server.receivedOf("x/work")
        assert.deepStrictEqual(yield* said(server), ["x/work", `cancelled ${String(sent!.id)}`, "x/work"])
      }))
  }

  it.scoped("that one waits for is not lost with it: the next in the round gets it", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const order: Array<string> = []
      const a = yield* peer("a", { requests: turns }, order)
      const b = yield* peer("b", { requests: turns }, order)
      const c = yield* peer("c", { requests: turns }, order)
      yield* forkWork(a.session, 0)
      const gone = [yield* forkWork(b.session, 0), yield* forkWork(b.session, 1)]
      yield* forkWork(c.session, 0)
      yield* Fiber.interruptAll(gone)
      yield* macrotask
      // It has given up its place, and comes after the other now.
      yield* forkWork(b.session, 2)
      yield* answerTo(a.server, 0)
      assert.deepStrictEqual(order, ["a0", "c0"])
      yield* answerTo(c.server, 0)
      assert.deepStrictEqual(order, ["a0", "c0", "b2"])
    }))

  it.scoped("that a session has no turn for goes on to others, and comes when there is a turn", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const order: Array<string> = []
      const a = yield* peer("a", { requests: turns }, order)
      const b = yield* peer("b", { requests: turns, concurrency: 1 }, order)
      const c = yield* peer("c", { requests: turns }, order)
      yield* forkWork(a.session, 0)
      const first = yield* forkWork(b.session, 0)
      yield* forkWork(b.session, 1, { unattended: true } as McpSession.RequestOptions & Ours)
      yield* forkWork(b.session, 2)
      yield* Fiber.interrupt(first)
      yield* macrotask
      assert.deepStrictEqual(order, ["a0", "b1"])
      yield* answerTo(a.server, 0)
      yield* forkWork(c.session, 0)
      assert.deepStrictEqual(order, ["a0", "b1", "c0"])
      yield* answerTo(b.server, 1)
      yield* answerTo(c.server, 0)
      assert.deepStrictEqual(order, ["a0", "b1", "c0", "b2"])
    }))

  const expired = new McpError.SessionExpired({ server: "a", operation: "x", executed: "no", status: 404 })

  for (
    const [how, end] of [
      ["is closed", (_: ScriptedServer.ScriptedServer, scope: Scope.CloseableScope) => Scope.close(scope, Exit.void)],
      ["is lost", (server: ScriptedServer.ScriptedServer) => server.disconnect()],
      [
        "has expired",
        (server: ScriptedServer.ScriptedServer) =>
          Effect.flatMap(
            server.receivedOf("x/work"),
            (all) => Effect.forEach(all, ({ id }) => server.failRequest(id!, expired))
          )
      ]
    ] as const
  ) {
    it.scoped(`comes back once from each request of a session that ${how}, and none from those that waited`, () =>
      Effect.gen(function*() {
        const turns = yield* RequestLimit.make(3)
        const order: Array<string> = []
        const scope = yield* Scope.make()
        const a = yield* Scope.extend(peer("a", { requests: turns, concurrency: 2 }, order), scope)
        const b = yield* peer("b", { requests: turns }, order)
        const lost = yield* Effect.forEach(range(6), (n) => forkWork(a.session, n))
        for (const n of range(6)) yield* forkWork(b.session, n)
        assert.deepStrictEqual(order, ["a0", "a1", "b0"])
        yield* Effect.asVoid(end(a.server, scope))
        yield* macrotask
        for (const call of lost) assert(Exit.isFailure(yield* Fiber.join(call)))
        assert.deepStrictEqual(order, ["a0", "a1", "b0", "b1", "b2"])
        yield* answerTo(b.server, 1)
        assert.deepStrictEqual(order, ["a0", "a1", "b0", "b1", "b2", "b3"])
        yield* Scope.close(scope, Exit.void)
      }))
  }

  it.scoped("is not taken by a call whose time was over already", () =>
    Effect.gen(function*() {
      const turns = yield* RequestLimit.make(1)
      const { server, session } = yield* peer("a", { requests: turns }, [])
      yield* TestClock.adjust("10 seconds")
      const late = { timeout: "2 seconds", waited: { idleFrom: 0, totalFrom: 0 } } as McpSession.RequestOptions
      for (const n of range(3)) {
        const error = failure(yield* Fiber.join(yield* forkWork(session, n, late)))
        assert(error._tag === "RequestTimeout" && error.detail === "there was no session in time")
      }
      yield* forkWork(session, 7)
      yield* forkWork(session, 8)
      assert.deepStrictEqual(yield* sentNumbers(server), [7])
    }))
})

describe("RequestLimit", () => {
  it.effect("is a whole number of at least 1", () =>
    Effect.gen(function*() {
      for (const permits of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3" as never]) {
        const error = yield* Effect.flip(Effect.asVoid(RequestLimit.make(permits)))
        assert.deepStrictEqual(error.problems, [
          { field: "requests", problem: "must be a whole number of at least 1" }
        ])
      }
      assert.strictEqual((yield* RequestLimit.make(7)).permits, 7)
    }))

  it.scoped("is shared by connections", () =>
    Effect.gen(function*() {
      const requests = yield* RequestLimit.make(1)
      const gate = yield* Deferred.make<void>()
      const config = yield* configWith({ name: "x" })
      const tools = [{ name: "t", call: () => Effect.as(gate, "done") }]
      const [one, two] = yield* Effect.all([
        ScriptedServer.make({ config, tools }),
        ScriptedServer.make({ config, tools })
      ])
      const calls = yield* Effect.forEach([one, two], (server) =>
        Effect.gen(function*() {
          const connection = yield* McpConnection.fromChannel(server.channel, { requests })
          yield* connection.awaitReady
          return yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
        }))
      yield* one.awaitReceived("tools/call")
      yield* macrotask
      assert.strictEqual((yield* two.receivedOf("tools/call")).length, 0)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(Fiber.all(calls))).length, 2)
    }))
})
