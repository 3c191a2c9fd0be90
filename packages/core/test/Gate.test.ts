/**
 * How many requests a session has under way at once: `SessionOptions.concurrency`, and what waits for its turn.
 * `GateSchedules.test.ts` has the same under random schedules.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { configWith } from "./configWith.js"
import { answer, failure, forkWork, hanging, macrotask, range, said, sentNumbers, tap, work } from "./gateWire.js"

describe("the gate", () => {
  it.scoped("lets as many through as it says, and the others in the order in which they came", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const wire = tap(server.channel)
      const session = yield* McpSession.open(wire.channel, { concurrency: 3 })
      const calls = yield* Effect.forEach(range(9), (n) => forkWork(session, n))
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 1, 2])
      assert.strictEqual((yield* session.stats).inFlight, 9)
      const answered = [1, 0, 3, 2, 4, 5, 6, 8, 7]
      for (const [i, n] of answered.entries()) {
        yield* answer(server, n)
        assert.deepStrictEqual(yield* sentNumbers(server), range(Math.min(9, 3 + i + 1)))
        assert.deepStrictEqual(yield* Fiber.join(calls[n]!), Exit.succeed({ n }))
      }
      assert.strictEqual(wire.most(), 3)
    }))

  it.scoped("without the option, 50 calls run concurrently", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.as(gate, "done") }] })
      const session = yield* McpSession.open(server.channel)
      const calls = yield* Effect.forEach(
        range(50),
        () => Effect.fork(McpSession.callTool(session, { name: "t", arguments: {} }))
      )
      yield* server.awaitStats((_) => _.handling === 50)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(Fiber.all(calls))).length, 50)
    }))

  it.scoped("one at a time: a tool call, a listing, a prompt and a resource read never overlap at the server", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const order: Array<string> = []
      const alone = (result: unknown): ScriptedServer.Handler => ({ method }) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++running)
            order.push(method)
          }),
          () => Effect.as(Effect.sleep("1 second"), result),
          () => Effect.sync(() => running--)
        )
      const server = yield* ScriptedServer.make({
        capabilities: { tools: {}, prompts: {}, resources: {} },
        handlers: {
          "tools/call": alone({ content: [] }),
          "tools/list": alone({ tools: [] }),
          "prompts/list": alone({ prompts: [] }),
          "prompts/get": alone({ messages: [] }),
          "resources/read": alone({ contents: [] }),
          ping: alone({})
        }
      })
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const all = yield* Effect.fork(Effect.all([
        McpSession.callTool(session, { name: "t", arguments: {} }),
        McpSession.listTools(session),
        McpSession.getPrompt(session, { name: "p" }),
        McpSession.readResource(session, "file:///r"),
        McpSession.listPrompts(session),
        McpSession.ping(session),
        McpSession.callTool(session, { name: "u", arguments: {} })
      ], { concurrency: "unbounded", discard: true }))
      for (const i of range(7)) {
        assert.strictEqual((yield* server.awaitStats((_) => _.handling === 1)).handling, 1)
        yield* macrotask
        assert.strictEqual(order.length, i + 1)
        yield* TestClock.adjust("1 second")
      }
      yield* Fiber.join(all)
      assert.deepStrictEqual(order, [
        "tools/call",
        "tools/list",
        "prompts/get",
        "resources/read",
        "prompts/list",
        "ping",
        "tools/call"
      ])
      assert.deepStrictEqual([most, running], [1, 0])
    }))

  it.scoped("the handshake takes no turn, and what follows it takes one like everything else", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ ...hanging, capabilities: { logging: {} } })
      const session = yield* McpSession.open(server.channel, { concurrency: 1, logLevel: "info" })
      assert.strictEqual((yield* session.stats).warnings.SendFailed, 1, "the level was refused, so it was asked for")
      const call = yield* forkWork(session, 0)
      yield* answer(server, 0)
      assert.deepStrictEqual(yield* Fiber.join(call), Exit.succeed({ n: 0 }))
    }))

  it.scoped("limits.inFlight counts those that wait, too", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { inFlight: 5 } })
      const server = yield* ScriptedServer.make({ ...hanging, config })
      const session = yield* McpSession.open(server.channel, { concurrency: 2 })
      const calls = yield* Effect.forEach(range(5), (n) => forkWork(session, n))
      const error = yield* Effect.flip(work(session, 5))
      assert(error._tag === "LimitExceeded" && error.limit === "inFlight" && error.max === 5)
      assert.strictEqual(error.executed, "no")
      yield* Fiber.interrupt(calls[4]!)
      calls[4] = yield* forkWork(session, 6)
      for (const n of [0, 1, 2, 3, 6]) yield* answer(server, n)
      for (const call of calls) assert(Exit.isSuccess(yield* Fiber.join(call)))
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 1, 2, 3, 6])
    }))
})

describe("whoever came first has the next turn", () => {
  it.scoped("also against one who comes at the very moment at which a turn is free", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      yield* forkWork(session, 0)
      yield* forkWork(session, 1)
      const [{ id }] = yield* server.receivedOf("x/work") as Effect.Effect<[ScriptedServer.Received]>
      // The answer, and in the same breath one more request.
      yield* Effect.fork(Effect.zipRight(server.sendRaw(ScriptedServer.result(id, {})), work(session, 2)))
      yield* macrotask
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 1])
      yield* answer(server, 1)
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 1, 2])
    }))

  it.scoped("also against one who asks again with every answer", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        handlers: {
          // The notification gives the caller a turn as early as there can be one.
          "x/work": ({ params }) =>
            Effect.succeed(ScriptedServer.before([ScriptedServer.notification("x/said")], { n: params.n })),
          "x/first": () => Effect.never
        }
      })
      const seen = { handlers: { onNotification: () => Effect.void } }
      const session = yield* McpSession.open(server.channel, { concurrency: 1, ...seen })
      const first = yield* Effect.fork(session.request("x/first"))
      yield* server.awaitReceived("x/first")
      const greedy = yield* Effect.fork(Effect.forEach(range(20), (n) => work(session, n)))
      const other = yield* Effect.fork(Effect.forEach(range(20), (n) => work(session, 100 + n)))
      yield* macrotask
      yield* Fiber.interrupt(first)
      yield* Fiber.join(greedy)
      yield* Fiber.join(other)
      assert.deepStrictEqual(yield* sentNumbers(server), range(20).flatMap((n) => [n, 100 + n]))
    }))
})

describe("the deadline of one that waits", () => {
  it.scoped("runs: it fails as not executed, and neither it nor a cancellation was sent", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ ...hanging, stderrTail: () => "busy\n" })
      const session = yield* McpSession.open(server.channel, { concurrency: 2 })
      const slow = yield* Effect.forEach([0, 1], (n) => forkWork(session, n, { timeout: null }))
      const idle = yield* forkWork(session, 2, { timeout: "1 second" })
      const total = yield* forkWork(session, 3, { timeout: null, maxTotal: "2 seconds" })
      const patient = yield* forkWork(session, 4, { timeout: null })
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* session.stats).inFlight, 5)
      yield* TestClock.adjust("1 millis")
      for (const [call, millis] of [[idle, 1000], [total, 2000]] as const) {
        const error = failure(yield* Fiber.join(call))
        assert(error._tag === "RequestTimeout")
        assert.deepStrictEqual([error.kind, error.executed, error.millis, error.operation], [
          "wait",
          "no",
          millis,
          "x/work"
        ])
        assert.isTrue(McpError.isReplayable(error))
        assert.include(error.detail, "may be at once (2)")
        assert.include(error.message, "busy")
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual((yield* session.stats).inFlight, 3)
      yield* answer(server, 0)
      yield* answer(server, 4)
      assert.deepStrictEqual(yield* Fiber.join(patient), Exit.succeed({ n: 4 }))
      assert(Exit.isSuccess(yield* Fiber.join(slow[0]!)))
      assert.deepStrictEqual(yield* said(server), ["x/work", "x/work", "x/work"])
      assert.deepStrictEqual((yield* server.stats).released, [])
    }))

  it.scoped("is not renewed by its turn: once sent, it has only what is left", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      yield* forkWork(session, 0, { timeout: null })
      const idle = yield* forkWork(session, 1, { timeout: "3 seconds" })
      yield* TestClock.adjust("2 seconds")
      yield* answer(server, 0)
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 1])
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* session.stats).inFlight, 1)
      yield* TestClock.adjust("1 millis")
      const error = failure(yield* Fiber.join(idle))
      assert(error._tag === "RequestTimeout" && error.kind === "idle" && error.executed === "maybe")
      assert.strictEqual(error.detail, undefined)
      const [, sent] = yield* server.receivedOf("x/work")
      assert.deepStrictEqual(yield* said(server), ["x/work", "x/work", `cancelled ${String(sent!.id)}`])
    }))

  it.scoped("of the one under way and of those behind it at the same moment: only the first was sent", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const calls = yield* Effect.forEach(range(4), (n) => forkWork(session, n, { timeout: "1 second" }))
      yield* TestClock.adjust("1 second")
      const kinds: Array<string> = []
      for (const call of calls) {
        const error = failure(yield* Fiber.join(call))
        assert(error._tag === "RequestTimeout")
        kinds.push(`${error.kind} ${error.executed}`)
      }
      assert.deepStrictEqual(kinds, ["idle maybe", "wait no", "wait no", "wait no"])
      const [sent] = yield* server.receivedOf("x/work")
      assert.deepStrictEqual(yield* said(server), ["x/work", `cancelled ${String(sent!.id)}`])
    }))

  for (
    const [how, end] of [
      ["times out", () => TestClock.adjust("1 second")],
      ["is interrupted", (call: Fiber.RuntimeFiber<unknown>) => Fiber.interrupt(call)]
    ] as const
  ) {
    it.scoped(`when the one under way ${how}, the server hears of it before the next request`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make(hanging)
        const session = yield* McpSession.open(server.channel, { concurrency: 1 })
        const first = yield* forkWork(session, 0, { timeout: "1 second" })
        const next = yield* forkWork(session, 1)
        yield* end(first)
        yield* answer(server, 1)
        assert.deepStrictEqual(yield* Fiber.join(next), Exit.succeed({ n: 1 }))
        const [sent] = yield* server.receivedOf("x/work")
        assert.deepStrictEqual(yield* said(server), ["x/work", `cancelled ${String(sent!.id)}`, "x/work"])
        assert.deepStrictEqual((yield* server.stats).released.map((_) => _.id), [sent!.id])
      }))
  }

  it.scoped("counts from where a connection says that the call began", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      yield* TestClock.adjust("10 seconds")
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const times = (idleFrom: number, totalFrom: number, rest: McpSession.RequestOptions & Waited = {}) => ({
        ...rest,
        waited: { idleFrom, totalFrom }
      })
      const idle = yield* forkWork(session, 0, times(9000, 0, { timeout: "3 seconds" }))
      const total = yield* forkWork(session, 1, times(10_000, 5000, { timeout: null, maxTotal: "6 seconds" }))
      yield* TestClock.adjust("1 second")
      const waited = failure(yield* Fiber.join(total))
      assert(waited._tag === "RequestTimeout" && waited.kind === "wait" && waited.millis === 6000)
      yield* TestClock.adjust("1 second")
      const gone = failure(yield* Fiber.join(idle))
      assert(gone._tag === "RequestTimeout" && gone.kind === "idle" && gone.millis === 3000)
    }))
})

/** What a connection may say beside what a caller may. */
interface Waited {
  readonly ungated?: boolean
  readonly waited?: { readonly idleFrom: number; readonly totalFrom: number }
}

const ungated: McpSession.RequestOptions & Waited = { ungated: true, timeout: "5 seconds" }

describe("what a connection has waited for", () => {
  it.scoped("a call whose time is over already is not sent, and harms no turn", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      yield* TestClock.adjust("10 seconds")
      const late: McpSession.RequestOptions & Waited = {
        timeout: "2 seconds",
        maxTotal: "9 seconds",
        waited: { idleFrom: 9000, totalFrom: 0 }
      }
      const error = failure(yield* Fiber.join(yield* forkWork(session, 0, late)))
      assert(error._tag === "RequestTimeout" && error.kind === "wait" && error.executed === "no")
      assert.strictEqual(error.millis, 9000)
      yield* forkWork(session, 1)
      assert.deepStrictEqual(yield* sentNumbers(server), [1])
    }))

  it.scoped("a bound that lets nobody through is refused", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      for (const concurrency of [0, -1, Number.NaN]) {
        const error = yield* Effect.flip(Effect.asVoid(McpSession.open(server.channel, { concurrency })))
        assert.strictEqual(error._tag, "ConfigInvalid")
      }
      assert.strictEqual((yield* server.stats).attempts, 0)
    }))
})

describe("what is not work", () => {
  it.scoped("does not count as use, and needs no room among the requests", () =>
    Effect.gen(function*() {
      const config = yield* McpConfig.decode({
        name: "scripted",
        transport: "stdio",
        command: "x",
        limits: { inFlight: 1 }
      })
      const server = yield* ScriptedServer.make({ ...hanging, config })
      const session = yield* McpSession.open(server.channel)
      yield* TestClock.adjust("5 seconds")
      const ping = yield* forkWork(session, 100, ungated)
      assert.strictEqual((yield* session.stats).quietSince, 0)
      yield* session.quiet
      yield* answer(server, 100)
      yield* Fiber.join(ping)
      assert.strictEqual((yield* session.stats).quietSince, 0)
      yield* forkWork(session, 0)
      yield* forkWork(session, 101, ungated)
      assert.deepStrictEqual(yield* sentNumbers(server), [100, 0, 101])
    }))

  it.scoped("takes no turn: it waits for none, and nobody waits for it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const pings = [yield* forkWork(session, 100, ungated), yield* forkWork(session, 101, ungated)]
      yield* forkWork(session, 0)
      yield* forkWork(session, 1)
      pings.push(yield* forkWork(session, 102, ungated))
      assert.deepStrictEqual(yield* sentNumbers(server), [100, 101, 0, 102])
      yield* answer(server, 101)
      yield* Fiber.interrupt(pings[0]!)
      yield* macrotask
      assert.deepStrictEqual(yield* sentNumbers(server), [100, 101, 0, 102])
      yield* answer(server, 0)
      assert.deepStrictEqual(yield* sentNumbers(server), [100, 101, 0, 102, 1])
      assert.strictEqual((yield* session.stats).inFlight, 2)
    }))
})

describe("one that waits", () => {
  it.scoped("and is interrupted sends nothing, and leaves the others their order", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const calls = yield* Effect.forEach(range(6), (n) => forkWork(session, n))
      for (const n of [1, 3, 5]) {
        const exit = yield* Fiber.interrupt(calls[n]!)
        assert(Exit.isInterrupted(exit))
      }
      assert.strictEqual((yield* session.stats).inFlight, 3)
      for (const n of [0, 2, 4]) {
        yield* answer(server, n)
        assert.deepStrictEqual(yield* Fiber.join(calls[n]!), Exit.succeed({ n }))
      }
      assert.deepStrictEqual(yield* said(server), ["x/work", "x/work", "x/work"])
      assert.deepStrictEqual((yield* server.stats).released, [])
    }))

  it.scoped("and is interrupted together with the one under way was never sent", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      const both = yield* Effect.fork(Effect.all([work(session, 0), work(session, 1)], { concurrency: 2 }))
      const { id } = yield* server.awaitReceived("x/work")
      yield* macrotask
      yield* Fiber.interrupt(both)
      yield* macrotask
      assert.deepStrictEqual(yield* said(server), ["x/work", `cancelled ${String(id)}`])
      yield* session.quiet
      const after = yield* Effect.forEach([2, 3], (n) => forkWork(session, n))
      assert.deepStrictEqual(yield* sentNumbers(server), [0, 2])
      yield* answer(server, 2)
      yield* answer(server, 3)
      for (const call of after) assert(Exit.isSuccess(yield* Fiber.join(call)))
    }))

  it.scoped("is not answered by a server that lies about ids", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make(hanging)
      const session = yield* McpSession.open(server.channel, { concurrency: 1 })
      yield* forkWork(session, 0)
      const next = yield* forkWork(session, 1, { timeout: "2 seconds" })
      const [sent] = yield* server.receivedOf("x/work")
      const unsent = Number(sent!.id) + 1
      yield* TestClock.adjust("1 second")
      yield* server.sendRaw(
        ScriptedServer.result(unsent, { n: "forged" }),
        ScriptedServer.result(String(unsent), { n: "forged" }),
        { jsonrpc: "2.0", id: unsent },
        ScriptedServer.notification("notifications/progress", { progressToken: unsent, progress: 1 })
      )
      yield* macrotask
      const { inFlight, warnings } = yield* session.stats
      assert.deepStrictEqual([inFlight, warnings.UnknownResponse, warnings.NotJsonRpc], [2, 2, 1])
      assert.strictEqual(warnings.UnknownProgress, 1)
      yield* TestClock.adjust("1 second")
      const error = failure(yield* Fiber.join(next))
      assert(error._tag === "RequestTimeout" && error.kind === "wait", "progress has not renewed its deadline")
    }))

  for (
    const [how, end] of [
      ["the wire breaks", (server: ScriptedServer.ScriptedServer) => server.disconnect()],
      ["it is closed", (_: ScriptedServer.ScriptedServer, scope: Scope.CloseableScope) => Scope.close(scope, Exit.void)]
    ] as const
  ) {
    it.effect(`S11: when the session ends because ${how}, it was not executed; what was under way may have been`, () =>
      Effect.gen(function*() {
        const server = yield* ScriptedServer.make(hanging)
        const scope = yield* Scope.make()
        const session = yield* Scope.extend(McpSession.open(server.channel, { concurrency: 2 }), scope)
        const calls = yield* Effect.forEach(range(5), (n) => forkWork(session, n))
        yield* end(server, scope)
        const executed: Array<string> = []
        for (const call of calls) {
          const error = failure(yield* Fiber.join(call))
          assert(error._tag === "ConnectionClosed" && error.operation === "x/work")
          executed.push(error.executed)
        }
        assert.deepStrictEqual(executed, ["maybe", "maybe", "no", "no", "no"])
        yield* macrotask
        assert.deepStrictEqual(yield* said(server), ["x/work", "x/work"])
        assert.strictEqual((yield* session.stats).inFlight, 0)
        yield* session.quiet
        yield* Scope.close(scope, Exit.void)
      }))
  }
})

describe("a burst", () => {
  const many = 5000
  const lost = (executed: McpError.Executed) =>
    new McpError.ConnectFailed({
      server: "scripted",
      operation: "send",
      executed,
      reason: "Refused",
      url: "http://h/",
      detail: "no"
    })

  for (const concurrency of [1, 100]) {
    for (
      const [what, outcome, tag] of [
        ["of failures inside of send", Effect.fail(lost("no")), "ConnectFailed"],
        ["of answers inside of send", Effect.succeed({}), undefined]
      ] as const
    ) {
      it.scoped(`${what}, ${concurrency} at a time with ${many} waiting, loses none and overflows nothing`, () =>
        Effect.gen(function*() {
          const config = yield* configWith({ limits: { inFlight: many * 2 }, timeouts: { request: null } })
          const server = yield* ScriptedServer.make({
            config,
            reaction: "insideSend",
            handlers: { "x/work": () => outcome, "x/first": () => Effect.never }
          })
          const wire = tap(server.channel)
          const session = yield* McpSession.open(wire.channel, { concurrency })
          const first = yield* Effect.forEach(
            range(concurrency),
            () => Effect.fork(Effect.exit(session.request("x/first")))
          )
          yield* server.awaitStats((_) => _.handling === concurrency)
          const tally = new Map<string | undefined, number>()
          const calls = yield* Effect.fork(Effect.forEach(
            range(many),
            (n) =>
              Effect.exit(work(session, n)).pipe(
                Effect.map((exit) => {
                  const how = Exit.isSuccess(exit) ? undefined : failure(exit)._tag
                  tally.set(how, (tally.get(how) ?? 0) + 1)
                })
              ),
            { concurrency: "unbounded", discard: true }
          ))
          yield* Effect.repeat(macrotask, {
            until: () => Effect.map(session.stats, (_) => _.inFlight === many + concurrency),
            times: 1000
          })
          assert.strictEqual((yield* session.stats).inFlight, many + concurrency)
          const [{ id }] = yield* server.receivedOf("x/first") as Effect.Effect<[ScriptedServer.Received]>
          yield* server.failRequest(id as number, lost("no"))
          yield* Fiber.join(calls)
          assert.deepStrictEqual([...tally], [[tag, many]])
          assert.deepStrictEqual(yield* sentNumbers(server), range(many))
          assert.isAtMost(wire.most(), concurrency)
          assert.strictEqual((yield* session.stats).inFlight, concurrency - 1)
          yield* Fiber.interruptAll(first)
        }))
    }
  }

  it.scoped("of which one ends the session: those not yet sent are told so", () =>
    Effect.gen(function*() {
      let handled = 0
      const server = yield* ScriptedServer.make({
        reaction: "insideSend",
        handlers: {
          "x/work": (_, peer) =>
            Effect.suspend(() => ++handled === 10 ? peer.disconnect() : Effect.void).pipe(
              Effect.zipRight(handled > 10 ? Effect.never : Effect.fail(lost("maybe")))
            ),
          "x/first": () => Effect.never
        }
      })
      const wire = tap(server.channel)
      const session = yield* McpSession.open(wire.channel, { concurrency: 1 })
      yield* Effect.fork(session.request("x/first"))
      const { id } = yield* server.awaitReceived("x/first")
      const calls = yield* Effect.forEach(range(1000), (n) => Effect.fork(Effect.exit(work(session, n))))
      yield* macrotask
      yield* server.failRequest(id as number, lost("maybe"))
      const counts: Record<string, number> = {}
      for (const call of calls) {
        const error = failure(yield* Fiber.join(call))
        const key = `${error._tag} ${error.executed}`
        counts[key] = (counts[key] ?? 0) + 1
      }
      assert.deepStrictEqual(counts, {
        "ConnectFailed maybe": 9,
        "ConnectionClosed maybe": 1,
        "ConnectionClosed no": 990
      })
      yield* macrotask
      assert.strictEqual(wire.sent.length, 11, "nothing is handed to a wire that has ended")
    }))
})
