/**
 * W3C Trace Context, as it goes through `_meta`.
 *
 * Owns: how a span is written for a server, and which of what a server writes is believed.
 * May not touch: spans.
 */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { TraceContext } from "../../McpConnection.js"
import * as McpProtocol from "../../McpProtocol.js"

/** What came with the span of somebody else, and goes on with what is caused by it. */
class TraceState extends Context.Tag("@mcp-runtime/core/TraceState")<TraceState, string>() {}

/** Ids of a tracer may be anything. */
const ofOurs = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]$/

/** A later version may have more at its end. */
const ofTheirs = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const longest = 512
const longestBaggage = 8192

/** Printable ASCII, as both headers are. */
const printable = /^[\x20-\x7e]+$/

const written = (text: unknown, max: number): string | undefined =>
  typeof text === "string" && text.length <= max && printable.test(text) ? text : undefined

const traceparentOf = (span: Tracer.AnySpan): string | undefined => {
  const traceparent = `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`
  return ofOurs.test(traceparent) ? traceparent : undefined
}

/** How far a span is followed to what came from elsewhere. */
const furthest = 32

const tracestateOf = (span: Tracer.AnySpan): string | undefined => {
  let current = span
  for (let i = 0; i < furthest; i++) {
    const state = Context.getOption(current.context as Context.Context<TraceState>, TraceState)
    if (Option.isSome(state)) return state.value
    if (current._tag !== "Span" || Option.isNone(current.parent)) return undefined
    current = current.parent.value
  }
  return undefined
}

/** What a server is told of this span; nothing where it has no ids that could be told. */
export const metaOf = (
  span: Tracer.AnySpan,
  more: ((span: Tracer.AnySpan) => TraceContext) | undefined
): McpProtocol.JsonObject | undefined => {
  const traceparent = traceparentOf(span)
  if (traceparent === undefined) return undefined
  const given = moreOf(span, more)
  const tracestate = written(given.tracestate, longest) ?? tracestateOf(span)
  const baggage = written(given.baggage, longestBaggage)
  return {
    traceparent,
    ...(tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage })
  }
}

/** A function of the application's that fails says nothing. */
const moreOf = (span: Tracer.AnySpan, more: ((span: Tracer.AnySpan) => TraceContext) | undefined): TraceContext => {
  if (more === undefined) return {}
  try {
    const given: unknown = more(span)
    return McpProtocol.isObject(given) ? given : {}
  } catch {
    return {}
  }
}

/** The span that a server says its request is part of. */
export const spanOf = (params: McpProtocol.JsonObject): Tracer.ExternalSpan | undefined => {
  const meta = params._meta
  if (!McpProtocol.isObject(meta)) return undefined
  const { traceparent, tracestate } = meta
  const match = typeof traceparent === "string" && traceparent.length <= longest ? ofTheirs.exec(traceparent) : null
  if (match === null) return undefined
  const [, version, traceId, spanId, flags, rest] = match
  if (version === "00" && rest !== undefined) return undefined
  const state = written(tracestate, longest)
  return Tracer.externalSpan({
    traceId: traceId!,
    spanId: spanId!,
    sampled: (Number.parseInt(flags!, 16) & 1) === 1,
    ...(state !== undefined && { context: Context.make(TraceState, state) as unknown as Context.Context<never> })
  })
}
