/**
 * The owner of one server's sessions.
 *
 * Owns: opening and closing, the state, who waits for a session. One fiber takes one event after the other; whatever
 * others notice or want reaches it as an event, and what is about an older session or try changes nothing.
 * May not touch: what calls send, and whether they are sent again.
 *
 * | event      | while there is a session           | while a try is under way      | otherwise                                       |
 * |------------|------------------------------------|-------------------------------|-------------------------------------------------|
 * | `Demand`   | whoever waits gets it              | they wait for it              | a try begins, or they get the reason against it |
 * | `Tried`    | -                                  | a session, or the next step   | what came too late was closed by who aborted it |
 * | `Lost`     | it is closed or drains; a try      | -                             | -                                               |
 * | `Shaken`   | `Degraded`, and pings until heard  | -                             | -                                               |
 * | `Due`      | a ping                             | -                             | the next try                                    |
 * | `Idle`     | everything is closed               | -                             | -                                               |
 * | `Command`  | at any moment: `close`, `reconnect`, `disable`, `enable`                                             |
 *
 * The pointer to the current session is cleared by whoever notices its end, at once, so that nothing is sent over it any
 * more; everything else about the end is the owner's.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as McpConfig from "../../McpConfig.js"
import type { ConnectionOptions, ConnectionState } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import * as Errors from "../engine/errors.js"
import { within } from "../within.js"
import { Known } from "./known.js"
import { isRemote, type Ladder, patience } from "./ladder.js"
import { Live } from "./live.js"
import * as Opening from "./opening.js"
import type { States } from "./states.js"
import { type Ears, ping, watch } from "./watch.js"

type Command = "close" | "reconnect" | "disable" | "enable"

export type OwnerEvent =
  | { readonly _tag: "Demand" }
  | { readonly _tag: "Tried"; readonly attempt: number; readonly exit: Exit.Exit<Live, McpError.McpError> }
  | { readonly _tag: "Lost"; readonly live: Live; readonly error: McpError.McpError; readonly drain: boolean }
  | { readonly _tag: "Shaken"; readonly live: Live }
  | { readonly _tag: "Due"; readonly timer: number }
  | { readonly _tag: "Idle"; readonly live: Live }
  | { readonly _tag: "Command"; readonly command: Command; readonly done: Deferred.Deferred<void> }

interface Try {
  readonly attempt: number
  readonly fiber: Fiber.Fiber<Exit.Exit<Live, McpError.McpError>>
}

interface OpenChannel {
  readonly channel: McpTransport.Channel
  readonly scope: Scope.CloseableScope
}

export interface Parts {
  readonly config: McpConfig.ServerConfig
  readonly options: ConnectionOptions
  readonly ladder: Ladder
  /** Called for the first session, and again after everything was closed. */
  readonly channel: Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>
  readonly scope: Scope.Scope
  readonly clock: Clock.Clock
  readonly states: States
  readonly events: Queue.Queue<OwnerEvent>
  readonly notifications: PubSub.PubSub<McpProtocol.Notification>
}

/** How long the last requests of a lost session may take until it is closed under them. */
const drainBound = Duration.minutes(1)

/** A use may cause a try between two slow ones, but not more often than this. */
const leastBetweenTries = 1000

const slowestProbe = 30_000

/** What has no better words. */
const noSession = "there is no session"

export class Owner {
  /** Where calls are sent. */
  live: Live | undefined = undefined
  readonly known = new Known()
  readonly subscriptions = new Set<string>()
  logLevel: McpProtocol.LogLevel | undefined
  /** Changes when the application closes the connection: what began before it is over. */
  era = 0
  attempts = 0
  sessions = 0
  replays = 0
  holders = 0

  private released = false
  private demanded = false
  private generation = 0
  /** Sessions that were opened and are not closed. */
  private readonly open = new Set<Live>()
  /** Sessions of single calls. */
  private readonly aside = new Set<Scope.CloseableScope>()
  private channel: OpenChannel | undefined = undefined
  /** A channel that was asked for before the last one was closed is not wanted any more. */
  private channelsClosed = 0
  private trying: Try | undefined = undefined
  /** Completed for those who wait now, with a session or the reason why there is none. */
  private outcome = Deferred.unsafeMake<Live, McpError.McpError>(FiberId.none)
  private ending = Deferred.unsafeMake<void>(FiberId.none)
  /** There was a session since the application began or closed the connection: its loss is mended. */
  private established = false
  private tries = 0
  private lastError: McpError.McpError | undefined = undefined
  private triedAt = 0
  private timer = 0
  private timing: Fiber.RuntimeFiber<unknown> | undefined = undefined
  private waitsLong = false
  private probes = 0
  private releasedAt = 0
  private reconnecting: Deferred.Deferred<void> | undefined = undefined
  private readonly commanded = new Set<Deferred.Deferred<void>>()
  /** The last command, if it is to close and is not done. */
  private closings: Deferred.Deferred<void> | undefined = undefined

  constructor(private readonly parts: Parts) {
    const { config, options } = parts
    this.logLevel = options.logLevel ?? config.logLevel
  }

  get config(): McpConfig.ServerConfig {
    return this.parts.config
  }

  get states(): States {
    return this.parts.states
  }

  // ---------------------------------------------------------------------------------------------
  // What anybody may say or ask, at any moment. Synchronous, except for waiting.
  // ---------------------------------------------------------------------------------------------

  get server(): string {
    return this.parts.config.name
  }

  get state(): ConnectionState {
    return this.parts.states.state
  }

  get openSessions(): number {
    return this.open.size
  }

  now(): number {
    return this.parts.clock.unsafeCurrentTimeMillis()
  }

  /** Somebody wants a session. */
  demand(): void {
    if (this.demanded) return
    this.demanded = true
    this.post({ _tag: "Demand" })
  }

  /** Waits for a session. Not executed is what fails here. */
  untilLive(operation: string, era: number): Effect.Effect<Live, McpError.McpError> {
    return Effect.suspend(() => {
      if (this.live !== undefined) return Effect.succeed(this.live)
      if (this.released) return Effect.fail(Errors.about(this.gone(), operation, "no"))
      if (era !== this.era) return Effect.fail(this.closing(operation))
      const { outcome } = this
      this.demand()
      return Effect.matchEffect(Deferred.await(outcome), {
        onFailure: (error) => Effect.fail(Errors.about(error, operation, "no")),
        // It may be lost again before this fiber has its turn.
        onSuccess: () => this.untilLive(operation, era)
      })
    })
  }

  /** Completes when the application closes the connection. */
  get closed(): Effect.Effect<void> {
    return Deferred.await(this.ending)
  }

  /** The error of what the application has closed the connection under. */
  closing(operation: string): McpError.McpError {
    return new McpError.ConnectionClosed({
      server: this.server,
      operation,
      executed: "no",
      reason: "Closing",
      detail: "the connection was closed by this application"
    })
  }

  readonly ears: Ears = {
    ended: (live, error) => this.lose(live, error, false),
    expired: (live, error) => this.lose(live, error, true),
    unreachable: (live, error) => {
      live.unreachable = error
      this.post({ _tag: "Shaken", live })
    },
    silent: (live, error) => {
      if (++live.silences >= 2) return this.lose(live, error, false)
      live.unreachable = error
      this.post({ _tag: "Shaken", live })
    },
    reached: (live) => {
      live.silences = 0
      if (live.unreachable === undefined) return
      live.unreachable = undefined
      this.post({ _tag: "Shaken", live })
    },
    streamDown: (live, down) => {
      if (live.streamDown === down) return
      live.streamDown = down
      if (down) live.deaf = true
      this.post({ _tag: "Shaken", live })
    },
    idle: (live) => this.post({ _tag: "Idle", live }),
    notification: (notification) => {
      this.known.hear(notification)
      return PubSub.publish(this.parts.notifications, notification)
    },
    unusedSince: (live) =>
      Effect.map(
        live.session.stats,
        ({ quietSince }) =>
          quietSince === undefined || this.holders > 0 || this.aside.size > 0 || this.open.size > 1
            ? undefined
            : Math.max(quietSince, this.releasedAt, live.readyAt)
      )
  }

  /** A call has met this error. */
  hear(live: Live, error: McpError.McpError): void {
    if (error._tag === "SessionExpired") return this.ears.expired(live, error)
    if (error._tag === "ConnectFailed") return this.ears.unreachable(live, error)
    if (error._tag !== "ConnectionClosed" || error.reason === "Closing") return
    const { transport } = live.session.info
    // Over HTTP each request may have a connection of its own.
    return transport === "http" || transport === "sse"
      ? this.ears.unreachable(live, error)
      : this.ears.ended(live, error)
  }

  private lose(live: Live, error: McpError.McpError, drain: boolean): void {
    if (live.over) return
    live.over = true
    if (this.live === live) this.live = undefined
    this.post({ _tag: "Lost", live, error, drain })
  }

  readonly held: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
    Effect.sync(() => {
      this.holders++
    }),
    () =>
      Effect.sync(() => {
        this.holders--
        this.releasedAt = this.now()
      })
  )

  /** Succeeds when it is done. Concurrent wishes for a reconnection, or to close, are one. */
  command(command: Command): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.released) return Effect.void
      if (command === "reconnect" && this.reconnecting !== undefined) return Deferred.await(this.reconnecting)
      // Who comes while the first closes is not to be closed again by the second.
      if (command === "close" && this.closings !== undefined && !this.demanded) return Deferred.await(this.closings)
      const done = Deferred.unsafeMake<void>(FiberId.none)
      this.closings = command === "close" ? done : undefined
      if (command === "reconnect") this.reconnecting = done
      this.commanded.add(done)
      this.post({ _tag: "Command", command, done })
      return Deferred.await(done)
    })
  }

  /** A session for one call, beside the shared one. Ends with the connection, if not before. */
  openAside(scope: Scope.CloseableScope): Effect.Effect<Live, McpError.McpError> {
    return Effect.suspend(() => {
      if (this.channel === undefined) return Effect.fail(this.closing("open"))
      this.aside.add(scope)
      return Opening.openAside(this.channel.channel, this.parts.options, this.generation).pipe(
        Scope.extend(scope),
        Effect.map((session) => new Live(this.generation, session, scope))
      )
    })
  }

  /** Its closing does not delay the call. */
  closeAside(scope: Scope.CloseableScope): Effect.Effect<void> {
    return Scope.close(scope, Exit.void).pipe(
      Effect.zipRight(Effect.sync(() => {
        if (this.aside.delete(scope)) this.releasedAt = this.now()
      })),
      Effect.forkIn(this.parts.scope),
      Effect.asVoid
    )
  }

  private post(event: OwnerEvent): void {
    Queue.unsafeOffer(this.parts.events, event)
  }

  // ---------------------------------------------------------------------------------------------
  // The owner's own: one event after the other, each to its end.
  // ---------------------------------------------------------------------------------------------

  /** Interrupted only between two events. */
  readonly run: Effect.Effect<never> = Effect.uninterruptibleMask((restore) =>
    Effect.forever(
      Effect.flatMap(
        restore(Queue.take(this.parts.events)),
        (event) =>
          Effect.catchAllCause(this.handle(event), (cause) => {
            if (event._tag === "Command") this.doneWith(event.done)
            return this.log(Effect.logError("the owner of a connection failed to handle an event", cause))
          })
      )
    )
  )

  /** The end of the connection. */
  readonly release: Effect.Effect<void> = Effect.suspend(() => {
    this.released = true
    return Effect.gen(this, function*() {
      yield* this.end(this.gone())
      // Not those in the queue: the owner may have been interrupted with one in its hand.
      for (const done of this.commanded) this.doneWith(done)
      yield* this.parts.states.set({ _tag: "Closed", since: this.now() }, true)
      yield* PubSub.shutdown(this.parts.notifications)
    })
  })

  private handle(event: OwnerEvent): Effect.Effect<void> {
    switch (event._tag) {
      case "Demand":
        return this.onDemand()
      case "Tried":
        return this.onTried(event.attempt, event.exit)
      case "Lost":
        return this.onLost(event.live, event.error, event.drain)
      case "Shaken":
        return event.live === this.live ? this.onShaken(event.live) : Effect.void
      case "Due":
        return event.timer === this.timer ? this.onDue() : Effect.void
      case "Idle":
        return this.onIdle(event.live)
      case "Command":
        return Effect.map(this.onCommand(event.command), () => this.doneWith(event.done))
    }
  }

  private doneWith(command: Deferred.Deferred<void>): void {
    if (this.closings === command) this.closings = undefined
    if (this.reconnecting === command) this.reconnecting = undefined
    this.commanded.delete(command)
    Deferred.unsafeDone(command, Effect.void)
  }

  private onDemand(): Effect.Effect<void> {
    this.demanded = false
    if (this.live !== undefined) return this.resolve(Exit.succeed(this.live))
    if (this.trying !== undefined) return Effect.void
    const { state } = this
    switch (state._tag) {
      case "Disabled":
        return this.resolve(Exit.fail(this.disabled()))
      case "Reconnecting": {
        if (!this.waitsLong) return Effect.void
        const soonest = this.triedAt + leastBetweenTries - this.now()
        if (soonest <= 0) return this.begin()
        return state.nextAt === undefined || state.nextAt <= this.now() + soonest
          ? Effect.void
          : this.waitForNextTry(state.error, soonest)
      }
      case "Failed": {
        const { openUntil } = this.parts.ladder
        return openUntil !== undefined && this.now() < openUntil
          ? this.resolve(Exit.fail(this.crashLoop(openUntil)))
          : this.begin()
      }
      default:
        return this.begin()
    }
  }

  private onTried(attempt: number, exit: Exit.Exit<Live, McpError.McpError>): Effect.Effect<void> {
    if (this.trying?.attempt !== attempt) return Effect.void
    this.trying = undefined
    return Exit.isSuccess(exit) ? this.onOpened(exit.value) : this.onTryFailed(this.errorOf(exit.cause))
  }

  private onOpened(live: Live): Effect.Effect<void> {
    this.generation = live.generation
    this.sessions++
    this.established = true
    live.readyAt = this.now()
    this.live = live
    this.probes = 0
    return watch(this.parts.config, live, this.ears).pipe(
      Effect.zipRight(this.show(live)),
      Effect.zipRight(this.resolve(Exit.succeed(live)))
    )
  }

  private onTryFailed(error: McpError.McpError): Effect.Effect<void> {
    this.lastError = error
    if (error._tag === "Unauthorized") {
      return this.stop({ _tag: "NeedsAuthorization", since: this.now(), error }, error)
    }
    if (isFinal(error)) return this.stop({ _tag: "Failed", since: this.now(), error, retryAt: undefined }, error)
    return Effect.flatMap(this.parts.ladder.next(error, this.now()), (delay) => {
      if (delay === undefined) return this.breaks()
      if (!this.established) {
        return this.stop({ _tag: "Failed", since: this.now(), error, retryAt: undefined }, error)
      }
      const tell = delay > patience || !McpError.isTransient(error)
      return Effect.zipRight(
        tell ? this.resolve(Exit.fail(error)) : Effect.void,
        this.waitForNextTry(error, delay)
      )
    })
  }

  private onLost(live: Live, error: McpError.McpError, drain: boolean): Effect.Effect<void> {
    if (!this.open.has(live)) return Effect.void
    this.lastError = error
    this.cancelTimer()
    const { ladder, states } = this.parts
    return Effect.gen(this, function*() {
      yield* this.log(Effect.logDebug(`the session is lost: ${error.message}`))
      if (ladder.lasted(this.now() - live.readyAt)) {
        this.tries = 0
        yield* ladder.reset
      }
      const working = drain && (yield* live.session.stats).quietSince === undefined
      const closing = drain ? this.drain(live) : this.close(live)
      if (this.isUnused() && !working) return yield* Effect.zipRight(closing, this.rest)
      // It may take its time to end: meanwhile nobody is to take it for ready.
      const delay = yield* ladder.next(error, this.now())
      if (delay === undefined) return yield* this.breaks(closing)
      if (delay > 0) return yield* Effect.zipRight(this.waitForNextTry(error, delay), closing)
      yield* states.set(this.reconnectingNow(this.tries + 1))
      yield* closing
      return yield* this.begin()
    })
  }

  /** Something about the session has changed that is not its end. */
  private onShaken(live: Live): Effect.Effect<void> {
    const back = live.deaf && !live.streamDown
    if (back) live.deaf = false
    if (live.unreachable === undefined) {
      this.probes = 0
      this.cancelTimer()
    }
    const probe = live.unreachable === undefined || this.timing !== undefined
      ? Effect.void
      : this.dueIn(Math.min(500 * 2 ** Math.min(this.probes++, 16), slowestProbe))
    return this.show(live).pipe(
      Effect.zipRight(probe),
      Effect.zipRight(back ? this.refreshIn(live) : Effect.void)
    )
  }

  private onDue(): Effect.Effect<void> {
    const { live } = this
    this.timing = undefined
    if (live === undefined) return this.trying === undefined ? this.begin() : Effect.void
    return Effect.asVoid(Effect.forkIn(Effect.interruptible(ping(live, undefined, this.ears)), live.scope))
  }

  private onIdle(live: Live): Effect.Effect<void> {
    if (this.live !== live) return Effect.void
    return Effect.flatMap(this.ears.unusedSince(live), (since) => {
      // Somebody may have come meanwhile.
      if (since === undefined || !this.idledSince(since)) return Effect.void
      // It did not fail, however short it was.
      return Effect.zipRight(this.parts.ladder.reset, this.rest)
    })
  }

  private onCommand(command: Command): Effect.Effect<void> {
    const since = this.now()
    switch (command) {
      case "close":
        return this.finish({ _tag: this.state._tag === "Disabled" ? "Disabled" : "Closed", since })
      case "disable":
        return this.finish({ _tag: "Disabled", since }, this.disabled())
      case "enable": {
        if (this.state._tag !== "Disabled") return Effect.void
        const eager = this.parts.config.lifetime === "eager"
        return this.parts.states.set({ _tag: "Idle", since }).pipe(
          Effect.zipRight(eager ? this.begin() : Effect.void)
        )
      }
      case "reconnect":
        return this.state._tag === "Disabled" ? Effect.void : this.anew()
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Steps
  // ---------------------------------------------------------------------------------------------

  private begin(): Effect.Effect<void> {
    this.cancelTimer()
    const attempt = ++this.attempts
    this.tries++
    this.triedAt = this.now()
    const { state, tries } = this
    const isShown = state._tag === "Reconnecting" && state.attempt === tries && state.nextAt === undefined
    return Effect.gen(this, function*() {
      if (!isShown) {
        yield* this.parts.states.set(
          this.established
            ? this.reconnectingNow(tries)
            : { _tag: "Connecting", since: this.triedAt, attempt: tries }
        )
      }
      // Whoever ends it waits for it, with a bound.
      const fiber = yield* Effect.forkDaemon(this.attempt(attempt))
      this.trying = { attempt, fiber }
    })
  }

  private reconnectingNow(attempt: number): ConnectionState {
    const error = this.lastError ?? this.closing("open")
    return { _tag: "Reconnecting", since: this.now(), attempt, error, nextAt: undefined }
  }

  /** One try. Whatever fails, everything it has opened is closed when it tells so. */
  private attempt(attempt: number): Effect.Effect<Exit.Exit<Live, McpError.McpError>> {
    return Effect.uninterruptible(
      Effect.gen(this, function*() {
        const scope = yield* Scope.make()
        const exit = yield* Effect.exit(Effect.interruptible(this.openLive(scope)))
        if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
        else this.open.add(exit.value)
        this.post({ _tag: "Tried", attempt, exit })
        return exit
      })
    )
  }

  private openLive(scope: Scope.CloseableScope): Effect.Effect<Live, McpError.McpError> {
    const generation = this.generation + 1
    return Effect.flatMap(
      this.openChannel,
      (channel) => Opening.open(channel, this.parts.options, this, generation)
    ).pipe(
      Scope.extend(scope),
      Effect.map((session) => new Live(generation, session, scope))
    )
  }

  private readonly openChannel: Effect.Effect<McpTransport.Channel, McpError.McpError> = Effect.suspend(() => {
    if (this.channel !== undefined) return Effect.succeed(this.channel.channel)
    const { channelsClosed } = this
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        const scope = yield* Scope.make()
        const exit = yield* Effect.exit(restore(this.inTime(Scope.extend(this.parts.channel, scope))))
        const isWanted = channelsClosed === this.channelsClosed
        if (Exit.isSuccess(exit) && isWanted) this.channel = { channel: exit.value, scope }
        else yield* Scope.close(scope, exit)
        return isWanted ? yield* exit : yield* Effect.fail(this.closing("open"))
      })
    )
  })

  private inTime<A>(opening: Effect.Effect<A, McpError.McpError>): Effect.Effect<A, McpError.McpError> {
    const { handshake } = McpConfig.timeoutsOf(this.parts.config)
    return handshake === null ? opening : Effect.timeoutFail(opening, {
      duration: handshake,
      onTimeout: () =>
        new McpError.RequestTimeout({
          server: this.server,
          operation: "open",
          executed: "no",
          kind: "handshake",
          millis: Duration.toMillis(handshake),
          detail: "its channel did not open"
        })
    })
  }

  private waitForNextTry(error: McpError.McpError, delay: number): Effect.Effect<void> {
    const since = this.now()
    this.waitsLong = delay > patience
    return Effect.zipRight(
      this.parts.states.set({ _tag: "Reconnecting", since, attempt: this.tries, error, nextAt: since + delay }),
      this.dueIn(delay)
    )
  }

  /** No more tries, until somebody wants one. */
  private stop(
    state: ConnectionState,
    error: McpError.McpError,
    closing: Effect.Effect<void> = Effect.void
  ): Effect.Effect<void> {
    return this.log(Effect.logWarning(`there is no connection: ${error.message}`)).pipe(
      Effect.zipRight(this.parts.states.set(state)),
      Effect.zipRight(closing),
      Effect.zipRight(this.closeChannel),
      Effect.zipRight(this.resolve(Exit.fail(error)))
    )
  }

  /** The schedule of tries has ended. */
  private breaks(closing?: Effect.Effect<void>): Effect.Effect<void> {
    const retryAt = this.parts.ladder.openUntil ?? this.now()
    const error = this.crashLoop(retryAt)
    return this.stop({ _tag: "Failed", since: this.now(), error, retryAt }, error, closing)
  }

  private anew(): Effect.Effect<void> {
    return Effect.gen(this, function*() {
      this.lastError = this.closing("open")
      this.tries = 0
      if (this.established) yield* this.parts.states.set(this.reconnectingNow(1))
      yield* this.closeSessions
      // Who has wished for it until now has it.
      this.reconnecting = undefined
      yield* this.parts.ladder.reset
      yield* this.begin()
    })
  }

  /** Closed by the application: what began before it is over. */
  private finish(state: ConnectionState, reason: McpError.McpError = this.closing("close")): Effect.Effect<void> {
    return Effect.zipRight(this.end(reason), this.parts.states.set(state))
  }

  private end(reason: McpError.McpError): Effect.Effect<void> {
    this.era++
    const { ending } = this
    this.ending = Deferred.unsafeMake<void>(FiberId.none)
    return Effect.gen(this, function*() {
      yield* Deferred.succeed(ending, undefined)
      yield* this.resolve(Exit.fail(reason))
      yield* this.closeEverything
      yield* this.parts.ladder.reset
    })
  }

  /** Nobody uses the connection. Who comes while it is closed has posted a demand. */
  private readonly rest: Effect.Effect<void> = Effect.suspend(() =>
    Effect.zipRight(this.closeEverything, this.parts.states.set({ _tag: "Idle", since: this.now() }))
  )

  private readonly closeEverything: Effect.Effect<void> = Effect.suspend(() => {
    this.established = false
    this.tries = 0
    return Effect.zipRight(this.closeSessions, this.closeChannel)
  })

  private readonly closeSessions: Effect.Effect<void> = Effect.suspend(() => {
    this.cancelTimer()
    if (this.live !== undefined) this.live.over = true
    this.live = undefined
    const scopes = [...this.open].map((live) => this.close(live))
    const aside = [...this.aside].map((scope) => Scope.close(scope, Exit.void))
    this.aside.clear()
    return Effect.all([this.abortTry, ...scopes, ...aside], { concurrency: "unbounded", discard: true })
  })

  private readonly closeChannel: Effect.Effect<void> = Effect.suspend(() => {
    // Lost sessions that still drain have their sockets there, and those of single calls.
    this.channelsClosed++
    if (this.channel === undefined || this.open.size > 0 || this.aside.size > 0) return Effect.void
    const { scope } = this.channel
    this.channel = undefined
    return Effect.asVoid(within(Scope.close(scope, Exit.void), this.closeBound))
  })

  private close(live: Live): Effect.Effect<void> {
    live.over = true
    return Effect.zipRight(
      Scope.close(live.scope, Exit.void),
      Effect.sync(() => {
        this.open.delete(live)
      })
    )
  }

  /** Requests that are under way may still have their answers. */
  private drain(live: Live): Effect.Effect<void> {
    return live.session.quiet.pipe(
      Effect.timeoutOption(drainBound),
      Effect.interruptible,
      Effect.zipRight(Effect.uninterruptible(this.close(live))),
      Effect.zipRight(Effect.sync(() => {
        this.releasedAt = this.now()
      })),
      Effect.forkIn(this.parts.scope),
      Effect.asVoid
    )
  }

  /** What comes up in spite of it is closed. */
  private readonly abortTry: Effect.Effect<void> = Effect.suspend(() => {
    const { trying } = this
    this.trying = undefined
    if (trying === undefined) return Effect.void
    const closeLate = Effect.flatMap(
      Effect.exit(Fiber.join(trying.fiber)),
      (exit) => Exit.isSuccess(exit) && Exit.isSuccess(exit.value) ? this.close(exit.value.value) : Effect.void
    )
    return within(Effect.zipRight(Fiber.interruptFork(trying.fiber), closeLate), this.closeBound).pipe(
      Effect.flatMap((ended) => Option.isSome(ended) ? Effect.void : Effect.forkDaemon(closeLate)),
      Effect.asVoid
    )
  })

  private get closeBound(): Duration.Duration {
    return Duration.sum(McpConfig.closeBoundOf(this.parts.config), Duration.seconds(1))
  }

  private refreshIn(live: Live): Effect.Effect<void> {
    return Opening.refresh(live.session, this.known).pipe(
      Effect.ignore,
      Effect.interruptible,
      Effect.forkIn(live.scope),
      Effect.asVoid
    )
  }

  private show(live: Live): Effect.Effect<void> {
    const since = this.now()
    const { generation, session: { info } } = live
    const reason = live.unreachable !== undefined ? "Unreachable" : live.streamDown ? "StreamDown" : undefined
    if (reason !== undefined) {
      if (this.state._tag === "Degraded" && this.state.reason === reason) return Effect.void
      return this.parts.states.set({ _tag: "Degraded", since, generation, info, reason, error: live.unreachable })
    }
    return this.state._tag === "Ready" ? Effect.void : this.parts.states.set({ _tag: "Ready", since, generation, info })
  }

  /** Tells everybody who waits. */
  private resolve(exit: Exit.Exit<Live, McpError.McpError>): Effect.Effect<void> {
    const { outcome } = this
    this.outcome = Deferred.unsafeMake<Live, McpError.McpError>(FiberId.none)
    return Effect.asVoid(Deferred.done(outcome, exit))
  }

  private dueIn(millis: number): Effect.Effect<void> {
    this.cancelTimer()
    const { timer } = this
    return Effect.sleep(millis).pipe(
      Effect.zipRight(Effect.sync(() => this.post({ _tag: "Due", timer }))),
      Effect.interruptible,
      Effect.forkIn(this.parts.scope),
      Effect.map((fiber) => {
        this.timing = fiber
      })
    )
  }

  private cancelTimer(): void {
    this.timer++
    this.timing?.unsafeInterruptAsFork(FiberId.none)
    this.timing = undefined
  }

  private isUnused(): boolean {
    return typeof this.parts.config.lifetime === "object" && this.holders === 0 &&
      this.aside.size === 0 && !this.demanded
  }

  private idledSince(since: number): boolean {
    const { lifetime } = this.parts.config
    return typeof lifetime === "object" && this.now() >= since + Duration.toMillis(lifetime.idle)
  }

  private errorOf(cause: Cause.Cause<McpError.McpError>): McpError.McpError {
    return Option.getOrElse(Cause.failureOption(cause), () =>
      new McpError.HandshakeFailed({
        server: this.server,
        operation: "open",
        executed: "no",
        detail: "the transport or a handler died while the session was opened"
      }))
  }

  private disabled(): McpError.McpError {
    return new McpError.ConnectionUnavailable({
      server: this.server,
      operation: "open",
      executed: "no",
      reason: "Disabled",
      detail: "the server is disabled"
    })
  }

  private gone(): McpError.McpError {
    return new McpError.ConnectionUnavailable({
      server: this.server,
      operation: "open",
      executed: "no",
      reason: "Released",
      detail: "the scope of the connection has closed"
    })
  }

  private crashLoop(until: number): McpError.McpError {
    const what = isRemote(this.parts.config) ? "its sessions keep failing" : "it keeps ending after its start"
    return new McpError.ConnectionUnavailable({
      server: this.server,
      operation: "open",
      executed: "no",
      reason: "CrashLoop",
      detail: `${what}, so it is left alone for a while; the last reason: ${this.lastError?.message ?? noSession}`,
      retryAfterMillis: Math.max(0, until - this.now())
    })
  }

  private log(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.annotateLogs(effect, "mcp.server", this.server)
  }
}

/** Trying again without a change of the configuration, the program or the machine is of no use. */
const isFinal = (error: McpError.McpError): boolean => {
  switch (error._tag) {
    case "ConfigInvalid":
    case "VersionMismatch":
    case "Forbidden":
      return true
    case "SpawnFailed":
    case "ConnectFailed":
      return !McpError.isTransient(error)
    default:
      return false
  }
}
