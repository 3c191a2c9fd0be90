/**
 * The changes of one resource, followed.
 *
 * Owns: the order: whoever follows listens before the server is asked to tell, so that nothing it tells is missed; and that
 * the server need not tell any more when nobody follows.
 * May not touch: what a new session is asked for; the subscriptions have that.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CallOptions, McpConnection } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as McpSession from "../../McpSession.js"
import type { Connection } from "./connection.js"

/** Nobody waits for it. */
const unsubscribeTimes = { timeout: "5 seconds", maxTotal: "5 seconds" } as const

/**
 * A resource as it changes: an element each time that the server says so, with its URI, or that of a part of it. It is
 * subscribed to when the stream is run, again in each new session, and not any more when the last such stream has ended. What
 * changes while there is no session is not told. A slow reader loses the oldest. The stream is a user of the connection, as
 * `hold` is.
 *
 * @example
 * ```ts
 * import { McpConnection } from "@mcp-runtime/core"
 * import { Effect, Stream } from "effect"
 *
 * const watch = (docs: McpConnection.McpConnection) =>
 *   Stream.runForEach(
 *     McpConnection.resourceUpdates(docs, "file:///handbook.md"),
 *     ({ uri }) => Effect.flatMap(McpConnection.readResource(docs, uri), ({ contents }) => Effect.log(contents))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category operations
 */
export const resourceUpdates = (
  connection: McpConnection,
  uri: string,
  options?: CallOptions
): Stream.Stream<{ readonly uri: string }, McpError.McpError> => {
  const { owner, perform } = connection as Connection
  const subscribed = perform({
    method: "resources/subscribe",
    uri,
    options,
    send: (session, options) => owner.subscriptions.during(uri, McpSession.subscribe(session, uri, options), false)
  })
  const left = (isOver: () => boolean) =>
    Effect.suspend(() => {
      const { live, subscriptions } = owner
      if (!isOver() || live === undefined) return Effect.void
      // Somebody may follow it again by the time that it is sent.
      const request = Effect.suspend(() =>
        subscriptions.uris.includes(uri) ? Effect.void : McpSession.unsubscribe(live.session, uri, unsubscribeTimes)
      )
      return Effect.asVoid(Effect.forkIn(Effect.interruptible(Effect.ignore(request)), live.scope))
    })
  return Stream.unwrapScoped(
    Effect.gen(function*() {
      const heard = yield* owner.notifications.subscribe
      yield* owner.usage.held
      yield* Effect.acquireRelease(Effect.sync(() => owner.subscriptions.follow(uri)), left)
      yield* subscribed
      return Stream.filterMap(heard, updateOf(uri))
    })
  )
}

/** A server may tell of a part of what was subscribed to. */
const isOf = (whole: string, uri: string): boolean =>
  uri.startsWith(whole) && (uri.length === whole.length || whole.endsWith("/") || "/?#:".includes(uri[whole.length]!))

const updateOf =
  (uri: string) => ({ method, params }: McpProtocol.Notification): Option.Option<{ readonly uri: string }> =>
    method === "notifications/resources/updated" && typeof params.uri === "string" && isOf(uri, params.uri)
      ? Option.some({ uri: params.uri })
      : Option.none()
