import { McpManager, McpRuntime } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { StdioFixture } from "@mcp-runtime/testing"
import { Console, Effect, Layer } from "effect"

const live = McpRuntime.layer({ servers: [StdioFixture.config([], { name: "echo" })] }).pipe(Layer.provide(NodeMcp.layer))

const program = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  const { content } = yield* manager.callTool("echo", { name: "echo", arguments: { text: "hello" } })
  yield* Console.log(content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n"))
})

await Effect.runPromise(Effect.provide(program, live))
