/**
 * One session of a connection, with what the connection knows of it.
 */
import type * as Deferred from "effect/Deferred"
import type * as Scope from "effect/Scope"
import type * as McpError from "../../McpError.js"
import type { Supervised } from "../engine/supervised.js"

export class Live {
  /** Nothing is sent over it any more. */
  over = false
  /** The last that is known of it is that the server could not be reached. */
  unreachable: McpError.McpError | undefined = undefined
  /** The last that it said of our credentials is that it refuses them. */
  unauthorized: McpError.McpError | undefined = undefined
  /** The server's own stream is being opened again. */
  streamDown = false
  /** What the server said meanwhile was not heard. */
  deaf = false
  /** How often something said that the server may have forgotten it, since that was last asked. */
  suspicions = 0
  /** How many pings in a row had no answer. */
  silences = 0
  /** Completes with its closing, once that has begun. */
  ended: Deferred.Deferred<void> | undefined = undefined
  readyAt = 0

  constructor(
    readonly generation: number,
    readonly session: Supervised,
    readonly scope: Scope.CloseableScope
  ) {}

  /** Whether an answer would be news. */
  get isSound(): boolean {
    return this.unreachable === undefined && this.unauthorized === undefined
  }
}
