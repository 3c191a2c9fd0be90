import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"

const threeSessions = (input: McpConfig.ServerConfigInput) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const channel = yield* transport.channel(yield* McpConfig.decode(input))
    const seen: Array<string> = []
    for (let generation = 1; generation <= 3; generation++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* McpSession.open(channel, { generation })
        const progress: Array<number> = []
        yield* McpSession.callTool(session, { name: "prog", arguments: { text: "x" } }, {
          onProgress: (_) => Effect.sync(() => progress.push(_.progress))
        })
        yield* McpSession.ping(session)
        const { received, sent, warnings } = yield* session.stats
        seen.push(JSON.stringify({ progress: progress.length, received, sent, warnings }))
      }))
    }
    return seen
  }).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))

describe("three sessions, one after the other, on one channel", () => {
  it.live("S18: over stdio each sees each message once, and nothing of the one before", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const seen = yield* threeSessions(StdioFixture.config())
      assert.strictEqual(new Set(seen).size, 1, seen.join(" "))
    })))

  it.live("H22: over HTTP too, with another session id each time", () =>
    LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
      const fixture = yield* HttpFixture.make()
      const seen = yield* threeSessions({ name: "http", transport: "http", url: fixture.url })
      assert.strictEqual(new Set(seen).size, 1, seen.join(" "))
      const { log } = fixture
      const pings = log.filter((_) => _.rpc === "ping").map((_) => _.session)
      assert.strictEqual(new Set(pings).size, 3)
      assert.strictEqual(log.filter((_) => _.rpc === "initialize").length, 3)
    }))))
})
