/**
 * Progress of one call, for an application that wants to see it.
 *
 * Owns: that it is delivered in order, and all of it before the call returns, even when it arrived in one chunk with the
 * result. A slow or hanging reader is waited for within a bound and never fails the call.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpProtocol from "../../McpProtocol.js"
import { within } from "../within.js"

const capacity = 1024
const drainFor = Duration.seconds(1)

/** The parameters of a request that asks for progress. A fresh object: what the caller gave is not changed. */
export const withProgressToken = (
  params: McpProtocol.JsonObject | undefined,
  token: number
): McpProtocol.JsonObject => {
  const meta = params?._meta
  return { ...params, _meta: McpProtocol.isObject(meta) ? { ...meta, progressToken: token } : { progressToken: token } }
}

type OnProgress = (progress: McpProtocol.Progress) => Effect.Effect<void, unknown>

const reading = (
  mailbox: Mailbox.Mailbox<McpProtocol.Progress>,
  onProgress: OnProgress,
  failed: () => void
): Effect.Effect<void> =>
  Stream.runForEach(
    Mailbox.toStream(mailbox),
    (progress) => Effect.suspend(() => onProgress(progress)).pipe(Effect.catchAllCause(() => Effect.sync(failed)))
  )

/** The same for what goes on after the answer: all of it is delivered before the scope has closed. */
export const deliveringIn = (
  scope: Scope.Scope,
  onProgress: OnProgress,
  failed: () => void
): Effect.Effect<(progress: McpProtocol.Progress) => void> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const mailbox = yield* Mailbox.make<McpProtocol.Progress>({ capacity, strategy: "sliding" })
      const reader = yield* Effect.forkDaemon(Effect.interruptible(reading(mailbox, onProgress, failed)))
      const drained = within(Effect.zipRight(mailbox.end, Fiber.await(reader)), drainFor)
      yield* Scope.addFinalizerExit(scope, (exit) =>
        Effect.zipRight(
          Exit.isInterrupted(exit) ? Effect.void : drained,
          Fiber.interruptFork(reader)
        ))
      return (progress) => {
        mailbox.unsafeOffer(progress)
      }
    })
  )

export const delivering = <A, E>(
  onProgress: OnProgress,
  failed: () => void,
  run: (sink: (progress: McpProtocol.Progress) => void) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    const mailbox = yield* Mailbox.make<McpProtocol.Progress>({ capacity, strategy: "sliding" })
    const reader = yield* Effect.fork(reading(mailbox, onProgress, failed))
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
