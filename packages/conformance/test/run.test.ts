/**
 * That the runner can say no, and that nothing outlives it: with clients that do not deserve a yes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock, TestServices } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { execute } from "../src/runner/execute.js"
import type { Planned } from "../src/runner/plan.js"
import { directory } from "../src/runner/process.js"

const planned = (scenario: string): Planned => ({
  scenario,
  revision: "2025-11-25",
  group: scenario.startsWith("sep-") ? "extension" : "dated",
  alone: false
})

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

/** Far beyond what any of these takes: where one is ended by it, the test says so. */
const limit = "100 seconds"

/** For the programs that a test starts, on a machine that does other things meanwhile. */
const options = { timeout: 120_000 }

/** `env` gives variables to the client. */
const run = (scenario: string, name: string, env: { readonly [name: string]: string } = {}) =>
  execute(planned(scenario), {
    client: ["env", ...Object.entries(env).map(([key, value]) => `${key}=${value}`), process.execPath, fixture(name)],
    limit
  })

/** What other processes do is no affair of the test's clock, and no event tells of it: it is looked, until the test's own limit. */
const realMoment = TestServices.provideLive(Effect.sleep("10 millis"))

const until = (condition: () => boolean) => Effect.repeat(realMoment, { until: condition })

/** A process that has ended may still be in the table of processes. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

const pidsIn = (file: string) => readFileSync(file, "utf8").split(" ").map(Number)

describe("a run fails", options, () => {
  it.live("where the client does nothing: what no check fails is not passed", () =>
    Effect.gen(function*() {
      const nothing = yield* run("sep-2640-client-no-prefetch", "idle.mjs")
      assert.strictEqual(nothing.counts.FAILURE, 0)
      assert.include(nothing.problems.join(), "no check has succeeded")
      const missing = yield* run("tools_call", "idle.mjs")
      assert.isAbove(missing.counts.FAILURE, 0)
      assert.include(missing.problems.join(), "FAILURE tool-add-numbers")
    }))

  it.live("where the client crashes after all checks have succeeded, and says what it said", () =>
    Effect.gen(function*() {
      const { counts, problems } = yield* run("initialize", "crash.mjs")
      assert.isAbove(counts.SUCCESS, 0)
      assert.strictEqual(counts.FAILURE, 0)
      assert.include(problems.join(), "exit code 1")
      assert.include(problems.join(), "the client has crashed")
    }))

  it.live("where a signal ends the client, which the suite calls a success", () =>
    Effect.gen(function*() {
      const { counts, problems } = yield* run("initialize", "crash.mjs", { CRASH: "signal" })
      assert.isAbove(counts.SUCCESS, 0)
      assert.include(problems.join(), "exit code 137")
    }))

  it.scoped("where the client hangs, and it and its child are dead", () =>
    Effect.gen(function*() {
      const pids = join(yield* directory, "pids")
      const fiber = yield* Effect.fork(run("initialize", "hang.mjs", { PIDS: pids }))
      yield* until(() => existsSync(pids))
      yield* TestClock.adjust(limit)
      const passes = Effect.zipRight(TestClock.adjust("20 millis"), realMoment)
      const { problems } = yield* Effect.raceFirst(Fiber.join(fiber), Effect.forever(passes))
      assert.include(problems.join(), "did not end in time")
      assert.include(problems.join(), "Starting scenario: initialize")
      assert.deepStrictEqual(pidsIn(pids).map(isAlive), [false, false])
    }))

  it.live("where the client leaves a process behind, which is dead then", () =>
    Effect.gen(function*() {
      const pids = join(yield* directory, "pids")
      const { problems } = yield* run("initialize", "hang.mjs", { PIDS: pids, LEAVE: "1" })
      assert.include(problems.join(), "left behind")
      assert.deepStrictEqual(pidsIn(pids).map(isAlive), [false, false])
    }).pipe(Effect.scoped))

  it.live("where the client can't be started", () =>
    Effect.gen(function*() {
      const { problems } = yield* run("initialize", "there-is-none.mjs")
      assert.include(problems.join(), "exit code 1")
    }))

  it.live("where the suite does not know the scenario", () =>
    Effect.gen(function*() {
      const { problems } = yield* run("no-such-scenario", "idle.mjs")
      assert.include(problems.join(), "the suite has written no checks")
      assert.include(problems.join(), "no-such-scenario")
    }))
})

describe("the command", options, () => {
  const command = (...args: ReadonlyArray<string>) =>
    Effect.async<{ readonly code: number | null; readonly text: string }>((resume) => {
      const program = fileURLToPath(new URL("../src/run.ts", import.meta.url))
      const child = spawn(process.execPath, ["--import", "tsx", program, ...args], {
        stdio: ["ignore", "pipe", "pipe"]
      })
      let text = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => text += String(chunk))
      child.once("close", (code) => resume(Effect.succeed({ code, text })))
      return Effect.sync(() => child.kill("SIGTERM"))
    })

  it.live("ends with 1 where a run has failed", () =>
    Effect.gen(function*() {
      const { code, text } = yield* command(
        "--spec-version",
        "2025-06-18",
        "--scenario",
        "tools_call",
        "--client",
        fixture("idle.mjs")
      )
      assert.strictEqual(code, 1)
      assert.match(text, /FAILED tools_call +2025-06-18/)
      assert.include(text, "dated runs: 0 of 1")
    }))
})
