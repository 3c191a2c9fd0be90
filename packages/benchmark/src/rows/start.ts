/**
 * Rows about the start of a session: connecting, and the first listing of many tools. Each turn has a session of its own,
 * and over stdio a server of its own.
 */
import type { Wire } from "../clients/client.js"
import type { Options } from "../options.js"
import type { Failures, Line, Row, Target, Values } from "../row.js"
import { stdioServer, withHttpServer } from "../servers.js"
import { everyone, type Who } from "../who.js"
import { withCrew } from "../worker/crew.js"
import type { Worker } from "../worker/worker.js"
import { measuredOf } from "./work.js"

const toolCount = 1000

const untraced = everyone.filter((_) => _ !== "traced")

/** They list as they open: what listing alone takes can't be told. */
const listsAsItOpens: ReadonlyArray<Who> = ["toolset", "langchain", "mastra"]

const without = <A>(who: ReadonlyArray<Who>, values: { readonly [S in string]?: A }): { readonly [S in string]?: A } =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !who.includes(name as Who)))

const firstListing = (name: string, share: string, every: number, targets: ReadonlyArray<Target>): Row => ({
  name,
  run: (options) => {
    const wire: Wire = { type: "stdio", script: stdioServer, args: [String(toolCount), String(every)] }
    return withCrew(untraced, options, async (crew) => {
      const turn = (worker: Worker) => worker.ask("start", { wire, tools: toolCount })
      await crew.each(turn)
      const taken = await crew.takeTurns(turn, options.slowRounds + 2)
      await crew.profile(name, turn)
      const failures = crew.failures()
      const list = measuredOf(taken, failures, (_) => _.list)
      const both = measuredOf(taken, failures, ({ list, open }) => ({
        wall: open.wall + list.wall,
        cpu: open.cpu + list.cpu
      }))
      const alone: Line = {
        title: `first list, 1000 tools, ${share}`,
        unit: "ms",
        shows: "cost",
        targets,
        values: without(listsAsItOpens, list.values) as Values,
        cpu: without(listsAsItOpens, list.cpu) as Values,
        failures: without(listsAsItOpens, failures) as Failures
      }
      return [
        alone,
        {
          ...alone,
          title: `stdio, connect and first list, 1000 tools, ${share}`,
          targets: [],
          ...both,
          notes: [`${listsAsItOpens.join(", ")} list as they open, so only the sum can be compared`]
        }
      ]
    })
  }
})

const connecting = async (
  name: string,
  wire: Wire,
  title: string,
  times: number,
  options: Options
): Promise<ReadonlyArray<Line>> =>
  withCrew(untraced, options, async (crew) => {
    const turn = (worker: Worker) => worker.ask("connect", { wire, times })
    await crew.each((worker) => worker.ask("connect", { wire, times: 1 }))
    const taken = await crew.takeTurns(turn)
    await crew.profile(name, turn)
    return [{
      title,
      unit: "ms",
      shows: "cost",
      targets: [],
      ...measuredOf(taken, crew.failures(), (_) => _),
      notes: [
        "toolset, langchain and mastra list as they open; openai, aiSdk and mastra ask for a later protocol first"
      ]
    }]
  })

const stdio: Row = {
  name: "connect-stdio",
  run: (options) => {
    const wire: Wire = { type: "stdio", script: stdioServer, args: [] }
    return connecting("connect-stdio", wire, "stdio, connect (with node's start)", 3, options)
  }
}

const http: Row = {
  name: "connect-http",
  run: (options) =>
    withHttpServer((origin) =>
      connecting("connect-http", { type: "http", url: `${origin}/json` }, "HTTP, connect", 20, options)
    )
}

export const startRows: ReadonlyArray<Row> = [
  firstListing("list-1000", "all with output schema", 1, [{ of: "session", against: "sdk", bound: 0.4 }]),
  firstListing("list-1000-tenth", "10 % with output schema", 10, []),
  stdio,
  http
]
