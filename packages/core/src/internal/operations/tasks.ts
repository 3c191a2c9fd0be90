/**
 * Tasks of protocol revision 2025-11-25: a tool call that the server runs on its own time.
 *
 * Owns: starting, polling at the server's pace, fetching the result, and that a task nobody waits for any more is
 * cancelled, once.
 *
 * ```text
 * working         -> wait the server's interval, ask again
 * input_required  -> ask for the result: the server puts its questions to our handlers while that request is open
 * completed       -> ask for the result
 * failed          -> ask for the result: a result with isError is a value, an error is TaskFailed
 * cancelled       -> TaskFailed
 * unknown         -> TaskFailed: it has expired
 * ```
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { McpSession, RequestOptions } from "../../McpSession.js"
import type { Begins } from "../engine/calls.js"
import * as Errors from "../engine/errors.js"
import { retryAfter } from "../retry/budget.js"
import * as Secrets from "../secrets.js"
import * as Steady from "../steady.js"
import { inTime, within } from "../within.js"
import { listAll } from "./lists.js"
import { decodeCallToolResult } from "./operations.js"
import { type Port, requiring } from "./port.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

/**
 * How a task is run.
 *
 * - `timeout` bounds each single request. The one for the result of a task that needs input has no such bound: it is open
 *   while a person is asked.
 * - `maxTotal` bounds the task as a whole, from its start to its result. It is the only bound for a server that needs input
 *   and never comes back, apart from the end of the session.
 * - `onProgress` sees the progress of the whole task, in order, before `result` gives what the tool answered.
 *
 * @since 0.1.0
 * @category options
 */
export interface TaskOptions extends RequestOptions {
  /** How long the server shall keep the task and its result. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Sees the task whenever it was asked for. Its failure is ignored. */
  readonly onStatus?: ((task: McpProtocol.Task) => Effect.Effect<void, unknown>) | undefined
}

/**
 * A task under way. When its scope closes before the task has ended, the task is cancelled. As the tool may be running, no
 * error of `result` has `executed: "no"`.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningTask {
  readonly taskId: string
  /** The task as it was when last asked for. */
  readonly current: Effect.Effect<McpProtocol.Task>
  /** Waits for the end of the task and gives what the tool answered. */
  readonly result: Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
  /** Asks the server to stop it. */
  readonly cancel: Effect.Effect<void, McpError.McpError>
}

const shortestInterval = 20
const longestInterval = 60_000
const defaultInterval = 1000
const cancelWithin = Duration.seconds(2)

/**
 * Calls a tool as a task and waits for its result.
 *
 * @since 0.1.0
 * @category tasks
 */
export const callToolAsTask = (
  session: McpSession,
  params: McpProtocol.CallToolParams,
  options?: TaskOptions
): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError> =>
  Effect.scoped(Effect.flatMap(startTask(session, params, options), (task) => task.result))

/**
 * Starts a tool call as a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const startTask = (
  session: McpSession,
  params: McpProtocol.CallToolParams,
  options?: TaskOptions
): Effect.Effect<RunningTask, McpError.McpError, Scope.Scope> =>
  requiring(
    session,
    "tools/call",
    "tasks.requests.tools.call",
    session.info.capabilities.tasks?.requests?.tools?.call,
    Effect.gen(function*() {
      const asked = yield* taskRequest(session, options)
      const startedAt = yield* Steady.now
      const runtime = yield* Effect.runtime<never>()
      const task = new Watched(session)
      const life = yield* Scope.make()
      const end = (exit: Exit.Exit<unknown, unknown>) => Effect.zipRight(task.abandon, Scope.close(life, exit))
      yield* Effect.addFinalizer(end)
      const onLate = (result: unknown) => {
        if ("value" in task.created(result)) Runtime.runFork(runtime)(task.abandon)
      }
      const call: RequestOptions & Begins = { ...options, begins: { life, onLate } }
      yield* session.requestWith("tools/call", { ...params, task: asked }, task.created, call).pipe(
        Effect.onError((cause) => end(Exit.failCause(cause)))
      )
      const each = forEach(options)
      return {
        taskId: task.id,
        current: Effect.sync(() => task.last),
        result: bounded(session, options, startedAt, follow(task, each)).pipe(
          Effect.mapError(afterCreation),
          Effect.onExit((exit) => task.isOver ? Scope.close(life, exit) : Effect.void)
        ),
        cancel: task.cancel(each)
      }
    })
  )

/** The tool may be running: no error of what is asked about its task says that the call can be repeated. */
const afterCreation = (error: McpError.McpError): McpError.McpError =>
  McpError.isReplayable(error) ? Errors.about(error, "tools/call", "maybe") : error

/** What the call says about its task. A time that could never come true is refused rather than taken for another. */
const taskRequest = (session: Port, options: TaskOptions | undefined): Result<McpProtocol.JsonObject> => {
  if (options?.ttl === undefined) return Effect.succeed({})
  const ttl = Option.map(Duration.decodeUnknown(options.ttl), Duration.toMillis)
  return Option.isSome(ttl) && ttl.value > 0 && Number.isFinite(ttl.value)
    ? Effect.succeed({ ttl: ttl.value })
    : Effect.fail(
      new McpError.ConfigInvalid({
        server: session.server,
        operation: "tools/call",
        executed: "no",
        problems: [{ field: "ttl", problem: "must be a positive and finite duration" }]
      })
    )
}

/**
 * What is known of a task. It is known the moment the server's answer arrives, before any fiber has seen it, so that an
 * interruption at that very moment can't lose it.
 */
class Watched {
  private task: McpProtocol.Task | undefined = undefined
  private over = false
  private cancelAsked = false

  constructor(readonly session: McpSession & Port) {}

  readonly created = (result: unknown): McpProtocol.Decoded<McpProtocol.Task> => {
    const decoded = McpProtocol.decodeTask(McpProtocol.isObject(result) ? result.task : undefined)
    if ("value" in decoded) this.saw(decoded.value)
    return decoded
  }

  get id(): string {
    return this.last.taskId
  }

  get last(): McpProtocol.Task {
    return this.task!
  }

  get isOver(): boolean {
    return this.over
  }

  /** A task keeps the id it was created with, whatever the server calls it later. */
  saw(task: McpProtocol.Task): McpProtocol.Task {
    const id = this.task?.taskId ?? task.taskId
    this.task = task.taskId === id ? task : Object.freeze({ ...task, taskId: id })
    if (task.status === "completed" || task.status === "failed" || task.status === "cancelled") this.over = true
    return this.task
  }

  /** Its result is there. */
  completed(): void {
    if (!this.over) this.saw({ ...this.last, status: "completed" })
  }

  /** The server does not know it any more. */
  expired(): void {
    this.over = true
  }

  /**
   * Asks the server to stop it, where that makes sense. A cancel that was not sent, or was taken back by an interruption,
   * is none.
   */
  cancel(options: EachRequest): Result<void> {
    return Effect.suspend(() => {
      if (this.over) return Effect.void
      return Effect.suspend(() => {
        this.cancelAsked = true
        return cancelTask(this.session, this.id, options.request)
      }).pipe(
        Effect.onError((cause) =>
          Effect.sync(() => {
            if (Cause.isInterrupted(cause) || Chunk.some(Cause.failures(cause), McpError.isReplayable)) {
              this.cancelAsked = false
            }
          })
        ),
        Effect.map((task) => {
          this.saw(task)
        })
      )
    })
  }

  /** Nobody waits for it any more: best effort, once, within a bound. The end of a scope must not wait for a server. */
  readonly abandon: Effect.Effect<void> = Effect.suspend(() => {
    if (this.task === undefined || this.over || this.cancelAsked) return Effect.void
    this.cancelAsked = true
    return Effect.asVoid(within(cancelTask(this.session, this.id), cancelWithin))
  })
}

/**
 * The state of a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const getTask = (
  session: McpSession,
  taskId: string,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Task, McpError.McpError> =>
  session.requestWith("tasks/get", { taskId }, McpProtocol.decodeTask, options)

/**
 * The result of a task. The server answers when the task has ended, however long that takes: unless `timeout` is given
 * there is no deadline but `maxTotal`, and the session's.
 *
 * @since 0.1.0
 * @category tasks
 */
export const getTaskResult = (
  session: McpSession,
  taskId: string,
  options?: RequestOptions
): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError> =>
  requestResult(session, taskId, options?.timeout === undefined ? { ...options, timeout: null } : options)

const requestResult = (
  session: Port,
  taskId: string,
  options: RequestOptions | undefined
): Result<McpProtocol.CallToolResult> => session.requestWith("tasks/result", { taskId }, decodeCallToolResult, options)

/**
 * Asks the server to stop a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const cancelTask = (
  session: McpSession,
  taskId: string,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Task, McpError.McpError> =>
  requiring(
    session,
    "tasks/cancel",
    "tasks.cancel",
    session.info.capabilities.tasks?.cancel,
    session.requestWith("tasks/cancel", { taskId }, McpProtocol.decodeTask, options)
  )

/**
 * The tasks that the server knows of.
 *
 * @since 0.1.0
 * @category tasks
 */
export const listTasks = (
  session: McpSession,
  options?: RequestOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Task>, McpError.McpError> =>
  requiring(
    session,
    "tasks/list",
    "tasks.list",
    session.info.capabilities.tasks?.list,
    listAll(session, "tasks/list", "tasks", McpProtocol.decodeTask, options)
  )

/** What goes for each request about a task. They are not the call: its progress, metadata and total time are not theirs. */
interface EachRequest {
  readonly request: RequestOptions | undefined
  readonly onStatus: TaskOptions["onStatus"]
}

const forEach = (options: TaskOptions | undefined): EachRequest => ({
  request: options?.timeout === undefined ? undefined : { timeout: options.timeout },
  onStatus: options?.onStatus
})

const follow = (task: Watched, options: EachRequest): Result<McpProtocol.CallToolResult> =>
  Effect.suspend(() => {
    switch (task.last.status) {
      case "working":
        return Effect.sleep(intervalOf(task.last)).pipe(
          Effect.zipRight(look(task, options)),
          Effect.zipRight(follow(task, options))
        )
      case "cancelled":
        return Effect.fail(ended(task, "cancelled", ""))
      case "input_required":
      case "completed":
      case "failed":
        return fetchResult(task, task.last.status, options)
    }
  })

/** A server that can't be reached for a moment still runs the task: as often in a row, at the pace of the task. */
const failuresAtMost = 5

const patiently = <A>(task: Watched, ask: Result<A>, failures = 0): Result<A> =>
  Effect.catchAll(ask, (error) =>
    failures >= failuresAtMost || !mayPass(error)
      ? Effect.fail(error)
      : Effect.flatMap(Deferred.isDone(task.session.closed), (isOver) =>
        isOver
          ? Effect.fail(error)
          : Effect.zipRight(Effect.sleep(pauseAfter(error, task.last)), patiently(task, ask, failures + 1))))

/** A time-out is none of them: it is the caller's own bound. */
const mayPass = (error: McpError.McpError): boolean => {
  switch (error._tag) {
    case "ConnectFailed":
    case "ConnectionClosed":
    case "HttpError":
    case "ResponseLost":
      return McpError.isTransient(error)
    default:
      return false
  }
}

const pauseAfter = (error: McpError.McpError, task: McpProtocol.Task): Duration.Duration =>
  Duration.max(intervalOf(task), Duration.millis(Math.min(retryAfter(error), longestInterval)))

const look = (task: Watched, options: EachRequest): Result<McpProtocol.Task> =>
  patiently(task, getTask(task.session, task.id, options.request)).pipe(
    Effect.mapError((error) => {
      if (!isUnknownTask(error)) return error
      task.expired()
      return forgotten(task)
    }),
    Effect.map((_) => task.saw(_)),
    Effect.tap((_) =>
      options.onStatus === undefined
        ? Effect.void
        : Effect.catchAllCause(Effect.suspend(() => options.onStatus!(_)), () => Effect.void)
    )
  )

/** The questions of the server belong to the request in which it puts them: it is not repeated. */
const resultOf = (
  task: Watched,
  status: "input_required" | "completed" | "failed",
  options: EachRequest
): Result<McpProtocol.CallToolResult> =>
  status === "input_required"
    ? requestResult(task.session, task.id, { timeout: null })
    : patiently(task, requestResult(task.session, task.id, options.request))

/** While the server has questions to a person, there is no saying how long that takes: only `maxTotal` bounds it. */
const fetchResult = (
  task: Watched,
  status: "input_required" | "completed" | "failed",
  options: EachRequest
): Result<McpProtocol.CallToolResult> =>
  resultOf(task, status, options)
    .pipe(
      Effect.tap(() => Effect.sync(() => task.completed())),
      Effect.tapErrorTag("InvalidResult", () => Effect.sync(() => task.completed())),
      Effect.catchTag("RemoteError", (error) =>
        status === "failed"
          ? Effect.fail(ended(task, "failed", error.reason))
          : Effect.flatMap(look(task, options), (now) => afterError(task, now, options, error)))
    )

/** Only the task's own state can say what an error means that came instead of its result. */
const afterError = (
  task: Watched,
  now: McpProtocol.Task,
  options: EachRequest,
  error: McpError.RemoteError
): Result<McpProtocol.CallToolResult> => {
  switch (now.status) {
    case "failed":
    case "cancelled":
      return Effect.fail(ended(task, now.status, error.reason))
    case "working":
      return follow(task, options)
    case "input_required":
    case "completed":
      return Effect.fail(error)
  }
}

const intervalOf = (task: McpProtocol.Task): Duration.Duration =>
  Duration.millis(Math.min(Math.max(task.pollInterval ?? defaultInterval, shortestInterval), longestInterval))

/** From the start of the task, whenever its result is asked for. */
const bounded = <A>(
  session: Port,
  options: TaskOptions | undefined,
  startedAt: number,
  effect: Result<A>
): Result<A> => {
  if (options?.maxTotal === undefined || options.maxTotal === null) return effect
  const millis = Duration.toMillis(options.maxTotal)
  return Effect.flatMap(
    Steady.now,
    (now) =>
      inTime(effect, Math.max(startedAt + millis - now, 0), () =>
        Effect.fail(
          new McpError.RequestTimeout({
            server: session.server,
            operation: "tools/call",
            executed: "maybe",
            kind: "total",
            millis
          })
        ))
  )
}

const isUnknownTask = (error: McpError.McpError): boolean =>
  error._tag === "RemoteError" && error.code === McpProtocol.ErrorCode.InvalidParams

const forgotten = (task: Watched): McpError.McpError =>
  new McpError.TaskFailed({
    server: task.session.server,
    operation: "tasks/get",
    executed: "maybe",
    taskId: task.id,
    status: "expired",
    detail: "the server does not know it any more"
  })

const ended = (task: Watched, status: "failed" | "cancelled", reason: string): McpError.McpError =>
  new McpError.TaskFailed({
    server: task.session.server,
    operation: "tools/call",
    executed: status === "cancelled" ? "maybe" : "yes",
    taskId: task.id,
    status,
    detail: Secrets.shown(task.last.statusMessage ?? reason, task.session.secrets?.() ?? Secrets.none, 1024)
  })
