/**
 * The two passes of a validation: a quick one that ends at the first problem, and, only if there is one, another that
 * collects them.
 *
 * Owns: that every answer is one of three, whatever the value is made of.
 */
import type { Options, Validation } from "../../JsonSchema.js"
import type { Compiled } from "./compiler.js"
import { Problems } from "./problems.js"
import { Run } from "./run.js"
import { Invalid, Valid } from "./verdict.js"

const defaultSteps = 1_000_000

/** Each schema takes three frames of the stack, of which there is room for several times as many. */
const maxDepth = 800

const valid: Validation = Object.freeze({ _tag: "Valid" })

export const validate = ({ root }: Compiled, value: unknown, options: Options | undefined): Validation => {
  const steps = options?.steps ?? defaultSteps
  try {
    const run = new Run(steps, maxDepth, undefined)
    const verdict = root.apply(value, run)
    if (verdict === Valid) return valid
    if (verdict !== Invalid) return { _tag: "Unknown", reason: run.reason ?? "it takes too many steps" }
  } catch {
    // A value that is not of JSON, such as one with getters of its own, or a caller that has used up the stack.
    return { _tag: "Unknown", reason: "the value can't be read" }
  }
  return { _tag: "Invalid", problems: problemsOf(root, value, steps) }
}

const problemsOf = (root: Compiled["root"], value: unknown, steps: number) => {
  const problems = new Problems()
  try {
    root.apply(value, new Run(steps, maxDepth, problems))
  } catch {
    // It is invalid all the same, and some problems may be known.
  }
  if (problems.list.length === 0) problems.add([], "does not fit the schema")
  return problems.list
}
