/**
 * One request of the protocol on its way: a POST, its answer, and what follows when the answer does not come.
 *
 * Owns: that each request is answered, failed or released, and that whatever it holds is given back then.
 * May not touch: deadlines. Nothing here waits for time but the resumption of a stream, at the server's wish.
 *
 * | state | event | next |
 * |---|---|---|
 * | sent | 2xx with JSON | its answer, or failed |
 * | sent | 2xx with an event stream | streaming |
 * | sent | 202, no content, another type, another status, a failure | failed |
 * | streaming | the answer | answered, the rest of the stream is read for a second |
 * | streaming, resuming | an error that does not say which request it is about | failed |
 * | streaming | the end before the answer, without event ids | failed |
 * | streaming | the end before the answer, with event ids | resuming |
 * | resuming | the answer | answered |
 * | resuming | no success in a bounded number of attempts | failed |
 * | any | released | over, its socket is free |
 */
import type { HttpFailure } from "../../HttpExchange.js"
import type * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import * as Errors from "../engine/errors.js"
import { Bytes, decodeText } from "./bytes.js"
import * as Classify from "./classify.js"
import type { StreamEnd } from "./eventReader.js"
import { EventReader } from "./eventReader.js"
import type { BodyReader, Exchange, HeaderOf, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import type { HttpSession } from "./httpSession.js"
import type { Inbox, Source, Unanswered } from "./inbox.js"
import { isAnonymous, shortExcerpt } from "./inbox.js"
import * as Losses from "./losses.js"
import { isEventStream, isJson } from "./mediaType.js"
import { Resumption } from "./resume.js"
import type { Wire } from "./wire.js"
import * as Wires from "./wire.js"

/** What the posts of one session share. */
export interface PostContext {
  readonly wire: Wire
  readonly session: HttpSession
  readonly inbox: Inbox
}

export class Post implements Reader, Unanswered, Source {
  readonly id: McpProtocol.RequestId
  readonly operation: string
  private readonly initialize: boolean
  private settled = false
  private exchange: Exchange | undefined = undefined
  private cancelHeaders: (() => void) | undefined = undefined
  private resumption: Resumption | undefined = undefined
  private header: HeaderOf | undefined = undefined
  private withSession = false
  private secrets: ReadonlyArray<string> = []

  constructor(
    readonly context: PostContext,
    private readonly message: McpProtocol.JsonRpcRequest
  ) {
    this.id = message.id
    this.operation = message.method
    this.initialize = message.method === "initialize"
  }

  start(): void {
    const { inbox, session, wire } = this.context
    inbox.pending.add(this)
    const body = jsonOf(this.message)
    if (body === undefined) return this.fail(Losses.notJson(wire.server, this.operation))
    this.withSession = session.id !== undefined
    this.cancelHeaders = Wires.withHeaders(wire, this.operation, session.post, (headers, secrets) => {
      this.secrets = secrets
      const exchange = new Exchanges.Exchange(
        wire,
        this,
        { method: "POST", url: wire.target.url, headers, body },
        laneOf(this.operation),
        0
      )
      this.exchange = exchange
      exchange.start()
    }, this.failWith)
  }

  /** Its answer has arrived, on whichever stream. */
  answered(): void {
    if (!this.settle()) return
    this.resumption?.answered()
    this.exchange?.linger()
  }

  /** Nobody waits for it any more. */
  release(): boolean {
    if (!this.settle()) return false
    this.cancelHeaders?.()
    this.resumption?.cancel()
    return this.exchange?.abort() ?? true
  }

  fail(error: McpError.McpError): void {
    if (!this.settle()) return
    if (error._tag === "SessionExpired") this.context.session.lost = true
    this.context.wire.events.requestFailed(this.id, error)
  }

  private readonly failWith = (error: McpError.McpError): void => this.fail(error)

  accepted(status: number, header: HeaderOf, exchange: Exchange): BodyReader | undefined {
    const { session, wire } = this.context
    if (this.initialize) session.begun(header("mcp-session-id"))
    else if (this.withSession) session.worked = true
    if (this.settled) return undefined
    this.header = header
    if (status === 202) {
      this.fail(this.lost("Accepted", "the server accepted the request without answering it (HTTP 202)"))
      return undefined
    }
    const type = header("content-type")
    if (isEventStream(type)) return this.events(exchange)
    if (isJson(type) || (type === undefined && status === 200)) {
      const max = wire.limits.messageBytes
      if (Number(header("content-length")) <= max || header("content-length") === undefined) {
        return new JsonReader(this, exchange, max)
      }
      this.fail(Losses.tooLarge(wire.server, this.operation, "messageBytes", max))
      exchange.abort()
      return undefined
    }
    this.fail(
      this.violation(
        type === undefined
          ? `an answer without content (HTTP ${status})`
          : `an answer of the type "${this.excerpt(type)}" (HTTP ${status}) instead of JSON or an event stream`
      )
    )
    return undefined
  }

  isOfSession(refusal: Classify.Refusal): boolean {
    return Classify.isOfSession(this.asked(), refusal)
  }

  refused(refusal: Classify.Refusal): void {
    this.fail(Classify.ofRefusal(this.asked(), refusal, this.context.wire.timers.now()))
  }

  failed(failure: HttpFailure): void {
    this.fail(Classify.ofFailure(this.asked(), this.context.wire.target.url, failure))
  }

  unsent(error: McpError.McpError): void {
    this.fail(Errors.about(error, this.operation, "no"))
  }

  /** The whole of a JSON answer. */
  answer(text: string): void {
    if (this.settled) return
    const value = parse(text)
    if (value === undefined) {
      return this.fail(
        this.violation(
          text.trim() === ""
            ? "an empty answer"
            : `an answer that is not JSON${this.coding || `: ${this.excerpt(text)}`}`
        )
      )
    }
    this.context.inbox.value(value.value)
    if (!this.settled) this.fail(this.unanswered(value.value))
  }

  broken(failure: HttpFailure): void {
    this.fail(this.lost("Broken", `the answer broke off: ${this.excerpt(failure.detail)}`))
  }

  tooLarge(limit: "messageBytes" | "eventBytes"): void {
    const { limits, server } = this.context.wire
    this.fail(Losses.tooLarge(server, this.operation, limit, limits[limit]))
  }

  lost(reason: McpError.ResponseLost["reason"], detail: string): McpError.McpError {
    const shown = Classify.excerpt(detail, this.shownSecrets, 512)
    return Losses.responseLost(this.context.wire.server, this.operation, reason, shown)
  }

  get shownSecrets(): ReadonlyArray<string> {
    const { session } = this.context
    return session.id === undefined ? this.secrets : [...this.secrets, session.id]
  }

  /** Why what came may not be readable: nobody has asked for a coding. */
  private get coding(): string {
    const coding = this.header?.("content-encoding")
    return coding === undefined || coding === "identity" ? "" : ` (content coding "${this.excerpt(coding)}")`
  }

  private excerpt(text: string): string {
    return Classify.excerpt(text, this.shownSecrets, shortExcerpt)
  }

  /** What comes on its own stream is about nothing else. */
  unidentified(error: McpProtocol.JsonObject): void {
    if (this.settled) return
    this.fail(this.anonymous(error))
    this.resumption?.answered()
    this.exchange?.linger()
  }

  private violation(detail: string): McpError.McpError {
    return Losses.violation(this.context.wire.server, this.operation, detail)
  }

  private events(exchange: Exchange): BodyReader {
    const { inbox, wire } = this.context
    const reader: EventReader = new EventReader(
      exchange,
      wire.limits.eventBytes,
      "",
      (type, data) => {
        if (type === "message") inbox.event(data, this)
      },
      (end, detail) => this.streamOver(reader, end, detail)
    )
    return reader
  }

  private streamOver(reader: EventReader, end: StreamEnd, detail: string): void {
    if (this.settled) return
    if (end === "TooLarge") return this.tooLarge("eventBytes")
    if (reader.parser.lastEventId === "") return this.fail(this.lost(end, `${detail}${this.coding}`))
    this.resumption = new Resumption(this, reader.parser.lastEventId, reader.parser.retry)
    this.resumption.begin()
  }

  /** What came is JSON, but not the answer. */
  private unanswered(value: unknown): McpError.McpError {
    if (Array.isArray(value)) return this.lost("Unanswered", "the answer is a list without the response")
    if (McpProtocol.isObject(value) && isAnonymous(value)) return this.anonymous(value.error)
    if (
      !McpProtocol.isObject(value) || value.jsonrpc !== "2.0" || (value.id === undefined && value.method === undefined)
    ) {
      return this.violation("an answer that is not JSON-RPC 2.0")
    }
    if (typeof value.method !== "string" && value.result === undefined && value.error === undefined) {
      return this.violation("an answer that has neither a result nor an error")
    }
    return this.lost("Unanswered", "the answer has the id of another request, or none")
  }

  private anonymous({ code, message }: McpProtocol.JsonObject): McpError.McpError {
    return this.violation(
      `an error that does not say which request it is about: ${this.excerpt(`${code}: ${message}`)}`
    )
  }

  private settle(): boolean {
    if (this.settled) return false
    this.settled = true
    this.context.inbox.pending.delete(this)
    return !this.context.wire.closed
  }

  private asked(): Classify.Asked {
    const { session, wire } = this.context
    const version = this.message.params?.protocolVersion
    return {
      server: wire.server,
      operation: this.operation,
      method: "POST",
      id: this.id,
      sessionWorked: this.withSession && session.worked,
      version: typeof version === "string" ? version : undefined,
      secrets: this.shownSecrets
    }
  }
}

class JsonReader implements BodyReader {
  private readonly bytes = new Bytes()

  constructor(
    private readonly post: Post,
    private readonly exchange: Exchange,
    private readonly max: number
  ) {}

  readonly data = (chunk: Uint8Array): void => {
    if (this.bytes.length + chunk.length > this.max) {
      this.exchange.abort()
      return this.post.tooLarge("messageBytes")
    }
    this.bytes.append(chunk)
  }

  readonly end = (): void => this.post.answer(decodeText(this.bytes.view()))

  readonly failed = (failure: HttpFailure): void => this.post.broken(failure)
}

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** A message as it goes out; `undefined` for what JSON can't carry. */
export const jsonOf = (message: McpProtocol.JsonRpcMessage): string | undefined => {
  try {
    return JSON.stringify(message)
  } catch {
    return undefined
  }
}

/** The question whether the server is there must not wait until a call has its answer. */
export const laneOf = (method: string): "request" | "stream" => method === "ping" ? "stream" : "request"
