/**
 * What an application may ask for in options.
 *
 * Owns: what each option may be, in words of what to do, and its meaning as numbers.
 * May not touch: the schedule.
 */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as McpError from "../McpError.js"
import { owners } from "./errors/owners.js"

/** A value that can be used, or what is allowed instead. */
export type Checked<A> = Either.Either<A, string>

export const replays = (value: unknown, unlimited = `"unlimited"`): Checked<number> =>
  value === -1 || value === "unlimited"
    ? Either.right(Number.POSITIVE_INFINITY)
    : Number.isInteger(value) && (value as number) >= 0
    ? Either.right(value as number)
    : Either.left(`must be a whole number of at least 0, or ${unlimited}`)

export const factor = (value: unknown): Checked<number> =>
  finite(value) && value >= 1 ? Either.right(value) : Either.left("must be a finite number of at least 1")

export const jitter = (value: unknown): Checked<number> =>
  finite(value) && value >= 0 && value <= 1 ? Either.right(value) : Either.left("must be a number from 0 to 1")

/** In milliseconds. */
export const base = (value: unknown): Checked<number> => {
  const millis = millisOf(value)
  return millis >= 0 && millis < Infinity
    ? Either.right(millis)
    : Either.left(`must be a finite duration such as "250 millis", or 0 for no delay`)
}

/** In milliseconds. */
export const finiteBound = (value: unknown): Checked<number> => {
  const millis = millisOf(value)
  return millis > 0 && millis < Infinity
    ? Either.right(millis)
    : Either.left(`must be a positive and finite duration such as "5 seconds"`)
}

/** In milliseconds, infinite for `null`. */
export const bound = (value: unknown): Checked<number> => {
  if (value === null) return Either.right(Number.POSITIVE_INFINITY)
  return Either.mapLeft(finiteBound(value), (_) => `${_}, or null for none`)
}

/** In milliseconds. */
export const seconds = (value: unknown): Checked<number> =>
  finite(value) && value >= 0
    ? Either.right(value * 1000)
    : Either.left("must be a finite number of seconds of at least 0")

/** In milliseconds, infinite for `null`. */
export const secondsOrNull = (value: unknown): Checked<number> =>
  value === null
    ? Either.right(Number.POSITIVE_INFINITY)
    : Either.mapLeft(seconds(value), (_) => `${_}, or null for none`)

export const retryAfter = (value: unknown): Checked<boolean> =>
  value === "honour" || value === "ignore"
    ? Either.right(value === "honour")
    : Either.left(`must be "honour" or "ignore"`)

export const when = (value: unknown): Checked<(error: McpError.McpError) => boolean> =>
  typeof value === "function"
    ? Either.right(value as (error: McpError.McpError) => boolean)
    : Either.left("must be a function from an error to true or false")

const finite = (value: unknown): value is number => Number.isFinite(value)

/** Not a number for what is no duration. `Duration.decode` takes negative ones, and those that are not numbers, for zero. */
const millisOf = (value: unknown): number => {
  const decoded = isNegative(value) ? Option.none() : Duration.decodeUnknown(value)
  return Option.isSome(decoded) ? Duration.toMillis(decoded.value) : Number.NaN
}

const isNegative = (value: unknown): boolean =>
  typeof value === "string"
    ? value.startsWith("-")
    : typeof value === "number" || typeof value === "bigint"
    ? !(value >= 0)
    : Array.isArray(value) && !value.every((_) => _ >= 0)

type Checks = Readonly<Record<string, (value: unknown) => Checked<unknown>>>

type Values<C extends Checks> = {
  readonly [K in keyof C]: C[K] extends (value: unknown) => Checked<infer A> ? A : never
}

/**
 * Every field by its check, one that is left out by its default, which is checked like the others. Fails with one problem
 * per field that is wrong, without the value that was found.
 */
export const check = <C extends Checks>(
  checks: C,
  defaults: { readonly [K in keyof C]: unknown },
  options: unknown,
  owner: string = owners.retryPolicy
): Either.Either<Values<C>, McpError.ConfigInvalid> => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return invalid(owner, [{ field: "(root)", problem: "must be an object" }])
  }
  const given = options as Readonly<Record<string, unknown>>
  const values: Record<string, unknown> = {}
  const problems: Array<McpError.ConfigProblem> = []
  for (const field of Object.keys(checks)) {
    const checked = checks[field]!(given[field] === undefined ? defaults[field] : given[field])
    if (Either.isLeft(checked)) problems.push({ field, problem: checked.left })
    else values[field] = checked.right
  }
  for (const field of Object.keys(given)) {
    if (!Object.hasOwn(checks, field)) {
      problems.push({ field: McpError.displayText(field, 64), problem: "is not a known field" })
    }
  }
  return problems.length === 0 ? Either.right(values as Values<C>) : invalid(owner, problems)
}

const invalid = (
  server: string,
  problems: ReadonlyArray<McpError.ConfigProblem>
): Either.Either<never, McpError.ConfigInvalid> =>
  Either.left(new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems }))

/** What was found to be wrong, in an option with this prefix. */
export const problemsOf = (
  checked: Either.Either<unknown, McpError.ConfigInvalid>,
  prefix: string
): ReadonlyArray<McpError.ConfigProblem> =>
  Either.isRight(checked)
    ? []
    : checked.left.problems.map(({ field, problem }) => ({ field: prefix + field, problem }))
