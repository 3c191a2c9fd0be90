/**
 * The command line.
 */
import { parseArgs } from "node:util"
import type { Contender } from "./clients/client.js"

export interface Options {
  /** Whether the turns are long enough to judge by. */
  readonly conclusive: boolean
  /** How often each client takes its turn in a row. */
  readonly rounds: number
  /** The same where one turn takes seconds. */
  readonly slowRounds: number
  /** How long one turn takes, roughly. */
  readonly turnMillis: number
  /** How many fresh processes per client hold idle connections, one after the other. */
  readonly idleRounds: number
  /** How long idle connections rest before the second look, so that spare sockets time out. */
  readonly idleMillis: number
  /** Only rows whose name contains this. */
  readonly only: string | undefined
  /** Whose CPU profile is taken after each row. */
  readonly profile: Contender | undefined
}

export const usage = `npm run bench -- [--quick] [--only <part of a row's name>] [--profile ours|sdk|limit]`

const contenderOf = (text: string | undefined): Contender | undefined => {
  if (text === undefined || text === "ours" || text === "sdk" || text === "limit") return text
  throw new Error(`--profile wants ours, sdk or limit, not "${text}"`)
}

export const parse = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean" }, only: { type: "string" }, profile: { type: "string" } }
  })
  const scale = values.quick === true
    ? { conclusive: false, rounds: 3, slowRounds: 1, turnMillis: 60, idleRounds: 1, idleMillis: 0 }
    : { conclusive: true, rounds: 9, slowRounds: 5, turnMillis: 350, idleRounds: 3, idleMillis: 5500 }
  return { ...scale, only: values.only, profile: contenderOf(values.profile) }
}
