import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scheduler } from "effect"
import { turn } from "../../src/internal/stdio/starts.js"

/** Notes each turn of the event loop, until somebody has had enough of it. */
const others = (notes: Array<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const running = { is: true }
      const tick = () => {
        notes.push("other")
        if (running.is) setImmediate(tick)
      }
      setImmediate(tick)
      return running
    }),
    (running) => Effect.sync(() => running.is = false)
  )

/** Whatever turn was taken before is over. */
const turnsOver = Effect.async<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

describe("starts of processes", () => {
  it.scopedLive("one in each turn of the event loop, in order: everything else has its turn between two", () =>
    Effect.gen(function*() {
      yield* turnsOver
      const notes: Array<string> = []
      yield* others(notes)
      yield* Effect.forEach(["a", "b", "c"], (name) => Effect.map(turn, () => notes.push(name)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(notes.filter((_) => _ !== "other").join(), "a,b,c")
      assert.match(notes.join(), /^a,(other,)+b,(other,)+c$/)
    }))

  it.live("a single one takes its turn in the same step", () =>
    Effect.gen(function*() {
      yield* turnsOver
      assert.isNotNull(Effect.runFork(turn).unsafePoll())
    }))

  it.live("a single one waits for nothing; who is interrupted is left out, and holds up nobody", () =>
    Effect.gen(function*() {
      yield* turnsOver
      const started: Array<string> = []
      const start = (name: string) => Effect.fork(Effect.map(turn, () => started.push(name)))
      yield* start("a")
      yield* Effect.yieldNow()
      assert.deepStrictEqual(started, ["a"])
      const [b, c] = [yield* start("b"), yield* start("c")]
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(b)
      yield* Fiber.join(c)
      assert.deepStrictEqual(started, ["a", "c"])
    }))

  it.live("none is lost that becomes free while somebody finds it taken", () =>
    Effect.gen(function*() {
      for (let steps = 1; steps < 12; steps++) {
        yield* turnsOver
        yield* turn
        // Its fiber loses its turn after so many steps, until the event loop has had several.
        let left = steps
        const tasks: Array<() => void> = []
        const slow: Scheduler.Scheduler = {
          shouldYield: () => --left === 0 ? 0 : false,
          scheduleTask: (task) => tasks.push(task)
        }
        const second = Effect.runFork(turn, { scheduler: slow })
        for (let i = 0; i < 5; i++) {
          yield* turnsOver
          for (const task of tasks.splice(0)) task()
        }
        assert.isNotNull(second.unsafePoll(), `after ${steps} steps`)
      }
    }))
})
