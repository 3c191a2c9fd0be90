/**
 * An MCP server and an authorization server in memory, behind a scripted `HttpExchange`: every answer can be replaced, every
 * request is recorded and counted, none needs time.
 */
import { HttpExchange, McpAuth, type McpConfig } from "@mcp-runtime/core"
import { Effect, Layer, Redacted } from "effect"
import { createHash } from "node:crypto"

export interface Asked {
  readonly kind: string
  readonly method: string
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly params: URLSearchParams
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
}

export type Answer = Reply | "hang" | "lost" | undefined

export const mcp = "https://mcp.example/mcp"
export const issuer = "https://as.example"

export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
export const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
export const idJag = "urn:ietf:params:oauth:token-type:id-jag"

export interface World {
  readonly asked: Array<Asked>
  readonly count: (kind: string) => number
  readonly of: (kind: string) => ReadonlyArray<Asked>
  /** Waits for so many requests of a kind. */
  readonly seen: (kind: string, times?: number) => Effect.Effect<void>
  /** Replaces the answer of any request. */
  script: (asked: Asked) => Answer
  /** What an answer, as it is when it is asked for, waits for. */
  held: (asked: Asked) => Promise<void> | undefined
  readonly tokens: Set<string>
  readonly refreshes: Set<string>
  /** The scopes that a request of this method needs. */
  needs: (method: string) => string | undefined
  readonly scopes: Map<string, string>
  challenge: string
  resource: { [key: string]: unknown } | undefined
  metadata: { [key: string]: unknown } | undefined
  expiresIn: number | undefined
  /** What tokens are said to be. */
  tokenType: string
  rotates: boolean
  /** Requests that have no answer yet. */
  readonly open: () => number
  readonly exchange: HttpExchange.HttpClient["send"]
  readonly http: Layer.Layer<HttpExchange.HttpExchange>
  /** What the browser of a person comes back with. */
  readonly visit: (url: string, change?: (params: URLSearchParams) => void) => string
  readonly give: (scope?: string) => { readonly access: string; readonly refresh: string }
  /** Every secret that was ever made. */
  readonly secrets: Set<string>
}

export const make = (): World => {
  const asked: Array<Asked> = []
  const waiting = new Set<() => void>()
  const codes = new Map<string, { readonly challenge: string; readonly scope: string }>()
  let number = 0
  let open = 0
  const secrets = new Set<string>()
  const secret = (kind: string) => {
    const value = `canary-${kind}-${++number}-0123456789abcdef`
    secrets.add(value)
    return value
  }
  const world: World = {
    asked,
    count: (kind) => asked.filter((_) => _.kind === kind).length,
    of: (kind) => asked.filter((_) => _.kind === kind),
    seen: (kind, times = 1) =>
      Effect.async((resume) => {
        const check = () => {
          if (world.count(kind) < times) return
          waiting.delete(check)
          resume(Effect.void)
        }
        waiting.add(check)
        check()
        return Effect.sync(() => waiting.delete(check))
      }),
    script: () => undefined,
    held: () => undefined,
    tokens: new Set(),
    refreshes: new Set(),
    needs: () => undefined,
    scopes: new Map(),
    challenge: `Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`,
    resource: { resource: mcp, authorization_servers: [issuer] },
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true
    },
    expiresIn: 3600,
    tokenType: "Bearer",
    rotates: true,
    secrets,
    open: () => open,
    give: (scope = "") => {
      const access = secret("access")
      const refresh = secret("refresh")
      world.tokens.add(access)
      world.refreshes.add(refresh)
      world.scopes.set(access, scope)
      return { access, refresh }
    },
    visit: (text, change = () => {}) => {
      const url = new URL(text)
      asked.push({
        kind: "authorize",
        method: "GET",
        url,
        headers: {},
        params: url.searchParams,
        body: ""
      })
      for (const check of waiting) check()
      const code = secret("code")
      codes.set(code, {
        challenge: url.searchParams.get("code_challenge") ?? "",
        scope: url.searchParams.get("scope") ?? ""
      })
      const back = new URL(url.searchParams.get("redirect_uri")!)
      back.searchParams.set("code", code)
      back.searchParams.set("state", url.searchParams.get("state") ?? "")
      back.searchParams.set("iss", issuer)
      change(back.searchParams)
      return back.href
    },
    exchange: (request, listener) => {
      const url = new URL(request.url)
      const form = request.headers["content-type"] === "application/x-www-form-urlencoded"
      const one: Asked = {
        kind: kindOf(request.method, url),
        method: request.method,
        url,
        headers: request.headers,
        params: form ? new URLSearchParams(request.body) : url.searchParams,
        body: request.body ?? ""
      }
      asked.push(one)
      for (const check of waiting) check()
      open++
      let over = false
      const end = () => {
        if (!over) open--
        over = true
      }
      const answer = world.script(one) ?? usual(one)
      if (answer !== "hang") {
        const reply = () => {
          if (over) return
          end()
          if (answer === "lost") {
            return listener.failed({
              sent: false,
              reason: "Refused",
              detail: "connection refused",
              code: "ECONNREFUSED"
            })
          }
          const body = answer.body === undefined
            ? ""
            : typeof answer.body === "string"
            ? answer.body
            : JSON.stringify(answer.body)
          const headers: { readonly [name: string]: string } = {
            ...(answer.body === undefined ? {} : { "content-type": "application/json" }),
            ...answer.headers
          }
          listener.head(answer.status, (name) => headers[name])
          if (body !== "") listener.data(new TextEncoder().encode(body))
          listener.end()
        }
        const held = world.held(one)
        if (held === undefined) queueMicrotask(reply)
        else void held.then(reply)
      }
      return end
    },
    http: Layer.suspend(() =>
      Layer.succeed(HttpExchange.HttpExchange, {
        open: () =>
          Effect.acquireRelease(
            Effect.sync(() => {
              const aborts = new Set<() => void>()
              let closed = false
              return {
                send: (...args: Parameters<World["exchange"]>) => {
                  if (closed) {
                    args[1].failed({ sent: false, reason: "Other", detail: "closed" })
                    return () => {}
                  }
                  const abort = world.exchange(...args)
                  aborts.add(abort)
                  return abort
                },
                close: () => {
                  closed = true
                  for (const abort of aborts) abort()
                }
              }
            }),
            (client) => Effect.sync(() => client.close())
          )
      })
    )
  }

  const usual = (one: Asked): Reply | "hang" => {
    switch (one.kind) {
      case "resource":
        return one.url.href === "https://mcp.example/.well-known/oauth-protected-resource/mcp" &&
            world.resource !== undefined
          ? { status: 200, body: world.resource }
          : { status: 404 }
      case "metadata":
        return one.url.href === `${issuer}/.well-known/oauth-authorization-server` && world.metadata !== undefined
          ? { status: 200, body: world.metadata }
          : { status: 404 }
      case "register": {
        const { redirect_uris } = JSON.parse(one.body) as { readonly redirect_uris: unknown }
        return { status: 201, body: { client_id: `client-${++number}`, redirect_uris } }
      }
      case "token":
        return token(one)
      default:
        return resource(one)
    }
  }

  const given = (scope: string, before?: string): Reply => {
    const { access, refresh } = world.give(scope)
    if (before !== undefined && world.rotates) world.refreshes.delete(before)
    return {
      status: 200,
      body: {
        access_token: access,
        token_type: world.tokenType,
        ...(world.expiresIn === undefined ? undefined : { expires_in: world.expiresIn }),
        ...(before === undefined || world.rotates ? { refresh_token: refresh } : undefined),
        ...(scope === "" ? undefined : { scope })
      }
    }
  }

  const token = ({ params }: Asked): Reply => {
    const refused = { status: 400, body: { error: "invalid_grant", error_description: "no" } }
    switch (params.get("grant_type")) {
      case "refresh_token": {
        const refresh = params.get("refresh_token")!
        return world.refreshes.has(refresh) ? given("", refresh) : refused
      }
      case "authorization_code": {
        const code = params.get("code")!
        const known = codes.get(code)
        codes.delete(code)
        const verifier = params.get("code_verifier") ?? ""
        secrets.add(verifier)
        const challenge = createHash("sha256").update(verifier).digest("base64url")
        return known === undefined || known.challenge !== challenge ? refused : given(known.scope)
      }
      case "client_credentials": {
        const { access } = world.give(params.get("scope") ?? "")
        return {
          status: 200,
          body: { access_token: access, token_type: world.tokenType.toLowerCase(), expires_in: world.expiresIn }
        }
      }
      case jwtBearer:
        secrets.add(params.get("assertion")!)
        return given(params.get("scope") ?? "")
      case tokenExchange:
        secrets.add(params.get("subject_token")!)
        return {
          status: 200,
          body: { access_token: secret("id-jag"), issued_token_type: idJag, token_type: "N_A" }
        }
      default:
        return { status: 400, body: { error: "unsupported_grant_type" } }
    }
  }

  const resource = ({ body, headers, method }: Asked): Reply | "hang" => {
    const bearer = headers.authorization?.replace(/^(Bearer|DPoP) /, "")
    if (bearer === undefined || !world.tokens.has(bearer)) {
      return { status: 401, headers: { "www-authenticate": world.challenge } }
    }
    if (method !== "POST") return { status: 405 }
    const message = JSON.parse(body) as { readonly id?: unknown; readonly method: string }
    const needed = world.needs(message.method)
    if (needed !== undefined && !(world.scopes.get(bearer) ?? "").split(" ").includes(needed)) {
      return {
        status: 403,
        headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${needed}"` }
      }
    }
    if (message.id === undefined) return { status: 202 }
    const result = message.method === "initialize"
      ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "w", version: "1" } }
      : message.method === "tools/list"
      ? { tools: [] }
      : message.method === "tools/call"
      ? { content: [] }
      : {}
    return { status: 200, body: { jsonrpc: "2.0", id: message.id, result } }
  }

  return world
}

const kindOf = (method: string, url: URL): string => {
  if (url.pathname.includes("/.well-known/oauth-protected-resource")) return "resource"
  if (url.pathname.includes("/.well-known/o")) return "metadata"
  if (url.pathname.endsWith("/register")) return "register"
  if (url.pathname.endsWith("/token")) return "token"
  return method === "POST" ? "mcp" : method
}

/** A store that can be looked into. */
export interface Tokens {
  readonly entries: Map<string, string>
  locks: number
  readonly layer: Layer.Layer<McpAuth.TokenStore>
}

export const tokens = (): Tokens => {
  const entries = new Map<string, string>()
  const semaphore = Effect.unsafeMakeSemaphore(1)
  const self: Tokens = {
    entries,
    locks: 0,
    layer: Layer.succeed(McpAuth.TokenStore, {
      get: (key) =>
        Effect.sync(() => {
          const text = entries.get(key)
          return text === undefined ? undefined : Redacted.make(text)
        }),
      set: (key, value) => Effect.sync(() => void entries.set(key, Redacted.value(value))),
      remove: (key) => Effect.sync(() => void entries.delete(key)),
      lock: () =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.zipRight(semaphore.take(1), Effect.sync(() => self.locks++)),
            () => semaphore.release(1)
          )
        )
    })
  }
  return self
}

export const config: McpConfig.ServerConfigInput = { name: "secured", transport: "http", url: mcp }
