/**
 * An application of its own process with one manager, for what happens to its servers when it dies in the middle of
 * connecting them. Arguments: the mode, and the servers as JSON.
 */
import { type McpConfig, McpManager } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect } from "effect"

const [mode, input] = process.argv.slice(2) as ["parallel" | "sequential", string]

const program = Effect.gen(function*() {
  const servers = JSON.parse(input) as ReadonlyArray<McpConfig.ServerConfigInput>
  const manager = yield* McpManager.make({ servers, mode, connectTimeout: "1 minute" })
  yield* manager.connectAll
}).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))

Effect.runFork(program).addObserver(() => process.exit(1))
