/**
 * A hostile page of tools over real HTTP: what is too deep costs only itself, what is too much fails the listing, and the
 * connection goes on.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { connect, echoes, errorOf, withServer } from "./httpConnections.js"

const deep = `${`{"a":`.repeat(100_000)}{}${"}".repeat(100_000)}`

/** The fixture answers everything else. */
const hostile = (tools: ReadonlyArray<string>) => (request: HttpFixture.LoggedRequest) =>
  request.rpc !== "tools/list" ? undefined : HttpFixture.respond({
    headers: { "content-type": "application/json" },
    body: `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":{"tools":[${tools.join(",")}]}}`
  })

const echoTool = `{"name":"echo","inputSchema":{"type":"object"}}`

describe("a hostile page of tools, over HTTP", () => {
  it.live("P19: a schema of 100 000 levels and one of 101 cost only their tools", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const schema = `${`{"a":`.repeat(100)}{}${"}".repeat(100)}`
        yield* server.setOverride(hostile([
          `{"name":"monster","inputSchema":${deep}}`,
          echoTool,
          `{"name":"large","inputSchema":${schema}}`
        ]))
        const connection = yield* connect(server.url)
        const { dropped, items } = yield* McpConnection.listTools(connection)
        assert.deepStrictEqual(items.map((_) => _.name), ["echo"])
        assert.deepStrictEqual(dropped, [
          { index: 0, name: "monster", problem: "is nested too deeply" },
          { index: 2, name: "large", problem: `"inputSchema" is nested more than 100 levels deep` }
        ])
        assert.strictEqual(yield* echoes(connection, 20), 20)
      })))

  it.live("a page of more than limits.listBytes is LimitExceeded, and the connection goes on", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const large = `{"name":"large","description":"${"x".repeat(50_000)}","inputSchema":{}}`
        yield* server.setOverride(hostile([echoTool, large, large, large]))
        const connection = yield* connect(server.url, { limits: { listBytes: 100_000 } })
        const error = yield* errorOf(McpConnection.listTools(connection))
        assert(error._tag === "LimitExceeded" && error.limit === "listBytes", error.message)
        assert.strictEqual(yield* echoes(connection, 20), 20)
      })))
})
