/**
 * Rows about calls: one after the other or many at once, over either wire, with small or big results.
 */
import type { Wire } from "../clients/client.js"
import type { Options } from "../options.js"
import type { Line, Row, Target } from "../row.js"
import { stdioServer, withHttpServer } from "../servers.js"
import { everyone, type Who } from "../who.js"
import type { Work } from "../worker/orders.js"
import { measureWork } from "./work.js"

interface Calls {
  readonly name: string
  readonly title: string
  readonly targets: ReadonlyArray<Target>
  readonly tool: "echo" | "big"
  readonly inFlight: number
  readonly who?: ReadonlyArray<Who>
}

const callsOver = async (wire: Wire, calls: Calls, options: Options): Promise<ReadonlyArray<Line>> => {
  const work: Work = { kind: "calls", tool: calls.tool, inFlight: calls.inFlight }
  const measured = await measureWork({ name: calls.name, wire, work, who: calls.who ?? everyone }, options)
  return [{ title: calls.title, unit: "us", shows: "rate", targets: calls.targets, ...measured }]
}

const overStdio = (calls: Calls): Row => ({
  name: calls.name,
  run: (options) => callsOver({ type: "stdio", script: stdioServer, args: [] }, calls, options)
})

const overHttp = (path: "/json" | "/sse", calls: Calls): Row => ({
  name: calls.name,
  run: (options) => withHttpServer((origin) => callsOver({ type: "http", url: origin + path }, calls, options))
})

type Against = readonly [against: "sdk" | "limit", bound: number]

const targets = (of: Who, ...wanted: ReadonlyArray<Against>): ReadonlyArray<Target> =>
  wanted.map(([against, bound]) => ({ of, against, bound }))

/** What is wanted of a session, and of a connection; a tracer may cost half. */
const wanted = (
  session: ReadonlyArray<Against>,
  connection: ReadonlyArray<Against>
): ReadonlyArray<Target> => [
  ...targets("session", ...session),
  ...targets("connection", ...connection),
  ...targets("traced", ...connection.map(([against, bound]): Against => [against, bound / 2]))
]

const httpOne = wanted([["limit", 0.8]], [["limit", 0.7]])
const httpMany = wanted([["sdk", 5], ["limit", 0.5]], [["sdk", 4], ["limit", 0.4]])

const echo = { tool: "echo", inFlight: 1 } as const
const echoes = { tool: "echo", inFlight: 64 } as const

export const callRows: ReadonlyArray<Row> = [
  overStdio({
    ...echo,
    name: "stdio-sequential",
    title: "stdio, one at a time",
    targets: wanted([["sdk", 1.15]], [["sdk", 1]])
  }),
  overStdio({
    ...echoes,
    name: "stdio-64",
    title: "stdio, 64 at once",
    targets: wanted([["sdk", 1.15]], [["sdk", 0.9]])
  }),
  overStdio({
    name: "stdio-1mb",
    title: "stdio, 1 MB results",
    targets: targets("session", ["sdk", 1.7]),
    tool: "big",
    inFlight: 1,
    who: everyone.filter((_) => _ !== "traced")
  }),
  overHttp("/json", { ...echo, name: "http-sequential-json", title: "HTTP JSON, one at a time", targets: httpOne }),
  overHttp("/sse", { ...echo, name: "http-sequential-sse", title: "HTTP SSE, one at a time", targets: httpOne }),
  overHttp("/json", { ...echoes, name: "http-64-json", title: "HTTP JSON, 64 at once", targets: httpMany }),
  overHttp("/sse", { ...echoes, name: "http-64-sse", title: "HTTP SSE, 64 at once", targets: httpMany }),
  overHttp("/json", {
    name: "http-1mb",
    title: "HTTP JSON, 1 MB results",
    targets: [],
    tool: "big",
    inFlight: 1,
    who: everyone.filter((_) => _ !== "traced")
  })
]
