import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { agent } from "../agent.js"
import { live, program } from "../first.js"

/** The example stores lists in the user's cache directory. */
const cacheElsewhere = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env.XDG_CACHE_HOME
    process.env.XDG_CACHE_HOME = fs.mkdtempSync(`${os.tmpdir()}/mcp-runtime-example-`)
    return { before, directory: process.env.XDG_CACHE_HOME }
  }),
  ({ before, directory }) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env.XDG_CACHE_HOME
      else process.env.XDG_CACHE_HOME = before
      fs.rmSync(directory, { recursive: true })
    })
).pipe(Effect.map((_) => _.directory))

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("the README", () => {
  it.live("its first example runs and does what it says", () =>
    Effect.gen(function*() {
      const cache = yield* cacheElsewhere
      const { result, tools } = yield* program
      assert.deepStrictEqual(tools, ["add_note", "count", "wait_for_ever", "process_id", "crash"])
      assert.deepStrictEqual(result, [{ type: "text", text: "kept; 1 note(s)" }])
      assert.strictEqual(fs.readdirSync(`${cache}/mcp-runtime`).length, 1)
    }).pipe(Effect.scoped))

  it.live("so does its second example", () =>
    Effect.gen(function*() {
      yield* cacheElsewhere
      const { result, tools } = yield* Effect.provide(agent, live)
      assert.deepStrictEqual(tools, ["notes__add_note", "notes__count", "notes__process_id"])
      assert(result._tag === "Success")
      assert.deepStrictEqual(result.output, [{ type: "text", text: "kept; 1 note(s)" }])
    }).pipe(Effect.scoped))

  it.each(["first.ts", "agent.ts"])("shows examples/%s, line by line", (name) => {
    const readme = fs.readFileSync(`${root}/README.md`, "utf8")
    const example = fs.readFileSync(`${root}/examples/${name}`, "utf8")
    const body = example.slice(example.indexOf("import")).trim()
    assert.isTrue(readme.includes(body), `README.md and examples/${name} differ`)
  })

  it.live("npm start ends well, and says that nothing is left", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* Effect.promise(() =>
        promisify(execFile)("npm", ["start"], { cwd: root, timeout: 60_000 })
      )
      assert.include(stdout, "no process, socket, timer or fiber is left")
      assert.match(stdout, /broken +failed .*exited with code 3.*no token in the environment/)
      assert.match(stdout, /unreachable +failed .*refused/)
      assert.match(stdout, /weather +connected +1 tools/)
      assert.include(stdout, "OutcomeUnknown")
      assert.include(stdout, "it sees notes__add_note, notes__count, weather__forecast, clock__hours_from_utc\n")
      assert.match(stdout, /notes__crash all the same: .*There is no such tool/)
      assert.match(stdout, /notes__add_note needs approval/)
      assert.include(stdout, "approved: kept; 1 note(s)")
      assert.include(stdout, "5 calls were under way: they may have run, so they fail and are not sent again")
      assert.match(stdout, /20 calls right after it: all answered, by process \d+ instead of \d+/)
      assert.include(stdout, "50 calls to another server meanwhile: all answered")
      assert.match(stdout, /notes +5 tools, deferred/)
      assert.include(stdout, "looks the tool up in its live list, and runs: kept; 1 note(s)")
      assert.notInclude(stdout + stderr, "secret")
    }), 60_000)
})
