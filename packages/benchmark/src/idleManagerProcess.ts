/**
 * A process of its own that holds connections to servers within it and measures what each costs in memory.
 * Started by `rows/idleManager.ts` with: contender, count, number of tools, every how many has an output schema.
 */
import { load } from "./clients/inMemory.js"
import { type Memory, memory } from "./memory.js"

export interface Report {
  readonly before: Memory
  readonly idle: Memory
}

const [contender, ...numbers] = process.argv.slice(2) as ["sdk" | "ours", ...Array<string>]
const [count, toolCount, every] = numbers.map(Number) as [number, number, number]
const hold = await load(contender, toolCount, every)

const kept = [await hold(5)]
const before = await memory()
kept.push(await hold(count))
const report: Report = { before, idle: await memory() }
process.send!(report)
process.once("disconnect", () => process.exit(kept.length === 2 ? 0 : 1))
