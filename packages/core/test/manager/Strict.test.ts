/**
 * All or nothing: what an attempt has opened is closed in reverse order, and everything is as it was before.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Fiber, TestContext } from "effect"
import {
  assertNothingLeft,
  begun,
  brief,
  ending,
  failure,
  fake,
  fakes,
  generation,
  interrupted,
  over,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"

const modes = ["parallel", "sequential"] as const

describe("McpManager: strict", () => {
  for (const mode of modes) {
    it.scoped(`a server whose transport interrupts itself has failed, and nobody was interrupted (${mode})`, () =>
      Effect.gen(function*() {
        const [a, b] = [yield* fake("a", { way: "interrupts itself at start" }), yield* fake("b")]
        const manager = yield* over([a, b], { mode, strict: true })
        assert.strictEqual(failure(yield* Effect.exit(manager.connectAll))._tag, "ServersFailed")
        assert.deepStrictEqual(yield* manager.failed, ["a"])
        assert.deepStrictEqual(yield* manager.connected, [])
      }))
  }

  for (const mode of modes) {
    it.scoped(`${mode}: what this attempt has opened is closed in reverse order; what was connected is not touched`, () =>
      Effect.gen(function*() {
        const journal: Array<string> = []
        const all = yield* fakes("a b c d", { journal })
        const e = yield* fake("e", { way: "refused", delay: 1000, journal })
        const manager = yield* over([...all, e], { mode, strict: true })
        yield* manager.connect("b")
        const before = yield* manager.status("b")
        const { exit } = yield* timed(manager.connectAll)
        assert.strictEqual(brief(failure(exit)), "e: e ConnectFailed")
        assert.deepStrictEqual(journal.filter((_) => _.startsWith("-")), ["-d", "-c", "-a"])
        assert.strictEqual(yield* manager.status("b"), before)
        assert.strictEqual(yield* generation(manager, "b"), 1)
        assert.deepStrictEqual(
          yield* phases(manager),
          "a disconnected, b connected, c disconnected, d disconnected, e failed"
        )
        yield* assertNothingLeft(all[0]!, all[2]!, all[3]!, e)
        e.way = "works"
        yield* timed(manager.connectAll)
        assert.strictEqual((yield* views(manager)).connected, "a b c d e")
        assert.strictEqual((yield* all[1]!.server.stats).attempts, 1)
      }))

    it.scoped(`${mode}: a call over what was connected goes on and ends`, () =>
      Effect.gen(function*() {
        const slow = { name: "slow", call: () => Effect.delay(Effect.succeed("done"), 5000) }
        const a = yield* fake("a", { tools: [slow] })
        const b = yield* fake("b", { way: "refused" })
        const manager = yield* over([a, b], { mode, strict: true })
        yield* manager.connect("a")
        const call = yield* begun(manager.callTool("a", { name: "slow" }))
        yield* timed(Effect.exit(manager.connectAll))
        yield* pass(5000)
        assert.strictEqual(ending(yield* Fiber.join(call)), "success")
      }))

    it.scoped(`${mode}: what had failed before, worked now, and was closed again, has failed as before`, () =>
      Effect.gen(function*() {
        const [a, b, c] = yield* Effect.all([
          fake("a"),
          fake("b", { way: "refused" }),
          fake("c", { way: "unauthorized" })
        ])
        const manager = yield* over([a, b, c], { mode, strict: true })
        yield* Effect.exit(manager.connect("b"))
        yield* Effect.exit(manager.connect("c"))
        yield* manager.connect("a")
        b.way = "works"
        const error = failure(yield* Effect.exit(manager.reconnect()))
        assert.strictEqual(brief(error), "c: c Unauthorized")
        assert.deepStrictEqual(yield* views(manager), {
          active: "a",
          connected: "a",
          failed: "b c",
          errors: "b ConnectFailed, c Unauthorized",
          phases: "a connected, b failed, c failed"
        })
        c.way = "works"
        assert.deepStrictEqual(yield* manager.reconnect(), ["a", "b", "c"])
        yield* assertNothingLeft()
      }))

    for (const way of ["refused", "hangs in initialize"] as const) {
      it.scoped(`${mode}, ${way}: what was closed before stays closed, for uses and for other servers`, () =>
        Effect.gen(function*() {
          const [a, b, c, d] = yield* Effect.all([fake("a"), fake("b"), fake("c"), fake("d")])
          const manager = yield* over([a, b, c], { mode, strict: true, others: [d] })
          yield* manager.connectAll
          yield* manager.close
          b.way = way
          const connecting = yield* begun(manager.connectAll)
          if (way !== "refused") yield* interrupted(connecting)
          for (const { name, server } of [a, b, c]) {
            const { attempts } = yield* server.stats
            const used = yield* Effect.exit(manager.callTool(name, { name }))
            assert.strictEqual(ending(used), `${name}: ConnectionUnavailable`)
            assert.strictEqual((yield* server.stats).attempts, attempts)
          }
          yield* manager.reload([a, b, c, d].map((_) => _.config))
          assert.strictEqual((yield* d.server.stats).attempts, 0)
          yield* assertNothingLeft(a, b, c, d)
        }))
    }

    it.scoped(`${mode}: a server that was lost for good, came back and was closed again is failed as before`, () =>
      Effect.gen(function*() {
        const all = yield* fakes("a b")
        const manager = yield* over(all, { mode, strict: true })
        yield* manager.connectAll
        for (const server of all) {
          server.way = "forbidden"
          yield* server.server.disconnect()
        }
        yield* pass(10_000, 100)
        const before = yield* views(manager)
        assert.strictEqual(before.errors, "a Forbidden, b Forbidden")
        all[0]!.way = "works"
        yield* timed(manager.reconnect())
        assert.deepStrictEqual(yield* views(manager), before)
        yield* assertNothingLeft(...all)
      }))

    it.scoped(`${mode}: interrupted: what it has opened is closed, and it ends as interrupted`, () =>
      Effect.gen(function*() {
        const journal: Array<string> = []
        const all = yield* fakes("a b c", { journal })
        all[1]!.way = "hangs in initialize"
        const manager = yield* over(all, { mode, strict: true })
        const connecting = yield* begun(manager.connectAll)
        assert.strictEqual(ending(yield* interrupted(connecting)), "interrupted")
        assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected, c disconnected")
        yield* assertNothingLeft(...all)
        all[1]!.way = "works"
        assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c"])
      }))
  }

  it.scoped("sequential: it stops at the first failure, and does not try the rest", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b c d")
      all[1]!.way = "refused"
      all[3]!.way = "refused"
      const manager = yield* over(all, { mode: "sequential", strict: true })
      assert.strictEqual(brief(failure(yield* Effect.exit(manager.connectAll))), "b: b ConnectFailed")
      const attempts = yield* Effect.forEach(all, (_) => Effect.map(_.server.stats, (_) => _.attempts))
      assert.deepStrictEqual(attempts, [1, 1, 0, 0])
      yield* assertNothingLeft(...all)
    }))

  it.scoped("sequential: an invalid configuration is a failure as well: what comes after it is not tried", () =>
    Effect.gen(function*() {
      const [a, c] = yield* fakes("a c")
      const b = yield* fake("b", { config: { command: "" } })
      const manager = yield* over([a!, b, c!], { mode: "sequential", strict: true })
      assert.strictEqual(brief(failure(yield* Effect.exit(manager.connectAll))), "b: b ConfigInvalid")
      assert.strictEqual((yield* c!.server.stats).attempts, 0)
      yield* assertNothingLeft(a!, c!)
    }))

  it.effect("parallel: the first in configured order is the headline, with all causes inside, whoever was first", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
          FastCheck.uniqueArray(FastCheck.nat(3), { minLength: 1 }),
          (delays, broken) =>
            Effect.runPromise(
              Effect.gen(function*() {
                const all = yield* Effect.forEach(
                  ["a", "b", "c", "d"],
                  (name, i) =>
                    fake(name, { delay: delays[i]! * 100 + 1, way: broken.includes(i) ? "refused" : "works" })
                )
                const manager = yield* over(all, { strict: true })
                const { exit } = yield* timed(manager.connectAll, 100)
                const bad = all.filter((_, i) => broken.includes(i)).map((_) => _.name)
                assert.strictEqual(
                  brief(failure(exit)),
                  `${bad[0]}: ${bad.map((_) => `${_} ConnectFailed`).join(", ")}`
                )
                const { active, failed } = yield* views(manager)
                assert.deepStrictEqual([active, failed], ["", bad.join(" ")])
                yield* assertNothingLeft(...all)
              }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext))
            )
        ),
        { numRuns: 20 }
      )
    ))

  it.scoped("it is not kept waiting for long by what is left of a failed server", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { way: "hangs in tools/list", closing: "hangs" })])
      const manager = yield* over([a, b], { strict: true, connectTimeout: 1000, closeTimeout: 2000 })
      const { exit, took } = yield* timed(manager.connectAll)
      assert.strictEqual(brief(failure(exit)), "b: b RequestTimeout")
      assert.isAtMost(took, 3000)
      yield* settled
      assert.strictEqual(yield* phases(manager), "a disconnected, b failed")
      yield* assertNothingLeft(a)
      b.way = "works"
      b.closing = "works"
      b.letGo()
      yield* settled
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b"])
      yield* manager.close
      yield* assertNothingLeft(a, b)
    }))
})
