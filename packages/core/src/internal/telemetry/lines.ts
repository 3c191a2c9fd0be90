/**
 * What a line of the log is about.
 *
 * Owns: the names of the annotations that every line about a server has.
 */
import * as Effect from "effect/Effect"

/** `operation` in words of the protocol (`"tools/call"`) or of the runtime (`"connect"`), as errors have it. */
export const about = (
  server: string,
  operation: string,
  more: Readonly<Record<string, unknown>> = {}
): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> =>
  Effect.annotateLogs({ "mcp.server": server, "mcp.operation": operation, ...more })
