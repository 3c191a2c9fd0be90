/** Bytes in and out: S13, S14, S15, S16, S17. */
import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import type { McpProtocol } from "@mcp-runtime/core"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Effect, Either, Exit, Fiber, Scope } from "effect"
import { until } from "./internal/processes.js"
import { clean, connect, connectFixture, decode, isClosed, open, turn } from "./internal/wire.js"

const echoTo = (script: string) => StdioFixture.config([], { command: "/bin/sh", args: ["-c", script] })

const notification = (bytes: number): McpProtocol.JsonRpcNotification => ({
  jsonrpc: "2.0",
  method: "notifications/fill",
  params: { fill: "x".repeat(bytes) }
})

describe("StdioTransport: output of the server", () => {
  it.live("S13: lines that are not JSON are warnings, and the session goes on", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture(["noise"])
        assert.strictEqual(yield* wire.call("echo", { a: 1 }), `{"a":1}`)
        const lines = wire.warnings.map((_) => _.detail)
        assert.isTrue(wire.warnings.every((_) => _.kind === "NotJson"))
        assert.strictEqual(lines.length, 4)
        assert.include(lines[0], "Hello, I am not JSON")
        assert.include(lines[1], "[1, 2")
        assert.include(lines[2], "chatter about initialize")
        assert.include(lines[3], "chatter about tools/call")
        assert.strictEqual(wire.closings.length, 0)
      })
    ))

  it.live("S13: a shown line is short, without control characters and without a URL's secrets", () =>
    clean(() =>
      Effect.gen(function*() {
        const junk = `printf 'see \\033[31mhttps://me:hunter2@host/path?key=hunter3 ${"y".repeat(10_000)}\\n'`
        const { config } = yield* decode(echoTo(`${junk}; cat >/dev/null`))
        const wire = yield* open(config)
        yield* Effect.scoped(connectFixture([]))
        const { detail } = wire.warnings[0]!
        assert.isBelow(detail.length, 300)
        assert.notInclude(detail, "hunter")
        assert.notInclude(detail, "\u001b")
        assert.include(detail, "https://host/path")
      })
    ))

  it.live("S13: JSON that is not JSON-RPC is handed on for the engine to judge", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture(["nonrpc", "crlf"])
        assert.deepStrictEqual(wire.messages.slice(0, 2), [42, { hello: "world" }])
        assert.deepStrictEqual(wire.warnings, [])
      })
    ))

  it.live("a byte order mark before the first message is no part of it", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(echoTo(`printf '\\357\\273\\277{"first":1}\\n{"second":2}\\n'; exit 0`))
        const wire = yield* open(config)
        yield* wire.closed
        assert.deepStrictEqual(wire.messages, [{ first: 1 }, { second: 2 }])
        assert.deepStrictEqual(wire.warnings, [])
      })
    ))

  it.live("a last line without an end is heard, also where a helper keeps the output open", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(echoTo(`sleep 300 & printf '{"first":1}\\n{"last":2}'; exit 0`))
        const wire = yield* open(config)
        assert.strictEqual(isClosed(yield* wire.closed).reason, "Exited")
        assert.deepStrictEqual(wire.messages, [{ first: 1 }, { last: 2 }])
      })
    ))

  for (const [name, extra] of [["at", 0], ["above", 1]] as const) {
    it.live(`S14: a message ${name} the limit of bytes`, () =>
      clean(() =>
        Effect.gen(function*() {
          const max = 200_000
          const wire = yield* connectFixture([], { limits: { messageBytes: max } })
          const answer = yield* Effect.either(wire.call("huge", { bytes: max + extra }))
          if (extra === 0) {
            assert.isTrue(Either.isRight(answer))
            return
          }
          const error = isClosed(yield* wire.closed)
          assert.strictEqual(error.reason, "Overflow")
          assert.include(error.detail, "200000")
          assert.strictEqual(error.executed, "maybe")
        })
      ))
  }

  it.live("S14: after a line that is too long nothing waits for the end of input", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(StdioFixture.config(["keepalive", "ignoreterm"], {
          limits: { messageBytes: 100_000 },
          shutdown: { afterEof: "1 hour", afterTerm: "50 millis" }
        }))
        marks.push(mark)
        const wire = yield* connect(config)
        const error = yield* Effect.flip(wire.call("huge", { bytes: 10_000_000 }))
        assert.strictEqual(isClosed(error).reason, "Overflow")
        assert.strictEqual(wire.closings.length, 1)
        const refused = yield* Effect.flip(wire.call("echo"))
        assert.strictEqual(refused.executed, "no")
        assert.strictEqual(isClosed(refused).reason, "Overflow")
      })
    ))

  it.live("S14: a message of 40 MB", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        assert.isAbove((yield* wire.call("huge", { bytes: 40_000_000 })).length, 39_000_000)
      })
    ))

  it.live("S15: text that comes in single bytes", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        assert.strictEqual(yield* wire.call("utf8"), "grüße 😀👩‍🚀 \u2028 漢字")
      })
    ))

  it.live("many small messages in one write keep their order, and come before the answer after them", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        yield* wire.call("burst", { count: 50_000 })
        const numbers = wire.messages.flatMap((_) => {
          const { method, params } = _ as { method?: string; params?: { i: number } }
          return method === "notifications/burst" ? [params!.i] : []
        })
        assert.strictEqual(numbers.length, 50_000)
        assert.isTrue(numbers.every((i, index) => i === index))
        assert.property(wire.messages.at(-1), "result")
      })
    ))
})

describe("StdioTransport: stderr", () => {
  it.live("S16: 1 MB on stderr before initialize blocks nothing; its end is kept", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture(["flooderr"], { limits: { stderrTailBytes: 1000 } })
        yield* wire.line("stage initialized")
        const tail = wire.transport.stderrTail()!
        assert.isAtMost(Buffer.byteLength(tail), 1000)
        assert.include(tail, "stage flooded")
        assert.notInclude(tail, "stage started")
      })
    ))

  it.live("S16: stderr that nobody closes does not hold up the close", () =>
    clean(() =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const wire = yield* Scope.extend(connectFixture(["flooderr=3000000"]), scope)
        yield* Scope.close(scope, Exit.void)
        assert.include(wire.transport.stderrTail(), "stage initialize")
      })
    ))
})

describe("StdioTransport: input of the server", () => {
  it.live("S17: what a stopped reader does not take is bounded; then messages are refused as not executed", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([], {
          limits: { sendBufferBytes: 1_000_000 },
          shutdown: { afterEof: "1 milli" }
        })
        yield* wire.call("stopread")
        const outcomes: Array<McpError.McpError | undefined> = []
        for (let i = 0; i < 15; i++) wire.transport.send(notification(100_000), (error) => outcomes.push(error))
        const request = yield* Effect.flip(wire.request("tools/call", notification(100_000).params))
        assert.strictEqual(outcomes.length, 6)
        for (const error of [...outcomes, request]) {
          assert.instanceOf(error, McpError.LimitExceeded)
          assert.strictEqual((error as McpError.LimitExceeded).limit, "sendBufferBytes")
          assert.strictEqual(error!.executed, "no")
        }
        assert.strictEqual(request.operation, "tools/call")
        assert.strictEqual(wire.closings.length, 0)
      })
    ))

  it.live("S17: when the stopped reader dies, each message is told its fate, once", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        const warnings: Array<Error> = []
        const onWarning = (warning: Error) => warnings.push(warning)
        process.on("warning", onWarning)
        yield* Effect.addFinalizer(() => Effect.sync(() => process.off("warning", onWarning)))
        yield* wire.call("stopread")

        const fates: Array<string> = []
        let told = 0
        for (let i = 0; i < 40; i++) {
          wire.transport.send(notification(100_000), (error) => {
            told++
            fates[i] = error?.executed ?? "accepted"
          })
          // The first ones go out alone, then one that can't be taken, and the rest waits behind it.
          if (i < 10) yield* turn
        }
        const request = yield* Effect.fork(Effect.flip(wire.request("tools/call")))
        yield* turn
        process.kill(wire.pid, "SIGKILL")
        const error = isClosed(yield* wire.closed)
        assert.strictEqual(error.reason, "Exited")
        assert.deepStrictEqual(error.exit, { code: null, signal: "SIGKILL" })
        // The request came after what was under way, so it was never written.
        const lost = yield* Fiber.join(request)
        assert.strictEqual(lost.executed, "no")
        assert.strictEqual(wire.failures.length, 1)

        assert.strictEqual(told, 40)
        const unknown = fates.indexOf("maybe")
        assert.isAbove(unknown, 0)
        assert.deepStrictEqual(fates, fates.map((_, i) => i < unknown ? "accepted" : i === unknown ? "maybe" : "no"))
        assert.deepStrictEqual(warnings, [])
      })
    ))

  it.live("whether a slow reader reads is known while a large message is still being written", () =>
    clean(() =>
      Effect.gen(function*() {
        const script = "trap 'exec cat >/dev/null' USR1; echo waiting >&2; sleep 300 & wait"
        const wire = yield* open((yield* decode(echoTo(script))).config)
        yield* wire.line("waiting")
        assert.isFalse(wire.transport.reading!()(), "nothing waits")
        const message = yield* Effect.fork(wire.post(notification(10_000_000)))
        yield* turn
        const hasRead = wire.transport.reading!()
        yield* turn
        assert.isFalse(hasRead(), "it waits")
        process.kill(wire.pid, "SIGUSR1")
        yield* until("it reads", hasRead)
        yield* Fiber.join(message)
        assert.isTrue(hasRead())
      })
    ))

  it.live("S17: messages are accepted in order and arrive in order, also those of one tick", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        const answers = yield* Effect.forEach(
          Array.from({ length: 500 }, (_, i) => i),
          (i) => wire.call("echo", { i, fill: "ü".repeat(i) }),
          { concurrency: "unbounded" }
        )
        assert.isTrue(answers.every((text, i) => (JSON.parse(text) as { i: number }).i === i))
        const ids = wire.messages.map((_) => (_ as { id: number }).id)
        assert.deepStrictEqual(ids, [...ids].sort((a, b) => a - b))
      })
    ))

  it.live("a message that is not JSON is refused and harms nothing", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        const error = yield* Effect.flip(wire.request("tools/call", { n: 1n }))
        assert.instanceOf(error, McpError.ConfigInvalid)
        assert.strictEqual(error.executed, "no")
        assert.strictEqual(yield* wire.call("echo", { a: 1 }), `{"a":1}`)
      })
    ))
})
