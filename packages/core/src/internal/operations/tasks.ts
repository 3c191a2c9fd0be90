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
 * ```
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type { RequestOptions } from "../../McpSession.js"
import { listAll } from "./lists.js"
import { decodeCallToolResult } from "./operations.js"
import { type Port, requiring } from "./port.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

/**
 * How a task is run. `timeout` bounds each single request, `maxTotal` the task as a whole.
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
 * A task under way. When its scope closes before the task has ended, the task is cancelled.
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
  session: Port,
  params: { readonly name: string; readonly arguments?: McpProtocol.JsonObject | undefined },
  options?: TaskOptions
): Result<McpProtocol.CallToolResult> =>
  Effect.scoped(Effect.flatMap(startTask(session, params, options), (task) => task.result))

/**
 * Starts a tool call as a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const startTask = (
  session: Port,
  params: { readonly name: string; readonly arguments?: McpProtocol.JsonObject | undefined },
  options?: TaskOptions
): Effect.Effect<RunningTask, McpError.McpError, Scope.Scope> =>
  requiring(
    session,
    "tools/call",
    "tasks.requests.tools.call",
    session.info.capabilities.tasks?.requests?.tools?.call,
    Effect.gen(function*() {
      const created = session.requestWith(
        "tools/call",
        { ...params, task: options?.ttl === undefined ? {} : { ttl: Duration.toMillis(options.ttl) } },
        decodeCreated,
        options
      )
      const last = yield* registered(session, created)
      const { taskId } = yield* Ref.get(last)
      return {
        taskId,
        current: Ref.get(last),
        result: bounded(session, options, follow(session, last, withoutProgress(options))),
        cancel: Effect.flatMap(cancelTask(session, taskId, withoutProgress(options)), (task) => Ref.set(last, task))
      }
    })
  )

/** The moment a task is known there is a finalizer that cancels it. */
const registered = (
  session: Port,
  created: Result<McpProtocol.Task>
): Effect.Effect<Ref.Ref<McpProtocol.Task>, McpError.McpError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const last = yield* Ref.make(yield* restore(created))
      yield* Effect.addFinalizer(() =>
        Effect.flatMap(Ref.get(last), (task) => isOver(task) ? Effect.void : abandon(session, task.taskId))
      )
      return last
    })
  )

/**
 * The state of a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const getTask = (session: Port, taskId: string, options?: RequestOptions): Result<McpProtocol.Task> =>
  session.requestWith("tasks/get", { taskId }, McpProtocol.decodeTask, options)

/**
 * The result of a task. The server answers when the task has ended.
 *
 * @since 0.1.0
 * @category tasks
 */
export const getTaskResult = (
  session: Port,
  taskId: string,
  options?: RequestOptions
): Result<McpProtocol.CallToolResult> =>
  session.requestWith("tasks/result", { taskId }, decodeCallToolResult, { timeout: null, ...options })

/**
 * Asks the server to stop a task.
 *
 * @since 0.1.0
 * @category tasks
 */
export const cancelTask = (session: Port, taskId: string, options?: RequestOptions): Result<McpProtocol.Task> =>
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
export const listTasks = (session: Port, options?: RequestOptions): Result<McpProtocol.Listing<McpProtocol.Task>> =>
  requiring(
    session,
    "tasks/list",
    "tasks.list",
    session.info.capabilities.tasks?.list,
    listAll(session, "tasks/list", "tasks", McpProtocol.decodeTask, options)
  )

const isOver = (task: McpProtocol.Task): boolean =>
  task.status === "completed" || task.status === "failed" || task.status === "cancelled"

const decodeCreated = (result: unknown) =>
  McpProtocol.decodeTask(McpProtocol.isObject(result) ? result.task : undefined)

/** The requests about a task are not the call: its progress, metadata and total time are not theirs. */
const withoutProgress = (options: TaskOptions | undefined): TaskOptions => ({
  ...(options?.timeout !== undefined && { timeout: options.timeout }),
  ...(options?.onStatus !== undefined && { onStatus: options.onStatus })
})

const follow = (
  session: Port,
  last: Ref.Ref<McpProtocol.Task>,
  options: TaskOptions
): Result<McpProtocol.CallToolResult> =>
  Effect.flatMap(Ref.get(last), (task) => {
    switch (task.status) {
      case "working":
        return Effect.sleep(intervalOf(task)).pipe(
          Effect.zipRight(look(session, task.taskId, last, options)),
          Effect.zipRight(follow(session, last, options))
        )
      case "cancelled":
        return Effect.fail(ended(session, task, "cancelled"))
      case "input_required":
      case "completed":
      case "failed":
        return fetchResult(session, task, last)
    }
  })

const look = (session: Port, taskId: string, last: Ref.Ref<McpProtocol.Task>, options: TaskOptions): Result<void> =>
  getTask(session, taskId, options.timeout === undefined ? undefined : { timeout: options.timeout }).pipe(
    Effect.mapError((error) => (isUnknownTask(error) ? forgotten(session, taskId) : error)),
    Effect.tap((task) => Ref.set(last, task)),
    Effect.flatMap((task) =>
      options.onStatus === undefined
        ? Effect.void
        : Effect.catchAllCause(Effect.suspend(() => options.onStatus!(task)), () => Effect.void)
    )
  )

const fetchResult = (
  session: Port,
  task: McpProtocol.Task,
  last: Ref.Ref<McpProtocol.Task>
): Result<McpProtocol.CallToolResult> =>
  getTaskResult(session, task.taskId).pipe(
    Effect.tap(() =>
      Ref.update(last, (task): McpProtocol.Task => isOver(task) ? task : { ...task, status: "completed" })
    ),
    Effect.catchTag("RemoteError", (error) => {
      const failed: McpProtocol.Task = task.status === "failed"
        ? task
        : { ...task, status: "failed", statusMessage: error.reason }
      return Effect.zipRight(Ref.set(last, failed), Effect.fail(ended(session, failed, "failed")))
    })
  )

const intervalOf = (task: McpProtocol.Task): Duration.Duration =>
  Duration.millis(Math.min(Math.max(task.pollInterval ?? defaultInterval, shortestInterval), longestInterval))

const bounded = <A>(session: Port, options: TaskOptions | undefined, effect: Result<A>): Result<A> => {
  const maxTotal = options?.maxTotal
  return maxTotal === undefined || maxTotal === null ? effect : Effect.timeoutFail(effect, {
    duration: maxTotal,
    onTimeout: () =>
      new McpError.RequestTimeout({
        server: session.server,
        operation: "tools/call",
        executed: "maybe",
        kind: "total",
        millis: Duration.toMillis(maxTotal)
      })
  })
}

/** Best effort, once, within a bound: the end of a scope must not wait for a server. */
const abandon = (session: Port, taskId: string): Effect.Effect<void> =>
  cancelTask(session, taskId).pipe(
    Effect.interruptible,
    Effect.timeoutOption(cancelWithin),
    Effect.ignore
  )

const isUnknownTask = (error: McpError.McpError): boolean =>
  error._tag === "RemoteError" && error.code === McpProtocol.ErrorCode.InvalidParams

const forgotten = (session: Port, taskId: string): McpError.McpError =>
  new McpError.TaskFailed({
    server: session.server,
    operation: "tasks/get",
    executed: "maybe",
    taskId,
    status: "expired",
    detail: "the server does not know it any more"
  })

const ended = (session: Port, task: McpProtocol.Task, status: "failed" | "cancelled"): McpError.McpError =>
  new McpError.TaskFailed({
    server: session.server,
    operation: "tools/call",
    executed: status === "cancelled" ? "maybe" : "yes",
    taskId: task.taskId,
    status,
    detail: McpError.displayText(task.statusMessage ?? "", 1024)
  })
