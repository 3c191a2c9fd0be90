/**
 * The first example of the README: connects to a server, lists its tools and calls one.
 */
import { McpCatalog, McpManager, McpRuntime } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Layer } from "effect"
import { notesServer } from "./servers/start.js"

export const live = McpRuntime.layer({
  servers: [{ name: "notes", transport: "stdio", ...notesServer }]
}).pipe(Layer.provide(NodeMcp.layer))

export const program = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  const catalog = yield* McpCatalog.McpCatalog

  const lists = yield* catalog.tools
  const result = yield* manager.callTool(
    "notes",
    { name: "add_note", arguments: { text: "buy milk" } },
    { timeout: "5 seconds" }
  )
  return { tools: lists.flatMap(({ items }) => items.map((tool) => tool.name)), result: result.content }
}).pipe(Effect.provide(live))
