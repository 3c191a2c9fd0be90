/**
 * Connecting and disconnecting one server.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpError } from "@mcp-runtime/core"
import { Effect, Exit, Fiber } from "effect"
import {
  assertNothingLeft,
  begun,
  ending,
  failure,
  fake,
  fakes,
  interrupted,
  isDone,
  over,
  overInScope,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"

/** As many operations that change nothing. */
const steps = (n: number) => n === 0 ? Effect.void : Effect.repeatN(Effect.void, n - 1)

describe("McpManager: one server", () => {
  it.scoped("connect: it alone is connected; a second time changes nothing", () =>
    Effect.gen(function*() {
      const [a, b] = yield* fakes("a b")
      const manager = yield* over([a!, b!])
      yield* manager.connect("b")
      assert.deepStrictEqual(yield* views(manager), {
        active: "b",
        connected: "b",
        failed: "",
        errors: "",
        phases: "a disconnected, b connected"
      })
      const before = yield* manager.state
      yield* manager.connect("b")
      assert.isTrue(before === (yield* manager.state))
      assert.strictEqual((yield* b!.server.stats).attempts, 1)
      assert.strictEqual((yield* a!.server.stats).attempts, 0)
    }))

  it.scoped("connect: its failure is recorded; nothing of it is left; later it works", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "exits" })
      const manager = yield* over([a])
      const exit = yield* Effect.exit(manager.connect("a"))
      const recorded = (yield* manager.errors).get("a")
      assert.isTrue(failure(exit) === recorded)
      assert.strictEqual(yield* phases(manager), "a failed")
      yield* assertNothingLeft(a)
      a.way = "works"
      yield* manager.connect("a")
      assert.strictEqual((yield* views(manager)).errors, "")
    }))

  it.scoped("all who use it first at the same moment get the same connection, however the turns fall", () =>
    Effect.gen(function*() {
      for (let operations = 10; operations < 16; operations++) {
        const a = yield* fake("a")
        for (let shift = 0; shift < 60; shift++) {
          const manager = yield* over([a])
          const uses = Array.from({ length: 8 }, (_, i) => Effect.zipRight(steps(shift * i), manager.connection("a")))
          const all = yield* Effect.all(uses, { concurrency: "unbounded" }).pipe(
            Effect.withMaxOpsBeforeYield(operations)
          )
          assert.strictEqual(new Set(all).size, 1, `${operations} operations in each turn, ${shift} between`)
        }
      }
    }))

  it.scoped("connect: one that is being connected after the gate is waited for", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { delay: 3000 })])
      const manager = yield* over([a, b])
      const all = yield* begun(manager.connectAll)
      const one = yield* begun(manager.connect("b"))
      yield* pass(2999)
      assert.isFalse(yield* isDone(one))
      yield* pass(1)
      assert.strictEqual(ending(yield* Fiber.join(all)), "success")
      assert.strictEqual(ending(yield* Fiber.join(one)), "success")
      assert.strictEqual((yield* b.server.stats).attempts, 1)
    }))

  for (const how of ["connect", "connectAll"] as const) {
    it.scoped(`${how}: one that is idle after a use, and whose tools nobody has listed, is listed`, () =>
      Effect.gen(function*() {
        const a = yield* fake("a", { config: { lifetime: { idle: "1 minute" } } })
        const manager = yield* over([a])
        yield* manager.callTool("a", { name: "a" })
        yield* pass(120_000, 10_000)
        assert.strictEqual(yield* phases(manager), "a idle")
        yield* how === "connect" ? manager.connect("a") : manager.connectAll
        const tools = (yield* manager.status("a")).tools?.items
        assert.deepStrictEqual(tools?.map((_) => _.name), ["a"])
        yield* pass(120_000, 10_000)
        // What is known of one that is idle need not be asked for again.
        yield* how === "connect" ? manager.connect("a") : manager.connectAll
        assert.strictEqual((yield* a.server.stats).attempts, 2)
      }))
  }

  for (const how of ["fails", "is interrupted"] as const) {
    it.scoped(`one that is connected to be listed is idle again where the start of all ${how}`, () =>
      Effect.gen(function*() {
        const a = yield* fake("a", { config: { lifetime: { idle: "1 minute" } } })
        const b = yield* fake("b", { way: how === "fails" ? "refused" : "hangs at start" })
        const manager = yield* over([a, b], { strict: true })
        yield* manager.callTool("a", { name: "a" })
        yield* pass(120_000, 10_000)
        assert.strictEqual(yield* phases(manager), "a idle, b disconnected")
        const all = yield* begun(manager.connectAll)
        assert.isTrue(Exit.isFailure(how === "fails" ? yield* Fiber.join(all) : yield* interrupted(all)))
        assert.strictEqual(yield* phases(manager), `a idle, b ${how === "fails" ? "failed" : "disconnected"}`)
        yield* assertNothingLeft(a, b)
        yield* manager.callTool("a", { name: "a" })
      }))
  }

  it.scoped("connect, interrupted at any of its turns: either it is done, or what it has opened is closed", () =>
    Effect.gen(function*() {
      for (let turns = 0, over = false; !over; turns++) {
        const a = yield* fake("a")
        const { end, manager } = yield* overInScope([a])
        const connecting = yield* Effect.fork(Effect.exit(manager.connect("a")))
        yield* Effect.repeatN(Effect.yieldNow(), turns)
        over = yield* isDone(connecting)
        const exit = yield* interrupted(connecting)
        assert.strictEqual(
          yield* phases(manager),
          Exit.isSuccess(exit) ? "a connected" : "a disconnected",
          `after ${turns} turns`
        )
        yield* end
      }
    }))

  it.scoped("connect, interrupted: what it has opened is closed", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "hangs in initialize" })
      const manager = yield* over([a])
      const one = yield* begun(manager.connect("a"))
      assert.strictEqual(yield* phases(manager), "a connecting")
      assert.strictEqual(ending(yield* interrupted(one)), "interrupted")
      assert.strictEqual(yield* phases(manager), "a disconnected")
      yield* assertNothingLeft(a)
    }))

  it.scoped("an unknown name: the error names the servers that there are, however it is used", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b")
      const manager = yield* over(all)
      for (const name of ["c", "", "__proto__", "constructor", "A", "a ", "x".repeat(100_000)]) {
        const exits = [
          yield* Effect.exit(manager.connect(name)),
          yield* Effect.exit(manager.disconnect(name)),
          yield* Effect.exit(manager.status(name)),
          yield* Effect.exit(manager.connection(name)),
          yield* Effect.exit(manager.callTool(name, { name: "a" }))
        ]
        for (const exit of exits) {
          const error = failure<unknown, McpError.McpError>(exit)
          assert(error._tag === "UnknownServer")
          assert.deepStrictEqual(error.configured, ["a", "b"])
          assert.include(error.message, `these are: "a", "b"`)
          assert.isBelow(error.message.length, 1000)
        }
      }
      assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected")
    }))

  it.scoped("an unknown name does not wait for its turn", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "hangs at start" })
      const manager = yield* over([a])
      yield* begun(manager.connectAll)
      for (const what of [manager.connect("x"), manager.disconnect("x"), manager.callTool("x", { name: "x" })]) {
        const { exit, took } = yield* timed(Effect.asVoid(what))
        assert.deepStrictEqual([ending(exit), took], ["x: UnknownServer", 0])
      }
    }))

  it.scoped("a disabled server is there, and can't be connected or used", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { config: { enabled: false } })])
      for (const dropFailed of [true, false]) {
        const manager = yield* over([a, b], { dropFailed })
        assert.strictEqual((yield* views(manager)).active, "a")
        yield* manager.connectAll
        assert.deepStrictEqual(yield* views(manager), {
          active: "a",
          connected: "a",
          failed: "",
          errors: "",
          phases: "a connected, b disabled"
        })
        assert.strictEqual(ending(yield* Effect.exit(manager.connect("b"))), "b: ConnectionUnavailable")
        assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "b: ConnectionUnavailable")
        yield* manager.reconnect({ failedOnly: false })
        yield* manager.disconnect("b")
        yield* manager.close
        yield* manager.connectAll
        assert.strictEqual(yield* phases(manager), "a connected, b disabled")
      }
      assert.strictEqual((yield* b.server.stats).attempts, 0)
    }))

  it.scoped("strict: a disabled server is no failure", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { config: { enabled: false } })])
      const manager = yield* over([a, b], { strict: true })
      assert.deepStrictEqual(yield* manager.connectAll, ["a"])
    }))

  for (const how of ["connect", "connectAll"] as const) {
    it.scoped(`${how}: one whose connection was enabled by somebody else after it was disconnected can be used again`, () =>
      Effect.gen(function*() {
        const a = yield* fake("a")
        const manager = yield* over([a])
        yield* timed(manager.connectAll)
        yield* manager.disconnect("a")
        const connection = yield* manager.connection("a")
        yield* connection.enable
        yield* timed(connection.awaitReady)
        const { active, connected, phases } = yield* views(manager)
        assert.deepStrictEqual([active, connected, phases], ["", "", "a disconnected"])
        yield* timed(how === "connect" ? manager.connect("a") : manager.connectAll)
        yield* manager.callTool("a", { name: "a" })
        assert.strictEqual((yield* views(manager)).active, "a")
      }))
  }

  it.scoped("disconnect: its use is an error until it is connected again; the others are not touched", () =>
    Effect.gen(function*() {
      const [a, b] = yield* fakes("a b")
      const manager = yield* over([a!, b!])
      yield* manager.connectAll
      const other = yield* manager.status("b")
      yield* manager.disconnect("a")
      assert.deepStrictEqual(yield* views(manager), {
        active: "b",
        connected: "b",
        failed: "",
        errors: "",
        phases: "a disconnected, b connected"
      })
      yield* assertNothingLeft(a!)
      const { exit, took } = yield* timed(manager.callTool("a", { name: "a" }))
      assert.deepStrictEqual([ending(exit), took], ["a: ConnectionUnavailable", 0])
      assert.strictEqual((yield* a!.server.stats).attempts, 1)
      yield* manager.disconnect("a")
      yield* manager.reconnect()
      assert.strictEqual((yield* a!.server.stats).attempts, 1)
      yield* manager.connect("a")
      yield* manager.callTool("a", { name: "a" })
      assert.strictEqual((yield* views(manager)).active, "a b")
      assert.isTrue(other === (yield* manager.status("b")))
    }))

  it.scoped("disconnect of one that was never connected: a use connects nothing", () =>
    Effect.gen(function*() {
      const [a, b] = yield* fakes("a b")
      const manager = yield* over([a!, b!])
      yield* manager.disconnect("a")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("a", { name: "a" }))), "a: ConnectionUnavailable")
      yield* manager.callTool("b", { name: "b" })
      assert.strictEqual((yield* a!.server.stats).attempts, 0)
    }))

  it.scoped("disconnect of one that has failed: it has not failed any more", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a", { way: "refused" }), fake("b", { config: { command: "" } })])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      yield* manager.disconnect("a")
      yield* manager.disconnect("b")
      assert.strictEqual(yield* phases(manager), "a disconnected, b failed")
      assert.strictEqual((yield* views(manager)).errors, "b ConfigInvalid")
    }))

  it.scoped("disconnect waits for its turn; then it ends what is still being connected", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { delay: 2000 })])
      const manager = yield* over([a, b])
      const connecting = yield* begun(manager.connectAll)
      const leaving = yield* begun(manager.disconnect("b"))
      yield* pass(1000)
      assert.isFalse(yield* isDone(leaving))
      yield* pass(1000)
      yield* Fiber.join(connecting)
      assert.strictEqual(ending(yield* Fiber.join(leaving)), "success")
      assert.strictEqual(yield* phases(manager), "a connected, b disconnected")
      yield* assertNothingLeft(b)
    }))

  it.scoped("disconnect of one whose close hangs: it returns, and it can be connected again", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { closing: "hangs" })
      const manager = yield* over([a], { closeTimeout: 1000 })
      for (let i = 1; i <= 3; i++) {
        yield* manager.connect("a")
        assert.strictEqual((yield* manager.errors).size, 0)
        const { exit, took } = yield* timed(manager.disconnect("a"))
        assert.deepStrictEqual([ending(exit), took], ["success", 1000])
        assert.strictEqual((yield* views(manager)).errors, "a CloseFailed")
        const late = yield* Effect.exit(manager.callTool("a", { name: "a" }))
        assert.strictEqual(ending(late), "a: ConnectionUnavailable")
        assert.strictEqual((yield* a.server.stats).attempts, i)
      }
      a.letGo()
      yield* settled
      yield* assertNothingLeft(a)
    }))
})
