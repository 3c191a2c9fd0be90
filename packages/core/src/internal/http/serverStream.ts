/**
 * The standalone stream, over which the server speaks unasked.
 *
 * Owns: when it is opened again: not sooner than the server wants (`retry`, `Retry-After`), but for five minutes. No server
 * can make it hot: an open that brought nothing counts against the next one, whatever the server says about `retry`.
 * May not touch: requests. Whatever happens here, calls go on.
 *
 * | state | event | next |
 * |---|---|---|
 * | opening | an event stream | open |
 * | opening | 401, 403 | down, tried once more, then not before there are new credentials |
 * | opening | 408, 425, 429, 5xx but 501, a failure; 409 after it was open | down, again after a growing time |
 * | opening | 400, 404, 410 to the id of an event | opened once more without it |
 * | opening | any other answer | none, for good |
 * | open | ended or broken, after messages or a few seconds | down, again after the server's `retry` |
 * | open | ended or broken, else | down, again after a growing time |
 */
import type { HttpFailure } from "../../HttpExchange.js"
import type * as McpError from "../../McpError.js"
import type { ServerStreamState } from "../../McpTransport.js"
import * as Classify from "./classify.js"
import type { StreamEnd } from "./eventReader.js"
import { EventReader } from "./eventReader.js"
import type { BodyReader, Exchange, HeaderOf, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import { isEventStream } from "./mediaType.js"
import type { PostContext } from "./post.js"
import { lastEventIdHeader } from "./sse.js"
import * as Wires from "./wire.js"

const defaultRetry = 1000
const longestBackoff = 30_000
/** For no server's wish do we wait longer. */
const longestWait = 300_000
const smallestWait = 100
const firstBackoff = 500
/** An open that lasted this long was worth it, even if nothing was said. */
const longEnough = 5000
/** After so many short opens in a row, even ones with messages, `retry` is not honoured below a second. */
const manyShort = 10

export class ServerStream implements Reader {
  readonly optional = true
  private state: ServerStreamState | undefined = undefined
  private lastEventId = ""
  private retry: number | undefined = undefined
  private wasOpen = false
  private openedAt = 0
  private unproductive = 0
  private short = 0
  private unauthorized = 0
  shownSecrets: ReadonlyArray<string> = []
  private onSettled: (() => void) | undefined = undefined

  constructor(private readonly context: PostContext) {}

  /** Opens it, and calls back once when that is settled for the first time. */
  start(onSettled: () => void): void {
    this.onSettled = onSettled
    this.open()
  }

  /** Nobody waits for the first answer any more. It may still come. */
  late(): void {
    if (this.state === undefined) this.become("down")
  }

  accepted(status: number, header: HeaderOf, exchange: Exchange): BodyReader | undefined {
    if (!isEventStream(header("content-type"))) {
      this.warn(`HTTP ${status} without an event stream`)
      this.become("none")
      return undefined
    }
    const { inbox, wire } = this.context
    this.wasOpen = true
    this.openedAt = wire.timers.steady.now()
    let messages = 0
    const reader: EventReader = new EventReader(
      exchange,
      wire.limits.eventBytes,
      this.lastEventId,
      (type, data) => {
        if (type !== "message") return
        const before = inbox.messages
        inbox.event(data, this)
        messages += inbox.messages - before
      },
      (end, detail) => this.ended(reader, messages, end, detail)
    )
    this.become("open")
    return reader
  }

  refused(refusal: Classify.Refusal): void {
    const { status } = refusal
    if (status === 401 || status === 403) {
      this.unauthorized++
      this.become("down")
      if (this.unauthorized < 2) this.backOff(0)
      else this.giveUp(status)
      return
    }
    if (
      (status >= 500 && status !== 501) || status === 408 || status === 425 || status === 429 ||
      (status === 409 && this.wasOpen)
    ) {
      this.warn(`HTTP ${status}`)
      this.become("down")
      const asked = Classify.retryAfterMillis(refusal.retryAfter, this.context.wire.timers.now()) ?? 0
      return this.backOff(asked)
    }
    if ((status === 400 || status === 404 || status === 410) && this.lastEventId !== "") {
      this.warn(`HTTP ${status} to the id of its last event`)
      this.lastEventId = ""
      return this.open()
    }
    this.become("none")
  }

  failed(failure: HttpFailure): void {
    this.warn(failure.detail)
    this.become("down")
    this.backOff(0)
  }

  readonly unsent = (error: McpError.McpError): void => {
    this.warn(error.message)
    this.become("down")
    this.backOff(0)
  }

  /** Only new credentials are a reason to open it again. */
  private giveUp(status: number): void {
    const { wire } = this.context
    if (wire.closed) return
    this.warn(`HTTP ${status}; it is not opened again`)
    if (wire.credentials === undefined) return
    // A call may bring new ones, which nobody is told of but who sees that they are accepted.
    const refused = wire.credentials.current()?.header
    wire.onAccepted = (sent) => {
      if (sent !== refused) this.authorized()
    }
    wire.unfollow ??= wire.credentials.follow(() => this.authorized())
  }

  /** There are new credentials. */
  private authorized(): void {
    if (this.unauthorized < 2 || this.context.wire.closed) return
    this.context.wire.onAccepted = undefined
    this.unauthorized = 0
    this.open()
  }

  private readonly open = (): void => {
    const { session, wire } = this.context
    if (wire.closed) return
    Wires.withHeaders(wire, "listen", session.stream, (headers, secrets) => {
      this.shownSecrets = session.id === undefined ? secrets : [...secrets, session.id]
      const lastEventId = lastEventIdHeader(this.lastEventId)
      Exchanges.send(
        wire,
        {
          method: "GET",
          url: wire.target.url,
          headers: lastEventId === undefined ? headers : { ...headers, "last-event-id": lastEventId }
        },
        this,
        "stream"
      )
    }, this.unsent)
  }

  private ended(reader: EventReader, messages: number, end: StreamEnd, detail: string): void {
    const { closed, timers } = this.context.wire
    if (closed) return
    this.lastEventId = reader.parser.lastEventId
    this.retry = reader.parser.retry ?? this.retry
    this.unauthorized = 0
    if (end !== "Ended") this.warn(detail)
    this.become("down")
    const lived = timers.steady.now() - this.openedAt
    this.short = lived < longEnough ? this.short + 1 : 0
    if (end === "TooLarge" || (messages === 0 && lived < longEnough)) return this.backOff(0)
    this.unproductive = 0
    const floor = this.short > manyShort ? defaultRetry : smallestWait
    timers.after(Math.min(Math.max(this.retry ?? defaultRetry, floor), longestWait), this.open)
  }

  /** Twice the time before, and not sooner than the server wants. */
  private backOff(atLeast: number): void {
    const { closed, timers } = this.context.wire
    if (closed) return
    const growing = Math.min(firstBackoff * 2 ** Math.min(this.unproductive, 10), longestBackoff)
    this.unproductive++
    const least = Math.min(Math.max(atLeast, this.retry ?? 0), longestWait)
    timers.afterAbout(growing, longestBackoff, least, this.open)
  }

  private become(state: ServerStreamState): void {
    const { wire } = this.context
    if (wire.closed) return
    if (state !== this.state) {
      this.state = state
      wire.events.serverStream(state)
    }
    const settled = this.onSettled
    this.onSettled = undefined
    settled?.()
  }

  private warn(detail: string): void {
    const { wire } = this.context
    if (!wire.closed) {
      wire.events.warning("StreamFailed", `the standalone stream: ${Classify.excerpt(detail, this.shownSecrets, 512)}`)
    }
  }
}
