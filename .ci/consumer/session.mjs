/** A session over each wire, with the published packages. Run by `smoke.mjs`, in the project where they are installed. */
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck, ScriptedServer, StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import assert from "node:assert"
import { fileURLToPath } from "node:url"

for (const name of ["core", "node", "testing"]) {
  const path = fileURLToPath(import.meta.resolve(`@mcp-runtime/${name}`))
  assert(path.startsWith(import.meta.dirname) && path.endsWith("dist/index.js"), path)
}

const echo = (channel) =>
  Effect.gen(function*() {
    const session = yield* McpSession.open(channel)
    const { items } = yield* McpSession.listTools(session)
    assert(items.some((_) => _.name === "echo"))
    const result = yield* McpSession.callTool(session, { name: "echo", arguments: { text: "hello" } })
    assert.match(JSON.stringify(result.content), /hello/)
    return session.info.transport
  })

const over = (config) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    return yield* echo(yield* transport.channel(yield* McpConfig.decode(config)))
  }).pipe(Effect.provide(NodeMcp.layer))

const scripted = Effect.flatMap(
  ScriptedServer.make({ tools: [{ name: "echo", call: () => Effect.succeed("hello") }] }),
  (_) => echo(_.channel)
)
const http = Effect.flatMap(HttpFixture.make(), (_) => over({ name: "http", transport: "http", url: _.url }))

for (const wire of [scripted, over(StdioFixture.config()), http]) {
  process.stdout.write(`${await Effect.runPromise(LeakCheck.scoped(wire))}: fine\n`)
}
