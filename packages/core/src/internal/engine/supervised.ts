/**
 * What whoever keeps a session alive needs of it, beside what applications see. Streams would do, and a fiber for each of them;
 * a listener takes no memory, and has heard what came before an answer when the answer is there.
 */
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { McpSession } from "../../McpSession.js"
import type * as McpTransport from "../../McpTransport.js"

export interface Supervised extends McpSession {
  /** What must not show in an error, should the server repeat it. */
  readonly secrets: () => ReadonlyArray<string>
  /** For one listener, who gets what would be in `incoming`. */
  readonly follow: (listener: SessionListener) => void
  /** The listener's own readers have lost a notification. */
  readonly dropped: () => void
}

/** Told synchronously, from the first moment on what is known by then. All of it is total. */
export interface SessionListener {
  readonly notification: (notification: McpProtocol.Notification) => void
  /** The state of the server's own stream, and each change. */
  readonly serverStream: (state: McpTransport.ServerStreamState) => void
  readonly ended: (error: McpError.McpError) => void
}
