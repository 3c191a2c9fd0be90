/**
 * Requests whose answer is only the beginning: what they have started on the server goes on after it.
 *
 * Owns: whose progress it is after the answer, and the answers that come after their request was given up, so that what
 * they have started can be stopped. Bounded in number and time.
 * May not touch: requests that are pending.
 */
import type * as McpProtocol from "../../McpProtocol.js"

type Sink = ((progress: McpProtocol.Progress) => void) | undefined

/** One such request, for whoever has sent it. */
export interface Beginning {
  /** Gets the result that comes after the request was given up. Synchronous and total. */
  readonly onLate: (result: unknown) => void
  /** Whose progress it is once it was sent. Set by the engine. */
  token: number | undefined
}

interface Late {
  readonly beginning: Beginning
  readonly until: number
}

const mostLate = 64
const lateFor = 60_000

export class Begun {
  private readonly sinks = new Map<number, Sink>()
  private readonly late = new Map<number, Late>()

  /** `release` is called for each request given up, when its answer has come or is not waited for any more. */
  constructor(private readonly release: (id: number) => void) {}

  /** Its answer is there: from now on its progress goes here. */
  started(beginning: Beginning, id: number, sink: Sink): void {
    beginning.token = id
    this.sinks.set(id, sink)
  }

  /** What it has started is over. */
  forget(beginning: Beginning): void {
    if (beginning.token !== undefined) this.sinks.delete(beginning.token)
  }

  /** Whether there may be progress with this token. */
  expects(token: unknown): boolean {
    const id = numeric(token)
    return id !== undefined && this.sinks.has(id)
  }

  sinkOf(token: unknown): Sink {
    const id = numeric(token)
    return id === undefined ? undefined : this.sinks.get(id)
  }

  /** Nobody waits for its answer any more, but somebody wants to know of it. Gives the time when nobody does. */
  givenUp(beginning: Beginning, id: number, now: number): number {
    if (this.late.size >= mostLate) {
      for (const oldest of this.late.keys()) {
        this.drop(oldest)
        break
      }
    }
    this.late.set(id, { beginning, until: now + lateFor })
    return now + lateFor
  }

  /** Takes the request that this answer belongs to, if it was given up. */
  takeLate(answered: unknown): Beginning | undefined {
    const id = numeric(answered)
    const late = id === undefined ? undefined : this.late.get(id)
    if (late === undefined) return undefined
    this.drop(id!)
    return late.beginning
  }

  /** Drops what is due and says when the next is. */
  expire(now: number): number {
    for (const [id, { until }] of this.late) {
      if (until > now) return until
      this.drop(id)
    }
    return Number.POSITIVE_INFINITY
  }

  /** The session is over. */
  clear(): void {
    this.sinks.clear()
    this.late.clear()
  }

  private drop(id: number): void {
    if (this.late.delete(id)) this.release(id)
  }
}

/** Some servers answer a numeric id with its text. */
const numeric = (id: unknown): number | undefined =>
  typeof id === "number" ? id : typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : undefined
