import { SystemError } from "@effect/platform/Error"
import { assert, describe, it } from "@effect/vitest"
import { LeakCheck } from "@mcp-runtime/testing"
import { Chunk, Effect, Exit, Fiber, Option, Redacted, Scope, TestClock } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { telling } from "../../core/test/clocks.js"
import * as FileTokens from "../src/FileTokens.js"
import { dataOf } from "../src/internal/store/userDirectory.js"
import { directory } from "./internal/connections.js"

const hostScript = fileURLToPath(new URL("./internal/lockHost.ts", import.meta.url))

const modeOf = (path: string) => statSync(path).mode & 0o777

const refusal = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert(error instanceof SystemError)
    return error
  })

const host = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--import", "tsx", "--conditions=@mcp-runtime/source", hostScript, ...args], {
        stdio: ["pipe", "pipe", "inherit"]
      })
    ),
    (child) =>
      Effect.zipRight(
        Effect.sync(() => child.kill("SIGKILL")),
        exited(child)
      )
  )

const exited = (child: ChildProcess) =>
  Effect.async<number | null>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.succeed(child.exitCode))
    else child.once("exit", (code) => resume(Effect.succeed(code)))
  })

const said = (child: ChildProcess, text: string) =>
  Effect.async<void>((resume) => {
    let all = ""
    child.stdout!.on("data", (chunk) => {
      all += String(chunk)
      if (all.includes(text)) resume(Effect.void)
    })
  })

const locks = (path: string) => readdirSync(path).filter((_) => _.startsWith("lock-"))

/** Waits, on any clock, until a fact holds. */
const eventually = (fact: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => fact() ? Effect.void : Effect.zipRight(turn, eventually(fact)))

const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Waits until something waits for the clock of the test. */
const asleep: Effect.Effect<void> = Effect.flatMap(
  TestClock.sleeps(),
  (_) => Chunk.isEmpty(_) ? Effect.zipRight(turn, asleep) : Effect.void
)

/** Lets time pass, only while something waits for it, until the effect has ended. */
const passing = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.raceFirst(effect, Effect.forever(Effect.zipRight(asleep, TestClock.adjust("100 millis"))))

describe("FileTokens", () => {
  it.live("keeps texts for the user alone, in a directory that is made when it is needed", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const path = join(yield* directory, "a", "tokens")
      const store = FileTokens.make(path)
      assert.isUndefined(yield* store.get("ab"))
      yield* store.remove("ab")
      assert.isFalse(existsSync(path))
      yield* store.set("ab", Redacted.make("secret"))
      yield* store.set("ab", Redacted.make("other"))
      const kept = yield* store.get("ab")
      assert.strictEqual(Redacted.value(kept!), "other")
      assert.notInclude(String(kept), "other")
      assert.deepStrictEqual(readdirSync(path), ["kv-ab.entry"])
      assert.deepStrictEqual([modeOf(path), modeOf(join(path, "kv-ab.entry"))], [0o700, 0o600])
      yield* store.remove("ab")
      assert.isUndefined(yield* store.get("ab"))
    })))

  it.live("refuses a directory that others can use, says what to do, and changes nothing", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const store = FileTokens.make(path)
      yield* store.set("ab", Redacted.make("secret"))
      for (const mode of [0o755, 0o710, 0o701, 0o777]) {
        chmodSync(path, mode)
        const attempts = [
          store.get("ab"),
          store.set("ab", Redacted.make("canary")),
          store.remove("ab"),
          Effect.scoped(store.lock("ab"))
        ]
        for (const attempt of attempts) {
          const error = yield* refusal(attempt as Effect.Effect<unknown, unknown>)
          assert.strictEqual(error.reason, "PermissionDenied")
          assert.include(
            error.message,
            `${path}): no secret is kept here: it is open to other users (mode ${mode.toString(8)})`
          )
          assert.include(error.message, "chmod 700")
          assert.notInclude(error.message, "canary")
        }
        assert.strictEqual(modeOf(path), mode)
      }
      chmodSync(path, 0o700)
      assert.strictEqual(Redacted.value((yield* store.get("ab"))!), "secret")
      const file = FileTokens.make(join(path, "kv-ab.entry"))
      assert.strictEqual((yield* refusal(file.get("x"))).reason, "BadResource")
    })))

  it.live("a lock is held by one, in order of luck, and goes with its scope", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const store = FileTokens.make(path)
      const scope = yield* Scope.make()
      yield* Scope.extend(store.lock("ab"), scope)
      assert.deepStrictEqual(locks(path), ["lock-kv-ab.entry"])
      assert.strictEqual(modeOf(join(path, "lock-kv-ab.entry")), 0o600)
      yield* Effect.scoped(store.lock("cd"))
      const waiting = yield* Effect.fork(Effect.scoped(store.lock("ab")))
      const interrupted = yield* Effect.fork(Effect.scoped(store.lock("ab")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(interrupted)
      assert.isNull(waiting.unsafePoll())
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(locks(path), [])
    })))

  it.live("waiting for a lock is bounded, and the error says who holds it", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const store = FileTokens.make(path, { lockTimeout: "30 millis" })
      yield* store.lock("ab")
      const error = yield* refusal(Effect.scoped(store.lock("ab")))
      assert.strictEqual(error.reason, "TimedOut")
      assert.include(error.message, `process ${process.pid} has held this lock for 30 ms`)
      assert.deepStrictEqual(locks(path), ["lock-kv-ab.entry"])
    })))

  it.live("a link to nowhere in the place of the lock is waited for, without spinning", () =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* directory
      symlinkSync(join(path, "nowhere"), join(path, "lock-kv-ab.entry"))
      const store = FileTokens.make(path, { lockTimeout: "50 millis" })
      assert.strictEqual((yield* refusal(Effect.scoped(store.lock("ab")))).reason, "TimedOut")
    })))

  it.scopedLive("A05: two processes add to one number under the lock, and nothing is lost", () =>
    Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const times = 40
      const hosts = [yield* host(path, "count", String(times)), yield* host(path, "count", String(times))]
      assert.deepStrictEqual(yield* Effect.forEach(hosts, exited, { concurrency: "unbounded" }), [0, 0])
      assert.strictEqual(Redacted.value((yield* FileTokens.make(path).get("ab"))!), String(2 * times))
      assert.deepStrictEqual(readdirSync(path), ["kv-ab.entry"])
    }))

  it.scopedLive("the lock of a process that was killed is taken over at once, by one of those who wait", () =>
    Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const child = yield* host(path, "hold")
      yield* said(child, "held")
      const store = FileTokens.make(path)
      let holders = 0
      let most = 0
      const use = Effect.scoped(Effect.gen(function*() {
        yield* store.lock("ab")
        most = Math.max(most, ++holders)
        yield* turn
        holders--
      }))
      const { clock, over } = yield* telling
      const waiting = yield* Effect.fork(
        Effect.withClock(Effect.all([use, use, use], { concurrency: "unbounded" }), clock)
      )
      yield* turn
      assert.isNull(waiting.unsafePoll())
      child.kill("SIGKILL")
      yield* exited(child)
      const before = over.length
      yield* Fiber.join(waiting)
      // Each look is followed by a wait; a lock that only seems to be left is taken after 75 looks of one of the three.
      assert.isBelow(over.length - before, 40)
      assert.strictEqual(most, 1)
      assert.deepStrictEqual(readdirSync(path), [])
    }))

  it.scoped("of two that take over at once, the one whose name stays in the file holds the lock", () =>
    Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      const lock = join(path, "lock-kv-ab.entry")
      const child = yield* host(path, "hold")
      yield* said(child, "held")
      child.kill("SIGKILL")
      yield* exited(child)
      const waiting = yield* Effect.fork(Effect.scoped(FileTokens.make(path).lock("ab")))
      yield* eventually(() => readFileSync(lock, "utf8").includes(`"pid":${process.pid}`))
      writeFileSync(lock, "another one was faster")
      // It looks after its rest, and once more.
      for (let look = 1; look <= 2; look++) {
        yield* asleep
        yield* TestClock.adjust("200 millis")
      }
      yield* asleep
      assert.isNull(waiting.unsafePoll())
      assert.strictEqual(readFileSync(lock, "utf8"), "another one was faster")
      rmSync(lock)
      yield* passing(Fiber.join(waiting))
    }))

  it.scoped("a lock that nobody touches is taken over after 15 seconds of looks, and its late holder leaves ours alone", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const lock = join(path, "lock-kv-ab.entry")
      // A process of another machine, as far as we can know.
      writeFileSync(lock, JSON.stringify({ pid: 1, machine: "elsewhere", id: "x" }))
      const store = FileTokens.make(path)
      const scope = yield* Scope.make()
      const waiting = yield* Effect.fork(Scope.extend(store.lock("ab"), scope))
      yield* passing(Fiber.join(waiting))
      const passed = yield* TestClock.currentTimeMillis
      assert.isTrue(passed > 14_000 && passed < 16_000, `${passed}`)
      assert.include(readFileSync(lock, "utf8"), `"pid":${process.pid}`)
      // Somebody else takes it from us: we must not remove theirs.
      writeFileSync(lock, "theirs")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(readFileSync(lock, "utf8"), "theirs")
    }))

  it.scoped("a holder touches its lock, so that nobody takes it over however long it works", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const store = FileTokens.make(path)
      const scope = yield* Scope.make()
      yield* Scope.extend(store.lock("ab"), scope)
      const lock = join(path, "lock-kv-ab.entry")
      for (let second = 1; second <= 3; second++) {
        utimesSync(lock, second, second)
        yield* asleep
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual(statSync(lock).mtimeMs, second * 1000)
        yield* TestClock.adjust("1 millis")
        yield* eventually(() => statSync(lock).mtimeMs !== second * 1000)
      }
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(existsSync(lock))
    }))

  it("is where each system keeps such things", () => {
    const of = (platform: NodeJS.Platform, env: Record<string, string>, home: string) =>
      Option.getOrUndefined(dataOf(platform, env, home))
    assert.strictEqual(of("linux", {}, "/home/me"), "/home/me/.local/share/mcp-runtime")
    assert.strictEqual(of("linux", { XDG_DATA_HOME: "/data" }, "/home/me"), "/data/mcp-runtime")
    assert.strictEqual(of("linux", { XDG_DATA_HOME: "data" }, "/home/me"), "/home/me/.local/share/mcp-runtime")
    assert.strictEqual(of("darwin", {}, "/Users/me"), "/Users/me/Library/Application Support/mcp-runtime")
    assert.strictEqual(of("win32", {}, "C:\\Users\\me"), "C:\\Users\\me\\AppData\\Local\\mcp-runtime\\Data")
    assert.strictEqual(of("win32", { LOCALAPPDATA: "D:\\local" }, "C:\\Users\\me"), "D:\\local\\mcp-runtime\\Data")
    assert.isUndefined(of("linux", {}, ""))
  })

  it.effect("the default place is under the data directory of the user", () =>
    Effect.map(FileTokens.directory, (_) => assert.match(Option.getOrThrow(_), /mcp-runtime[/\\]tokens$/)))

  it.scoped("the layer touches nothing", () =>
    Effect.gen(function*() {
      const path = join(yield* directory, "tokens")
      yield* Effect.void.pipe(Effect.provide(FileTokens.layer(path)))
      assert.isFalse(existsSync(path))
      mkdirSync(path)
    }))
})
