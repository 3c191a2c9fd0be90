/**
 * Row about many servers at once: twenty processes are started, connected and listed, and ended again. Each turn has
 * processes of its own.
 */
import { loadFleet } from "../clients/all.js"
import { measuredOf, type Sample, takeTurns, timed } from "../measure.js"
import type { Row } from "../row.js"
import { serverCount, toolCount, withServers } from "./fleet.js"
import { forEach } from "./sessions.js"

interface Parts {
  readonly open: Sample
  readonly close: Sample
}

export const manyRow: Row = {
  name: "connect-20",
  run: (options) =>
    withServers(0, async ({ startedOnce, wires }) => {
      const turns = await forEach(async (contender) => {
        const openFleet = await loadFleet(contender)
        const turn = (): Promise<Parts> =>
          startedOnce(async () => {
            let close = async (): Promise<void> => {}
            const open = await timed(1, async () => {
              close = (await openFleet(wires, toolCount)).close
            })
            return { open, close: await timed(1, close) }
          })
        await turn()
        return turn
      })
      const taken = await takeTurns(manyRow.name, turns, options)
      return [
        {
          title: `${serverCount} stdio servers, connect and list`,
          unit: "ms",
          shows: "cost",
          targets: [{ against: "sdk", bound: 1.1 }],
          ...measuredOf(taken, (_) => _.open)
        },
        {
          title: `${serverCount} stdio servers, close`,
          unit: "ms",
          shows: "cost",
          targets: [],
          ...measuredOf(taken, (_) => _.close)
        }
      ]
    })
}
