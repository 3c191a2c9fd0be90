/**
 * What lives on this machine, by the marks that our own processes carry.
 */
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return undefined
  }
}

/** A zombie is dead, although `kill(pid, 0)` finds it. */
export const isAlive = (pid: number): boolean => {
  const stat = read(`/proc/${pid}/stat`)
  const state = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[0]
  return state !== undefined && state !== "Z" && state !== "X"
}

/** Everything that lives with this text in its environment, whoever its parent is by now. */
export const markedWith = (mark: string): ReadonlyArray<number> =>
  readdirSync("/proc").filter((_) => /^\d+$/.test(_)).map(Number).filter((pid) =>
    isAlive(pid) && read(`/proc/${pid}/environ`)?.includes(mark) === true
  )

/** Waits until a fact holds that no event tells, such as the end of a process that is not our child. Bounded. */
export const until = (what: string, fact: () => boolean): Effect.Effect<void> => {
  const poll: Effect.Effect<void> = Effect.suspend(() => fact() ? Effect.void : Effect.zipRight(Effect.sleep(10), poll))
  return Effect.timeoutFail(poll, { duration: "20 seconds", onTimeout: () => new Error(`never: ${what}`) }).pipe(
    Effect.orDie
  )
}
