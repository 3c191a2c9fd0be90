/**
 * Reconnecting: what has failed, and nothing else; or everything. What a broken server leaves behind.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Fiber, Stream } from "effect"
import {
  assertNothingLeft,
  begun,
  brief,
  ending,
  fake,
  fakes,
  generation,
  over,
  pass,
  phases,
  settled,
  timed,
  views,
  type Way
} from "./kit.js"
import { storeOf } from "./stores.js"

const slow = { name: "slow", call: () => Effect.delay(Effect.succeed("done"), 60_000) }

const ways: ReadonlyArray<Way> = [
  "hangs at start",
  "hangs in initialize",
  "hangs in tools/list",
  "exits",
  "dies at start",
  "unauthorized",
  "refused",
  "forbidden"
]

describe("McpManager: reconnect", () => {
  for (const mode of ["parallel", "sequential"] as const) {
    it.scoped(`${mode}: a use that heals a server ends what is said of its last close, too`, () =>
      Effect.gen(function*() {
        const a = yield* fake("a", { way: "hangs in tools/list", closing: "hangs" })
        const manager = yield* over([a], { mode, closeTimeout: 1000, connectTimeout: 1000 })
        yield* timed(manager.connectAll)
        yield* pass(2000, 100)
        assert.strictEqual((yield* manager.status("a")).closeError?._tag, "CloseFailed")
        a.way = "works"
        a.closing = "works"
        yield* manager.callTool("a", { name: "a" })
        assert.strictEqual((yield* views(manager)).errors, "")
        a.letGo()
      }))

    it.scoped(`${mode}: it touches no healthy connection: the same session, and calls go on`, () =>
      Effect.gen(function*() {
        const [a, b, c] = yield* Effect.all([fake("a", { tools: [slow] }), fake("b", { way: "refused" }), fake("c")])
        const manager = yield* over([a, b, c], { mode })
        yield* manager.connectAll
        const before = [yield* manager.status("a"), yield* manager.connection("a"), yield* manager.status("c")]
        const call = yield* begun(manager.callTool("a", { name: "slow" }))
        b.way = "works"
        assert.deepStrictEqual(yield* manager.reconnect({ failedOnly: true }), ["a", "b", "c"])
        const after = [yield* manager.status("a"), yield* manager.connection("a"), yield* manager.status("c")]
        after.forEach((_, i) => assert.isTrue(_ === before[i]))
        assert.strictEqual(yield* generation(manager, "a"), 1)
        yield* pass(60_000)
        assert.strictEqual(ending(yield* Fiber.join(call)), "success")
      }))

    it.scoped(`${mode}, failedOnly false: all are closed in reverse order, then connected again`, () =>
      Effect.gen(function*() {
        const journal: Array<string> = []
        const all = yield* fakes("a b c", { journal })
        all[1]!.way = "refused"
        const manager = yield* over(all, { mode })
        yield* manager.connectAll
        const connection = yield* manager.connection("a")
        all[1]!.way = "works"
        journal.length = 0
        assert.deepStrictEqual(yield* manager.reconnect({ failedOnly: false }), ["a", "b", "c"])
        assert.deepStrictEqual(journal, ["-c", "-a", "+a", "+b", "+c"])
        assert.isTrue(connection === (yield* manager.connection("a")))
        assert.strictEqual((yield* manager.status("a")).phase, "connected")
        const stats = yield* all[0]!.server.stats
        assert.deepStrictEqual([stats.opened, stats.closed], [2, 1])
        yield* manager.close
        yield* assertNothingLeft(...all)
      }))
  }

  for (const way of ways) {
    it.scoped(`a server that ${way}: nothing is half-open, and it comes back when it works`, () =>
      Effect.gen(function*() {
        const [a, b] = yield* Effect.all([fake("a"), fake("b", { way })])
        const manager = yield* over([a, b], { connectTimeout: 2000 })
        for (let i = 0; i < 3; i++) {
          yield* timed(i === 0 ? manager.connectAll : manager.reconnect())
          const { active, failed } = yield* views(manager)
          assert.deepStrictEqual([active, failed], ["a", "b"])
          yield* assertNothingLeft(b)
        }
        b.way = "works"
        assert.deepStrictEqual((yield* timed(manager.reconnect())).exit.pipe(ending), "success")
        assert.strictEqual(yield* phases(manager), "a connected, b connected")
        assert.strictEqual((yield* a.server.stats).attempts, 1)
        assert.strictEqual((yield* manager.errors).size, 0)
        yield* manager.close
        yield* assertNothingLeft(a, b)
      }))
  }

  for (const closing of ["dies", "hangs", 5000] as const) {
    it.scoped(`a server whose close ${closing}: the connect error stays, and it can be connected again, twice`, () =>
      Effect.gen(function*() {
        const [a, b] = yield* Effect.all([fake("a"), fake("b", { closing, way: "hangs in tools/list" })])
        const manager = yield* over([a, b], { connectTimeout: 1000, closeTimeout: 2000 })
        yield* timed(manager.connectAll)
        yield* pass(2000, 100)
        assert.strictEqual((yield* views(manager)).errors, "b RequestTimeout")
        assert.strictEqual((yield* manager.status("b")).closeError?._tag, "CloseFailed")
        for (let i = 0; i < 2; i++) {
          b.way = "works"
          assert.deepStrictEqual(ending((yield* timed(manager.reconnect())).exit), "success")
          assert.strictEqual(yield* phases(manager), "a connected, b connected")
          assert.strictEqual((yield* manager.errors).size, 0)
          const { exit } = yield* timed(manager.close)
          assert.strictEqual(ending(exit), "success")
          assert.strictEqual((yield* views(manager)).errors, "b CloseFailed")
          b.way = "hangs in tools/list"
          yield* timed(manager.connectAll)
          yield* pass(2000, 100)
          assert.strictEqual((yield* views(manager)).errors, "b RequestTimeout")
        }
        b.closing = "works"
        b.letGo()
        yield* manager.close
        yield* pass(5000)
        yield* assertNothingLeft(a, b)
      }))
  }

  it.scoped("a server that healed by a use is healthy: it is not touched", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { way: "refused" })])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      assert.strictEqual((yield* views(manager)).failed, "b")
      b.way = "works"
      yield* manager.callTool("b", { name: "b" })
      assert.deepStrictEqual(yield* views(manager), {
        active: "a b",
        connected: "a b",
        failed: "",
        errors: "",
        phases: "a connected, b connected"
      })
      yield* manager.reconnect()
      assert.strictEqual(yield* generation(manager, "b"), 1)
      assert.strictEqual((yield* b.server.stats).attempts, 2)
    }))

  it.scoped("a use that fails, after it had failed: it stays failed, once", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { way: "refused" })])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      const { exit } = yield* timed(manager.callTool("b", { name: "b" }))
      assert.strictEqual(ending(exit), "b: ConnectFailed")
      assert.strictEqual((yield* views(manager)).phases, "a connected, b failed")
    }))

  it.scoped("a server that asks for credentials is tried again; an invalid one stays failed", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a", { way: "unauthorized" }), fake("b", { config: { command: "" } })])
      const manager = yield* over([a, b])
      assert.deepStrictEqual(yield* manager.connectAll, [])
      assert.strictEqual((yield* views(manager)).errors, "a Unauthorized, b ConfigInvalid")
      a.way = "works"
      assert.deepStrictEqual(yield* manager.reconnect(), ["a"])
      assert.strictEqual((yield* views(manager)).phases, "a connected, b failed")
      assert.strictEqual((yield* b.server.stats).attempts, 0)
      assert.deepStrictEqual(yield* manager.reconnect({ failedOnly: false }), ["a"])
      assert.strictEqual((yield* views(manager)).errors, "b ConfigInvalid")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "x" }))), "b: ConfigInvalid")
    }))

  it.scoped("one that has lost its session and can't get it back has failed, and is reconnected", () =>
    Effect.gen(function*() {
      const a = yield* fake("a")
      const manager = yield* over([a])
      yield* manager.connectAll
      a.way = "unauthorized"
      yield* a.server.disconnect()
      yield* settled
      assert.deepStrictEqual(yield* views(manager), {
        active: "",
        connected: "",
        failed: "a",
        errors: "a Unauthorized",
        phases: "a failed"
      })
      a.way = "works"
      assert.deepStrictEqual(yield* manager.reconnect(), ["a"])
      assert.strictEqual((yield* views(manager)).errors, "")
    }))

  it.scoped("one that has failed by itself is still known to have when its reconnection is interrupted", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "refused" })
      const manager = yield* over([a])
      // Nobody but its first use has connected it.
      yield* Effect.flip(manager.callTool("a", { name: "a" }, { replay: "never" }))
      const failed = { failed: "a", errors: "a ConnectFailed", phases: "a failed" }
      assert.deepInclude(yield* views(manager), failed)
      a.way = "hangs at start"
      const reconnecting = yield* begun(manager.reconnect())
      yield* Fiber.interrupt(reconnecting)
      assert.deepInclude(yield* views(manager), failed)
      a.way = "works"
      assert.deepStrictEqual(yield* manager.reconnect(), ["a"])
    }))

  it.scoped("one that comes back by itself is active meanwhile, and is not reconnected", () =>
    Effect.gen(function*() {
      const a = yield* fake("a")
      const manager = yield* over([a])
      yield* manager.connectAll
      a.way = "refused"
      a.delay = 100
      yield* a.server.disconnect()
      yield* settled
      assert.strictEqual((yield* views(manager)).phases, "a reconnecting")
      assert.deepStrictEqual(yield* manager.reconnect(), ["a"])
      a.way = "works"
      yield* pass(1000, 100)
      assert.strictEqual((yield* views(manager)).phases, "a connected")
    }))

  it.scoped("a failed attempt is not taken for a success because the server goes on to say that its lists change", () =>
    Effect.gen(function*() {
      const said: ScriptedServer.Handler = (_, peer) =>
        Effect.zipRight(
          Effect.forkDaemon(Effect.repeatN(
            Effect.zipRight(peer.notify("notifications/tools/list_changed"), Effect.yieldNow()),
            60
          )),
          Effect.fail(new RpcError({ code: -32603, message: "scripted" }))
        )
      const a = yield* fake("a", { handlers: { "tools/list": said } })
      const manager = yield* over([a], { store: storeOf({ a: ["a"] }).layer })
      const seen: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(manager.changes, (_) => Effect.sync(() => void seen.push(_.servers[0]!.phase)))
      )
      yield* timed(manager.connectAll)
      yield* settled
      assert.strictEqual((yield* views(manager)).errors, "a RemoteError")
      assert.strictEqual(yield* phases(manager), "a failed")
      assert.notInclude(seen, "connected")
    }))

  it.scoped("nor because it is listed by somebody else while it is closed", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "hangs in tools/list", closing: 3000 })
      const manager = yield* over([a], { connectTimeout: 1000 })
      const connecting = yield* begun(manager.connectAll)
      const connection = yield* manager.connection("a")
      yield* pass(999)
      yield* Effect.forkScoped(Effect.exit(McpConnection.listTools(connection)))
      yield* timed(Fiber.join(connecting))
      yield* pass(4000, 100)
      assert.strictEqual((yield* views(manager)).phases, "a failed")
      assert.strictEqual(brief((yield* manager.errors).get("a")!), "a: RequestTimeout")
    }))
})
