/**
 * What the application has commanded and is not done.
 *
 * Owns: that concurrent wishes for the same thing are one, and that everybody who waits is told.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/** `rest`: what is closed is as it was before its first use. */
export type Command = "close" | "reconnect" | "disable" | "enable" | "rest"

/** Completes with the era in which it was done. */
export type Done = Deferred.Deferred<number>

export class Commands {
  private readonly waiting = new Set<Done>()
  private reconnecting: Done | undefined = undefined
  /** The last command, if it is to close. */
  private closing: Done | undefined = undefined

  get areDone(): boolean {
    return this.waiting.size === 0
  }

  /** The same wish that is not begun yet, if it does as well. */
  same(command: Command, demanded: boolean): Done | undefined {
    if (command === "reconnect") return this.reconnecting
    // Who comes while the first closes is not to be closed again by the second.
    return command === "close" && !demanded ? this.closing : undefined
  }

  add(command: Command): Done {
    const done = Deferred.unsafeMake<number>(FiberId.none)
    this.closing = command === "close" ? done : undefined
    if (command === "reconnect") this.reconnecting = done
    this.waiting.add(done)
    return done
  }

  /** Who has wished to reconnect until now has it; who does from now on wishes for another one. */
  reconnected(): void {
    this.reconnecting = undefined
  }

  complete(done: Done, era: number): void {
    if (this.closing === done) this.closing = undefined
    if (this.reconnecting === done) this.reconnecting = undefined
    this.waiting.delete(done)
    Deferred.unsafeDone(done, Effect.succeed(era))
  }

  completeAll(era: number): void {
    for (const done of this.waiting) this.complete(done, era)
  }
}
