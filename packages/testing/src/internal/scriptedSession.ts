/**
 * One session of a scripted server: the messages in both directions, and the fibers of its handlers.
 *
 * Owns: acceptance, dispatch to handlers, answers, cancellation, and that nothing runs or is heard after the end.
 * May not touch: other sessions, real time.
 *
 * | state     | entered by                     | messages in | messages out        |
 * |-----------|--------------------------------|-------------|---------------------|
 * | connected | construction                   | handled     | delivered           |
 * | broken    | `disconnect`                   | refused     | dropped             |
 * | closed    | its scope, or a failed `start` | refused     | dropped, all muted  |
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type * as ScriptedServer from "../ScriptedServer.js"
import { Reply, RpcError } from "./scriptedMessages.js"
import type { Hub } from "./scriptedServer.js"

type Sent = ((error: McpError.McpError | undefined) => void) | undefined

type Answer = Either.Either<unknown, RpcError>

export class ScriptedSession implements ScriptedServer.Peer {
  private state: "connected" | "broken" | "closed" = "connected"
  private sessionId: string | undefined = undefined
  private lastId = 0
  private readonly fibers = new Set<Fiber.RuntimeFiber<void>>()
  private readonly handling = new Map<McpProtocol.RequestId, Fiber.RuntimeFiber<void>>()
  private readonly asked = new Map<McpProtocol.RequestId, (answer: Answer) => void>()

  constructor(
    private readonly hub: Hub,
    private readonly number: number,
    private readonly events: McpTransport.TransportEvents,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly clock: Clock.Clock,
    private readonly config: McpConfig.ServerConfig,
    private readonly options: ScriptedServer.Options,
    private readonly handlers: { readonly [method: string]: ScriptedServer.Handler }
  ) {}

  transport(kind: McpTransport.TransportKind): McpTransport.MessageTransport {
    return {
      kind: () => kind,
      sessionId: () => this.sessionId,
      send: (message, sent) => this.send(message, sent),
      release: (id) => {
        this.hub.released.push({ session: this.number, id })
        this.hub.changed()
        return false
      },
      negotiated: (protocolVersion) => {
        this.hub.negotiated.push({ session: this.number, protocolVersion })
        this.hub.changed()
      },
      listen: Effect.suspend(() => {
        this.hub.listening.push(this.number)
        this.hub.changed()
        return this.options.listen?.(this) ?? Effect.void
      }),
      stderrTail: () => this.options.stderrTail?.()
    }
  }

  // ---------------------------------------------------------------------------
  // what the server does
  // ---------------------------------------------------------------------------

  notify(method: string, params?: McpProtocol.JsonObject): Effect.Effect<void> {
    return this.sendRaw({ jsonrpc: "2.0", method, params })
  }

  request(
    method: string,
    params?: McpProtocol.JsonObject,
    options?: { readonly id?: McpProtocol.RequestId | undefined }
  ): Effect.Effect<unknown, RpcError> {
    return Effect.async((resume) => {
      if (this.state !== "connected") {
        resume(Effect.fail(sessionOver))
        return
      }
      const id = options?.id ?? `server-${++this.lastId}`
      this.asked.set(id, (answer) => {
        this.asked.delete(id)
        resume(answer)
      })
      this.deliver([{ jsonrpc: "2.0", id, method, params }])
      return Effect.sync(() => {
        if (!this.asked.delete(id)) return
        this.deliver([{
          jsonrpc: "2.0",
          method: "notifications/cancelled",
          params: { requestId: id, reason: "The server has changed its mind" }
        }])
      })
    })
  }

  sendRaw(...values: ReadonlyArray<unknown>): Effect.Effect<void> {
    return Effect.sync(() => this.deliver(values))
  }

  failRequest(id: McpProtocol.RequestId, error: McpError.McpError): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.state === "connected") this.events.requestFailed(id, error)
    })
  }

  disconnect(error?: McpError.McpError): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.state !== "connected") return Effect.void
      this.state = "broken"
      this.events.closed(
        error ?? this.connectionClosed("receive", "maybe", "Exited", "the scripted server has disconnected")
      )
      this.forgetAsked()
      return Effect.forEach([...this.fibers], Fiber.interruptFork, { discard: true })
    })
  }

  serverStream(state: McpTransport.ServerStreamState): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.state === "connected") this.events.serverStream(state)
    })
  }

  warn(kind: McpTransport.WarningKind, detail: string): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.state === "connected") this.events.warning(kind, detail)
    })
  }

  // ---------------------------------------------------------------------------
  // the end
  // ---------------------------------------------------------------------------

  /** Mutes the session and ends its fibers: all there is to do when `start` has failed. */
  readonly abandon: Effect.Effect<void> = Effect.suspend(() => {
    this.state = "closed"
    this.forgetAsked()
    return Fiber.interruptAll([...this.fibers])
  })

  /** The finalizer of an open session. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.zipRight(this.abandon, this.options.close?.(this.number) ?? Effect.void)
  ).pipe(
    Effect.ensuring(Effect.sync(() => {
      this.hub.closed++
      this.hub.live.delete(this.number)
      this.hub.changed()
    }))
  )

  private forgetAsked(): void {
    for (const answer of this.asked.values()) answer(Either.left(sessionOver))
  }

  // ---------------------------------------------------------------------------
  // what the client does
  // ---------------------------------------------------------------------------

  private send(message: McpProtocol.JsonRpcMessage, sent: Sent): void {
    const refusal = this.refusal(message)
    if (refusal !== undefined) {
      this.refuse(message, sent, refusal)
      return
    }
    const received = this.record(message)
    if (received === undefined) {
      this.refuse(
        message,
        sent,
        McpError.unwritable(this.config.name, operationOf(message))
      )
      return
    }
    if (isRequest(message)) {
      this.fork(this.receive(received, undefined), message.id)
    } else {
      // the session may end before the fiber has even begun
      const once = onlyOnce(sent)
      this.fork(this.receive(received, once), undefined, () => once(this.overError(message)))
    }
  }

  private refusal(message: McpProtocol.JsonRpcMessage): McpError.McpError | undefined {
    return this.state === "connected" ? undefined : this.overError(message)
  }

  private overError(message: McpProtocol.JsonRpcMessage): McpError.McpError {
    return this.connectionClosed(operationOf(message), "no", "Closing", "the scripted session is over")
  }

  private refuse(message: McpProtocol.JsonRpcMessage, sent: Sent, error: McpError.McpError): void {
    if (!isRequest(message)) sent?.(error)
    else if (this.state !== "closed") this.events.requestFailed(message.id, error)
  }

  private record(message: McpProtocol.JsonRpcMessage): ScriptedServer.Received | undefined {
    const clone = cloned(message)
    if (!McpProtocol.isObject(clone)) return undefined
    const received: ScriptedServer.Received = {
      session: this.number,
      at: this.clock.unsafeCurrentTimeMillis(),
      message: clone as unknown as McpProtocol.JsonRpcMessage,
      method: typeof clone.method === "string" ? clone.method : undefined,
      id: clone.id as McpProtocol.RequestId | null | undefined,
      params: McpProtocol.isObject(clone.params) ? clone.params : {}
    }
    this.hub.log.push(received)
    this.hub.changed()
    return received
  }

  /** Handlers are interruptible even when the session was opened where nothing is. */
  private fork(
    effect: Effect.Effect<void>,
    request: McpProtocol.RequestId | undefined,
    ended?: () => void
  ): void {
    const fiber = Runtime.runFork(this.runtime)(Effect.interruptible(effect), {
      immediate: this.options.reaction === "insideSend"
    })
    this.fibers.add(fiber)
    if (request !== undefined) this.handling.set(request, fiber)
    fiber.addObserver(() => {
      ended?.()
      this.fibers.delete(fiber)
      if (request !== undefined && this.handling.get(request) === fiber) this.handling.delete(request)
    })
  }

  private receive(received: ScriptedServer.Received, sent: Sent): Effect.Effect<void> {
    const { message } = received
    const accepted = Effect.suspend(() => {
      if (received.method === undefined) {
        sent?.(undefined)
        this.receiveAnswer(received)
        return Effect.void
      }
      const request = received as ScriptedServer.Request
      if (received.id !== undefined && received.id !== null) return this.answer(request, received.id)
      sent?.(undefined)
      return Effect.zipRight(this.receiveCancelled(request), this.hear(request))
    })
    const { accept } = this.options
    if (accept === undefined) return accepted
    return Effect.suspend(() => accept(received, this)).pipe(
      Effect.catchAllDefect((defect) =>
        Effect.fail(
          this.connectionClosed(
            operationOf(message),
            "no",
            "InputClosed",
            `the script's accept died: ${String(defect)}`
          )
        )
      ),
      Effect.matchEffect({
        onFailure: (error) => Effect.sync(() => this.refuse(message, sent, error)),
        onSuccess: () => accepted
      })
    )
  }

  private answer(request: ScriptedServer.Request, id: McpProtocol.RequestId): Effect.Effect<void> {
    return this.handle(request).pipe(
      Effect.matchCauseEffect({
        onSuccess: (value) =>
          Effect.sync(() => {
            if (request.method === "initialize") this.sessionId = this.options.sessionId?.(this.number)
            this.deliver(value instanceof Reply ? value.messages(id) : [{ jsonrpc: "2.0", id, result: value ?? {} }])
          }),
        onFailure: (cause) =>
          Cause.isInterruptedOnly(cause) ? Effect.void : Effect.sync(() => this.answerFailure(id, cause))
      }),
      Effect.catchAllDefect((defect) => Effect.sync(() => this.deliver([internalError(id, defect)])))
    )
  }

  private answerFailure(id: McpProtocol.RequestId, cause: Cause.Cause<RpcError | McpError.McpError>): void {
    const failure = Cause.failureOrCause(cause)
    if (Either.isRight(failure)) {
      this.deliver([internalError(id, Cause.squash(cause))])
    } else if (failure.left._tag === "RpcError") {
      const { code, data, message } = failure.left
      this.deliver([{ jsonrpc: "2.0", id, error: { code, message, data } }])
    } else if (this.state === "connected") {
      this.events.requestFailed(id, failure.left)
    }
  }

  /** A notification has no answer; a handler that fails has nobody to tell. */
  private hear(request: ScriptedServer.Request): Effect.Effect<void> {
    return Object.hasOwn(this.handlers, request.method) ? Effect.ignore(this.handle(request)) : Effect.void
  }

  private handle(request: ScriptedServer.Request): ReturnType<ScriptedServer.Handler> {
    return Effect.suspend(() => {
      const handler = Object.hasOwn(this.handlers, request.method) ? this.handlers[request.method] : undefined
      if (handler === undefined) return Effect.fail(methodNotFound)
      this.hub.handling++
      this.hub.changed()
      return Effect.ensuring(
        Effect.suspend(() => handler(request, this)),
        Effect.sync(() => {
          this.hub.handling--
          this.hub.changed()
        })
      )
    })
  }

  private receiveCancelled(request: ScriptedServer.Request): Effect.Effect<void> {
    if (request.method !== "notifications/cancelled" || this.options.cancellation === "ignore") return Effect.void
    const fiber = this.handling.get(request.params.requestId as McpProtocol.RequestId)
    return fiber === undefined ? Effect.void : Fiber.interruptFork(fiber)
  }

  private receiveAnswer(received: ScriptedServer.Received): void {
    const resume = this.asked.get(received.id as McpProtocol.RequestId)
    if (resume === undefined) return
    const answer = received.message as Partial<McpProtocol.JsonRpcResult & McpProtocol.JsonRpcError>
    resume(answer.error === undefined ? Either.right(answer.result) : Either.left(new RpcError(answer.error)))
  }

  /** One synchronous chunk. All of it is cloned before any of it goes out. */
  private deliver(values: ReadonlyArray<unknown>): void {
    if (this.state !== "connected") return
    const clones = values.map((value) => JSON.parse(JSON.stringify(value)) as unknown)
    for (const clone of clones) {
      if (this.state === "connected") this.events.message(clone)
    }
  }

  private connectionClosed(
    operation: string,
    executed: McpError.Executed,
    reason: McpError.ConnectionClosed["reason"],
    detail: string
  ): McpError.McpError {
    const stderrTail = this.options.stderrTail?.()
    return new McpError.ConnectionClosed({
      server: this.config.name,
      operation,
      executed,
      reason,
      detail,
      ...(stderrTail !== undefined && { stderrTail })
    })
  }
}

const onlyOnce = (sent: Sent): NonNullable<Sent> => {
  let called = false
  return (error) => {
    if (called) return
    called = true
    sent?.(error)
  }
}

const isRequest = (message: McpProtocol.JsonRpcMessage): message is McpProtocol.JsonRpcRequest =>
  "id" in message && "method" in message

const operationOf = (message: McpProtocol.JsonRpcMessage): string => "method" in message ? message.method : "answer"

const cloned = (value: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}

const sessionOver = new RpcError({ code: -32000, message: "the scripted session is over" })

const methodNotFound = new RpcError({ code: McpProtocol.ErrorCode.MethodNotFound, message: "Method not found" })

const internalError = (id: McpProtocol.RequestId, defect: unknown): unknown => ({
  jsonrpc: "2.0",
  id,
  error: { code: McpProtocol.ErrorCode.InternalError, message: `the script is wrong: ${String(defect)}` }
})
