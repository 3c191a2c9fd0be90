/**
 * Rows about calls: one after the other or many at once, over either wire, with small or big results.
 */
import type { Session, Way, Wire } from "../clients/client.js"
import { calibrate, interleave, timed } from "../measure.js"
import type { Options } from "../options.js"
import type { Line, Row, Target } from "../row.js"
import { stdioServer, withHttpServer } from "../servers.js"
import { forEach, withSessions } from "./sessions.js"

interface Calls {
  readonly name: string
  readonly title: string
  readonly targets: ReadonlyArray<Target>
  readonly tool: "echo" | "big"
  readonly inFlight: number
  readonly way?: Way
}

const callsOver = async (wire: Wire, calls: Calls, options: Options): Promise<ReadonlyArray<Line>> =>
  withSessions(wire, calls.way ?? "session", async (sessions) => {
    const work = (session: Session, count: number): Promise<void> =>
      calls.inFlight === 1
        ? session.sequential(calls.tool, count)
        : session.concurrent(calls.tool, count, calls.inFlight)
    const turns = await forEach(async (contender) => {
      const session = sessions[contender]
      const count = await calibrate((count) => work(session, count), options.turnMillis)
      return () => timed(count, () => work(session, count))
    })
    const measured = await interleave(calls.name, turns, options)
    return [{ title: calls.title, unit: "us", shows: "rate", targets: calls.targets, ...measured }]
  })

const overStdio = (calls: Calls): Row => ({
  name: calls.name,
  run: (options) => callsOver({ type: "stdio", script: stdioServer, args: [] }, calls, options)
})

const overHttp = (path: "/json" | "/sse", calls: Calls): Row => ({
  name: calls.name,
  run: (options) => withHttpServer((origin) => callsOver({ type: "http", url: origin + path }, calls, options))
})

const httpOne: ReadonlyArray<Target> = [{ against: "limit", bound: 0.8 }]
const httpMany: ReadonlyArray<Target> = [{ against: "sdk", bound: 5 }, { against: "limit", bound: 0.5 }]

const echo = { tool: "echo", inFlight: 1 } as const
const echoes = { tool: "echo", inFlight: 64 } as const

const sessionRows: ReadonlyArray<Row> = [
  overStdio({
    ...echo,
    name: "stdio-sequential",
    title: "stdio, one at a time",
    targets: [{ against: "sdk", bound: 1.15 }]
  }),
  overStdio({
    ...echoes,
    name: "stdio-64",
    title: "stdio, 64 at once",
    targets: [{ against: "sdk", bound: 1.15 }]
  }),
  overStdio({
    name: "stdio-1mb",
    title: "stdio, 1 MB results",
    targets: [{ against: "sdk", bound: 1.7 }],
    tool: "big",
    inFlight: 1
  }),
  overHttp("/json", { ...echo, name: "http-sequential-json", title: "HTTP JSON, one at a time", targets: httpOne }),
  overHttp("/sse", { ...echo, name: "http-sequential-sse", title: "HTTP SSE, one at a time", targets: httpOne }),
  overHttp("/json", { ...echoes, name: "http-64-json", title: "HTTP JSON, 64 at once", targets: httpMany }),
  overHttp("/sse", { ...echoes, name: "http-64-sse", title: "HTTP SSE, 64 at once", targets: httpMany })
]

/** The same work through a connection. A tracer may cost half. */
const connectionRows = (way: "connection" | "traced", share: number): ReadonlyArray<Row> => {
  const through = (calls: Omit<Calls, "way">): Calls => ({
    ...calls,
    way,
    name: `${way}-${calls.name}`,
    title: `${way}: ${calls.title}`,
    targets: calls.targets.map(({ against, bound }) => ({ against, bound: bound * share }))
  })
  const httpOne: ReadonlyArray<Target> = [{ against: "limit", bound: 0.7 }]
  const httpMany: ReadonlyArray<Target> = [{ against: "sdk", bound: 4 }, { against: "limit", bound: 0.4 }]
  return [
    overStdio(through({
      ...echo,
      name: "stdio-sequential",
      title: "stdio, one at a time",
      targets: [{ against: "sdk", bound: 1 }]
    })),
    overStdio(through({
      ...echoes,
      name: "stdio-64",
      title: "stdio, 64 at once",
      targets: [{ against: "sdk", bound: 0.9 }]
    })),
    overHttp("/json", through({ ...echo, name: "http-json", title: "HTTP JSON, one at a time", targets: httpOne })),
    overHttp("/sse", through({ ...echo, name: "http-sse", title: "HTTP SSE, one at a time", targets: httpOne })),
    overHttp("/json", through({ ...echoes, name: "http-64-json", title: "HTTP JSON, 64 at once", targets: httpMany })),
    overHttp("/sse", through({ ...echoes, name: "http-64-sse", title: "HTTP SSE, 64 at once", targets: httpMany }))
  ]
}

export const callRows: ReadonlyArray<Row> = [
  ...sessionRows,
  ...connectionRows("connection", 1),
  ...connectionRows("traced", 0.5)
]
