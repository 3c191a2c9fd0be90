/**
 * The three answers to "does this value fit?", and how they add up (Kleene's logic).
 *
 * A part of a schema that can't be decided answers `Unknown`. It makes the whole unknown only where it matters:
 *
 * | whole | is invalid | is valid | otherwise |
 * |---|---|---|---|
 * | all of several (also properties, items) | one is invalid | all are valid | unknown |
 * | `anyOf`, `contains` | all are invalid | one is valid | unknown |
 * | `oneOf` | two are valid, or all are invalid | one is valid and all others are invalid | unknown |
 * | `not` | it is valid | it is invalid | unknown |
 * | `if`, when its condition is unknown | both branches are invalid | both are valid | unknown |
 * | what is said of all other properties, while it is unknown which those are | never | it allows them all | unknown |
 */

export const Valid = 0
export const Invalid = 1
export const Unknown = 2

export type Verdict = typeof Valid | typeof Invalid | typeof Unknown

/** Both must be valid. */
export const both = (a: Verdict, b: Verdict): Verdict =>
  a === Invalid || b === Invalid ? Invalid : a === Unknown || b === Unknown ? Unknown : Valid

/** One must be valid. */
export const either = (a: Verdict, b: Verdict): Verdict =>
  a === Valid || b === Valid ? Valid : a === Unknown || b === Unknown ? Unknown : Invalid

export const opposite = (verdict: Verdict): Verdict =>
  verdict === Valid ? Invalid : verdict === Invalid ? Valid : Unknown

/** A verdict of something of which it is unknown whether it is asked at all: valid, or nobody knows. */
export const perhaps = (verdict: Verdict): Verdict => verdict === Valid ? Valid : Unknown
