/**
 * Rows about a toolset of many tools: 10,000 from 50 servers in this process, listed and called by name. The SDK knows no
 * toolset: beside it stands what it needs to have the same tools, a listing of each server, all at once. No tool has an
 * output schema, each of which the SDK would compile with each listing.
 */
import { McpConnection, type McpError, type McpManager, type McpProtocol, ToolFilter, Toolset } from "@mcp-runtime/core"
import { Effect } from "effect"
import { checkResult } from "../clients/client.js"
import { connectOurs, connectSdk, type Serve, serverOf } from "../clients/inMemory.js"
import type { Managed } from "../clients/oursManager.js"
import { calibrate, collectGarbage, interleave, timed, type Turn } from "../measure.js"
import { type Options, shortTurns } from "../options.js"
import type { Ceiling, Line, Row, Target } from "../row.js"

const listRow = "toolset-10000"
const callRow = "toolset-10000-call"

const serverCount = 50
const toolsEach = 200
const toolCount = serverCount * toolsEach

/** Of these, every tenth is hidden by the filters. */
const shownCount = toolCount * 9 / 10

/** The few tools that a call has to find its own among, beside the many. */
const fewCount = 100

/** Constant, whatever the many do to the caches of the processor. */
const constant: ReadonlyArray<Target> = [{ against: "base", bound: 1.25 }]

/** A few milliseconds. */
const soon: ReadonlyArray<Ceiling> = [{ most: 5 }]

type SdkClients = Awaited<ReturnType<typeof connectSdk>>

const turnOf = async (work: (count: number) => Promise<void>, options: Options): Promise<Turn> => {
  const count = await calibrate(work, options.turnMillis, options.warmUpMillis)
  return () => timed(count, () => work(count))
}

interface Opened {
  readonly servers: ReadonlyArray<Serve>
  readonly clients: SdkClients
  readonly few: Managed
  readonly many: Managed
}

const withOpened = async <A>(use: (opened: Opened) => Promise<A>): Promise<A> => {
  const servers = await Promise.all(
    Array.from({ length: serverCount }, (_, i) => serverOf(toolsEach, 0, i * toolsEach))
  )
  const many = await connectOurs(servers, toolsEach)
  const few = await connectOurs([await serverOf(fewCount, 0)], fewCount)
  const clients = await connectSdk(servers)
  try {
    return await use({ servers, clients, few, many })
  } finally {
    await Promise.all([many.close(), few.close(), ...clients.map(({ client }) => client.close())])
  }
}

// -------------------------------------------------------------------------------------------------
// Listing
// -------------------------------------------------------------------------------------------------

interface Listing {
  readonly list: Effect.Effect<Toolset.ToolList, unknown>
  readonly length: number
}

const listAgain = Effect.fnUntraced(function*({ length, list }: Listing, count: number) {
  for (let i = 0; i < count; i++) {
    const { problems, tools } = yield* list
    if (tools.length !== length || problems.length > 0) return yield* Effect.dieMessage("a toolset is not complete")
  }
})

const listWithSdk = async (clients: SdkClients, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) {
    const lists = await Promise.all(clients.map(({ client }) => client.listTools()))
    if (lists.some(({ tools }) => tools.length !== toolsEach)) throw new Error("a listing is not complete")
  }
}

/** Who asks, where a filter has to know. */
const request = { agent: { hidden: "7" }, runContext: {} }

const dynamic = ToolFilter.dynamic((tool, { agent }: ToolFilter.FilterContext<typeof request.agent>) =>
  !tool.name.endsWith(agent.hidden)
)

/** Each listing is for another agent: nothing is kept for one who asks. */
const listingsOf = Effect.fnUntraced(function*(manager: McpManager.Manager) {
  const plain = yield* Toolset.make(manager)
  const fixed = yield* Toolset.make(manager, { filter: ToolFilter.block("*7") })
  const asking = yield* Toolset.make(manager, { filter: dynamic })
  const strict = yield* Toolset.make(manager, { schemas: "strict" })
  const listing = (list: () => Listing["list"], length: number): Listing => ({ list: Effect.suspend(list), length })
  return {
    first: listing(() => Effect.flatMap(Toolset.make(manager), (_) => _.for().list), toolCount),
    again: listing(() => plain.for().list, toolCount),
    fixed: listing(() => fixed.for().list, shownCount),
    dynamic: listing(() => asking.for(request).list, shownCount),
    strict: listing(() => strict.for().list, toolCount)
  }
})

const strictly = Effect.fnUntraced(function*(manager: McpManager.Manager) {
  const { list } = (yield* Toolset.make(manager, { schemas: "strict" })).for()
  return { list, length: toolCount }
})

/** What was converted once stays so for as long as its server's list: each turn has lists of its own. */
const firstStrict = (servers: ReadonlyArray<Serve>): Turn => async () => {
  const ours = await connectOurs(servers, toolsEach)
  try {
    const listing = await Effect.runPromise(strictly(ours.manager))
    collectGarbage()
    return await timed(1, () => Effect.runPromise(listAgain(listing, 1)))
  } finally {
    await ours.close()
  }
}

const titles = {
  first: { title: "first listing", targets: [] },
  again: { title: "listing again", targets: soon },
  fixed: { title: "again, filter by name", targets: soon },
  dynamic: { title: "again, filter by who asks", targets: soon },
  firstStrict: { title: "first listing, strict schemas", targets: [] },
  strict: { title: "again, strict schemas", targets: soon }
} as const

const measureListing = async (
  { clients, many, servers }: Opened,
  options: Options
): Promise<ReadonlyArray<Line>> => {
  const listings = await Effect.runPromise(listingsOf(many.manager))
  const turn = async (listing: Listing): Promise<Turn> => {
    const work = (count: number) => Effect.runPromise(listAgain(listing, count))
    // What is done once would be taken for what each listing takes.
    await work(1)
    return turnOf(work, options)
  }
  const strict = firstStrict(servers)
  await strict()
  const { cpu, values } = await interleave(listRow, {
    sdk: await turnOf((count) => listWithSdk(clients, count), options),
    first: await turn(listings.first),
    again: await turn(listings.again),
    fixed: await turn(listings.fixed),
    dynamic: await turn(listings.dynamic),
    firstStrict: strict,
    strict: await turn(listings.strict)
  }, shortTurns(options))
  return (["first", "again", "fixed", "dynamic", "firstStrict", "strict"] as const).map((way) => ({
    title: `toolset of ${toolCount}, ${titles[way].title}`,
    unit: "ms",
    shows: "rate",
    targets: titles[way].targets,
    values: { sdk: values.sdk, ours: values[way] },
    cpu: { sdk: cpu.sdk, ours: cpu[way] }
  }))
}

// -------------------------------------------------------------------------------------------------
// Calls
// -------------------------------------------------------------------------------------------------

type Call = Effect.Effect<McpProtocol.CallToolResult, Toolset.CallError<McpError.McpError>>

interface Calls {
  /** By its name among all tools. */
  readonly toolbox: Call
  /** Of its connection, which has to find nothing. */
  readonly connection: Call
}

const callAgain = Effect.fnUntraced(function*(call: Call, count: number) {
  for (let i = 0; i < count; i++) checkResult(yield* call)
})

const callWithSdk = async (clients: SdkClients, count: number): Promise<void> => {
  const { client, tools } = clients.at(-1)!
  const asked = { name: tools.at(-1)!.name, arguments: argumentsFor(toolCount) }
  for (let i = 0; i < count; i++) checkResult(await client.callTool(asked))
}

/** For the last of so many tools. */
const argumentsFor = (count: number): { readonly [name: string]: string } => ({ [`id_${count - 1}`]: "hello" })

/** Calls of the last tool. */
const callsOf = Effect.fnUntraced(function*({ manager }: Managed, count: number) {
  const { call, list } = (yield* Toolset.make(manager)).for()
  const { tools } = yield* list
  const { name, server, tool } = tools[count - 1]!
  const connection = yield* manager.connection(server)
  const args = argumentsFor(count)
  const calls: Calls = {
    toolbox: Effect.flatMap(
      Effect.suspend(() => call(name, args)),
      (given) => given._tag === "Success" ? Effect.succeed(given.result) : Effect.dieMessage(given.text)
    ),
    connection: Effect.suspend(() => McpConnection.callTool(connection, { name: tool, arguments: args }))
  }
  return calls
})

const measureCalls = async (opened: Opened, options: Options): Promise<ReadonlyArray<Line>> => {
  const few = await Effect.runPromise(callsOf(opened.few, fewCount))
  const many = await Effect.runPromise(callsOf(opened.many, toolCount))
  const turn = (call: Call) => turnOf((count) => Effect.runPromise(callAgain(call, count)), options)
  const { cpu, values } = await interleave(callRow, {
    sdk: await turnOf((count) => callWithSdk(opened.clients, count), options),
    fewAlone: await turn(few.connection),
    few: await turn(few.toolbox),
    many: await turn(many.toolbox),
    manyAlone: await turn(many.connection)
  }, shortTurns(options))
  const line = (title: string, ours: "few" | "many", base: "few" | "fewAlone" | "manyAlone"): Line => ({
    title: `toolset, ${title}`,
    unit: "us",
    shows: "cost",
    targets: base === "few" ? constant : [],
    values: { sdk: values.sdk, ours: values[ours], base: values[base] },
    cpu: { sdk: cpu.sdk, ours: cpu[ours] }
  })
  return [
    line(`call among ${fewCount}; base: of the connection`, "few", "fewAlone"),
    line(`call among ${toolCount}; base: of the connection`, "many", "manyAlone"),
    line(`call among ${toolCount}; base: among ${fewCount}`, "many", "few")
  ]
}

export const toolsetRows: ReadonlyArray<Row> = [
  { name: listRow, run: (options) => withOpened((opened) => measureListing(opened, options)) },
  { name: callRow, run: (options) => withOpened((opened) => measureCalls(opened, options)) }
]
