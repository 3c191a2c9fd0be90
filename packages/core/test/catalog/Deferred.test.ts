/**
 * Tools that are known before there is a connection: the first call connects, asks whether the tool is still what it was,
 * and runs once.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError, type McpProtocol } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Logger, Stream, TestClock } from "effect"
import { connect, forkExit, http, pass, settled, unauthorized } from "../connection/kit.js"
import { brief, memory, reader, storedTools, tool } from "./kit.js"

const echo = tool("echo")
const needs = (...required: ReadonlyArray<string>) => tool("echo", { inputSchema: { type: "object", required } })

interface World {
  readonly stored?: ReadonlyArray<McpProtocol.Tool>
  readonly script?: ScriptedServer.Options
  readonly config?: object
  readonly live?: ReadonlyArray<McpProtocol.Tool>
}

/** A connection that knows its tools from an earlier run, and has not been used. */
const known = ({ config, live = [echo], script, stored = [echo] }: World = {}) =>
  Effect.gen(function*() {
    const { saves, storage } = memory(storedTools(stored, -1000))
    const world = { live, hold: undefined as Deferred.Deferred<void> | undefined }
    const all = yield* connect({ ...http, ...config }, {
      capabilities: { tools: { listChanged: true } },
      ...script,
      handlers: {
        "tools/list": () =>
          Effect.suspend(() =>
            Effect.as(world.hold === undefined ? Effect.void : Deferred.await(world.hold), { tools: world.live })
          ),
        ...script?.handlers
      }
    }, { catalog: { storage } })
    yield* all.connection.catalog.restore
    return { ...all, tools: all.connection.catalog.tools, world, saves }
  })

const call = (connection: McpConnection.McpConnection, options?: McpConnection.CallOptions, name = "echo") =>
  Effect.asVoid(McpConnection.callTool(connection, { name, arguments: { x: 1 } }, options))

const errorOf = <A, E>(exit: Exit.Exit<A, E>): E => {
  assert(Exit.isFailure(exit) && exit.cause._tag === "Fail", "it should have failed")
  return exit.cause.error
}

/** Sessions tried, listings, executions. */
const cost = (server: ScriptedServer.ScriptedServer) =>
  Effect.all([
    Effect.map(server.stats, (_) => _.attempts),
    Effect.map(server.receivedOf("tools/list"), (_) => _.length),
    Effect.map(server.receivedOf("tools/call"), (_) => _.length)
  ])

describe("the first call", () => {
  it.scoped("nothing is opened to show what is known; then one connection, one listing, one execution", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* known()
      assert.strictEqual(brief(yield* tools.current), "echo stored stale")
      assert.strictEqual(connection.catalog.tools.find("echo")?.name, "echo")
      yield* settled
      assert.deepStrictEqual(yield* cost(server), [0, 0, 0])
      yield* call(connection)
      assert.deepStrictEqual(yield* cost(server), [1, 1, 1])
      assert.strictEqual(brief(yield* tools.current), "echo")
      yield* call(connection)
      assert.deepStrictEqual(yield* cost(server), [1, 1, 2])
    }))

  it.scoped("twenty at once: one connection, one listing, twenty executions", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known()
      yield* Effect.all(Array.from({ length: 20 }, () => call(connection)), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* cost(server), [1, 1, 20])
    }))

  it.scoped("a tool that is gone: ToolNotFound, and nothing is sent", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known({ live: [tool("other")] })
      const error = errorOf(yield* Effect.exit(call(connection)))
      assert(error._tag === "ToolNotFound")
      assert.deepStrictEqual([error.tool, error.executed, error.operation], ["echo", "no", "tools/call"])
      assert.deepStrictEqual(yield* cost(server), [1, 1, 0])
    }))

  it.scoped("a tool that needs more now: ArgumentsInvalid that says why, and nothing is sent", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known({ live: [needs("x", "y")] })
      const error = errorOf(yield* Effect.exit(call(connection)))
      assert(error._tag === "ArgumentsInvalid")
      assert.deepStrictEqual([error.executed, error.problems.map((_) => _.field)], ["no", ["arguments.y"]])
      assert.include(error.detail ?? "", "changed")
      assert.include(error.message, "changed")
      assert.deepStrictEqual(yield* cost(server), [1, 1, 0])
    }))

  it.scoped("a tool that needed more when it was stored runs: what is now counts", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known({ stored: [needs("y")], live: [echo] })
      yield* call(connection)
      assert.deepStrictEqual(yield* cost(server), [1, 1, 1])
    }))

  it.scoped("a change that harms nobody runs, and is logged once, also of many first calls", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.gen(function*() {
      const { connection, saves, server, tools, world } = yield* known({
        stored: [echo, tool("gone")],
        live: [needs("x"), tool("new\u001b[31m")]
      })
      yield* Effect.all(Array.from({ length: 5 }, () => call(connection)), { concurrency: "unbounded" })
      yield* tools.refresh
      yield* settled
      assert.deepStrictEqual(yield* cost(server), [1, 2, 5])
      assert.deepStrictEqual(saves, [["tools", ["echo", "new\u001b[31m"]]])
      // What changes from now on is no matter of the store.
      world.live = [echo]
      yield* tools.refresh
      yield* settled
      const drift = lines.filter((_) => _.includes("differ"))
      assert.strictEqual(drift.length, 1)
      for (const word of ["echo", "gone", "new", "tools"]) assert.include(drift[0], word)
      assert.notInclude(drift[0], "\u001b")
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
  })

  it.scoped("a tool that was not stored is called if the server lists it", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known({ live: [echo, tool("new")] })
      const error = errorOf(yield* Effect.exit(call(connection, undefined, "never")))
      assert.strictEqual(error._tag, "ToolNotFound")
      assert.deepStrictEqual(yield* cost(server), [1, 1, 0])
      yield* Effect.exit(call(connection, undefined, "new"))
      assert.deepStrictEqual(yield* cost(server), [1, 1, 1])
    }))

  it.scoped("tools whose names are those of an object's own things", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* known({ stored: [tool("constructor")] })
      for (const name of ["constructor", "__proto__", "toString"]) {
        assert.strictEqual(
          errorOf(yield* Effect.exit(call(connection, undefined, name)))._tag,
          name === "constructor" ? "ToolNotFound" : "RemoteError"
        )
      }
      assert.strictEqual((yield* cost(server))[1], 1)
    }))
})

describe("where the live list can't be read", () => {
  it.scoped("a refusal to list is a typed error, nothing is executed, and the next call asks again", () =>
    Effect.gen(function*() {
      let refuses = true
      const { connection, server } = yield* known({
        script: {
          handlers: {
            "tools/list": () =>
              refuses
                ? Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "no" }))
                : Effect.succeed({ tools: [echo] })
          }
        }
      })
      const error = errorOf(yield* Effect.exit(call(connection)))
      assert.deepStrictEqual([error._tag, error.executed, error.operation], ["RemoteError", "no", "tools/call"])
      assert.strictEqual((yield* cost(server))[2], 0)
      refuses = false
      yield* call(connection)
      assert.strictEqual((yield* cost(server))[2], 1)
    }))

  it.scoped("a server that can't be reached", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* known({ script: { start: () => Effect.fail(unauthorized) } })
      const one = yield* forkExit(call(connection))
      yield* pass(120_000, 5000)
      const error = errorOf(yield* Fiber.join(one))
      assert.deepStrictEqual([error.executed, error.operation], ["no", "tools/call"])
      assert.strictEqual((yield* cost(server))[2], 0)
      assert.isTrue(brief(yield* tools.current).startsWith("echo stored stale"))
    }))

  for (
    const [name, options, millis] of [
      ["timeout", { timeout: "2 seconds" }, 2000],
      ["maxTotal", { maxTotal: "3 seconds" }, 3000]
    ] as const
  ) {
    for (const where of ["start", "list"] as const) {
      it.scoped(`${name} bounds the wait for ${where}; who has more time goes on`, () =>
        Effect.gen(function*() {
          const start = yield* Deferred.make<void>()
          const { connection, server, world } = yield* known({
            ...(where === "start" && { script: { start: () => Deferred.await(start) } })
          })
          const hold = where === "list" ? (world.hold = yield* Deferred.make<void>()) : start
          const quick = yield* forkExit(call(connection, options))
          const patient = yield* forkExit(call(connection))
          yield* pass(millis - 1)
          assert.isTrue((yield* Fiber.poll(quick))._tag === "None")
          yield* pass(1)
          const error = errorOf(yield* Fiber.join(quick))
          assert(error._tag === "RequestTimeout")
          assert.deepStrictEqual([error.kind, error.executed, error.millis], ["wait", "no", millis])
          assert.isTrue((yield* Fiber.poll(patient))._tag === "None")
          yield* Deferred.succeed(hold, undefined)
          yield* settled
          assert.isTrue(Exit.isSuccess(yield* Fiber.join(patient)))
          assert.deepStrictEqual(yield* cost(server), [1, 1, 1])
        }))
    }
  }

  it.scoped("the wait counts against maxTotal of the call itself", () =>
    Effect.gen(function*() {
      const { connection, world } = yield* known({
        script: { handlers: { "tools/call": () => Effect.never } }
      })
      const hold = world.hold = yield* Deferred.make<void>()
      const one = yield* forkExit(call(connection, { maxTotal: "5 seconds", replay: "never" }))
      yield* pass(4000)
      yield* Deferred.succeed(hold, undefined)
      yield* settled
      yield* pass(999)
      assert.isTrue((yield* Fiber.poll(one))._tag === "None")
      yield* pass(1)
      assert.include(["RequestTimeout", "OutcomeUnknown"], errorOf(yield* Fiber.join(one))._tag)
      assert.strictEqual(yield* TestClock.currentTimeMillis, 5000)
    }))
})

describe("who goes, and what is closed", () => {
  it.scoped("the first caller is interrupted: the others run, once each", () =>
    Effect.gen(function*() {
      const { connection, server, world } = yield* known()
      const hold = world.hold = yield* Deferred.make<void>()
      const calls = yield* Effect.all(Array.from({ length: 5 }, () => Effect.fork(call(connection))))
      yield* server.awaitReceived("tools/list")
      yield* settled
      yield* Fiber.interrupt(calls[0]!)
      yield* Deferred.succeed(hold, undefined)
      for (const one of calls.slice(1)) yield* Fiber.join(one)
      assert.deepStrictEqual(yield* cost(server), [1, 1, 4])
    }))

  it.scoped("all callers are interrupted: the server is told, and the next call lists", () =>
    Effect.gen(function*() {
      const { connection, server, world } = yield* known()
      world.hold = yield* Deferred.make<void>()
      const calls = yield* Effect.all(Array.from({ length: 5 }, () => Effect.fork(call(connection))))
      yield* server.awaitReceived("tools/list")
      yield* settled
      yield* Fiber.interruptAll(calls)
      yield* server.awaitReceived("notifications/cancelled")
      world.hold = undefined
      yield* call(connection)
      assert.deepStrictEqual(yield* cost(server), [1, 2, 1])
    }))

  it.scoped("the connection is closed meanwhile: typed errors, nothing executed, and no new connection", () =>
    Effect.gen(function*() {
      const { connection, server, world } = yield* known()
      world.hold = yield* Deferred.make<void>()
      const calls = yield* Effect.all(Array.from({ length: 5 }, () => Effect.fork(Effect.exit(call(connection)))))
      yield* server.awaitReceived("tools/list")
      yield* settled
      world.hold = undefined
      yield* connection.close
      for (const one of calls) {
        const error = errorOf(yield* Fiber.join(one))
        assert.include(["ConnectionUnavailable", "ConnectionClosed"], error._tag)
        assert.deepStrictEqual([error.executed, error.operation], ["no", "tools/call"])
      }
      assert.deepStrictEqual(yield* cost(server), [1, 1, 0])
      yield* call(connection)
      assert.deepStrictEqual(yield* cost(server), [2, 2, 1])
    }))

  it.scoped("closed at any moment after the list was read: who called before does not connect again", () =>
    Effect.gen(function*() {
      for (let moment = 0; moment < 12; moment++) {
        const { connection, server, tools, world } = yield* known()
        const hold = world.hold = yield* Deferred.make<void>()
        const calls = yield* Effect.all(Array.from({ length: 3 }, () => Effect.fork(Effect.exit(call(connection)))))
        yield* server.awaitReceived("tools/list")
        yield* settled
        const closing = yield* Stream.takeUntil(tools.changes, (_) => _.origin === "server").pipe(
          Stream.runDrain,
          Effect.zipRight(Effect.repeatN(Effect.yieldNow(), moment)),
          Effect.zipRight(connection.close),
          Effect.fork
        )
        yield* settled
        yield* Deferred.succeed(hold, undefined)
        yield* Fiber.join(closing)
        yield* pass(10_000, 1000)
        for (const one of calls) yield* Fiber.join(one)
        assert.strictEqual((yield* cost(server))[0], 1, `after ${moment} yields`)
      }
    }))

  it.scoped("it is disabled: said at once, and what is known is still shown", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* known({ config: { enabled: false } })
      const error = errorOf(yield* Effect.exit(call(connection)))
      assert(McpError.isMcpError(error))
      assert.strictEqual(error.executed, "no")
      assert.deepStrictEqual(yield* cost(server), [0, 0, 0])
      assert.isTrue(brief(yield* tools.get).startsWith("echo stored stale"))
    }))

  it.scoped("the session is lost while the list is read: listed again, and executed once", () =>
    Effect.gen(function*() {
      const { connection, server, world } = yield* known()
      world.hold = yield* Deferred.make<void>()
      const calls = yield* Effect.all(Array.from({ length: 5 }, () => Effect.fork(call(connection))))
      yield* server.awaitReceived("tools/list")
      yield* settled
      world.hold = undefined
      yield* server.disconnect()
      yield* pass(5000, 500)
      for (const one of calls) yield* Fiber.join(one)
      assert.deepStrictEqual(yield* cost(server), [2, 2, 5])
    }))

  it.scoped("a new session does not list what was only stored", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* known()
      yield* Effect.asVoid(connection.awaitReady)
      yield* settled
      assert.deepStrictEqual(yield* cost(server), [1, 0, 0])
      const one = yield* reader(tools.get)
      assert.strictEqual(brief(yield* Fiber.join(one)), "echo")
    }))
})
