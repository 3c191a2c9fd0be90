/**
 * What a manager shows of its servers after each event: every row of the state table that we compare ourselves with, in
 * both modes.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpManager } from "@mcp-runtime/core"
import { Effect, FastCheck, Stream, TestContext } from "effect"
import {
  assertNothingLeft,
  begun,
  brief,
  failure,
  fake,
  fakes,
  isDone,
  over,
  pass,
  settled,
  timed,
  views,
  type Way
} from "./kit.js"

const modes = ["parallel", "sequential"] as const

const abc = (b: Way = "works", closing: "works" | "hangs" | "dies" = "works") =>
  Effect.all([fake("a"), fake("b", { way: b, closing }), fake("c")])

describe("McpManager: views", () => {
  for (const mode of modes) {
    it.scoped(`2.7, ${mode}: constructed: all are active, nothing is connected`, () =>
      Effect.gen(function*() {
        const all = yield* abc()
        const manager = yield* over(all, { mode })
        assert.deepStrictEqual(yield* views(manager), {
          active: "a b c",
          connected: "",
          failed: "",
          errors: "",
          phases: "a disconnected, b disconnected, c disconnected"
        })
        assert.deepStrictEqual(yield* manager.configured, ["a", "b", "c"])
        for (const { server } of all) assert.strictEqual((yield* server.stats).attempts, 0)
      }))

    for (const dropFailed of [true, false]) {
      it.scoped(`2.7, ${mode}, dropFailed ${dropFailed}: one fails, and comes back in its place`, () =>
        Effect.gen(function*() {
          const all = yield* abc("refused")
          const manager = yield* over(all, { mode, dropFailed })
          const active = yield* manager.connectAll
          assert.deepStrictEqual(active, dropFailed ? ["a", "c"] : ["a", "b", "c"])
          assert.deepStrictEqual(yield* views(manager), {
            active: dropFailed ? "a c" : "a b c",
            connected: "a c",
            failed: "b",
            errors: "b ConnectFailed",
            phases: "a connected, b failed, c connected"
          })
          all[1].way = "works"
          assert.deepStrictEqual(yield* manager.reconnect(), ["a", "b", "c"])
          assert.deepStrictEqual(yield* views(manager), {
            active: "a b c",
            connected: "a b c",
            failed: "",
            errors: "",
            phases: "a connected, b connected, c connected"
          })
        }))
    }

    it.scoped(`2.7, ${mode}, strict: one fails: only those connected before are active`, () =>
      Effect.gen(function*() {
        const all = yield* abc("refused")
        const manager = yield* over(all, { mode, strict: true })
        yield* manager.connect("a")
        const error = failure(yield* Effect.exit(manager.connectAll))
        assert.strictEqual(brief(error), "b: b ConnectFailed")
        assert.deepStrictEqual(yield* views(manager), {
          active: "a",
          connected: "a",
          failed: "b",
          errors: "b ConnectFailed",
          phases: "a connected, b failed, c disconnected"
        })
        yield* assertNothingLeft(all[1], all[2])
      }))

    it.scoped(`2.7, ${mode}: what is left of a failed server hangs: it stays failed with its own error, the rest works`, () =>
      Effect.gen(function*() {
        const all = yield* abc("hangs in tools/list", "hangs")
        const manager = yield* over(all, { mode, connectTimeout: "1 second", closeTimeout: "2 seconds" })
        const { took } = yield* timed(manager.connectAll)
        // One after the other: the next one begins when nothing is left of the one before.
        assert.isAtMost(took, mode === "sequential" ? 3000 : 1500)
        yield* pass(2000)
        assert.deepStrictEqual(yield* views(manager), {
          active: "a c",
          connected: "a c",
          failed: "b",
          errors: "b RequestTimeout",
          phases: "a connected, b failed, c connected"
        })
        assert.strictEqual((yield* manager.status("b")).closeError?._tag, "CloseFailed")
      }))

    for (const way of ["hangs at start", "hangs in initialize", "hangs in tools/list"] as const) {
      it.scoped(`2.7, ${mode}: connect time-out, ${way}`, () =>
        Effect.gen(function*() {
          const all = yield* abc(way)
          const manager = yield* over(all, { mode, connectTimeout: "3 seconds" })
          const { took } = yield* timed(manager.connectAll)
          assert.strictEqual(took, 3000)
          assert.deepStrictEqual(yield* views(manager), {
            active: "a c",
            connected: "a c",
            failed: "b",
            errors: "b RequestTimeout",
            phases: "a connected, b failed, c connected"
          })
          yield* assertNothingLeft(all[1])
        }))
    }

    it.scoped(`2.7, ${mode}: closed in order: nothing is active, what had failed is still shown`, () =>
      Effect.gen(function*() {
        const all = yield* abc("refused")
        const manager = yield* over(all, { mode })
        yield* manager.connectAll
        assert.deepStrictEqual(yield* manager.close, [])
        assert.deepStrictEqual(yield* views(manager), {
          active: "",
          connected: "",
          failed: "b",
          errors: "b ConnectFailed",
          phases: "a disconnected, b failed, c disconnected"
        })
        yield* assertNothingLeft(...all)
      }))

    it.scoped(`2.7, ${mode}: closed with a failure: it is in the errors`, () =>
      Effect.gen(function*() {
        const all = yield* abc("works", "dies")
        const manager = yield* over(all, { mode })
        yield* manager.connectAll
        assert.deepStrictEqual((yield* manager.close).map(brief), ["b: CloseFailed"])
        assert.deepStrictEqual(yield* views(manager), {
          active: "",
          connected: "",
          failed: "",
          errors: "b CloseFailed",
          phases: "a disconnected, b disconnected, c disconnected"
        })
      }))

    it.scoped(`2.7, ${mode}: after close: reconnect does nothing, connectAll connects all`, () =>
      Effect.gen(function*() {
        const all = yield* abc()
        const manager = yield* over(all, { mode })
        yield* manager.connectAll
        yield* manager.close
        assert.deepStrictEqual(yield* manager.reconnect(), [])
        assert.strictEqual((yield* all[0].server.stats).attempts, 1)
        assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c"])
        assert.strictEqual((yield* views(manager)).phases, "a connected, b connected, c connected")
      }))
  }

  it.scoped("a second connectAll touches nothing that is connected", () =>
    Effect.gen(function*() {
      const all = yield* abc()
      const manager = yield* over(all)
      yield* manager.connectAll
      const before = yield* manager.state
      yield* manager.connectAll
      assert.strictEqual(yield* manager.state, before)
      for (const { server } of all) assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("the state is frozen, and the changes end with the last one", () =>
    Effect.gen(function*() {
      const all = yield* abc("refused")
      const manager = yield* over(all)
      const seen: Array<McpManager.ManagerState> = []
      yield* Effect.forkScoped(Stream.runForEach(manager.changes, (_) => Effect.sync(() => void seen.push(_))))
      yield* settled
      yield* manager.connectAll
      yield* settled
      const state = yield* manager.state
      assert.strictEqual(seen.at(-1), state)
      assert.isTrue(Object.isFrozen(state) && Object.isFrozen(state.servers) && Object.isFrozen(state.active))
      assert.isTrue(state.servers.every(Object.isFrozen))
    }))

  it.effect("views are in configured order whatever is finished first", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }),
          FastCheck.uniqueArray(FastCheck.nat(4), { maxLength: 3 }),
          FastCheck.constantFrom(...modes),
          FastCheck.constantFrom(1, 2, Infinity),
          (delays, broken, mode, concurrency) =>
            Effect.runPromise(
              Effect.gen(function*() {
                const names = ["a", "b", "c", "d", "e"]
                const all = yield* Effect.forEach(names, (name, i) =>
                  fake(name, { delay: delays[i]! * 100 + 1, way: broken.includes(i) ? "refused" : "works" }))
                const manager = yield* over(all, { mode, concurrency })
                const orders: Array<ReadonlyArray<string>> = []
                yield* Effect.forkScoped(Stream.runForEach(manager.changes, (_) =>
                  Effect.sync(() =>
                    void orders.push(_.servers.map((_) =>
                      _.name
                    ))
                  )))
                yield* timed(manager.connectAll, 100)
                const good = names.filter((_, i) =>
                  !broken.includes(i)
                )
                const bad = names.filter((_, i) => broken.includes(i))
                const { active, connected, errors, failed } = yield* views(manager)
                assert.deepStrictEqual(
                  [active, connected, failed, errors],
                  [good.join(" "), good.join(" "), bad.join(" "), bad.map((_) => `${_} ConnectFailed`).join(", ")]
                )
                for (const order of orders) assert.deepStrictEqual(order, names)
                yield* assertNothingLeft(...all.filter((_) => bad.includes(_.name)))
              }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext))
            )
        ),
        { numRuns: 25 }
      )
    ))

  it.scoped("ten servers, seven of them broken in their own ways: one connect time-out, each with its own error", () =>
    Effect.gen(function*() {
      const good = yield* fakes("a d h")
      const broken = yield* Effect.forEach(
        [
          ["b", "hangs at start"],
          ["c", "hangs in initialize"],
          ["e", "exits"],
          ["f", "unauthorized"],
          ["g", "refused"],
          ["i", "hangs in tools/list"]
        ] as const,
        ([name, way]) => fake(name, { way })
      )
      const invalid = yield* fake("j", { config: { command: "" } })
      const all = [...good, ...broken, invalid].sort((a, b) => a.name < b.name ? -1 : 1)
      const manager = yield* over(all)
      const { took } = yield* timed(manager.connectAll)
      assert.strictEqual(took, 10_000)
      const { active, errors } = yield* views(manager)
      assert.strictEqual(active, "a d h")
      assert.strictEqual(
        errors,
        "b RequestTimeout, c RequestTimeout, e HandshakeFailed, f Unauthorized, g ConnectFailed, i RequestTimeout, j ConfigInvalid"
      )
      yield* manager.close
      yield* assertNothingLeft(...all)
    }))

  it.scoped("concurrency bounds how many are connected at once", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b c d e", { delay: 1000 })
      const manager = yield* over(all, { concurrency: 2 })
      const connecting = yield* begun(manager.connectAll)
      const attempts = Effect.forEach(all, (_) => Effect.map(_.server.stats, (_) => _.attempts))
      assert.deepStrictEqual(yield* attempts, [1, 1, 0, 0, 0])
      yield* pass(1000)
      assert.deepStrictEqual(yield* attempts, [1, 1, 1, 1, 0])
      yield* pass(1000)
      assert.deepStrictEqual(yield* attempts, [1, 1, 1, 1, 1])
      assert.isFalse(yield* isDone(connecting))
      yield* pass(1000)
      assert.isTrue(yield* isDone(connecting))
    }))
})
