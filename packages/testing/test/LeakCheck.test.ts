/**
 * Each kind of leak is made on purpose, must be found, and is then cleared away.
 */
import { assert, describe, it } from "@effect/vitest"
import { LeakCheck } from "@mcp-runtime/testing"
import { Cause, Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as Net from "node:net"

/** What the check finds after an effect that succeeds. */
const leaksOf = <A, E>(effect: Effect.Effect<A, E>) =>
  LeakCheck.noLeaks(effect, { patience: "50 millis" }).pipe(
    Effect.flip,
    Effect.map((error) => {
      assert.instanceOf(error, LeakCheck.LeaksFound)
      return (error as LeakCheck.LeaksFound).leaks
    })
  )

const kindsOf = (leaks: ReadonlyArray<LeakCheck.Leak>) => [...new Set(leaks.map((_) => _.kind))].sort()

/** A child that has said that it runs. */
const startChild = (script: string, options: { readonly detached?: boolean; readonly env?: NodeJS.ProcessEnv } = {}) =>
  Effect.promise(async () => {
    const child = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], ...options })
    const [chunk] = await once(child.stdout!, "data") as [Buffer]
    return { child, said: String(chunk).trim() }
  })

const endChild = (child: ChildProcess) =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "close")
    child.kill("SIGKILL")
    await ended
  })

const listen = Effect.promise(async () => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
})

const closeServer = (server: Net.Server) =>
  Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
  })

const connect = (server: Net.Server) =>
  Effect.promise(async () => {
    const { port } = server.address() as Net.AddressInfo
    const socket = Net.connect(port, "127.0.0.1")
    await once(socket, "connect")
    return socket
  })

/** The test runner would fail the run for what is provoked here. */
const withoutRunnersListeners = <A, E, R>(
  event: "unhandledRejection" | "uncaughtException" | "warning",
  effect: Effect.Effect<A, E, R>
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const listeners = process.listeners(event as "uncaughtException")
      process.removeAllListeners(event)
      return listeners
    }),
    () => effect,
    (listeners) =>
      Effect.sync(() => {
        for (const listener of listeners) process.on(event, listener)
      })
  )

describe("LeakCheck finds", () => {
  it.live("a child process, with its pipe", () =>
    Effect.gen(function*() {
      let child: ChildProcess | undefined
      const leaks = yield* leaksOf(Effect.map(startChild("echo up; exec sleep 300"), (_) => {
        child = _.child
      }))
      yield* endChild(child!)
      assert.deepStrictEqual(kindsOf(leaks), ["handle", "process"])
      assert.isTrue(leaks.some((_) => _.kind === "process" && _.detail.includes(`process ${child!.pid} `)))
    }))

  it.live("S09: a grandchild that has lost its parent, by its process group", () =>
    Effect.gen(function*() {
      let orphan = 0
      // the environment is empty, so that only the group can tell
      const leaks = yield* leaksOf(Effect.gen(function*() {
        const { child, said } = yield* startChild("sleep 300 >/dev/null & echo $!; exec sleep 300", {
          detached: true,
          env: { PATH: process.env.PATH }
        })
        orphan = Number(said)
        yield* endChild(child)
      }))
      process.kill(orphan, "SIGKILL")
      assert.deepStrictEqual(kindsOf(leaks), ["process"])
      assert.include(leaks[0]!.detail, `process ${orphan} `)
    }))

  it.live("a daemon that has left the process group, by the marker in its environment", () =>
    Effect.gen(function*() {
      let daemon = 0
      const leaks = yield* leaksOf(Effect.gen(function*() {
        const { child, said } = yield* startChild(
          `setsid sh -c 'echo $$; exec sleep 300 >/dev/null' & wait`
        )
        daemon = Number(said)
        yield* endChild(child)
      }))
      process.kill(daemon, "SIGKILL")
      assert.deepStrictEqual(kindsOf(leaks), ["process"])
      assert.include(leaks[0]!.detail, `process ${daemon} `)
      assert.isUndefined(process.env.MCP_RUNTIME_LEAK_CHECK)
    }))

  it.live("a socket at both its ends, also when it is unref'ed", () =>
    Effect.gen(function*() {
      const server = yield* listen
      let socket: Net.Socket | undefined
      const leaks = yield* leaksOf(Effect.map(connect(server), (_) => {
        socket = _.unref()
      }))
      socket!.destroy()
      yield* closeServer(server)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["handle", "handle"])
      assert.include(leaks[0]!.detail, "LeakCheck.test")
    }))

  it.live("a listening server", () =>
    Effect.gen(function*() {
      let server: Net.Server | undefined
      const leaks = yield* leaksOf(Effect.map(listen, (_) => {
        server = _
      }))
      yield* closeServer(server!)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["handle"])
    }))

  it.live("H15: a timer, with the place where it was made", () =>
    Effect.gen(function*() {
      let timer: NodeJS.Timeout | undefined
      const leaks = yield* leaksOf(Effect.sync(() => {
        timer = setTimeout(() => {}, 60_000)
      }))
      clearTimeout(timer)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["timer"])
      assert.include(leaks[0]!.detail, "LeakCheck.test")
    }))

  it.live("S20: a timer that is unref'ed, though Node does not count it", () =>
    Effect.gen(function*() {
      let timer: NodeJS.Timeout | undefined
      const leaks = yield* leaksOf(Effect.sync(() => {
        timer = setInterval(() => {}, 60_000).unref()
      }))
      clearInterval(timer)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["timer"])
    }))

  it.live("a listener on the process", () =>
    Effect.gen(function*() {
      const listener = () => {}
      const leaks = yield* leaksOf(Effect.sync(() => process.on("exit", listener)))
      process.off("exit", listener)
      assert.deepStrictEqual(leaks, [{ kind: "listener", detail: `process has 1 more listener for "exit"` }])
    }))

  it.live("a daemon fiber, and the timer it sleeps on", () =>
    Effect.gen(function*() {
      let fiber: Fiber.RuntimeFiber<void> | undefined
      const leaks = yield* leaksOf(Effect.map(Effect.forkDaemon(Effect.sleep("1 hour")), (_) => {
        fiber = _
      }))
      yield* Fiber.interrupt(fiber!)
      assert.deepStrictEqual(kindsOf(leaks), ["fiber", "timer"])
    }))

  it.live("a fiber in a scope of the outside", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const latch = yield* Deferred.make<void>()
      const leaks = yield* leaksOf(Effect.forkIn(Deferred.await(latch), scope))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["fiber"])
    }))

  it.live("a fiber that was run outside of Effect", () =>
    Effect.gen(function*() {
      const latch = yield* Deferred.make<void>()
      const leaks = yield* leaksOf(Effect.sync(() => {
        Effect.runFork(Deferred.await(latch))
      }))
      yield* Deferred.succeed(latch, undefined)
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["fiber"])
    }))

  it.live("P14: an unhandled rejection", () =>
    Effect.gen(function*() {
      const leaks = yield* withoutRunnersListeners(
        "unhandledRejection",
        leaksOf(Effect.sync(() => {
          void Promise.reject(new Error("nobody hears this"))
        }))
      )
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["rejection"])
      assert.include(leaks[0]!.detail, "nobody hears this")
    }))

  it.live("P15: an uncaught exception", () =>
    Effect.gen(function*() {
      const swallow = () => {}
      const leaks = yield* withoutRunnersListeners(
        "uncaughtException",
        Effect.suspend(() => {
          process.on("uncaughtException", swallow)
          return leaksOf(Effect.sync(() => {
            setImmediate(() => {
              throw new Error("thrown into the loop")
            })
          })).pipe(Effect.ensuring(Effect.sync(() => process.off("uncaughtException", swallow))))
        })
      )
      assert.deepStrictEqual(leaks.map((_) => _.kind), ["exception"])
      assert.include(leaks[0]!.detail, "thrown into the loop")
    }))

  it.live("S17: a warning", () =>
    Effect.gen(function*() {
      const leaks = yield* withoutRunnersListeners(
        "warning",
        leaksOf(Effect.sync(() => process.emitWarning("too many listeners", "MaxListenersExceeded")))
      )
      assert.deepStrictEqual(leaks, [{ kind: "warning", detail: "warning: MaxListenersExceeded: too many listeners" }])
    }))
})

describe("LeakCheck lets pass", () => {
  it.live("what closes everything that it opens", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const server = yield* Effect.acquireRelease(listen, closeServer)
      const { child } = yield* startChild("echo up; exec sleep 300")
      yield* Effect.addFinalizer(() => endChild(child))
      const socket = yield* connect(server)
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      yield* Effect.forkScoped(Effect.never)
      yield* Effect.fork(Effect.never)
      yield* Effect.sleep("1 millis")
    })))

  it.effect("a process that is about to end, also under TestClock: it settles in real time", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const { child } = yield* startChild("echo up; exec sleep 300")
      child.kill("SIGKILL")
    })))

  it.live("a zombie, which nobody waits for any more", () =>
    Effect.gen(function*() {
      // the shell becomes a process that never asks how its child has ended
      const parent = spawn("sh", ["-c", "read go; (exit 0) & echo $!; exec sleep 300"], {
        stdio: ["pipe", "pipe", "ignore"]
      })
      yield* LeakCheck.noLeaks(Effect.promise(async () => {
        parent.stdin.write("go\n")
        await once(parent.stdout, "data")
      }))
      yield* endChild(parent)
    }))

  it.live("what was there before", () =>
    Effect.gen(function*() {
      const timer = setTimeout(() => {}, 60_000)
      const fiber = yield* Effect.forkDaemon(Effect.never)
      const { child } = yield* startChild("echo up; exec sleep 300")
      yield* LeakCheck.noLeaks(Effect.void)
      clearTimeout(timer)
      yield* Fiber.interrupt(fiber)
      yield* endChild(child)
    }))

  it.live("what it is told to ignore", () =>
    Effect.gen(function*() {
      const timer = yield* LeakCheck.noLeaks(Effect.sync(() => setTimeout(() => {}, 60_000)), {
        ignore: (leak) => leak.kind === "timer"
      })
      clearTimeout(timer)
    }))

  it.effect("a check under TestClock, whose time stands still", () =>
    LeakCheck.noLeaks(Effect.gen(function*() {
      const fiber = yield* Effect.fork(Effect.sleep("1 hour"))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(fiber)
    })))
})

describe("LeakCheck", () => {
  it.live("reports leaks beside the failure of the effect", () =>
    Effect.gen(function*() {
      const listener = () => {}
      const exit = yield* Effect.exit(LeakCheck.noLeaks(
        Effect.zipRight(Effect.sync(() => process.on("exit", listener)), Effect.fail("broken" as const)),
        { patience: "50 millis" }
      ))
      process.off("exit", listener)
      assert.isTrue(Exit.isFailure(exit))
      const failures = Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []
      assert.strictEqual(failures[0], "broken")
      assert.instanceOf(failures[1], LeakCheck.LeaksFound)
    }))

  it.live("interrupts the effect when it is interrupted itself, and stops watching", () =>
    Effect.gen(function*() {
      const running = yield* Deferred.make<void>()
      let released = false
      const before = process.listenerCount("warning")
      const fiber = yield* Effect.fork(LeakCheck.noLeaks(
        Effect.zipRight(Deferred.succeed(running, undefined), Effect.never).pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              released = true
            })
          )
        )
      ))
      yield* Deferred.await(running)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.isTrue(released)
      assert.strictEqual(process.listenerCount("warning"), before)
    }))

  it.live("finds the children of a supervised fiber that lives on", () =>
    Effect.scoped(Effect.gen(function*() {
      const snapshot = yield* LeakCheck.snapshot
      const latch = yield* Deferred.make<void>()
      const child = yield* Effect.supervised(Effect.fork(Deferred.await(latch)), snapshot.supervisor)
      const found = yield* LeakCheck.find(snapshot, { patience: "50 millis" })
      yield* Fiber.interrupt(child)
      assert.deepStrictEqual(found.map((_) => _.kind), ["fiber"])
      yield* LeakCheck.assertNone(snapshot)
    })))

  it.live("keeps watching between a snapshot and its check", () =>
    Effect.scoped(Effect.gen(function*() {
      const snapshot = yield* LeakCheck.snapshot
      yield* LeakCheck.assertNone(snapshot)
      const timer = setTimeout(() => {}, 60_000)
      const found = yield* Effect.flip(LeakCheck.assertNone(snapshot, { patience: "50 millis" }))
      clearTimeout(timer)
      assert.match(found.message, /^1 thing is left behind:\n- timer: Timeout made at /)
      yield* LeakCheck.assertNone(snapshot)
    })))
})
