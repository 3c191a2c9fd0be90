/** What a server prints of its own environment is not shown: S16; nor does what can't be written hurt anybody. */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError } from "@mcp-runtime/core"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Duration, Effect } from "effect"
import * as Environment from "../src/internal/stdio/environment.js"
import { clean, connect, connectFixture, decode, isClosed, open } from "./internal/wire.js"

const shell = (script: string, env: Record<string, string>) =>
  Effect.map(
    decode(StdioFixture.config([], { command: "/bin/sh", args: ["-c", script], env })),
    ({ config }) => config
  )

describe("StdioTransport: what is not shown", () => {
  it.live("S16: the values of variables are covered in the end of stderr, in errors and in warnings", () =>
    clean(() =>
      Effect.gen(function*() {
        const config = yield* shell(
          `echo "no access with $TOKEN on $TERM" >&2; echo "Token: $TOKEN"; printf 'x%100s%s' "" "$TOKEN$LONG"; exit 3`,
          { TOKEN: "hunter2-canary", TERM: "dumb", LONG: "long-canary".repeat(100) }
        )
        const wire = yield* open(config)
        const error = isClosed(yield* wire.closed)
        assert.strictEqual(error.stderrTail, "no access with <redacted> on dumb")
        assert.strictEqual(wire.transport.stderrTail(), error.stderrTail)
        assert.include(error.message, "no access with <redacted>")
        assert.strictEqual(wire.warnings[0]!.detail, "a line of its output is not JSON: Token: <redacted>")
        assert.lengthOf(wire.warnings, 2)
        assert.notInclude(JSON.stringify([error, error.message, wire.warnings]), "canary")
      })
    ))

  it.live("S16: the same in what the attempt to open fails with", () =>
    clean(() =>
      Effect.gen(function*() {
        const config = yield* shell(`read line; echo "$TOKEN" >&2; exit 1`, { TOKEN: "hunter2-canary" })
        const error = isClosed(yield* Effect.flip(connect(config)))
        assert.strictEqual(error.stderrTail, "<redacted>")
        assert.notInclude(`${error.message} ${JSON.stringify(error)}`, "canary")
      })
    ))

  it.live("a message that can't be written as JSON fails alone, and was not executed", () =>
    clean(() =>
      Effect.gen(function*() {
        const wire = yield* connectFixture([])
        const cyclic: Record<string, unknown> = {}
        cyclic.self = cyclic
        for (const bad of [1n, cyclic] as ReadonlyArray<unknown> as ReadonlyArray<never>) {
          const error = yield* Effect.flip(wire.call("echo", { bad }))
          assert.deepStrictEqual(error, McpError.unwritable("fixture", "tools/call"))
        }
        assert.strictEqual(yield* wire.call("echo", { good: 1 }), `{"good":1}`)
      })
    ))

  it.effect("S05: names that every object has are no variables", () =>
    Effect.gen(function*() {
      const { config } = yield* decode(
        StdioFixture.config([], { inheritEnv: ["constructor", "toString", "__proto__"] })
      )
      const { MCP_TEST_MARK: _, ...variables } = Environment.make(config, { HOME: "/" }, "linux")
      assert.deepStrictEqual(Object.entries(variables), [["HOME", "/"]])
    }))

  it("S06: the graces that are not configured are the documented ones", () => {
    const config = Effect.runSync(McpConfig.decode(StdioFixture.config([], { shutdown: { afterTerm: "1 minute" } })))
    assert(config.transport === "stdio")
    const { afterEof, afterKill, afterTerm } = McpConfig.shutdownOf(config)
    assert.deepStrictEqual([afterEof, afterTerm, afterKill].map(Duration.toMillis), [2000, 60_000, 2000])
  })
})
