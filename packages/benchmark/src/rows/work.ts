/**
 * The same work for each client, in turns: each with a session of its own that stays open. After some of the rounds everybody
 * begins anew in a fresh process.
 */
import type { Wire } from "../clients/client.js"
import type { Sample } from "../measure.js"
import type { Options } from "../options.js"
import type { Failures, Line, Values } from "../row.js"
import type { Who } from "../who.js"
import { type PerWho, withCrew } from "../worker/crew.js"
import type { Work } from "../worker/orders.js"
import type { Worker } from "../worker/worker.js"

export interface Wanted {
  readonly name: string
  readonly wire: Wire
  readonly work: Work
  readonly who: ReadonlyArray<Who>
}

export type Measured = Required<Pick<Line, "values" | "cpu" | "failures">>

/** One number of each that was taken. */
export const valuesOf = <A>(taken: PerWho<ReadonlyArray<A>>, of: (given: A) => number): Values =>
  Object.fromEntries([...taken].map(([who, given]) => [who, given.map(of)]))

export const measuredOf = <A>(
  taken: PerWho<ReadonlyArray<A>>,
  failures: Failures,
  of: (given: A) => Sample
): Measured => ({ values: valuesOf(taken, (_) => of(_).wall), cpu: valuesOf(taken, (_) => of(_).cpu), failures })

/** What fresh processes have measured in the rounds from this one on. */
const measureOnce = (wanted: Wanted, from: number, rounds: number, options: Options): Promise<Measured> =>
  withCrew(wanted.who, options, async (crew) => {
    const { wire, work } = wanted
    const counts = await crew.each(async (worker) => {
      await worker.ask("open", { wire })
      const { turnMillis, warmUpMillis } = options
      return worker.ask("calibrate", { work, turnMillis, warmUpMillis })
    })
    const turn = (worker: Worker) => worker.ask("turn", { work, count: counts.get(worker.who)! })
    await crew.takeTurns(turn, options.settlingRounds)
    const taken = await crew.takeTurns(turn, rounds, from)
    await crew.profile(wanted.name, turn)
    return measuredOf(taken, crew.failures(), (_) => _)
  })

/** The rounds of both, of those who took part in both. */
export const joined = (one: Measured, other: Measured): Measured => {
  const both = (a: Values, b: Values): Values =>
    Object.fromEntries(
      Object.entries(a).flatMap(([who, given]) => {
        const more = b[who as Who]
        return more === undefined ? [] : [[who, [...given, ...more]]]
      })
    )
  return {
    values: both(one.values, other.values),
    cpu: both(one.cpu, other.cpu),
    failures: { ...one.failures, ...other.failures }
  }
}

export const measureWork = async (wanted: Wanted, options: Options): Promise<Measured> => {
  const { generations, roundsMillis, shortRounds } = options
  const rounds = Math.ceil(shortRounds / generations)
  const bounded = { ...options, roundsMillis: roundsMillis / generations }
  let measured = await measureOnce(wanted, 0, rounds, bounded)
  for (let i = 1; i < generations; i++) {
    const who = wanted.who.filter((_) => measured.failures[_] === undefined)
    const next = await measureOnce({ ...wanted, who }, i * rounds, rounds, { ...bounded, profile: [] })
    measured = joined(measured, next)
  }
  return measured
}
