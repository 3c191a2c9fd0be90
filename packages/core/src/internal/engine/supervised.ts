/**
 * What whoever keeps a session alive needs of it, beside what applications see. Streams would do, but each takes ten times the
 * memory of a fiber.
 */
import type * as Effect from "effect/Effect"
import type * as McpProtocol from "../../McpProtocol.js"
import type { McpSession } from "../../McpSession.js"
import type * as McpTransport from "../../McpTransport.js"

export interface Supervised extends McpSession {
  /** What must not show in an error, should the server repeat it. */
  readonly secrets: () => ReadonlyArray<string>
  /** What has come of `incoming` since it was asked for last; nothing after the end. For one reader. */
  readonly nextIncoming: Effect.Effect<Iterable<McpProtocol.Notification> | undefined>
  /** Calls this, at once and synchronously, with the state of the server's own stream and with each change. For one listener. */
  readonly followServerStream: (listener: (state: McpTransport.ServerStreamState) => void) => void
}
