/**
 * Rows about the start of a session over stdio: connecting, and the first listing of many tools. Each turn has a server
 * and a session of its own.
 */
import { load } from "../clients/all.js"
import type { Wire } from "../clients/client.js"
import { interleave, type Sample, timed, type Turn } from "../measure.js"
import type { Row, Target } from "../row.js"
import { stdioServer } from "../servers.js"
import { forEach } from "./sessions.js"

const toolCount = 1000

const average = (samples: ReadonlyArray<Sample>): Sample => ({
  wall: samples.reduce((sum, _) => sum + _.wall, 0) / samples.length,
  cpu: samples.reduce((sum, _) => sum + _.cpu, 0) / samples.length
})

const warmedUp = async (turn: Turn): Promise<Turn> => {
  await turn()
  return turn
}

const firstListing = (name: string, share: string, every: number, targets: ReadonlyArray<Target>): Row => ({
  name,
  run: async (options) => {
    const wire: Wire = { type: "stdio", script: stdioServer, args: [String(toolCount), String(every)] }
    const turns = await forEach(async (contender) => {
      const open = await load(contender)
      return warmedUp(async () => {
        const session = await open(wire)
        try {
          return await timed(1, async () => {
            if (await session.list() !== toolCount) throw new Error("a listing is not complete")
          })
        } finally {
          await session.close()
        }
      })
    })
    const measured = await interleave(name, turns, options)
    return [{ title: `first list, 1000 tools, ${share}`, unit: "ms", shows: "cost", targets, ...measured }]
  }
})

const connect: Row = {
  name: "connect-stdio",
  run: async (options) => {
    const wire: Wire = { type: "stdio", script: stdioServer, args: [] }
    const turns = await forEach(async (contender) => {
      const open = await load(contender)
      return warmedUp(async () => {
        const samples: Array<Sample> = []
        for (let i = 0; i < 3; i++) {
          let close = async (): Promise<void> => {}
          samples.push(
            await timed(1, async () => {
              close = (await open(wire)).close
            })
          )
          await close()
        }
        return average(samples)
      })
    })
    const measured = await interleave(connect.name, turns, options)
    return [{ title: "stdio, connect (with node's start)", unit: "ms", shows: "cost", targets: [], ...measured }]
  }
}

export const startRows: ReadonlyArray<Row> = [
  firstListing("list-1000", "all with output schema", 1, [{ against: "sdk", bound: 0.4 }]),
  firstListing("list-1000-tenth", "10 % with output schema", 10, []),
  connect
]
