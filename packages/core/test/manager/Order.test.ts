/**
 * What is done to the servers is done one after the other, in order of arrival, and may be interrupted at any moment.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpError, McpManager } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Fiber, TestContext } from "effect"
import { strideOf, sweepTime } from "../moments.js"
import {
  assertNothingLeft,
  begun,
  ending,
  type Fake,
  fake,
  interrupted,
  isDone,
  over,
  overInScope,
  pass,
  phases,
  settled,
  timed
} from "./kit.js"

const untyped = (...servers: ReadonlyArray<unknown>) => servers as McpManager.ManagerOptions["servers"]

type Kind = "connectAll" | "connect" | "reconnect" | "reconnect all" | "disconnect" | "reload" | "close"

const kinds: ReadonlyArray<Kind> = [
  "connectAll",
  "connect",
  "reconnect",
  "reconnect all",
  "disconnect",
  "reload",
  "close"
]

/** One of the things that are done; `number` makes what it asks for different each time. */
const doing = (
  manager: McpManager.Manager,
  all: ReadonlyArray<Fake>,
  kind: Kind,
  number: number
): Effect.Effect<unknown, McpError.McpError> => {
  const name = all[number % all.length]!.name
  switch (kind) {
    case "connectAll":
      return manager.connectAll
    case "connect":
      return manager.connect(name)
    case "reconnect":
      return manager.reconnect()
    case "reconnect all":
      return manager.reconnect({ failedOnly: false })
    case "disconnect":
      return manager.disconnect(name)
    case "reload":
      return manager.reload(
        untyped(...all.map((_) => _.name === name ? { ..._.config, args: [String(number)] } : _.config))
      )
    case "close":
      return manager.close
  }
}

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(Effect.provide(effect, TestContext.TestContext))

describe("McpManager: one after the other", () => {
  it.scoped("whoever comes at the moment of a change does not overtake those that wait", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { delay: 100 })
      const manager = yield* over([a])
      const order: Array<string> = []
      const note = (what: string) => Effect.sync(() => void order.push(what))
      // The one that runs asks for more at once.
      const first = yield* begun(manager.connectAll.pipe(
        Effect.zipRight(note("connectAll")),
        Effect.zipRight(manager.reconnect({ failedOnly: false })),
        Effect.zipRight(note("reconnect"))
      ))
      const second = yield* begun(Effect.zipRight(manager.close, note("close")))
      const third = yield* begun(Effect.zipRight(manager.connect("a"), note("connect")))
      yield* pass(1000, 50)
      assert.deepStrictEqual(order, ["connectAll", "close", "connect", "reconnect"])
      for (const one of [first, second, third]) assert.strictEqual(ending(yield* Fiber.join(one)), "success")
    }))

  it.effect(
    "all kinds mixed: they end in order of arrival, those that are interrupted left out",
    () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(FastCheck.constantFrom(...kinds), { minLength: 2, maxLength: 9 }),
            FastCheck.array(FastCheck.nat(8), { maxLength: 3 }),
            FastCheck.constantFrom("parallel" as const, "sequential" as const),
            FastCheck.boolean(),
            FastCheck.constantFrom("works" as const, "refused" as const, "exits" as const),
            (what, interruptions, mode, strict, way) =>
              run(
                Effect.gen(function*() {
                  const all = yield* Effect.all([
                    fake("a", { delay: 30 }),
                    fake("b", { delay: 70, way, closing: 20 }),
                    fake("c", { closing: 40 })
                  ])
                  const { end, manager } = yield* overInScope(all, { mode, strict })
                  const order: Array<number> = []
                  const fibers = yield* Effect.forEach(what, (kind, i) =>
                    Effect.tap(
                      Effect.fork(Effect.onExit(
                        Effect.exit(Effect.asVoid(doing(manager, all, kind, i))),
                        (exit) => Effect.sync(() => Exit.isSuccess(exit) && order.push(i))
                      )),
                      () => settled
                    ))
                  const gone = new Set(interruptions.filter((_) => _ < what.length))
                  for (const i of gone) {
                    yield* pass(10)
                    yield* Fiber.interruptFork(fibers[i]!)
                  }
                  yield* timed(Fiber.awaitAll(fibers), 50)
                  assert.deepStrictEqual(order, [...order].sort((a, b) => a - b))
                  for (const i of what.keys()) if (!gone.has(i)) assert.include(order, i)
                  for (const one of all) one.way = "works"
                  const { exit } = yield* timed(manager.connectAll)
                  assert.strictEqual(ending(exit), "success")
                  assert.strictEqual(yield* phases(manager), "a connected, b connected, c connected")
                  for (const one of all) {
                    const { closed, opened } = yield* one.server.stats
                    assert.strictEqual(opened - closed, 1)
                  }
                  yield* timed(end)
                  yield* assertNothingLeft(...all)
                })
              )
          ),
          { numRuns: 30 }
        )
      ),
    120_000
  )

  for (const mode of ["parallel", "sequential"] as const) {
    it.scoped(`${mode}: interrupting one that waits changes nothing`, () =>
      Effect.gen(function*() {
        const all = yield* Effect.all([
          fake("a"),
          fake("b", { way: "hangs in initialize" }),
          fake("c", { way: "refused" })
        ])
        const manager = yield* over(all, { mode, connectTimeout: "5 seconds" })
        const running = yield* begun(manager.connectAll)
        yield* pass(300)
        const before = yield* manager.state
        const waiting = yield* Effect.forEach(kinds, (kind, i) => begun(doing(manager, all, kind, i)))
        yield* pass(300)
        for (const one of waiting) assert.strictEqual(ending(yield* interrupted(one)), "interrupted")
        yield* settled
        assert.isTrue(before === (yield* manager.state))
        assert.isFalse(yield* isDone(running))
        yield* timed(Fiber.join(running))
        assert.strictEqual(yield* phases(manager), "a connected, b failed, c failed")
        yield* manager.reload([])
        yield* assertNothingLeft(...all)
      }))

    for (const kind of ["connectAll", "connect", "reconnect", "reconnect all"] as const) {
      it.scoped(`${mode}, ${kind}: interrupting one that runs closes what it has opened, and is an interruption`, () =>
        Effect.gen(function*() {
          const all = yield* Effect.all([fake("b"), fake("a"), fake("c")])
          const [b, a, c] = all
          const manager = yield* over(all, { mode })
          if (kind.startsWith("reconnect")) {
            for (const one of all) one.way = "refused"
            yield* manager.connectAll
          }
          for (const one of all) one.way = "works"
          a.way = "hangs in initialize"
          const running = yield* begun(doing(manager, all, kind, 1))
          assert.isFalse(yield* isDone(running))
          assert.strictEqual(ending(yield* interrupted(running)), "interrupted")
          yield* assertNothingLeft(a, b, c)
          const before = kind === "reconnect" ? "failed" : "disconnected"
          const others = kind === "connect" ? "disconnected" : before
          const inner = kind === "reconnect all" ? "b disconnected, a disconnected, c disconnected" : undefined
          const shown = yield* phases(manager)
          assert.strictEqual(
            shown.replaceAll("failed", "x").replaceAll("disconnected", "x"),
            "b x, a x, c x"
          )
          if (inner === undefined) assert.strictEqual(shown, `b ${others}, a ${before}, c ${others}`)
          a.way = "works"
          assert.deepStrictEqual(yield* manager.connectAll, ["b", "a", "c"])
        }))
    }
  }
})

const stride = strideOf(6)

describe("McpManager: interrupted at every moment", () => {
  for (const mode of ["parallel", "sequential"] as const) {
    for (const strict of [false, true]) {
      for (const kind of kinds) {
        it.effect(
          `${mode}, strict ${strict}, ${kind}: it can be connected again, and nothing is left`,
          () =>
            Effect.gen(function*() {
              let moments = 0
              for (let yields = 0; yields < 400; yields += stride) {
                const all = yield* Effect.all([fake("a"), fake("b"), fake("c", { way: "refused" })])
                const { end, manager } = yield* overInScope(all, { mode, strict })
                if (kind !== "connectAll" && kind !== "connect") yield* Effect.exit(manager.connectAll)
                all[2].way = "works"
                const fiber = yield* Effect.fork(Effect.exit(doing(manager, all, kind, 1)))
                for (let i = 0; i < yields; i++) yield* Effect.yieldNow()
                const over = yield* isDone(fiber)
                const exit = yield* interrupted(fiber)
                if (!over && Exit.isFailure(exit)) {
                  assert.strictEqual(ending(exit), "interrupted", `after ${yields} yields`)
                }
                const { exit: again, took } = yield* timed(manager.connectAll, 50, 2000)
                assert.deepStrictEqual([ending(again), took], ["success", 0], `after ${yields} yields`)
                assert.strictEqual(
                  yield* phases(manager),
                  "a connected, b connected, c connected",
                  `after ${yields} yields`
                )
                for (const one of all) {
                  const { closed, opened } = yield* one.server.stats
                  assert.strictEqual(opened - closed, 1, `${one.name} after ${yields} yields`)
                  yield* manager.callTool(one.name, { name: one.name })
                }
                yield* end
                yield* assertNothingLeft(...all)
                moments = yields
                if (over) break
              }
              assert.isAtLeast(moments, 2)
            }),
          sweepTime
        )
      }
    }
  }

  for (const mode of ["parallel", "sequential"] as const) {
    for (const strict of [false, true]) {
      it.effect(
        `${mode}, strict ${strict}: the end of the scope, whatever is done: it ends, and nothing is left`,
        () =>
          Effect.gen(function*() {
            for (const kind of kinds) {
              for (let yields = 0; yields < 400; yields += stride) {
                const all = yield* Effect.all([fake("a"), fake("b"), fake("c", { way: "refused" })])
                const { end, manager } = yield* overInScope(all, { mode, strict })
                if (kind !== "connectAll" && kind !== "connect") yield* Effect.exit(manager.connectAll)
                all[2].way = "works"
                const fiber = yield* Effect.fork(Effect.exit(doing(manager, all, kind, 1)))
                const use = yield* Effect.fork(Effect.exit(manager.callTool("b", { name: "b" })))
                for (let i = 0; i < yields; i++) yield* Effect.yieldNow()
                const over = (yield* isDone(fiber)) && (yield* isDone(use))
                yield* end
                yield* settled
                assert.isTrue(yield* isDone(fiber), `${kind} after ${yields} yields`)
                assert.isTrue(yield* isDone(use), `the use during ${kind} after ${yields} yields`)
                yield* assertNothingLeft(...all)
                assert.match(ending(yield* Effect.exit(manager.connectAll)), /ConnectionUnavailable$/)
                if (over) break
              }
            }
          }),
        sweepTime
      )
    }
  }
})
