import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"

/**
 * How many moments of a course are tried where something is to be interrupted at each: of the thousands of turns of fibers,
 * which take minutes, only some in the normal run. `npm run sweep` tries all of them.
 */
const all = process.env["MCP_RUNTIME_SWEEP"] === "all"

/** Every how manieth moment is tried, of which `sparse` is enough in the normal run. */
export const strideOf = (sparse: number): number => all ? 1 : sparse

/** How many seeds of a random course are tried. `MODEL_SEEDS` says it, too. */
export const seedsOf = (few: number, many: number): number => Number(process.env["MODEL_SEEDS"] ?? (all ? many : few))

/** How long all moments of one course may take, in milliseconds. */
export const sweepTime = all ? 7_200_000 : 120_000

/**
 * Lets everything happen that needs no time: fibers run in microtasks, and this ends after all of them. A yield would end
 * between two of them.
 */
export const macrotask: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/**
 * It ends. Its fiber yields after every few steps, so that an interruption can come between any two of them, in the first
 * so many of its turns, with so many sizes of a turn.
 */
export const interruptedAtEveryStep = <A, E>(effect: Effect.Effect<A, E>, turns = 20, budgets = 40) =>
  Effect.gen(function*() {
    for (let budget = 10; budget < 10 + budgets; budget++) {
      for (let yields = 0; yields < turns; yields++) {
        const fiber = yield* Effect.forkDaemon(Effect.withMaxOpsBeforeYield(effect, budget))
        for (let i = 0; i < yields; i++) yield* Effect.yieldNow()
        const ended = yield* Effect.forkDaemon(Fiber.interrupt(fiber))
        for (let i = 0; i < 2000 && (yield* ended.poll)._tag === "None"; i++) yield* Effect.yieldNow()
        assert.isTrue((yield* ended.poll)._tag === "Some", `it goes on: interrupted after ${yields} turns of ${budget}`)
      }
    }
  })
