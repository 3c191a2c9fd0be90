/**
 * Processes that a client has left behind.
 *
 * Owns: telling whether one of ours still runs, and its end. May not touch: any process that is not one of these servers.
 */
import { readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"

/** Whether this process runs, and is one that runs `script`: its number may belong to somebody else by now. */
const runs = (pid: number, script: string): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (process.platform !== "linux") return true
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(script)
  } catch {
    return false
  }
}

const graceMillis = 20
const patience = 50

/**
 * Gives how many of them outlived their client's `close` by more than a moment. Those who are still there a second later are
 * killed, so that the next in turn has the machine for itself. They are not children of this process: no event tells that one
 * has ended, so it is looked, a bounded number of times.
 */
export const endLeft = async (pids: ReadonlyArray<number>, script: string): Promise<number> => {
  let running = pids.filter((_) => runs(_, script))
  if (running.length === 0) return 0
  await setTimeout(graceMillis)
  running = running.filter((_) => runs(_, script))
  const left = running.length
  for (let i = 0; i < patience && running.length > 0; i++) {
    await setTimeout(graceMillis)
    running = running.filter((_) => runs(_, script))
  }
  for (const pid of running) process.kill(pid, "SIGKILL")
  return left
}
