/**
 * The body of an answer that is an event stream.
 *
 * Owns: one parser, and telling how the stream came to its end.
 * May not touch: what to do about that.
 */
import type { HttpFailure } from "../../HttpExchange.js"
import type { BodyReader, Exchange } from "./exchange.js"
import { EventParser } from "./sse.js"

/** How a stream ended: as the server wanted, by a failure of the connection, or by us because of an event's size. */
export type StreamEnd = "Ended" | "Broken" | "TooLarge"

export class EventReader implements BodyReader {
  readonly parser: EventParser
  private over = false

  constructor(
    private readonly exchange: Exchange,
    maxEventBytes: number,
    lastEventId: string,
    onEvent: (type: string, data: string) => void,
    private readonly onOver: (end: StreamEnd, detail: string) => void
  ) {
    this.parser = new EventParser(maxEventBytes, onEvent, lastEventId)
  }

  readonly data = (chunk: Uint8Array): void => {
    if (this.over || this.parser.push(chunk)) return
    this.exchange.abort()
    this.ended("TooLarge", "an event of the stream is too large")
  }

  readonly end = (): void =>
    this.ended(
      "Ended",
      this.parser.unfinished ? "the stream ended in the middle of an event" : "the stream ended without the answer"
    )

  readonly failed = (failure: HttpFailure): void => this.ended("Broken", `the stream broke: ${failure.detail}`)

  private ended(end: StreamEnd, detail: string): void {
    if (this.over) return
    this.over = true
    this.onOver(end, detail)
  }
}
