/**
 * How a process group is ended: its input is closed, then SIGTERM, then SIGKILL, each after a grace.
 *
 * Owns: the order and the time. May not touch: pipes, other than by `endInput`.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { within } from "../within.js"
import type { ProcessGroup } from "./processGroup.js"

/** @internal */
export interface Graces {
  readonly afterEof: Duration.Duration
  readonly afterTerm: Duration.Duration
  readonly afterKill: Duration.Duration
}

/**
 * Ends the group and says whether nobody in it lives. Helpers that outlive their leader never got an end of input of their
 * own, so nothing is gained by waiting for them before they are signalled.
 *
 * @internal
 */
export const shutdown = (options: {
  readonly group: ProcessGroup
  readonly exited: Effect.Effect<unknown>
  readonly endInput: () => void
  readonly graceful: boolean
  readonly graces: Graces
}): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    const { exited, graceful, graces, group } = options
    const gone = Effect.zipRight(exited, untilEmpty(group, 5, 50))
    options.endInput()
    if (graceful) yield* within(exited, graces.afterEof)
    if (group.isEmpty()) return true
    group.signal("SIGTERM")
    if (yield* within(gone, graces.afterTerm)) return true
    group.signal("SIGKILL")
    return yield* within(gone, graces.afterKill)
  })

/** No event tells when a process dies that is not our child. @internal */
export const untilEmpty = (group: ProcessGroup, millis: number, slowest: number): Effect.Effect<void> =>
  Effect.suspend(() =>
    group.isEmpty()
      ? Effect.void
      : Effect.zipRight(Effect.sleep(millis), untilEmpty(group, Math.min(millis * 2, slowest), slowest))
  )
