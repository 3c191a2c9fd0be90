/**
 * Reading on where the stream of a request broke off: GETs with `Last-Event-ID`.
 *
 * Owns: when to try again and when to give up. The wait is exactly what the server asked for (`retry`, `Retry-After`), up to
 * five minutes; attempts that bring no new event id are few, all attempts together are bounded, and after the first of them
 * they have a smallest distance.
 * May not touch: the request itself, which it tells how this went.
 */
import type { HttpFailure } from "../../HttpExchange.js"
import type * as McpError from "../../McpError.js"
import * as Classify from "./classify.js"
import type { StreamEnd } from "./eventReader.js"
import { EventReader } from "./eventReader.js"
import type { BodyReader, Exchange, HeaderOf, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import { isEventStream } from "./mediaType.js"
import type { Post } from "./post.js"
import { lastEventIdHeader } from "./sse.js"
import * as Wires from "./wire.js"

const defaultRetry = 1000
const longestWait = 300_000
const maxFruitless = 3
const maxAttempts = 1000
const promptAttempts = 3
const smallestWait = 100

export class Resumption implements Reader {
  private attempts = 0
  private fruitless = 0
  private cancelWait: (() => void) | undefined = undefined
  private exchange: Exchange | undefined = undefined
  private over = false

  constructor(
    private readonly post: Post,
    private lastEventId: string,
    private retry: number | undefined
  ) {}

  begin(atLeast = 0): void {
    const lastEventId = lastEventIdHeader(this.lastEventId)
    if (lastEventId === undefined) return this.giveUp("the event id can't be sent")
    const floor = Math.max(atLeast, this.attempts < promptAttempts ? 0 : smallestWait)
    const wait = Math.min(Math.max(this.retry ?? defaultRetry, floor), longestWait)
    this.cancelWait = this.post.context.wire.timers.after(wait, () => this.attempt(lastEventId))
  }

  answered(): void {
    this.over = true
    this.cancelWait?.()
    this.exchange?.linger()
  }

  cancel(): void {
    this.over = true
    this.cancelWait?.()
    this.exchange?.abort()
  }

  accepted(status: number, header: HeaderOf, exchange: Exchange): BodyReader | undefined {
    if (!isEventStream(header("content-type"))) {
      this.giveUp(`HTTP ${status} without an event stream`)
      return undefined
    }
    const { inbox, wire } = this.post.context
    const reader: EventReader = new EventReader(
      exchange,
      wire.limits.eventBytes,
      this.lastEventId,
      (type, data) => {
        if (type === "message") inbox.event(data, this.post)
      },
      (end, detail) => this.streamOver(reader, end, detail)
    )
    return reader
  }

  refused(refusal: Classify.Refusal): void {
    const { status } = refusal
    const isConflict = status === 409
    if (status < 500 && status !== 408 && status !== 425 && status !== 429 && !isConflict) {
      return this.giveUp(`HTTP ${status}`)
    }
    const asked = Classify.retryAfterMillis(refusal.retryAfter, this.post.context.wire.timers.now())
    // A conflict is with the stream that has broken: the server has not seen that yet.
    this.again(`HTTP ${status}`, asked ?? (isConflict ? defaultRetry : 0))
  }

  failed(failure: HttpFailure): void {
    this.again(failure.detail)
  }

  readonly unsent = (error: McpError.McpError): void => this.giveUp(error.message)

  private attempt(lastEventId: string): void {
    if (this.over) return
    const { session, wire } = this.post.context
    this.attempts++
    this.cancelWait = Wires.withHeaders(wire, this.post.operation, session.stream, (headers) => {
      const request = {
        method: "GET",
        url: wire.target.url,
        headers: { ...headers, "last-event-id": lastEventId }
      } as const
      this.exchange = new Exchanges.Exchange(wire, this, request, "stream", 0)
      this.exchange.start()
    }, this.unsent)
  }

  private streamOver(reader: EventReader, end: StreamEnd, detail: string): void {
    if (this.over) return
    if (end === "TooLarge") return this.post.tooLarge("eventBytes")
    if (reader.parser.lastEventId !== this.lastEventId) {
      this.lastEventId = reader.parser.lastEventId
      this.fruitless = -1
    }
    if (reader.parser.retry !== undefined) this.retry = reader.parser.retry
    this.again(detail)
  }

  private again(detail: string, atLeast?: number): void {
    if (this.over) return
    this.fruitless++
    if (this.fruitless >= maxFruitless || this.attempts >= maxAttempts) return this.giveUp(detail)
    this.begin(atLeast)
  }

  private giveUp(detail: string): void {
    this.over = true
    const tries = this.attempts === 1 ? "1 attempt" : `${this.attempts} attempts`
    this.post.fail(this.post.lost("ResumeFailed", `its stream could not be resumed in ${tries}: ${detail}`))
  }
}
