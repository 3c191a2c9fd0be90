/**
 * The deadline that the parts of an opening have in common.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as McpConfig from "../McpConfig.js"
import * as McpError from "../McpError.js"
import { inTime } from "./within.js"

/** `known` is asked when the time is over: what can be said of how far it has come. */
export const withinHandshake = <A>(
  config: McpConfig.ServerConfig,
  effect: Effect.Effect<A, McpError.McpError>,
  known: () => Pick<McpError.RequestTimeout, "detail" | "stderrTail" | "lastFrames">
): Effect.Effect<A, McpError.McpError> => {
  const { handshake } = McpConfig.timeoutsOf(config)
  if (handshake === null) return effect
  return inTime(effect, handshake, () =>
    Effect.fail(
      new McpError.RequestTimeout({
        server: config.name,
        operation: "open",
        executed: "no",
        kind: "handshake",
        millis: Duration.toMillis(handshake),
        ...known()
      })
    ))
}
