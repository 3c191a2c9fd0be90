/**
 * What a misspelt word was meant to be.
 *
 * Owns: how far a word may be from a known one.
 */

/** The known word that is closest, if one is close. */
export const closest = (word: string, known: Iterable<string>): string | undefined => {
  if (word.length > 64) return undefined
  const plain = simplified(word)
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = distanceOf(plain, simplified(candidate))
    if (distance <= tolerance(candidate) && distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** `working_directory`, `working-directory` and `workingDirectory` are one word. */
const simplified = (word: string): string => word.toLowerCase().replace(/[\s_-]/g, "")

const tolerance = (word: string): number => word.length <= 3 ? 1 : word.length <= 8 ? 2 : 3

/** How many letters must be put in, left out, changed, or swapped with their neighbour. */
const distanceOf = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  let last = row
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? last[j - 2]! + 1 : Infinity
      next.push(Math.min(changed, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    ;[last, row] = [row, next]
  }
  return row[b.length]!
}
