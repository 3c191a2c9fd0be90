/**
 * Which names a list of patterns means.
 *
 * Owns: what `*` and `?` mean, and that a name from outside can't make the search for it long.
 * May not touch: tools.
 *
 * `*` stands for any characters or none, `?` for one, and everything else for itself.
 */

export interface NameMatcher {
  readonly has: (name: string) => boolean
}

export const nothing: NameMatcher = { has: () => false }

/** Patterns without wildcards cost one look-up together, the others up to one search each. */
export const make = (patterns: ReadonlyArray<string>): NameMatcher => {
  const exact = new Set<string>()
  const globs: Array<(name: string) => boolean> = []
  for (const pattern of new Set(patterns)) {
    if (isGlob(pattern)) globs.push(glob(pattern))
    else exact.add(pattern)
  }
  if (globs.length === 0) return exact
  return {
    has: (name) => {
      if (exact.has(name)) return true
      for (let i = 0; i < globs.length; i++) if (globs[i]!(name)) return true
      return false
    }
  }
}

export const isGlob = (pattern: string): boolean => pattern.includes("*") || pattern.includes("?")

export const glob = (pattern: string): (name: string) => boolean => {
  const parts = pattern.split("*")
  if (!pattern.includes("?")) {
    const [head, tail] = [parts[0]!, parts.at(-1)!]
    const middle = parts.slice(1, -1).filter((_) => _ !== "")
    return (name) => isInOrder(name, head, middle, tail)
  }
  const wanted = characters(pattern.replace(/\*+/g, "*"))
  return (name) => isLike(isPlain(name) ? name : characters(name), wanted)
}

/** Each part is taken where it is found first, which leaves most for those that follow. Nothing is ever tried again. */
const isInOrder = (name: string, head: string, middle: ReadonlyArray<string>, tail: string): boolean => {
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  const end = name.length - tail.length
  let at = head.length
  for (let i = 0; i < middle.length; i++) {
    const found = name.indexOf(middle[i]!, at)
    if (found === -1) return false
    at = found + middle[i]!.length
  }
  return at <= end
}

/**
 * Only the last `*` is ever given more, because what those before it have taken can't be too little. So it takes at most
 * as many steps as the name is long, times the part of the pattern after a `*`.
 */
const isLike = (name: ArrayLike<string>, pattern: ReadonlyArray<string>): boolean => {
  let [at, in_, star, from] = [0, 0, -1, 0]
  while (at < name.length) {
    const one = pattern[in_]
    if (one === "*") {
      star = in_++
      from = at
    } else if (one === "?" || (one !== undefined && one === name[at])) {
      at++
      in_++
    } else if (star !== -1) {
      at = ++from
      in_ = star + 1
    } else return false
  }
  while (pattern[in_] === "*") in_++
  return in_ === pattern.length
}

/** Whether each character is one code unit. */
const isPlain = (text: string): boolean => !/[\ud800-\udbff]/.test(text)

const characters = (text: string): ReadonlyArray<string> => Array.from(text)
