/**
 * One session over the HTTP+SSE transport of protocol revision 2024-11-05: one stream on which everything comes, and a
 * POST for everything that goes.
 *
 * Owns: the stream and its endpoint. The first end of the stream is the end of the session: it is never opened again, for
 * the server would give another session to whoever comes back.
 * May not touch: the answers of its POSTs; the protocol says nothing in them.
 *
 * | state | event | next |
 * |---|---|---|
 * | opening | `endpoint` within the origin | open |
 * | opening | anything else | over, `open` fails |
 * | open | the stream ends or breaks | over, `closed` is told |
 * | any | the scope closes | over, nothing is told |
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { HttpFailure } from "../../HttpExchange.js"
import * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { MessageTransport } from "../../McpTransport.js"
import * as Errors from "../engine/errors.js"
import { shownAs } from "../shownAs.js"
import * as Classify from "./classify.js"
import type { StreamEnd } from "./eventReader.js"
import { EventReader } from "./eventReader.js"
import type { BodyReader, Exchange, HeaderOf, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import { Inbox, shortExcerpt, type Source } from "./inbox.js"
import * as Losses from "./losses.js"
import { isEventStream } from "./mediaType.js"
import { Note, operationOf } from "./note.js"
import { Outbox } from "./outbox.js"
import type { Wire } from "./wire.js"
import * as Wires from "./wire.js"

export const open = (...parts: Wires.Parts): Effect.Effect<MessageTransport, McpError.McpError, Scope.Scope> =>
  Effect.flatMap(
    Wires.scoped(parts, (wire) => new LegacySse(wire)),
    (transport) => Effect.as(Effect.onError(transport.opened, () => transport.close), transport)
  )

const operation = "open"

class LegacySse implements MessageTransport, Reader, Source {
  private readonly inbox: Inbox
  private readonly outbox: Outbox
  private endpoint: string | undefined = undefined
  private version: string | undefined = undefined
  private lost: string | undefined = undefined
  /** The endpoint has accepted a message. */
  private worked = false
  shownSecrets: ReadonlyArray<string> = []
  private resume: ((effect: Effect.Effect<void, McpError.McpError>) => void) | undefined = undefined

  constructor(private readonly wire: Wire) {
    this.inbox = new Inbox(wire.events, wire)
    this.outbox = new Outbox(wire)
    shownAs(this, "MessageTransport", () => ({ server: wire.server, transport: this.kind() }))
  }

  readonly kind = () => "sse" as const

  readonly sessionId = () => undefined

  readonly stderrTail = () => undefined

  readonly secrets = () => Wires.lent(this.wire, undefined)

  readonly listen: Effect.Effect<void> = Effect.void

  readonly opened: Effect.Effect<void, McpError.McpError> = Effect.async<void, McpError.McpError>((resume) => {
    this.resume = resume
    Wires.withHeaders(this.wire, operation, this.headers({ accept: "text/event-stream" }), (headers, secrets) => {
      this.shownSecrets = secrets
      Exchanges.send(this.wire, { method: "GET", url: this.wire.target.url, headers }, this, "stream")
    }, (error) => this.end(error))
  })

  accepted(status: number, header: HeaderOf, exchange: Exchange): BodyReader | undefined {
    const type = header("content-type")
    if (!isEventStream(type)) {
      this.end(
        this.refusedToOpen(
          `HTTP ${status} with ${
            type === undefined ? "no content" : `"${this.excerpt(type)}"`
          } instead of an event stream`
        )
      )
      return undefined
    }
    return new EventReader(
      exchange,
      this.wire.limits.eventBytes,
      "",
      (type, data) => {
        if (type === "message") this.inbox.event(data, this)
        else if (type === "endpoint" && this.endpoint === undefined) this.found(data)
      },
      (end, detail) => this.end(this.streamLost(end, detail))
    )
  }

  refused(refusal: Classify.Refusal): void {
    this.end(Classify.ofRefusal(this.asked(), refusal, this.wire.timers.now()))
  }

  failed(failure: HttpFailure): void {
    this.end(Classify.ofFailure(this.asked(), this.wire.target.url, failure))
  }

  unsent(error: McpError.McpError): void {
    this.end(Errors.about(error, operation, "no"))
  }

  readonly send: MessageTransport["send"] = (message, sent) => {
    const id = "method" in message && "id" in message ? message.id : undefined
    if (this.wire.closed || this.endpoint === undefined) {
      const error = this.unsendable(operationOf(message))
      if (id === undefined) sent?.(error)
      else this.wire.events.requestFailed(id, error)
      return
    }
    const options = {
      url: this.endpoint,
      headers: this.headers({ "content-type": "application/json" }),
      sessionId: undefined,
      sessionWorked: () => this.worked,
      onAccepted: () => {
        this.worked = true
      }
    }
    if (id === undefined) return this.outbox.send(message, { ...options, onSettled: (error) => sent?.(error) })
    const note: Note = new Note(this.wire, message, {
      ...options,
      onSettled: (error) => {
        if (error === undefined || this.wire.closed) return
        this.inbox.forget(id)
        this.wire.events.requestFailed(id, error)
      }
    })
    this.inbox.pending.add({ id, answered: () => this.answered(id, note), release: () => note.release() })
    note.start()
  }

  readonly release = (id: McpProtocol.RequestId): boolean => this.inbox.forget(id)?.release() === true

  readonly negotiated = (protocolVersion: string): void => {
    this.version = protocolVersion
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.stop((note) => Losses.closing(this.wire.server, note.operation, "maybe"))
    return this.wire.timers.shutdown(Duration.toMillis(McpConfig.timeoutsOf(this.wire.config).close))
  })

  private found(endpoint: string): void {
    const url = URL.canParse(endpoint, this.wire.target.url) ? new URL(endpoint, this.wire.target.url) : undefined
    if (url === undefined) return this.end(this.refusedToOpen("the endpoint it gives is not a URL"))
    if (url.origin !== this.wire.target.origin) {
      return this.end(
        this.refusedToOpen(
          `the endpoint it gives is at another origin: ${Classify.shownUrl(url.href, this.shownSecrets)}`
        )
      )
    }
    url.username = ""
    url.password = ""
    url.hash = ""
    this.endpoint = url.href
    this.resume?.(Effect.void)
  }

  private answered(id: McpProtocol.RequestId, note: Note): void {
    this.inbox.forget(id)
    note.answered()
  }

  /** The one way to the end, but for the closing of the scope. */
  private end(error: McpError.McpError): void {
    if (this.wire.closed) return
    const wasOpen = this.endpoint !== undefined
    // First: whoever hears of it takes back what was not written, and so knows what the server can't have run.
    if (wasOpen) this.wire.events.closed(error)
    this.stop(() => error)
    if (!wasOpen) this.resume?.(Effect.fail(error))
  }

  private stop(why: (note: Note) => McpError.McpError): void {
    if (this.wire.closed) return
    Wires.stop(this.wire)
    this.inbox.pending.clear()
    for (const note of this.outbox.all) note.settle(why(note))
  }

  private streamLost(end: StreamEnd, detail: string): McpError.McpError {
    this.lost = Classify.excerpt(end === "Ended" ? "the server ended the stream" : detail, this.shownSecrets, 512)
    return new McpError.ConnectionClosed({
      server: this.wire.server,
      operation,
      executed: this.endpoint === undefined ? "no" : "maybe",
      reason: end === "TooLarge" ? "Overflow" : "StreamLost",
      detail: this.lost
    })
  }

  private unsendable(operation: string): McpError.McpError {
    const { server } = this.wire
    return this.lost === undefined
      ? Losses.closing(server, operation, "no")
      : new McpError.ConnectionClosed({ server, operation, executed: "no", reason: "StreamLost", detail: this.lost })
  }

  private excerpt(text: string): string {
    return Classify.excerpt(text, this.shownSecrets, shortExcerpt)
  }

  private refusedToOpen(detail: string): McpError.McpError {
    return new McpError.ProtocolViolation({ server: this.wire.server, operation, executed: "no", detail })
  }

  private headers(own: Wires.Headers): Wires.Headers {
    return {
      ...this.wire.target.headers,
      ...own,
      ...(this.version === undefined ? undefined : { "mcp-protocol-version": this.version })
    }
  }

  private asked(): Classify.Asked {
    return {
      server: this.wire.server,
      operation,
      method: "GET",
      id: undefined,
      sessionWorked: false,
      version: undefined,
      secrets: this.shownSecrets
    }
  }
}
