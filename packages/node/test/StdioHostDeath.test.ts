/** What becomes of servers when the application that started them dies: S19, S20. */
import { assert, describe, it } from "@effect/vitest"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import { isAlive, isWatchdog, markedWith, until } from "./internal/processes.js"

const hostScript = fileURLToPath(new URL("./internal/stdioHost.ts", import.meta.url))

/** A well-behaved server, one with something open, one that ignores everything, one behind a shell, one with a helper. */
const inputs = (mark: string): ReadonlyArray<string> => {
  const env = { MCP_TEST_HOST: mark }
  const shutdown = { afterEof: "100 millis", afterTerm: "100 millis" } as const
  return [
    StdioFixture.config([], { env, shutdown }),
    StdioFixture.config(["keepalive"], { env, shutdown }),
    StdioFixture.config(["keepalive", "ignoreterm"], { env, shutdown }),
    StdioFixture.wrapped(["keepalive", "ignoreterm"], { env, shutdown }),
    StdioFixture.config(["stubbornchild"], { env, shutdown })
  ].map((_) => JSON.stringify(_))
}

interface Host {
  readonly pid: number
  readonly watchdog: number
  readonly mark: string
  readonly output: () => string
  readonly ended: Effect.Effect<number | string | null>
}

const kill = (pid: number) => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has just died.
  }
}

/** A mark for servers. Where a test fails, it is the test that ends them. */
const marked = Effect.acquireRelease(
  Effect.sync(() => randomUUID()),
  (mark) => Effect.sync(() => markedWith(mark).forEach(kill))
)

const run = (then: string, servers: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, then, ...servers],
      { stdio: ["ignore", "pipe", "pipe"] }
    )
    let output = ""
    let errors = ""
    let ending: number | string | null | undefined
    child.stdout.on("data", (chunk) => output += String(chunk))
    child.stderr.on("data", (chunk) => errors += String(chunk))
    child.on("exit", (code, signal) => ending = signal ?? code)
    yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
    return {
      pid: child.pid!,
      output: () => output,
      errors: () => errors,
      hasEnded: () => ending !== undefined,
      ended: Effect.map(until("the application has ended", () => ending !== undefined), () => ending!)
    }
  })

/** Starts the application and waits until its servers run. */
const startHost = (then: "stay" | "exit" | "throw" | "close") =>
  Effect.gen(function*() {
    const mark = randomUUID()
    const { ended, errors, hasEnded, output, pid } = yield* run(then, inputs(`MCP_TEST_HOST=${mark}`))
    yield* until("the application is ready", () => output().includes("ready") || hasEnded())
    const watchdogs = /ready (.*)/.exec(output())?.[1]?.split(" ").map(Number) ?? []
    assert.strictEqual(watchdogs.length, 1, `${output()}${errors()}`)
    const host: Host = { pid, watchdog: watchdogs[0]!, mark: `MCP_TEST_HOST=${mark}`, output, ended }
    return host
  })

const allDead = (host: Host) =>
  Effect.zipRight(
    until("all servers are dead", () => markedWith(host.mark).length === 0),
    until("the watchdog is gone", () => !isAlive(host.watchdog))
  )

describe("StdioTransport: the application dies", () => {
  for (const signal of ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const) {
    it.live(`S19: killed with ${signal}, it leaves no server and no watchdog`, () =>
      Effect.scoped(Effect.gen(function*() {
        const host = yield* startHost("stay")
        assert.isTrue(isWatchdog(host.watchdog))
        // Five servers, the shell of one, and the helper of another, which starts a little later.
        yield* until("all of them run", () => markedWith(host.mark).length >= 7)
        process.kill(host.pid, signal)
        // No handler of ours changed what the signal does.
        assert.strictEqual(yield* host.ended, signal)
        yield* allDead(host)
      })))
  }

  const killedWithTheLastOf = (serversFor: (env: { readonly [name: string]: string }) => ReadonlyArray<unknown>) =>
    Effect.scoped(Effect.gen(function*() {
      const mark = yield* marked
      const servers = serversFor({ MCP_TEST_HOST: mark }).map((_) => JSON.stringify(_))
      const { ended, output, pid } = yield* run("killed", servers)
      assert.strictEqual(yield* ended, "SIGKILL")
      const watchdog = Number(/watchdog (\d+)/.exec(output())?.[1])
      assert.isAbove(watchdog, 0)
      yield* allDead({ pid, watchdog, mark, output, ended })
    }))
  const stubborn = ["keepalive", "ignoreterm"] satisfies ReadonlyArray<StdioFixture.Flag>

  it.live("S19: killed in the moment in which it starts its first server, it leaves no server and no watchdog", () =>
    killedWithTheLastOf((env) => [StdioFixture.config(stubborn, { env })]))

  it.live("S19: killed in the moment in which it starts one behind a shell, it leaves no server and no watchdog", () =>
    killedWithTheLastOf((env) => [StdioFixture.wrapped(stubborn, { env })]))

  for (const [how, make] of [["", StdioFixture.config], [" behind a shell", StdioFixture.wrapped]] as const) {
    it.live(`S19: killed in the moment in which it starts one more${how}, it leaves no server and no watchdog`, () =>
      killedWithTheLastOf((env) => [["keepalive" as const], stubborn, stubborn].map((flags) => make(flags, { env }))))
  }

  it.live("S19: killed in the moment in which a start fails, it leaves no server and no watchdog", () =>
    killedWithTheLastOf((env) => [
      StdioFixture.config(["keepalive", "ignoreterm"], { env }),
      { transport: "stdio", name: "missing", command: "/no/such/program", env }
    ]))

  it.live("S19: process.exit without a close leaves no server", () =>
    Effect.scoped(Effect.gen(function*() {
      const host = yield* startHost("exit")
      assert.strictEqual(yield* host.ended, 0)
      yield* allDead(host)
    })))

  it.live("S19: an uncaught exception leaves no server", () =>
    Effect.scoped(Effect.gen(function*() {
      const host = yield* startHost("throw")
      assert.strictEqual(yield* host.ended, 1)
      yield* allDead(host)
    })))

  it.live("S20: an application that does nothing but close stays until the close is complete", () =>
    Effect.scoped(Effect.gen(function*() {
      const host = yield* startHost("close")
      assert.strictEqual(yield* host.ended, 0)
      // Nothing is waited for: all of it was dead before the application could end.
      assert.deepStrictEqual(markedWith(host.mark), [])
      assert.isFalse(isAlive(host.watchdog))
      assert.include(host.output(), "closed")
    })))
})
