/**
 * What a server offers beside its tools: best effort, in the background, when it is connected.
 */
import * as Effect from "effect/Effect"
import type { Connection } from "../connection/connection.js"
import * as Operations from "../connection/operations.js"

export const enrich = (connection: Connection, lists: boolean): Effect.Effect<void> =>
  Effect.flatMap(connection.state, (state) => {
    if (state._tag !== "Ready" && state._tag !== "Degraded") return Effect.void
    const { prompts, resources } = state.info.capabilities
    const { catalog, config } = connection
    const wished = [
      ...(lists && prompts !== undefined ? [catalog.prompts.get] : []),
      ...(lists && resources !== undefined ? [catalog.resources.get, catalog.templates.get] : []),
      ...(resources?.subscribe === true ? config.subscriptions ?? [] : []).map((uri) =>
        Operations.subscribe(connection, uri)
      )
    ]
    return Effect.forEach(
      wished,
      (effect) =>
        Effect.catchAll(
          effect as Effect.Effect<unknown, { readonly message: string }>,
          (error) => Effect.logDebug(`something that it offers is not known: ${error.message}`)
        ),
      { concurrency: "unbounded", discard: true }
    )
  }).pipe(Effect.annotateLogs("mcp.server", connection.server))
