/**
 * What the tests of the replay rule share: errors of every kind, configurations, and a clock that goes on until a call ends.
 */
import { assert } from "@effect/vitest"
import { type McpConfig, type McpConnection, McpError, RetryPolicy } from "@mcp-runtime/core"
import type { ScriptedServer } from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Duration, Effect, Either, Exit, Fiber, Option, TestClock } from "effect"
import { macrotask } from "../gateWire.js"

export { macrotask }

const base = { server: "scripted", operation: "wire" } as const

export const expired = new McpError.SessionExpired({ ...base, executed: "no", status: 404 })

export const connectFailed = (reason: McpError.ConnectFailed["reason"] = "Refused") =>
  new McpError.ConnectFailed({ ...base, executed: "no", reason, url: "http://127.0.0.1:1/mcp", detail: "no" })

export const http = (status: number, executed: McpError.Executed = "maybe", retryAfterMillis?: number) =>
  new McpError.HttpError({
    ...base,
    executed,
    status,
    body: "",
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

export const lost = new McpError.ResponseLost({ ...base, executed: "maybe", reason: "Ended", detail: "no answer" })

export const timedOut = new McpError.RequestTimeout({ ...base, executed: "maybe", kind: "idle", millis: 1000 })

export const closed = (reason: McpError.ConnectionClosed["reason"], executed: McpError.Executed = "maybe") =>
  new McpError.ConnectionClosed({ ...base, executed, reason, detail: "the wire broke" })

export const violation = new McpError.ProtocolViolation({ ...base, executed: "maybe", detail: "not JSON" })

export const invalidResult = new McpError.InvalidResult({ ...base, executed: "yes", detail: "no content" })

export const unauthorized = new McpError.Unauthorized({ ...base, executed: "no" })

export const forbidden = new McpError.Forbidden({ ...base, executed: "no", body: "" })

export const handshakeFailed = new McpError.HandshakeFailed({ ...base, executed: "no", detail: "it said nothing" })

export const limit = new McpError.LimitExceeded({ ...base, executed: "no", limit: "inFlight", max: 1 })

export const config = (extra: Partial<McpConfig.HttpConfig> = {}): McpConfig.HttpConfig => ({
  name: "scripted",
  transport: "http",
  url: "http://127.0.0.1:1/mcp",
  ...extra
})

export const timeouts = (wishes: { readonly request?: number; readonly handshake?: number; readonly total?: number }) =>
  Object.fromEntries(Object.entries(wishes).map(([key, millis]) => [key, Duration.millis(millis)]))

/** No chance in its delays. */
export const policy = (options: RetryPolicy.Options): RetryPolicy.RetryPolicy =>
  Either.getOrThrow(RetryPolicy.make({ jitter: 0, ...options }))

export const openAi = (maxRetryAttempts: number): RetryPolicy.RetryPolicy =>
  Either.getOrThrow(RetryPolicy.openAiAgents({ maxRetryAttempts, retryBackoffSecondsBase: 1 }))

/** Lets the time go on, from one sleeper to the next, until the fiber ends; a call that never ends fails the test. */
export const untilDone = <A, E>(fiber: Fiber.RuntimeFiber<A, E>, mostSteps = 400): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function*() {
    for (let i = 0; i < mostSteps; i++) {
      yield* macrotask
      const exit = yield* Fiber.poll(fiber)
      if (Option.isSome(exit)) return exit.value
      const now = yield* TestClock.currentTimeMillis
      const next = Math.min(...[...(yield* TestClock.sleeps())].filter((_) => _ > now))
      yield* TestClock.setTime(Number.isFinite(next) ? next : now + 1000)
    }
    return assert.fail("the call does not end")
  })

/** The same for an effect. What it succeeds with is not shown. */
export const run = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.flatMap(Effect.fork(effect), untilDone)

export const errorOf = <A>(exit: Exit.Exit<A, McpError.McpError>): McpError.McpError =>
  Exit.isSuccess(exit)
    ? assert.fail("it succeeded")
    : Option.getOrElse(Cause.failureOption(exit.cause), () => assert.fail(Cause.pretty(exit.cause)))

/** `OutcomeUnknown(RequestTimeout)`, for example. */
export const tagOf = (exit: Exit.Exit<unknown, McpError.McpError>): string => {
  if (Exit.isSuccess(exit)) return "ok"
  const error = errorOf(exit)
  return error._tag === "OutcomeUnknown" ? `OutcomeUnknown(${error.error._tag})` : error._tag
}

export const countOf = (server: ScriptedServer, method: string): Effect.Effect<number> =>
  Effect.map(server.receivedOf(method), (_) => _.length)

/** In which session and when each call arrived. */
export const arrivals = (server: ScriptedServer, method = "tools/call") =>
  Effect.map(server.receivedOf(method), (_) => _.map(({ at, session }) => ({ at, session })))

export const replays = (connection: McpConnection.McpConnection) => Effect.map(connection.stats, (_) => _.replays)

/** Ends a fiber and says whether it took no time of the clock: what hangs must not hold it. */
export const interruptNow = <A, E>(fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function*() {
    yield* Fiber.interruptFork(fiber)
    yield* macrotask
    yield* macrotask
    return Option.getOrElse(yield* Fiber.poll(fiber), () => assert.fail("the interruption does not end at once"))
  })
