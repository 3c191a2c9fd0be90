import { assert, describe, it } from "@effect/vitest"
import type { HttpExchange, McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpSession } from "@mcp-runtime/core"
import { Effect, Either, Layer, Logger, TestClock } from "effect"
import { createHash } from "node:crypto"
import { Memory } from "../../src/internal/auth/memory.js"
import * as Reasons from "../../src/internal/auth/reasons.js"
import * as Requests from "../../src/internal/auth/requests.js"
import { auth, decoded, inWorld, login, open, settle } from "./setup.js"
import * as World from "./world.js"

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

const methodOf = ({ body }: World.Asked): string | undefined =>
  body.startsWith("{") ? (JSON.parse(body) as { readonly method?: string }).method : undefined

type HttpInput = Extract<McpConfig.ServerConfigInput, { readonly transport: "http" }>

/** With what a client is opened for each of these places, which all say that they have nothing. */
const openedFor = (input: Partial<McpConfig.ServerConfigInput>, places: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const opened: Array<McpConfig.AnyHttpConfig> = []
    const open = (config: McpConfig.AnyHttpConfig) =>
      Effect.sync(() => {
        opened.push(config)
        return {
          send: (_: HttpExchange.HttpRequest, listener: HttpExchange.HttpListener) => {
            listener.head(404, () => undefined)
            listener.end()
            return () => {}
          }
        }
      })
    const config = yield* decoded(input)
    if (config.transport !== "http") return assert.fail()
    const requests = yield* Requests.make({ open }, config)
    for (const url of places) yield* requests.send({ method: "GET", url: new URL(url), what: "it", millis: 1000 })
    return opened
  })

describe("hostile servers", () => {
  it.scoped("A03: a server that takes each new token once, and refuses calls with it, can't turn them into a storm", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.script = (asked) =>
          asked.kind === "mcp" && methodOf(asked) === "tools/call"
            ? { status: 401, headers: { "www-authenticate": "Bearer" } }
            : undefined
        const before = world.count("token")
        for (let i = 0; i < 100; i++) {
          yield* Effect.either(McpSession.ping(session))
          assert.strictEqual((yield* Effect.flip(call(session)))._tag, "Unauthorized")
        }
        assert.isAtMost(world.count("token") - before, 30)
        // It goes on when the server has come to its senses.
        world.script = () => undefined
        yield* TestClock.adjust("10 minutes")
        yield* call(session)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("a server that says 403 does not get more scopes than the application has configured for itself", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const config = { type: "clientCredentials" as const, clientId: "app", clientSecret: "canary-app-secret" }
        const session = yield* open({ auth: { ...config, scopes: ["read"] } })
        world.needs = () => "admin"
        assert.strictEqual((yield* Effect.flip(call(session)))._tag, "Forbidden")
        assert.deepStrictEqual(world.of("token").map((_) => _.params.get("scope")), ["read"])
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("an authorization server that does not say that it knows PKCE is refused, unless it is the configured one", () =>
    Effect.gen(function*() {
      for (const said of [undefined, [], ["plain"], "S256", { S256: true }]) {
        for (const issuer of [undefined, World.issuer]) {
          const world = World.make()
          world.metadata = { ...world.metadata, code_challenge_methods_supported: said }
          const outcome = yield* login(world, { auth: { type: "oauth", ...(issuer !== undefined && { issuer }) } })
            .pipe(
              Effect.provide(auth(world, World.tokens())),
              Effect.either
            )
          const mayPass = said === undefined && issuer !== undefined
          assert.strictEqual(Either.isRight(outcome), mayPass, JSON.stringify(said))
          if (Either.isLeft(outcome)) {
            assert.include(outcome.left.message, "PKCE")
            assert.strictEqual(world.count("register") + world.count("authorize"), 0)
            assert.strictEqual(outcome.left.message.includes("auth.issuer"), said === undefined)
          }
        }
      }
    }))

  it.scoped("metadata that names an endpoint by what is no text is refused", () =>
    Effect.gen(function*() {
      for (const endpoint of [{ toString: null }, [{ toString: null }], 1]) {
        const world = World.make()
        world.metadata = { ...world.metadata, token_endpoint: endpoint }
        const error = yield* Effect.flip(login(world)).pipe(Effect.provide(auth(world, World.tokens())))
        assert.include(error.message, "token_endpoint")
      }
    }))

  it.scoped("PKCE is not asked of who needs none", () =>
    Effect.gen(function*() {
      const world = World.make()
      world.metadata = { ...world.metadata, code_challenge_methods_supported: undefined }
      yield* Effect.gen(function*() {
        const session = yield* open({
          auth: { type: "clientCredentials", clientId: "app", clientSecret: "canary-app" }
        })
        yield* call(session)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("whatever the lifetime of a token is said to be, its end is a time or nothing", () =>
    Effect.gen(function*() {
      for (
        const expiresIn of [
          1e300,
          1e15,
          Number.MAX_SAFE_INTEGER,
          -1,
          0,
          "",
          "soon",
          "1e309",
          true,
          [],
          [9],
          {},
          null,
          "3600"
        ]
      ) {
        const world = World.make()
        world.script = (asked) => {
          if (asked.kind !== "token") return undefined
          const { access } = world.give()
          return { status: 200, body: { access_token: access, token_type: "Bearer", expires_in: expiresIn } }
        }
        yield* Effect.gen(function*() {
          yield* login(world)
          const service = yield* McpAuth.McpAuth
          const status = yield* service.status(yield* decoded())
          if (status._tag !== "Authorized") return assert.fail(status._tag)
          const { expiresAt } = status
          if (typeof expiresIn === "string" && Number(expiresIn) === 3600) assert.strictEqual(expiresAt, 3_600_000)
          if (expiresAt === undefined) return
          assert.match(new Date(expiresAt).toISOString(), /^\d{4}-/, JSON.stringify(expiresIn))
        }).pipe(Effect.provide(auth(world, World.tokens())))
      }
    }))

  it.scoped("whatever an authorization server gives, what is stored of it is read again", () =>
    Effect.gen(function*() {
      const long = "x".repeat(900_000)
      const store = World.tokens()
      const world = World.make()
      world.metadata = {
        ...world.metadata,
        token_endpoint_auth_methods_supported: [long, "none"],
        scopes_supported: Array.from({ length: 300 }, (_, i) => `${"s".repeat(250)}${i}`)
      }
      world.script = (asked) => {
        if (asked.kind === "register") {
          return {
            status: 201,
            body: { client_id: "c".repeat(4096), client_secret: long, token_endpoint_auth_method: "none" }
          }
        }
        if (asked.kind !== "token") return undefined
        const { access } = world.give()
        return {
          status: 200,
          body: { access_token: access, refresh_token: long, scope: `${"a".repeat(200)} `.repeat(400) }
        }
      }
      yield* Effect.provide(login(world), auth(world, store))
      for (const text of store.entries.values()) assert.isBelow(text.length, 200_000)
      const service = yield* Effect.provide(McpAuth.McpAuth, auth(world, store))
      const status = yield* service.status(yield* decoded())
      assert.strictEqual(status._tag, "Authorized")
      assert.isTrue(status._tag === "Authorized" && !status.refreshable)
    }))

  it.scoped("TLS that is not checked is for the configured server, and not for those that it names", () =>
    Effect.gen(function*() {
      const opened = yield* openedFor({ tls: { verify: false, ca: "CA" } }, [
        "https://mcp.example/x",
        "https://as.example/x",
        "https://mcp.example:444/",
        "https://127.0.0.1/"
      ])
      assert.deepStrictEqual(
        opened.map(({ tls, url }) => [url, tls?.verify, tls?.ca !== undefined]),
        [
          ["https://mcp.example/", false, true],
          ["https://as.example/", undefined, true],
          ["https://mcp.example:444/", undefined, true],
          ["https://127.0.0.1/", false, true]
        ]
      )
    }))

  it.scoped("a client's certificate is for the configured server, and for whoever the configuration names", () =>
    Effect.gen(function*() {
      const tls = { ca: "CA", cert: "CERT", key: "canary-key", passphrase: "canary-passphrase" }
      const app = { clientId: "app", clientSecret: "canary-app-secret" }
      const idp = { clientId: "idp", idToken: "a.b.c", issuer: "https://idp.example/x" }
      const places = ["mcp.example", "mcp.example:444", "as.example", "idp.example", "sts.example", "127.0.0.1"]
        .map((_) => `https://${_}/`)
      const rows: ReadonlyArray<readonly [HttpInput["auth"], ReadonlyArray<string>]> = [
        [undefined, ["mcp.example"]],
        ["none", ["mcp.example"]],
        [{ type: "oauth" }, ["mcp.example"]],
        [{ type: "oauth", issuer: "https://as.example/tenant" }, ["mcp.example", "as.example"]],
        [{ type: "clientCredentials", ...app, issuer: "https://as.example" }, ["mcp.example", "as.example"]],
        [{ type: "enterprise", ...app, idp }, ["mcp.example", "idp.example"]],
        [
          { type: "enterprise", ...app, idp: { ...idp, tokenEndpoint: "https://sts.example/token" } },
          ["mcp.example", "idp.example", "sts.example"]
        ]
      ]
      for (const [auth, named] of rows) {
        const opened = yield* openedFor({ tls, ...(auth !== undefined && { auth }) }, places)
        assert.deepStrictEqual(opened.map((_) => _.url), places)
        for (const { tls: offered, url } of opened) {
          const has = named.includes(new URL(url).host)
          assert.isDefined(offered?.ca)
          assert.deepStrictEqual(
            [offered?.cert, offered?.key, offered?.passphrase].map((_) => _ !== undefined),
            [has, has, has],
            `${JSON.stringify(auth)} ${url}`
          )
        }
      }
    }))
})

describe("the secret of a configured client", () => {
  const configured = (clientSecret: string, issuer?: string): Partial<McpConfig.ServerConfigInput> => ({
    auth: { type: "oauth", clientId: "pre", clientSecret, ...(issuer !== undefined && { issuer }) }
  })
  const basic = (world: World.World) => {
    world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
  }

  it.scoped("is not stored, and is the one of the configuration of now", () =>
    Effect.gen(function*() {
      const world = World.make()
      basic(world)
      const store = World.tokens()
      yield* Effect.provide(login(world, configured("canary-old")), auth(world, store))
      world.tokens.clear()
      yield* Effect.gen(function*() {
        const session = yield* open(configured("canary-new"))
        yield* call(session)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
      const [first, second] = world.of("token").map((_) => _.headers.authorization)
      assert.strictEqual(first, `Basic ${btoa("pre:canary-old")}`)
      assert.strictEqual(second, `Basic ${btoa("pre:canary-new")}`)
      assert.notInclude([...store.entries.values()].join(), "canary-old")
      assert.notInclude([...store.entries.values()].join(), "canary-new")
    }))

  it.scoped("does not go to an authorization server that was used before another one was configured", () =>
    Effect.gen(function*() {
      const world = World.make()
      basic(world)
      const store = World.tokens()
      yield* Effect.provide(login(world, configured("canary-old")), auth(world, store))
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const before = yield* decoded(configured("canary-old"))
        const now = yield* decoded(configured("canary-new", "https://right.example"))
        const { url } = yield* service.begin(before)
        const back = world.visit(url)
        world.tokens.clear()
        assert.strictEqual((yield* Effect.flip(service.finish(now, back)))._tag, "Unauthorized")
        yield* Effect.flip(open(configured("canary-new", "https://right.example")))
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
      assert.strictEqual(world.count("token"), 1)
    }))
})

describe("what an application shows, where no issuer is configured", () => {
  const other = "https://evil.example"
  const secret = { type: "clientCredentials" as const, clientId: "app", clientSecret: "canary-app-secret" }
  /** The server names another authorization server from now on. */
  const moves = (world: World.World) => {
    world.resource = { ...world.resource, authorization_servers: [other] }
    const usual = JSON.stringify(world.metadata).replaceAll(World.issuer, other)
    world.script = ({ url }) =>
      url.origin === other && url.pathname.includes(".well-known")
        ? { status: 200, body: JSON.parse(usual) }
        : undefined
  }
  const shows = (world: World.World, origin: string) => world.of("token").filter((_) => _.url.origin === origin).length

  const cases = {
    "a secret": secret,
    "an assertion": { type: "jwtBearer", clientId: "job", assertion: "a.b.c" },
    "an identity": {
      ...secret,
      type: "enterprise",
      idp: {
        issuer: "https://idp.example",
        tokenEndpoint: "https://idp.example/token",
        clientId: "i",
        idToken: "a.b.c"
      }
    }
  } as const
  for (const [what, config] of Object.entries(cases)) {
    it.scoped(`${what} goes to the first authorization server alone, also when that one refuses it, with a warning`, () =>
      inWorld((world) =>
        Effect.gen(function*() {
          const lines: Array<string> = []
          const logger = Logger.make(({ annotations, message }) => {
            lines.push(`${String(message)} ${JSON.stringify([...annotations])}`)
          })
          const opened = Effect.flip(Effect.scoped(open({ auth: config }))).pipe(
            Effect.provide(Logger.replace(Logger.defaultLogger, logger))
          )
          world.script = ({ kind, url }) =>
            kind === "token" && url.origin === World.issuer
              ? { status: 401, body: { error: "invalid_client" } }
              : undefined
          assert.strictEqual((yield* opened)._tag, "Unauthorized")
          assert.strictEqual(shows(world, World.issuer), 1)
          moves(world)
          yield* TestClock.adjust("10 minutes")
          const error = yield* opened
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "auth.issuer")
          assert.strictEqual(shows(world, other), 0)
          assert.strictEqual(lines.length, 1)
          for (const word of [World.issuer, "auth.issuer", "secured"]) assert.include(lines[0], word)
          assert.notInclude(lines.join(), "canary")
        })
      ))
  }

  it.scoped("a secret that is refused stays bound: an authorization server can't set it free", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const { begin } = yield* McpAuth.McpAuth
        const auth = { type: "oauth" as const, clientId: "pre", clientSecret: "canary-secret" }
        world.script = ({ kind }) => kind === "token" ? { status: 401, body: { error: "invalid_client" } } : undefined
        assert.include((yield* Effect.flip(login(world, { auth }))).message, "invalid_client")
        moves(world)
        const error = yield* Effect.flip(Effect.flatMap(decoded({ auth }), begin))
        assert.include(error.message, "auth.issuer")
        assert.isTrue(world.asked.every((_) => _.url.origin !== other || _.kind === "metadata"))
      })
    ))

  it.scoped("no refresh token is kept beside the secret that gives new tokens anyway", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        world.script = ({ kind }) => {
          if (kind !== "token") return undefined
          const { access, refresh } = world.give()
          return { status: 200, body: { access_token: access, token_type: "Bearer", refresh_token: refresh } }
        }
        const session = yield* open({ auth: secret })
        world.tokens.clear()
        yield* call(session)
        assert.deepStrictEqual(world.of("token").map((_) => _.params.get("grant_type")), [
          "client_credentials",
          "client_credentials"
        ])
        assert.notInclude([...store.entries.values()].join(), "canary-refresh")
      })
    ))
})

describe("what is stored may be broken", () => {
  const broken: ReadonlyArray<readonly [string, (text: string) => string]> = [
    ["a token that no header can carry", (text) => text.replaceAll(/canary-access-[^"]*/g, "a\\r\\nx-evil: 1")],
    ["a token in another alphabet", (text) => text.replaceAll(/canary-access-[^"]*/g, "ключ")],
    ["an endpoint that is no URL", (text) => text.replaceAll(`${World.issuer}/token`, "nowhere")]
  ]
  for (const [title, change] of broken) {
    it.scoped(`${title}: as if nothing were kept`, () =>
      Effect.gen(function*() {
        const world = World.make()
        const store = World.tokens()
        yield* Effect.provide(login(world), auth(world, store))
        for (const [key, text] of store.entries) store.entries.set(key, change(text))
        world.tokens.clear()
        yield* Effect.gen(function*() {
          const error = yield* Effect.flip(open())
          assert.strictEqual(error._tag, "Unauthorized")
          assert.isTrue(error._tag === "Unauthorized" && error.authorizationUrl !== undefined)
        }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
        assert.isTrue(world.of("mcp").every((_) => _.headers.authorization === undefined))
      }))
  }
})

describe("times", () => {
  const failure = Reasons.unreachable("s", "it", new URL("https://x"), {
    sent: false,
    reason: "Refused",
    detail: "refused"
  })

  it("a clock that goes back does not make a failure last, nor keeps a person from being asked", () => {
    const memory = new Memory()
    const year = 365 * 86_400_000
    memory.failed("401", failure, year)
    assert.isDefined(memory.recall("401", year + 500))
    assert.isTrue(memory.isTroubled(year + 500))
    assert.isUndefined(memory.recall("401", year - 60_000))
    assert.isFalse(memory.isTroubled(0))
    for (let i = 0; i < 3; i++) assert.isTrue(memory.mayAsk(year))
    assert.isFalse(memory.mayAsk(year))
    assert.isTrue(memory.mayAsk(0))
    memory.obtained(year)
    assert.isFalse(memory.mayRenewUnproven(year))
    assert.isTrue(memory.mayRenewUnproven(0))
  })
})

describe("twice at once", () => {
  it.scoped("a code is redeemed once, however often the browser's answer is handed in", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        const { url } = yield* service.begin(config)
        const back = world.visit(url)
        const { exchange } = world
        let answer: (() => void) | undefined
        Object.assign(world, {
          exchange: (...[request, listener]: Parameters<typeof exchange>) => {
            if (!request.url.endsWith("/token")) return exchange(request, listener, "request")
            const before = answer
            answer = () => {
              before?.()
              exchange(request, listener, "request")
            }
            return () => {}
          }
        })
        const finish = Effect.either(service.finish(config, back))
        const fibers = yield* Effect.fork(Effect.all([finish, finish, finish], { concurrency: "unbounded" }))
        yield* settle
        answer!()
        const outcomes = yield* fibers
        assert.strictEqual(world.count("token"), 1)
        assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
        assert.strictEqual((yield* service.status(config))._tag, "Authorized")
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))

  it.scoped("forget while a token is being renewed: nothing is left", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const service = yield* McpAuth.McpAuth
        const session = yield* open()
        world.tokens.clear()
        const calling = yield* Effect.fork(Effect.either(call(session)))
        yield* world.seen("token", 2)
        yield* service.forget(yield* decoded())
        yield* calling
        assert.strictEqual(store.entries.size, 0)
        assert.strictEqual((yield* service.status(yield* decoded()))._tag, "None")
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))
})

describe("a mix-up where no authorization server says who it is (RFC 9700, 4.4)", () => {
  const evilIssuer = "https://evil.example"
  const evil = { name: "evil", url: "https://evil.example/mcp" } as const
  const silent = (world: World.World) => {
    const metadata = { ...world.metadata }
    delete metadata.authorization_response_iss_parameter_supported
    world.metadata = metadata
  }
  const redirectOf = (asked: World.Asked | undefined): string =>
    (JSON.parse(asked!.body) as { readonly redirect_uris: readonly [string] }).redirect_uris[0]
  const pathOf = (issuer: string) => `/callback/${createHash("sha256").update(issuer).digest("base64url")}`
  const withoutIss = (params: URLSearchParams) => params.delete("iss")
  /** Its page is that of the other one, where it is known as which client this application is there. */
  const mixed = (world: World.World, clientId: string) => {
    world.script = ({ kind, url }) => {
      if (url.host !== "evil.example") return undefined
      switch (kind) {
        case "resource":
          return { status: 200, body: { resource: evil.url, authorization_servers: [evilIssuer] } }
        case "metadata":
          return {
            status: 200,
            body: {
              ...world.metadata,
              issuer: evilIssuer,
              token_endpoint: `${evilIssuer}/token`,
              registration_endpoint: `${evilIssuer}/register`
            }
          }
        case "register":
          return { status: 201, body: { client_id: clientId } }
        case "token":
          return { status: 400, body: { error: "invalid_grant" } }
        default:
          return { status: 401, headers: { "www-authenticate": "Bearer" } }
      }
    }
  }

  it.scoped("each has a redirect URI of its own, and what comes back to that of another one is redeemed nowhere", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        silent(world)
        const { begin, finish, status } = yield* McpAuth.McpAuth
        const honest = yield* decoded()
        const first = yield* begin(honest)
        yield* finish(honest, world.visit(first.url, withoutIss))
        const registered = redirectOf(world.of("register")[0])
        assert.strictEqual(new URL(registered).pathname, pathOf(World.issuer))
        assert.strictEqual(first.redirectUri, registered)
        mixed(world, world.of("authorize")[0]!.params.get("client_id")!)
        const config = yield* decoded(evil)
        const page = yield* begin(config)
        // The page of the honest one, which refuses what was not registered there.
        assert.strictEqual(new URL(page.url).origin, World.issuer)
        const { searchParams } = new URL(page.url)
        assert.strictEqual(new URL(searchParams.get("redirect_uri")!).pathname, pathOf(evilIssuer))
        assert.notStrictEqual(searchParams.get("redirect_uri"), registered)
        // So the evil one has another page, which sends the browser there with what is registered.
        const lured = new URL(page.url)
        lured.searchParams.set("redirect_uri", registered)
        const back = world.visit(lured.href, withoutIss)
        const long = yield* Effect.flip(finish(config, `${back}&x=${"x".repeat(8000)}&state=y`))
        assert.include(long.message, "its state is not")
        const error = yield* Effect.flip(finish(config, `${back}&x=${"x".repeat(8000)}`))
        assert.include(error.message, "another authorization server")
        assert.isTrue(world.asked.every((_) => _.kind !== "token" || _.url.origin === World.issuer))
        assert.strictEqual((yield* status(config))._tag, "None")
      })
    ))

  it.scoped("whoever says who it is, or has a client that was made before, is come back to as ever", () =>
    Effect.gen(function*() {
      const clientMetadataUrl = "https://client.example/metadata.json"
      const rows: ReadonlyArray<readonly [HttpInput["auth"], boolean, string]> = [
        [undefined, true, "/callback"],
        [undefined, false, pathOf(World.issuer)],
        [{ type: "oauth", issuer: World.issuer }, false, pathOf(World.issuer)],
        [{ type: "oauth", clientId: "pre" }, false, "/callback"],
        [{ type: "oauth", clientMetadataUrl }, false, "/callback"],
        [{ type: "oauth", redirectPort: 8123 }, false, "/callback"],
        [{ type: "oauth", redirectUri: "https://app.example/back" }, false, "/back"]
      ]
      for (const [auth, says, path] of rows) {
        yield* inWorld((world) =>
          Effect.gen(function*() {
            if (!says) silent(world)
            world.metadata = { ...world.metadata, client_id_metadata_document_supported: true }
            const { begin, finish } = yield* McpAuth.McpAuth
            const config = yield* decoded(auth === undefined ? {} : { auth })
            const { redirectUri, url } = yield* begin(config)
            assert.strictEqual(new URL(redirectUri).pathname, path)
            // The query alone will do, as ever.
            yield* finish(config, new URL(world.visit(url, withIssIf(says))).search)
          })
        )
      }
    }))

  it.scoped("a registration of before is replaced when a person is asked the next time; its tokens stay", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      silent(world)
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        const { url } = yield* service.begin(config)
        yield* service.finish(config, world.visit(url, withoutIss))
      }).pipe(Effect.provide(auth(world, store)))
      for (const [key, text] of store.entries) {
        store.entries.set(key, text.replaceAll(/\/callback\/[\w-]{43}/g, "/callback"))
      }
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        yield* Effect.flatMap(open(), call)
        world.tokens.clear()
        yield* Effect.flatMap(open(), call)
        const grants = world.of("token").map((_) => _.params.get("grant_type"))
        assert.deepStrictEqual(grants, ["authorization_code", "refresh_token"])
        assert.strictEqual(world.count("register"), 1)
        for (let i = 0; i < 2; i++) {
          const { redirectUri, url } = yield* service.begin(config)
          assert.strictEqual(new URL(redirectUri).pathname, pathOf(World.issuer))
          yield* service.finish(config, world.visit(url, withoutIss))
        }
        assert.strictEqual(world.count("register"), 2)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("an Authorizer is told the path, and the address that was registered with it", () =>
    Effect.gen(function*() {
      const told: Array<McpAuth.Redirect> = []
      const world = World.make()
      silent(world)
      const authorizer = Layer.succeed(McpAuth.Authorizer, {
        listen: (redirect) => {
          told.push(redirect)
          const redirectUri = redirect.registered ?? `http://127.0.0.1:4711${redirect.path ?? "/callback"}`
          return Effect.succeed({
            redirectUri,
            authorize: ({ url }) => Effect.sync(() => world.visit(url, withoutIss))
          })
        }
      })
      yield* Effect.gen(function*() {
        const { authorize } = yield* McpAuth.McpAuth
        for (let i = 0; i < 2; i++) yield* authorize(yield* decoded())
      }).pipe(Effect.provide(auth(world, World.tokens(), authorizer)))
      const path = pathOf(World.issuer)
      assert.deepStrictEqual(told.map((_) => [_.registered, _.path]), [
        [undefined, path],
        [`http://127.0.0.1:4711${path}`, path]
      ])
      assert.strictEqual(world.count("register"), 1)
    }))
})

const withIssIf = (says: boolean) => (params: URLSearchParams) => {
  if (!says) params.delete("iss")
}

describe("two configured servers", () => {
  it.scoped("a hostile one that names the other's resource, or its authorization server, gets no token of it", () =>
    Effect.gen(function*() {
      const world = World.make()
      const evil = "https://evil.example/mcp"
      const at = (url: URL) => url.host === "evil.example"
      let resource: object = { resource: World.mcp, authorization_servers: [World.issuer] }
      world.script = (asked) => {
        if (!at(asked.url)) return undefined
        if (asked.kind === "resource") return { status: 200, body: resource }
        return {
          status: 401,
          headers: {
            "www-authenticate": `Bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"`
          }
        }
      }
      yield* Effect.gen(function*() {
        yield* login(world)
        const before = world.count("token")
        const errors = [yield* Effect.flip(open({ name: "evil", url: evil }))]
        resource = { resource: evil, authorization_servers: [World.issuer] }
        yield* TestClock.adjust("1 minute")
        errors.push(yield* Effect.flip(open({ name: "evil", url: evil })))
        for (const error of errors) assert.strictEqual(error._tag, "Unauthorized")
        assert.strictEqual(world.count("token"), before)
        assert.isTrue(world.asked.filter((_) => at(_.url)).every((_) => _.headers.authorization === undefined))
        // A client of its own, and its own resource, if a person should agree.
        const [, second] = errors
        const page = new URL(second!._tag === "Unauthorized" ? second!.authorizationUrl! : "x:")
        assert.strictEqual(page.searchParams.get("resource"), evil)
        assert.notStrictEqual(page.searchParams.get("client_id"), world.of("authorize")[0]!.params.get("client_id"))
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))
})
