/**
 * Row about idle connections that a manager holds, to servers in the same process: what they cost in memory, the tools they
 * have listed included. Each client is measured in a fresh process.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Report } from "../idleManagerProcess.js"
import type { Options } from "../options.js"
import type { Line, Row, Target } from "../row.js"

const connections = 200

const program = fileURLToPath(
  new URL(`../idleManagerProcess${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
)

interface Holding {
  readonly what: string
  readonly toolCount: number
  /** Every how many has an output schema; 0 for none. */
  readonly every: number
  readonly targets: ReadonlyArray<Target>
}

/** Kilobytes of heap of one connection. */
const measure = async (contender: "sdk" | "ours", { every, toolCount }: Holding): Promise<number> => {
  const child = fork(program, [contender, ...[connections, toolCount, every].map(String)])
  const exit = once(child, "exit")
  try {
    const { before, idle } = await new Promise<Report>((resolve, reject) => {
      child.once("message", (report) => resolve(report as Report))
      exit.then(
        ([code]) => reject(new Error(`the process of held connections (${contender}) ended with ${code}`)),
        reject
      )
    })
    return (idle.heap - before.heap) / connections / 1024
  } finally {
    if (child.connected) child.disconnect()
    await exit
  }
}

const lineOf = async (holding: Holding, options: Options): Promise<Line> => {
  const values = { sdk: new Array<number>(), ours: new Array<number>() }
  for (let round = 0; round < options.idleRounds; round++) {
    values.sdk.push(await measure("sdk", holding))
    values.ours.push(await measure("ours", holding))
  }
  return {
    title: `manager: ${connections} idle in memory, ${holding.what}, heap each`,
    unit: "KB",
    shows: "cost",
    targets: holding.targets,
    values
  }
}

const holdings: ReadonlyArray<Holding> = [
  { what: "1 tool", toolCount: 1, every: 0, targets: [] },
  { what: "50 tools", toolCount: 50, every: 0, targets: [] },
  { what: "50 tools, 10 % with output schema", toolCount: 50, every: 10, targets: [] }
]

export const idleManagerRow: Row = {
  name: "idle-200-manager",
  run: async (options) => {
    const lines: Array<Line> = []
    for (const holding of holdings) lines.push(await lineOf(holding, options))
    return lines
  }
}
