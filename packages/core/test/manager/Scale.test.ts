/**
 * Two hundred servers.
 */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpCatalog, McpManager, McpTransport } from "@mcp-runtime/core"
import * as LeakCheck from "@mcp-runtime/testing/LeakCheck"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Effect, Layer } from "effect"
import { textOf } from "./kit.js"

const servers = 200
const tools = 50

/** A server of the SDK, as an application has it in its own process. */
const inside = (name: string) => {
  const server = new McpServer({ name, version: "1" })
  for (let i = 0; i < tools; i++) {
    server.registerTool(`tool${i}`, {}, () => ({ content: [{ type: "text", text: `${name} ${i}` }] }))
  }
  return server
}

const names = Array.from({ length: servers }, (_, i) => `s${i}`)

const configs = names.map((name) => ({ name, transport: "inMemory" as const, server: () => inside(name) }))

const platform = Layer.merge(McpTransport.layerFetch, CatalogStore.layerMemory)

describe("200 servers in this process with 50 tools each", () => {
  it.live("are connected, listed, called and closed, and nothing is left", () =>
    LeakCheck.scoped(
      Effect.gen(function*() {
        const manager = yield* McpManager.make({ servers: configs })
        const lists = McpCatalog.make(manager)
        assert.deepStrictEqual(yield* manager.connectAll, names)
        assert.deepStrictEqual(yield* manager.connected, names)
        const listed = yield* lists.tools
        assert.deepStrictEqual(listed.map((_) => _.server), names)
        assert.strictEqual(listed.reduce((sum, { items }) => sum + items.length, 0), servers * tools)
        assert.isTrue(listed.every((_) => _.origin === "live" && !_.stale))
        assert.isTrue((yield* lists.tools) === listed)
        const results = yield* Effect.forEach(
          names,
          (name, i) => Effect.map(manager.callTool(name, { name: `tool${i % tools}` }), textOf),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results, names.map((name, i) => `${name} ${i % tools}`))
        assert.deepStrictEqual(yield* manager.close, [])
        assert.deepStrictEqual(yield* manager.connected, [])
      }).pipe(Effect.provide(platform))
    ))

  it.live("end with the scope, too, while they are being connected", () =>
    LeakCheck.scoped(
      Effect.gen(function*() {
        const manager = yield* McpManager.make({ servers: configs })
        const starting = yield* Effect.fork(Effect.exit(manager.connectAll))
        yield* Effect.iterate(0, {
          while: (connected) => connected < servers / 4,
          body: () => Effect.zipRight(Effect.yieldNow(), Effect.map(manager.connected, (_) => _.length))
        })
        return starting
      }).pipe(Effect.provide(platform))
    ))
})
