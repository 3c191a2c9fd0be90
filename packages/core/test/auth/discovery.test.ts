import { assert, describe, it } from "@effect/vitest"
import type { McpConfig, McpError } from "@mcp-runtime/core"
import { McpAuth } from "@mcp-runtime/core"
import { Effect } from "effect"
import { auth, decoded } from "./setup.js"
import * as World from "./world.js"

const resourceAt = (path: string) => `https://mcp.example/.well-known/oauth-protected-resource${path}`

/** Authorizes once in this world. */
const authorized = (
  change: (world: World.World) => void,
  input: Partial<McpConfig.ServerConfigInput> = {},
  back?: (params: URLSearchParams) => void
) => {
  const world = World.make()
  change(world)
  const program = Effect.gen(function*() {
    const service = yield* McpAuth.McpAuth
    const config = yield* decoded(input)
    const request = yield* service.begin(config)
    yield* service.finish(config, world.visit(request.url, back))
    return { service, config }
  }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped, Effect.either)
  return Effect.map(program, (outcome) => ({ world, outcome }))
}

const urls = (world: World.World, kind: string) => world.of(kind).map((_) => _.url.href)

const refusedWith = (outcome: { readonly _tag: string; readonly left?: McpError.McpError }, text: string) => {
  assert.strictEqual(outcome._tag, "Left")
  assert.include(outcome.left!.message, text)
  assert.strictEqual(outcome.left!.executed, "no")
}

const elsewhere = (world: World.World, places: { readonly [url: string]: unknown }) => {
  world.script = ({ url }) =>
    Object.hasOwn(places, url.href)
      ? { status: 200, body: places[url.href] }
      : url.pathname.includes(".well-known")
      ? { status: 404 }
      : undefined
}

describe("conformance 2.3: where it is looked for", () => {
  it.effect("metadata-default: named in the header; the root is not asked", () =>
    Effect.gen(function*() {
      const { outcome, world } = yield* authorized(() => {})
      assert.strictEqual(outcome._tag, "Right")
      assert.deepStrictEqual(urls(world, "resource"), [resourceAt("/mcp")])
      assert.deepStrictEqual(urls(world, "metadata"), [`${World.issuer}/.well-known/oauth-authorization-server`])
      for (const kind of ["register", "authorize", "token"]) assert.strictEqual(world.count(kind), 1)
      const [authorize] = world.of("authorize")
      const [token] = world.of("token")
      assert.strictEqual(authorize!.params.get("resource"), World.mcp)
      assert.strictEqual(token!.params.get("resource"), World.mcp)
      const registration = JSON.parse(world.of("register")[0]!.body)
      assert.strictEqual(registration.application_type, "native")
      assert.deepStrictEqual(registration.grant_types, ["authorization_code", "refresh_token"])
      assert.strictEqual(registration.token_endpoint_auth_method, "none")
      assert.strictEqual(authorize!.params.has("scope"), false)
    }))

  it.effect("metadata-var1: not in the header; OpenID metadata only", () =>
    Effect.gen(function*() {
      const { outcome, world } = yield* authorized((world) => {
        world.challenge = "Bearer"
        elsewhere(world, {
          [resourceAt("/mcp")]: world.resource,
          [`${World.issuer}/.well-known/openid-configuration`]: world.metadata
        })
      })
      assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
      assert.strictEqual(world.count("resource"), 1)
    }))

  for (
    const [name, place] of [
      ["metadata-var2", `${World.issuer}/.well-known/oauth-authorization-server/tenant1`],
      ["metadata-var3", `${World.issuer}/tenant1/.well-known/openid-configuration`],
      ["OpenID, path inserted", `${World.issuer}/.well-known/openid-configuration/tenant1`]
    ] as const
  ) {
    it.effect(`${name}: resource at the root, sent as written; an issuer with a path`, () =>
      Effect.gen(function*() {
        const { outcome, world } = yield* authorized(
          (world) => {
            world.challenge = "Bearer"
            elsewhere(world, {
              [resourceAt("")]: {
                resource: "https://mcp.example",
                authorization_servers: [`${World.issuer}/tenant1`]
              },
              [place]: { ...world.metadata, issuer: `${World.issuer}/tenant1` }
            })
          },
          {},
          (params) => params.set("iss", `${World.issuer}/tenant1`)
        )
        assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
        assert.strictEqual(world.of("token")[0]!.params.get("resource"), "https://mcp.example")
        assert.strictEqual(world.of("authorize")[0]!.params.get("resource"), "https://mcp.example")
        assert.notInclude(urls(world, "metadata"), `${World.issuer}/.well-known/oauth-authorization-server`)
      }))
  }

  it.effect("2025-03-26-oauth-metadata-backcompat: no resource metadata; metadata at the server's own root", () =>
    Effect.gen(function*() {
      const { outcome, world } = yield* authorized(
        (world) => {
          world.challenge = "Bearer"
          const origin = "https://mcp.example"
          elsewhere(world, {
            [`${origin}/.well-known/oauth-authorization-server`]: {
              issuer: origin,
              authorization_endpoint: `${origin}/oauth/authorize`,
              token_endpoint: `${origin}/oauth/token`,
              registration_endpoint: `${origin}/oauth/register`
            }
          })
        },
        {},
        (params) => params.set("iss", "https://mcp.example")
      )
      assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
      assert.deepStrictEqual(urls(world, "token"), ["https://mcp.example/oauth/token"])
      assert.isFalse(world.of("token")[0]!.params.has("resource"))
    }))

  it.effect("2025-03-26-oauth-endpoint-fallback: no metadata at all", () =>
    Effect.gen(function*() {
      const { outcome, world } = yield* authorized(
        (world) => {
          world.challenge = "Bearer"
          elsewhere(world, {})
        },
        {},
        (params) => params.delete("iss")
      )
      assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
      assert.deepStrictEqual(urls(world, "register"), ["https://mcp.example/register"])
      assert.deepStrictEqual(urls(world, "token"), ["https://mcp.example/token"])
      assert.strictEqual(world.of("authorize")[0]!.url.pathname, "/authorize")
    }))

  it.effect("pages that answer 200 with HTML are no metadata", () =>
    Effect.gen(function*() {
      const { outcome } = yield* authorized((world) => {
        world.challenge = `Bearer resource_metadata="https://mcp.example/app"`
        world.script = ({ kind, url }) =>
          url.pathname === "/app"
            ? { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }
            : kind === "resource" && url.pathname.endsWith("resource")
            ? { status: 200, body: "<html>" }
            : undefined
      })
      assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
    }))

  it.effect("resource-mismatch: nobody is asked", () =>
    Effect.gen(function*() {
      const { outcome, world } = yield* authorized((world) => {
        world.resource = { ...world.resource, resource: "https://evil.example.com/mcp" }
      })
      refusedWith(outcome, "another resource, https://evil.example.com/mcp")
      assert.strictEqual(world.count("metadata") + world.count("register"), 0)
    }))

  describe("one origin for several servers", () => {
    const victim = "https://mcp.example/victim/mcp"
    const evil = "https://mcp.example/evil/mcp"
    /** What a server that can answer only below its own path says of itself. */
    const hostile = (url: string, resource: string, well: { readonly [url: string]: unknown } = {}) =>
      authorized(
        (world) => {
          world.challenge = `Bearer resource_metadata="https://mcp.example/evil/doc"`
          elsewhere(world, {
            ...well,
            "https://mcp.example/evil/doc": { resource, authorization_servers: [World.issuer] },
            [`${World.issuer}/.well-known/oauth-authorization-server`]: world.metadata
          })
        },
        { url }
      )
    const resourcesAsked = (world: World.World) =>
      [...world.of("authorize"), ...world.of("token")].map((_) => _.params.get("resource"))

    it.effect("a place that the 401 names is believed about the server itself alone", () =>
      Effect.gen(function*() {
        const rows = [
          [evil, "https://mcp.example/"],
          [evil, "https://mcp.example/evil"],
          [evil, victim],
          [evil, "https://mcp.example/victim/mcp/../.."],
          [evil, "https://mcp.example/evil/mcp/../../victim/.."],
          [`${evil}?tenant=evil`, `${evil}?tenant=victim`],
          [`${evil}?tenant=evil`, evil],
          [evil, `${evil}?tenant=victim`]
        ] as const
        for (const [url, resource] of rows) {
          const { outcome, world } = yield* hostile(url, resource)
          refusedWith(outcome, "its metadata is about another resource")
          assert.deepStrictEqual(resourcesAsked(world), [], resource)
        }
        for (const url of [evil, `${evil}?tenant=evil`]) {
          const { outcome, world } = yield* hostile(url, url)
          assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
          assert.deepStrictEqual(resourcesAsked(world), [url, url])
        }
      }))

    it.effect("a wider resource counts where its own well-known place says so, and as that place says", () =>
      Effect.gen(function*() {
        const own = {
          resource: "https://mcp.example/",
          authorization_servers: [World.issuer],
          scopes_supported: ["own"]
        }
        const { outcome, world } = yield* hostile(evil, "https://mcp.example/", { [resourceAt("")]: own })
        assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
        assert.deepStrictEqual(resourcesAsked(world), ["https://mcp.example/", "https://mcp.example/"])
        assert.strictEqual(world.of("authorize")[0]!.params.get("scope"), "own")
        // Another one than the one it stands for.
        for (const resource of ["https://mcp.example/evil", victim]) {
          const other = yield* hostile(evil, "https://mcp.example/", { [resourceAt("")]: { ...own, resource } })
          refusedWith(other.outcome, "its metadata is about another resource")
        }
      }))

    it.effect("the query of a server is a part of its well-known place (RFC 9728, 3.1); then without it, then the root", () =>
      Effect.gen(function*() {
        const query = "?tenant=a&key=canary-query"
        const tried = (url: string, script: World.World["script"]) =>
          authorized((world) => {
            world.challenge = "Bearer"
            world.script = script
          }, { url })
        const served = yield* tried(`${World.mcp}${query}`, ({ url }) =>
          url.href === resourceAt(`/mcp${query}`)
            ? { status: 200, body: { resource: `${World.mcp}${query}`, authorization_servers: [World.issuer] } }
            : undefined)
        assert.strictEqual(served.outcome._tag, "Right", JSON.stringify(served.outcome))
        assert.deepStrictEqual(urls(served.world, "resource"), [resourceAt(`/mcp${query}`)])
        assert.deepStrictEqual(resourcesAsked(served.world), [`${World.mcp}${query}`, `${World.mcp}${query}`])
        // As it is now: the document is where the server's path leads.
        const without = yield* tried(`${World.mcp}${query}`, () => undefined)
        assert.strictEqual(without.outcome._tag, "Right", JSON.stringify(without.outcome))
        assert.deepStrictEqual(urls(without.world, "resource"), [resourceAt(`/mcp${query}`), resourceAt("/mcp")])
        assert.deepStrictEqual(resourcesAsked(without.world), [World.mcp, World.mcp])
        const none = yield* tried(`https://mcp.example/${query}`, () => undefined)
        assert.deepStrictEqual(urls(none.world, "resource"), [resourceAt(query), resourceAt("")])
        // Nor does an error show it.
        for (
          const answer of ["lost", { status: 503 }, { status: 200, body: { resource: "https://x.example" } }] as const
        ) {
          const failed = yield* tried(`${World.mcp}${query}`, ({ kind }) => kind === "resource" ? answer : undefined)
          if (failed.outcome._tag === "Right") return assert.fail("nothing failed")
          assert.notInclude(`${failed.outcome.left.message} ${JSON.stringify(failed.outcome.left)}`, "canary-query")
        }
      }))

    it.effect("a server with a query has the metadata of the one without", () =>
      Effect.gen(function*() {
        const { outcome, world } = yield* authorized(() => {}, { url: `${World.mcp}?tools=a` })
        assert.strictEqual(outcome._tag, "Right", JSON.stringify(outcome))
        assert.deepStrictEqual(resourcesAsked(world), [World.mcp, World.mcp])
      }))
  })

  it.effect("metadata-issuer-mismatch: none of its endpoints is used", () =>
    Effect.gen(function*() {
      for (const issuer of ["https://attacker.example.com", `${World.issuer}/`, "HTTPS://as.example"]) {
        const { outcome, world } = yield* authorized((world) => {
          world.metadata = { ...world.metadata, issuer }
        })
        refusedWith(outcome, "is that of another one")
        assert.strictEqual(world.count("register") + world.count("token"), 0)
      }
    }))

  it.effect("endpoints that are not safe are not used", () =>
    Effect.gen(function*() {
      const fields = ["token_endpoint", "registration_endpoint", "authorization_endpoint"]
      for (const field of fields) {
        for (
          const url of ["http://as.example/x", "http://127.0.0.1:1/x", "https://u:p@as.example/x", "javascript:1", 7]
        ) {
          const { outcome, world } = yield* authorized((world) => {
            world.metadata = { ...world.metadata, [field]: url }
          })
          refusedWith(outcome, `its ${field}`)
          assert.strictEqual(world.count("register") + world.count("token"), 0)
        }
      }
      const { outcome } = yield* authorized((world) => {
        world.resource = { ...world.resource, authorization_servers: ["http://169.254.169.254/"] }
      })
      refusedWith(outcome, "authorization server")
    }))

  it.effect("without PKCE nothing is begun", () =>
    Effect.gen(function*() {
      const { outcome } = yield* authorized((world) => {
        world.metadata = { ...world.metadata, code_challenge_methods_supported: ["plain"] }
      })
      refusedWith(outcome, "PKCE")
    }))

  it.effect("a redirect is followed within the origin, for metadata alone, and never by the token endpoint", () =>
    Effect.gen(function*() {
      const moved = yield* authorized((world) => {
        world.script = ({ url }) =>
          url.href === resourceAt("/mcp")
            ? { status: 302, headers: { location: "/.well-known/oauth-protected-resource/moved" } }
            : url.pathname.endsWith("/moved")
            ? { status: 200, body: world.resource }
            : undefined
      })
      assert.strictEqual(moved.outcome._tag, "Right", JSON.stringify(moved.outcome))
      const away = yield* authorized((world) => {
        world.script = ({ kind }) =>
          kind === "metadata" ? { status: 302, headers: { location: "https://evil.example/.well-known/x" } } : undefined
      })
      refusedWith(away.outcome, "publishes no metadata")
      assert.isTrue(away.world.asked.every((_) => _.url.host !== "evil.example"))
      const token = yield* authorized((world) => {
        world.script = ({ kind }) =>
          kind === "token" ? { status: 307, headers: { location: `${World.issuer}/other/token` } } : undefined
      })
      refusedWith(token.outcome, "redirect")
      assert.strictEqual(token.world.count("token"), 1)
    }))

  it.effect("answers are bounded", () =>
    Effect.gen(function*() {
      for (const kind of ["resource", "metadata", "register", "token"]) {
        const { outcome } = yield* authorized((world) => {
          world.script = (asked) => asked.kind === kind ? { status: 200, body: " ".repeat(2 * 1024 * 1024) } : undefined
        })
        refusedWith(outcome, "more than 1048576 bytes")
      }
    }))

  it.effect("a life of a token that is no number is none, and no defect", () =>
    Effect.gen(function*() {
      for (const life of [`{"toString":null}`, "[]", "true", `"soon"`, "null", "-1", "1e999"]) {
        const { outcome } = yield* authorized((world) => {
          world.script = ({ kind }) =>
            kind === "token" ? { status: 200, body: `{"access_token":"a","expires_in":${life}}` } : undefined
        })
        if (outcome._tag === "Left") return assert.fail(outcome.left.message)
        assert.propertyVal(yield* outcome.right.service.status(outcome.right.config), "expiresAt", undefined, life)
      }
    }))

  it.effect("garbage is a refusal that names who has said it", () =>
    Effect.gen(function*() {
      for (
        const body of [
          "",
          "null",
          "[]",
          "{",
          "{\"access_token\":7}",
          "{\"access_token\":\"a b\"}",
          "{\"access_token\":\"a\",\"token_type\":\"DPoP\"}"
        ]
      ) {
        const { outcome } = yield* authorized((world) => {
          world.script = (asked) => asked.kind === "token" ? { status: 200, body } : undefined
        })
        refusedWith(outcome, "https://as.example/token gives no token that can be used")
      }
      for (const body of ["", "{}", "{\"client_id\":\"\"}", "{\"client_id\":\"a\\u0000\"}"]) {
        const { outcome } = yield* authorized((world) => {
          world.script = (asked) => asked.kind === "register" ? { status: 201, body } : undefined
        })
        refusedWith(outcome, "refused to register")
      }
    }))
})

describe("conformance 2.3: which client", () => {
  it.effect("basic-cimd: the URL of the client's metadata in place of a registration", () =>
    Effect.gen(function*() {
      const clientMetadataUrl = "https://client.example/metadata.json"
      const input = { auth: { type: "oauth" as const, clientMetadataUrl } }
      const { outcome, world } = yield* authorized((world) => {
        world.metadata = { ...world.metadata, client_id_metadata_document_supported: true }
      }, input)
      assert.strictEqual(outcome._tag, "Right")
      assert.strictEqual(world.of("authorize")[0]!.params.get("client_id"), clientMetadataUrl)
      assert.strictEqual(world.count("register"), 0)
      const other = yield* authorized(() => {}, input)
      assert.strictEqual(other.world.count("register"), 1)
    }))

  it.effect("pre-registration: that client, with its secret, at its own issuer only", () =>
    Effect.gen(function*() {
      const of = (issuer: string) => ({
        auth: { type: "oauth" as const, clientId: "pre", clientSecret: "canary-secret", issuer }
      })
      const { outcome, world } = yield* authorized((world) => {
        world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
      }, of(World.issuer))
      assert.strictEqual(outcome._tag, "Right")
      assert.strictEqual(world.of("token")[0]!.headers.authorization, `Basic ${btoa("pre:canary-secret")}`)
      assert.strictEqual(world.count("register"), 0)
      const foreign = yield* authorized(() => {}, of("https://other.example"))
      refusedWith(foreign.outcome, "auth.issuer")
      assert.isTrue(foreign.world.asked.every((_) => !JSON.stringify([_.body, _.headers, _.url]).includes("pre")))
    }))

  it.effect("no registration: says what to configure", () =>
    Effect.gen(function*() {
      for (const registration_endpoint of [undefined, null]) {
        const { outcome } = yield* authorized((world) => {
          world.metadata = { ...world.metadata, registration_endpoint }
        })
        refusedWith(outcome, `set "auth.clientId"`)
      }
    }))

  it.effect("scope-from-www-authenticate, scope-from-scopes-supported, offline-access-scope", () =>
    Effect.gen(function*() {
      const scopeOf = (change: (world: World.World) => void, input = {}) =>
        Effect.map(authorized(change, input), ({ world }) => world.of("authorize")[0]!.params.get("scope"))
      assert.strictEqual(
        yield* scopeOf((world) => {
          world.challenge += `, scope="mcp:basic"`
          world.resource = { ...world.resource, scopes_supported: ["a"] }
        }),
        "mcp:basic"
      )
      assert.strictEqual(
        yield* scopeOf((world) => {
          world.resource = { ...world.resource, scopes_supported: ["a", "b", "c"] }
        }),
        "a b c"
      )
      assert.strictEqual(
        yield* scopeOf((world) => {
          world.resource = { ...world.resource, scopes_supported: ["a"] }
          world.metadata = { ...world.metadata, scopes_supported: ["a", "offline_access"] }
        }),
        "a offline_access"
      )
      assert.strictEqual(yield* scopeOf(() => {}, { auth: { type: "oauth", scopes: ["mine"] } }), "mine")
    }))
})

describe("conformance 2.3: the callback, on the wire", () => {
  const wrong: ReadonlyArray<readonly [string, (params: URLSearchParams) => void]> = [
    ["iss-supported-missing", (params) => params.delete("iss")],
    ["iss-wrong-issuer", (params) => params.set("iss", "https://evil.example")],
    ["iss-normalized", (params) => params.set("iss", `${World.issuer}/`)],
    ["another state", (params) => params.set("state", "x")],
    ["access_denied", (params) => params.set("error", "access_denied")]
  ]
  for (const [name, change] of wrong) {
    it.effect(`${name}: no token request`, () =>
      Effect.gen(function*() {
        const { outcome, world } = yield* authorized(() => {}, {}, change)
        refusedWith(outcome, "what the browser has brought back is not used")
        assert.strictEqual(world.count("token"), 0)
      }))
  }

  it.effect("a callback of somebody else does not end the authorization that was begun", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        const { redirectUri, url } = yield* service.begin(config)
        yield* Effect.flip(service.finish(config, `${redirectUri}?code=x&state=y&iss=${World.issuer}`))
        yield* service.finish(config, world.visit(url))
        const again = yield* Effect.flip(service.finish(config, world.visit(url)))
        assert.include(again.message, "no authorization was begun")
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))
})
