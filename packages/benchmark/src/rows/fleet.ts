/**
 * The servers of the rows about many of them: twenty processes, and a journal that tells how often they were started.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Wire } from "../clients/client.js"
import { startingServer } from "../servers.js"

export const serverCount = 20

/** Of each server. One of them has an output schema. */
export const toolCount = 10

export interface Servers {
  readonly wires: ReadonlyArray<Wire>
  /** A directory that is there as long as they are. */
  readonly directory: string
  /** Runs what starts each server once, and throws where more or fewer processes were started. */
  readonly startedOnce: <A>(run: () => Promise<A>) => Promise<A>
}

/** With servers that sleep so long before they answer. */
export const withServers = async <A>(delayMillis: number, use: (servers: Servers) => Promise<A>): Promise<A> => {
  const directory = await mkdtemp(join(tmpdir(), "mcp-runtime-bench-"))
  const journal = join(directory, "journal")
  const args = [String(toolCount), String(toolCount), journal, String(delayMillis)]
  let runs = 0
  try {
    return await use({
      wires: Array.from({ length: serverCount }, () => ({ type: "stdio", script: startingServer, args })),
      directory,
      startedOnce: async (run) => {
        const result = await run()
        runs++
        const started = (await readFile(journal, "utf8")).trimEnd().split("\n").length
        if (started !== runs * serverCount) {
          throw new Error(`${started} processes were started in ${runs} runs with ${serverCount} servers`)
        }
        return result
      }
    })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
