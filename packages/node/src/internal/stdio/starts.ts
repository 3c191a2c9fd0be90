/**
 * Who may start a process now.
 *
 * Owns: that one is started in each turn of the event loop. Node waits until the program runs, which takes it five to twenty
 * milliseconds: twenty servers at once would keep everything else waiting for all of them, timers too.
 * May not touch: processes.
 */
import * as Effect from "effect/Effect"

const waiting = new Set<() => void>()
let isTaken = false

const next = (): void => {
  isTaken = false
  const [first] = waiting
  first?.()
}

const take = (): void => {
  isTaken = true
  setImmediate(next)
}

const laterTurn: Effect.Effect<void> = Effect.async((resume) => {
  const begin = () => {
    waiting.delete(begin)
    take()
    resume(Effect.void)
  }
  // It may have become free since it was found to be taken: then nobody would call.
  if (!isTaken) return begin()
  waiting.add(begin)
  return Effect.sync(() => waiting.delete(begin))
})

/** Waits for a turn, which is to be used at once. @internal */
export const turn: Effect.Effect<void> = Effect.suspend(() => {
  if (isTaken) return laterTurn
  take()
  return Effect.void
})
