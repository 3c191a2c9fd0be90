/**
 * What an implementation without access to sockets says to a configuration that asks for them.
 *
 * Owns: that refusal.
 * May not touch: anything else.
 */
import * as Effect from "effect/Effect"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"

/** @internal */
export const withoutSockets = (
  config: McpConfig.AnyHttpConfig,
  instead: string
): Effect.Effect<void, McpError.ConfigInvalid> => {
  const problems: Array<McpError.ConfigProblem> = []
  for (const field of ["tls", "proxy", "maxConnections"] as const) {
    if (config[field] !== undefined) problems.push({ field, problem: `can't be set here: ${instead}` })
  }
  return problems.length === 0
    ? Effect.void
    : Effect.fail(
      new McpError.ConfigInvalid({ server: config.name, operation: "configure", executed: "no", problems })
    )
}
