/** The end that the server brings about: S03, S04, S10, S11, S12. */
import { assert, describe, it } from "@effect/vitest"
import type { McpProtocol } from "@mcp-runtime/core"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Effect, Exit, Fiber, Scope } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { watchdog } from "../src/internal/stdio/watchdog.js"
import { isAlive, until } from "./internal/processes.js"
import { clean, connect, connectFixture, decode, isClosed, open } from "./internal/wire.js"

const ping: McpProtocol.JsonRpcRequest = { jsonrpc: "2.0", id: "p", method: "ping" }

const isWatched = (group: number) => (Reflect.get(watchdog, "groups") as ReadonlyMap<number, unknown>).has(group)

const shell = (script: string) => decode(StdioFixture.config([], { command: "/bin/sh", args: ["-c", script] }))

describe("StdioTransport: the server goes down", () => {
  it.live("S03: an early exit carries its code and the end of stderr", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(StdioFixture.config(["earlyexit"]))
        const wire = yield* open(config)
        const error = isClosed(yield* wire.closed)
        assert.strictEqual(error.reason, "Exited")
        assert.deepStrictEqual(error.exit, { code: 3, signal: null })
        assert.include(error.stderrTail, "fatal: this server can't start")
        assert.include(error.message, "exited with code 3")
      })
    ))

  it.live("S03: an exit during initialize", () =>
    clean(() =>
      Effect.gen(function*() {
        const error = isClosed(yield* Effect.flip(connectFixture(["dieoninit"])))
        assert.deepStrictEqual(error.exit, { code: 7, signal: null })
        assert.include(error.stderrTail, "told to die on initialize")
      })
    ))

  it.live("S03: a file that is no program is run by the shell, which says so", () =>
    clean(() =>
      Effect.gen(function*() {
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-stdio-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true }))
        )
        const command = join(directory, "no-program")
        writeFileSync(command, "no-such-command-anywhere\n", { mode: 0o755 })
        const { config } = yield* decode(StdioFixture.config([], { command }))
        const error = isClosed(yield* Effect.flip(connect(config)))
        assert.deepStrictEqual(error.exit, { code: 127, signal: null })
        assert.include(error.stderrTail, "no-such-command-anywhere")
      })
    ))

  it.live("S03, S11: what was written before the exit is heard before the end", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* shell(`printf '{"a":1}\\n{"b":2}\\n{"c":3}'; exit 4`)
        const wire = yield* open(config)
        const heard = yield* Effect.map(wire.closed, () => wire.messages.length)
        assert.strictEqual(heard, 3)
        assert.deepStrictEqual(wire.messages, [{ a: 1 }, { b: 2 }, { c: 3 }])
        assert.deepStrictEqual(isClosed(wire.closings[0]!).exit, { code: 4, signal: null })
      })
    ))

  it.live("S04: a peer that echoes gives back our own messages, and ends with its input", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(
          StdioFixture.config([], { command: "cat", args: [], shutdown: { afterEof: "1 hour" } })
        )
        const scope = yield* Scope.make()
        const wire = yield* Scope.extend(open(config), scope)
        wire.transport.send(ping)
        // What comes back has the id of the request, and so ends it; by then the first has come back, too.
        yield* wire.request("initialize")
        assert.deepStrictEqual(wire.messages[0], ping)
        yield* Scope.close(scope, Exit.void)
        assert.isFalse(isAlive(wire.pid))
      })
    ))

  it.live("S04: a silent server that ignores everything is gone when the attempt has failed", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(StdioFixture.config(["noinit", "keepalive", "ignoreterm"], {
          shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
        }))
        marks.push(mark)
        const attempt = yield* Effect.fork(Effect.scoped(
          Effect.flatMap(open(config), (wire) => Effect.as(wire.line("stage started"), wire.pid))
        ))
        assert.isFalse(isAlive(yield* Fiber.join(attempt)))
      })
    ))

  for (const flag of ["grandchild", "stubbornchild"] as const) {
    it.live(`S10: a crash is noticed while a helper (${flag}) holds the output, and the helper is ended`, () =>
      clean((marks) =>
        Effect.gen(function*() {
          const { config, mark } = yield* decode(StdioFixture.config([flag], {
            shutdown: { afterEof: "1 hour", afterTerm: flag === "grandchild" ? "1 hour" : "100 millis" }
          }))
          marks.push(mark)
          const scope = yield* Scope.make()
          const wire = yield* Scope.extend(connect(config), scope)
          yield* wire.line("stage helper")
          const { helper } = JSON.parse(yield* wire.call("pid")) as { helper: number }
          // Without a look at "exit" this would never end: the helper holds the output, and the graces are hours.
          const error = isClosed(yield* Effect.flip(wire.call("die", { code: 5 })))
          assert.strictEqual(error.reason, "Exited")
          assert.deepStrictEqual(error.exit, { code: 5, signal: null })
          assert.include(error.stderrTail, "told to die")
          // It is told to end at once, and killed at the latest with the close.
          if (flag === "grandchild") {
            yield* until("the helper is dead", () => !isAlive(helper))
            yield* until("the watchdog has no number to remember", () => !isWatched(wire.pid))
          } else {
            assert.isTrue(isAlive(helper) && isWatched(wire.pid))
          }
          yield* Scope.close(scope, Exit.void)
          assert.isFalse(isAlive(helper))
        })
      ))
  }

  it.live("S11: an exit in the midst of calls ends them all, with the signal", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        const hanging = yield* Effect.fork(
          Effect.all([Effect.flip(wire.call("hang")), Effect.flip(wire.call("hang"))], { concurrency: "unbounded" })
        )
        yield* wire.line("stage call hang\nstage call hang")
        yield* Effect.fork(wire.call("sig", { signal: "SIGSEGV" }))
        for (const error of yield* Fiber.join(hanging)) {
          assert.strictEqual(error.executed, "maybe")
          assert.deepStrictEqual(isClosed(error).exit, { code: null, signal: "SIGSEGV" })
        }
        assert.strictEqual(wire.closings.length, 1)
        const later = yield* Effect.flip(wire.call("echo"))
        assert.strictEqual(later.executed, "no")
        assert.strictEqual(isClosed(later).reason, "Exited")
      })
    ))

  it.live("S12: a server that closes its output and lives on is down", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([], { shutdown: { afterEof: "50 millis" } })
        const error = isClosed(yield* Effect.flip(wire.call("closeout")))
        assert.strictEqual(error.reason, "OutputClosed")
        assert.strictEqual(error.exit, undefined)
        assert.isTrue(isAlive(wire.pid))
      })
    ))

  it.live("S12: a server that closes its input and lives on is down with the next message, which was not executed", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([], { shutdown: { afterEof: "50 millis" } })
        yield* wire.call("closein")
        const fates = yield* Effect.all([
          Effect.flip(wire.call("echo")),
          Effect.flip(wire.post({ jsonrpc: "2.0", method: "notifications/x" }))
        ], { concurrency: "unbounded" })
        for (const error of fates) {
          assert.strictEqual(isClosed(error).reason, "InputClosed")
          assert.strictEqual(error.executed, "no")
        }
        assert.strictEqual(isClosed(yield* wire.closed).reason, "InputClosed")
        assert.isTrue(isAlive(wire.pid))
      })
    ))
})
