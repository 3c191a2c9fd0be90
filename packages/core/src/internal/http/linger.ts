/**
 * What may stay for a given time and not longer: for a second the rest of a stream whose answer has come, the body of a
 * refusal, a body that nobody reads; for longer a message without an answer.
 *
 * Owns: one timer for all of them, which runs only while there are any.
 * May not touch: what they are.
 */
import type { Timers } from "./timers.js"

export interface Lingering {
  /** The time is over. */
  readonly expire: () => void
}

export class Linger {
  private readonly entries = new Map<Lingering, number>()
  private armed = false

  constructor(
    private readonly timers: Timers,
    readonly millis: number
  ) {}

  add(entry: Lingering): void {
    if (this.entries.has(entry)) return
    this.entries.set(entry, this.timers.now() + this.millis)
    if (!this.armed) this.arm(this.millis)
  }

  remove(entry: Lingering): void {
    this.entries.delete(entry)
  }

  private arm(millis: number): void {
    this.armed = true
    this.timers.after(millis, this.sweep)
  }

  private readonly sweep = (): void => {
    const now = this.timers.now()
    for (const [entry, at] of this.entries) {
      if (at > now) return this.arm(at - now)
      this.entries.delete(entry)
      entry.expire()
    }
    this.armed = false
  }
}
