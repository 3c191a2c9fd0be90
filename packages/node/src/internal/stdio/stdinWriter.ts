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

/** @internal */
export type Sent = (error: McpError.McpError | undefined) => void

/** Why nothing can be sent, as the error of one message. @internal */
export type Refusal = (operation: string, executed: McpError.Executed) => McpError.McpError

/** So many are not joined with more. */
const joinedAtMost = 16

/** What a message that waits takes beside its text, in bytes: a flood of small ones must not fill the memory. */
const beside = 300

/** Beyond the bound, for the cancellations of what was written. */
const cancellationsAtMost = 1024 * 1024

/** So many places of a batch are kept for the next messages. */
const idlePlaces = 64

/** A message on its way, with who wants to know that it was accepted. */
interface Entry {
  readonly message: McpProtocol.JsonRpcMessage
  /** Until it is written. */
  line: string
  readonly bytes: number
  readonly sent: Sent | undefined
}

/**
 * Messages on their way. Its list only grows, up to a bound, and its places are used again: to make one shorter and longer
 * again takes longer than a small message.
 */
class Batch {
  /** How many there are: those that were taken back leave their places for a while. */
  count = 0
  bytes = 0
  awaited = false
  private entries: Array<Entry | undefined> = []
  /** How many places of them are used. */
  private used = 0
  /** Where each request is, from when one was looked for. */
  private places: Map<McpProtocol.RequestId, number> | undefined = undefined

  add(message: McpProtocol.JsonRpcMessage, line: string, bytes: number, sent: Sent | undefined): void {
    if (this.places !== undefined && isRequest(message)) this.places.set(message.id, this.used)
    this.entries[this.used++] = { message, line, bytes, sent }
    this.count++
    this.bytes += bytes
    if (sent !== undefined) this.awaited = true
  }

  /** The text of all of them, which is not kept: it is written once, or never. For each message, so without a function. */
  takeText(): string {
    let text = ""
    for (let place = 0; place < this.used; place++) {
      const entry = this.entries[place]
      if (entry === undefined) continue
      text += `${entry.line}\n`
      entry.line = ""
    }
    this.places = undefined
    return text
  }

  /** In their order. */
  forEach(use: (entry: Entry, place: number) => void): void {
    for (let place = 0; place < this.used; place++) {
      const entry = this.entries[place]
      if (entry !== undefined) use(entry, place)
    }
  }

  /** Takes a request back. Whether it was there. */
  remove(id: McpProtocol.RequestId): boolean {
    if (this.count === 0) return false
    this.places ??= this.placesOfRequests()
    const place = this.places.get(id)
    if (place === undefined) return false
    this.places.delete(id)
    this.bytes -= this.entries[place]!.bytes
    this.entries[place] = undefined
    // Not each time: many may be given up at once.
    if (--this.count <= this.used / 2) this.compact()
    return true
  }

  private compact(): void {
    this.entries = this.entries.filter((entry) => entry !== undefined)
    this.used = this.entries.length
    this.places = undefined
  }

  private placesOfRequests(): Map<McpProtocol.RequestId, number> {
    const places = new Map<McpProtocol.RequestId, number>()
    this.forEach(({ message }, place) => {
      if (isRequest(message)) places.set(message.id, place)
    })
    return places
  }

  clear(): void {
    if (this.used > idlePlaces) this.entries = []
    else for (let place = 0; place < this.used; place++) this.entries[place] = undefined
    this.places = undefined
    this.used = 0
    this.count = 0
    this.bytes = 0
    this.awaited = false
  }
}

/** What a pipe knows beside a stream: only its handle knows how much of a large write is left. Node's own time-outs ask it, too. */
interface Queue {
  readonly bytesWritten?: number | undefined
  readonly _handle?: { readonly writeQueueSize?: number } | null | undefined
}

const hasNotRead = (): boolean => false

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
    private readonly requestFailed: McpTransport.TransportEvents["requestFailed"]
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
    const bytes = Buffer.byteLength(line) + 1 + beside
    const all = waiting.bytes + this.writing.bytes + bytes
    if (all > this.maxBytes && !(isCancellation(message) && all <= this.maxBytes + cancellationsAtMost)) {
      return this.fail(message, sent, this.tooMuch(message))
    }
    waiting.add(message, line, bytes, sent)
    if (waiting.count >= joinedAtMost && this.takesMore) return this.writeMore()
    if (this.scheduled || this.busy) return
    // One message at a time has nothing to be joined with: it goes out at once.
    if (this.lastJoined <= 1) return this.write()
    this.scheduled = true
    process.nextTick(this.flush)
  }

  /** Nobody waits for the answer to this request any more. Whether nothing of it was written, nor ever will be. */
  release(id: McpProtocol.RequestId): boolean {
    return this.waiting.remove(id)
  }

  /**
   * Says later whether the server has read meanwhile what the pipe had no room for. What it had room for says nothing: the
   * system has taken that, for whoever.
   */
  reading(): () => boolean {
    const { stuck } = this
    return stuck === undefined ? hasNotRead : () => this.stuck !== stuck
  }

  /** Up to which byte the pipe is full; nothing where it has room. */
  private get stuck(): number | undefined {
    const { _handle, bytesWritten } = this.stream as Writable & Queue
    const left = _handle?.writeQueueSize ?? 0
    return left === 0 || bytesWritten === undefined ? undefined : bytesWritten - left
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
    if (writing.count === 0) return
    const error = refusal(ofAll, "maybe")
    writing.forEach(({ message, sent }) => {
      // A request that may have been written gets its error with the end of the session.
      if (!isRequest(message)) sent?.(error)
    })
  }

  private refuse(refusal: Refusal): void {
    this.refusal ??= refusal
    const { waiting } = this
    this.waiting = new Batch()
    if (waiting.count === 0) return
    // To make one for each would take seconds where many wait. Who is told knows what was sent.
    const error = this.refusal(ofAll, "no")
    waiting.forEach(({ message, sent }) => this.fail(message, sent, error))
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
    if (batch.count === 0) return
    this.waiting = this.writing
    this.writing = batch
    this.busy = true
    this.lastJoined = batch.count
    this.unconfirmed++
    this.stream.write(batch.takeText(), "utf8", this.written)
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
  batch?.forEach(({ message, sent }) => {
    if (!isRequest(message)) sent?.(undefined)
  })
}

/** The operation of an error that is about many messages. */
const ofAll = "connection"

const isCancellation = (message: McpProtocol.JsonRpcMessage): boolean =>
  "method" in message && message.method === "notifications/cancelled"

const isRequest = (message: McpProtocol.JsonRpcMessage): message is McpProtocol.JsonRpcRequest =>
  "method" in message && "id" in message

const operationOf = (message: McpProtocol.JsonRpcMessage): string => "method" in message ? message.method : "response"
