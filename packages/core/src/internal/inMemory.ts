/**
 * A server in this process, connected by a transport of the SDK's shape.
 *
 * Owns: the pair of ends, and that nothing is shared between them: every message is copied as JSON would copy it, so that
 * freezing what arrives can't freeze the server's own objects.
 * May not touch: the SDK. Its servers accept the structural type; nothing of it is loaded.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Predicate from "effect/Predicate"
import * as McpConfig from "../McpConfig.js"
import * as McpError from "../McpError.js"
import type * as McpProtocol from "../McpProtocol.js"
import type * as McpTransport from "../McpTransport.js"
import { addFinalizer } from "./finalizers.js"
import { firstOf, within } from "./within.js"

export const make = (config: McpConfig.InMemoryConfig): McpTransport.Channel => ({
  config,
  open: (events) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const end = new ServerEnd(config.name, events)
        const server = yield* create(config)
        yield* addFinalizer(() => close(config, end, server))
        yield* restore(connect(config, end, server))
        return transportOver(end)
      })
    )
})

const create = (config: McpConfig.InMemoryConfig): Effect.Effect<McpConfig.InProcessServer, McpError.McpError> =>
  Effect.try({
    try: () => {
      const server: Partial<McpConfig.InProcessServer> | null | undefined = config.server()
      if (Predicate.isPromiseLike(server)) {
        // That nobody handles its rejection would end the process.
        server.then(undefined, () => {})
        throw new TypeError(`it has no function "connect", since it is a promise: make the server first`)
      }
      if (typeof server?.connect !== "function") throw new TypeError(`it has no function "connect"`)
      return server as McpConfig.InProcessServer
    },
    catch: (error) => refused(config.name, "created", error)
  })

/** How long `connect` may go on once the server hears us, on the Effect clock: nothing tells a slow one from one that waits for us. */
const patience = Duration.millis(100)

/** Some wait in `connect` for the handshake, which must not wait for them then. Whether they could connect is known later. */
const connect = (
  config: McpConfig.InMemoryConfig,
  end: ServerEnd,
  server: McpConfig.InProcessServer
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    let isOver = false
    const connecting = Effect.async<void, McpError.McpError>((resume) => {
      const failed = (error: unknown) => {
        if (isOver) end.lose(why("connected", error))
        else resume(Effect.fail(refused(config.name, "connected", error)))
      }
      try {
        Promise.resolve(server.connect(end as never)).then(() => resume(Effect.void), failed)
      } catch (error) {
        failed(error)
      }
    })
    const patient = Effect.zipRight(end.started, Effect.sleep(patience))
    return firstOf(connecting, Effect.map(patient, () => void (isOver = true)))
  })

const refused = (server: string, step: "created" | "connected", error: unknown): McpError.McpError =>
  new McpError.HandshakeFailed({ server, operation: "open", executed: "no", detail: why(step, error) })

const why = (step: "created" | "connected", error: unknown): string =>
  `the in-process server could not be ${step}${
    error instanceof Error ? `: ${McpError.displayText(error.message, 512)}` : ""
  }`

/** The server's own promises are not trusted to settle, nor to be good. */
const close = (
  config: McpConfig.InMemoryConfig,
  end: ServerEnd,
  server: McpConfig.InProcessServer
): Effect.Effect<void> =>
  Effect.suspend(() => {
    end.disconnect()
    const closing = Effect.tryPromise(() => Promise.resolve(server.close?.()))
    return Effect.asVoid(within(closing, McpConfig.timeoutsOf(config).close))
  })

const copy = (message: unknown): unknown => JSON.parse(JSON.stringify(message))

/** The end that the server holds. */
class ServerEnd implements McpConfig.InProcessTransport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never) => void) | undefined
  sessionId?: string | undefined
  private open = true
  private hears = Deferred.unsafeMake<void>(FiberId.none)
  /** The server hears what is delivered. */
  readonly started = Deferred.await(this.hears)

  constructor(
    private readonly server: string,
    private readonly events: McpTransport.TransportEvents
  ) {}

  start(): Promise<void> {
    if (this.onmessage !== undefined) Deferred.unsafeDone(this.hears, Effect.void)
    return Promise.resolve()
  }

  send(message: unknown): Promise<void> {
    if (!this.open) return Promise.reject(new Error("Not connected"))
    try {
      this.events.message(copy(message))
      return Promise.resolve()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  close(): Promise<void> {
    this.lose("the in-process server has closed the connection")
    return Promise.resolve()
  }

  /** The end that is not of our doing. */
  lose(detail: string): void {
    if (!this.open) return
    this.disconnect()
    this.events.closed(this.closed(detail))
  }

  /** Gives one message to the server, or says why it could not. */
  deliver(message: McpProtocol.JsonRpcMessage): McpError.McpError | undefined {
    if (!this.open || this.onmessage === undefined) return this.closed("the in-process server is not connected")
    let copied: unknown
    try {
      copied = copy(message)
    } catch {
      return McpError.unwritable(this.server, "method" in message ? message.method : "answer")
    }
    try {
      this.onmessage(copied as never)
      return undefined
    } catch {
      return new McpError.ResponseLost({
        server: this.server,
        operation: "send",
        executed: "maybe",
        reason: "Broken",
        detail: "the in-process server threw when it was given the message"
      })
    }
  }

  refuse(id: McpProtocol.RequestId, error: McpError.McpError): void {
    this.events.requestFailed(id, error)
  }

  disconnect(): void {
    if (!this.open) return
    this.open = false
    try {
      this.onclose?.()
    } catch {
      // The server's own callback: what it throws is its own affair, and the session ends all the same.
    }
  }

  private closed(detail: string): McpError.McpError {
    return new McpError.ConnectionClosed({
      server: this.server,
      operation: "send",
      executed: "no",
      reason: "Reset",
      detail
    })
  }
}

const transportOver = (end: ServerEnd): McpTransport.MessageTransport => ({
  kind: () => "inMemory",
  sessionId: () => undefined,
  send: (message, sent) => {
    const error = end.deliver(message)
    if (sent !== undefined) sent(error)
    else if (error !== undefined && "id" in message && message.id !== null) end.refuse(message.id, error)
  },
  release: () => false,
  negotiated: () => {},
  listen: Effect.void,
  stderrTail: () => undefined
})
