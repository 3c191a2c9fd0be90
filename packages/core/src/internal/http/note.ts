/**
 * A message without an answer on its way: a notification, or our answer to a request of the server. Over the older
 * transport also a request, whose answer comes elsewhere.
 *
 * Owns: that its sender is told exactly once what became of it, and that this does not take for ever.
 * May not touch: bodies; what comes back is drained.
 */
import type { HttpFailure } from "../../HttpExchange.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as Errors from "../engine/errors.js"
import * as Classify from "./classify.js"
import type { BodyReader, Exchange, HeaderOf, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import type { Linger, Lingering } from "./linger.js"
import * as Losses from "./losses.js"
import { jsonOf, laneOf } from "./post.js"
import type { Headers, Wire } from "./wire.js"
import * as Wires from "./wire.js"

export interface NoteOptions {
  readonly url: string
  readonly headers: Headers
  /** A session id goes with it that had worked before. */
  readonly sessionWorked: () => boolean
  readonly sessionId: string | undefined
  /** The server has accepted it. */
  readonly onAccepted: () => void
  /** Told once: without an error when the server has accepted it. */
  readonly onSettled: (error: McpError.McpError | undefined) => void
  /** It holds no socket any more, as far as can be known now. */
  readonly onGaveBack?: () => void
}

export class Note implements Reader, Lingering {
  readonly operation: string
  /** A request is bounded by whoever waits for its answer. */
  private readonly deadline: Linger | undefined
  lingersUntil = 0
  private settled = false
  private exchange: Exchange | undefined = undefined
  private cancelHeaders: (() => void) | undefined = undefined
  private secrets: ReadonlyArray<string> = []

  constructor(
    private readonly wire: Wire,
    private readonly message: McpProtocol.JsonRpcMessage,
    private readonly options: NoteOptions
  ) {
    this.operation = operationOf(message)
    this.deadline = isRequest(message)
      ? undefined
      : wire.notes[this.operation === "notifications/cancelled" ? "cancelled" : "usual"]
  }

  /** From here on its time is running. */
  await(): void {
    this.deadline?.add(this)
  }

  start(): void {
    const { wire } = this
    const body = jsonOf(this.message)
    if (body === undefined) return this.settle(Losses.notJson(wire.server, this.operation))
    this.cancelHeaders = Wires.withHeaders(wire, this.operation, this.options.headers, (headers, secrets) => {
      this.secrets = secrets
      this.exchange = new Exchanges.Exchange(
        wire,
        this,
        { method: "POST", url: this.options.url, headers, body },
        // A request may wait for this message, and must not hold the socket that the message waits for.
        this.deadline === undefined ? laneOf(this.operation) : "stream",
        0
      )
      this.exchange.start()
    }, this.settle)
  }

  /** Its time is over, which it will hear of in this turn. */
  get isLate(): boolean {
    return this.deadline !== undefined && this.lingersUntil <= this.wire.timers.steady.now()
  }

  /** Its sender knows what became of it, and it holds no socket. */
  get isOver(): boolean {
    return this.settled && this.exchange?.isOver !== false
  }

  gaveBack(): void {
    this.options.onGaveBack?.()
  }

  /** A request whose answer has come elsewhere: the rest is read for a second. */
  answered(): void {
    this.settled = true
    this.exchange?.linger()
  }

  /** Nobody waits for it any more; its sender is not told. */
  release(): boolean {
    const withdrawn = !this.settled && this.exchange === undefined
    this.settled = true
    this.cancelHeaders?.()
    return this.exchange?.abort() ?? withdrawn
  }

  readonly expire = (): void => {
    if (this.settled) return
    this.cancelHeaders?.()
    const executed = this.exchange === undefined || this.exchange.abort() ? "no" : "maybe"
    this.settle(
      new McpError.RequestTimeout({
        server: this.wire.server,
        operation: this.operation,
        executed,
        kind: "send",
        millis: this.deadline?.millis ?? 0
      })
    )
  }

  accepted(_status: number, _header: HeaderOf): BodyReader | undefined {
    this.options.onAccepted()
    this.settle(undefined)
    return undefined
  }

  refused(refusal: Classify.Refusal): void {
    this.settle(Classify.ofRefusal(this.asked(), refusal, this.wire.timers.now()))
  }

  failed(failure: HttpFailure): void {
    this.settle(Classify.ofFailure(this.asked(), this.options.url, failure))
  }

  unsent(error: McpError.McpError): void {
    this.settle(Errors.about(error, this.operation, "no"))
  }

  readonly settle = (error: McpError.McpError | undefined): void => {
    if (this.settled) return
    this.settled = true
    this.deadline?.remove(this)
    this.options.onSettled(error)
  }

  private asked(): Classify.Asked {
    const { sessionId, sessionWorked } = this.options
    return {
      server: this.wire.server,
      operation: this.operation,
      method: "POST",
      id: "id" in this.message && this.message.id !== null ? this.message.id : undefined,
      sessionWorked: sessionWorked(),
      version: undefined,
      secrets: sessionId === undefined ? this.secrets : [...this.secrets, sessionId]
    }
  }
}

export const isRequest = (message: McpProtocol.JsonRpcMessage): message is McpProtocol.JsonRpcRequest =>
  "method" in message && "id" in message

export const operationOf = (message: McpProtocol.JsonRpcMessage): string =>
  "method" in message ? message.method : "response"
