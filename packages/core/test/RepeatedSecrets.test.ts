/** A server that repeats what it was given shows nothing of it in an error of ours. */
import { assert, describe, it } from "@effect/vitest"
import { McpProtocol, McpSession, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"

const secret = "CANARY-7f3a9c1e5b"
const numeric = 7319551234
const secrets = [secret, String(numeric)]

/** As a wire that was given secrets. */
const lending = (channel: McpTransport.Channel, lent: ReadonlyArray<string> = secrets): McpTransport.Channel => ({
  ...channel,
  open: (events) => Effect.map(channel.open(events), (transport) => ({ ...transport, secrets: () => lent }))
})

const open = (options: ScriptedServer.Options, lent?: ReadonlyArray<string>) =>
  Effect.flatMap(ScriptedServer.make(options), (server) => McpSession.open(lending(server.channel, lent)))

const refusing = (code: number, data?: unknown) => ({
  "tools/call": () => Effect.fail(new ScriptedServer.RpcError({ code, message: `no access with ${secret}`, data }))
})

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "x", arguments: {} })

const shows = (error: unknown) => {
  assert.notInclude(JSON.stringify(error), secret)
  assert.notInclude(JSON.stringify(error), String(numeric))
  assert.notInclude(`${error} ${(error as Error).stack}`, secret)
}

describe("what a server repeats in a JSON-RPC error", () => {
  it.scoped("the text and the data, in names, numbers and lists, and nothing else of it", () =>
    Effect.gen(function*() {
      const data = {
        [secret]: [`a ${secret} b ${secret}`, { pin: numeric, port: 8080 }],
        kept: { deep: [1, null, true] }
      }
      const session = yield* open({ handlers: refusing(-32000, data) })
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "RemoteError")
      assert.strictEqual(error.reason, "no access with <redacted>")
      assert.deepStrictEqual(error.data, {
        "<redacted>": ["a <redacted> b <redacted>", { pin: "<redacted>", port: 8080 }],
        kept: { deep: [1, null, true] }
      })
      assert.isTrue(Object.isFrozen(error.data))
      shows(error)
    }))

  it.scoped("a secret where the text is cut, and in a URL of it", () =>
    Effect.gen(function*() {
      const message = `https://h.test/${secret}?token=${secret} ${"x".repeat(4000)} ${secret.repeat(20)}`
      const session = yield* open({
        handlers: { "tools/call": () => Effect.fail(new ScriptedServer.RpcError({ code: 1, message })) }
      })
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "RemoteError")
      assert.isTrue(error.reason.startsWith("https://h.test/<redacted> xxx"), error.reason.slice(0, 80))
      assert.notInclude(error.reason, "CANARY")
    }))

  it.scoped("a URL that a person is to visit", () =>
    Effect.gen(function*() {
      const elicitations = [{ mode: "url", elicitationId: "1", url: `https://h.test/?k=${secret}`, message: secret }]
      const session = yield* open({
        handlers: refusing(McpProtocol.ErrorCode.UrlElicitationRequired, { elicitations })
      })
      const error = yield* Effect.flip(call(session))
      assert.strictEqual(error._tag, "ElicitationRequired")
      shows(error)
    }))

  it.scoped("what is wrong with a result, and the result in the error; a result that is right stays as it is", () =>
    Effect.gen(function*() {
      const results = [
        { content: [{ type: "text", text: secret }], structuredContent: { secret } },
        { content: { [secret]: secret } }
      ]
      const session = yield* open({ handlers: { "tools/call": () => Effect.succeed(results.shift()) } })
      const result = yield* call(session)
      assert.deepStrictEqual(result.structuredContent, { secret })
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "InvalidResult")
      shows(error)
    }))

  it.scoped("the handshake: a refusal, and the versions it offers", () =>
    Effect.gen(function*() {
      const answers = [
        Effect.fail(new ScriptedServer.RpcError({ code: 1, message: secret, data: { secret } })),
        Effect.fail(new ScriptedServer.RpcError({ code: 1, message: "no", data: { supported: [secret] } })),
        Effect.succeed({ protocolVersion: secret, capabilities: {}, serverInfo: { name: "a", version: "1" } })
      ]
      for (const [i, tag] of ["HandshakeFailed", "VersionMismatch", "VersionMismatch"].entries()) {
        const error = yield* Effect.flip(open({ handlers: { initialize: () => answers[i]! } }))
        assert.strictEqual(error._tag, tag)
        shows(error)
      }
    }))

  it.scoped("what a server says of a task that has failed", () =>
    Effect.gen(function*() {
      const task = (status: string) => ({
        taskId: "t1",
        status,
        ttl: null,
        createdAt: "2026-01-01T00:00:00Z",
        lastUpdatedAt: "2026-01-01T00:00:00Z",
        statusMessage: `it has ended with ${secret}`
      })
      const session = yield* open({
        capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
        handlers: {
          "tools/call": () => Effect.succeed({ task: task("cancelled") }),
          "tasks/get": () => Effect.succeed(task("cancelled"))
        }
      })
      const error = yield* Effect.flip(McpSession.callToolAsTask(session, { name: "x", arguments: {} }))
      assert(error._tag === "TaskFailed")
      assert.include(error.detail, "it has ended with <redacted>")
      shows(error)
    }))

  it.scoped("a wire that has no secrets changes nothing", () =>
    Effect.gen(function*() {
      const data = { secret, list: [numeric] }
      const session = yield* open({ handlers: refusing(-32000, data) }, [])
      const error = yield* Effect.flip(call(session))
      assert(error._tag === "RemoteError")
      assert.strictEqual(error.reason, `no access with ${secret}`)
      assert.deepStrictEqual(error.data, data)
    }))
})
