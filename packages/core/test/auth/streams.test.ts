/** The standalone stream of a session whose credentials are renewed. */
import { assert, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpSession } from "@mcp-runtime/core"
import { Effect, TestClock } from "effect"
import { inWorld, open, settle } from "./setup.js"
import type * as World from "./world.js"

const input: Partial<McpConfig.ServerConfigInput> = {
  auth: { type: "clientCredentials", clientId: "app", clientSecret: "canary-app-secret" }
}

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

/** Enough for every attempt to open it again that is still to come. */
const aMinute = Effect.repeatN(Effect.zipRight(settle, TestClock.adjust("6 seconds")), 10)

/** Streams are refused once tokens have been revoked, until there are new ones. Gives how many were asked for. */
const revoked = (world: World.World) => {
  world.tokens.clear()
  const before = world.count("GET")
  return () => world.count("GET") - before
}

it.scoped("a stream that was given up is opened again when a call has brought new credentials", () =>
  inWorld((world) =>
    Effect.gen(function*() {
      let refuses = false
      world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
      world.script = (asked) =>
        asked.kind !== "GET"
          ? undefined
          : refuses
          ? { status: 401, headers: { "www-authenticate": world.challenge } }
          : { status: 200, headers: { "content-type": "text/event-stream" } }
      const session = yield* open(input)
      yield* call(session)
      const asked = revoked(world)
      refuses = true
      yield* aMinute
      const until = asked()
      // Nobody asks for a token for the sake of a stream alone, and nobody tries without end.
      assert.isAtMost(until, 3)
      assert.strictEqual(world.count("token"), 1)
      refuses = false
      yield* call(session)
      yield* settle
      assert.strictEqual(world.count("token"), 2)
      assert.strictEqual(asked(), until + 1)
    })
  ))

it.scoped("a stream that is refused with every token costs two attempts for each, and no tokens", () =>
  inWorld((world) =>
    Effect.gen(function*() {
      world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
      world.script = (asked) =>
        asked.kind === "GET" ? { status: 401, headers: { "www-authenticate": world.challenge } } : undefined
      const session = yield* open(input)
      yield* aMinute
      for (let tokens = 1; tokens <= 3; tokens++) {
        yield* call(session)
        yield* aMinute
        yield* call(session)
        yield* aMinute
        assert.strictEqual(world.count("token"), tokens)
        assert.isAtMost(world.count("GET"), tokens * 2)
        world.tokens.clear()
      }
    })
  ))
