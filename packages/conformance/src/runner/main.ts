/**
 * All runs: planned, executed, shown, counted.
 *
 * Owns: what runs beside what, and whether all is well.
 * May not touch: how a single run is judged.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { writeFile } from "node:fs/promises"
import { execute, type Result } from "./execute.js"
import type { Options } from "./options.js"
import * as Plan from "./plan.js"
import { Broken, readText } from "./process.js"
import * as Suite from "./suite.js"
import * as Table from "./table.js"

/** How many scenarios run at once. Those in which the suite measures time have the machine to themselves. */
const lanes = 2

/** Whether everything that was to run has passed. */
export const conformance = (options: Options): Effect.Effect<boolean, Broken> =>
  Effect.gen(function*() {
    const all = Plan.plan(yield* Suite.offered)
    const isEverything = Plan.isEverything(options)
    const incomplete = isEverything ? Plan.problems(all) : []
    const planned = Plan.select(all, options)
    if (planned.length === 0) return yield* new Broken({ message: "there is no such scenario" })
    if (options.report !== undefined && !(isEverything && options.repeat === 1)) {
      return yield* new Broken({ message: "a report is made of everything, once" })
    }

    const results = yield* executeAll(planned.flatMap((_) => Array.from({ length: options.repeat }, () => _)), options)
    yield* Console.log(["", Table.summary(results), ...incomplete].join("\n"))
    if (options.report !== undefined) yield* report(options.report, results)
    return incomplete.length === 0 && results.every(Table.passed)
  })

/** In the order of the plan, whoever comes first. */
const executeAll = (
  planned: ReadonlyArray<Plan.Planned>,
  { client, seconds, verbose }: Options
): Effect.Effect<ReadonlyArray<Result>, Broken> =>
  Effect.gen(function*() {
    const one = (_: Plan.Planned) =>
      Effect.tap(
        execute(_, { client: [process.execPath, client], limit: `${seconds} seconds` }),
        (result) => Console.log(verbose ? `${result.log}\n${Table.row(result)}` : Table.row(result))
      )
    const alone = yield* Effect.forEach(planned.filter((_) => _.alone), one)
    const others = yield* Effect.forEach(planned.filter((_) => !_.alone), one, { concurrency: lanes })
    return [...alone, ...others].sort((a, b) => planned.indexOf(a.planned) - planned.indexOf(b.planned))
  })

const report = (file: string, results: ReadonlyArray<Result>): Effect.Effect<void, Broken> =>
  Effect.gen(function*() {
    const about = `Suite ${yield* Suite.version}, Node ${process.versions.node}.`
    const page = Table.inPage(yield* readText(file), results, about)
    if (page === undefined) return yield* new Broken({ message: `${file} has no place for the table` })
    yield* Effect.tryPromise({
      try: () => writeFile(file, page),
      catch: (error) => new Broken({ message: `${file} can't be written: ${String(error)}` })
    })
  })
