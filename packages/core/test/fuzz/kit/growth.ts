/**
 * Whether time grows with an input in proportion, or with its square.
 *
 * Owns: a comparison of two sizes in the same run, so that no absolute time matters. Eight times the input costs eight times
 * the time where it is in proportion, and 64 times with the square; what is between is judged generously.
 */

export interface Growth {
  readonly name: string
  /** An input of this size. Making it is not measured. */
  readonly run: (size: number) => () => unknown
  /** The first size that is tried; it is doubled until it takes a while. */
  readonly from: number
  /** Where a bound of what is fuzzed would be met, so that larger inputs mean nothing. */
  readonly most?: number | undefined
}

export interface Grown {
  readonly name: string
  readonly size: number
  /** Of eight times the size, to the time of the size. */
  readonly ratio: number
  readonly isFine: boolean
}

const factor = 8
/** The square would be 64. */
const worst = 32
const longEnough = 3
const attempts = 3

export const grow = ({ from, most = 1 << 22, name, run }: Growth): Grown => {
  let size = from
  while (size * factor * 2 <= most && timeOf(run(size), 3) < longEnough) size *= 2
  let ratio = Number.POSITIVE_INFINITY
  for (let i = 0; i < attempts && ratio > worst; i++) {
    const small = Math.max(timeOf(run(size), 5), 0.05)
    ratio = Math.min(ratio, timeOf(run(size * factor), 5) / small)
  }
  return { name, size, ratio, isFine: ratio <= worst }
}

/** Of the processor, in milliseconds. The best of some, since other programs can only make it slower. */
const timeOf = (work: () => unknown, times: number): number => {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const before = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(before)
    best = Math.min(best, (system + user) / 1000)
  }
  return best
}
