/**
 * The patterns of schemas: read once, then matched in bounded time.
 *
 * Owns: which patterns are decided, and that no text or pattern can hold up the event loop.
 * May not touch: schemas.
 */
import { sizeIfHarmless } from "./harmless.js"
import { type Budget, matches } from "./match.js"
import { parse, Refused, type Tree } from "./parse.js"
import { compile } from "./program.js"

export interface Pattern {
  /** Whether it is found anywhere in the text. Nothing where the budget does not last. */
  readonly test: (text: string, budget: Budget) => boolean | undefined
}

const maxLength = 10_000

/** The pattern, or why it can't be decided. Reading it is paid for as well. */
export const make = (source: string, budget: Budget): Pattern | string => {
  if (source.length > maxLength) return "it is too long"
  budget.steps -= source.length
  try {
    const tree = parse(source)
    return native(source, tree) ?? automaton(tree, budget)
  } catch (error) {
    return error instanceof Refused ? error.reason : "it can't be read"
  }
}

const automaton = (tree: Tree, budget: Budget): Pattern => {
  const compiled = compile(tree, budget)
  return { test: (text, budget) => matches(compiled, text, budget) }
}

const native = (source: string, tree: Tree): Pattern | undefined => {
  const size = sizeIfHarmless(tree)
  const expression = size === undefined ? undefined : expressionOf(source)
  if (size === undefined || expression === undefined) return undefined
  return {
    test: (text, budget) => {
      // It reads several characters in the time of a step.
      budget.steps -= 1 + ((text.length * size) >> 3)
      return budget.steps < 0 ? undefined : expression.test(text)
    }
  }
}

/** Nothing where we are more lenient than the runtime. */
const expressionOf = (source: string): RegExp | undefined => {
  try {
    return new RegExp(source, "u")
  } catch {
    return undefined
  }
}
