/**
 * A server whose transport is not known: Streamable HTTP first, and the older HTTP+SSE where the answer to `initialize`
 * says that there is no such thing.
 *
 * Owns: that decision, and the memory of it for the next session of the channel.
 * May not touch: either transport.
 *
 * | state | event | next |
 * |---|---|---|
 * | probing | `initialize` answered 400, 404 or 405 | falling back: the first transport is closed |
 * | probing | any other answer or failure | settled, told as it is |
 * | falling back | the older transport is open: `initialize` goes there | second try |
 * | falling back | it can't be opened, or not in 5 s and before the handshake is over: told with both errors | settled |
 * | second try | `initialize` fails: told with both errors | settled |
 * | second try | `initialize` is answered | settled |
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { HttpClient } from "../../HttpExchange.js"
import type { Credentials } from "../../McpAuth.js"
import * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { Channel, MessageTransport, TransportEvents } from "../../McpTransport.js"
import { where } from "../errors/facts.js"
import * as Secrets from "../secrets.js"
import { shownAs } from "../shownAs.js"
import { inTime } from "../within.js"
import * as LegacySse from "./legacySse.js"
import * as StreamableHttp from "./streamableHttp.js"
import type { Timers } from "./timers.js"
import * as Timer from "./timers.js"

/** What a channel has learned. */
interface Memory {
  verdict: "http" | "sse" | undefined
}

/** How long a server that has refused the first transport may take to give the endpoint of the second. In milliseconds. */
const endpointTime = 5000

type Open = Channel["open"]

export const make = (config: McpConfig.AnyHttpConfig, client: HttpClient, credentials?: Credentials): Open => {
  const memory: Memory = { verdict: undefined }
  return (events) => {
    switch (memory.verdict) {
      case "http":
        return StreamableHttp.open(config, client, events, credentials)
      case "sse":
        return Effect.tapError(LegacySse.open(config, client, events, credentials), (error) =>
          Effect.sync(() => {
            if (error._tag === "HttpError" || error._tag === "ProtocolViolation") memory.verdict = undefined
          }))
      default:
        return probe(config, client, events, memory, credentials)
    }
  }
}

const probe = (
  config: McpConfig.AnyHttpConfig,
  client: HttpClient,
  events: TransportEvents,
  memory: Memory,
  credentials: Credentials | undefined
): Effect.Effect<MessageTransport, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const first = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    const second = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    const timers = yield* Timer.make
    const auto = new Auto(config, client, events, memory, timers, first, second, credentials)
    yield* Effect.addFinalizer(() => timers.shutdown(1000))
    auto.current = yield* Scope.extend(StreamableHttp.open(config, client, auto.firstEvents, credentials), first)
    return auto
  })

class Auto implements MessageTransport {
  current!: MessageTransport
  private initialize: McpProtocol.JsonRpcRequest | undefined = undefined
  private answered = false
  private firstError: McpError.HttpError | undefined = undefined
  private cancelFallback: (() => void) | undefined = undefined
  private readonly openedAt: number

  constructor(
    private readonly config: McpConfig.AnyHttpConfig,
    private readonly client: HttpClient,
    private readonly events: TransportEvents,
    private readonly memory: Memory,
    private readonly timers: Timers,
    private readonly first: Scope.CloseableScope,
    private readonly second: Scope.CloseableScope,
    private readonly credentials: Credentials | undefined
  ) {
    this.openedAt = timers.steady.now()
    shownAs(this, "MessageTransport", () => ({ server: config.name, transport: this.kind() }))
  }

  readonly kind = () => this.current.kind()

  readonly sessionId = () => this.current.sessionId()

  readonly stderrTail = () => undefined

  readonly secrets = () => this.current.secrets?.() ?? Secrets.none

  readonly listen: Effect.Effect<void> = Effect.suspend(() => this.current.listen)

  readonly send: MessageTransport["send"] = (message, sent) => {
    if (this.initialize === undefined && "method" in message && message.method === "initialize" && "id" in message) {
      this.initialize = message
    }
    this.current.send(message, sent)
  }

  readonly release = (id: McpProtocol.RequestId): boolean => {
    if (id === this.initialize?.id) this.cancelFallback?.()
    return this.current.release(id)
  }

  readonly negotiated = (protocolVersion: string): void => this.current.negotiated(protocolVersion)

  get firstEvents(): TransportEvents {
    return {
      ...this.events,
      message: (message) => {
        this.noteAnswer("http", message)
        this.events.message(message)
      },
      requestFailed: (id, error) => {
        if (id === this.initialize?.id && !this.answered && isNotStreamable(error)) this.fallBack(error)
        else this.events.requestFailed(id, error)
      }
    }
  }

  private get secondEvents(): TransportEvents {
    return {
      ...this.events,
      message: (message) => {
        this.noteAnswer("sse", message)
        this.events.message(message)
      },
      requestFailed: (id, error) =>
        this.events.requestFailed(
          id,
          id === this.initialize?.id && !this.answered ? this.both(error) : error
        )
    }
  }

  private noteAnswer(kind: "http" | "sse", message: unknown): void {
    if (this.answered) return
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown }
    if (method !== undefined || this.initialize === undefined) return
    if (typeof id === "object" || String(id) !== String(this.initialize.id)) return
    this.answered = true
    this.memory.verdict = kind
  }

  private fallBack(error: McpError.HttpError): void {
    this.firstError = error
    const open = Effect.zipRight(
      Scope.close(this.first, Exit.void),
      Effect.suspend(() =>
        Scope.extend(
          this.inTime(LegacySse.open(this.config, this.client, this.secondEvents, this.credentials)),
          this.second
        )
      )
    )
    this.cancelFallback = this.timers.run(open, (exit) => {
      const initialize = this.initialize!
      if (Exit.isSuccess(exit)) {
        this.current = exit.value
        this.current.send(initialize)
        return
      }
      const failure = Cause.failureOption(exit.cause)
      this.events.requestFailed(initialize.id, failure._tag === "Some" ? this.both(failure.value) : error)
    })
  }

  /** A stream that says nothing must not use up the handshake, whose end would hide what the first try met. */
  private inTime<A, R>(opening: Effect.Effect<A, McpError.McpError, R>): Effect.Effect<A, McpError.McpError, R> {
    const { handshake } = McpConfig.timeoutsOf(this.config)
    const left = handshake === null
      ? Number.POSITIVE_INFINITY
      : this.openedAt + Duration.toMillis(handshake) - this.timers.steady.now()
    const millis = Math.max(0, Math.min(endpointTime, Math.max(left - 1000, left / 2)))
    return inTime(opening, millis, () =>
      Effect.fail(
        new McpError.RequestTimeout({
          server: this.config.name,
          operation: "open",
          executed: "no",
          kind: "handshake",
          millis,
          detail: "its stream gave no endpoint"
        })
      ))
  }

  /** A request for credentials must stay what it is; anything else is told together with what the first try met. */
  private both(error: McpError.McpError): McpError.McpError {
    const first = this.firstError!
    if (error._tag === "Unauthorized" || error._tag === "Forbidden") return error
    return new McpError.HandshakeFailed({
      server: first.server,
      operation: first.operation,
      executed: error.executed,
      detail: `neither transport works. Streamable HTTP: ${reasonOf(first)}. HTTP+SSE: ${reasonOf(error)}`,
      ...(first.code === undefined ? undefined : { code: first.code }),
      ...(first.data === undefined ? undefined : { data: first.data })
    })
  }
}

const isNotStreamable = (error: McpError.McpError): error is McpError.HttpError =>
  error._tag === "HttpError" && (error.status === 400 || error.status === 404 || error.status === 405)

/** What happened, without what messages have in common. */
const reasonOf = (error: McpError.McpError): string => {
  const prefix = `${where(error)}: `
  const happened = McpError.whatHappened(error)
  return happened.startsWith(prefix) ? happened.slice(prefix.length) : happened
}
