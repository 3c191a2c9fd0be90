/**
 * What the server asks us: one fiber per request, tied to the server's cancellation, to a deadline and to the session.
 *
 * Owns: the running handlers, the checks on what they answer, the fixed texts the server gets when they fail.
 * May not touch: the wire. It is given a way to answer.
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as ClientHandlers from "../../ClientHandlers.js"
import * as McpProtocol from "../../McpProtocol.js"

export interface ServerRequests {
  readonly start: (id: McpProtocol.RequestId, method: string, params: McpProtocol.JsonObject) => void
  readonly cancel: (id: McpProtocol.RequestId) => void
}

export interface Options {
  readonly server: string
  readonly handlers: ClientHandlers.Handlers
  readonly limit: number
  readonly deadline: Duration.Duration | null
  readonly answer: (message: McpProtocol.JsonRpcMessage) => void
  readonly failed: (detail: string) => void
}

/** What a handler's failure is, to the server: a code and a text that give nothing away. */
interface Refusal {
  readonly code: number
  readonly message: string
}

const notSupported: Refusal = { code: McpProtocol.ErrorCode.MethodNotFound, message: "Method not found" }
const badParams: Refusal = { code: McpProtocol.ErrorCode.InvalidParams, message: "Invalid parameters" }
const failed: Refusal = {
  code: McpProtocol.ErrorCode.InternalError,
  message: "The client could not handle the request"
}
const busy: Refusal = { code: -32000, message: "The client handles too many requests" }
const duplicate: Refusal = {
  code: McpProtocol.ErrorCode.InvalidRequest,
  message: "A request with this id is under way"
}

type Answer = Effect.Effect<McpProtocol.JsonObject, unknown>

export const make = (options: Options): Effect.Effect<ServerRequests, never, Scope.Scope> =>
  Effect.gen(function*() {
    const fibers = yield* FiberMap.make<McpProtocol.RequestId>()
    const run = yield* FiberMap.runtime(fibers)<never>()
    const refuse = (id: McpProtocol.RequestId, error: Refusal) => options.answer({ jsonrpc: "2.0", id, error })
    return {
      start: (id, method, params) => {
        const handler = handlerOf(options.handlers, options.server, method, params)
        if ("code" in handler) refuse(id, handler)
        else if (FiberMap.unsafeHas(fibers, id)) refuse(id, duplicate)
        else if (runningCount(fibers) >= options.limit) refuse(id, busy)
        else run(id, Effect.interruptible(answering(options, id, method, params, handler.answer)))
      },
      cancel: (id) => {
        const fiber = FiberMap.unsafeGet(fibers, id)
        if (Option.isSome(fiber)) fiber.value.unsafeInterruptAsFork(fiber.value.id())
      }
    }
  })

const runningCount = (fibers: FiberMap.FiberMap<McpProtocol.RequestId>): number => {
  let count = 0
  for (const _ of fibers) count++
  return count
}

const answering = (
  options: Options,
  id: McpProtocol.RequestId,
  method: string,
  params: McpProtocol.JsonObject,
  answer: Answer
): Effect.Effect<void> =>
  (options.deadline === null ? answer : Effect.timeout(answer, options.deadline)).pipe(
    Effect.flatMap((result) =>
      McpProtocol.isObject(result) ? Effect.succeed(result) : Effect.fail("it did not answer with an object")
    ),
    Effect.matchCauseEffect({
      onSuccess: (result) =>
        Effect.sync(() => options.answer({ jsonrpc: "2.0", id, result: relatedToTask(result, params) })),
      onFailure: (cause) =>
        Effect.sync(() => {
          options.failed(`the handler for ${method} failed: ${describeFailure(cause)}`)
          options.answer({ jsonrpc: "2.0", id, error: failed })
        })
    })
  )

/** For the application's log, never for the server: only the kind of failure, since its text may hold anything. */
const describeFailure = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (typeof error === "string") return error
  if (typeof error === "object" && error !== null && "_tag" in error) return String(error._tag)
  return error instanceof Error ? error.name : typeof error
}

const relatedTaskKey = "io.modelcontextprotocol/related-task"

/** What is said within a task carries the task's id in both directions. */
const relatedToTask = (result: McpProtocol.JsonObject, params: McpProtocol.JsonObject): McpProtocol.JsonObject => {
  const meta = params._meta
  if (!McpProtocol.isObject(meta) || meta[relatedTaskKey] === undefined) return result
  return {
    ...result,
    _meta: { ...(result._meta as McpProtocol.JsonObject | undefined), [relatedTaskKey]: meta[relatedTaskKey] }
  }
}

const handlerOf = (
  handlers: ClientHandlers.Handlers,
  server: string,
  method: string,
  params: McpProtocol.JsonObject
): { readonly answer: Answer } | Refusal => {
  const context: ClientHandlers.HandlerContext = { server, method }
  switch (method) {
    case "sampling/createMessage":
      return handlers.sampling === undefined
        ? notSupported
        : !Array.isArray(params.messages) || typeof params.maxTokens !== "number"
        ? badParams
        : sampling(handlers.sampling, params as unknown as McpProtocol.SamplingRequest, context)
    case "elicitation/create":
      return elicitation(handlers.elicitation, params, context)
    case "roots/list":
      return handlers.roots === undefined ? notSupported : roots(handlers.roots)
    default: {
      const custom = handlers.requests !== undefined && Object.hasOwn(handlers.requests, method)
        ? handlers.requests[method]
        : undefined
      return custom === undefined ? notSupported : { answer: Effect.suspend(() => custom(params, context)) }
    }
  }
}

const sampling = (
  handler: ClientHandlers.SamplingHandler,
  request: McpProtocol.SamplingRequest,
  context: ClientHandlers.HandlerContext
): { readonly answer: Answer } => ({
  answer: Effect.suspend(() => handler.create(request, context)).pipe(
    Effect.flatMap((result) =>
      McpProtocol.isObject(result) && (result.role === "user" || result.role === "assistant") &&
        typeof result.model === "string" && typeof result.content === "object"
        ? Effect.succeed(result as unknown as McpProtocol.JsonObject)
        : Effect.fail("its answer is not a sampling result")
    )
  )
})

const elicitation = (
  handler: ClientHandlers.ElicitationHandler | undefined,
  params: McpProtocol.JsonObject,
  context: ClientHandlers.HandlerContext
): { readonly answer: Answer } | Refusal => {
  const byUrl = params.mode === "url"
  const handle = byUrl ? handler?.url : handler?.form
  if (handler === undefined || handle === undefined) return handler === undefined ? notSupported : badParams
  const wellFormed = typeof params.message === "string" && (byUrl
    ? typeof params.url === "string" && typeof params.elicitationId === "string"
    : McpProtocol.isObject(params.requestedSchema))
  if (!wellFormed) return badParams
  const request = { ...params, mode: byUrl ? "url" : "form" } as unknown as
    & McpProtocol.FormElicitation
    & McpProtocol.UrlElicitation
  return {
    answer: Effect.suspend(() => handle(request, context)).pipe(
      Effect.map((result) =>
        handler.applyDefaults === true && !byUrl ? ClientHandlers.withDefaults(result, request) : result
      ),
      Effect.flatMap((result) => {
        const problem = ClientHandlers.elicitationProblem(result, request)
        return problem === undefined
          ? Effect.succeed(result as unknown as McpProtocol.JsonObject)
          : Effect.fail(`its answer is no elicitation result: ${problem}`)
      })
    )
  }
}

const roots = (handler: ClientHandlers.RootsHandler): { readonly answer: Answer } => ({
  answer: Effect.flatMap(
    handler.list,
    (roots) =>
      Array.isArray(roots) && roots.every((_) => McpProtocol.isObject(_) && typeof _.uri === "string")
        ? Effect.succeed({ roots })
        : Effect.fail("its answer is not a list of roots")
  )
})
