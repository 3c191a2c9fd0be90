/** Many processes under one manager: each is started once, one that is killed concerns no other, all are dead in the end. */
import { assert, describe, it } from "@effect/vitest"
import { McpCatalog, McpError, type McpManager } from "@mcp-runtime/core"
import { LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { Array, Deferred, Duration, Effect, Fiber, Schedule, Stream } from "effect"
import { rmSync, writeFileSync } from "node:fs"
import { ending } from "../../core/test/clocks.js"
import * as Managers from "./internal/managers.js"
import { isAlive, until } from "./internal/processes.js"

const { call, managed, phaseOf, pidOf } = Managers

const named = (count: number, prefix = "server") => Array.makeBy(count, (i) => `${prefix} ${i}`)

/** Everything that one of these servers was asked, in order. */
const asked = (lines: ReadonlyArray<string>) => lines.filter((_) => _.startsWith("got "))

describe("20 processes", () => {
  for (const mode of ["parallel", "sequential"] as const) {
    it.live(
      `S11: ${mode}: each is started once, initialized once, listed once, called once`,
      () =>
        LeakCheck.scoped(Effect.gen(function*() {
          const count = mode === "parallel" ? 20 : 5
          const logs = yield* Managers.journals(count)
          const names = named(count)
          const manager = yield* Managers.make({
            servers: names.map((name, i) => managed(name, logs[i]!)),
            mode,
            connectTimeout: "25 seconds"
          })
          assert.deepStrictEqual(yield* manager.connectAll, names)
          const lists = yield* McpCatalog.make(manager).tools
          assert.deepStrictEqual(
            lists.map((_) => [_.server, _.items.length, _.origin]),
            names.map((_) => [_, 3, "live"])
          )
          assert.deepStrictEqual(yield* manager.connectAll, names)
          assert.deepStrictEqual(yield* manager.reconnect(), names)
          const pids = yield* Effect.forEach(names, (name) => pidOf(manager, name), { concurrency: "unbounded" })
          assert.deepStrictEqual(logs.map((_) => _.pids()), pids.map((_) => [_]))
          assert.deepStrictEqual(yield* manager.close, [])
          assert.deepStrictEqual(pids.filter(isAlive), [])
          for (const log of logs) {
            assert.lengthOf(log.pids(), 1)
            assert.deepStrictEqual(asked(log.lines()), [
              "got initialize",
              "got notifications/initialized",
              "got tools/list",
              "got tools/call pid"
            ])
            assert.strictEqual(log.count("end of input"), 1)
          }
          // Nothing more becomes of them when the scope closes.
          assert.deepStrictEqual(yield* manager.close, [])
        })),
      90_000
    )
  }
})

/** Calls a server again and again, until it is told to stop. Gives how many calls succeeded. */
const calling = (manager: McpManager.Manager, name: string, isOver: () => boolean) =>
  Effect.gen(function*() {
    let calls = 0
    while (!isOver()) {
      assert.strictEqual(yield* call(manager, name, "echo", { calls }), JSON.stringify({ calls }))
      calls++
    }
    return calls
  })

/** Starts what it is given, as long as a file is not there. */
const breakable = `if [ -e "$0" ]; then echo "no disk" >&2; exit 8; fi; exec "$@"`

describe("one of several processes is killed", () => {
  it.live(
    "S11: the others do not notice, its running calls fail, the state tells, it heals, and nothing is an error",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const names = named(4)
        const logs = yield* Managers.journals(4)
        const manager = yield* Managers.make({
          servers: names.map((name, i) => managed(name, logs[i]!)),
          connectTimeout: "25 seconds"
        })
        yield* manager.connectAll
        const pids = yield* Effect.forEach(names, (name) => pidOf(manager, name))
        const [victim, ...others] = names as [string, ...ReadonlyArray<string>]
        const phases: globalThis.Array<string> = []
        const watching = yield* Effect.fork(
          Stream.runForEach(manager.changes, (state) =>
            Effect.sync(() => {
              phases.push(names.map((name) => phaseOf(state, name)).join())
            }))
        )
        let isOver = false
        const calls = yield* Effect.forEach(others, (name) => Effect.fork(calling(manager, name, () => isOver)))
        for (const round of [0, 1]) {
          const pid = round === 0 ? pids[0]! : yield* pidOf(manager, victim)
          const running = yield* Effect.fork(Effect.flip(manager.callTool(victim, { name: "hang" })))
          yield* logs[0]!.awaitCount("got tools/call hang", round + 1)
          process.kill(pid, "SIGKILL")
          const error = yield* Fiber.join(running)
          assert.instanceOf(error, McpError.OutcomeUnknown)
          const lost = (error as McpError.OutcomeUnknown).error as McpError.ConnectionClosed
          assert.deepStrictEqual(lost.exit, { code: null, signal: "SIGKILL" })
          // A call that comes now waits for the next process.
          assert.notStrictEqual(yield* pidOf(manager, victim), pid)
          const healed = yield* Managers.awaitState(manager, (state) => phaseOf(state, victim) === "connected")
          assert.deepStrictEqual(healed.active, names)
          assert.strictEqual((yield* manager.errors).size, 0)
          assert.isUndefined(healed.servers[0]!.error)
        }
        isOver = true
        for (const fiber of calls) assert.isAbove(yield* Fiber.join(fiber), 0)
        yield* Fiber.interrupt(watching)
        assert.include(phases, "reconnecting,connected,connected,connected")
        // What changed was the one.
        assert.sameMembers([...new Set(phases.map((_) => _.split(",").slice(1).join()))], [
          "connected,connected,connected"
        ])
        assert.notInclude(phases.join(), "failed")
        assert.deepStrictEqual(logs.map((_) => _.pids().length), [3, 1, 1, 1])
        assert.deepStrictEqual(logs.map((_) => _.count("got initialize")), [3, 1, 1, 1])
        assert.deepStrictEqual(yield* Effect.forEach(others, (name) => pidOf(manager, name)), pids.slice(1))
      })),
    60_000
  )

  it.live(
    "S11: one that dies at once whenever it is started again has failed, and says why; the others go on",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const [log, other] = yield* Managers.journals(2)
        const flag = `${log!.env.MCP_JOURNAL}.broken`
        const manager = yield* Managers.make({
          servers: [
            managed("victim", log!, [], {
              command: "/bin/sh",
              args: ["-c", breakable, flag, process.execPath, Managers.script]
            }),
            managed("other", other!)
          ],
          connectTimeout: "25 seconds",
          connection: { reconnect: { schedule: Schedule.recurs(1) } }
        })
        yield* manager.connectAll
        const pid = yield* pidOf(manager, "victim")
        yield* Effect.sync(() => writeFileSync(flag, ""))
        process.kill(pid, "SIGKILL")
        const state = yield* Managers.awaitState(manager, (_) => phaseOf(_, "victim") === "failed")
        assert.deepStrictEqual(state.active, ["other"])
        const error = (yield* manager.errors).get("victim")!
        assert.include(error.message, "exited with code 8")
        assert.include(error.message, "no disk")
        assert.deepStrictEqual(yield* manager.failed, ["victim"])
        const before = yield* pidOf(manager, "other")
        rmSync(flag)
        assert.deepStrictEqual(yield* manager.reconnect(), ["victim", "other"])
        assert.strictEqual((yield* manager.errors).size, 0)
        assert.notStrictEqual(yield* pidOf(manager, "victim"), pid)
        assert.strictEqual(yield* pidOf(manager, "other"), before)
      })),
    60_000
  )
})

describe("close of processes that ignore the end of their input and SIGTERM", () => {
  const stubborn = (
    name: string,
    log: { readonly env: { readonly [name: string]: string } },
    afterEof: Duration.DurationInput,
    afterTerm: Duration.DurationInput
  ) =>
    StdioFixture.config(["keepalive", "ignoreterm", "logeof", "logsig", "stubbornchild"], {
      name,
      env: log.env,
      shutdown: { afterEof, afterTerm }
    })

  const fixturePid = (manager: McpManager.Manager, name: string) =>
    Effect.map(call(manager, name, "pid"), (text) => (JSON.parse(text) as { readonly pid: number }).pid)

  for (const mode of ["parallel", "sequential"] as const) {
    it.live(`S07, S09: ${mode}: all are dead when it returns`, () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const names = named(mode === "parallel" ? 5 : 2)
        const logs = yield* Managers.journals(names.length)
        const looked = yield* Deferred.make<void>()
        // A grace of each is over when it has said that it was told, in parallel the first one when all have.
        const clock = yield* ending(...logs.flatMap((log, i) =>
          [
            [Duration.hours(1 + i), mode === "parallel" ? Deferred.await(looked) : log.awaitCount("stage eof", 1)],
            [Duration.hours(11 + i), log.awaitCount("stage SIGTERM", 1)]
          ] as const
        ))
        const manager = yield* Managers.make({
          servers: names.map((name, i) => stubborn(name, logs[i]!, Duration.hours(1 + i), Duration.hours(11 + i))),
          mode,
          connectTimeout: "25 seconds"
        }).pipe(Effect.withClock(clock))
        yield* manager.connectAll
        const pids = yield* Effect.forEach(names, (name) => fixturePid(manager, name))
        const closing = yield* Effect.fork(manager.close)
        const last = logs[logs.length - 1]!
        if (mode === "parallel") {
          // All are told before one of them has to be killed.
          yield* Effect.forEach(logs, (_) => _.awaitCount("stage eof", 1), { concurrency: "unbounded" })
          assert.deepStrictEqual(pids.filter(isAlive), pids)
        } else {
          yield* logs[0]!.awaitCount("stage eof", 1)
          assert.deepStrictEqual(last.alive(), [])
        }
        yield* Deferred.succeed(looked, undefined)
        assert.deepStrictEqual(yield* Fiber.join(closing), [])
        assert.deepStrictEqual(logs.flatMap((_) => _.alive()), [])
        for (const log of logs) assert.strictEqual(log.count("stage SIGTERM"), 1)
        assert.deepStrictEqual(yield* manager.active, [])
        const error = yield* Effect.flip(manager.callTool(names[0]!, { name: "echo" }))
        assert.strictEqual(error._tag, "ConnectionUnavailable")
      })), 90_000)
  }

  it.live(
    "S07, S09: one that takes longer than it may is told of, can be connected again at once, and dies all the same",
    () =>
      LeakCheck.scoped(
        Effect.gen(function*() {
          const names = named(3)
          const logs = yield* Managers.journals(3)
          const manager = yield* Managers.make({
            servers: names.map((name, i) => stubborn(name, logs[i]!, "2 seconds", "2 seconds")),
            connectTimeout: "25 seconds",
            closeTimeout: "100 millis"
          })
          yield* manager.connectAll
          const old = yield* Effect.forEach(names, (name) => fixturePid(manager, name))
          const failures = yield* manager.close
          assert.deepStrictEqual(failures.map((_) => [_._tag, _.server]), names.map((_) => ["CloseFailed", _]))
          assert.deepStrictEqual([...(yield* manager.errors).keys()], names)
          assert.deepStrictEqual(old.filter(isAlive), old)
          yield* manager.connect(names[1]!)
          const fresh = yield* fixturePid(manager, names[1]!)
          assert.notInclude(old, fresh)
          // The old one was still there.
          assert.include(logs[1]!.beside()[1], String(old[1]))
          assert.deepStrictEqual([...(yield* manager.errors).keys()], [names[0], names[2]])
          assert.deepStrictEqual(yield* manager.connectAll, names)
          assert.strictEqual((yield* manager.errors).size, 0)
          yield* until("the old ones are dead", () => old.every((_) => !isAlive(_)))
          // Their end was none of the new ones.
          assert.strictEqual(yield* fixturePid(manager, names[1]!), fresh)
          assert.deepStrictEqual(logs.map((_) => _.pids().length), [2, 2, 2])
          yield* manager.close
        }),
        { patience: "15 seconds" }
      ),
    90_000
  )
})
