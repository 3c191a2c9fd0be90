/**
 * Waiting awake for servers that answer at once.
 *
 * Owns: whether the event loop may fall asleep after a request was written. To wake a sleeping process takes longer than many a
 * server takes to answer, so for a moment the loop is kept turning instead.
 * May not touch: messages. It decides nothing: without it the same answers come a little later.
 *
 * | streak            | a request is written   | a quick answer | no quick answer, or others need the processor |
 * |-------------------|------------------------|----------------|-----------------------------------------------|
 * | below `earned`    | the loop may sleep     | one more       | none                                          |
 * | `earned`          | it turns for `longest` | stays          | `penalty` below none                          |
 *
 * So what was waited in vain is at most `longest`, once in `earned + penalty` answers that all came quickly.
 */
import { availableParallelism } from "node:os"

/** An answer within this time, in milliseconds, is a quick one. */
const longest = 0.2

/** A turn of the loop that takes longer has done other work, or other processes had the processor meanwhile. */
const longestTurn = 0.05

const earned = 16
const penalty = 64

/** What it needs of the machine. @internal */
export interface Machine {
  readonly processors: number
  /** In milliseconds, from any beginning. */
  readonly now: () => number
  readonly nextTurn: (run: () => void) => void
}

/** @internal */
const thisMachine: Machine = {
  processors: availableParallelism(),
  now: () => performance.now(),
  nextTurn: (run) => void setImmediate(run)
}

/** @internal */
export class Vigil {
  private readonly isUseful: boolean
  private since = 0
  private lastTurn = 0
  private isWaiting = false
  private isTurning = false
  private streak = 0

  constructor(private readonly machine: Machine = thisMachine) {
    // The server needs a processor while we wait.
    this.isUseful = machine.processors > 1
  }

  /** A request was written. */
  written(): void {
    if (!this.isUseful) return
    this.since = this.lastTurn = this.machine.now()
    this.isWaiting = true
    if (this.streak < earned || this.isTurning) return
    this.isTurning = true
    this.machine.nextTurn(this.turn)
  }

  /** Something has come. */
  heard(): void {
    if (!this.isWaiting) return
    this.isWaiting = false
    if (this.machine.now() - this.since > longest) this.streak = Math.min(this.streak, 0)
    else if (this.streak < earned) this.streak++
  }

  /** Nothing will come any more. */
  stop(): void {
    this.isWaiting = false
  }

  private readonly turn = (): void => {
    this.isTurning = false
    if (!this.isWaiting) return
    const now = this.machine.now()
    if (now - this.lastTurn > longestTurn || now - this.since > longest) {
      this.streak = -penalty
      return
    }
    this.lastTurn = now
    this.isTurning = true
    this.machine.nextTurn(this.turn)
  }
}
