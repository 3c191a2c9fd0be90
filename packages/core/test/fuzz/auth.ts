/**
 * Challenges, metadata and token answers of hostile servers and authorization servers.
 *
 * Holds: what a server says about authorization makes nothing throw or hang; it ends with a token that a header can carry, or
 * with a typed error; nothing is asked of a place that is not allowed; and no secret of ours shows or goes elsewhere.
 */
import { HttpExchange, McpAuth, McpConfig } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Layer } from "effect"
import * as Challenges from "../../src/internal/auth/challenge.js"
import { holds, same } from "./kit/holds.js"
import { type Edit, edited, edits, texts } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { simulate } from "./kit/virtual.js"
import * as Oracles from "./oracles.js"

// -------------------------------------------------------------------------------------------------
// WWW-Authenticate
// -------------------------------------------------------------------------------------------------

const headerPiece = FastCheck.oneof(
  FastCheck.constantFrom(
    "Bearer",
    "DPoP",
    "Basic",
    " ",
    ",",
    "=",
    "\"",
    "\\",
    "realm",
    "scope",
    "error",
    "a",
    "\t",
    "==",
    "é",
    "resource_metadata=\"https://x/\""
  ),
  texts
)

const header = FastCheck.array(headerPiece, { maxLength: 30 }).map((_) => _.join(""))

/** What was written by the rules is read as it was meant. */
const wellFormed = FastCheck.array(
  FastCheck.record({
    scheme: FastCheck.constantFrom("Bearer", "Basic", "X-Y"),
    params: FastCheck.uniqueArray(
      FastCheck.tuple(FastCheck.constantFrom("realm", "scope", "error", "a"), FastCheck.string({ maxLength: 10 })),
      { selector: ([name]) => name, minLength: 1, maxLength: 3 }
    )
  }),
  { maxLength: 4 }
)

const writtenOf = (
  challenges: ReadonlyArray<{ readonly scheme: string; readonly params: ReadonlyArray<readonly [string, string]> }>
) =>
  challenges.map(({ params, scheme }) =>
    `${scheme} ${params.map(([name, value]) => `${name}="${value.replace(/["\\]/g, "\\$&")}"`).join(", ")}`
  ).join(", ")

const reading = (unit: string) => (size: number) => {
  const text = unit.repeat(Math.ceil(size / unit.length))
  return () => {
    for (let i = 0; i < 20; i++) Challenges.parse(text)
  }
}

export const challengesPart = part({
  name: "challenges",
  about: "any header is read once, and what is well-formed is read as it is meant",
  inputs: 2000,
  share: 2,
  input: FastCheck.record({ header, wellFormed }),
  check: ({ header, wellFormed }) => {
    const found = Challenges.parse(header)
    holds(found.length <= 16, "too many challenges")
    for (const { params } of found) holds(params.size <= 32, "too many parameters")
    Challenges.demand(found)
    same(
      Challenges.parse(writtenOf(wellFormed)).map(({ params, scheme }) => ({ scheme, params: [...params] })),
      wellFormed.map(({ params, scheme }) => ({ scheme: scheme.toLowerCase(), params })),
      "what was well-formed"
    )
  },
  growths: ["a ", "a=\"", "\"", "Bearer a=b,", ",", "\\\"", "a=\"\\"].map((unit) => ({
    name: `a header of ${JSON.stringify(unit)}`,
    from: 512,
    most: 16_384,
    run: reading(unit)
  }))
})

// -------------------------------------------------------------------------------------------------
// Metadata and tokens
// -------------------------------------------------------------------------------------------------

const secret = "c4n4ry-client-secret-93"
const given = "t0k3n-that-was-given"
const origin = "https://mcp.example"
const authority = "https://as.example"

const config = Effect.runSync(
  McpConfig.decode({
    name: "fuzzed",
    transport: "http",
    url: `${origin}/mcp`,
    auth: { type: "clientCredentials", clientId: "client", clientSecret: secret, dpop: false }
  }) as Effect.Effect<McpConfig.AnyHttpConfig>
)

const wellKnown = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/

/** Whoever is asked is an authorization server, and says so of itself. */
const issuerAt = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname.replace(wellKnown, "").replace(/\/$/, "")}`
}

const documents = {
  resource: () => ({ resource: `${origin}/mcp`, authorization_servers: [authority], scopes_supported: ["a", "b"] }),
  metadata: (issuer: string) => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    scopes_supported: ["a", "offline_access"]
  }),
  token: () => ({
    access_token: given,
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: "refresh-token-1",
    scope: "a b"
  })
}

type Kind = keyof typeof documents

interface Reply {
  readonly changes: ReadonlyArray<Edit>
  readonly status: number
  readonly header: readonly [string, string] | undefined
  readonly end: "end" | "lost" | "hang" | "echo"
}

const odd = FastCheck.constantFrom(
  "http://as.example/token",
  "https://127.0.0.1/",
  "https://u:p@as.example/token",
  "https://as.example:99999/",
  "file:///etc/passwd",
  "javascript:1",
  `${authority}/token?x=1#y`,
  "//as.example",
  "https://evil.example/token"
)

const reply: FastCheck.Arbitrary<Reply> = FastCheck.record({
  changes: FastCheck.oneof(
    edits(2),
    FastCheck.record({
      at: FastCheck.nat({ max: 30 }),
      by: FastCheck.constant("replace" as const),
      value: odd.map((value) => ({ value }))
    }).map((_) => [_]),
    // Where secrets go, which an edit at any place hits too seldom.
    FastCheck.record({
      at: FastCheck.constant(0),
      by: FastCheck.constant("add" as const),
      name: FastCheck.constant("token_endpoint"),
      value: odd.map((value) => ({ value }))
    }).map((_) => [_])
  ),
  status: FastCheck.oneof(
    { arbitrary: FastCheck.constant(200), weight: 6 },
    { arbitrary: FastCheck.constantFrom(201, 302, 307, 400, 401, 403, 404, 429, 500, 503), weight: 2 }
  ),
  header: FastCheck.option(
    FastCheck.tuple(
      FastCheck.constantFrom("location", "retry-after", "dpop-nonce"),
      FastCheck.oneof(odd, FastCheck.constantFrom("1", "9".repeat(30), "/elsewhere", "x".repeat(9000)))
    ),
    { nil: undefined }
  ),
  end: FastCheck.constantFrom("end", "end", "end", "end", "end", "end", "lost", "hang", "echo")
})

const good: Reply = { changes: [], status: 200, header: undefined, end: "end" }

const kindOf = ({ method, url }: HttpExchange.HttpRequest): Kind =>
  method === "POST" ? "token" : url.includes("oauth-protected-resource") ? "resource" : "metadata"

const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return "[".repeat(30_000)
  }
}

class Servers {
  readonly requests: Array<HttpExchange.HttpRequest> = []
  /** Who has said that token requests go there. Of the server itself it is also guessed. */
  private readonly named = new Map([[`${origin}/token`, new Set([origin])]])
  open = 0

  constructor(private readonly replies: ReadonlyArray<Reply>) {}

  readonly send: HttpExchange.HttpClient["send"] = (request, listener) => {
    const { changes, end, header, status } = this.replies[this.requests.length % this.replies.length]!
    this.requests.push(request)
    this.open++
    let over = false
    const finish = () => {
      if (!over) this.open--
      over = true
    }
    if (end === "hang") return finish
    queueMicrotask(() => {
      if (over) return
      finish()
      if (end === "lost") return listener.failed({ sent: true, reason: "Lost", detail: "lost" })
      const told = end === "echo"
        ? textOf({
          error: "invalid_x",
          error_description: `${request.body} ${Object.values(request.headers).join(" ")}`
        })
        : textOf(this.told(request, changes))
      listener.head(end === "echo" ? 400 : status, (name) => header?.[0] === name ? header[1] : undefined)
      if (!over || told !== "") listener.data(new TextEncoder().encode(told))
      listener.end()
    })
    return finish
  }

  private told(request: HttpExchange.HttpRequest, changes: ReadonlyArray<Edit>): unknown {
    const { url } = request
    const document = edited(documents[kindOf(request)](issuerAt(url)), changes)
    const endpoint = (document as { readonly token_endpoint?: unknown } | null | undefined)?.token_endpoint
    if (typeof endpoint === "string" && URL.canParse(endpoint)) {
      const { href } = new URL(endpoint)
      this.named.set(href, new Set(this.named.get(href)).add(new URL(url).origin))
    }
    return document
  }

  issuersOf(endpoint: string): ReadonlyArray<string> {
    return [...this.named.get(endpoint) ?? []]
  }
}

const asking = (servers: Servers, header: string) =>
  Effect.gen(function*() {
    const auth = yield* McpAuth.McpAuth
    const credentials = yield* auth.credentials(config)
    if (credentials === undefined) return
    for (let round = 0; round < 2; round++) {
      const answer = yield* Effect.exit(
        credentials.refused({ status: 401, challenge: header, sent: undefined, alone: false } as never)
      )
      check(answer, "refused")
      const prepared = yield* Effect.exit(credentials.prepare)
      check(prepared, "prepare")
      if (Exit.isSuccess(prepared)) sendable(prepared.value)
      // Of the clock of `simulate`, which costs no time.
      yield* Effect.sleep("1 hour")
    }
    check(yield* Effect.exit(auth.status(config)), "status")
  }).pipe(
    Effect.scoped,
    Effect.provide(
      McpAuth.layer.pipe(Layer.provide([
        McpAuth.layerTokensMemory,
        Layer.succeed(HttpExchange.HttpExchange, { open: () => Effect.succeed({ send: servers.send }) })
      ]))
    )
  )

/** As it is, and as Basic has it. */
const shows = (text: string): boolean => text.includes(secret) || text.includes(btoa(`client:${secret}`))

const hidden = (text: string): void => holds(!shows(text), `a secret shows: ${text.slice(0, 500)}`)

const check = (exit: Exit.Exit<unknown, unknown>, what: string): void => {
  Oracles.ended(exit, what)
  if (Exit.isFailure(exit) && exit.cause._tag === "Fail") {
    hidden(`${(exit.cause.error as Error).message} ${JSON.stringify(exit.cause.error)}`)
  }
}

const allowedValue = /^[\x20-\x7e]*$/

const sendable = (authorization: unknown): void => {
  for (const value of Object.values(authorization as object)) {
    if (typeof value === "string") holds(allowedValue.test(value), `a header ${JSON.stringify(value.slice(0, 200))}`)
  }
}

const mostRequests = 200

export const authPart = part({
  name: "auth",
  about: "whatever authorization servers say: a token that can be sent, or a typed error; no secret to anybody else",
  inputs: 150,
  share: 0.2,
  input: FastCheck.record({
    replies: FastCheck.array(
      FastCheck.oneof({ arbitrary: FastCheck.constant(good), weight: 3 }, { arbitrary: reply, weight: 2 }),
      { minLength: 1, maxLength: 6 }
    ),
    header: FastCheck.oneof(
      FastCheck.constant(`Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="a"`),
      FastCheck.constant("Bearer"),
      odd.map((_) => `Bearer resource_metadata="${_}"`),
      header
    )
  }),
  check: async ({ header, replies }) => {
    const servers = new Servers(replies)
    const { exit } = await simulate(asking(servers, header), { onLog: hidden })
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    same(servers.open, 0, "exchanges that are still open")
    holds(servers.requests.length <= mostRequests, `${servers.requests.length} requests`)
    let trusted: ReadonlyArray<string> | undefined
    for (const { body, headers, method, url } of servers.requests) {
      const { hostname, password, protocol, username } = new URL(url)
      holds(protocol === "https:" && username === "" && password === "", `a request to ${url}`)
      holds(hostname !== "127.0.0.1", "a server elsewhere makes us ask this machine")
      for (const value of Object.values(headers)) holds(allowedValue.test(value), `a header ${JSON.stringify(value)}`)
      hidden(url)
      const sent = `${body} ${Object.values(headers).join(" ")}`
      if (method === "POST" && shows(sent)) {
        const issuers = servers.issuersOf(url)
        trusted = trusted?.filter((_) => issuers.includes(_)) ?? issuers
        holds(trusted.length > 0, `the secret goes to ${url} too, where no authorization server is that has it`)
      } else hidden(sent)
    }
  }
})
