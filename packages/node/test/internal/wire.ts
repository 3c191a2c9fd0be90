/**
 * Drives a stdio transport without an engine: requests by id, and a record of everything that the transport told.
 */
import { assert } from "@effect/vitest"
import type { McpProtocol, McpTransport } from "@mcp-runtime/core"
import { McpConfig, McpError } from "@mcp-runtime/core"
import * as StdioTransport from "@mcp-runtime/node/StdioTransport"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import type { Scope } from "effect"
import { Deferred, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { childrenOf, commandOf, markedWith, until } from "./processes.js"

export interface Wire {
  readonly transport: McpTransport.MessageTransport
  readonly pid: number
  /** Everything that arrived, in order. */
  readonly messages: ReadonlyArray<unknown>
  readonly failures: ReadonlyArray<{ readonly id: McpProtocol.RequestId; readonly error: McpError.McpError }>
  readonly closings: ReadonlyArray<McpError.McpError>
  readonly warnings: ReadonlyArray<{ readonly kind: McpTransport.WarningKind; readonly detail: string }>
  /** The next thing told with `closed`. */
  readonly closed: Effect.Effect<McpError.McpError>
  readonly request: (method: string, params?: McpProtocol.JsonObject) => Effect.Effect<unknown, McpError.McpError>
  readonly call: (tool: string, args?: McpProtocol.JsonObject) => Effect.Effect<string, McpError.McpError>
  readonly post: (message: McpProtocol.JsonRpcMessage) => Effect.Effect<void, McpError.McpError>
  readonly line: (text: string) => Effect.Effect<void>
}

const initializeParams = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "0" }
}

/** A decoded configuration whose process and everything it starts can be found by `mark`. */
export const decode = (
  input: StdioFixture.StdioConfigInput
): Effect.Effect<{ readonly config: McpConfig.StdioConfig; readonly mark: string }> => {
  const mark = `MCP_TEST_MARK=${randomUUID()}`
  const [name, value] = mark.split("=") as [string, string]
  return McpConfig.decode({ ...input, env: { ...input.env, [name]: value } }).pipe(
    Effect.map((config) => ({ config: config as McpConfig.StdioConfig, mark })),
    Effect.orDie
  )
}

export const recorder = () => {
  const messages: Array<unknown> = []
  const failures: Array<{ id: McpProtocol.RequestId; error: McpError.McpError }> = []
  const closings: Array<McpError.McpError> = []
  const warnings: Array<{ kind: McpTransport.WarningKind; detail: string }> = []
  const closed = Effect.runSync(Deferred.make<McpError.McpError>())
  const pending = new Map<McpProtocol.RequestId, (answer: Effect.Effect<unknown, McpError.McpError>) => void>()
  const events: McpTransport.TransportEvents = {
    message: (message) => {
      messages.push(message)
      const { error, id, result } = message as { id?: McpProtocol.RequestId; result?: unknown; error?: unknown }
      if (id === undefined || !pending.has(id)) return
      pending.get(id)!(error === undefined ? Effect.succeed(result) : Effect.die(error))
      pending.delete(id)
    },
    requestFailed: (id, error) => {
      failures.push({ id, error })
      pending.get(id)?.(Effect.fail(error))
      pending.delete(id)
    },
    closed: (error) => {
      closings.push(error)
      for (const resume of pending.values()) resume(Effect.fail(error))
      pending.clear()
      Deferred.unsafeDone(closed, Effect.succeed(error))
    },
    warning: (kind, detail) => {
      warnings.push({ kind, detail })
    },
    serverStream: () => {}
  }
  return { messages, failures, closings, warnings, closed, pending, events }
}

/** Opens the transport; nothing is said to the server yet. */
export const open = (
  config: McpConfig.StdioConfig
): Effect.Effect<Wire, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const record = recorder()
    const before = new Set(childrenOf(process.pid))
    const transport = yield* StdioTransport.channel(config).open(record.events)
    const pid = childrenOf(process.pid).find((_) => !before.has(_) && !commandOf(_).endsWith("mcp-runtime-watchdog"))
    let lastId = 0
    const request: Wire["request"] = (method, params) =>
      Effect.async((resume) => {
        const id = ++lastId
        record.pending.set(id, resume)
        transport.send({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) })
      })
    return {
      ...record,
      transport,
      pid: pid ?? -1,
      closed: Deferred.await(record.closed),
      request,
      call: (name, args = {}) =>
        Effect.map(
          request("tools/call", { name, arguments: args, _meta: { progressToken: lastId + 1 } }),
          (result) => (result as { content: ReadonlyArray<{ text: string }> }).content[0]!.text
        ),
      post: (message) =>
        Effect.async((resume) => {
          transport.send(message, (error) => resume(error === undefined ? Effect.void : Effect.fail(error)))
        }),
      line: (text) => until(`"${text}" on stderr`, () => transport.stderrTail()?.includes(text) === true)
    }
  })

/** Opens the transport and completes the handshake. */
export const connect = (config: McpConfig.StdioConfig): Effect.Effect<Wire, McpError.McpError, Scope.Scope> =>
  Effect.tap(open(config), (wire) =>
    wire.request("initialize", initializeParams).pipe(
      Effect.zipRight(wire.post({ jsonrpc: "2.0", method: "notifications/initialized" }))
    ))

/** Opens a server with these flags; what it starts can be found by `mark`. */
export const connectFixture = (
  flags: ReadonlyArray<StdioFixture.Flag>,
  overrides?: Parameters<typeof StdioFixture.config>[1]
) => Effect.flatMap(decode(StdioFixture.config(flags, overrides)), ({ config }) => connect(config))

export const isClosed = (error: McpError.McpError): McpError.ConnectionClosed => {
  assert.instanceOf(error, McpError.ConnectionClosed)
  return error as McpError.ConnectionClosed
}

const streamHandles = () => process.getActiveResourcesInfo().filter((_) => /Pipe|Process/.test(_)).length

/** One turn of the event loop. */
export const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/**
 * Runs a test in a scope of its own, and then finds nothing of it left: no child, no descendant with one of the marks, no
 * pipe, no listener on the process.
 */
export const clean = <A, E>(body: (marks: Array<string>) => Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    // Handles are closed in the next turns of the loop.
    const turns = Effect.zipRight(turn, turn)
    yield* turns
    const children = childrenOf(process.pid)
    const handles = streamHandles()
    const listeners = process.listenerCount("exit")
    const marks: Array<string> = []
    const result = yield* Effect.scoped(body(marks))
    for (const mark of marks) assert.deepStrictEqual(markedWith(mark), [], "a descendant lives")
    const left = childrenOf(process.pid).filter((_) => !children.includes(_))
    assert.deepStrictEqual(left.map(commandOf), [], "a child lives")
    yield* turns
    assert.strictEqual(streamHandles(), handles, "a pipe is open")
    assert.strictEqual(process.listenerCount("exit"), listeners)
    return result
  })
