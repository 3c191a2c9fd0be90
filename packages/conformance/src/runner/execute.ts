/**
 * One run of one scenario.
 *
 * Owns: its directory, its deadline and its result.
 * May not touch: other runs.
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { readdir } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { Planned } from "./plan.js"
import { type Broken, directory, readText, run } from "./process.js"
import * as Suite from "./suite.js"
import { judge, type Verdict } from "./verdict.js"

export interface Result extends Verdict {
  readonly planned: Planned
  readonly millis: number
  /** What the suite has written, with everything that went over the wire. */
  readonly log: string
}

export interface Options {
  /** The program and its arguments; the URL is added to them. */
  readonly client: ReadonlyArray<string>
  readonly limit: Duration.DurationInput
}

export const execute = (planned: Planned, { client, limit }: Options): Effect.Effect<Result, Broken> =>
  Effect.scoped(Effect.gen(function*() {
    const place = yield* directory
    const start = yield* Clock.currentTimeMillis
    const log = join(place, "log")
    const ended = yield* run(Suite.running(planned, { client, directory: place }), { limit, log })
    const millis = (yield* Clock.currentTimeMillis) - start
    const written = yield* resultsIn(place)
    const evidence = {
      ended,
      checks: written && (yield* readText(join(written, "checks.json"))),
      log: yield* readText(log),
      stderr: written === undefined ? "" : yield* readText(join(written, "stderr.txt"))
    }
    return { ...judge(evidence), planned, millis, log: evidence.log }
  }))

/** Where the suite has put its results: a directory whose name it makes from the scenario, the slashes in it included. */
const resultsIn = (place: string): Effect.Effect<string | undefined> =>
  Effect.map(
    Effect.promise(() => readdir(place, { recursive: true })),
    (paths) => {
      const found = paths.find((path) => basename(path) === "checks.json")
      return found === undefined ? undefined : join(place, dirname(found))
    }
  )
