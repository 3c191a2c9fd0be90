/**
 * For any number of readers: each has a feed of its own, from when it subscribes until its scope closes. It takes no memory
 * before somebody listens. What waits for a slow reader are the newest, so that many take hardly more than one.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Bounds } from "./backlog.js"
import { Feed } from "./feed.js"
import { acquireRelease } from "./finalizers.js"

export class Hub<A> {
  private feeds: Set<Feed<A>> | undefined = undefined
  private over = false
  /** The size of what is being published, once a slow reader has needed it. */
  private size: number | undefined = undefined

  /** The bounds of each reader. */
  constructor(private readonly bounds: Bounds<A>) {}

  /** How many older ones are lost by it, to the reader that has lost most. */
  publish(value: A): number {
    if (this.feeds === undefined) return 0
    this.size = undefined
    let lost = 0
    for (const feed of this.feeds) lost = Math.max(lost, feed.offer(value))
    return lost
  }

  /** What is published from now on. */
  get subscribe(): Effect.Effect<Stream.Stream<A>, never, Scope.Scope> {
    const subscribed = acquireRelease(Effect.sync(() => this.add()), (feed) => Effect.sync(() => this.remove(feed)))
    return Effect.map(subscribed, (feed) => feed.stream)
  }

  get shutdown(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.over = true
      for (const feed of this.feeds ?? []) this.remove(feed)
    })
  }

  private add(): Feed<A> {
    const feed = new Feed<A>({
      ...this.bounds,
      sizeOf: (value) => this.size ??= this.bounds.sizeOf(value)
    })
    if (this.over) feed.end()
    else (this.feeds ??= new Set()).add(feed)
    return feed
  }

  private remove(feed: Feed<A>): void {
    this.feeds?.delete(feed)
    feed.shutdown()
  }
}
