/**
 * One look at all places.
 *
 * Owns: which file of each place counts, and what becomes of it: a source, or a problem.
 * May not touch: when it is looked, and how a text is read.
 */
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as Effect from "effect/Effect"
import type { Place } from "../../ConfigFiles.js"
import { type Read, read } from "./read.js"

/** What was found at one place. */
export interface Found {
  readonly place: Place
  /** Which of its paths it is; their number, where there is nothing. */
  readonly index: number
  /** That path, or the one where something should have been. */
  readonly path: string
  readonly read: Read
}

export const look = (places: ReadonlyArray<Place>): Effect.Effect<ReadonlyArray<Found>> =>
  // Interrupted just before the first one has begun, `Effect.forEach` (3.22.4) never ends: nobody is to wait for it.
  Effect.map(Effect.disconnect(Effect.forEach(places, find, { concurrency: "unbounded" })), withoutTwins)

const find = (place: Place): Effect.Effect<Found> =>
  Effect.gen(function*() {
    for (const [index, path] of place.paths.entries()) {
      const found = yield* read(path)
      if (found._tag !== "Missing") return { place, index, path, read: found }
    }
    return { place, index: place.paths.length, path: place.paths[0] ?? "", read: { _tag: "Missing" } }
  })

/** The project's file may have been asked for by name, too. */
const withoutTwins = (all: ReadonlyArray<Found>): ReadonlyArray<Found> =>
  all.filter((found, i) => all.findIndex((other) => other.path === found.path) === i)

export const isSame = (a: ReadonlyArray<Found>, b: ReadonlyArray<Found>): boolean =>
  a.length === b.length && a.every((found, i) => isSameFound(found, b[i]!))

const isSameFound = (a: Found, b: Found): boolean => a.path === b.path && isSameRead(a.read, b.read)

const isSameRead = (a: Read, b: Read): boolean =>
  a._tag === "Text"
    ? b._tag === "Text" && a.text === b.text
    : a._tag === "Unreadable"
    ? b._tag === "Unreadable" && a.problem === b.problem
    : b._tag === "Missing"

/** Whether a file that was there is not any more, so that another or none takes its place. */
export const hasLost = (before: ReadonlyArray<Found>, now: ReadonlyArray<Found>): boolean =>
  before.some(({ index, place }) => now.some((found) => found.place === place && found.index > index))

/** What could be read and parsed last at each place. */
export type LastGood = ReadonlyMap<Place, ConfigFile.Source>

export interface Taken {
  readonly loaded: ConfigFile.Loaded
  readonly good: LastGood
}

/** What the files say. A place whose file is of no use at this moment says what it has said last. */
export const take = (
  found: ReadonlyArray<Found>,
  options: ConfigFile.LoadOptions,
  lastGood: LastGood,
  problems: ReadonlyArray<ConfigFile.Problem>
): Taken => {
  const good = new Map<Place, ConfigFile.Source>()
  const broken: Array<ConfigFile.Problem> = []
  for (const { path, place, read } of found) {
    const wrong = problemsOf(path, place, read)
    if (wrong.length === 0 && read._tag === "Text") good.set(place, { level: place.level, path, text: read.text })
    const last = wrong.length === 0 || read._tag === "Missing" ? undefined : lastGood.get(place)
    if (last !== undefined) good.set(place, last)
    broken.push(...(last === undefined ? wrong : wrong.map(staying(path, last))))
  }
  const loaded = ConfigFile.load([...good.values()], options)
  const position = new Map(found.map(({ path }, i) => [path, i]))
  const inOrder = [...problems, ...broken, ...loaded.problems].sort((a, b) =>
    (position.get(a.path) ?? -1) - (position.get(b.path) ?? -1)
  )
  return { loaded: { ...loaded, problems: inOrder }, good }
}

const staying = (path: string, last: ConfigFile.Source) => (problem: ConfigFile.Problem): ConfigFile.Problem => {
  if (problem.severity !== "error") return problem
  const version = last.path === path ? "its last good version stays" : `${last.path} stays`
  return { ...problem, problem: `${problem.problem} (${version} in use)` }
}

/** Why a file as a whole is of no use: nothing, where it is not. */
const problemsOf = (path: string, place: Place, read: Read): ReadonlyArray<ConfigFile.Problem> => {
  switch (read._tag) {
    case "Missing":
      return place.required ? [{ path, problem: "does not exist", severity: "error" }] : []
    case "Unreadable": {
      const severity = place.required || read.isThere ? "error" : "warning"
      return [{ path, problem: read.problem, severity }]
    }
    case "Text": {
      const { entries, problems } = ConfigFile.load([{ level: place.level, path, text: read.text }])
      const isBroken = entries.length === 0 && problems.some((_) => _.severity === "error" && _.server === undefined)
      return isBroken ? problems : []
    }
  }
}
