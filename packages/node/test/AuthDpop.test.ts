import { assert, describe, it } from "@effect/vitest"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { AuthFixture, HttpFixture } from "@mcp-runtime/testing"
import { Effect, Fiber, Layer, Logger } from "effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { host } from "./internal/authHosts.js"
import { config, connect, echo, nobody, program, withServer } from "./internal/auths.js"

const authorized = (server: AuthFixture.AuthFixture, path: string) =>
  Effect.provide(
    Effect.flatMap(McpAuth.McpAuth, ({ authorize }) => Effect.flatMap(config(server), authorize)),
    program(path)
  )

const withTokens = (server: AuthFixture.AuthFixture) =>
  server.requests.filter((_) => _.kind === "mcp" && _.token !== undefined)

const outcomes = (server: AuthFixture.AuthFixture) => new Set(withTokens(server).map((_) => _.outcome))

const keys = (server: AuthFixture.AuthFixture) =>
  new Set(server.requests.flatMap((_) => _.proof === undefined ? [] : [_.proof.thumbprint]))

/** A nonce is good for the requests of a while: `n` of each kind. */
const changing = (n: number) => {
  let asked = 0
  return () => `nonce-${Math.floor(asked++ / n)}`
}

describe("tokens bound to a key (RFC 9449), over real HTTP", () => {
  it.live("POST, GET and DELETE have proofs that the server believes, with its nonces, and those of the other server", () =>
    withServer(
      { dpop: { serverNonce: () => "as", resourceNonce: () => "rs" } },
      (server, path) =>
        Effect.gen(function*() {
          yield* authorized(server, path)
          yield* Effect.gen(function*() {
            const connection = yield* connect(server)
            for (let i = 0; i < 3; i++) yield* echo(connection, `${i}`)
          }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
          const methods = new Set(withTokens(server).filter((_) => _.outcome === "ok").map((_) => _.http.method))
          assert.deepStrictEqual(methods, new Set(["POST", "GET", "DELETE"]))
          // Once to learn it.
          assert.strictEqual(withTokens(server).filter((_) => _.outcome === "use_dpop_nonce").length, 1)
          assert.deepStrictEqual(outcomes(server), new Set(["ok", "use_dpop_nonce"]))
          assert.deepStrictEqual(
            server.requests.filter((_) => _.kind === "token").map((_) => _.outcome),
            ["use_dpop_nonce", "ok"]
          )
          assert.isTrue(withTokens(server).every((_) => _.http.headers.authorization?.startsWith("DPoP ") === true))
          assert.strictEqual(keys(server).size, 1)
        })
    ))

  it.live("nonces that change all the time: 64 calls at once all come through, with one token", () =>
    withServer({ dpop: {} }, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        yield* Effect.gen(function*() {
          const connection = yield* connect(server)
          yield* connection.awaitReady
          yield* server.change({ dpop: { resourceNonce: changing(40) } })
          yield* Effect.forEach(Array.from({ length: 64 }), (_, i) => echo(connection, `${i}`), {
            concurrency: "unbounded"
          })
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.strictEqual(server.count("token"), 1)
        assert.deepStrictEqual(outcomes(server), new Set(["ok", "use_dpop_nonce"]))
      })))

  it.live("several connections share one token and its key, and one renewal of it", () =>
    withServer({ dpop: {} }, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        yield* Effect.gen(function*() {
          const connections = yield* Effect.all(Array.from({ length: 4 }, () => connect(server)))
          const all = Effect.forEach(connections, (_) => Effect.all([echo(_), echo(_), echo(_)], { concurrency: 3 }), {
            concurrency: "unbounded"
          })
          yield* all
          yield* server.expireTokens
          yield* all
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.strictEqual(server.grants("refresh_token"), 1)
        assert.strictEqual(server.reuses(), 0)
        assert.strictEqual(keys(server).size, 1)
      })))

  it.live(
    "two processes use one token and its key, and renew it once for both",
    () =>
      withServer(
        { dpop: { serverNonce: () => "as", resourceNonce: () => "rs" } },
        (server, path) =>
          Effect.gen(function*() {
            yield* authorized(server, path)
            const hosts = [yield* host(server.url, path), yield* host(server.url, path)]
            for (const { line } of hosts) {
              assert.strictEqual(yield* line, "ready")
            }
            for (let round = 1; round <= 3; round++) {
              yield* server.expireTokens
              const said = yield* Effect.forEach(hosts, ({ go }) => go, { concurrency: "unbounded" })
              for (const line of said) assert.deepStrictEqual(JSON.parse(line), Array.from({ length: 8 }, () => "ok"))
            }
            assert.strictEqual(
              server.count("token", (_) => _.parameters.get("grant_type") === "refresh_token" && _.outcome === "ok"),
              3
            )
            assert.strictEqual(server.reuses(), 0)
            assert.strictEqual(keys(server).size, 1)
            assert.deepStrictEqual(yield* Effect.forEach(hosts, ({ end }) => end), [0, 0])
          })
      ),
    60_000
  )

  it.live("the key is in the token file, which is the user's alone, and nowhere else; it goes with the tokens", () =>
    withServer({ dpop: {} }, (server, path) =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const logger = Logger.make((_) => lines.push(inspect([_.message, _.cause, [..._.annotations]], { depth: 9 })))
        yield* authorized(server, path)
        const file = () => readdirSync(join(path, "tokens")).map((_) => join(path, "tokens", _))[0]!
        assert.strictEqual(statSync(file()).mode & 0o777, 0o600)
        const { d } = /"d\\?":\\?"(?<d>[\w-]{43})/.exec(readFileSync(file(), "utf8"))!.groups as { d: string }
        yield* Effect.gen(function*() {
          const connection = yield* connect(server)
          yield* echo(connection)
          yield* server.change({ protect: () => HttpFixture.respond({ status: 400, body: d }) })
          const error = yield* Effect.flip(echo(connection))
          assert.notInclude(inspect(error, { depth: 9 }), d)
          yield* server.change({ protect: undefined })
          const { forget } = yield* McpAuth.McpAuth
          for (const name of readdirSync(path, { recursive: true, withFileTypes: true })) {
            const where = join(name.parentPath, name.name)
            if (name.isFile() && where !== file()) assert.notInclude(readFileSync(where, "utf8"), d)
          }
          yield* forget(yield* config(server))
          assert.deepStrictEqual(readdirSync(join(path, "tokens")), [])
        }).pipe(
          Effect.scoped,
          Effect.provide(
            Layer.provideMerge(program(path, nobody), Logger.replace(Logger.defaultLogger, logger))
          )
        )
        assert.notInclude(lines.join(), d)
        assert.isTrue(server.requests.every((_) => !JSON.stringify(_.http).includes(d)))
      })))

  it.live("an authorization server that answers a proof with a token for anybody is refused, and nothing is kept", () =>
    withServer({ dpop: { gives: "Bearer" } }, (server, path) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(authorized(server, path))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.include(error.message, "bound to a key")
        assert.strictEqual(withTokens(server).length, 0)
      })))

  it.live("a server that takes both gets bound ones where they are to be had, and others where they are not", () =>
    Effect.forEach(
      ["DPoP", "Bearer"] as const,
      (gives) =>
        withServer({ dpop: { gives, challenge: "both" } }, (server, path) =>
          Effect.gen(function*() {
            yield* authorized(server, path)
            yield* Effect.flatMap(connect(server), echo).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
            const schemes = new Set(withTokens(server).map((_) => _.http.headers.authorization?.split(" ")[0]))
            assert.deepStrictEqual(schemes, new Set([gives]))
            assert.deepStrictEqual(outcomes(server), new Set(["ok"]))
          }))
    ))

  it.live("a token endpoint that hangs is left when its caller goes; garbage is a typed error; then it heals", () =>
    withServer({ dpop: {} }, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        yield* Effect.gen(function*() {
          const connection = yield* connect(server)
          yield* echo(connection)
          yield* server.change({ override: (_) => _.kind === "token" ? HttpFixture.hang : undefined })
          yield* server.expireTokens
          const fiber = yield* Effect.fork(echo(connection))
          yield* server.awaitRequests((_) => _.filter((_) => _.kind === "token").length === 2)
          yield* Fiber.interrupt(fiber)
          yield* connection.close
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        yield* server.change({ override: (_) => _.kind === "token" ? AuthFixture.garbage : undefined })
        yield* Effect.gen(function*() {
          const connection = yield* connect(server)
          const error = yield* Effect.flip(echo(connection))
          assert.strictEqual(error._tag, "Unauthorized")
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        yield* server.change({ override: undefined })
        yield* Effect.flatMap(connect(server), echo).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.strictEqual(server.count("authorize"), 1)
        assert.strictEqual(keys(server).size, 1)
      })))
})
