/**
 * Durations in the options of this package.
 *
 * Owns: that each is positive and finite, and the error that names those that are not.
 */
import * as McpError from "@mcp-runtime/core/McpError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Where a field may be left out, or be `null`, it stays what it is. */
type Positive<G> = { readonly [F in keyof G]: Duration.Duration | Extract<G[F], null | undefined> }

/** Throws one `ConfigInvalid` for all fields that are no positive and finite duration. */
export const positive = <G extends { readonly [field: string]: unknown }>(owner: string, given: G): Positive<G> => {
  const durations: { [field: string]: unknown } = {}
  const problems: Array<McpError.ConfigProblem> = []
  for (const [field, value] of Object.entries(given)) {
    const duration = Option.filter(Duration.decodeUnknown(value), isPositive)
    if (Option.isSome(duration)) durations[field] = duration.value
    else if (value === null || value === undefined) durations[field] = value
    else problems.push({ field, problem: `must be a positive and finite duration such as "5 seconds"` })
  }
  if (problems.length === 0) return durations as Positive<G>
  throw new McpError.ConfigInvalid({ server: owner, operation: "configure", executed: "no", problems })
}

const isPositive = (duration: Duration.Duration): boolean =>
  Duration.isFinite(duration) && Duration.greaterThan(duration, Duration.zero)

/** What a constructor that throws such an error makes. */
export const made = <A>(make: () => A): Effect.Effect<A, McpError.ConfigInvalid> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(make())
    } catch (error) {
      return error instanceof McpError.ConfigInvalid ? Effect.fail(error) : Effect.die(error)
    }
  })
