/**
 * Approval by the names of tools.
 *
 * Owns: what is wrong with such rules, and which rule holds for a name.
 * May not touch: calls.
 *
 * A name that is written out says more than a pattern; of patterns, and among them, the one that asks for approval holds.
 */
import * as Either from "effect/Either"
import * as McpError from "../../McpError.js"
import * as NameMatcher from "./nameMatcher.js"
import * as PatternList from "./patternList.js"

/** Whether calls of a tool with this name need approval; nothing where no rule is for it. */
export type Rules = (name: string) => boolean | undefined

/** Either one is a list: these are lists, and not the rules for two tools with these names. */
export const areLists = (input: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(input.always) || Array.isArray(input.never)

export const fromLists = (
  input: Readonly<Record<string, unknown>>
): Either.Either<Rules, ReadonlyArray<McpError.ConfigProblem>> => {
  const problems: Array<McpError.ConfigProblem> = []
  PatternList.checkFields(input, ["always", "never"], problems)
  const list = (field: "always" | "never") =>
    input[field] === undefined ? [] : PatternList.check(field, input[field], problems) ?? []
  const [always, never] = [list("always"), list("never")]
  const asked = new Set(always)
  for (const [i, name] of never.entries()) {
    if (asked.has(name)) problems.push({ field: `never[${i}]`, problem: "is in the list \"always\" too" })
  }
  return problems.length > 0 ? Either.left(problems) : Either.right(fromNames(always, never))
}

export const fromMap = (
  input: Readonly<Record<string, unknown>>
): Either.Either<Rules, ReadonlyArray<McpError.ConfigProblem>> => {
  const problems: Array<McpError.ConfigProblem> = []
  const always: Array<string> = []
  const never: Array<string> = []
  for (const [name, rule] of Object.entries(input)) {
    const problem = PatternList.problemOf(name)
    if (problem !== undefined) problems.push({ field: "(a name)", problem })
    else if (rule === "always" || rule === true) always.push(name)
    else if (rule === "never" || rule === false) never.push(name)
    else {problems.push({
        field: McpError.displayText(name, 64),
        problem: "must be \"always\", \"never\", true or false"
      })}
  }
  return problems.length > 0 ? Either.left(problems) : Either.right(fromNames(always, never))
}

const fromNames = (always: ReadonlyArray<string>, never: ReadonlyArray<string>): Rules => {
  const named = new Map<string, boolean>()
  for (const name of always) if (!NameMatcher.isGlob(name)) named.set(name, true)
  for (const name of never) if (!NameMatcher.isGlob(name)) named.set(name, false)
  const asked = NameMatcher.make(always.filter(NameMatcher.isGlob))
  const free = NameMatcher.make(never.filter(NameMatcher.isGlob))
  return (name) => named.get(name) ?? (asked.has(name) ? true : free.has(name) ? false : undefined)
}
