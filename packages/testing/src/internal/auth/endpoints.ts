/**
 * What the endpoints of `AuthFixture` answer by default.
 *
 * Owns: the rules of registration, authorization, the grants, of an identity provider, and of a protected resource.
 * May not touch: sockets, the record of requests.
 */
import type { AuthRequest, Script } from "../../AuthFixture.js"
import type { Reply } from "../../HttpFixture.js"
import { json, respond } from "../httpReplies.js"
import { claimOf, Clients } from "./clients.js"
import * as Documents from "./documents.js"
import { Proofs } from "./proofs.js"
import { type Grant, isVerifier, Tokens } from "./tokens.js"

export interface Answer {
  readonly outcome: string
  /** Nothing where the server behind answers. */
  readonly reply: Reply | undefined
}

export type Asked = Omit<AuthRequest, "outcome" | "index">

export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

const idJag = "urn:ietf:params:oauth:token-type:id-jag"

export class Endpoints {
  readonly clients = new Clients(() => this.script())
  readonly tokens: Tokens
  private readonly proofs = new Proofs()

  constructor(
    private readonly script: () => Script,
    private readonly origins: () => Documents.Origins,
    private readonly secret: (value: string) => void
  ) {
    this.tokens = new Tokens(secret)
  }

  answer(asked: Asked, request: AuthRequest): Answer {
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
          : serves && Documents.isIdpMetadata(path)
          ? ok(json(Documents.idpDocument(script, this.origins())))
          : notFound
      case "register":
        return serves && script.registration !== false && asked.http.method === "POST" ? this.register(asked) : notFound
      case "authorize":
        return serves && asked.http.method === "GET" ? this.authorize(asked) : notFound
      case "token":
        return serves && asked.http.method === "POST" ? this.token(asked, request) : notFound
      case "exchange":
        return serves && asked.http.method === "POST" ? this.exchange(asked) : notFound
      case "mcp":
        return this.protect(asked, request)
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

  /** What organisations say about their own users. */
  private exchange({ parameters }: Asked): Answer {
    const get = (name: string) => parameters.get(name)
    if (get("grant_type") !== "urn:ietf:params:oauth:grant-type:token-exchange") {
      return refused("unsupported_grant_type")
    }
    if (
      get("requested_token_type") !== idJag || get("audience") !== Documents.issuerOf(this.script(), this.origins()) ||
      get("subject_token_type") !== "urn:ietf:params:oauth:token-type:id_token" || this.isForeign(get("resource"))
    ) {
      return refused("invalid_request")
    }
    const outcome = this.script().idToken?.(get("subject_token") ?? "") ?? "ok"
    if (outcome !== "ok") return refused(outcome)
    const assertion = `id-jag-${crypto.randomUUID()}`
    this.secret(assertion)
    return ok(
      json({ access_token: assertion, issued_token_type: idJag, token_type: "N_A", expires_in: 300 }, {
        headers: uncached
      })
    )
  }

  /** What is wrong with the proof, or the thumbprint of its key; nothing where there is none, or none is looked at. */
  private proven(asked: Asked, expected: { readonly url: string; readonly token?: string | undefined }) {
    const text = asked.http.headers.dpop
    if (this.script().dpop === undefined || text === undefined) return undefined
    const problem = this.proofs.problem(text, { method: asked.http.method, ...expected })
    return { problem, key: asked.proof?.thumbprint }
  }

  private token(asked: Asked, request: AuthRequest): Answer {
    const script = this.script()
    const claim = claimOf(asked.http.headers.authorization, asked.parameters)
    const issuer = Documents.issuerOf(script, this.origins())
    const tokenUrl = Documents.originOf(script, this.origins()) + (script.endpointPath ?? "") + "/token"
    const problem = this.clients.problem(claim, [issuer, tokenUrl])
    if (problem !== undefined) return refused("invalid_client", 401, problem)
    if (this.isForeign(asked.parameters.get("resource"))) return refused("invalid_target")
    const proven = this.proven(asked, { url: tokenUrl })
    if (proven?.problem !== undefined) return refused("invalid_dpop_proof", 400, proven.problem)
    const nonce = proven === undefined ? undefined : script.dpop?.serverNonce?.(request)
    if (nonce !== undefined && asked.proof?.claims.nonce !== nonce) {
      const reply = json({ error: "use_dpop_nonce" }, { status: 400, headers: { "dpop-nonce": nonce } })
      return { outcome: "use_dpop_nonce", reply }
    }
    const key = script.dpop?.gives === "Bearer" ? undefined : proven?.key
    switch (asked.parameters.get("grant_type")) {
      case "authorization_code":
        return this.byCode(asked, claim.client ?? "", key)
      case "refresh_token":
        return this.byRefreshToken(asked, claim.client ?? "", key)
      case jwtBearer: {
        const outcome = script.assertion?.(asked.parameters.get("assertion") ?? "") ?? "ok"
        return outcome !== "ok" ? refused(outcome) : this.issuedAlone(asked, claim.client ?? "", key)
      }
      case "client_credentials":
        return claim.method === "none"
          ? refused("unauthorized_client")
          : this.issuedAlone(asked, claim.client ?? "", key)
      default:
        return refused("unsupported_grant_type")
    }
  }

  private byCode(asked: Asked, client: string, key: string | undefined): Answer {
    const code = this.tokens.takeCode(asked.parameters.get("code"))
    if (code === undefined) return refused("invalid_grant", 400, "the code is not valid")
    if (code.client !== client) return refused("invalid_grant", 400, "the code is another client's")
    if (code.redirectUri !== asked.parameters.get("redirect_uri")) return refused("invalid_grant", 400, "redirect_uri")
    if (!isVerifier(code.challenge, asked.parameters.get("code_verifier"))) {
      return refused("invalid_grant", 400, "code_verifier does not match")
    }
    return this.issued({ ...code, key }, this.script().refresh !== "none")
  }

  private byRefreshToken(asked: Asked, client: string, key: string | undefined): Answer {
    const token = asked.parameters.get("refresh_token") ?? ""
    const grant = this.tokens.refreshable(token)
    if (grant === undefined || grant.client !== client) return refused("invalid_grant")
    if (grant.key !== undefined && grant.key !== key) return refused("invalid_grant", 400, "another key")
    const rotates = (this.script().refresh ?? "rotate") === "rotate"
    if (rotates) this.tokens.replace(token)
    return this.issued({ ...grant, key, scope: asked.parameters.get("scope") ?? grant.scope }, rotates)
  }

  /** Without a person, so there is nothing to renew: it is asked for again. */
  private issuedAlone(asked: Asked, client: string, key: string | undefined): Answer {
    const { parameters } = asked
    const scope = this.grantedScope(parameters.get("scope"))
    return this.issued({ client, scope, resource: parameters.get("resource"), family: "", key }, false)
  }

  private issued(grant: Grant, refreshable: boolean): Answer {
    const { expiresIn } = this.script()
    const { accessToken, refreshToken } = this.tokens.issue(grant, refreshable)
    return ok(json({
      access_token: accessToken,
      token_type: grant.key === undefined ? "Bearer" : "DPoP",
      ...(expiresIn !== null && { expires_in: expiresIn ?? 3600 }),
      refresh_token: refreshToken,
      scope: grant.scope
    }, { headers: uncached }))
  }

  private protect(asked: Asked, request: AuthRequest): Answer {
    const script = this.script()
    const protection = script.protect?.(asked.http) ?? "token"
    if (protection === "open") return { outcome: "ok", reply: undefined }
    if (typeof protection === "object") return { outcome: "scripted", reply: protection }
    const required = script.requiredScope?.(asked.http)
    if (protection === "forbid") return this.forbidden(required)
    const grant = this.tokens.granted(asked.token)
    if (protection === "reject" || grant === undefined) return this.unauthorized(asked.token !== undefined)
    const disbelieved = this.disbelieved(asked, request, grant)
    if (disbelieved !== undefined) return disbelieved
    const granted = new Set((grant.scope ?? "").split(" "))
    return required === undefined || required.split(" ").every((_) => granted.has(_))
      ? { outcome: "ok", reply: undefined }
      : this.forbidden(required)
  }

  /** A token that is bound to a key comes with a proof of it, and under its own scheme. */
  private disbelieved(asked: Asked, request: AuthRequest, grant: Grant): Answer | undefined {
    const { dpop } = this.script()
    if (dpop === undefined) return undefined
    const scheme = /^\S+/.exec(asked.http.headers.authorization ?? "")?.[0]
    if (grant.key === undefined) {
      return scheme === "Bearer" && dpop.challenge !== undefined && dpop.challenge !== "DPoP"
        ? undefined
        : this.unauthorized(true)
    }
    const url = this.origins().resource + (asked.http.path.split("?")[0] ?? "")
    const proven = this.proven(asked, { url, token: asked.token })
    if (scheme !== "DPoP" || proven === undefined || proven.problem !== undefined || proven.key !== grant.key) {
      return this.refusedProof("invalid_dpop_proof", undefined)
    }
    const nonce = dpop.resourceNonce?.(request)
    return nonce === undefined || asked.proof?.claims.nonce === nonce
      ? undefined
      : this.refusedProof("use_dpop_nonce", nonce)
  }

  private refusedProof(error: string, nonce: string | undefined): Answer {
    const headers = {
      "www-authenticate": this.challenge({ error, scope: undefined }),
      ...(nonce !== undefined && { "dpop-nonce": nonce })
    }
    return { outcome: error, reply: json({ error }, { status: 401, headers }) }
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
    const text = parameters.map(([name, _]) => ` ${name}="${_}"`).join(",")
    const schemes = script.dpop === undefined ? "Bearer" : script.dpop.challenge ?? "DPoP"
    return schemes === "both" ? `Bearer${text}, DPoP algs="ES256"` : `${schemes}${text}`
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
