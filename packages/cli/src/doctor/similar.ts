/**
 * Which of some names a person may have meant.
 *
 * Owns: the distance between two names, and what counts as close.
 * May not touch: where the names come from.
 */

const most = 3
const longest = 128

/**
 * The names that are close to what was written, the closest first, three at most: a letter missing, added, wrong or swapped for
 * each three letters, another spelling (`readFile`, `read_file`), or the same word at its beginning or end.
 */
export const similar = (written: string, names: Iterable<string>): ReadonlyArray<string> => {
  const wanted = plain(written)
  if (wanted === "" || wanted.length > longest) return []
  const found: Array<readonly [distance: number, name: string]> = []
  for (const name of names) {
    const distance = distanceOf(wanted, plain(name))
    if (distance !== undefined) found.push([distance, name])
  }
  return found.sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)).slice(0, most).map(([, name]) => name)
}

const plain = (name: string): string => name.toLowerCase().replace(/[\s_.:/-]+/g, "")

const distanceOf = (wanted: string, name: string): number | undefined => {
  if (name === "" || name.length > longest) return undefined
  if (wanted.length >= 3 && name.length >= 3 && partOf(wanted, name)) {
    return Math.min(1, Math.abs(wanted.length - name.length))
  }
  const allowed = Math.max(1, Math.floor(wanted.length / 3))
  if (Math.abs(wanted.length - name.length) > allowed) return undefined
  const distance = edits(wanted, name)
  return distance <= allowed && distance < wanted.length ? distance : undefined
}

const partOf = (a: string, b: string): boolean => a.endsWith(b) || b.endsWith(a) || a.startsWith(b) || b.startsWith(a)

/** Insertions, deletions, replacements and swaps of neighbours. */
const edits = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
