/**
 * What the files say, again after each change.
 *
 * Owns: when to look, and what of the past is remembered: the last look, and the last good text of each place.
 * May not touch: what is seen.
 *
 * | is seen | becomes |
 * |---|---|
 * | many changes at once | one look, when it is quiet, at the latest after `mostRounds` times `quiet` |
 * | the same content | nothing |
 * | a file that can't be read or parsed | its last good version, and a problem |
 * | a file that is gone | that, if it does not come back within `grace`: editors rename the old and write a new one |
 * | nothing | a look every `lookEvery` all the same: what can't be watched is seen then |
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Place } from "../../ConfigFiles.js"
import { inTime } from "../within.js"
import * as Look from "./look.js"
import * as Names from "./names.js"
import * as Watch from "./watch.js"

const quiet = "50 millis"
const mostRounds = 10
const grace = "500 millis"
const lookEvery = "15 seconds"

/** How often names may change while they are being watched before the next event is waited for. */
const mostAims = 5

export interface Settings {
  readonly places: ReadonlyArray<Place>
  readonly options: ConfigFile.LoadOptions
  /** What is wrong with the settings themselves. */
  readonly problems: ReadonlyArray<ConfigFile.Problem>
}

export const once = ({ options, places, problems }: Settings): Effect.Effect<ConfigFile.Loaded> =>
  Effect.map(Look.look(places), (found) => Look.take(found, options, new Map(), problems).loaded)

/** Gives the current state the first time that it is run, and then waits for another one. For one reader at a time. */
export const make = (
  { options, places, problems }: Settings
): Effect.Effect<Effect.Effect<ConfigFile.Loaded>, never, Scope.Scope> =>
  Effect.map(Watch.make, (watch) => {
    const paths = places.flatMap((_) => _.paths)
    let before: ReadonlyArray<Look.Found> | undefined = undefined
    let good: Look.LastGood = new Map()

    /** Watching begins before looking, so that nothing happens between them. */
    const looked: Effect.Effect<ReadonlyArray<Look.Found>> = Effect.gen(function*() {
      let names = yield* Effect.promise(() => Names.namesOf(paths))
      for (let i = 0; i < mostAims; i++) {
        yield* watch.aim(names)
        const now = yield* Effect.promise(() => Names.namesOf(paths))
        if (Names.isSame(names, now)) break
        names = now
      }
      return yield* Look.look(places)
    })

    const settled: Effect.Effect<void> = Effect.gen(function*() {
      for (let i = 0; i < mostRounds; i++) {
        yield* Effect.sleep(quiet)
        if (!(yield* watch.forget)) return
      }
    })

    const changedWithin = (time: typeof grace | typeof lookEvery) =>
      Effect.flatMap(
        inTime(Effect.as(watch.changed, true), time, () => Effect.succeed(false)),
        (changed) => changed ? Effect.as(settled, true) : Effect.succeed(false)
      )

    /** What is gone may be on its way back. */
    const believed: Effect.Effect<ReadonlyArray<Look.Found>> = Effect.gen(function*() {
      const known = before ?? []
      let found = yield* looked
      for (let i = 0; i < mostRounds && Look.hasLost(known, found); i++) {
        const isOver = !(yield* changedWithin(grace))
        found = yield* looked
        if (isOver) {
          break
        }
      }
      return found
    })

    return Effect.gen(function*() {
      while (true) {
        if (before !== undefined) {
          yield* changedWithin(lookEvery)
        }
        const found: ReadonlyArray<Look.Found> = yield* believed
        if (before !== undefined && Look.isSame(before, found)) {
          continue
        }
        before = found
        const taken = Look.take(found, options, good, problems)
        good = taken.good
        return taken.loaded
      }
    })
  })
