/**
 * What the endpoints of `AuthFixture` answer by default.
 *
 * Owns: the rules of registration, authorization, the three grants, and of a protected resource.
 * May not touch: sockets, the record of requests.
 */
import type { AuthRequest, Script } from "../../AuthFixture.js"
import type { Reply } from "../../HttpFixture.js"
import { json, respond } from "../httpReplies.js"
import { claimOf, Clients } from "./clients.js"
import * as Documents from "./documents.js"
import { type Grant, isVerifier, Tokens } from "./tokens.js"

export interface Answer {
  readonly outcome: string
  /** Nothing where the server behind answers. */
  readonly reply: Reply | undefined
}

export type Asked = Omit<AuthRequest, "outcome" | "index">

export class Endpoints {
  readonly clients = new Clients(() => this.script())
  readonly tokens: Tokens

  constructor(
    private readonly script: () => Script,
    private readonly origins: () => Documents.Origins,
    private readonly secret: (value: string) => void
  ) {
    this.tokens = new Tokens(secret)
  }

  answer(asked: Asked): Answer {
    const script = this.script()
    const path = asked.http.path.split("?")[0] ?? ""
    const serves = asked.at === (script.together === true ? "resource" : "authorization")
    switch (asked.kind) {
      case "resourceMetadata":
        return path === Documents.resourceMetadataPath(script)
          ? ok(json(Documents.resourceDocument(script, this.origins())))
          : notFound
      case "serverMetadata":
        return serves && Documents.isServerMetadata(script, path)
          ? ok(json(Documents.serverDocument(script, this.origins())))
          : notFound
      case "register":
        return serves && script.registration !== false && asked.http.method === "POST" ? this.register(asked) : notFound
      case "authorize":
        return serves && asked.http.method === "GET" ? this.authorize(asked) : notFound
      case "token":
        return serves && asked.http.method === "POST" ? this.token(asked) : notFound
      case "mcp":
        return this.protect(asked)
      case "other":
        return notFound
    }
  }

  private register(asked: Asked): Answer {
    const { message } = asked.http
    const document: { readonly [field: string]: unknown } = typeof message === "object" && message !== null
      ? { ...message }
      : {}
    const redirectUris = document.redirect_uris
    if (!Array.isArray(redirectUris) || !redirectUris.every((_) => typeof _ === "string")) {
      return refused("invalid_redirect_uri")
    }
    const client = this.clients.register(redirectUris, asked.parameters.get("token_endpoint_auth_method"))
    if (client.secret !== undefined) this.secret(client.secret)
    const registered = {
      ...document,
      client_id: client.id,
      client_secret: client.secret,
      ...(client.secret !== undefined && { client_secret_expires_at: 0 }),
      token_endpoint_auth_method: client.method
    }
    return ok(json(registered, { status: 201, headers: uncached }))
  }

  private authorize(asked: Asked): Answer {
    const script = this.script()
    const get = (name: string) => asked.parameters.get(name)
    const client = this.clients.find(get("client_id"))
    const redirectUri = get("redirect_uri")
    // Where the client is not known, nothing is sent anywhere.
    if (client === undefined) {
      return { outcome: "invalid_client", reply: respond({ status: 400, body: "no such client" }) }
    }
    if (redirectUri === undefined || client.redirectUris?.includes(redirectUri) === false) {
      return {
        outcome: "invalid_redirect_uri",
        reply: respond({ status: 400, body: "not the registered redirect_uri" })
      }
    }
    const back = (outcome: string, parameters: { readonly [name: string]: string }): Answer => {
      const iss = script.iss === undefined ? Documents.issuerOf(script, this.origins()) : script.iss
      const url = new URL(redirectUri)
      for (const [name, value] of Object.entries({ ...parameters, state: get("state"), iss })) {
        if (typeof value === "string") url.searchParams.set(name, value)
      }
      return { outcome, reply: respond({ status: 302, headers: { location: url.href } }) }
    }
    const problem = get("response_type") !== "code"
      ? "unsupported_response_type"
      : get("code_challenge") === undefined || get("code_challenge_method") !== "S256"
      ? "invalid_request"
      : this.isForeign(get("resource"))
      ? "invalid_target"
      : script.authorization === undefined || script.authorization === "code"
      ? undefined
      : script.authorization
    if (problem !== undefined) return back(problem, { error: problem })
    const code = this.tokens.newCode({
      client: client.id,
      scope: this.grantedScope(get("scope")),
      resource: get("resource"),
      challenge: get("code_challenge"),
      redirectUri
    })
    return back("ok", { code })
  }

  private token(asked: Asked): Answer {
    const script = this.script()
    const claim = claimOf(asked.http.headers.authorization, asked.parameters)
    const issuer = Documents.issuerOf(script, this.origins())
    const tokenUrl = Documents.originOf(script, this.origins()) + (script.endpointPath ?? "") + "/token"
    const problem = this.clients.problem(claim, [issuer, tokenUrl])
    if (problem !== undefined) return refused("invalid_client", 401, problem)
    if (this.isForeign(asked.parameters.get("resource"))) return refused("invalid_target")
    switch (asked.parameters.get("grant_type")) {
      case "authorization_code":
        return this.byCode(asked, claim.client ?? "")
      case "refresh_token":
        return this.byRefreshToken(asked, claim.client ?? "")
      case "client_credentials":
        return claim.method === "none" ? refused("unauthorized_client") : this.issued({
          client: claim.client ?? "",
          scope: this.grantedScope(asked.parameters.get("scope")),
          resource: asked.parameters.get("resource"),
          family: ""
        }, false)
      default:
        return refused("unsupported_grant_type")
    }
  }

  private byCode(asked: Asked, client: string): Answer {
    const code = this.tokens.takeCode(asked.parameters.get("code"))
    if (code === undefined) return refused("invalid_grant", 400, "the code is not valid")
    if (code.client !== client) return refused("invalid_grant", 400, "the code is another client's")
    if (code.redirectUri !== asked.parameters.get("redirect_uri")) return refused("invalid_grant", 400, "redirect_uri")
    if (!isVerifier(code.challenge, asked.parameters.get("code_verifier"))) {
      return refused("invalid_grant", 400, "code_verifier does not match")
    }
    return this.issued(code, this.script().refresh !== "none")
  }

  private byRefreshToken(asked: Asked, client: string): Answer {
    const token = asked.parameters.get("refresh_token") ?? ""
    const grant = this.tokens.refreshable(token)
    if (grant === undefined || grant.client !== client) return refused("invalid_grant")
    const rotates = (this.script().refresh ?? "rotate") === "rotate"
    if (rotates) this.tokens.replace(token)
    return this.issued({ ...grant, scope: asked.parameters.get("scope") ?? grant.scope }, rotates)
  }

  private issued(grant: Grant, refreshable: boolean): Answer {
    const { expiresIn } = this.script()
    const { accessToken, refreshToken } = this.tokens.issue(grant, refreshable)
    return ok(json({
      access_token: accessToken,
      token_type: "Bearer",
      ...(expiresIn !== null && { expires_in: expiresIn ?? 3600 }),
      refresh_token: refreshToken,
      scope: grant.scope
    }, { headers: uncached }))
  }

  private protect(asked: Asked): Answer {
    const script = this.script()
    const protection = script.protect?.(asked.http) ?? "token"
    if (protection === "open") return { outcome: "ok", reply: undefined }
    if (typeof protection === "object") return { outcome: "scripted", reply: protection }
    const required = script.requiredScope?.(asked.http)
    if (protection === "forbid") return this.forbidden(required)
    const grant = this.tokens.granted(asked.token)
    if (protection === "reject" || grant === undefined) return this.unauthorized(asked.token !== undefined)
    const granted = new Set((grant.scope ?? "").split(" "))
    return required === undefined || required.split(" ").every((_) => granted.has(_))
      ? { outcome: "ok", reply: undefined }
      : this.forbidden(required)
  }

  private unauthorized(presented: boolean): Answer {
    const { challenge, challengeScope } = this.script()
    const text = challenge !== undefined ? challenge : this.challenge({
      ...(presented && { error: "invalid_token" }),
      scope: challengeScope
    })
    const headers: { readonly [name: string]: string } = text === null ? {} : { "www-authenticate": text }
    return { outcome: "unauthorized", reply: json({ error: "unauthorized" }, { status: 401, headers }) }
  }

  private forbidden(scope: string | undefined): Answer {
    const headers = { "www-authenticate": this.challenge({ error: "insufficient_scope", scope }) }
    return { outcome: "insufficient_scope", reply: json({ error: "insufficient_scope" }, { status: 403, headers }) }
  }

  private challenge(fields: { readonly error?: string; readonly scope: string | undefined }): string {
    const script = this.script()
    const path = Documents.resourceMetadataPath(script)
    const where = script.announced === false || path === undefined ? undefined : this.origins().resource + path
    const parameters = Object.entries({ ...fields, resource_metadata: where }).filter(([, _]) => _ !== undefined)
    return parameters.length === 0 ? "Bearer" : `Bearer ${parameters.map(([name, _]) => `${name}="${_}"`).join(", ")}`
  }

  private grantedScope(requested: string | undefined): string | undefined {
    const { granted } = this.script()
    return granted === undefined ? requested : granted(requested)
  }

  private isForeign(resource: string | undefined): boolean {
    return resource !== undefined && resource !== Documents.resourceOf(this.script(), this.origins())
  }
}

const uncached = { "cache-control": "no-store" }

const ok = (reply: Reply): Answer => ({ outcome: "ok", reply })

const notFound: Answer = { outcome: "not_found", reply: respond({ status: 404, body: "Not Found" }) }

const refused = (error: string, status = 400, description?: string): Answer => ({
  outcome: error,
  reply: json({ error, ...(description !== undefined && { error_description: description }) }, { status })
})
