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
import * as FiberId from "effect/FiberId"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpProtocol from "../../McpProtocol.js"
import { Feed } from "../feed.js"
import { inTime, within } from "../within.js"

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

/**
 * What is on its way to one reader. When it is over nothing more is handed out, also where the reader's fiber does not know of
 * its interruption yet: its caller may have been interrupted before it was there.
 */
class Delivery {
  private isOver = false

  constructor(
    private readonly feed: Feed<McpProtocol.Progress>,
    private readonly onProgress: OnProgress,
    private readonly failed: () => void
  ) {}

  readonly sink = (progress: McpProtocol.Progress): void => {
    this.feed.offer(progress)
  }

  readonly reading: Effect.Effect<void> = Effect.suspend(() =>
    Stream.runForEach(this.feed.stream, (progress) => this.isOver ? Effect.void : this.tell(progress))
  )

  /** All that has come is told. */
  drained(reader: Fiber.RuntimeFiber<void>): Effect.Effect<unknown> {
    return Effect.suspend(() => {
      this.feed.end()
      return Fiber.await(reader)
    })
  }

  end(reader: Fiber.RuntimeFiber<void>): Effect.Effect<void> {
    return Effect.sync(() => {
      this.isOver = true
      this.feed.shutdown()
      reader.unsafeInterruptAsFork(FiberId.none)
    })
  }

  private tell(progress: McpProtocol.Progress): Effect.Effect<void> {
    return Effect.suspend(() => this.onProgress(progress)).pipe(Effect.catchAllCause(() => Effect.sync(this.failed)))
  }
}

/** What waits is together no larger than `most`. */
const delivery = (onProgress: OnProgress, most: number, failed: () => void): Delivery =>
  new Delivery(
    new Feed({ count: capacity, size: most, sizeOf: ({ message }) => message?.length ?? 0 }),
    onProgress,
    failed
  )

/** The same for what goes on after the answer: all of it is delivered before the scope has closed. */
export const deliveringIn = (
  scope: Scope.Scope,
  onProgress: OnProgress,
  most: number,
  failed: () => void
): Effect.Effect<(progress: McpProtocol.Progress) => void> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const progress = delivery(onProgress, most, failed)
      const reader = yield* Effect.forkDaemon(Effect.interruptible(progress.reading))
      yield* Scope.addFinalizerExit(scope, (exit) =>
        Effect.zipRight(
          Exit.isInterrupted(exit) ? Effect.void : within(progress.drained(reader), drainFor),
          progress.end(reader)
        ))
      return progress.sink
    })
  )

export const delivering = <A, E>(
  onProgress: OnProgress,
  most: number,
  failed: () => void,
  run: (sink: (progress: McpProtocol.Progress) => void) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    const progress = delivery(onProgress, most, failed)
    const reader = yield* Effect.fork(Effect.interruptible(progress.reading))
    // It runs as a finalizer, but whoever has called may still give up.
    const drained = Effect.interruptible(inTime(progress.drained(reader), drainFor, () => Effect.void))
    return yield* Effect.onExit(run(progress.sink), () => Effect.ensuring(drained, progress.end(reader)))
  })
