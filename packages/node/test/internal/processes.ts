/**
 * What lives on this machine: the facts that the tests of processes assert.
 */
import { type Duration, Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return undefined
  }
}

const fields = (pid: number): ReadonlyArray<string> | undefined => {
  const stat = read(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
}

const all = (): ReadonlyArray<number> => readdirSync("/proc").filter((_) => /^\d+$/.test(_)).map(Number)

/** A zombie is dead, although `kill(pid, 0)` finds it. */
export const isAlive = (pid: number): boolean => {
  const state = fields(pid)?.[0]
  return state !== undefined && state !== "Z" && state !== "X"
}

export const groupOf = (pid: number): number => Number(fields(pid)?.[2])

export const commandOf = (pid: number): string => (read(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ").trim()

export const childrenOf = (parent: number): ReadonlyArray<number> =>
  all().filter((pid) => Number(fields(pid)?.[1]) === parent && isAlive(pid))

/** Everything that lives with this text in its environment, whoever its parent is by now. */
export const markedWith = (mark: string): ReadonlyArray<number> =>
  all().filter((pid) => isAlive(pid) && read(`/proc/${pid}/environ`)?.includes(mark) === true)

export const isWatchdog = (pid: number): boolean => commandOf(pid).endsWith("mcp-runtime-watchdog")

/** Waits until a fact holds that no event tells. */
export const until = (
  what: string,
  fact: () => boolean,
  atMost: Duration.DurationInput = "25 seconds"
): Effect.Effect<void> => {
  const poll: Effect.Effect<void> = Effect.suspend(() => fact() ? Effect.void : Effect.zipRight(Effect.sleep(5), poll))
  return Effect.timeoutFail(poll, { duration: atMost, onTimeout: () => new Error(`never: ${what}`) }).pipe(
    Effect.orDie
  )
}
