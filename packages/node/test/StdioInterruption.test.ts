/** An interruption at any step leaves no process, no pipe and no listener. */
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import * as StdioFixture from "@mcp-runtime/testing/StdioFixture"
import type { Scope } from "effect"
import { Effect, Exit, Fiber, FiberId, Scheduler } from "effect"
import { childrenOf, commandOf, markedWith } from "./internal/processes.js"
import type { Wire } from "./internal/wire.js"
import { clean, connect, decode, open, turn } from "./internal/wire.js"

/** A yield takes nine operations itself: with fewer than ten a fiber would yield for ever. */
const opsPerStep = 10

/** Tells each step of the fibers that run on it. */
class CountingScheduler implements Scheduler.Scheduler {
  steps = 0
  constructor(private readonly onStep: (step: number) => void) {}
  shouldYield(fiber: Fiber.RuntimeFiber<unknown, unknown>) {
    return this.steps > 10_000 ? false : Scheduler.defaultScheduler.shouldYield(fiber)
  }
  scheduleTask(task: Scheduler.Task, priority: number, fiber?: Fiber.RuntimeFiber<unknown, unknown>) {
    Scheduler.defaultScheduler.scheduleTask(
      () => {
        this.onStep(++this.steps)
        task()
      },
      priority,
      fiber
    )
  }
}

/** Runs the program an operation or two per step, and interrupts it in a step. Says how many steps there were. */
const interruptedAt = (step: number, program: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const scheduler = new CountingScheduler((now) => {
      if (now === step) fiber.unsafeInterruptAsFork(FiberId.none)
    })
    const fiber: Fiber.RuntimeFiber<unknown, unknown> = yield* program.pipe(
      Effect.withMaxOpsBeforeYield(opsPerStep),
      Effect.withScheduler(scheduler),
      Effect.forkDaemon
    )
    const exit = yield* Fiber.await(fiber)
    return { steps: scheduler.steps, interrupted: Exit.isInterrupted(exit), exit }
  })

/** Interrupts at every `stride`th step until the program comes to its end without. */
const sweep = (
  program: Effect.Effect<unknown, unknown>,
  options: { readonly mark: string; readonly stride: number; readonly atLeast: number }
) =>
  Effect.gen(function*() {
    const children = childrenOf(process.pid)
    let interruptions = 0
    for (let step = 1; step < 5000; step += options.stride) {
      const run = yield* interruptedAt(step, program)
      const left = childrenOf(process.pid).filter((_) => !children.includes(_)).map(commandOf)
      assert.deepStrictEqual(left, [], `a child lives after an interruption in step ${step}`)
      assert.deepStrictEqual(markedWith(options.mark), [], `a descendant lives after an interruption in step ${step}`)
      if (run.interrupted) interruptions++
      else if (run.steps < step) {
        assert.isTrue(Exit.isSuccess(run.exit), String(run.exit))
        break
      }
    }
    assert.isAtLeast(interruptions, options.atLeast)
  })

const echo = (wire: Wire) => wire.post({ jsonrpc: "2.0", method: "notifications/x" })

/** The whole life of a process: open, one message, close. */
const life = (
  config: McpConfig.StdioConfig,
  use: (wire: Wire) => Effect.Effect<unknown, unknown, Scope.Scope>
): Effect.Effect<unknown, unknown> => Effect.scoped(Effect.flatMap(open(config), use))

describe("StdioTransport: interruption", () => {
  it.live("sweep: a process that ends with its input", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(StdioFixture.config([], {
          command: "/bin/cat",
          args: [],
          shutdown: { afterEof: "1 hour" }
        }))
        yield* sweep(life(config, echo), { mark, stride: 1, atLeast: 100 })
      })
    ), 120_000)

  it.live(
    "sweep, S09: a shell and its child that ignore end of input and SIGTERM",
    () =>
      clean(() =>
        Effect.gen(function*() {
          const { config, mark } = yield* decode(StdioFixture.config([], {
            command: "/bin/sh",
            args: ["-c", "trap '' TERM; sleep 300; sleep 300"],
            shutdown: { afterEof: "5 millis", afterTerm: "5 millis", afterKill: "1 hour" }
          }))
          yield* sweep(life(config, echo), { mark, stride: 3, atLeast: 30 })
        })
      ),
    120_000
  )

  it.live("sweep, S01: a process that can't be started", () =>
    clean(() =>
      Effect.gen(function*() {
        const { config, mark } = yield* decode(StdioFixture.config([], { command: "/no/such", cwd: "/tmp" }))
        const program = Effect.flip(life(config, echo))
        yield* sweep(program, { mark, stride: 1, atLeast: 60 })
      })
    ), 120_000)

  const stages: ReadonlyArray<readonly [string, (wire: Wire) => Effect.Effect<unknown, unknown>]> = [
    ["it has just been started", () => Effect.void],
    ["it has said that it starts", (wire) => wire.line("stage started")],
    ["it has been asked", (wire) => Effect.fork(wire.call("hang"))],
    ["it is at work", (wire) => Effect.zipRight(Effect.forkDaemon(wire.call("hang")), wire.line("stage call hang"))],
    ["it has died", (wire) => Effect.zipRight(Effect.forkDaemon(wire.call("die")), wire.closed)],
    ["it has stopped to read", (wire) => wire.call("stopread")]
  ]
  for (const [name, reach] of stages) {
    it.live(`S04, S09: a wrapped server that ignores everything, interrupted when ${name}`, () =>
      clean((marks) =>
        Effect.gen(function*() {
          const { config, mark } = yield* decode(StdioFixture.wrapped(["keepalive", "ignoreterm", "stubbornchild"], {
            shutdown: { afterEof: "20 millis", afterTerm: "20 millis", afterKill: "1 hour" }
          }))
          marks.push(mark)
          let reached = false
          const opened = name.startsWith("it has just") || name.startsWith("it has said")
            ? open(config)
            : connect(config)
          const fiber = yield* opened.pipe(
            Effect.tap(reach),
            Effect.zipRight(Effect.sync(() => {
              reached = true
            })),
            Effect.zipRight(Effect.never),
            Effect.scoped,
            Effect.fork
          )
          yield* Effect.repeat(turn, { until: () => reached })
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(markedWith(mark), [])
        })
      ))
  }
})
