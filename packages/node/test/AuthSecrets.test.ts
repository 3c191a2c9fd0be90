import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpManager } from "@mcp-runtime/core"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { type AuthFixture, HttpFixture } from "@mcp-runtime/testing"
import { Cause, Effect, Inspectable, Layer, Logger, LogLevel, type Tracer } from "effect"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { config, connect, echo, nobody, program, withServer } from "./internal/auths.js"

/** Everything that is said anywhere. */
class Heard {
  readonly texts: Array<string> = []

  readonly hear = (value: unknown): void => {
    this.texts.push(
      typeof value === "string" ? value : `${inspect(value, { depth: 12 })} ${Inspectable.stringifyCircular(value)}`
    )
    if (value instanceof Error) this.texts.push(`${value.message} ${value.stack} ${String(value.cause)}`)
  }

  readonly layer = Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, cause, message }) => {
        this.hear(message)
        this.hear([...annotations])
        this.hear(Cause.pretty(cause, { renderErrorCause: true }))
      })
    ),
    Logger.minimumLogLevel(LogLevel.All)
  )

  readonly tracer = (tracer: Tracer.Tracer): Tracer.Tracer => ({
    ...tracer,
    context: tracer.context.bind(tracer),
    span: (...args) => {
      const span = tracer.span(...args)
      const [attribute, event] = [span.attribute.bind(span), span.event.bind(span)]
      this.hear(args[0])
      span.attribute = (key, value) => {
        this.hear([key, value])
        attribute(key, value)
      }
      span.event = (name, time, attributes) => {
        this.hear([name, attributes])
        event(name, time, attributes)
      }
      return span
    }
  })

  /** Of these secrets, those that were heard. */
  found(secrets: Iterable<string>): ReadonlyArray<string> {
    const all = this.texts.join("\n")
    return [...secrets].filter((_) => all.includes(_) || all.includes(encodeURIComponent(_)))
  }
}

const listening = <A, E, R>(heard: Heard, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.tracer, (tracer) => Effect.withTracer(effect, heard.tracer(tracer))).pipe(
    Effect.provide(heard.layer)
  )

const attempt = <A, E, R>(heard: Heard, effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(Effect.withSpan(effect, "attempt")), (exit) => {
    heard.hear(exit)
    if (exit._tag === "Failure") {
      heard.hear(Cause.squash(exit.cause))
      heard.hear(Cause.pretty(exit.cause, { renderErrorCause: true }))
    }
    return exit._tag
  })

const files = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true }).filter((_) => _.isFile()).map((_) =>
    join(_.parentPath, _.name)
  )

/** Both servers repeat in their answers all secrets that either has ever seen, and what they have just been told. */
const parrot = (server: () => AuthFixture.AuthFixture) => (request: AuthFixture.AuthRequest) => {
  const all = [...server().secrets, ...request.parameters.values(), request.http.headers.authorization].join(" ")
  switch (request.kind) {
    case "resourceMetadata":
      return HttpFixture.json({ resource: `https://x/${all}`, authorization_servers: [`https://x/${all}`] })
    case "register":
      return HttpFixture.json({ error: all, error_description: all }, { status: 400 })
    case "mcp":
      return HttpFixture.json({ jsonrpc: "2.0", id: request.http.id ?? null, error: { code: -32000, message: all } }, {
        status: 401,
        headers: { "www-authenticate": `Bearer error="invalid_token", error_description="${all}"` }
      })
    case "token":
      return HttpFixture.json({ error: "invalid_request", error_description: all, error_uri: `https://x/?${all}` }, {
        status: 400
      })
    default:
      return undefined
  }
}

/** The same from an MCP server that takes the token. */
const refusal = (server: () => AuthFixture.AuthFixture) => (request: AuthFixture.AuthRequest) => {
  if (request.http.rpc !== "tools/call") return undefined
  const all = [...server().secrets, request.http.headers.authorization].join(" ")
  return HttpFixture.json({ jsonrpc: "2.0", id: request.http.id, error: { code: -32000, message: all, data: { all } } })
}

describe("secrets of an authorization", () => {
  const clients: ReadonlyArray<readonly [string, AuthFixture.Script]> = [
    ["a public client", { clientMethods: ["none"] }],
    ["a client with a secret, in the header", { clientMethods: ["client_secret_basic"] }],
    ["a client with a secret, in the body", { clientMethods: ["client_secret_post"] }]
  ]
  for (const [title, script] of clients) {
    it.live(`${title}: tokens, codes, verifiers and secrets are in the token file alone`, () =>
      withServer(script, (server, path) =>
        Effect.gen(function*() {
          const heard = new Heard()
          yield* Effect.gen(function*() {
            const auth = yield* McpAuth.McpAuth
            const mail = yield* config(server)
            const connection = yield* connect(server)
            const manager = yield* McpManager.make({ servers: [{ name: "mail", transport: "http", url: server.url }] })
            yield* attempt(heard, echo(connection))
            yield* attempt(heard, auth.authorize(mail))
            assert.strictEqual(yield* attempt(heard, echo(connection)), "Success")
            yield* attempt(heard, manager.connectAll)
            yield* attempt(heard, McpConnection.listTools(connection))
            yield* server.expireTokens
            assert.strictEqual(yield* attempt(heard, echo(connection)), "Success")
            heard.hear(yield* auth.status(mail))
            heard.hear(yield* connection.state)
            heard.hear(yield* manager.state)
            // As a program would print them.
            heard.hear([auth, connection, manager])
            yield* server.change({ override: refusal(() => server) })
            assert.strictEqual(yield* attempt(heard, echo(connection)), "Failure")
            yield* attempt(heard, manager.callTool("mail", { name: "echo", arguments: {} }))
            yield* server.change({ override: parrot(() => server) })
            for (let i = 0; i < 3; i++) {
              assert.strictEqual(yield* attempt(heard, echo(connection)), "Failure")
              yield* attempt(heard, manager.callTool("mail", { name: "echo", arguments: {} }))
              yield* attempt(heard, auth.authorize(mail))
            }
            heard.hear(yield* auth.status(mail))
            heard.hear(yield* connection.state)
            heard.hear(yield* manager.state)
            yield* attempt(heard, auth.finish(mail, "http://127.0.0.1/callback?code=canary-code&state=canary-state"))
            yield* attempt(heard, auth.forget(mail))
          }).pipe(Effect.scoped, Effect.provide(program(path)), (_) => listening(heard, _))

          assert.isAbove(heard.texts.length, 20)
          assert.isAbove(server.secrets.size, 5)
          assert.deepStrictEqual(heard.found([...server.secrets, "canary-code"]), [])
        })))
  }

  it.live("files: tokens in the token directory, for the user alone, and nothing anywhere else", () =>
    withServer({ clientMethods: ["client_secret_basic"] }, (server, path) =>
      Effect.gen(function*() {
        yield* Effect.gen(function*() {
          const auth = yield* McpAuth.McpAuth
          yield* auth.authorize(yield* config(server))
          const manager = yield* McpManager.make({ servers: [{ name: "mail", transport: "http", url: server.url }] })
          yield* manager.connectAll
          yield* manager.callTool("mail", { name: "echo", arguments: {} })
          yield* server.expireTokens
          yield* manager.callTool("mail", { name: "echo", arguments: {} })
          yield* manager.close
        }).pipe(Effect.scoped, Effect.provide(program(path)))
        const withSecrets = files(path).filter((file) => {
          const text = readFileSync(file, "utf8")
          return [...server.secrets].some((_) => text.includes(_) || file.includes(_))
        })
        assert.strictEqual(withSecrets.length, 1)
        assert.isTrue(withSecrets[0]?.startsWith(join(path, "tokens")))
        assert.strictEqual(statSync(withSecrets[0]!).mode & 0o777, 0o600)
        assert.strictEqual(statSync(join(path, "tokens")).mode & 0o777, 0o700)
        assert.isTrue(files(path).some((_) => _.startsWith(join(path, "cache"))))
        // Neither codes, nor verifiers, nor tokens of the past.
        const kept = readFileSync(withSecrets[0]!, "utf8")
        const still = [...server.secrets].filter((_) => kept.includes(_)).map((_) => _.split("-")[0])
        assert.deepStrictEqual(still.sort(), ["access", "refresh", "secret"])
        yield* Effect.flatMap(McpAuth.McpAuth, ({ forget }) => Effect.flatMap(config(server), forget)).pipe(
          Effect.provide(program(path, nobody))
        )
        for (const file of files(path)) {
          const text = readFileSync(file, "utf8")
          assert.deepStrictEqual([...server.secrets].filter((_) => text.includes(_)), [])
        }
      })))
})
