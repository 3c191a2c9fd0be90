/**
 * Times as they are typed.
 */
import * as Either from "effect/Either"
import { type Failure, usage } from "../exit.js"
import { oneLine } from "../output/text.js"

const units: ReadonlyMap<string, number> = new Map([["", 1], ["ms", 1], ["s", 1000], ["m", 60_000], ["h", 3_600_000]])

/** In milliseconds, 0 for no bound. */
export const millis = (option: string, text: string): Either.Either<number, Failure> => {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(text.trim()) ?? []
  const result = Number(digits) * (units.get(unit) ?? Number.NaN)
  return Number.isFinite(result) && result <= 2 ** 31 - 1
    ? Either.right(Math.ceil(result))
    : Either.left(usage(`--${option} does not understand "${oneLine(text.slice(0, 40))}"`, [
      `Write a time: --${option} 5000 (milliseconds), --${option} 5s, --${option} 2m, or 0 for no bound.`
    ]))
}
