/**
 * Medians and quartiles of small samples.
 */

/** The middle of a sample and the quarter on each side of it. */
export interface Spread {
  readonly low: number
  readonly median: number
  readonly high: number
}

const quantile = (sorted: ReadonlyArray<number>, q: number): number => {
  const at = (sorted.length - 1) * q
  const below = Math.floor(at)
  const lower = sorted[below]!
  const upper = sorted[Math.min(below + 1, sorted.length - 1)]!
  return lower + (upper - lower) * (at - below)
}

export const spread = (values: ReadonlyArray<number>): Spread => {
  const sorted = [...values].sort((a, b) => a - b)
  return { low: quantile(sorted, 0.25), median: quantile(sorted, 0.5), high: quantile(sorted, 0.75) }
}

export const median = (values: ReadonlyArray<number>): number => spread(values).median

/**
 * The spread of `a[i] / b[i]`. The two of a pair were measured one right after the other, so what slowed the machine down
 * slowed both.
 */
export const ratio = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): Spread =>
  spread(a.map((value, i) => value / b[i]!))
