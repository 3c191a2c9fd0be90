/**
 * `npm run bench`: this library beside other clients, the raw SDK and code written by hand, in one run.
 */
import "./builtinFetch.js"
import { type Options, parse, usage } from "./options.js"
import { install } from "./peers/install.js"
import { fittingNode, runOn } from "./peers/node.js"
import { allMet } from "./report/compare.js"
import { begin, gather } from "./report/facts.js"
import { markdown } from "./report/markdown.js"
import { write } from "./report/write.js"
import type { Line, Row } from "./row.js"
import { allRows } from "./rows/all.js"
import { isPeer, type Peer } from "./who.js"
import { within } from "./within.js"
import { endKept } from "./worker/pool.js"

const rowDeadlineMillis = 240_000

interface Outcome {
  readonly lines: ReadonlyArray<Line>
  /** Rows that did not run. */
  readonly failed: ReadonlyArray<string>
}

const runRows = async (rows: ReadonlyArray<Row>, options: Options): Promise<Outcome> => {
  const lines: Array<Line> = []
  const failed: Array<string> = []
  for (const row of rows) {
    const start = performance.now()
    process.stderr.write(`${row.name} ... `)
    try {
      lines.push(...await within(rowDeadlineMillis, row.name, row.run(options)))
    } catch (error) {
      failed.push(row.name)
      console.error(`${row.name} failed:`, error)
    }
    process.stderr.write(`${((performance.now() - start) / 1000).toFixed(1)} s\n`)
  }
  return { lines, failed }
}

/** Peers that were wished and have not one value: not one row has shown that they run. */
const silent = (lines: ReadonlyArray<Line>, options: Options): ReadonlyArray<Peer> =>
  options.who.filter(isPeer).filter((peer) => !lines.some(({ values }) => values[peer] !== undefined))

const run = async (options: Options): Promise<number> => {
  const rows = allRows.filter((row) => options.only === undefined || row.name.includes(options.only))
  if (rows.length === 0) throw new Error(`no row is called like "${options.only}"`)
  const begun = begin()
  const { failed, lines } = await runRows(rows, options)
  await endKept()
  const facts = gather(begun, options)
  console.log(`\n${markdown(facts, lines)}`)
  if (failed.length > 0) console.error(`Rows that did not run: ${failed.join(", ")}`)
  else console.log(`Written to ${await write(facts, lines, options)}`)
  console.log(`${allMet(lines) ? "Every target was met" : "Not every target was met"}. ${facts.seconds} s.`)
  // What a short run is for is to show that everybody runs; a long one says so in its table.
  const missing = options.conclusive || options.node === "current" ? [] : silent(lines, options)
  if (missing.length > 0) console.error(`Clients that did not run: ${missing.join(", ")}`)
  return failed.length === 0 && missing.length === 0 ? 0 : 1
}

const main = async (): Promise<number> => {
  const options = parse(process.argv.slice(2))
  if (options.who.some(isPeer)) {
    const problem = await install()
    if (problem !== undefined) console.error(problem)
    const node = options.node === "fitting" ? fittingNode() : undefined
    if (node !== undefined) return runOn(node)
  }
  return run(options)
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    console.error(usage)
    process.exit(1)
  }
)
