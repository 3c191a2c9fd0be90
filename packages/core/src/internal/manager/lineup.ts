/**
 * Which servers an application has configured.
 *
 * Owns: their names and order, what is the same twice, and what can't be used.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Equal from "effect/Equal"
import * as Redacted from "effect/Redacted"
import * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import { owners } from "../errors/owners.js"
import { invalid } from "./settings.js"

/** One server, as it was configured: a configuration, or what is wrong with it. */
export interface Declared {
  readonly name: string
  readonly config: Either.Either<McpConfig.ServerConfig, McpError.ConfigInvalid>
  /** What was written. */
  readonly input: unknown
}

export const of = (inputs: unknown): Effect.Effect<ReadonlyArray<Declared>, McpError.ConfigInvalid> =>
  Effect.gen(function*() {
    if (!Array.isArray(inputs)) return yield* Effect.fail(invalid([{ field: "servers", problem: "must be a list" }]))
    const declared: Map<string, Declared> = new Map()
    const problems: Array<McpError.ConfigProblem> = []
    for (const [i, input] of inputs.entries()) {
      const server = yield* declare(input, i)
      const twin = declared.get(server.name)
      if (twin === undefined) declared.set(server.name, server)
      else if (!isSame(twin, server)) {
        const advice = isShort(input) ? `: give it one of its own, McpConfig.from(..., "name")` : ""
        problems.push({ field: `servers.${i}.name`, problem: `another server has the name "${server.name}"${advice}` })
      }
    }
    return problems.length === 0 ? [...declared.values()] : yield* Effect.fail(invalid(problems))
  })

/** Whether it says no name. */
const isShort = (input: unknown): boolean => McpConfig.from(input as McpConfig.Shorthand) !== input

const declare = (input: unknown, index: number): Effect.Effect<Declared> =>
  Effect.map(Effect.either(McpConfig.decode(input as McpConfig.Shorthand)), (decoded) => {
    if (Either.isRight(decoded)) return { name: decoded.right.name, config: decoded, input }
    // One without a name can be spoken of by its place.
    const shown = decoded.left.server.replace(/\s+/g, " ").trim()
    const name = shown === "" || shown === owners.unnamed ? `#${index + 1}` : shown
    const { executed, operation, problems } = decoded.left
    return {
      name,
      config: Either.left(new McpError.ConfigInvalid({ server: name, operation, executed, problems })),
      input
    }
  })

/** Whether nothing of it has changed, secrets included. */
export const isSame = (a: Declared, b: Declared): boolean =>
  Either.isRight(a.config) && Either.isRight(b.config)
    ? same(a.config.right, b.config.right, mostNested)
    : Either.isLeft(a.config) && Either.isLeft(b.config) && same(a.input, b.input, mostNested)

/** What is written by hand is not nested more deeply, unless it is cyclic. */
const mostNested = 32

const same = (a: unknown, b: unknown, depth: number): boolean => {
  if (Object.is(a, b)) return true
  if (depth === 0 || typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Redacted.isRedacted(a)) return Redacted.isRedacted(b) && Object.is(Redacted.value(a), Redacted.value(b))
  if (Equal.isEqual(a)) return Equal.equals(a, b)
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length &&
      a.every((item, i) => same(item, b[i], depth - 1))
  }
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) =>
    same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], depth - 1)
  )
}
