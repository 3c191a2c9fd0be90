/**
 * What a row of the table is: measurements of those who took part, side by side, and what we want of them.
 *
 * Owns: the contract between rows, the measuring and the report. May not touch: how anything is measured or shown.
 */
import type { Options } from "./options.js"
import type { Who } from "./who.js"

/**
 * What stands side by side: who is measured; `ours` where the title says which of our ways it is; ourselves where nothing is
 * stored of an earlier run; and what else of our own the title names.
 */
export type Subject = Who | "ours" | "cold" | "base"

/** What is wanted of the ratio of one to another: `atLeast` for rates, `atMost` for what should be small. */
export interface Target {
  /** Where nobody is named, `ours`. */
  readonly of?: Subject
  readonly against: Subject
  readonly bound: number
}

/** What is wanted of one alone, in the unit of the line. */
export interface Ceiling {
  readonly of?: Subject
  readonly most: number
}

/** The values of those who took part, by round; smaller is better. Values of one round belong together. */
export type Values = { readonly [S in Subject]?: ReadonlyArray<number> }

/** Why somebody has no values. */
export type Failures = { readonly [S in Subject]?: string }

export interface Line {
  readonly title: string
  /** Times are kept in microseconds, whatever they are shown in. */
  readonly unit: "us" | "ms" | "KB" | "MB"
  /** Targets are about a `rate` (how many times as fast, more is better) or a `cost` (how much of it, less is better). */
  readonly shows: "rate" | "cost"
  readonly targets: ReadonlyArray<Target | Ceiling>
  readonly values: Values
  /** CPU time of the process that measures, where that means something. */
  readonly cpu?: Values
  readonly failures?: Failures
  /** What has to be known to read the line. */
  readonly notes?: ReadonlyArray<string>
}

export interface Row {
  readonly name: string
  readonly run: (options: Options) => Promise<ReadonlyArray<Line>>
}
