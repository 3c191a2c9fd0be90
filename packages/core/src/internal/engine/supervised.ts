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
  /** Says later whether there was a sign of the server meanwhile. */
  readonly signs: () => Signs
  /** It is of no use any more, for this reason: whoever waits is told. Its scope is to be closed after it. */
  readonly giveUp: (error: McpError.McpError) => void
  /** The listener's own readers have lost so many notifications. */
  readonly dropped: (count: number) => void
}

/** Whether something has come from the server, or it has read what waited for it. */
export interface Signs {
  readonly seen: () => boolean
  /** Whether it would be seen that the server reads what waits for it. */
  readonly tellReading: boolean
}

/** Told synchronously, from the first moment on what is known by then. All of it is total. */
export interface SessionListener {
  readonly notification: (notification: McpProtocol.Notification) => void
  /** The state of the server's own stream, and each change. If it was down before, that first. */
  readonly serverStream: (state: McpTransport.ServerStreamState) => void
  readonly ended: (error: McpError.McpError) => void
}
