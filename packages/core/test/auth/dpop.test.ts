import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpConnection, McpError, McpSession } from "@mcp-runtime/core"
import { Effect, Fiber, Logger, LogLevel, Redacted, TestClock } from "effect"
import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto"
import { inspect } from "node:util"
import * as Challenges from "../../src/internal/auth/challenge.js"
import * as Dpop from "../../src/internal/auth/dpop.js"
import { auth, decoded, inWorld, login, open, settle } from "./setup.js"
import * as World from "./world.js"

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

const dpopChallenge =
  `DPoP resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp", algs="ES256"`

const useNonce = (nonce: string): World.Reply => ({
  status: 401,
  headers: { "www-authenticate": `DPoP error="use_dpop_nonce"`, "dpop-nonce": nonce }
})

/** A world whose server wants tokens that are bound to a key. */
const bound = (world: World.World): void => {
  world.challenge = dpopChallenge
  world.tokenType = "DPoP"
}

/** As on a platform that has no such signatures. */
const withoutSignatures = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const value = () => Promise.reject(new Error("not supported"))
      Object.defineProperty(crypto.subtle, "sign", { value, configurable: true })
    }),
    () => effect,
    () => Effect.sync(() => Reflect.deleteProperty(crypto.subtle, "sign"))
  )

/** A session with a server that wants bound tokens, and somebody who has one. */
const loggedIn = (world: World.World) =>
  Effect.suspend(() => {
    bound(world)
    return Effect.zipRight(login(world), open())
  })

interface Proof {
  readonly header: { readonly typ: string; readonly alg: string; readonly jwk: JsonWebKey }
  readonly claims: { readonly [claim: string]: unknown }
}

/** Of a proof that is signed by its own key. */
const read = (jwt: string): Proof => {
  const part = (i: number) => JSON.parse(Buffer.from(jwt.split(".")[i]!, "base64url").toString("utf8"))
  const header: Proof["header"] = part(0)
  const key = createPublicKey({ key: header.jwk, format: "jwk" })
  const [head, body, signature] = jwt.split(".")
  assert.isTrue(
    verify(
      "sha256",
      Buffer.from(`${head}.${body}`),
      { key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature!, "base64url")
    )
  )
  return { header, claims: part(1) }
}

const proofOf = ({ headers }: World.Asked): Proof => read(headers.dpop!)

const keyOf = (asked: World.Asked): string | undefined => proofOf(asked).header.jwk.x

const hash = (text: string) => createHash("sha256").update(text).digest("base64url")

const methodOf = ({ body }: World.Asked): string | undefined =>
  body.startsWith("{") ? (JSON.parse(body) as { readonly method?: string }).method : undefined

const withToken = (world: World.World) =>
  world.asked.filter((_) => ["mcp", "GET", "DELETE"].includes(_.kind) && _.headers.authorization !== undefined)

/** Every request to the server has a proof for itself alone. */
const allProved = (world: World.World) => {
  const jtis = new Set<unknown>()
  for (const asked of withToken(world)) {
    const [scheme, token] = asked.headers.authorization!.split(" ")
    const { claims, header } = proofOf(asked)
    assert.strictEqual(scheme, "DPoP")
    assert.deepInclude(claims, {
      htm: asked.method,
      htu: `${asked.url.origin}${asked.url.pathname}`,
      ath: hash(token!)
    })
    assert.strictEqual(header.jwk.d, undefined)
    assert.isFalse(jtis.has(claims.jti))
    jtis.add(claims.jti)
  }
  return jtis.size
}

describe("proofs (RFC 9449, 4)", () => {
  it.effect("a proof is for one request: method, place without query and fragment, token, nonce; and never the same", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1_700_000_000_500)
      const key = yield* Dpop.generate
      const request = { method: "GET", url: "https://a.example:8443/b/c?d=e#f", token: "the-token", nonce: "n" }
      const { claims, header } = read(yield* Dpop.prove(key, request))
      assert.deepStrictEqual(header, {
        typ: "dpop+jwt",
        alg: "ES256",
        jwk: { kty: "EC", crv: "P-256", x: key.x, y: key.y }
      })
      const { jti, ...rest } = claims
      assert.isTrue(typeof jti === "string" && jti.length >= 43)
      assert.deepStrictEqual(rest, {
        htm: "GET",
        htu: "https://a.example:8443/b/c",
        iat: 1_700_000_000,
        ath: hash("the-token"),
        nonce: "n"
      })
      const others = yield* Effect.all(Array.from({ length: 50 }, () => Dpop.prove(key, request)))
      assert.strictEqual(new Set(others.map((_) => read(_).claims.jti)).size, 50)
      const alone = read(yield* Dpop.prove(key, { method: "POST", url: "https://a.example" })).claims
      assert.deepStrictEqual([alone.htu, "ath" in alone, "nonce" in alone], ["https://a.example/", false, false])
    }))

  it.effect("a key shows its private part to nobody who prints it", () =>
    Effect.gen(function*() {
      const key = yield* Dpop.generate
      const d = Redacted.value(key.d)
      for (const text of [JSON.stringify(key), inspect(key, { depth: 9, showHidden: true }), String(key)]) {
        assert.notInclude(text, d)
      }
      assert.isUndefined(Dpop.keyOf({ x: key.x, y: key.y, d: "no" }))
      assert.isUndefined(Dpop.keyOf({ x: key.x, y: key.y }))
      assert.isUndefined(Dpop.keyOf(null))
    }))

  it("a nonce is a bounded text of its alphabet, and each origin has its own", () => {
    const nonces = new Dpop.Nonces()
    for (const bad of [undefined, "", "a b", "a\"b", "a\\b", "é", "x".repeat(1025), "one, two"]) {
      assert.isUndefined(nonces.learn("https://a", bad), bad)
    }
    for (let i = 0; i < 100; i++) nonces.learn(`https://${i}`, `n${i}`)
    assert.isUndefined(nonces.of("https://0"))
    assert.strictEqual(nonces.of("https://99"), "n99")
  })

  it("what a server demands: of both schemes, and what it says of the proof is of its own", () => {
    const demand = (header: string, proves?: boolean) => Challenges.demand(Challenges.parse(header), proves)
    assert.isUndefined(demand("Basic realm=x"))
    assert.isUndefined(demand("DPoP algs=\"ES256\"", false))
    assert.deepInclude(demand("DPoP error=\"use_dpop_nonce\""), { bearer: false, dpop: true, proof: "nonce" })
    assert.deepInclude(demand("Bearer error=\"use_dpop_nonce\""), { bearer: true, dpop: false, proof: undefined })
    const both = demand("Bearer scope=\"a\", error=\"invalid_token\", DPoP error=\"invalid_dpop_proof\", scope=\"b\"")
    assert.deepInclude(both, { bearer: true, dpop: true, proof: "refused" })
    assert.strictEqual(both?.params.get("scope"), "a")
  })
})

describe("a server that wants tokens bound to a key", () => {
  it.scoped("token request, each POST, the standalone GET and DELETE: a proof of one key, each time another", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        bound(world)
        world.script = (asked) =>
          methodOf(asked) === "initialize" && asked.headers.authorization !== undefined
            ? {
              status: 200,
              headers: { "mcp-session-id": "s-1" },
              body: {
                jsonrpc: "2.0",
                id: JSON.parse(asked.body).id,
                result: {
                  protocolVersion: "2025-11-25",
                  capabilities: { tools: {} },
                  serverInfo: { name: "w", version: "1" }
                }
              }
            }
            : undefined
        yield* login(world)
        yield* Effect.scoped(Effect.flatMap(open(), (session) => Effect.zipRight(call(session), call(session))))
        assert.deepStrictEqual([...new Set(withToken(world).map((_) => _.method))], ["POST", "GET", "DELETE"])
        assert.isAtLeast(allProved(world), 6)
        const [token] = world.of("token")
        assert.deepInclude(proofOf(token!).claims, { htm: "POST", htu: `${World.issuer}/token` })
        assert.notProperty(proofOf(token!).claims, "ath")
        assert.strictEqual(new Set([token!, ...withToken(world)].map(keyOf)).size, 1)
        const status = yield* Effect.flatMap(McpAuth.McpAuth, (_) => Effect.flatMap(decoded(), _.status))
        assert.deepInclude(status, { _tag: "Authorized", bound: true })
      })
    ))

  it.scoped("a redirect within the origin has a proof for where it leads", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        world.script = (asked) =>
          asked.url.pathname === "/mcp" && methodOf(asked) === "tools/call"
            ? { status: 307, headers: { location: "/moved?to=here" } }
            : undefined
        yield* call(session)
        assert.strictEqual(proofOf(world.asked.at(-1)!).claims.htu, "https://mcp.example/moved")
        allProved(world)
      })
    ))

  it.scoped("a redirect that has another nonce than the refusal before it: the proof has the newer one", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        const before = world.asked.length
        world.script = (asked) => {
          if (methodOf(asked) !== "tools/call") return undefined
          const { nonce } = proofOf(asked).claims
          if (asked.url.pathname === "/moved") return nonce === "newer" ? undefined : useNonce("newer")
          return nonce === "older"
            ? { status: 307, headers: { location: "/moved", "dpop-nonce": "newer" } }
            : useNonce("older")
        }
        yield* call(session)
        const nonces = world.asked.slice(before).map((_) => proofOf(_).claims.nonce)
        assert.deepStrictEqual(nonces, [undefined, "older", "newer"])
        allProved(world)
      })
    ))

  it.scoped("without a proof nothing is sent: the error says why, and that another try is of no use", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        const before = world.asked.length
        const error = yield* withoutSignatures(Effect.flip(call(session)))
        assert.deepInclude(error, { _tag: "ConfigInvalid", operation: "configure", executed: "no" })
        assert.include(error.message, "Web Crypto with ES256")
        assert.isFalse(McpError.isTransient(error))
        for (const transport of ["http", "sse"] as const) {
          const connection = yield* McpConnection.make(yield* decoded({ transport }))
          const other = yield* withoutSignatures(Effect.flip(connection.awaitReady))
          assert.deepInclude(other, { _tag: "ConfigInvalid", operation: "open", executed: "no" })
        }
        const unsaid = session.notify("notifications/progress", { progressToken: 1, progress: 1 })
        const note = yield* withoutSignatures(Effect.flip(unsaid))
        assert.deepInclude(note, { _tag: "ConfigInvalid", operation: "configure", executed: "no" })
        assert.strictEqual(world.asked.length, before)
        yield* call(session)
      })
    ))

  const table: ReadonlyArray<{
    readonly title: string
    readonly challenge?: string
    readonly resource?: { readonly [field: string]: unknown }
    readonly proofs?: ReadonlyArray<string>
    readonly dpop?: boolean
    readonly gives: "DPoP" | "Bearer"
    readonly becomes: "DPoP" | "Bearer" | "refused"
    readonly proof: boolean
  }> = [
    { title: "the challenge is DPoP", challenge: "DPoP", gives: "DPoP", becomes: "DPoP", proof: true },
    {
      title: "the same, and the authorization server binds nothing",
      challenge: "DPoP",
      gives: "Bearer",
      becomes: "refused",
      proof: true
    },
    {
      title: "both, and the authorization server can",
      challenge: "Bearer, DPoP",
      proofs: ["RS256", "ES256"],
      gives: "DPoP",
      becomes: "DPoP",
      proof: true
    },
    {
      title: "both, it can, and does not",
      challenge: "Bearer, DPoP",
      proofs: ["ES256"],
      gives: "Bearer",
      becomes: "Bearer",
      proof: true
    },
    { title: "both, and it does not say", challenge: "Bearer, DPoP", gives: "Bearer", becomes: "Bearer", proof: false },
    {
      title: "Bearer, whatever the authorization server can",
      challenge: "Bearer",
      proofs: ["ES256"],
      gives: "Bearer",
      becomes: "Bearer",
      proof: false
    },
    { title: "Bearer, and DPoP comes unasked", challenge: "Bearer", gives: "DPoP", becomes: "refused", proof: false },
    {
      title: "Bearer, and the metadata wants them bound",
      challenge: "Bearer",
      resource: { dpop_bound_access_tokens_required: true },
      gives: "DPoP",
      becomes: "DPoP",
      proof: true
    },
    { title: "Bearer, and configured", challenge: "Bearer", dpop: true, gives: "DPoP", becomes: "DPoP", proof: true },
    {
      title: "configured, and the answer is Bearer: no downgrade",
      challenge: "Bearer",
      dpop: true,
      gives: "Bearer",
      becomes: "refused",
      proof: true
    },
    {
      title: "configured off",
      challenge: "Bearer, DPoP",
      proofs: ["ES256"],
      dpop: false,
      gives: "Bearer",
      becomes: "Bearer",
      proof: false
    },
    {
      title: "another algorithm alone",
      challenge: "DPoP",
      proofs: ["EdDSA"],
      gives: "DPoP",
      becomes: "refused",
      proof: false
    }
  ]
  for (const { becomes, challenge = "Bearer", dpop, gives, proof, proofs, resource, title } of table) {
    it.scoped(`${title}: ${becomes}`, () =>
      inWorld((world, store) =>
        Effect.gen(function*() {
          world.challenge = challenge
          world.tokenType = gives
          world.resource = { ...world.resource, ...resource }
          world.metadata = { ...world.metadata, ...(proofs && { dpop_signing_alg_values_supported: proofs }) }
          const input: Partial<McpConfig.ServerConfigInput> = dpop === undefined
            ? {}
            : { auth: { type: "oauth", dpop } }
          const outcome = yield* Effect.either(login(world, input))
          assert.deepStrictEqual(
            world.of("token").map((_) => _.headers.dpop !== undefined),
            world.of("token").map(() => proof)
          )
          if (becomes === "refused") {
            assert(outcome._tag === "Left")
            assert.strictEqual(outcome.left._tag, "Unauthorized")
            assert.include(outcome.left.message, "\"secured\"")
            assert.notInclude([...store.entries.values()].join(), "\"access\"")
            return
          }
          yield* Effect.flatMap(open(input), call)
          assert.strictEqual(withToken(world).at(-1)!.headers.authorization!.split(" ")[0], becomes)
          assert.strictEqual(withToken(world).at(-1)!.headers.dpop !== undefined, becomes === "DPoP")
        })
      ))
  }

  it.scoped("dpop: false, and the server takes nothing else: a plain Unauthorized, and no token is asked for", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        bound(world)
        const error = yield* Effect.flip(open({ auth: { type: "oauth", dpop: false } }))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.strictEqual(world.count("register") + world.count("token"), 0)
      })
    ))

  it.scoped("without DPoP no request has a proof", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        yield* login(world)
        yield* Effect.flatMap(open(), call)
        assert.isTrue(world.asked.every((_) => !("dpop" in _.headers)))
      })
    ))
})

describe("nonces (RFC 9449, 8 and 9)", () => {
  it.scoped("the authorization server's: asked again with it, a new proof; known from then on, also for a renewal", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        bound(world)
        world.script = (asked) => {
          if (asked.kind !== "token") return undefined
          return proofOf(asked).claims.nonce === "as-1"
            ? undefined
            : { status: 400, headers: { "dpop-nonce": "as-1" }, body: { error: "use_dpop_nonce" } }
        }
        yield* login(world)
        const [first, second] = world.of("token").map((_) => proofOf(_).claims)
        assert.deepStrictEqual([first!.nonce, second!.nonce], [undefined, "as-1"])
        assert.notStrictEqual(first!.jti, second!.jti)
        const session = yield* open()
        world.tokens.clear()
        yield* call(session)
        assert.strictEqual(world.count("token"), 3)
        assert.strictEqual(proofOf(world.of("token")[2]!).claims.nonce, "as-1")
        // What it wants is none of the server's business.
        for (const asked of withToken(world)) assert.notProperty(proofOf(asked).claims, "nonce")
      })
    ))

  for (
    const [title, nonce, most] of [
      ["another one each time", (i: number) => `as-${i}`, 3],
      ["always the same", () => "as", 2],
      ["garbage", () => "not a nonce", 1]
    ] as const
  ) {
    it.scoped(`an authorization server that is never content, with ${title}, is asked ${most} times`, () =>
      inWorld((world, store) =>
        Effect.gen(function*() {
          bound(world)
          world.script = (asked) =>
            asked.kind === "token"
              ? {
                status: 400,
                headers: { "dpop-nonce": nonce(world.count("token")) },
                body: { error: "use_dpop_nonce" }
              }
              : undefined
          const error = yield* Effect.flip(login(world))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "use_dpop_nonce")
          assert.strictEqual(world.count("token"), most)
          assert.notInclude([...store.entries.values()].join(), "\"access\"")
        })
      ))
  }

  it.scoped("the server's: sent again with it, and any answer may bring the next one", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        bound(world)
        yield* login(world)
        let wanted = "rs-0"
        world.script = (asked) => {
          if (asked.kind !== "mcp" || asked.headers.dpop === undefined) return undefined
          if (proofOf(asked).claims.nonce !== wanted) return useNonce(wanted)
          if (methodOf(asked) !== "tools/call") return undefined
          wanted = `rs-${Number(wanted.slice(3)) + 1}`
          const { id } = JSON.parse(asked.body)
          return {
            status: 200,
            headers: { "dpop-nonce": wanted },
            body: { jsonrpc: "2.0", id, result: { content: [] } }
          }
        }
        const session = yield* open()
        const before = world.count("mcp")
        for (let i = 0; i < 5; i++) yield* call(session)
        assert.strictEqual(world.count("mcp") - before, 5)
        assert.strictEqual(world.count("token"), 1)
        allProved(world)
      })
    ))

  it.scoped("nonces that are good for one use: each of 8 calls at once is sent again with its own", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        const valid = new Set<unknown>()
        let made = 0
        world.script = (asked) => {
          if (methodOf(asked) !== "tools/call") return undefined
          if (valid.delete(proofOf(asked).claims.nonce)) return undefined
          const nonce = `once-${++made}`
          valid.add(nonce)
          return useNonce(nonce)
        }
        yield* Effect.all(Array.from({ length: 8 }, () => call(session)), { concurrency: "unbounded" })
        assert.strictEqual(world.count("token"), 1)
        allProved(world)
      })
    ))

  for (
    const [title, nonce] of [["another one each time", (i: number) => `rs-${i}`], [
      "always the same",
      () => "rs"
    ]] as const
  ) {
    it.scoped(`a server that is never content, with ${title}: three tries, no new token, and it heals`, () =>
      inWorld((world) =>
        Effect.gen(function*() {
          const session = yield* loggedIn(world)
          const calls = () => world.of("mcp").filter((_) => methodOf(_) === "tools/call").length
          world.script = (asked) => methodOf(asked) === "tools/call" ? useNonce(nonce(calls())) : undefined
          const error = yield* Effect.flip(call(session))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "nonce")
          assert.strictEqual(calls(), 3)
          assert.strictEqual(world.count("token"), 1)
          world.script = () => undefined
          yield* call(session)
          assert.strictEqual(world.count("token"), 1)
        })
      ))
  }

  it.scoped("a token that has expired and a nonce in one call: renewed once, and sent until it is right", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        world.tokens.clear()
        world.script = (asked) =>
          methodOf(asked) === "tools/call" && proofOf(asked).claims.nonce !== "rs"
            ? useNonce("rs")
            : undefined
        yield* call(session)
        assert.strictEqual(world.count("token"), 2)
        assert.strictEqual(world.of("mcp").filter((_) => methodOf(_) === "tools/call").length, 3)
        allProved(world)
      })
    ))

  it.scoped("a 403 that looks as if it was about the proof, with other scopes each time: the request is sent again once", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        bound(world)
        const application = { type: "clientCredentials", clientId: "app", clientSecret: "canary-app-secret" } as const
        const session = yield* open({ auth: application })
        const calls = () => world.of("mcp").filter((_) => methodOf(_) === "tools/call").length
        const refusal = (): World.Reply => {
          const challenge = `DPoP error="insufficient_scope", scope="s${calls()}", x="_dpop_"`
          return { status: 403, headers: { "www-authenticate": challenge, "dpop-nonce": `rs-${calls()}` } }
        }
        // A client that goes on is let off, or this would have no end.
        world.script = (asked) => methodOf(asked) === "tools/call" && calls() < 20 ? refusal() : undefined
        const outcome = yield* Effect.either(call(session))
        assert.strictEqual(calls(), 2)
        assert(outcome._tag === "Left")
        assert.strictEqual(outcome.left._tag, "Forbidden")
        allProved(world)
      })
    ))

  it.scoped("a proof that the server does not believe is an error, and no reason for a new token", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        world.script = (asked) =>
          methodOf(asked) === "tools/call"
            ? { status: 401, headers: { "www-authenticate": "DPoP error=\"invalid_dpop_proof\"" } }
            : undefined
        for (let i = 0; i < 3; i++) {
          const error = yield* Effect.flip(call(session))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "clock")
        }
        assert.strictEqual(world.count("token"), 1)
        world.script = () => undefined
        yield* call(session)
        assert.strictEqual(world.count("token"), 1)
      })
    ))
})

describe("the key goes with the tokens", () => {
  it.scoped("a renewal is by the same key, which others who share the store have too; forgetting forgets it", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        bound(world)
        yield* login(world)
        yield* Effect.scoped(Effect.flatMap(open(), call))
        world.tokens.clear()
        yield* Effect.scoped(Effect.flatMap(open(), call))
        const keys = () => new Set([...world.of("token"), ...withToken(world)].map(keyOf))
        assert.strictEqual(world.count("token"), 2)
        assert.strictEqual(keys().size, 1)
        // Another process.
        yield* Effect.scoped(Effect.provide(Effect.flatMap(open(), call), auth(world, store)))
        world.tokens.clear()
        yield* Effect.scoped(Effect.provide(Effect.flatMap(open(), call), auth(world, store)))
        assert.strictEqual(world.count("token"), 3)
        assert.strictEqual(keys().size, 1)
        const service = yield* McpAuth.McpAuth
        yield* service.forget(yield* decoded())
        assert.strictEqual(store.entries.size, 0)
        yield* login(world)
        assert.strictEqual(keys().size, 2)
      })
    ))

  it.scoped("bearer tokens that are stored are not sent once tokens have to be bound; they are renewed with a proof", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        yield* login(world)
        yield* Effect.scoped(Effect.flatMap(open(), call))
        const before = world.asked.length
        world.tokenType = "DPoP"
        yield* Effect.flatMap(open({ auth: { type: "oauth", dpop: true } }), call)
        assert.strictEqual(world.of("token").at(-1)!.params.get("grant_type"), "refresh_token")
        assert.isTrue(world.asked.slice(before).every((_) => !_.headers.authorization?.startsWith("Bearer")))
        allProved({ ...world, asked: world.asked.slice(before) })
      })
    ))

  it.scoped("a renewal that would give a token without a key is refused, and what is kept stays", () =>
    inWorld((world, store) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        world.tokens.clear()
        world.tokenType = "Bearer"
        const error = yield* Effect.flip(call(session))
        assert.strictEqual(error._tag, "Unauthorized")
        assert.include(error.message, "bound to a key")
        assert.include([...store.entries.values()].join(), "\"key\"")
        assert.isTrue(withToken(world).every((_) => _.headers.authorization!.startsWith("DPoP ")))
      })
    ))

  it.scoped("neither the key nor a proof's token is in an error, a log or a status", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ annotations, cause, message }) => {
      lines.push(inspect([message, cause, [...annotations]], { depth: 9 }))
    })
    return inWorld((world, store) =>
      Effect.gen(function*() {
        bound(world)
        yield* Effect.logTrace("a line that is there")
        yield* login(world)
        const kept = JSON.parse([...store.entries.values()][0]!)
        const d: string = kept.tokens.key.d
        assert.match(d, /^[\w-]{43}$/)
        const session = yield* open()
        const echo = () => ({ status: 400, body: { error: `you said ${d} and ${kept.tokens.access}` } })
        world.script = (asked) => asked.kind === "mcp" ? echo() : undefined
        const errors = [yield* Effect.flip(call(session)), yield* Effect.flip(open())]
        world.tokens.clear()
        world.script = (asked) => asked.kind === "token" ? echo() : undefined
        errors.push(yield* Effect.flip(call(session)))
        const status = yield* Effect.flatMap(McpAuth.McpAuth, (_) => Effect.flatMap(decoded(), _.status))
        assert.include(lines[0], "a line that is there")
        for (const one of [...errors, status, ...errors.map((_) => _.message), ...lines]) {
          const text = inspect(one, { depth: 9 })
          assert.notInclude(text, d)
          assert.notInclude(text, kept.tokens.access)
        }
      })
    ).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      Logger.withMinimumLogLevel(LogLevel.All)
    )
  })

  it.scoped("a call that is given up while its proof is made is not sent, at whichever moment", () =>
    inWorld((world) =>
      Effect.gen(function*() {
        const session = yield* loggedIn(world)
        yield* call(session)
        const calls = () => world.of("mcp").filter((_) => methodOf(_) === "tools/call").length
        for (let turns = 0; turns < 12; turns++) {
          const before = calls()
          const fiber = yield* Effect.fork(call(session))
          yield* Effect.repeatN(Effect.yieldNow(), turns)
          yield* Fiber.interrupt(fiber)
          const sent = calls()
          yield* settle
          assert.strictEqual(calls(), sent)
          assert.isAtMost(sent - before, 1)
        }
        assert.strictEqual(world.open(), 0)
        yield* call(session)
        allProved(world)
      })
    ))
})
