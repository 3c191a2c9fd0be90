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

/**
 * The document, from the first place that has one; nothing where no place has. It may be about something wider than the
 * server. Then it is the one at the well-known place of that: who answers for a part of an origin is not believed about more.
 */
export const discover = (
  requests: Requests,
  server: URL,
  named: string | undefined
): Effect.Effect<Resource | undefined, McpError.McpError> =>
  Effect.gen(function*() {
    for (const url of placesOf(server, named)) {
      const document = yield* documentAt(requests, url)
      if (document === undefined) continue
      const { resource } = document
      const reach = Urls.reachOf(resource, server)
      if (reach === "same") return read(document)
      const own = reach === undefined ? undefined : placeOf(new URL(resource))
      const about = own === undefined || own.href === url.href ? document : yield* documentAt(requests, own)
      const isOwn = about !== undefined && own !== undefined && Urls.reachOf(about.resource, server) === "wider" &&
        placeOf(new URL(about.resource)).href === own.href
      return isOwn ? read(about) : yield* Effect.fail(anotherResource(requests.server, resource))
    }
    return undefined
  })

interface Document {
  readonly resource: string
  readonly [field: string]: unknown
}

const documentAt = (requests: Requests, url: URL): Effect.Effect<Document | undefined, McpError.McpError> =>
  Effect.flatMap(requests.follow({ method: "GET", url, what, millis }), ({ body, status }) => {
    if (Reasons.isTroubled(status)) {
      return Effect.fail(Reasons.troubled(requests.server, what, url, status, undefined))
    }
    const { resource, ...document } = (status === 200 ? objectOf(body) : undefined) ?? {}
    return Effect.succeed(typeof resource === "string" ? { ...document, resource } : undefined)
  })

/** Where the metadata of a resource is: with its path and its query (RFC 9728, 3.1). */
const placeOf = (resource: URL): URL =>
  new URL(`${resource.origin}${wellKnown}${Urls.pathOf(resource)}${resource.search}`)

const withoutQuery = (url: URL): URL => {
  const bare = new URL(url)
  bare.search = ""
  return bare
}

const placesOf = (server: URL, named: string | undefined): ReadonlyArray<URL> => {
  const places: Array<URL> = []
  const add = (url: URL | undefined) => {
    if (url !== undefined && !places.some((_) => _.href === url.href)) places.push(url)
  }
  // Of its own origin it may name any place, as the user has chosen to speak to it.
  const own = Urls.parse(named)
  add(own?.origin === server.origin && own.username === "" ? own : Urls.allowed(named, server))
  add(placeOf(server))
  // Parameters of a server's URL are often settings, of which its metadata knows nothing.
  add(withoutQuery(placeOf(server)))
  add(new URL(`${server.origin}${wellKnown}`))
  return places
}

const anotherResource = (server: string, resource: string): McpError.McpError =>
  Reasons.unauthorized(
    server,
    `its metadata is about another resource, ${McpErrors.displayUrl(resource)}, so no token is asked for`
  )

const read = (document: Document): Resource => {
  const { authorization_servers: servers } = document
  const issuers = Array.isArray(servers) ? servers.filter((_) => typeof _ === "string").slice(0, mostIssuers) : []
  return {
    resource: document.resource,
    issuers,
    scopes: Scopes.ofList(document.scopes_supported),
    bound: document.dpop_bound_access_tokens_required === true
  }
}
