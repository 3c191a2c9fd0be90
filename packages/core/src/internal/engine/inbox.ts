/**
 * Notifications on their way to the application: to a bounded stream, and to its handlers one after the other.
 *
 * Owns: their order and their bounds. When a reader is too slow the oldest are dropped and counted, so that a flood can't
 * fill the memory.
 * May not touch: answers. A handler that finishes without waiting has finished before the answer that follows its
 * notification on the wire is handed out; one that waits delays later notifications, never an answer.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as ClientHandlers from "../../ClientHandlers.js"
import * as McpConfig from "../../McpConfig.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import { Backlog, type Bounds } from "../backlog.js"
import { Feed } from "../feed.js"
import { acquireRelease } from "../finalizers.js"
import { Measure } from "../protocol/json.js"
import * as Secrets from "../secrets.js"
import { handlersEndWithin, within } from "../within.js"

export interface Inbox {
  readonly offer: (notification: McpProtocol.Notification) => void
  /** What is there can still be read; nothing comes after it. */
  readonly end: () => void
  readonly stream: Stream.Stream<McpProtocol.Notification>
  /** Calls this, synchronously, with what is there and with what comes: none of it is in the stream any more. Total. */
  readonly follow: (listener: Listener) => void
  /** Counts those that are lost. */
  readonly dropped: (count: number) => void
}

type Listener = (notification: McpProtocol.Notification) => void

export interface Options {
  readonly server: string
  /** Where handlers run. */
  readonly runtime: Runtime.Runtime<never>
  readonly handlers: ClientHandlers.Handlers
  readonly bounds: Bounds<McpProtocol.Notification>
  readonly deadline: Duration.Duration | null
  /** What must not show, should the server repeat it. */
  readonly secrets: () => ReadonlyArray<string>
  readonly warning: (kind: McpTransport.WarningKind, detail: string) => void
}

/** What waits for one reader is together no larger than one message may be. */
export const boundsOf = ({ messageBytes, notifications }: McpConfig.Limits): Bounds<McpProtocol.Notification> => ({
  count: notifications,
  size: messageBytes,
  sizeOf: ({ method, params }) => Measure.of(messageBytes, method, params)
})

export const make = (options: Options): Effect.Effect<Inbox, never, Scope.Scope> =>
  Effect.gen(function*() {
    const dropped = (count: number) => {
      for (let i = 0; i < count; i++) {
        options.warning("DroppedNotification", "notifications wait for a slow reader; the oldest was dropped")
      }
    }
    const unasked = new Unasked(options.bounds, dropped)
    const handled = yield* handlerQueue(options, dropped)
    return {
      offer: (notification) => {
        unasked.offer(notification)
        handled?.offer(notification)
      },
      end: () => unasked.end(),
      get stream() {
        return unasked.stream
      },
      follow: (listener) => unasked.follow(listener),
      dropped
    }
  })

/** For one reader, or one listener. */
class Unasked {
  private readonly feed: Feed<McpProtocol.Notification>
  private listener: Listener | undefined = undefined

  constructor(
    bounds: Bounds<McpProtocol.Notification>,
    private readonly dropped: (count: number) => void
  ) {
    this.feed = new Feed(bounds)
  }

  offer(notification: McpProtocol.Notification): void {
    if (this.listener !== undefined) this.listener(notification)
    else this.dropped(this.feed.offer(notification))
  }

  end(): void {
    this.feed.end()
  }

  follow(listener: Listener): void {
    // What comes meanwhile comes after it.
    for (let early = this.feed.poll(); early !== undefined; early = this.feed.poll()) listener(early)
    this.listener = listener
  }

  get stream(): Stream.Stream<McpProtocol.Notification> {
    return this.feed.stream
  }
}

const handlerQueue = (
  options: Options,
  dropped: (count: number) => void
): Effect.Effect<HandlerQueue | undefined, never, Scope.Scope> =>
  options.handlers.onLog === undefined && options.handlers.onNotification === undefined
    ? Effect.succeed(undefined)
    : acquireRelease(
      Effect.sync(() => new HandlerQueue(options, dropped)),
      (queue) => queue.stop
    )

/** Runs one handler at a time. It starts where the notification arrives, so that a quick one needs no turn of the loop. */
class HandlerQueue {
  private readonly waiting: Backlog<McpProtocol.Notification>
  private current: Fiber.RuntimeFiber<void> | undefined = undefined
  private watch: Fiber.RuntimeFiber<unknown> | undefined = undefined
  private starting = false
  private stopped = false

  constructor(
    private readonly options: Options,
    private readonly dropped: (count: number) => void
  ) {
    this.waiting = new Backlog(options.bounds)
  }

  offer(notification: McpProtocol.Notification): void {
    if (this.stopped) return
    if (this.isBusy) return this.dropped(this.waiting.add(notification))
    this.run(notification)
    this.next()
  }

  get stop(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stopped = true
      this.waiting.clear()
      const running = [this.watch, this.current].filter((_) => _ !== undefined)
      return Effect.asVoid(within(Fiber.interruptAll(running), handlersEndWithin))
    })
  }

  /** A handler may cause the next arrival before it has left its first turn. */
  private get isBusy(): boolean {
    return this.current !== undefined || this.starting
  }

  private next(): void {
    while (!this.isBusy && !this.stopped) {
      const notification = this.waiting.take()
      if (notification === undefined) return
      this.run(notification)
    }
  }

  private run(notification: McpProtocol.Notification): void {
    this.starting = true
    const fiber = Runtime.runFork(this.options.runtime)(Effect.interruptible(handle(this.options, notification)))
    this.starting = false
    if (fiber.unsafePoll() === null) this.await(fiber)
  }

  private await(fiber: Fiber.RuntimeFiber<void>): void {
    this.current = fiber
    if (this.options.deadline !== null) {
      this.watch = Runtime.runFork(this.options.runtime)(
        Effect.interruptible(Effect.zipRight(Effect.sleep(this.options.deadline), Fiber.interruptFork(fiber)))
      )
    }
    fiber.addObserver((exit) => {
      if (Exit.isInterrupted(exit) && !this.stopped) this.options.warning("HandlerFailed", "a handler took too long")
      this.watch?.unsafeInterruptAsFork(fiber.id())
      this.watch = undefined
      this.current = undefined
      this.next()
    })
  }
}

const handle = (options: Options, notification: McpProtocol.Notification): Effect.Effect<void> => {
  const { onLog, onNotification } = options.handlers
  const context: ClientHandlers.HandlerContext = { server: options.server, method: notification.method }
  const shown = () => Secrets.shown(notification.method, options.secrets(), 128)
  const guarded = (effect: Effect.Effect<void, unknown>) =>
    Effect.catchAllCause(
      effect,
      () => Effect.sync(() => options.warning("HandlerFailed", `the handler for ${shown()} failed`))
    )
  const log = onLog !== undefined && notification.method === "notifications/message"
    ? guarded(Effect.suspend(() => onLog(logMessage(notification.params), context)))
    : Effect.void
  return onNotification === undefined
    ? log
    : Effect.zipRight(log, guarded(Effect.suspend(() => onNotification(notification, context))))
}

const levels: ReadonlySet<unknown> = new Set(McpConfig.LogLevel.literals)

/** A level that does not exist is taken for `info` rather than losing the message. */
const logMessage = (params: McpProtocol.JsonObject): McpProtocol.LogMessage => ({
  level: levels.has(params.level) ? params.level as McpProtocol.LogLevel : "info",
  ...(typeof params.logger === "string" && { logger: params.logger }),
  data: params.data
})
