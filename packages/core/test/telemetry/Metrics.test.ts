import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpConnection, McpError, McpManager, McpMetrics, type McpProtocol } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Metric, TestClock } from "effect"
import { memory, storedTools, tool } from "../catalog/kit.js"
import {
  connect,
  echo,
  expired,
  failure,
  forkExit,
  http,
  inMemory,
  pass,
  refused,
  settled,
  stdio
} from "../connection/kit.js"
import { strideOf, sweepTime } from "../moments.js"
import { freshName, metricsOf, pointsOf, sumOf } from "./kit.js"

const duration = "mcp.client.operation.duration"
const failures = "mcp.runtime.operation.failures"
const active = "mcp.runtime.requests.active"
const open = "mcp.runtime.sessions.open"

/** A server with a name of its own. */
const named = (
  config: object = stdio,
  script: ScriptedServer.Options = {},
  options?: McpConnection.ConnectionOptions
) => {
  const name = freshName()
  return Effect.map(connect({ ...config, name }, script, options), (all) => ({ ...all, name }))
}

const slowly = (answer: unknown, duration: string) => Effect.delay(Effect.succeed(answer), duration as "1 second")

const calls = (name: string) =>
  Object.fromEntries(
    Object.entries(pointsOf(name, duration)).flatMap(([tags, value]) =>
      tags.includes("mcp.method.name=tools/call")
        ? [[/error\.type=(\S+)/.exec(tags)?.[1] ?? "ok", (value as readonly [number, number])[0]]]
        : []
    )
  )

const answering = (...answers: ReadonlyArray<Effect.Effect<unknown, ScriptedServer.RpcError | McpError.McpError>>) => {
  let calls = 0
  return { "tools/call": () => answers[Math.min(calls++, answers.length - 1)]! }
}

const ok = Effect.succeed({ content: [] })

const gone = (name: string) =>
  new McpError.ConnectionClosed({ server: name, operation: "x", executed: "no", reason: "Reset", detail: "gone" })

/** After how many steps a fiber lets others go on: in each, other moments can be interrupted. */
const budgets = Array.from({ length: 14 }, (_, i) => 17 + i).filter((_, i) => i % strideOf(5) === 0)

describe("metrics", () => {
  it.scoped("one session, from its start to its end: everything that is counted, and nothing else", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named(stdio, {
        start: () => Effect.sleep("500 millis"),
        handlers: { "tools/call": () => slowly({ content: [] }, "2 seconds") }
      })
      assert.deepStrictEqual(metricsOf(name), {}, "nothing before anything happens")
      const call = yield* Effect.fork(echo(connection))
      yield* TestClock.adjust("500 millis")
      yield* server.awaitReceived("tools/call")
      assert.strictEqual(sumOf(name, active), 1)
      assert.strictEqual(sumOf(name, open), 1)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(call)
      yield* TestClock.adjust("1 minute")
      yield* connection.close
      assert.deepStrictEqual(metricsOf(name), {
        "mcp.client.operation.duration{mcp.method.name=initialize network.transport=pipe unit=s}": [1, 0],
        "mcp.client.operation.duration{mcp.method.name=tools/call network.transport=pipe unit=s}": [1, 2],
        "mcp.client.session.duration{network.transport=pipe unit=s}": [1, 62],
        "mcp.runtime.connect.duration{network.transport=pipe unit=s}": [1, 0.5],
        "mcp.runtime.requests.active{}": 0,
        "mcp.runtime.sessions.open{network.transport=pipe}": 0,
        "mcp.runtime.sessions.opened{network.transport=pipe}": 1
      })
    }))

  it.scoped("the network is `tcp` over HTTP, and none in memory", () =>
    Effect.gen(function*() {
      for (const [config, tags] of [[http, "network.transport=tcp"], [inMemory, ""]] as const) {
        const { connection, name } = yield* named(config)
        yield* connection.awaitReady
        assert.deepStrictEqual(pointsOf(name, open), { [tags]: 1 })
        yield* connection.close
        assert.deepStrictEqual(pointsOf(name, open), { [tags]: 0 })
      }
    }))

  it.scoped("nothing is counted where it is not wished", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named(stdio, {}, { metrics: false })
      yield* echo(connection)
      yield* connection.catalog.tools.get
      yield* server.sendRaw("nonsense")
      yield* connection.hold
      yield* server.disconnect()
      yield* server.awaitStats((_) => _.opened === 2)
      yield* Effect.exit(echo(connection, { timeout: "1 second", replay: "never" }))
      yield* connection.close
      assert.deepStrictEqual(metricsOf(name), {})
    }))

  it.scoped("the public metrics are those, by their tags", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named()
      yield* echo(connection)
      const state = yield* McpMetrics.operationDuration.pipe(
        Metric.tagged("mcp.server.name", name),
        Metric.tagged("network.transport", "pipe"),
        Metric.tagged("unit", "s"),
        Metric.tagged("mcp.method.name", "tools/call"),
        Metric.value
      )
      assert.strictEqual(state.count, 1)
      assert.deepStrictEqual(state.buckets.map(([bound]) => bound), [
        ...McpMetrics.durationBoundaries,
        Number.POSITIVE_INFINITY
      ])
    }))

  it.scoped("a clock that is set back makes no negative duration", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1_000_000)
      const { connection, name, server } = yield* named(stdio, {
        handlers: { "tools/call": () => slowly({ content: [] }, "1 second") }
      })
      const call = yield* Effect.fork(echo(connection))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("-10 seconds")
      yield* TestClock.adjust("11 seconds")
      yield* Fiber.join(call)
      yield* TestClock.setTime(0)
      yield* connection.close
      for (const value of Object.values(metricsOf(name))) {
        if (typeof value !== "number") assert.isAtLeast(value[1], 0)
      }
      assert.strictEqual(sumOf(name, open), 0)
    }))
})

describe("requests", () => {
  it.scoped("a failure is counted by its kind, with what is known of its execution", () =>
    Effect.gen(function*() {
      const common = { operation: "x", executed: "maybe" } as const
      const kinds = {
        "-32601": [Effect.fail(new ScriptedServer.RpcError({ code: -32601, message: "" })), "maybe"],
        "-32603": [Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" })), "maybe"],
        _OTHER: [Effect.fail(new ScriptedServer.RpcError({ code: 4711, message: "" })), "maybe"],
        HttpError: [
          Effect.fail(new McpError.HttpError({ ...common, server: "x", status: 500, body: "" })),
          "maybe"
        ],
        // Its answer was too long: no limit of what we send.
        LimitExceeded: [
          Effect.fail(new McpError.LimitExceeded({ ...common, server: "x", limit: "messageBytes", max: 1 })),
          "maybe"
        ],
        InvalidResult: [Effect.succeed({ content: "nonsense" }), "yes"]
      } as const
      for (const [kind, [answer, executed]] of Object.entries(kinds)) {
        const { connection, name } = yield* named(http, { handlers: { "tools/call": () => answer } })
        yield* Effect.exit(echo(connection, { replay: "never" }))
        assert.deepStrictEqual(calls(name), { [kind]: 1 })
        assert.deepStrictEqual(pointsOf(name, failures), {
          [`error.type=${kind} mcp.method.name=tools/call mcp.runtime.executed=${executed}`]: 1
        })
        assert.strictEqual(sumOf(name, active), 0)
      }
    }))

  it.scoped("a tool that says it failed is `tool_error`, and no failure of whoever called", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named(stdio, {
        handlers: answering(Effect.succeed({ content: [], isError: true }), ok)
      })
      yield* echo(connection)
      yield* echo(connection)
      assert.deepStrictEqual(calls(name), { tool_error: 1, ok: 1 })
      assert.deepStrictEqual(pointsOf(name, failures), {})
    }))

  it.scoped("one that is interrupted is `Interrupted`, and no failure", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(echo(connection))
      yield* server.awaitReceived("tools/call")
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(calls(name), { Interrupted: 1 })
      assert.deepStrictEqual(pointsOf(name, failures), {})
      assert.strictEqual(sumOf(name, active), 0)
    }))

  it.scoped("one that times out; the failure is of the error inside of the unknown outcome", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(echo(connection, { timeout: "3 seconds" }))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(call)))
      assert.deepStrictEqual(
        pointsOf(name, duration)[
          "error.type=RequestTimeout mcp.method.name=tools/call network.transport=pipe unit=s"
        ],
        [1, 3]
      )
      assert.deepStrictEqual(pointsOf(name, failures), {
        "error.type=RequestTimeout mcp.method.name=tools/call mcp.runtime.executed=maybe": 1
      })
    }))

  it.scoped("what waits for its turn is not active, and has no duration where it is given up", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named({ ...stdio, concurrency: "serial" }, {
        handlers: { "tools/call": () => Effect.never }
      })
      const first = yield* forkExit(echo(connection))
      yield* server.awaitReceived("tools/call")
      const second = yield* forkExit(echo(connection))
      assert.strictEqual(sumOf(name, active), 1)
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(calls(name), {})
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(calls(name), { Interrupted: 1 })
      assert.strictEqual(sumOf(name, active), 0)
    }))

  it.scoped("each page of a list is a request; the failure of a list is one", () =>
    Effect.gen(function*() {
      const tools = Array.from({ length: 3 }, (_, i) => ({ name: `t${i}` }))
      const { connection, name } = yield* named(stdio, { tools, pageSize: 1 })
      yield* McpConnection.listTools(connection)
      const listed = "mcp.method.name=tools/list network.transport=pipe unit=s"
      assert.deepStrictEqual(pointsOf(name, duration)[listed], [3, 0])

      const bad = yield* named(stdio, {
        handlers: { "tools/list": () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" })) }
      })
      yield* Effect.exit(McpConnection.listTools(bad.connection, { replay: "never" }))
      assert.strictEqual(sumOf(bad.name, failures), 1)
    }))

  it.scoped("what is refused before it is sent is neither a request nor a failure of one", () =>
    Effect.gen(function*() {
      const tool = { name: "echo", inputSchema: { type: "object" as const, required: ["text"] } }
      const { connection, name } = yield* named(stdio, { tools: [tool] })
      yield* McpConnection.listTools(connection)
      yield* Effect.exit(echo(connection))
      assert.deepStrictEqual(calls(name), {})
      assert.strictEqual(sumOf(name, failures), 0)

      const full = yield* named({ ...stdio, limits: { inFlight: 1 } }, {
        handlers: { "tools/call": () => Effect.never }
      })
      const running = yield* forkExit(echo(full.connection))
      yield* full.server.awaitStats((_) => _.handling === 1)
      const refusals = [
        McpConnection.getPrompt(full.connection, { name: "x" }),
        echo(full.connection, { replay: "never" }),
        echo(full.connection, { timeout: 0 })
      ]
      for (const [i, tag] of ["CapabilityMissing", "LimitExceeded", "ConfigInvalid"].entries()) {
        assert.strictEqual(failure(yield* Effect.exit(Effect.asVoid(refusals[i]!)))._tag, tag)
        assert.deepStrictEqual(pointsOf(full.name, failures), {}, tag)
      }
      yield* Fiber.interrupt(running)
    }))

  it.scoped("a list that nobody has called for fails nobody", () =>
    Effect.gen(function*() {
      const name = freshName()
      const broken = () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" }))
      const config = { name, ...stdio }
      const server = yield* ScriptedServer.make({
        name,
        config: config as never,
        capabilities: { tools: {}, prompts: {} },
        handlers: { "tools/list": () => Effect.succeed({ tools: [] }), "prompts/list": broken }
      })
      const manager = yield* McpManager.make({ servers: [config] }).pipe(
        Effect.provide([ScriptedServer.layer(server), CatalogStore.layerNone])
      )
      yield* manager.connectAll
      yield* server.awaitReceived("prompts/list")
      yield* settled
      assert.strictEqual(sumOf(name, "mcp.runtime.catalog.refreshes"), 2)
      assert.deepStrictEqual(pointsOf(name, failures), {})

      const connection = yield* manager.connection(name)
      yield* Effect.exit(McpConnection.listPrompts(connection, { replay: "never" }))
      assert.strictEqual(sumOf(name, failures), 1)
    }))

  it.scoped("a list that nobody had called for fails whoever has come to wait for it: once, as any other", () =>
    Effect.gen(function*() {
      for (const readers of [0, 1, 3]) {
        const name = freshName()
        const config = { name, ...stdio }
        const open = yield* Deferred.make<void>()
        const broken = Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" }))
        const server = yield* ScriptedServer.make({
          name,
          config: config as never,
          handlers: { "tools/list": () => Effect.zipRight(Deferred.await(open), broken) }
        })
        const manager = yield* McpManager.make({ servers: [config] }).pipe(
          Effect.provide([ScriptedServer.layer(server), CatalogStore.layerNone])
        )
        const connecting = yield* forkExit(manager.connectAll)
        yield* server.awaitReceived("tools/list")
        const { catalog } = yield* manager.connection(name)
        const reading = yield* Effect.forEach(Array.from({ length: readers }), () => forkExit(catalog.tools.get))
        // Who has left was given nothing.
        yield* Fiber.interrupt(yield* forkExit(catalog.tools.get))
        yield* settled
        yield* Deferred.succeed(open, undefined)
        for (const fiber of reading) assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
        yield* Fiber.join(connecting)
        assert.strictEqual((yield* server.receivedOf("tools/list")).length, 1)
        assert.deepStrictEqual(
          pointsOf(name, failures),
          readers === 0 ? {} : { "error.type=-32603 mcp.method.name=tools/list mcp.runtime.executed=maybe": 1 }
        )
      }
    }))

  it.scoped("a call whose tool can't be looked up is the failure of a call", () =>
    Effect.gen(function*() {
      const { storage } = memory(storedTools([tool("echo")], -1000))
      const { connection, name } = yield* named(stdio, {
        handlers: { "tools/list": () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" })) }
      }, { catalog: { storage } })
      yield* connection.catalog.restore
      yield* Effect.exit(echo(connection, { replay: "never" }))
      assert.deepStrictEqual(pointsOf(name, failures), {
        "error.type=-32603 mcp.method.name=tools/call mcp.runtime.executed=no": 1
      })
    }))

  it.scoped("what is sent again is counted each time, and once as what was sent again", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named(http, { handlers: answering(Effect.fail(refused), ok) })
      const call = yield* forkExit(echo(connection))
      yield* pass(5000, 100)
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(call)))
      assert.deepStrictEqual(calls(name), { ConnectFailed: 1, ok: 1 })
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.operation.replays"), {
        "error.type=ConnectFailed mcp.method.name=tools/call": 1
      })
      assert.strictEqual(sumOf(name, failures), 0)
    }))

  it.scoped("a session of its own for one call is a session, and ends", () =>
    Effect.gen(function*() {
      const lost = new McpError.ResponseLost(
        { server: "x", operation: "x", executed: "maybe", reason: "Broken", detail: "gone" }
      )
      const { connection, name, server } = yield* named({ ...http, recovery: "isolated" }, {
        handlers: answering(Effect.fail(lost), ok)
      })
      yield* echo(connection, { replay: "always" })
      yield* server.awaitStats((_) => _.closed === 1)
      yield* settled
      assert.strictEqual(sumOf(name, "mcp.runtime.sessions.opened"), 2)
      assert.strictEqual(sumOf(name, open), 1)
      assert.strictEqual(sumOf(name, "mcp.runtime.sessions.lost"), 0)
      assert.strictEqual(sumOf(name, "mcp.runtime.connect.duration"), 1)
      assert.deepStrictEqual(calls(name), { ResponseLost: 1, ok: 1 })
    }))
})

describe("sessions", () => {
  it.scoped("one that is lost, and the one in its place", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named()
      yield* connection.hold
      yield* TestClock.adjust("5 seconds")
      yield* server.disconnect()
      yield* server.awaitStats((_) => _.opened === 2)
      yield* settled
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.sessions.lost"), {
        "error.type=ConnectionClosed network.transport=pipe": 1
      })
      assert.deepStrictEqual(pointsOf(name, "mcp.client.session.duration"), {
        "error.type=ConnectionClosed network.transport=pipe unit=s": [1, 5]
      })
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.reconnects"), { "network.transport=pipe": 1 })
      assert.strictEqual(sumOf(name, open), 1)
      const { lastLoss, losses } = yield* connection.stats
      assert.strictEqual(losses, 1)
      assert.deepStrictEqual([lastLoss!.at, lastLoss!.error._tag], [5000, "ConnectionClosed"])
    }))

  it.scoped("one that the server has forgotten has failed, too", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named(http, { handlers: answering(Effect.fail(expired), ok) })
      yield* echo(connection)
      yield* server.awaitStats((_) => _.closed === 1)
      yield* settled
      assert.deepStrictEqual(Object.keys(pointsOf(name, "mcp.client.session.duration")), [
        "error.type=SessionExpired network.transport=tcp unit=s"
      ])
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.sessions.lost"), {
        "error.type=SessionExpired network.transport=tcp": 1
      })
      assert.strictEqual(sumOf(name, "mcp.runtime.reconnects"), 1)
    }))

  it.scoped("one that the application closes has not failed, and is not lost", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named()
      yield* connection.awaitReady
      yield* connection.close
      yield* connection.awaitReady
      yield* connection.close
      assert.deepStrictEqual(pointsOf(name, "mcp.client.session.duration"), { "network.transport=pipe unit=s": [2, 0] })
      assert.strictEqual(sumOf(name, "mcp.runtime.sessions.lost"), 0)
      assert.strictEqual(sumOf(name, "mcp.runtime.reconnects"), 0)
      assert.strictEqual(sumOf(name, "mcp.runtime.sessions.opened"), 2)
      const { lastLoss, losses } = yield* connection.stats
      assert.deepStrictEqual({ lastLoss, losses }, { lastLoss: undefined, losses: 0 })
    }))

  it.scoped("one that never opened is a try, and no session", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named(http, { start: () => Effect.fail(refused) })
      yield* Effect.exit(connection.awaitReady)
      assert.deepStrictEqual(metricsOf(name), {
        "mcp.runtime.connect.duration{error.type=ConnectFailed network.transport=tcp unit=s}": [1, 0]
      })
      const hanging = yield* named(stdio, { handlers: { initialize: () => Effect.never } })
      const opening = yield* forkExit(hanging.connection.awaitReady)
      yield* hanging.server.awaitReceived("initialize")
      assert.strictEqual(sumOf(hanging.name, active), 1)
      yield* hanging.connection.close
      yield* Fiber.join(opening)
      assert.strictEqual(sumOf(hanging.name, active), 0)
      assert.deepStrictEqual(Object.keys(pointsOf(hanging.name, "mcp.runtime.connect.duration")), [
        "error.type=Interrupted network.transport=pipe unit=s"
      ])
      assert.strictEqual(sumOf(hanging.name, "mcp.runtime.sessions.opened"), 0)
    }))

  it.scoped("one whose wish of the application fails after its handshake is closed again", () =>
    Effect.gen(function*() {
      let sessions = 0
      const { connection, name, server } = yield* named(stdio, {
        capabilities: { resources: { subscribe: true } },
        handlers: {
          "resources/subscribe": (_, peer) =>
            ++sessions === 1 ? Effect.succeed({}) : Effect.as(peer.disconnect(), ScriptedServer.silence)
        }
      })
      yield* McpConnection.subscribe(connection, "file:///a")
      yield* server.disconnect()
      yield* Effect.exit(echo(connection, { timeout: "1 millis", replay: "never" })).pipe(Effect.fork)
      yield* settled
      yield* TestClock.adjust("1 millis")
      yield* connection.close
      assert.strictEqual(sumOf(name, open), 0)
      assert.strictEqual(sumOf(name, active), 0)
    }))

  it.effect("interruption at every step: what is open or active is none in the end", () =>
    Effect.gen(function*() {
      const name = freshName()
      const moments = budgets.flatMap((budget) => Array.from({ length: 120 }, (_, steps) => ({ budget, steps })))
      for (const { budget, steps } of moments) {
        const fiber = yield* Effect.gen(function*() {
          const { connection } = yield* connect({ ...stdio, name }, { tools: [{ name: "echo" }] })
          yield* connection.catalog.tools.get
          const other = yield* Effect.fork(echo(connection))
          yield* echo(connection)
          yield* Fiber.join(other)
          yield* connection.reconnect
        }).pipe(Effect.scoped, Effect.withMaxOpsBeforeYield(budget), Effect.fork)
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        yield* settled
        assert.deepStrictEqual({ steps, budget, open: sumOf(name, open), active: sumOf(name, active) }, {
          steps,
          budget,
          open: 0,
          active: 0
        })
      }
      assert.isAbove(sumOf(name, "mcp.runtime.sessions.opened"), 10)
      const opened = sumOf(name, "mcp.runtime.sessions.opened")
      assert.strictEqual(sumOf(name, "mcp.client.session.duration"), opened, "each that opened has ended")
    }), sweepTime)

  it.scoped("the end of the wire at every message: what is open or active is none in the end", () =>
    Effect.gen(function*() {
      const name = freshName()
      for (let messages = 0; messages < 6; messages++) {
        let heard = 0
        yield* Effect.gen(function*() {
          const { connection } = yield* connect({ ...stdio, name }, {
            tools: [{ name: "echo" }],
            accept: (_, peer) => heard++ === messages ? peer.disconnect() : Effect.void
          })
          yield* forkExit(Effect.zipRight(connection.catalog.tools.get, echo(connection, { timeout: "5 seconds" })))
          yield* pass(6000, 500)
        }).pipe(Effect.scoped)
        assert.deepStrictEqual([messages, sumOf(name, open), sumOf(name, active)], [messages, 0, 0])
      }
    }))
})

describe("lists", () => {
  it.scoped("reads are hits, misses, or stale; refreshes are what the server was asked", () =>
    Effect.gen(function*() {
      let works = true
      const { connection, name } = yield* named(stdio, {
        handlers: {
          "tools/list": () =>
            works
              ? Effect.succeed({ tools: [{ name: "a", inputSchema: { type: "object" } }] })
              : Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "" }))
        }
      })
      yield* connection.catalog.tools.get
      yield* connection.catalog.tools.get
      yield* connection.catalog.tools.get
      works = false
      yield* connection.catalog.tools.invalidate
      yield* connection.catalog.tools.get
      yield* Effect.exit(connection.catalog.prompts.get)
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.catalog.reads"), {
        "mcp.runtime.catalog.list=tools mcp.runtime.catalog.outcome=hit": 2,
        "mcp.runtime.catalog.list=tools mcp.runtime.catalog.outcome=miss": 2,
        "mcp.runtime.catalog.list=tools mcp.runtime.catalog.outcome=stale": 1,
        "mcp.runtime.catalog.list=prompts mcp.runtime.catalog.outcome=miss": 1
      })
      assert.deepInclude(pointsOf(name, "mcp.runtime.catalog.refreshes"), {
        "mcp.runtime.catalog.list=tools": 1,
        "error.type=-32603 mcp.runtime.catalog.list=tools": 1
      })
    }))
})

describe("tags are bounded, whatever a server does", () => {
  it.scoped("codes of errors", () =>
    Effect.gen(function*() {
      let code = 0
      const { connection, name } = yield* named(stdio, {
        handlers: {
          "tools/call": () =>
            Effect.suspend(() => Effect.fail(new ScriptedServer.RpcError({ code: code++, message: "x" })))
        }
      })
      for (let i = 0; i < 200; i++) yield* Effect.exit(echo(connection, { replay: "never" }))
      assert.deepStrictEqual(calls(name), { _OTHER: 200 })
      assert.lengthOf(Object.keys(pointsOf(name, failures)), 1)
    }))

  it.scoped("methods that an application makes up", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named()
      for (let i = 0; i < 50; i++) yield* Effect.exit(connection.request(`x/${i}`, {}, { replay: "never" }))
      const methods = Object.keys(pointsOf(name, duration)).map((_) => /mcp\.method\.name=(\S+)/.exec(_)![1])
      assert.sameMembers(methods, ["initialize", "_OTHER"])
    }))

  it.scoped("skills have their methods", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named()
      yield* Effect.exit(connection.request("skills/list", {}, { replay: "never" }))
      assert.include(Object.keys(pointsOf(name, duration)).join(), "mcp.method.name=skills/list")
    }))

  it.scoped("tools are none by default", () =>
    Effect.gen(function*() {
      const { connection, name } = yield* named()
      yield* echo(connection)
      assert.notInclude(Object.keys(metricsOf(name)).join(), "gen_ai")
    }))

  it.scoped("tools: those that the server lists, the first ones that are called, as many as are wished", () =>
    Effect.gen(function*() {
      const tools = Array.from({ length: 20 }, (_, i): ScriptedServer.ScriptedTool => ({ name: `t${i}` }))
      const { connection, name } = yield* named(stdio, { tools }, { metrics: { tools: 3 } })
      const call = (tool: string) => Effect.exit(McpConnection.callTool(connection, { name: tool }))
      yield* call("t0")
      yield* McpConnection.listTools(connection)
      for (let i = 0; i < 20; i++) yield* call(`t${i}`)
      for (let i = 0; i < 20; i++) yield* call(`made up ${i}`)
      yield* call("t2")
      const counts: Record<string, number> = {}
      for (const [tags, value] of Object.entries(pointsOf(name, duration))) {
        const tool = /gen_ai\.tool\.name=(\S+)/.exec(tags)?.[1]
        if (tool === undefined) continue
        assert.include(tags, "gen_ai.operation.name=execute_tool")
        counts[tool] = (counts[tool] ?? 0) + (value as readonly [number, number])[0]
      }
      assert.deepStrictEqual(counts, { t0: 1, t1: 1, t2: 2, _OTHER: 1 + 17 + 20 })
    }))

  it.scoped("a bound that is none counts no tools, and a huge one is cut", () =>
    Effect.gen(function*() {
      for (const tools of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
        const { connection, name } = yield* named(stdio, {}, { metrics: { tools } })
        yield* McpConnection.listTools(connection)
        yield* echo(connection)
        assert.notInclude(Object.keys(metricsOf(name)).join(), "gen_ai", String(tools))
      }
      const many = Array.from({ length: 1100 }, (_, i): ScriptedServer.ScriptedTool => ({ name: `t${i}` }))
      const { connection, name } = yield* named(stdio, { tools: many }, { metrics: { tools: 1_000_000 } })
      yield* McpConnection.listTools(connection)
      yield* Effect.forEach(many, (tool) => McpConnection.callTool(connection, { name: tool.name }), { discard: true })
      const seen = new Set(
        Object.keys(pointsOf(name, duration)).flatMap((_) => /gen_ai\.tool\.name=(\S+)/.exec(_)?.[1] ?? [])
      )
      assert.strictEqual(seen.size, 1001)
    }))

  it.scoped("nonsense is counted by its kind", () =>
    Effect.gen(function*() {
      const { connection, name, server } = yield* named()
      yield* connection.awaitReady
      const nonsense: ReadonlyArray<McpProtocol.JsonObject> = [{}, { jsonrpc: "1.0" }, {
        jsonrpc: "2.0",
        id: 99,
        result: {}
      }]
      yield* server.sendRaw("text", ...nonsense)
      yield* server.warn("NotJson", "a line")
      assert.deepStrictEqual(pointsOf(name, "mcp.runtime.messages.skipped"), {
        "mcp.runtime.warning=NotJsonRpc": 3,
        "mcp.runtime.warning=UnknownResponse": 1,
        "mcp.runtime.warning=NotJson": 1
      })
    }))
})

it.scoped("a server that ends unasked while calls run: each is counted once", () =>
  Effect.gen(function*() {
    const { connection, name, server } = yield* named(stdio, { handlers: { "tools/call": () => Effect.never } })
    const running = yield* Effect.forEach([1, 2, 3], () => forkExit(echo(connection, { replay: "never" })))
    yield* server.awaitReceived("tools/call")
    assert.strictEqual(sumOf(name, active), 3)
    yield* server.disconnect(gone(name))
    yield* Fiber.joinAll(running)
    yield* settled
    assert.deepStrictEqual(calls(name), { ConnectionClosed: 3 })
    assert.strictEqual(sumOf(name, active), 0)
  }))
