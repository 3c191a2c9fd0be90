/**
 * Pings of a session that may be of no use any more, until it is known.
 *
 * Owns: when they are sent, and that one question is not asked twice at a time.
 * May not touch: what their answers mean, which is told like everything else that is noticed.
 */
import * as Effect from "effect/Effect"
import type * as McpConfig from "../../McpConfig.js"
import type { Alarm } from "./alarm.js"
import type { Ears } from "./ears.js"
import type { Live } from "./live.js"
import { isBusy, ping } from "./watch.js"

const first = 500
const slowest = 30_000

export class Probes {
  /** How many have been planned since the server was last reached. */
  private planned = 0

  constructor(
    private readonly config: McpConfig.ServerConfig,
    private readonly ears: Ears,
    /** Rings when the next one is due. */
    private readonly alarm: Alarm
  ) {}

  /** There is another session. */
  reset(): void {
    this.planned = 0
  }

  /** Whether the server can be reached may have changed. */
  follow(live: Live): Effect.Effect<void> {
    if (live.unreachable !== undefined) return this.alarm.isSet ? Effect.void : this.later()
    this.reset()
    this.alarm.cancel()
    return Effect.void
  }

  /** The alarm has rung. */
  due(live: Live): Effect.Effect<void> {
    return Effect.flatMap(isBusy(this.config, live), (busy) => busy ? this.later() : this.ask(live))
  }

  /** Whether the server still answers in this session. */
  ask(live: Live): Effect.Effect<void> {
    return inBackground(live, ping(live, undefined, this.ears))
  }

  /** The server may have forgotten the session: one question, and one more where there was another reason meanwhile. */
  suspect(live: Live): Effect.Effect<void> {
    const again: Effect.Effect<void> = Effect.suspend(() => {
      live.suspicions = 1
      return Effect.flatMap(ping(live, undefined, this.ears), () => {
        if (live.suspicions > 1) return again
        live.suspicions = 0
        return Effect.void
      })
    })
    return inBackground(live, again)
  }

  private later(): Effect.Effect<void> {
    return this.alarm.in(Math.min(first * 2 ** Math.min(this.planned++, 16), slowest))
  }
}

const inBackground = (live: Live, question: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.asVoid(Effect.forkIn(Effect.interruptible(question), live.scope))
