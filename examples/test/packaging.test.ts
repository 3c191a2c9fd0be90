import { assert, describe, it } from "@effect/vitest"
import { McpSession } from "@mcp-runtime/core"
import { ScriptedServer } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import fs from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("the packages", () => {
  // It builds a copy of the sources, so it needs no build, and says in its error what did not fit.
  it(
    "are complete, install from their tarballs, type-check, run with plain node and are bundled without the rest",
    async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [".ci/smoke.mjs", "--build"], { cwd: root })
      for (
        const line of [
          "core, node, testing, cli: packed and installed",
          "types with moduleResolution nodenext: fine",
          "types with moduleResolution bundler: fine",
          `a program: {"text":"hello"}`,
          "inMemory: fine",
          "stdio: fine",
          "http: fine",
          "the command: ",
          "what is internal can't be imported",
          "a bundle of McpConfig alone: ",
          "a bundle of Toolset: ",
          "a bundle of McpSession: ",
          "a bundle of all of core for a runtime that is not Node: "
        ]
      ) assert.include(stdout, line)
    },
    600_000
  )

  it.scoped("servers are told the version that is released, or will be first", () =>
    Effect.gen(function*() {
      const { version } = JSON.parse(fs.readFileSync(`${root}/packages/core/package.json`, "utf8"))
      const server = yield* ScriptedServer.make()
      yield* McpSession.open(server.channel)
      const [initialize] = yield* server.receivedOf("initialize")
      assert.deepStrictEqual(initialize!.params.clientInfo, {
        name: "mcp-runtime",
        version: version === "0.0.0" ? "0.1.0" : version
      })
    }))
})
