/**
 * Where everything that the server says arrives, whichever stream it came on.
 *
 * Owns: JSON, and which request an answer settles.
 * May not touch: exchanges.
 */
import * as McpProtocol from "../../McpProtocol.js"
import type { TransportEvents } from "../../McpTransport.js"
import { excerpt } from "./classify.js"

/** A request that was sent and has no answer yet. */
export interface Unanswered {
  answered(): void
  /** Nobody waits for its answer any more. Whether the server can't have acted on it, and never will. */
  release(): boolean
}

/** Whose stream an event came on. */
export interface Source {
  /** What was sent and must not show, should the server repeat it. */
  readonly shownSecrets: ReadonlyArray<string>
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
  event(data: string, from: Source): void {
    if (data === "") return
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      if (!this.wire.closed) {
        this.events.warning("NotJson", `an event that is not JSON: ${excerpt(data, from.shownSecrets, shortExcerpt)}`)
      }
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
    if (value.method === undefined && value.id === undefined) {
      return this.events.warning("NotJsonRpc", "an object without method and id")
    }
    if (isResponse(value)) this.find(value.id)?.answered()
    this.messages++
    this.events.message(value)
  }

  /** Servers may turn a number into a text, or the other way around. The engine takes the same texts for numbers. */
  private find(id: unknown): Unanswered | undefined {
    if (typeof id === "number") return this.pending.get(id) ?? this.pending.get(String(id))
    if (typeof id !== "string") return undefined
    const exact = this.pending.get(id)
    if (exact !== undefined) return exact
    return /^\d{1,15}$/.test(id) ? this.pending.get(Number(id)) : undefined
  }
}

/** Whether the engine takes it for the answer to a request: neither of the two may settle what the other does not. */
const isResponse = (value: McpProtocol.JsonObject): boolean =>
  value.jsonrpc === "2.0" && typeof value.method !== "string" &&
  (value.result !== undefined || value.error !== undefined)

/** How much of something unexpected is shown. */
export const shortExcerpt = 160
