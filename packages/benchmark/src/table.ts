/**
 * The table: ratios first, absolute values beside them, targets and whether they were met.
 */
import type { Line, Target, Values } from "./row.js"
import { median, ratio, type Spread } from "./stats.js"

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

const compare = ({ shows, values }: Line, a: keyof Values, b: keyof Values): Spread =>
  shows === "rate" ? ratio(values[b], values[a]) : ratio(values[a], values[b])

const showSpread = ({ high, low, median }: Spread): string =>
  `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`

const inUnit = (line: Line, value: number): string => number(line.unit === "ms" ? value / 1000 : value)

const absolute = (line: Line, who: keyof Values): string => `${inUnit(line, median(line.values[who]))} ${line.unit}`

const cpuOf = ({ cpu, ...line }: Line): string =>
  cpu === undefined
    ? ""
    : [cpu.sdk, cpu.ours, cpu.limit].map((_) => inUnit(line, median(_))).join(" / ") + ` ${line.unit}`

const isMet = (line: Line, target: Target): boolean => {
  const { median } = compare(line, "ours", target.against)
  return line.shows === "rate" ? median >= target.bound : median <= target.bound
}

const showTargets = (line: Line): string =>
  line.targets.map((_) => `${line.shows === "rate" ? ">=" : "<="} ${_.bound} ${_.against}`).join(", ")

const verdict = (line: Line): string =>
  line.targets.length === 0 ? "" : line.targets.map((_) => isMet(line, _) ? "yes" : "NO").join(", ")

const header = [
  "",
  "ours/SDK",
  "ours/limit",
  "limit/SDK",
  "SDK",
  "ours",
  "limit",
  "CPU SDK / ours / limit",
  "target",
  "met"
]

const cells = (line: Line): ReadonlyArray<string> => [
  `${line.title} [${line.shows}]`,
  showSpread(compare(line, "ours", "sdk")),
  showSpread(compare(line, "ours", "limit")),
  showSpread(compare(line, "limit", "sdk")),
  absolute(line, "sdk"),
  absolute(line, "ours"),
  absolute(line, "limit"),
  cpuOf(line),
  showTargets(line),
  verdict(line)
]

/** Whether every target was met. */
export const allMet = (lines: ReadonlyArray<Line>): boolean =>
  lines.every((line) => line.targets.every((target) => isMet(line, target)))

export const render = (lines: ReadonlyArray<Line>): string => {
  const rows = [header, ...lines.map(cells)]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)).join("  ")
      .trimEnd()
  ).join("\n")
}
