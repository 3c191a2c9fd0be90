/**
 * What the values of a line say: who is how many times as good as whom, whether targets were met, and where a peer is ahead.
 *
 * Owns: ratios and judgements. May not touch: how they are shown.
 */
import type { Ceiling, Line, Subject, Target } from "../row.js"
import { median, ratio, type Spread } from "../stats.js"
import { isPeer, type Peer } from "../who.js"

/** How many times as fast, or as small, `a` is as `b`; more is better for `a`. */
export const timesAsGood = ({ values }: Line, a: Subject, b: Subject): Spread | undefined => {
  const [ofA, ofB] = [values[a], values[b]]
  if (ofA === undefined || ofB === undefined || ofA.length === 0) return undefined
  const found = ratio(ofB, ofA)
  // What is nothing, or too little to be measured, can't be compared.
  return Number.isFinite(found.low + found.median + found.high) && found.median > 0 ? found : undefined
}

/** In the unit in which it is shown. */
export const inUnit = ({ unit }: Line, value: number): number => unit === "ms" ? value / 1000 : value

export interface Judged {
  readonly of: Subject
  readonly wanted: string
  /** `undefined` where it was not measured. */
  readonly measured: number | undefined
  readonly met: boolean
}

const judgeCeiling = (line: Line, { most, of = "ours" }: Ceiling): Judged => {
  const values = line.values[of]
  const measured = values === undefined ? undefined : inUnit(line, median(values))
  return { of, wanted: `<= ${most} ${line.unit}`, measured, met: measured !== undefined && measured <= most }
}

const judgeTarget = (line: Line, { against, bound, of = "ours" }: Target): Judged => {
  const rate = line.shows === "rate"
  const wanted = `${rate ? ">=" : "<="} ${bound} of ${against}`
  const found = rate ? timesAsGood(line, of, against) : timesAsGood(line, against, of)
  const measured = found?.median
  return { of, wanted, measured, met: measured !== undefined && (rate ? measured >= bound : measured <= bound) }
}

/** What was wanted of a line, and whether it was met. What could not be measured was not. */
export const judge = (line: Line): ReadonlyArray<Judged> =>
  line.targets.map((target) => "most" in target ? judgeCeiling(line, target) : judgeTarget(line, target))

/** Whether every target was met. */
export const allMet = (lines: ReadonlyArray<Line>): boolean => lines.every((line) => judge(line).every((_) => _.met))

/** Those of ours that stand beside others. */
export type Ours = "connection" | "toolset"

export type Other = Peer | "sdk"

export interface Ahead {
  readonly line: Line
  readonly other: Other
  readonly ours: Ours
  /** How many times as good the other is. */
  readonly times: Spread
}

/** Less than this is not told from noise, however narrow the quartiles are. */
const noise = 1.03

const isOther = (subject: string): subject is Other => subject === "sdk" || isPeer(subject)

/** Where another client is ahead of one of ours by more than noise: in three of four rounds, and in the median by 3 %. */
export const aheadIn = (line: Line): ReadonlyArray<Ahead> => {
  const found: Array<Ahead> = []
  for (const other of Object.keys(line.values).filter(isOther)) {
    for (const ours of ["connection", "toolset"] as const) {
      const times = timesAsGood(line, other, ours)
      if (times !== undefined && times.low > 1 && times.median >= noise) found.push({ line, other, ours, times })
    }
  }
  return found
}

/** Lines in which others stand beside ours; the rest compares ours with itself or with one other in the same process. */
export const hasOthers = ({ values }: Line): boolean => values.connection !== undefined || values.toolset !== undefined
