/**
 * That the client fails with a code, and with a line that says why.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../src/client.ts", import.meta.url))

/** Gives the exit code and the last line. */
const client = (env: { readonly [name: string]: string }, ...args: ReadonlyArray<string>) =>
  Effect.async<readonly [code: number, last: string | undefined]>((resume) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "--conditions=@mcp-runtime/source", program, ...args],
      { env: { ...process.env, ...env } },
      (_, __, stderr) => resume(Effect.succeed([child.exitCode ?? -1, stderr.trim().split("\n").at(-1)]))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** A program that is compiled as it starts, on a machine that does other things meanwhile. */
const options = { timeout: 120_000 }

const nobody = "http://127.0.0.1:9/mcp"

describe("the client says what is wrong", options, () => {
  it.live("with what the suite gives", () =>
    Effect.gen(function*() {
      const outcomes = yield* Effect.all([
        client({ MCP_CONFORMANCE_SCENARIO: "__proto__" }, nobody),
        client({ MCP_CONFORMANCE_SCENARIO: "initialize" }),
        client(
          { MCP_CONFORMANCE_SCENARIO: "auth/pre-registration", MCP_CONFORMANCE_CONTEXT: "{\"client_id\":1}" },
          nobody
        )
      ], { concurrency: 2 })
      assert.deepStrictEqual(outcomes, [
        [1, `conformance client: there is nothing to do for the scenario "__proto__"`],
        [1, "conformance client: the last argument must be the URL of the server"],
        [1, "conformance client: MCP_CONFORMANCE_CONTEXT has no usable client_id, client_secret, issuer"]
      ])
    }))

  it.live("with the server", () =>
    Effect.gen(function*() {
      const [code, last] = yield* client({ MCP_CONFORMANCE_SCENARIO: "initialize" }, nobody)
      assert.strictEqual(code, 1)
      assert.match(last ?? "", /^conformance client: MCP server "initialize": .*127\.0\.0\.1:9/)
    }))
})
