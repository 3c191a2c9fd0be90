/**
 * Progress of one call, for an application that wants to see it.
 *
 * Owns: that it is delivered in order, and all of it before the call returns, even when it arrived in one chunk with the
 * result. A slow or hanging reader is waited for within a bound and never fails the call.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Stream from "effect/Stream"
import type * as McpProtocol from "../../McpProtocol.js"

const capacity = 1024
const drainFor = Duration.seconds(1)

export const delivering = <A, E>(
  onProgress: (progress: McpProtocol.Progress) => Effect.Effect<void, unknown>,
  failed: () => void,
  run: (sink: (progress: McpProtocol.Progress) => void) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    const mailbox = yield* Mailbox.make<McpProtocol.Progress>({ capacity, strategy: "sliding" })
    const reader = yield* Mailbox.toStream(mailbox).pipe(
      Stream.runForEach((progress) =>
        Effect.suspend(() => onProgress(progress)).pipe(Effect.catchAllCause(() => Effect.sync(failed)))
      ),
      Effect.fork
    )
    const drained = mailbox.end.pipe(
      Effect.zipRight(Fiber.await(reader)),
      Effect.timeoutOption(drainFor),
      Effect.zipRight(Fiber.interruptFork(reader))
    )
    return yield* Effect.onExit(
      run((progress) => {
        mailbox.unsafeOffer(progress)
      }),
      () => Effect.interruptible(drained)
    )
  })
