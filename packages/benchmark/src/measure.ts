/**
 * Turns and rounds: the clients take turns, many times, so that a slow moment of the machine meets all of them.
 *
 * Owns: clocks, rounds, garbage collection. May not touch: clients, rows, output.
 */
import type { Contender } from "./clients/client.js"
import type { Options } from "./options.js"
import { takeProfile } from "./profile.js"
import type { Line, Values } from "./row.js"

export const contenders: ReadonlyArray<Contender> = ["sdk", "ours", "limit"]

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

/** Runs `count` operations and gives what one of them took. */
export const timed = async (count: number, run: () => Promise<unknown>): Promise<Sample> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wall = (performance.now() - start) * 1000
  const { system, user } = process.cpuUsage(cpu)
  return { wall: wall / count, cpu: (system + user) / count }
}

/** Warms up, and finds how many operations fill one turn. */
export const calibrate = async (run: (count: number) => Promise<unknown>, turnMillis: number): Promise<number> => {
  for (let count = 1;; count *= 2) {
    const { wall } = await timed(count, () => run(count))
    const millis = wall * count / 1000
    if (millis >= turnMillis) return Math.max(1, Math.round(count * turnMillis / millis))
  }
}

const column = (samples: { readonly [C in Contender]: ReadonlyArray<Sample> }, of: keyof Sample): Values => ({
  sdk: samples.sdk.map((_) => _[of]),
  ours: samples.ours.map((_) => _[of]),
  limit: samples.limit.map((_) => _[of])
})

/** Lets the clients take turns, each round in another order. */
export const interleave = async (
  name: string,
  turns: { readonly [C in Contender]: Turn },
  options: Options
): Promise<Required<Pick<Line, "values" | "cpu">>> => {
  const samples: { [C in Contender]: Array<Sample> } = { sdk: [], ours: [], limit: [] }
  for (let round = 0; round < options.rounds; round++) {
    for (let i = 0; i < contenders.length; i++) {
      const contender = contenders[(round + i) % contenders.length]!
      collectGarbage()
      samples[contender].push(await turns[contender]())
    }
  }
  if (options.profile !== undefined) await takeProfile(name, options.profile, turns[options.profile])
  return { values: column(samples, "wall"), cpu: column(samples, "cpu") }
}
