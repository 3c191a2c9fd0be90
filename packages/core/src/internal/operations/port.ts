/**
 * What an operation needs of a session, so that whatever offers it (a session, later a connection) can run them all.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import type { McpSession } from "../../McpSession.js"

export type Port = Pick<McpSession, "server" | "info" | "limits" | "request" | "requestWith" | "notify"> & {
  /** What must not show in an error, should the server repeat it. */
  readonly secrets?: () => ReadonlyArray<string>
}

/** Runs the operation only where the server announced what it needs: nothing is sent in vain. */
export const requiring = <A, R>(
  port: Port,
  operation: string,
  capability: string,
  announced: unknown,
  effect: Effect.Effect<A, McpError.McpError, R>
): Effect.Effect<A, McpError.McpError, R> =>
  announced !== undefined && announced !== false && announced !== null
    ? effect
    : Effect.fail(new McpError.CapabilityMissing({ server: port.server, operation, executed: "no", capability }))
