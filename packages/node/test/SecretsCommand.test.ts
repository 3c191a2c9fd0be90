/** Secrets that commands write: what counts as the value, what is a problem, and that nothing of a command stays. */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import type { SecretUnavailable } from "@mcp-runtime/core/SecretResolver"
import * as NodeSecrets from "@mcp-runtime/node/NodeSecrets"
import { LeakCheck } from "@mcp-runtime/testing"
import { Clock, Duration, Effect, Fiber, Redacted } from "effect"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ending } from "../../core/test/clocks.js"
import { childrenOf, isAlive, isWatchdog, until } from "./internal/processes.js"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-secrets-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const run = (command: string, timeout?: Duration.DurationInput, options?: NodeSecrets.Options) =>
  Effect.map(
    NodeSecrets.make(options).command(command, {
      timeout: timeout === undefined ? undefined : Duration.decode(timeout)
    }),
    Redacted.value
  )

const problem = (effect: Effect.Effect<unknown, SecretUnavailable>) => Effect.map(Effect.flip(effect), (_) => _.problem)

/** The processes that a script has written its ids of. */
const pidsIn = (file: string) =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split(/\s+/).filter((_) => _ !== "").map(Number) : []

const none = () => childrenOf(process.pid).filter((_) => !isWatchdog(_)).length === 0

describe("what a command writes", () => {
  it.live("in a directory of its own, and no run of one directory serves another", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const secrets = NodeSecrets.make({ reuseCommands: "1 minute" })
      const [one, two] = [yield* directory, yield* directory]
      const where = (directory?: string) =>
        Effect.map(secrets.command("pwd -P", { timeout: undefined, directory }), Redacted.value)
      assert.strictEqual(yield* where(one), realpathSync(one))
      assert.strictEqual(yield* where(two), realpathSync(two))
      assert.strictEqual(yield* where(), realpathSync(process.cwd()))
      assert.strictEqual(
        yield* problem(secrets.command("pwd -P", { timeout: undefined, directory: join(one, "gone") })),
        "its command could not be started; run it by hand to see why"
      )
      assert.isTrue(none())
    })))

  const values: ReadonlyArray<readonly [command: string, value: string]> = [
    ["echo secret", "secret"],
    ["printf secret", "secret"],
    ["printf 'secret\\r\\n'", "secret"],
    ["printf ' two\\nlines \\n\\n'", " two\nlines \n"],
    ["printf 'gr\\303\\274n'", "grün"],
    ["echo noise >&2; echo secret", "secret"],
    ["cat; echo secret", "secret"],
    ["head -c 65536 /dev/zero | tr '\\0' x", "x".repeat(65_536)],
    ["echo \"$HOME\"", process.env.HOME ?? ""]
  ]
  for (const [command, value] of values) {
    it.live(`${command} gives the value, without the end of its last line`, () =>
      LeakCheck.scoped(Effect.gen(function*() {
        assert.strictEqual(yield* run(command), value)
        assert.isTrue(none())
      })))
  }

  const problems: ReadonlyArray<readonly [command: string, problem: string]> = [
    ["echo canary; echo canary >&2; exit 3", "its command exited with code 3; run it by hand to see why"],
    ["echo canary; kill -9 $$", "its command was killed by SIGKILL; run it by hand to see why"],
    ["true", "its command wrote nothing; run it by hand to see why"],
    ["echo", "its command wrote nothing; run it by hand to see why"],
    ["no-such-command-canary", "its command exited with code 127; run it by hand to see why"],
    ["printf 'canary\\377'", "its command wrote something that is not text; run it by hand to see why"],
    ["head -c 65537 /dev/zero", "its command wrote more than 65536 bytes; run it by hand to see why"],
    ["yes canary", "its command wrote more than 65536 bytes; run it by hand to see why"],
    [
      "echo canary >&2; yes canary >&2 & sleep 0.01; exit 4",
      "its command exited with code 4; run it by hand to see why"
    ]
  ]
  for (const [command, expected] of problems) {
    it.live(`3B.11, S16: ${command}: ${expected}`, () =>
      LeakCheck.scoped(Effect.gen(function*() {
        assert.strictEqual(yield* problem(run(command)), expected)
        assert.isTrue(none())
      })))
  }

  it.live("3B.15: one that takes too long is killed, and all it has started", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "pids")
      const command =
        `(trap '' TERM; echo $$ >> ${file}; sleep 1000) & sleep 1000 & echo $! >> ${file}; echo canary; wait`
      // Its time is over when both run, however long that takes.
      const clock = yield* ending(["1 hour", until("both run", () => pidsIn(file).length === 2)])
      assert.strictEqual(
        yield* Effect.withClock(problem(run(command, undefined, { commandTimeout: "1 hour" })), clock),
        "its command did not end within 3600000 ms; run it by hand to see why"
      )
      assert.lengthOf(pidsIn(file), 2)
      assert.deepStrictEqual(pidsIn(file).filter(isAlive), [])
      assert.strictEqual(
        yield* problem(run("sleep 1000", "20 millis")),
        "its command did not end within 20 ms; run it by hand to see why"
      )
    })))

  it.live("S19: each has a mark of its own, by which it is found if this application is killed while it starts it", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const mark = run(`echo "<$MCP_RUNTIME_START>"`)
      const marks = new Set([yield* mark, yield* mark])
      assert.isFalse(marks.has("<>"))
      assert.strictEqual(marks.size, 2)
    })))

  it.live("one that leaves something behind that holds its output open is not waited for", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "pids")
      assert.strictEqual(yield* run(`sleep 1000 & echo $! > ${file}; echo secret`), "secret")
      assert.deepStrictEqual(pidsIn(file).filter(isAlive), [])
    })))

  it.live("one that nobody waits for any more is killed before the interruption is over", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "pids")
      const fiber = yield* Effect.fork(run(`sleep 1000 & echo $! $$ > ${file}; wait`))
      yield* until("the command runs", () => pidsIn(file).length === 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(pidsIn(file).filter(isAlive), [])
      assert.isTrue(none())
    })))
})

describe("who asks for the same command", () => {
  it.live("at once shares one run; later, another one", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "runs")
      const secrets = NodeSecrets.make()
      const ask = Effect.map(
        secrets.command(`echo run >> ${file}; sleep 0.1; echo secret`, { timeout: undefined }),
        Redacted.value
      )
      const values = yield* Effect.all(Array.from({ length: 10 }, () => ask), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(values), new Set(["secret"]))
      assert.strictEqual(readFileSync(file, "utf8"), "run\n")
      yield* ask
      assert.strictEqual(readFileSync(file, "utf8"), "run\nrun\n")
    })))

  it.live("does not lose it when another one who waits is interrupted, also the first", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const path = yield* directory
      const [started, go] = [join(path, "started"), join(path, "go")]
      const secrets = NodeSecrets.make()
      const ask = secrets.command(
        `echo $$ >> ${started}; while [ ! -e ${go} ]; do sleep 0.01; done; echo secret`,
        { timeout: undefined }
      )
      const fibers = yield* Effect.all(Array.from({ length: 3 }, () => Effect.fork(ask)))
      yield* until("the command runs", () => pidsIn(started).length === 1)
      yield* Fiber.interrupt(fibers[0]!)
      yield* Fiber.interrupt(fibers[1]!)
      assert.isTrue(isAlive(pidsIn(started)[0]!))
      writeFileSync(go, "")
      assert.strictEqual(Redacted.value(yield* Fiber.join(fibers[2]!)), "secret")
      assert.lengthOf(pidsIn(started), 1)
    })))

  it.live("and all are interrupted at once: it is killed, and whoever comes then gets a new run", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "pids")
      const secrets = NodeSecrets.make()
      const ask = secrets.command(
        `echo $$ >> ${file}; [ $(wc -l < ${file}) = 1 ] && exec sleep 1000; echo secret`,
        { timeout: undefined }
      )
      const fibers = yield* Effect.all(Array.from({ length: 3 }, () => Effect.fork(ask)))
      yield* until("the command runs", () => pidsIn(file).length === 1)
      yield* Fiber.interruptAll(fibers)
      assert.deepStrictEqual(pidsIn(file).filter(isAlive), [])
      assert.strictEqual(Redacted.value(yield* ask), "secret")
    })))

  it.live("gets what it wrote before, where that was asked for; never a failure of before", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* directory, "runs")
      const secrets = NodeSecrets.make({ reuseCommands: "1 hour" })
      const ask = Effect.map(
        secrets.command(`echo run >> ${file}; wc -l < ${file}; [ $(wc -l < ${file}) != 1 ]`, { timeout: undefined }),
        (_) => Redacted.value(_).trim()
      )
      assert.include(yield* problem(ask), "exited with code 1")
      assert.strictEqual(yield* ask, "2")
      assert.strictEqual(yield* ask, "2")
      let passed = 0
      const clock = Clock.make()
      const real = clock.unsafeCurrentTimeNanos
      clock.unsafeCurrentTimeNanos = () => real.call(clock) + BigInt(passed) * 1_000_000n
      const later = (millis: number) =>
        Effect.suspend(() => {
          passed = millis
          return Effect.withClock(ask, clock)
        })
      assert.strictEqual(yield* later(Duration.toMillis("30 minutes")), "2")
      assert.strictEqual(yield* later(Duration.toMillis("1 hour")), "3")
    })))
})

describe("what needs no command", () => {
  it.effect("variables are read each time; set to nothing is set; what every object has is none", () =>
    Effect.gen(function*() {
      const env: Record<string, string> = { A: "1", EMPTY: "" }
      const secrets = NodeSecrets.make({ env })
      assert.strictEqual(Redacted.value(yield* secrets.env("A")), "1")
      env.A = "2"
      assert.strictEqual(Redacted.value(yield* secrets.env("A")), "2")
      assert.strictEqual(Redacted.value(yield* secrets.env("EMPTY")), "")
      for (const name of ["NONE", "constructor", "__proto__", "toString"]) {
        const error = yield* Effect.flip(secrets.env(name))
        assert.strictEqual(error.reason, "Unset")
        assert.include(error.problem, `"${name}" is not set; set it, or write`)
        assert.strictEqual((yield* Effect.flip(NodeSecrets.make().env(name))).reason, "Unset")
      }
    }))

  it.effect("an input is a variable", () =>
    Effect.gen(function*() {
      const secrets = NodeSecrets.make({ env: { MCP_INPUT_API_KEY: "given" } })
      assert.strictEqual(Redacted.value(yield* secrets.input("api-key")), "given")
      assert.strictEqual(
        yield* problem(secrets.input("other.id")),
        "the input \"other.id\" is not known; set the variable MCP_INPUT_OTHER_ID to it"
      )
    }))

  it.effect("a key-value store: what it has, has not, and can't say", () =>
    Effect.gen(function*() {
      const store = yield* KeyValueStore.KeyValueStore
      yield* Effect.orDie(store.set("key", "stored"))
      const secrets = NodeSecrets.make({ store })
      assert.strictEqual(Redacted.value(yield* secrets.store("key")), "stored")
      const error = yield* Effect.flip(secrets.store("other"))
      assert.deepStrictEqual([error.reason, error.problem], [
        "Unset",
        "the key-value store has nothing under \"other\""
      ])
      const broken = NodeSecrets.make({ store: { ...store, get: () => Effect.fail({ message: "canary" } as never) } })
      assert.strictEqual(yield* problem(broken.store("key")), "the key-value store can't be read")
      assert.include(yield* problem(NodeSecrets.make().store("key")), "there is no key-value store")
    }).pipe(Effect.provide(KeyValueStore.layerMemory)))
})
