/**
 * `npm run bench`: this library beside the raw SDK and beside code written by hand, in one run.
 */
import "./builtinFetch.js"
import { cpus, loadavg } from "node:os"
import { type Options, parse, usage } from "./options.js"
import type { Line, Row } from "./row.js"
import { cachedRow } from "./rows/cached.js"
import { callRows } from "./rows/calls.js"
import { idleRow } from "./rows/idle.js"
import { idleManagerRow } from "./rows/idleManager.js"
import { manyRow } from "./rows/many.js"
import { recoveryRow } from "./rows/recovery.js"
import { startRows } from "./rows/start.js"
import { toolsetRows } from "./rows/toolset.js"
import { warmRows } from "./rows/warm.js"
import { allMet, render } from "./table.js"

const rowDeadlineMillis = 90_000

const rows: ReadonlyArray<Row> = [
  ...callRows,
  ...startRows,
  cachedRow,
  ...toolsetRows,
  manyRow,
  ...warmRows,
  recoveryRow,
  idleRow,
  idleManagerRow
]

const withDeadline = async <A>(name: string, work: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} took more than ${rowDeadlineMillis} ms`)), rowDeadlineMillis)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const busyLoad = 0.7

/** Why the numbers of this run should not be believed. */
const doubts = (options: Options, loadBefore: number): string =>
  (options.conclusive
    ? ""
    : "\n--quick only shows that everything runs: turns this short measure code that is not compiled yet.") +
  (loadBefore <= busyLoad
    ? ""
    : `\nOther work was running (load ${loadBefore.toFixed(1)} at the start): run this on a quiet machine.`)

const explanation = `
Medians of interleaved rounds, in brackets the quartiles. [rate]: how many times as fast, more is better. [cost]: how much
of the time or memory, less is better. SDK: Client and its transports with their defaults. limit: written by hand for
these servers, without checks or bounds. cold: ours with nothing stored of an earlier run. base: what else of ours the
line names. Absolute values are per call, listing, connect or connection; CPU is that of this process, its garbage
collector included.`

const main = async (): Promise<number> => {
  const options = parse(process.argv.slice(2))
  const wanted = rows.filter((row) => options.only === undefined || row.name.includes(options.only))
  if (wanted.length === 0) throw new Error(`no row is called like "${options.only}"`)
  const loadBefore = loadavg()[0]!
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${loadBefore.toFixed(1)}`)
  const start = performance.now()
  const lines: Array<Line> = []
  const failed: Array<string> = []
  for (const row of wanted) {
    process.stderr.write(`${row.name} ...\n`)
    try {
      lines.push(...await withDeadline(row.name, row.run(options)))
    } catch (error) {
      failed.push(row.name)
      console.error(`${row.name} failed:`, error)
    }
  }
  const verdict = failed.length > 0
    ? "Not every row ran"
    : allMet(lines)
    ? "Every target was met"
    : "Not every target was met"
  console.log(explanation)
  console.log(`\n${render(lines)}\n`)
  console.log(
    `${verdict}. ` +
      `${Math.round((performance.now() - start) / 1000)} s, load ${loadavg()[0]!.toFixed(1)}.${
        doubts(options, loadBefore)
      }`
  )
  if (failed.length > 0) console.error(`Rows that did not run: ${failed.join(", ")}`)
  return failed.length === 0 ? 0 : 1
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    console.error(usage)
    process.exit(1)
  }
)
