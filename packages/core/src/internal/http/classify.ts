/**
 * What a refusal or a failure of HTTP means.
 *
 * Owns: the way from status, headers and a bounded body, or from a failure of the exchange, to an `McpError`, and with it
 * the answer to "was it executed?".
 * May not touch: exchanges, sessions, time. Nothing here fails.
 *
 * | status | error | executed |
 * |---|---|---|
 * | 404, or 400 that says so about the session, with a session id that had worked | `SessionExpired` | no |
 * | 401 that says so about the session, and asks for no credentials, with a session id that had worked | `SessionExpired` | no |
 * | 400 to `initialize` with code -32022 | `VersionMismatch` | no |
 * | 401 | `Unauthorized` | no |
 * | 403 | `Forbidden` | no |
 * | 302, 303 to a POST | `HttpError` | maybe |
 * | 408, 425, 5xx | `HttpError` | maybe |
 * | 429 | `HttpError` | no |
 * | other 4xx with a JSON-RPC error for this very request | `HttpError` | as the error says |
 * | other 3xx, other 4xx | `HttpError` | no |
 */
import type { HttpFailure } from "../../HttpExchange.js"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import * as Errors from "../engine/errors.js"
import * as Secrets from "../secrets.js"

/** The request that a refusal is about. */
export interface Asked {
  readonly server: string
  readonly operation: string
  readonly method: "GET" | "POST"
  readonly id: McpProtocol.RequestId | undefined
  /** A session id went with it that the server had accepted before. */
  readonly sessionWorked: boolean
  /** What `initialize` asked for. */
  readonly version: string | undefined
  /** Values that were sent and must not show, should the server repeat them. */
  readonly secrets: ReadonlyArray<string>
}

/** An answer that is not a success. */
export interface Refusal {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly challenge: string | undefined
  readonly location: string | undefined
  /** As much of the body as was read. */
  readonly body: string
  /** Why there are no other credentials. */
  readonly error?: McpError.McpError
}

const bodyExcerpt = 1024
const challengeExcerpt = 2048
const unsupportedProtocolVersion = -32022

/** How servers say that they don't know a session, when they don't say 404. */
const sessionLost =
  /server not initialized|no valid session id|invalid (?:or missing )?session id|unknown (?:mcp-)?session|session (?:id )?(?:was )?not found|session (?:has |is )?expired/i

export const ofRefusal = (asked: Asked, refusal: Refusal, now: number): McpError.McpError => {
  const { operation, server } = asked
  const { status } = refusal
  if (isOfSession(asked, refusal)) {
    return new McpError.SessionExpired({ server, operation, executed: "no", status })
  }
  if (status === 401 || status === 403) {
    return refusal.error === undefined
      ? ofChallenge(asked, refusal)
      : withReason(ofChallenge(asked, refusal), refusal.error)
  }
  const rpc = rpcErrorOf(refusal.body, asked)
  if (status === 400 && operation === "initialize" && rpc !== undefined && rpc.code === unsupportedProtocolVersion) {
    const offered = supportedOf(rpc.data)
    if (offered !== undefined) return versionMismatch(asked, offered)
  }
  return new McpError.HttpError({
    server,
    operation,
    executed: executedOf(asked, status, rpc),
    status,
    body: excerpt(refusal.body, asked.secrets),
    ...optional("retryAfterMillis", retryAfterMillis(refusal.retryAfter, now)),
    ...optional("location", locationOf(asked, refusal)),
    ...optional("code", rpc?.code),
    ...optional("data", rpc?.data)
  })
}

/** What the server has said, and what we know about it. */
const withReason = (own: McpError.McpError, error: McpError.McpError): McpError.McpError => {
  if (own._tag === "Unauthorized" && error._tag === "Unauthorized") {
    const { challenge, executed, operation, server } = own
    return new McpError.Unauthorized({
      server,
      operation,
      executed,
      ...optional("challenge", challenge),
      ...optional("authorizationUrl", error.authorizationUrl),
      ...optional("detail", error.detail)
    })
  }
  if (own._tag === "Forbidden" && error._tag === "Forbidden") {
    const { body, challenge, executed, operation, server } = own
    return new McpError.Forbidden({
      server,
      operation,
      executed,
      body,
      ...optional("challenge", challenge),
      ...optional("scope", error.scope),
      ...optional("authorizationUrl", error.authorizationUrl)
    })
  }
  return Errors.about(error, own.operation, "no")
}

const ofChallenge = (asked: Asked, refusal: Refusal): McpError.McpError => {
  const { operation, server } = asked
  const challenge = refusal.challenge === undefined
    ? undefined
    : Secrets.without(refusal.challenge, asked.secrets).slice(0, challengeExcerpt)
  if (refusal.status === 401) {
    return new McpError.Unauthorized({ server, operation, executed: "no", ...optional("challenge", challenge) })
  }
  return new McpError.Forbidden({
    server,
    operation,
    executed: "no",
    body: excerpt(refusal.body, asked.secrets),
    ...optional("challenge", challenge),
    ...optional("scope", challenge === undefined ? undefined : scopeOf(challenge))
  })
}

const versionMismatch = (asked: Asked, offered: ReadonlyArray<string>) =>
  new McpError.VersionMismatch({
    server: asked.server,
    operation: asked.operation,
    executed: "no",
    requested: asked.version ?? McpProtocol.latestProtocolVersion,
    offered: [...offered],
    supported: [...McpProtocol.supportedProtocolVersions]
  })

/** The exchange failed before anything of an answer came. */
export const ofFailure = (asked: Asked, url: string, failure: HttpFailure): McpError.McpError => {
  const { operation, server } = asked
  const detail = excerpt(failure.detail, asked.secrets)
  if (!failure.sent) {
    return new McpError.ConnectFailed({
      server,
      operation,
      executed: "no",
      reason: failure.reason === "Lost" || failure.reason === "TooLarge" ? "Other" : failure.reason,
      url: shownUrl(url, asked.secrets),
      detail,
      ...optional("code", failure.code)
    })
  }
  if (failure.reason === "TooLarge") {
    return new McpError.ProtocolViolation({ server, operation, executed: "maybe", detail })
  }
  return new McpError.ConnectionClosed({ server, operation, executed: "maybe", reason: "Reset", detail })
}

/** `Retry-After`, in seconds or as a date. */
export const retryAfterMillis = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  const text = value.trim()
  const millis = /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(millis) ? undefined : Math.round(Math.min(Math.max(millis, 0), 2_147_483_647))
}

/** The part of a text from the server that an error shows. */
export const excerpt = (text: string, secrets: ReadonlyArray<string>, max: number = bodyExcerpt): string =>
  Secrets.shown(text, secrets, max)

/** A place, without what a person may not see; its path may hold a secret. */
export const shownUrl = (url: string, secrets: ReadonlyArray<string>): string =>
  Secrets.without(McpError.displayUrl(url), secrets)

const scopeOf = (challenge: string): string | undefined => {
  const found = /(?:^|[\s,])scope\s*=\s*(?:"([^"]*)"|([^\s,"]+))/i.exec(challenge)
  return found === null ? undefined : found[1] ?? found[2]
}

const locationOf = (asked: Asked, { location, status }: Refusal): string | undefined =>
  location === undefined || status < 300 || status >= 400 ? undefined : Secrets.without(location, asked.secrets)

/** The answer to a POST that was executed may be at the place that 302 and 303 point to. */
const executedOf = (asked: Asked, status: number, rpc: RpcError | undefined): McpError.Executed => {
  if (status >= 500 || status === 408 || status === 425) return "maybe"
  if (asked.method === "POST" && (status === 302 || status === 303)) return "maybe"
  if (status === 429 || rpc === undefined || !rpc.exact || status < 400) return "no"
  return Errors.remote(asked.server, asked.operation, { code: rpc.code }).executed
}

/** Older servers of the Rust SDK say 401 (its issue 689), and ask for no credentials with it. */
export const isOfSession = ({ sessionWorked }: Asked, { body, challenge, status }: Refusal): boolean =>
  sessionWorked &&
  (status === 404 || ((status === 400 || (status === 401 && challenge === undefined)) && saysSessionLost(body)))

/** An error about this very request may be one of the tool, which happens to look as if the session was lost. */
const saysSessionLost = (body: string): boolean => {
  if (!sessionLost.test(body)) return false
  const message = parse(body)
  if (!McpProtocol.isObject(message) || message.id === undefined || message.id === null) return true
  return McpProtocol.isObject(message.error) && sessionCodes.has(message.error.code)
}

const sessionCodes: ReadonlySet<unknown> = new Set([-32000, -32001, -32600])

interface RpcError {
  readonly code: number
  /** It has the id of the request. */
  readonly exact: boolean
  readonly data: unknown
}

/** The JSON-RPC error of a body, if it is about this request or about none. */
const rpcErrorOf = (body: string, { id, secrets }: Asked): RpcError | undefined => {
  if (!/^\s*\{/.test(body)) return undefined
  const message = parse(body)
  if (!McpProtocol.isObject(message) || !McpProtocol.isObject(message.error)) return undefined
  const { code, data } = message.error
  if (typeof code !== "number") return undefined
  const about = message.id
  const exact = about !== undefined && about !== null
  if (exact && (id === undefined || typeof about === "object" || String(about) !== String(id))) return undefined
  return { code, exact, data: shownData(data, secrets) }
}

const shownData = (data: unknown, secrets: ReadonlyArray<string>): unknown =>
  McpProtocol.freeze(data) ? Secrets.withoutInValue(data, secrets) : undefined

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const supportedOf = (data: unknown): ReadonlyArray<string> | undefined =>
  McpProtocol.isObject(data) && Array.isArray(data.supported)
    ? data.supported.filter((_) => typeof _ === "string").slice(0, 16).map((_) => McpError.displayText(_, 64))
    : undefined

const optional = <K extends string, A>(key: K, value: A | undefined): { readonly [_ in K]?: A } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [_ in K]?: A }
