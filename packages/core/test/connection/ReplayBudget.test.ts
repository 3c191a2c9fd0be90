/**
 * One budget for everything that one call goes through, and failures that have several reasons.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Effect, Exit, FastCheck, Fiber, TestClock } from "effect"
import {
  closed,
  config,
  connectFailed,
  errorOf,
  expired,
  http,
  lost,
  openAi,
  policy,
  replays,
  run,
  tagOf,
  timedOut,
  timeouts,
  unauthorized,
  untilDone
} from "./replayKit.js"

const outcome = FastCheck.constantFrom(
  "expired",
  "expired",
  "connect",
  "503",
  "429",
  "lost",
  "hang",
  "disconnect",
  "exit",
  "error",
  "ok"
)

const opening = FastCheck.constantFrom("ok", "ok", "ok", "connect", "hang", "silent", "refused", "500")

const script = FastCheck.record({
  replays: FastCheck.constantFrom(0, 1, 2, 3, 4, 5, "unlimited" as const),
  isolated: FastCheck.boolean(),
  idle: FastCheck.boolean(),
  serial: FastCheck.boolean(),
  replay: FastCheck.constantFrom("always" as const, "always" as const, "auto" as const),
  openings: FastCheck.array(opening, { maxLength: 12 }),
  calls: FastCheck.array(FastCheck.array(outcome, { maxLength: 10 }), { minLength: 1, maxLength: 3 })
})

const limited = http(429, "no", 1500)

const total = 40_000

describe("the budget", () => {
  it.scoped.prop(
    "of N replays is never more than N + 1 executions, whatever fails, and each call ends once",
    [script],
    ([{ calls, idle, isolated, openings, replay, replays, serial }]) =>
      Effect.gen(function*() {
        const sent = calls.map(() => 0)
        let mayHaveRun = calls.map(() => false)
        const begin = (n: number) => openings[n - 1] ?? "ok"
        const server = yield* ScriptedServer.make({
          config: config({
            recovery: isolated ? "isolated" : "shared",
            concurrency: serial ? "serial" : "unbounded",
            timeouts: timeouts({ request: 1000, handshake: 2000 }),
            ...(idle && { lifetime: { idle: timeouts({ request: 700 }).request! } })
          }),
          start: (n) =>
            begin(n) === "connect"
              ? Effect.fail(connectFailed())
              : begin(n) === "refused"
              ? Effect.fail(unauthorized)
              : begin(n) === "hang"
              ? Effect.never
              : Effect.void,
          accept: ({ method, session }) =>
            method !== "initialize"
              ? Effect.void
              : begin(session) === "silent"
              ? Effect.never
              : begin(session) === "500"
              ? Effect.fail(http(500))
              : Effect.void,
          handlers: {
            "tools/call": ({ params }, peer) => {
              const which = Number(params.name)
              const time = sent[which]!++
              const end = calls[which]![time] ?? "hang"
              if (end !== "expired" && end !== "connect" && end !== "429") {
                mayHaveRun = mayHaveRun.map((_, i) => _ || i === which)
              }
              switch (end) {
                case "expired":
                  return Effect.fail(expired)
                case "connect":
                  return Effect.fail(connectFailed())
                case "503":
                  return Effect.fail(http(503))
                case "429":
                  return Effect.fail(limited)
                case "lost":
                  return Effect.fail(lost)
                case "hang":
                  return Effect.never
                case "disconnect":
                  return Effect.zipRight(peer.disconnect(closed("StreamLost")), Effect.never)
                case "exit":
                  return Effect.delay(Effect.zipRight(peer.disconnect(), Effect.never), 300)
                case "error":
                  return Effect.fail(new ScriptedServer.RpcError({ code: -32000, message: "no" }))
                default:
                  return Effect.succeed({ content: [], structuredContent: { time } })
              }
            }
          }
        })
        const connection = yield* McpConnection.fromChannel(server.channel)
        const retry = policy({ replays, base: 200, cap: 3000 })
        let ends = 0
        const fibers = yield* Effect.forEach(calls, (_, i) =>
          McpConnection.callTool(connection, { name: String(i) }, { replay, retry, maxTotal: total }).pipe(
            Effect.onExit(() =>
              Effect.sync(() => ends++)
            ),
            Effect.fork
          ))
        const began = yield* TestClock.currentTimeMillis
        for (const [i, fiber] of fibers.entries()) {
          const exit = yield* untilDone(fiber)
          const runs = sent[i]!
          if (replays !== "unlimited") assert.isAtMost(runs, replays + 1)
          if (Exit.isSuccess(exit)) {
            assert.deepStrictEqual(exit.value.structuredContent, { time: runs - 1 }, "the last one's result")
          } else {
            assert.isFalse(Cause.isInterrupted(exit.cause), "nobody has interrupted it")
            const error = errorOf(exit)
            if (mayHaveRun[i]!) assert.notStrictEqual(error.executed, "no", `${error._tag} after it may have run`)
            if (replay === "auto") {
              const fatal = calls[i]!.slice(0, Math.max(0, runs - 1)).filter((_) =>
                !["expired", "connect", "429"].includes(_)
              )
              assert.deepStrictEqual(fatal, [], "what may have run was not sent again")
            }
          }
        }
        assert.isAtMost((yield* TestClock.currentTimeMillis) - began, total)
        assert.strictEqual(ends, calls.length)
        const all = sent.reduce((a, b) => a + b, 0)
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(sent.reduce((a, b) => a + b, 0), all, "nothing is sent after the end")
        assert.isAtMost((yield* server.stats).live.length, 1, "no session of a single call is left")
      }),
    { fastCheck: { numRuns: 120 } }
  )

  it.scoped("a session that expires is paid from it", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(expired) }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, { retry: policy({ replays: 0 }) }))
      assert.strictEqual(tagOf(exit), "SessionExpired")
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 1)
    }))

  it.scoped("a policy that does not accept an error ends the call", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(connectFailed()) }] })
      const connection = yield* McpConnection.fromChannel(server.channel, {
        retry: policy({ when: (error) => error._tag === "HttpError" })
      })
      assert.strictEqual(tagOf(yield* run(McpConnection.callTool(connection, { name: "t" }))), "ConnectFailed")
      assert.strictEqual(yield* replays(connection), 0)
    }))

  it.scoped("a policy that accepts an error for good does not make it safe", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(http(404)) }] })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: policy({ when: () => true }) })
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }))
      assert.strictEqual(tagOf(exit), "OutcomeUnknown(HttpError)")
      assert.strictEqual(yield* replays(connection), 0)
    }))

  it.scoped("the policy of a call wins over that of its connection", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.fail(connectFailed()) }] })
      const connection = yield* McpConnection.fromChannel(server.channel, { retry: policy({ replays: 0 }) })
      yield* run(McpConnection.callTool(connection, { name: "t" }, { retry: openAi(2) }))
      assert.strictEqual(yield* replays(connection), 2)
    }))
})

type Failing = Cause.Cause<McpError.McpError>

const both = (a: Failing, b: Failing): ReadonlyArray<Failing> => [
  Cause.parallel(a, b),
  Cause.parallel(b, a),
  Cause.sequential(a, b),
  Cause.sequential(Cause.parallel(a, Cause.sequential(b, a)), Cause.empty)
]

describe("a failure with several reasons", () => {
  const once = (
    connection: McpConnection.McpConnection,
    cause: Failing,
    options: Partial<McpConnection.Operation<void>>
  ) =>
    Effect.gen(function*() {
      let sends = 0
      const exit = yield* run(connection.perform({
        method: "x/raw",
        ...options,
        send: () => Effect.suspend(() => ++sends === 1 ? Effect.failCause(cause) : Effect.void)
      }))
      return { sends, exit }
    })

  const made = Effect.flatMap(ScriptedServer.make(), (_) => McpConnection.fromChannel(_.channel))

  it.scoped("is replayed if each of them may be", () =>
    Effect.gen(function*() {
      const connection = yield* made
      for (const cause of both(Cause.fail(connectFailed()), Cause.fail(http(503, "no")))) {
        assert.deepStrictEqual(yield* once(connection, cause, {}), { sends: 2, exit: Exit.void })
      }
      for (const cause of both(Cause.fail(lost), Cause.fail(http(503)))) {
        assert.strictEqual((yield* once(connection, cause, {})).sends, 1)
        assert.strictEqual((yield* once(connection, cause, { idempotent: true })).sends, 2)
        assert.strictEqual((yield* once(connection, cause, { options: { replay: "always" } })).sends, 2)
      }
    }))

  for (const other of [http(404, "no"), unauthorized, closed("Overflow"), lost, timedOut]) {
    it.scoped(`is not replayed when one of them may not be: ${other._tag}`, () =>
      Effect.gen(function*() {
        const connection = yield* made
        for (const cause of both(Cause.fail(connectFailed()), Cause.fail(other))) {
          const { exit, sends } = yield* once(connection, cause, {})
          assert.strictEqual(sends, 1)
          if (Exit.isSuccess(exit)) return assert.fail()
          const seen = [...Cause.failures(exit.cause)].map((_) => _._tag)
          assert.include(seen, "ConnectFailed")
          assert.include(seen, other.executed === "maybe" ? "OutcomeUnknown" : other._tag)
        }
      }))
  }

  const interrupt = Cause.interrupt(Fiber.id(Fiber.never))
  for (const [name, other] of [["an interruption", interrupt], ["a defect", Cause.die("bug")]] as const) {
    it.scoped(`with ${name} in it is never replayed, and stays what it is`, () =>
      Effect.gen(function*() {
        const connection = yield* made
        for (const cause of [other, ...both(Cause.fail(connectFailed()), other)]) {
          for (const replay of ["auto", "always"] as const) {
            const { exit, sends } = yield* once(connection, cause, { idempotent: true, options: { replay } })
            assert.strictEqual(sends, 1)
            if (Exit.isSuccess(exit)) return assert.fail()
            assert.strictEqual(Cause.isInterrupted(exit.cause), Cause.isInterrupted(cause))
            assert.deepStrictEqual([...Cause.defects(exit.cause)], [...Cause.defects(cause)])
          }
        }
      }))
  }

  it.scoped("what throws instead of failing is a defect of the application", () =>
    Effect.gen(function*() {
      const connection = yield* made
      let sends = 0
      const exit = yield* run(connection.perform({
        method: "tools/list",
        send: () => {
          sends++
          throw new Error("bug")
        }
      }))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.strictEqual(sends, 1)
    }))

  it.scoped("several expired sessions are one renewal", () =>
    Effect.gen(function*() {
      const connection = yield* made
      const { exit, sends } = yield* once(connection, Cause.parallel(Cause.fail(expired), Cause.fail(expired)), {})
      assert.deepStrictEqual([sends, tagOf(exit)], [2, "ok"])
      assert.strictEqual((yield* connection.stats).sessions, 2)
      assert.strictEqual(yield* TestClock.currentTimeMillis, 0)
    }))

  it.scoped("all of them are told to the caller, each with what is known of its execution", () =>
    Effect.gen(function*() {
      const connection = yield* made
      const { exit } = yield* once(connection, Cause.parallel(Cause.fail(lost), Cause.fail(connectFailed("Tls"))), {})
      if (Exit.isSuccess(exit)) return assert.fail()
      const told = [...Cause.failures(exit.cause)].map((_) => [_._tag, _.executed])
      assert.deepStrictEqual(told, [["OutcomeUnknown", "maybe"], ["ConnectFailed", "no"]])
      assert.isTrue([...Cause.failures(exit.cause)].every(McpError.isMcpError))
    }))
})
