/**
 * What a server says about who authorizes its users (RFC 9728).
 *
 * Owns: where that document is looked for, and that it is about this server.
 * May not touch: the authorization servers it names.
 */
import * as Effect from "effect/Effect"
import type * as McpError from "../../McpError.js"
import * as McpErrors from "../../McpError.js"
import * as Reasons from "./reasons.js"
import { objectOf, type Requests } from "./requests.js"
import * as Scopes from "./scopes.js"
import * as Urls from "./urls.js"

export interface Resource {
  /** As it is written there, which is how it is sent. */
  readonly resource: string
  readonly issuers: ReadonlyArray<string>
  readonly scopes: ReadonlyArray<string> | undefined
  /** It takes only tokens that are bound to a key (RFC 9449). */
  readonly bound: boolean
}

const what = "the metadata of the protected resource"
const millis = 10_000
const mostIssuers = 16
const wellKnown = "/.well-known/oauth-protected-resource"

/** The document, from the first place that has one; nothing where no place has. */
export const discover = (
  requests: Requests,
  server: URL,
  named: string | undefined
): Effect.Effect<Resource | undefined, McpError.McpError> =>
  Effect.gen(function*() {
    for (const url of placesOf(server, named)) {
      const answer = yield* requests.follow({ method: "GET", url, what, millis })
      if (Reasons.isTroubled(answer.status)) {
        return yield* Effect.fail(Reasons.troubled(requests.server, what, url, answer.status, undefined))
      }
      const document = answer.status === 200 ? objectOf(answer.body) : undefined
      if (document === undefined || typeof document.resource !== "string") continue
      return yield* read(requests.server, server, document.resource, document)
    }
    return undefined
  })

const placesOf = (server: URL, named: string | undefined): ReadonlyArray<URL> => {
  const places: Array<URL> = []
  const add = (url: URL | undefined) => {
    if (url !== undefined && !places.some((_) => _.href === url.href)) places.push(url)
  }
  // Of its own origin it may name any place, as the user has chosen to speak to it.
  const own = Urls.parse(named)
  add(own?.origin === server.origin && own.username === "" ? own : Urls.allowed(named, server))
  add(new URL(`${server.origin}${wellKnown}${Urls.pathOf(server)}`))
  add(new URL(`${server.origin}${wellKnown}`))
  return places
}

const read = (
  name: string,
  server: URL,
  resource: string,
  document: { readonly [key: string]: unknown }
): Effect.Effect<Resource, McpError.McpError> => {
  if (!Urls.covers(resource, server)) {
    return Effect.fail(
      Reasons.unauthorized(
        name,
        `its metadata is about another resource, ${McpErrors.displayUrl(resource)}, so no token is asked for`
      )
    )
  }
  const { authorization_servers: servers } = document
  const issuers = Array.isArray(servers) ? servers.filter((_) => typeof _ === "string").slice(0, mostIssuers) : []
  return Effect.succeed({
    resource,
    issuers,
    scopes: Scopes.ofList(document.scopes_supported),
    bound: document.dpop_bound_access_tokens_required === true
  })
}
