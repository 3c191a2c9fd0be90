/**
 * Row about tools that are known already: one server with many, read again and again. The SDK knows no other way than to
 * ask the server; ours gives the list that it has.
 */
import { Effect } from "effect"
import { load } from "../clients/all.js"
import type { Session, Wire } from "../clients/client.js"
import { manage, type Managed } from "../clients/oursManager.js"
import { calibrate, interleave, timed, type Turn } from "../measure.js"
import { type Options, shortTurns } from "../options.js"
import type { Line, Row } from "../row.js"
import { stdioServer } from "../servers.js"

const toolCount = 1000

/** Who takes longer copies something. */
const mostMicros = 5

type Read = Effect.Effect<ReadonlyArray<unknown> | undefined, unknown>

const listAgain = async (session: Session, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) {
    if (await session.list() !== toolCount) throw new Error("a listing is not complete")
  }
}

const readAgain = Effect.fnUntraced(function*(read: Read, known: ReadonlyArray<unknown>, count: number) {
  for (let i = 0; i < count; i++) {
    if ((yield* read) !== known) return yield* Effect.dieMessage("a list was copied")
  }
})

const turnOf = async (work: (count: number) => Promise<void>, options: Options): Promise<Turn> => {
  const count = await calibrate(work, options.turnMillis, options.warmUpMillis)
  return () => timed(count, () => work(count))
}

/** The ways in which an application reads the list. */
const readsOf = async ({ catalog, manager }: Managed): Promise<{ readonly [W in keyof typeof titles]: Read }> => {
  const [name] = await Effect.runPromise(manager.connected)
  const connection = await Effect.runPromise(manager.connection(name!))
  return {
    get: Effect.map(connection.catalog.tools.get, (_) => _.items),
    tools: Effect.map(catalog.tools, (_) => _[0]?.items),
    current: Effect.map(catalog.current, (_) => _[0]?.items)
  }
}

const titles = {
  get: "the connection's catalog.tools.get",
  tools: "McpCatalog.tools",
  current: "McpCatalog.current"
}

const measure = async (session: Session, ours: Managed, options: Options): Promise<ReadonlyArray<Line>> => {
  const reads = await readsOf(ours)
  const known = await Effect.runPromise(reads.get)
  if (known?.length !== toolCount) throw new Error("a listing is not complete")
  const again = (read: Read) => turnOf((count) => Effect.runPromise(readAgain(read, known, count)), options)
  const { cpu, values } = await interleave(cachedRow.name, {
    sdk: await turnOf((count) => listAgain(session, count), options),
    get: await again(reads.get),
    tools: await again(reads.tools),
    current: await again(reads.current)
  }, shortTurns(options))
  return (["get", "tools", "current"] as const).map((way) => ({
    title: `1000 tools again, ${titles[way]}`,
    unit: "us",
    shows: "rate",
    targets: [{ most: mostMicros }],
    values: { sdk: values.sdk, ours: values[way] },
    cpu: { sdk: cpu.sdk, ours: cpu[way] }
  }))
}

export const cachedRow: Row = {
  name: "list-1000-again",
  run: async (options) => {
    const wire: Wire = { type: "stdio", script: stdioServer, args: [String(toolCount), "10"] }
    const ours = await manage([wire])
    try {
      await ours.connect()
      const session = await (await load("sdk"))(wire)
      try {
        return await measure(session, ours, options)
      } finally {
        await session.close()
      }
    } finally {
      await ours.close()
    }
  }
}
