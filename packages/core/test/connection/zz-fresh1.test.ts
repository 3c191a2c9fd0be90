import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, McpError, McpTransport, ClientHandlers } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Layer, Schedule, Scope, Stream, TestClock } from "effect"
import { connect, echo, expired, failure, forkExit, http, pass, ready, record, refused, settled, stdio, tagOf, tags, unauthorized } from "./kit.js"

const poll = <A, E>(f: Fiber.Fiber<A, E>) => Effect.map(Fiber.poll(f), (o) => o._tag === "None" ? "PENDING" : JSON.stringify(o.value).slice(0, 600))

describe("uninterruptible callers", () => {
  it.scoped("T1 backoff in an uninterruptible region", () =>
    Effect.gen(function*() {
      let n = 0
      const { connection } = yield* connect(http, {
        handlers: { "tools/call": () => Effect.suspend(() => ++n === 1 ? Effect.fail(refused) : Effect.succeed({ content: [] })) }
      })
      yield* ready(connection)
      const f = yield* Effect.fork(Effect.uninterruptible(Effect.exit(echo(connection, { timeout: "5 seconds" }))))
      yield* pass(3600_000, 1000)
      console.log("T1", n, yield* poll(f), yield* tagOf(connection))
      yield* connection.close
      yield* settled
      console.log("T1 after close", n, yield* poll(f))
    }))

  it.scoped("T2 wait for a hanging handshake in an uninterruptible region", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(http, { start: () => Effect.never })
      const f = yield* Effect.fork(Effect.uninterruptible(Effect.exit(echo(connection, { timeout: "1 second" }))))
      yield* pass(1500, 100)
      console.log("T2 at 1.5 s", yield* poll(f))
      yield* pass(60_000, 1000)
      console.log("T2 at 61.5 s", yield* poll(f))
      yield* connection.close
      yield* settled
      console.log("T2 closed", yield* poll(f))
    }))

  it.scoped("T3 isolated in an uninterruptible region", () =>
    Effect.gen(function*() {
      let n = 0
      const { connection } = yield* connect({ ...http, recovery: "isolated" }, {
        handlers: { "tools/call": () => Effect.suspend(() => ++n === 1 ? Effect.fail(refused) : Effect.succeed({ content: [] })) }
      })
      yield* ready(connection)
      const f = yield* Effect.fork(Effect.uninterruptible(Effect.exit(echo(connection, { timeout: "5 seconds" }))))
      yield* pass(3600_000, 1000)
      console.log("T3", n, yield* poll(f), JSON.stringify(yield* connection.stats))
      yield* connection.close
      yield* settled
      console.log("T3 after close", n, yield* poll(f))
    }))

  it.scoped("T17 finalizer of an interrupted fiber calls a tool while reconnecting", () =>
    Effect.gen(function*() {
      let n = 0
      const { connection, server } = yield* connect(http, {
        start: (s) => s === 2 ? Effect.sleep("2 seconds") : Effect.void,
        handlers: { "tools/call": () => Effect.suspend(() => { n++; return Effect.succeed({ content: [] }) }) }
      })
      yield* ready(connection)
      let out: unknown = "none"
      const f = yield* Effect.fork(Effect.onInterrupt(Effect.never, () =>
        Effect.exit(echo(connection)).pipe(Effect.map((e) => { out = e }))))
      yield* settled
      yield* server.disconnect()
      yield* settled
      yield* Effect.fork(Fiber.interrupt(f))
      yield* pass(5000, 500)
      console.log("T17", n, JSON.stringify(out), yield* tagOf(connection))
      // and with a live session
      const g = yield* Effect.fork(Effect.onInterrupt(Effect.never, () =>
        Effect.exit(echo(connection)).pipe(Effect.map((e) => { out = e }))))
      yield* settled
      yield* Effect.fork(Fiber.interrupt(g))
      yield* pass(5000, 500)
      console.log("T17 live", n, JSON.stringify(out))
    }))
})

describe("states while closing", () => {
  it.scoped("T4a close with a hung end", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(stdio, { close: () => Effect.sleep("3 seconds") })
      yield* ready(connection)
      yield* Effect.fork(connection.close)
      yield* settled
      console.log("T4a close:", yield* tagOf(connection))
      const call = yield* Effect.fork(Effect.flip(echo(connection, { timeout: "1 second" })))
      yield* pass(1000, 100)
      console.log("T4a call:", yield* poll(Effect.runSync(Effect.succeed(call))))
      yield* pass(20000, 1000)
    }))
  it.scoped("T4b lost while nobody uses it, hung end", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...stdio, lifetime: { idle: "1 minute" } }, { close: () => Effect.sleep("3 seconds") })
      yield* ready(connection)
      yield* server.disconnect()
      yield* settled
      console.log("T4b lost:", yield* tagOf(connection))
      yield* pass(20000, 1000)
      console.log("T4b later:", yield* tagOf(connection))
    }))
  it.scoped("T4c idle, hung end", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect({ ...stdio, lifetime: { idle: "10 seconds" } }, { close: () => Effect.sleep("3 seconds") })
      yield* ready(connection)
      yield* pass(10_000)
      console.log("T4c idle:", yield* tagOf(connection))
      yield* pass(20000, 1000)
    }))
  it.scoped("T13 unauthorized in mid-session", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect(http, { handlers: { "tools/call": () => Effect.fail(unauthorized) } })
      yield* ready(connection)
      const e = yield* Effect.flip(echo(connection))
      yield* settled
      console.log("T13", e._tag, yield* tagOf(connection))
    }))
})
