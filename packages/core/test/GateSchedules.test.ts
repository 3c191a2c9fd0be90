/**
 * The gate of a session under random schedules: calls, interruptions, deadlines, answers, lies and failures in any order,
 * with and without a pause between them. What must hold at every moment is counted at the wire.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Effect, Exit, FastCheck, Fiber, TestClock } from "effect"
import { configWith } from "./configWith.js"
import { macrotask, tap } from "./gateWire.js"

type Step =
  | { readonly _tag: "Call"; readonly timeout: number | null; readonly maxTotal: number | null }
  /** One of the calls, or two at once. */
  | { readonly _tag: "Interrupt"; readonly which: ReadonlyArray<number> }
  /** Of those under way, in one chunk. */
  | { readonly _tag: "Answer"; readonly which: ReadonlyArray<number> }
  | { readonly _tag: "Refuse"; readonly which: number }
  | { readonly _tag: "Lose"; readonly which: number }
  /** An answer to what was not asked yet. */
  | { readonly _tag: "Lie"; readonly ahead: number }
  | { readonly _tag: "Progress"; readonly which: number }
  | { readonly _tag: "Pass"; readonly millis: number }
  /** Everything that needs no time has happened. */
  | { readonly _tag: "Pause" }

const index = FastCheck.nat({ max: 30 })
const time = FastCheck.constantFrom(null, 1000, 2000, 3000)
const indices = FastCheck.array(index, { minLength: 1, maxLength: 3 })

const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  {
    weight: 8,
    arbitrary: FastCheck.record({ _tag: FastCheck.constant("Call" as const), timeout: time, maxTotal: time })
  },
  { weight: 4, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Interrupt" as const), which: indices }) },
  { weight: 5, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Answer" as const), which: indices }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Refuse" as const), which: index }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Lose" as const), which: index }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Lie" as const), ahead: index }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: FastCheck.constant("Progress" as const), which: index }) },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("Pass" as const),
      millis: FastCheck.constantFrom(500, 1000)
    })
  },
  { weight: 6, arbitrary: FastCheck.constant({ _tag: "Pause" as const }) }
)

/** How it ends: everything is answered, or the session ends. */
const ending = FastCheck.constantFrom("answers", "answers", "disconnect")

interface Made {
  readonly fiber: Fiber.RuntimeFiber<unknown, McpError.McpError>
  readonly exits: Array<Exit.Exit<unknown, McpError.McpError>>
}

const lost = new McpError.ResponseLost({
  server: "scripted",
  operation: "receive",
  executed: "maybe",
  reason: "Ended",
  detail: "the stream ended"
})

const open = (concurrency: number) =>
  Effect.gen(function*() {
    const config = yield* configWith({ timeouts: { request: null } })
    const server = yield* ScriptedServer.make({ config, handlers: { "x/work": () => Effect.never } })
    const wire = tap(server.channel)
    const session = yield* McpSession.open(wire.channel, { concurrency })
    return { server, wire, session }
  })

type World = Effect.Effect.Success<ReturnType<typeof open>>

const pick = <A>(all: ReadonlyArray<A>, which: number): A | undefined => all[which % all.length]

const perform = ({ server, session, wire }: World, calls: Array<Made>, step: Step): Effect.Effect<unknown> => {
  const underWay = (which: number) => pick([...wire.underWay], which) as number | undefined
  switch (step._tag) {
    case "Call":
      return session.request("x/work", { n: calls.length }, { timeout: step.timeout, maxTotal: step.maxTotal }).pipe(
        Effect.fork,
        Effect.map((fiber) => {
          const exits: Made["exits"] = []
          fiber.addObserver((exit) => exits.push(exit))
          calls.push({ fiber, exits })
        })
      )
    case "Interrupt":
      return Effect.forEach(
        new Set(step.which.map((_) => pick(calls, _))),
        (call) => call === undefined ? Effect.void : Fiber.interruptFork(call.fiber)
      )
    case "Answer": {
      const ids = new Set(step.which.map(underWay).filter((_) => _ !== undefined))
      return server.sendRaw(...[...ids].map((id) => ScriptedServer.result(id, { answers: id })))
    }
    case "Refuse": {
      const id = underWay(step.which)
      return id === undefined ? Effect.void : server.sendRaw({ jsonrpc: "2.0", id, error: { code: 7, message: "no" } })
    }
    case "Lose": {
      const id = underWay(step.which)
      return id === undefined ? Effect.void : server.failRequest(id, lost)
    }
    case "Lie": {
      const last = Math.max(1, ...wire.sent.map((_) => Number(_.id)))
      return server.sendRaw(ScriptedServer.result(last + 1 + step.ahead, { answers: "a lie" }))
    }
    case "Progress":
      return server.notify("notifications/progress", { progressToken: underWay(step.which), progress: 1 })
    case "Pass":
      return TestClock.adjust(step.millis)
    case "Pause":
      return macrotask
  }
}

/** What its caller was told, against what went over the wire. */
const agrees = (world: World, call: Made, n: number, disconnected: boolean): void => {
  assert.strictEqual(call.exits.length, 1, `call ${n} settles once`)
  const [exit] = call.exits as [Exit.Exit<unknown, McpError.McpError>]
  const sent = world.wire.sent.filter((_) => _.params.n === n)
  assert.isAtMost(sent.length, 1, `call ${n} is sent once`)
  const id = sent[0]?.id
  const cancellations = id === undefined ? 0 : world.wire.cancelled.filter((_) => _ === id).length
  if (Exit.isSuccess(exit)) {
    assert.deepStrictEqual(exit.value, { answers: id }, `call ${n} has its own answer`)
    assert.strictEqual(cancellations, 0)
    return
  }
  if (Cause.isInterrupted(exit.cause)) {
    // The answer may have been there already when the interruption was.
    const untold = id === undefined || world.wire.over.has(id)
    assert.strictEqual(cancellations, untold ? 0 : 1, `call ${n} was interrupted`)
    return
  }
  const error = Cause.failureOption(exit.cause)
  assert(error._tag === "Some")
  const { value } = error
  assert.strictEqual(value.executed === "no", id === undefined, `call ${n}: ${value.message}`)
  switch (value._tag) {
    case "RequestTimeout":
      assert.strictEqual(value.kind === "wait", id === undefined)
      assert.strictEqual(cancellations, id === undefined ? 0 : 1)
      return
    case "ConnectionClosed":
      assert.isTrue(disconnected)
      assert.strictEqual(cancellations, 0)
      return
    default:
      assert.include(["RemoteError", "ResponseLost"], value._tag)
      assert.strictEqual(cancellations, 0)
  }
}

const settled = (calls: ReadonlyArray<Made>) => calls.filter((_) => _.exits.length > 0).length

describe("the gate under any schedule", () => {
  it.scoped.prop(
    "never lets more through than it says, leaves no turn unused, keeps the order, and settles each call once and truly",
    [FastCheck.integer({ min: 1, max: 4 }), FastCheck.array(step, { minLength: 1, maxLength: 60 }), ending],
    ([concurrency, steps, ending]) =>
      Effect.gen(function*() {
        const world = yield* open(concurrency)
        const { server, session, wire } = world
        const calls: Array<Made> = []
        for (const step of steps) {
          yield* perform(world, calls, step)
          assert.isAtMost(wire.most(), concurrency)
          if (step._tag !== "Pause") continue
          const unsettled = calls.length - settled(calls)
          assert.strictEqual((yield* session.stats).inFlight, unsettled)
          assert.strictEqual(wire.underWay.size, Math.min(concurrency, unsettled), "no turn is unused")
        }
        yield* macrotask
        const disconnected = ending === "disconnect"
        if (disconnected) yield* server.disconnect()
        for (const _ of calls) {
          if (wire.underWay.size === 0) break
          yield* perform(world, calls, { _tag: "Answer", which: [0, 1, 2, 3] })
          yield* macrotask
        }
        yield* session.quiet
        yield* macrotask
        assert.strictEqual(settled(calls), calls.length, "each call is settled")
        assert.strictEqual((yield* session.stats).inFlight, 0)
        assert.isAtMost(wire.most(), concurrency)
        for (const [n, call] of calls.entries()) agrees(world, call, n, disconnected)
        const order = wire.sent.map((_) => Number(_.params.n))
        assert.deepStrictEqual(order, [...order].sort((a, b) => a - b), "whoever came first has the next turn")
      }),
    { fastCheck: { numRuns: 300 } }
  )
})
