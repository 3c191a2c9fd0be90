/**
 * The processes that the runtime has started, found by what is in their environment.
 *
 * Owns: looking. May not touch: processes.
 */
import { readFileSync } from "node:fs"
import { commandOf, markedWith } from "../internal/processes.js"

export { markedWith }

const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // It has just ended.
    return ""
  }
}

export const isMarkedWith = (pid: number, mark: string): boolean => read(`/proc/${pid}/environ`).includes(mark)

/** Which server it is, what it does, and whose it is. */
export const describeProcess = (pid: number): string => {
  const server = /SOAK_SERVER=([^\0]*)/.exec(read(`/proc/${pid}/environ`))?.[1]
  const stat = read(`/proc/${pid}/stat`)
  const [state, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return `"${commandOf(pid)}" of ${server}, state ${state}, parent ${parent}, group ${group}`
}
