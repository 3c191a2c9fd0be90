/**
 * Whoever watches one session: a listener, and where time matters a fiber. They notice, and tell the owner.
 *
 * Owns: what is looked at, and how often.
 * May not touch: the state. Each fiber ends with the session's scope.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import type * as McpSession from "../../McpSession.js"
import type { Waited } from "../engine/calls.js"
import type { SessionListener, Signs } from "../engine/supervised.js"
import * as Steady from "../steady.js"
import { type Ears, isOutOfReach } from "./ears.js"
import type { Live } from "./live.js"

const defaultPingTimeout = Duration.seconds(5)

export const watch = (config: McpConfig.ServerConfig, live: Live, ears: Ears): Effect.Effect<void> => {
  const { keepAlive, lifetime } = config
  const fibers: Array<Effect.Effect<void>> = []
  if (keepAlive !== undefined) fibers.push(watchSilence(config, keepAlive, live, ears))
  if (typeof lifetime === "object") fibers.push(watchUse(lifetime.idle, live, ears))
  return Effect.zipRight(
    Effect.sync(() => live.session.follow(listener(live, ears))),
    Effect.forEach(fibers, (fiber) => Effect.forkIn(Effect.interruptible(fiber), live.scope), { discard: true })
  )
}

const listener = (live: Live, ears: Ears): SessionListener => {
  const hasStream = live.session.info.transport === "http"
  let wasOpen = false
  return {
    notification: (notification) => {
      if (!live.over) live.session.dropped(ears.notification(notification))
    },
    serverStream: (state) => {
      if (!hasStream) return
      // A stream that was open and is offered no more may mean that the server has forgotten the session.
      if (state === "none" && wasOpen) ears.suspected(live)
      wasOpen = state === "open" || (wasOpen && state !== "none")
      ears.streamDown(live, state === "down")
    },
    ended: (error) => ears.ended(live, error)
  }
}

const watchSilence = (
  config: McpConfig.ServerConfig,
  { every, timeout = defaultPingTimeout }: NonNullable<McpConfig.ServerConfig["keepAlive"]>,
  live: Live,
  ears: Ears
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const before = yield* live.session.stats
    yield* Effect.sleep(every)
    const { received } = yield* live.session.stats
    const busy = yield* isBusy(config, live)
    if (received === before.received && !busy && live.unreachable === undefined) yield* ping(live, timeout, ears)
  }).pipe(Effect.forever)

/** A server that takes one request at a time is not asked while it works; the request has its deadline. */
export const isBusy = (config: McpConfig.ServerConfig, live: Live): Effect.Effect<boolean> =>
  Effect.map(live.session.stats, (_) => _.quietSince === undefined && McpConfig.concurrencyOf(config) === 1)

const watchUse = (idle: Duration.Duration, live: Live, ears: Ears): Effect.Effect<void> =>
  Effect.gen(function*() {
    const millis = Duration.toMillis(idle)
    while (true) {
      const since = yield* ears.unusedSince(live)
      const left = since === undefined ? millis : since + millis - (yield* Steady.now)
      if (left <= 0) ears.idle(live)
      yield* Effect.sleep(left <= 0 ? millis : left)
    }
  })

/** Whether the server answers, whatever it answers. */
export const ping = (
  live: Live,
  timeout: Duration.Duration = defaultPingTimeout,
  ears: Ears
): Effect.Effect<void> => {
  const options: McpSession.RequestOptions & Waited = { timeout, maxTotal: timeout, ungated: true }
  return Effect.suspend(() => {
    const signs = live.session.signs()
    return Effect.match(live.session.requestWith("ping", undefined, nothing, options), {
      onSuccess: () => ears.reached(live),
      onFailure: (error) =>
        error._tag === "RequestTimeout" ? unanswered(live, error, signs, ears) : judge(live, error, ears)
    })
  })
}

/**
 * It is a silence only where nothing else has come either, and the ping was sent: it may have waited for a connection, or behind
 * what we have to say. Where the server has read nothing of that all the time, that is a silence, too.
 */
const unanswered = (live: Live, error: McpError.RequestTimeout, signs: Signs, ears: Ears): void => {
  if (signs.seen()) return ears.alive(live)
  return error.executed === "no" && !signs.tellReading ? ears.unasked(live) : ears.silent(live, error)
}

const nothing = () => ({ value: undefined })

const judge = (live: Live, error: McpError.McpError, ears: Ears): void => {
  if (error._tag === "SessionExpired") return ears.expired(live, error)
  if (error._tag === "Unauthorized") return ears.unauthorized(live, error)
  return isOutOfReach(error) ? ears.unreachable(live, error) : ears.reached(live)
}
