/**
 * Lists of patterns as someone wrote them.
 *
 * Owns: what is wrong with them, in words of what to do.
 * May not touch: what they match.
 */
import * as McpError from "../../McpError.js"

/** The list as it stands, or nothing where something in it is wrong. */
export const check = (
  field: string,
  value: unknown,
  problems: Array<McpError.ConfigProblem>
): ReadonlyArray<string> | undefined => {
  if (!Array.isArray(value)) {
    problems.push({ field, problem: "must be a list of tool names" })
    return undefined
  }
  const before = problems.length
  // Not `forEach`, which passes over holes.
  for (let i = 0; i < value.length; i++) {
    const problem = problemOf(value[i])
    if (problem !== undefined) problems.push({ field: `${field}[${i}]`, problem })
  }
  return problems.length === before ? [...value as ReadonlyArray<string>] : undefined
}

/** What is wrong with one pattern. */
export const problemOf = (pattern: unknown): string | undefined =>
  typeof pattern !== "string" ? "must be a text" : pattern === "" ? "must not be empty" : undefined

/** One problem for each field that does not exist. */
export const checkFields = (
  value: object,
  known: ReadonlyArray<string>,
  problems: Array<McpError.ConfigProblem>
): void => {
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) {
      problems.push({ field: McpError.displayText(field, 64), problem: "is not a known field" })
    }
  }
}

/** Not a list, and no `Map` or other instance, whose fields are not what it holds. */
export const isPlainObject = (u: unknown): u is Readonly<Record<string, unknown>> => {
  if (typeof u !== "object" || u === null) return false
  const prototype: unknown = Object.getPrototypeOf(u)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

export const invalid = (owner: string, problems: ReadonlyArray<McpError.ConfigProblem>): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({ server: owner, operation: "configure", executed: "no", problems })
