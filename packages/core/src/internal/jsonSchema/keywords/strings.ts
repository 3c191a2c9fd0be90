/**
 * `minLength`, `maxLength` and `pattern`. `format` says what a text means and is no condition.
 */
import type { Place } from "../compiler.js"
import { counted, quoted } from "../problems.js"
import type { Run } from "../run.js"
import { Valid } from "../verdict.js"
import { isCount } from "./counts.js"

export const addStrings = (place: Place): void => {
  const { node } = place
  const min = place.read("minLength", isCount, node.strings)
  const max = place.read("maxLength", isCount, node.strings)
  const source = place.read("pattern", isString, node.strings)
  if (min !== undefined) {
    const problem = `must have at least ${counted(min, "character", "characters")}`
    node.strings.push((value, run) => hasAtLeast(value, min, run) ? Valid : run.fail(problem))
  }
  if (max !== undefined) {
    const problem = `must have at most ${counted(max, "character", "characters")}`
    node.strings.push((value, run) => hasAtLeast(value, max + 1, run) ? run.fail(problem) : Valid)
  }
  if (source !== undefined) addPattern(place, source)
}

const addPattern = (place: Place, source: string): void => {
  const { strings } = place.node
  const pattern = place.pattern(source, "pattern")
  if (typeof pattern === "function") {
    strings.push(pattern)
    return
  }
  const problem = `must match the pattern ${quoted(source)}`
  strings.push((value, run) => {
    const matches = pattern.test(value, run)
    return matches === undefined ? run.unknown("a pattern takes too many steps") : matches ? Valid : run.fail(problem)
  })
}

/** A character is a code point, of which there are at least half as many as units. */
const hasAtLeast = (text: string, count: number, run: Run): boolean => {
  if (text.length < count) return false
  if (text.length >= 2 * count) return true
  run.steps -= text.length >> 3
  let pairs = 0
  for (let i = 0; i < text.length; i++) {
    if (text.codePointAt(i)! > 0xFFFF) {
      pairs++
      i++
    }
  }
  return text.length - pairs >= count
}

const isString = (u: unknown): u is string => typeof u === "string"
