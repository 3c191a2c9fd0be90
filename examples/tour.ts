/**
 * What `npm start` runs: sessions with two bundled servers, what they can do, what happens when something goes wrong, and
 * that nothing is left behind. Needs no network.
 */
import {
  type McpConfig,
  McpConfig as Config,
  McpConnection,
  type McpProtocol,
  McpSession,
  McpTransport
} from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { LeakCheck } from "@mcp-runtime/testing"
import { Console, Effect, Exit, Fiber, Stream } from "effect"
import { notesServer, weatherServer } from "./servers/start.js"

const openSession = (input: McpConfig.ServerConfigInput) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    return yield* McpSession.open(yield* transport.channel(yield* Config.decode(input)))
  })

const say = (line: string) => Console.log(line)

const introduce = (session: McpSession.McpSession) =>
  Effect.gen(function*() {
    const { implementation, protocolVersion, transport } = session.info
    const { items } = yield* McpSession.listTools(session)
    yield* say(`\n${session.server}: ${implementation.name} ${implementation.version}`)
    yield* say(`  over ${transport}, protocol ${protocolVersion}`)
    yield* Effect.forEach(items, (tool) => say(`  - ${tool.name}: ${tool.description ?? ""}`))
  })

const textOf = (result: McpProtocol.CallToolResult) =>
  result.content.map((block) => (block.type === "text" ? block.text : "")).join(" ")

const useNotes = Effect.gen(function*() {
  const session = yield* openSession({ name: "notes", transport: "stdio", ...notesServer })
  yield* introduce(session)

  const kept = yield* McpSession.callTool(session, { name: "add_note", arguments: { text: "buy milk" } })
  yield* say(`  add_note says: ${textOf(kept)}`)

  const seen: Array<number> = []
  const counted = yield* McpSession.callTool(session, { name: "count", arguments: { to: 5 } }, {
    onProgress: ({ progress }) => Effect.sync(() => seen.push(progress))
  })
  yield* say(`  count says: ${textOf(counted)}; progress seen on the way: ${seen.join(", ")}`)

  const late = yield* Effect.flip(McpSession.callTool(session, { name: "wait_for_ever" }, { timeout: "200 millis" }))
  yield* say(`  a call with a deadline ends with ${late._tag}; executed: ${late.executed}`)

  const call = yield* Effect.fork(McpSession.callTool(session, { name: "wait_for_ever" }))
  yield* Effect.yieldNow()
  yield* say(`  a call that is interrupted stays interrupted: ${Exit.isInterrupted(yield* Fiber.interrupt(call))}`)

  const several = yield* Effect.forEach(
    Array.from({ length: 100 }, (_, i) => i),
    (i) => McpSession.callTool(session, { name: "add_note", arguments: { text: `note ${i}` } }),
    { concurrency: "unbounded" }
  )
  yield* say(`  and 100 calls at once: ${several.length} answers, the session is as good as new`)
}).pipe(Effect.scoped)

const useWeather = Effect.gen(function*() {
  const server = yield* weatherServer
  const config = { name: "weather", transport: "http", url: server.url } as const
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* openSession(config)
    yield* introduce(session)
    const cities = ["Oslo", "Montevideo", "Ulaanbaatar"]
    const forecasts = yield* Effect.forEach(
      cities,
      (city) => McpSession.callTool(session, { name: "forecast", arguments: { city } }),
      { concurrency: "unbounded" }
    )
    yield* Effect.forEach(forecasts, (_) => say(`  forecast: ${JSON.stringify(_.structuredContent)}`))
  }))
  const farewell = yield* Stream.runHead(server.lines)
  yield* say(`  the server says: ${farewell._tag === "Some" ? farewell.value : "nothing"}`)
}).pipe(Effect.scoped)

const heal = Effect.gen(function*() {
  yield* say("\nhealing: a connection outlives its server")
  const config = yield* Config.decode({ name: "notes", transport: "stdio", ...notesServer })
  const notes = yield* McpConnection.make(config)

  yield* McpConnection.callTool(notes, { name: "add_note", arguments: { text: "buy milk" } })
  const lost = yield* Effect.flip(Effect.asVoid(McpConnection.callTool(notes, { name: "crash" })))
  yield* say(`  the server has crashed under a call: ${lost._tag}; it may have run, so it is not sent again`)

  const again = yield* McpConnection.callTool(notes, { name: "add_note", arguments: { text: "buy bread" } })
  yield* say(`  the next call runs in a new process: ${textOf(again)}`)
}).pipe(Effect.scoped)

const meetTrouble = Effect.gen(function*() {
  yield* say("\ntrouble: every failure is a typed error that says what to do")
  const troubles: ReadonlyArray<McpConfig.ServerConfigInput> = [
    { name: "missing", transport: "stdio", command: "no-such-command" },
    {
      name: "dying",
      transport: "stdio",
      command: process.execPath,
      args: ["-e", "console.error('no token'); process.exit(3)"]
    },
    { name: "unreachable", transport: "http", url: "http://user:secret@127.0.0.1:9/mcp" },
    {
      name: "silent",
      transport: "stdio",
      command: process.execPath,
      args: ["-e", "setInterval(() => {}, 1000)"],
      timeouts: { handshake: "300 millis" },
      shutdown: { afterEof: "100 millis" }
    }
  ]
  for (const trouble of troubles) {
    const error = yield* Effect.flip(Effect.scoped(openSession(trouble)))
    yield* say(`  ${error._tag}: ${error.message.replaceAll("\n", " ")}`)
  }
})

const tour = Effect.all([useNotes, useWeather, heal, meetTrouble], { discard: true }).pipe(
  Effect.provide(NodeMcp.layer)
)

const main = LeakCheck.noLeaks(tour).pipe(
  Effect.zipRight(say("\nAll sessions are closed: no process, socket, timer or fiber is left.")),
  Effect.tapErrorCause((cause) => Effect.logError(cause))
)

Effect.runPromiseExit(main).then((exit) => {
  process.exitCode = Exit.isSuccess(exit) ? 0 : 1
})
