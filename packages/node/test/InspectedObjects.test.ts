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
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Inspectable, Layer, Redacted } from "effect"
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
  it.effect("configurations: no user and query of a URL, no secrets that stand in arguments, nothing that they call a secret", () =>
    Effect.gen(function*() {
      const http = yield* McpConfig.decode({
        name: "docs",
        transport: "http",
        url: `https://ada:${secret}@docs.example.com/mcp?key=${secret}`,
        headers: { authorization: `Bearer ${secret}` },
        proxy: `http://ada:${secret}@127.0.0.1:8080`,
        auth: { type: "oauth", clientId: "us", issuer: `https://idp.example.com/?key=${secret}` },
        timeouts: { request: "5 seconds" }
      })
      const stdio = yield* McpConfig.decode({
        name: "files",
        transport: "stdio",
        command: "serve",
        args: ["--token", secret, `--api-key=${secret}`, "-H", `Authorization: Bearer ${secret}`, "-p", "8080"]
          .concat(`postgres://ada:${secret}@db/files?password=${secret}`, `/srv/${secret}x`, "."),
        env: { TOKEN: secret },
        secrets: [`${secret}x`]
      })
      const expanding = yield* McpConfig.decode({
        name: "search",
        transport: "auto",
        url: `https://\${HOST:-search.example.com}/mcp?key=\${KEY:-${secret}}`,
        expand: true
      })
      const wrong = { name: "docs", transport: "http", url: `ftp://ada:${secret}@docs.example.com` } as const
      const manager = yield* McpManager.make({ servers: [wrong] })
      const objects = { http, stdio, expanding, all: [{ http }], state: yield* manager.state }
      for (const [name, object] of Object.entries(objects)) assert.notInclude(printed(object), "CANARY", name)
      assert.strictEqual(JSON.parse(JSON.stringify(http)).url, "https://docs.example.com/mcp")
      assert.strictEqual(JSON.parse(JSON.stringify(http)).auth.issuer, "https://idp.example.com/")
      assert.strictEqual(JSON.parse(JSON.stringify(expanding)).url, "https://${HOST}/mcp")
      assert.deepStrictEqual(JSON.parse(JSON.stringify(stdio)), {
        name: "files",
        transport: "stdio",
        command: "serve",
        args: ["--token", "<redacted>", "--api-key=<redacted>", "-H", "Authorization:<redacted>", "-p", "8080"]
          .concat("postgres://db/files?password=", "/srv/<redacted>", "."),
        env: { TOKEN: "<redacted>" },
        secrets: ["<redacted>"]
      })
      // What they are is as it was.
      assert(http.transport === "http" && stdio.transport === "stdio")
      assert.include(http.url, secret)
      assert.include(stdio.args?.join(), secret)
      for (const config of [http, stdio, expanding]) {
        assert.deepStrictEqual(yield* McpConfig.decode(config as never), config)
      }
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeMcp.layerTransport, CatalogStore.layerMemory))))

  it.effect("configurations that the library has made of others: as these", () =>
    Effect.gen(function*() {
      const eager = {
        name: "files",
        transport: "stdio",
        command: "serve",
        args: ["--token", secret],
        lifetime: "eager"
      }
      const manager = yield* McpManager.make({ servers: [eager as never] })
      assert.notInclude(printed((yield* manager.connection("files")).config), "CANARY")
      const expanding = yield* McpConfig.decode({
        name: "docs",
        transport: "http",
        url: "https://docs.example.com/${KEY}?key=${KEY}",
        expand: true
      })
      const opened: Array<McpConfig.ServerConfig> = []
      const transport = McpTransport.make({
        http: { open: (config) => Effect.zipRight(Effect.sync(() => opened.push(config)), Effect.never) },
        secrets: SecretResolver.make({ env: () => Effect.succeed(Redacted.make(secret)) })
      })
      const { open } = yield* transport.channel(expanding)
      yield* Effect.fork(open({} as never))
      while (opened.length === 0) yield* Effect.yieldNow()
      assert.strictEqual((opened[0] as McpConfig.HttpConfig).url, `https://docs.example.com/${secret}?key=${secret}`)
      assert.notInclude(printed(opened), "CANARY")
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeMcp.layerTransport, CatalogStore.layerMemory))))

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
        wire,
        config: connection.config,
        state: yield* manager.state
      }
      for (const [name, object] of Object.entries(objects)) assert.notInclude(printed(object), "CANARY", name)
      const { config: _, state: __, ...others } = objects
      assert.deepStrictEqual(JSON.parse(JSON.stringify(others)), {
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
