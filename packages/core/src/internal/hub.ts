/**
 * A `PubSub` that takes no memory before somebody listens. A slow listener loses the oldest.
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import type * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

export class Hub<A> {
  private pubSub: PubSub.PubSub<A> | undefined = undefined
  private over = false

  constructor(private readonly capacity: number) {}

  /** Whether nobody has lost an older one. */
  publish(value: A): boolean {
    if (this.pubSub === undefined || this.over || this.pubSub.unsafeOffer(value)) return true
    // To lose the oldest takes a step, which waits for nothing.
    Effect.runSync(PubSub.publish(this.pubSub, value))
    return false
  }

  get subscribe(): Effect.Effect<Queue.Dequeue<A>, never, Scope.Scope> {
    return Effect.suspend(() => {
      this.pubSub ??= Effect.runSync(PubSub.sliding<A>(this.capacity))
      const subscribed = PubSub.subscribe(this.pubSub)
      return this.over ? Effect.zipRight(PubSub.shutdown(this.pubSub), subscribed) : subscribed
    })
  }

  get shutdown(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.over = true
      return this.pubSub === undefined ? Effect.void : PubSub.shutdown(this.pubSub)
    })
  }
}
