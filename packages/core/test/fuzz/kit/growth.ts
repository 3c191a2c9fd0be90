/**
 * Whether time grows with an input in proportion, or with its square.
 *
 * Owns: a comparison of two sizes in the same run, so that no absolute time matters. Eight times the input costs eight times
 * the time where it is in proportion, and 64 times with the square. What is between may be noise, or a square that does not
 * show yet beside what each input costs anyway: larger sizes tell.
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
/** As in proportion as it gets on a busy machine. */
const calm = 14
/** The square would be 64. */
const worst = 32
const longEnough = 3
/** Of processor, for the larger of two sizes: what has not shown by then, is none. */
const longest = 2000
const attempts = 4

export const grow = ({ from, most = 1 << 22, name, run }: Growth): Grown => {
  let size = from
  const isLast = () => size * factor * 2 > most
  while (!isLast() && timeOf(run(size), 3) < longEnough) size *= 2
  for (;;) {
    const { large, ratio } = compared(run, size)
    if (ratio <= calm || ratio > worst || isLast() || large > longest) {
      return { name, size, ratio, isFine: ratio <= worst }
    }
    size *= 2
  }
}

/** The least of several comparisons, until one is calm. */
const compared = (run: Growth["run"], size: number): { readonly large: number; readonly ratio: number } => {
  let best = { large: 0, ratio: Number.POSITIVE_INFINITY }
  for (let i = 0; i < attempts && best.ratio > calm; i++) {
    const small = Math.max(timeOf(run(size), 5), 0.05)
    const large = timeOf(run(size * factor), 5)
    if (large / small < best.ratio) best = { large, ratio: large / small }
    if (best.ratio > worst && large > longest) break
  }
  return best
}

const plenty = 300

/** Of the processor, in milliseconds. The best of some, since other programs can only make it slower. */
const timeOf = (work: () => unknown, times: number): number => {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const before = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(before)
    best = Math.min(best, (system + user) / 1000)
    // What takes that long is measured well enough by one more.
    if (best > plenty && i > 0) break
  }
  return best
}
