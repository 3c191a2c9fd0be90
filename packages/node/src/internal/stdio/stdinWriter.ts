/**
 * Messages out, to the standard input of a process.
 *
 * Owns: joining, the bound on what waits, and the truth about each message: accepted, never written, or not known.
 * May not touch: the process, the answers.
 *
 * The pipe has at most one write that it has not taken, and whatever comes meanwhile is the next one. So what waits here was
 * certainly never written, and a reader that stopped costs no listener and no buffer but this one. Many that come at once are
 * several writes, as long as the pipe takes them: the server begins with the first while we still work on the last.
 *
 * | state   | a new message               | what waits                                  | what is being written               |
 * |---------|-----------------------------|---------------------------------------------|-------------------------------------|
 * | open    | waits for the next write    | is written                                  | is accepted when the write is done  |
 * | held    | waits for the verdict       | waits                                       | waits                               |
 * | ended   | is refused: not executed    | was refused: not executed                   | is accepted when the write is done  |
 * | stopped | is refused: not executed    | was refused: not executed                   | was refused: may have been executed |
 */
import * as McpError from "@mcp-runtime/core/McpError"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import { Buffer } from "node:buffer"
import type { Writable } from "node:stream"
import type { Vigil } from "./vigil.js"

/** @internal */
export type Sent = (error: McpError.McpError | undefined) => void

/** Why nothing can be sent, as the error of one message. @internal */
export type Refusal = (operation: string, executed: McpError.Executed) => McpError.McpError

/** So many are not joined with more. */
const joinedAtMost = 16

/** Messages on their way, with those who want to know that they were accepted. */
class Batch {
  text = ""
  bytes = 0
  awaited = false
  readonly messages: Array<McpProtocol.JsonRpcMessage> = []
  readonly sent: Array<Sent | undefined> = []

  clear(): void {
    this.text = ""
    this.bytes = 0
    this.awaited = false
    this.messages.length = 0
    this.sent.length = 0
  }
}

/** @internal */
export class StdinWriter {
  private waiting = new Batch()
  private writing = new Batch()
  private scheduled = false
  private lastJoined = 0
  /** A write has not been confirmed, or none may follow. */
  private busy = false
  private held = false
  /** How many writes have not called back: more than one where the pipe took the others at once. */
  private unconfirmed = 0
  private refusal: Refusal | undefined = undefined

  constructor(
    private readonly stream: Writable,
    private readonly server: string,
    private readonly maxBytes: number,
    private readonly requestFailed: McpTransport.TransportEvents["requestFailed"],
    private readonly vigil: Vigil
  ) {}

  send(message: McpProtocol.JsonRpcMessage, sent: Sent | undefined): void {
    if (this.refusal !== undefined) return this.fail(message, sent, this.refusal(operationOf(message), "no"))
    let line: string
    try {
      line = JSON.stringify(message)
    } catch {
      return this.fail(message, sent, McpError.unwritable(this.server, operationOf(message)))
    }
    const { waiting } = this
    const bytes = Buffer.byteLength(line) + 1
    if (waiting.bytes + this.writing.bytes + bytes > this.maxBytes) {
      return this.fail(message, sent, this.tooMuch(message))
    }
    waiting.bytes += bytes
    waiting.text += line
    waiting.text += "\n"
    waiting.messages.push(message)
    waiting.sent.push(sent)
    if (sent !== undefined) waiting.awaited = true
    if (waiting.messages.length >= joinedAtMost && this.takesMore) return this.writeMore()
    if (this.scheduled || this.busy) return
    // One message at a time has nothing to be joined with: it goes out at once.
    if (this.lastJoined <= 1) return this.write()
    this.scheduled = true
    process.nextTick(this.flush)
  }

  /** The input is broken, or nobody is there to read it; why, is not known yet. Everybody waits for `stop`. */
  hold(): void {
    this.held = true
    this.busy = true
  }

  /** What waits is written if it can be at once, then the input ends. Nothing is accepted any more. */
  end(refusal: Refusal): void {
    if (!this.busy) this.write()
    this.refuse(refusal)
    this.stream.end()
  }

  /** Nothing is written any more. Who sent a message that was not accepted is told. */
  stop(refusal: Refusal): void {
    this.hold()
    this.refuse(refusal)
    const { writing } = this
    this.writing = new Batch()
    for (let i = 0; i < writing.messages.length; i++) {
      const message = writing.messages[i]!
      // A request that may have been written gets its error with the end of the session.
      if (!isRequest(message)) writing.sent[i]?.(refusal(operationOf(message), "maybe"))
    }
  }

  private refuse(refusal: Refusal): void {
    this.refusal ??= refusal
    const { messages, sent } = this.waiting
    this.waiting = new Batch()
    for (let i = 0; i < messages.length; i++) {
      this.fail(messages[i]!, sent[i], this.refusal(operationOf(messages[i]!), "no"))
    }
  }

  /** The pipe has taken the last write as a whole, although that is told only after this turn of the event loop. */
  private get takesMore(): boolean {
    return !this.held && this.stream.writable && this.stream.writableLength === 0
  }

  private writeMore(): void {
    const accepted = this.accepted()
    this.write()
    tellAccepted(accepted)
  }

  private readonly flush = (): void => {
    this.scheduled = false
    if (!this.busy) this.write()
  }

  private write(): void {
    const batch = this.waiting
    if (batch.text === "") return
    this.waiting = this.writing
    this.writing = batch
    this.busy = true
    this.lastJoined = batch.messages.length
    this.unconfirmed++
    this.stream.write(batch.text, "utf8", this.written)
    if (this.lastJoined === 1) this.vigil.written()
    // The first attempt is made at once. When that fails, not one byte has left us.
    if (this.stream.errored === null) return
    this.writing = this.waiting
    this.waiting = batch
    this.hold()
  }

  private readonly written = (error?: Error | null): void => {
    this.unconfirmed--
    if (error !== undefined && error !== null) return this.hold()
    if (this.held || this.unconfirmed > 0) return
    const accepted = this.accepted()
    if (this.refusal === undefined) {
      this.busy = false
      if (!this.scheduled) this.write()
    }
    tellAccepted(accepted)
  }

  /** Makes room for the next write. Gives who is to be told, after that write: they may send something. */
  private accepted(): Batch | undefined {
    const { writing } = this
    if (!writing.awaited) {
      writing.clear()
      return undefined
    }
    this.writing = new Batch()
    return writing
  }

  private fail(message: McpProtocol.JsonRpcMessage, sent: Sent | undefined, error: McpError.McpError): void {
    if (isRequest(message)) this.requestFailed(message.id, error)
    else sent?.(error)
  }

  private tooMuch(message: McpProtocol.JsonRpcMessage): McpError.McpError {
    return new McpError.LimitExceeded({
      server: this.server,
      operation: operationOf(message),
      executed: "no",
      limit: "sendBufferBytes",
      max: this.maxBytes
    })
  }
}

const tellAccepted = (batch: Batch | undefined): void => {
  if (batch === undefined) return
  for (let i = 0; i < batch.messages.length; i++) {
    if (!isRequest(batch.messages[i]!)) batch.sent[i]?.(undefined)
  }
}

const isRequest = (message: McpProtocol.JsonRpcMessage): message is McpProtocol.JsonRpcRequest =>
  "method" in message && "id" in message

const operationOf = (message: McpProtocol.JsonRpcMessage): string => "method" in message ? message.method : "response"
