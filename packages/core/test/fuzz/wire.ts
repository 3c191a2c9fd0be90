/**
 * A wire whose server is a list of things to say: the fuzz of messages stands on it.
 *
 * Owns: what has gone out and come in, and that nothing the client hands out throws.
 */
import { McpConfig, McpError, type McpProtocol, type McpTransport } from "@mcp-runtime/core"
import { Effect } from "effect"
import { cloned } from "./kit/hostile.js"

export const config = Effect.runSync(McpConfig.decode({ name: "fuzzed", transport: "stdio", command: "fuzzed" }))

export class Wire {
  /** What the client has sent. */
  readonly sent: Array<McpProtocol.JsonObject> = []
  /** What it was told: what of each message says whom it is for. */
  readonly said: Array<McpProtocol.JsonObject> = []
  private last: unknown = undefined
  /** Called for each request, before `send` has returned. */
  onRequest: ((request: McpProtocol.JsonObject) => void) | undefined = undefined
  private events: McpTransport.TransportEvents | undefined = undefined
  opened = 0
  closed = 0

  /** `hasty`: what is said before the wire is open. */
  constructor(private readonly hasty: ReadonlyArray<() => unknown> = []) {}

  readonly channel: McpTransport.Channel = {
    config,
    open: (events) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          this.opened++
          this.events = events
          for (const value of this.hasty) this.say(value())
          return this.transport
        }),
        () => Effect.sync(() => this.closed++)
      )
  }

  say(value: unknown): void {
    if (value === undefined) return
    this.last = value
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === "object" && one !== null) this.said.push(addressOf(one))
    }
    // What a client gets was parsed for it alone.
    this.events?.message(cloned(value))
  }

  /** The same once more. */
  sayAgain(): void {
    this.say(this.last)
  }

  requests(method: string): ReadonlyArray<McpProtocol.JsonObject> {
    return this.sent.filter((_) => _.method === method && _.id !== undefined)
  }

  private readonly transport: McpTransport.MessageTransport = {
    kind: () => "stdio",
    sessionId: () => undefined,
    send: (message, sent) => {
      const copy = copyOf(message)
      if (copy === undefined) {
        const error = McpError.unwritable(config.name, "method" in message ? message.method : "answer")
        if ("method" in message && "id" in message) this.events?.requestFailed(message.id, error)
        else sent?.(error)
        return
      }
      this.sent.push(copy)
      sent?.(undefined)
      if (copy.method !== undefined && copy.id !== undefined) this.onRequest?.(copy)
    },
    release: () => false,
    negotiated: () => {},
    listen: Effect.void,
    stderrTail: () => undefined
  }
}

/** As it goes out; nothing for what JSON can't carry. */
const copyOf = (message: McpProtocol.JsonRpcMessage): McpProtocol.JsonObject | undefined => {
  try {
    return JSON.parse(JSON.stringify(message))
  } catch {
    return undefined
  }
}

const addressOf = (message: object): McpProtocol.JsonObject => {
  const own = (name: string): unknown => Object.getOwnPropertyDescriptor(message, name)?.value
  const id = own("id")
  return { jsonrpc: own("jsonrpc"), id: typeof id === "object" ? null : id, method: own("method") }
}
