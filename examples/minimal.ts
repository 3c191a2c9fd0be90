/**
 * The smallest program: one server, its tools, one call.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpCatalog, McpManager, McpRuntime } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Console, Effect, Layer } from "effect"
import { notesServer } from "./servers/start.js"

const live = McpRuntime.layer({ servers: [{ name: "notes", transport: "stdio", ...notesServer }] }).pipe(
  Layer.provide(NodeMcp.layer)
)

const program = Effect.gen(function*() {
  const [notes] = yield* (yield* McpCatalog.McpCatalog).tools
  yield* Console.log("tools:", notes?.items.map((tool) => tool.name).join(", "))
  const manager = yield* McpManager.McpManager
  const { content } = yield* manager.callTool("notes", { name: "add_note", arguments: { text: "buy milk" } })
  yield* Console.log("answer:", content)
})

NodeRuntime.runMain(Effect.provide(program, live))
