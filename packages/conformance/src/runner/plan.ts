/**
 * Which scenarios are run, and at which revision of the protocol.
 *
 * Owns: the choice among what the suite offers, and how many runs that must be: a suite that has lost a scenario, or has
 * got one that nobody looked at, is no reason to say that all have passed.
 * May not touch: processes.
 */

/**
 * `dated`: scenarios of the revisions that we speak. `extension`: those of extensions of the protocol, at the newest of these
 * revisions. `ahead`: scenarios of a newer revision that ask nothing of a client that the newest of ours does not ask.
 */
export type Group = "dated" | "extension" | "ahead"

/** A scenario that the suite offers; `extension` belongs to no revision. */
export interface Offered {
  readonly scenario: string
  readonly revisions: ReadonlyArray<string> | "extension"
}

export interface Planned {
  readonly scenario: string
  readonly revision: string
  readonly group: Group
  /** The suite measures time in it. */
  readonly alone: boolean
}

export const revisions: ReadonlyArray<string> = ["2025-03-26", "2025-06-18", "2025-11-25"]
const newest = "2025-11-25"

/** How many runs there are, if nothing was left out. */
export const expected: { readonly [K in Group]: number } = { dated: 26, extension: 10, ahead: 12 }

const alone: ReadonlySet<string> = new Set(["sse-retry", "elicitation-sep1034-client-defaults"])

const ahead: ReadonlySet<string> = new Set([
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/authorization-server-migration",
  "auth/iss-supported",
  "auth/iss-not-advertised",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
  "auth/metadata-issuer-mismatch",
  "json-schema-ref-no-deref"
])

export const plan = (offered: ReadonlyArray<Offered>): ReadonlyArray<Planned> => {
  const planned = (group: Group, revision: string) => ({ scenario }: Offered): Planned => ({
    scenario,
    revision,
    group,
    alone: alone.has(scenario)
  })
  return [
    ...revisions.flatMap((revision) =>
      offered.filter((_) => _.revisions.includes(revision)).map(planned("dated", revision))
    ),
    ...offered.filter((_) => _.revisions === "extension").map(planned("extension", newest)),
    ...offered.filter((_) => ahead.has(_.scenario) && !_.revisions.includes(newest)).map(planned("ahead", newest))
  ]
}

export interface Selection {
  /** Names; all if there are none. */
  readonly scenarios: ReadonlyArray<string>
  readonly revision: string | undefined
  readonly extensions: boolean
}

export const isEverything = ({ extensions, revision, scenarios }: Selection): boolean =>
  scenarios.length === 0 && revision === undefined && !extensions

/** A revision and the extensions together are both of them. */
export const select = (
  all: ReadonlyArray<Planned>,
  { extensions, revision, scenarios }: Selection
): ReadonlyArray<Planned> =>
  all.filter((_) =>
    (scenarios.length === 0 || scenarios.includes(_.scenario)) &&
    ((revision === undefined && !extensions) ||
      (_.group === "dated" && _.revision === revision) || (_.group === "extension" && extensions))
  )

/** What is wrong with a plan that should hold everything. */
export const problems = (all: ReadonlyArray<Planned>): ReadonlyArray<string> =>
  (Object.keys(expected) as ReadonlyArray<Group>).flatMap((group) => {
    const count = all.filter((_) => _.group === group).length
    return count === expected[group] ? [] : [`there are ${count} runs in "${group}", and not ${expected[group]}`]
  })
