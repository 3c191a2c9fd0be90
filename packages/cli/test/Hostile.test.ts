/** Servers that hang, flood, crash, ignore signals or fork, under every way in which the command can end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { patient, type Place, place, type Run, run, start } from "./hostile/command.js"
import { isAlive, until } from "./hostile/processes.js"

/** Each: what the server does, what is asked of it, and what it has come to when it is interrupted. */
const scenes: ReadonlyArray<
  readonly [name: string, flags: ReadonlyArray<string>, args: ReadonlyArray<string>, stage: string]
> = [
  ["hangs at its start and ignores everything", ["deaf"], ["tools"], "started"],
  ["hangs in initialize", ["noinit"], ["tools"], "initialize"],
  [
    "hangs in initialize, and ignores the end of its input and SIGTERM",
    ["noinit", "stay", "ignoreterm"],
    ["tools"],
    "initialize"
  ],
  ["hangs in tools/list", ["nolist"], ["tools"], "list"],
  ["hangs in a call", [], ["call", "hang"], "call"],
  [
    "hangs in a call, ignores SIGTERM and has a helper that does",
    ["stay", "ignoreterm", "fork"],
    ["call", "hang"],
    "call"
  ],
  ["floods stdout", ["floodout", "noinit"], ["tools"], "initialize"],
  ["floods stderr", ["flooderr"], ["call", "hang"], "call"],
  ["is looked at by the doctor", ["noinit", "stay", "ignoreterm", "fork"], ["doctor"], "initialize"]
]

/** How long a test may take: what does not end by itself fails here. */
const bound = 40_000
const longBound = 60_000

/** With the graces that servers have by default. */
const asItIs = (server: object) => server

/** With shorter ones, since most tests need not wait for them. */
const brief = (server: object) => ({ ...server, shutdown: { afterEof: "400 millis", afterTerm: "400 millis" } })

const interrupted = (
  flags: ReadonlyArray<string>,
  args: ReadonlyArray<string>,
  stage: string,
  end: (running: Run, here: Place) => Effect.Effect<void>,
  graces: (server: object) => object = args[0] === "doctor" ? asItIs : brief
) =>
  Effect.scoped(Effect.gen(function*() {
    const here = yield* place
    here.configure({ hostile: graces(here.server(...flags)) })
    const running = yield* start(here, args)
    yield* here.awaitStage(stage)
    yield* end(running, here)
    const ending = yield* running.ended
    yield* here.nothingLeft
    return { ...ending, stages: here.stages(), stdout: running.stdout(), stderr: running.stderr() }
  }))

const send = (signal: NodeJS.Signals) => (running: Run) => Effect.sync(() => running.kill(signal))

describe("mcp-runtime and a server that", () => {
  for (const [name, flags, args, stage] of scenes) {
    it.live(`${name}: Ctrl-C ends it with 130, and nothing is left`, () =>
      Effect.gen(function*() {
        const { code, stderr } = yield* interrupted(flags, args, stage, send("SIGINT"))
        assert.strictEqual(code, 130, stderr)
        assert.notMatch(stderr, /\n\s+at |Fiber|Cause/)
      }), bound)

    it.live(`${name}: kill -TERM ends it, and nothing is left`, () =>
      Effect.gen(function*() {
        const { code, signal, stderr } = yield* interrupted(flags, args, stage, send("SIGTERM"))
        assert.isTrue(code === 143 || signal === "SIGTERM", `${code} ${signal} ${stderr}`)
      }), bound)

    it.live(`${name}: kill -9 of the command leaves nothing`, () =>
      Effect.gen(function*() {
        const { signal } = yield* interrupted(flags, args, stage, send("SIGKILL"))
        assert.strictEqual(signal, "SIGKILL")
      }), bound)
  }

  it.live("ignores the end of its input and SIGTERM: a second Ctrl-C kills it at once", () =>
    Effect.gen(function*() {
      const { code, stages, stderr } = yield* interrupted(
        ["stay", "ignoreterm", "fork"],
        ["call", "hang"],
        "call",
        (running, here) =>
          Effect.gen(function*() {
            running.kill("SIGINT")
            yield* here.awaitStage("eof")
            running.kill("SIGINT")
          }),
        patient
      )
      assert.strictEqual(code, 130, stderr)
      // The one of the watchdog, if the server came to say so.
      assert.isAtMost(stages.filter((_) => _ === "SIGTERM").length, 1)
    }), bound)

  it.live(
    "is sent Ctrl-C by the terminal too is left to the command: ten Ctrl-C are no worse than two",
    () =>
      Effect.gen(function*() {
        const { code, stderr } = yield* interrupted(
          ["noinit", "stay", "ignoreterm"],
          ["tools"],
          "initialize",
          (running) =>
            Effect.sync(() => {
              for (let i = 0; i < 10; i++) if (isAlive(running.pid())) running.kill("SIGINT")
            })
        )
        assert.strictEqual(code, 130, stderr)
      }),
    bound
  )

  it.live(
    "hangs: --timeout bounds it; the other servers are listed, and only --strict makes it an error",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({
          deaf: brief(here.server("deaf")),
          mute: brief(here.server("noinit", "stay", "ignoreterm", "fork")),
          unlisted: here.server("nolist"),
          crash: here.server("crash"),
          flood: here.server("floodout", "noinit"),
          good: here.server()
        })
        const lenient = yield* run(here, ["tools", "--json", "--timeout", "6000"])
        assert.strictEqual(lenient.code, 0, lenient.stderr)
        const document = JSON.parse(lenient.stdout)
        assert.deepStrictEqual(document.servers.map((_: { name: string }) => _.name), [
          "deaf",
          "mute",
          "unlisted",
          "crash",
          "flood",
          "good"
        ])
        for (const { error, name } of document.servers) {
          assert.strictEqual(
            error === null || error === undefined,
            name === "good",
            `${name}: ${JSON.stringify(error)}`
          )
        }
        assert.include(document.tools.map((_: { originalName: string }) => _.originalName), "echo")
        yield* here.nothingLeft
        const strict = yield* run(here, ["tools", "--json", "--timeout", "6000", "--strict"])
        assert.strictEqual(strict.code, 1, strict.stderr)
        yield* here.nothingLeft
      })),
    longBound
  )

  it.live("hangs or crashes in a call: exit code 1, with the reason", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ hostile: brief(here.server("stay", "ignoreterm", "fork")) })
      const hang = yield* run(here, ["call", "hang", "--timeout", "6000"])
      assert.strictEqual(hang.code, 1, hang.stderr)
      assert.match(hang.stderr, /tools\/call/)
      assert.strictEqual(hang.stdout, "")
      yield* here.nothingLeft
      const crash = yield* run(here, ["call", "crash"])
      assert.strictEqual(crash.code, 1, crash.stderr)
      assert.include(crash.stderr, "fatal: told to crash")
      yield* here.nothingLeft
    })), longBound)

  it.live("says that it failed, or answers with an error: 3 and 1", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ hostile: here.server() })
      const fail = yield* run(here, ["call", "fail"])
      assert.strictEqual(fail.code, 3, fail.stderr)
      assert.include(fail.stdout + fail.stderr, "it did not work")
      const refuse = yield* run(here, ["call", "refuse"])
      assert.strictEqual(refuse.code, 1, refuse.stderr)
      assert.include(refuse.stderr, "refused")
      yield* here.nothingLeft
    })), longBound)

  it.live(
    "floods, and works: its tools are listed and called, and stdout has the answer alone",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({ loud: here.server("flooderr"), chatty: here.server("floodout") })
        const { code, stderr, stdout } = yield* run(here, [
          "call",
          "echo",
          "a=1",
          "--server",
          "loud",
          "--json"
        ])
        assert.strictEqual(code, 0, stderr)
        assert.strictEqual(JSON.parse(stdout).isError, false)
        assert.isBelow(stderr.length, 100_000)
        yield* here.nothingLeft
      })),
    longBound
  )

  it.live(
    "is looked at by the doctor: 1 where one fails, 0 where none does, in bounded time",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({
          good: here.server(),
          deaf: here.server("deaf"),
          mute: here.server("noinit", "stay", "ignoreterm", "fork"),
          crash: here.server("crash")
        })
        const bad = yield* run(here, ["doctor", "--timeout", "6000"])
        assert.strictEqual(bad.code, 1, bad.stderr)
        assert.match(bad.stdout, /fatal: no flux/)
        yield* here.nothingLeft
        here.configure({ good: here.server() })
        const good = yield* run(here, ["doctor", "--json"])
        assert.strictEqual(good.code, 0, good.stdout + good.stderr)
        assert.strictEqual(JSON.parse(good.stdout).ok, true)
        yield* here.nothingLeft
      })),
    longBound
  )

  it.live(
    "was ended by somebody else during a call: an error, and nothing left",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({ hostile: here.server() })
        const running = yield* start(here, ["call", "hang"])
        yield* here.awaitStage("call")
        process.kill(here.pids()[0]!, "SIGKILL")
        const { code } = yield* running.ended
        assert.strictEqual(code, 1, running.stderr())
        yield* until("the server is named", () => /hostile/.test(running.stderr()))
        yield* here.nothingLeft
      })),
    longBound
  )
})

describe("where nothing is left that could happen", () => {
  it.live(
    "status --watch goes on until Ctrl-C, and its JSON is whole then",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* place
        here.configure({ lost: { command: "no-such-program-anywhere" }, off: { command: "node", disabled: true } })
        const idle = here.write("idle.mjs", `process.on("beforeExit", () => console.error("nothing is left"))\n`)
        const running = yield* start(here, ["status", "--watch", "--json"], {
          env: { NODE_OPTIONS: `--import=${idle}` }
        })
        const shown = () => ["failed", "disabled"].every((_) => running.stdout().includes(`"phase":"${_}"`))
        yield* until("both servers are shown", shown)
        running.kill("SIGINT")
        const { code } = yield* running.ended
        assert.strictEqual(code, 130)
        const phases = (JSON.parse(running.stdout()) as ReadonlyArray<{ readonly phase: string }>).map((_) => _.phase)
        assert.includeMembers(phases, ["failed", "disabled"])
        assert.notInclude(running.stderr(), "nothing is left")
      })),
    bound
  )

  it.live("logs fails where none is connected, also if none has failed", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place
      here.configure({ off: { command: "node", disabled: true }, wrong: { command: 5 } })
      for (const args of [["logs"], ["logs", "off"], ["logs", "wrong"]]) {
        const { code, stderr } = yield* run(here, args)
        assert.strictEqual(code, 2, args.join(" "))
        assert.include(stderr, "No server is connected")
      }
    })), bound)
})
