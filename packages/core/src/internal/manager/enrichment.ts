/**
 * What a server offers beside its tools: best effort, in the background, when it is connected.
 */
import * as Effect from "effect/Effect"
import type { CallOptions } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type { Connection } from "../connection/connection.js"
import * as Operations from "../connection/operations.js"
import type { Waited } from "../engine/calls.js"
import * as Lines from "../telemetry/lines.js"
import { together } from "../together.js"
import { inTime } from "../within.js"

/** Nobody waits for it, so that it takes no turn from those who call. */
const unattended: CallOptions & Waited = { unattended: true }

/** Where a server takes one request at a time, who calls a tool waits no longer for what nobody waits for. */
const patience = "5 seconds"

const tooLate = () => Effect.fail({ message: "it did not answer in time" })

/** Nothing where the server offers nothing else. */
export const enrichment = (connection: Connection, lists: boolean): Effect.Effect<void> | undefined => {
  const wished = wishes(connection, lists)
  return wished.length === 0 ? undefined : together(
    wished,
    (effect) =>
      Effect.catchAll(
        inTime(effect, patience, tooLate),
        (error) => Effect.logDebug(`something that it offers is not known: ${error.message}`)
      )
  ).pipe(Lines.about(connection.server, "connect"), Effect.asVoid)
}

const wishes = (connection: Connection, lists: boolean): ReadonlyArray<Effect.Effect<unknown, McpError.McpError>> => {
  const { config, owner: { catalog, state } } = connection
  if (state._tag !== "Ready" && state._tag !== "Degraded") return []
  const { prompts, resources } = state.info.capabilities
  return [
    ...(lists && prompts !== undefined ? [catalog.readUnattended("prompts")] : []),
    ...(lists && resources !== undefined
      ? [catalog.readUnattended("resources"), catalog.readUnattended("templates")]
      : []),
    ...(resources?.subscribe === true ? config.subscriptions ?? [] : []).map((uri) =>
      Operations.subscribe(connection, uri, unattended)
    )
  ]
}
