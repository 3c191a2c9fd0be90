/**
 * What the server asks us: one fiber per request, tied to the server's cancellation, to a deadline and to the session.
 *
 * Owns: the running handlers, the checks on what they answer, the fixed texts the server gets when they fail.
 * May not touch: the wire. It is given a way to answer.
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type * as ClientHandlers from "../../ClientHandlers.js"
import * as McpProtocol from "../../McpProtocol.js"
import { acquireRelease } from "../finalizers.js"
import { Measure } from "../protocol/json.js"
import { handling } from "../telemetry/serverSpans.js"
import { handlersEndWithin, within } from "../within.js"
import * as Handlers from "./handlers.js"

export interface ServerRequests {
  /** The connection is gone: handlers end, and nothing is started any more. */
  readonly stop: () => void
  readonly start: (id: McpProtocol.RequestId, method: string, params: McpProtocol.JsonObject) => void
  readonly cancel: (id: McpProtocol.RequestId) => void
}

export interface Options {
  readonly server: string
  /** Where handlers run. */
  readonly runtime: Runtime.Runtime<never>
  readonly handlers: ClientHandlers.Handlers
  /** How many may be under way. */
  readonly limit: number
  /** How large what they have asked may be, together. One alone may always be under way. */
  readonly most: number
  readonly deadline: Duration.Duration | null
  readonly answer: (message: McpProtocol.JsonRpcMessage) => void
  /** What must not show, should the server repeat it. */
  readonly secrets: () => ReadonlyArray<string>
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
  acquireRelease(
    Effect.sync(() => new Running(options)),
    (running) => running.end
  )

/** The handlers that are running, by the id of their request. */
class Running implements ServerRequests {
  private readonly fibers = new Map<McpProtocol.RequestId, Fiber.RuntimeFiber<void>>()
  private readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  private stopped = false
  /** How large what they have asked is, together. */
  private size = 0

  constructor(private readonly options: Options) {
    this.fork = (effect) => Runtime.runFork(options.runtime)(Effect.interruptible(effect))
  }

  readonly start = (id: McpProtocol.RequestId, method: string, params: McpProtocol.JsonObject): void => {
    if (this.stopped) return
    const { handlers, most, secrets, server } = this.options
    const handler = handlerOf(handlers, server, method, params)
    if ("code" in handler) return this.refuse(id, handler)
    if (this.fibers.has(id)) return this.refuse(id, duplicate)
    const size = Measure.of(most, id, method, params)
    if (!this.hasRoomFor(size)) return this.refuse(id, busy)
    const answer = handling(anObject(handler.answer), { server, id, method, params, secrets })
    this.run(id, size, new Reply(this.options, id, method, params), answer)
  }

  readonly cancel = (id: McpProtocol.RequestId): void => {
    const fiber = this.fibers.get(id)
    if (fiber !== undefined) interrupt(fiber)
  }

  readonly stop = (): void => {
    this.stopped = true
    for (const fiber of this.fibers.values()) interrupt(fiber)
  }

  /** The end of the session: whoever does not end in time is left behind. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stopped = true
      if (this.fibers.size === 0) return Effect.void
      return Effect.asVoid(within(Fiber.interruptAll([...this.fibers.values()]), handlersEndWithin))
    })
  }

  private hasRoomFor(size: number): boolean {
    const { limit, most } = this.options
    return this.fibers.size === 0 || (this.fibers.size < limit && this.size + size <= most)
  }

  private run(id: McpProtocol.RequestId, size: number, reply: Reply, answer: Answer): void {
    const fiber = this.fork(reply.answering(answer))
    if (fiber.unsafePoll() !== null) return
    this.fibers.set(id, fiber)
    this.size += size
    const timer = this.limit(fiber, reply)
    fiber.addObserver(() => {
      this.fibers.delete(id)
      this.size -= size
      if (timer !== undefined) interrupt(timer)
    })
  }

  /** A handler that is still running when its time is up is answered for, and interrupted. */
  private limit(fiber: Fiber.RuntimeFiber<void>, reply: Reply): Fiber.RuntimeFiber<void> | undefined {
    if (this.options.deadline === null) return undefined
    const timeUp = Effect.sync(() => {
      reply.fail("it took too long")
      interrupt(fiber)
    })
    return this.fork(Effect.zipRight(Effect.sleep(this.options.deadline), timeUp))
  }

  private refuse(id: McpProtocol.RequestId, error: Refusal): void {
    this.options.answer({ jsonrpc: "2.0", id, error })
  }
}

const interrupt = (fiber: Fiber.RuntimeFiber<void>): void => fiber.unsafeInterruptAsFork(FiberId.none)

/** The one answer to one request. */
class Reply {
  private given = false

  constructor(
    private readonly options: Options,
    private readonly id: McpProtocol.RequestId,
    private readonly method: string,
    private readonly params: McpProtocol.JsonObject
  ) {}

  answering(answer: Answer): Effect.Effect<void> {
    return Effect.matchCause(answer, {
      onSuccess: (result) => this.give({ jsonrpc: "2.0", id: this.id, result: relatedToTask(result, this.params) }),
      onFailure: (cause) => this.fail(describeFailure(cause))
    })
  }

  fail(detail: string): void {
    if (this.given) return
    this.options.failed(`the handler for ${this.method} failed: ${detail}`)
    this.give({ jsonrpc: "2.0", id: this.id, error: failed })
  }

  private give(message: McpProtocol.JsonRpcMessage): void {
    if (this.given) return
    this.given = true
    this.options.answer(message)
  }
}

const anObject = (answer: Answer): Answer =>
  Effect.flatMap(
    answer,
    (result) => McpProtocol.isObject(result) ? Effect.succeed(result) : Effect.fail("it did not answer with an object")
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
        : !Array.isArray(params.messages) || typeof params.maxTokens !== "number" || asksForTools(handlers, params)
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

/** A client that has not announced tools for sampling must refuse a request with them. */
const asksForTools = (handlers: ClientHandlers.Handlers, params: McpProtocol.JsonObject): boolean =>
  handlers.sampling?.tools !== true && (params.tools !== undefined || params.toolChoice !== undefined)

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
  if (params.mode !== undefined && params.mode !== "form" && params.mode !== "url") return badParams
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
        handler.applyDefaults === true && !byUrl ? Handlers.withDefaults(result, request) : result
      ),
      Effect.flatMap((result) => {
        const problem = Handlers.elicitationProblem(result, request)
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
