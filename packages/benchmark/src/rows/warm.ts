/**
 * Rows about a start that knows its servers from an earlier run: how long it takes until the tools of twenty servers can
 * be shown, beside the same start with nothing stored. The servers are the same; each turn has processes of its own.
 */
import { Effect } from "effect"
import { mkdtemp } from "node:fs/promises"
import { join } from "node:path"
import { checkLists, manage, type Managed } from "../clients/oursManager.js"
import { measuredOf, type Sample, takeTurns, timed } from "../measure.js"
import type { Options } from "../options.js"
import type { Line, Row, Target } from "../row.js"
import { serverCount, type Servers, toolCount, withServers } from "./fleet.js"

interface Start {
  readonly name: string
  readonly servers: string
  /** How long a server sleeps before it answers. */
  readonly delayMillis: number
  readonly rounds: (options: Options) => number
  readonly targets: ReadonlyArray<Target>
}

interface Parts {
  /** `connectAll` has returned, and the tools of all servers are there. */
  readonly usable: Sample
  /** All servers have answered. */
  readonly live: Sample
}

type Lists = Effect.Effect.Success<Managed["catalog"]["current"]>

/** Starts with what is stored there, and gives `check` the lists that there are then. */
const started = (
  { startedOnce, wires }: Servers,
  store: string,
  check: (lists: Lists) => void = () => {}
): Promise<Parts> =>
  startedOnce(async () => {
    const opened: Array<Managed> = []
    let lists: Lists = []
    try {
      const usable = await timed(1, async () => {
        const ours = await manage(wires, store)
        opened.push(ours)
        await ours.connect()
        lists = await Effect.runPromise(ours.catalog.current)
        checkLists(lists, serverCount, toolCount)
      })
      check(lists)
      const rest = await timed(1, () => opened[0]!.allLive())
      return { usable, live: { wall: usable.wall + rest.wall, cpu: usable.cpu + rest.cpu } }
    } finally {
      for (const ours of opened) await ours.close()
    }
  })

const allFrom = (origin: Lists[number]["origin"]) => (lists: Lists): void => {
  const other = lists.find((_) => _.origin !== origin)
  if (other !== undefined) throw new Error(`${other.server} has tools that are ${other.origin}, not ${origin}`)
}

const startRow = (start: Start): Row => ({
  name: start.name,
  run: (options) =>
    withServers(start.delayMillis, async (servers) => {
      const store = join(servers.directory, "warm")
      await started(servers, store)
      const turns = {
        cold: async () => started(servers, await mkdtemp(join(servers.directory, "cold-")), allFrom("live")),
        ours: () => started(servers, store, start.delayMillis === 0 ? undefined : allFrom("deferred"))
      }
      const taken = await takeTurns(start.name, turns, { ...options, rounds: start.rounds(options) })
      const line = (what: string, targets: ReadonlyArray<Target>, of: keyof Parts): Line => ({
        title: `warm start, ${serverCount} ${start.servers}, ${what}`,
        unit: "ms",
        shows: "cost",
        targets,
        values: measuredOf(taken, (_) => _[of]).values
      })
      return [line("tools", start.targets, "usable"), line("all connected", [], "live")]
    })
})

export const warmRows: ReadonlyArray<Row> = [
  startRow({
    name: "start-warm-slow",
    servers: "servers that sleep 3 s",
    delayMillis: 3000,
    rounds: (_) => _.slowRounds,
    targets: [{ against: "cold", bound: 0.1 }]
  }),
  // No target: these answer not long after the 250 ms for which every start waits.
  startRow({
    name: "start-warm-quick",
    servers: "servers that answer at once",
    delayMillis: 0,
    rounds: (_) => _.rounds,
    targets: []
  })
]
