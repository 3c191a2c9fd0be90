/**
 * `minimum`, `maximum`, their exclusive forms, and `multipleOf`.
 */
import type { Place } from "../compiler.js"
import { isMultipleOf } from "../decimal.js"
import { Valid } from "../verdict.js"

export const addNumbers = (place: Place): void => {
  const { node } = place
  // Draft 4 says with `true` that the plain form is exclusive, which in later ones can mean nothing else.
  const isAbove = place.schema.exclusiveMinimum === true
  const isBelow = place.schema.exclusiveMaximum === true
  const minimum = place.read("minimum", isNumber, node.numbers)
  const maximum = place.read("maximum", isNumber, node.numbers)
  const above = isAbove ? minimum : numberUnlessFalse(place, "exclusiveMinimum")
  const below = isBelow ? maximum : numberUnlessFalse(place, "exclusiveMaximum")
  if (minimum !== undefined && !isAbove) {
    const problem = `must be at least ${minimum}`
    node.numbers.push((value, run) => value >= minimum ? Valid : run.fail(problem))
  }
  if (maximum !== undefined && !isBelow) {
    const problem = `must be at most ${maximum}`
    node.numbers.push((value, run) => value <= maximum ? Valid : run.fail(problem))
  }
  if (above !== undefined) {
    const problem = `must be more than ${above}`
    node.numbers.push((value, run) => value > above ? Valid : run.fail(problem))
  }
  if (below !== undefined) {
    const problem = `must be less than ${below}`
    node.numbers.push((value, run) => value < below ? Valid : run.fail(problem))
  }
  addMultipleOf(place)
}

const numberUnlessFalse = (place: Place, keyword: string): number | undefined =>
  place.schema[keyword] === false ? undefined : place.read(keyword, isNumber, place.node.numbers)

/** What a division of decimal numbers costs. */
const stepsOfDivision = 50

const addMultipleOf = (place: Place): void => {
  const { node } = place
  const divisor = place.read("multipleOf", isPositive, node.numbers)
  if (divisor === undefined) return
  const problem = `must be a multiple of ${divisor}`
  const divides = isMultipleOf(divisor)
  const isWhole = Number.isSafeInteger(divisor)
  node.numbers.push((value, run) => {
    if (!run.spend(Number.isSafeInteger(value) && isWhole ? 1 : stepsOfDivision)) {
      return run.unknown("it takes too many steps")
    }
    return Number.isFinite(value) && divides(value) ? Valid : run.fail(problem)
  })
}

const isPositive = (u: unknown): u is number => isNumber(u) && u > 0

const isNumber = (u: unknown): u is number => typeof u === "number" && Number.isFinite(u)
