/**
 * The command line.
 */
import { parseArgs } from "node:util"
import { everyone, isPeer, type Who } from "./who.js"

export interface Options {
  /** Whether the turns are long enough to judge by. */
  readonly conclusive: boolean
  /** How often each client takes its turn in a row. */
  readonly rounds: number
  /** The same where one turn takes seconds. */
  readonly slowRounds: number
  /** The same where one turn takes `turnMillis`. */
  readonly shortRounds: number
  /** How many fresh processes each client has for these, one after the other: one keeps some of the luck of its start. */
  readonly generations: number
  /** Rounds before these that do not count: who has waited for the others to warm up is slow at first. */
  readonly settlingRounds: number
  /** No more rounds are begun after this time. */
  readonly roundsMillis: number
  /** How long one turn takes, roughly. */
  readonly turnMillis: number
  /** How long a client works before it is measured, at least. */
  readonly warmUpMillis: number
  /** How long a worker may take for one thing that it is asked. */
  readonly orderMillis: number
  /** How many fresh processes per client hold idle connections, one after the other. */
  readonly idleRounds: number
  /** How long idle connections rest before the second look, so that spare sockets time out. */
  readonly idleMillis: number
  /** Only rows whose name contains this. */
  readonly only: string | undefined
  /** Whose CPU profiles are taken after each row. */
  readonly profile: ReadonlyArray<string>
  /** Who takes part. */
  readonly who: ReadonlyArray<Who>
  /** Whether to change to the Node that is installed with the peers where this one is too old for some; or that is done. */
  readonly node: "current" | "fitting" | "changed"
  /** Where the report is written, if not where it belongs. */
  readonly out: string | undefined
}

export const usage = `npm run bench -- [options]
  --quick             a few minutes: does everything run?
  --only <part>       only rows whose name contains this
  --peers none        without other clients; nothing is installed
  --node current      on this Node, with the peers that run on it
  --profile <who>     CPU profiles of some of them in each row: names with commas (${everyone.join(", ")}, ours)
  --out <directory>   where the report is written`

const full = {
  conclusive: true,
  rounds: 7,
  slowRounds: 3,
  shortRounds: 24,
  generations: 2,
  settlingRounds: 5,
  roundsMillis: 40_000,
  turnMillis: 100,
  warmUpMillis: 2500,
  orderMillis: 60_000,
  idleRounds: 2,
  idleMillis: 5500
}

const quick = {
  conclusive: false,
  rounds: 2,
  slowRounds: 1,
  shortRounds: 2,
  generations: 1,
  settlingRounds: 0,
  roundsMillis: 10_000,
  turnMillis: 15,
  warmUpMillis: 0,
  orderMillis: 60_000,
  idleRounds: 1,
  idleMillis: 0
}

/** For turns that are as short as `turnMillis`. */
export const shortTurns = (options: Options): Options => ({ ...options, rounds: options.shortRounds })

const oneOf = <A extends string>(name: string, text: string | undefined, known: ReadonlyArray<A>): A | undefined => {
  const found = known.find((_) => _ === text)
  if (text !== undefined && found === undefined) {
    throw new Error(`--${name} wants one of ${known.join(", ")}; it got "${text}"`)
  }
  return found
}

export const parse = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      only: { type: "string" },
      peers: { type: "string" },
      node: { type: "string" },
      profile: { type: "string" },
      out: { type: "string" }
    }
  })
  const withoutPeers = oneOf("peers", values.peers, ["none", "all"]) === "none"
  return {
    ...(values.quick === true ? quick : full),
    only: values.only,
    profile: (values.profile?.split(",") ?? []).map((_) => oneOf("profile", _, [...everyone, "ours"])!),
    who: withoutPeers ? everyone.filter((_) => !isPeer(_)) : everyone,
    node: oneOf("node", values.node, ["current", "fitting", "changed"]) ?? "fitting",
    out: values.out
  }
}
