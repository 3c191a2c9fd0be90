/**
 * Turns and rounds: the clients take turns, many times, so that a slow moment of the machine meets all of them.
 *
 * Owns: clocks, rounds, garbage collection. May not touch: clients, rows, output.
 */
import type { Options } from "./options.js"
import { orderOf } from "./order.js"
import { print, type Profiled, takeProfile } from "./profile.js"

/** Microseconds of one operation. */
export interface Sample {
  readonly wall: number
  readonly cpu: number
}

/** One turn of one client. */
export type Turn = () => Promise<Sample>

export const collectGarbage = (): void => {
  if (globalThis.gc === undefined) throw new Error("start node with --expose-gc")
  globalThis.gc()
}

/** What the last turn has left is not for the next one to pay. A whole collection would slow down all of them: see `worker/main.ts`. */
const collectYoungGarbage = (): void => {
  if (globalThis.gc === undefined) throw new Error("start node with --expose-gc")
  void globalThis.gc({ type: "minor" })
}

/** Runs `count` operations and gives what one of them took. */
export const timed = async (count: number, run: () => Promise<unknown>): Promise<Sample> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wall = (performance.now() - start) * 1000
  const { system, user } = process.cpuUsage(cpu)
  return { wall: wall / count, cpu: (system + user) / count }
}

/**
 * Warms up, and finds how many operations fill one turn. The first time is not believed: code is compiled then, and for seconds after
 * it; what is wanted is the time of an application that has been running for a while.
 */
export const calibrate = async (
  run: (count: number) => Promise<unknown>,
  turnMillis: number,
  warmUpMillis: number
): Promise<number> => {
  const start = performance.now()
  const millisOf = async (count: number): Promise<number> => (await timed(count, () => run(count))).wall * count / 1000
  for (let count = 1;;) {
    const millis = Math.min(await millisOf(count), await millisOf(count))
    if (millis < turnMillis) count *= 2
    else if (performance.now() - start >= warmUpMillis) return Math.max(1, Math.round(count * turnMillis / millis))
  }
}

/** What each of those who take turns gave, by round. */
export type Taken<C extends string, A> = { readonly [K in C]: ReadonlyArray<A> }

export interface Measured<C extends string> {
  readonly values: Taken<C, number>
  readonly cpu: Taken<C, number>
}

/** Lets the clients take turns, each round in another order. */
export const takeTurns = async <C extends string, A>(
  name: string,
  turns: { readonly [K in C]: () => Promise<A> },
  options: Options
): Promise<Taken<C, A>> => {
  const names = Object.keys(turns) as Array<C>
  const taken = Object.fromEntries(names.map((_): [C, Array<A>] => [_, []])) as { [K in C]: Array<A> }
  for (let round = 0; round < options.rounds; round++) {
    for (const next of orderOf(names, round)) {
      collectYoungGarbage()
      taken[next].push(await turns[next]())
    }
  }
  const profiles = new Map<string, Profiled>()
  for (const who of names.filter((_) => options.profile.includes(_))) {
    profiles.set(who, await takeProfile(name, who, turns[who]))
  }
  print(name, profiles)
  return taken
}

const column = <C extends string, A>(taken: Taken<C, A>, of: (given: A) => number): Taken<C, number> =>
  Object.fromEntries(Object.entries<ReadonlyArray<A>>(taken).map(([name, given]) => [name, given.map(of)])) as never

/** One of the samples that each turn gave. */
export const measuredOf = <C extends string, A>(taken: Taken<C, A>, of: (given: A) => Sample): Measured<C> => ({
  values: column(taken, (_) => of(_).wall),
  cpu: column(taken, (_) => of(_).cpu)
})

/** The same where each turn gives one sample. */
export const interleave = async <C extends string>(
  name: string,
  turns: { readonly [K in C]: Turn },
  options: Options
): Promise<Measured<C>> => measuredOf(await takeTurns(name, turns, options), (_: Sample) => _)
