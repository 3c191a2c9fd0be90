/**
 * Many servers at once.
 *
 * Owns: the contract between rows and those who hold many sessions. May not touch: any one client.
 */
import { checkCount, type Open, type Wire } from "./client.js"

export interface Fleet {
  readonly close: () => Promise<void>
}

/** Connects all of them and lists the tools of each, of which there are `tools`. */
export type OpenFleet = (wires: ReadonlyArray<Wire>, tools: number) => Promise<Fleet>

/** As it is written by hand: all sessions at once, each its own. */
export const allAtOnce = (open: Open): OpenFleet => async (wires, tools) => {
  const sessions = await Promise.all(wires.map(async (wire) => {
    const session = await open(wire)
    checkCount(await session.list(), tools)
    return session
  }))
  return {
    close: async () => {
      await Promise.all(sessions.map((_) => _.close()))
    }
  }
}
