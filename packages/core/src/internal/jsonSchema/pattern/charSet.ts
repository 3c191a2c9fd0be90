/**
 * Sets of characters, as patterns name them: `a`, `.`, `\d`, `\p{L}`, `[^a-z]`.
 *
 * Owns: whether a code point belongs to a set.
 * May not touch: the text of patterns, and the text they are tried on.
 */

/** What a set is made of: ranges of code points, both ends included, and tests that know Unicode. */
export interface Members {
  readonly ranges: ReadonlyArray<readonly [from: number, to: number]>
  readonly tests: ReadonlyArray<RegExp>
}

export class CharSet {
  private readonly ascii = new Uint8Array(128)
  private readonly ranges: ReadonlyArray<readonly [number, number]>
  private readonly tests: ReadonlyArray<RegExp>

  constructor(members: Members, private readonly isNegated: boolean) {
    this.ranges = merged(members.ranges)
    this.tests = members.tests
    for (let code = 0; code < 128; code++) this.ascii[code] = this.decide(code) ? 1 : 0
  }

  has(code: number): boolean {
    return code < 128 ? this.ascii[code] === 1 : this.decide(code)
  }

  private decide(code: number): boolean {
    return (isWithin(this.ranges, code) || this.passes(code)) !== this.isNegated
  }

  private passes(code: number): boolean {
    if (this.tests.length === 0) return false
    const character = String.fromCodePoint(code)
    return this.tests.some((test) => test.test(character))
  }
}

const merged = (ranges: Members["ranges"]): Members["ranges"] => {
  const kept: Array<[number, number]> = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = kept[kept.length - 1]
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else kept.push([from, to])
  }
  return kept
}

const isWithin = (ranges: Members["ranges"], code: number): boolean => {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [from, to] = ranges[middle]!
    if (code < from) high = middle - 1
    else if (code > to) low = middle + 1
    else return true
  }
  return false
}

const lastCodePoint = 0x10FFFF

const complement = (ranges: Members["ranges"]): Members["ranges"] => {
  const kept: Array<readonly [number, number]> = []
  let next = 0
  for (const [from, to] of merged(ranges)) {
    if (from > next) kept.push([next, from - 1])
    next = to + 1
  }
  if (next <= lastCodePoint) kept.push([next, lastCodePoint])
  return kept
}

export const ofRanges = (...ranges: Members["ranges"]): Members => ({ ranges, tests: [] })

const digits = ofRanges([48, 57])
const words = ofRanges([48, 57], [65, 90], [95, 95], [97, 122])
const lineEnds = ofRanges([10, 10], [13, 13], [0x2028, 0x2029])
const spaces = ofRanges(
  [9, 13],
  [32, 32],
  [0xA0, 0xA0],
  [0x1680, 0x1680],
  [0x2000, 0x200A],
  [0x2028, 0x2029],
  [0x202F, 0x202F],
  [0x205F, 0x205F],
  [0x3000, 0x3000],
  [0xFEFF, 0xFEFF]
)

const others = (members: Members): Members => ofRanges(...complement(members.ranges))

/** What `\d`, `\D`, `\s`, `\S`, `\w` and `\W` stand for, by their letter. */
export const escapes: ReadonlyMap<string, Members> = new Map([
  ["d", digits],
  ["D", others(digits)],
  ["s", spaces],
  ["S", others(spaces)],
  ["w", words],
  ["W", others(words)]
])

/** What `.` stands for. */
export const anyButLineEnds: Members = others(lineEnds)

/**
 * What `\p{...}` or `\P{...}` stands for. The runtime's own regular expressions are asked, one character at a time: they
 * know Unicode, and on one character they can't be slow. Nothing where they don't know the property.
 */
export const ofProperty = (letter: "p" | "P", name: string): Members | undefined => {
  if (!/^[A-Za-z0-9_=]{1,64}$/.test(name)) return undefined
  try {
    return { ranges: [], tests: [new RegExp(`^\\${letter}{${name}}$`, "u")] }
  } catch {
    return undefined
  }
}

export const isWordCode = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
