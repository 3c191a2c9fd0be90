/**
 * As which client we come to an authorization server.
 *
 * Owns: the choice among a client that the application was given, the metadata it publishes, and a registration; how a
 * client shows who it is; and that each client is shown to its own authorization server only.
 * May not touch: tokens.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type { Authority } from "./authority.js"
import * as Reasons from "./reasons.js"
import { type Client, otherSecret, type Record } from "./record.js"
import { objectOf, type Requests } from "./requests.js"

export type OAuth = Extract<NonNullable<McpConfig.AnyHttpConfig["auth"]>, { readonly type: "oauth" }>

/** The client that the application was given, if there is one. It must not be shown to another authorization server. */
export const given = (
  server: string,
  oauth: Pick<OAuth, "clientId" | "clientSecret" | "issuer">,
  authority: Authority,
  record: Record
): Effect.Effect<Client | undefined, McpError.McpError> => {
  if (oauth.issuer !== undefined && oauth.issuer !== authority.issuer) {
    return Effect.fail(
      Reasons.unauthorized(
        server,
        `it wants tokens of ${McpError.displayUrl(authority.issuer)}, but its field "auth.issuer" names ${
          McpError.displayUrl(oauth.issuer)
        }`
      )
    )
  }
  const { clientId } = oauth
  if (clientId === undefined) return Effect.succeed(undefined)
  const bound = record.clients.find((_) => _.kind === "given" && _.clientId === clientId)
  if (oauth.issuer === undefined && bound !== undefined && bound.issuer !== authority.issuer) {
    return Effect.fail(
      Reasons.unauthorized(
        server,
        `it now wants tokens of ${McpError.displayUrl(authority.issuer)}, and the configured client has belonged to ${
          McpError.displayUrl(bound.issuer)
        }; set "auth.issuer" to say where it belongs`
      )
    )
  }
  return Effect.succeed({
    issuer: authority.issuer,
    kind: "given",
    clientId,
    clientSecret: oauth.clientSecret,
    expiresAt: undefined,
    method: undefined,
    redirectUri: undefined
  })
}

/** A client that is known already, or can be had without asking. */
export const known = (
  server: string,
  oauth: OAuth,
  authority: Authority,
  record: Record,
  now: number
): Effect.Effect<Client | undefined, McpError.McpError> =>
  Effect.map(given(server, oauth, authority, record), (client) => {
    if (client !== undefined) return client
    if (authority.documents && oauth.clientMetadataUrl !== undefined) {
      return {
        issuer: authority.issuer,
        kind: "document",
        clientId: oauth.clientMetadataUrl,
        clientSecret: undefined,
        expiresAt: undefined,
        method: "none",
        redirectUri: undefined
      }
    }
    return record.clients.find((_) =>
      _.kind === "registered" && _.issuer === authority.issuer && (_.expiresAt === undefined || _.expiresAt > now)
    )
  })

const what = "the registration"
const millis = 15_000

/** A registration of its own (RFC 7591). */
export const register = (
  requests: Requests,
  authority: Authority,
  redirectUri: string,
  scopes: ReadonlyArray<string>
): Effect.Effect<Client, McpError.McpError> =>
  Effect.gen(function*() {
    const { server } = requests
    if (authority.registrationEndpoint === undefined) {
      return yield* Effect.fail(
        Reasons.unauthorized(
          server,
          `its authorization server ${
            McpError.displayUrl(authority.issuer)
          } registers no clients by itself; register one there, and set "auth.clientId"`
        )
      )
    }
    const url = new URL(authority.registrationEndpoint)
    const answer = yield* requests.send({
      method: "POST",
      url,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "mcp-runtime",
        application_type: "native",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: wished(authority.methods),
        ...(scopes.length === 0 ? undefined : { scope: scopes.join(" ") })
      }),
      what,
      millis
    })
    if (Reasons.isTroubled(answer.status)) {
      return yield* Effect.fail(Reasons.troubled(server, what, url, answer.status, undefined))
    }
    const body = objectOf(answer.body)
    const clientId = body?.client_id
    if (answer.status < 200 || answer.status > 299 || typeof clientId !== "string" || !printable.test(clientId)) {
      const secrets = requests.exposed()
      const why = Reasons.shown(body?.error_description, secrets) ?? Reasons.shown(body?.error, secrets)
      return yield* Effect.fail(
        Reasons.unauthorized(
          server,
          `its authorization server has refused to register this client (HTTP ${answer.status})${
            why === undefined ? "" : `: ${why}`
          }`
        )
      )
    }
    const secret = body?.client_secret
    const expires = body?.client_secret_expires_at
    const method = body?.token_endpoint_auth_method
    return {
      issuer: authority.issuer,
      kind: "registered",
      clientId,
      clientSecret: typeof secret === "string" && otherSecret.test(secret) ? Redacted.make(secret) : undefined,
      expiresAt: typeof expires === "number" && expires > 0 ? expires * 1000 : undefined,
      method: usable.find((_) => _ === method),
      redirectUri
    }
  })

const printable = /^[\x20-\x7e]{1,4096}$/

/** This client can keep no secret, so it wants none. */
const wished = (methods: ReadonlyArray<string> | undefined): string =>
  (methods ?? ["client_secret_basic"]).find((_) => _ === "none") ??
    (methods ?? []).find((_) => _ === "client_secret_post" && !methods!.includes("client_secret_basic")) ??
    "client_secret_basic"

export type Method = "none" | "client_secret_basic" | "client_secret_post"

const usable: ReadonlyArray<Method> = ["client_secret_basic", "client_secret_post", "none"]

/**
 * How a client shows who it is: as it was registered, where the server supports that; else by what the server supports,
 * also if that is nothing at all while there is a secret.
 */
export const methodOf = (client: Client, authority: Pick<Authority, "methods">): Method => {
  const { methods } = authority
  if (client.clientSecret === undefined) return "none"
  const supported = (method: string) => methods === undefined || methods.length === 0 || methods.includes(method)
  const registered = usable.find((_) => _ === client.method)
  if (registered !== undefined && supported(registered)) return registered
  return usable.find(supported) ?? "client_secret_basic"
}

const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

/** The headers and parameters by which a client shows who it is. */
export const authenticated = (
  client: Client,
  authority: Pick<Authority, "methods">
): { readonly headers: { readonly [name: string]: string }; readonly params: ReadonlyArray<[string, string]> } => {
  const { clientId, clientSecret } = client
  switch (methodOf(client, authority)) {
    case "client_secret_basic": {
      const both = `${formEncoded(clientId)}:${formEncoded(Redacted.value(clientSecret!))}`
      return { headers: { authorization: `Basic ${btoa(both)}` }, params: [] }
    }
    case "client_secret_post":
      return { headers: {}, params: [["client_id", clientId], ["client_secret", Redacted.value(clientSecret!)]] }
    case "none":
      return { headers: {}, params: [["client_id", clientId]] }
  }
}
