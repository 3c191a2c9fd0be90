import { assert, describe, it } from "@effect/vitest"
import { McpError, RetryPolicy } from "@mcp-runtime/core"
import {
  Chunk,
  type Clock,
  Duration,
  Effect,
  Either,
  Exit,
  FastCheck,
  Fiber,
  Option,
  Random,
  type Schedule,
  TestClock
} from "effect"
import * as Stepper from "../src/internal/retry/stepper.js"

const about = { server: "docs", operation: "tools/list", executed: "no" } as const
const refused = new McpError.ConnectFailed({
  ...about,
  reason: "Refused",
  url: "http://127.0.0.1:1/",
  detail: "refused"
})
const busy = (retryAfterMillis?: number) =>
  new McpError.HttpError({
    ...about,
    status: 503,
    body: "",
    ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
  })

const waits: RetryPolicy.RetryInput = { error: refused, delayed: true }
const atOnce: RetryPolicy.RetryInput = { error: refused, delayed: false }

const make = (options: RetryPolicy.Options) => Either.getOrThrow(RetryPolicy.make({ jitter: 0, ...options }))

/** Steps through the inputs; the time passes where it matters to the policy. Ends where the schedule does. */
const walk = (policy: RetryPolicy.RetryPolicy, inputs: Iterable<RetryPolicy.RetryInput>) =>
  Effect.gen(function*() {
    const stepper = Stepper.make(policy.schedule)
    const steps: Array<RetryPolicy.Step> = []
    for (const input of inputs) {
      const stepped = yield* stepper.next(input)
      if (Option.isNone(stepped)) break
      assert.strictEqual(stepped.value.delayMillis, stepped.value.out.delayMillis)
      steps.push(stepped.value.out)
      if (policy.total !== null) yield* TestClock.adjust(stepped.value.delayMillis)
    }
    return steps
  })

const delays = (policy: RetryPolicy.RetryPolicy, inputs: Iterable<RetryPolicy.RetryInput>) =>
  Effect.map(walk(policy, inputs), (steps) => steps.map((_) => _.delayMillis))

const repeat = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)

/** When each execution began, and how it ended, while the clock jumps from sleep to sleep. */
const executions = (schedule: Schedule.Schedule<unknown, McpError.McpError>, error: McpError.McpError, ends = 10_000) =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const execution = Effect.clockWith((clock: Clock.Clock) =>
      Effect.suspend(() => {
        times.push(clock.unsafeCurrentTimeMillis())
        return Effect.fail(error)
      })
    )
    const fiber = yield* Effect.fork(Effect.exit(Effect.retry(execution, schedule)))
    yield* TestClock.adjust(ends)
    const exit = yield* Fiber.poll(fiber)
    yield* Fiber.interrupt(fiber)
    return { times, exit: Option.map(exit, Exit.flatten) }
  })

describe("RetryPolicy.make", () => {
  const problems = (options: unknown): Record<string, string> => {
    const made = RetryPolicy.make(options as RetryPolicy.Options)
    if (Either.isRight(made)) return {}
    return Object.fromEntries(made.left.problems.map((_) => [_.field, _.problem]))
  }

  it("refuses each wrong field by name, all at once, and says what is allowed", () => {
    const made = RetryPolicy.make({
      replays: 1.5,
      base: Number.NaN,
      factor: 0.5,
      cap: 0,
      jitter: 2,
      total: Duration.infinity,
      retryAfter: "maybe",
      when: true,
      retries: 3
    } as never)
    assert(Either.isLeft(made))
    assert.strictEqual(made.left._tag, "ConfigInvalid")
    assert.strictEqual(made.left.server, "<retry policy>")
    assert.strictEqual(made.left.operation, "configure")
    assert.strictEqual(made.left.executed, "no")
    assert.deepStrictEqual(made.left.problems, [
      { field: "replays", problem: `must be a whole number of at least 0, or "unlimited"` },
      { field: "base", problem: `must be a finite duration such as "250 millis", or 0 for no delay` },
      { field: "factor", problem: "must be a finite number of at least 1" },
      { field: "cap", problem: `must be a positive and finite duration such as "5 seconds", or null for none` },
      { field: "jitter", problem: "must be a number from 0 to 1" },
      { field: "total", problem: `must be a positive and finite duration such as "5 seconds", or null for none` },
      { field: "retryAfter", problem: `must be "honour" or "ignore"` },
      { field: "when", problem: "must be a function from an error to true or false" },
      { field: "retries", problem: "is not a known field" }
    ])
  })

  const wrong: ReadonlyArray<readonly [keyof RetryPolicy.Options, ReadonlyArray<unknown>]> = [
    ["replays", [-2, 0.1, Number.NaN, Infinity, "many", null, "2", true]],
    ["base", [-1, -1n, "-1 seconds", Infinity, "5", "soon", [Number.NaN, 0], [0, -1], [1, 2, 3], null, {}]],
    ["factor", [0, 0.99, Infinity, Number.NaN, "2", null]],
    ["cap", [
      0,
      -1,
      0n,
      "0 millis",
      "-5 seconds",
      Infinity,
      Number.NaN,
      [-1, 0],
      "x",
      Duration.zero,
      Duration.infinity
    ]],
    ["jitter", [-0.1, 1.1, Number.NaN, "0.2", null]],
    ["total", [0, -1, Infinity, Number.NaN, "1", {}]],
    ["retryAfter", ["honor", true, null]],
    ["when", [null, "always", {}]]
  ]
  for (const [field, values] of wrong) {
    it(`refuses what "${field}" can't be`, () => {
      for (const value of values) {
        assert.deepStrictEqual(Object.keys(problems({ [field]: value })), [field], String(value))
      }
    })
  }

  it("takes what each field may be", () => {
    for (
      const options of [
        {},
        { replays: 0 },
        { replays: -1 },
        { replays: "unlimited" },
        { base: 0 },
        { base: "0 millis" },
        { base: [0, 500] },
        { base: 250n },
        { base: Duration.seconds(1) },
        { factor: 1 },
        { cap: null },
        { cap: 5n },
        { jitter: 0 },
        { jitter: 1 },
        { total: null },
        { total: "1 hour" },
        { retryAfter: "ignore" },
        { replays: undefined, cap: undefined, when: undefined }
      ]
    ) assert.deepStrictEqual(problems(options), {})
  })

  it("refuses what is no object", () => {
    for (const options of [null, 3, "unlimited", []]) {
      assert.deepStrictEqual(problems(options), { "(root)": "must be an object" })
    }
  })

  it("shows its numbers", () => {
    assert.strictEqual(make({ replays: -1 }).replays, Infinity)
    assert.strictEqual(make({ replays: "unlimited" }).replays, Infinity)
    assert.strictEqual(make({ replays: 7 }).replays, 7)
    assert.strictEqual(make({ total: null }).total, null)
    assert.strictEqual(Duration.toMillis(make({ total: "3 seconds" }).total!), 3000)
  })
})

describe("a budget", () => {
  it.effect("allows so many replays, numbers them, and stops", () =>
    Effect.gen(function*() {
      const steps = yield* walk(make({ replays: 3, base: 100, factor: 2 }), repeat(10, waits))
      assert.deepStrictEqual(steps, [
        { replay: 1, delayMillis: 100 },
        { replay: 2, delayMillis: 200 },
        { replay: 3, delayMillis: 400 }
      ])
    }))

  it.effect("is the same for every call: one call takes nothing from another, also when they alternate", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 2, base: 100 })
      const [one, other] = [Stepper.make(policy.schedule), Stepper.make(policy.schedule)]
      for (const expected of [100, 200]) {
        for (const stepper of [one, other]) {
          assert.strictEqual(Option.getOrThrow(yield* stepper.next(waits)).delayMillis, expected)
        }
      }
      for (const stepper of [one, other]) assert(Option.isNone(yield* stepper.next(waits)))
    }))

  it.effect("a replay that need not wait counts, and takes no backoff", () =>
    Effect.gen(function*() {
      const steps = yield* walk(make({ replays: 4, base: 100 }), [atOnce, waits, atOnce, waits, atOnce])
      assert.deepStrictEqual(steps.map((_) => [_.replay, _.delayMillis]), [[1, 0], [2, 100], [3, 0], [4, 200]])
    }))

  it.effect("never waits longer than its cap, however often it waited", () =>
    Effect.gen(function*() {
      const found = yield* delays(make({ replays: -1, base: 1000, cap: "64 seconds" }), repeat(2000, waits))
      assert.deepStrictEqual(found.slice(0, 9), [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000, 64_000])
      assert.strictEqual(found.length, 2000)
      assert(found.slice(6).every((_) => _ === 64_000))
    }))

  it.effect("without a cap never waits longer than a timer can, and never a number that is none", () =>
    Effect.gen(function*() {
      for (const options of [{ base: 1000, factor: 10 }, { base: Number.MAX_VALUE, factor: Number.MAX_VALUE }]) {
        const found = yield* delays(make({ replays: -1, cap: null, ...options }), repeat(400, waits))
        assert.strictEqual(found.length, 400)
        assert.strictEqual(found.at(-1), 2_147_483_647)
      }
      const none = yield* delays(make({ replays: -1, base: 0, factor: 10 }), repeat(400, waits))
      assert.deepStrictEqual(none, repeat(400, 0))
    }))

  it.effect("waits whole milliseconds, rounded up", () =>
    Effect.gen(function*() {
      const found = yield* delays(make({ replays: 3, base: "100 micros", factor: 15 }), repeat(3, waits))
      assert.deepStrictEqual(found, [1, 2, 23])
    }))

  it.effect("leaves the given share of each delay to chance, and nothing else", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 4, base: 1000, jitter: 0.2 })
      const found = yield* delays(policy, [waits, atOnce, waits, waits]).pipe(
        Effect.withRandom(Random.fixed([0, 0.5, 1]))
      )
      assert.deepStrictEqual(found, [1000, 0, 1800, 3200])
      const seeded = delays(policy, repeat(4, waits)).pipe(Effect.withRandom(Random.make("seed")))
      assert.deepStrictEqual(
        yield* seeded,
        yield* delays(policy, repeat(4, waits)).pipe(
          Effect.withRandom(Random.make("seed"))
        )
      )
    }))
})

describe("Retry-After", () => {
  const asked = (millis: number, delayed = true): RetryPolicy.RetryInput => ({ error: busy(millis), delayed })

  it.effect("is waited for when it is longer than the backoff, beyond the cap, and advances the backoff by one", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 4, base: 1000, cap: 4000 })
      const inputs = [asked(7000), asked(500), asked(3_600_000), waits]
      assert.deepStrictEqual(yield* delays(policy, inputs), [7000, 2000, 3_600_000, 4000])
    }))

  it.effect("is never shortened by chance", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 3, base: 1000, jitter: 1 })
      const found = yield* delays(policy, [asked(900), asked(5000), waits]).pipe(Effect.withRandom(Random.fixed([1])))
      assert.deepStrictEqual(found, [900, 5000, 0])
    }))

  it.effect("holds also for a replay that need not wait otherwise", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 3, base: 100 })
      assert.deepStrictEqual(yield* delays(policy, [asked(300, false), atOnce, waits]), [300, 0, 100])
    }))

  it.effect("can be ignored", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 2, base: 100, retryAfter: "ignore" })
      assert.deepStrictEqual(yield* delays(policy, [asked(9000), asked(9000, false)]), [100, 0])
    }))

  it.effect("that is no time, or in the past, changes nothing", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 4, base: 100, factor: 1 })
      const inputs = [asked(Number.NaN), asked(-5), asked(0), { error: busy(), delayed: true }]
      assert.deepStrictEqual(yield* delays(policy, inputs), [100, 100, 100, 100])
    }))

  it.effect("that no timer can wait for ends the call, as does one beyond the total time", () =>
    Effect.gen(function*() {
      const unbounded = make({ replays: -1, base: 100 })
      assert.deepStrictEqual(yield* delays(unbounded, [asked(2_147_483_647)]), [2_147_483_647])
      assert.deepStrictEqual(yield* delays(unbounded, [asked(2_147_483_648)]), [])
      assert.deepStrictEqual(yield* delays(unbounded, [asked(Infinity)]), [])
      const bounded = make({ replays: -1, base: 100, total: 1000 })
      assert.deepStrictEqual(yield* delays(bounded, [asked(1000)]), [1000])
      assert.deepStrictEqual(yield* delays(bounded, [asked(1001)]), [])
    }))
})

describe("the total time", () => {
  it.effect("lets a replay begin at its end, and not a millisecond later", () =>
    Effect.gen(function*() {
      const options = { replays: -1, base: 100, factor: 2 }
      const inputs = repeat(10, waits)
      assert.deepStrictEqual(yield* delays(make({ ...options, total: 700 }), inputs), [100, 200, 400])
      assert.deepStrictEqual(yield* delays(make({ ...options, total: 699 }), inputs), [100, 200])
    }))

  it.effect("runs from the first failure, and counts what the executions take", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 day")
      const stepper = Stepper.make(make({ replays: -1, base: 100, factor: 1, total: 1000 }).schedule)
      assert(Option.isSome(yield* stepper.next(waits)))
      yield* TestClock.adjust(900)
      assert(Option.isSome(yield* stepper.next(waits)))
      yield* TestClock.adjust(1)
      assert(Option.isNone(yield* stepper.next(waits)))
    }))

  it.effect("stops a replay that need not wait only when it is over", () =>
    Effect.gen(function*() {
      const stepper = Stepper.make(make({ replays: -1, base: 100, total: 1000 }).schedule)
      yield* stepper.next(atOnce)
      yield* TestClock.adjust(1000)
      assert(Option.isSome(yield* stepper.next(atOnce)))
      yield* TestClock.adjust(1)
      assert(Option.isNone(yield* stepper.next(atOnce)))
    }))

  it.effect("ends a call at once, without sleeping until then", () =>
    Effect.gen(function*() {
      const policy = make({ replays: 5, base: "10 minutes", cap: null, total: "1 minute" })
      const { exit, times } = yield* executions(RetryPolicy.delayed(policy), refused, 0)
      assert.deepStrictEqual(times, [0])
      assert.deepStrictEqual(exit, Option.some(Exit.fail(refused)))
    }))
})

const policies = FastCheck.record({
  replays: FastCheck.oneof(FastCheck.integer({ min: 0, max: 12 }), FastCheck.constant("unlimited" as const)),
  base: FastCheck.oneof(FastCheck.integer({ min: 0, max: 1e9 }), FastCheck.constant(Number.MAX_VALUE)),
  factor: FastCheck.oneof(FastCheck.double({ min: 1, max: 100, noNaN: true }), FastCheck.constant(Number.MAX_VALUE)),
  cap: FastCheck.option(FastCheck.integer({ min: 1, max: 1e10 })),
  jitter: FastCheck.double({ min: 0, max: 1, noNaN: true }),
  total: FastCheck.option(FastCheck.integer({ min: 1, max: 1e10 })),
  retryAfter: FastCheck.constantFrom("honour" as const, "ignore" as const)
})

const failures = FastCheck.array(
  FastCheck.record({
    delayed: FastCheck.boolean(),
    retryAfter: FastCheck.option(FastCheck.oneof(FastCheck.integer({ min: -10, max: 1e10 }), FastCheck.double())),
    took: FastCheck.integer({ min: 0, max: 1e8 })
  }),
  { maxLength: 40 }
)

it.effect("whatever happens: never a replay too many, too early, too late, or with a delay that can't be waited", () =>
  Effect.promise(() =>
    FastCheck.assert(
      FastCheck.asyncProperty(policies, failures, FastCheck.string(), (options, inputs, seed) =>
        Effect.runPromise(
          Effect.gen(function*() {
            const policy = Either.getOrThrow(RetryPolicy.make(options))
            const honoured = options.retryAfter === "honour"
            let [now, replays, backoffs] = [1_800_000_000_000, 0, 0]
            const start = now
            let state: unknown = policy.schedule.initial
            for (const input of inputs) {
              const error = busy(input.retryAfter ?? undefined)
              const [next, step, decision] = yield* policy.schedule.step(now, { error, delayed: input.delayed }, state)
              const growth = options.base === 0 ? 0 : options.base * options.factor ** backoffs
              const full = input.delayed ? Math.min(growth, options.cap ?? Infinity, 2 ** 31 - 1) : 0
              const wish = honoured && (input.retryAfter ?? 0) > 0 ? input.retryAfter! : 0
              const [least, most] = [
                Math.max(full * (1 - options.jitter), wish) - 1e-3,
                Math.max(Math.ceil(full), Math.ceil(wish))
              ]
              const end = start + (options.total ?? Infinity)
              if (decision._tag === "Done") {
                assert(replays === policy.replays || most > 2 ** 31 - 1 || now + most > end, "stopped without a reason")
                assert.deepStrictEqual(step, { replay: replays, delayMillis: 0 })
                return
              }
              replays += 1
              backoffs += input.delayed ? 1 : 0
              assert(replays <= policy.replays)
              assert.strictEqual(step.replay, replays)
              assert(Number.isInteger(step.delayMillis) && step.delayMillis >= 0 && step.delayMillis <= 2 ** 31 - 1)
              assert(
                step.delayMillis >= least && step.delayMillis <= most,
                `${least} <= ${step.delayMillis} <= ${most}`
              )
              assert(now + step.delayMillis <= end)
              assert.strictEqual(Chunk.unsafeHead(decision.intervals.intervals).startMillis, now + step.delayMillis)
              state = next
              now += step.delayMillis + input.took
            }
          }).pipe(Effect.withRandom(Random.make(seed)))
        )),
      { numRuns: 300 }
    )
  ))

describe("presets", () => {
  it.effect("default: two replays, after 250 and 500 ms less a share, later if the server says so", () =>
    Effect.gen(function*() {
      const { defaultPolicy } = RetryPolicy
      assert.strictEqual(defaultPolicy.replays, 2)
      assert.strictEqual(defaultPolicy.total, null)
      const most = delays(defaultPolicy, repeat(9, waits)).pipe(Effect.withRandom(Random.fixed([0])))
      assert.deepStrictEqual(yield* most, [250, 500])
      const least = delays(defaultPolicy, repeat(9, waits)).pipe(Effect.withRandom(Random.fixed([1])))
      assert.deepStrictEqual(yield* least, [200, 400])
      assert.deepStrictEqual(yield* delays(defaultPolicy, [{ error: busy(60_000), delayed: true }]), [60_000])
      assert.isTrue(defaultPolicy.accepts(busy()))
      assert.isFalse(defaultPolicy.accepts(new McpError.HttpError({ ...about, status: 400, body: "" })))
    }))

  it.effect("make without options is the default", () =>
    Effect.gen(function*() {
      const policy = Either.getOrThrow(RetryPolicy.make())
      assert.strictEqual(policy.accepts, RetryPolicy.defaultPolicy.accepts)
      const random = Effect.withRandom(Random.make(1))
      const found = yield* random(delays(policy, repeat(9, waits)))
      assert.strictEqual(found.length, 2)
    }))

  it.effect("none: nothing is sent again", () =>
    Effect.gen(function*() {
      assert.strictEqual(RetryPolicy.none.replays, 0)
      assert.deepStrictEqual(yield* walk(RetryPolicy.none, [atOnce]), [])
      const { exit, times } = yield* executions(RetryPolicy.delayed(RetryPolicy.none), refused)
      assert.deepStrictEqual(times, [0])
      assert.deepStrictEqual(exit, Option.some(Exit.fail(refused)))
    }))

  it.effect("OpenAI Agents: N is N+1 executions, base * 2^k apart", () =>
    Effect.gen(function*() {
      for (const maxRetryAttempts of [0, 1, 2, 3, 6]) {
        const policy = Either.getOrThrow(RetryPolicy.openAiAgents({ maxRetryAttempts, retryBackoffSecondsBase: 1 }))
        const start = yield* Effect.clockWith((_) => _.currentTimeMillis)
        const { exit, times } = yield* executions(RetryPolicy.delayed(policy), refused, 1_000_000)
        const expected = Array.from({ length: maxRetryAttempts + 1 }, (_, k) => start + 1000 * (2 ** k - 1))
        assert.deepStrictEqual(times, expected)
        assert.deepStrictEqual(exit, Option.some(Exit.fail(refused)))
      }
    }))

  it.effect("OpenAI Agents: capped without overflow, without chance, without regard to the server; -1 never ends", () =>
    Effect.gen(function*() {
      const policy = Either.getOrThrow(
        RetryPolicy.openAiAgents({ maxRetryAttempts: -1, retryBackoffSecondsBase: 0.5, retryBackoffSecondsMax: 64 })
      )
      assert.strictEqual(policy.replays, Infinity)
      const inputs = repeat(3000, { error: busy(100_000), delayed: true })
      const found = yield* delays(policy, inputs)
      assert.deepStrictEqual(found.slice(0, 9), [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000])
      assert.strictEqual(found.length, 3000)
      assert.strictEqual(found.at(-1), 64_000)
      const uncapped = Either.getOrThrow(
        RetryPolicy.openAiAgents({ maxRetryAttempts: -1, retryBackoffSecondsBase: Number.MAX_VALUE })
      )
      assert.deepStrictEqual(yield* delays(uncapped, repeat(2, waits)), repeat(2, 2_147_483_647))
      const zero = Either.getOrThrow(
        RetryPolicy.openAiAgents({ maxRetryAttempts: 2, retryBackoffSecondsBase: 1, retryBackoffSecondsMax: 0 })
      )
      assert.deepStrictEqual(yield* delays(zero, repeat(9, waits)), [0, 0])
    }))

  it("OpenAI Agents: each wrong field by its own name", () => {
    const made = RetryPolicy.openAiAgents({
      maxRetryAttempts: -2,
      retryBackoffSecondsBase: Infinity,
      retryBackoffSecondsMax: -1
    })
    assert(Either.isLeft(made))
    assert.deepStrictEqual(made.left.problems, [
      { field: "maxRetryAttempts", problem: "must be a whole number of at least 0, or -1 for unlimited" },
      { field: "retryBackoffSecondsBase", problem: "must be a finite number of seconds of at least 0" },
      { field: "retryBackoffSecondsMax", problem: "must be a finite number of seconds of at least 0, or null for none" }
    ])
    assert(Either.isLeft(RetryPolicy.openAiAgents({} as never)))
    assert(
      Either.isLeft(RetryPolicy.openAiAgents({ maxRetryAttempts: "unlimited", retryBackoffSecondsBase: 1 } as never))
    )
  })

  it.effect("oh-my-pi: one replay, at once; UiPath: one or as many as said, at once", () =>
    Effect.gen(function*() {
      const inputs = repeat(9, { error: busy(5000), delayed: true })
      assert.deepStrictEqual(yield* delays(RetryPolicy.ohMyPi, inputs), [0])
      assert.deepStrictEqual(yield* delays(Either.getOrThrow(RetryPolicy.uiPath()), inputs), [0])
      const three = Either.getOrThrow(RetryPolicy.uiPath({ maxRetries: 3 }))
      assert.deepStrictEqual(yield* delays(three, inputs), [0, 0, 0])
      const wrong = RetryPolicy.uiPath({ maxRetries: 0.5 })
      assert(Either.isLeft(wrong))
      assert.deepStrictEqual(wrong.left.problems.map((_) => _.field), ["maxRetries"])
    }))
})

describe("RetryPolicy.delayed", () => {
  const policy = make({ replays: 2, base: 100 })

  it.effect("replays after each delay, and then fails with the last error", () =>
    Effect.gen(function*() {
      const { exit, times } = yield* executions(RetryPolicy.delayed(policy), refused)
      assert.deepStrictEqual(times, [0, 100, 300])
      assert.deepStrictEqual(exit, Option.some(Exit.fail(refused)))
    }))

  it.effect("does nothing before its time, and nothing after an interruption", () =>
    Effect.gen(function*() {
      const { exit, times } = yield* executions(RetryPolicy.delayed(policy), refused, 99)
      assert.deepStrictEqual(times, [0])
      assert(Option.isNone(exit))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(times, [0])
    }))

  it.effect("stops at an error that the policy does not accept", () =>
    Effect.gen(function*() {
      const only429 = make({ replays: 5, base: 1, when: (error) => error._tag === "HttpError" && error.status === 429 })
      const tooMany = new McpError.HttpError({ ...about, status: 429, body: "" })
      assert.strictEqual((yield* executions(RetryPolicy.delayed(only429), tooMany)).times.length, 6)
      assert.strictEqual((yield* executions(RetryPolicy.delayed(only429), busy())).times.length, 1)
    }))

  it.effect("never sends again what may have run, unless it may run twice, and what has run in no case", () =>
    Effect.gen(function*() {
      const all = make({ replays: 2, base: 1, when: () => true })
      const error = (executed: McpError.Executed) =>
        new McpError.ResponseLost({ ...about, executed, reason: "Ended", detail: "" })
      const count = (executed: McpError.Executed, options?: { readonly idempotent: boolean }) =>
        Effect.map(executions(RetryPolicy.delayed(all, options), error(executed)), (_) => _.times.length)
      assert.deepStrictEqual(
        yield* Effect.forEach(["no", "maybe", "yes"] as const, (_) => count(_)),
        [3, 1, 1]
      )
      assert.deepStrictEqual(
        yield* Effect.forEach(["no", "maybe", "yes"] as const, (_) => count(_, { idempotent: true })),
        [3, 3, 1]
      )
    }))
})
