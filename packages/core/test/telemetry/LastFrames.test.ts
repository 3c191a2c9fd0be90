import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError, McpSession, RequestLimit } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Fiber, TestClock } from "effect"
import { LastFrames } from "../../src/internal/telemetry/lastFrames.js"
import { connect, echo, failure, forbidden, forkExit, http, settled, stdio } from "../connection/kit.js"
import { knowing } from "./kit.js"

const framesOf = (error: McpError.McpError): ReadonlyArray<string> | undefined => {
  const inner = error._tag === "OutcomeUnknown" ? error.error : error
  return "lastFrames" in inner
    ? inner.lastFrames?.map(({ direction, text }) => `${direction === "sent" ? ">" : "<"} ${text}`)
    : undefined
}

/** A session over a wire that knows secrets. */
const sessionKnowing = (secrets: ReadonlyArray<string>, script: ScriptedServer.Options) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make(script)
    return { server, session: yield* McpSession.open(knowing(server.channel, secrets)) }
  })

describe("the last messages, in an error of the protocol", () => {
  it.scoped("say what was said before it, both ways, the oldest first", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, {
        handlers: {
          "tools/call": (_, peer) =>
            Effect.as(peer.notify("notifications/message", { level: "info", data: "hm" }), ScriptedServer.silence)
        }
      })
      const call = yield* forkExit(echo(connection, { replay: "never" }))
      yield* server.awaitReceived("tools/call")
      yield* settled
      yield* server.disconnect()
      const frames = framesOf(failure(yield* Fiber.join(call)))!
      assert.deepStrictEqual(frames, [
        "> (initialize)",
        "< (the answer to 1)",
        "> (notifications/initialized)",
        `> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":2}}}`,
        `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hm"}}`
      ])
    }))

  it.scoped("a time-out has them, with what the cancellation says not yet among them", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(echo(connection, { timeout: "1 second", replay: "never" }))
      yield* server.awaitReceived("tools/call")
      yield* TestClock.adjust("1 second")
      const frames = framesOf(failure(yield* Fiber.join(call)))!
      assert.include(frames.at(-1), `"method":"tools/call"`)
    }))

  it.scoped("a handshake that hangs, is refused, or ends, has them", () =>
    Effect.gen(function*() {
      const hanging = yield* connect(stdio, { handlers: { initialize: () => Effect.never } })
      const opening = yield* forkExit(hanging.connection.awaitReady)
      yield* hanging.server.awaitReceived("initialize")
      yield* TestClock.adjust("1 minute")
      assert.include(
        framesOf(failure(yield* Fiber.join(opening)))!.join("\n"),
        `> {"jsonrpc":"2.0","id":1,"method":"initialize"`
      )

      const ending = yield* connect(stdio, {
        handlers: { initialize: (_, peer) => Effect.as(peer.disconnect(), ScriptedServer.silence) }
      })
      const error = failure(yield* Effect.exit(ending.connection.awaitReady))
      assert.strictEqual(error._tag, "HandshakeFailed")
      assert.include(framesOf(error)!.join("\n"), `"method":"initialize"`)

      // The error has the text of the answer itself.
      for (const [code, tag] of [[-32000, "HandshakeFailed"], [-32601, "ProtocolViolation"]] as const) {
        const refusing = yield* connect(stdio, {
          handlers: { initialize: () => Effect.fail(new ScriptedServer.RpcError({ code, message: "no" })) }
        })
        const error = failure(yield* Effect.exit(refusing.connection.awaitReady))
        assert.strictEqual(error._tag, tag)
        assert.deepStrictEqual(framesOf(error), ["> (initialize)", "< (the answer to 1)"])
      }
    }))

  it.scoped("an answer of the server's own, a refusal and a limit have none", () =>
    Effect.gen(function*() {
      const answers = [
        Effect.fail(new ScriptedServer.RpcError({ code: -32000, message: "no" })),
        Effect.fail(forbidden)
      ]
      const { connection, server } = yield* connect({ ...stdio, limits: { inFlight: 1 } }, {
        handlers: { "tools/call": () => answers.shift() ?? Effect.never }
      })
      const once = echo(connection, { replay: "never" })
      const errors = [
        failure(yield* Effect.exit(once)),
        failure(yield* Effect.exit(once)),
        failure(yield* Effect.exit(McpConnection.getPrompt(connection, { name: "x" })))
      ]
      const running = yield* forkExit(once)
      yield* server.awaitStats((_) => _.handling === 1)
      errors.push(failure(yield* Effect.exit(once)))
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(errors.map((_) => _._tag), [
        "RemoteError",
        "Forbidden",
        "CapabilityMissing",
        "LimitExceeded"
      ])
      for (const error of errors) assert.isUndefined(framesOf(error), error._tag)
    }))

  it.scoped("there are eight of them, and each is cut", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(
        McpConnection.callTool(connection, { name: "echo", arguments: { text: "x".repeat(100_000) } }, {
          replay: "never"
        })
      )
      yield* server.awaitReceived("tools/call")
      for (let i = 0; i < 7; i++) yield* server.notify(`notifications/${i}`)
      yield* server.disconnect()
      const frames = framesOf(failure(yield* Fiber.join(call)))!
      assert.lengthOf(frames, 8)
      assert.include(frames[0], `"method":"tools/call"`)
      assert.isBelow(frames[0]!.length, 300)
      assert.include(frames[7], "notifications/6")
    }))

  it.scoped("nothing is under way once the last one has left the queue: of a result only the id is kept", () =>
    Effect.gen(function*() {
      const requests = yield* RequestLimit.make(1)
      const one = yield* ScriptedServer.make({
        handlers: { "tools/call": () => Effect.delay(Effect.succeed({ content: [], big: "x" }), "1 second") }
      })
      const other = yield* ScriptedServer.make({ handlers: { "tools/call": () => Effect.never } })
      const session = yield* McpSession.open(one.channel, { requests })
      const rival = yield* McpSession.open(other.channel, { requests })
      const answered = yield* forkExit(session.request("tools/call", { name: "a" }))
      yield* one.awaitReceived("tools/call")
      yield* forkExit(rival.request("tools/call", { name: "b" }))
      const waiting = yield* forkExit(session.request("tools/call", { name: "c" }))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(answered)
      yield* other.awaitReceived("tools/call")
      yield* Fiber.interrupt(waiting)
      yield* one.disconnect()
      const frames = framesOf(yield* session.closed)!
      assert.lengthOf(yield* one.receivedOf("tools/call"), 1)
      assert.deepStrictEqual(frames.slice(-2), ["> (tools/call)", "< (the answer to 2)"])
    }))

  it.scoped("what the server was given and repeats does not show, as a value, a key, a number or a name", () =>
    Effect.gen(function*() {
      const secrets = ["swordfish", "1234567"]
      const { server, session } = yield* sessionKnowing(secrets, { handlers: { "tools/call": () => Effect.never } })
      const call = yield* forkExit(session.request("tools/call", { name: "a", arguments: { swordfish: 1234567 } }))
      yield* server.awaitReceived("tools/call")
      yield* server.notify("swordfish/changed", { text: "my swordfish" })
      yield* Effect.fork(Effect.exit(server.request("swordfish/ask")))
      yield* settled
      yield* server.disconnect()
      const error = failure(yield* Fiber.join(call))
      assert.lengthOf(framesOf(error)!, 7)
      for (const secret of secrets) assert.notInclude(JSON.stringify(error), secret)

      // Between requests only names are kept.
      const idle = yield* sessionKnowing(secrets, {})
      yield* idle.server.notify("swordfish/changed")
      yield* idle.server.disconnect()
      const closed = yield* idle.session.closed
      assert.include(framesOf(closed)!.join("\n"), "(<redacted>/changed)")
      assert.notInclude(JSON.stringify(closed), "swordfish")
    }))

  it.scoped("a secret that the bound cuts does not show in part", () =>
    Effect.gen(function*() {
      const short = "correct-horse-battery-staple-of-long-ago-and-far-away"
      const long = "0123456789abcdefghijklmnopqrstuvwxyz-".repeat(5)
      for (let at = 100; at < 260; at += 3) {
        const { server, session } = yield* sessionKnowing([short, long], {
          handlers: { "tools/call": () => Effect.never }
        })
        const call = yield* forkExit(
          session.request("tools/call", { name: short.repeat(3) + "x".repeat(at - 60) + long })
        )
        yield* server.awaitReceived("tools/call")
        yield* server.disconnect()
        const shown = framesOf(failure(yield* Fiber.join(call)))!.join("\n")
        assert.notInclude(shown, "0123456", String(at))
        assert.notInclude(shown, "correct", String(at))
      }
    }))

  it.scoped("an HTTP server's, too", () =>
    Effect.gen(function*() {
      const lost = new McpError.ResponseLost(
        { server: "x", operation: "x", executed: "maybe", reason: "Broken", detail: "gone" }
      )
      const { connection } = yield* connect(http, { handlers: { "tools/call": () => Effect.fail(lost) } })
      const error = failure(yield* Effect.exit(echo(connection, { replay: "never" })))
      assert.include(framesOf(error)!.at(-1), `"method":"tools/call"`)
    }))
})

describe("what is kept", () => {
  const texts = (frames: LastFrames) => frames.shown([]).map((_) => _.text)

  it("messages while requests are under way, then only what they were called", () => {
    const frames = new LastFrames()
    const question = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { text: "big" } }
    frames.add(true, question)
    frames.add(false, { jsonrpc: "2.0", id: 7, result: { text: "big" } })
    assert.include(texts(frames)[0], "big")
    frames.forget()
    assert.deepStrictEqual(texts(frames), ["(tools/call)", "(the answer to 7)"])
    assert.deepStrictEqual(frames.shown([]).map((_) => _.direction), ["sent", "received"])
    assert.notInclude(JSON.stringify((frames as unknown as { frames: ReadonlyArray<unknown> }).frames), "big")
  })

  it("nothing is kept of what is none, or calls itself something long", () => {
    const frames = new LastFrames()
    const nothing = [null, 1, "text", true, undefined, [], { method: "m".repeat(129) }, { id: "x".repeat(10_000) }]
    for (const message of nothing) frames.addName(false, message)
    for (const text of texts(frames)) assert.strictEqual(text, "(?)")
  })

  it("a thousand messages leave eight, whatever is forgotten when", () => {
    const frames = new LastFrames()
    for (let i = 0; i < 1000; i++) {
      frames.add(i % 2 === 0, { method: `m${i}` })
      if (i % 13 === 0) frames.forget()
    }
    assert.lengthOf(texts(frames), 8)
    frames.forget()
    assert.deepStrictEqual(texts(frames), Array.from({ length: 8 }, (_, i) => `(m${992 + i})`))
  })
})
