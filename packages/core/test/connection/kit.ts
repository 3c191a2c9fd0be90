/**
 * What the tests of the owner of a connection share: servers of each kind, the errors they fail with, and what a connection
 * showed of itself.
 */
import { assert } from "@effect/vitest"
import { McpConfig, McpConnection, McpError, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Stream, TestClock } from "effect"
import { macrotask } from "../gateWire.js"

export const stdio = { transport: "stdio", command: "server" } as const
export const http = { transport: "http", url: "http://127.0.0.1:1/mcp" } as const
export const inMemory = { transport: "inMemory", server: () => undefined } as const

/** A scripted server with this configuration, and a connection to it. */
export const connect = (
  config: object,
  script: ScriptedServer.Options = {},
  options?: McpConnection.ConnectionOptions,
  through: (channel: McpTransport.Channel) => McpTransport.Channel = (channel) => channel
) =>
  Effect.gen(function*() {
    const decoded = yield* McpConfig.decodeUnknown({ name: "scripted", ...config })
    const server = yield* ScriptedServer.make({ ...script, config: decoded })
    const connection = yield* McpConnection.fromChannel(through(server.channel), options)
    return { server, connection }
  })

const common = { server: "scripted", operation: "open", executed: "no" } as const

export const expired = new McpError.SessionExpired({ ...common, operation: "x", status: 404 })
export const unauthorized = new McpError.Unauthorized(common)
export const forbidden = new McpError.Forbidden({ ...common, body: "" })
export const connectFailed = (reason: McpError.ConnectFailed["reason"]) =>
  new McpError.ConnectFailed({ ...common, reason, url: "http://127.0.0.1:1", detail: `it is ${reason}` })
export const refused = connectFailed("Refused")
export const notFound = new McpError.HttpError({ ...common, status: 404, body: "Not Found" })
export const spawnFailed = (reason: McpError.SpawnFailed["reason"]) =>
  new McpError.SpawnFailed({ ...common, reason, command: "server", detail: `it is ${reason}` })

/** Everything has happened that needs no time. */
export const settled = Effect.repeatN(macrotask, 4)

/** What the connection shows from here on. */
export const record = (connection: McpConnection.McpConnection) =>
  Effect.gen(function*() {
    const states: Array<McpConnection.ConnectionState> = []
    yield* Effect.forkScoped(
      Stream.runForEach(connection.changes, (state) => Effect.sync(() => void states.push(state)))
    )
    yield* settled
    return states
  })

export const tags = (states: ReadonlyArray<McpConnection.ConnectionState>) => states.map((_) => _._tag)

export const tagOf = (connection: McpConnection.McpConnection) => Effect.map(connection.state, (_) => _._tag)

export const echo = (connection: McpConnection.McpConnection, options?: McpConnection.CallOptions) =>
  Effect.asVoid(McpConnection.callTool(connection, { name: "echo" }, options))

export const ready = (connection: McpConnection.McpConnection) => Effect.asVoid(connection.awaitReady)

/** The error it fails with. */
export const failure = <A, E>(exit: Exit.Exit<A, E>): E => {
  assert(Exit.isFailure(exit) && exit.cause._tag === "Fail", "it should have failed")
  return exit.cause.error
}

/** How it ends, as a fiber: it does not hold what it succeeds with. */
export const forkExit = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tap(Effect.fork(Effect.exit(Effect.asVoid(effect))), () => settled)

/** When each try began, from here on: the time of the clock. */
export const tryTimes = () => {
  const times: Array<number> = []
  const note = Effect.map(Effect.clock, (clock) => void times.push(clock.unsafeCurrentTimeMillis()))
  return { times, note }
}

/** Time passes in steps, so that whatever happens in between has its own moment. */
export const pass = (millis: number, step: number = millis) =>
  Effect.gen(function*() {
    for (let left = millis; left > 0; left -= step) yield* TestClock.adjust(Math.min(step, left))
    yield* settled
  })
