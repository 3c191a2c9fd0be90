import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpManager } from "@mcp-runtime/core"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { AuthFixture, HttpFixture, LeakCheck } from "@mcp-runtime/testing"
import { Clock, Effect, Exit, Scope, Stream, TestClock } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { closedPort } from "../../core/test/exchangeServer.js"
import * as LoopbackAuthorizer from "../src/LoopbackAuthorizer.js"
import { awaitState, config, connect, echo, nobody, program, withServer } from "./internal/auths.js"
import { turn } from "./internal/wire.js"

const errorOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<E, never, R> =>
  Effect.orDieWith(Effect.flip(Effect.asVoid(effect)), () => new Error("it has succeeded"))

const text = (result: { readonly content?: unknown }) => JSON.stringify(result.content)

const isCall = (request: HttpFixture.LoggedRequest) => request.rpc === "tools/call"

/** A program that is authorized already. */
const authorized = (server: AuthFixture.AuthFixture, path: string) =>
  Effect.provide(
    Effect.flatMap(McpAuth.McpAuth, ({ authorize }) => Effect.flatMap(config(server), authorize)),
    program(path)
  )

describe("authorization of a connection", () => {
  it.live("A02: the first use says which page to visit; when the person is back, the connection is there by itself", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        const connection = yield* connect(server)
        const error = yield* errorOf(echo(connection))
        assert(error._tag === "Unauthorized")
        assert.isTrue(error.authorizationUrl?.startsWith(`${server.issuer}/authorize?`))
        assert.include(error.message, server.issuer)
        yield* awaitState(connection, "Ready")
        assert.include(text(yield* echo(connection, "hello")), "hello")
        assert.deepStrictEqual(server.requests.flatMap((_) => _.missing), [])
        assert.deepStrictEqual(
          [server.count("register"), server.count("authorize"), server.count("token")],
          [1, 1, 1]
        )
      }).pipe(Effect.provide(program(path)))))

  it.live("a second program uses what the first has stored, and nobody is asked", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const before = server.requests.length
        yield* Effect.flatMap(connect(server), echo).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.deepStrictEqual(
          new Set(server.requests.slice(before).map((_) => `${_.kind} ${_.outcome}`)),
          new Set(["mcp ok"])
        )
      })))

  it.live("an assertion is looked up anew by whoever has looked up the configuration", () =>
    withServer({ clients: [{ id: "agents", secret: "canary-secret" }] }, (server, path) =>
      Effect.gen(function*() {
        const connection = yield* connect(server, {
          auth: {
            type: "jwtBearer",
            clientId: "agents",
            clientSecret: "canary-secret",
            assertion: { command: "printf %s canary-assertion" },
            issuer: server.issuer
          }
        })
        assert.include(text(yield* echo(connection, "hello")), "hello")
        yield* server.expireTokens
        assert.include(text(yield* echo(connection, "again")), "again")
        assert.strictEqual(server.count("token", (_) => _.parameters.get("assertion") === "canary-assertion"), 2)
      }).pipe(Effect.provide(program(path, nobody)))))

  it.live("two servers whose client has one redirectPort are authorized at the same time", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        const other = yield* AuthFixture.make()
        const redirectPort = yield* closedPort
        const auth = { type: "oauth", redirectPort } as const
        const connections = [
          yield* connect(server, { name: "mail", auth }),
          yield* connect(other, { name: "wiki", auth })
        ]
        const errors = yield* Effect.forEach(connections, (_) => errorOf(echo(_)), { concurrency: 2 })
        assert.deepStrictEqual(errors.map((_) => _._tag), ["Unauthorized", "Unauthorized"])
        for (const connection of connections) yield* awaitState(connection, "Ready")
      }).pipe(Effect.provide(program(path)))))

  it.live("without an Authorizer the page can be visited later, and another program finishes", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        const url = yield* Effect.gen(function*() {
          const connection = yield* connect(server)
          const error = yield* errorOf(echo(connection))
          const state = yield* connection.state
          assert.strictEqual(state._tag, "NeedsAuthorization")
          return error._tag === "Unauthorized" ? error.authorizationUrl : undefined
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        const callback = yield* server.browser(url!)
        yield* Effect.gen(function*() {
          const auth = yield* McpAuth.McpAuth
          const mail = yield* config(server)
          assert.strictEqual((yield* auth.status(mail))._tag, "Pending")
          const connection = yield* connect(server)
          const forged = callback.replace(/state=[^&]*/, "state=forged")
          assert.include((yield* errorOf(auth.finish(mail, forged))).message, "not used")
          yield* auth.finish(mail, callback)
          assert.include(text(yield* echo(connection, "later")), "later")
          assert.strictEqual((yield* auth.status(mail))._tag, "Authorized")
          yield* errorOf(auth.finish(mail, callback))
          yield* auth.forget(mail)
          assert.strictEqual((yield* auth.status(mail))._tag, "None")
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.strictEqual(server.count("token"), 1)
      })))

  it.live("a mix-up: an authorization server that says no iss refuses to send its code to where another one's comes back", () =>
    withServer({ iss: null, issAdvertised: false }, (server, path) =>
      Effect.gen(function*() {
        const auth = yield* McpAuth.McpAuth
        const honest = yield* config(server)
        const first = yield* auth.begin(honest)
        yield* auth.finish(honest, yield* server.browser(first.url))
        const client = server.requests.find((_) => _.kind === "authorize")!.client
        const evil = yield* AuthFixture.make({
          issAdvertised: false,
          serverFields: { authorization_endpoint: `${server.issuer}/authorize` },
          override: ({ kind }) =>
            kind === "register" ? HttpFixture.json({ client_id: client }, { status: 201 }) : undefined
        })
        const { redirectUri, url } = yield* auth.begin(yield* config(evil, { name: "evil" }))
        const page = yield* AuthFixture.open(url)
        assert.strictEqual(new URL(url).origin, new URL(server.issuer).origin)
        assert.strictEqual(page.status, 400)
        assert.include(page.body, "not the registered redirect_uri")
        assert.notStrictEqual(redirectUri, first.redirectUri)
        assert.strictEqual(evil.count("token"), 0)
      }).pipe(Effect.provide(program(path, nobody)))))

  it.live("without iss, a person comes back to the path of this authorization server, again and again", () =>
    withServer({ iss: null, issAdvertised: false }, (server, path) =>
      Effect.gen(function*() {
        const auth = yield* McpAuth.McpAuth
        for (let i = 0; i < 2; i++) yield* auth.authorize(yield* config(server))
        const came = server.requests.filter((_) => _.kind === "authorize").map((_) => _.parameters.get("redirect_uri"))
        assert.strictEqual(new Set(came).size, 1)
        assert.match(new URL(came[0]!).pathname, /^\/callback\/[\w-]{43}$/)
        assert.strictEqual(server.count("register"), 1)
      }).pipe(Effect.provide(program(path)))))

  it.live("A05: an expired token is renewed once for 5 calls at once, in the same session", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const connection = yield* connect(server)
        yield* echo(connection)
        for (let round = 1; round <= 3; round++) {
          yield* server.expireTokens
          yield* Effect.all(Array.from({ length: 5 }, (_, i) => echo(connection, `${i}`)), { concurrency: "unbounded" })
          assert.strictEqual(server.grants("refresh_token"), round)
        }
        assert.strictEqual(server.reuses(), 0)
        assert.strictEqual(server.resource.executions("echo"), 16)
        assert.strictEqual(server.count("mcp", (_) => _.http.rpc === "initialize" && _.outcome === "ok"), 1)
        assert.strictEqual(server.count("authorize"), 1)
      }).pipe(Effect.provide(program(path)))))

  it.live("a token that is about to expire is renewed before it is used, once for all who wait", () =>
    withServer({ expiresIn: 100 }, (server, path) =>
      Effect.gen(function*() {
        let passed = 0
        const clock = Clock.make()
        const real = clock.unsafeCurrentTimeMillis
        clock.unsafeCurrentTimeMillis = () => real.call(clock) + passed
        yield* Effect.withClock(
          Effect.gen(function*() {
            yield* authorized(server, path)
            const connection = yield* connect(server)
            yield* echo(connection)
            passed = 80_000
            yield* echo(connection)
            assert.strictEqual(server.grants("refresh_token"), 0)
            passed = 95_000
            const before = server.requests.length
            yield* Effect.all(Array.from({ length: 5 }, () => echo(connection)), { concurrency: "unbounded" })
            assert.strictEqual(server.grants("refresh_token"), 1)
            assert.deepStrictEqual(server.requests.slice(before).filter((_) => _.outcome !== "ok"), [])
          }).pipe(Effect.provide(program(path))),
          clock
        )
      })))

  it.live("a refresh token that is not replaced stays in use", () =>
    withServer({ refresh: "keep" }, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const connection = yield* connect(server)
        for (let round = 1; round <= 2; round++) {
          yield* server.expireTokens
          yield* echo(connection)
          assert.strictEqual(server.grants("refresh_token"), round)
        }
      }).pipe(Effect.provide(program(path)))))

  it.live("the first 401 may come in the middle of a session: the call fails with the page, and the next one works", () =>
    withServer({ protect: (_) => isCall(_) ? "token" : "open" }, (server, path) =>
      Effect.gen(function*() {
        const connection = yield* connect(server)
        yield* connection.awaitReady
        const error = yield* errorOf(echo(connection))
        assert(error._tag === "Unauthorized")
        assert.isDefined(error.authorizationUrl)
        yield* server.awaitRequests((_) => _.some((_) => _.kind === "token"))
        const auth = yield* McpAuth.McpAuth
        yield* auth.authorize(yield* config(server))
        assert.include(text(yield* echo(connection, "then")), "then")
        assert.strictEqual(server.count("mcp", (_) => _.http.rpc === "initialize"), 1)
      }).pipe(Effect.provide(program(path)))))

  it.live("A06: 403 with insufficient_scope asks for more, and keeps what there was; the token stays in use meanwhile", () =>
    withServer(
      {
        challengeScope: "mcp:basic",
        requiredScope: (_) => isCall(_) ? "mcp:write" : "mcp:basic"
      },
      (server, path) =>
        Effect.gen(function*() {
          yield* authorized(server, path)
          assert.strictEqual(scopesAsked(server)[0], "mcp:basic")
          const connection = yield* connect(server)
          yield* McpConnection.ping(connection)
          const error = yield* errorOf(echo(connection))
          assert(error._tag === "Forbidden")
          assert.strictEqual(error.scope, "mcp:write")
          assert.isDefined(error.authorizationUrl)
          yield* McpConnection.ping(connection)
          const auth = yield* McpAuth.McpAuth
          yield* auth.authorize(yield* config(server))
          assert.include(text(yield* echo(connection, "more")), "more")
          assert.deepStrictEqual(new Set(scopesAsked(server).at(-1)?.split(" ")), new Set(["mcp:basic", "mcp:write"]))
          assert.strictEqual(server.grants("refresh_token"), 0)
        }).pipe(Effect.provide(program(path)))
    ))

  it.live("a server that forbids everything, whatever is granted, does not ask again and again", () =>
    withServer(
      { protect: (_) => isCall(_) ? "forbid" : "token", requiredScope: () => "mcp:write" },
      (server, path) =>
        Effect.gen(function*() {
          yield* authorized(server, path)
          const connection = yield* connect(server)
          const auth = yield* McpAuth.McpAuth
          for (let i = 0; i < 5; i++) {
            const error = yield* errorOf(echo(connection))
            assert.strictEqual(error._tag, "Forbidden")
            if (error._tag === "Forbidden" && error.authorizationUrl !== undefined) {
              yield* auth.authorize(yield* config(server))
            }
          }
          assert.isAtMost(server.count("authorize"), 3)
          assert.isAtMost(server.count("mcp", (_) => _.http.rpc === "tools/call"), 10)
        }).pipe(Effect.provide(program(path)))
    ))

  it.live("A03 A04: every token is refused, and refreshing works: a few token requests, however many calls", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const connection = yield* connect(server)
        yield* echo(connection)
        yield* server.change({ protect: () => "reject" })
        for (let i = 0; i < 10; i++) {
          const errors = yield* Effect.all(Array.from({ length: 5 }, () => errorOf(echo(connection))), {
            concurrency: "unbounded"
          })
          for (const error of errors) assert.include(["Unauthorized", "ConnectionUnavailable"], error._tag)
        }
        assert.isAtMost(server.grants("refresh_token"), 2)
        assert.isAtMost(server.count("token"), 3)
      }).pipe(Effect.provide(program(path, nobody)))))

  it.effect("A04 L07: GET is refused for ever, and refreshing works: the stream is given up, calls go on", () =>
    withServer({ protect: (_) => _.method === "GET" ? "reject" : "token" }, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const connection = yield* connect(server)
        yield* echo(connection)
        const session = yield* connection.session
        const isGivenUp = Effect.map(session.stats, (_) => _.warnings.StreamFailed !== undefined)
        yield* Effect.zipRight(TestClock.adjust("1 second"), turn).pipe(Effect.repeat({ until: () => isGivenUp }))
        const asked = server.count("mcp", (_) => _.http.method === "GET")
        assert.isAtMost(asked, 4)
        // Whoever tries again by itself does so every 30 seconds at least.
        yield* TestClock.adjust("5 minutes")
        yield* echo(connection)
        assert.strictEqual(server.count("mcp", (_) => _.http.method === "GET"), asked)
        assert.strictEqual(server.grants("refresh_token"), 1)
        assert.include(["Ready", "Degraded"], (yield* connection.state)._tag)
      }).pipe(Effect.provide(program(path, nobody)))))

  it.live("A07: a refresh token that is not valid any more is tried once, and dropped; then a person is needed", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const connection = yield* connect(server)
        yield* echo(connection)
        yield* server.expireTokens
        yield* server.revokeRefreshTokens
        const errors = yield* Effect.all(Array.from({ length: 5 }, () => errorOf(echo(connection))), {
          concurrency: "unbounded"
        })
        for (const error of errors) assert.strictEqual(error._tag, "Unauthorized")
        for (let i = 0; i < 3; i++) yield* errorOf(echo(connection))
        assert.strictEqual(server.grants("refresh_token"), 1)
        const auth = yield* McpAuth.McpAuth
        assert.strictEqual((yield* auth.status(yield* config(server)))._tag, "Pending")
        // The registration is still good.
        assert.strictEqual(server.count("register"), 1)
      }).pipe(Effect.provide(program(path, nobody)))))

  it.live("what replaces a refresh token is kept, also where the connection is closed before it has come", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        yield* server.expireTokens
        yield* Effect.gen(function*() {
          yield* Effect.fork(Effect.exit(Effect.flatMap(connect(server), echo)))
          yield* server.awaitRequests((_) => _.some((_) => _.parameters.get("grant_type") === "refresh_token"))
        }).pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        const connected = Effect.flatMap(connect(server), (_) => echo(_, "later"))
        const result = yield* connected.pipe(Effect.scoped, Effect.provide(program(path, nobody)))
        assert.include(text(result), "later")
        assert.strictEqual(server.reuses(), 0)
      })))

  it.live("a client that the authorization server has forgotten registers again", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        yield* server.expireTokens
        yield* server.forgetClients
        const connection = yield* connect(server)
        yield* errorOf(echo(connection))
        yield* awaitState(connection, "Ready")
        yield* echo(connection)
        assert.strictEqual(server.count("register"), 2)
      }).pipe(Effect.provide(program(path)))))

  for (const kind of ["token", "register", "resourceMetadata", "serverMetadata"] as const) {
    it.live(`A08: ${kind} hangs, and the connection is closed: no socket is left, and nothing happens after`, () =>
      withServer(
        { override: (_) => _.kind === kind ? HttpFixture.hang : undefined },
        (server, path) =>
          Effect.gen(function*() {
            const scope = yield* Scope.make()
            const run = Effect.gen(function*() {
              const connection = yield* connect(server)
              return yield* Effect.fork(Effect.exit(echo(connection)))
            })
            const opened: Array<string> = []
            const authorizer = LoopbackAuthorizer.layer({
              open: ({ url }) =>
                Effect.zipRight(Effect.sync(() => void opened.push(url)), Effect.ignore(AuthFixture.visit(url)))
            })
            yield* Effect.gen(function*() {
              const unused = yield* LeakCheck.snapshot
              yield* Scope.extend(run, scope).pipe(Effect.supervised(unused.supervisor))
              yield* server.awaitRequests((_) => _.some((_) => _.kind === kind))
              yield* Scope.close(scope, Exit.void)
              // Of all who could want it, nobody is left; the program goes on.
              const before = [server.requests.length, opened.length, readFiles(path)]
              yield* server.authorization.awaitSockets((_) => _ === 0)
              yield* server.resource.awaitSockets((_) => _ === 0)
              // No fiber, no timer, no socket: nothing that could do anything any more.
              yield* LeakCheck.assertNone(unused)
              assert.deepStrictEqual([server.requests.length, opened.length, readFiles(path)], before)
            }).pipe(Effect.provide(program(path, authorizer)))
          })
      ))
  }

  const bad: ReadonlyArray<readonly [string, HttpFixture.Reply]> = [
    ["garbage", AuthFixture.garbage],
    ["20 MB", AuthFixture.huge(20_000_000)],
    ["a page", HttpFixture.respond({ status: 502, headers: { "content-type": "text/html" }, body: "<h1>x</h1>" })],
    ["another token type", HttpFixture.json({ access_token: "x", token_type: "mac" })],
    ["a token that is no header", HttpFixture.json({ access_token: "a\r\nx: y", token_type: "Bearer" })],
    ["a socket that breaks", HttpFixture.destroy]
  ]
  for (const [what, reply] of bad) {
    it.live(`a token endpoint that answers with ${what}: a typed error in time, and no storm`, () =>
      withServer({}, (server, path) =>
        Effect.gen(function*() {
          yield* authorized(server, path)
          const connection = yield* connect(server)
          yield* echo(connection)
          const { [0]: entry } = readFiles(path)
          assert.isDefined(entry)
          yield* server.expireTokens
          yield* server.change({ override: (_) => _.kind === "token" ? reply : undefined })
          const errors = yield* Effect.all(Array.from({ length: 5 }, () => errorOf(echo(connection))), {
            concurrency: "unbounded"
          })
          for (const error of errors) assert.notInclude(["RequestTimeout", "OutcomeUnknown"], error._tag)
          assert.isAtMost(server.grants("refresh_token"), 3)
        }).pipe(Effect.provide(program(path, nobody)))))
  }

  it.live("a token endpoint that redirects: no secret goes elsewhere", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        yield* authorized(server, path)
        const elsewhere = yield* HttpFixture.make({ override: () => HttpFixture.json({}) })
        yield* server.change({
          override: (_) => _.kind === "token" ? AuthFixture.redirect(`${elsewhere.origin}/token`) : undefined
        })
        yield* server.expireTokens
        const connection = yield* connect(server)
        yield* errorOf(echo(connection))
        assert.deepStrictEqual(elsewhere.log, [])
      }).pipe(Effect.provide(program(path, nobody)))))

  const lies: ReadonlyArray<readonly [string, AuthFixture.Script, AuthFixture.Kind]> = [
    ["the metadata names another issuer", { issuer: "https://attacker.example.com" }, "authorize"],
    ["the resource is another one", { resource: "https://evil.example.com/mcp" }, "authorize"],
    ["the answer is another issuer's", { iss: "https://evil.example.com" }, "token"],
    ["the answer has no issuer, though it should", { iss: null }, "token"]
  ]
  for (const [what, script, never] of lies) {
    it.live(`${what}: nothing goes on`, () =>
      withServer(script, (server, path) =>
        Effect.gen(function*() {
          const auth = yield* McpAuth.McpAuth
          const error = yield* errorOf(auth.authorize(yield* config(server)))
          assert.include(["Unauthorized", "ConfigInvalid"], error._tag)
          assert.strictEqual(server.count(never), 0)
        }).pipe(Effect.provide(program(path)))))
  }

  it.live("a manager: the server that needs a person is in NeedsAuthorization with the page, the others work", () =>
    withServer({}, (server, path) =>
      Effect.gen(function*() {
        const open = yield* HttpFixture.make()
        const manager = yield* McpManager.make({
          servers: [
            { name: "mail", transport: "http", url: server.url },
            { name: "open", transport: "http", url: open.url }
          ]
        })
        assert.deepStrictEqual(yield* manager.connectAll, ["open"])
        const { error, phase, state } = yield* manager.status("mail")
        assert.deepStrictEqual([phase, state?._tag, error?._tag], ["failed", "NeedsAuthorization", "Unauthorized"])
        const url = error?._tag === "Unauthorized" ? error.authorizationUrl : undefined
        const auth = yield* McpAuth.McpAuth
        yield* auth.finish(yield* config(server), yield* server.browser(url!))
        yield* Stream.runDrain(
          Stream.takeUntil(manager.changes, ({ servers }) => servers.every((_) => _.phase === "connected"))
        )
        const called = yield* manager.callTool("mail", { name: "echo", arguments: { text: "by itself" } })
        assert.include(text(called), "by itself")
      }).pipe(Effect.provide(program(path, nobody)))))
})

/** Everything that is in the entries of a program. */
const readFiles = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((_) => _.isFile() && /^k[vh]-/.test(_.name))
    .map((_) => readFileSync(join(_.parentPath, _.name), "utf8"))

const scopesAsked = (server: AuthFixture.AuthFixture) =>
  server.requests.filter((_) => _.kind === "authorize").map((_) => _.parameters.get("scope"))
