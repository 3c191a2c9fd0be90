/**
 * What a row of the table is: measurements of each contender, side by side, and what we want of them.
 *
 * Owns: the contract between rows, the measuring and the table. May not touch: how anything is measured or shown.
 */
import type { Contender } from "./clients/client.js"
import type { Options } from "./options.js"

/**
 * What stands side by side: the contenders, ourselves where nothing is stored of an earlier run, and what else of our own the
 * title of a line names.
 */
export type Compared = Contender | "cold" | "base"

/** What is wanted of the ratio of ours to another: `atLeast` for rates, `atMost` for what should be small. */
export interface Target {
  readonly against: Exclude<Compared, "ours">
  readonly bound: number
}

/** What is wanted of ours alone, in the unit of the line. */
export interface Ceiling {
  readonly most: number
}

/**
 * The values of those who took part, by round; smaller is better. The first value of one belongs to the first of the others.
 */
export type Values =
  & { readonly ours: ReadonlyArray<number> }
  & {
    readonly [C in Exclude<Compared, "ours">]?: ReadonlyArray<number>
  }

export interface Line {
  readonly title: string
  /** Times are kept in microseconds, whatever they are shown in. */
  readonly unit: "us" | "ms" | "KB" | "MB"
  /** Ratios are shown as `rate` (how many times as fast, more is better) or as `cost` (how much of it, less is better). */
  readonly shows: "rate" | "cost"
  readonly targets: ReadonlyArray<Target | Ceiling>
  readonly values: Values
  /** CPU time of the process that measures, where that means something. */
  readonly cpu?: Values
}

export interface Row {
  readonly name: string
  readonly run: (options: Options) => Promise<ReadonlyArray<Line>>
}
