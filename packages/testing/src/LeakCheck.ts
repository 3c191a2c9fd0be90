/**
 * Whether anything is left behind after a test: a process, a socket, a pipe, a timer, a listener, a fiber; and whether
 * anything went wrong unheard: an unhandled rejection, an uncaught exception, a warning.
 *
 * Owns: looking, and saying what was found with the place where it was made.
 * May not touch: what it finds. It closes nothing and kills nothing. Node only; processes that have lost their parent are
 * found on Linux only.
 *
 * It sees the whole process, so tests that it checks must not run concurrently in one file.
 *
 * @example
 * ```ts
 * import { it } from "@effect/vitest"
 * import { McpSession } from "@mcp-runtime/core"
 * import { LeakCheck, ScriptedServer } from "@mcp-runtime/testing"
 * import { Effect } from "effect"
 *
 * it.live("closes everything it opens", () =>
 *   LeakCheck.scoped(Effect.gen(function*() {
 *     // what is acquired here is released before the check
 *     const { channel } = yield* ScriptedServer.make()
 *     const session = yield* McpSession.open(channel)
 *     yield* McpSession.ping(session)
 *   })))
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import * as Supervisor from "effect/Supervisor"
import { ProcessWatch } from "./internal/processes.js"
import { ProcessEventWatch } from "./internal/processEvents.js"
import { ResourceWatch } from "./internal/resources.js"

/**
 * What was left behind, or went wrong unheard.
 *
 * @since 0.1.0
 * @category models
 */
export interface Leak {
  readonly kind: "process" | "handle" | "timer" | "listener" | "fiber" | "rejection" | "exception" | "warning"
  /** What it is, and where it was made if that is known. */
  readonly detail: string
}

/**
 * Something is left behind.
 *
 * @since 0.1.0
 * @category errors
 */
export class LeaksFound extends Data.TaggedError("LeaksFound")<{
  readonly leaks: ReadonlyArray<Leak>
}> {
  override get message() {
    return `${this.leaks.length} ${this.leaks.length === 1 ? "thing is" : "things are"} left behind:\n${
      this.leaks.map((_) => `- ${_.kind}: ${_.detail}`).join("\n")
    }`
  }
}

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** What is expected, and not a leak. */
  readonly ignore?: ((leak: Leak) => boolean) | undefined
  /** How long what is left may take to go, in real time. 500 milliseconds by default. */
  readonly patience?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/testing/LeakCheck/Snapshot")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * A moment in the past, and what has been watched since.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot {
  readonly [TypeId]: TypeId
  /** Knows every fiber that is forked in an effect to which it is given with `Effect.supervised`. */
  readonly supervisor: Supervisor.Supervisor<ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>>
  /** Everything that is left at this very moment, without waiting for anything to settle. */
  readonly look: Effect.Effect<ReadonlyArray<Leak>>
}

/**
 * From here on everything is watched, until the scope closes. Fibers that are forked as children are only known with
 * `Effect.supervised(snapshot.supervisor)`; daemons and those of `runFork` always.
 *
 * @since 0.1.0
 * @category constructors
 */
export const snapshot: Effect.Effect<Snapshot, never, Scope.Scope> = Effect.suspend(() =>
  Effect.map(Effect.acquireRelease(start, (_) => _.stop), (_) => _.snapshot)
)

/**
 * What is left behind since a snapshot, after what is on its way out has had its chance: a bounded number of turns of
 * the event loop, and after these, only while something is left and can still go, `patience` at most of real time in steps
 * of ten milliseconds. No event tells when the kernel has ended somebody else's child or a peer process has closed its end
 * of a socket, so there is nothing else to wait for. What leaks costs that time; what doesn't costs none.
 *
 * @since 0.1.0
 * @category checking
 */
export const find = (snapshot: Snapshot, options: Options = {}): Effect.Effect<ReadonlyArray<Leak>> => {
  const look = Effect.map(snapshot.look, (leaks) => leaks.filter((leak) => options.ignore?.(leak) !== true))
  return Effect.gen(function*() {
    // rejections and warnings are reported at the end of a turn, destroyed handles in the next
    for (let i = 0; i < firstTurns; i++) yield* turn
    let leaks = yield* look
    for (let i = 0; i < moreTurns && leaks.some(canGo); i++) {
      yield* turn
      leaks = yield* look
    }
    const pauses = Math.ceil(Duration.toMillis(options.patience ?? defaultPatience) / pauseMillis)
    for (let i = 0; i < pauses && leaks.some(canGo); i++) {
      yield* pause
      leaks = yield* look
    }
    return leaks
  })
}

/**
 * Fails when something is left behind since a snapshot.
 *
 * @since 0.1.0
 * @category checking
 */
export const assertNone = (snapshot: Snapshot, options: Options = {}): Effect.Effect<void, LeaksFound> =>
  Effect.flatMap(
    find(snapshot, options),
    (leaks) => leaks.length === 0 ? Effect.void : Effect.fail(new LeaksFound({ leaks }))
  )

/**
 * Runs an effect in a fiber of its own, and fails when it leaves something behind. Children that it forks end with that
 * fiber, as always in Effect; what has to end by itself are daemons, fibers in a scope of the outside, and everything that
 * is not a fiber. Leaks are reported beside a failure of the effect itself. An effect that needs a `Scope` keeps what it
 * acquires until that scope closes, which is after the check: use `scoped` for it.
 *
 * @since 0.1.0
 * @category checking
 */
export const noLeaks = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: Options = {}
): Effect.Effect<A, E | LeaksFound, R> =>
  Effect.acquireUseRelease(
    start,
    ({ snapshot }) =>
      Effect.flatMap(runAlone(effect, snapshot), (exit) =>
        Effect.flatMap(find(snapshot, options), (leaks) =>
          leaks.length === 0
            ? exit
            : Exit.failCause(Cause.sequential(
              Exit.isFailure(exit) ? exit.cause : Cause.empty,
              Cause.fail(new LeaksFound({ leaks }))
            )))),
    ({ stop }) =>
      stop
  )

/**
 * The same as `noLeaks`, and closes the scope of the effect before it looks.
 *
 * @since 0.1.0
 * @category checking
 */
export const scoped = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: Options = {}
): Effect.Effect<A, E | LeaksFound, Exclude<R, Scope.Scope>> => noLeaks(Effect.scoped(effect), options)

const firstTurns = 4
const moreTurns = 32
const pauseMillis = 10
const defaultPatience = Duration.millis(500)

const canGo = (leak: Leak): boolean => leak.kind !== "rejection" && leak.kind !== "exception" && leak.kind !== "warning"

const turn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** Real time, also under `TestClock`. */
const pause: Effect.Effect<void> = Effect.zipRight(Clock.make().sleep(Duration.millis(pauseMillis)), turn)

const runAlone = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  snapshot: Snapshot
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.fork(Effect.supervised(restore(effect), snapshot.supervisor)),
      (fiber) => restore(Fiber.await(fiber)).pipe(Effect.onInterrupt(() => Fiber.interrupt(fiber)))
    )
  )

interface Watch {
  readonly snapshot: Snapshot
  readonly stop: Effect.Effect<void>
}

const start: Effect.Effect<Watch> = Effect.gen(function*() {
  const rootsBefore = new Set(yield* Fiber.roots)
  const supervisor = yield* Supervisor.track
  const events = new ProcessEventWatch()
  const processes = new ProcessWatch()
  const resources = new ResourceWatch()

  const fibers = Effect.zipWith(supervisor.value, Fiber.roots, (forked, roots) => {
    const left = new Set([...forked, ...roots.filter((_) => !rootsBefore.has(_))])
    return [...left].filter((_) => _.unsafePoll() === null).map((_): Leak => ({
      kind: "fiber",
      detail: `fiber ${FiberId.threadName(_.id())} has not ended`
    }))
  })

  const others = Effect.sync((): ReadonlyArray<Leak> => [
    ...processes.live().map(({ detail }): Leak => ({ kind: "process", detail })),
    ...resources.live(),
    ...events.added().map((detail): Leak => ({ kind: "listener", detail })),
    ...events.recorded
  ])

  return {
    snapshot: {
      [TypeId]: TypeId,
      supervisor,
      look: Effect.zipWith(others, fibers, (others, fibers) => [...others, ...fibers])
    },
    stop: Effect.sync(() => {
      resources.stop()
      processes.stop()
      events.stop()
    })
  }
})
