/**
 * Waiting with a bound, on the Effect clock, also in a finalizer.
 */
import type * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"

/**
 * How the effect ended, or nothing when it did not end in this time; then it is interrupted, and not waited for, since it
 * may not be interruptible. Whoever waits is not interrupted until then. The two fibers have no parent, because the
 * interruption of a fiber is passed to its children even where the fiber itself is uninterruptible: `Effect.timeout` in a
 * finalizer would end at once. What needs no waiting costs one of them.
 */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.DurationInput
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.flatMap(
    Effect.runtime<R>(),
    (runtime) =>
      Effect.uninterruptible(Effect.async<Option.Option<Exit.Exit<A, E>>>((resume) => {
        // Who closes may have been interrupted, which a child would not inherit.
        const fork = Runtime.runFork(Runtime.deleteFiberRef(runtime, FiberRef.interruptedCause))
        // A fiber that fails is logged by Effect as one that nobody handles.
        const waiting = fork(Effect.uninterruptible(Effect.exit(Effect.interruptible(effect))))
        const ended = () => Option.fromNullable(waiting.unsafePoll()).pipe(Option.map(Exit.flatten))
        const atOnce = ended()
        if (Option.isSome(atOnce)) return resume(Effect.succeed(atOnce))
        // The bound itself, on the Effect clock.
        const timer = fork(Effect.interruptible(Effect.sleep(limit)))
        waiting.addObserver(() => timer.unsafeInterruptAsFork(FiberId.none))
        timer.addObserver(() => {
          const outcome = ended()
          if (Option.isNone(outcome)) waiting.unsafeInterruptAsFork(FiberId.none)
          resume(Effect.succeed(outcome))
        })
      }))
  )

/**
 * Closes a scope in a fiber of its own, and waits for it. When a finalizer has run, `Effect.addFinalizer` (3.22.4) gives back to
 * its fiber the fiber refs from before it, and among them that nobody has interrupted the fiber: who closes a scope and goes on
 * with its work would not hear of an interruption that came meanwhile.
 */
export const closeApart = (scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.forkDaemon(Effect.uninterruptible(Scope.close(scope, exit))),
    (fiber) => Effect.flatten(Fiber.await(fiber))
  )

/**
 * The effect in a fiber of its own, which whoever is interrupted gives so much more time to come to its end: for what is lost
 * where its answer is.
 */
export const endingWithin = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  grace: Duration.DurationInput
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    // A fiber that fails is logged by Effect as one that nobody handles.
    Effect.flatMap(Effect.forkDaemon(Effect.exit(Effect.interruptible(effect))), (fiber) =>
      Effect.onInterrupt(
        Effect.flatten(restore(Fiber.join(fiber))),
        () => Effect.zipRight(within(Fiber.await(fiber), grace), Fiber.interrupt(fiber))
      ))
  )

/** How long what an application has given to us may take to end, when a session ends. */
export const handlersEndWithin: Duration.DurationInput = "1 second"

/**
 * Runs an effect of the application's in a fiber that ends with the scope. One that can't be interrupted is left behind
 * after a bound: it must not keep a process or a socket open.
 */
export const forkBounded = (effect: Effect.Effect<unknown>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.forkDaemon(Effect.interruptible(effect)),
      (fiber) => within(Fiber.interrupt(fiber), handlersEndWithin)
    )
  )

/**
 * As whichever ends first; the other one is interrupted. Where the caller can't be interrupted (a finalizer, say) the two
 * still can: `Effect.raceFirst` would wait there for the one that never ends. The first one begins at once, and where it needs no
 * waiting the other one never does: most bounds are never needed. Hundreds of them within each other, of which none waits, would
 * be too deep for the stack.
 */
export const firstOf = <A, E, R, A2, E2, R2>(
  one: Effect.Effect<A, E, R>,
  other: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.runtime<R | R2>(), (runtime) => {
      const race = new Race<A | A2, E | E2, R | R2>(runtime)
      race.run(one)
      if (race.first === undefined) race.run(other)
      if (race.isOver) return race.first!
      const stop = (cause: Cause.Cause<never>) => Effect.zipRight(race.stop, Effect.failCause(cause))
      return Effect.flatMap(Effect.catchAllCause(restore(race.over), stop), () => race.first!)
    })
  )

/** What runs until the first of it ends. */
class Race<A, E, R> {
  first: Exit.Exit<A, E> | undefined = undefined
  private readonly fibers: Array<Fiber.RuntimeFiber<unknown>> = []
  private running = 0
  private resume: ((over: Effect.Effect<void>) => void) | undefined = undefined

  constructor(private readonly runtime: Runtime.Runtime<R>) {}

  run(effect: Effect.Effect<A, E, R>): void {
    this.running++
    // A fiber that fails is logged by Effect as one that nobody handles.
    const fiber = Runtime.runFork(this.runtime)(Effect.exit(Effect.interruptible(effect)))
    this.fibers.push(fiber)
    fiber.addObserver((exit) => {
      this.running--
      if (this.first === undefined) {
        this.first = Exit.flatten(exit)
        for (const loser of this.fibers) if (loser !== fiber) loser.unsafeInterruptAsFork(FiberId.none)
      }
      if (this.running === 0) this.resume?.(Effect.void)
    })
  }

  /** Nothing of it runs any more. */
  get isOver(): boolean {
    return this.running === 0
  }

  get over(): Effect.Effect<void> {
    return Effect.async((resume) => {
      if (this.isOver) resume(Effect.void)
      else this.resume = resume
    })
  }

  get stop(): Effect.Effect<void> {
    return Fiber.interruptAll(this.fibers)
  }
}

/**
 * The effect, or another one that begins when this time is over: as whichever ends first. `Effect.timeoutTo` (3.22.4) loses an
 * interruption that comes just before it has begun: whoever interrupts would wait until the time is over.
 */
export const inTime = <A, E, R, A2, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.DurationInput,
  tooLate: () => Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> => firstOf(effect, Effect.delay(Effect.suspend(tooLate), limit))
