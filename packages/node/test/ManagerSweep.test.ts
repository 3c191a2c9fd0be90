/**
 * Whoever connects all servers is interrupted, at each step of the wires once. Nothing of the attempt is left in the moment
 * in which the interrupted fiber ends, the manager is of use afterwards, and its scope leaves nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpManager } from "@mcp-runtime/core"
import { LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, FiberId, Logger, LogLevel } from "effect"
import type { Scope } from "effect"
import { strideOf, sweepTime } from "../../core/test/moments.js"
import { type Journal, journal } from "./internal/connections.js"
import * as Managers from "./internal/managers.js"
import { inTurns, stepping } from "./internal/stepping.js"

const { call, managed } = Managers

/** One that behaves, one that ignores the end of its input and SIGTERM, and one that can't be started. */
const serversOf = (log: Journal, strict: boolean) => [
  managed("good", log),
  StdioFixture.config(["keepalive", "ignoreterm"], {
    name: "stubborn",
    env: log.env,
    shutdown: { afterEof: "20 millis", afterTerm: "20 millis" }
  }),
  ...(strict ? [] : [StdioFixture.config(["earlyexit"], { name: "exiting", env: log.env })])
]

const working = ["good", "stubborn"]

type Settings = Pick<McpManager.ManagerOptions, "mode" | "strict">

const inTime = Effect.timeoutFail({ duration: "30 seconds", onTimeout: () => new Error("it hangs") })

/** When it was over before the interruption came, all is as it would be without; else nothing is left of it. */
const allOrNothing = (manager: McpManager.Manager, log: Journal) =>
  Effect.gen(function*() {
    const connected = yield* manager.connected
    if (connected.length > 0) return assert.deepStrictEqual(connected, working)
    assert.deepStrictEqual(log.alive(), [])
    // It may not have begun at all.
    if (log.pids().length > 0) assert.deepStrictEqual(yield* manager.active, [])
    for (const { name, phase } of (yield* manager.state).servers) {
      assert.include(name === "exiting" ? ["failed", "disconnected"] : ["disconnected"], phase)
    }
  })

/** `connectAll` is interrupted at this step of the wires, or at this turn of the fibers. Gives how many steps there were. */
const attempt = ({ mode, strict }: Settings, at: number, fine: boolean) =>
  Effect.gen(function*() {
    const log = yield* journal
    let armed: Fiber.RuntimeFiber<unknown, unknown> | undefined
    let steps = 0
    const step = () => {
      if (armed !== undefined && ++steps === at) armed.unsafeInterruptAsFork(FiberId.none)
    }
    const round = Effect.scoped(Effect.gen(function*() {
      const manager = yield* Managers.make({
        servers: serversOf(log, strict === true),
        mode,
        strict,
        connectTimeout: "25 seconds",
        ...(!fine && { around: (transport) => stepping(transport, step) })
      })
      armed = yield* Effect.fork(manager.connectAll)
      const exit = yield* Fiber.await(armed)
      armed = undefined
      assert.isTrue(Exit.isSuccess(exit) || Exit.isInterrupted(exit), String(exit))
      if (Exit.isInterrupted(exit)) yield* allOrNothing(manager, log)
      assert.deepStrictEqual(yield* manager.connectAll, working)
      for (const name of working) assert.strictEqual(yield* call(manager, name, "echo", { at }), `{"at":${at}}`)
      assert.lengthOf(log.alive(), 2)
    }))
    yield* fine ? inTurns(step)(round) : round
    assert.deepStrictEqual(log.alive(), [])
    return steps
  })

/** The scope of the manager is closed at this step, while everything is being connected. */
const life = ({ mode, strict }: Settings, at: number) =>
  Effect.gen(function*() {
    const log = yield* journal
    const reached = yield* Deferred.make<void>()
    let steps = 0
    const owner = Effect.scoped(Effect.gen(function*() {
      const manager = yield* Managers.make({
        servers: serversOf(log, strict === true),
        mode,
        strict,
        connectTimeout: "25 seconds",
        around: (transport) =>
          stepping(transport, () => {
            if (++steps === at) Deferred.unsafeDone(reached, Exit.void)
          })
      })
      // It is not a child, and must end with the manager.
      const connecting = yield* Effect.forkDaemon(Effect.exit(manager.connectAll))
      yield* Effect.raceFirst(Fiber.join(connecting), Deferred.await(reached))
      return connecting
    }))
    const connecting = yield* owner
    assert.deepStrictEqual(log.alive(), [])
    const exit = yield* Fiber.join(connecting)
    if (Exit.isFailure(exit)) assert.isFalse(Exit.isInterrupted(exit), String(exit))
    return steps
  })

/** Each step, until one is not reached any more. */
const sweep = (round: (at: number) => Effect.Effect<number, unknown, Scope.Scope>, atLeast: number, stride: number) =>
  Effect.gen(function*() {
    let at = 1
    let isReached = true
    for (; isReached && at < 20_000; at += isReached ? stride : 0) {
      const steps = yield* LeakCheck.scoped(
        inTime(Effect.mapError(round(at), (error) => new Error(`step ${at}: ${error}`)))
      )
      isReached = steps >= at
    }
    assert.isAtLeast(at, atLeast, "too few steps were seen")
  }).pipe(Effect.provide(Logger.minimumLogLevel(LogLevel.None)))

const settings: ReadonlyArray<Settings> = [
  { mode: "parallel", strict: false },
  { mode: "parallel", strict: true },
  { mode: "sequential", strict: false },
  { mode: "sequential", strict: true }
]

for (const one of settings) {
  const name = `${one.mode}${one.strict === true ? ", strict" : ""}`
  describe(`interrupted while it connects, ${name}`, () => {
    it.live("S08: connectAll", () => sweep((at) => attempt(one, at, false), 30, strideOf(7)), sweepTime)
    it.live(
      "S08: connectAll, at turns of the fibers",
      () => sweep((at) => attempt(one, at, true), 1000, strideOf(293)),
      sweepTime
    )
    it.live("S08: the scope of the manager closes", () => sweep((at) => life(one, at), 30, strideOf(7)), sweepTime)
  })
}
