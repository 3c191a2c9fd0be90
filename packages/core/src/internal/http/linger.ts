/**
 * What may stay for a given time and not longer: for a second the rest of a stream whose answer has come, the body of a
 * refusal, a body that nobody reads, and not so long where its socket is waited for; for longer a message without an answer.
 *
 * Owns: one timer for all of them. Where it is a short one it may run on for a while when they are gone, which costs less than
 * to end it after each; a long one would be a fiber that a session keeps for nothing.
 * May not touch: what they are.
 */
import { Slots } from "../slots.js"
import type { Timers } from "./timers.js"

export interface Lingering {
  /** When its time is over. Belongs to the `Linger` that it was given to. */
  lingersUntil: number
  /** The time is over. */
  readonly expire: () => void
}

/** In milliseconds. */
const short = 1000

export class Linger {
  private readonly entries = new Slots<Lingering>()
  private disarm: (() => void) | undefined = undefined

  constructor(
    private readonly timers: Timers,
    readonly millis: number
  ) {}

  add(entry: Lingering): void {
    entry.lingersUntil = this.timers.steady.now() + this.millis
    this.entries.add(entry)
    if (this.disarm === undefined) this.arm(this.millis)
  }

  remove(entry: Lingering): void {
    this.entries.delete(entry)
    if (this.entries.size > 0 || this.millis <= short) return
    this.disarm?.()
    this.disarm = undefined
  }

  private arm(millis: number): void {
    this.disarm?.()
    this.disarm = this.timers.after(millis, this.sweep)
  }

  private readonly sweep = (): void => {
    this.disarm = undefined
    const now = this.timers.steady.now()
    for (const entry of this.entries.all()) {
      if (entry.lingersUntil <= now && this.entries.delete(entry)) entry.expire()
    }
    const next = this.entries.all().reduce((least, _) => Math.min(least, _.lingersUntil), Infinity)
    if (next < Infinity) this.arm(next - now)
  }
}
