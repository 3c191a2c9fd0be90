/**
 * Where everything that the server says arrives, whichever stream it came on.
 *
 * Owns: JSON, and which request an answer settles.
 * May not touch: exchanges.
 */
import * as McpProtocol from "../../McpProtocol.js"
import type { TransportEvents } from "../../McpTransport.js"
import { InFlight } from "../inFlight.js"
import { excerpt } from "./classify.js"

/** A request that was sent and has no answer yet. */
export interface Unanswered {
  readonly id: McpProtocol.RequestId
  answered(): void
  /** Nobody waits for its answer any more. Whether the server can't have acted on it, and never will. */
  release(): boolean
}

/** Whose stream an event came on. */
export interface Source {
  /** What was sent and must not show, should the server repeat it. */
  readonly shownSecrets: ReadonlyArray<string>
  /** An error has come on it that does not say which request it is about. */
  readonly unidentified?: (error: McpProtocol.JsonObject) => void
}

/** Of what is no JSON so much is shown; what comes after that is counted. To show it costs, and it says nothing new. */
const eventsShown = 100

/** In a flood, what can't be a message is not parsed: that would make an error, with a stack, of each. */
const mayBeMessage = /^\s*[[{]/

export class Inbox {
  readonly pending = new InFlight<Unanswered>()
  /** How many messages have arrived. */
  messages = 0
  private nonsense = 0

  constructor(
    private readonly events: TransportEvents,
    private readonly wire: { readonly closed: boolean }
  ) {}

  /** No answer to it is waited for any more. Gives what was waited for. */
  forget(id: McpProtocol.RequestId): Unanswered | undefined {
    const request = this.pending.get(id)
    if (request !== undefined) this.pending.delete(request)
    return request
  }

  /** The data of one event. What is empty only carries an event id. */
  event(data: string, from: Source): void {
    if (data === "") return
    if (this.nonsense >= eventsShown && !mayBeMessage.test(data)) return this.notJson(data, from)
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      return this.notJson(data, from)
    }
    this.value(value, from)
  }

  private notJson(data: string, from: Source): void {
    if (this.wire.closed) return
    const shown = ++this.nonsense > eventsShown ? "" : `: ${excerpt(data, from.shownSecrets, shortExcerpt)}`
    this.events.warning("NotJson", `an event that is not JSON${shown}`)
  }

  /** One JSON value: a message, or several in a list, as older protocol versions allow. */
  value(value: unknown, from?: Source): void {
    if (!Array.isArray(value)) return this.message(value, from)
    for (const item of value) this.message(item, from)
  }

  private message(value: unknown, from: Source | undefined): void {
    if (this.wire.closed) return
    if (!McpProtocol.isObject(value)) {
      return this.events.warning("NotJsonRpc", "a JSON value that is not an object")
    }
    if (value.method === undefined && value.id === undefined && !isError(value)) {
      return this.events.warning("NotJsonRpc", "an object without method and id")
    }
    if (isResponse(value)) this.find(value.id)?.answered()
    this.messages++
    this.events.message(value)
    if (isAnonymous(value)) from?.unidentified?.(value.error)
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

/** An error that does not say which request it is about: without an id, as revision 2025-11-25 has it, or with `null`. */
export const isAnonymous = (
  value: McpProtocol.JsonObject
): value is McpProtocol.JsonObject & { readonly error: McpProtocol.JsonObject } =>
  (value.id === undefined || value.id === null) && isError(value)

const isError = (value: McpProtocol.JsonObject): boolean => isResponse(value) && McpProtocol.isObject(value.error)

/** How much of something unexpected is shown. */
export const shortExcerpt = 160
