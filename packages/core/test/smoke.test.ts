import { assert, describe, it } from "@effect/vitest"
import { ClientHandlers, HttpExchange, McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Effect, Layer } from "effect"
import { z } from "zod"

const server = () => {
  const s = new McpServer({ name: "x", version: "1" })
  s.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }]
  }))
  return s
}

describe("smoke", () => {
  it.scopedLive("in memory", () =>
    Effect.gen(function*() {
      const t = McpTransport.make({ http: { open: () => Effect.die("no") } })
      const config = yield* McpConfig.decode({ name: "mem", transport: "inMemory", server })
      const channel = yield* t.channel(config)
      const session = yield* McpSession.open(channel)
      const { items } = yield* McpSession.listTools(session)
      assert.strictEqual(items[0]!.name, "add")
      const r = yield* McpSession.callTool(session, { name: "add", arguments: { a: 1, b: 2 } })
      assert.deepStrictEqual(r.content, [{ type: "text", text: "3" }])
    }))
})
