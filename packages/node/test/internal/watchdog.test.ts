import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect, Logger } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ProcessGroup } from "../../src/internal/stdio/processGroup.js"
import { Watchdog } from "../../src/internal/stdio/watchdog.js"
import { childrenOf, isAlive, isWatchdog, until } from "./processes.js"

/** A shell that writes down its starts, and dies at once while it is told to. */
const moodyShell = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "mcp-watchdog-"))
    const [command, starts, bad] = ["shell", "starts", "bad"].map((_) => join(directory, _)) as [string, string, string]
    writeFileSync(
      command,
      `#!/bin/sh\n[ -e "${bad}" ] && { echo x >> "${starts}"; exit 1; }\nexec /bin/sh "$@"\n`,
      { mode: 0o755 }
    )
    return {
      directory,
      command,
      deaths: () => existsSync(starts) ? readFileSync(starts, "utf8").length / 2 : 0,
      setBad: (is: boolean) => is ? writeFileSync(bad, "") : rmSync(bad)
    }
  }),
  ({ directory }) => Effect.sync(() => rmSync(directory, { recursive: true }))
)

/** A process in its own group, as a server is. */
const serverWith = (
  env: NodeJS.ProcessEnv,
  detached = true
): Effect.Effect<ProcessGroup, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly group: ProcessGroup; readonly end: () => void }>((resume) => {
        const child = spawn("sleep", ["300"], { env: { ...process.env, ...env }, detached, stdio: "ignore" })
        const group = new ProcessGroup(child.pid!)
        child.once("exit", () => group.reaped())
        child.once("spawn", () => resume(Effect.succeed({ group, end: () => child.kill("SIGKILL") })))
      }),
      ({ end, group }) => Effect.zipRight(Effect.sync(end), until("the server is dead", () => group.isEmpty()))
    ),
    (_) => _.group
  )

const server = serverWith({})

/** What the death of this process would do. Waits until the shell has done its work. */
const die = (watchdog: Watchdog) => {
  const { child, input } = Reflect.get(watchdog, "shell") as {
    readonly child: { readonly pid: number }
    readonly input: { end(): void }
  }
  input.end()
  return until("the shell is gone", () => !isAlive(child.pid))
}

const watchdogs = () => childrenOf(process.pid).filter(isWatchdog)

const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const messages: Array<string> = []
  const logger = Logger.make(({ message }) => {
    messages.push(String(message))
  })
  return Effect.map(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), () => messages)
}

const start = (watchdog: Watchdog, group: ProcessGroup) => {
  watchdog.starting()
  watchdog.add(group)
}

describe("Watchdog", () => {
  it.live("S19: a shell that could not be kept is tried again when nothing was left to watch", () =>
    Effect.scoped(Effect.gen(function*() {
      const shell = yield* moodyShell
      const group = yield* server
      const listeners = process.listenerCount("exit")
      const watchdog = new Watchdog(shell.command)
      shell.setBad(true)
      start(watchdog, group)
      yield* until("all attempts are used up", () => process.listenerCount("exit") > listeners)
      assert.strictEqual(shell.deaths(), 3)
      watchdog.remove(group)
      yield* watchdog.settle
      assert.strictEqual(process.listenerCount("exit"), listeners)
      shell.setBad(false)
      start(watchdog, group)
      yield* until("the shell runs", () => watchdogs().length === 1)
      watchdog.remove(group)
      yield* watchdog.settle
      assert.deepStrictEqual(watchdogs(), [])
    })))

  it.live("S19: on a host that is never idle it is tried again now and then, and learns of all that lives", () =>
    Effect.scoped(Effect.gen(function*() {
      const shell = yield* moodyShell
      const [first, second] = [yield* server, yield* server]
      const listeners = process.listenerCount("exit")
      const watchdog = new Watchdog(shell.command)
      shell.setBad(true)
      start(watchdog, first)
      yield* until("all attempts are used up", () => process.listenerCount("exit") > listeners)
      shell.setBad(false)
      for (let i = 0; i < 15; i++) start(watchdog, second)
      assert.strictEqual(process.listenerCount("exit"), listeners + 1)
      start(watchdog, second)
      yield* until("the shell runs", () => watchdogs().length === 1)
      assert.strictEqual(process.listenerCount("exit"), listeners)
      yield* die(watchdog)
      assert.deepStrictEqual([first, second].map((_) => isAlive(_.id)), [false, false])
      watchdog.remove(first)
      watchdog.remove(second)
      yield* watchdog.settle
      assert.deepStrictEqual(watchdogs(), [])
    })))

  for (const shell of ["/bin/sh", "/bin/bash"].filter((_) => existsSync(_))) {
    it.live(`S19: with ${shell}, whom it was not told of any more is found by the mark, and nobody else`, () =>
      Effect.scoped(Effect.gen(function*() {
        const watchdog = new Watchdog(shell)
        const told = yield* serverWith(watchdog.starting())
        watchdog.add(told)
        const mark = watchdog.starting()
        // Of a name and values that a shell may stumble over.
        const odd = { A: "two\nlines", B: "\\ \" ' $(x) *", ...mark, C: "" }
        const [member, untold, stranger] = [yield* serverWith(mark, false), yield* serverWith(odd), yield* server]
        const startedByIt = yield* serverWith(mark)
        yield* die(watchdog)
        assert.deepStrictEqual(
          [told, untold, startedByIt, stranger, member].map((_) => isAlive(_.id)),
          [false, false, false, true, true]
        )
        watchdog.remove(told)
        yield* watchdog.settle
      })))

    it.live(`S19: with ${shell}, a mark says nothing any more once it is known what became of the start`, () =>
      Effect.scoped(Effect.gen(function*() {
        const watchdog = new Watchdog(shell)
        const group = yield* server
        const [first, second] = [yield* serverWith(watchdog.starting()), yield* serverWith(watchdog.starting())]
        watchdog.add(group)
        yield* die(watchdog)
        assert.deepStrictEqual([group, first, second].map((_) => isAlive(_.id)), [false, true, true])
        watchdog.remove(group)
        yield* watchdog.settle

        const marks: Array<NodeJS.ProcessEnv> = []
        assert.throws(() =>
          watchdog.watch((mark) => {
            marks.push(mark)
            throw new Error("no such program")
          })
        )
        const third = yield* serverWith(marks[0]!)
        yield* die(watchdog)
        assert.isTrue(isAlive(third.id))
        yield* watchdog.settle

        const fourth = yield* serverWith(watchdog.watch((mark) => mark))
        yield* die(watchdog)
        assert.isTrue(isAlive(fourth.id))
        yield* watchdog.settle
      })))
  }

  it.live("S19: what is started is watched at once, by the number that it has", () =>
    Effect.scoped(Effect.gen(function*() {
      const watchdog = new Watchdog("/bin/sh")
      const other = yield* server
      const group = watchdog.watch((_, watched) => watched(other.id))
      assert.strictEqual(group.id, other.id)
      yield* die(watchdog)
      assert.isFalse(isAlive(other.id))
      group.reaped()
      watchdog.remove(group)
      yield* watchdog.settle
      assert.deepStrictEqual(watchdogs(), [])
    })))

  it.live("S19: there is a watchdog where pipes have no `unref`, as on Bun", () =>
    Effect.scoped(Effect.gen(function*() {
      const group = yield* server
      const watchdog = new Watchdog("/bin/sh")
      const { unref } = Socket.prototype
      try {
        Reflect.set(Socket.prototype, "unref", undefined)
        start(watchdog, group)
      } finally {
        Socket.prototype.unref = unref
      }
      assert.deepStrictEqual(yield* logged(watchdog.report), [])
      watchdog.remove(group)
      yield* watchdog.settle
      assert.deepStrictEqual(watchdogs(), [])
    })))

  it.live("S19: that there is no shell is said once per streak of failures", () =>
    Effect.scoped(Effect.gen(function*() {
      const shell = yield* moodyShell
      const group = yield* server
      const missing = new Watchdog("/no/such/shell")
      assert.deepStrictEqual(yield* logged(missing.report), [])
      const messages = yield* logged(Effect.forEach([1, 2, 3], () =>
        Effect.suspend(() => {
          start(missing, group)
          return Effect.zipRight(missing.report, Effect.sync(() => missing.remove(group)))
        })))
      yield* missing.settle
      assert.deepStrictEqual(messages, [
        "/no/such/shell does not run as a watchdog: MCP servers may outlive this application if it is killed"
      ])

      const listeners = process.listenerCount("exit")
      const moody = new Watchdog(shell.command)
      for (let streak = 0; streak < 2; streak++) {
        shell.setBad(true)
        start(moody, group)
        yield* until("all attempts are used up", () => process.listenerCount("exit") > listeners)
        assert.lengthOf(yield* logged(Effect.zipRight(moody.report, moody.report)), 1)
        moody.remove(group)
        shell.setBad(false)
        start(moody, group)
        assert.deepStrictEqual(yield* logged(moody.report), [])
        moody.remove(group)
        yield* moody.settle
      }
      // By design there is none on Windows.
      const none = new Watchdog(undefined)
      start(none, group)
      assert.deepStrictEqual(yield* logged(none.report), [])
      none.remove(group)
    })))
})
