/**
 * The protocol engine: JSON-RPC over one message transport during one session.
 *
 * Owns: the correlation of requests and answers, deadlines, cancellation, progress, the order of notifications, and
 * who gets what the server asks. Every pending request is settled exactly once, by whichever comes first: its answer, a
 * failure of the wire, a deadline, the interruption of its caller, or the end of the session.
 * May not touch: the wire itself (only `send` and `release`), the meaning of results (a decoder is handed in).
 *
 * Everything that arrives is handled synchronously, in the order of the wire. A request costs one object and one
 * comparison with the session's timer; no fiber, no race, no schema.
 */
import * as Effect from "effect/Effect"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import { InFlight } from "../inFlight.js"
import { freezeByItem } from "../protocol/json.js"
import * as Secrets from "../secrets.js"
import * as ErrorType from "../telemetry/errorType.js"
import { LastFrames, type ShownFrame } from "../telemetry/lastFrames.js"
import type { SessionMeter } from "../telemetry/meter.js"
import { type Beginning, Begun } from "./begun.js"
import type { Deadlines } from "./deadlines.js"
import * as Errors from "./errors.js"
import { isKeepable, isRounded } from "./ids.js"
import type { Call, Decoder, EngineEvents, Resume } from "./pending.js"
import { Pending } from "./pending.js"
import { Pongs } from "./pongs.js"
import { withProgressToken } from "./progress.js"
import type { Place } from "./turnstile.js"

export type { Call, Decoder, EngineEvents } from "./pending.js"

const resumeNobody: Resume = () => {}
const decodeNothing: Decoder<unknown> = (value) => ({ value })

/** Why a request was not sent that has had its turn. */
const unwritten =
  "it has not run: the server has not read what comes before it, there was no free connection to it, or what it needs to be accepted was not there yet"

/** Ids are counted up. */
const asTheyCame = (a: Pending, b: Pending) => a.id - b.id

const noParams: McpProtocol.JsonObject = Object.freeze({})

export class Engine {
  private readonly pending = new InFlight<Pending>()
  /** Those of them that wait for their turn, in order. */
  private readonly queue = new Set<Pending>()
  /** How many of them take no turn. */
  private ungated = 0
  private advancing = false
  /** Answers to what was asked while the wire was still opening. */
  private readonly early: Array<McpProtocol.JsonRpcMessage> = []
  private readonly frames = new LastFrames()
  private readonly begun = new Begun((id) => void this.transport?.release(id))
  private lastId = 0
  private muted = false
  private ended: McpError.McpError | undefined = undefined
  /** The server has said that it does not know the session any more: no request goes out. */
  private forgotten: McpError.SessionExpired | undefined = undefined
  private transport: McpTransport.MessageTransport | undefined = undefined

  sent = 0
  received = 0
  private readonly pongs: Pongs

  constructor(
    private readonly server: string,
    private readonly limits: McpConfig.Limits,
    /** How many requests may be under way at once; the others wait their turn. */
    private readonly concurrency: number,
    private readonly deadlines: Deadlines,
    private readonly events: EngineEvents,
    /** Where a request waits for a permit that its own session has a turn for. */
    private readonly place: Place | undefined,
    private readonly meter: SessionMeter | undefined
  ) {
    const dropped = (detail: string) => events.warning("SendFailed", detail)
    this.pongs = new Pongs(limits.serverRequests, (pong, settled) => this.postUnawaited(pong, settled), dropped)
  }

  /** From here on requests go out. */
  attach(transport: McpTransport.MessageTransport): void {
    this.transport = transport
    for (const message of this.early.splice(0)) this.postUnawaited(message)
  }

  /** How many requests wait for their answer or their turn. */
  get inFlight(): number {
    return this.pending.size
  }

  /** How many of them are work: a question whether the server is there is none. */
  get working(): number {
    return this.pending.size - this.ungated
  }

  /** Why the session is over, if it is. */
  get reason(): McpError.McpError | undefined {
    return this.ended
  }

  /** Why it is of no use any more, although what was sent may still have its answer. */
  get expiry(): McpError.McpError | undefined {
    return this.forgotten
  }

  /**
   * One request. The canceller of `Effect.async` would keep each call alive long enough to be promoted by the garbage
   * collector, which cost a third of the time of a call; a handler around it does the same and does not.
   */
  request<A>(
    method: string,
    params: McpProtocol.JsonObject | undefined,
    decode: Decoder<A>,
    call: Call,
    /** Told the id, once there is one. Synchronous and total. */
    named?: (id: number) => void
  ): Effect.Effect<A, McpError.McpError> {
    return Effect.uninterruptibleMask((restore) => {
      let pending: Pending | undefined = undefined
      const answer = Effect.async<A, McpError.McpError>((resume) => {
        const refusal = this.refusal(method, call)
        if (refusal !== undefined) {
          resume(Effect.fail(refusal))
          return
        }
        pending = this.register(method, params, decode, resume as Pending["resume"], call)
        named?.(pending.id)
        if (call.totalFrom !== undefined && this.isOver(pending)) return
        if (
          pending.ungated || (this.queue.size === 0 && this.underWay <= this.concurrency && this.isPermitted(pending))
        ) this.transmit(pending)
        else this.queue.add(pending)
      })
      return Effect.catchAllCause(restore(answer), (cause) => {
        if (pending !== undefined && this.settle(pending)) {
          this.measure(pending, ErrorType.interrupted)
          this.abandon(pending, "interrupted", this.withdraw(pending))
        }
        return Effect.failCause(cause)
      })
    })
  }

  /** Sends something that has no answer; succeeds when the wire has accepted it. */
  post(message: McpProtocol.JsonRpcMessage, operation: string): Effect.Effect<void, McpError.McpError> {
    return Effect.async<void, McpError.McpError>((resume) => {
      if (this.ended !== undefined || this.transport === undefined) {
        resume(Effect.fail(this.notConnected(operation)))
        return
      }
      this.hand(message)
      this.transport.send(message, (error) => {
        resume(error === undefined ? Effect.void : Effect.fail(Errors.about(error, operation, error.executed)))
      })
    })
  }

  /** Sends something that nobody waits for; a failure is a warning. `settled` is called once, when the wire needs it no more. */
  postUnawaited(message: McpProtocol.JsonRpcMessage, settled?: () => void): void {
    if (this.ended !== undefined) return settled?.()
    if (this.transport === undefined) {
      if (this.early.length < this.limits.serverRequests) this.early.push(message)
      return settled?.()
    }
    this.hand(message)
    this.transport.send(message, (error) => {
      settled?.()
      if (error === undefined || this.muted) return
      this.events.warning("SendFailed", error.message)
      if ("result" in message && error._tag === "ConfigInvalid") this.answerFailed(message.id)
    })
  }

  /** It goes out now. */
  private hand(message: McpProtocol.JsonRpcMessage): void {
    this.sent++
    if (this.pending.size === 0) this.frames.addName(true, message)
    else this.frames.add(true, message)
  }

  /** An answer that can't be written must not leave the server waiting. */
  private answerFailed(id: McpProtocol.RequestId): void {
    const error = { code: McpProtocol.ErrorCode.InternalError, message: "The client could not handle the request" }
    this.postUnawaited({ jsonrpc: "2.0", id, error })
  }

  /** A value arrived. */
  readonly receive = (message: unknown): void => {
    // Revision 2025-03-26 has batches.
    if (Array.isArray(message) && message.length > 0) { for (const item of message) this.receiveOne(item) }
    else this.receiveOne(message)
  }

  private receiveOne(message: unknown): void {
    if (this.muted) return
    this.received++
    if (this.pending.size === 0) this.frames.addName(false, message)
    else this.frames.add(false, message)
    if (!McpProtocol.isObject(message) || message.jsonrpc !== "2.0") {
      this.events.warning("NotJsonRpc", "a message that is not JSON-RPC 2.0 was skipped")
      return
    }
    const { id, method } = message
    if (typeof method === "string") {
      if (id === undefined) this.receiveNotification(method, message.params)
      else if (isKeepable(id)) this.receiveRequest(id, method, message.params)
      else this.events.warning("NotJsonRpc", "a request with an id that is neither short text nor number was skipped")
      return
    }
    if (message.result !== undefined || message.error !== undefined) this.receiveResponse(message)
    else this.receiveNothing(id)
  }

  /** An answer without a result: whoever waits for it need not wait for a deadline. */
  private receiveNothing(id: unknown): void {
    const pending = this.find(id)
    if (pending === undefined || !this.settle(pending)) {
      this.events.warning("NotJsonRpc", "a message that is neither request nor response was skipped")
      return
    }
    const error = new McpError.ProtocolViolation({
      server: this.server,
      operation: pending.method,
      executed: "maybe",
      detail: "its answer has neither a result nor an error"
    })
    this.fail(pending, error)
  }

  /** The wire says that this request will not be answered. */
  readonly requestFailed = (id: McpProtocol.RequestId, error: McpError.McpError): void => {
    if (error._tag === "SessionExpired") this.loseTurns(error)
    const pending = this.pending.get(id)
    if (pending === undefined || !this.settle(pending)) {
      this.begun.takeLate(id)
      return
    }
    this.fail(pending, Errors.about(error, pending.method, error.executed))
  }

  /** Who waits for a turn learns it at once; what was sent may still have its answer. */
  private loseTurns(error: McpError.SessionExpired): void {
    if (this.forgotten !== undefined) return
    this.forgotten = error
    for (const pending of this.queue) {
      if (!this.settle(pending)) continue
      this.finish(pending, Effect.fail(Errors.ofUnsent(Errors.about(error, pending.method, "no"))))
    }
  }

  /** The wire is dead: whoever waits learns it now. */
  readonly connectionClosed = (error: McpError.McpError): void => {
    if (this.ended !== undefined) return
    const told = Errors.withFrames(error, this.lastFrames)
    this.end(told)
    this.events.closed(told)
  }

  /** The end from our side: nothing that arrives is heard any more, whoever waits is told. */
  close(error: McpError.McpError): void {
    this.muted = true
    if (this.ended === undefined) this.end(error)
  }

  /** Ends what is due and says when the next one is. */
  expire(now: number): number {
    let next = this.begun.expire(now)
    for (const pending of this.pending.all().sort(asTheyCame)) {
      const due = Math.min(pending.idleAt, pending.totalAt)
      if (due > now) next = Math.min(next, due)
      else if (this.settle(pending)) this.timeOut(pending, pending.totalAt <= now)
    }
    return next
  }

  /** A call may have waited for its session until its time was over. */
  private isOver(pending: Pending): boolean {
    const now = this.deadlines.now()
    if (Math.min(pending.idleAt, pending.totalAt) > now || !this.settle(pending)) return false
    this.timeOut(pending, pending.totalAt <= now, "there was no session in time")
    return true
  }

  private timeOut(
    pending: Pending,
    total: boolean,
    waited = this.place?.holdsUp(this) === true
      ? `as many other requests were under way over all servers as may be at once (${this.place.permits})`
      : `as many other requests were under way as may be at once (${this.concurrency})`
  ): void {
    const withdrawn = this.withdraw(pending)
    const sent = pending.isSent && !withdrawn
    const error = new McpError.RequestTimeout({
      server: this.server,
      operation: pending.method,
      executed: sent ? "maybe" : "no",
      kind: sent ? total ? "total" : "idle" : "wait",
      millis: total ? pending.total : pending.idle,
      detail: sent ? undefined : withdrawn ? unwritten : waited,
      stderrTail: this.transport?.stderrTail()
    })
    this.fail(pending, error)
    this.abandon(pending, "timed out", withdrawn)
  }

  private refusal(method: string, call: Call): McpError.McpError | undefined {
    if (this.ended !== undefined || this.transport === undefined) return this.notConnected(method)
    if (this.forgotten !== undefined) return Errors.ofUnsent(Errors.about(this.forgotten, method, "no"))
    if (this.working >= this.limits.inFlight && call.ungated !== true) {
      return Errors.tooManyInFlight(this.server, method, this.limits.inFlight)
    }
    return undefined
  }

  private notConnected(operation: string): McpError.McpError {
    return this.ended === undefined
      ? new McpError.ConnectionClosed({
        server: this.server,
        operation,
        executed: "no",
        reason: "Closing",
        detail: "the session is not open"
      })
      : Errors.ofUnsent(Errors.about(this.ended, operation, "no"))
  }

  private register(
    method: string,
    params: McpProtocol.JsonObject | undefined,
    decode: Decoder<unknown>,
    resume: Pending["resume"],
    call: Call
  ): Pending {
    const now = call.idle === Number.POSITIVE_INFINITY && call.total === Number.POSITIVE_INFINITY
      ? 0
      : this.deadlines.now()
    const id = ++this.lastId
    const asked = call.progress ? withProgressToken(params, id) : params
    const pending = new Pending(id, method, asked, decode, resume, call, now)
    this.pending.add(pending)
    if (pending.ungated) this.ungated++
    this.deadlines.add(Math.min(pending.idleAt, pending.totalAt))
    return pending
  }

  /** How many have a turn. */
  private get underWay(): number {
    return this.working - this.queue.size
  }

  private transmit(pending: Pending): void {
    const { params } = pending
    pending.params = undefined
    pending.isSent = true
    if (this.meter !== undefined) {
      pending.instrument = this.meter.sent(pending.method, params)
      pending.sentAt = this.deadlines.now()
    }
    const message = { jsonrpc: "2.0", id: pending.id, method: pending.method, params } as const
    this.sent++
    this.frames.add(true, message)
    this.transport!.send(message)
  }

  /** Whether it was still waiting. The one place where a request stops being pending. */
  private settle(pending: Pending): boolean {
    if (!this.pending.delete(pending)) return false
    if (pending.ungated) this.ungated--
    const waited = !pending.isSent && this.queue.delete(pending)
    if (pending.attended) this.events.used()
    if (this.working === 0 && !pending.ungated) this.events.quiet()
    else if (!waited && this.queue.size > 0) this.advanceSoon()
    if (this.place !== undefined) this.leave(this.place, pending)
    return true
  }

  /** Whether there is a permit for it, where it needs one. If not, `proceed` comes with one. */
  private isPermitted(pending: Pending): boolean {
    return this.place === undefined || !pending.attended || this.place.enter(this)
  }

  /** What was sent gives its permit back. Where one that waits has left, the next may need none. */
  private leave(place: Place, pending: Pending): void {
    if (!pending.isSent) this.advanceSoon()
    else if (pending.attended) place.leave()
  }

  /** Sends the next one that needs a permit with the one that is there, and what comes before it. */
  readonly proceed = (): boolean => {
    for (const pending of this.queue) {
      if (this.underWay >= this.concurrency) return false
      this.queue.delete(pending)
      this.transmit(pending)
      if (!pending.attended) continue
      this.advance()
      return true
    }
    return false
  }

  /** After what is being done about the request that has left: a server that takes one at a time hears of it first. */
  private advanceSoon(): void {
    if (this.advancing) return
    this.advancing = true
    queueMicrotask(this.advance)
  }

  private readonly advance = (): void => {
    this.advancing = false
    for (const pending of this.queue) {
      if (this.underWay >= this.concurrency || !this.isPermitted(pending)) return
      this.queue.delete(pending)
      this.transmit(pending)
    }
    this.place?.quit(this)
  }

  private fail(pending: Pending, error: McpError.McpError): void {
    this.measure(pending, ErrorType.bounded(error))
    this.finish(pending, Effect.fail(Errors.withFrames(error, this.lastFrames)))
  }

  /** Exactly once for each request that was sent. */
  private measure(pending: Pending, errorType: string | undefined): void {
    if (pending.instrument === undefined) return
    this.meter!.ended(pending.instrument, this.deadlines.now() - pending.sentAt, errorType)
  }

  /** What was said last, without secrets: for an error of the protocol. */
  readonly lastFrames = (): ReadonlyArray<ShownFrame> => this.frames.shown(this.secrets)

  /** Tells whoever waited, and lets go of them: a timer or a queue may hold the entry for a while. */
  private finish(pending: Pending, effect: Effect.Effect<unknown, McpError.McpError>): void {
    const { resume } = pending
    pending.resume = resumeNobody
    pending.decode = decodeNothing
    if (this.pending.size === 0) this.frames.forget()
    resume(effect)
  }

  /** The wire gives back what it holds of a request. Whether nothing of it has left us, where it was handed to the wire. */
  private withdraw(pending: Pending): boolean {
    // Where a late answer must find its way to us, the request stays with the wire.
    return pending.isSent && pending.beginning === undefined && this.transport?.release(pending.id) === true
  }

  /** Nobody waits any more: the server is told once. The handshake is ended by closing, never by cancelling. */
  private abandon(pending: Pending, reason: string, withdrawn: boolean): void {
    if (!pending.isSent || withdrawn) {
      // No word of it goes over the wire, after which they would be forgotten.
      if (this.pending.size === 0) this.frames.forget()
      return
    }
    if (pending.method !== "initialize") {
      this.postUnawaited({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: pending.id, reason: `The request was ${reason}` }
      })
    }
    if (pending.beginning === undefined) return
    this.deadlines.add(this.begun.givenUp(pending.beginning, pending.id, this.deadlines.now()))
  }

  /** What this request has begun is over. */
  forget(beginning: Beginning): void {
    this.begun.forget(beginning)
  }

  private end(error: McpError.McpError): void {
    this.ended = error
    this.begun.clear()
    const waiting = this.pending.all().sort(asTheyCame)
    this.pending.clear()
    this.queue.clear()
    this.place?.quit(this)
    for (const pending of waiting) {
      if (this.place !== undefined) this.leave(this.place, pending)
      const told = pending.isSent && !this.withdraw(pending)
        ? Errors.about(error, pending.method, "maybe")
        : Errors.ofUnsent(Errors.about(error, pending.method, "no"))
      this.measure(pending, ErrorType.bounded(error))
      this.finish(pending, Effect.fail(told))
    }
    if (waiting.length === 0) return
    this.events.used()
    this.events.quiet()
  }

  private receiveResponse(message: McpProtocol.JsonObject): void {
    const pending = this.find(message.id)
    if (pending === undefined || !this.settle(pending)) {
      this.receiveLate(message)
      return
    }
    const frozen = McpProtocol.freeze(message)
    const result = frozen ? message.result : this.freezeByItem(pending, message)
    if (!frozen && result === undefined) {
      this.fail(pending, this.invalid(pending, "it is nested too deeply", undefined))
    } else if (hasFailed(message)) {
      this.fail(pending, Errors.remote(this.server, pending.method, message.error, this.secrets))
    } else {
      const decoded = pending.decode(result)
      if (pending.beginning !== undefined && "value" in decoded) {
        this.begun.started(pending.beginning, pending.id, pending.onProgress)
      }
      if (!("value" in decoded)) return this.fail(pending, this.invalid(pending, decoded.problem, result))
      this.measure(pending, ErrorType.ofResult(pending.method, result))
      this.finish(pending, Effect.succeed(decoded.value))
    }
  }

  private freezeByItem({ decode: { itemsOf } }: Pending, message: McpProtocol.JsonObject): unknown {
    return itemsOf === undefined || hasFailed(message) ? undefined : freezeByItem(message.result, itemsOf)
  }

  private receiveLate(message: McpProtocol.JsonObject): void {
    const beginning = this.begun.takeLate(message.id)
    if (beginning !== undefined && message.result !== undefined && McpProtocol.freeze(message)) {
      beginning.onLate(message.result)
    } else {
      this.events.warning("UnknownResponse", "an answer that nobody waits for was dropped")
    }
  }

  private invalid(pending: Pending, detail: string, result: unknown): McpError.McpError {
    return Errors.invalid(this.server, pending.method, detail, result, this.secrets)
  }

  /** What the server was given and may repeat, to be asked for only where something of it might show. */
  get secrets(): ReadonlyArray<string> {
    return this.transport?.secrets?.() ?? Secrets.none
  }

  /** Some servers answer a numeric id with its text. What has not been asked yet has no answer. */
  private find(id: unknown): Pending | undefined {
    const number = typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : id
    const pending = this.pending.get(number)
    return pending?.isSent === true ? pending : undefined
  }

  private receiveRequest(id: McpProtocol.RequestId, method: string, params: unknown): void {
    if (isRounded(id)) {
      this.events.warning("NotJsonRpc", "a request was refused whose id is a number beyond 2^53 - 1")
      // Whichever request has the id that is left of it is refused as well.
      this.refuse(id, "Invalid request: an id that is a number must be within 2^53 - 1, and can be a text")
    } else if (!McpProtocol.freeze(params)) {
      this.events.warning("NotJsonRpc", "a request that is nested too deeply was refused")
      this.refuse(id, "Invalid request")
    } else if (method === "ping") {
      this.pongs.answer(id)
    } else {
      this.events.request(id, method, McpProtocol.isObject(params) ? params : noParams)
    }
  }

  private refuse(id: McpProtocol.RequestId, message: string): void {
    this.postUnawaited({ jsonrpc: "2.0", id, error: { code: McpProtocol.ErrorCode.InvalidRequest, message } })
  }

  private receiveNotification(method: string, params: unknown): void {
    if (!McpProtocol.freeze(params)) {
      this.events.warning("NotJsonRpc", "a notification that is nested too deeply was dropped")
      return
    }
    const object = McpProtocol.isObject(params) ? params : noParams
    if (method === "notifications/progress") this.receiveProgress(object)
    else if (method === "notifications/cancelled") this.receiveCancelled(object)
    this.events.notification({ method, params: object })
  }

  private receiveProgress(params: McpProtocol.JsonObject): void {
    const pending = this.find(params.progressToken)
    const { progress } = params
    if (typeof progress !== "number" || (pending === undefined && !this.begun.expects(params.progressToken))) {
      this.events.warning("UnknownProgress", "progress that belongs to no request was dropped")
      return
    }
    if (pending !== undefined) pending.idleAt = this.deadlines.now() + pending.idle
    const sink = pending === undefined ? this.begun.sinkOf(params.progressToken) : pending.onProgress
    sink?.({
      progress,
      ...(typeof params.total === "number" && { total: params.total }),
      ...(typeof params.message === "string" && { message: params.message })
    })
  }

  private receiveCancelled(params: McpProtocol.JsonObject): void {
    const id = params.requestId
    if (typeof id === "string" || typeof id === "number") this.events.cancelled(id)
  }
}

/** Some servers write an error beside each result: `null`. */
const hasFailed = ({ error, result }: McpProtocol.JsonObject): boolean =>
  error !== undefined && (error !== null || result === undefined)
