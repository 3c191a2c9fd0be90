import { assert, describe, it } from "@effect/vitest"
import { type ClientHandlers, McpError, type McpProtocol, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, Fiber, Option, Scope, TestClock } from "effect"
import { configWith } from "./configWith.js"

const capabilities: McpProtocol.ServerCapabilities = {
  tools: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } }
}

const relatedTask = { "io.modelcontextprotocol/related-task": { taskId: "t1" } }
const done = { content: [{ type: "text", text: "done" }] }

interface Script extends Omit<ScriptedServer.Options, "handlers"> {
  /** How the task is when it is created. */
  readonly created?: Partial<McpProtocol.Task>
  /** How it is each time somebody asks; the last one stays. */
  readonly states?: ReadonlyArray<Partial<McpProtocol.Task> | ScriptedServer.RpcError>
  readonly handlers?: { readonly [method: string]: ScriptedServer.Handler }
  readonly client?: ClientHandlers.Handlers
}

/** A server with one task. */
const open = (script: Script = {}) =>
  Effect.gen(function*() {
    const { client, created, handlers, states = [{ status: "completed" }], ...options } = script
    let looks = 0
    const task = (state: Partial<McpProtocol.Task>) => ({
      taskId: "t1",
      status: "working",
      ttl: null,
      pollInterval: 1000,
      createdAt: "2026-01-01T00:00:00Z",
      lastUpdatedAt: "2026-01-01T00:00:00Z",
      ...state
    })
    const server = yield* ScriptedServer.make({
      capabilities,
      ...options,
      handlers: {
        "tools/call": () => Effect.succeed({ task: task({ ...created }) }),
        "tasks/get": () => {
          const state = states[Math.min(looks++, states.length - 1)]!
          return state instanceof ScriptedServer.RpcError ? Effect.fail(state) : Effect.succeed(task(state))
        },
        "tasks/result": () => Effect.succeed(done),
        "tasks/cancel": () => Effect.succeed(task({ status: "cancelled" })),
        ...handlers
      }
    })
    const session = yield* McpSession.open(server.channel, client === undefined ? {} : { handlers: client })
    const count = (method: string) => Effect.map(server.receivedOf(method), (_) => _.length)
    return { server, session, count }
  })

type Opened = Effect.Effect.Success<ReturnType<typeof open>>

const call = (session: McpSession.McpSession, options?: McpSession.TaskOptions) =>
  McpSession.callToolAsTask(session, { name: "slow", arguments: { n: 1 } }, options)

/** What the client has sent since the handshake. */
const methods = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(server.received, (all) => all.slice(2).map((_) => _.method ?? "answer"))

const never: ScriptedServer.Handler = () => Effect.never

const unknownTask = new ScriptedServer.RpcError({ code: -32602, message: "Task not found" })

describe("polling", () => {
  it.scoped("T01: follows the interval of the server, as it changes, and stops when the task is completed", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({
        created: { pollInterval: 5000 },
        states: [{ pollInterval: 2000 }, { pollInterval: 100 }, { status: "completed" }]
      })
      const fiber = yield* Effect.fork(call(session))
      yield* server.awaitReceived("tools/call")
      for (let i = 0; i < 200; i++) yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(yield* Fiber.join(fiber), done as never)
      assert.deepStrictEqual((yield* server.receivedOf("tasks/get")).map((_) => _.at), [5000, 7000, 7100])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* methods(server), [
        "tools/call",
        "tasks/get",
        "tasks/get",
        "tasks/get",
        "tasks/result"
      ])
    }))

  it.scoped("T01: an interval is neither a storm nor for ever, and a second where the server says none", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [number | undefined, number]> = [
        [0, 20],
        [-5, 20],
        [1e12, 60_000],
        [undefined, 1000]
      ]
      for (const [pollInterval, expected] of cases) {
        const { count, server, session } = yield* open({ created: { pollInterval } })
        const fiber = yield* Effect.fork(call(session))
        yield* server.awaitReceived("tools/call")
        yield* TestClock.adjust(expected - 1)
        assert.strictEqual(yield* count("tasks/get"), 0)
        yield* TestClock.adjust(1)
        yield* Fiber.join(fiber)
        assert.strictEqual(yield* count("tasks/get"), 1)
      }
    }))

  it.scoped("T01: ttl, task, progress and metadata are in the call and not in what asks about it", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open()
      const fiber = yield* Effect.fork(
        call(session, { ttl: "1 minute", meta: { trace: "t" }, onProgress: () => Effect.void, timeout: "5 seconds" })
      )
      const { id, params } = yield* server.awaitReceived("tools/call")
      assert.deepStrictEqual(params, {
        name: "slow",
        arguments: { n: 1 },
        task: { ttl: 60_000 },
        _meta: { trace: "t", progressToken: id }
      })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      for (const method of ["tasks/get", "tasks/result"]) {
        assert.deepStrictEqual((yield* server.receivedOf(method)).map((_) => _.params), [{ taskId: "t1" }])
      }
    }))

  it.scoped("without options there is an empty task in the call", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ created: { status: "completed" } })
      yield* call(session)
      assert.deepStrictEqual((yield* server.receivedOf("tools/call"))[0]!.params.task, {})
      assert.deepStrictEqual(yield* methods(server), ["tools/call", "tasks/result"])
    }))

  it.scoped("P02: a ttl or total that is no time is refused before anything is sent", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open()
      const wrong: ReadonlyArray<McpSession.TaskOptions> = [
        { ttl: 0 },
        { ttl: -1 },
        { ttl: Number.NaN },
        { ttl: Number.POSITIVE_INFINITY },
        { ttl: "soon" as never },
        { maxTotal: 0 },
        { maxTotal: Number.NaN },
        { timeout: -1 }
      ]
      for (const options of wrong) {
        const error = yield* Effect.flip(call(session, options))
        assert(error._tag === "ConfigInvalid" && error.problems[0]!.field === Object.keys(options)[0])
      }
      assert.deepStrictEqual(yield* methods(server), [])
    }))

  it.scoped("onStatus sees the task whenever it was asked for, and can harm nothing", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const handlers: ReadonlyArray<(task: McpProtocol.Task) => Effect.Effect<void, unknown>> = [
        (task) => Effect.sync(() => seen.push(`${task.status} ${task.statusMessage}`)),
        () => Effect.fail("no"),
        () => Effect.die("bug"),
        () => Effect.interrupt,
        () => {
          throw new Error("bug")
        }
      ]
      for (const onStatus of handlers) {
        const { session } = yield* open({
          states: [{ statusMessage: "1 of 2" }, { status: "completed", statusMessage: "2 of 2" }]
        })
        const fiber = yield* Effect.fork(call(session, { onStatus }))
        yield* TestClock.adjust("1 second")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(fiber), done as never)
      }
      assert.deepStrictEqual(seen, ["working 1 of 2", "completed 2 of 2"])
    }))
})

describe("the end of a task", () => {
  it.scoped("T01: a failed task whose result has isError is a value", () =>
    Effect.gen(function*() {
      const failed = { content: [{ type: "text", text: "no" }], isError: true }
      const { count, session } = yield* open({
        created: { status: "failed" },
        handlers: { "tasks/result": () => Effect.succeed(failed) }
      })
      assert.deepStrictEqual(yield* call(session), failed as never)
      assert.strictEqual(yield* count("tasks/cancel"), 0)
    }))

  it.scoped("T01: a failed task without a result is TaskFailed, with its status message or the error's", () =>
    Effect.gen(function*() {
      for (const statusMessage of ["disk full", undefined]) {
        const { count, session } = yield* open({
          created: { status: "failed", statusMessage },
          handlers: {
            "tasks/result": () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "broken" }))
          }
        })
        const error = yield* Effect.flip(call(session))
        assert(error._tag === "TaskFailed" && error.status === "failed")
        assert.strictEqual(error.taskId, "t1")
        assert.strictEqual(error.executed, "yes")
        assert.strictEqual(error.detail, statusMessage ?? "broken")
        assert.strictEqual(yield* count("tasks/cancel"), 0)
      }
    }))

  it.scoped("T01: a cancelled task is TaskFailed, and neither fetched nor cancelled again", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ states: [{ status: "cancelled", statusMessage: "by the admin" }] })
      const fiber = yield* Effect.fork(Effect.flip(call(session)))
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "TaskFailed" && error.status === "cancelled" && error.detail === "by the admin")
      assert.deepStrictEqual(yield* methods(server), ["tools/call", "tasks/get"])
    }))

  it.scoped("T01: a task that the server does not know any more has expired, and is not cancelled", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ states: [{}, unknownTask] })
      const fiber = yield* Effect.fork(Effect.flip(call(session)))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "TaskFailed" && error.status === "expired" && error.executed === "maybe")
      assert.deepStrictEqual(yield* methods(server), ["tools/call", "tasks/get", "tasks/get"])
    }))

  it.scoped("T01: a completed task that is forgotten before its result is fetched has expired", () =>
    Effect.gen(function*() {
      const { session } = yield* open({
        created: { status: "completed" },
        states: [unknownTask],
        handlers: { "tasks/result": () => Effect.fail(unknownTask) }
      })
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "TaskFailed" && error.status === "expired")
    }))

  it.scoped("an error instead of a result means what the state of the task says", () =>
    Effect.gen(function*() {
      const busy = new ScriptedServer.RpcError({ code: -32000, message: "busy" })
      const after: ReadonlyArray<readonly [McpProtocol.TaskStatus, string, number]> = [
        ["failed", "TaskFailed failed", 0],
        ["cancelled", "TaskFailed cancelled", 0],
        ["completed", "RemoteError", 0],
        ["input_required", "RemoteError", 1]
      ]
      for (const [status, expected, cancels] of after) {
        const { count, session } = yield* open({
          created: { status: "input_required" },
          states: [{ status }],
          handlers: { "tasks/result": () => Effect.fail(busy) }
        })
        const error = yield* Effect.flip(call(session))
        assert.strictEqual(error._tag === "TaskFailed" ? `TaskFailed ${error.status}` : error._tag, expected)
        assert.strictEqual(yield* count("tasks/cancel"), cancels, status)
      }
      let results = 0
      const { session } = yield* open({
        created: { status: "input_required" },
        states: [{ status: "working" }, { status: "completed" }],
        handlers: { "tasks/result": () => results++ === 0 ? Effect.fail(busy) : Effect.succeed(done) }
      })
      const fiber = yield* Effect.fork(call(session))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), done as never)
    }))

  it.scoped("a malformed answer anywhere is InvalidResult", () =>
    Effect.gen(function*() {
      for (const answer of [{}, { task: null }, { task: { taskId: "t1" } }, done, 7]) {
        const { server, session } = yield* open({
          handlers: {
            "tools/call": (request) => Effect.succeed(ScriptedServer.raw(ScriptedServer.result(request.id, answer)))
          }
        })
        const error = yield* Effect.flip(call(session))
        assert(error._tag === "InvalidResult" && error.executed === "yes")
        assert.deepStrictEqual(yield* methods(server), ["tools/call"])
      }
      const { count, session } = yield* open({
        created: { status: "input_required" },
        handlers: { "tasks/result": () => Effect.succeed({ content: 7 }) }
      })
      assert.strictEqual((yield* Effect.flip(call(session)))._tag, "InvalidResult")
      assert.strictEqual(yield* count("tasks/cancel"), 0, "a result is the end of a task")
    }))

  it.scoped("P01: a poll without an answer ends the call by its own deadline, and cancels the task", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tasks/get": never } })
      const fiber = yield* Effect.fork(Effect.flip(call(session, { timeout: "3 seconds" })))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 second")
      yield* server.awaitReceived("tasks/get")
      yield* TestClock.adjust("3 seconds")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.operation === "tasks/get" && error.millis === 3000)
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("P01: the result of a completed task has a deadline; that of one with questions waits for a person", () =>
    Effect.gen(function*() {
      const completed = yield* open({ created: { status: "completed" }, handlers: { "tasks/result": never } })
      const first = yield* Effect.fork(Effect.flip(call(completed.session)))
      yield* completed.server.awaitReceived("tasks/result")
      yield* TestClock.adjust("60 seconds")
      const error = yield* Fiber.join(first)
      assert(error._tag === "RequestTimeout" && error.operation === "tasks/result")

      const asking = yield* open({ created: { status: "input_required" }, handlers: { "tasks/result": never } })
      const second = yield* Effect.fork(call(asking.session, { timeout: "1 second" }))
      yield* asking.server.awaitReceived("tasks/result")
      yield* TestClock.adjust("1 day")
      assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
      yield* Fiber.interrupt(second)
      assert.strictEqual(yield* asking.count("tasks/cancel"), 1)
    }))
})

describe("T01: a request about a task that fails in passing", () => {
  const common = { server: "scripted", operation: "tasks/get", executed: "maybe" } as const
  const unavailable = new McpError.HttpError({ ...common, status: 503, body: "" })
  const lost = new McpError.ResponseLost({ ...common, reason: "Broken", detail: "cut" })

  /** Fails so many times, with these in turn; then the request is answered. */
  const failing = (times: number, answer: unknown): ScriptedServer.Handler => {
    let left = times
    return () => left-- > 0 ? Effect.fail(left % 2 === 0 ? unavailable : lost) : Effect.succeed(answer)
  }
  const task = (status: string) => ({ taskId: "t1", status, ttl: null, pollInterval: 1000 })

  it.scoped("is repeated at the pace of the task, whose end it is not", () =>
    Effect.gen(function*() {
      for (const method of ["tasks/get", "tasks/result"]) {
        const { count, server, session } = yield* open({
          handlers: { [method]: failing(5, method === "tasks/get" ? task("completed") : done) }
        })
        const fiber = yield* Effect.fork(call(session))
        yield* server.awaitReceived("tools/call")
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual<unknown>((yield* Fiber.join(fiber)).content, done.content)
        const at = (yield* server.receivedOf(method)).map((_) => _.at)
        assert.deepStrictEqual(at.map((_) => _ - at[0]!), [0, 1000, 2000, 3000, 4000, 5000])
        assert.strictEqual(yield* count("tasks/cancel"), 0)
      }
    }))

  it.scoped("waits as long as the server asks for", () =>
    Effect.gen(function*() {
      let isBusy = true
      const busy = new McpError.HttpError({ ...common, status: 429, retryAfterMillis: 7000, body: "" })
      const { server, session } = yield* open({
        handlers: { "tasks/get": () => isBusy ? Effect.fail(busy) : Effect.succeed(task("completed")) }
      })
      const fiber = yield* Effect.fork(call(session))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 second")
      yield* server.awaitReceived("tasks/get")
      isBusy = false
      yield* TestClock.adjust("7 seconds")
      yield* Fiber.join(fiber)
      const at = (yield* server.receivedOf("tasks/get")).map((_) => _.at)
      assert.strictEqual(at[1]! - at[0]!, 7000)
    }))

  it.scoped("too often in a row ends the call, and cancels the task", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tasks/get": failing(1000, undefined) } })
      const fiber = yield* Effect.fork(Effect.flip(call(session)))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 minute")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error.executed, "maybe")
      assert.deepStrictEqual([yield* count("tasks/get"), yield* count("tasks/cancel")], [6, 1])
    }))

  it.scoped("is not repeated in a session that is over", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({
        handlers: { "tasks/get": (_, peer) => Effect.zipRight(peer.disconnect(), Effect.never) }
      })
      const fiber = yield* Effect.fork(Effect.flip(call(session)))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "ConnectionClosed")
      assert.strictEqual(yield* count("tasks/get"), 1)
    }))
})

describe("T01: once the task is there, no error says that the tool was not executed", () => {
  const busy = new McpError.HttpError({
    server: "scripted",
    operation: "tasks/get",
    executed: "no",
    status: 429,
    retryAfterMillis: 1000,
    body: ""
  })
  const closed = new McpError.ConnectionClosed({
    server: "scripted",
    operation: "tasks/get",
    executed: "no",
    reason: "Closing",
    detail: "closed"
  })
  const unknownMethod = new ScriptedServer.RpcError({ code: -32601, message: "Method not found" })
  const failures: ReadonlyArray<readonly [McpError.McpError["_tag"], McpError.McpError | ScriptedServer.RpcError]> = [
    ["HttpError", busy],
    ["ConnectionClosed", closed],
    ["RemoteError", unknownMethod]
  ]

  for (const [tag, failure] of failures) {
    for (const method of ["tasks/get", "tasks/result"]) {
      it.scoped(`${tag} for ${method}`, () =>
        Effect.gen(function*() {
          const { session } = yield* open({
            created: { status: method === "tasks/get" ? "working" : "input_required" },
            handlers: { "tasks/get": () => Effect.fail(failure), [method]: () => Effect.fail(failure) }
          })
          const fiber = yield* Effect.fork(Effect.flip(call(session)))
          yield* TestClock.adjust("10 seconds")
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(error._tag, tag)
          assert.strictEqual(error.executed, "maybe")
          assert.strictEqual(error.operation, "tools/call")
          if (error._tag === "HttpError") assert.strictEqual(error.retryAfterMillis, 1000)
        }))
    }
  }

  it.scoped("LimitExceeded", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { inFlight: 1 } })
      const { server, session } = yield* open({ config, handlers: { "x/hang": never } })
      const task = yield* McpSession.startTask(session, { name: "slow" })
      const fiber = yield* Effect.fork(Effect.flip(task.result))
      yield* Effect.fork(session.request("x/hang"))
      yield* server.awaitReceived("x/hang")
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "LimitExceeded" && error.executed === "maybe" && error.operation === "tools/call")
    }))

  it.scoped("a session that is over", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open()
      const task = yield* McpSession.startTask(session, { name: "slow" })
      yield* server.disconnect()
      const fiber = yield* Effect.fork(Effect.flip(task.result))
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "ConnectionClosed" && error.executed === "maybe" && error.operation === "tools/call")
    }))

  it.scoped("before that, it does", () =>
    Effect.gen(function*() {
      const { session } = yield* open({ handlers: { "tools/call": () => Effect.fail(busy) } })
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "HttpError" && error.executed === "no")
    }))
})

describe("T01: a task that comes after its call was given up", () => {
  const late = (id: unknown, taskId = "t7", status = "working") =>
    ScriptedServer.result(id, { task: { taskId, status } })

  it.scoped("is cancelled, once, after an interruption and after a deadline", () =>
    Effect.gen(function*() {
      const endings: ReadonlyArray<(fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<unknown>> = [
        Fiber.interrupt,
        () => TestClock.adjust("5 seconds")
      ]
      for (const end of endings) {
        const { count, server, session } = yield* open({ handlers: { "tools/call": never } })
        const fiber = yield* Effect.fork(Effect.exit(call(session, { timeout: "5 seconds" })))
        const { id } = yield* server.awaitReceived("tools/call")
        yield* end(fiber)
        yield* Fiber.await(fiber)
        assert.deepStrictEqual((yield* server.stats).released, [], "the wire must still listen for the answer")
        yield* server.sendRaw(late(id))
        yield* server.sendRaw(late(id))
        const { params } = yield* server.awaitReceived("tasks/cancel")
        assert.deepStrictEqual(params, { taskId: "t7" })
        yield* McpSession.ping(session)
        assert.strictEqual(yield* count("tasks/cancel"), 1)
        const cancelled = yield* server.receivedOf("notifications/cancelled")
        assert.deepStrictEqual(cancelled.map((_) => _.params.requestId), [id])
        assert.deepStrictEqual((yield* server.stats).released.map((_) => _.id), [id])
        const { inFlight, warnings } = yield* session.stats
        assert.strictEqual(inFlight, 0)
        assert.deepStrictEqual(warnings, { UnknownResponse: 1 })
      }
    }))

  it.scoped("is left alone where it is over, or where the answer is an error or no task", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<(id: unknown) => unknown> = [
        (id) => late(id, "t7", "completed"),
        (id) => ({ jsonrpc: "2.0", id, error: { code: -32000, message: "cancelled" } }),
        (id) => ScriptedServer.result(id, {}),
        (id) => ScriptedServer.result(id, { task: { taskId: 7 } })
      ]
      for (const answer of answers) {
        const { count, server, session } = yield* open({ handlers: { "tools/call": never } })
        const fiber = yield* Effect.fork(call(session))
        const { id } = yield* server.awaitReceived("tools/call")
        yield* Fiber.interrupt(fiber)
        yield* server.sendRaw(answer(id))
        yield* McpSession.ping(session)
        assert.strictEqual(yield* count("tasks/cancel"), 0)
        assert.strictEqual((yield* server.stats).released.length, 1)
      }
    }))

  it.scoped("is not waited for longer than a minute, and never for more than 64", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tools/call": never } })
      for (let i = 0; i < 65; i++) {
        const fiber = yield* Effect.fork(call(session))
        yield* server.awaitStats((_) => _.handling === 1)
        yield* Fiber.interrupt(fiber)
        yield* server.awaitStats((_) => _.handling === 0)
      }
      const ids = (yield* server.receivedOf("tools/call")).map((_) => _.id!)
      assert.deepStrictEqual((yield* server.stats).released.map((_) => _.id), [ids[0]])
      yield* server.sendRaw(late(ids[0], "first"), late(ids[1], "second"))
      yield* server.awaitReceived("tasks/cancel")
      yield* TestClock.adjust("59999 millis")
      assert.strictEqual((yield* server.stats).released.length, 2)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(new Set((yield* server.stats).released.map((_) => _.id)), new Set(ids))
      yield* server.sendRaw(late(ids[64], "last"))
      yield* McpSession.ping(session)
      assert.deepStrictEqual((yield* server.receivedOf("tasks/cancel")).map((_) => _.params), [{ taskId: "second" }])
      assert.strictEqual((yield* session.stats).warnings.UnknownResponse, 2)
      assert.strictEqual(yield* count("notifications/cancelled"), 65)
    }))
})

describe("T01: progress of a task", () => {
  const said = (id: unknown, progress: number) =>
    ScriptedServer.notification("notifications/progress", { progressToken: id as number, progress })

  it.scoped("is seen until the task is over, in order, before the result is given", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      let token: unknown = undefined
      const { server, session } = yield* open({
        states: [{}, { status: "completed" }],
        handlers: {
          "tools/call": (request) =>
            Effect.sync(() => {
              token = request.id
              return ScriptedServer.raw(
                said(token, 1),
                ScriptedServer.result(token, { task: { taskId: "t1", status: "working" } }),
                said(token, 2)
              )
            }),
          "tasks/result": (_, peer) => Effect.as(peer.sendRaw(said(token, 4)), done)
        }
      })
      const task = yield* McpSession.startTask(session, { name: "slow" }, {
        onProgress: ({ progress }) =>
          Effect.zipRight(Effect.repeatN(Effect.yieldNow(), 20), Effect.sync(() => seen.push(progress)))
      })
      const fiber = yield* Effect.fork(task.result)
      yield* TestClock.adjust("1 second")
      yield* server.sendRaw(said(token, 3))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [1, 2, 3, 4])
      assert.deepStrictEqual((yield* session.stats).warnings, {})
      yield* server.sendRaw(said(token, 5))
      assert.deepStrictEqual((yield* session.stats).warnings, { UnknownProgress: 1 })
      assert.strictEqual(seen.length, 4)
    }))

  it.scoped("is known without onProgress, and unknown when its scope has closed", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open()
      const scope = yield* Scope.make()
      yield* Scope.extend(McpSession.startTask(session, { name: "slow" }), scope)
      const { id } = yield* server.awaitReceived("tools/call")
      yield* server.sendRaw(said(id, 1))
      assert.deepStrictEqual((yield* session.stats).warnings, {})
      yield* Scope.close(scope, Exit.void)
      yield* server.sendRaw(said(id, 2))
      assert.deepStrictEqual((yield* session.stats).warnings, { UnknownProgress: 1 })
    }))

  it.scoped("a reader that fails or hangs harms nothing and is left behind after a second", () =>
    Effect.gen(function*() {
      for (const onProgress of [() => Effect.fail("no"), () => Effect.never]) {
        const { server, session } = yield* open()
        const fiber = yield* Effect.fork(call(session, { onProgress }))
        const { id } = yield* server.awaitReceived("tools/call")
        yield* Effect.yieldNow()
        yield* server.sendRaw(said(id, 1))
        yield* TestClock.adjust("1 second")
        yield* server.awaitReceived("tasks/result")
        yield* Effect.yieldNow()
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(fiber), done as never)
      }
    }))
})

describe("input_required", () => {
  it.scoped("T01: a server that never comes back is bounded by the end of the session", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({
        created: { status: "input_required" },
        handlers: { "tasks/result": never }
      })
      const fiber = yield* Effect.fork(Effect.flip(call(session)))
      yield* server.awaitReceived("tasks/result")
      yield* TestClock.adjust("1 day")
      yield* server.disconnect()
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "ConnectionClosed" && error.executed === "maybe")
    }))

  it.scoped("T01: the server asks our elicitation handler while its result is being fetched", () =>
    Effect.gen(function*() {
      const asked: Array<McpProtocol.FormElicitation> = []
      const { count, server, session } = yield* open({
        created: { status: "input_required" },
        client: {
          elicitation: {
            form: (request) =>
              Effect.sync(() => {
                asked.push(request)
                return { action: "accept", content: { name: "Ada" } } as const
              }).pipe(Effect.delay("3 minutes"))
          }
        },
        handlers: {
          "tasks/result": (_, peer) =>
            Effect.map(
              Effect.orDie(
                peer.request("elicitation/create", {
                  mode: "form",
                  message: "who?",
                  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
                  _meta: relatedTask
                })
              ),
              (answer) => ({ content: [{ type: "text", text: JSON.stringify(answer) }], _meta: relatedTask })
            )
        }
      })
      const fiber = yield* Effect.fork(call(session))
      yield* server.awaitReceived("tasks/result")
      yield* TestClock.adjust("3 minutes")
      const result = yield* Fiber.join(fiber)
      assert.strictEqual(asked[0]!.message, "who?")
      assert.deepStrictEqual(JSON.parse((result.content[0] as McpProtocol.TextContent).text), {
        action: "accept",
        content: { name: "Ada" },
        _meta: relatedTask
      })
      assert.strictEqual(yield* count("tasks/get"), 0)
      assert.strictEqual(yield* count("tasks/cancel"), 0)
    }))

  it.scoped("T01: also when the task comes to it later", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ states: [{}, { status: "input_required" }] })
      const fiber = yield* Effect.fork(call(session))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* methods(server), ["tools/call", "tasks/get", "tasks/get", "tasks/result"])
    }))
})

describe("maxTotal", () => {
  it.scoped("T01: holds for the task as a whole, and the task is cancelled once", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ states: [{}] })
      const fiber = yield* Effect.fork(Effect.flip(call(session, { maxTotal: "10500 millis" })))
      yield* server.awaitReceived("tools/call")
      for (let i = 0; i < 20; i++) yield* TestClock.adjust("500 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("500 millis")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "RequestTimeout" && error.kind === "total" && error.millis === 10_500)
      assert.strictEqual(error.operation, "tools/call")
      assert.strictEqual(error.executed, "maybe")
      assert.strictEqual(yield* count("tasks/cancel"), 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* count("tasks/get"), 10)
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("T01: the time it took to create the task counts", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({
        states: [{}],
        handlers: {
          "tools/call": () => Effect.delay(Effect.succeed({ task: { taskId: "t1", status: "working" } }), "6 seconds")
        }
      })
      const fiber = yield* Effect.fork(Effect.flip(call(session, { maxTotal: "10500 millis" })))
      yield* server.awaitReceived("tools/call")
      for (let i = 0; i < 21; i++) yield* TestClock.adjust("500 millis")
      const error = yield* Effect.flatMap(Fiber.poll(fiber), Effect.transposeOption).pipe(Effect.map(Option.getOrNull))
      assert(error !== null && error._tag === "RequestTimeout" && error.kind === "total")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 10_500)
    }))

  it.scoped("T01: also while a request about the task is open, which is cancelled, too", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({
        created: { status: "input_required" },
        handlers: { "tasks/result": never }
      })
      const fiber = yield* Effect.fork(Effect.flip(call(session, { maxTotal: "5 seconds" })))
      const { id } = yield* server.awaitReceived("tasks/result")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
      assert.deepStrictEqual(
        (yield* server.receivedOf("notifications/cancelled")).map((_) => _.params.requestId),
        [id]
      )
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("T01: before the task is known it ends the call itself", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tools/call": never } })
      const fiber = yield* Effect.fork(Effect.flip(call(session, { maxTotal: "5 seconds" })))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "RequestTimeout")
      assert.strictEqual(yield* count("notifications/cancelled"), 1)
      assert.strictEqual(yield* count("tasks/cancel"), 0)
    }))
})

describe("interruption", () => {
  it.scoped("T01: before the task is known the call is cancelled, and no task", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tools/call": never } })
      const fiber = yield* Effect.fork(call(session))
      const { id } = yield* server.awaitReceived("tools/call")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      const { params } = yield* server.awaitReceived("notifications/cancelled")
      assert.strictEqual(params.requestId, id)
      assert.strictEqual(yield* count("tasks/cancel"), 0)
      assert.strictEqual(yield* count("notifications/cancelled"), 1)
    }))

  it.scoped("T01: after it, at each stage, the task is cancelled exactly once", () =>
    Effect.gen(function*() {
      const stages: ReadonlyArray<
        readonly [string, Script, (opened: Opened) => Effect.Effect<unknown>, McpSession.TaskOptions?]
      > = [
        ["waiting for the interval", {}, ({ server }) => server.awaitStats((_) => _.handling === 0)],
        [
          "asking for the state",
          { handlers: { "tasks/get": never } },
          ({ server }) => Effect.zipRight(TestClock.adjust("1 second"), server.awaitReceived("tasks/get"))
        ],
        [
          "asking for the result",
          { created: { status: "input_required" }, handlers: { "tasks/result": never } },
          ({ server }) => server.awaitReceived("tasks/result")
        ],
        [
          "in onStatus",
          { states: [{}] },
          ({ server }) => Effect.zipRight(TestClock.adjust("1 second"), server.awaitReceived("tasks/get")),
          { onStatus: () => Effect.never }
        ]
      ]
      for (const [stage, script, reached, options] of stages) {
        const opened = yield* open(script)
        const fiber = yield* Effect.fork(call(opened.session, options))
        yield* opened.server.awaitReceived("tools/call")
        yield* Effect.yieldNow()
        yield* reached(opened)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)), stage)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* opened.count("tasks/cancel"), 1, stage)
        assert.deepStrictEqual((yield* opened.server.receivedOf("tasks/cancel"))[0]!.params, { taskId: "t1" })
        assert.strictEqual((yield* opened.session.stats).inFlight, 0, stage)
      }
    }))

  const servers = [["later", "interrupt"], ["insideSend", "interrupt"], ["later", "ignore"]] as const
  for (const [reaction, cancellation] of servers) {
    const server = `answers ${reaction}, cancelled: ${cancellation}`
    it.scoped(`T01: interruption sweep: the server keeps no task that nobody waits for (${server})`, () =>
      Effect.gen(function*() {
        let cancelled = 0
        let finished = 0
        for (let steps = 0; steps < 1000 && finished < 3; steps++) {
          // what the server knows: a task it has created is over when it was cancelled or its result was taken
          let running = 0
          const opened = yield* open({
            reaction,
            cancellation,
            created: { status: "input_required" },
            handlers: {
              "tools/call": () =>
                Effect.zipRight(
                  cancellation === "ignore" ? Effect.repeatN(Effect.yieldNow(), 20) : Effect.void,
                  Effect.sync(() => {
                    running++
                    return { task: { taskId: "t1", status: "input_required" } }
                  })
                ),
              "tasks/result": () =>
                Effect.sync(() => {
                  running--
                  return done
                }),
              "tasks/cancel": () =>
                Effect.sync(() => {
                  if (running > 0) cancelled++
                  running = 0
                  return { taskId: "t1", status: "cancelled" }
                })
            }
          })
          const fiber = yield* Effect.fork(Effect.withMaxOpsBeforeYield(call(opened.session), 10))
          for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
          if (Exit.isSuccess(yield* Fiber.interrupt(fiber))) finished++
          yield* opened.server.awaitStats((_) => _.handling === 0)
          yield* McpSession.ping(opened.session)
          yield* McpSession.ping(opened.session)
          const stopped = cancellation === "interrupt" ? yield* opened.count("notifications/cancelled") : 0
          assert.isTrue(running === 0 || stopped > 0, `after ${steps} steps a task runs on`)
          assert.isAtMost(yield* opened.count("tasks/cancel"), 1)
          assert.strictEqual((yield* opened.session.stats).inFlight, 0)
        }
        assert.isAbove(cancelled, 0)
        assert.strictEqual(finished, 3)
      }))
  }

  it.scoped("T01: in the very turn in which the answer arrives, the task is known all the same", () =>
    Effect.gen(function*() {
      const opened = yield* open({ handlers: { "tools/call": never } })
      const fiber = yield* Effect.fork(call(opened.session))
      const { id } = yield* opened.server.awaitReceived("tools/call")
      // no turn in between
      yield* Effect.zipRight(
        opened.server.sendRaw(ScriptedServer.result(id, { task: { taskId: "t9", status: "working" } })),
        Effect.sync(() => fiber.unsafeInterruptAsFork(fiber.id()))
      )
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.deepStrictEqual((yield* opened.server.receivedOf("tasks/cancel")).map((_) => _.params), [{ taskId: "t9" }])
      assert.strictEqual(yield* opened.count("notifications/cancelled"), 0)
    }))

  it.scoped("T01: a server that never answers tasks/cancel delays the end by two seconds at most", () =>
    Effect.gen(function*() {
      const { count, server, session } = yield* open({ handlers: { "tasks/cancel": never } })
      const fiber = yield* Effect.fork(call(session))
      yield* server.awaitReceived("tools/call")
      yield* Effect.yieldNow()
      const interrupting = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* server.awaitReceived("tasks/cancel")
      yield* TestClock.adjust("1999 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(interrupting)))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interrupting)))
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("a server that refuses tasks/cancel, or is gone, changes nothing", () =>
    Effect.gen(function*() {
      const scripts: ReadonlyArray<ScriptedServer.Handler> = [
        () => Effect.fail(new ScriptedServer.RpcError({ code: -32603, message: "no" })),
        (_, peer) => Effect.zipRight(peer.disconnect(), Effect.never)
      ]
      for (const cancel of scripts) {
        const { server, session } = yield* open({ handlers: { "tasks/cancel": cancel } })
        const fiber = yield* Effect.fork(call(session))
        yield* server.awaitReceived("tools/call")
        yield* Effect.yieldNow()
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      }
    }))
})

describe("startTask", () => {
  const start = (session: McpSession.McpSession, options?: McpSession.TaskOptions) =>
    McpSession.startTask(session, { name: "slow" }, options)

  it.scoped("gives the id and the state, and the result when it is asked for", () =>
    Effect.gen(function*() {
      const { session } = yield* open({ states: [{ statusMessage: "half" }, { status: "completed" }] })
      const task = yield* start(session)
      assert.strictEqual(task.taskId, "t1")
      assert.strictEqual((yield* task.current).status, "working")
      const fiber = yield* Effect.fork(task.result)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* task.current).statusMessage, "half")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), done as never)
      assert.strictEqual((yield* task.current).status, "completed")
      assert.deepStrictEqual(yield* task.result, done as never)
    }))

  it.effect("T01: the end of its scope cancels it, unless it is over", () =>
    Effect.scoped(
      Effect.gen(function*() {
        const running = yield* open()
        yield* Effect.scoped(start(running.session))
        assert.strictEqual(yield* running.count("tasks/cancel"), 1)
        const over = yield* open({ created: { status: "input_required" } })
        yield* Effect.scoped(Effect.flatMap(start(over.session), (_) => _.result))
        assert.strictEqual(yield* over.count("tasks/cancel"), 0)
      })
    ))

  it.scoped("T01: an explicit cancel is not repeated by the end of the scope, whatever the server made of it", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<ScriptedServer.Handler> = [
        () => Effect.succeed({ taskId: "t1", status: "cancelled" }),
        () => Effect.succeed({ taskId: "t1", status: "working" }),
        () => Effect.succeed({ taskId: "t2", status: "cancelled" }),
        () => Effect.succeed({}),
        () => Effect.fail(unknownTask)
      ]
      for (const answer of answers) {
        const { count, session } = yield* open({ handlers: { "tasks/cancel": answer } })
        const scope = yield* Scope.make()
        const task = yield* Scope.extend(start(session), scope)
        yield* Effect.exit(task.cancel)
        assert.strictEqual((yield* task.current).taskId, "t1")
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(yield* count("tasks/cancel"), 1)
      }
    }))

  it.scoped("T01: a cancelled task ends whoever waits for it, and needs no second cancel", () =>
    Effect.gen(function*() {
      const { count, session } = yield* open({ states: [{ status: "cancelled" }] })
      const task = yield* start(session)
      const fiber = yield* Effect.fork(Effect.flip(task.result))
      yield* Effect.yieldNow()
      yield* task.cancel
      assert.strictEqual((yield* task.current).status, "cancelled")
      yield* task.cancel
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert(error._tag === "TaskFailed" && error.status === "cancelled")
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("an explicit cancel that was never sent is made up for by the end of the scope", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { inFlight: 1 } })
      const { count, server, session } = yield* open({ config, handlers: { "x/hang": never } })
      const scope = yield* Scope.make()
      const task = yield* Scope.extend(start(session), scope)
      const busy = yield* Effect.fork(session.request("x/hang"))
      yield* server.awaitReceived("x/hang")
      assert.strictEqual((yield* Effect.flip(task.cancel))._tag, "LimitExceeded")
      yield* Fiber.interrupt(busy)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* count("tasks/cancel"), 1)
    }))

  it.scoped("T01: an explicit cancel that is interrupted, sent or not, is made up for by the end of the scope", () =>
    Effect.gen(function*() {
      let sent = 0
      for (let steps = 0; steps < 40; steps++) {
        const { count, server, session } = yield* open({ handlers: { "tasks/cancel": never } })
        const scope = yield* Scope.make()
        const task = yield* Scope.extend(start(session), scope)
        const fiber = yield* Effect.fork(Effect.withMaxOpsBeforeYield(task.cancel, 10))
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        const before = (yield* server.receivedOf("tasks/cancel")).map((_) => _.id)
        sent += before.length
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* server.awaitReceived((_) => _.method === "tasks/cancel" && !before.includes(_.id))
        assert.strictEqual(yield* count("tasks/cancel"), before.length + 1, `after ${steps} steps`)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(closing)
      }
      assert(sent > 0 && sent < 40)
    }))

  it.scoped("T01: a server that changes the id of a task is asked for the one it gave", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ states: [{ taskId: "other" }, { status: "completed" }] })
      const fiber = yield* Effect.fork(call(session))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      for (const method of ["tasks/get", "tasks/result"]) {
        for (const { params } of yield* server.receivedOf(method)) assert.deepStrictEqual(params, { taskId: "t1" })
      }
    }))
})

describe("capabilities and helpers", () => {
  it.scoped("P17: nothing is sent where the server does not announce it", () =>
    Effect.gen(function*() {
      const without: ReadonlyArray<readonly [McpProtocol.ServerCapabilities["tasks"], string]> = [
        [undefined, "tasks.requests.tools.call"],
        [{}, "tasks.requests.tools.call"],
        [{ requests: { tools: {} } }, "tasks.requests.tools.call"]
      ]
      for (const [tasks, capability] of without) {
        const { server, session } = yield* open({ capabilities: { tools: {}, tasks } })
        const refused: ReadonlyArray<readonly [Effect.Effect<unknown, McpError.McpError>, string]> = [
          [call(session), capability],
          [Effect.scoped(McpSession.startTask(session, { name: "x" })), capability],
          [McpSession.listTasks(session), "tasks.list"],
          [McpSession.cancelTask(session, "t1"), "tasks.cancel"]
        ]
        for (const [effect, missing] of refused) {
          const error = yield* Effect.flip(effect)
          assert(error._tag === "CapabilityMissing" && error.capability === missing)
        }
        assert.deepStrictEqual(yield* methods(server), [])
      }
    }))

  it.scoped("P17: a task that can't be cancelled is left alone", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({
        capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } }
      })
      const task = yield* Effect.scoped(McpSession.startTask(session, { name: "slow" }))
      assert.strictEqual((yield* Effect.flip(task.cancel))._tag, "CapabilityMissing")
      assert.deepStrictEqual(yield* methods(server), ["tools/call"])
    }))

  it.scoped("getTask, getTaskResult, cancelTask and listTasks are one request each", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({
        states: [{ status: "working", statusMessage: "s" }],
        handlers: {
          "tasks/list": (request) =>
            Effect.succeed(
              request.params.cursor === undefined
                ? { tasks: [{ taskId: "a", status: "working" }, { taskId: "b", status: "odd" }], nextCursor: "2" }
                : { tasks: [{ taskId: "c", status: "failed" }] }
            )
        }
      })
      assert.strictEqual((yield* McpSession.getTask(session, "t1")).statusMessage, "s")
      assert.deepStrictEqual(yield* McpSession.getTaskResult(session, "t1"), done as never)
      assert.strictEqual((yield* McpSession.cancelTask(session, "t1")).status, "cancelled")
      const { dropped, items } = yield* McpSession.listTasks(session)
      assert.deepStrictEqual(items.map((_) => _.taskId), ["a", "c"])
      assert.deepStrictEqual(dropped.map((_) => _.index), [1])
      assert.deepStrictEqual(yield* methods(server), [
        "tasks/get",
        "tasks/result",
        "tasks/cancel",
        "tasks/list",
        "tasks/list"
      ])
      const error = yield* Effect.flip(McpSession.getTask((yield* open({ states: [unknownTask] })).session, "t1"))
      assert(McpError.isMcpError(error) && error._tag === "RemoteError" && error.code === -32602)
    }))

  it.scoped("getTaskResult waits as long as the task takes, unless it is told otherwise", () =>
    Effect.gen(function*() {
      const { server, session } = yield* open({ handlers: { "tasks/result": never } })
      const patient = yield* Effect.fork(McpSession.getTaskResult(session, "t1"))
      const hasty = yield* Effect.fork(Effect.flip(McpSession.getTaskResult(session, "t1", { timeout: "1 second" })))
      yield* server.awaitStats((_) => _.handling === 2)
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* Fiber.join(hasty))._tag, "RequestTimeout")
      assert.isTrue(Option.isNone(yield* Fiber.poll(patient)))
    }))
})
