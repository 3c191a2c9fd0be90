/**
 * An application of its own process with one connection, for what happens when it dies. Arguments: `exit` or `killed`, and
 * the configuration as JSON. It uses the server, reconnects, has three calls that hang, and then exits or waits for its end.
 */
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { until } from "./processes.js"

const [then, input] = process.argv.slice(2) as [string, string]

const program = Effect.gen(function*() {
  const config = yield* McpConfig.decodeUnknown(JSON.parse(input))
  const connection = yield* McpConnection.make(config)
  yield* McpConnection.callTool(connection, { name: "echo" })
  yield* connection.reconnect
  yield* Effect.forEach([1, 2, 3], () => Effect.fork(McpConnection.callTool(connection, { name: "hang" })))
  if (then !== "exit") return yield* Effect.never
  const { MCP_JOURNAL } = (JSON.parse(input) as { env: { MCP_JOURNAL: string } }).env
  yield* until("the calls run", () => readFileSync(MCP_JOURNAL, "utf8").split("stage call hang").length === 4)
  return process.exit(0)
}).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))

Effect.runFork(program).addObserver(() => process.exit(1))
