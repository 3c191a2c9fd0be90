/** What HTTP needs is loaded with its first use, which may meet a process that has no file left to open. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { httpServer } from "../../core/test/exchangeServer.js"

const hostScript = fileURLToPath(new URL("./internal/fewFilesHost.ts", import.meta.url))

/** A shell sets the limit, which a process of Node can't. */
const withFewFiles = (url: string) =>
  Effect.async<string>((resume) => {
    const node = [process.execPath, "--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, url]
    const child = execFile("/bin/sh", ["-c", `ulimit -n 1024 && exec "$@"`, "sh", ...node], (error, stdout, stderr) =>
      resume(error === null ? Effect.succeed(stdout) : Effect.die(`${error.message}\n${stderr}`)))
    return Effect.sync(() =>
      child.kill("SIGKILL")
    )
  })

describe.skipIf(process.platform === "win32")("undici: its first use", () => {
  it.live("where no file can be opened is an error that says so, and HTTP works when there are files again", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.end("ok"))
      const { first, second } = JSON.parse(yield* withFewFiles(`${server.url}/?key=canary-query`))
      assert.deepInclude(first.error, { _tag: "ConnectFailed", server: "far", executed: "no" })
      assert.include(first.message, "too many open files")
      assert.include(first.message, "ulimit -n")
      assert.notInclude(JSON.stringify(first), "canary-query")
      assert.deepStrictEqual(second, { status: 200 })
    })))
})
