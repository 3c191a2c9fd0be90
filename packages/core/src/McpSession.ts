/**
 * One initialised conversation with one server, as a scoped resource.
 *
 * Owns: opening, the narrow port that everything later stands on (`request`, `notify`, `incoming`, `closed`, `info`), and
 * the operations of the protocol over that port.
 * May not touch: retries, reconnection, sharing. A session that is over stays over.
 *
 * ```text
 * open:  wire -> initialize -> initialized -> listen -> log level      (one deadline)
 * close: mute -> fail what is pending -> end handlers -> close the wire (DELETE, EOF, TERM, KILL; bounded)
 * ```
 *
 * Whatever fails in `open`, everything it had opened is closed when it fails. Nothing a server does and no interruption
 * can leave a process, a socket, a timer or a fiber behind.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Subscribable from "effect/Subscribable"
import type * as Tracer from "effect/Tracer"
import * as ClientHandlers from "./ClientHandlers.js"
import { closeBoundOf } from "./internal/config/accessors.js"
import type { Beginning } from "./internal/engine/begun.js"
import { type Begins, Calls, type Waited } from "./internal/engine/calls.js"
import { Deadlines } from "./internal/engine/deadlines.js"
import { type Decoder, Engine } from "./internal/engine/engine.js"
import * as Handlers from "./internal/engine/handlers.js"
import * as Handshake from "./internal/engine/handshake.js"
import * as Inbox from "./internal/engine/inbox.js"
import * as Progress from "./internal/engine/progress.js"
import { Quiet } from "./internal/engine/quiet.js"
import * as ServerRequests from "./internal/engine/serverRequests.js"
import type { SessionListener, Supervised } from "./internal/engine/supervised.js"
import type { Place, Turnstile } from "./internal/engine/turnstile.js"
import { Warnings } from "./internal/engine/warnings.js"
import { acquireRelease, addFinalizer } from "./internal/finalizers.js"
import { mergedMeta } from "./internal/protocol/json.js"
import { shownAs } from "./internal/shownAs.js"
import type { Metered } from "./internal/telemetry/meter.js"
import * as Spans from "./internal/telemetry/spans.js"
import { tapped } from "./internal/telemetry/wireTap.js"
import { Watched } from "./internal/watched.js"
import { forkBounded, within } from "./internal/within.js"
import { withinHandshake } from "./internal/withinHandshake.js"
import * as McpConfig from "./McpConfig.js"
import * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as McpTransport from "./McpTransport.js"
import type * as RequestLimit from "./RequestLimit.js"
import type * as WireTap from "./WireTap.js"

/**
 * How one request is sent. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface RequestOptions {
  /** How long to wait without an answer or progress. `null` waits for ever. Default: the session's. */
  readonly timeout?: Duration.DurationInput | null | undefined
  /**
   * How long to wait at most, progress or not; for a list: for all its pages together. `null` waits for ever. Default: the
   * session's, for each request.
   */
  readonly maxTotal?: Duration.DurationInput | null | undefined
  /** Sent along as `_meta`. */
  readonly meta?: McpProtocol.JsonObject | undefined
  /** Sees every progress notification of this call, in order, before the call returns. */
  readonly onProgress?: ((progress: McpProtocol.Progress) => Effect.Effect<void, unknown>) | undefined
}

/**
 * How a session is opened. What is left out comes from the server's configuration, then from the defaults.
 *
 * @since 0.1.0
 * @category options
 */
export interface SessionOptions {
  /** The name and version we give to the server. */
  readonly clientInfo?: McpProtocol.Implementation | undefined
  /** Announced beside what the handlers amount to. */
  readonly capabilities?: McpProtocol.ClientCapabilities | undefined
  readonly handlers?: ClientHandlers.Handlers | undefined
  readonly logLevel?: McpProtocol.LogLevel | undefined
  /** The number of this session among those of one connection. */
  readonly generation?: number | undefined
  /**
   * How many requests may be under way at once; further ones wait their turn, and their deadlines run meanwhile. Default:
   * as many as `limits.inFlight` allows.
   */
  readonly concurrency?: number | undefined
  /**
   * Shared with other sessions: how many requests may be under way over all of them at once. The turns go round by channel.
   */
  readonly requests?: RequestLimit.RequestLimit | undefined
  /** Whether to open what the server needs to speak unasked (over HTTP its standalone stream). Default: `true`. */
  readonly listen?: boolean | undefined
  /** Hears every message, both ways. */
  readonly tap?: WireTap.WireTap | undefined
}

/**
 * What was counted during a session.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionStats {
  readonly sent: number
  readonly received: number
  readonly inFlight: number
  /**
   * Since when no request is under way, in milliseconds; nothing while one is. Our own questions do not count. To be compared with
   * other such values only: it is no time of the day where the clock was set back.
   */
  readonly quietSince: number | undefined
  readonly warnings: { readonly [kind in McpTransport.WarningKind]?: number }
}

/**
 * What was settled when the session was opened.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionInfo extends McpProtocol.ServerInfo {
  readonly transport: McpTransport.TransportKind
  readonly sessionId: string | undefined
}

/**
 * The port. Operations such as `callTool` are functions over it.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpSession {
  /** The configured name of the server. */
  readonly server: string
  readonly generation: number
  readonly info: SessionInfo
  readonly limits: McpConfig.Limits
  /** Sends a request and gives its raw result, frozen. */
  readonly request: (
    method: string,
    params?: McpProtocol.JsonObject,
    options?: RequestOptions
  ) => Effect.Effect<unknown, McpError.McpError>
  /** The same with a function that checks the result on its arrival; it must be synchronous and total. */
  readonly requestWith: <A>(
    method: string,
    params: McpProtocol.JsonObject | undefined,
    decode: (result: unknown) => { readonly value: A } | { readonly problem: string },
    options?: RequestOptions
  ) => Effect.Effect<A, McpError.McpError>
  /** Sends a notification; succeeds when the wire has accepted it. */
  readonly notify: (method: string, params?: McpProtocol.JsonObject) => Effect.Effect<void, McpError.McpError>
  /**
   * What the server says unasked, in order, each before the answer that follows it on the wire. Bounded, in number and in
   * size: a reader that is too slow loses the oldest. For one reader; ends with the session. Of a session that a connection has
   * opened, the connection is the reader: `McpConnection.notifications` has them.
   */
  readonly incoming: Stream.Stream<McpProtocol.Notification>
  /** Completes with the reason when the session is over. */
  readonly closed: Deferred.Deferred<McpError.McpError>
  /**
   * The state of the stream over which the server speaks unasked, and its changes until the session is over. A slow reader
   * misses what is between, never the last.
   */
  readonly serverStream: Subscribable.Subscribable<McpTransport.ServerStreamState>
  readonly stats: Effect.Effect<SessionStats>
  /** Completes when no request is under way. */
  readonly quiet: Effect.Effect<void>
}

const defaultClientInfo: McpProtocol.Implementation = { name: "mcp-runtime", version: "0.1.0" }

/**
 * Opens a session: starts the server or connects to it, and completes the handshake. The session lives as long as the
 * scope.
 *
 * @example
 * ```ts
 * import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const transport = yield* McpTransport.McpTransport
 *   const config = yield* McpConfig.decode({ name: "docs", transport: "http", url: "http://127.0.0.1:8080/mcp" })
 *   const channel = yield* transport.channel(config)
 *   const session = yield* McpSession.open(channel)
 *   const { items } = yield* McpSession.listTools(session)
 *   return items.map((tool) => tool.name)
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = (
  channel: McpTransport.Channel,
  options: SessionOptions = {}
): Effect.Effect<McpSession, McpError.McpError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      const stage: Stage = { transport: undefined, engine: undefined }
      const opening = withinHandshake(
        channel.config,
        Effect.interruptible(
          Effect.flatMap(Spans.current, (parent) => Spans.withoutParent(openIn(channel, options, scope, stage, parent)))
        ),
        () => ({
          stderrTail: stage.transport?.stderrTail(),
          ...(stage.engine !== undefined && { lastFrames: stage.engine.lastFrames() })
        })
      )
      const exit = yield* Effect.exit(restore(opening))
      if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
      return yield* exit
    })
  )

/** How far the opening has come: what a deadline can say about it. */
interface Stage {
  transport: McpTransport.MessageTransport | undefined
  engine: Engine | undefined
}

const openIn = (
  channel: McpTransport.Channel,
  options: SessionOptions,
  scope: Scope.CloseableScope,
  stage: Stage,
  parent: Tracer.AnySpan | undefined
): Effect.Effect<McpSession, McpError.McpError> =>
  Effect.gen(function*() {
    const { config } = channel
    const concurrency = yield* concurrencyOf(config.name, options)
    const limits = McpConfig.limitsOf(config)
    const timeouts = McpConfig.timeoutsOf(config)
    const handlers = options.handlers ?? (yield* ClientHandlers.ClientHandlers)
    const runtime = yield* Effect.runtime<never>()
    const { meter } = options as SessionOptions & Metered
    const warnings = new Warnings(config.name, runtime, meter)
    const closed = yield* Deferred.make<McpError.McpError>()
    const wire = yield* Scope.make()
    // Registered first, so that the wire is closed last.
    yield* addFinalizer((exit) => closeWire(config, wire, exit, warnings))

    const inbox = yield* Inbox.make({
      server: config.name,
      runtime,
      handlers,
      bounds: Inbox.boundsOf(limits),
      deadline: timeouts.handler,
      secrets: () => engine.secrets,
      warning: warnings.add
    })
    const serverRequests = yield* ServerRequests.make({
      server: config.name,
      runtime,
      handlers,
      limit: limits.serverRequests,
      most: limits.messageBytes,
      deadline: timeouts.handler,
      answer: (message) => engine.postUnawaited(message),
      secrets: () => engine.secrets,
      failed: (detail) => warnings.add("HandlerFailed", detail)
    })
    const serverStream = new Watched<McpTransport.ServerStreamState>("none")
    const followed: Followed = { by: undefined, wasDown: false }
    const showServerStream = (state: McpTransport.ServerStreamState) => {
      if (state === serverStream.current) return
      serverStream.set(state)
      if (followed.by === undefined) followed.wasDown ||= state === "down"
      else followed.by.serverStream(state)
    }
    const ended = (error: McpError.McpError) => {
      Deferred.unsafeDone(closed, Effect.succeed(error))
      inbox.end()
      serverRequests.stop()
      followed.by?.ended(error)
      showServerStream("none")
      serverStream.end()
    }
    const clock = yield* Effect.clock
    const deadlines: Deadlines = new Deadlines(clock, runtime, (now) => engine.expire(now))
    const quiet = new Quiet(deadlines)
    const engine: Engine = new Engine(
      config.name,
      limits,
      concurrency,
      deadlines,
      {
        notification: inbox.offer,
        request: serverRequests.start,
        cancelled: serverRequests.cancel,
        closed: ended,
        used: quiet.used,
        quiet: quiet.begin,
        warning: warnings.add
      },
      placeOf(channel, options),
      meter
    )
    yield* addFinalizer(() => deadlines.stop)
    yield* addFinalizer(() =>
      Effect.sync(() => {
        engine.close(closing(config.name))
        ended(engine.reason ?? closing(config.name))
      })
    )

    const open = tapped(channel, options, () => clock.unsafeCurrentTimeMillis())
    const transport = yield* open({
      message: engine.receive,
      requestFailed: engine.requestFailed,
      closed: engine.connectionClosed,
      warning: warnings.add,
      serverStream: showServerStream
    }).pipe(Scope.extend(wire))
    engine.attach(transport)
    stage.transport = transport
    stage.engine = engine
    const server = yield* Handshake.handshake(engine, transport, {
      server: config.name,
      clientInfo: options.clientInfo ?? defaultClientInfo,
      capabilities: { ...options.capabilities, ...Handlers.capabilities(handlers) },
      listen: options.listen ?? true
    }).pipe((handshake) => Spans.ofInitialize(handshake, config, parent))
    if (meter !== undefined) yield* metered(meter, engine, deadlines)

    const session = make({
      server: config.name,
      generation: options.generation ?? 0,
      info: { ...server, transport: transport.kind(), sessionId: transport.sessionId() },
      limits,
      calls: new Calls(config.name, timeouts),
      engine,
      transport,
      quiet,
      warnings,
      inbox,
      closed,
      serverStream,
      followed
    })
    if (handlers.roots?.changes !== undefined) {
      yield* handlers.roots.changes.pipe(
        Stream.runForEach(() => Effect.ignore(session.notify("notifications/roots/list_changed"))),
        Effect.catchAllCause(() => Effect.sync(() => warnings.add("HandlerFailed", "the stream of roots has failed"))),
        forkBounded
      )
    }
    yield* chooseLogLevel(session, options.logLevel ?? config.logLevel, warnings)
    return session
  }).pipe(Scope.extend(scope))

/** From here on it counts as a session, until its scope closes. */
const metered = (
  meter: NonNullable<Metered["meter"]>,
  engine: Engine,
  deadlines: Deadlines
): Effect.Effect<void, never, Scope.Scope> =>
  acquireRelease(
    Effect.sync(() => {
      meter.opened()
      return deadlines.now()
    }),
    (openedAt) => Effect.sync(() => meter.closed(deadlines.now() - openedAt, engine.expiry ?? engine.reason))
  )

const concurrencyOf = (
  server: string,
  { concurrency = Number.POSITIVE_INFINITY }: SessionOptions
): Either.Either<number, McpError.McpError> =>
  concurrency >= 1
    ? Either.right(concurrency)
    : Either.left(
      new McpError.ConfigInvalid({
        server,
        operation: "open",
        executed: "no",
        problems: [{ field: "concurrency", problem: "must be a number of at least 1" }]
      })
    )

const placeOf = (channel: McpTransport.Channel, { requests }: SessionOptions): Place | undefined =>
  requests === undefined ? undefined : (requests as RequestLimit.RequestLimit & Turnstile).placeOf(channel)

/**
 * A wire bounds its own closing; this is for one that does not. It goes on in the background while the session is over, and
 * what it dies of is a warning: whoever closes a session has no use for it.
 */
const closeWire = (
  config: McpConfig.ServerConfig,
  wire: Scope.CloseableScope,
  exit: Exit.Exit<unknown, unknown>,
  warnings: Warnings
): Effect.Effect<void> =>
  within(Effect.uninterruptible(Scope.close(wire, exit)), closeBoundOf(config)).pipe(
    Effect.map((closed) => {
      if (Option.isNone(closed)) warnings.add("CloseFailed", "the transport did not close in time")
      else if (Exit.isFailure(closed.value)) warnings.add("CloseFailed", "the transport failed while it was closed")
    })
  )

const closing = (server: string): McpError.McpError =>
  new McpError.ConnectionClosed({
    server,
    operation: "close",
    executed: "no",
    reason: "Closing",
    detail: "the session was closed by this application"
  })

/** A server that can't log, or refuses the level, is still a server. */
const chooseLogLevel = (
  session: McpSession,
  level: McpProtocol.LogLevel | undefined,
  warnings: Warnings
): Effect.Effect<void> =>
  level === undefined || session.info.capabilities.logging === undefined
    ? Effect.void
    : session.request("logging/setLevel", { level }, unattended).pipe(
      Effect.catchAll((error) => Effect.sync(() => warnings.add("SendFailed", error.message)))
    )

/** An opening waits for nobody else's requests. */
const unattended: RequestOptions & Waited = { unattended: true }

interface Parts {
  readonly server: string
  readonly generation: number
  readonly info: SessionInfo
  readonly limits: McpConfig.Limits
  readonly calls: Calls
  readonly engine: Engine
  readonly transport: McpTransport.MessageTransport
  readonly quiet: Quiet
  readonly warnings: Warnings
  readonly inbox: Inbox.Inbox
  readonly closed: Deferred.Deferred<McpError.McpError>
  readonly serverStream: Watched<McpTransport.ServerStreamState>
  readonly followed: Followed
}

interface Followed {
  by: SessionListener | undefined
  /** Whether the server's own stream was down before anybody followed: what was said then was not heard. */
  wasDown: boolean
}

const make = (parts: Parts): Supervised => {
  const { calls, closed, engine, followed, inbox, limits, quiet, serverStream, warnings } = parts
  const requestWith: McpSession["requestWith"] = (method, params, decode, options) => {
    const progress = method === "tools/call"
    const usual = calls.usual(options, progress)
    if (options === undefined) return engine.request(method, params, decode, usual!)
    const withMeta = options.meta === undefined ? params : { ...params, _meta: mergedMeta(params, options.meta) }
    const { begins, named, onProgress } = options as RequestOptions & Begins & Waited
    if (usual !== undefined) return engine.request(method, withMeta, decode, usual, named)
    const send = (sink: ((progress: McpProtocol.Progress) => void) | undefined, beginning?: Beginning) =>
      Either.match(calls.make(method, options, progress, sink, beginning), {
        onLeft: Effect.fail,
        onRight: (call) => engine.request(method, withMeta, decode, call, named)
      })
    const failed = () => warnings.add("HandlerFailed", `the progress handler for ${method} failed`)
    if (begins === undefined) {
      return onProgress === undefined
        ? send(undefined)
        : Progress.delivering(onProgress, limits.messageBytes, failed, send)
    }
    return Effect.suspend(() => {
      const beginning: Beginning = { onLate: begins.onLate, token: undefined }
      const sink = onProgress === undefined
        ? Effect.succeed(undefined)
        : Progress.deliveringIn(begins.life, onProgress, limits.messageBytes, failed)
      return Scope.addFinalizer(begins.life, Effect.sync(() => engine.forget(beginning))).pipe(
        Effect.zipRight(sink),
        Effect.flatMap((_) => send(_, beginning))
      )
    })
  }
  const { generation, info, server } = parts
  const session: Supervised = {
    server,
    generation,
    info: Object.freeze(info),
    limits,
    request: (method, params, options) => requestWith(method, params, anyResult, options),
    requestWith,
    notify: (method, params) =>
      engine.post({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) }, method),
    get incoming() {
      return inbox.stream
    },
    secrets: () => engine.secrets,
    follow: (listener) => {
      followed.by = listener
      if (followed.wasDown) listener.serverStream("down")
      listener.serverStream(serverStream.current)
      inbox.follow(listener.notification)
      if (engine.reason !== undefined) listener.ended(engine.reason)
    },
    signs: () => {
      const { received } = engine
      const hasRead = parts.transport.reading?.()
      return { seen: () => engine.received !== received || hasRead?.() === true, tellReading: hasRead !== undefined }
    },
    giveUp: (error) => engine.close(error),
    dropped: inbox.dropped,
    closed,
    get serverStream() {
      return Subscribable.make({ get: Effect.sync(() => serverStream.current), changes: serverStream.changes })
    },
    get stats() {
      return Effect.sync(() => ({
        sent: engine.sent,
        received: engine.received,
        inFlight: engine.inFlight,
        quietSince: engine.working === 0 ? quiet.since : undefined,
        warnings: warnings.snapshot
      }))
    },
    get quiet() {
      return Effect.suspend(() => engine.working === 0 ? Effect.void : quiet.await)
    }
  }
  return shownAs(session, "McpSession", () => ({ server, generation, transport: info.transport }))
}

const anyResult: Decoder<unknown> = (value) => ({ value })

export {
  callTool,
  complete,
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  listTools,
  ping,
  readResource,
  sendRootsChanged,
  setLogLevel,
  subscribe,
  unsubscribe
} from "./internal/operations/operations.js"

export {
  callToolAsTask,
  cancelTask,
  getTask,
  getTaskResult,
  listTasks,
  type RunningTask,
  startTask,
  type TaskOptions
} from "./internal/operations/tasks.js"
