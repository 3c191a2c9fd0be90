/**
 * Assertions that work with and without a test runner, and stay quick where values are large.
 */
import { inspect, isDeepStrictEqual } from "node:util"

/** What must hold does not. */
export class Violated extends Error {
  override readonly name = "Violated"
}

export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Violated(otherwise)
}

export const same = (actual: unknown, expected: unknown, what: string): void => {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new Violated(`${what}: it is ${shown(actual)}, not ${shown(expected)}`)
  }
}

const shown = (value: unknown): string => {
  const text = inspect(value, { depth: 4, maxArrayLength: 20, maxStringLength: 200, breakLength: 120 })
  return text.length > 1500 ? `${text.slice(0, 1500)}...` : text
}
