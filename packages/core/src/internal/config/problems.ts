/**
 * What a failed decoding means to the person who wrote the configuration.
 *
 * Owns: one problem per field, in words of what to do.
 * May not touch: the values that were found; they may be secrets.
 */
import type * as ParseResult from "effect/ParseResult"
import type * as SchemaAST from "effect/SchemaAST"
import * as McpError from "../../McpError.js"

/** One problem per field, in the words of the schemas' own messages, without the value that was found. */
export const problemsOf = (error: ParseResult.ParseError): ReadonlyArray<McpError.ConfigProblem> => {
  const problems = new Map<string, string>()
  for (const issue of collect(error.issue, [])) {
    const field = issue.path.length === 0
      ? "(root)"
      : issue.path.map((_) => McpError.displayText(String(_), 64)).join(".")
    if (!problems.has(field)) problems.set(field, issue.problem)
  }
  return [...problems].map(([field, problem]) => ({ field, problem }))
}

interface FieldIssue {
  readonly path: ReadonlyArray<PropertyKey>
  readonly problem: string
}

const collect = (issue: ParseResult.ParseIssue, path: ReadonlyArray<PropertyKey>): ReadonlyArray<FieldIssue> => {
  switch (issue._tag) {
    case "Pointer":
      return collect(issue.issue, path.concat(issue.path as PropertyKey | ReadonlyArray<PropertyKey>))
    case "Composite": {
      const issues = (Array.isArray(issue.issues) ? issue.issues : [issue.issues]) as ReadonlyArray<
        ParseResult.ParseIssue
      >
      if (issue.ast._tag === "Union") return alternatives(issues, path)
      return issues.flatMap((_) => collect(_, path))
    }
    case "Refinement":
    case "Transformation":
      return issue._tag === "Refinement" && issue.kind === "Predicate" && issue.issue._tag === "Type"
        ? [{ path, problem: issue.issue.message ?? messageOf(issue) ?? "has the wrong value" }]
        : collect(issue.issue, path)
    case "Missing":
      return [{ path, problem: "is missing" }]
    case "Unexpected":
      return [{ path, problem: "is not a known field" }]
    case "Forbidden":
      return [{ path, problem: "is not allowed here" }]
    case "Type":
      return [{ path, problem: issue.message ?? messageOf(issue) ?? `must be ${describe(issue.ast)}` }]
  }
}

/** What is wrong inside an alternative says more than that it is not the other one. */
const alternatives = (
  issues: ReadonlyArray<ParseResult.ParseIssue>,
  path: ReadonlyArray<PropertyKey>
): ReadonlyArray<FieldIssue> => {
  const found = issues.filter((_) => !(_._tag === "Type" && _.ast._tag === "UndefinedKeyword"))
    .map((_) => collect(_, path))
  const inside = found.flat().filter((_) => _.path.length > path.length)
  if (inside.length > 0) return inside
  const problems = [...new Set(found.flat().map((_) => _.problem))]
  const exact = problems.find((_) => !_.startsWith("must be "))
  const mustBe = problems.map((_) => _.replace(/^must be (one of )?/, ""))
  return [{ path, problem: exact ?? (problems.length === 1 ? problems[0]! : `must be ${list(mustBe)}`) }]
}

const list = (words: ReadonlyArray<string>): string =>
  words.length <= 2 ? words.join(" or ") : `one of ${words.join(", ")}`

const messageOf = (issue: ParseResult.ParseIssue): string | undefined => {
  if (!("ast" in issue)) return undefined
  const annotation = issue.ast.annotations[Symbol.for("effect/annotation/Message")]
  if (typeof annotation !== "function") return undefined
  const message: unknown = (annotation as (issue: ParseResult.ParseIssue) => unknown)(issue)
  return typeof message === "string" ? message : undefined
}

const describe = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "Literal":
      return typeof ast.literal === "string" ? `"${ast.literal}"` : String(ast.literal)
    case "StringKeyword":
      return "a text"
    case "NumberKeyword":
      return "a number"
    case "BooleanKeyword":
      return "true or false"
    case "TupleType":
      return "a list"
    case "TypeLiteral":
      return "an object"
    case "Refinement":
      return describe(ast.from)
    case "Union":
      return list(ast.types.map(describe))
    default:
      return "of another kind"
  }
}
