/**
 * Numbers as they are shown.
 */

const plain = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

/** A measured value: three digits say all there is. */
export const number = plain

/** A ratio. */
export const times = (value: number): string => value !== 0 && value < 0.1 ? value.toFixed(3) : plain(value)
