/**
 * When a connection opens: at the first use, once for all who wait, again after a failure; not at all while it is disabled.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, McpError, McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Layer, Ref } from "effect"
import { macrotask } from "../gateWire.js"
import {
  connect,
  echo,
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

/** Everything that reached the server, by session. */
const heard = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(server.received, (all) => all.map((_) => `${_.session} ${_.method}`))

describe("the first use", () => {
  it.scoped("nothing is opened before it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory)
      yield* pass(3_600_000)
      assert.strictEqual((yield* server.stats).attempts, 0)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  it.scoped("concurrent first calls wait for one complete handshake", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const accepted = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(inMemory, {
        accept: ({ method }) => method === "notifications/initialized" ? Deferred.await(accepted) : Effect.void,
        start: () => Deferred.await(gate)
      })
      const calls = yield* Effect.forEach(
        [...Array.from({ length: 20 }, () => echo(connection)), ready(connection), Effect.asVoid(connection.session)],
        (use) => Effect.fork(use)
      )
      yield* settled
      assert.deepStrictEqual(yield* heard(server), [])
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual(yield* heard(server), ["1 initialize", "1 notifications/initialized"])
      yield* Deferred.succeed(accepted, undefined)
      for (const call of calls) yield* Fiber.join(call)
      const all = yield* heard(server)
      assert.deepStrictEqual(all.slice(0, 2), ["1 initialize", "1 notifications/initialized"])
      assert.strictEqual(all.filter((_) => _ === "1 tools/call").length, 20)
      assert.strictEqual((yield* server.stats).attempts, 1)
      assert.strictEqual((yield* connection.stats).attempts, 1)
    }))

  it.scoped("where the configuration can't be used, a call says so, and not that it was itself invalid", () =>
    Effect.gen(function*() {
      const problems = [{ field: "env.TOKEN", problem: `the environment variable "TOKEN" is not set` }]
      const unset = new McpError.ConfigInvalid({ server: "scripted", operation: "open", executed: "no", problems })
      const { connection } = yield* connect(inMemory, { start: () => Effect.fail(unset) })
      const error = yield* Effect.flip(echo(connection))
      assert.strictEqual(
        error.message,
        `MCP server "scripted": open: the configuration is invalid: env.TOKEN: the environment variable "TOKEN" is not set`
      )
    }))

  it.scoped("a failed handshake rolls back everything, wherever it fails; the next call tries again", () =>
    Effect.gen(function*() {
      const steps: ReadonlyArray<ScriptedServer.Options> = [
        { start: (n) => n === 1 ? Effect.fail(refused) : Effect.void },
        { start: (n) => n === 1 ? Effect.die("a defect") : Effect.void },
        {
          handlers: {
            initialize: ({ params, session }) =>
              session === 1
                ? Effect.fail(new ScriptedServer.RpcError({ code: -32000, message: "not now" }))
                : Effect.succeed({ protocolVersion: params.protocolVersion, capabilities: { tools: {} } })
          }
        },
        {
          accept: ({ method, session }) =>
            session === 1 && method === "notifications/initialized" ? Effect.fail(refused) : Effect.void
        },
        { listen: (peer) => Effect.zipRight(peer.notify("x/1"), Effect.die("a defect")) }
      ]
      for (const [i, script] of steps.entries()) {
        const { listen, ...others } = script
        let listens = 0
        const { connection, server } = yield* connect(inMemory, {
          ...others,
          ...(listen !== undefined && { listen: (peer) => ++listens === 1 ? listen(peer) : Effect.void })
        })
        const first = yield* Effect.exit(echo(connection, { replay: "never" }))
        assert(McpError.isMcpError(failure(first)), `step ${i}`)
        assert.deepStrictEqual((yield* server.stats).live, [], `step ${i}`)
        assert.strictEqual(yield* tagOf(connection), "Failed", `step ${i}`)
        yield* echo(connection, { replay: "never" })
        assert.deepStrictEqual((yield* server.stats).live, [2], `step ${i}`)
        assert.strictEqual((yield* connection.stats).sessions, 1)
      }
    }))

  it.scoped("all who waited for a try that failed get its error, each with the name of its own operation", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(inMemory, {
        start: () => Effect.zipRight(Deferred.await(gate), Effect.fail(refused))
      })
      const calls = yield* Effect.forEach([
        echo(connection, { replay: "never" }),
        Effect.asVoid(McpConnection.listTools(connection, { replay: "never" })),
        ready(connection)
      ], (use) => Effect.fork(Effect.exit(use)))
      yield* settled
      yield* Deferred.succeed(gate, undefined)
      const operations: Array<string> = []
      for (const call of calls) {
        const error = failure(yield* Fiber.join(call))
        assert.strictEqual(error._tag, "ConnectFailed")
        operations.push(error.operation)
      }
      assert.deepStrictEqual(operations, ["tools/call", "tools/list", "open"])
      assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("a handshake that hangs meets its deadline, and nothing stays behind", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...inMemory, timeouts: { handshake: "3 seconds" } }, {
        handlers: { initialize: () => Effect.never }
      })
      const call = yield* forkExit(ready(connection))
      yield* pass(2999)
      assert.strictEqual(yield* tagOf(connection), "Connecting")
      yield* pass(1)
      const error = failure(yield* Fiber.join(call))
      assert(error._tag === "RequestTimeout")
      assert.strictEqual(error.kind, "handshake")
      const { handling, live } = yield* server.stats
      assert.deepStrictEqual([handling, live], [0, []])
    }))

  it.scoped("a channel that does not open meets the same deadline", () =>
    Effect.gen(function*() {
      const config = yield* McpConfig.decodeUnknown({ name: "s", ...http, timeouts: { handshake: "3 seconds" } })
      const transport = Layer.succeed(McpTransport.McpTransport, { channel: () => Effect.never })
      const connection = yield* McpConnection.make(config).pipe(Effect.provide(transport))
      const call = yield* forkExit(ready(connection))
      yield* pass(3000)
      const error = failure(yield* Fiber.join(call))
      assert(error._tag === "RequestTimeout")
      assert.strictEqual(error.kind, "handshake")
    }))

  it.scoped("a caller that waits for the handshake meets its own deadline, and harms nobody", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(inMemory, { start: () => Deferred.await(gate) })
      const hasty = yield* forkExit(echo(connection, { timeout: "1 second" }))
      const patient = yield* forkExit(echo(connection))
      yield* pass(1000)
      const error = failure(yield* Fiber.join(hasty))
      assert(error._tag === "RequestTimeout")
      assert.strictEqual(error.kind, "wait")
      assert.strictEqual(error.executed, "no")
      yield* Deferred.succeed(gate, undefined)
      assert(Exit.isSuccess(yield* Fiber.join(patient)))
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 1)
    }))
})

describe("interrupting the first caller", () => {
  it.scoped("harms nobody who came after it, at any step", () =>
    Effect.gen(function*() {
      for (const step of ["start", "initialize", "notifications/initialized", "listen"] as const) {
        const reached = yield* Deferred.make<void>()
        const gate = yield* Deferred.make<void>()
        const wait = Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(gate))
        const { connection, server } = yield* connect(inMemory, {
          start: () => step === "start" ? wait : Effect.void,
          accept: ({ method }) => method === step ? wait : Effect.void,
          listen: () => step === "listen" ? wait : Effect.void
        })
        const first = yield* Effect.fork(echo(connection))
        yield* Deferred.await(reached)
        const second = yield* Effect.fork(echo(connection))
        yield* settled
        yield* Fiber.interrupt(first)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(second)
        assert.strictEqual((yield* server.stats).attempts, 1, step)
        assert.strictEqual((yield* server.receivedOf("tools/call")).length, 1, step)
        assert.strictEqual((yield* server.receivedOf("notifications/cancelled")).length, 0, step)
      }
    }))

  it.scoped("all of them: the session is there for the next", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const { connection, server } = yield* connect(inMemory, { start: () => Deferred.await(gate) })
      const calls = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.fork(echo(connection)))
      yield* settled
      yield* Fiber.interruptAll(calls)
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* echo(connection)
      assert.strictEqual((yield* server.stats).attempts, 1)
      assert.strictEqual((yield* server.receivedOf("tools/call")).length, 1)
    }))
})

describe("eager", () => {
  it.scoped("connects by itself, once", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect({ ...inMemory, lifetime: "eager" })
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      yield* echo(connection)
      assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("a failure is a state; the next use tries again; after enable it connects by itself", () =>
    Effect.gen(function*() {
      const { connection } = yield* connect({ ...inMemory, lifetime: "eager" }, {
        start: (n) => n === 1 ? Effect.fail(refused) : Effect.void
      })
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Failed")
      yield* ready(connection)
      yield* connection.disable
      assert.strictEqual(yield* tagOf(connection), "Disabled")
      yield* connection.enable
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
    }))
})

describe("disabled", () => {
  it.scoped("by configuration: every use fails, nothing is opened, eager or not", () =>
    Effect.gen(function*() {
      for (const lifetime of ["eager", "lazy"]) {
        const { connection, server } = yield* connect({ ...inMemory, enabled: false, lifetime })
        assert.strictEqual(yield* tagOf(connection), "Disabled")
        const uses = [
          echo(connection),
          ready(connection),
          Effect.asVoid(connection.reconnect),
          connection.notify("x/y")
        ]
        for (const use of [...uses, Effect.scoped(Effect.asVoid(connection.hold))]) {
          const error = yield* Effect.flip(use)
          assert(error._tag === "ConnectionUnavailable")
          assert.strictEqual(error.reason, "Disabled")
        }
        yield* connection.close
        assert.strictEqual(yield* tagOf(connection), "Disabled")
        assert.strictEqual((yield* server.stats).attempts, 0)
        yield* connection.enable
        yield* connection.enable
        yield* echo(connection)
        assert.strictEqual((yield* server.stats).attempts, 1)
      }
    }))

  it.scoped("disable ends the session and fails whoever waits; enable makes it usable again", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory, { start: (n) => n === 2 ? Effect.never : Effect.void })
      yield* ready(connection)
      yield* connection.disable
      assert.deepStrictEqual((yield* server.stats).live, [])
      assert.strictEqual((yield* Effect.flip(echo(connection)))._tag, "ConnectionUnavailable")
      yield* connection.enable
      const waiting = yield* forkExit(echo(connection))
      yield* connection.disable
      const error = failure(yield* Fiber.join(waiting))
      assert(error._tag === "ConnectionUnavailable")
      assert.strictEqual(error.reason, "Disabled")
      yield* connection.enable
      yield* echo(connection)
      assert.deepStrictEqual((yield* server.stats).live, [3])
    }))
})

describe("after close", () => {
  it.scoped("it is usable again, as often as one likes", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(inMemory)
      const states = yield* record(connection)
      for (let i = 1; i <= 5; i++) {
        yield* echo(connection)
        yield* connection.close
        assert.deepStrictEqual((yield* server.stats).live, [])
      }
      yield* settled
      assert.deepStrictEqual(
        tags(states).slice(1),
        Array.from({ length: 5 }).flatMap(() => ["Connecting", "Ready", "Closed"])
      )
    }))

  it.scoped("the channel is closed with it, and opened anew", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const channels = yield* Ref.make({ opened: 0, closed: 0 })
      const transport = Layer.succeed(McpTransport.McpTransport, {
        channel: () =>
          Effect.acquireRelease(
            Effect.as(Ref.update(channels, (_) => ({ ..._, opened: _.opened + 1 })), server.channel),
            () => Ref.update(channels, (_) => ({ ..._, closed: _.closed + 1 }))
          )
      })
      const connection = yield* McpConnection.make(server.channel.config).pipe(Effect.provide(transport))
      yield* ready(connection)
      yield* Effect.asVoid(connection.reconnect)
      assert.deepStrictEqual(yield* Ref.get(channels), { opened: 1, closed: 0 })
      yield* connection.close
      assert.deepStrictEqual(yield* Ref.get(channels), { opened: 1, closed: 1 })
      yield* ready(connection)
      assert.deepStrictEqual(yield* Ref.get(channels), { opened: 2, closed: 1 })
    }))

  it.scoped("a channel that opens too late is closed, not adopted", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const gate = yield* Deferred.make<void>()
      const channels = yield* Ref.make({ opened: 0, closed: 0 })
      const transport = Layer.succeed(McpTransport.McpTransport, {
        channel: () =>
          Effect.acquireRelease(
            Ref.updateAndGet(channels, (_) => ({ ..._, opened: _.opened + 1 })).pipe(
              Effect.tap(({ opened }) => opened === 1 ? Deferred.await(gate) : Effect.void),
              Effect.as(server.channel)
            ),
            () => Ref.update(channels, (_) => ({ ..._, closed: _.closed + 1 }))
          )
      })
      const connection = yield* McpConnection.make(server.channel.config).pipe(Effect.provide(transport))
      const first = yield* forkExit(ready(connection))
      const closing = yield* forkExit(connection.close)
      yield* pass(8000)
      yield* Fiber.join(closing)
      assert.strictEqual(failure(yield* Fiber.join(first))._tag, "ConnectionClosed")
      yield* ready(connection)
      yield* Deferred.succeed(gate, undefined)
      yield* macrotask
      yield* settled
      assert.deepStrictEqual(yield* Ref.get(channels), { opened: 2, closed: 1 })
      yield* echo(connection)
      yield* connection.close
      assert.deepStrictEqual(yield* Ref.get(channels), { opened: 2, closed: 2 })
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))
})
