/**
 * What is sent again and what is not: every kind of failure, every kind of operation.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Effect, Exit, Fiber, TestClock } from "effect"
import {
  arrivals,
  closed,
  config,
  connectFailed,
  countOf,
  errorOf,
  expired,
  forbidden,
  handshakeFailed,
  http,
  invalidResult,
  limit,
  lost,
  macrotask,
  policy,
  replays,
  run,
  tagOf,
  timedOut,
  timeouts,
  unauthorized,
  untilDone,
  violation
} from "./replayKit.js"

const rpc = (code: number) => new ScriptedServer.RpcError({ code, message: "no" })

interface Row {
  readonly name: string
  readonly error: McpError.McpError | ScriptedServer.RpcError
  readonly executed: McpError.Executed
  /** Whether it is worth a replay. */
  readonly passes: boolean
  /** Whether it hides what happened to the request. */
  readonly unknown?: true
}

const rows: ReadonlyArray<Row> = [
  ...[500, 502, 503, 504, 408, 425].map((status): Row => ({
    name: `HTTP ${status}`,
    error: http(status),
    executed: "maybe",
    passes: true,
    unknown: true
  })),
  ...[400, 404, 405, 409, 410, 413, 422, 501, 505, 302].map((status): Row => ({
    name: `HTTP ${status}`,
    error: http(status),
    executed: "maybe",
    passes: false,
    unknown: true
  })),
  { name: "HTTP 404, not executed", error: http(404, "no"), executed: "no", passes: false },
  { name: "HTTP 429", error: http(429, "no"), executed: "no", passes: true },
  { name: "HTTP 429 that ran", error: http(429, "maybe"), executed: "maybe", passes: true, unknown: true },
  { name: "HTTP 503, not executed", error: http(503, "no"), executed: "no", passes: true },
  { name: "HTTP 503, executed", error: http(503, "yes"), executed: "yes", passes: true },
  { name: "time-out", error: timedOut, executed: "maybe", passes: true, unknown: true },
  { name: "lost response", error: lost, executed: "maybe", passes: true, unknown: true },
  { name: "reset", error: closed("Reset"), executed: "maybe", passes: true, unknown: true },
  { name: "reset before it was sent", error: closed("Reset", "no"), executed: "no", passes: true },
  { name: "overflow", error: closed("Overflow"), executed: "maybe", passes: false, unknown: true },
  { name: "violation", error: violation, executed: "maybe", passes: false, unknown: true },
  { name: "refused", error: connectFailed(), executed: "no", passes: true },
  { name: "bad certificate", error: connectFailed("Tls"), executed: "no", passes: false },
  { name: "session expired", error: expired, executed: "no", passes: true },
  { name: "401", error: unauthorized, executed: "no", passes: false },
  { name: "403", error: forbidden, executed: "no", passes: false },
  { name: "handshake", error: handshakeFailed, executed: "no", passes: true },
  { name: "limit", error: limit, executed: "no", passes: false },
  { name: "bad result", error: invalidResult, executed: "yes", passes: false },
  ...[-32000, -32001, -32600, 32600, -32601, -32602, -32603, -32700, 408, 503].map((code): Row => ({
    name: `error ${code}`,
    error: rpc(code),
    executed: "maybe",
    passes: false
  }))
]

interface Op {
  readonly name: string
  readonly method: string
  readonly twice: boolean
  readonly trusted?: boolean
  readonly run: (
    connection: McpConnection.McpConnection,
    options: McpConnection.CallOptions
  ) => Effect.Effect<unknown, McpError.McpError>
}

const tool = (name: string): Op["run"] => (_, options) => McpConnection.callTool(_, { name }, options)

const ops: ReadonlyArray<Op> = [
  { name: "a tool", method: "tools/call", twice: false, run: tool("plain"), trusted: true },
  { name: "an unknown tool", method: "tools/call", twice: false, run: tool("unknown"), trusted: true },
  { name: "a destructive tool", method: "tools/call", twice: false, run: tool("destructive"), trusted: true },
  { name: "a read-only tool, trusted", method: "tools/call", twice: true, run: tool("readOnly"), trusted: true },
  { name: "an idempotent tool, trusted", method: "tools/call", twice: true, run: tool("idempotent"), trusted: true },
  { name: "a read-only tool", method: "tools/call", twice: false, run: tool("readOnly") },
  { name: "an idempotent tool", method: "tools/call", twice: false, run: tool("idempotent"), trusted: false },
  {
    name: "a raw call of a read-only tool, trusted",
    method: "tools/call",
    twice: true,
    trusted: true,
    run: (_, options) => _.request("tools/call", { name: "readOnly" }, options)
  },
  {
    name: "a list",
    method: "tools/list",
    twice: true,
    run: (_, options) => McpConnection.listTools(_, options)
  },
  {
    name: "a prompt",
    method: "prompts/get",
    twice: true,
    run: (_, options) => McpConnection.getPrompt(_, { name: "p" }, options)
  },
  {
    name: "a resource",
    method: "resources/read",
    twice: true,
    run: (_, options) => McpConnection.readResource(_, "file:///r", options)
  },
  { name: "a raw request", method: "x/raw", twice: false, run: (_, options) => _.request("x/raw", {}, options) },
  {
    name: "a request that may run twice as its sender says",
    method: "x/raw",
    twice: true,
    run: (_, options) =>
      _.perform({ method: "x/raw", idempotent: true, options, send: (_, options) => _.request("x/raw", {}, options) })
  },
  {
    name: "a list that may not run twice as its sender says",
    method: "tools/list",
    twice: false,
    run: (_, options) =>
      _.perform({
        method: "tools/list",
        idempotent: false,
        options,
        send: (_, options) => _.request("tools/list", {}, options)
      })
  }
]

const inputSchema = { type: "object" }

/** Fails the first request of this method, once it is armed. */
const failingOnce = (method: string, error: Row["error"], trusted: boolean | undefined) => {
  let armed = false
  const answers: { readonly [method: string]: unknown } = {
    "tools/call": { content: [] },
    "tools/list": {
      tools: [
        { name: "plain", inputSchema },
        { name: "readOnly", inputSchema, annotations: { readOnlyHint: true } },
        { name: "idempotent", inputSchema, annotations: { idempotentHint: true } },
        { name: "destructive", inputSchema, annotations: { readOnlyHint: false, destructiveHint: true } }
      ]
    },
    "prompts/get": { messages: [] },
    "resources/read": { contents: [] },
    "x/raw": {}
  }
  const options: ScriptedServer.Options = {
    config: config(trusted === undefined ? {} : { trusted }),
    capabilities: { tools: {}, prompts: {}, resources: {} },
    handlers: Object.fromEntries(
      Object.entries(answers).map(([name, answer]) => [
        name,
        () =>
          Effect.suspend(() => {
            if (!armed || name !== method) return Effect.succeed(answer)
            armed = false
            return Effect.fail(error)
          })
      ])
    )
  }
  return { options, arm: Effect.sync(() => void (armed = true)) }
}

const expectation = (row: Row, op: Op, replay: "auto" | "always" | "never") => {
  const safe = row.executed === "no" || (row.executed === "maybe" && (op.twice || replay === "always"))
  if (row.passes && safe && replay !== "never") return { sends: 2, end: "ok" }
  const tag = row.error._tag === "RpcError" ? "RemoteError" : row.error._tag
  const hidden = row.unknown === true && row.executed === "maybe" && !op.twice && replay !== "always"
  return { sends: 1, end: hidden ? `OutcomeUnknown(${tag})` : tag }
}

describe("what is sent again", () => {
  for (const op of ops) {
    it.effect(`${op.name}: ${rows.length} kinds of failure`, () =>
      Effect.forEach(
        rows,
        (row) =>
          Effect.forEach(["auto", "always", "never"] as const, (replay) =>
            Effect.scoped(Effect.gen(function*() {
              const { arm, options } = failingOnce(op.method, row.error, op.trusted)
              const server = yield* ScriptedServer.make(options)
              const connection = yield* McpConnection.fromChannel(server.channel)
              yield* McpConnection.listTools(connection)
              const before = yield* countOf(server, op.method)
              const sessions = yield* server.stats
              yield* arm
              const exit = yield* run(op.run(connection, { replay }))
              const again = op.method === "tools/list" && (yield* server.stats).opened > sessions.opened ? 1 : 0
              const sends = (yield* countOf(server, op.method)) - before - again
              assert.deepStrictEqual(
                { sends, end: tagOf(exit) },
                expectation(row, op, replay),
                `${row.name}, replay: ${replay}`
              )
              assert.strictEqual(yield* replays(connection), sends - 1)
            })), { discard: true }),
        { discard: true }
      ))
  }

  it.scoped("a tool that times out is sent once, and told so once", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.never }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, { timeout: "1 second" }))
      const error = errorOf(exit)
      assert.strictEqual(tagOf(exit), "OutcomeUnknown(RequestTimeout)")
      assert.deepStrictEqual([error.server, error.operation, error.executed], ["scripted", "tools/call", "maybe"])
      assert.include(error.message, "the outcome is unknown")
      assert.include(error.message, "1000 ms")
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
      assert.strictEqual(yield* countOf(server, "notifications/cancelled"), 1)
      assert.strictEqual((yield* connection.stats).sessions, 1, "a slow tool is no reason for a new session")
    }))

  it.scoped("a tool whose process dies is sent once, and its error has the exit and the stderr", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ tools: [{ name: "t", call: () => Effect.never }] })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
      yield* server.awaitReceived("tools/call")
      yield* server.disconnect(
        new McpError.ConnectionClosed({
          server: "scripted",
          operation: "receive",
          executed: "maybe",
          reason: "Exited",
          detail: "the process exited",
          exit: { code: null, signal: "SIGSEGV" },
          stderrTail: "boom"
        })
      )
      const error = errorOf(yield* untilDone(call))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      if (error._tag !== "OutcomeUnknown" || error.error._tag !== "ConnectionClosed") return assert.fail(error._tag)
      assert.deepStrictEqual(error.error.exit, { code: null, signal: "SIGSEGV" })
      assert.strictEqual(error.error.stderrTail, "boom")
      assert.strictEqual(error.error.operation, "tools/call")
      assert.include(error.message, "SIGSEGV")
      assert.include(error.message, "boom")
      yield* connection.awaitReady
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
    }))

  it.scoped("a 5xx of a tool keeps its status", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        tools: [{ name: "t", call: () => Effect.fail(http(502, "maybe", 7)) }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const error = errorOf(yield* run(McpConnection.callTool(connection, { name: "t" })))
      if (error._tag !== "OutcomeUnknown" || error.error._tag !== "HttpError") return assert.fail(error._tag)
      assert.deepStrictEqual([error.error.status, error.error.retryAfterMillis], [502, 7])
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
    }))

  it.scoped("a result that says isError is a value", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        tools: [{ name: "t", call: () => Effect.succeed({ content: [], isError: true }) }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const result = yield* McpConnection.callTool(connection, { name: "t" }, { replay: "always" })
      assert.strictEqual(result.isError, true)
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
    }))

  it.scoped("calls of one lost process fail each for itself; what may run twice goes on in the next one", () =>
    Effect.gen(function*() {
      const hanging: ScriptedServer.Handler = ({ session }) =>
        session === 1 ? Effect.never : Effect.succeed({ content: [], contents: [] })
      const server = yield* ScriptedServer.make({
        capabilities: { tools: {}, resources: {} },
        handlers: { "tools/call": hanging, "resources/read": hanging }
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const calls = yield* Effect.fork(Effect.all(
        Array.from({ length: 20 }, () => Effect.exit(McpConnection.callTool(connection, { name: "t" }))),
        { concurrency: "unbounded" }
      ))
      const reads = yield* Effect.fork(Effect.all(
        Array.from({ length: 20 }, () => Effect.exit(McpConnection.readResource(connection, "file:///r"))),
        { concurrency: "unbounded" }
      ))
      yield* server.awaitStats((_) => _.handling === 40)
      yield* server.disconnect()
      const called = yield* untilDone(calls)
      const read = yield* untilDone(reads)
      assert.isTrue(
        Exit.isSuccess(called) && called.value.every((_) => tagOf(_) === "OutcomeUnknown(ConnectionClosed)")
      )
      assert.isTrue(Exit.isSuccess(read) && read.value.every(Exit.isSuccess))
      assert.strictEqual(yield* countOf(server, "tools/call"), 20)
      assert.strictEqual(yield* countOf(server, "resources/read"), 40)
      assert.strictEqual(yield* countOf(server, "initialize"), 2)
    }))
})

describe("Retry-After", () => {
  const limited = (after: number, times = 1) =>
    ScriptedServer.make({
      tools: [{
        name: "t",
        call: () => times-- > 0 ? Effect.fail(http(429, "no", after)) : Effect.succeed("done")
      }]
    })

  it.scoped("429 is sent again when its time has come, and not before", () =>
    Effect.gen(function*() {
      const server = yield* limited(7000)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const call = yield* Effect.fork(McpConnection.callTool(connection, { name: "t" }))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("6999 millis")
      yield* macrotask
      assert.strictEqual(yield* countOf(server, "tools/call"), 1)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(call)
      assert.deepStrictEqual(yield* arrivals(server), [{ at: 0, session: 1 }, { at: 7000, session: 1 }])
    }))

  for (
    const [name, options] of [
      ["maxTotal", { maxTotal: "5 seconds" }],
      ["the total of its policy", { retry: policy({ total: "5 seconds" }) }]
    ] as const
  ) {
    it.scoped(`429 that asks for longer than ${name} allows fails at once`, () =>
      Effect.gen(function*() {
        const server = yield* limited(5001)
        const connection = yield* McpConnection.fromChannel(server.channel)
        const error = errorOf(
          yield* Effect.exit(Effect.asVoid(McpConnection.callTool(connection, { name: "t" }, options)))
        )
        assert.strictEqual(error._tag, "HttpError")
        assert.strictEqual(error.executed, "no")
        assert.strictEqual(yield* TestClock.currentTimeMillis, 0)
        assert.strictEqual(yield* replays(connection), 0)
      }))
  }

  it.scoped("429 that asks for more than five minutes fails at once, unless the caller has said how long is too long", () =>
    Effect.gen(function*() {
      const server = yield* limited(300_001)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const error = errorOf(yield* Effect.exit(Effect.asVoid(McpConnection.callTool(connection, { name: "t" }))))
      assert.isTrue(error._tag === "HttpError" && error.retryAfterMillis === 300_001)
      assert.strictEqual(error.executed, "no")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 0)
      const other = yield* McpConnection.fromChannel((yield* limited(300_001)).channel)
      const call = yield* Effect.fork(McpConnection.callTool(other, { name: "t" }, { maxTotal: "1 hour" }))
      yield* TestClock.adjust("301 seconds")
      yield* Fiber.join(call)
    }))

  it.scoped("the budget ends also what the server asks to be repeated", () =>
    Effect.gen(function*() {
      const server = yield* limited(1000, 100)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }))
      assert.strictEqual(tagOf(exit), "HttpError")
      assert.deepStrictEqual((yield* arrivals(server)).map((_) => _.at), [0, 1000, 2000])
    }))

  it.scoped("of several failures the one that asks for the longest delay decides", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      const connection = yield* McpConnection.fromChannel(server.channel)
      const at: Array<number> = []
      const failures = Cause.parallel(Cause.fail(http(429, "no", 1000)), Cause.fail(http(503, "no", 9000)))
      yield* run(connection.perform({
        method: "x/raw",
        send: () =>
          Effect.flatMap(TestClock.currentTimeMillis, (now) => {
            at.push(now)
            return at.length === 1 ? Effect.failCause(failures) : Effect.void
          })
      }))
      assert.deepStrictEqual(at, [0, 9000])
    }))
})

describe("the first connection", () => {
  it.scoped("a refused connection is tried again as the budget of the call says, and nothing is sent meanwhile", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: config(),
        start: (n) => n <= 2 ? Effect.fail(connectFailed()) : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "echo" }, { retry: policy({ base: 100 }) }))
      assert.strictEqual(tagOf(exit), "ok")
      assert.deepStrictEqual(yield* arrivals(server), [{ at: 300, session: 3 }])
    }))

  it.scoped("without a budget the first refusal is the end", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ config: config(), start: () => Effect.fail(connectFailed()) })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "echo" }, { retry: policy({ replays: 0 }) }))
      assert.strictEqual(tagOf(exit), "ConnectFailed")
      assert.deepStrictEqual([errorOf(exit).operation, errorOf(exit).executed], ["tools/call", "no"])
      assert.strictEqual((yield* server.stats).attempts, 1)
    }))

  it.scoped("credentials that are refused are not tried again", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({ config: config(), start: () => Effect.fail(unauthorized) })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "echo" }, { replay: "always" }))
      assert.strictEqual(tagOf(exit), "Unauthorized")
      assert.strictEqual((yield* server.stats).attempts, 1)
      assert.strictEqual((yield* connection.state)._tag, "NeedsAuthorization")
    }))

  it.scoped("a session that expires in each session is sent once more, and fails as what it is", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make({
        config: config({ timeouts: timeouts({ request: 1000 }) }),
        tools: [{ name: "t", call: () => Effect.fail(expired) }]
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.callTool(connection, { name: "t" }, { retry: policy({ replays: 5 }) }))
      assert.strictEqual(tagOf(exit), "SessionExpired")
      assert.deepStrictEqual(yield* arrivals(server), [{ at: 0, session: 1 }, { at: 0, session: 2 }])
    }))
})
