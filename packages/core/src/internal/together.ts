/**
 * Several effects at once, that end when they are interrupted.
 *
 * Owns: who of them runs when. `Effect.forEach` and `Effect.all` (3.22.4) with a concurrency wait for ever where they are interrupted
 * just before the first one has begun: they forget what they had to do, and then wait for its end.
 * May not touch: what is done.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"

/**
 * What they succeed with, in the order of the items. The first one that fails ends all the others, and they are waited for. Where
 * the caller can't be interrupted, neither can they.
 */
export const together = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, E, R>,
  atMost: number = Number.POSITIVE_INFINITY
): Effect.Effect<Array<B>, E, R> => {
  if (items.length === 0) return Effect.sync(() => [])
  return Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const results: Array<B> = []
      const ended = Deferred.unsafeMake<void, E>(FiberId.none)
      let begun = 0
      let left = items.length
      const take = () => {
        const i = begun++
        return Effect.map(f(items[i]!), (result) => {
          results[i] = result
          left--
          if (left === 0) Deferred.unsafeDone(ended, Effect.void)
        })
      }
      const taking = Effect.whileLoop({ while: () => begun < items.length, body: take, step: () => {} })
      const worker = Effect.catchAllCause(restore(taking), (cause) =>
        Effect.sync(() => {
          begun = items.length
          Deferred.unsafeDone(ended, Effect.failCause(cause))
        }))
      const workers: Array<Fiber.Fiber<void>> = []
      for (let i = Math.min(atMost, items.length); i > 0; i--) workers.push(yield* Effect.forkDaemon(worker))
      yield* Effect.ensuring(restore(Deferred.await(ended)), Fiber.interruptAll(workers))
      return results
    })
  )
}
