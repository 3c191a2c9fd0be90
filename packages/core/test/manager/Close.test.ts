/**
 * The end: of all servers, for a while or for good, at any moment, with servers that do not want to.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpError, McpManager } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Fiber, Option, Stream } from "effect"
import {
  assertNothingLeft,
  begun,
  brief,
  ending,
  fake,
  fakes,
  isDone,
  over,
  overInScope,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"

const names = (count: number) => Array.from({ length: count }, (_, i) => `s${String(i).padStart(2, "0")}`).join(" ")

const everything = (
  manager: McpManager.Manager,
  name: string
): ReadonlyArray<readonly [string, Effect.Effect<string>]> => [
  ["connectAll", Effect.map(Effect.exit(manager.connectAll), ending)],
  ["connect", Effect.map(Effect.exit(manager.connect(name)), ending)],
  ["reconnect", Effect.map(Effect.exit(manager.reconnect()), ending)],
  ["reconnect all", Effect.map(Effect.exit(manager.reconnect({ failedOnly: false })), ending)],
  ["disconnect", Effect.map(Effect.exit(manager.disconnect(name)), ending)],
  ["reload", Effect.map(Effect.exit(manager.reload([])), ending)],
  ["close", Effect.map(Effect.exit(manager.close), ending)],
  ["status", Effect.map(Effect.exit(manager.status(name)), ending)],
  ["connection", Effect.map(Effect.exit(manager.connection(name)), ending)],
  ["callTool", Effect.map(Effect.exit(manager.callTool(name, { name })), ending)],
  ["callTool of nobody", Effect.map(Effect.exit(manager.callTool("nobody", { name })), ending)]
]

const assertReleased = (manager: McpManager.Manager, name: string) =>
  Effect.forEach(everything(manager, name), ([what, how]) =>
    Effect.map(timed(how), ({ exit, took }) => {
      assert.strictEqual(took, 0, what)
      assert.match(exit._tag === "Success" ? exit.value : exit._tag, /ConnectionUnavailable$/, what)
    }), { discard: true })

describe("McpManager: close", () => {
  it.scoped("sequential: in reverse order, one after the other", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const all = yield* fakes("a b c", { journal, closing: 100 })
      const manager = yield* over(all, { mode: "sequential" })
      yield* manager.connectAll
      const { took } = yield* timed(manager.close)
      assert.strictEqual(took, 300)
      assert.deepStrictEqual(journal.slice(3), ["-c", "-b", "-a"])
    }))

  it.scoped("parallel: in reverse order for those that answer, whatever the others do", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const all = yield* fakes("a b c d", { journal })
      all[1]!.closing = "hangs"
      all[3]!.closing = 5000
      const manager = yield* over(all, { closeTimeout: "2 seconds" })
      yield* manager.connectAll
      const { exit, took } = yield* timed(manager.close)
      assert.strictEqual(took, 2000)
      assert.deepStrictEqual(journal.slice(4), ["-c", "-a"])
      assert(exit._tag === "Success")
      assert.deepStrictEqual(exit.value.map(brief), ["b: CloseFailed", "d: CloseFailed"])
      assert.strictEqual((yield* views(manager)).errors, "b CloseFailed, d CloseFailed")
      yield* pass(3000)
      assert.deepStrictEqual(journal.slice(4), ["-c", "-a", "-d"])
      all[1]!.letGo()
      yield* settled
      yield* assertNothingLeft(...all)
    }))

  for (const [mode, expected] of [["parallel", 3000], ["sequential", 60_000]] as const) {
    it.scoped(`${mode}: 20 servers that ignore everything take ${expected / 1000} s`, () =>
      Effect.gen(function*() {
        const all = yield* fakes(names(20), { closing: "hangs" })
        const manager = yield* over(all, { mode, closeTimeout: "3 seconds" })
        yield* manager.connectAll
        const { exit, took } = yield* timed(manager.close, 500)
        assert.strictEqual(took, expected)
        assert(exit._tag === "Success")
        assert.deepStrictEqual(exit.value.map((_) => _.server), yield* manager.configured)
        for (const { letGo } of all) letGo()
        yield* pass(1000)
        yield* assertNothingLeft(...all)
      }))
  }

  it.scoped("a second close does nothing and has nothing to tell", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { closing: "dies" })])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      assert.deepStrictEqual((yield* manager.close).map(brief), ["b: CloseFailed"])
      const before = yield* manager.state
      assert.deepStrictEqual(yield* manager.close, [])
      assert.deepStrictEqual(yield* phases(manager), "a disconnected, b disconnected")
      assert.deepStrictEqual((yield* manager.state).active, before.active)
      assert.strictEqual((yield* a.server.stats).attempts, 1)
    }))

  it.scoped("nor after one that left a server behind; how it was closed last stays known until it is connected", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { closing: "hangs" })
      const manager = yield* over([a], { closeTimeout: 1000 })
      yield* manager.connectAll
      yield* timed(manager.close)
      assert.deepStrictEqual(yield* manager.close, [])
      assert.strictEqual((yield* views(manager)).errors, "a CloseFailed")
      a.closing = "works"
      a.letGo()
      yield* manager.connectAll
      assert.strictEqual((yield* views(manager)).errors, "")
    }))

  it.scoped("a start that can not be interrupted is left behind, which is no end in order", () =>
    Effect.gen(function*() {
      const start = () => Effect.uninterruptible(Effect.sleep("1 hour"))
      const a = { ...yield* fake("a"), server: yield* ScriptedServer.make({ name: "a", start }) }
      const manager = yield* over([a], { connectTimeout: 1000, closeTimeout: null })
      yield* timed(manager.connectAll)
      yield* pass(30_000, 1000)
      assert.strictEqual((yield* manager.status("a")).closeError?._tag, "CloseFailed")
      yield* pass(3_600_000)
      yield* assertNothingLeft(a)
    }))

  it.scoped("closed stays closed: for a reconnect without anybody to connect, and for servers that come later", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a], { others: [b] })
      yield* manager.connectAll
      yield* manager.close
      assert.deepStrictEqual(yield* manager.reconnect(), [])
      yield* manager.reload([a.config, b.config])
      assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "b: ConnectionUnavailable")
    }))

  it.scoped("issued while it connects, it comes after it; issued after the gate, it ends what still connects", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { delay: 2000 })])
      const manager = yield* over([a, b])
      const connecting = yield* begun(manager.connectAll)
      const closing = yield* begun(manager.close)
      assert.strictEqual(yield* phases(manager), "a connected, b connecting")
      yield* pass(2000)
      assert.strictEqual(ending(yield* Fiber.join(connecting)), "success")
      assert.strictEqual(ending(yield* Fiber.join(closing)), "success")
      assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected")
      yield* assertNothingLeft(a, b)
    }))

  it.scoped("use after close is an error that neither waits nor connects, until it is connected again", () =>
    Effect.gen(function*() {
      const [a, b, c] = yield* Effect.all([fake("a"), fake("b", { closing: "hangs" }), fake("c", { way: "refused" })])
      const manager = yield* over([a, b, c], { closeTimeout: 1000 })
      yield* manager.connectAll
      const connection = yield* manager.connection("a")
      yield* timed(manager.close)
      for (const name of ["a", "b", "c"]) {
        const { exit, took } = yield* timed(manager.callTool(name, { name }))
        assert.deepStrictEqual([ending(exit), took], [`${name}: ConnectionUnavailable`, 0])
      }
      assert.strictEqual(ending(yield* Effect.exit(connection.awaitReady)), "a: ConnectionUnavailable")
      for (const { server } of [a, b, c]) assert.strictEqual((yield* server.stats).attempts, 1)
      c.way = "works"
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c"])
      for (const name of ["a", "b", "c"]) yield* manager.callTool(name, { name })
      b.closing = "works"
    }))

  it.scoped("closed before it was ever connected: a use connects nothing", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b])
      yield* manager.connection("b")
      assert.deepStrictEqual(yield* manager.close, [])
      assert.deepStrictEqual(yield* manager.active, [])
      for (const name of ["a", "b"]) {
        assert.strictEqual(
          ending(yield* Effect.exit(manager.callTool(name, { name }))),
          `${name}: ConnectionUnavailable`
        )
      }
      for (const { server } of [a, b]) assert.strictEqual((yield* server.stats).attempts, 0)
      yield* manager.connect("a")
      yield* manager.callTool("a", { name: "a" })
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "b: ConnectionUnavailable")
    }))

  it.scoped("calls that run when it is closed end with an error", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { tools: [{ name: "hang", call: () => Effect.never }] })
      const manager = yield* over([a])
      yield* manager.connectAll
      const call = yield* begun(manager.callTool("a", { name: "hang" }))
      yield* manager.close
      yield* settled
      assert.isTrue(yield* isDone(call))
      assert.match(ending(yield* Fiber.join(call)), /^a: /)
      yield* assertNothingLeft(a)
    }))

  it.scoped("closeTimeout null: it takes as long as it takes", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { closing: 12_000, config: { timeouts: { close: "60 seconds" } } })
      const manager = yield* over([a], { closeTimeout: null })
      yield* manager.connectAll
      const { exit, took } = yield* timed(manager.close, 500)
      assert.strictEqual(took, 12_000)
      assert.deepStrictEqual(ending(exit), "success")
      yield* assertNothingLeft(a)
    }))
})

describe("McpManager: the end of its scope", () => {
  it.effect("everything is closed in reverse order, and whatever is asked afterwards is an error at once", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const all = yield* fakes("a b c", { journal })
      const { end, manager } = yield* overInScope(all)
      yield* manager.connectAll
      const followed = yield* begun(Stream.runLast(manager.changes))
      const connection = yield* manager.connection("a")
      yield* end
      assert.deepStrictEqual(journal.slice(3), ["-c", "-b", "-a"])
      yield* assertReleased(manager, "a")
      assert.strictEqual(ending(yield* Effect.exit(connection.awaitReady)), "a: ConnectionUnavailable")
      const last = yield* Fiber.join(followed)
      assert(last._tag === "Success" && Option.isSome(last.value))
      assert.isTrue(last.value.value === (yield* manager.state))
      assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected, c disconnected")
      yield* end
    }))

  for (const strict of [false, true]) {
    const doings = (manager: McpManager.Manager, hanging: McpManager.ManagerOptions["servers"]) =>
      [
        ["connectAll", manager.connectAll],
        ["connect", manager.connect("b")],
        ["reconnect", manager.reconnect({ failedOnly: false })],
        ["reload", manager.reload(hanging)],
        ["disconnect", manager.disconnect("b")],
        ["close", manager.close],
        ["callTool", manager.callTool("b", { name: "b" })]
      ] as ReadonlyArray<readonly [string, Effect.Effect<unknown, McpError.McpError>]>
    for (
      const [i, what] of ["connectAll", "connect", "reconnect", "reload", "disconnect", "close", "callTool"].entries()
    ) {
      it.effect(`strict ${strict}: during ${what}, with others that wait: all of them end, and nothing is left`, () =>
        Effect.gen(function*() {
          const [a, b, c, d] = yield* Effect.all([fake("a"), fake("b"), fake("c"), fake("d")])
          const { end, manager } = yield* overInScope([a, b, c], { others: [d], strict })
          if (what !== "connectAll" && what !== "connect" && what !== "callTool") yield* manager.connectAll
          const closes = what === "disconnect" || what === "close"
          if (closes) b.closing = 3000
          else b.way = "hangs in initialize"
          const changed = { ...b.config, args: ["changed"] }
          const doing = yield* begun(doings(manager, [a.config, changed, d.config])[i]![1])
          const waiting = yield* Effect.forEach(everything(manager, "b"), ([, how]) => begun(how))
          assert.isFalse(yield* isDone(doing))
          const { took } = yield* timed(end)
          assert.isAtMost(took, closes ? 3500 : 1000)
          yield* settled
          assert.isTrue(yield* isDone(doing), "whoever has begun")
          for (const [i, one] of waiting.entries()) assert.isTrue(yield* isDone(one), everything(manager, "b")[i]![0])
          assert.notStrictEqual(ending(yield* Fiber.join(doing)), "success")
          yield* pass(4000)
          yield* assertNothingLeft(a, b, c, d)
          yield* assertReleased(manager, "b")
        }))
    }
  }

  it.effect("servers that ignore everything are left behind after one close time-out, and end by themselves", () =>
    Effect.gen(function*() {
      const all = yield* fakes(names(20), { closing: 8000 })
      const { end, manager } = yield* overInScope(all, { closeTimeout: "3 seconds", mode: "sequential" })
      yield* manager.connectAll
      const connection = yield* manager.connection("s00")
      const follower = yield* begun(Stream.runDrain(connection.catalog.tools.changes))
      const { took } = yield* timed(end, 500)
      assert.strictEqual(took, 3000)
      yield* assertReleased(manager, "s00")
      yield* pass(6000, 1000)
      yield* assertNothingLeft(...all)
      assert.strictEqual((yield* connection.state)._tag, "Closed")
      assert.isTrue(yield* isDone(follower))
    }))

  for (const at of [0, 100, 200]) {
    it.effect(`a server whose lost session is still ending after ${at} ms when the scope closes: it is not started again`, () =>
      Effect.gen(function*() {
        const a = yield* fake("a", { closing: 300 })
        const { end, manager } = yield* overInScope([a], { closeTimeout: null })
        yield* manager.connectAll
        yield* a.server.disconnect()
        yield* settled
        yield* pass(at)
        const { took } = yield* timed(end)
        assert.strictEqual(took, 300 - at)
        yield* pass(10_000, 1000)
        yield* assertNothingLeft(a)
        assert.strictEqual((yield* a.server.stats).attempts, 1)
      }))
  }

  it.effect("a use that makes the connection at the moment when the scope closes gets none", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b c")
      const { end, manager } = yield* overInScope(all)
      const uses = yield* Effect.forEach(all, ({ name }) => Effect.fork(Effect.exit(manager.callTool(name, { name }))))
      yield* Effect.yieldNow()
      yield* end
      yield* settled
      for (const use of uses) assert.match(ending(yield* Fiber.join(use)), /ConnectionUnavailable/)
      yield* assertNothingLeft(...all)
    }))
})
