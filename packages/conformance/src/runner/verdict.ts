/**
 * Whether a run has passed. Only the checks of the suite can say so: a client that does nothing has failed nothing either.
 *
 * Owns: that decision.
 * May not touch: files, processes.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Ended } from "./process.js"

const Status = Schema.Literal("SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")

const Checks = Schema.parseJson(Schema.Array(Schema.Struct({
  id: Schema.String,
  status: Status,
  description: Schema.String,
  errorMessage: Schema.optional(Schema.String)
})))

export type Counts = { readonly [K in typeof Status.Type]: number }

export interface Verdict {
  readonly counts: Counts
  /** Why it has not passed; nothing if it has. */
  readonly problems: ReadonlyArray<string>
}

/** What is left of a run. */
export interface Evidence {
  readonly ended: Ended
  /** `checks.json`; nothing if there is none. */
  readonly checks: string | undefined
  /** What the suite has written. */
  readonly log: string
  /** What the client has written to its standard error. */
  readonly stderr: string
}

const none: Counts = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 0 }

export const judge = (evidence: Evidence): Verdict => {
  const checks = Either.getOrUndefined(Schema.decodeUnknownEither(Checks)(evidence.checks))
  if (checks === undefined) {
    return { counts: none, problems: [...how(evidence), "the suite has written no checks"] }
  }
  const counts = { ...none }
  for (const { status } of checks) counts[status]++
  const refuted = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map(
    ({ description, errorMessage, id, status }) => `${status} ${id}: ${errorMessage ?? description}`
  )
  const proof = counts.SUCCESS === 0 ? ["no check has succeeded: nothing was shown"] : []
  return { counts, problems: [...how(evidence), ...refuted, ...proof] }
}

/** The end of what was said, if anything was. */
const after = (text: string): string => text.trim() === "" ? "" : `: ${text.trim().slice(-2000)}`

/** What is wrong with the way it ended. */
const how = ({ ended, log, stderr }: Evidence): ReadonlyArray<string> => {
  // The suite writes down what the client has said when that has ended.
  if (ended._tag === "TimedOut") return [`it did not end in time and was killed${after(log)}`]
  const [, code] = /^Client exited with code (-?\d+)$/m.exec(log) ?? []
  return [
    ...(code === undefined ? [] : [`the client has ended with exit code ${code}${after(stderr)}`]),
    ...(ended.leftProcesses ? ["processes of the client were left behind"] : []),
    // Where the checks, and what is said here, do not explain it.
    ...(ended.code === 0 || code !== undefined || /^Failed Checks:$|^Warning Checks:$/m.test(log)
      ? []
      : [`the suite has ended with exit code ${ended.code}${after(log)}`])
  ]
}
