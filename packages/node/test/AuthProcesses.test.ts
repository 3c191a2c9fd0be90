import { assert, describe, it } from "@effect/vitest"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { type AuthFixture, HttpFixture } from "@mcp-runtime/testing"
import { Effect, Fiber } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { host } from "./internal/authHosts.js"
import { config, program, withServer } from "./internal/auths.js"

/** Each process has one. */
const sessionsIn = (requests: ReadonlyArray<AuthFixture.AuthRequest>) =>
  new Set(requests.filter((_) => _.kind === "mcp").map(({ http }) => http.session))

describe("authorization in several processes", () => {
  it.live(
    "A05: two processes, 8 calls each at once and staggered, a refresh token that is good for one use: one refresh",
    () =>
      withServer({}, (server, path) =>
        Effect.gen(function*() {
          yield* Effect.provide(
            Effect.flatMap(McpAuth.McpAuth, ({ authorize }) => Effect.flatMap(config(server), authorize)),
            program(path)
          )
          const hosts = [yield* host(server.url, path), yield* host(server.url, path)]
          for (const { line } of hosts) assert.strictEqual(yield* line, "ready")
          for (let round = 1; round <= 5; round++) {
            yield* server.expireTokens
            const said = yield* Effect.forEach(hosts, ({ go }) => go, { concurrency: "unbounded" })
            for (const line of said) assert.deepStrictEqual(JSON.parse(line), Array.from({ length: 8 }, () => "ok"))
            assert.strictEqual(server.grants("refresh_token"), round)
          }
          assert.strictEqual(server.reuses(), 0)
          assert.strictEqual(server.count("authorize"), 1)
          assert.deepStrictEqual(yield* Effect.forEach(hosts, ({ end }) => end), [0, 0])
          assert.deepStrictEqual(readdirSync(join(path, "tokens")).filter((_) => _.startsWith("lock-")), [])
        })),
    60_000
  )

  it.live(
    "A05: the process that renews is killed while the authorization server is silent: the other one goes on",
    () =>
      withServer({}, (server, path) =>
        Effect.gen(function*() {
          yield* Effect.provide(
            Effect.flatMap(McpAuth.McpAuth, ({ authorize }) => Effect.flatMap(config(server), authorize)),
            program(path)
          )
          const [first, second] = [yield* host(server.url, path), yield* host(server.url, path)]
          for (const { line } of [first, second]) assert.strictEqual(yield* line, "ready")
          yield* server.change({
            override: (_) => _.kind === "token" && server.grants("refresh_token") === 0 ? HttpFixture.hang : undefined
          })
          yield* server.expireTokens
          const before = server.requests.length
          yield* Effect.fork(first.go)
          yield* server.awaitRequests((_) => _.some((_) => _.parameters.get("grant_type") === "refresh_token"))
          const said = yield* Effect.fork(second.go)
          // Both have been told that their token is of no use any more; one of them renews it.
          yield* server.awaitRequests((_) => sessionsIn(_.slice(before)).size === 2)
          first.child.kill("SIGKILL")
          assert.deepStrictEqual(JSON.parse(yield* Fiber.join(said)), Array.from({ length: 8 }, () => "ok"))
          assert.strictEqual(server.grants("refresh_token"), 2)
          assert.strictEqual(server.reuses(), 0)
          assert.strictEqual(yield* second.end, 0)
        })),
    60_000
  )
})
