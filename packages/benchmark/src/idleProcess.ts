/**
 * A process of its own that opens idle connections of one client and measures what each costs in memory.
 * Started by `rows/idle.ts` with: contender, URL, count, milliseconds of rest.
 */
import { setTimeout } from "node:timers/promises"
import { load } from "./clients/all.js"
import type { Contender, Session } from "./clients/client.js"
import { type Memory, memory } from "./memory.js"

export type Report = { readonly opened: number } | {
  readonly before: Memory
  readonly fresh: Memory
  readonly idle: Memory
}

const send = (report: Report): void => {
  process.send!(report)
}

const [contender, url, count, restMillis] = process.argv.slice(2) as [Contender, string, string, string]
const open = await load(contender)
const kept: Array<Session> = []

const openMore = async (more: number): Promise<void> => {
  for (let i = 0; i < more; i++) kept.push(await open({ type: "http", url }))
  const confirmed = new Promise((resolve) => process.once("message", resolve))
  send({ opened: kept.length })
  await confirmed
}

await openMore(5)
const before = await memory()
await openMore(Number(count))
const fresh = await memory()
await setTimeout(Number(restMillis))
const idle = await memory()
send({ before, fresh, idle })
process.once("disconnect", () => process.exit(0))
