/** The end that we bring about: S06, S07, S08, S09, S10, S20. */
import { assert, describe, it } from "@effect/vitest"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import { Effect, Either, Exit, Fiber, Scope, TestClock, TestServices } from "effect"
import { ending } from "../../core/test/clocks.js"
import { start } from "../src/internal/stdio/connection.js"
import { childrenOf, groupOf, isAlive, isWatchdog } from "./internal/processes.js"
import { clean, connect, decode, isClosed, recorder, type Wire } from "./internal/wire.js"

/** Opens a server in a scope that the test closes itself. */
const opened = (marks: Array<string>, input: StdioFixture.StdioConfigInput) =>
  Effect.gen(function*() {
    const { config, mark } = yield* decode(input)
    marks.push(mark)
    const scope = yield* Scope.make()
    const wire = yield* Scope.extend(connect(config), scope)
    return { wire, close: Scope.close(scope, Exit.void) }
  })

const patient = { afterEof: "1 hour", afterTerm: "1 hour", afterKill: "1 hour" } as const

/** Graces that are over as soon as the server has said that it was told, however long that takes it. */
const graces = { afterEof: "1 hour", afterTerm: "2 hours", afterKill: "3 hours" } as const

const toldClock = (wire: Wire) =>
  ending([graces.afterEof, wire.line("stage eof")], [graces.afterTerm, wire.line("stage SIGTERM")])

describe("StdioTransport: close", () => {
  it.live("S06: a server that ends with its input is gone at once, whatever the graces are", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(marks, StdioFixture.config(["logeof"], { shutdown: patient }))
        // It would last for an hour.
        yield* close
        assert.isFalse(isAlive(wire.pid))
        assert.include(wire.transport.stderrTail(), "stage eof")
      })
    ))

  it.live("S06: end of input comes first, SIGTERM after the grace", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(
          marks,
          StdioFixture.config(["keepalive", "logeof", "logsig"], { shutdown: graces })
        )
        yield* Effect.withClock(close, yield* toldClock(wire))
        assert.isFalse(isAlive(wire.pid))
        assert.match(wire.transport.stderrTail()!, /stage eof\s+stage SIGTERM$/)
      })
    ))

  it.live("S07: a server that ignores all but SIGKILL is dead when close returns; who waits learns it at once", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(
          marks,
          StdioFixture.config(["keepalive", "ignoreterm", "logeof", "logsig"], {
            shutdown: graces
          })
        )
        const hanging = yield* Effect.fork(Effect.flip(wire.call("hang")))
        yield* wire.line("stage call hang")
        const closing = yield* Effect.fork(Effect.withClock(close, yield* toldClock(wire)))
        const error = isClosed(yield* Fiber.join(hanging))
        assert.strictEqual(error.reason, "Closing")
        assert.isTrue(isAlive(wire.pid))
        yield* Fiber.join(closing)
        assert.isFalse(isAlive(wire.pid))
        assert.match(wire.transport.stderrTail()!, /stage eof\s+stage SIGTERM$/)
        assert.strictEqual(wire.closings.length, 1)
      })
    ))

  it.effect("S07: the graces run on the Effect clock", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(
          StdioFixture.config(["keepalive", "ignoreterm", "logeof", "logsig"], { shutdown: patient })
        )
        marks.push(mark)
        const scope = yield* Scope.make()
        const wire = yield* Scope.extend(connect(config), scope)
        const line = (text: string) => TestServices.provideLive(wire.line(text))
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* line("stage eof")
        yield* TestClock.adjust("1 hour")
        yield* line("stage SIGTERM")
        assert.isTrue(isAlive(wire.pid))
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(closing)
        assert.isFalse(isAlive(wire.pid))
      })
    ))

  it.live("S08: of two closes at the same time neither returns before the process is dead", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(StdioFixture.config(["keepalive", "ignoreterm"], {
          shutdown: { afterEof: "100 millis", afterTerm: "100 millis" }
        }))
        marks.push(mark)
        const started = start(config, recorder().events)
        assert.isTrue(Either.isRight(started))
        if (Either.isLeft(started)) return
        const { close, pid } = started.right
        const aliveAfter = Effect.map(close, () => isAlive(pid))
        assert.deepStrictEqual(
          yield* Effect.all([aliveAfter, Effect.delay(aliveAfter, "20 millis")], { concurrency: "unbounded" }),
          [false, false]
        )
        yield* close
      })
    ))

  it.live("S08: an interruption does not cut the close short", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(
          marks,
          StdioFixture.config(["keepalive", "ignoreterm", "logeof"], {
            shutdown: { afterEof: "200 millis", afterTerm: "100 millis" }
          })
        )
        const closing = yield* Effect.fork(close)
        yield* wire.line("stage eof")
        yield* Fiber.interrupt(closing)
        assert.isFalse(isAlive(wire.pid))
      })
    ))

  it.live("S09: a wrapper's grandchild ends with its input, and the wrapper with it", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(marks, StdioFixture.wrapped(["logeof"], { shutdown: patient }))
        const { pid } = JSON.parse(yield* wire.call("pid")) as { pid: number }
        assert.notStrictEqual(pid, wire.pid)
        yield* close
        assert.isFalse(isAlive(pid) || isAlive(wire.pid))
        assert.include(wire.transport.stderrTail(), "stage eof")
      })
    ))

  it.live("S09: a wrapper's grandchild that ignores end of input and SIGTERM is dead when close returns", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(
          marks,
          StdioFixture.wrapped(["keepalive", "ignoreterm", "logsig"], {
            shutdown: { ...graces, afterEof: "50 millis" }
          })
        )
        const { pid } = JSON.parse(yield* wire.call("pid")) as { pid: number }
        assert.strictEqual(groupOf(pid), wire.pid)
        yield* Effect.withClock(close, yield* toldClock(wire))
        assert.isFalse(isAlive(pid) || isAlive(wire.pid))
        assert.include(wire.transport.stderrTail(), "stage SIGTERM")
      })
    ))

  for (const flag of ["grandchild", "stubbornchild"] as const) {
    it.live(`S10: a helper (${flag}) that outlives its server is ended without waiting for the first grace`, () =>
      clean((marks) =>
        Effect.gen(function*() {
          const { close, wire } = yield* opened(
            marks,
            StdioFixture.config([flag], {
              shutdown: { ...patient, afterTerm: flag === "grandchild" ? "1 hour" : "100 millis" }
            })
          )
          yield* wire.line("stage helper")
          const { helper } = JSON.parse(yield* wire.call("pid")) as { helper: number }
          yield* close
          assert.isFalse(isAlive(helper) || isAlive(wire.pid))
        })
      ))
  }

  it.live("S19: one watchdog serves all processes, and goes with the last", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const one = yield* opened(marks, StdioFixture.config())
        const [watchdog] = childrenOf(process.pid).filter(isWatchdog)
        const two = yield* opened(marks, StdioFixture.config())
        assert.deepStrictEqual(childrenOf(process.pid).filter(isWatchdog), [watchdog])
        yield* one.close
        assert.deepStrictEqual(childrenOf(process.pid).filter(isWatchdog), [watchdog])
        yield* two.close
        assert.deepStrictEqual(childrenOf(process.pid).filter(isWatchdog), [])
      })
    ))

  it.live("S19: a watchdog that dies is replaced, and no session notices", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const { close, wire } = yield* opened(marks, StdioFixture.config())
        const [first] = childrenOf(process.pid).filter(isWatchdog)
        process.kill(first!, "SIGKILL")
        const next = () => childrenOf(process.pid).filter((_) => isWatchdog(_) && _ !== first)
        yield* Effect.suspend(() => wire.call("echo")).pipe(Effect.repeat({ until: () => next().length > 0 }))
        assert.strictEqual(next().length, 1)
        assert.strictEqual(yield* wire.call("echo"), "{}")
        yield* close
      })
    ))
})
