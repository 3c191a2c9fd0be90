/**
 * What a server may ask us (sampling, elicitation, roots) and tell us (log messages, notifications), each an Effect of the
 * application's.
 *
 * Owns: the handlers, and where they get their services from.
 * May not touch: wires, ids, time. The engine runs the handlers, each in a fiber that ends when the server cancels, when
 * the deadline for handlers passes or when the session closes.
 *
 * A handler that fails, dies or answers nonsense harms nothing else: the server gets a fixed message that gives nothing
 * away, and the session counts a warning.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * Who is asking.
 *
 * @since 0.1.0
 * @category models
 */
export interface HandlerContext {
  readonly server: string
  readonly method: string
}

/**
 * Answers `sampling/createMessage`: runs a language model for the server.
 *
 * @since 0.1.0
 * @category models
 */
export interface SamplingHandler<R = never> {
  readonly create: (
    request: McpProtocol.SamplingRequest,
    context: HandlerContext
  ) => Effect.Effect<McpProtocol.SamplingResult, unknown, R>
  /** Whether requests with tools can be answered. */
  readonly tools?: boolean | undefined
  /** Whether `includeContext` is honoured. */
  readonly context?: boolean | undefined
}

/**
 * Answers `elicitation/create`: asks the user. A mode without a handler is not announced.
 *
 * @since 0.1.0
 * @category models
 */
export interface ElicitationHandler<R = never> {
  readonly form?:
    | ((
      request: McpProtocol.FormElicitation,
      context: HandlerContext
    ) => Effect.Effect<McpProtocol.ElicitationResult, unknown, R>)
    | undefined
  readonly url?:
    | ((
      request: McpProtocol.UrlElicitation,
      context: HandlerContext
    ) => Effect.Effect<McpProtocol.ElicitationResult, unknown, R>)
    | undefined
  /** Fills what an accepted form leaves out with the defaults of the schema. */
  readonly applyDefaults?: boolean | undefined
}

/**
 * Answers `roots/list`, and tells the server whenever `changes` emits.
 *
 * @since 0.1.0
 * @category models
 */
export interface RootsHandler<R = never> {
  readonly list: Effect.Effect<ReadonlyArray<McpProtocol.Root>, unknown, R>
  readonly changes?: Stream.Stream<unknown, unknown, R> | undefined
}

/**
 * All handlers. What is left out is not announced to the server, and refused if it asks all the same.
 *
 * @since 0.1.0
 * @category models
 */
export interface Handlers<R = never> {
  readonly sampling?: SamplingHandler<R> | undefined
  readonly elicitation?: ElicitationHandler<R> | undefined
  readonly roots?: RootsHandler<R> | undefined
  /** `notifications/message`. */
  readonly onLog?:
    | ((message: McpProtocol.LogMessage, context: HandlerContext) => Effect.Effect<void, unknown, R>)
    | undefined
  /** Every notification, those above included, one after the other, in the order of the wire. */
  readonly onNotification?:
    | ((notification: McpProtocol.Notification, context: HandlerContext) => Effect.Effect<void, unknown, R>)
    | undefined
  /** Any other request of the server, by method. The answer must be a JSON object. */
  readonly requests?:
    | {
      readonly [method: string]: (
        params: McpProtocol.JsonObject,
        context: HandlerContext
      ) => Effect.Effect<McpProtocol.JsonObject, unknown, R>
    }
    | undefined
}

/**
 * The handlers a session gets when none are given to it: none, unless the application provides this reference.
 *
 * @since 0.1.0
 * @category tags
 */
export class ClientHandlers extends Context.Reference<ClientHandlers>()("@mcp-runtime/core/ClientHandlers", {
  defaultValue: (): Handlers => none
}) {}

/**
 * No handlers: the server may ask for nothing but `ping`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Handlers = {}

/**
 * Handlers that use services: takes the services from where it is run.
 *
 * @example
 * ```ts
 * import { ClientHandlers } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const handlers = ClientHandlers.make({
 *   elicitation: {
 *     form: (request) => Effect.as(Effect.log(request.message), { action: "decline" as const })
 *   }
 * })
 *
 * console.log(Object.keys(Effect.runSync(handlers))) // [ 'elicitation' ]
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(handlers: Handlers<R>): Effect.Effect<Handlers, never, R> =>
  Effect.map(Effect.context<R>(), (context) => provide(handlers, context))

const provide = <R>(handlers: Handlers<R>, context: Context.Context<R>): Handlers => {
  const effect = <A>(self: Effect.Effect<A, unknown, R>) => Effect.provide(self, context)
  const withContext = <Args extends ReadonlyArray<unknown>, A>(
    f: (...args: Args) => Effect.Effect<A, unknown, R>
  ) =>
  (...args: Args): Effect.Effect<A, unknown> => Effect.suspend(() => effect(f(...args)))
  const { elicitation, onLog, onNotification, requests, roots, sampling } = handlers
  return {
    ...(sampling && { sampling: { ...sampling, create: withContext(sampling.create) } }),
    ...(elicitation && {
      elicitation: {
        ...(elicitation.form && { form: withContext(elicitation.form) }),
        ...(elicitation.url && { url: withContext(elicitation.url) }),
        applyDefaults: elicitation.applyDefaults
      }
    }),
    ...(roots && {
      roots: {
        list: effect(roots.list),
        ...(roots.changes && { changes: Stream.provideContext(roots.changes, context) })
      }
    }),
    ...(onLog && { onLog: withContext(onLog) }),
    ...(onNotification && { onNotification: withContext(onNotification) }),
    ...(requests && {
      requests: Object.fromEntries(Object.entries(requests).map(([method, f]) => [method, withContext(f)]))
    })
  }
}

/**
 * Roots held in a `SubscriptionRef`: setting it tells every session.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rootsFromRef = (
  ref: SubscriptionRef.SubscriptionRef<ReadonlyArray<McpProtocol.Root>>
): RootsHandler => ({
  list: ref.get,
  changes: Stream.drop(ref.changes, 1)
})

/**
 * Roots that never change.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rootsOf = (...roots: ReadonlyArray<McpProtocol.Root>): RootsHandler => ({ list: Effect.succeed(roots) })
