/**
 * Puts a connection together: its owner, its calls, and what the application sees of them.
 *
 * Owns: which part knows which other, and what the public functions are made of.
 * May not touch: what the parts decide.
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpConfig from "../../McpConfig.js"
import type { CallOptions, ConnectionOptions, McpConnection, Operation, TypeId } from "../../McpConnection.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import * as RetryPolicy from "../../RetryPolicy.js"
import * as AsMade from "../asMade.js"
import * as Catalog from "../catalog/catalog.js"
import type { Kind } from "../catalog/shelf.js"
import type { Waited } from "../engine/calls.js"
import * as Inbox from "../engine/inbox.js"
import { addFinalizer } from "../finalizers.js"
import { Hub } from "../hub.js"
import { mergedMeta } from "../protocol/json.js"
import { shownAs } from "../shownAs.js"
import { Meter } from "../telemetry/meter.js"
import * as Spans from "../telemetry/spans.js"
import { type Budget, Calls } from "./calls.js"
import type { OwnerEvent } from "./events.js"
import { Ladder, settings } from "./ladder.js"
import type { Live } from "./live.js"
import * as Opening from "./opening.js"
import * as Operations from "./operations.js"
import { Owner } from "./owner.js"
import { States } from "./states.js"
import { type Subject, Tracing } from "./tracing.js"

const typeId: TypeId = Symbol.for("@mcp-runtime/core/McpConnection") as TypeId

/** What the operations of a connection need beside what applications see. */
export interface Connection extends McpConnection {
  readonly owner: Owner
  readonly performWith: <A>(operation: Operation<A>, budget?: Budget) => Effect.Effect<A, McpError.McpError>
  /** The same in a step of this fiber. */
  readonly performIn: <A>(
    fiber: Fiber.RuntimeFiber<unknown, unknown>,
    operation: Operation<A>,
    budget?: Budget
  ) => Effect.Effect<A, McpError.McpError>
  /** The same for a part of what has a span of its own. */
  readonly performInSpan: <A>(operation: Operation<A>, budget?: Budget) => Effect.Effect<A, McpError.McpError>
  readonly inSpan: <A>(
    subject: Subject,
    effect: Effect.Effect<A, McpError.McpError>
  ) => Effect.Effect<A, McpError.McpError>
  /** Like `disable`, with another reason for whoever uses it. */
  readonly disableBecause: (detail: string) => Effect.Effect<void>
  /** Where it is closed, and not for good, it is `Idle`. */
  readonly rest: Effect.Effect<void>
  readonly budget: (options: CallOptions | undefined) => Budget
  /** Not longer than a call with these options may wait before it is sent. */
  readonly inTime: <A>(
    effect: Effect.Effect<A, McpError.McpError>,
    method: string,
    options: CallOptions | undefined
  ) => Effect.Effect<A, McpError.McpError>
}

const asMade = AsMade.of<McpConnection>("state", "catalog")

/** Whether it is one as it was made: no copy of one, and none with other functions. */
export const isOurs = (connection: McpConnection): connection is Connection => asMade.has(connection)

const ignore = () => {}

const unattended: CallOptions & Waited = { unattended: true }

export const make = (
  channel: Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>,
  config: McpConfig.ServerConfig,
  options: ConnectionOptions,
  /** Called, synchronously, when its state or one of its lists has changed. Total. */
  observer: () => void = ignore
): Effect.Effect<Connection, McpError.ConfigInvalid, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const ladder = new Ladder(yield* settings(config, options.reconnect))
      const clock = yield* Effect.clock
      const enabled = config.enabled ?? true
      const limits = McpConfig.limitsOf(config)
      const notifications = new Hub(Inbox.boundsOf(limits))
      const meter = meterOf(config, options, (tool) => catalog.tools.find(tool) !== undefined)
      const catalog: Catalog.Internal = yield* Catalog.make(
        {
          server: config.name,
          meter,
          list: (kind) => listed(kind, undefined),
          unattended: (kind) => listed(kind, unattended),
          told: (kind, error) => Operations.countListing(meter, kind, error),
          // It is no reason to connect, nor a use of the connection.
          relist: (kind) =>
            Effect.suspend(() => {
              const { era, live } = owner
              if (live === undefined) return Effect.succeed(undefined)
              return Effect.flatMap(
                Opening.relist(live, kind, (live, error) => owner.hear(live, error)),
                // Who has come meanwhile does not outlast a close.
                (listing) =>
                  listing === undefined && era !== owner.era
                    ? Effect.fail(owner.closing(`${kind}/list`))
                    : Effect.succeed(listing)
              )
            })
        },
        options.catalog,
        observer
      )
      // A new session may have brought it while it was waited for.
      const listed = <K extends Kind>(kind: K, options: (CallOptions & Waited) | undefined) =>
        Effect.suspend(() => {
          const shelf = catalog.shelves.of(kind)
          return Operations.listing(connection, kind, options, undefined, () => shelf.fresh(owner.now()))
        })
      const owner: Owner = new Owner({
        config,
        options: { ...options, meter },
        meter,
        ladder,
        channel,
        scope: yield* Effect.scope,
        clock,
        states: new States(
          { _tag: enabled ? "Idle" : "Disabled", since: clock.unsafeCurrentTimeMillis() },
          limits,
          observer
        ),
        events: yield* Queue.unbounded<OwnerEvent>(),
        notifications,
        catalog
      })
      yield* addFinalizer(() => owner.release)
      yield* Effect.forkScoped(Effect.interruptible(owner.run))
      yield* addFinalizer(() => owner.leave)
      if (enabled && config.lifetime === "eager") owner.demand()
      const connection = visible(
        owner,
        new Calls(owner, config, options.retry ?? RetryPolicy.defaultPolicy),
        notifications,
        new Tracing(config, options.traceContext)
      )
      return connection
    }).pipe(Spans.withoutParent)
  )

const meterOf = (
  config: McpConfig.ServerConfig,
  { metrics = true }: ConnectionOptions,
  isListed: (tool: string) => boolean
): Meter | undefined => {
  if (metrics === false) return undefined
  const tools = metrics === true ? 0 : metrics.tools ?? 0
  return new Meter(config, Number.isSafeInteger(tools) ? Math.min(tools, mostTools) : 0, isListed)
}

/** More tags than this nobody wants to store. */
const mostTools = 1000

const visible = (
  owner: Owner,
  calls: Calls,
  notifications: Hub<McpProtocol.Notification>,
  tracing: Tracing
): Connection => {
  const { config, server, states } = owner
  const live: Effect.Effect<Live, McpError.McpError> = Effect.suspend(() =>
    owner.live === undefined ? owner.untilLive("open", owner.era) : Effect.succeed(owner.live)
  )
  const awaitReady = Effect.map(live, (_) => _.session.info)
  const performInSpan = <A>(operation: Operation<A>, budget?: Budget): Effect.Effect<A, McpError.McpError> =>
    Effect.withFiberRuntime((fiber) => calls.begin(tracing.tellingIn(Spans.spanOf(fiber), operation), budget))
  const performIn: Connection["performIn"] = (fiber, operation, budget) =>
    Spans.isTraced(fiber)
      ? tracing.span(operation, Effect.suspend(() => calls.begin(tracing.telling(operation), budget)))
      : calls.begin(tracing.tellingIn(Spans.spanOf(fiber), operation), budget)
  const performWith = <A>(operation: Operation<A>, budget?: Budget): Effect.Effect<A, McpError.McpError> =>
    Effect.withFiberRuntime((fiber) => performIn(fiber, operation, budget))
  const connection: Connection = {
    [typeId]: typeId,
    server,
    config,
    state: Effect.sync(() => owner.state),
    get changes() {
      return states.changes
    },
    awaitReady,
    session: Effect.map(live, (_) => _.session),
    hold: holding(owner, awaitReady),
    get notifications() {
      return Stream.unwrapScoped(notifications.subscribe)
    },
    perform: performWith,
    request: (method, params, options) =>
      performWith({
        method,
        target: targetOf(method, params),
        uri: typeof params?.uri === "string" ? params.uri : undefined,
        options: withOwnMeta(options, params),
        send: (session, options) => session.request(method, params, options)
      }),
    notify: (method, params) =>
      Effect.flatMap(live, (current) =>
        Effect.tapError(
          current.session.notify(method, params),
          (error) => Effect.sync(() => owner.hear(current, error))
        )),
    catalog: owner.catalog,
    // Where it is closed after that, it stays closed.
    reconnect: Spans.current.pipe(
      Effect.flatMap((askedIn) => owner.command("reconnect", askedIn)),
      Effect.flatMap((era) => owner.untilLive("open", era)),
      Effect.map((_) => _.session.info)
    ),
    close: Effect.asVoid(owner.command("close")),
    disable: Effect.asVoid(owner.command("disable")),
    enable: Effect.asVoid(owner.command("enable")),
    stats: Effect.sync(() => ({
      sessions: owner.opened,
      attempts: owner.tries.attempts,
      losses: owner.losses,
      lastLoss: owner.lastLoss,
      replays: owner.replays,
      holders: owner.usage.holders,
      open: owner.sessions.size
    })),
    owner,
    disableBecause: (detail) =>
      Effect.suspend(() => {
        owner.disabledBecause = detail
        return Effect.asVoid(owner.command("disable"))
      }),
    rest: Effect.asVoid(owner.command("rest")),
    performWith,
    performIn,
    performInSpan,
    inSpan: (subject, effect) =>
      Effect.withFiberRuntime((fiber) => Spans.isTraced(fiber) ? tracing.span(subject, effect) : effect),
    budget: (options) => calls.budget(options),
    inTime: (effect, method, options) => calls.inTimeFor(effect, method, options)
  }
  asMade.add(connection)
  return shownAs(connection, "McpConnection", () => ({ server, state: owner.state._tag }))
}

/** Whoever gets no session, or is interrupted while it waits for one, holds nothing. */
const holding = <A>(
  owner: Owner,
  awaitReady: Effect.Effect<A, McpError.McpError>
): Effect.Effect<A, McpError.McpError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      yield* Scope.extend(owner.usage.held, scope)
      return yield* Effect.onError(restore(awaitReady), (cause) => Scope.close(scope, Exit.failCause(cause)))
    })
  )

/** What the parameters of a raw request have as `_meta` is told with what else is: nothing of it is lost, nor overruled. */
const withOwnMeta = (
  options: CallOptions | undefined,
  params: McpProtocol.JsonObject | undefined
): CallOptions | undefined => {
  const meta = mergedMeta(params, options?.meta)
  return meta === options?.meta ? options : { ...options, meta }
}

/** What a raw request is about, if its method has a name in it. */
const targetOf = (method: string, params: McpProtocol.JsonObject | undefined): string | undefined => {
  const name = method === "tools/call" || method === "prompts/get" ? params?.name : undefined
  return typeof name === "string" ? name : undefined
}
