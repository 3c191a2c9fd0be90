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

/** What the spans of one subject have in common. */
interface Heading {
  readonly name: string
  readonly attributes: Spans.Attributes
}

/** Of so many subjects it is kept, unless their names are longer: models may make up as many as they like. */
const mostHeadings = 256
const longestKept = 128

export class Tracing {
  private readonly attributes: Spans.Attributes
  private readonly isTold: boolean
  private readonly more: ((span: Tracer.AnySpan) => object) | undefined
  /** By method, then by target. */
  private readonly headings = new Map<string, Map<string | undefined, Heading>>()
  private kept = 0
  /** Of the newest session. */
  private session: { readonly info: McpSession.SessionInfo; readonly attributes: Spans.Attributes } | undefined

  constructor(config: McpConfig.ServerConfig, traceContext: ConnectionOptions["traceContext"] = true) {
    this.attributes = Spans.serverAttributes(config)
    this.isTold = traceContext !== false
    this.more = typeof traceContext === "function" ? traceContext : undefined
  }

  /** For where it is known that there is a tracer. */
  span<A>(subject: Subject, effect: Result<A>): Result<A> {
    const { method } = subject
    const { attributes, name } = this.headingOf(subject)
    return Spans.always(effect, {
      name,
      kind: "client",
      attributes,
      failureOf: (result) => ErrorType.ofResult(method, result)
    })
  }

  private headingOf({ method, target, uri }: Subject): Heading {
    if (uri !== undefined || method.length + (target ?? "").length > longestKept) {
      return this.makeHeading(method, target, uri)
    }
    const known = this.headings.get(method)?.get(target)
    if (known !== undefined) return known
    const heading = this.makeHeading(method, target, undefined)
    if (this.kept >= mostHeadings) {
      this.headings.clear()
      this.kept = 0
    }
    let ofMethod = this.headings.get(method)
    if (ofMethod === undefined) this.headings.set(method, ofMethod = new Map())
    ofMethod.set(target, heading)
    this.kept++
    return heading
  }

  private makeHeading(method: string, target: string | undefined, uri: string | undefined): Heading {
    const shown = target === undefined ? undefined : McpError.displayName(target, 128)
    return {
      name: shown === undefined ? method : `${method} ${shown}`,
      attributes: Object.freeze({ ...Spans.requestAttributes(method, shown, uri), ...this.attributes })
    }
  }

  /** For where there may be a span, although nobody traces. */
  tellingIn<A>(span: Tracer.AnySpan | undefined, operation: Operation<A>): Operation<A> {
    return span === undefined ? operation : this.telling(operation)
  }

  /** The same operation, which says in its span what it is sent with, and tells the server of it. */
  telling<A>(operation: Operation<A>): Operation<A> {
    const { idempotent, method, options, target, uri } = operation
    return {
      method,
      target,
      uri,
      idempotent,
      options,
      send: (session, options) =>
        Effect.withFiberRuntime((fiber) => {
          const span = Spans.spanOf(fiber)
          if (span === undefined) return operation.send(session, options)
          const told = this.isTold ? withTraceContext(options, span, this.more) : options
          if (!Spans.isTraced(fiber) || span._tag !== "Span") return operation.send(session, told)
          Spans.annotate(fiber, this.attributesOf(session))
          const named: McpSession.RequestOptions & Waited = {
            ...told,
            named: (id) => span.attribute("jsonrpc.request.id", String(id))
          }
          return operation.send(session, named)
        })
    }
  }

  private attributesOf(session: McpSession.McpSession): Spans.Attributes {
    const { info } = session
    if (this.session?.info !== info) this.session = { info, attributes: Spans.sessionAttributes(session) }
    return this.session.attributes
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
  if (meta === undefined) return options
  const own = options?.meta
  return { ...options, meta: own === undefined ? meta : { ...own, ...meta, ...ownOf(own) } }
}

const ownOf = (meta: McpProtocol.JsonObject): McpProtocol.JsonObject => ({
  ...(meta.tracestate !== undefined && { tracestate: meta.tracestate }),
  ...(meta.baggage !== undefined && { baggage: meta.baggage })
})
