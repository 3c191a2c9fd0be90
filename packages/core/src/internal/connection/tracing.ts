/**
 * The spans of one connection's requests, where somebody listens.
 *
 * Owns: what they say, and that servers are told which trace a request is part of (W3C trace context, in `_meta`).
 * May not touch: how and when a request is sent.
 */
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import type * as McpConfig from "../../McpConfig.js"
import type { ConnectionOptions, Operation } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpSession from "../../McpSession.js"
import type { Waited } from "../engine/calls.js"
import * as ErrorType from "../telemetry/errorType.js"
import * as Spans from "../telemetry/spans.js"
import * as TraceContext from "../telemetry/traceContext.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

/** What a span is of. */
export type Subject = Pick<Operation<unknown>, "method" | "target"> & { readonly uri?: string | undefined }

export class Tracing {
  private readonly attributes: Spans.Attributes
  private readonly isTold: boolean
  private readonly more: ((span: Tracer.AnySpan) => object) | undefined

  constructor(config: McpConfig.ServerConfig, traceContext: ConnectionOptions["traceContext"] = true) {
    this.attributes = Spans.serverAttributes(config)
    this.isTold = traceContext !== false
    this.more = typeof traceContext === "function" ? traceContext : undefined
  }

  /** For where it is known that there is a tracer. */
  span<A>({ method, target, uri }: Subject, effect: Result<A>): Result<A> {
    const shown = target === undefined ? undefined : McpError.displayText(target, 128)
    return Spans.always(effect, {
      name: shown === undefined ? method : `${method} ${shown}`,
      kind: "client",
      attributes: { ...Spans.requestAttributes(method, shown, uri), ...this.attributes },
      failureOf: (result) => ErrorType.ofResult(method, result)
    })
  }

  /** The same operation, which says in its span what it is sent with, and tells the server of it. */
  telling<A>(operation: Operation<A>): Operation<A> {
    return {
      ...operation,
      send: (session, options) =>
        Effect.withFiberRuntime((fiber) => {
          const span = Spans.spanOf(fiber)
          if (span === undefined) return operation.send(session, options)
          const told = this.isTold ? withTraceContext(options, span, this.more) : options
          if (!Spans.isTraced(fiber) || span._tag !== "Span") return operation.send(session, told)
          Spans.annotate(fiber, Spans.sessionAttributes(session))
          const named: McpSession.RequestOptions & Waited = {
            ...told,
            named: (id) => span.attribute("jsonrpc.request.id", String(id))
          }
          return operation.send(session, named)
        })
    }
  }
}

/** Of an application's own it wins. */
const withTraceContext = (
  options: McpSession.RequestOptions | undefined,
  span: Tracer.AnySpan,
  more: ((span: Tracer.AnySpan) => object) | undefined
): McpSession.RequestOptions | undefined => {
  if (options?.meta?.traceparent !== undefined) return options
  const meta = TraceContext.metaOf(span, more)
  return meta === undefined ? options : { ...options, meta: { ...options?.meta, ...meta, ...ownOf(options?.meta) } }
}

const ownOf = (meta: McpProtocol.JsonObject | undefined): McpProtocol.JsonObject => ({
  ...(meta?.tracestate !== undefined && { tracestate: meta.tracestate }),
  ...(meta?.baggage !== undefined && { baggage: meta.baggage })
})
