/**
 * Where the report is kept: `docs/benchmarks` for a whole run, elsewhere for a part of one.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Options } from "../options.js"
import type { Line } from "../row.js"
import { everyone } from "../who.js"
import { chart } from "./chart.js"
import type { Facts } from "./facts.js"
import { markdown } from "./markdown.js"

const rootOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** A part of a run, one without somebody, or one that was too short, never replaces a whole one. */
export const directoryOf = (
  { conclusive, only, out, who }: Pick<Options, "conclusive" | "only" | "out" | "who">
): string => {
  const isWhole = conclusive && only === undefined && who.length === everyone.length
  return out ?? rootOf(isWhole ? "../../docs/benchmarks" : "dist/benchmarks")
}

/** Four digits of each value are enough to check the ratios. */
const rounded = (_: string, value: unknown): unknown => typeof value === "number" ? Number(value.toPrecision(4)) : value

/** Gives the directory. */
export const write = async (facts: Facts, lines: ReadonlyArray<Line>, options: Options): Promise<string> => {
  const directory = directoryOf(options)
  await mkdir(directory, { recursive: true })
  const caption = `${facts.date} UTC, Node ${facts.node}, ${facts.machine}, load ${
    facts.loadBefore.toFixed(2)
  } at the start`
  await writeFile(join(directory, "results.md"), markdown(facts, lines))
  await writeFile(join(directory, "results.svg"), chart(lines, caption))
  await writeFile(join(directory, "results.json"), `${JSON.stringify({ facts, lines }, rounded)}\n`)
  return directory
}
