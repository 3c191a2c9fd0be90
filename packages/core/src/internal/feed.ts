/**
 * A stream for one reader, filled by whoever does not wait for it.
 *
 * Owns: that the reader is woken, and the end. A slow reader loses the oldest: the backlog says which.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Backlog, type Bounds } from "./backlog.js"

export class Feed<A> {
  private readonly backlog: Backlog<A>
  /** For who was waiting for it: it needs no place, nor to be measured. */
  private handed: { readonly value: A } | undefined = undefined
  private readonly waiting = new Set<() => void>()
  private over = false

  constructor(bounds: Bounds<A>) {
    this.backlog = new Backlog(bounds)
  }

  /** How many older ones are lost by it. */
  offer(value: A): number {
    if (this.over) return 0
    if (this.waiting.size === 0) return this.backlog.add(value)
    this.handed = { value }
    this.wake()
    return 0
  }

  /** What is there can still be read; nothing comes after it. */
  end(): void {
    this.over = true
    this.wake()
  }

  /** Nothing can be read any more. */
  shutdown(): void {
    this.handed = undefined
    this.backlog.clear()
    this.end()
  }

  /** The oldest, for who can't wait. */
  poll(): A | undefined {
    const { handed } = this
    if (handed === undefined) return this.backlog.take()
    this.handed = undefined
    return handed.value
  }

  get stream(): Stream.Stream<A> {
    return Stream.repeatEffectChunkOption(this.next())
  }

  private next(): Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> {
    return Effect.suspend(() => {
      const taken = this.take()
      if (taken.length > 0) return Effect.succeed(Chunk.unsafeFromArray(taken))
      return this.over ? Effect.fail(Option.none()) : Effect.zipRight(this.news, this.next())
    })
  }

  private take(): Array<A> {
    const { handed } = this
    this.handed = undefined
    const taken = this.backlog.takeAll()
    return handed === undefined ? taken : [handed.value, ...taken]
  }

  private get news(): Effect.Effect<void> {
    return Effect.async((resume) => {
      // Something may have come since it was found that there is nothing: this fiber may have lost its turn in between.
      if (this.over || this.handed !== undefined || !this.backlog.isEmpty) return resume(Effect.void)
      const woken = () => resume(Effect.void)
      this.waiting.add(woken)
      return Effect.sync(() => this.waiting.delete(woken))
    })
  }

  private wake(): void {
    for (const woken of this.waiting) woken()
    this.waiting.clear()
  }
}
