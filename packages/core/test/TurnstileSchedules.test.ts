/**
 * A limit over all sessions under random schedules: calls, interruptions, deadlines, answers, losses and expiries in any
 * order, with and without a pause between them.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError, McpSession, RequestLimit } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, FastCheck, Fiber, Scope, TestClock } from "effect"
import { type Place, Turnstile } from "../src/internal/engine/turnstile.js"
import { configWith } from "./configWith.js"
import { forkWork, hanging, macrotask, range, tap } from "./gateWire.js"

type Step =
  & { readonly who: number }
  & (
    | { readonly _tag: "Call"; readonly timeout: number | null }
    | { readonly _tag: "Interrupt"; readonly which: number }
    | { readonly _tag: "Answer"; readonly which: ReadonlyArray<number> }
    | { readonly _tag: "Fail"; readonly which: number; readonly expired: boolean }
    | { readonly _tag: "Disconnect" }
    | { readonly _tag: "Close" }
    | { readonly _tag: "Pass"; readonly millis: number }
    | { readonly _tag: "Pause" }
  )

const index = FastCheck.nat({ max: 30 })
const tag = <T extends string>(tag: T) => FastCheck.constant(tag)
const who = FastCheck.nat({ max: 3 })

const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  {
    weight: 24,
    arbitrary: FastCheck.record({ who, _tag: tag("Call"), timeout: FastCheck.constantFrom(null, 1000, 2000) })
  },
  { weight: 8, arbitrary: FastCheck.record({ who, _tag: tag("Interrupt"), which: index }) },
  {
    weight: 12,
    arbitrary: FastCheck.record({ who, _tag: tag("Answer"), which: FastCheck.array(index, { maxLength: 3 }) })
  },
  { weight: 1, arbitrary: FastCheck.record({ who, _tag: tag("Fail"), which: index, expired: FastCheck.boolean() }) },
  { weight: 1, arbitrary: FastCheck.record({ who, _tag: tag("Disconnect") }) },
  { weight: 1, arbitrary: FastCheck.record({ who, _tag: tag("Close") }) },
  {
    weight: 4,
    arbitrary: FastCheck.record({ who, _tag: tag("Pass"), millis: FastCheck.constantFrom(500, 1000) })
  },
  { weight: 12, arbitrary: FastCheck.record({ who, _tag: tag("Pause") }) }
)

const open = (turns: RequestLimit.RequestLimit, concurrency: number) =>
  Effect.gen(function*() {
    const config = yield* configWith({ timeouts: { request: null } })
    const server = yield* ScriptedServer.make({ ...hanging, config })
    const wire = tap(server.channel)
    const scope = yield* Scope.fork(yield* Effect.scope, { _tag: "Sequential" })
    const session = yield* Scope.extend(McpSession.open(wire.channel, { requests: turns, concurrency }), scope)
    const calls: Array<Fiber.RuntimeFiber<unknown>> = []
    return { server, wire, session, scope, calls, concurrency, isOver: false }
  })

type Peer = Effect.Effect.Success<ReturnType<typeof open>>

const pick = <A>(all: Iterable<A>, which: number): A | undefined => {
  const array = [...all]
  return array[which % array.length]
}

const failure = (expired: boolean): McpError.McpError => {
  const about = { server: "scripted", operation: "x", executed: "no" } as const
  return expired
    ? new McpError.SessionExpired({ ...about, status: 404 })
    : new McpError.ResponseLost({ ...about, reason: "Ended", detail: "the stream ended" })
}

const perform = (peer: Peer, step: Step): Effect.Effect<unknown> => {
  const { server, session, wire } = peer
  switch (step._tag) {
    case "Call":
      return Effect.exit(session.request("x/work", { n: peer.calls.length }, { timeout: step.timeout })).pipe(
        Effect.fork,
        Effect.map((fiber) => peer.calls.push(fiber))
      )
    case "Interrupt": {
      const call = pick(peer.calls, step.which)
      return call === undefined ? Effect.void : Fiber.interruptFork(call)
    }
    case "Answer": {
      const ids = new Set(step.which.map((_) => pick(wire.underWay, _) as number | undefined))
      ids.delete(undefined)
      return peer.isOver ? Effect.void : server.sendRaw(...[...ids].map((id) => ScriptedServer.result(id!, {})))
    }
    case "Fail": {
      const id = pick(wire.underWay, step.which) as number | undefined
      if (id === undefined || peer.isOver) return Effect.void
      return server.failRequest(id, failure(step.expired))
    }
    case "Disconnect":
      if (peer.isOver) return Effect.void
      peer.isOver = true
      return server.disconnect()
    case "Close":
      peer.isOver = true
      return Effect.ensuring(
        Scope.close(peer.scope, Exit.void),
        // Nobody tells the wire.
        Effect.sync(() => (wire.underWay as Set<unknown>).clear())
      )
    case "Pass":
      return TestClock.adjust(step.millis)
    case "Pause":
      return macrotask
  }
}

describe("the turns over all sessions, under any schedule", () => {
  it.scoped.prop(
    "are never more than it says and never unused, are in order within a session, and are all there in the end",
    [
      FastCheck.integer({ min: 1, max: 4 }),
      FastCheck.array(FastCheck.constantFrom(1, 2, Number.POSITIVE_INFINITY), { minLength: 4, maxLength: 4 }),
      FastCheck.array(step, { minLength: 1, maxLength: 80 })
    ],
    ([permits, concurrencies, steps]) =>
      Effect.gen(function*() {
        const turns = yield* RequestLimit.make(permits)
        const peers = yield* Effect.forEach(concurrencies, (_) => open(turns, _))
        const underWay = () => peers.reduce((sum, { wire }) => sum + wire.underWay.size, 0)
        for (const step of steps) {
          const peer = peers[step.who]!
          yield* perform(peer, step)
          assert.isAtMost(underWay(), permits)
          if (step._tag !== "Pause") continue
          let wanted = 0
          for (const { concurrency, session } of peers) {
            wanted += Math.min(concurrency, (yield* session.stats).inFlight)
          }
          assert.strictEqual(underWay(), Math.min(permits, wanted), "no turn is unused")
        }
        yield* macrotask
        for (let round = 0; round < 200 && underWay() > 0; round++) {
          for (const peer of peers) yield* perform(peer, { who: 0, _tag: "Answer", which: range(8) })
          yield* macrotask
        }
        yield* macrotask
        for (const { calls, session, wire } of peers) {
          assert.strictEqual((yield* session.stats).inFlight, 0)
          for (const call of calls) assert(Exit.isExit(yield* Fiber.await(call)))
          const order = wire.sent.map((_) => Number(_.params.n))
          assert.deepStrictEqual(order, [...order].sort((a, b) => a - b), "first come, first served")
        }
        const fresh = yield* open(turns, Number.POSITIVE_INFINITY)
        for (const n of range(permits + 2)) yield* forkWork(fresh.session, n)
        assert.strictEqual(fresh.wire.sent.length, permits, "all permits are there")
      }),
    { fastCheck: { numRuns: 300 } }
  )
})

/** A session with so much to send, at a place. */
class Backlog {
  constructor(
    readonly name: string,
    private readonly place: Place,
    private readonly log: (name: string) => void,
    public left: number
  ) {}

  start(): void {
    while (this.left > 0 && this.place.enter(this)) this.send()
  }

  readonly proceed = (): boolean => {
    if (this.left === 0) return false
    this.send()
    this.start()
    return true
  }

  end(): void {
    this.place.leave()
  }

  private send(): void {
    this.left--
    this.log(this.name)
  }
}

describe("nobody starves", () => {
  it.effect.prop(
    "between two turns of a place, each other that waits has at most one, and all have all of theirs in the end",
    [
      FastCheck.integer({ min: 1, max: 4 }),
      FastCheck.array(FastCheck.integer({ min: 0, max: 12 }), { minLength: 2, maxLength: 6 }),
      FastCheck.array(FastCheck.nat({ max: 20 }), { minLength: 100, maxLength: 100 })
    ],
    ([permits, sizes, ends]) =>
      Effect.gen(function*() {
        const turnstile = new Turnstile(permits)
        const underWay: Array<Backlog> = []
        const log: Array<string> = []
        const all: Array<Backlog> = sizes.map((size, i) =>
          new Backlog(`${i}`, turnstile.placeOf({}), (name) => {
            log.push(name)
            underWay.push(all[Number(name)]!)
            assert.isAtMost(underWay.length, permits)
          }, size)
        )
        for (const one of all) one.start()
        const begun = log.length
        for (const end of ends) {
          if (underWay.length === 0) break
          underWay.splice(end % underWay.length, 1)[0]!.end()
          yield* macrotask
        }
        assert.deepStrictEqual(all.map((_) => _.left), sizes.map(() => 0))
        // While all wait they take turns strictly.
        const handedOn = log.slice(begun)
        for (const [i, name] of handedOn.entries()) {
          const next = handedOn.indexOf(name, i + 1)
          if (next === -1) continue
          const between = handedOn.slice(i + 1, next)
          assert.strictEqual(new Set(between).size, between.length, handedOn.join(" "))
          const waiting = handedOn.slice(next).filter((_) => handedOn.slice(0, i).includes(_) && _ !== name)
          for (const other of new Set(waiting)) assert.include(between, other, handedOn.join(" "))
        }
      }),
    { fastCheck: { numRuns: 200 } }
  )
})
