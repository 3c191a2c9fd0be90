import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { program } from "../first.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("the README", () => {
  it.live("its first example runs and does what it says", () =>
    Effect.gen(function*() {
      const { result, tools } = yield* program
      assert.deepStrictEqual(tools, ["add_note", "count", "wait_for_ever", "crash"])
      assert.deepStrictEqual(result, [{ type: "text", text: "kept; 1 note(s)" }])
    }))

  it("shows that example, line by line", () => {
    const readme = fs.readFileSync(`${root}/README.md`, "utf8")
    const example = fs.readFileSync(`${root}/examples/first.ts`, "utf8")
    const body = example.slice(example.indexOf("export const program")).trim()
    assert.isTrue(readme.includes(body), "README.md and examples/first.ts differ")
  })

  it.live("npm start ends well, and says that nothing is left", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* Effect.promise(() =>
        promisify(execFile)("npm", ["start"], { cwd: root, timeout: 60_000 })
      )
      assert.include(stdout, "no process, socket, timer or fiber is left")
      assert.include(stdout, "OutcomeUnknown")
      assert.include(stdout, "the next call runs in a new process: kept; 1 note(s)")
      assert.include(stdout, "SpawnFailed")
      assert.notInclude(stdout + stderr, "secret")
    }), 60_000)
})
