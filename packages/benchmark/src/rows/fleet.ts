/**
 * The servers of the rows about many of them: twenty processes, and a journal that tells which were started.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Wire } from "../clients/client.js"
import { startingServer } from "../servers.js"
import { endLeft } from "./left.js"

export const serverCount = 20

/** Of each server. One of them has an output schema. */
export const toolCount = 10

/** What a run has started, and what of it was still there when it had ended. */
export interface Started<A> {
  readonly result: A
  readonly processes: number
  readonly left: number
}

export interface Servers {
  readonly wires: ReadonlyArray<Wire>
  /** A directory that is there as long as they are. */
  readonly directory: string
  /** Runs what starts servers, and ends those that it has left. */
  readonly journaled: <A>(run: () => Promise<A>) => Promise<Started<A>>
  /** Runs what starts each server once, and throws where more or fewer processes were started. */
  readonly startedOnce: <A>(run: () => Promise<A>) => Promise<A>
}

const readPids = async (journal: string): Promise<ReadonlyArray<number>> => {
  const text = await readFile(journal, "utf8").catch(() => "")
  return text.split("\n").filter((_) => _ !== "").map(Number)
}

/** With servers that sleep so long before they answer. */
export const withServers = async <A>(delayMillis: number, use: (servers: Servers) => Promise<A>): Promise<A> => {
  const directory = await mkdtemp(join(tmpdir(), "mcp-runtime-bench-"))
  const journal = join(directory, "journal")
  const args = [String(toolCount), String(toolCount), journal, String(delayMillis)]
  const journaled: Servers["journaled"] = async (run) => {
    const before = (await readPids(journal)).length
    try {
      const result = await run()
      const pids = (await readPids(journal)).slice(before)
      return { result, processes: pids.length, left: await endLeft(pids, startingServer) }
    } catch (error) {
      await endLeft((await readPids(journal)).slice(before), startingServer)
      throw error
    }
  }
  try {
    return await use({
      wires: Array.from({ length: serverCount }, () => ({ type: "stdio", script: startingServer, args })),
      directory,
      journaled,
      startedOnce: async (run) => {
        const { processes, result } = await journaled(run)
        if (processes !== serverCount) {
          throw new Error(`${processes} processes were started for ${serverCount} servers`)
        }
        return result
      }
    })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
