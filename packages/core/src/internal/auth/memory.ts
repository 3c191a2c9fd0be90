/**
 * What became of the last try to get credentials, so that a server that refuses everything costs one try in a while.
 *
 * Owns: for how long a failure is the answer to the next one who asks, and how often a person may be asked.
 * May not touch: the Effect clock; it is told the time.
 */
import type * as McpError from "../../McpError.js"
import * as Reasons from "./reasons.js"

const firstWait = 1000
const longestWait = 60_000
const personWait = 30_000
const mostPages = 3
const pagesWithin = 10 * 60_000
const firstUnproven = 30_000
const longestUnproven = 5 * 60_000
const mostRenewals = 30
const renewalsWithin = 5 * 60_000

/** A clock may go back: what was in the future is over then. */
const isWithin = (since: number, now: number, millis: number): boolean => now >= since && now - since < millis

interface Failure {
  readonly about: string
  readonly at: number
  readonly millis: number
  readonly error: McpError.McpError
}

export class Memory {
  private failure: Failure | undefined
  private wait = firstWait
  private pages: Array<number> = []
  private renewals: Array<number> = []
  private unprovenAt: number | undefined
  private unprovenWait = firstUnproven

  recall(about: string, now: number): McpError.McpError | undefined {
    const { failure } = this
    if (failure === undefined || !isWithin(failure.at, now, failure.millis)) return undefined
    return failure.about === about || Reasons.isPassing(failure.error) ? failure.error : undefined
  }

  /** Something has failed, whatever it was about, and is not to be tried now. */
  isTroubled(now: number): boolean {
    return this.failure !== undefined && isWithin(this.failure.at, now, this.failure.millis)
  }

  failed(about: string, error: McpError.McpError, now: number): void {
    if (Reasons.isPassing(error)) {
      this.failure = { about, error, at: now, millis: this.wait }
      this.wait = Math.min(longestWait, this.wait * 2)
    } else {
      this.failure = { about, error, at: now, millis: personWait }
    }
  }

  succeeded(): void {
    this.failure = undefined
    this.wait = firstWait
  }

  /** A person is asked: whether that is not too often. */
  mayAsk(now: number): boolean {
    this.pages = this.pages.filter((_) => isWithin(_, now, pagesWithin))
    if (this.pages.length >= mostPages) return false
    this.pages.push(now)
    return true
  }

  /**
   * A token that was never accepted is to be renewed: now and then that helps, as servers have bad moments and tokens are
   * revoked before they are used; and less and less often where it does not.
   */
  mayRenewUnproven(now: number): boolean {
    if (this.unprovenAt !== undefined && isWithin(this.unprovenAt, now, this.unprovenWait)) return false
    this.unprovenAt = now
    this.unprovenWait = Math.min(longestUnproven, this.unprovenWait * 2)
    return true
  }

  /** A token was accepted that had not been before. */
  proven(): void {
    this.unprovenWait = firstUnproven
  }

  /** A token is to be renewed because it was refused: whether a server that takes some requests does not want it too often. */
  mayRenewRefused(now: number): boolean {
    this.renewals = this.renewals.filter((_) => isWithin(_, now, renewalsWithin))
    if (this.renewals.length >= mostRenewals) return false
    this.renewals.push(now)
    return true
  }

  /** A token was obtained and not accepted yet: from here on it counts. */
  obtained(now: number): void {
    this.unprovenAt = now
  }
}
