/**
 * The moments at which no request is under way: since when, and a way to wait for the next one.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type { Deadlines } from "./deadlines.js"

export class Quiet {
  since: number
  private next: Deferred.Deferred<void> | undefined = undefined

  constructor(private readonly deadlines: Deadlines) {
    this.since = deadlines.now()
  }

  readonly used = (): void => {
    this.since = this.deadlines.now()
  }

  readonly begin = (): void => {
    if (this.next === undefined) return
    Deferred.unsafeDone(this.next, Effect.void)
    this.next = undefined
  }

  get await(): Effect.Effect<void> {
    return Effect.suspend(() => Deferred.await(this.next ??= Deferred.unsafeMake<void>(FiberId.none)))
  }
}
