import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { parseStat, ProcessGroup } from "../../src/internal/stdio/processGroup.js"
import { Watchdog } from "../../src/internal/stdio/watchdog.js"
import { childrenOf, isWatchdog, until } from "./processes.js"

/** A process in a group of its own. */
const detached = (script: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("/bin/sh", ["-c", script], { detached: true, stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const exited = (child: ChildProcess) =>
  until("the process has exited", () => child.exitCode !== null || child.signalCode !== null)

describe("ProcessGroup", () => {
  it("S19: the name of a program may hold anything; zombies are dead, unless other threads live", () => {
    const line = (state: string, threads: number) =>
      `12 (a) S 1 (b ) c) ${state} 1 34 34 0 -1 4 0 0 0 0 0 0 0 0 20 0 ${threads} 0 99`
    assert.deepStrictEqual(parseStat(line("S", 1)), { group: 34, living: true })
    assert.deepStrictEqual(parseStat(line("Z", 1)), { group: 34, living: false })
    assert.deepStrictEqual(parseStat(line("Z", 4)), { group: 34, living: true })
  })

  it.live("S09: a zombie that nobody reaps does not keep the group", () =>
    Effect.scoped(Effect.gen(function*() {
      // The shell becomes a process that reaps nothing, and its child a zombie in the same group.
      const child = yield* detached("sleep 0.01 & exec sleep 300")
      const group = new ProcessGroup(child.pid!)
      assert.isFalse(group.isEmpty())
      const zombie = () => childrenOf(child.pid!).length === 0
      yield* until("the child is a zombie", zombie)
      group.signal("SIGKILL")
      yield* exited(child)
      group.reaped()
      yield* until("the group is empty", () => group.isEmpty())
    })))

  it.live("S09: a number that was given to a stranger is not signalled", () =>
    Effect.scoped(Effect.gen(function*() {
      const stranger = yield* detached("exec sleep 300")
      const group = new ProcessGroup(stranger.pid!)
      // As if our leader of this number had been reaped before the stranger got it.
      group.reaped()
      group.signal("SIGKILL")
      group.killSync()
      assert.isTrue(group.isEmpty())
      // Ours comes second: had the group been killed, that would be what it died of.
      const died = Effect.async<string | null>((resume) => {
        stranger.once("exit", (_, signal) => resume(Effect.succeed(signal)))
        stranger.kill("SIGTERM")
      })
      assert.strictEqual(yield* died, "SIGTERM")
    })))

  it.live("S09: members that outlive their leader are seen and signalled", () =>
    Effect.scoped(Effect.gen(function*() {
      const child = yield* detached("sleep 300 & exit 0")
      const group = new ProcessGroup(child.pid!)
      yield* exited(child)
      group.reaped()
      assert.isFalse(group.isEmpty())
      assert.isFalse(group.isEmpty())
      group.signal("SIGTERM")
      yield* until("the group is empty", () => group.isEmpty())
      group.signal("SIGKILL")
    })))
})

describe("Watchdog", () => {
  for (const [name, command] of [["no shell", undefined], ["a shell that is missing", "/no/such/sh"]] as const) {
    it.live(`S19: with ${name}, a hook on exit kills the groups`, () =>
      Effect.scoped(Effect.gen(function*() {
        const listeners = process.listeners("exit")
        const watchdog = new Watchdog(command)
        watchdog.starting()
        const child = yield* detached("sleep 300 & sleep 300")
        const group = new ProcessGroup(child.pid!)
        watchdog.add(group)
        const added = process.listeners("exit").filter((_) => !listeners.includes(_))
        assert.strictEqual(added.length, 1)
        added[0]!.call(process, 0)
        yield* exited(child)
        group.reaped()
        yield* until("the group is empty", () => group.isEmpty())
        watchdog.remove(group)
        assert.deepStrictEqual(process.listeners("exit"), listeners)
        yield* watchdog.settle
      })))
  }

  it.live("S19: a shell that dies at once is not started for ever", () =>
    Effect.scoped(Effect.gen(function*() {
      const watchdog = new Watchdog("/bin/false")
      const child = yield* detached("exec sleep 300")
      const group = new ProcessGroup(child.pid!)
      const listeners = process.listenerCount("exit")
      watchdog.add(group)
      yield* until("it gives up", () => process.listenerCount("exit") === listeners + 1)
      assert.isEmpty(childrenOf(process.pid).filter(isWatchdog))
      watchdog.remove(group)
      yield* watchdog.settle
      assert.strictEqual(process.listenerCount("exit"), listeners)
    })))
})
