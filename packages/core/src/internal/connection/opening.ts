/**
 * From a channel to a session that is as good as the one before it.
 *
 * Owns: the order of one opening: handshake, log level, subscriptions, lists. All of it before anybody may use the session.
 * May not touch: when it is tried, and what a failure means.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import type { Items } from "../../Catalog.js"
import * as McpConfig from "../../McpConfig.js"
import type { ConnectionOptions } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as McpSession from "../../McpSession.js"
import type * as McpTransport from "../../McpTransport.js"
import type * as Catalog from "../catalog/catalog.js"
import type { Kind } from "../catalog/shelf.js"
import type { Waited } from "../engine/calls.js"
import * as Errors from "../engine/errors.js"
import * as Lines from "../telemetry/lines.js"
import type { Metered } from "../telemetry/meter.js"
import { together } from "../together.js"
import { withinHandshake } from "../withinHandshake.js"
import type { Live } from "./live.js"
import type { LogLevelWish, Subscriptions } from "./wishes.js"

/** What the application has asked of earlier sessions, and expects of the next one. */
export interface Wishes {
  readonly catalog: Catalog.Internal
  readonly subscriptions: Subscriptions
  readonly logLevel: LogLevelWish
  /** The span of whoever has asked for it, where there is one. */
  readonly askedIn: Tracer.AnySpan | undefined
}

export const open = (
  channel: McpTransport.Channel,
  options: ConnectionOptions & Metered,
  wishes: Wishes,
  generation: number
): Effect.Effect<McpSession.McpSession, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const session = yield* McpSession.open(channel, {
      ...sessionOptions(options),
      logLevel: wishes.logLevel.level,
      concurrency: McpConfig.concurrencyOf(channel.config),
      generation
    })
    yield* restoreInTime(session, channel.config, wishes)
    // Not everything of it complains when the session ends under it.
    if (yield* Deferred.isDone(session.closed)) {
      const reason = yield* Deferred.await(session.closed)
      return yield* Effect.fail(Errors.about(reason, "open", "no"))
    }
    return session
  })

/** A session for one call: it hears nothing unasked. */
export const openAside = (
  channel: McpTransport.Channel,
  options: ConnectionOptions & Metered,
  generation: number
): Effect.Effect<McpSession.McpSession, McpError.McpError, Scope.Scope> =>
  McpSession.open(channel, { ...sessionOptions(options), generation, listen: false })

const sessionOptions = (
  { capabilities, clientInfo, handlers, meter, requests, tap }: ConnectionOptions & Metered
): McpSession.SessionOptions & Metered => ({
  capabilities,
  clientInfo,
  handlers,
  requests,
  tap,
  meter
})

const restoreInTime = (
  session: McpSession.McpSession,
  config: McpConfig.ServerConfig,
  wishes: Wishes
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() =>
    wishes.subscriptions.uris.length === 0 && wishes.catalog.shelves.listed.length === 0
      ? Effect.void
      : withinHandshake(config, restore(session, wishes), () => ({
        detail: "the server did not give its lists and subscriptions again"
      }))
  )

/** A server that comes back is not asked for hundreds of them at once. */
const subscriptionsAtOnce = 8

const restore = (session: McpSession.McpSession, wishes: Wishes): Effect.Effect<void, McpError.McpError> =>
  Effect.zipRight(
    together(
      wishes.subscriptions.uris,
      (uri) =>
        tolerating(McpSession.subscribe(session, uri, unattended), `it could not be subscribed to a resource again`),
      subscriptionsAtOnce
    ),
    refresh(session, wishes.catalog)
  )

/** Lists again what was listed before. What can't be listed is out of date, which is no reason to have no session. */
export const refresh = (
  session: McpSession.McpSession,
  catalog: Catalog.Internal
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    const kinds = catalog.shelves.listed
    catalog.shelves.outdate(kinds)
    return Effect.asVoid(together(
      kinds,
      (kind) => tolerating(list(session, catalog, kind), `its ${kind} could not be listed again`)
    ))
  })

/** The same where the server could not be heard for a while. */
export const refreshUnheard = (
  session: McpSession.McpSession,
  catalog: Catalog.Internal
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    catalog.unheard()
    return refresh(session, catalog)
  })

/** A complete listing, which the catalogue remembers. */
const list = (
  session: McpSession.McpSession,
  catalog: Catalog.Internal,
  kind: Kind
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    const began = catalog.shelves.of(kind).begin()
    return Effect.map(listings[kind](session), (listing) => catalog.remember(kind, began, listing as never))
  })

/** A list in this session, and in no other one; nothing where the session ends before. */
export const relist = <K extends Kind>(
  live: Live,
  kind: K,
  hear: (live: Live, error: McpError.McpError) => void
): Effect.Effect<McpProtocol.Listing<Items[K]> | undefined, McpError.McpError> =>
  Effect.catchAll(
    listings[kind](live.session) as Effect.Effect<McpProtocol.Listing<Items[K]>, McpError.McpError>,
    (error) => {
      hear(live, error)
      return live.over || isGone(error) ? Effect.succeed(undefined) : Effect.fail(error)
    }
  )

/** Nobody waits for it. */
const unattended: McpSession.RequestOptions & Waited = { unattended: true }

const listings: {
  readonly [kind in Kind]: (
    session: McpSession.McpSession
  ) => Effect.Effect<McpProtocol.Listing<unknown>, McpError.McpError>
} = {
  tools: (_) => McpSession.listTools(_, unattended),
  prompts: (_) => McpSession.listPrompts(_, unattended),
  resources: (_) => McpSession.listResources(_, unattended),
  templates: (_) => McpSession.listResourceTemplates(_, unattended)
}

/** A server that refuses is still a server; one that is gone is not. */
const tolerating = (
  effect: Effect.Effect<void, McpError.McpError>,
  detail: string
): Effect.Effect<void, McpError.McpError> =>
  Effect.catchAll(effect, (error) =>
    isGone(error)
      ? Effect.fail(error)
      : Lines.about(error.server, error.operation)(Effect.logWarning(`${detail}: ${error.message}`)))

/** Whether the session it happened in is of no use any more. */
const isGone = (error: McpError.McpError): boolean =>
  error._tag === "SessionExpired" || error._tag === "ConnectionClosed" || error._tag === "ConnectFailed"
