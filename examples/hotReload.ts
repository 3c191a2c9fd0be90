/**
 * Hot reload: the servers are those of a file. When it is edited, what has changed is started, restarted or ended, and nothing
 * else: the other servers keep their processes and the calls that are under way.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpManager } from "@mcp-runtime/core"
import { ConfigFiles, NodeMcp } from "@mcp-runtime/node"
import { Console, Effect, Fiber, Layer, Option, Stream } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { notesServer } from "./servers/start.js"

const project = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-runtime-reload-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
)

/** An application does not do this; its user does, in an editor. */
const edit = (cwd: string, mcpServers: { readonly [name: string]: object }) =>
  Effect.sync(() => fs.writeFileSync(path.join(cwd, ".mcp.json"), JSON.stringify({ mcpServers }, null, 2)))

const showProcesses = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  for (const name of yield* manager.configured) {
    const { content: [block] } = yield* manager.callTool(name, { name: "process_id" })
    yield* Console.log(`  ${name.padEnd(6)} process ${block?.type === "text" ? block.text : "?"}`)
  }
})

const program = (cwd: string) =>
  Effect.gen(function*() {
    const manager = yield* McpManager.McpManager
    yield* Console.log("The file has two servers:")
    yield* showProcesses
    const underWay = yield* Effect.fork(manager.callTool("home", { name: "wait_for_ever" }))

    yield* Console.log("\nIt is edited, while a call to home is under way: work has changed, and shop is new.")
    yield* edit(cwd, { home: notesServer, work: { ...notesServer, env: { START_AFTER: "10" } }, shop: notesServer })
    yield* manager.changes.pipe(
      Stream.takeUntil(({ servers }) => servers.length === 3 && servers.every((_) => _.phase === "connected")),
      Stream.runDrain
    )
    yield* showProcesses
    const isOver = Option.isSome(yield* Fiber.poll(underWay))
    yield* Console.log(`The call to home is ${isOver ? "over" : "still under way"}.`)
  })

const main = Effect.gen(function*() {
  const cwd = yield* project
  yield* edit(cwd, { home: notesServer, work: notesServer })
  // Without options: the files of the working directory, and of the user.
  const live = ConfigFiles.layer({ cwd, user: false }).pipe(Layer.provide(NodeMcp.layer))
  yield* Effect.provide(program(cwd), live)
}).pipe(Effect.scoped)

NodeRuntime.runMain(main)
