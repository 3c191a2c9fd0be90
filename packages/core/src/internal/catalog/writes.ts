/**
 * Writes to entries, in order.
 *
 * Owns: that one entry is written by one fiber at a time, that the newest value wins, and that of the values which wait
 * for a slow write only the newest is written.
 * May not touch: what is written.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/** One save, from the moment it was asked for. Its place in the order is settled then. */
export interface Ticket {
  readonly at: number
}

interface Waiting {
  readonly write: Effect.Effect<void>
  readonly done: Deferred.Deferred<void>
}

interface Entry {
  newest: number
  writing: boolean
  waiting: Waiting | undefined
}

export class Writes {
  /** An entry is forgotten when nothing is under way that could be older than what was written last. */
  private readonly entries = new Map<string, Entry>()
  private readonly quiet: Array<Deferred.Deferred<void>> = []
  private tickets = 0
  private saving = 0
  private writing = 0

  /** `limit`: how long one write may take before it is interrupted. */
  constructor(private readonly limit: Duration.DurationInput) {}

  /** Each must be followed by an `end`. */
  begin(): Ticket {
    this.saving++
    return { at: ++this.tickets }
  }

  end(): void {
    this.saving--
    this.settle()
  }

  /** Ends when this value, or a newer one, was written, or could not be. `write` must not fail. */
  write(key: string, ticket: Ticket, write: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.uninterruptibleMask((restore) => {
      const entry = this.entryOf(key)
      if (ticket.at < entry.newest) return Effect.void
      entry.newest = ticket.at
      const done = entry.waiting?.done ?? Deferred.unsafeMake<void>(FiberId.none)
      entry.waiting = { write, done }
      const written = restore(Deferred.await(done))
      if (entry.writing) return written
      entry.writing = true
      this.writing++
      return Effect.zipRight(Effect.forkDaemon(Effect.interruptible(this.writeAll(entry))), written)
    })
  }

  /** Waits until nothing is under way. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() => {
    if (this.isIdle()) return Effect.void
    const quiet = Deferred.unsafeMake<void>(FiberId.none)
    this.quiet.push(quiet)
    return Deferred.await(quiet)
  })

  private entryOf(key: string): Entry {
    const known = this.entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = { newest: 0, writing: false, waiting: undefined }
    this.entries.set(key, entry)
    return entry
  }

  /** A write that can't be interrupted is waited for: what is newer must not be overtaken by it. */
  private writeAll(entry: Entry): Effect.Effect<void> {
    return Effect.suspend(() => {
      const next = entry.waiting
      entry.waiting = undefined
      if (next === undefined) {
        entry.writing = false
        this.writing--
        this.settle()
        return Effect.void
      }
      return Effect.timeoutOption(next.write, this.limit).pipe(
        Effect.exit,
        Effect.zipRight(Deferred.succeed(next.done, undefined)),
        Effect.zipRight(this.writeAll(entry))
      )
    })
  }

  private isIdle(): boolean {
    return this.saving === 0 && this.writing === 0
  }

  private settle(): void {
    if (this.saving > 0) return
    for (const [key, entry] of this.entries) if (!entry.writing) this.entries.delete(key)
    if (!this.isIdle()) return
    for (const quiet of this.quiet.splice(0)) Deferred.unsafeDone(quiet, Effect.void)
  }
}
