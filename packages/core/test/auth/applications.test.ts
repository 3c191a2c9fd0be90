import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpSession, SecretResolver } from "@mcp-runtime/core"
import { type Context, Effect, Fiber, Redacted, TestClock } from "effect"
import { inspect } from "node:util"
import * as Subject from "../../src/internal/config/subject.js"
import { auth, decoded, inWorld, open, settle } from "./setup.js"
import * as World from "./world.js"

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

type Input = Partial<McpConfig.ServerConfigInput> & { readonly auth: McpConfig.Auth | object }

const jwt = (claims: object) =>
  ["{\"alg\":\"none\"}", JSON.stringify(claims), "canary-signature"].map((_) => Buffer.from(_).toString("base64url"))
    .join(".")

const workload = (assertion: unknown = jwt({ iss: "https://ci", sub: "job-1", jti: 1 }), more: object = {}) =>
  ({ auth: { type: "jwtBearer", clientId: "job", assertion, ...more } }) as Input as Partial<
    McpConfig.ServerConfigInput
  >

const employee = (idToken: unknown = jwt({ iss: "https://idp", sub: "alice" }), idp: object = {}) =>
  ({
    auth: {
      type: "enterprise",
      clientId: "app",
      clientSecret: "canary-app-secret",
      idp: {
        issuer: "https://idp.example",
        tokenEndpoint: "https://idp.example/token",
        clientId: "app-at-idp",
        idToken,
        ...idp
      }
    }
  }) as Input as Partial<McpConfig.ServerConfigInput>

const fields = ({ params }: World.Asked) => Object.fromEntries(params)

const answers = (texts: ReadonlyArray<string>) => {
  const asked: Array<string> = []
  const resolver: Partial<Context.Tag.Service<SecretResolver.SecretResolver>> = {
    env: (name) =>
      Effect.sync(() => {
        asked.push(name)
        return Redacted.make(texts[Math.min(asked.length, texts.length) - 1]!)
      })
  }
  return { asked, resolver }
}

const used = (world: World.World, parameter: string) =>
  world.of("token").flatMap(({ params }) => params.get(parameter) ?? [])

describe("workload identity (RFC 7523)", () => {
  it.scoped("one token request: the assertion, the client without a secret, the resource; nobody registers", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const assertion = jwt({ iss: "https://ci", sub: "job-1" })
        const input = workload(assertion, { scopes: ["read", "write"] })
        yield* Effect.flatMap(open(input), call)
        assert.deepStrictEqual(world.of("token").map(fields), [{
          grant_type: World.jwtBearer,
          assertion,
          scope: "read write",
          client_id: "job",
          resource: World.mcp
        }])
        assert.notProperty(world.of("token")[0]!.headers, "authorization")
        assert.strictEqual(world.count("register") + world.count("authorize"), 0)
        const status = yield* Effect.flatMap(McpAuth.McpAuth, (_) => Effect.flatMap(decoded(input), _.status))
        assert.deepInclude(status, { _tag: "Authorized", clientId: "job", refreshable: true })
      })
    ))

  it.scoped("with a secret it shows it by HTTP Basic", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
        yield* Effect.flatMap(open(workload(undefined, { clientSecret: "canary-secret" })), call)
        const [{ headers }] = world.of("token") as [World.Asked]
        assert.strictEqual(headers.authorization, `Basic ${btoa("job:canary-secret")}`)
      })
    ))

  const renewing = answers(["a1", "a2", "a3"].map((jti) => jwt({ iss: "https://ci", sub: "job-1", jti })))
  it.scoped("a reference is looked up anew for each token, and a refresh token is no other way", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        const session = yield* open(workload({ env: "ASSERTION" }))
        for (let i = 1; i <= 3; i++) {
          yield* call(session)
          assert.strictEqual(world.count("token"), i)
          world.tokens.clear()
        }
        assert.deepStrictEqual(new Set(used(world, "grant_type")), new Set([World.jwtBearer]))
        assert.strictEqual(new Set(used(world, "assertion")).size, 2)
        assert.strictEqual(store.entries.size, 1)
        assert.notInclude([...store.entries.values()].join(), "\"refresh\"")
        for (const assertion of used(world, "assertion")) {
          assert.notInclude([...store.entries.values()].join(), assertion)
        }
      }), { secrets: renewing.resolver }))

  for (const error of ["invalid_grant", "unauthorized_client", "invalid_client", "invalid_scope", "invalid_request"]) {
    it.scoped(`${error}: no second try with the same assertion, no other grant, however long`, () =>
      inWorld((world) =>
        Effect.gen(function*() {
          world.script = (asked) => asked.kind === "token" ? { status: 400, body: { error } } : undefined
          for (let i = 0; i < 6; i++) {
            const failed = yield* Effect.flip(Effect.scoped(open(workload())))
            assert.strictEqual(failed._tag, "Unauthorized")
            assert.include(failed.message, i === 0 ? error : "")
            yield* TestClock.adjust("10 minutes")
          }
          assert.strictEqual(world.count("token"), 1)
          const last = yield* Effect.flip(Effect.scoped(open(workload())))
          assert.include(last.message, "\"auth.assertion\"")
        })
      ))
  }

  it.scoped("an assertion that was refused because of the client is shown again for a client that is mended", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_post"] }
        world.script = ({ kind, params }) =>
          kind === "token" && params.get("client_secret") !== "canary-right"
            ? { status: 401, body: { error: "invalid_client" } }
            : undefined
        const wrong = workload(undefined, { clientSecret: "canary-wrong" })
        yield* Effect.flip(Effect.scoped(open(wrong)))
        yield* TestClock.adjust("10 minutes")
        yield* Effect.flip(Effect.scoped(open(wrong)))
        assert.strictEqual(world.count("token"), 1)
        yield* TestClock.adjust("10 minutes")
        yield* Effect.flatMap(open(workload(undefined, { clientSecret: "canary-right" })), call)
        assert.strictEqual(world.count("token"), 2)
      })
    ))

  const [alice, bob] = ["alice", "bob"].map((sub) => jwt({ iss: "https://ci", sub })) as [string, string]
  const changing = answers([alice, alice, bob])
  it.scoped("an assertion that speaks of somebody else by now is for the next session, and gives this one nothing", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        const input = workload({ env: "ASSERTION" })
        const session = yield* open(input)
        yield* call(session)
        world.tokens.clear()
        const error = yield* Effect.flip(call(session))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.include(error.message, "somebody else")
        assert.deepStrictEqual(used(world, "assertion"), [alice])
        yield* Effect.flatMap(open(input), call)
        assert.deepStrictEqual(used(world, "assertion"), [alice, bob])
        assert.strictEqual(store.entries.size, 2)
      }), { secrets: changing.resolver }))

  const rejectedOnce = answers([
    jwt({ iss: "i", sub: "s", n: 1 }),
    jwt({ iss: "i", sub: "s", n: 1 }),
    jwt({ iss: "i", sub: "s", n: 2 })
  ])
  it.scoped("a proof of the key that is not believed does not spoil the assertion", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.tokenType = "DPoP"
        const input = workload(undefined, { dpop: true })
        world.script = ({ kind }) =>
          kind === "token" ? { status: 400, body: { error: "invalid_dpop_proof" } } : undefined
        assert.include((yield* Effect.flip(Effect.scoped(open(input)))).message, "invalid_dpop_proof")
        world.script = () => undefined
        yield* TestClock.adjust("10 minutes")
        yield* Effect.flatMap(open(input), call)
        assert.strictEqual(world.count("token"), 2)
      })
    ))

  it.scoped("another assertion is tried after one that was refused", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.script = (asked) =>
          asked.kind === "token" && world.count("token") === 1
            ? { status: 400, body: { error: "invalid_grant" } }
            : undefined
        const input = workload({ env: "ASSERTION" })
        assert.strictEqual((yield* Effect.flip(Effect.scoped(open(input))))._tag, "Unauthorized")
        yield* TestClock.adjust("10 minutes")
        yield* Effect.flatMap(open(input), call)
        assert.strictEqual(new Set(used(world, "assertion")).size, 2)
      }), { secrets: rejectedOnce.resolver }))

  it.scoped("scopes that are not given do not spoil the assertion for those that are", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* open(workload())
        world.script = (asked) =>
          asked.kind === "token" && asked.params.get("scope") !== null
            ? { status: 400, body: { error: "invalid_scope" } }
            : undefined
        world.needs = (method) => method === "tools/call" ? "admin" : undefined
        yield* Effect.flip(call(session))
        world.tokens.clear()
        yield* TestClock.adjust("10 minutes")
        yield* McpSession.ping(session)
        assert.deepStrictEqual(world.of("token").map((_) => _.params.get("scope")), [null, "admin", null])
      })
    ))

  it.scoped("an authorization server that is down is asked again with the same", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.script = (asked) => asked.kind === "token" && world.count("token") === 1 ? { status: 503 } : undefined
        assert.strictEqual((yield* Effect.flip(Effect.scoped(open(workload()))))._tag, "HttpError")
        yield* TestClock.adjust("2 seconds")
        yield* Effect.flatMap(open(workload()), call)
        assert.strictEqual(new Set(used(world, "assertion")).size, 1)
      })
    ))

  it.scoped("the assertion goes to the configured issuer alone", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(open(workload(undefined, { issuer: "https://mine.example" })))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.include(error.message, "auth.issuer")
        assert.strictEqual(world.count("token"), 0)
      })
    ))

  const broken: Partial<Context.Tag.Service<SecretResolver.SecretResolver>> = {
    env: (name) =>
      name === "NONE"
        ? Effect.fail(new SecretResolver.SecretUnavailable({ reason: "Unset", problem: "NONE is not set" }))
        : name === "DIES"
        ? Effect.die("canary-cause")
        : Effect.succeed(Redacted.make("not a jwt\n"))
  }
  for (
    const [name, words] of [["NONE", "NONE is not set"], ["DIES", "unexpected"], ["TEXT", "must be a JWT"]] as const
  ) {
    it.scoped(`an assertion that can't be had (${name}) is a problem of its field, and nothing is asked`, () =>
      inWorld((world) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(open(workload({ env: name })))
          assert(error._tag === "ConfigInvalid")
          assert.strictEqual(error.server, "secured")
          assert.strictEqual(error.problems[0]!.field, "auth.assertion")
          assert.include(error.problems[0]!.problem, words)
          assert.notInclude(inspect(error, { depth: 9 }), "canary")
          assert.strictEqual(world.count("token"), 0)
        }), { secrets: broken }))
  }

  let slow = 0
  it.scoped("an assertion that never comes is waited for 30 seconds, and who gives up waits no longer", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* open(workload({ env: "ASSERTION" }))
        world.tokens.clear()
        const given = yield* Effect.fork(call(session))
        yield* settle
        yield* Fiber.interrupt(given)
        const waiting = yield* Effect.fork(Effect.flip(call(session)))
        yield* settle
        yield* TestClock.adjust("31 seconds")
        const error = yield* Fiber.join(waiting)
        assert(error._tag === "ConfigInvalid", error._tag)
        assert.strictEqual(error.problems[0]!.field, "auth.assertion")
        assert.strictEqual(world.count("token"), 1)
      }), {
      secrets: {
        env: () => Effect.suspend(() => ++slow <= 2 ? Effect.succeed(Redacted.make(jwt({ sub: "s" }))) : Effect.never)
      }
    }))
})

describe("enterprise-managed authorization (RFC 8693, then RFC 7523)", () => {
  it.scoped("the id token to the identity provider, what that gives to the authorization server, and nothing else", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.resource = { resource: "https://mcp.example/", authorization_servers: [World.issuer] }
        world.script = ({ kind }) => kind === "resource" ? { status: 200, body: world.resource } : undefined
        world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
        const idToken = jwt({ iss: "https://idp", sub: "alice" })
        yield* Effect.flatMap(open(employee(idToken)), call)
        const [exchange, grant] = world.of("token") as [World.Asked, World.Asked]
        assert.strictEqual(exchange.url.href, "https://idp.example/token")
        assert.deepStrictEqual(fields(exchange), {
          grant_type: World.tokenExchange,
          requested_token_type: World.idJag,
          audience: World.issuer,
          resource: "https://mcp.example/",
          subject_token: idToken,
          subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
          client_id: "app-at-idp"
        })
        assert.notProperty(exchange.headers, "authorization")
        assert.strictEqual(grant.url.href, `${World.issuer}/token`)
        assert.strictEqual(grant.headers.authorization, `Basic ${btoa("app:canary-app-secret")}`)
        const { assertion, ...rest } = fields(grant)
        assert.include(assertion, "id-jag")
        assert.deepStrictEqual(rest, { grant_type: World.jwtBearer, resource: "https://mcp.example/" })
        assert.strictEqual(world.count("token"), 2)
        assert.isTrue(world.asked.every((_) => !JSON.stringify([_.headers, _.url]).includes(idToken)))
        assert.strictEqual(world.asked.filter((_) => _.body.includes(idToken)).length, 1)
      })
    ))

  it.scoped("the token endpoint is found by the metadata of the identity provider, which must be its own", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const input = employee(undefined, { tokenEndpoint: undefined, clientSecret: "canary-idp-secret" })
        let issuer = "https://evil.example"
        world.script = ({ url }) =>
          url.href === "https://idp.example/.well-known/openid-configuration"
            ? { status: 200, body: { issuer, token_endpoint: "https://idp.example/other/token" } }
            : undefined
        const error = yield* Effect.flip(Effect.scoped(open(input)))
        assert.include(error.message, "another one")
        assert.strictEqual(world.count("token"), 0)
        issuer = "https://idp.example"
        yield* TestClock.adjust("1 minute")
        yield* Effect.flatMap(open(input), call)
        const [exchange] = world.of("token") as [World.Asked]
        assert.strictEqual(exchange.url.href, "https://idp.example/other/token")
        assert.strictEqual(exchange.headers.authorization, `Basic ${btoa("app-at-idp:canary-idp-secret")}`)
      })
    ))

  const garbage: ReadonlyArray<readonly [string, World.Answer]> = [
    ["no assertion", { status: 200, body: {} }],
    ["another type", {
      status: 200,
      body: { access_token: "x", issued_token_type: "urn:ietf:params:oauth:token-type:jwt" }
    }],
    ["no type", { status: 200, body: { access_token: "x" } }],
    ["no JSON", { status: 200, body: "{garb" }],
    ["a space in it", { status: 200, body: { access_token: "x y", issued_token_type: World.idJag } }],
    ["a redirect", { status: 307, headers: { location: "https://evil.example/token" } }],
    ["an error", { status: 400, body: { error: "access_denied", error_description: "not this server" } }]
  ]
  for (const [title, answer] of garbage) {
    it.scoped(`an identity provider that gives ${title}: Unauthorized, and the authorization server is not asked`, () =>
      inWorld((world) =>
        Effect.gen(function*() {
          world.script = ({ url }) => url.host === "idp.example" ? answer : undefined
          const error = yield* Effect.flip(open(employee()))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "https://idp.example/token")
          assert.strictEqual(world.count("token"), 1)
        })
      ))
  }

  it.scoped("an identity provider that hangs is waited for 30 seconds, and interrupted with who waits", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.script = ({ url }) => url.host === "idp.example" ? "hang" : undefined
        const fiber = yield* Effect.fork(Effect.flip(Effect.scoped(open(employee()))))
        yield* world.seen("token")
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
        const second = yield* Effect.fork(Effect.scoped(open(employee())))
        yield* TestClock.adjust("10 seconds")
        yield* settle
        yield* Fiber.interrupt(second)
        yield* settle
        assert.strictEqual(world.open(), 0)
      })
    ))

  it.scoped("an id token that was refused is not sent again", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.script = ({ url }) =>
          url.host === "idp.example" ? { status: 400, body: { error: "invalid_grant" } } : undefined
        for (let i = 0; i < 4; i++) {
          yield* Effect.flip(Effect.scoped(open(employee())))
          yield* TestClock.adjust("10 minutes")
        }
        assert.strictEqual(world.count("token"), 1)
      })
    ))

  it.scoped("a token that the server refuses is no storm: a few more in five minutes, ever fewer", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        world.script = (asked) =>
          asked.kind === "mcp" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
        for (let i = 0; i < 20; i++) {
          assert.strictEqual((yield* Effect.flip(Effect.scoped(open(employee()))))._tag, "Unauthorized")
          yield* TestClock.adjust("15 seconds")
        }
        assert.isAtMost(world.of("token").filter((_) => _.url.host === "idp.example").length, 4)
      })
    ))

  it.scoped("five calls that are refused at once: one exchange, and each tells its own user apart", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        const alice = yield* open(employee(jwt({ iss: "https://idp", sub: "alice", n: 1 })))
        world.tokens.clear()
        yield* Effect.all(Array.from({ length: 5 }, () => call(alice)), { concurrency: "unbounded" })
        assert.strictEqual(world.count("token"), 4)
        const tokensBefore = new Set(world.of("mcp").map((_) => _.headers.authorization))
        // Another one's token of the same person is no other person.
        yield* Effect.scoped(Effect.flatMap(open(employee(jwt({ iss: "https://idp", sub: "alice", n: 2 }))), call))
        assert.strictEqual(world.count("token"), 4)
        const before = world.asked.length
        yield* Effect.scoped(Effect.flatMap(open(employee(jwt({ iss: "https://idp", sub: "bob" }))), call))
        assert.strictEqual(world.count("token"), 6)
        assert.strictEqual(store.entries.size, 2)
        const sent = world.asked.slice(before).flatMap((_) =>
          _.kind === "mcp" && _.headers.authorization !== undefined ? [_.headers.authorization] : []
        )
        assert.isTrue(sent.length > 0 && sent.every((_) => !tokensBefore.has(_)))
        // Also in another process.
        yield* Effect.scoped(
          Effect.provide(
            Effect.flatMap(open(employee(jwt({ iss: "https://idp", sub: "alice", n: 3 }))), call),
            auth(world, store)
          )
        )
        assert.strictEqual(world.count("token"), 6)
      })
    ))

  it.scoped("no assertion, id token or secret is in an error, and none is stored", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        const idToken = jwt({ iss: "https://idp", sub: "alice" })
        const echo = (asked: World.Asked): World.Reply => ({
          status: 400,
          body: { error: `said ${asked.body}`, error_description: JSON.stringify([asked.body, asked.headers]) }
        })
        const errors: Array<unknown> = []
        world.script = (asked) => asked.url.host === "idp.example" ? echo(asked) : undefined
        errors.push(yield* Effect.flip(Effect.scoped(open(employee(idToken)))))
        yield* TestClock.adjust("1 minute")
        world.script = (asked) => asked.kind === "token" && asked.url.host !== "idp.example" ? echo(asked) : undefined
        errors.push(yield* Effect.flip(Effect.scoped(open(employee(idToken)))))
        yield* TestClock.adjust("1 minute")
        world.script = () => undefined
        yield* Effect.scoped(Effect.flatMap(open(employee(idToken)), call))
        world.script = (asked) =>
          asked.kind === "mcp" ? { status: 400, body: `${idToken} canary-app-secret` } : undefined
        errors.push(yield* Effect.flip(Effect.scoped(open(employee(idToken)))))
        const secrets = [idToken, "canary-app-secret", ...world.secrets].filter((_) => _ !== "")
        for (const error of errors) {
          const text = inspect(error, { depth: 9 })
          for (const secret of secrets) assert.notInclude(text, secret)
          assert.notInclude(text, encodeURIComponent(idToken))
        }
        const kept = [...store.entries.values()].join()
        for (const secret of [idToken, "canary-app-secret", ...used(world, "assertion")]) {
          assert.notInclude(kept, secret)
        }
      })
    ))
})

describe("of whom a JWT speaks", () => {
  it("issuer and subject; what says neither stands for itself", () => {
    const of = (claims: object) => Subject.of(jwt(claims))
    assert.strictEqual(of({ iss: "i", sub: "s", exp: 1 }), of({ sub: "s", exp: 2, iss: "i" }))
    assert.notStrictEqual(of({ iss: "i", sub: "s" }), of({ iss: "i", sub: "t" }))
    assert.notStrictEqual(of({ iss: "i", sub: "s" }), of({ iss: "j", sub: "s" }))
    assert.notStrictEqual(of({ iss: "i\",\"s", sub: "x" }), of({ iss: "i", sub: "s\",\"x" }))
    const isAnother = (one: object, other: object) => Subject.isAnother(jwt(one), jwt(other))
    assert.isTrue(isAnother({ iss: "i", sub: "s" }, { iss: "i", sub: "t" }))
    assert.isFalse(isAnother({ iss: "i", sub: "s", exp: 1 }, { iss: "i", sub: "s", exp: 2 }))
    assert.isFalse(isAnother({ iss: "i", sub: "s" }, { iss: "i" }))
    for (const text of ["", "a", "a.b.c", "a.bnVsbA.c", jwt({ iss: "i" }), jwt({ sub: "s" }), jwt([])]) {
      assert.strictEqual(Subject.of(text), text)
    }
  })
})
