/**
 * Row about many servers at once: twenty processes are started, connected and listed, and ended again. Each turn has
 * processes of its own.
 */
import type { Sample } from "../measure.js"
import type { Row } from "../row.js"
import { everyone, isPeer, type Who } from "../who.js"
import { type PerWho, withCrew } from "../worker/crew.js"
import type { Worker } from "../worker/worker.js"
import { serverCount, type Servers, type Started, toolCount, withServers } from "./fleet.js"
import { measuredOf } from "./work.js"

interface Parts {
  readonly open: Sample
  readonly close: Sample
}

const turnOf = ({ journaled, wires }: Servers) => async (worker: Worker): Promise<Started<Parts>> => {
  const started = await journaled(() => worker.ask("fleet", { wires, tools: toolCount }))
  if (!isPeer(worker.who) && started.processes !== serverCount) {
    throw new Error(`${started.processes} processes were started for ${serverCount} servers`)
  }
  return started
}

const most = (taken: ReadonlyArray<Started<Parts>>, of: (started: Started<Parts>) => number): number =>
  Math.max(0, ...taken.map(of))

/** Who starts more than there are servers, and who leaves some behind. */
const notesOf = (
  taken: PerWho<ReadonlyArray<Started<Parts>>>
): { readonly open: Array<string>; readonly close: Array<string> } => {
  const notes = { open: new Array<string>(), close: new Array<string>() }
  for (const [who, turns] of taken) {
    const processes = most(turns, (_) => _.processes)
    const left = most(turns, (_) => _.left)
    if (processes !== serverCount) notes.open.push(`${who} starts ${processes} processes for ${serverCount} servers`)
    if (left > 0) notes.close.push(`${who} returns while ${left} of its processes still run`)
  }
  return notes
}

const takingPart: ReadonlyArray<Who> = everyone.filter((_) => _ !== "traced" && _ !== "session")

export const manyRow: Row = {
  name: "connect-20",
  run: (options) =>
    withServers(0, (servers) =>
      withCrew(takingPart, options, async (crew) => {
        const turn = turnOf(servers)
        await crew.each(turn)
        const taken = await crew.takeTurns(turn, options.slowRounds)
        await crew.profile("connect-20", turn)
        const notes = notesOf(taken)
        return [
          {
            title: `${serverCount} stdio servers, connect and list`,
            unit: "ms",
            shows: "cost",
            targets: [{ of: "toolset", against: "sdk", bound: 1.1 }],
            ...measuredOf(taken, crew.failures(), (_) => _.result.open),
            notes: notes.open
          },
          {
            title: `${serverCount} stdio servers, close`,
            unit: "ms",
            shows: "cost",
            targets: [],
            ...measuredOf(taken, crew.failures(), (_) => _.result.close),
            notes: notes.close
          }
        ]
      }))
}
