/** A connection whose server is a real process, from the first use to the end of the application: S07, S08, S09, S19. */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, McpError } from "@mcp-runtime/core"
import { StdioFixture } from "@mcp-runtime/testing"
import { Effect, Fiber, TestClock, TestServices } from "effect"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { awaitState, call, clean, connect, directory, whoIsThere } from "./internal/connections.js"
import { isAlive, until } from "./internal/processes.js"
import { stdio } from "./realServers.js"

const hostScript = fileURLToPath(new URL("./internal/connectionHost.ts", import.meta.url))

/** What a call says under which the connection was closed. */
const closedUnder = (error: McpError.McpError) => {
  assert.instanceOf(error, McpError.OutcomeUnknown)
  const { error: reason } = error as McpError.OutcomeUnknown
  assert.strictEqual((reason as McpError.ConnectionClosed).reason, "Closing")
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n)

const hang = (connection: McpConnection.McpConnection) => Effect.fork(Effect.flip(call(connection, "hang")))

describe("close", () => {
  it.effect("S07: of a server that ignores end of input and SIGTERM: others' calls fail at once, later ones wait for a new one", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["keepalive", "ignoreterm", "logeof", "logsig"], {
            env: journal.env,
            shutdown: { afterEof: "1 second", afterTerm: "1 second", afterKill: "1 second" }
          })
        )
        const first = yield* whoIsThere(connection)
        const calls = yield* Effect.forEach(range(10), () => hang(connection))
        yield* journal.awaitCount("stage call hang", 10)
        const closing = yield* Effect.forEach([1, 2], () => Effect.fork(connection.close))
        for (const fiber of calls) closedUnder(yield* Fiber.join(fiber))
        yield* journal.awaitCount("stage eof", 1)
        assert.isTrue(isAlive(first.pid))
        // It comes while the old process is being ended, and must not be sent to it.
        const late = yield* Effect.fork(whoIsThere(connection))
        yield* TestClock.adjust("1 second")
        yield* journal.awaitCount("stage SIGTERM", 1)
        assert.isTrue(isAlive(first.pid))
        yield* TestClock.adjust("1 second")
        const second = yield* Fiber.join(late)
        yield* Effect.forEach(closing, Fiber.join)
        assert.notStrictEqual(second.pid, first.pid)
        assert.isFalse(isAlive(first.pid))
        assert.deepStrictEqual(journal.beside(), ["", ""])
        assert.strictEqual(journal.count("stage call hang"), 10)
        yield* closeNow(connection, journal.awaitCount)
      })
    ))

  it.live("S08: interrupted while the process is being ended, it ends it all the same, and the connection is of use", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["keepalive", "ignoreterm", "logeof"], {
            env: journal.env,
            shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
          })
        )
        const first = yield* whoIsThere(connection)
        const closing = yield* Effect.fork(connection.close)
        yield* journal.awaitCount("stage eof", 1)
        yield* Fiber.interrupt(closing)
        // It goes on; who closes now waits for the same end.
        yield* connection.close
        assert.isFalse(isAlive(first.pid))
        assert.deepStrictEqual(journal.alive(), [])
        const second = yield* whoIsThere(connection)
        assert.notStrictEqual(second.pid, first.pid)
      })
    ))

  it.live("S04: while the handshake hangs: who waits learns it, and no process is left", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["noinit", "keepalive", "ignoreterm"], {
            env: journal.env,
            shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
          })
        )
        const waiting = yield* Effect.forEach(range(3), () => Effect.fork(Effect.flip(call(connection, "echo"))))
        yield* journal.awaitCount("stage initialize", 1)
        yield* connection.close
        assert.deepStrictEqual(journal.alive(), [])
        for (const fiber of waiting) {
          const error = yield* Fiber.join(fiber)
          assert.instanceOf(error, McpError.ConnectionClosed)
          assert.strictEqual(error.executed, "no")
        }
        assert.lengthOf(journal.pids(), 1)
        assert.strictEqual((yield* connection.state)._tag, "Closed")
      })
    ))

  it.live("S07: the scope closes while calls run and a reconnection is under way: typed errors, nothing lives", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const fibers = yield* Effect.scoped(Effect.gen(function*() {
          const connection = yield* connect(
            StdioFixture.wrapped(["keepalive", "ignoreterm", "logeof"], {
              env: journal.env,
              shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
            })
          )
          yield* whoIsThere(connection)
          const calls = yield* Effect.forEach(range(5), () => Effect.forkDaemon(Effect.flip(call(connection, "hang"))))
          yield* journal.awaitCount("stage call hang", 5)
          yield* Effect.forkDaemon(connection.reconnect)
          yield* journal.awaitCount("stage eof", 1)
          const late = yield* Effect.forkDaemon(Effect.flip(call(connection, "echo")))
          yield* Effect.yieldNow()
          return { calls, late }
        }))
        assert.deepStrictEqual(journal.alive(), [])
        for (const fiber of fibers.calls) closedUnder(yield* Fiber.join(fiber))
        const late = yield* Fiber.join(fibers.late)
        assert.isTrue(McpError.isMcpError(late))
        assert.strictEqual(late.executed, "no")
      })
    ))
})

/** Ends what ignores everything, without a wait for the clock. */
const closeNow = (
  connection: McpConnection.McpConnection,
  awaitCount: (text: string, count: number) => Effect.Effect<void>
) =>
  Effect.gen(function*() {
    const closing = yield* Effect.fork(connection.close)
    yield* awaitCount("stage eof", 2)
    yield* TestClock.adjust("1 second")
    yield* awaitCount("stage SIGTERM", 2)
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(closing)
  })

describe("reconnect", () => {
  for (const [name, config] of [["a server", StdioFixture.config], ["a wrapped one", StdioFixture.wrapped]] as const) {
    it.live(`S09: ${name} that ignores everything is dead before the next starts; five wishes at a time are one`, () =>
      clean((journal) =>
        Effect.gen(function*() {
          const connection = yield* connect(
            config(["keepalive", "ignoreterm", "grandchild"], {
              env: journal.env,
              shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
            })
          )
          const seen = [yield* whoIsThere(connection)]
          for (const round of [1, 2]) {
            const calls = yield* Effect.forEach(range(3), () => hang(connection))
            yield* journal.awaitCount("stage call hang", 3 * round)
            yield* Effect.forEach(range(5), () => Effect.asVoid(connection.reconnect), {
              concurrency: "unbounded",
              discard: true
            })
            for (const fiber of calls) closedUnder(yield* Fiber.join(fiber))
            seen.push(yield* whoIsThere(connection))
          }
          assert.lengthOf(new Set(seen.map((_) => _.pid)), 3)
          assert.deepStrictEqual(journal.pids(), seen.map((_) => _.pid))
          assert.deepStrictEqual(journal.beside(), ["", "", ""])
          assert.deepStrictEqual(seen.slice(0, 2).flatMap((_) => [_.pid, _.helper!]).filter(isAlive), [])
          const { open, sessions } = yield* connection.stats
          assert.deepStrictEqual({ open, sessions }, { open: 1, sessions: 3 })
        })
      ))
  }

  it.live("S04: while the handshake hangs, the silent process is dead before the next starts", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["noinit", "keepalive", "ignoreterm"], {
            env: journal.env,
            shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
          })
        )
        const waiting = yield* Effect.fork(call(connection, "echo"))
        yield* journal.awaitCount("stage initialize", 1)
        yield* Effect.fork(Effect.asVoid(connection.reconnect))
        yield* journal.awaitCount("stage initialize", 2)
        assert.deepStrictEqual(journal.alive(), [journal.pids()[1]])
        assert.deepStrictEqual(journal.beside(), ["", ""])
        yield* Fiber.interrupt(waiting)
      })
    ))
})

describe("lifetime", () => {
  it.effect("{ idle }: the process ends when nobody has used it so long, not earlier, and the next call has another", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const connection = yield* connect(
          StdioFixture.config(["logeof"], { env: journal.env, lifetime: { idle: "1 minute" } })
        )
        const first = yield* whoIsThere(connection)
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual((yield* whoIsThere(connection)).pid, first.pid)
        const running = yield* Effect.fork(call(connection, "hang", {}, { timeout: null, maxTotal: null }))
        yield* journal.awaitCount("stage call hang", 1)
        yield* TestClock.adjust("5 minutes")
        assert.isTrue(isAlive(first.pid), "a call runs")
        yield* Fiber.interrupt(running)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* connection.hold
          yield* TestClock.adjust("5 minutes")
          assert.isTrue(isAlive(first.pid), "somebody holds it")
        }))
        yield* TestClock.adjust("59 seconds")
        assert.isTrue(isAlive(first.pid))
        assert.strictEqual((yield* connection.state)._tag, "Ready")
        yield* TestClock.adjust("1 second")
        yield* journal.awaitCount("stage eof", 1)
        yield* awaitState(connection, "Idle")
        yield* TestServices.provideLive(until("the process has ended", () => journal.alive().length === 0))
        assert.strictEqual((yield* connection.state)._tag, "Idle")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(journal.alive(), [])
        const second = yield* whoIsThere(connection)
        assert.notStrictEqual(second.pid, first.pid)
        assert.lengthOf(journal.pids(), 2)
      })
    ))

  it.effect("lazy: nothing is started without a use; eager: it is started at once", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const lazy = yield* connect(StdioFixture.config([], { env: journal.env }))
        const eager = yield* connect(StdioFixture.config([], { env: journal.env, lifetime: "eager" }))
        yield* awaitState(eager, "Ready")
        assert.strictEqual((yield* lazy.state)._tag, "Idle")
        assert.lengthOf(journal.pids(), 1)
      })
    ))
})

describe("the application dies", () => {
  for (const then of ["killed", "exit"] as const) {
    it.live(`S19: ${then}, while calls run and after a reconnection: nothing is left`, () =>
      clean((journal) =>
        Effect.gen(function*() {
          const input = StdioFixture.wrapped(["keepalive", "ignoreterm", "stubbornchild"], {
            env: journal.env,
            shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
          })
          const host = spawn(
            process.execPath,
            ["--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, then, JSON.stringify(input)],
            { stdio: "inherit" }
          )
          let ended: string | number | null | undefined
          host.on("exit", (code, signal) => {
            ended = signal ?? code
          })
          yield* Effect.addFinalizer(() => Effect.sync(() => host.kill("SIGKILL")))
          yield* until("the calls run", () => journal.count("stage call hang") === 3 || ended !== undefined)
          assert.lengthOf(journal.pids(), 2)
          if (then === "killed") {
            assert.isAtLeast(journal.alive().length, 3)
            host.kill("SIGKILL")
          }
          yield* until("the application has ended", () => ended !== undefined)
          assert.strictEqual(ended, then === "killed" ? "SIGKILL" : 0)
          yield* until("all servers are dead", () => journal.alive().length === 0)
        })
      ))
  }
})

describe("published servers are killed and heal", () => {
  it.live("S11: server-filesystem", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const path = yield* directory
        const file = join(path, "note.txt")
        writeFileSync(file, "still here")
        const connection = yield* connect(stdio("server-filesystem", { args: [path], env: journal.env }))
        const { items } = yield* McpConnection.listTools(connection)
        assert.include(yield* call(connection, "read_text_file", { path: file }), "still here")
        for (const round of [1, 2, 3]) {
          const pid = journal.pids().at(-1)!
          process.kill(pid, "SIGKILL")
          yield* until("the end was noticed", () => !isAlive(pid))
          const written = join(path, `${round}.txt`)
          // Whether it meets the old process or the new one: it must not be lost silently, and not run twice.
          yield* call(connection, "write_file", { path: written, content: String(round) }, { replay: "always" })
          assert.strictEqual(readFileSync(written, "utf8"), String(round))
          assert.notStrictEqual(journal.pids().at(-1), pid)
        }
        assert.lengthOf(journal.pids(), 4)
        assert.deepStrictEqual(journal.beside(), ["", "", "", ""])
        // What was listed is listed again in each session.
        assert.deepStrictEqual(
          connection.catalog.tools.find("read_text_file"),
          items.find((_) => _.name === "read_text_file")
        )
      })
    ))

  it.live("S11: server-memory keeps what it has on disk", () =>
    clean((journal) =>
      Effect.gen(function*() {
        const path = yield* directory
        const connection = yield* connect(
          stdio("server-memory", { env: { ...journal.env, MEMORY_FILE_PATH: join(path, "memory.json") } })
        )
        yield* McpConnection.callTool(connection, {
          name: "create_entities",
          arguments: { entities: [{ name: "Ada", entityType: "person", observations: ["counts"] }] }
        })
        const [pid] = journal.pids()
        process.kill(pid!, "SIGKILL")
        yield* until("the end was noticed", () => !isAlive(pid!))
        assert.include(yield* call(connection, "read_graph", {}, { replay: "always" }), "Ada")
        assert.lengthOf(journal.pids(), 2)
        assert.deepStrictEqual(journal.alive(), [journal.pids()[1]])
      })
    ))
})
