/**
 * The catalogue of a connection: what it costs the server, and what sessions that come and go do to it.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { connect, http, pass, ready, record, settled, tagOf, tags, unauthorized } from "../connection/kit.js"
import { brief, follow, namesOf, reader, toolsChanged } from "./kit.js"

const countOf = (server: ScriptedServer.ScriptedServer, method = "tools/list") =>
  Effect.map(server.receivedOf(method), (_) => _.length)

/** A server whose tools are what the test says, and are told when the test says so. */
const changing = (
  config: object = {},
  script: ScriptedServer.Options = {},
  options?: McpConnection.ConnectionOptions
) =>
  Effect.gen(function*() {
    const world = { tools: ["a"], hold: undefined as Deferred.Deferred<void> | undefined }
    const { connection, server } = yield* connect({ ...http, ...config }, {
      capabilities: { tools: { listChanged: true } },
      ...script,
      handlers: {
        "tools/list": () =>
          Effect.suspend(() => {
            const tools = world.tools.map((name) => ({ name, inputSchema: { type: "object" } }))
            return Effect.as(world.hold === undefined ? Effect.void : Deferred.await(world.hold), { tools })
          }),
        ...script.handlers
      }
    }, options)
    return { world, connection, server, tools: connection.catalog.tools }
  })

describe("reading", () => {
  it.scoped("connects, and costs one listing however many read; nothing after that", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* changing()
      const all = yield* Effect.all(Array.from({ length: 1000 }, () => Effect.fork(tools.get)))
      const snapshots = new Set(yield* Fiber.join(Fiber.all(all)))
      assert.strictEqual(snapshots.size, 1)
      yield* tools.get
      assert.deepStrictEqual([yield* countOf(server), (yield* server.stats).attempts], [1, 1])
      assert.strictEqual(connection.catalog.tools.find("a")?.name, "a")
      assert.strictEqual(connection.catalog.server, "scripted")
    }))

  it.scoped("listTools is the server's word, and feeds the catalogue", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing()
      yield* McpConnection.listTools(connection)
      assert.strictEqual(brief(yield* tools.get), "a")
      assert.strictEqual(yield* countOf(server), 1)
      world.tools = ["a", "b"]
      assert.strictEqual(brief(yield* tools.get), "a")
      assert.strictEqual((yield* McpConnection.listTools(connection)).items.length, 2)
      assert.strictEqual(brief(yield* tools.get), "a b")
      assert.deepStrictEqual((yield* tools.get).drift?.added, ["b"])
      assert.strictEqual(yield* countOf(server), 2)
    }))

  it.scoped("a server that can't connect: a typed error, and the next reader tries again", () =>
    Effect.gen(function*() {
      let broken = true
      const { server, tools } = yield* changing({}, {
        start: () => broken ? Effect.fail(unauthorized) : Effect.void
      })
      const error = yield* reader(Effect.flip(tools.get))
      yield* pass(120_000, 1000)
      assert.strictEqual((yield* Fiber.join(error)).executed, "no")
      broken = false
      const next = yield* reader(tools.get)
      yield* pass(120_000, 1000)
      assert.strictEqual(brief(yield* Fiber.join(next)), "a")
      assert.isAbove((yield* server.stats).attempts, 1)
    }))

  it.scoped("what a server does not offer is as empty as for listPrompts, and costs nothing", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* changing()
      const direct = yield* Effect.either(Effect.asVoid(McpConnection.listPrompts(connection)))
      const read = yield* Effect.either(Effect.asVoid(connection.catalog.prompts.get))
      assert.strictEqual(read._tag, direct._tag)
      if (direct._tag === "Left" && read._tag === "Left") {
        assert.deepStrictEqual([read.left._tag, direct.left._tag], ["CapabilityMissing", "CapabilityMissing"])
      } else assert.deepStrictEqual((yield* connection.catalog.prompts.get).items, [])
      assert.strictEqual(yield* countOf(server, "prompts/list"), 0)
    }))
})

describe("sessions that are lost", () => {
  it.scoped("the lists are there again before Ready, and a reader who waited costs nothing more", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing()
      yield* tools.get
      world.tools = ["b"]
      const states = yield* record(connection)
      yield* tools.invalidate
      world.hold = yield* Deferred.make<void>()
      yield* server.disconnect()
      const readers = yield* Effect.all(Array.from({ length: 10 }, () => Effect.fork(tools.get)))
      yield* server.awaitReceived((_) => _.session === 2 && _.method === "tools/list")
      yield* settled
      assert.notStrictEqual(yield* tagOf(connection), "Ready")
      assert.isTrue((yield* tools.current)?.stale)
      const hold = world.hold
      world.hold = undefined
      yield* Deferred.succeed(hold, undefined)
      yield* settled
      assert.strictEqual(tags(states).at(-1), "Ready")
      for (const one of readers) assert.strictEqual(brief(yield* Fiber.join(one)), "b")
      assert.strictEqual(brief(yield* tools.current), "b")
      assert.strictEqual(yield* countOf(server), 2)
    }))

  it.scoped("a session that is lost during the first listing: it is listed once more, for all", () =>
    Effect.gen(function*() {
      const { server, tools, world } = yield* changing()
      world.hold = yield* Deferred.make<void>()
      const readers = yield* Effect.all(Array.from({ length: 10 }, () => Effect.fork(tools.get)))
      yield* server.awaitReceived("tools/list")
      yield* settled
      world.hold = undefined
      yield* server.disconnect()
      yield* pass(5000, 500)
      for (const one of readers) assert.strictEqual(brief(yield* Fiber.join(one)), "a")
      assert.strictEqual(yield* countOf(server), 2)
    }))

  it.scoped("a session that is lost while a list is refreshed: the new session brings it", () =>
    Effect.gen(function*() {
      const { server, tools, world } = yield* changing()
      yield* tools.get
      world.hold = yield* Deferred.make<void>()
      const one = yield* reader(tools.refresh)
      yield* server.awaitReceived((_) => _.method === "tools/list" && _.id !== undefined)
      yield* settled
      world.hold = undefined
      world.tools = ["b"]
      yield* server.disconnect()
      yield* pass(5000, 500)
      assert.strictEqual(brief(yield* Fiber.join(one)), "b")
      assert.strictEqual(brief(yield* tools.current), "b")
      assert.strictEqual(yield* countOf(server), 3)
    }))

  it.scoped("what can't be listed again is stale, which is no reason to have no session", () =>
    Effect.gen(function*() {
      let refuses = false
      const { connection, server, tools } = yield* changing({}, {
        handlers: {
          "tools/list": () =>
            refuses
              ? Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "no" }))
              : Effect.succeed({ tools: [{ name: "a", inputSchema: { type: "object" } }] })
        }
      })
      yield* tools.get
      refuses = true
      yield* server.disconnect()
      yield* settled
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual(namesOf(yield* tools.current)?.[0], "a")
      assert.isTrue((yield* tools.current)?.stale)
      assert.strictEqual(brief(yield* tools.get), "a stale RemoteError")
      refuses = false
      assert.strictEqual(brief(yield* tools.get), "a")
    }))

  it.scoped("close ends who reads with a typed error; the next reader connects again", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing()
      world.hold = yield* Deferred.make<void>()
      const readers = yield* Effect.all(Array.from({ length: 10 }, () => Effect.fork(Effect.flip(tools.get))))
      yield* server.awaitReceived("tools/list")
      yield* settled
      world.hold = undefined
      yield* connection.close
      // At once: not with those who are told that it is closed.
      assert.strictEqual(brief(yield* tools.get), "a")
      for (const one of readers) {
        const error = yield* Fiber.join(one)
        assert.include(["ConnectionUnavailable", "ConnectionClosed"], error._tag)
      }
      assert.strictEqual((yield* server.stats).attempts, 2)
    }))
})

describe("list_changed", () => {
  it.scoped("who joins the listing that it causes does not connect again what is closed under it", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing()
      yield* tools.get
      world.hold = yield* Deferred.make<void>()
      yield* server.notify(toolsChanged)
      yield* pass(100)
      const joined = yield* reader(tools.get)
      const asking = yield* reader(Effect.flip(tools.refresh))
      yield* connection.close
      yield* settled
      assert.strictEqual(brief(yield* Fiber.join(joined)), "a stale ConnectionClosed")
      assert.strictEqual((yield* Fiber.join(asking))._tag, "ConnectionClosed")
      assert.deepStrictEqual([yield* tagOf(connection), (yield* server.stats).attempts], ["Closed", 1])
    }))

  it.scoped("what is told while the server's stream is down is not missed by the first listing, either", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing()
      yield* ready(connection)
      const hold = world.hold = yield* Deferred.make<void>()
      const first = yield* reader(tools.get)
      yield* server.serverStream("down")
      world.tools = ["b"]
      yield* server.serverStream("open")
      yield* settled
      yield* Deferred.succeed(hold, undefined)
      assert.strictEqual(brief(yield* Fiber.join(first)), "a stale")
      yield* pass(100)
      assert.strictEqual(brief(yield* tools.current), "b")
      assert.strictEqual(yield* countOf(server), 2)
    }))

  it.scoped("seven of them are one listing", () =>
    Effect.gen(function*() {
      const { server, tools, world } = yield* changing()
      yield* tools.get
      const seen = yield* follow(tools)
      world.tools = ["b"]
      for (let i = 0; i < 7; i++) yield* server.notify(toolsChanged)
      yield* settled
      assert.strictEqual(brief(yield* tools.current), "a stale")
      yield* pass(100)
      assert.strictEqual(brief(yield* tools.current), "b")
      assert.deepStrictEqual(seen.map(brief), ["a", "a stale", "b"])
      assert.strictEqual(yield* countOf(server), 2)
    }))

  it.scoped("does not keep a session alive, nor connects", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* changing({ lifetime: { idle: "1 minute" } })
      yield* tools.get
      for (let at = 0; at < 59_000; at += 1000) {
        yield* server.notify(toolsChanged)
        yield* pass(1000)
      }
      assert.strictEqual(yield* countOf(server), 60)
      yield* pass(950)
      yield* server.notify(toolsChanged)
      yield* pass(50)
      assert.strictEqual(yield* tagOf(connection), "Idle")
      yield* pass(3_600_000, 60_000)
      assert.deepStrictEqual([(yield* server.stats).attempts, yield* countOf(server)], [1, 60])
      assert.strictEqual(brief(yield* tools.current), "a stale")
    }))

  for (const moment of ["before", "during"] as const) {
    it.scoped(`a session that is lost ${moment} a listing that nobody waits for: it does not connect`, () =>
      Effect.gen(function*() {
        const { connection, server, tools, world } = yield* changing({ lifetime: { idle: "10 seconds" } })
        yield* tools.get
        world.hold = yield* Deferred.make<void>()
        yield* server.notify(toolsChanged)
        yield* pass(moment === "before" ? 50 : 500)
        assert.strictEqual(yield* countOf(server), moment === "before" ? 1 : 2)
        yield* server.disconnect()
        yield* pass(600_000, 10_000)
        assert.strictEqual(yield* tagOf(connection), "Idle")
        assert.strictEqual((yield* server.stats).attempts, 1)
        assert.strictEqual(brief(yield* tools.current), "a stale")
      }))
  }

  it.scoped("a listing that nobody waits for is not interrupted by rest, which comes later", () =>
    Effect.gen(function*() {
      const { connection, server, tools, world } = yield* changing({ lifetime: { idle: "10 seconds" } })
      yield* tools.get
      const hold = world.hold = yield* Deferred.make<void>()
      yield* pass(9000)
      yield* server.notify(toolsChanged)
      yield* pass(6000)
      assert.deepStrictEqual([yield* countOf(server), yield* tagOf(connection)], [2, "Ready"])
      yield* Deferred.succeed(hold, undefined)
      yield* settled
      assert.strictEqual(brief(yield* tools.current), "a")
      yield* pass(20_000, 1000)
      assert.strictEqual(yield* tagOf(connection), "Idle")
    }))

  for (const how of ["lost", "refused"] as const) {
    it.scoped(`readers who join what nobody waited for have it listed where that is ${how}`, () =>
      Effect.gen(function*() {
        let refuses = false
        const world = { hold: undefined as Deferred.Deferred<void> | undefined }
        const { connection, server } = yield* connect(http, {
          capabilities: { tools: { listChanged: true } },
          handlers: {
            "tools/list": () =>
              Effect.suspend(() => {
                const answer = refuses
                  ? Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "no" }))
                  : Effect.succeed({ tools: [{ name: "b", inputSchema: { type: "object" } }] })
                return world.hold === undefined ? answer : Effect.zipRight(Deferred.await(world.hold), answer)
              })
          }
        })
        const { tools } = connection.catalog
        yield* tools.get
        refuses = how === "refused"
        const hold = world.hold = yield* Deferred.make<void>()
        yield* server.notify(toolsChanged)
        yield* pass(100)
        assert.strictEqual(yield* countOf(server), 2)
        const readers = yield* Effect.all(Array.from({ length: 10 }, () => Effect.fork(tools.get)))
        yield* settled
        assert.strictEqual(yield* countOf(server), 2)
        world.hold = undefined
        refuses = false
        if (how === "lost") yield* server.disconnect()
        else yield* Deferred.succeed(hold, undefined)
        yield* pass(5000, 500)
        for (const one of readers) assert.strictEqual(brief(yield* Fiber.join(one)), "b")
      }))
  }

  it.scoped("a notification called like an object's own things", () =>
    Effect.gen(function*() {
      const { connection, server, tools } = yield* changing()
      yield* tools.get
      for (const method of ["constructor", "__proto__", "hasOwnProperty"]) yield* server.notify(method)
      yield* pass(1000)
      assert.strictEqual(brief(yield* tools.get), "a")
      assert.strictEqual(yield* tagOf(connection), "Ready")
      assert.strictEqual(yield* countOf(server), 1)
    }))
})

describe("the end of the connection", () => {
  it.effect("whoever reads ends", () =>
    Effect.gen(function*() {
      const reading = yield* Effect.scoped(Effect.gen(function*() {
        const { connection, server, tools, world } = yield* changing()
        world.hold = yield* Deferred.make<void>()
        const one = yield* Effect.forkDaemon(Effect.flip(tools.get))
        yield* server.awaitReceived("tools/list")
        yield* ready(connection)
        return [one, tools] as const
      }))
      const error: { readonly _tag: string } = yield* Fiber.join(reading[0])
      assert.include(["ConnectionUnavailable", "ConnectionClosed"], error._tag)
      assert.strictEqual((yield* Effect.flip(reading[1].get))._tag, "ConnectionUnavailable")
      assert.strictEqual((yield* Effect.flip(reading[1].refresh))._tag, "ConnectionUnavailable")
      yield* TestClock.adjust("1 hour")
    }))

  it.scoped("wrong options are the fault of the configuration", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const error = yield* Effect.flip(Effect.asVoid(
        McpConnection.fromChannel(server.channel, { catalog: { debounce: "soon" as never } })
      ))
      assert.strictEqual(error._tag, "ConfigInvalid")
    }))
})
