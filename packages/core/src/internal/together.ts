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
import * as Runtime from "effect/Runtime"

/** So many begin in one turn, however many may be under way at once: other fibers are to have theirs in between. */
const beginTogether = 64

/**
 * What they succeed with, in the order of the items. The first one that fails ends all the others, and they are waited for. Where
 * the caller can't be interrupted, neither can they. What they fork is theirs, and what they set in fiber refs stays with them.
 */
export const together = <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, E, R>,
  atMost: number = Number.POSITIVE_INFINITY
): Effect.Effect<Array<B>, E, R> => {
  const all = items.slice()
  if (all.length === 0) return Effect.sync(() => [])
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.runtime<R>(), (runtime) => {
      const results: Array<B> = []
      const ended = Deferred.unsafeMake<void, E>(FiberId.none)
      let begun = 0
      let left = all.length
      const take = () => {
        const i = begun++
        return Effect.map(f(all[i]!), (result) => {
          results[i] = result
          left--
          if (left === 0) Deferred.unsafeDone(ended, Effect.void)
        })
      }
      const beginNoMore = () => {
        begun = all.length
      }
      const taking = Effect.whileLoop({ while: () => begun < all.length, body: take, step: () => {} })
      const worker = Effect.catchAllCause(restore(taking), (cause) =>
        Effect.sync(() => {
          beginNoMore()
          Deferred.unsafeDone(ended, Effect.failCause(cause))
        }))
      // Each begins at once: where the items need no waiting, there is one of them.
      const workers: Array<Fiber.RuntimeFiber<void>> = []
      const lanes = Math.max(1, atMost)
      const mayBegin = () => workers.length < lanes && begun < all.length
      const beginSome = () => {
        const some = workers.length + beginTogether
        while (workers.length < some && mayBegin()) workers.push(Runtime.runFork(runtime)(worker))
      }
      beginSome()
      // A worker may not hear that it is interrupted, if an item of the application's makes it forget so.
      const stop = Effect.suspend(() => {
        beginNoMore()
        return Fiber.interruptAll(workers.filter((_) => _.unsafePoll() === null))
      })
      const allEnd = Deferred.await(ended)
      const allBegin = Effect.whileLoop({ while: mayBegin, body: Effect.yieldNow, step: beginSome })
      // A few have begun by now.
      const ending = mayBegin() ? Effect.zipRight(allBegin, allEnd) : allEnd
      return Effect.as(Effect.ensuring(restore(ending), stop), results)
    })
  )
}
