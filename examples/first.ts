/**
 * The first example of the README: opens a session with a local server, lists its tools and calls one.
 */
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect } from "effect"
import { notesServer } from "./servers/start.js"

export const program = Effect.gen(function*() {
  const transport = yield* McpTransport.McpTransport
  const config = yield* McpConfig.decode({ name: "notes", transport: "stdio", ...notesServer })
  const session = yield* McpSession.open(yield* transport.channel(config))

  const tools = yield* McpSession.listTools(session)
  const result = yield* McpSession.callTool(
    session,
    { name: "add_note", arguments: { text: "buy milk" } },
    { timeout: "5 seconds" }
  )
  return { tools: tools.items.map((tool) => tool.name), result: result.content }
}).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))
