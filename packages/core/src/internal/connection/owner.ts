/**
 * The owner of one server's sessions.
 *
 * Owns: what follows from each event, and who waits for a session. One fiber takes one event after the other; whatever
 * others notice or want reaches it as an event, and what is about an older session or try changes nothing.
 * May not touch: what calls send, and whether they are sent again; when tries and pings are due, which `Tries` and `Probes` know.
 *
 * | event      | while there is a session           | while a try is under way      | otherwise                                       |
 * |------------|------------------------------------|-------------------------------|-------------------------------------------------|
 * | `Demand`   | whoever waits gets it              | they wait for it              | a try begins, or they get the reason against it |
 * | `Tried`    | -                                  | a session, or the next step   | what came too late was closed by who aborted it |
 * | `Lost`     | it is closed or drains; a try      | -                             | -                                               |
 * | `Shaken`   | `Degraded`, and pings until heard  | -                             | -                                               |
 * | `Suspected` | a ping                            | -                             | -                                               |
 * | `Due`      | a ping                             | -                             | the next try, also with new credentials         |
 * | `Authorized` | a ping, if a call was refused    | one more, if it is refused    | a try, if it was refused                        |
 * | `Idle`     | everything is closed               | -                             | -                                               |
 * | `Command`  | at any moment: `close`, `reconnect`, `disable`, `enable`, `rest`                                     |
 *
 * The pointer to the current session is cleared by whoever notices its end, at once, so that nothing is sent over it any
 * more; everything else about the end is the owner's.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as LogLevel from "effect/LogLevel"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import type * as McpConfig from "../../McpConfig.js"
import type { ConnectionState, ConnectionStats } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import type * as Catalog from "../catalog/catalog.js"
import { spellingsIn } from "../config/printed.js"
import * as Errors from "../engine/errors.js"
import type { Hub } from "../hub.js"
import { Steady } from "../steady.js"
import * as Lines from "../telemetry/lines.js"
import type { Meter } from "../telemetry/meter.js"
import * as Spans from "../telemetry/spans.js"
import { Alarm } from "./alarm.js"
import { type Command, Commands } from "./commands.js"
import * as Ears from "./ears.js"
import type { OwnerEvent } from "./events.js"
import type { Ladder } from "./ladder.js"
import { Lifecycle } from "./lifecycle.js"
import type { Live } from "./live.js"
import * as Opening from "./opening.js"
import { Probes } from "./probes.js"
import * as Reasons from "./reasons.js"
import { type Parts as SessionsParts, Sessions, type Tried } from "./sessions.js"
import { stateOf, type States } from "./states.js"
import { Tries } from "./tries.js"
import { Usage } from "./usage.js"
import { Waiting } from "./waiting.js"
import { watch } from "./watch.js"
import { LogLevelWish, Subscriptions } from "./wishes.js"

export interface Parts {
  readonly config: McpConfig.ServerConfig
  readonly options: SessionsParts["options"]
  readonly meter: Meter | undefined
  readonly ladder: Ladder
  readonly channel: SessionsParts["channel"]
  readonly scope: Scope.Scope
  readonly clock: Clock.Clock
  readonly states: States
  readonly events: Queue.Queue<OwnerEvent>
  readonly notifications: Hub<McpProtocol.Notification>
  readonly catalog: Catalog.Internal
}

/** What can be told at once of a command that only leaves a state. */
const leavesFrom: ReadonlyMap<Command, ConnectionState["_tag"]> = new Map([["enable", "Disabled"], ["rest", "Closed"]])

export class Owner {
  /** Where calls are sent. */
  live: Live | undefined = undefined
  readonly catalog: Catalog.Internal
  readonly subscriptions = new Subscriptions()
  readonly logLevel: LogLevelWish
  /** The span of the first who waits for the session that is opened next, where there is one. Not kept any longer. */
  askedIn: Tracer.AnySpan | undefined = undefined
  /** Changes when the application closes the connection: what began before it is over. */
  era = 0
  opened = 0
  losses = 0
  lastLoss: ConnectionStats["lastLoss"] = undefined
  replays = 0

  /** Why it is disabled, where that is not the configuration. */
  disabledBecause: string | undefined = undefined

  private released = false
  private demanded = false
  private ending = Deferred.unsafeMake<void>(FiberId.none)
  private readonly commands = new Commands()
  private readonly waiting = new Waiting()
  /** Ends the interest in new credentials, which a person may be giving. */
  private unfollow: (() => void) | undefined = undefined

  /** What measures how long something takes. */
  readonly steady: Steady
  readonly sessions: Sessions
  readonly tries: Tries
  readonly usage: Usage
  private readonly tell: Lifecycle
  private readonly probes: Probes
  /** The next try, or the next ping of a server that could not be reached. */
  private readonly alarm: Alarm

  constructor(private readonly parts: Parts) {
    const { catalog, channel, clock, config, ladder, options, scope, states } = parts
    this.catalog = catalog
    this.steady = Steady.of(clock)
    this.logLevel = new LogLevelWish(options.logLevel ?? config.logLevel)
    this.alarm = new Alarm(scope, (number) => this.post({ _tag: "Due", number }))
    this.sessions = new Sessions({
      config,
      options,
      channel,
      scope,
      now: () => this.steady.now(),
      opened: (channel) => this.follow(channel)
    })
    this.tell = new Lifecycle(config.name, options.logLifecycle ?? LogLevel.Debug, () => this.steady.now())
    this.usage = new Usage(config, this.sessions, () => this.steady.now())
    this.probes = new Probes(config, this.ears, this.alarm)
    this.tries = new Tries({
      config,
      ladder,
      states,
      sessions: this.sessions,
      alarm: this.alarm,
      tell: this.tell,
      steady: this.steady,
      now: () => this.now(),
      open: (attempt, generation) => this.open(attempt, generation),
      resolve: (exit) => this.resolve(exit)
    })
  }

  get config(): McpConfig.ServerConfig {
    return this.parts.config
  }

  get meter(): Meter | undefined {
    return this.parts.meter
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

  private get disabled(): McpError.McpError {
    return Reasons.disabled(this.server, this.disabledBecause)
  }

  /** The time of the day. */
  now(): number {
    return this.parts.clock.unsafeCurrentTimeMillis()
  }

  /** Somebody wants a session. */
  demand(askedIn?: Tracer.AnySpan): void {
    this.askedIn ??= askedIn
    if (this.demanded) return
    this.demanded = true
    this.post({ _tag: "Demand", era: this.era })
  }

  /** Waits for a session. Not executed is what fails here. */
  untilLive(operation: string, era: number): Effect.Effect<Live, McpError.McpError> {
    return Effect.flatMap(Spans.current, (askedIn) => {
      if (this.live !== undefined) return Effect.succeed(this.live)
      if (this.released) return Effect.fail(Errors.about(Reasons.released(this.server), operation, "no"))
      if (era !== this.era) return Effect.fail(this.closing(operation))
      this.demand(askedIn)
      return Effect.matchEffect(this.waiting.next, {
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
    return Reasons.closing(this.server, operation)
  }

  readonly ears: Ears.Ears = Ears.make({
    post: (event) => this.post(event),
    over: (live) => {
      if (this.live === live) this.live = undefined
    },
    notification: (notification) => {
      this.catalog.hear(notification)
      return this.parts.notifications.publish(notification)
    },
    unusedSince: (live) => this.usage.endedAt(live)
  })

  /** A call has met this error. */
  hear(live: Live, error: McpError.McpError): void {
    Ears.hear(this.ears, live, error)
  }

  /** Succeeds when it is done, with the era in which it was. Concurrent wishes for a reconnection, or to close, are one. */
  command(command: Command, askedIn?: Tracer.AnySpan): Effect.Effect<number> {
    return Effect.suspend(() => {
      if (this.released) return Effect.succeed(this.era)
      // Nothing is under way that could still disable or close it: there is nothing to do, nor to wait for.
      const from = leavesFrom.get(command)
      if (from !== undefined && this.state._tag !== from && this.commands.areDone) return Effect.succeed(this.era)
      this.askedIn ??= askedIn
      const same = this.commands.same(command, this.demanded)
      if (same !== undefined) return Deferred.await(same)
      const done = this.commands.add(command)
      this.post({ _tag: "Command", command, done })
      return Deferred.await(done)
    })
  }

  /** A session for one call, beside the shared one. Ends with the connection, if not before. */
  openAside(scope: Scope.CloseableScope): Effect.Effect<Live, McpError.McpError> {
    return Effect.suspend(() => {
      const { generation, lastError = this.closing("open") } = this.tries
      return Effect.catchAllCause(
        this.sessions.openAside(scope, generation, lastError),
        // What was given to us may interrupt itself, or die: the call is told of it as whoever waits for the shared one is.
        (cause) => Effect.flatMap(this.errorOf(cause), Effect.fail)
      )
    })
  }

  closeAside(scope: Scope.CloseableScope): Effect.Effect<void> {
    return this.sessions.closeAside(scope)
  }

  /** Whether it hears of new credentials by itself. */
  get isFollowing(): boolean {
    return this.unfollow !== undefined
  }

  private follow(channel: McpTransport.Channel): void {
    const before = this.unfollow
    this.unfollow = channel.followCredentials?.(() => this.post({ _tag: "Authorized" }))
    before?.()
  }

  private post(event: OwnerEvent): void {
    Queue.unsafeOffer(this.parts.events, event)
  }

  // ---------------------------------------------------------------------------------------------
  // The owner's own: one event after the other, each to its end.
  // ---------------------------------------------------------------------------------------------

  /** Interrupted only between two events. */
  get run(): Effect.Effect<void> {
    return Effect.uninterruptibleMask((restore) => {
      const next = Effect.flatMap(
        restore(Queue.take(this.parts.events)),
        (event) =>
          Effect.catchAllCause(this.handle(event), (cause) => {
            if (event._tag === "Command") this.commands.complete(event.done, this.era)
            return Effect.zipRight(
              this.log(Effect.logError("the owner of a connection failed to handle an event", cause)),
              this.giveUp
            )
          })
      )
      // `Effect.forever` would let others have a turn after each event: what follows it waits for all of theirs.
      return Effect.whileLoop({ while: () => true, body: () => next, step: () => {} })
    })
  }

  /** The end is near: what is under way goes to its end, and nothing new is begun. */
  get leave(): Effect.Effect<void> {
    return Effect.sync(() => this.tries.end())
  }

  /** The end of the connection. */
  get release(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.released = true
      return Effect.gen(this, function*() {
        yield* this.end(Reasons.released(this.server))
        // Not those in the queue: the owner may have been interrupted with one in its hand.
        this.commands.completeAll(this.era)
        yield* this.parts.states.set({ _tag: "Closed", since: this.now() }, true)
        yield* this.parts.notifications.shutdown
      })
    })
  }

  /** What the application has given to us has died: whoever waits must not do so for ever. */
  private get giveUp(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.live !== undefined || this.sessions.isTrying) return Effect.void
      const error = Reasons.died(this.server)
      return Effect.zipRight(
        this.parts.states.set({ _tag: "Failed", since: this.now(), error, retryAt: undefined }),
        this.resolve(Exit.fail(error))
      )
    })
  }

  private handle(event: OwnerEvent): Effect.Effect<void> {
    switch (event._tag) {
      case "Demand":
        // Who has wanted a session before it was closed was told so.
        return event.era === this.era ? this.onDemand() : Effect.void
      case "Tried":
        return this.onTried(event.attempt, event.exit)
      case "Lost":
        return this.onLost(event.live, event.error, event.drain)
      case "Shaken":
        return event.live === this.live ? this.onShaken(event.live) : Effect.void
      case "Suspected":
        return event.live === this.live ? this.probes.suspect(event.live) : Effect.void
      case "Due":
        return this.alarm.take(event.number) ? this.onDue() : Effect.void
      case "Idle":
        return this.onIdle(event.live)
      case "Authorized":
        return this.onAuthorized()
      case "Command":
        return Effect.map(this.onCommand(event.command), () => this.commands.complete(event.done, this.era))
    }
  }

  private onDemand(): Effect.Effect<void> {
    this.demanded = false
    if (this.live !== undefined) return this.resolve(Exit.succeed(this.live))
    if (this.sessions.isTrying) return Effect.void
    switch (this.state._tag) {
      case "Disabled":
        return this.resolve(Exit.fail(this.disabled))
      case "Ready":
      case "Degraded":
        // It is lost, and the event that says so comes next.
        return Effect.sync(() => this.demand())
      default:
        return this.tries.wanted()
    }
  }

  private onTried(attempt: number, exit: Tried): Effect.Effect<void> {
    if (!this.sessions.take(attempt)) return Effect.void
    if (Exit.isSuccess(exit)) return this.onOpened(exit.value)
    return Effect.flatMap(this.errorOf(exit.cause), (error) => this.tries.failed(error))
  }

  /** The error of a try. Where that has died, the log says of what. */
  private errorOf(cause: Cause.Cause<McpError.McpError>): Effect.Effect<McpError.McpError> {
    const error = Reasons.ofTry(this.server, cause)
    return Cause.isDie(cause) || !Cause.isFailure(cause)
      ? Effect.as(this.tell.died(cause, () => spellingsIn(this.config)), error)
      : Effect.succeed(error)
  }

  private onOpened(live: Live): Effect.Effect<void> {
    live.readyAt = this.steady.now()
    const { isBack, millis } = this.tries.succeeded(live)
    if (isBack) this.meter?.reconnected()
    this.opened++
    this.live = live
    this.probes.reset()
    return watch(this.config, live, this.ears).pipe(
      Effect.zipRight(this.show(live)),
      Effect.zipRight(this.tell.ready(live.session, millis, isBack)),
      Effect.zipRight(this.resolve(Exit.succeed(live)))
    )
  }

  private onLost(live: Live, error: McpError.McpError, drain: boolean): Effect.Effect<void> {
    if (!this.sessions.has(live)) return Effect.void
    this.tries.lastError = error
    this.losses++
    this.lastLoss = Object.freeze({ at: this.now(), error })
    this.alarm.cancel()
    return Effect.gen(this, function*() {
      this.meter?.lost(error)
      yield* this.tell.lost(error)
      yield* this.tries.lasted(this.steady.now() - live.readyAt)
      const working = drain && (yield* live.session.stats).quietSince === undefined
      const closing = drain ? this.sessions.drain(live, error) : this.sessions.close(live, error)
      if (this.isWanted || working) return yield* this.tries.afterLoss(error, closing)
      yield* this.states.set({ _tag: "Idle", since: this.now() })
      yield* Effect.zipRight(closing, this.rest)
    })
  }

  /** Something about the session has changed that is not its end. */
  private onShaken(live: Live): Effect.Effect<void> {
    const back = live.deaf && !live.streamDown
    if (back) live.deaf = false
    return this.show(live).pipe(
      Effect.zipRight(this.probes.follow(live)),
      Effect.zipRight(back ? this.refreshIn(live) : Effect.void)
    )
  }

  private onDue(): Effect.Effect<void> {
    if (this.live !== undefined) return this.probes.due(this.live)
    if (this.state._tag !== "Reconnecting") return this.tries.withNewCredentials()
    return this.isWanted ? this.tries.begin() : this.rest
  }

  get notifications(): Hub<McpProtocol.Notification> {
    return this.parts.notifications
  }

  /** Whether a session that is lost is to come back. */
  private get isWanted(): boolean {
    return !this.usage.isNone || this.demanded || this.waiting.isAnybody
  }

  /** A person, or another part of the program, has given new credentials. */
  private onAuthorized(): Effect.Effect<void> {
    const asked = this.live?.unauthorized === undefined ? Effect.void : this.probes.ask(this.live)
    return Effect.zipRight(this.tries.authorized(), asked)
  }

  private onIdle(live: Live): Effect.Effect<void> {
    if (this.live !== live) return Effect.void
    return Effect.flatMap(this.usage.endedAt(live), (since) => {
      // Somebody may have come meanwhile.
      if (!this.usage.isOver(since)) return Effect.void
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
        return this.finish({ _tag: "Disabled", since }, this.disabled)
      case "enable": {
        if (this.state._tag !== "Disabled") return Effect.void
        this.disabledBecause = undefined
        const eager = this.parts.config.lifetime === "eager"
        return this.parts.states.set({ _tag: "Idle", since }).pipe(
          Effect.zipRight(eager ? this.tries.begin() : Effect.void)
        )
      }
      case "rest":
        return this.state._tag === "Closed" ? this.parts.states.set({ _tag: "Idle", since }) : Effect.void
      case "reconnect":
        return this.state._tag === "Disabled" ? Effect.void : this.anew
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Steps
  // ---------------------------------------------------------------------------------------------

  private open(attempt: number, generation: number): Effect.Effect<void> {
    const tell = (exit: Tried) => this.post({ _tag: "Tried", attempt, exit })
    return Effect.map(this.sessions.begin(attempt, generation, this, tell), () => {
      this.askedIn = undefined
    })
  }

  private get anew(): Effect.Effect<void> {
    const closing = Effect.zipRight(this.closeSessions, Effect.sync(() => this.commands.reconnected()))
    return this.tries.anew(this.closing("open"), closing)
  }

  /** Closed by the application: what began before it is over. */
  private finish(state: ConnectionState, reason: McpError.McpError = this.closing("close")): Effect.Effect<void> {
    const told = this.tries.established ? this.tell.closed : Effect.void
    return told.pipe(Effect.zipRight(this.parts.states.set(state)), Effect.zipRight(this.end(reason)))
  }

  private end(reason: McpError.McpError): Effect.Effect<void> {
    this.era++
    this.demanded = false
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
  private get rest(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.zipRight(
        this.state._tag === "Idle"
          ? Effect.void
          : Effect.zipRight(this.tell.idle, this.parts.states.set({ _tag: "Idle", since: this.now() })),
        this.closeEverything
      )
    )
  }

  private get closeEverything(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.tries.reset()
      return this.closeSessions.pipe(
        Effect.zipRight(this.sessions.closeChannel),
        // A try that is given up may still have opened its channel.
        Effect.zipRight(Effect.sync(() => this.unfollowCredentials()))
      )
    })
  }

  private unfollowCredentials(): void {
    this.unfollow?.()
    this.unfollow = undefined
  }

  private get closeSessions(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.alarm.cancel()
      if (this.live !== undefined) this.live.over = true
      this.live = undefined
      return this.sessions.closeAll
    })
  }

  private refreshIn(live: Live): Effect.Effect<void> {
    return Opening.refreshUnheard(live.session, this.catalog).pipe(
      Effect.catchAll((error) => Effect.sync(() => this.hear(live, error))),
      Effect.interruptible,
      Effect.forkIn(live.scope),
      Effect.asVoid
    )
  }

  private show(live: Live): Effect.Effect<void> {
    const state = stateOf(live, this.state, this.now())
    return state === this.state ? Effect.void : this.parts.states.set(state)
  }

  /** Tells everybody who waits. */
  private resolve(exit: Exit.Exit<Live, McpError.McpError>): Effect.Effect<void> {
    this.askedIn = undefined
    return this.waiting.end(exit)
  }

  private log(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Lines.about(this.server, "connection")(effect)
  }
}
