/**
 * The services of a runtime for code that isn't Effect.
 *
 * Owns: that a promise is rejected with the error itself, and that nothing is left when it is closed or could not be built.
 * This is one of the few places where promises are made.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as McpCatalog from "../../McpCatalog.js"
import * as McpError from "../../McpError.js"
import * as McpManager from "../../McpManager.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { McpRuntime, PromiseOptions, PromiseRuntime } from "../../McpRuntime.js"
import { getPrompt, readResource } from "../connection/operations.js"
import { owner } from "../manager/settings.js"
import * as Signals from "./signals.js"
import * as Toolsets from "./toolsets.js"

export const make = async <E>(
  layer: Layer.Layer<McpRuntime, E>,
  signal: AbortSignal | undefined
): Promise<PromiseRuntime> => {
  signal?.throwIfAborted()
  const scope = Effect.runSync(Scope.make())
  const exit = await Effect.runPromiseExit(Scope.extend(Layer.toRuntime(layer), scope), given(signal))
  if (Exit.isFailure(exit)) {
    await Effect.runPromise(Scope.close(scope, exit))
    throw signal?.aborted === true ? signal.reason : errorOf(exit.cause)
  }
  return over(exit.value, scope)
}

const over = (runtime: Runtime.Runtime<McpRuntime>, scope: Scope.CloseableScope): PromiseRuntime => {
  const manager = Context.get(runtime.context, McpManager.McpManager)
  const catalog = Context.get(runtime.context, McpCatalog.McpCatalog)
  const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
  let closing: Promise<void> | undefined = undefined

  const run = <A, F>(effect: Effect.Effect<A, F, McpRuntime>, options?: PromiseOptions): Promise<A> =>
    new Promise<A>((resolve, reject) => {
      // Nothing is begun: a fiber would run until its first pause before it is interrupted.
      const isAborted = () => options?.signal?.aborted === true
      if (isAborted()) return reject(options?.signal?.reason)
      if (closing !== undefined) return reject(released("no"))
      const fiber = Runtime.runFork(runtime)(effect)
      running.add(fiber)
      Signals.follow(fiber, options?.signal)
      fiber.addObserver((exit) => {
        running.delete(fiber)
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else if (isAborted()) reject(options?.signal?.reason)
        else reject(closing !== undefined && Exit.isInterrupted(exit) ? released("maybe") : errorOf(exit.cause))
      })
    })

  // Whoever waits for a server learns that it is closed; what waits for something else is interrupted.
  const closed = Effect.suspend(() => Effect.zipRight(Scope.close(scope, Exit.void), Fiber.interruptAll(running)))
  const close = (): Promise<void> => closing ??= Effect.runPromise(closed)

  const calling: Toolsets.Promising["calling"] = (options, call) => {
    const { onProgress, signal, ...others } = options ?? {}
    return run(call({ ...others, onProgress: onProgress && heardBy(onProgress) }), given(signal))
  }

  return {
    state: () => Runtime.runSync(runtime)(manager.state),
    tools: (options) => run(catalog.tools, options),
    prompts: (options) => run(catalog.prompts, options),
    resources: (options) => run(catalog.resources, options),
    callTool: (server, params, options) => calling(options, (_) => manager.callTool(server, params, _)),
    getPrompt: (server, params, options) =>
      calling(
        options,
        (_) => Effect.flatMap(manager.connection(server), (connection) => getPrompt(connection, params, _))
      ),
    readResource: (server, uri, options) =>
      calling(
        options,
        (_) => Effect.flatMap(manager.connection(server), (connection) => readResource(connection, uri, _))
      ),
    connect: (server, options) => run(manager.connect(server), options),
    disconnect: (server, options) => run(manager.disconnect(server), options),
    reconnect: ({ failedOnly, signal } = {}) => run(manager.reconnect({ failedOnly }), given(signal)),
    reload: (servers, options) => run(manager.reload(servers), options),
    toolset: Toolsets.make(manager, { run, calling }),
    run,
    close
  }
}

/** What it throws, or rejects with, is what the Effect fails with. */
const heardBy = (onProgress: (progress: McpProtocol.Progress) => unknown) => (progress: McpProtocol.Progress) =>
  Effect.tryPromise({ try: async () => onProgress(progress), catch: (error) => error }).pipe(Effect.asVoid)

const given = (signal: AbortSignal | undefined): { readonly signal?: AbortSignal } =>
  signal === undefined ? {} : { signal }

/** What the runtime was closed under. */
const released = (executed: McpError.Executed): McpError.McpError =>
  new McpError.ConnectionUnavailable({
    server: owner,
    operation: "run",
    executed,
    reason: "Released",
    detail: "the runtime has been closed"
  })

/** The error that an Effect has failed with, as it is. */
const errorOf = (cause: Cause.Cause<unknown>): unknown => Cause.squash(cause)
