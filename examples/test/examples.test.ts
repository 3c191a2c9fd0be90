import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { agent } from "../agent.js"
import { live, program } from "../first.js"

const temporary = Effect.acquireRelease(
  Effect.sync(() => ({ directory: fs.mkdtempSync(`${os.tmpdir()}/mcp-runtime-example-`) })),
  ({ directory }) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** The example stores lists in the user's cache directory. */
const cacheElsewhere = Effect.gen(function*() {
  const { directory } = yield* temporary
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env.XDG_CACHE_HOME
      process.env.XDG_CACHE_HOME = directory
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env.XDG_CACHE_HOME
        else process.env.XDG_CACHE_HOME = before
      })
  )
  return directory
})

const root = fileURLToPath(new URL("../..", import.meta.url))

/** An example on its own, as a reader runs it. */
const run = (name: string) =>
  Effect.gen(function*() {
    const { directory } = yield* temporary
    return yield* Effect.promise(() =>
      promisify(execFile)(
        process.execPath,
        ["--import", "tsx", "--conditions=@mcp-runtime/source", `examples/${name}`],
        { cwd: root, timeout: 60_000, env: { ...process.env, XDG_CACHE_HOME: directory, NO_COLOR: "1" } }
      )
    )
  }).pipe(Effect.scoped)

/** Each of these starts a process, which takes its time on a busy machine. */
describe("the examples", { timeout: 90_000 }, () => {
  it.live("minimal.ts: one server, its tools, one call", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("minimal.ts")
      assert.strictEqual(stderr, "")
      assert.strictEqual(
        stdout,
        "tools: add_note, count, wait_for_ever, process_id, crash\nanswer: [ { type: 'text', text: 'kept; 1 note(s)' } ]\n"
      )
    }))

  it.live("agentLoop.ts: a model asks for tools until it answers", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("agentLoop.ts")
      assert.strictEqual(stderr, "")
      assert.include(stdout, `a person is asked: notes__add_note {"text":"sell the house"}`)
      assert.include(stdout, "notes__add_note: kept; 1 note(s)\n")
      assert.match(stdout, /notes__add_note: .*rejected by a person: the user does not want that/)
      assert.match(stdout, /notes__count: .*arguments\.to: is required/)
      assert.include(stdout, "notes__count: counted to 3\n")
      assert.match(stdout, /the model: .*\n$/)
    }))

  it.live("httpService.ts: an HTTP service offers tools", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("httpService.ts")
      assert.strictEqual(stderr, "")
      assert.include(stdout, "GET /status [ { name: 'notes', phase: 'connected' } ]\n")
      assert.include(stdout, "GET /tools [ 'add_note', 'count' ]\n")
      assert.include(stdout, "POST /tools/add_note { text: 'kept; 1 note(s)', isError: false }\n")
      assert.match(stdout, /POST \/tools\/crash \{[^}]*executed: 'no'/)
    }))

  it.live("hotReload.ts: an edited file touches what has changed, and nothing else", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("hotReload.ts")
      assert.strictEqual(stderr, "")
      const processesOf = (name: string) =>
        [...stdout.matchAll(new RegExp(`^ +${name} +process (\\d+)$`, "gm"))].map(([, id]) => id)
      const [home, homeAfter] = processesOf("home")
      const [work, workAfter] = processesOf("work")
      assert.strictEqual(home, homeAfter)
      assert.notStrictEqual(work, workAfter)
      assert.lengthOf(processesOf("shop"), 1)
      assert.include(stdout, "The call to home is still under way.\n")
    }))

  it.live("oauth.ts: a person is asked once, and tokens are renewed", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("oauth.ts")
      assert.strictEqual(stderr, "")
      assert.include(stdout, "At first it is failed: Unauthorized\n")
      assert.include(stdout, "The user of private visits /authorize, and says yes.\n")
      assert.include(stdout, `Now it is connected, and answers: {"text":"hello"}\n`)
      assert.include(stdout, `Its tokens have expired, and it answers: {"text":"hello"}\n`)
      assert.include(stdout, "The user was asked 1 time(s); tokens were renewed 1 time(s).\n")
    }))

  it.live("openTelemetry.ts: a call is one trace, through client and server, and is counted", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* run("openTelemetry.ts")
      assert.strictEqual(stderr, "")
      const [traces, metrics] = stdout.trim().split("\n\n")
      assert.strictEqual(
        traces,
        [
          "mcp.runtime.manager.connect (application, internal)",
          "  mcp.runtime.connect (application, internal)",
          "    initialize (application, client)",
          "  tools/list (application, client)",
          "plan a trip (application, internal)",
          "  tools/call hours_from_utc (application, client)",
          "    tools/call hours_from_utc (clock, server)",
          "      look up (clock, internal)",
          "plan another trip (application, internal)",
          "  tools/call hours_from_utc (application, client, failed: tool_error)",
          "    tools/call hours_from_utc (clock, server)",
          "      look up (clock, internal)"
        ].join("\n")
      )
      assert.deepStrictEqual(metrics!.split("\n"), [
        "mcp.client.operation.duration [initialize] 1 times (s)",
        "mcp.client.operation.duration [tools/call, tool_error] 1 times (s)",
        "mcp.client.operation.duration [tools/call] 1 times (s)",
        "mcp.client.operation.duration [tools/list] 1 times (s)",
        "mcp.client.session.duration 1 times (s)",
        "mcp.runtime.catalog.refreshes [tools] 1",
        "mcp.runtime.connect.duration 1 times (s)",
        "mcp.runtime.requests.active 0",
        "mcp.runtime.sessions.open 0",
        "mcp.runtime.sessions.opened 1"
      ])
    }))

  it("every one of them is run by a test", () => {
    const tested = fs.readFileSync(fileURLToPath(import.meta.url), "utf8")
    for (const name of fs.readdirSync(`${root}/examples`).filter((_) => _.endsWith(".ts"))) {
      assert.isTrue(tested.includes(name), `examples/${name} is not run`)
    }
  })
})

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

  it.live("what it says about the command line works, word by word", () =>
    Effect.gen(function*() {
      const readme = fs.readFileSync(`${root}/README.md`, "utf8")
      const section = readme.slice(
        readme.indexOf("## From the command line"),
        readme.indexOf("## What you can rely on")
      )
      const [config, commands, program] = ["json", "sh", "ts"].map((language) =>
        section.split(`\`\`\`${language}\n`)[1]!.split("```")[0]!
      )
      // In the repository, so that npx finds the published server there.
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(`${root}/examples/.readme-`)),
        (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
      )
      fs.writeFileSync(`${directory}/mcp.json`, config!)
      const script = /`npx tsx (\S+)`/.exec(section)![1]!
      fs.writeFileSync(`${directory}/${script}`, program!)
      // As `npm init` writes it.
      fs.writeFileSync(`${directory}/package.json`, JSON.stringify({ name: "readme", type: "commonjs" }))
      const inDirectory = (script: string, ...args: ReadonlyArray<string>) =>
        Effect.promise(() =>
          promisify(execFile)(
            process.execPath,
            ["--import", "tsx", "--conditions=@mcp-runtime/source", script, ...args],
            {
              cwd: directory,
              timeout: 60_000,
              env: { ...process.env, XDG_CACHE_HOME: directory, XDG_CONFIG_HOME: directory, npm_config_offline: "true" }
            }
          )
        )
      const lines = commands!.split("\n").map((line) => line.split("#")[0]!.trim()).filter((line) => line !== "")
      const [tools, call, doctor] = yield* Effect.forEach(lines, (line) => {
        const [npx, name, ...args] = line.split(" ")
        assert.deepStrictEqual([npx, name], ["npx", "mcp-runtime"])
        return inDirectory(`${root}/packages/cli/src/main.ts`, ...args)
      })
      assert.include(tools!.stdout, "list_directory")
      assert.include(call!.stdout, `[FILE] ${script}`)
      assert.include(doctor!.stdout, "files")
      assert.include((yield* inDirectory(script)).stdout, `[FILE] ${script}`)
    }).pipe(Effect.scoped), 120_000)

  it("docs/testing.md shows examples/testing, line by line", () => {
    const page = fs.readFileSync(`${root}/docs/testing.md`, "utf8")
    for (const name of ["forecast.ts", "forecast.test.ts"]) {
      const example = fs.readFileSync(`${root}/examples/testing/${name}`, "utf8")
      assert.isTrue(
        page.includes(example.slice(example.indexOf("import")).trim()),
        `docs/testing.md and ${name} differ`
      )
    }
  })

  it.live("npm start (tour.ts) ends well, and says that nothing is left", () =>
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
