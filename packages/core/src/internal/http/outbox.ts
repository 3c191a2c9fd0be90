/**
 * The messages without an answer of one session.
 *
 * Owns: how many there may be, and how many of our own answers hold a socket: a server that asks and asks must not make us
 * open one for each. An answer waits for other answers alone, and no longer than it may take.
 * May not touch: what is in them.
 *
 * | answer   | event                                         | becomes                       |
 * |----------|-----------------------------------------------|-------------------------------|
 * | (new)    | fewer hold a socket than may                  | sent                          |
 * | (new)    | as many as may                                | waiting                       |
 * | waiting  | a socket is given back, it is the oldest      | sent                          |
 * | waiting  | its time is over, or the session              | settled, nothing was sent     |
 * | sent     | accepted, refused, failed, its time is over   | settled; the socket may stay  |
 * | settled  | its socket is given back                      | gone                          |
 */
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import { Slots } from "../slots.js"
import { Note, type NoteOptions, operationOf } from "./note.js"
import type { Wire } from "./wire.js"

/** How many messages may be under way. */
const maxNotes = 1024

/** How many answers may have a socket. */
const maxAnswers = 16

export class Outbox {
  private readonly notes = new Set<Note>()
  /** Answers that have a socket, or are about to get one. */
  private readonly answers = new Slots<Note>()
  /** Answers that wait for that, in order. */
  private readonly waiting = new Set<Note>()
  private advancing = false

  constructor(private readonly wire: Wire) {}

  /** Those of which nobody knows yet what becomes of them. */
  get all(): ReadonlyArray<Note> {
    return [...this.notes]
  }

  send(message: McpProtocol.JsonRpcMessage, options: NoteOptions): void {
    if (this.notes.size >= maxNotes) return options.onSettled(this.tooMany(operationOf(message)))
    const note: Note = new Note(this.wire, message, {
      ...options,
      onSettled: (error) => {
        this.notes.delete(note)
        this.waiting.delete(note)
        options.onSettled(error)
        this.settled(note)
      },
      onGaveBack: () => this.settled(note)
    })
    this.notes.add(note)
    note.await()
    if ("method" in message) return note.start()
    this.waiting.add(note)
    this.advance()
  }

  private settled(note: Note): void {
    if (note.isOver && this.answers.delete(note)) this.advance()
  }

  /** One may be over before it has begun: then the next one is due. */
  private advance(): void {
    if (this.advancing) return
    this.advancing = true
    for (const note of this.waiting) {
      if (this.wire.closed || this.answers.size >= maxAnswers) break
      if (note.isLate) continue
      this.waiting.delete(note)
      this.answers.add(note)
      note.start()
    }
    this.advancing = false
  }

  /** A flood of them has one error, for an error has a stack. */
  private tooMany(operation: string): McpError.McpError {
    const { refusal, server } = this.wire
    if (refusal?.operation === operation) return refusal
    return this.wire.refusal = new McpError.LimitExceeded({
      server,
      operation,
      executed: "no",
      limit: "sendBuffer",
      max: maxNotes
    })
  }
}
