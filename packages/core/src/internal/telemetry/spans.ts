/**
 * Spans with the names and attributes that OpenTelemetry gives them for MCP.
 *
 * Owns: how a span is begun and ended, and what it says of a server.
 * May not touch: what it is a span of. Where nobody listens no span is made, and nothing is paid for it.
 *
 * No attribute has a session id, though the conventions have one for it: whoever knows it can speak in the session.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpSession from "../../McpSession.js"
import * as ErrorType from "./errorType.js"
import { networkTransportOf } from "./meter.js"

export interface Attributes {
  readonly [name: string]: unknown
}

/** The tracer of Effect that keeps nothing. */
const silent = Context.get(DefaultServices.liveServices, Tracer.Tracer)

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

export const isTraced = (fiber: AnyFiber): boolean => fiber.currentTracer !== silent

export const spanOf = (fiber: AnyFiber): Tracer.AnySpan | undefined =>
  fiber.currentContext.unsafeMap.get(Tracer.ParentSpan.key) as Tracer.AnySpan | undefined

/** The span of whoever asks, where there is a tracer. */
export const current: Effect.Effect<Tracer.AnySpan | undefined> = Effect.withFiberRuntime((fiber) =>
  Effect.succeed(isTraced(fiber) ? spanOf(fiber) : undefined)
)

/** What outlives the span it was made in is no part of it. */
export const withoutParent = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(
    effect,
    (context: Context.Context<R>) =>
      Context.omit(Tracer.ParentSpan)(context as Context.Context<R | Tracer.ParentSpan>) as Context.Context<R>
  )

interface SpanOptions<A> {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Attributes
  readonly parent?: Tracer.AnySpan | undefined
  readonly links?: ReadonlyArray<Tracer.SpanLink> | undefined
  /** The `error.type` of a result that is a failure all the same. Synchronous and total. */
  readonly failureOf?: ((result: A) => string | undefined) | undefined
  /** The `error.type` of every failure, and all that is said of it. Default: what our errors say, of others `"Defect"`. */
  readonly failedAs?: string | undefined
}

/** The effect in a span, where there is a tracer. One that is interrupted ends as interrupted. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, options: SpanOptions<A>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => isTraced(fiber) ? always(effect, options) : effect)

/**
 * The same, where it is known that there is a tracer. As `Effect.withSpan` does it, with a third of the steps: what is set for
 * the fiber is set back here, where nothing can be interrupted anyway.
 */
export const always = <A, E, R>(effect: Effect.Effect<A, E, R>, options: SpanOptions<A>): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiberRuntime((fiber) => {
      const span = plainSpan(fiber, options)
      const body = restore(effect)
      return span !== undefined
        ? inside(fiber, span, body, options)
        : Effect.flatMap(
          Effect.makeSpan(options.name, facts(options)),
          (span) => inside(fiber, span, body, options)
        )
    })
  )

const inside = <A, E, R>(
  fiber: AnyFiber,
  span: Tracer.Span,
  body: Effect.Effect<A, E, R>,
  { failedAs, failureOf }: SpanOptions<A>
): Effect.Effect<A, E, R> => {
  const { currentContext: before } = fiber
  const isTimed = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
  const ended = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> =>
    Effect.flatMap(FiberRef.set(FiberRef.currentContext, before), () => {
      end(span, exit, isTimed ? clockOf(fiber).unsafeCurrentTimeNanos() : 0n, failureOf, failedAs)
      return exit
    })
  const within = Effect.matchCauseEffect(body, {
    onFailure: (cause) => ended(Exit.failCause(cause)),
    onSuccess: (value) => ended(Exit.succeed(value))
  })
  const context = Context.add(before, Tracer.ParentSpan, span) as Context.Context<never>
  return Effect.flatMap(FiberRef.set(FiberRef.currentContext, context), () => within)
}

const facts = <A>({ attributes, kind, links, parent }: SpanOptions<A>) => ({
  kind,
  attributes,
  captureStackTrace: false,
  ...(parent !== undefined && { parent }),
  ...(links !== undefined && { links })
})

/**
 * What `Effect.makeSpan` would make, where nobody has wished anything of the spans of this fiber: it costs no copy of all that is
 * set for the fiber.
 */
const plainSpan = <A>(fiber: AnyFiber, options: SpanOptions<A>): Tracer.Span | undefined => {
  const { attributes, kind, links = [], name, parent = spanOf(fiber) } = options
  const { currentTracer: tracer } = fiber
  const isPlain = fiber.getFiberRef(FiberRef.currentTracerEnabled) &&
    fiber.getFiberRef(FiberRef.currentTracerTimingEnabled) &&
    HashMap.isEmpty(fiber.getFiberRef(FiberRef.currentTracerSpanAnnotations)) &&
    Chunk.isEmpty(fiber.getFiberRef(FiberRef.currentTracerSpanLinks)) &&
    (parent === undefined || !Context.get(parent.context, Tracer.DisablePropagation))
  if (!isPlain || tracer === undefined) return undefined
  const now = clockOf(fiber).unsafeCurrentTimeNanos()
  const span = tracer.span(name, Option.fromNullable(parent), Context.empty(), links, now, kind, facts(options))
  for (const key in attributes) span.attribute(key, attributes[key])
  return span
}

const clockOf = (fiber: AnyFiber): Clock.Clock => Context.get(fiber.currentDefaultServices, Clock.Clock)

const end = <A, E>(
  span: Tracer.Span,
  exit: Exit.Exit<A, E>,
  at: bigint,
  failureOf: SpanOptions<A>["failureOf"],
  failedAs: string | undefined
): void => {
  if (Exit.isSuccess(exit)) {
    const type = failureOf?.(exit.value)
    if (type === undefined) return span.end(at, exit)
    span.attribute("error.type", type)
    // A span has the status of what it ended with, and this is none of success.
    return span.end(at, Exit.fail(type))
  }
  if (!Cause.isInterrupted(exit.cause)) describe(span, exit.cause, failedAs)
  span.end(at, exit)
}

const describe = (span: Tracer.Span, cause: Cause.Cause<unknown>, failedAs: string | undefined): void => {
  if (failedAs !== undefined) return span.attribute("error.type", failedAs)
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  if (!(error instanceof Error) || !("_tag" in error) || !("server" in error)) {
    return span.attribute("error.type", ErrorType.defect)
  }
  const known = error as McpError.McpError
  span.attribute("error.type", ErrorType.exact(known))
  span.attribute("mcp.runtime.executed", known.executed)
  const code = ErrorType.codeOf(known)
  if (code !== undefined) span.attribute("rpc.response.status_code", String(code))
  if (known._tag === "HttpError") span.attribute("http.response.status_code", known.status)
}

/** Says something about the current span, if there is one. */
export const annotate = (fiber: AnyFiber, attributes: Attributes): void => {
  const span = spanOf(fiber)
  if (span?._tag !== "Span" || !isTraced(fiber)) return
  for (const key in attributes) if (attributes[key] !== undefined) span.attribute(key, attributes[key])
}

/** Something has happened in the current span, if there is one. */
export const happened = (name: string, attributes: Attributes): Effect.Effect<void> =>
  Effect.withFiberRuntime((fiber) => {
    const span = spanOf(fiber)
    if (span?._tag !== "Span" || !isTraced(fiber)) return Effect.void
    return Effect.clockWith((clock) => Effect.sync(() => span.event(name, clock.unsafeCurrentTimeNanos(), attributes)))
  })

/** The handshake, which says which version is spoken. */
export const ofInitialize = <E>(
  handshake: Effect.Effect<McpProtocol.ServerInfo, E>,
  config: McpConfig.ServerConfig,
  parent: Tracer.AnySpan | undefined
): Effect.Effect<McpProtocol.ServerInfo, E> =>
  Effect.withFiberRuntime((fiber) => {
    if (!isTraced(fiber)) return handshake
    const described = Effect.tap(handshake, ({ protocolVersion }) =>
      Effect.withFiberRuntime((fiber) => {
        annotate(fiber, { "mcp.protocol.version": protocolVersion })
        return Effect.void
      }))
    const attributes = { ...serverAttributes(config), ...requestAttributes("initialize", undefined, undefined) }
    return always(described, { name: "initialize", kind: "client", attributes, parent })
  })

/** A try to open a session, with all that is restored in it. */
export const ofConnect = <A, E>(
  opening: Effect.Effect<A, E>,
  config: McpConfig.ServerConfig,
  { attempt, generation, parent }: {
    readonly attempt: number
    readonly generation: number
    readonly parent: Tracer.AnySpan | undefined
  }
): Effect.Effect<A, E> =>
  Effect.withFiberRuntime((fiber) =>
    !isTraced(fiber) ? opening : always(opening, {
      name: "mcp.runtime.connect",
      kind: "internal",
      attributes: { ...serverAttributes(config), "mcp.runtime.attempt": attempt, "mcp.runtime.generation": generation },
      parent
    })
  )

/** What is the same in all spans of a server. */
export const serverAttributes = (config: McpConfig.ServerConfig): Attributes => {
  const transport = networkTransportOf(config)
  return {
    "mcp.server.name": config.name,
    ...(transport !== undefined && { "network.transport": transport }),
    ...("url" in config && addressOf(config.url))
  }
}

/** Host and port only: the rest of a URL may hold secrets. References are not resolved here, and not shown. */
const addressOf = (url: string): Attributes => {
  try {
    const { hostname, port, protocol } = new URL(url)
    const shown = McpError.displayText(hostname.replace(/^\[|\]$/g, ""), 255)
    if (shown === "" || hostname.includes("$")) return {}
    return {
      "network.protocol.name": "http",
      "server.address": shown,
      "server.port": port === "" ? protocol === "https:" ? 443 : 80 : Number(port)
    }
  } catch {
    return {}
  }
}

/** What is known when there is a session. */
export const sessionAttributes = ({ generation, info }: McpSession.McpSession): Attributes => ({
  "mcp.protocol.version": McpError.displayText(info.protocolVersion, 64),
  "mcp.runtime.generation": generation
})

/** What a request is about. */
export const requestAttributes = (
  method: string,
  target: string | undefined,
  uri: string | undefined
): Attributes => ({
  "mcp.method.name": method,
  ...(target !== undefined && method === "tools/call" && {
    "gen_ai.tool.name": target,
    "gen_ai.operation.name": "execute_tool"
  }),
  ...(target !== undefined && method === "prompts/get" && { "gen_ai.prompt.name": target }),
  ...(uri !== undefined && { "mcp.resource.uri": McpError.displayText(uri, 512) })
})
