/**
 * What says it all in place of a configuration.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  CatalogStore,
  McpCatalog,
  McpConfig,
  McpConnection,
  McpManager,
  McpRuntime,
  McpTransport
} from "@mcp-runtime/core"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Effect, Layer } from "effect"
import { failure, phases } from "./kit.js"

const inside = (name: string): McpServer => {
  const server = new McpServer({ name, version: "1.0.0" })
  server.registerTool("whoami", {}, () => ({ content: [{ type: "text", text: name }] }))
  return server
}

const platform = Layer.merge(McpTransport.layerFetch, CatalogStore.layerNone)

const over = (...servers: ReadonlyArray<McpConfig.Shorthand>) =>
  McpManager.make({ servers }).pipe(Effect.provide(platform))

const whoami = (manager: McpManager.Manager, server: string) =>
  Effect.map(
    manager.callTool(server, { name: "whoami" }),
    ({ content }) => content[0]?.type === "text" ? content[0].text : undefined
  )

describe("McpManager: shorthands", () => {
  it.scoped("URLs, scripts and configurations side by side, each with its name", () =>
    Effect.gen(function*() {
      const manager = yield* over(
        "https://docs.example.com/mcp",
        new URL("http://localhost:3000/mcp"),
        "./tools/files.js",
        { name: "weather", transport: "stdio", command: "weather" },
        McpConfig.from("./tools/files.js", "others")
      )
      assert.deepStrictEqual(yield* manager.configured, [
        "docs.example.com",
        "localhost:3000",
        "files",
        "weather",
        "others"
      ])
      const { servers } = yield* manager.state
      assert.deepStrictEqual(servers.map((_) => _.config?.transport), ["auto", "auto", "stdio", "stdio", "stdio"])
    }))

  it.live("servers of this process, and functions that give them, are connected", () =>
    Effect.scoped(Effect.gen(function*() {
      const manager = yield* over(inside("one"), McpConfig.from(() => inside("two"), "second"))
      assert.deepStrictEqual(yield* manager.connectAll, ["in-process", "second"])
      assert.strictEqual(yield* whoami(manager, "in-process"), "one")
      assert.strictEqual(yield* whoami(manager, "second"), "two")
    })))

  it.live("reload: the same server of this process is unchanged, another one takes its place", () =>
    Effect.scoped(Effect.gen(function*() {
      const [one, make] = [inside("one"), () => inside("two")]
      const manager = yield* over(one, McpConfig.from(make, "second"))
      yield* manager.connectAll
      const same = yield* manager.reload([one, McpConfig.from(make, "second"), "http://127.0.0.1:9/mcp"])
      assert.deepStrictEqual(same.unchanged, ["in-process", "second"])
      assert.deepStrictEqual(same.added, ["127.0.0.1:9"])
      const other = yield* manager.reload([inside("three"), McpConfig.from(make, "second")])
      assert.deepStrictEqual([other.restarted, other.unchanged, other.removed], [
        ["in-process"],
        ["second"],
        ["127.0.0.1:9"]
      ])
      assert.strictEqual(yield* whoami(manager, "in-process"), "three")
    })))

  it.live("a layer and a connection take them too", () =>
    Effect.scoped(
      Effect.gen(function*() {
        const catalog = yield* McpCatalog.McpCatalog
        assert.deepStrictEqual((yield* catalog.tools).map((_) => [_.server, _.items.map((_) => _.name)]), [
          ["in-process", ["whoami"]]
        ])
        const config = yield* McpConfig.decode(() => inside("alone"))
        const connection = yield* McpConnection.make(config)
        const { content } = yield* McpConnection.callTool(connection, { name: "whoami" })
        assert.deepStrictEqual(content, [{ type: "text", text: "alone" }])
      }).pipe(Effect.provide(Layer.provideMerge(McpRuntime.layer({ servers: [() => inside("here")] }), platform)))
    ))

  it.scoped("what is none is one server that has failed; two of one name are an error that says what to do", () =>
    Effect.gen(function*() {
      const manager = yield* over("ftp://files.example.com", null as never, 5 as never, "", {} as never, "./ok.js")
      assert.strictEqual(
        yield* phases(manager),
        "files.example.com failed, #2 failed, #3 failed, local failed, #5 failed, ok disconnected"
      )
      const error = failure(yield* Effect.exit(over("./a/server.js", "./a/server.js", "./b/server.js")))
      assert(error._tag === "ConfigInvalid")
      assert.deepStrictEqual(error.problems, [{
        field: "servers.2.name",
        problem: `another server has the name "server": give it one of its own, McpConfig.from(..., "name")`
      }])
    }))
})
