/**
 * A worker for each who takes part in a row. They take turns, many times, so that a slow moment of the machine meets all of
 * them. A peer that fails is out, and says why; one of ours, the SDK or the limit fails the row.
 *
 * Owns: who still takes part, rounds, time. May not touch: what one turn is.
 */
import type { Options } from "../options.js"
import { orderOf } from "../order.js"
import { reasonAgainst } from "../peers/fitness.js"
import { print, type Profiled, turnsProfiled } from "../profile.js"
import type { Failures } from "../row.js"
import { isPeer, type Who } from "../who.js"
import { giveBack, take } from "./pool.js"
import type { Worker } from "./worker.js"

export type PerWho<A> = ReadonlyMap<Who, A>

export interface Crew {
  /** One after the other. Whoever fails has no result. */
  readonly each: <A>(work: (worker: Worker) => Promise<A>) => Promise<PerWho<A>>
  /** All at once, where time is not what is measured. */
  readonly together: <A>(work: (worker: Worker) => Promise<A>) => Promise<PerWho<A>>
  /** In rounds, each in another order, beginning with the `from`th; the last ones are left out where the time is up. */
  readonly takeTurns: <A>(
    turn: (worker: Worker) => Promise<A>,
    rounds?: number,
    from?: number
  ) => Promise<PerWho<ReadonlyArray<A>>>
  /** CPU profiles of those for whom they are wished, during some more turns. */
  readonly profile: (row: string, turn: (worker: Worker) => Promise<unknown>) => Promise<void>
  readonly failures: () => Failures
}

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Rounds that are taken however long they last. */
const leastRounds = 2

class Members {
  readonly #workers = new Map<Who, Worker>()
  readonly #failures = new Map<Who, string>()
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  get failures(): Failures {
    return Object.fromEntries(this.#failures)
  }

  get workers(): ReadonlyArray<Worker> {
    return [...this.#workers.values()]
  }

  async add(who: Who): Promise<void> {
    const reason = isPeer(who) ? reasonAgainst(who) : undefined
    if (reason !== undefined) {
      this.#failures.set(who, reason)
      return
    }
    await this.attempt(who, async () => {
      this.#workers.set(who, await take(who, this.#options))
    })
  }

  /** Runs what may fail; gives nothing where a peer has. */
  async attempt<A>(who: Who, work: () => Promise<A>): Promise<{ readonly value: A } | undefined> {
    try {
      return { value: await work() }
    } catch (error) {
      if (!isPeer(who)) throw new Error(`${who}: ${messageOf(error)}`, { cause: error })
      this.#failures.set(who, messageOf(error))
      await this.#workers.get(who)?.end()
      this.#workers.delete(who)
      return undefined
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.map((_) => giveBack(_, this.#options)))
  }
}

const eachOf = (members: Members): Crew["each"] => async <A>(work: (worker: Worker) => Promise<A>) => {
  const results = new Map<Who, A>()
  for (const worker of members.workers) {
    const given = await members.attempt(worker.who, () => work(worker))
    if (given !== undefined) results.set(worker.who, given.value)
  }
  return results
}

const togetherOf = (members: Members): Crew["together"] => async <A>(work: (worker: Worker) => Promise<A>) => {
  const results = new Map<Who, A>()
  await Promise.all(members.workers.map(async (worker) => {
    const given = await members.attempt(worker.who, () => work(worker))
    if (given !== undefined) results.set(worker.who, given.value)
  }))
  return results
}

const takeTurnsOf =
  (members: Members, options: Options): Crew["takeTurns"] =>
  async <A>(turn: (worker: Worker) => Promise<A>, rounds = options.rounds, from = 0) => {
    const taken = new Map<Who, Array<A>>(members.workers.map((_) => [_.who, []]))
    const end = performance.now() + options.roundsMillis
    for (let round = 0; round < rounds && (round < leastRounds || performance.now() < end); round++) {
      for (const worker of orderOf(members.workers, from + round)) {
        const given = await members.attempt(worker.who, () => turn(worker))
        if (given === undefined) taken.delete(worker.who)
        else taken.get(worker.who)!.push(given.value)
      }
    }
    return taken
  }

const profileOf = (members: Members, { profile }: Options): Crew["profile"] => async (row, turn) => {
  const profiles = new Map<Who, Profiled>()
  for (const worker of members.workers.filter((_) => profile.includes(_.who))) {
    await worker.ask("record", {})
    for (let i = 0; i < turnsProfiled; i++) await turn(worker)
    profiles.set(worker.who, await worker.ask("recorded", { row }))
  }
  print(row, profiles)
}

/** With a fresh worker for each of those who are wished and take part in this run; all have ended when this has. */
export const withCrew = async <A>(
  wished: ReadonlyArray<Who>,
  options: Options,
  use: (crew: Crew) => Promise<A>
): Promise<A> => {
  const members = new Members(options)
  try {
    for (const who of wished) {
      if (options.who.includes(who)) await members.add(who)
    }
    return await use({
      each: eachOf(members),
      together: togetherOf(members),
      takeTurns: takeTurnsOf(members, options),
      profile: profileOf(members, options),
      failures: () => members.failures
    })
  } finally {
    await members.end()
  }
}
