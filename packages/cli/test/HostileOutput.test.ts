/** What servers say on its way to a terminal, a pipe or a program: escape sequences, floods, readers that leave. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import {
  assertHarmless,
  assertPlain,
  command,
  hasTerminal,
  patient,
  type Place,
  place,
  run,
  start
} from "./hostile/command.js"
import { until } from "./hostile/processes.js"

const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["tools"],
  ["tools", "--json"],
  ["call", "echo", "text=hello"],
  ["call", "echo", "text=hello", "--json"],
  ["call", "progress", "steps=3"],
  ["call", "fail"],
  ["call", "refuse"],
  ["call", "crash"],
  ["call", "no_such_tool"],
  ["prompts"],
  ["prompts", "--json"],
  ["resources"],
  ["read", "test://one"],
  ["status"],
  ["doctor"],
  ["doctor", "--json"],
  ["logs", "hostile"]
]

const evil = (here: Place) => here.configure({ hostile: here.server("evil"), dead: here.server("evil", "crash") })

describe("escape sequences of a server", () => {
  for (const args of commands) {
    it.live(`reach no pipe: ${args.join(" ")}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        evil(here)
        const { stderr, stdout } = yield* args[0] === "logs" ? briefly(here, args) : run(here, args)
        assertReached(here, stdout + stderr)
        assertPlain(stdout)
        assertPlain(stderr)
        if (args.includes("--json")) JSON.parse(stdout)
        yield* here.nothingLeft
      })), 40_000)

    it.live.skipIf(!hasTerminal)(`reach no terminal: ${args.join(" ")}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        evil(here)
        const { stdout } = yield* args[0] === "logs"
          ? briefly(here, args, true)
          : run(here, args, { terminal: true })
        assertReached(here, stdout)
        assertHarmless(stdout)
        yield* here.nothingLeft
      })), 40_000)
  }

  /** Otherwise there was nothing to look at. */
  const assertReached = (here: Place, shown: string): void => {
    assert.isTrue(here.stages().some((_) => _.startsWith("initialize")))
    assert.notStrictEqual(shown, "")
  }

  const briefly = (here: Place, args: ReadonlyArray<string>, terminal = false) =>
    Effect.gen(function*() {
      const running = yield* start(here, args, { terminal })
      yield* here.awaitStage("initialize")
      yield* until("something is shown", () => running.stdout() !== "" || running.stderr() !== "")
      running.kill("SIGINT")
      yield* running.ended
      return { stdout: running.stdout(), stderr: running.stderr() }
    })
})

describe.skipIf(!hasTerminal)("in a terminal", () => {
  it.live(
    "Ctrl-C ends a call with 130, nothing is left, and the terminal is as it was",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({ hostile: here.server("stay", "ignoreterm", "fork") })
        const running = yield* start(here, ["call", "hang"], { terminal: true })
        yield* here.awaitStage("call")
        running.type("\u0003")
        const { code } = yield* running.ended
        assert.strictEqual(code, 130, running.stdout())
        yield* here.nothingLeft
        assertRestored(running.stdout())
      })),
    40_000
  )

  it.live("a second Ctrl-C kills what does not end", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ hostile: patient(here.server("stay", "ignoreterm", "fork")) })
      const running = yield* start(here, ["call", "hang"], { terminal: true })
      yield* here.awaitStage("call")
      running.type("\u0003")
      yield* here.awaitStage("eof")
      running.type("\u0003")
      const { code } = yield* running.ended
      assert.strictEqual(code, 130, running.stdout())
      yield* here.nothingLeft
      // The one of the watchdog, if the server came to say so.
      assert.isAtMost(here.stages().filter((_) => _ === "SIGTERM").length, 1)
      assertRestored(running.stdout())
    })), 40_000)

  it.live("the terminal that goes away (SIGHUP) takes everything with it", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ hostile: here.server("stay", "ignoreterm", "fork") })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* start(here, ["call", "hang"], { terminal: true })
        yield* here.awaitStage("call")
        // The scope ends the terminal.
      }))
      yield* here.nothingLeft
    })), 40_000)

  it.live("Ctrl-C while servers connect, with a live line for each", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ one: here.server("noinit"), two: here.server("deaf"), three: here.server("noinit") })
      const running = yield* start(here, ["tools"], { terminal: true })
      yield* here.awaitStage("initialize")
      running.type("\u0003")
      const { code } = yield* running.ended
      assert.strictEqual(code, 130, running.stdout())
      yield* here.nothingLeft
      assertRestored(running.stdout())
    })), 40_000)

  it.live("status --watch shows and ends by Ctrl-C", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ good: here.server() })
      const running = yield* start(here, ["status", "--watch"], { terminal: true })
      yield* until("the status is shown", () => /good/.test(running.stdout()))
      running.type("\u0003")
      const { code } = yield* running.ended
      assert.include([0, 130], code, running.stdout())
      yield* here.nothingLeft
      assertRestored(running.stdout())
    })), 40_000)

  /** A cursor that was hidden is shown again, and no other screen is left on. */
  const assertRestored = (shown: string): void => {
    assert.isAtLeast(shown.lastIndexOf("\u001b[?25h"), shown.lastIndexOf("\u001b[?25l"))
    assert.isAtLeast(shown.lastIndexOf("\u001b[?1049l"), shown.lastIndexOf("\u001b[?1049h"))
  }
})

describe("readers that leave", () => {
  const quoted = (words: ReadonlyArray<string>) => words.map((_) => `'${_}'`).join(" ")

  for (
    const args of [["tools"], ["tools", "--json"], ["call", "huge"], ["call", "huge", "--json"], ["doctor"], ["--help"]]
  ) {
    it.live(`${args.join(" ")} | head -1: no message, nothing left`, () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({ hostile: here.server() })
        const { signal, stderr, stdout } = spawnSync(
          "bash",
          ["-c", `${quoted([...command(), ...args])} | head -c 1; echo " codes \${PIPESTATUS[0]}"`],
          {
            cwd: here.directory,
            env: {
              PATH: process.env.PATH,
              HOME: here.directory,
              XDG_CACHE_HOME: here.directory,
              MCP_TEST_MARK: here.mark
            },
            encoding: "utf8",
            timeout: 20_000
          }
        )
        assert.isNull(signal, "it hangs")
        assert.notMatch(stderr, /EPIPE|\n\s+at |Error:/)
        assert.match(stdout, / codes (?:0|1|141)\n$/)
        yield* here.nothingLeft
      })), 40_000)
  }

  it.live("huge: ten million characters arrive whole, through a pipe", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ hostile: here.server() })
      const { code, stderr, stdout } = yield* run(here, ["call", "huge", "bytes=10000000", "--json"])
      assert.strictEqual(code, 0, stderr.slice(0, 1000))
      assert.strictEqual(JSON.parse(stdout).content[0].text.length, 10_000_000)
      yield* here.nothingLeft
    })), 40_000)
})
