/**
 * What `npm start` runs: five servers under one manager, two of them broken; what agents get of them; a server that is killed
 * while calls run; a second start, from what the first has stored; and that nothing is left behind. Needs no network.
 */
import {
  McpCatalog,
  type McpConfig,
  McpManager,
  type McpProtocol,
  McpRuntime,
  ToolApproval,
  ToolFilter,
  ToolOutput,
  Toolset
} from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { LeakCheck } from "@mcp-runtime/testing"
import { Console, Effect, Exit, Fiber, Layer, Logger, LogLevel, Stream } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { clockServer } from "./servers/clock.js"
import { notesServer, weatherServer } from "./servers/start.js"

type Servers = ReadonlyArray<McpConfig.ServerConfigInput>

const say = (line: string) => Console.log(line)

const textOf = (result: McpProtocol.CallToolResult) =>
  result.content.map((block) => (block.type === "text" ? block.text : "")).join(" ")

const oneLine = (text: string) => text.replaceAll("\n", " ")

/** Where lists outlive a run. An application leaves that to `NodeMcp.layer`, which takes the user's cache directory. */
const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-runtime-tour-"))),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true }))
)

/** `startAfter`: how many milliseconds notes needs until it can be used. */
const serversWith = (weatherUrl: string, startAfter: number): Servers => [
  { name: "notes", transport: "stdio", ...notesServer, env: { START_AFTER: `${startAfter}` } },
  {
    name: "broken",
    transport: "stdio",
    command: process.execPath,
    args: ["-e", "console.error('no token in the environment'); process.exit(3)"]
  },
  { name: "weather", transport: "http", url: weatherUrl },
  { name: "unreachable", transport: "http", url: "http://user:secret@127.0.0.1:9/mcp" },
  { name: "clock", transport: "inMemory", server: clockServer }
]

/** One run of an application. */
const runtime = (servers: Servers, storedIn: string) =>
  McpRuntime.layer({ servers }).pipe(
    Layer.provide(NodeMcp.layerTransport),
    Layer.provide(NodeMcp.layerCatalog(storedIn))
  )

const showServers = Effect.gen(function*() {
  const { servers } = yield* (yield* McpManager.McpManager).state
  for (const { error, name, phase, tools } of servers) {
    yield* say(
      `  ${name.padEnd(12)} ${phase.padEnd(13)} ${
        error === undefined ? `${tools?.items.length} tools` : oneLine(error.message)
      }`
    )
  }
})

const start = Effect.gen(function*() {
  yield* say("Five servers are connected in parallel. Two of them are broken, which costs nobody else anything:")
  yield* showServers
  yield* say("\nWhat agents get:")
  for (const { items, server } of yield* (yield* McpCatalog.McpCatalog).tools) {
    yield* say(`  ${server.padEnd(12)} ${items.map((_) => _.name).join(", ")}`)
  }
})

const call = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  yield* say("\nCalls:")

  const forecast = yield* manager.callTool("weather", { name: "forecast", arguments: { city: "Oslo" } })
  yield* say(`  a structured result from weather: ${JSON.stringify(forecast.structuredContent)}`)

  const seen: Array<number> = []
  const counted = yield* manager.callTool("notes", { name: "count", arguments: { to: 5 } }, {
    onProgress: ({ progress }) => Effect.sync(() => seen.push(progress))
  })
  yield* say(`  notes ${textOf(counted)}; progress seen on the way: ${seen.join(", ")}`)

  const incomplete = yield* Effect.flip(Effect.asVoid(manager.callTool("notes", { name: "add_note" })))
  yield* say(`  a call without its argument is not sent: ${incomplete.message}`)

  const late = yield* Effect.flip(
    Effect.asVoid(manager.callTool("notes", { name: "wait_for_ever" }, { timeout: "200 millis" }))
  )
  yield* say(`  a call with a deadline ends with ${late._tag}; executed: ${late.executed}`)

  const nobody = yield* Effect.flip(Effect.asVoid(manager.callTool("note", { name: "add_note" })))
  yield* say(`  a name that is not there: ${nobody.message}`)
})

const serveAgent = Effect.gen(function*() {
  yield* say("\nAn agent gets some of the tools, and may not write without asking:")
  const toolset = yield* Toolset.make(yield* McpManager.McpManager, {
    filter: ToolFilter.block("crash", "wait_for_ever", "process_id"),
    approval: yield* ToolApproval.make({ always: ["add_*"], never: ["*"] }),
    output: ToolOutput.text
  })
  const agent = toolset.for()
  const { tools } = yield* agent.list
  yield* say(`  it sees ${tools.map((_) => _.name).join(", ")}`)

  const hidden = yield* agent.call("notes__crash")
  yield* say(`  it asks for notes__crash all the same: ${hidden._tag === "Failure" ? hidden.text : "?"}`)
  const clock = yield* agent.call("clock__hours_from_utc", `{"city":"Oslo"}`)
  yield* say(`  clock__hours_from_utc says: ${clock._tag === "Success" ? clock.output : "?"}`)

  const asked = yield* Effect.flip(agent.call("notes__add_note", { text: "buy milk" }))
  if (asked._tag !== "ApprovalRequired") return yield* asked
  const stored = JSON.stringify(ToolApproval.encode(asked.pending))
  yield* say(
    `  notes__add_note needs approval; what waits is ${stored.length} characters of JSON, for whoever answers, whenever`
  )
  const approved = yield* agent.approve(yield* ToolApproval.decode(JSON.parse(stored)))
  yield* say(`  approved: ${approved._tag === "Success" ? approved.output : "?"}`)
})

const heal = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  yield* say("\nA server is killed while calls run:")
  const processId = Effect.map(manager.callTool("notes", { name: "process_id" }), (_) => Number(textOf(_)))
  const phases: Array<string> = []
  yield* Stream.runForEach(manager.changes, ({ servers }) =>
    Effect.sync(() => {
      const { phase } = servers[0]!
      if (phases.at(-1) !== phase) phases.push(phase)
    })).pipe(Effect.fork)

  const before = yield* processId
  const underWay = yield* Effect.fork(
    Effect.forEach(
      Array.from({ length: 5 }),
      () => Effect.exit(manager.callTool("notes", { name: "wait_for_ever" })),
      { concurrency: "unbounded" }
    )
  )
  const elsewhere = yield* Effect.fork(
    Effect.forEach(
      Array.from({ length: 50 }),
      () => manager.callTool("weather", { name: "forecast", arguments: { city: "Ulaanbaatar" } }),
      { concurrency: 5 }
    )
  )
  // They are sent when this is answered.
  yield* processId
  yield* Effect.sync(() => process.kill(before, "SIGKILL"))
  const next = yield* Effect.forEach(
    Array.from({ length: 20 }, (_, i) => i),
    (i) => manager.callTool("notes", { name: "add_note", arguments: { text: `note ${i}` } }, { replay: "always" }),
    { concurrency: "unbounded" }
  )
  const lost = yield* Fiber.join(underWay)
  yield* say(
    `  ${
      lost.filter(Exit.isFailure).length
    } calls were under way: they may have run, so they fail and are not sent again`
  )
  yield* say(`  ${next.length} calls right after it: all answered, by process ${yield* processId} instead of ${before}`)
  yield* say(`  ${(yield* Fiber.join(elsewhere)).length} calls to another server meanwhile: all answered`)
  yield* say(`  notes was ${phases.join(", then ")}`)
}).pipe(Effect.scoped)

const startAgain = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  yield* say("\nA second start, while notes takes its time: its tools are there at once, from the first run:")
  for (const { items, origin, server } of yield* (yield* McpCatalog.McpCatalog).current) {
    yield* say(`  ${server.padEnd(12)} ${`${items.length}`.padStart(2)} tools, ${origin}`)
  }
  const kept = yield* manager.callTool("notes", { name: "add_note", arguments: { text: "buy milk" } })
  yield* say(`  the first call waits for the server, looks the tool up in its live list, and runs: ${textOf(kept)}`)
})

const tour = Effect.gen(function*() {
  const storedIn = yield* directory
  const weather = yield* weatherServer
  const first = runtime(serversWith(weather.url, 0), storedIn)
  yield* Effect.provide(Effect.all([start, call, serveAgent, heal], { discard: true }), first)
  const again = serversWith(weather.url, 1000).filter(({ name }) => name !== "broken" && name !== "unreachable")
  yield* Effect.provide(startAgain, runtime(again, storedIn))
}).pipe(Effect.scoped)

const main = LeakCheck.noLeaks(tour).pipe(
  // What an operator would read in the log is part of the summary.
  Logger.withMinimumLogLevel(LogLevel.Error),
  Effect.zipRight(say("\nEverything is closed: no process, socket, timer or fiber is left.")),
  Effect.tapErrorCause((cause) => Effect.logError(cause))
)

Effect.runPromiseExit(main).then((exit) => {
  process.exitCode = Exit.isSuccess(exit) ? 0 : 1
})
