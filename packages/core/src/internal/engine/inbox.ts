/**
 * Notifications on their way to the application: to a bounded stream, and to its handlers one after the other.
 *
 * Owns: their order and their bound. When a reader is too slow the oldest is dropped and counted, so that a flood can't
 * fill the memory.
 * May not touch: answers. A slow handler delays later notifications, never an answer.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as ClientHandlers from "../../ClientHandlers.js"
import * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"

export interface Inbox {
  readonly offer: (notification: McpProtocol.Notification) => void
  /** What is there can still be read; nothing comes after it. */
  readonly end: () => void
  readonly stream: Stream.Stream<McpProtocol.Notification>
}

export interface Options {
  readonly server: string
  readonly handlers: ClientHandlers.Handlers
  readonly capacity: number
  readonly deadline: Duration.Duration | null
  readonly warning: (kind: McpTransport.WarningKind, detail: string) => void
}

export const make = (options: Options): Effect.Effect<Inbox, never, Scope.Scope> =>
  Effect.gen(function*() {
    const incoming = yield* bounded(options)
    const { onLog, onNotification } = options.handlers
    if (onLog === undefined && onNotification === undefined) return incoming
    const handled = yield* bounded(options)
    yield* handled.stream.pipe(
      Stream.runForEach((notification) => handle(options, notification)),
      Effect.interruptible,
      Effect.forkScoped
    )
    return {
      offer: (notification) => {
        incoming.offer(notification)
        handled.offer(notification)
      },
      end: () => {
        incoming.end()
        handled.end()
      },
      stream: incoming.stream
    }
  })

const bounded = (options: Options): Effect.Effect<Inbox, never, Scope.Scope> =>
  Effect.gen(function*() {
    const mailbox = yield* Effect.acquireRelease(
      Mailbox.make<McpProtocol.Notification>({ capacity: options.capacity, strategy: "sliding" }),
      (mailbox) => mailbox.end
    )
    const isFull = () => Option.getOrElse(mailbox.unsafeSize(), () => 0) >= options.capacity
    return {
      offer: (notification) => {
        if (isFull()) {
          options.warning("DroppedNotification", `notifications wait for a slow reader; the oldest was dropped`)
        }
        mailbox.unsafeOffer(notification)
      },
      end: () => {
        mailbox.unsafeDone(Exit.void)
      },
      stream: Mailbox.toStream(mailbox)
    }
  })

const handle = (options: Options, notification: McpProtocol.Notification): Effect.Effect<void> => {
  const { onLog, onNotification } = options.handlers
  const context: ClientHandlers.HandlerContext = { server: options.server, method: notification.method }
  const log = onLog !== undefined && notification.method === "notifications/message"
    ? logMessage(notification.params)
    : undefined
  return Effect.zipRight(
    log === undefined ? Effect.void : guarded(options, notification, Effect.suspend(() => onLog!(log, context))),
    onNotification === undefined
      ? Effect.void
      : guarded(options, notification, Effect.suspend(() => onNotification(notification, context)))
  )
}

const guarded = (
  options: Options,
  notification: McpProtocol.Notification,
  effect: Effect.Effect<void, unknown>
): Effect.Effect<void> =>
  (options.deadline === null ? effect : Effect.timeout(effect, options.deadline)).pipe(
    Effect.catchAllCause(() =>
      Effect.sync(() => options.warning("HandlerFailed", `the handler for ${notification.method} failed`))
    )
  )

const levels: ReadonlySet<unknown> = new Set<McpProtocol.LogLevel>([
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency"
])

/** A level that does not exist is taken for `info` rather than losing the message. */
const logMessage = (params: McpProtocol.JsonObject): McpProtocol.LogMessage => ({
  level: levels.has(params.level) ? params.level as McpProtocol.LogLevel : "info",
  ...(typeof params.logger === "string" && { logger: params.logger }),
  data: params.data
})
