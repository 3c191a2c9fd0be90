import { assert, describe, it } from "@effect/vitest"
import { AuthFixture, HttpFixture } from "@mcp-runtime/testing"
import { auth, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, Exit } from "effect"
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto"

const redirectUri = "http://127.0.0.1:1/callback"

/** A provider of the SDK that keeps everything in memory, and opens the fixture's browser. */
const makeProvider = (
  server: AuthFixture.AuthFixture,
  extra: Partial<OAuthClientProvider> = {},
  scope?: string
): OAuthClientProvider & { readonly callbacks: Array<URL>; readonly kept: Record<string, never> } => {
  const kept: Record<string, never> = {}
  const callbacks: Array<URL> = []
  return {
    kept,
    callbacks,
    redirectUrl: redirectUri,
    clientMetadata: { redirect_uris: [redirectUri], client_name: "test", ...(scope !== undefined && { scope }) },
    state: () => "the-state",
    clientInformation: () => kept.client,
    saveClientInformation: (_) => void (kept.client = _ as never),
    tokens: () => kept.tokens,
    saveTokens: (_) => void (kept.tokens = _ as never),
    saveCodeVerifier: (_) => void (kept.verifier = _ as never),
    codeVerifier: () => kept.verifier as unknown as string,
    redirectToAuthorization: async (url) => {
      callbacks.push(new URL(await Effect.runPromise(server.browser(url))))
    },
    ...extra
  }
}

type Provider = ReturnType<typeof makeProvider>

const authorize = (server: AuthFixture.AuthFixture, provider: Provider) =>
  Effect.gen(function*() {
    const first = yield* Effect.tryPromise(() => auth(provider, { serverUrl: server.url }))
    if (first === "AUTHORIZED") return
    const callback = provider.callbacks.at(-1)!
    yield* Effect.tryPromise(() =>
      auth(provider, {
        serverUrl: server.url,
        authorizationCode: callback.searchParams.get("code")!,
        iss: callback.searchParams.get("iss") ?? undefined
      } as never)
    )
  })

const tokensOf = (provider: Provider): { readonly access_token: string; readonly refresh_token?: string } =>
  provider.kept.tokens as never

const kinds = (server: AuthFixture.AuthFixture) =>
  server.requests.filter((_) => _.kind !== "mcp" && _.outcome === "ok").map((_) => _.kind)

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  Effect.promise((signal) => fetch(url, { method: "POST", body, headers, redirect: "manual", signal }))

const form = (url: string, parameters: Record<string, string>, headers: Record<string, string> = {}) =>
  post(url, new URLSearchParams(parameters).toString(), {
    "content-type": "application/x-www-form-urlencoded",
    ...headers
  })

const ping = (server: AuthFixture.AuthFixture, token?: string) =>
  post(server.url, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }), {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` })
  })

const json = (response: Response) => Effect.promise(() => response.json() as Promise<Record<string, string>>)

describe("AuthFixture", () => {
  it.scopedLive("the SDK's client registers, is authorized, calls a tool and refreshes", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make()
      const provider = makeProvider(server)
      yield* authorize(server, provider)
      assert.deepStrictEqual(kinds(server), [
        "resourceMetadata",
        "serverMetadata",
        "register",
        "authorize",
        ...["resourceMetadata", "serverMetadata", "token"] as const
      ])
      for (const kind of ["register", "authorize", "token"] as const) {
        assert.deepStrictEqual(server.requests.find((_) => _.kind === kind)!.missing, [], kind)
      }
      const authorization = server.requests.find((_) => _.kind === "authorize")!
      assert.strictEqual(authorization.parameters.get("resource"), server.url)
      const callback = provider.callbacks[0]!
      assert.deepStrictEqual([callback.searchParams.get("state"), callback.searchParams.get("iss")], [
        "the-state",
        server.issuer
      ])

      const client = new Client({ name: "test", version: "1.0.0" })
      const transport = new StreamableHTTPClientTransport(new URL(server.url), { authProvider: provider })
      yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
      yield* Effect.promise(() => client.connect(transport as never))
      yield* Effect.promise(() => client.callTool({ name: "echo", arguments: { text: "hi" } }))
      assert.strictEqual(server.resource.executions("echo"), 1)

      const before = tokensOf(provider)
      yield* server.expireTokens
      yield* Effect.promise(() => client.callTool({ name: "echo", arguments: { text: "again" } }))
      assert.strictEqual(server.grants("refresh_token"), 1)
      assert.notStrictEqual(tokensOf(provider).refresh_token, before.refresh_token)
      assert.strictEqual(server.reuses(), 0)
      for (const secret of [before.access_token, before.refresh_token!, callback.searchParams.get("code")!]) {
        assert.isTrue(server.secrets.has(secret))
      }
      assert.isTrue(server.secrets.has(provider.kept.verifier as never))
    }))

  const places: ReadonlyArray<readonly [string, AuthFixture.Script]> = [
    ["the path of the resource", {}],
    ["the path of the resource, unannounced, OpenID metadata", { announced: false, serverMetadata: ["openid"] }],
    ["the root, with an issuer that has a path", {
      resourceMetadata: "root",
      announced: false,
      issuerPath: "/tenant1"
    }],
    ["the appended OpenID metadata", { issuerPath: "/tenant1", serverMetadata: ["appended"] }],
    ["2025-03-26: metadata at the origin of the server", {
      resourceMetadata: "none",
      together: true,
      endpointPath: "/oauth"
    }],
    ["2025-03-26: no metadata at all", { resourceMetadata: "none", together: true, serverMetadata: [] }]
  ]
  for (const [title, script] of places) {
    it.scopedLive(`the SDK's client finds its way: ${title}`, () =>
      Effect.gen(function*() {
        const server = yield* AuthFixture.make(script)
        const provider = makeProvider(server)
        yield* authorize(server, provider)
        const { access_token } = tokensOf(provider)
        assert.strictEqual((yield* ping(server, access_token)).status, 200)
        assert.strictEqual(server.count("register"), 1)
        assert.strictEqual(server.count("authorize", (_) => _.outcome === "ok"), 1)
        assert.deepStrictEqual(server.requests.flatMap((_) => _.missing), [])
      }))
  }

  it.scopedLive("metadata may be anywhere the challenge says", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({ resourceMetadata: "/custom/where.json", challengeScope: "mcp:basic" })
      const refused = yield* ping(server)
      assert.strictEqual(
        refused.headers.get("www-authenticate"),
        `Bearer scope="mcp:basic", resource_metadata="${server.resource.origin}/custom/where.json"`
      )
      const provider = makeProvider(server)
      yield* Effect.promise(() =>
        auth(provider, {
          serverUrl: server.url,
          scope: "mcp:basic",
          resourceMetadataUrl: new URL(`${server.resource.origin}/custom/where.json`)
        })
      )
      assert.strictEqual(server.requests.find((_) => _.kind === "authorize")?.parameters.get("scope"), "mcp:basic")
      assert.strictEqual(server.count("resourceMetadata"), 1)
    }))

  it.scopedLive("a refresh token that comes back after it was replaced ends its family", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({ clients: [{ id: "known" }] })
      const first = yield* server.issue()
      const refresh = (token: string) =>
        form(`${server.issuer}/token`, { grant_type: "refresh_token", refresh_token: token, client_id: "known" })
      const second = yield* json(yield* refresh(first.refreshToken!))
      assert.strictEqual((yield* ping(server, second.access_token)).status, 200)
      const third = yield* refresh(first.refreshToken!)
      assert.strictEqual((yield* json(third)).error, "invalid_grant")
      assert.strictEqual(server.reuses(), 1)
      assert.strictEqual((yield* ping(server, second.access_token)).status, 401)
      assert.strictEqual((yield* json(yield* refresh(second.refresh_token!))).error, "invalid_grant")
    }))

  it.scopedLive("refresh tokens stay, are not given, or are revoked, as the script says", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({ clients: [{ id: "known" }], refresh: "keep" })
      const { refreshToken } = yield* server.issue()
      const refresh = form(`${server.issuer}/token`, {
        grant_type: "refresh_token",
        refresh_token: refreshToken!,
        client_id: "known"
      })
      assert.isUndefined((yield* json(yield* refresh)).refresh_token)
      assert.strictEqual((yield* refresh).status, 200)
      yield* server.revokeRefreshTokens
      assert.strictEqual((yield* json(yield* refresh)).error, "invalid_grant")
      yield* server.change({ refresh: "none" })
      assert.isUndefined((yield* server.issue()).refreshToken)
    }))

  it.scopedLive("a code is good for one use, one client, one redirect URI and its verifier", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({ clients: [{ id: "known" }, { id: "other" }] })
      const verifier = "v".repeat(43)
      const code = Effect.gen(function*() {
        const url = new URL(`${server.issuer}/authorize`)
        const challenge = createHash("sha256").update(verifier).digest("base64url")
        for (
          const [name, value] of Object.entries({
            response_type: "code",
            client_id: "known",
            redirect_uri: redirectUri,
            code_challenge: challenge,
            code_challenge_method: "S256",
            state: "s"
          })
        ) url.searchParams.set(name, value)
        return new URL(yield* server.browser(url)).searchParams.get("code")!
      })
      const exchange = (parameters: Record<string, string>) =>
        Effect.flatMap(
          form(`${server.issuer}/token`, {
            grant_type: "authorization_code",
            client_id: "known",
            redirect_uri: redirectUri,
            code_verifier: verifier,
            ...parameters
          }),
          json
        )
      const good = yield* code
      assert.isDefined((yield* exchange({ code: good })).access_token)
      assert.strictEqual((yield* exchange({ code: good })).error, "invalid_grant")
      const wrong: ReadonlyArray<Record<string, string>> = [
        { client_id: "other" },
        { redirect_uri: "http://127.0.0.1:2/callback" },
        { code_verifier: "w".repeat(43) }
      ]
      for (const parameters of wrong) {
        assert.strictEqual((yield* exchange({ code: yield* code, ...parameters })).error, "invalid_grant")
      }
      assert.strictEqual((yield* exchange({ code: yield* code, client_id: "nobody" })).error, "invalid_client")
      assert.strictEqual((yield* exchange({ code: yield* code, resource: "http://a/b" })).error, "invalid_target")
      const last = server.requests.at(-1)!
      assert.deepStrictEqual([last.client, last.clientMethod, last.outcome], ["known", "none", "invalid_target"])
      assert.deepStrictEqual(server.requests.at(-3)!.missing, ["resource"])
    }))

  it.scopedLive("clients authenticate by what the script allows", () =>
    Effect.gen(function*() {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const server = yield* AuthFixture.make({
        clients: [{
          id: "machine",
          secret: "se cret",
          publicKey: publicKey.export({ type: "spki", format: "pem" }).toString()
        }]
      })
      const token = `${server.issuer}/token`
      const grant = { grant_type: "client_credentials", scope: "a" }
      const basic = (secret: string) => ({
        authorization: `Basic ${Buffer.from(`machine:${encodeURIComponent(secret)}`).toString("base64")}`
      })
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
      const assertion = (claims: object) => {
        const text = `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}`
        const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" })
        return {
          client_assertion: `${text}.${signature.toString("base64url")}`,
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        }
      }
      const claims = { iss: "machine", sub: "machine", aud: server.issuer, exp: 4e9, jti: randomUUID() }
      assert.strictEqual((yield* json(yield* form(token, grant, basic("se cret")))).scope, "a")
      assert.strictEqual((yield* form(token, grant, basic("wrong"))).status, 401)
      assert.strictEqual((yield* form(token, { ...grant, client_id: "machine" })).status, 400)
      assert.strictEqual((yield* form(token, { ...grant, ...assertion(claims) })).status, 401)
      yield* server.change({ clientMethods: ["private_key_jwt"] })
      assert.strictEqual((yield* form(token, { ...grant, ...assertion(claims) })).status, 200)
      for (const changed of [{}, { aud: "x", jti: "1" }, { exp: 1, jti: "2" }, { sub: "y", jti: "3" }]) {
        assert.strictEqual((yield* form(token, { ...grant, ...assertion({ ...claims, ...changed }) })).status, 401)
      }
      assert.strictEqual((yield* form(token, grant, basic("se cret"))).status, 401)
      assert.deepStrictEqual(
        [...new Set(server.requests.filter((_) => _.kind === "token").map((_) => _.clientMethod))],
        ["client_secret_basic", "none", "private_key_jwt"]
      )
    }))

  it.scopedLive("protects what the script says: some requests, all, by scope, with any answer", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({
        protect: (_) => _.method === "GET" ? "reject" : _.rpc === "initialize" ? "open" : "token",
        requiredScope: (_) => _.rpc === "tools/call" ? "mcp:write mcp:read" : undefined
      })
      const { accessToken } = yield* server.issue({ scope: "mcp:read" })
      const headers = { authorization: `Bearer ${accessToken}`, "mcp-session-id": "session-1" }
      assert.strictEqual((yield* ping(server)).status, 200)
      const get = yield* Effect.promise((signal) => fetch(server.url, { headers, signal }))
      assert.strictEqual(get.status, 401)
      assert.include(get.headers.get("www-authenticate"), "error=\"invalid_token\"")
      const call = (token: string) =>
        post(server.url, JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo" } }), {
          ...headers,
          authorization: `Bearer ${token}`
        })
      const forbidden = yield* call(accessToken)
      assert.strictEqual(forbidden.status, 403)
      assert.include(
        forbidden.headers.get("www-authenticate"),
        "error=\"insufficient_scope\", scope=\"mcp:write mcp:read\""
      )
      const both = yield* server.issue({ scope: "mcp:read mcp:write" })
      assert.strictEqual((yield* call(both.accessToken)).status, 200)
      yield* server.change({ protect: () => "forbid" })
      assert.strictEqual((yield* call(both.accessToken)).status, 403)
      yield* server.change({ protect: () => HttpFixture.respond({ status: 503 }) })
      assert.strictEqual((yield* call(both.accessToken)).status, 503)
      yield* server.change({ protect: () => "reject", challenge: null })
      assert.isNull((yield* call(both.accessToken)).headers.get("www-authenticate"))
      assert.deepStrictEqual(server.requests.map((_) => _.outcome), [
        "ok",
        "unauthorized",
        "insufficient_scope",
        "ok",
        "insufficient_scope",
        "scripted",
        "unauthorized"
      ])
    }))

  it.scopedLive("metadata lies where the script says so", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({
        issuer: "https://attacker.example.com",
        resource: "https://evil.example.com/mcp",
        resourceScopes: ["a", "b"],
        serverScopes: ["offline_access"],
        issAdvertised: false,
        registration: false,
        clientDocuments: true,
        serverFields: { token_endpoint: undefined },
        resourceFields: { authorization_servers: [] }
      })
      const read = (url: string) => Effect.flatMap(AuthFixture.open(url), (_) => Effect.try(() => JSON.parse(_.body)))
      const resource = yield* read(`${server.resource.origin}/.well-known/oauth-protected-resource/mcp`)
      assert.deepStrictEqual(
        [resource.resource, resource.scopes_supported, resource.authorization_servers],
        ["https://evil.example.com/mcp", ["a", "b"], []]
      )
      const metadata = yield* read(`${server.issuer}/.well-known/oauth-authorization-server`)
      assert.strictEqual(metadata.issuer, "https://attacker.example.com")
      assert.strictEqual(metadata.client_id_metadata_document_supported, true)
      for (
        const field of [
          "token_endpoint",
          "registration_endpoint",
          "authorization_response_iss_parameter_supported"
        ]
      ) {
        assert.isFalse(Object.hasOwn(metadata, field), field)
      }
      assert.strictEqual((yield* post(`${server.issuer}/register`, "{}")).status, 404)
    }))

  it.scopedLive("an authorization fails as the script says, and never goes to an address that was not registered", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({ authorization: "access_denied", iss: null })
      const provider = makeProvider(server)
      yield* Effect.promise(() => auth(provider, { serverUrl: server.url }))
      assert.deepStrictEqual([...provider.callbacks[0]!.searchParams], [["error", "access_denied"], [
        "state",
        "the-state"
      ]])
      const id = server.requests.find((_) => _.kind === "authorize")!.client!
      const elsewhere = `${server.issuer}/authorize?response_type=code&client_id=${id}&redirect_uri=http://evil/`
      assert.strictEqual((yield* AuthFixture.open(elsewhere)).status, 400)
      const failed = yield* Effect.flip(server.browser(elsewhere))
      assert.include(failed.message, "400 not the registered redirect_uri")
      yield* server.forgetClients
      assert.strictEqual((yield* AuthFixture.open(elsewhere)).body, "no such client")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(server.visit("file:///etc/passwd"))))
    }))

  it.scopedLive("an override decides about any request: hangs, lies, floods, sends elsewhere", () =>
    Effect.gen(function*() {
      const server = yield* AuthFixture.make({
        override: (_) => {
          switch (_.parameters.get("grant_type")) {
            case "garbage":
              return AuthFixture.garbage
            case "huge":
              return AuthFixture.huge(100_000)
            case "elsewhere":
              return AuthFixture.redirect("http://127.0.0.1:1/token")
            case "error":
              return AuthFixture.oauthError("invalid_scope", { status: 418, description: "no" })
            case "hang":
              return HttpFixture.hang
            case "stalled":
              return AuthFixture.stalled
            default:
              return undefined
          }
        }
      })
      const token = (grant: string) => form(`${server.issuer}/token`, { grant_type: grant, client_secret: "canary" })
      assert.isTrue(
        Exit.isFailure(
          yield* Effect.exit(Effect.tryPromise(() => Effect.runPromise(token("garbage")).then((_) => _.json())))
        )
      )
      const elsewhere = yield* token("elsewhere")
      assert.deepStrictEqual([elsewhere.status, elsewhere.headers.get("location")], [307, "http://127.0.0.1:1/token"])
      const error = yield* token("error")
      assert.deepStrictEqual([error.status, yield* json(error)], [418, {
        error: "invalid_scope",
        error_description: "no"
      }])
      yield* token("stalled")
      const huge = yield* token("huge")
      const reader = huge.body!.getReader()
      let bytes = 0
      while (bytes < 100_000) bytes += (yield* Effect.promise(() => reader.read())).value?.byteLength ?? 0
      const hanging = yield* Effect.fork(token("hang"))
      yield* server.awaitRequests((_) => _.some((_) => _.parameters.get("grant_type") === "hang"))
      assert.isNull(hanging.unsafePoll())
      assert.strictEqual(server.count("token", (_) => _.outcome === undefined), 6)
      assert.isTrue(server.secrets.has("canary"))
    }))
})
