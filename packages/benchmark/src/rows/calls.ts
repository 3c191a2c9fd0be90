/**
 * Rows about calls: one after the other or many at once, over either wire, with small or big results.
 */
import type { Session, Wire } from "../clients/client.js"
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
}

const callsOver = async (wire: Wire, calls: Calls, options: Options): Promise<ReadonlyArray<Line>> =>
  withSessions(wire, async (sessions) => {
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

export const callRows: ReadonlyArray<Row> = [
  overStdio({
    name: "stdio-sequential",
    title: "stdio, one at a time",
    targets: [{ against: "sdk", bound: 1.15 }],
    tool: "echo",
    inFlight: 1
  }),
  overStdio({
    name: "stdio-64",
    title: "stdio, 64 at once",
    targets: [{ against: "sdk", bound: 1.15 }],
    tool: "echo",
    inFlight: 64
  }),
  overStdio({
    name: "stdio-1mb",
    title: "stdio, 1 MB results",
    targets: [{ against: "sdk", bound: 1.7 }],
    tool: "big",
    inFlight: 1
  }),
  overHttp("/json", {
    name: "http-sequential-json",
    title: "HTTP JSON, one at a time",
    targets: httpOne,
    tool: "echo",
    inFlight: 1
  }),
  overHttp("/sse", {
    name: "http-sequential-sse",
    title: "HTTP SSE, one at a time",
    targets: httpOne,
    tool: "echo",
    inFlight: 1
  }),
  overHttp("/json", {
    name: "http-64-json",
    title: "HTTP JSON, 64 at once",
    targets: httpMany,
    tool: "echo",
    inFlight: 64
  }),
  overHttp("/sse", {
    name: "http-64-sse",
    title: "HTTP SSE, 64 at once",
    targets: httpMany,
    tool: "echo",
    inFlight: 64
  })
]
