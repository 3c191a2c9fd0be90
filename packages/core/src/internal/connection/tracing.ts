/**
 * A span per call, where somebody listens.
 *
 * Owns: its name and attributes, as OpenTelemetry names them for MCP, and that servers are told which trace a request is part
 * of (W3C trace context, in `_meta`).
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import type { Operation } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpSession from "../../McpSession.js"

/** The tracer of Effect that keeps nothing. */
const silent = Context.get(DefaultServices.liveServices, Tracer.Tracer)

export const isTraced = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean => fiber.currentTracer !== silent

export const traced = <A>(
  server: string,
  { method, target }: Operation<A>,
  effect: Effect.Effect<A, McpError.McpError>
): Effect.Effect<A, McpError.McpError> =>
  Effect.withSpan(
    Effect.tapError(effect, (error) => Effect.annotateCurrentSpan("error.type", error._tag)),
    target === undefined ? method : `${method} ${target}`,
    {
      kind: "client",
      captureStackTrace: false,
      attributes: {
        "mcp.method.name": method,
        "mcp.server.name": server,
        ...(target !== undefined && method === "tools/call" && { "gen_ai.tool.name": target }),
        ...(target !== undefined && method === "prompts/get" && { "gen_ai.prompt.name": target })
      }
    }
  )

const spanOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Tracer.AnySpan | undefined =>
  fiber.currentContext.unsafeMap.get(Tracer.ParentSpan.key) as Tracer.AnySpan | undefined

export const hasSpan = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean => spanOf(fiber) !== undefined

/** The same operation, which tells the server the span in which it is sent. */
export const propagating = <A>(operation: Operation<A>): Operation<A> => ({
  ...operation,
  send: (session, options) =>
    Effect.withFiberRuntime((fiber) => operation.send(session, withTraceContext(options, spanOf(fiber))))
})

/** Of an application's own it wins. */
const withTraceContext = (
  options: McpSession.RequestOptions | undefined,
  span: Tracer.AnySpan | undefined
): McpSession.RequestOptions | undefined => {
  if (span === undefined || options?.meta?.traceparent !== undefined) return options
  const traceparent = `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`
  return isTraceparent.test(traceparent) ? { ...options, meta: { ...options?.meta, traceparent } } : options
}

/** Ids of a tracer may be anything. */
const isTraceparent = /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/
