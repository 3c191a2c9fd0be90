/** Who gets tokens that are kept already: only an entry that would have got them by itself. */
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpSession } from "@mcp-runtime/core"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { auth, decoded, inWorld, login, open } from "./setup.js"
import * as World from "./world.js"

type Input = Partial<Omit<Extract<McpConfig.ServerConfigInput, { transport: "http" }>, "name" | "transport">>

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

const jwt = (claims: object) =>
  [`{"alg":"none"}`, JSON.stringify(claims), "canary-signature"].map((_) => Buffer.from(_).toString("base64url"))
    .join(".")

const tokensSent = (world: World.World, from = 0) =>
  world.asked.slice(from).flatMap(({ headers, params }) => [
    ...(headers.authorization?.startsWith("Bearer ") === true ? [headers.authorization] : []),
    ...params.getAll("refresh_token")
  ])

describe("tokens go out as safely as they came in", () => {
  const weaker: { readonly [what: string]: Input } = {
    "a proxy": { proxy: "http://127.0.0.1:3128" },
    "TLS that is not checked": { tls: { verify: false } },
    "an authority of its own": { tls: { ca: "CA" } },
    "a certificate of its own": { tls: { cert: "CERT", key: "canary-key" } },
    "all of it": { proxy: "http://127.0.0.1:3128", tls: { verify: false, ca: "CA" } }
  }
  for (const [what, input] of Object.entries(weaker)) {
    it.scoped(`an entry of the same URL with ${what} has tokens of its own, in the store and in memory`, () =>
      Effect.gen(function*() {
        const world = World.make()
        const store = World.tokens()
        yield* Effect.gen(function*() {
          yield* login(world)
          const before = world.asked.length
          const error = yield* Effect.flip(open(input))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.deepStrictEqual(tokensSent(world, before), [])
          assert.strictEqual((yield* (yield* McpAuth.McpAuth).status(yield* decoded(input)))._tag, "Pending")
          yield* Effect.flatMap(open(), call)
        }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
        const before = world.asked.length
        yield* Effect.flip(Effect.scoped(Effect.provide(open(input), auth(world, store))))
        assert.deepStrictEqual(tokensSent(world, before), [])
        // Its own are good for it, and for nobody else.
        yield* Effect.provide(login(world, input), auth(world, store))
        const tokens = world.count("token")
        yield* Effect.scoped(Effect.provide(Effect.flatMap(open(input), call), auth(world, store)))
        assert.strictEqual(world.count("token"), tokens)
        assert.strictEqual(store.entries.size, 2)
      }))
  }

  it.scoped("each of them is another one; what says the same in other words is not", () =>
    Effect.gen(function*() {
      const keyOf = (input: Input) =>
        inWorld((world, store) =>
          Effect.map(login(world, input), () => {
            assert.strictEqual(store.entries.size, 1)
            return [...store.entries.keys()][0]!
          })
        )
      const [usual, ...same] = yield* Effect.forEach(
        [{}, { tls: {} }, { tls: { verify: true } }, { maxConnections: 3 }],
        keyOf
      )
      assert.deepStrictEqual(new Set(same), new Set([usual]))
      // What is stored already is found by it.
      assert.strictEqual(
        usual,
        createHash("sha256").update(JSON.stringify(["mcp-auth", World.mcp, "oauth", null])).digest("hex")
      )
      const others = yield* Effect.forEach(
        [
          ...Object.values(weaker),
          { tls: { ca: "CA2" } },
          { tls: { ca: ["CA", "CA2"] } },
          { proxy: "https://127.0.0.1:3128" },
          { proxy: "http://127.0.0.1:3129" }
        ],
        keyOf
      )
      assert.strictEqual(new Set([usual, ...others]).size, others.length + 1)
      const [proxy, rotated] = yield* Effect.forEach(
        [{ proxy: "http://127.0.0.1:3128" }, { proxy: "http://user:canary-password@127.0.0.1:3128/" }],
        keyOf
      )
      assert.strictEqual(rotated, proxy)
      const [one, list] = yield* Effect.forEach([{ tls: { ca: "CA" } }, { tls: { ca: ["CA\n"] } }], keyOf)
      assert.strictEqual(list, one)
    }))
})

describe("tokens of an application are for who shows what they were given for", () => {
  const app = { type: "clientCredentials", clientId: "app", clientSecret: "canary-right" } as const
  const idp = {
    issuer: "https://idp.example",
    tokenEndpoint: "https://idp.example/token",
    clientId: "at-idp",
    clientSecret: "canary-idp-right",
    idToken: jwt({ iss: "https://idp.example", sub: "alice" })
  } as const
  const assertion = jwt({ iss: "https://ci", sub: "job" })
  const pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
  const cases: { readonly [what: string]: readonly [right: McpConfig.Auth | object, wrong: McpConfig.Auth | object] } =
    {
      "clientCredentials, another secret": [app, { ...app, clientSecret: "canary-wrong" }],
      "clientCredentials, a key that can't be used": [app, { type: app.type, clientId: app.clientId, privateKey: pem }],
      "jwtBearer, another secret": [
        { type: "jwtBearer", clientId: "app", clientSecret: "canary-right", assertion },
        { type: "jwtBearer", clientId: "app", clientSecret: "canary-wrong", assertion }
      ],
      "jwtBearer, no secret": [
        { type: "jwtBearer", clientId: "app", clientSecret: "canary-right", assertion },
        { type: "jwtBearer", clientId: "app", assertion }
      ],
      "enterprise, another secret": [
        { ...app, type: "enterprise", idp },
        { ...app, type: "enterprise", clientSecret: "canary-wrong", idp }
      ],
      "enterprise, another secret at the identity provider": [
        { ...app, type: "enterprise", idp },
        { ...app, type: "enterprise", idp: { ...idp, clientSecret: "canary-idp-wrong" } }
      ]
    }
  const withAuth = (value: McpConfig.Auth | object) => ({ auth: value }) as Partial<McpConfig.ServerConfigInput>
  /** Who shows something else gets nothing. */
  const picky = (world: World.World) => {
    world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_post"] }
    world.script = ({ headers, kind, params, url }) => {
      if (kind !== "token") return undefined
      const isRight = url.origin === World.issuer
        ? params.get("client_secret") === "canary-right"
        : headers.authorization === `Basic ${btoa("at-idp:canary-idp-right")}`
      return isRight ? undefined : { status: 401, body: { error: "invalid_client" } }
    }
  }

  for (const [what, [right, wrong]] of Object.entries(cases)) {
    it.scoped(`${what}: nothing is got, in memory nor from the store, and who is right loses nothing`, () =>
      Effect.gen(function*() {
        const world = World.make()
        const store = World.tokens()
        picky(world)
        yield* Effect.gen(function*() {
          const session = yield* open(withAuth(right))
          yield* call(session)
          const [tokens, asked] = [world.count("token"), world.asked.length]
          yield* Effect.flip(Effect.scoped(open(withAuth(wrong))))
          assert.deepStrictEqual(tokensSent(world, asked), [])
          const refused = world.count("token")
          yield* call(session)
          yield* Effect.flatMap(open(withAuth(right)), call)
          assert.strictEqual(world.count("token"), refused)
          assert.isAtLeast(refused, tokens)
        }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
        const [next, other] = [auth(world, store), auth(world, store)]
        const asked = world.asked.length
        yield* Effect.flip(Effect.scoped(Effect.provide(open(withAuth(wrong)), other)))
        assert.deepStrictEqual(tokensSent(world, asked), [])
        yield* Effect.scoped(Effect.provide(Effect.flatMap(open(withAuth(right)), call), next))
      }))
  }

  it.scoped("what is stored is used by the next process that shows the same, without another token request", () =>
    Effect.gen(function*() {
      for (const value of [app, { ...app, type: "enterprise", idp }, { type: "jwtBearer", clientId: "j", assertion }]) {
        const world = World.make()
        const store = World.tokens()
        const used = Effect.scoped(
          Effect.provide(Effect.suspend(() => Effect.flatMap(open(withAuth(value)), call)), auth(world, store))
        )
        yield* used
        const tokens = world.count("token")
        yield* used
        assert.strictEqual(world.count("token"), tokens)
        for (const secret of ["canary-right", "canary-idp-right", assertion, idp.idToken]) {
          const digest = createHash("sha256").update(secret)
          const texts = [
            secret,
            digest.copy().digest("hex"),
            digest.copy().digest("base64"),
            digest.digest("base64url")
          ]
          for (const text of texts) assert.notInclude([...store.entries].join(), text)
        }
      }
    }))

  it.scoped("a new secret is a new token request, at once; and the old one is of no use to it", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        yield* Effect.flatMap(open(withAuth(app)), call)
        yield* Effect.flatMap(open(withAuth({ ...app, clientSecret: "canary-next" })), call)
        assert.strictEqual(world.count("token"), 2)
        yield* Effect.flatMap(open(withAuth(app)), call)
        assert.strictEqual(world.count("token"), 2)
      })
    ))

  it.scoped("a token that another one has stored meanwhile takes none away", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      const [one, other] = [auth(world, store), auth(world, store)]
      yield* Effect.gen(function*() {
        const session = yield* open(withAuth(app))
        const next = withAuth({ ...app, clientSecret: "canary-next" })
        yield* Effect.scoped(Effect.provide(Effect.flatMap(open(next), call), other))
        const { status } = yield* McpAuth.McpAuth
        assert.strictEqual((yield* status(yield* decoded(withAuth(app))))._tag, "Authorized")
        yield* call(session)
        assert.strictEqual(world.count("token"), 2)
      }).pipe(Effect.provide(one), Effect.scoped)
    }))
})

describe("tokens are those of the issuer that the configuration names", () => {
  const elsewhere = "https://other.example"

  it.scoped("an application: another issuer has none, and its secret goes nowhere", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      const app = { type: "clientCredentials", clientId: "app", clientSecret: "canary-secret" } as const
      yield* Effect.gen(function*() {
        yield* Effect.flatMap(open({ auth: { ...app, issuer: World.issuer } }), call)
        const [tokens, asked] = [world.count("token"), world.asked.length]
        yield* Effect.flip(Effect.scoped(open({ auth: { ...app, issuer: elsewhere } })))
        assert.strictEqual(world.count("token"), tokens)
        assert.deepStrictEqual(tokensSent(world, asked), [])
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
      const asked = world.asked.length
      yield* Effect.flip(
        Effect.scoped(Effect.provide(open({ auth: { ...app, issuer: elsewhere } }), auth(world, store)))
      )
      assert.deepStrictEqual(tokensSent(world, asked), [])
    }))

  it.scoped("a person: the same, and who names none, or the right one, goes on", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const { status } = yield* McpAuth.McpAuth
        yield* login(world)
        const session = yield* open()
        const named = { auth: { type: "oauth", issuer: World.issuer } } as const
        const other = { auth: { type: "oauth", issuer: elsewhere } } as const
        yield* Effect.flatMap(open(named), call)
        const asked = world.asked.length
        yield* Effect.flip(Effect.scoped(open(other)))
        assert.deepStrictEqual(tokensSent(world, asked), [])
        assert.strictEqual((yield* status(yield* decoded(other)))._tag, "None")
        yield* call(session)
        yield* Effect.flatMap(open(named), call)
        assert.strictEqual(world.count("token"), 1)
      })
    ))
})
