/**
 * What all exchanges of one session share.
 *
 * Owns: where the server is, the headers that go with every request, and what is under way.
 * May not touch: the meaning of messages.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { HttpClient } from "../../HttpExchange.js"
import type { Authorization, Credentials } from "../../McpAuth.js"
import * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type { TransportEvents } from "../../McpTransport.js"
import * as Urls from "../auth/urls.js"
import { headerProblem } from "../config/values.js"
import * as Url from "../exchange/url.js"
import { acquireRelease } from "../finalizers.js"
import * as Secrets from "../secrets.js"
import { Slots } from "../slots.js"
import * as Classify from "./classify.js"
import type { Exchange } from "./exchange.js"
import { Hidden, valuesOf } from "./hidden.js"
import { Linger } from "./linger.js"
import type { Timers } from "./timers.js"
import * as Timer from "./timers.js"

export type Headers = { readonly [name: string]: string }

/** Where the server is, and what the configuration sends with every request. */
export interface Target {
  /** Without user, password and fragment. */
  readonly url: string
  readonly origin: string
  /** Whoever is in between can read what goes there, and nobody has said that this is all right. */
  readonly plain: boolean
  readonly headers: Headers
  readonly secrets: ReadonlyArray<string>
}

export interface Wire {
  readonly config: McpConfig.AnyHttpConfig
  readonly server: string
  readonly target: Target
  readonly client: HttpClient
  /** Who we are to the server, where that is found out when it asks. */
  readonly credentials: Credentials | undefined
  readonly events: TransportEvents
  readonly limits: McpConfig.Limits
  readonly timers: Timers
  /** For a second. */
  readonly linger: Linger
  /** The same where somebody waits for a socket: as long as a server takes that ends its stream with the answer. */
  readonly brief: Linger
  /** As long as messages without an answer may take. */
  readonly notes: { readonly usual: Linger; readonly cancelled: Linger }
  /** Every exchange that holds a socket. */
  readonly live: Slots<Exchange>
  /** From here on nothing is sent and nothing is reported. */
  closed: boolean
  /** The headers of the last request, which are those of the next one as long as neither part changes. */
  authorized: { readonly from: Headers; readonly header: string; readonly headers: Headers } | undefined
  /** What the last message was told that could not be sent because too many were under way. */
  refusal: McpError.McpError | undefined
  /** What must not show. */
  readonly hidden: Hidden
  /** Ends what waits for new credentials. */
  unfollow: (() => void) | undefined
  /** Is told of each request that was accepted, by the credentials that it was sent with. */
  onAccepted: ((sent: string) => void) | undefined
}

/** For a message without an answer, where requests have no deadline. */
const noteTime = Duration.seconds(30)
/** Nothing is lost with it, and a server that has hung brings many. In milliseconds. */
const cancelledTime = 5000

const notesOf = (config: McpConfig.AnyHttpConfig, timers: Timers): Wire["notes"] => {
  const usual = Duration.toMillis(McpConfig.timeoutsOf(config).request ?? noteTime)
  return { usual: new Linger(timers, usual), cancelled: new Linger(timers, Math.min(usual, cancelledTime)) }
}

export type Parts = [
  config: McpConfig.AnyHttpConfig,
  client: HttpClient,
  events: TransportEvents,
  credentials?: Credentials
]

/** A transport over a wire of its own, until the scope closes. */
export const scoped = <T extends { readonly close: Effect.Effect<void> }>(
  parts: Parts,
  transport: (wire: Wire) => T
): Effect.Effect<T, McpError.McpError, Scope.Scope> =>
  Effect.flatMap(
    make(...parts),
    (wire) => acquireRelease(Effect.sync(() => transport(wire)), (_) => _.close)
  )

const make = (...[config, client, events, credentials]: Parts): Effect.Effect<Wire, McpError.McpError> =>
  Effect.zipWith(targetOf(config), Timer.make, (target, timers) => ({
    config,
    server: config.name,
    target,
    client,
    credentials,
    events,
    limits: McpConfig.limitsOf(config),
    timers,
    linger: new Linger(timers, 1000),
    brief: new Linger(timers, 50),
    notes: notesOf(config, timers),
    live: new Slots(),
    closed: false,
    authorized: undefined,
    refusal: undefined,
    hidden: new Hidden(target.secrets),
    unfollow: undefined,
    onAccepted: undefined
  }))

const targetOf = (config: McpConfig.AnyHttpConfig): Either.Either<Target, McpError.McpError> => {
  const parsed = Url.parse(config.url)
  if (parsed === undefined) {
    return Either.left(
      new McpError.ConnectFailed({
        server: config.name,
        operation: "open",
        executed: "no",
        reason: "BadUrl",
        url: McpError.displayUrl(config.url),
        detail: "not an http:// or https:// URL"
      })
    )
  }
  parsed.url.hash = ""
  const headers: Record<string, string> = {}
  if (parsed.authorization !== undefined) headers.authorization = parsed.authorization
  for (const [name, value] of Object.entries(config.headers ?? {})) headers[name.toLowerCase()] = Redacted.value(value)
  const plain = Urls.isInTheClear(parsed.url, config)
  if (plain && hasToken(headers)) return Either.left(tokenInTheClear(config.name, "open", "headers"))
  return Either.right({
    url: parsed.url.href,
    origin: parsed.url.origin,
    plain,
    headers,
    secrets: Secrets.spellingsOf([
      ...valuesOf(headers),
      ...proxyCredentials(config),
      ...queryValues(parsed.url),
      ...(config.secrets ?? []).map(Redacted.value)
    ])
  })
}

/** What is in front of a value is dropped on its way. */
const hasToken = ({ authorization }: Headers): boolean => /^\s*(?:bearer|dpop)\s/i.test(authorization ?? "")

/** Nothing of it was sent. */
const tokenInTheClear = (server: string, operation: string, field: "headers" | "requestHeaders"): McpError.McpError =>
  new McpError.ConfigInvalid({
    server,
    operation,
    executed: "no",
    problems: [{ field: "url", problem: `${Urls.plainProblem} (${field} has an Authorization header with one)` }]
  })

/** A proxy that is handed requests as they are may repeat what it was given, too. */
const proxyCredentials = ({ proxy }: McpConfig.AnyHttpConfig): ReadonlyArray<string> => {
  const authorization = proxy && Url.parse(Redacted.value(proxy))?.authorization
  return authorization === undefined ? [] : valuesOf({ "proxy-authorization": authorization })
}

/** What a URL may carry in place of a header, as it was written and as a server reads it. */
const queryValues = (url: URL): ReadonlyArray<string> => {
  const written = url.search.slice(1).split("&").map((_) => _.slice(_.indexOf("=") + 1))
  return [...written, ...url.searchParams.values()]
}

/**
 * Gives the headers for one request: at once, unless the configuration has an Effect for them. Exactly one of the two
 * functions is called, unless the answer of this function was called before.
 */
export const withHeaders = (
  wire: Wire,
  operation: string,
  headers: Headers,
  go: (headers: Headers, secrets: ReadonlyArray<string>) => void,
  fail: (error: McpError.McpError) => void
): (() => void) | undefined => {
  const { credentials } = wire
  if (credentials === undefined) return withRequestHeaders(wire, operation, headers, go, fail)
  const proceed = (authorization: Authorization) =>
    withRequestHeaders(wire, operation, authorized(wire, headers, authorization), go, fail)
  const ready = credentials.current()
  if (ready !== undefined) return proceed(ready)
  let cancelNext: (() => void) | undefined
  const cancel = wire.timers.run(credentials.prepare, (exit) => {
    if (Exit.isSuccess(exit)) cancelNext = proceed(exit.value)
    else fail(headersFailed(wire, operation, exit.cause))
  })
  return () => {
    cancel()
    cancelNext?.()
  }
}

/** The headers with our credentials in them. */
export const authorized = (wire: Wire, headers: Headers, { header }: Authorization): Headers => {
  if (header === undefined) return headers
  const last = wire.authorized
  if (last !== undefined && last.from === headers && last.header === header) return last.headers
  const next = { ...headers, authorization: header }
  wire.authorized = { from: headers, header, headers: next }
  return next
}

/** Whatever was sent in this session is hidden in all of it, also where it is sent again in another request's place. */
export const hide = (wire: Wire, headers?: Headers): ReadonlyArray<string> =>
  wire.hidden.with(wire.credentials?.secrets() ?? Secrets.none, headers)

/** For errors that the protocol makes of what the server says. */
export const lent = (wire: Wire, sessionId: string | undefined): ReadonlyArray<string> =>
  sessionId === undefined ? hide(wire) : [...hide(wire), sessionId]

const withRequestHeaders: typeof withHeaders = (wire, operation, headers, go, fail) => {
  const dynamic = wire.config.requestHeaders
  if (dynamic === undefined) {
    go(headers, hide(wire))
    return undefined
  }
  return wire.timers.run(dynamic, (exit) => {
    if (Exit.isFailure(exit)) return fail(headersFailed(wire, operation, exit.cause))
    const added = checked(exit.value)
    if (Either.isLeft(added)) return fail(badHeaders(wire, operation, added.left))
    if (wire.target.plain && hasToken(added.right)) {
      return fail(tokenInTheClear(wire.server, operation, "requestHeaders"))
    }
    go({ ...headers, ...added.right }, hide(wire, added.right))
  })
}

const checked = (
  given: { readonly [name: string]: string | Redacted.Redacted<string> }
): Either.Either<Headers, string> => {
  if (typeof given !== "object" || given === null) return Either.left("must give an object of headers")
  const headers: Record<string, string> = {}
  for (const [name, secret] of Object.entries(given)) {
    const value = Redacted.isRedacted(secret) ? Redacted.value(secret) : secret
    if (typeof value !== "string") return Either.left(`the value of "${name.slice(0, 64)}" is not a text`)
    const problem = headerProblem(name, value)
    if (problem !== undefined) return Either.left(problem)
    headers[name.toLowerCase()] = value
  }
  return Either.right(headers)
}

const badHeaders = (wire: Wire, operation: string, problem: string) =>
  new McpError.ConfigInvalid({
    server: wire.server,
    operation,
    executed: "no",
    problems: [{ field: "requestHeaders", problem }]
  })

/** One of our own errors is passed on, so that credentials can say what they need. The text of any other may be a secret. */
const headersFailed = (wire: Wire, operation: string, cause: Cause.Cause<unknown>): McpError.McpError => {
  const failure = Cause.failureOption(cause)
  if (failure._tag === "Some" && McpError.isMcpError(failure.value) && failure.value.executed === "no") {
    return failure.value
  }
  return new McpError.ConnectFailed({
    server: wire.server,
    operation,
    executed: "no",
    reason: "Other",
    url: Classify.shownUrl(wire.target.url, wire.target.secrets),
    detail: "the Effect \"requestHeaders\" of the configuration failed, so nothing was sent"
  })
}

/** Stops whatever is under way, without a report. */
export const stop = (wire: Wire): void => {
  wire.closed = true
  wire.unfollow?.()
  wire.unfollow = undefined
  // The last request may be accepted as well, and nobody is to hear of it.
  wire.onAccepted = undefined
  for (const exchange of wire.live.all()) exchange.abort()
  wire.timers.cancelAll()
}
