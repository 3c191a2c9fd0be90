/**
 * The two servers behind `AuthFixture`.
 *
 * Owns: the script as it is now, and the record of requests and of secrets.
 * May not touch: sockets (`httpFixture.ts`), and what is answered (`endpoints.ts`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AuthFixture, AuthRequest, Kind, Script } from "../../AuthFixture.js"
import type { HttpFixture, LoggedRequest, Reply } from "../../HttpFixture.js"
import * as Http from "../httpFixture.js"
import * as Browser from "./browser.js"
import { claimOf } from "./clients.js"
import * as Documents from "./documents.js"
import { type Asked, Endpoints, jwtBearer } from "./endpoints.js"
import * as Proofs from "./proofs.js"

export const make = (script: Script = {}): Effect.Effect<AuthFixture, never, Scope.Scope> =>
  Effect.gen(function*() {
    // Neither server is asked before both are known.
    const receive = (at: AuthRequest["at"]) => (request: LoggedRequest) => fixture.receive(at, request)
    const resource = yield* Http.make({ override: receive("resource") })
    const authorization = yield* Http.make({ override: receive("authorization") })
    const fixture: Fixture = new Fixture(script, resource, authorization)
    return fixture
  })

class Fixture implements AuthFixture {
  readonly requests: Array<AuthRequest> = []
  readonly secrets = new Set<string>()
  private readonly endpoints: Endpoints
  private readonly origins: Documents.Origins

  constructor(
    private script: Script,
    readonly resource: HttpFixture,
    readonly authorization: HttpFixture
  ) {
    this.origins = { resource: resource.origin, authorization: authorization.origin }
    this.endpoints = new Endpoints(() => this.script, () => this.origins, (_) => this.secrets.add(_))
  }

  get url() {
    return this.resource.url
  }

  get issuer() {
    return Documents.issuerOf(this.script, this.origins)
  }

  get idp() {
    return Documents.idpOf(this.script, this.origins)
  }

  readonly change = (script: Script) =>
    Effect.sync(() => {
      this.script = { ...this.script, ...script }
    })

  readonly awaitRequests = (predicate: (requests: ReadonlyArray<AuthRequest>) => boolean) => {
    const reached = () => predicate(this.requests)
    return Effect.as(
      Effect.raceFirst(this.resource.awaitLog(reached), this.authorization.awaitLog(reached)),
      this.requests
    )
  }

  readonly count = (kind: Kind, predicate: (request: AuthRequest) => boolean = () => true) =>
    this.requests.filter((_) => _.kind === kind && predicate(_)).length

  readonly grants = (grant: string) => this.count("token", (_) => _.parameters.get("grant_type") === grant)

  readonly expireTokens = Effect.sync(() => this.endpoints.tokens.expireAccess())

  readonly revokeRefreshTokens = Effect.sync(() => this.endpoints.tokens.revokeRefresh())

  readonly forgetClients = Effect.sync(() => this.endpoints.clients.forget())

  readonly issue = (options: { readonly client?: string | undefined; readonly scope?: string | undefined } = {}) =>
    Effect.sync(() =>
      this.endpoints.tokens.issue({
        client: options.client ?? this.script.clients?.[0]?.id ?? "client",
        scope: options.scope,
        resource: Documents.resourceOf(this.script, this.origins),
        family: crypto.randomUUID()
      }, this.script.refresh !== "none")
    )

  readonly reuses = () => this.endpoints.tokens.reuses

  readonly browser = Browser.redirected

  readonly visit = Browser.visit

  receive(at: AuthRequest["at"], http: LoggedRequest): Reply | undefined {
    const asked = describe(this.script, at, http)
    for (const secret of secretsOf(asked)) this.secrets.add(secret)
    const record = (outcome: string | undefined): AuthRequest => ({ ...asked, outcome, index: this.requests.length })
    const overridden = this.script.override?.(record(undefined))
    if (overridden !== undefined) {
      this.requests.push(record(undefined))
      return overridden
    }
    const { outcome, reply } = this.endpoints.answer(asked, record(undefined))
    this.requests.push(record(outcome))
    return reply
  }
}

const describe = (script: Script, at: AuthRequest["at"], http: LoggedRequest): Asked => {
  const [path, query] = splitAt(http.path, "?")
  const kind = Documents.kindOf(script, at, path)
  const parameters = parametersOf(kind, query, http)
  const claim = kind === "token" || kind === "exchange" ? claimOf(http.headers.authorization, parameters) : undefined
  return {
    kind,
    at,
    parameters,
    missing: requiredOf(script, kind, parameters).filter((_) => (parameters.get(_) ?? "") === ""),
    client: claim?.client ?? parameters.get("client_id"),
    clientMethod: claim?.method,
    token: kind === "mcp" ? /^(?:Bearer|DPoP) (.*)$/i.exec(http.headers.authorization ?? "")?.[1] : undefined,
    proof: Proofs.read(http.headers.dpop),
    http
  }
}

const splitAt = (text: string, separator: string): readonly [string, string] => {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]
}

const parametersOf = (kind: Kind, query: string, http: LoggedRequest): ReadonlyMap<string, string> => {
  switch (kind) {
    case "token":
    case "exchange":
      return new Map(new URLSearchParams(http.body))
    case "register":
      return new Map(
        Object.entries(typeof http.message === "object" && http.message !== null ? http.message : {}).flatMap(
          ([name, value]) =>
            typeof value === "string"
              ? [[name, value] as const]
              : Array.isArray(value)
              ? [[name, value.join(" ")] as const]
              : []
        )
      )
    default:
      return new Map(new URLSearchParams(query))
  }
}

const requiredOf = (script: Script, kind: Kind, parameters: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  // What has no metadata is no resource that could be named.
  const resource = script.resourceMetadata === "none" ? [] : ["resource"]
  switch (kind) {
    case "authorize":
      return [...requiredOfAuthorize, ...resource]
    case "register":
      return ["redirect_uris"]
    case "token":
      switch (parameters.get("grant_type")) {
        case "authorization_code":
          return ["code", "redirect_uri", "code_verifier", ...resource]
        case "refresh_token":
          return ["refresh_token", ...resource]
        case jwtBearer:
          return ["assertion", ...resource]
        default:
          return ["grant_type"]
      }
    case "exchange":
      return ["subject_token", "subject_token_type", "requested_token_type", "audience", ...resource]
    default:
      return []
  }
}

const requiredOfAuthorize = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method"
]

const secretParameters = [
  "assertion",
  "code",
  "code_verifier",
  "client_secret",
  "client_assertion",
  "refresh_token",
  "subject_token"
]

const secretsOf = (asked: Asked): ReadonlyArray<string> => {
  const found = asked.kind === "token" || asked.kind === "exchange"
    ? secretParameters.map((_) => asked.parameters.get(_))
    : [asked.token]
  return found.filter((_): _ is string => _ !== undefined && _ !== "")
}
