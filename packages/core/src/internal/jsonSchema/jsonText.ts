/**
 * A text that is the same for values that JSON Schema holds to be equal, and for no others.
 *
 * Owns: equality of JSON values. A text rather than a hash, so that no two values can be made to collide.
 */
import type { Budget } from "./pattern/match.js"

const maxDepth = 256

/** Nothing where the value is nested too deeply, or where the budget does not last. */
export const jsonText = (value: unknown, budget: Budget = { steps: Infinity }): string | undefined => {
  const text = textOf(value, maxDepth, budget)
  return budget.steps < 0 ? undefined : text
}

const textOf = (value: unknown, depth: number, budget: Budget): string | undefined => {
  if (--budget.steps < 0 || depth === 0) return undefined
  if (typeof value === "string") {
    budget.steps -= value.length >> 4
    return JSON.stringify(value)
  }
  // Minus zero is zero.
  if (typeof value !== "object" || value === null) return String(value === 0 ? 0 : value)
  budget.steps -= 8
  return Array.isArray(value) ? textOfList(value, depth, budget) : textOfObject(value, depth, budget)
}

const textOfList = (list: ReadonlyArray<unknown>, depth: number, budget: Budget): string | undefined => {
  const texts: Array<string> = []
  for (const item of list) {
    const text = textOf(item, depth - 1, budget)
    if (text === undefined) return undefined
    texts.push(text)
  }
  return `[${texts.join(",")}]`
}

const textOfObject = (object: object, depth: number, budget: Budget): string | undefined => {
  const texts: Array<string> = []
  for (const key of Object.keys(object).sort()) {
    const item = (object as Record<string, unknown>)[key]
    if (item === undefined) continue
    const text = textOf(item, depth - 1, budget)
    if (text === undefined) return undefined
    texts.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${texts.join(",")}}`
}
