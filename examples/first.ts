/**
 * The first example of the README: connects to a local server, lists its tools and calls one.
 */
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect } from "effect"
import { notesServer } from "./servers/start.js"

export const program = Effect.gen(function*() {
  const config = yield* McpConfig.decode({ name: "notes", transport: "stdio", ...notesServer })
  const notes = yield* McpConnection.make(config)

  const tools = yield* McpConnection.listTools(notes)
  const result = yield* McpConnection.callTool(
    notes,
    { name: "add_note", arguments: { text: "buy milk" } },
    { timeout: "5 seconds" }
  )
  return { tools: tools.items.map((tool) => tool.name), result: result.content }
}).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))
