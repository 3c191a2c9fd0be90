/**
 * One thing at a time, which all who want it wait for.
 *
 * Owns: that whoever waits may go without ending it for the others, and that it ends with the scope of who has begun it.
 * May not touch: what is done.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"

interface Flight<A, E> {
  readonly key: string
  readonly scope: Scope.Scope
  readonly done: Deferred.Deferred<Exit.Exit<A, E>>
}

export class Flights<A, E> {
  private current: Flight<A, E> | undefined = undefined

  /** `closed` is why it ends when the scope has closed. */
  constructor(private readonly closed: () => E) {}

  /** Who wants the same shares its outcome; who wants something else begins when it is over. */
  run(key: string, work: Effect.Effect<A, E>, scope: Scope.Scope): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const { current } = this
      if (current === undefined) return Effect.flatMap(this.begin(key, work, scope), (_) => this.outcome(_))
      return Effect.flatMap(Deferred.await(current.done), (exit) => {
        if (current.key !== key || (isAborted(exit) && current.scope !== scope)) return this.run(key, work, scope)
        return this.ended(exit)
      })
    })
  }

  private begin(key: string, work: Effect.Effect<A, E>, scope: Scope.Scope): Effect.Effect<Flight<A, E>> {
    const flight: Flight<A, E> = { key, scope, done: Deferred.unsafeMake(FiberId.none) }
    this.current = flight
    return Effect.uninterruptible(
      Effect.map(Effect.forkIn(Effect.interruptible(work), scope), (fiber) => {
        // It may be interrupted before it has begun.
        fiber.addObserver((exit) => {
          this.current = undefined
          Deferred.unsafeDone(flight.done, Effect.succeed(exit))
        })
        return flight
      })
    )
  }

  private outcome(flight: Flight<A, E>): Effect.Effect<A, E> {
    return Effect.flatMap(Deferred.await(flight.done), (exit) => this.ended(exit))
  }

  private ended(exit: Exit.Exit<A, E>): Effect.Effect<A, E> {
    return isAborted(exit) ? Effect.fail(this.closed()) : exit
  }
}

const isAborted = <A, E>(exit: Exit.Exit<A, E>): boolean => Exit.isFailure(exit) && Cause.isInterrupted(exit.cause)
