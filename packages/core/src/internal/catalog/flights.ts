/**
 * Listings under way.
 *
 * Owns: that one listing serves everybody who waits for the same thing, that the interruption of one of them harms nobody
 * else, and that a listing nobody waits for any more ends.
 * May not touch: what a listing means.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"

interface Flight<A, E> {
  readonly generation: number
  readonly landed: Deferred.Deferred<A, E>
  waiters: number
  fiber: Fiber.RuntimeFiber<unknown> | undefined
}

export class Flights<A, E> {
  private flight: Flight<A, E> | undefined = undefined
  /** Also those that began before the one that new readers join. */
  private all: Set<Flight<A, E>> | undefined = undefined

  constructor(private readonly fork: Fork, private readonly released: () => E) {}

  /** Whether something of this generation is under way. */
  isUnderWay(generation: number): boolean {
    return this.flight?.generation === generation
  }

  /** As the listing of this generation ends, which begins now if it is not under way. */
  join(generation: number, list: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const { flight: current } = this
        const flight = current?.generation === generation ? current : this.begin(generation, list)
        flight.waiters++
        return Effect.ensuring(restore(Deferred.await(flight.landed)), Effect.sync(() => this.leave(flight)))
      })
    )
  }

  private begin(generation: number, list: Effect.Effect<A, E>): Flight<A, E> {
    const flight: Flight<A, E> = {
      generation,
      landed: Deferred.unsafeMake(FiberId.none),
      waiters: 0,
      fiber: undefined
    }
    this.flight = flight
    this.all = (this.all ?? new Set()).add(flight)
    flight.fiber = this.fork(Effect.onExit(list, (exit) => Effect.sync(() => this.land(flight, exit))))
    // The scope of all of them may have closed.
    if (flight.fiber === undefined) this.land(flight, Exit.fail(this.released()))
    return flight
  }

  private land(flight: Flight<A, E>, exit: Exit.Exit<A, E>): void {
    if (this.flight === flight) this.flight = undefined
    this.all?.delete(flight)
    // Who still waits has not asked for the interruption.
    Deferred.unsafeDone(flight.landed, Exit.isInterrupted(exit) ? Exit.fail(this.released()) : exit)
  }

  /** Nobody waits any longer, not even for what can't be interrupted. */
  release(): void {
    for (const flight of this.all ?? []) this.land(flight, Exit.fail(this.released()))
  }

  private leave(flight: Flight<A, E>): void {
    if (--flight.waiters > 0) return
    if (this.flight === flight) this.flight = undefined
    flight.fiber?.unsafeInterruptAsFork(FiberId.none)
  }
}

/** Starts a fiber that ends with a scope; nothing where that has closed. */
export type Fork = (effect: Effect.Effect<unknown, unknown>) => Fiber.RuntimeFiber<unknown> | undefined

/** Fibers that are nobody's children: they inherit what was there when this was made, not what their causer has. */
export const forkIn = (scope: Scope.Scope): Effect.Effect<Fork> =>
  Effect.gen(function*() {
    const runtime = yield* Effect.runtime<never>()
    const fibers = new Set<Fiber.RuntimeFiber<unknown>>()
    let closed = false
    const end = Effect.sync(() => {
      closed = true
      for (const fiber of fibers) fiber.unsafeInterruptAsFork(FiberId.none)
    })
    yield* Scope.addFinalizer(scope, end)
    return (effect) => {
      if (closed) return undefined
      // Where this was made nothing could be interrupted.
      const fiber = Runtime.runFork(runtime)(Effect.interruptible(Effect.exit(effect)))
      fibers.add(fiber)
      fiber.addObserver(() => fibers.delete(fiber))
      return fiber
    }
  })
