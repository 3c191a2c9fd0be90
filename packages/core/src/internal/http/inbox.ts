/**
 * Where everything that the server says arrives, whichever stream it came on.
 *
 * Owns: JSON, and which request an answer settles.
 * May not touch: exchanges.
 */
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { TransportEvents } from "../../McpTransport.js"

/** A request that was sent and has no answer yet. */
export interface Unanswered {
  answered(): void
  /** Nobody waits for its answer any more. */
  release(): void
}

export class Inbox {
  readonly pending = new Map<McpProtocol.RequestId, Unanswered>()
  /** How many messages have arrived. */
  messages = 0

  constructor(
    private readonly events: TransportEvents,
    private readonly wire: { readonly closed: boolean }
  ) {}

  /** The data of one event. What is empty only carries an event id. */
  event(data: string): void {
    if (data === "") return
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      if (!this.wire.closed) this.events.warning("NotJson", `an event that is not JSON: ${excerpt(data)}`)
      return
    }
    this.value(value)
  }

  /** One JSON value: a message, or several in a list, as older protocol versions allow. */
  value(value: unknown): void {
    if (!Array.isArray(value)) return this.message(value)
    for (const item of value) this.message(item)
  }

  private message(value: unknown): void {
    if (this.wire.closed) return
    if (!McpProtocol.isObject(value)) {
      return this.events.warning("NotJsonRpc", "a JSON value that is not an object")
    }
    if (value.method === undefined) {
      if (value.id === undefined) return this.events.warning("NotJsonRpc", "an object without method and id")
      this.find(value.id)?.answered()
    }
    this.messages++
    this.events.message(value)
  }

  /** Servers may turn a number into a text, or the other way around. */
  private find(id: unknown): Unanswered | undefined {
    if (typeof id === "number") return this.pending.get(id) ?? this.pending.get(String(id))
    if (typeof id !== "string") return undefined
    const exact = this.pending.get(id)
    if (exact !== undefined) return exact
    const number = Number(id)
    return String(number) === id ? this.pending.get(number) : undefined
  }
}

export const excerpt = (text: string): string => McpError.displayText(text, 160)
