/** Starting a process: S01, S02, S05, S18. */
import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as StdioTransport from "@mcp-runtime/node/StdioTransport"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Effect, Exit, Redacted, Scope } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Environment from "../src/internal/stdio/environment.js"
import { clean, connect, connectFixture, decode, open, recorder } from "./internal/wire.js"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-stdio-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const spawnFailure = (overrides: Parameters<typeof StdioFixture.config>[1]) =>
  Effect.gen(function*() {
    const { config } = yield* decode(StdioFixture.config([], overrides))
    const error = yield* Effect.flip(open(config))
    assert.instanceOf(error, McpError.SpawnFailed)
    assert.strictEqual(error.executed, "no")
    assert.strictEqual(error.server, "fixture")
    // The next attempt is not hurt.
    yield* Effect.scoped(connectFixture(["ok"]))
    return error as McpError.SpawnFailed
  })

describe("StdioTransport: start", () => {
  it.live("S01: a missing command is NotFound", () =>
    clean(() =>
      Effect.gen(function*() {
        const error = yield* spawnFailure({ command: "/no/such/command" })
        assert.strictEqual(error.reason, "NotFound")
        assert.strictEqual(error.command, "/no/such/command")
        assert.include(error.message, `MCP server "fixture": open: could not start "/no/such/command"`)
      })
    ))

  it.live("S01: a file that is not executable is NotExecutable", () =>
    clean(() =>
      Effect.gen(function*() {
        const command = join(yield* temporaryDirectory, "script")
        writeFileSync(command, "#!/bin/sh\n", { mode: 0o644 })
        assert.strictEqual((yield* spawnFailure({ command })).reason, "NotExecutable")
      })
    ))

  it.live("S01: a bad working directory is told from a missing command", () =>
    clean(() =>
      Effect.gen(function*() {
        const file = join(yield* temporaryDirectory, "file")
        writeFileSync(file, "")
        for (const cwd of ["/no/such/directory", file]) {
          const error = yield* spawnFailure({ cwd })
          assert.strictEqual(error.reason, "BadDirectory")
          assert.include(error.detail, cwd)
        }
      })
    ))

  it.live("S02: too large arguments are TooLarge", () =>
    clean(() =>
      Effect.gen(function*() {
        assert.strictEqual((yield* spawnFailure({ args: ["x".repeat(3_000_000)] })).reason, "TooLarge")
      })
    ))

  it.live("S02: what no process can be given is InvalidArgument, and no value is shown", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(StdioFixture.config())
        const bad = [
          { ...config, command: " " },
          { ...config, command: "a\0b" },
          { ...config, cwd: "/tmp\0" },
          { ...config, args: ["fine", "hunter2\0"] },
          { ...config, env: { KEY: Redacted.make("hunter2\0") } },
          { ...config, env: { "A=B": Redacted.make("hunter2") } },
          { ...config, env: { "": Redacted.make("hunter2") } }
        ]
        for (const one of bad) {
          const error = yield* Effect.flip(StdioTransport.channel(one).open(recorder().events))
          assert.instanceOf(error, McpError.SpawnFailed)
          assert.strictEqual((error as McpError.SpawnFailed).reason, "InvalidArgument")
          assert.notInclude(error.message, "hunter2")
        }
        yield* Effect.scoped(connect(config))
      })
    ))

  it.live("S05: the environment is minimal, with what is inherited by name and what is configured", () =>
    clean(() =>
      Effect.gen(function*() {
        const variables = { MCP_TEST_SECRET: "s", MCP_TEST_NAMED: "n", MCP_TEST_FUNCTION: "() { :; }", TERM: "vt100" }
        yield* Effect.acquireRelease(
          Effect.sync(() => Object.assign(process.env, variables)),
          () =>
            Effect.sync(() => {
              for (const name of Object.keys(variables)) delete process.env[name]
            })
        )
        const environmentOf = (overrides: Parameters<typeof StdioFixture.config>[1]) =>
          connectFixture([], overrides).pipe(
            Effect.flatMap((wire) => wire.call("env")),
            Effect.map((text) => JSON.parse(text) as Record<string, string>),
            Effect.scoped
          )

        const minimal = yield* environmentOf({})
        const allowed = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "MCP_RUNTIME_START", "MCP_TEST_MARK"]
        assert.deepStrictEqual(Object.keys(minimal).filter((_) => !allowed.includes(_)), [])
        assert.strictEqual(minimal.PATH, process.env.PATH)

        const named = yield* environmentOf({
          inheritEnv: ["MCP_TEST_NAMED", "MCP_TEST_FUNCTION", "MCP_TEST_ABSENT"],
          env: { TERM: "dumb", KEY: Redacted.make("hunter2") }
        })
        assert.strictEqual(named.MCP_TEST_NAMED, "n")
        assert.strictEqual(named.TERM, "dumb")
        assert.strictEqual(named.KEY, "hunter2")
        for (const name of ["MCP_TEST_SECRET", "MCP_TEST_FUNCTION", "MCP_TEST_ABSENT"]) assert.notProperty(named, name)

        const all = yield* environmentOf({ inheritEnv: "all" })
        assert.strictEqual(all.MCP_TEST_SECRET, "s")
        assert.notProperty(all, "MCP_TEST_FUNCTION")
      })
    ))

  it.effect("S05: on Windows, by the names Windows needs, in any spelling", () =>
    Effect.gen(function*() {
      const { config } = yield* decode(StdioFixture.config([], { env: { Path: "mine" } }))
      const host = { PATH: "theirs", SYSTEMROOT: "C:\\Windows", HOME: "C:\\Users\\me", SECRET: "s" }
      const { MCP_TEST_MARK: _, ...variables } = Environment.make(config, host, "win32")
      assert.deepStrictEqual(variables, { SYSTEMROOT: "C:\\Windows", Path: "mine" })
    }))

  it.live("S18: each open has its own process, and each message is heard once", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config } = yield* decode(StdioFixture.config())
        const channel = StdioTransport.channel(config)
        assert.strictEqual(channel.config, config)
        const first = yield* Scope.make()
        const one = yield* Scope.extend(connect(config), first)
        const two = yield* connect(config)
        yield* Scope.close(first, Exit.void)
        assert.strictEqual(yield* two.call("echo", { n: 2 }), `{"n":2}`)
        const three = yield* connect(config)
        assert.strictEqual(yield* three.call("echo", { n: 3 }), `{"n":3}`)
        assert.strictEqual(new Set([one.pid, two.pid, three.pid]).size, 3)
        for (const wire of [one, two, three]) {
          const ids = wire.messages.map((_) => (_ as { id: number }).id)
          assert.deepStrictEqual(ids, [...new Set(ids)])
        }
        const refused = yield* Effect.flip(one.call("echo"))
        assert.strictEqual(refused.executed, "no")
      })
    ))
})
