/**
 * Readers, refreshes, invalidations, notifications, answers, failures, interruptions and time, in any order. The server's
 * list has a version, which each announced change raises; a listing tells the version of when it began.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Catalog, McpError, type McpProtocol } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Fiber, TestClock, TestContext } from "effect"
import { settled } from "../connection/kit.js"
import { follow, scripted, toolsChanged } from "./kit.js"

type Step =
  | { readonly _tag: "get" | "refresh" | "invalidate" | "say" | "back" }
  | { readonly _tag: "answer" | "fail" | "decline" | "interrupt"; readonly which: number }
  | { readonly _tag: "pass"; readonly millis: number }

const which = FastCheck.nat(50)
const steps: FastCheck.Arbitrary<ReadonlyArray<Step>> = FastCheck.array(
  FastCheck.oneof(
    { weight: 5, arbitrary: FastCheck.record({ _tag: FastCheck.constant("get" as const) }) },
    { weight: 2, arbitrary: FastCheck.record({ _tag: FastCheck.constant("refresh" as const) }) },
    { weight: 2, arbitrary: FastCheck.record({ _tag: FastCheck.constantFrom("invalidate" as const, "say" as const) }) },
    { weight: 1, arbitrary: FastCheck.record({ _tag: FastCheck.constant("back" as const) }) },
    { weight: 4, arbitrary: FastCheck.record({ _tag: FastCheck.constant("answer" as const), which }) },
    {
      weight: 3,
      arbitrary: FastCheck.record({
        _tag: FastCheck.constantFrom("fail" as const, "decline" as const, "interrupt" as const),
        which
      })
    },
    {
      weight: 2,
      arbitrary: FastCheck.record({
        _tag: FastCheck.constant("pass" as const),
        millis: FastCheck.constantFrom(50, 100, 1000)
      })
    }
  ),
  { minLength: 1, maxLength: 40 }
)

const setups = FastCheck.record({
  cache: FastCheck.constantFrom<Array<Catalog.CachePolicy>>("session", "off", { ttl: 500 }),
  relists: FastCheck.boolean(),
  interruptible: FastCheck.boolean()
})

const versionOf = (snapshot: Catalog.Snapshot<McpProtocol.Tool> | undefined) =>
  snapshot === undefined ? -1 : Number(snapshot.items[0]!.name)

const run = (
  { cache, interruptible, relists }: { cache: Catalog.CachePolicy; relists: boolean; interruptible: boolean },
  todo: ReadonlyArray<Step>
) =>
  Effect.gen(function*() {
    yield* TestClock.setTime(1_000_000)
    const { answer, asked, decline, fail, say, tools } = yield* scripted({ cache, relists, interruptible })
    const seen = yield* follow(tools)
    let version = 0
    let epoch = 0
    let shown = -1
    /** Of each listing: the version it tells, and the generation it belongs to. */
    const began: Array<{ readonly version: number; readonly epoch: number }> = []
    const readers: Array<Fiber.RuntimeFiber<unknown>> = []
    const problems: Array<string> = []
    const must = (holds: boolean, what: string) => {
      if (!holds) problems.push(what)
    }

    const read = (kind: "get" | "refresh") =>
      Effect.gen(function*() {
        const { length } = began
        const from = version
        const before = versionOf(yield* tools.current)
        const exit = yield* Effect.exit(tools[kind])
        if (Exit.isSuccess(exit)) {
          const got = exit.value
          must(versionOf(got) >= before, `${kind} gave ${versionOf(got)} where ${before} was known`)
          must(got.error === undefined || got.stale, "an error without being stale")
          if (got.error === undefined) {
            must(versionOf(got) >= from, `${kind} gave ${versionOf(got)}, ${from} was announced`)
          }
          if (kind === "refresh") {
            must(began.length > length, "a refresh without a listing")
          }
        } else if (exit.cause._tag === "Fail") {
          must(McpError.isMcpError(exit.cause.error), "an error that is none of ours")
          if (kind === "get") must((yield* tools.current) === undefined, "get failed although something is known")
        } else must(Exit.isInterrupted(exit), `ended with ${exit.cause._tag}`)
      })

    const underWay = () => asked.flatMap((_, at) => _.state === "under way" ? [at] : [])

    const check = Effect.gen(function*() {
      yield* settled
      while (began.length < asked.length) began.push({ version, epoch })
      if (interruptible) {
        const epochs = underWay().map((at) => began[at]!.epoch)
        must(new Set(epochs).size === epochs.length, "two listings of the same generation at once")
      }
      const current = yield* tools.current
      must(versionOf(current) >= shown, `current went back from ${shown} to ${versionOf(current)}`)
      shown = versionOf(current)
      if (current === undefined) return
      must(Object.isFrozen(current), "not frozen")
      must(tools.find(`${shown}`) === current.items[0], "find knows another list")
      if (!current.stale) must(shown === version, `${shown} is called fresh, ${version} was announced`)
      yield* settled
      const last = seen.at(-1)
      must(
        versionOf(last) === shown && last?.stale === current.stale && last?.error === current.error,
        "followers know less"
      )
    })

    const perform = (step: Step): Effect.Effect<void> => {
      switch (step._tag) {
        case "get":
        case "refresh":
          return Effect.map(Effect.forkDaemon(read(step._tag)), (fiber) => {
            readers.push(fiber)
            if (step._tag === "refresh") epoch++
          })
        case "invalidate":
        case "say":
          version++
          epoch++
          return step._tag === "say" ? say(toolsChanged) : tools.invalidate
        case "answer":
        case "fail":
        case "decline": {
          const at = underWay()[step.which % Math.max(1, underWay().length)]
          if (at === undefined) return Effect.void
          if (step._tag === "fail") return fail(at)
          return step._tag === "decline" && asked[at]!.via === "relist"
            ? decline(at)
            : answer(at, `${began[at]!.version}`)
        }
        case "interrupt":
          return readers.length === 0 ? Effect.void : Fiber.interruptFork(readers[step.which % readers.length]!)
        case "pass":
          return TestClock.adjust(step.millis)
        case "back":
          return Effect.flatMap(TestClock.currentTimeMillis, (now) => TestClock.setTime(now - 10_000))
      }
    }

    for (const step of todo) {
      yield* perform(step)
      yield* check
    }
    // Whatever is asked is answered: then nobody waits any more.
    for (let i = 0; i < 50 && underWay().length > 0; i++) {
      yield* perform({ _tag: "answer", which: 0 })
      yield* check
    }
    must(underWay().length === 0, "it lists for ever")
    for (const reader of readers) must((yield* Fiber.poll(reader))._tag === "Some", "a reader waits for ever")
    const last = yield* Effect.fork(tools.get)
    yield* check
    while (underWay().length > 0) {
      yield* perform({ _tag: "answer", which: 0 })
      yield* check
    }
    must(versionOf(yield* Fiber.join(last)) === version, "what was announced is not known in the end")
    return problems
  }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext))

describe("any interleaving", () => {
  it.live("holds what a catalogue promises", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(setups, steps, async (setup, todo) => {
          const problems = await Effect.runPromise(run(setup, todo))
          assert.deepStrictEqual(problems, [])
        }),
        { numRuns: 300 }
      )
    ), 60_000)
})
