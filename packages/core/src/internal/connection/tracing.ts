/**
 * A span per call, where somebody listens.
 *
 * Owns: its name and attributes, as OpenTelemetry names them for MCP.
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import type { Operation } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"

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
