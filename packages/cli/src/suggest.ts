/**
 * Which of some names a person may have meant. Bounded in time, whatever the names are.
 */
import { similar } from "./doctor/similar.js"

const most = 2000

/** The closest first, three at most. */
export const suggest = (written: string, names: Iterable<string>): ReadonlyArray<string> => {
  const unique = new Set<string>()
  for (const name of names) if (unique.add(name).size >= most) break
  return unique.has(written) ? [written] : similar(written, unique)
}

/** As something to do, or nothing. */
export const didYouMean = (
  written: string,
  names: Iterable<string>,
  show: (name: string) => string = (name) => name
): ReadonlyArray<string> => {
  const [first, ...others] = suggest(written, names).map(show)
  if (first === undefined) return []
  return [
    `Did you mean ${
      others.length === 0 ? first : `${[first, ...others.slice(0, -1)].join(", ")} or ${others[others.length - 1]}`
    }?`
  ]
}
