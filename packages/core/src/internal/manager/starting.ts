/**
 * How several servers are connected at once.
 *
 * Owns: the order in which their attempts begin, how many there are at once, and what a start waits for.
 * May not touch: which servers are tried, and what becomes of them when a start fails.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import type * as McpError from "../../McpError.js"
import { together } from "../together.js"
import { firstOf, inTime } from "../within.js"
import type { Entry } from "./entry.js"
import type { Settings } from "./settings.js"

export interface Beginning extends Pick<Settings, "connecting" | "mode" | "strict"> {
  readonly span: Tracer.AnySpan | undefined
  /** Told of each: others have their turns in between. */
  readonly begun: (entry: Entry) => void
  /** Whether no more are to be begun. */
  readonly isOver: () => boolean
}

export const beginAll = (
  targets: ReadonlyArray<Entry>,
  { begun, connecting, isOver, mode, span, strict }: Beginning
): Effect.Effect<void> => {
  const turns = connecting === Infinity ? undefined : Effect.unsafeMakeSemaphore(connecting)
  let calledOff = false
  const begin = (entry: Entry): void => {
    if (isOver()) return
    begun(entry)
    const turn = (attempt: Effect.Effect<void>): Effect.Effect<void> => {
      const parented = span === undefined ? attempt : Effect.withParentSpan(attempt, span)
      const orNot = Effect.suspend(() => calledOff ? Effect.void : parented)
      const guarded = strict && mode === "sequential"
        ? Effect.tap(orNot, () =>
          Effect.sync(() => {
            calledOff ||= entry.failure !== undefined
          }))
        : orNot
      return turns === undefined ? guarded : turns.withPermits(1)(guarded)
    }
    entry.begin(turn, strict)
  }
  // The first process starts, on another processor, before all of them are prepared.
  return Effect.forEach(targets, (entry) => Effect.zipRight(Effect.sync(() => begin(entry)), Effect.yieldNow()), {
    discard: true
  })
}

/** Until every attempt has ended. */
export const outcomes = (entries: ReadonlyArray<Entry>): Effect.Effect<void> => {
  const attempts = entries.flatMap(({ attempt }) => attempt === undefined ? [] : [attempt])
  return Effect.forEach(attempts, ({ outcome }) => Deferred.await(outcome), { discard: true })
}

/** Until every attempt has ended, or the gate is open and the server has something to show. */
export const untilUsable = (entries: ReadonlyArray<Entry>, gate: number): Effect.Effect<void> => {
  const all = outcomes(entries)
  return gate === Infinity ? all : inTime(all, gate, () => Effect.asVoid(together(entries, shown)))
}

const shown = (entry: Entry): Effect.Effect<unknown> => {
  const { attempt } = entry
  if (attempt === undefined) return Effect.void
  const outcome = Deferred.await(attempt.outcome)
  return Effect.zipRight(
    firstOf(Deferred.await(attempt.restored), outcome),
    Effect.suspend(() => entry.tools === undefined ? outcome : Effect.void)
  )
}

/** How long a start waits for what is left of servers that have failed; longer, it goes on in the background. */
export const endsQuickly = 500

/** Until nothing is left of those that have failed, unless it takes long. */
export const endings = (entries: ReadonlyArray<Entry>): Effect.Effect<void> =>
  inTime(Effect.asVoid(together(entries, (_) => _.settled)), endsQuickly, () => Effect.void)

export const failuresOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<McpError.McpError> =>
  entries.flatMap(({ failure }) => failure === undefined ? [] : [failure])
