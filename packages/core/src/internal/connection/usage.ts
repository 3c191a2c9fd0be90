/**
 * Who uses a connection, and since when nobody does.
 *
 * Owns: the count of holders, and when a session has been idle for long enough.
 * May not touch: sessions; their owner ends them.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as McpConfig from "../../McpConfig.js"
import type { Live } from "./live.js"
import type { Sessions } from "./sessions.js"

export class Usage {
  holders = 0
  private heldUntil = 0
  private readonly idle: number

  constructor(
    config: McpConfig.ServerConfig,
    private readonly sessions: Sessions,
    private readonly now: () => number
  ) {
    this.idle = typeof config.lifetime === "object" ? Duration.toMillis(config.lifetime.idle) : Number.POSITIVE_INFINITY
  }

  get held(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        this.holders++
      }),
      () =>
        Effect.sync(() => {
          this.holders--
          this.heldUntil = this.now()
        })
    )
  }

  /** Since when nobody uses it, in milliseconds; nothing while somebody does. */
  endedAt(live: Live): Effect.Effect<number | undefined> {
    return Effect.map(
      live.session.stats,
      ({ quietSince }) =>
        quietSince === undefined || this.holders > 0 || this.sessions.hasAside || this.sessions.size > 1
          ? undefined
          : Math.max(quietSince, this.heldUntil, this.sessions.usedUntil, live.readyAt)
    )
  }

  /** Whether there need be no session. */
  isOver(endedAt: number | undefined): boolean {
    return endedAt !== undefined && this.now() >= endedAt + this.idle
  }

  /** Whether a session that is lost need not come back. */
  get isNone(): boolean {
    return this.idle !== Number.POSITIVE_INFINITY && this.holders === 0 && !this.sessions.hasAside
  }
}
