/**
 * The report as Markdown: ratios first, then where others are ahead, targets, and absolute values. Nothing is left out.
 */
import type { Line, Subject } from "../row.js"
import { spread } from "../stats.js"
import { everyone, isPeer, labels, type Who } from "../who.js"
import { type Ahead, aheadIn, hasOthers, inUnit, judge, timesAsGood } from "./compare.js"
import { type Facts, showFacts } from "./facts.js"
import { number, times } from "./numbers.js"
import { type Cells, table } from "./table.js"

/** Text from elsewhere, in one cell. */
const cell = (text: string): string => text.replace(/[\r\n]+/g, " ").replaceAll("|", "\\|").slice(0, 300)

const nameOf = (subject: Subject): string => subject in labels ? labels[subject as Who] : subject

/** In rows, the mark of one who is ahead of ours. */
const mark = "▲"

const ratiosOf = (lines: ReadonlyArray<Line>, columns: ReadonlyArray<Who>): string =>
  table(
    ["", ...columns.map((_) => labels[_])],
    lines.map((line) => {
      const ahead = new Set<Subject>(aheadIn(line).map((_) => _.other))
      return [
        line.title,
        ...columns.map((who) => {
          const compared = timesAsGood(line, who, "sdk")
          if (compared !== undefined) return times(compared.median) + (ahead.has(who) ? ` ${mark}` : "")
          return line.failures?.[who] === undefined ? "" : "failed"
        })
      ]
    })
  )

const showAhead = ({ line, other, ours, times: { high, low, median } }: Ahead): Cells => [
  line.title,
  labels[other],
  labels[ours],
  `${times(median)} (${times(low)}-${times(high)})`
]

const aheadTable = (lines: ReadonlyArray<Line>): string => {
  const ahead = lines.flatMap(aheadIn)
  return ahead.length === 0
    ? "Nowhere in this run."
    : table(["", "ahead", "of", "times as good"], ahead.map(showAhead))
}

const targetTable = (lines: ReadonlyArray<Line>): string =>
  table(
    ["", "of", "wanted", "measured", "met"],
    lines.flatMap((line) =>
      judge(line).map(({ measured, met, of, wanted }) => [
        line.title,
        nameOf(of),
        wanted,
        measured === undefined ? "not measured" : times(measured),
        met ? "yes" : "**no**"
      ])
    )
  )

const absolute = (line: Line, values: ReadonlyArray<number> | undefined): string => {
  if (values === undefined || values.length === 0) return ""
  const { high, low, median } = spread(values)
  const show = (value: number): string => number(inUnit(line, value))
  return `${show(median)} (${show(low)}-${show(high)})`
}

const roundsOf = ({ values }: Line): string => String(Math.max(0, ...Object.values(values).map((_) => _.length)))

const absolutes = (lines: ReadonlyArray<Line>, of: (line: Line) => Line["values"] | undefined): string => {
  const columns = everyone.filter((who) => lines.some((line) => of(line)?.[who] !== undefined))
  return table(
    ["", "unit", "rounds", ...columns.map((_) => labels[_])],
    lines.filter((line) => of(line) !== undefined).map((line) => [
      line.title,
      line.unit,
      roundsOf(line),
      ...columns.map((who) => absolute(line, of(line)?.[who]))
    ])
  )
}

const alone: ReadonlyArray<Subject> = ["sdk", "ours", "limit", "cold", "base"]

const ownTable = (lines: ReadonlyArray<Line>): string =>
  table(
    ["", "of SDK v1", "of cold", "of base", "unit", "rounds", ...alone.map(nameOf)],
    lines.map((line) => [
      line.title,
      ...(["sdk", "cold", "base"] as const).map((other) => {
        const compared = timesAsGood(line, "ours", other)
        return compared === undefined ? "" : times(compared.median)
      }),
      line.unit,
      roundsOf(line),
      ...alone.map((_) => absolute(line, line.values[_]))
    ])
  )

const remarks = (lines: ReadonlyArray<Line>): ReadonlyArray<string> => {
  const found = lines.flatMap((line) => [
    ...(line.notes ?? []).map((note) => `- ${line.title}: ${cell(note)}`),
    ...Object.entries(line.failures ?? {}).map(([who, why]) => `- ${line.title}: ${who} failed: ${cell(why ?? "")}`)
  ])
  return found.length === 0 ? ["None."] : [...new Set(found)]
}

const section = (title: string, ...paragraphs: ReadonlyArray<string>): string =>
  [`## ${title}`, ...paragraphs].join("\n\n")

export const markdown = (facts: Facts, lines: ReadonlyArray<Line>): string => {
  const beside = lines.filter(hasOthers)
  const own = lines.filter((_) => !hasOthers(_))
  const others = everyone.filter((who) => isPeer(who) || who === "connection" || who === "toolset" || who === "limit")
  const floors = everyone.filter((who) => !isPeer(who) && who !== "sdk")
  const sections = [
    "# Results",
    "Written by `npm run bench`; do not edit. [How to read and repeat this](README.md).",
    showFacts(facts),
    section(
      "Times as good as the raw SDK (v1)",
      "More is better: 2.00 is twice as fast, or half the time or memory. Medians of ratios within each round. " +
        `${mark}: ahead of our connection or toolset by more than noise.`,
      ratiosOf(beside, others)
    ),
    section("Where another client is ahead of ours", aheadTable(beside)),
    section("Our floors, times as good as the raw SDK (v1)", ratiosOf(beside, floors)),
    section("Targets", targetTable(lines)),
    section(
      "Ours in one process with the raw SDK",
      "More is better. cold: nothing stored of an earlier run. base: what else of ours the line names.",
      ownTable(own)
    ),
    section("Measured", "Medians, in brackets the quartiles; less is better.", absolutes(beside, (_) => _.values)),
    section(
      "CPU of the client's process",
      "Per operation, the garbage collector included.",
      absolutes(beside, (_) => _.cpu)
    ),
    section("Remarks", remarks(lines).join("\n"))
  ]
  return `${sections.join("\n\n")}\n`
}
