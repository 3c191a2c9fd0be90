/**
 * Several streams at once, where only that they tell something matters.
 *
 * Owns: that whoever follows them can stop at any moment. `Stream.mergeAll` (3.22.4) never ends where it is interrupted just before
 * its first fiber has begun.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** Tells whenever one of them does, until all have ended; dies with the first that does. A slow reader misses no last news. */
export const whenever = (streams: ReadonlyArray<Stream.Stream<unknown>>): Stream.Stream<unknown> =>
  streams.length === 0 ? Stream.empty : Stream.unwrapScoped(Effect.gen(function*() {
    // Whether there is more: what was told last, and the end.
    const told = yield* Queue.sliding<boolean>(2)
    let left = streams.length
    let died: Exit.Exit<never> | undefined = undefined
    const follow = (stream: Stream.Stream<unknown>) =>
      Effect.onExit(Stream.runForEach(stream, () => Queue.offer(told, true)), (exit) => {
        left--
        if (Exit.isFailure(exit)) died ??= Exit.failCause(exit.cause)
        return left === 0 || died !== undefined ? Queue.offer(told, false) : Effect.void
      })
    // Who follows where nothing can be interrupted may have had enough all the same.
    yield* Effect.forEach(streams, (_) => Effect.forkScoped(Effect.interruptible(follow(_))), { discard: true })
    return Stream.takeWhile(
      Stream.mapEffect(Stream.fromQueue(told), (more) => died ?? Effect.succeed(more)),
      (more) => more
    )
  }))
