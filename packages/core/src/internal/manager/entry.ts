/**
 * One server of a manager.
 *
 * Owns: its connection, the attempt to connect it that is under way, how it ends, and its status.
 * May not touch: other servers, and when it is connected or closed.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as Catalog from "../../Catalog.js"
import type * as McpConfig from "../../McpConfig.js"
import * as McpError from "../../McpError.js"
import type { ServerStatus } from "../../McpManager.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { Internal } from "../catalog/catalog.js"
import type { Connection } from "../connection/connection.js"
import * as Reasons from "../connection/reasons.js"
import * as Lines from "../telemetry/lines.js"
import { inTime, within } from "../within.js"
import { enrichment } from "./enrichment.js"
import type { Declared } from "./lineup.js"
import { connectTimeoutOf, type Settings } from "./settings.js"
import { statusOf } from "./status.js"

/** What a server has of its manager. */
export interface Parts {
  readonly settings: Settings
  /** Makes a connection in the scope; nothing of the fiber that asks for it gets into it. */
  readonly open: (
    config: McpConfig.ServerConfig,
    scope: Scope.Scope,
    observer: () => void
  ) => Effect.Effect<Connection, McpError.ConfigInvalid>
  /** Starts a fiber that nobody waits for, and that ends with the manager; nothing where that has ended. */
  readonly fork: (effect: Effect.Effect<unknown, unknown>) => Fiber.RuntimeFiber<unknown> | undefined
  readonly changed: (entry: Entry) => void
}

/** Why there is no connection. */
export type NoConnection = McpError.ConfigInvalid | McpError.ConnectionUnavailable

interface Opened {
  readonly connection: Connection
  readonly scope: Scope.CloseableScope
}

/** An attempt to connect it. */
export interface Attempt {
  /** Nothing where it succeeded, or was given up before its turn. */
  readonly outcome: Deferred.Deferred<McpError.McpError | undefined>
  /** Completes when it is known what the store has. */
  readonly restored: Deferred.Deferred<void>
  fiber: Fiber.RuntimeFiber<unknown> | undefined
  /** The manager has given it up. */
  aborted: boolean
}

/** A store that does not answer in this time has nothing, for a server that would else not be connected now. */
const storeAnswersWithin = 2000

/** How it is left: usable again by its next use, or only by the manager. */
export type Leave = "usable" | "unusable"

export class Entry {
  /** The manager has connected it, and has not ended it. */
  wanted = false
  attempt: Attempt | undefined = undefined
  failure: McpError.McpError | undefined
  closeError: McpError.CloseFailed | undefined = undefined
  status: ServerStatus
  private opened: Opened | undefined = undefined
  /** Its new sessions have what the first one was asked for. */
  private enriched: Connection | undefined = undefined
  /** Why it had failed before it was connected last. */
  private failedBefore: McpError.McpError | undefined = undefined
  /** Its use is an error until it is connected again, also where it has no connection yet, or no longer. */
  shut = false
  /** Whether it was so before it was connected last. */
  wasShut = false
  /** Whether nobody used it then. */
  private wasIdle = false
  private over = false
  private releasing: Deferred.Deferred<void> | undefined = undefined

  constructor(readonly declared: Declared, private readonly parts: Parts) {
    this.failure = Either.isLeft(declared.config) ? declared.config.left : undefined
    this.status = statusOf(this)
  }

  get name(): string {
    return this.declared.name
  }

  get config(): McpConfig.ServerConfig | undefined {
    return Either.getOrUndefined(this.declared.config)
  }

  get isUsable(): boolean {
    return this.config !== undefined && this.config.enabled !== false
  }

  get connection(): Connection | undefined {
    return this.opened?.connection
  }

  /** Whether it works, or will again by itself. */
  get isUp(): boolean {
    return this.attempt === undefined && upPhases.has(this.status.phase)
  }

  /** Whether it has nothing more to be connected for: one that is idle after a use may never have been listed. */
  get isConnected(): boolean {
    return this.isUp && (this.status.phase !== "idle" || this.tools !== undefined)
  }

  private get catalog(): Internal | undefined {
    return this.opened?.connection.owner.catalog
  }

  /** Its tools, as far as they are known. */
  get tools(): Catalog.Snapshot<McpProtocol.Tool> | undefined {
    return this.catalog?.shelves.tools.known
  }

  /** Recomputed from what is true now; the same object where nothing has changed. */
  refresh(): ServerStatus {
    const next = statusOf(this)
    const { status } = this
    const keys = Object.keys(next) as Array<keyof ServerStatus>
    if (keys.some((key) => next[key] !== status[key])) this.status = next
    return this.status
  }

  private changed(): void {
    this.parts.changed(this)
  }

  private readonly observe = (): void => {
    const tag = this.connection?.owner.state._tag
    // One that is being closed is ready until its turn has come.
    const ownDoing = this.attempt !== undefined || this.releasing !== undefined
    if (!ownDoing && (tag === "Ready" || tag === "Degraded")) {
      // A use has connected it, whatever became of it before.
      this.failure = undefined
      this.closeError = undefined
      this.wanted = true
      // After whoever waits for the session has been told of it.
      if (this.enriched !== this.connection) this.parts.fork(Effect.zipRight(Effect.yieldNow(), this.enriching))
    }
    this.changed()
  }

  /** Its connection, which is made if there is none. */
  readonly ensure: Effect.Effect<Connection, NoConnection> = Effect.suspend(() => this.made ?? this.opening)

  private get made(): Effect.Effect<Connection> | undefined {
    return this.opened && Effect.succeed(this.opened.connection)
  }

  private making: Deferred.Deferred<Connection, NoConnection> | undefined = undefined

  /** Whoever wants it at once waits for the same one. */
  private readonly opening: Effect.Effect<Connection, NoConnection> = Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      // Others may have had their turn since it was found to be missing.
      if (this.made !== undefined) return this.made
      if (this.making !== undefined) return restore(Deferred.await(this.making))
      const made = this.making = Deferred.unsafeMake<Connection, NoConnection>(FiberId.none)
      return Effect.onExit(this.open, (exit) => {
        this.making = undefined
        return Deferred.done(made, exit)
      })
    })
  )

  private get open(): Effect.Effect<Connection, NoConnection> {
    const { config } = this.declared
    if (Either.isLeft(config)) return Effect.fail(config.left)
    if (this.over) return Effect.fail(Reasons.released(this.name))
    return Effect.gen(this, function*() {
      const scope = yield* Scope.make()
      const exit = yield* Effect.exit(Effect.suspend(() => this.parts.open(config.right, scope, this.observe)))
      if (Exit.isFailure(exit)) {
        yield* Scope.close(scope, exit)
        // What the application has given for it may have died; whoever wants all servers goes on with the others.
        if (Cause.isDie(exit.cause)) yield* this.tellDeath(exit.cause)
        return yield* Effect.fail(Option.getOrElse(Cause.failureOption(exit.cause), () => unmade(this.name)))
      }
      if (this.shut) yield* exit.value.disableBecause(closedByManager)
      // It may have been ended for good meanwhile.
      if (this.over) {
        yield* Scope.close(scope, Exit.void)
        return yield* Effect.fail(Reasons.released(this.name))
      }
      this.opened = { connection: exit.value, scope }
      this.isDeathTold = false
      this.changed()
      return exit.value
    })
  }

  // ---------------------------------------------------------------------------------------------
  // Connecting
  // ---------------------------------------------------------------------------------------------

  /** Begins an attempt, in a fiber of its own. `turn` bounds how many there are at once, and may call it off. */
  begin(turn: (attempt: Effect.Effect<void>) => Effect.Effect<void>, quietly: boolean): Attempt {
    const attempt: Attempt = {
      outcome: Deferred.unsafeMake(FiberId.none),
      restored: Deferred.unsafeMake(FiberId.none),
      fiber: undefined,
      aborted: false
    }
    this.attempt = attempt
    this.failedBefore = this.status.error
    this.wasShut = this.shut
    this.wasIdle = this.status.phase === "idle"
    this.changed()
    let told = false
    const restoring = this.parts.fork(this.restoring(attempt))
    const tell = Effect.sync(() => {
      restoring?.unsafeInterruptAsFork(FiberId.none)
      if (this.attempt === attempt) this.attempt = undefined
      this.changed()
      Deferred.unsafeDone(attempt.restored, Effect.void)
      if (!told) Deferred.unsafeDone(attempt.outcome, Effect.succeed(undefined))
    })
    const end = (error: McpError.McpError | undefined) =>
      Effect.sync(() => {
        told = true
        // Whoever is told of a failure can wait for what is left of it.
        if (error !== undefined) this.releasing = Deferred.unsafeMake(FiberId.none)
        this.attempt = undefined
        this.failure = error
        this.wanted = error === undefined
        if (error === undefined) this.closeError = undefined
        this.changed()
        Deferred.unsafeDone(attempt.outcome, Effect.succeed(error))
      })
    const trying = Effect.uninterruptibleMask((restore) =>
      Effect.matchCauseEffect(restore(this.inTime(this.connecting(attempt))), {
        onSuccess: () => Effect.zipRight(end(undefined), this.enriching),
        onFailure: (cause) => {
          // What was given to us may interrupt itself, which is a failure of the server.
          if (Cause.isInterrupted(cause) && (attempt.aborted || this.over)) {
            // Its connection, which may have failed by itself, knows no more of it.
            this.failure = this.failedBefore
            return Effect.asVoid(this.release(this.before))
          }
          const error = Reasons.ofTry(this.name, cause)
          // Whoever waits for it learns it now, however long it takes to end.
          return end(error).pipe(
            Effect.zipRight(quietly ? Effect.void : this.log(error)),
            Effect.zipRight(this.release("usable"))
          )
        }
      })
    )
    attempt.fiber = this.parts.fork(Effect.ensuring(turn(trying), tell))
    if (attempt.fiber === undefined) Effect.runSync(tell)
    return attempt
  }

  /**
   * What the store has needs no turn, however many connections are waited for: it is known at once, and whoever calls one of
   * its tools connects it.
   */
  private restoring(attempt: Attempt): Effect.Effect<void, McpError.McpError> {
    return this.settled.pipe(
      Effect.zipRight(this.usable),
      Effect.flatMap((connection) => connection.catalog.restore),
      Effect.ensuring(Deferred.succeed(attempt.restored, undefined))
    )
  }

  private connecting(attempt: Attempt): Effect.Effect<void, McpError.McpError> {
    return Effect.gen(this, function*() {
      yield* this.settled
      const connection = yield* this.usable
      // It was asked for to be connected by its first use, and has something to show until then. Whether one works that has
      // failed, only a try can tell.
      if (connection.config.lifetime === "lazy" && this.failedBefore === undefined) {
        yield* inTime(Deferred.await(attempt.restored), storeAnswersWithin, () => Effect.void)
        if (this.tools !== undefined) return yield* connection.rest
      }
      const { _tag } = yield* connection.state
      // What the connection has concluded by itself is not to answer for this attempt.
      if (_tag === "Failed" || _tag === "NeedsAuthorization") yield* connection.close
      const info = yield* connection.awaitReady
      if (info.capabilities.tools === undefined) return yield* this.withoutTools(attempt, connection)
      const tools = yield* connection.catalog.tools.current
      if (tools === undefined || tools.stale) yield* connection.owner.catalog.readTools
    })
  }

  private readonly usable: Effect.Effect<Connection, NoConnection> = Effect.suspend(() => {
    this.shut = false
    return Effect.tap(this.ensure, (connection) => connection.enable)
  })

  /** What is stored of its tools is not true any more. */
  private withoutTools(attempt: Attempt, connection: Connection): Effect.Effect<void> {
    return Effect.map(Deferred.isDone(attempt.restored), (isRestored) => {
      const { catalog } = connection.owner
      const { tools } = catalog.shelves
      if (isRestored && !tools.isStored) return
      catalog.remember("tools", tools.begin(), { items: Object.freeze([]), dropped: Object.freeze([]) })
    })
  }

  private inTime(connecting: Effect.Effect<void, McpError.McpError>): Effect.Effect<void, McpError.McpError> {
    const connectTimeout = connectTimeoutOf(this.parts.settings, this.config)
    if (connectTimeout === Number.POSITIVE_INFINITY) return connecting
    return inTime(connecting, connectTimeout, () =>
      Effect.fail(
        new McpError.RequestTimeout({
          server: this.name,
          operation: "connect",
          executed: "no",
          kind: "handshake",
          millis: connectTimeout,
          detail: this.whatIsMissing,
          stderrTail: this.connection?.owner.sessions.stderrTail
        })
      ))
  }

  private get whatIsMissing(): string {
    const owner = this.connection?.owner
    if (owner?.live !== undefined) return "its tools were not listed in time"
    const missing = "there was no session in time"
    return owner?.sessions.nonsense === undefined
      ? missing
      : `${missing}, but ${McpError.displayText(owner.sessions.nonsense, 256)}`
  }

  private readonly enriching: Effect.Effect<void> = Effect.suspend(() => {
    const { connection } = this
    if (connection !== undefined && connection.owner.live !== undefined) {
      this.enriched = connection
      const asking = enrichment(connection, this.parts.settings.enrich)
      if (asking !== undefined) this.parts.fork(asking)
    }
    return Effect.void
  })

  private isDeathTold = false

  /** Once until there is a connection: each attempt may try it several times. */
  private tellDeath(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    if (this.isDeathTold) return Effect.void
    this.isDeathTold = true
    return Lines.about(this.name, "connect")(Effect.logError(`the server has no connection: ${hasDied}`, cause))
  }

  private log(error: McpError.McpError): Effect.Effect<void> {
    return Lines.about(this.name, "connect")(
      Effect.logWarning(`the server could not be connected: ${error.message}`)
    )
  }

  /** Gives up the attempt that is under way, and waits until nothing of it is left. */
  readonly abort: Effect.Effect<void> = Effect.suspend(() => {
    const { attempt } = this
    if (attempt?.fiber === undefined) return Effect.void
    attempt.aborted = true
    return Effect.asVoid(Fiber.interrupt(attempt.fiber))
  })

  /** It was connected, and is not to be: it is left as it was before. */
  readonly undone: Effect.Effect<void> = Effect.suspend(() => {
    this.wanted = this.wasIdle
    this.failure = this.failedBefore
    const rest = Effect.suspend(() =>
      this.wasIdle && this.connection !== undefined ? this.connection.rest : Effect.void
    )
    return Effect.zipRight(this.release(this.before), rest)
  })

  /** How it was left before the last attempt to connect it. */
  get before(): Leave {
    return this.wasShut ? "unusable" : "usable"
  }

  /** From now on its use is an error, while what is there of it may still be ending. */
  forbid(): void {
    this.shut = true
  }

  /** Why it can't be used until the manager connects it again. */
  get forbidden(): McpError.ConnectionUnavailable | undefined {
    return this.shut && this.config?.enabled !== false ? Reasons.disabled(this.name, closedByManager) : undefined
  }

  /** That it has failed by itself is known until it is connected, also where it is closed before. */
  noteFailure(): void {
    this.failure ??= this.status.error
  }

  /** Whether it failed is of no interest any more. */
  forget(): void {
    if (this.config !== undefined) this.failure = undefined
  }

  // ---------------------------------------------------------------------------------------------
  // Ending
  // ---------------------------------------------------------------------------------------------

  /** Completes when nothing of it is being closed. */
  readonly settled: Effect.Effect<void> = Effect.suspend(() =>
    this.releasing === undefined ? Effect.void : Deferred.await(this.releasing)
  )

  /**
   * Closes its connection, within the bound. One that does not close in time is left behind to end by itself, so that the
   * server can be connected again.
   */
  release(leave: Leave): Effect.Effect<McpError.CloseFailed | undefined> {
    return Effect.uninterruptible(
      Effect.gen(this, function*() {
        const { opened } = this
        let closeError: McpError.CloseFailed | undefined = undefined
        if (leave === "unusable") this.shut = true
        const released = this.releasing ??= Deferred.unsafeMake<void>(FiberId.none)
        if (opened !== undefined) {
          const before = opened.connection.owner.sessions.closeFailures
          const ended = yield* this.closing(opened, leave)
          closeError = this.closeError = !ended
            ? this.closeFailed(
              `it did not end within ${this.parts.settings.closeTimeout} ms, and is left to end by itself`
            )
            : opened.connection.owner.sessions.closeFailures > before
            ? this.closeFailed("something of it did not end in order when it was closed")
            : undefined
          if (!ended) yield* this.leaveBehind(opened)
        }
        this.releasing = undefined
        // A use may have connected it again.
        this.observe()
        yield* Deferred.succeed(released, undefined)
        return closeError
      })
    )
  }

  /** Whether it ended in time. */
  private closing({ connection }: Opened, leave: Leave): Effect.Effect<boolean> {
    const { closeTimeout } = this.parts.settings
    // Nothing of it is open, and it connects by itself when a person has authorized it.
    const { isFollowing, state } = connection.owner
    if (leave === "usable" && state._tag === "NeedsAuthorization" && isFollowing) return Effect.succeed(true)
    const close = leave === "usable" ? connection.close : connection.disableBecause(closedByManager)
    return closeTimeout === Number.POSITIVE_INFINITY
      ? Effect.as(close, true)
      : Effect.map(within(close, closeTimeout), Option.isSome)
  }

  private leaveBehind(opened: Opened): Effect.Effect<void> {
    if (this.opened === opened) this.opened = undefined
    return Effect.asVoid(Effect.forkDaemon(Effect.uninterruptible(Scope.close(opened.scope, Exit.void))))
  }

  /** For good. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.over = true
    const { opened } = this
    const { closeTimeout } = this.parts.settings
    if (opened === undefined) return Effect.void
    // It goes on where it is not waited for any more.
    const closing = Effect.uninterruptible(Scope.close(opened.scope, Exit.void))
    return closeTimeout === Number.POSITIVE_INFINITY
      ? closing
      : Effect.asVoid(within(closing, closeTimeout))
  })

  private closeFailed(detail: string): McpError.CloseFailed {
    return new McpError.CloseFailed({ server: this.name, operation: "close", executed: "no", detail })
  }
}

const hasDied = "what gives the options of the connection, or its store, has died"

/** What the application gives for a connection may die. */
const unmade = (server: string): McpError.ConfigInvalid =>
  new McpError.ConfigInvalid({
    server,
    operation: "configure",
    executed: "no",
    problems: [{ field: "connection", problem: hasDied }]
  })

const upPhases: ReadonlySet<ServerStatus["phase"]> = new Set(["connected", "reconnecting", "idle"])

const closedByManager = "the manager has closed it; connect it again to use it"
