/** What applications hold of a server that is connected, when they print it. */
import { assert, describe, it } from "@effect/vitest"
import {
  CatalogStore,
  McpCatalog,
  McpConfig,
  McpConnection,
  McpManager,
  McpTransport,
  Toolset
} from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Inspectable, Layer } from "effect"
import { inspect } from "node:util"

const secret = "CANARY-7f3a9c1e5b"

/** As console.log, a logger and an assertion would print it. */
const printed = (value: unknown) =>
  [
    inspect(value, { depth: 12, getters: true, showHidden: true }),
    inspect([{ value }], { depth: 12 }),
    JSON.stringify({ value }),
    Inspectable.format(value),
    Inspectable.toStringUnknown(value)
  ].join("\n")

describe("what is shown of an object that is printed", () => {
  it.scopedLive("the name and the state of its server, and nothing that was sent", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make()
      const input = {
        name: "docs",
        transport: "http",
        url: `${server.url}?key=${secret}`,
        headers: { authorization: `Bearer ${secret}` }
      } as const
      const connection = yield* McpConnection.make(yield* McpConfig.decode(input))
      assert.strictEqual(JSON.stringify(connection), `{"_id":"McpConnection","server":"docs","state":"Idle"}`)
      yield* McpConnection.listTools(connection)
      const session = yield* connection.session
      const manager = yield* McpManager.make({ servers: [input] })
      yield* manager.connectAll
      const catalog = McpCatalog.make(manager)
      const toolset = yield* Toolset.make([connection])
      const toolbox = toolset.for()
      const { tools } = yield* toolbox.list
      const { channel } = yield* McpTransport.McpTransport
      const wire = yield* (yield* channel(yield* McpConfig.decode(input))).open({
        message: () => {},
        requestFailed: () => {},
        closed: () => {},
        warning: () => {},
        serverStream: () => {}
      })
      const objects = {
        connection,
        session,
        manager,
        catalog,
        lists: connection.catalog,
        toolset,
        toolbox,
        tools,
        wire
      }
      for (const [name, object] of Object.entries(objects)) assert.notInclude(printed(object), "CANARY", name)
      assert.deepStrictEqual(JSON.parse(JSON.stringify(objects)), {
        connection: { _id: "McpConnection", server: "docs", state: "Ready" },
        session: { _id: "McpSession", server: "docs", generation: 1, transport: "http" },
        manager: { _id: "McpManager", servers: [{ name: "docs", phase: "connected" }] },
        catalog: JSON.parse(JSON.stringify(catalog)),
        lists: { _id: "Catalog", server: "docs" },
        toolset: { _id: "Toolset", id: "tools" },
        toolbox: JSON.parse(JSON.stringify(toolbox)),
        tools: JSON.parse(JSON.stringify(tools)),
        wire: { _id: "MessageTransport", server: "docs", transport: "http" }
      })
      assert.include(inspect(manager), "docs")
      assert.deepStrictEqual(Object.keys({ ...connection }).filter((_) => _ === "toJSON"), [])
    }).pipe(Effect.provide(Layer.merge(NodeMcp.layerTransport, CatalogStore.layerMemory))))
})
