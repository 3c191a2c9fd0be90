import { assert, describe, it, vi } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpConnection, McpTransport } from "@mcp-runtime/core"
import { Effect, Layer, Logger, Redacted } from "effect"
import { inspect } from "node:util"
import * as Urls from "../../src/internal/auth/urls.js"
import { decoded, inWorld, login, open } from "./setup.js"
import * as World from "./world.js"

const far = "http://mcp.example/mcp"

type Input = Partial<Omit<Extract<McpConfig.ServerConfigInput, { transport: "http" }>, "name" | "transport">>

/** The same, with answers of the world at whatever address. */
const refusedAt = (input: Input) =>
  inWorld((world) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(open(input))
      return { error, world }
    })
  )

const isRefused = (error: { readonly _tag: string; readonly message: string }, secret?: string) => {
  assert.strictEqual(error._tag, "ConfigInvalid")
  for (const word of ["\"secured\"", "url", "use https, or set", "allowTokensOverHttp"]) {
    assert.include(error.message, word)
  }
  if (secret !== undefined) assert.notInclude(inspect(error, { depth: 9 }), secret)
}

describe("no bearer token goes over plain HTTP to another machine", () => {
  it.scoped("a configured header: refused before anything is sent", () =>
    Effect.gen(function*() {
      for (const name of ["Authorization", "authorization", "AUTHORIZATION"]) {
        for (const scheme of ["Bearer", "bearer", "BEARER", " Bearer", "\tBearer", " \t bearer", "DPoP", " dpop"]) {
          const { error, world } = yield* refusedAt({ url: far, headers: { [name]: `${scheme} canary-token` } })
          isRefused(error, "canary-token")
          assert.strictEqual(world.asked.length, 0)
        }
      }
    }))

  it.scoped("the headers of each request: the same", () =>
    Effect.gen(function*() {
      for (const scheme of ["Bearer", " Bearer", "\tbearer", "DPoP"]) {
        const requestHeaders = Effect.succeed({ authorization: Redacted.make(`${scheme} canary-token`) })
        const { error, world } = yield* refusedAt({ url: far, requestHeaders })
        isRefused(error, "canary-token")
        assert.strictEqual(world.asked.length, 0)
      }
    }))

  it.scoped("a proxy elsewhere is in between, also on the way to this machine", () =>
    Effect.gen(function*() {
      const authorization = "Bearer canary-token"
      for (const proxy of ["http://10.0.0.9:3128", "https://proxy.example", "http://proxy.localhost:1"]) {
        for (const url of ["http://localhost:1/mcp", "http://127.0.0.1:1/mcp", "http://[::1]:1/mcp"]) {
          const configured = yield* refusedAt({ url, proxy, headers: { authorization } })
          isRefused(configured.error, "canary-token")
          assert.strictEqual(configured.world.asked.length, 0)
          const asked = yield* refusedAt({ url, proxy })
          isRefused(asked.error)
          assert.isTrue(asked.world.asked.every((_) => _.kind === "mcp" && _.headers.authorization === undefined))
        }
      }
    }))

  it.scoped("nor does anything of an authorization, to others on this machine", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const { begin } = yield* McpAuth.McpAuth
        const issuer = "http://127.0.0.1:2"
        const url = "https://localhost:1/mcp"
        world.script = (asked) =>
          asked.kind === "resource"
            ? { status: 200, body: { resource: url, authorization_servers: [issuer] } }
            : undefined
        const error = yield* Effect.flip(Effect.flatMap(decoded({ url, proxy: "http://10.0.0.9:3128" }), begin))
        isRefused(error)
        assert.isTrue(world.asked.every((_) => _.url.origin !== issuer))
      })
    ))

  it.scoped("over HTTP+SSE and where the transport is not known: the same", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        for (const kind of ["sse", "auto"] as const) {
          const config = yield* decoded({
            transport: kind,
            url: far,
            headers: { authorization: "Bearer canary-token" }
          })
          const connection = yield* McpConnection.make(config)
          isRefused(yield* Effect.flip(connection.awaitReady))
        }
        assert.strictEqual(world.asked.length, 0)
      })
    ))

  it.scoped("a server that asks for a token: refused, and nobody else is asked", () =>
    Effect.gen(function*() {
      const { error, world } = yield* refusedAt({ url: far })
      isRefused(error)
      assert.isTrue(world.asked.every((_) => _.url.origin === "http://mcp.example" && _.kind === "mcp"))
      assert.isTrue(world.asked.every((_) => _.headers.authorization === undefined))
    }))

  it.scoped("whoever asks for it explicitly: the same, for each way to be authorized", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const { authorize, begin } = yield* McpAuth.McpAuth
        for (
          const auth of [
            { type: "oauth" },
            { type: "clientCredentials", clientId: "a", clientSecret: "canary-secret" },
            { type: "jwtBearer", clientId: "a", assertion: "a.b.c" }
          ] as const
        ) {
          const config = yield* decoded({ url: far, auth })
          isRefused(yield* Effect.flip(authorize(config)))
          isRefused(yield* Effect.flip(begin(config)))
        }
        assert.strictEqual(world.asked.length, 0)
      })
    ))

  it.scoped("the place decides, and not the words in which it is said", () =>
    Effect.gen(function*() {
      let times = 0
      const other = () => `is plain (${++times})` as typeof Urls.plainProblem
      const words = vi.spyOn(Urls, "plainProblem", "get").mockImplementation(other)
      const { error } = yield* Effect.ensuring(refusedAt({ url: far }), Effect.sync(() => words.mockRestore()))
      assert.strictEqual(error._tag, "ConfigInvalid")
      assert.include(error.message, "url: is plain")
    }))

  it.scoped("who brings other credentials is told by the server's refusal alone", () =>
    Effect.gen(function*() {
      for (const input of [{ headers: { authorization: "Basic YTpi" } }, { url: "http://user:pass@mcp.example/mcp" }]) {
        const { error, world } = yield* refusedAt({ url: far, ...input })
        assert.strictEqual(error._tag, "Unauthorized")
        assert.deepStrictEqual([...new Set(world.asked.map((_) => _.kind))], ["mcp"])
      }
    }))

  it.scoped("a token that was stored while it was allowed is not sent when it is not", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.resource = { ...world.resource, resource: far }
        world.script = ({ kind }) => kind === "resource" ? { status: 200, body: world.resource } : undefined
        const allowed = { url: far, allowTokensOverHttp: true }
        yield* login(world, allowed)
        yield* Effect.scoped(open(allowed))
        assert.isTrue(world.asked.some((_) => _.url.href === far && _.headers.authorization !== undefined))
        const before = world.asked.length
        isRefused(yield* Effect.flip(open({ url: far })))
        assert.isTrue(world.asked.slice(before).every((_) => _.headers.authorization === undefined))
      })
    ))

  it.scoped("what may: this machine, https, other headers, no token at all, and who says so", () =>
    Effect.gen(function*() {
      const authorization = "Bearer canary-token"
      const allowed: ReadonlyArray<Input> = [
        { url: "http://127.0.0.1:1/mcp", headers: { authorization } },
        { url: "http://localhost:1/mcp", headers: { authorization } },
        { url: "http://[::1]:1/mcp", headers: { authorization } },
        { url: "http://127.0.0.1:1/mcp", proxy: "http://localhost:3128", headers: { authorization } },
        { url: "https://mcp.example/mcp", proxy: "http://10.0.0.9:3128", headers: { authorization } },
        { url: far, headers: { authorization: "Basic Bearer" } },
        { url: "https://mcp.example/mcp", headers: { authorization } },
        { url: far, headers: { authorization: "Basic YTpi" } },
        { url: far, headers: { "x-key": authorization } },
        { url: far, auth: "none" },
        { url: far, allowTokensOverHttp: true, headers: { authorization } },
        { url: far, allowTokensOverHttp: true, requestHeaders: Effect.succeed({ authorization }) }
      ]
      for (const input of allowed) {
        const world = World.make()
        world.tokens.add("canary-token")
        world.script = (asked) =>
          asked.kind === "mcp" && asked.headers.authorization !== authorization
            ? { status: 500 }
            : undefined
        yield* Effect.either(Effect.scoped(Effect.provide(open(input), Layer.provide(McpTransport.layer, world.http))))
        assert.isAbove(world.count("mcp"), 0, inspect(input))
      }
    }))

  it("what is plain", () => {
    const plain = [
      "http://a.example",
      "http://10.0.0.1/mcp",
      "http://192.168.1.2",
      "http://127.0.0.1.evil.example",
      "http://localhost.evil",
      "http://a.localhost",
      "http://[::ffff:7.240.0.1]/mcp",
      "http://[::ffff:8.8.8.8]",
      "http://[::7f00:1]",
      "http://[64:ff9b::7f00:1]"
    ]
    const not = [
      "https://a.example",
      "http://127.0.0.1",
      "http://127.9.9.9",
      "http://localhost:1",
      "http://localhost.",
      "http://[::1]",
      "http://[::ffff:127.0.0.1]"
    ]
    for (const url of plain) assert.isTrue(Urls.isPlain(new URL(url)), url)
    for (const url of not) assert.isFalse(Urls.isPlain(new URL(url)), url)
  })
})

describe("what a log line has of a page to visit", () => {
  it.scoped("no query, and so no state; the error has it in full", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make(({ annotations, cause, message }) => {
        lines.push(inspect([message, cause, [...annotations]], { depth: 3 }))
      })
      yield* inWorld(() =>
        Effect.gen(function*() {
          const connection = yield* McpConnection.make(yield* decoded())
          const error = yield* Effect.flip(connection.awaitReady)
          assert(error._tag === "Unauthorized")
          const url = new URL(error.authorizationUrl!)
          const state = url.searchParams.get("state")!
          assert.isAtLeast(state.length, 43)
          yield* Effect.logWarning(error.message)
          yield* Effect.logWarning("a connection", error.message)
          for (const text of [error.message, ...lines]) {
            assert.notInclude(text, state)
            assert.notInclude(text, url.searchParams.get("code_challenge")!)
          }
          assert.include(error.message, `${World.issuer}/authorize`)
          assert.isAbove(lines.length, 0)
        })
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    }))
})
