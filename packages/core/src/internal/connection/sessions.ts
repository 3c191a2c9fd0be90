/**
 * What a connection has open: its channel, the try that is under way, its sessions, and sessions of single calls.
 *
 * Owns: opening and closing of all of them, each exactly once and within a bound, whoever asks for it and how often.
 * May not touch: the state of the connection, and when something is opened or closed.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import type * as McpConfig from "../../McpConfig.js"
import type { ConnectionOptions } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpTransport from "../../McpTransport.js"
import { closeBoundOf } from "../config/accessors.js"
import * as Errors from "../engine/errors.js"
import type { Supervised } from "../engine/supervised.js"
import * as ErrorType from "../telemetry/errorType.js"
import type { Meter } from "../telemetry/meter.js"
import * as Spans from "../telemetry/spans.js"
import { together } from "../together.js"
import { closeApart, inTime, within } from "../within.js"
import { withinHandshake } from "../withinHandshake.js"
import { Live } from "./live.js"
import * as Opening from "./opening.js"
import * as Reasons from "./reasons.js"

export type Tried = Exit.Exit<Live, McpError.McpError>

interface Try {
  readonly attempt: number
  readonly fiber: Fiber.Fiber<Tried>
}

interface OpenChannel {
  readonly channel: McpTransport.Channel
  readonly scope: Scope.CloseableScope
}

export interface Parts {
  readonly config: McpConfig.ServerConfig
  readonly options: ConnectionOptions & { readonly meter: Meter | undefined }
  /** Called for the first session, and again after everything was closed. */
  readonly channel: Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>
  readonly scope: Scope.Scope
  readonly now: () => number
  /** Called with each channel that is opened. */
  readonly opened: (channel: McpTransport.Channel) => void
}

/** How long the last requests of a lost session may take until it is closed under them. */
const drainBound = Duration.minutes(1)

const noChannel = { detail: "its channel did not open" }

export class Sessions {
  /** When a session was last closed that somebody still used. */
  usedUntil = 0
  /** How often something did not close in order. */
  closeFailures = 0
  /** The wire of the try that is under way, or of the last one. */
  private wire: McpTransport.MessageTransport | undefined = undefined
  /** The first thing that it has said and that was no message. */
  nonsense: string | undefined = undefined
  /** Opened and not closed. */
  private readonly open = new Set<Live>()
  /** Those of single calls. */
  private readonly aside = new Set<Scope.CloseableScope>()
  private channel: OpenChannel | undefined = undefined
  /** A channel that was asked for before the last one was closed is not wanted any more. */
  private channelsClosed = 0
  private trying: Try | undefined = undefined

  constructor(private readonly parts: Parts) {}

  /** What the process of the newest try has written to stderr last. */
  get stderrTail(): string | undefined {
    return this.wire?.stderrTail()
  }

  get size(): number {
    return this.open.size
  }

  get isTrying(): boolean {
    return this.trying !== undefined
  }

  /** Whether a single call has a session of its own. */
  get hasAside(): boolean {
    return this.aside.size > 0
  }

  has(live: Live): boolean {
    return this.open.has(live)
  }

  // ---------------------------------------------------------------------------------------------
  // Opening
  // ---------------------------------------------------------------------------------------------

  /** Begins to open a session. `tell` gets how it ended, also when nobody wants it any more. */
  begin(
    attempt: number,
    generation: number,
    wishes: Opening.Wishes,
    tell: (exit: Tried) => void
  ): Effect.Effect<void> {
    // Whoever ends it waits for it, with a bound.
    const trying = this.attempt(attempt, generation, wishes, wishes.askedIn, tell)
    return Effect.map(Effect.forkDaemon(trying), (fiber) => {
      this.trying = { attempt, fiber }
    })
  }

  /** Takes the result of this try, unless it was aborted: then it was closed, too. */
  take(attempt: number): boolean {
    if (this.trying?.attempt !== attempt) return false
    this.trying = undefined
    return true
  }

  /** Whatever fails, everything it has opened is closed when it tells so. */
  private attempt(
    attempt: number,
    generation: number,
    wishes: Opening.Wishes,
    parent: Tracer.AnySpan | undefined,
    tell: (exit: Tried) => void
  ): Effect.Effect<Tried> {
    return Effect.uninterruptible(
      Effect.gen(this, function*() {
        const { config, options: { meter }, now } = this.parts
        const scope = yield* Scope.make()
        const startedAt = now()
        const opening = Spans.ofConnect(this.openLive(scope, generation, wishes), config, {
          attempt,
          generation,
          parent
        })
        const exit = yield* Effect.exit(Effect.interruptible(opening))
        meter?.connected(now() - startedAt, ErrorType.ofExit(exit))
        if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
        else this.open.add(exit.value)
        tell(exit)
        return exit
      })
    )
  }

  private openLive(
    scope: Scope.CloseableScope,
    generation: number,
    wishes: Opening.Wishes
  ): Effect.Effect<Live, McpError.McpError> {
    return Effect.flatMap(this.openChannel, (channel) => {
      this.wire = undefined
      this.nonsense = undefined
      return Opening.open(channel, this.parts.options, wishes, generation)
    }).pipe(
      Scope.extend(scope),
      Effect.map((session) => new Live(generation, session as Supervised, scope))
    )
  }

  /** The same one for all its sessions: by it they are known to be of one server. */
  private seen(channel: McpTransport.Channel): McpTransport.Channel {
    const open: McpTransport.Channel["open"] = (events) =>
      Effect.tap(channel.open({ ...events, warning: this.overhearing(events.warning) }), (wire) =>
        Effect.sync(() => {
          this.wire = wire
        }))
    return { config: channel.config, open }
  }

  private overhearing(warning: McpTransport.TransportEvents["warning"]): McpTransport.TransportEvents["warning"] {
    return (kind, detail) => {
      if (kind === "NotJson") this.nonsense ??= detail
      warning(kind, detail)
    }
  }

  private get openChannel(): Effect.Effect<McpTransport.Channel, McpError.McpError> {
    return Effect.suspend(() => {
      if (this.channel !== undefined) return Effect.succeed(this.channel.channel)
      const { channelsClosed } = this
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(this, function*() {
          const scope = yield* Scope.make()
          const exit = yield* Effect.exit(
            restore(withinHandshake(this.parts.config, Scope.extend(this.parts.channel, scope), () => noChannel))
          )
          const isWanted = channelsClosed === this.channelsClosed
          if (Exit.isFailure(exit) || !isWanted) {
            yield* Scope.close(scope, exit)
            return isWanted ? yield* exit : yield* Effect.fail(Reasons.closing(this.parts.config.name, "open"))
          }
          this.parts.opened(exit.value)
          const channel = this.seen(exit.value)
          this.channel = { channel, scope }
          return channel
        })
      )
    })
  }

  /** A session for one call, beside the shared one. Ends with the connection, if not before. */
  openAside(
    scope: Scope.CloseableScope,
    generation: number,
    whyNoChannel: McpError.McpError
  ): Effect.Effect<Live, McpError.McpError> {
    return Effect.suspend(() => {
      const { channel, parts: { options } } = this
      if (channel === undefined) return Effect.fail(Errors.about(whyNoChannel, whyNoChannel.operation, "no"))
      this.aside.add(scope)
      return Opening.openAside(channel.channel, options, generation).pipe(
        Scope.extend(scope),
        Effect.map((session) => new Live(generation, session as Supervised, scope))
      )
    })
  }

  // ---------------------------------------------------------------------------------------------
  // Closing
  // ---------------------------------------------------------------------------------------------

  /** Whoever waits for an answer is told the reason, where it is not the application's wish. */
  close(live: Live, reason?: McpError.McpError): Effect.Effect<void> {
    live.over = true
    return Effect.suspend(() => {
      // A scope that is closing already is not waited for by who closes it again.
      if (live.ended !== undefined) return Deferred.await(live.ended)
      if (reason !== undefined) live.session.giveUp(Reasons.lost(reason))
      const ended = live.ended = Deferred.unsafeMake<void>(FiberId.none)
      return Effect.ensuring(
        Effect.zipRight(
          closeApart(live.scope, Exit.void),
          Effect.map(live.session.stats, ({ warnings }) => {
            if (warnings.CloseFailed !== undefined) this.closeFailures++
          })
        ),
        Effect.sync(() => {
          this.open.delete(live)
          Deferred.unsafeDone(ended, Effect.void)
        })
      )
    })
  }

  /** In the background, since requests that are under way may still have their answers. */
  drain(live: Live, reason: McpError.McpError): Effect.Effect<void> {
    // The owner, who forks it, can't be interrupted; the end of the connection must not wait for it.
    return Effect.interruptible(inTime(live.session.quiet, drainBound, () => Effect.void)).pipe(
      Effect.zipRight(Effect.uninterruptible(this.close(live, reason))),
      Effect.zipRight(Effect.sync(() => {
        this.usedUntil = this.parts.now()
      })),
      Effect.forkIn(this.parts.scope),
      Effect.asVoid
    )
  }

  /** Its closing does not delay the call. */
  closeAside(scope: Scope.CloseableScope): Effect.Effect<void> {
    return Scope.close(scope, Exit.void).pipe(
      Effect.zipRight(Effect.sync(() => {
        if (this.aside.delete(scope)) this.usedUntil = this.parts.now()
      })),
      Effect.forkIn(this.parts.scope),
      Effect.asVoid
    )
  }

  /** All but the channel. */
  get closeAll(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const shared = [...this.open].map((live) => this.close(live))
      const aside = [...this.aside].map((scope) => Scope.close(scope, Exit.void))
      this.aside.clear()
      // One that is closed has a fiber for that already.
      if (shared.length === 1 && aside.length === 0 && !this.isTrying) return shared[0]!
      return Effect.asVoid(together([this.abortTry, ...shared, ...aside], identity))
    })
  }

  /** Unless it is needed: lost sessions that still drain have their sockets there, and those of single calls. */
  get closeChannel(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.channelsClosed++
      if (this.channel === undefined || this.open.size > 0 || this.hasAside) return Effect.void
      const { scope } = this.channel
      this.channel = undefined
      return Effect.map(within(Effect.uninterruptible(Scope.close(scope, Exit.void)), this.closeBound), (closed) => {
        if (Option.isNone(closed) || Exit.isFailure(closed.value)) this.closeFailures++
      })
    })
  }

  /** What comes up in spite of it is closed. */
  private get abortTry(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { trying } = this
      this.trying = undefined
      if (trying === undefined) return Effect.void
      const closeLate = Effect.flatMap(
        Effect.exit(Fiber.join(trying.fiber)),
        (exit) => Exit.isSuccess(exit) && Exit.isSuccess(exit.value) ? this.close(exit.value.value) : Effect.void
      )
      return within(Effect.zipRight(Fiber.interruptFork(trying.fiber), closeLate), this.closeBound).pipe(
        Effect.flatMap((ended) => {
          if (Option.isSome(ended)) return Effect.void
          this.closeFailures++
          return Effect.asVoid(Effect.forkDaemon(closeLate))
        })
      )
    })
  }

  private get closeBound(): Duration.Duration {
    return Duration.sum(closeBoundOf(this.parts.config), Duration.seconds(1))
  }
}
