/** A short soak, and whether it would notice: the long one is `npm run soak`. */
import { assert, describe, it } from "@effect/vitest"
import { McpError, type McpManager } from "@mcp-runtime/core"
import { Effect, Exit } from "effect"
import { Ledger } from "./soak/ledger.js"
import { fewestRounds, growth, left, type Sample, slope } from "./soak/measure.js"
import { eventKinds, flaws, mayRepeat, plan, servers, type Step } from "./soak/plan.js"
import { digest } from "./soak/plan.js"
import { nonsenseOf } from "./soak/running.js"
import { run } from "./soak/soak.js"

const size = { steps: 80, events: 6 }

it.live(
  "eight servers, every kind of trouble: each call ends once and runs as it says, nothing is left",
  () =>
    Effect.gen(function*() {
      const report = yield* run({
        ...size,
        seed: 7,
        from: 0,
        rounds: 2,
        millis: Infinity,
        managerRounds: 2,
        onRound: () => {}
      })
      assert.deepStrictEqual(report.violations, [])
      assert.strictEqual(report.rounds.length, 2)
      assert.isAtLeast(report.rounds[1]!.executions, 40)
      assert.isAtLeast(report.flaws.size, 10)
      assert.isAtLeast(report.happened.size, 4)
    }),
  120_000
)

describe("the plan", () => {
  const long = { steps: 10_000, events: 600 }

  it("is the same for the same seed, round and size, and another one for any other", () => {
    assert.deepStrictEqual(plan(1, 3, size), plan(1, 3, size))
    const digests = [plan(1, 3, size), plan(2, 3, size), plan(1, 4, size), plan(1, 3, { ...size, events: 9 })].map(
      digest
    )
    assert.strictEqual(new Set(digests).size, digests.length)
  })

  it("has each key once in a whole run, and every event within its round", () => {
    const plans = [0, 1, 2].map((round) => plan(5, round, size))
    assert.deepStrictEqual(
      plans.flatMap((_) => _.steps.map((_) => _.key)),
      Array.from({ length: 3 * size.steps }, (_, i) => i)
    )
    for (const { events } of plans) {
      assert.deepStrictEqual(events, [...events].sort((a, b) => a.at - b.at))
      assert.isTrue(events.every((_) => _.at >= 0 && _.at < size.steps))
    }
  })

  it("has every server, misbehaviour and event there is", () => {
    const { events, steps } = plan(1, 0, long)
    const missing = <A>(all: Iterable<A>, had: ReadonlyArray<A>) => [...all].filter((_) => !had.includes(_))
    assert.deepStrictEqual(missing(flaws, steps.flatMap((_) => [_.call?.does ?? "", _.armed ?? ""])), [])
    assert.deepStrictEqual(missing(eventKinds, events.map((_) => _.kind)), [])
    assert.deepStrictEqual(missing(servers.map((_) => _.name), steps.map((_) => _.server)), [])
    assert.isTrue(steps.some((_) => _.patience !== undefined))
  })

  it("undoes what must be undone, later", () => {
    const { events } = plan(1, 0, long)
    for (const [done, undo] of [["stop", "continue"], ["down", "up"], ["disable", "enable"], ["remove", "restore"]]) {
      for (const one of events.filter((_) => _.kind === done)) {
        assert.isTrue(events.some((_) => _.kind === undo && _.server === one.server && _.at >= one.at), done)
      }
    }
  })

  it("lets a call run twice only where the caller or a trusted server has said so", () => {
    const call = { via: "manager", tool: "work", does: "answer", replay: "auto", bytes: 0 } as const
    const step = (server: string, more: Partial<NonNullable<Step["call"]>>): Step => ({
      key: 0,
      server,
      call: { ...call, ...more }
    })
    assert.isFalse(mayRepeat(step("events", {})))
    assert.isTrue(mayRepeat(step("events", { tool: "look" })))
    assert.isFalse(mayRepeat(step("json", { tool: "look" })))
    assert.isFalse(mayRepeat(step("events", { tool: "look", replay: "never" })))
    assert.isTrue(mayRepeat(step("json", { replay: "always" })))
  })
})

describe("the ledger", () => {
  const failure = (executed: McpError.Executed) =>
    Exit.fail(
      new McpError.ConnectionClosed({ server: "s", operation: "o", executed, reason: "Reset", detail: "" })
    )
  const judged = (exit: Exit.Exit<unknown, unknown>, executions: number, mayRepeat = false) => {
    const ledger = new Ledger(2)
    const entry = { key: 1, mayRepeat, isCall: true }
    ledger.settle(entry, exit)
    return ledger.judge(entry, executions) === undefined
  }
  const verdicts = (exit: Exit.Exit<unknown, unknown>, mayRepeat = false) =>
    [0, 1, 2].map((executions) => judged(exit, executions, mayRepeat))

  it("knows how often a call may have run that ended in this way", () => {
    const ok = Exit.succeed("1")
    assert.deepStrictEqual(verdicts(ok), [false, true, false])
    assert.deepStrictEqual(verdicts(ok, true), [false, true, true])
    assert.deepStrictEqual(verdicts(failure("no")), [true, false, false])
    assert.deepStrictEqual(verdicts(failure("no"), true), [true, false, false])
    assert.deepStrictEqual(verdicts(failure("maybe")), [true, true, false])
    assert.deepStrictEqual(verdicts(failure("maybe"), true), [true, true, true])
    assert.deepStrictEqual(verdicts(failure("yes")), [false, true, false])
    assert.deepStrictEqual(verdicts(Exit.interrupt(undefined as never)), [true, true, false])
  })

  it("takes nothing else for an end: another's answer, a defect, an error that is not ours", () => {
    assert.deepStrictEqual(verdicts(Exit.succeed("2")), [false, false, false])
    assert.deepStrictEqual(verdicts(Exit.die("defect"), true), [false, false, false])
    assert.deepStrictEqual(verdicts(Exit.fail(new Error("other"))), [false, false, false])
  })

  it("wants each to end exactly once", () => {
    const ledger = new Ledger(2)
    const entry = { key: 1, mayRepeat: true, isCall: true }
    assert.include(ledger.judge(entry, 0), "it ended 0 times")
    ledger.settle(entry, Exit.succeed("1"))
    assert.isUndefined(ledger.judge(entry, 1))
    ledger.settle(entry, Exit.succeed("1"))
    assert.include(ledger.judge(entry, 1), "it ended 2 times")
  })
})

describe("what a manager says of itself", () => {
  const state = (phase: McpManager.Phase, active: ReadonlyArray<string>, error?: McpError.McpError) =>
    ({ active, servers: [{ name: "a", phase, error }] }) as unknown as McpManager.ManagerState
  const makesSense = (one: McpManager.ManagerState, isStarted = true) =>
    nonsenseOf(one, new Set(["a"]), isStarted) === undefined
  const error = new McpError.ConnectionClosed({
    server: "a",
    operation: "o",
    executed: "no",
    reason: "Reset",
    detail: ""
  })

  it("is in order, or is told", () => {
    assert.isTrue(makesSense(state("connected", ["a"])))
    assert.isFalse(makesSense(state("connected", [])))
    assert.isFalse(makesSense(state("connected", ["a"], error)))
    assert.isFalse(makesSense(state("failed", ["a"], error)))
    assert.isTrue(makesSense(state("failed", ["a"], error), false))
    assert.isFalse(makesSense(state("failed", [])))
    assert.isFalse(nonsenseOf(state("connected", ["a"]), new Set(["a,b"]), true) === undefined)
  })
})

describe("what grows", () => {
  const nothing: Sample = {
    heap: 50_000_000,
    objects: 200_000,
    external: 5_000_000,
    descriptors: 50,
    sockets: 20,
    children: 8,
    fibers: 30,
    listeners: 8,
    timers: 4,
    handles: 20
  }
  const rounds = (change: (i: number) => Partial<Sample>) =>
    Array.from({ length: 20 }, (_, i) => ({ ...nothing, ...change(i) }))
  const megabyte = 1024 * 1024
  const found = (change: (i: number) => Partial<Sample>) => growth(rounds(change))

  it("the line through measurements shows what grows, and not what only moves", () => {
    assert.strictEqual(slope([1, 2, 3, 4]), 1)
    assert.strictEqual(slope([5, 5, 5]), 0)
    assert.strictEqual(slope([1, 3, 3, 1]), 0)
    assert.strictEqual(slope([7]), 0)
  })

  it("is what goes on growing; not what comes and goes, or comes once", () => {
    assert.deepStrictEqual(found(() => ({})), [])
    assert.deepStrictEqual(found((i) => ({ heap: nothing.heap + (i % 3) * megabyte })), [])
    assert.deepStrictEqual(found((i) => ({ heap: nothing.heap + Math.min(i, 3) * 10 * megabyte })), [])
    assert.lengthOf(found((i) => ({ heap: nothing.heap + i * megabyte })), 1)
    assert.deepStrictEqual(found((i) => ({ objects: 200_000 + (i % 3) * 15_000 })), [])
    assert.deepStrictEqual(found((i) => ({ objects: 200_000 + i * 500 })), [])
    assert.lengthOf(found((i) => ({ objects: 200_000 + i * 1100 })), 1)
    assert.deepStrictEqual(found((i) => ({ external: 5_000_000 + (i % 3) * 4 * megabyte })), [])
    assert.lengthOf(found((i) => ({ external: 5_000_000 + i * 2 * megabyte })), 1)
    assert.lengthOf(found((i) => ({ timers: 4 + i })), 1)
    assert.lengthOf(found((i) => ({ listeners: 8 + (i > 15 ? 1 : 0) })), 1)
    assert.deepStrictEqual(found((i) => ({ sockets: 20 + i % 8 })), [])
    const few = rounds((i) => ({ heap: nothing.heap + i * megabyte * 10 })).slice(0, fewestRounds)
    assert.lengthOf(growth(few), 1)
    assert.lengthOf(growth(few.slice(1)), 0)
  })

  it("when all is over, anything that is more than before is too much", () => {
    assert.deepStrictEqual(left(nothing, nothing), [])
    assert.lengthOf(left(nothing, { ...nothing, timers: 5, sockets: 21, fibers: 29 }), 2)
  })
})
