/**
 * The table: ratios first, absolute values beside them, targets and whether they were met.
 */
import type { Ceiling, Line, Target, Values } from "./row.js"
import { median, ratio, type Spread } from "./stats.js"

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

type Who = keyof Values

const compare = ({ shows, values }: Line, a: Who, b: Who): Spread | undefined => {
  const [ofA, ofB] = [values[a], values[b]]
  if (ofA === undefined || ofB === undefined) return undefined
  return shows === "rate" ? ratio(ofB, ofA) : ratio(ofA, ofB)
}

const share = (value: number): string => value >= 100 ? value.toFixed(0) : value.toFixed(2)

const showSpread = ({ high, low, median }: Spread): string => `${share(median)} (${share(low)}-${share(high)})`

const middle = ({ unit }: Line, values: ReadonlyArray<number>): number => median(values) / (unit === "ms" ? 1000 : 1)

const absolute = (line: Line, values: ReadonlyArray<number> | undefined): string =>
  values === undefined ? "" : `${number(middle(line, values))} ${line.unit}`

const cpuOf = (line: Line): string => {
  const { cpu } = line
  if (cpu === undefined) return ""
  const shown = [cpu.sdk, cpu.ours, cpu.limit].map((_) => _ === undefined ? "-" : number(middle(line, _)))
  return `${shown.join(" / ")} ${line.unit}`
}

const isMet = (line: Line, target: Target | Ceiling): boolean => {
  if ("most" in target) return middle(line, line.values.ours) <= target.most
  const compared = compare(line, "ours", target.against)
  if (compared === undefined) {
    throw new Error(`"${line.title}" has a target against ${target.against}, which is missing`)
  }
  return line.shows === "rate" ? compared.median >= target.bound : compared.median <= target.bound
}

const showTarget = (line: Line, target: Target | Ceiling): string =>
  "most" in target
    ? `<= ${target.most} ${line.unit}`
    : `${line.shows === "rate" ? ">=" : "<="} ${target.bound} ${target.against}`

const verdict = (line: Line): string =>
  line.targets.length === 0 ? "" : line.targets.map((_) => isMet(line, _) ? "yes" : "NO").join(", ")

interface Column {
  readonly header: string
  readonly cell: (line: Line) => string
}

const comparison = (header: string, a: Who, b: Who): Column => ({
  header,
  cell: (line) => {
    const compared = compare(line, a, b)
    return compared === undefined ? "" : showSpread(compared)
  }
})

const absolutes = (header: string, who: Who): Column => ({ header, cell: (line) => absolute(line, line.values[who]) })

const columns: ReadonlyArray<Column> = [
  { header: "", cell: (line) => `${line.title} [${line.shows}]` },
  comparison("ours/SDK", "ours", "sdk"),
  comparison("ours/limit", "ours", "limit"),
  comparison("limit/SDK", "limit", "sdk"),
  comparison("ours/cold", "ours", "cold"),
  comparison("ours/base", "ours", "base"),
  absolutes("SDK", "sdk"),
  absolutes("ours", "ours"),
  absolutes("limit", "limit"),
  absolutes("cold", "cold"),
  absolutes("base", "base"),
  { header: "CPU SDK / ours / limit", cell: cpuOf },
  { header: "target", cell: (line) => line.targets.map((_) => showTarget(line, _)).join(", ") },
  { header: "met", cell: verdict }
]

/** Whether every target was met. */
export const allMet = (lines: ReadonlyArray<Line>): boolean =>
  lines.every((line) => line.targets.every((target) => isMet(line, target)))

/** Columns in which nothing would stand are left out. */
export const render = (lines: ReadonlyArray<Line>): string => {
  const filled = columns
    .map(({ cell, header }) => ({ header, cells: lines.map(cell) }))
    .filter(({ cells }) => cells.some((_) => _ !== ""))
    .map(({ cells, header }) => [header, ...cells])
  const widths = filled.map((column) => Math.max(...column.map((_) => _.length)))
  return ["", ...lines].map((_, row) =>
    filled.map((column, at) => at === 0 ? column[row]!.padEnd(widths[at]!) : column[row]!.padStart(widths[at]!)).join(
      "  "
    )
      .trimEnd()
  ).join("\n")
}
