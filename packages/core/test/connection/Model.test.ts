/**
 * Everything at once, at random: calls, listings, interruptions, losses, failing tries and commands in any order. What must
 * hold in any case is checked while it goes on, and after everything has come to rest. A seed makes it happen again.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, McpError, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { type Clock, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { type Random, randomOf } from "../random.js"
import { expired, http, inMemory, refused, settled, stdio, unauthorized } from "./kit.js"

const lost = new McpError.ResponseLost({
  server: "scripted",
  operation: "x",
  executed: "maybe",
  reason: "Broken",
  detail: "at random"
})

/** What was seen that must never be. */
class Watch {
  readonly problems: Array<string> = []
  readonly executions = new Map<number, number>()
  /** Calls that must not be sent again: they have run, or may have. */
  readonly spent = new Set<number>()
  readonly expired = new Set<number>()
  /** How many pings of a session have had no answer. */
  readonly silences = new Map<number, number>()
  readonly live = new Set<number>()

  /** Whether what is under way in it may have its answer, although it is of no other use. */
  mayDrain(session: number, { transport }: McpConfig.ServerConfig): boolean {
    return this.expired.has(session) || (transport === "http" && (this.silences.get(session) ?? 0) >= 2)
  }

  problem(text: string): void {
    this.problems.push(text)
  }
}

/** The wire, watched: what is sent, and when. */
const watched = (channel: McpTransport.Channel, watch: Watch): McpTransport.Channel => {
  let sessions = 0
  return {
    ...channel,
    open: (events) =>
      Effect.gen(function*() {
        const number = ++sessions
        let step: "new" | "greeted" | "initialized" | "closed" = "new"
        const transport = yield* channel.open(events)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            step = "closed"
            watch.live.delete(number)
          })
        )
        for (const other of watch.live) {
          if (!watch.mayDrain(other, channel.config)) watch.problem(`session ${number} was opened beside ${other}`)
        }
        watch.live.add(number)
        const send: McpTransport.MessageTransport["send"] = (message, accepted) => {
          const method = "method" in message ? message.method : "an answer"
          if (step === "closed") watch.problem(`${method} was sent after session ${number} was closed`)
          else if (method === "initialize") step = step === "new" ? "greeted" : "closed"
          else if (method === "notifications/initialized") step = "initialized"
          else if (step !== "initialized") watch.problem(`${method} was sent before session ${number} was open`)
          transport.send(message, accepted)
        }
        return { ...transport, send }
      })
  }
}

const script = (random: Random, watch: Watch): ScriptedServer.Options => ({
  capabilities: { tools: {}, resources: { subscribe: true } },
  start: () =>
    random.pick<Effect.Effect<void, McpError.McpError>>(
      [14, Effect.void],
      [3, Effect.fail(refused)],
      [1, Effect.fail(unauthorized)],
      [2, Effect.sleep(random.below(2000))],
      [1, Effect.never],
      [1, Effect.die("at random")]
    ),
  close: () => random.pick([8, Effect.void], [1, Effect.sleep(random.below(500))], [1, Effect.yieldNow()]),
  handlers: {
    "tools/call": ({ params, session }, peer) =>
      Effect.suspend(() => {
        const n = Number(params.name)
        if (watch.spent.has(n)) watch.problem(`call ${n} was sent again though it may have run`)
        watch.spent.add(n)
        watch.executions.set(n, (watch.executions.get(n) ?? 0) + 1)
        const notExecuted = (error: McpError.McpError) => {
          watch.spent.delete(n)
          return Effect.fail(error)
        }
        const forgotten = () => {
          watch.expired.add(session)
          return notExecuted(expired)
        }
        if (watch.expired.has(session)) return forgotten()
        const answer: Effect.Effect<unknown, McpError.McpError> = Effect.succeed({ content: [] })
        return Effect.suspend(random.pick<() => Effect.Effect<unknown, McpError.McpError>>(
          [8, () => answer],
          [4, () => Effect.delay(answer, random.below(5000))],
          [2, forgotten],
          [2, () => notExecuted(refused)],
          [1, () => Effect.fail(lost)],
          [1, () => peer.disconnect()],
          [1, () => Effect.never]
        ))
      }),
    "tools/list": ({ params, session }) =>
      random.pick<Effect.Effect<unknown, McpError.McpError>>(
        [
          10,
          Effect.succeed({
            tools: [],
            ...(params.cursor === undefined && { nextCursor: `2 of ${session}` })
          })
        ],
        [1, Effect.fail(refused)],
        [1, Effect.delay(Effect.succeed({ tools: [] }), random.below(2000))]
      ),
    "resources/subscribe": () => Effect.succeed({}),
    ping: ({ session }) => {
      const silence = Effect.suspend(() => {
        watch.silences.set(session, (watch.silences.get(session) ?? 0) + 1)
        return Effect.never
      })
      return random.pick<Effect.Effect<unknown>>([5, Effect.succeed({})], [1, silence])
    }
  }
})

const configOf = (random: Random) =>
  McpConfig.decodeUnknown({
    name: "scripted",
    ...random.pick<object>([1, http], [1, stdio], [1, inMemory]),
    lifetime: random.pick<unknown>([1, "lazy"], [1, "eager"], [1, { idle: "4 seconds" }]),
    timeouts: { handshake: "5 seconds", request: "20 seconds" },
    ...random.pick<object>([1, {}], [1, { concurrency: "serial" }], [1, { concurrency: 3 }]),
    ...random.pick<object>([1, {}], [1, { keepAlive: { every: "3 seconds", timeout: "1 second" } }])
  })

/** The clock, and how many wait for it: `TestClock` also keeps those that were interrupted. */
const counted = (clock: Clock.Clock) => {
  const timers = { count: 0 }
  const sleep: Clock.Clock["sleep"] = (duration) =>
    Effect.suspend(() => {
      timers.count++
      return Effect.ensuring(clock.sleep(duration), Effect.sync(() => void timers.count--))
    })
  return { timers, clock: Object.assign(Object.create(clock) as Clock.Clock, { sleep }) }
}

interface Task {
  readonly name: string
  readonly fiber: Fiber.RuntimeFiber<Exit.Exit<void, McpError.McpError>>
  readonly ends: { count: number }
}

/** The owner may be busy with the end of a session, which takes its time. */
const whileTimePasses = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, Effect.forever(TestClock.adjust(500)))

const run = (seed: number, steps: number) =>
  Effect.gen(function*() {
    const random = randomOf(seed)
    const watch = new Watch()
    const config = yield* configOf(random)
    const server = yield* ScriptedServer.make({ ...script(random, watch), config })
    const scope = yield* Scope.make()
    const { clock, timers } = counted(yield* Effect.clock)
    const connection = yield* Scope.extend(McpConnection.fromChannel(watched(server.channel, watch)), scope).pipe(
      Effect.withClock(clock)
    )
    const tasks: Array<Task> = []
    const holders: Array<Scope.CloseableScope> = []

    const start = <A>(name: string, effect: Effect.Effect<A, McpError.McpError>) =>
      Effect.gen(function*() {
        const ends = { count: 0 }
        const once = Effect.onExit(effect, () => Effect.sync(() => void ends.count++))
        tasks.push({
          name,
          ends,
          fiber: yield* Effect.forkDaemon(Effect.withClock(Effect.exit(Effect.asVoid(once)), clock))
        })
      })
    const closed = (command: "close" | "disable") =>
      Effect.gen(function*() {
        yield* whileTimePasses(connection[command])
        const { live } = yield* server.stats
        if (live.length > 0) watch.problem(`after ${command} sessions ${live.join()} are live`)
      })
    let calls = 0
    const call = Effect.suspend(() => {
      const n = ++calls
      return start(`call ${n}`, McpConnection.callTool(connection, { name: String(n) }))
    })
    const step = (): Effect.Effect<unknown, McpError.McpError> =>
      random.pick<Effect.Effect<unknown, McpError.McpError>>(
        [12, call],
        [3, Effect.repeatN(call, 5)],
        [3, start("listing", McpConnection.listTools(connection))],
        [1, start("subscription", McpConnection.subscribe(connection, `a:${random.below(3)}`))],
        [1, start("awaitReady", connection.awaitReady)],
        [
          3,
          Effect.suspend(() => {
            const task = tasks[random.below(Math.max(1, tasks.length))]
            return task === undefined ? Effect.void : Fiber.interruptFork(task.fiber)
          })
        ],
        [2, Effect.flatMap(server.stats, (_) => _.live.length > 0 ? server.disconnect() : Effect.void)],
        [1, Effect.flatMap(server.stats, (_) => _.live.length > 0 ? server.serverStream("down") : Effect.void)],
        [1, Effect.flatMap(server.stats, (_) => _.live.length > 0 ? server.serverStream("open") : Effect.void)],
        [1, closed("close")],
        [1, start("reconnect", connection.reconnect)],
        [0.5, closed("disable")],
        [1.5, whileTimePasses(connection.enable)],
        [
          1,
          Effect.flatMap(Scope.make(), (holder) => {
            holders.push(holder)
            return start("hold", Scope.extend(connection.hold, holder))
          })
        ],
        [
          1,
          Effect.suspend(() => {
            const [holder] = holders.splice(random.below(Math.max(1, holders.length)), 1)
            return holder === undefined ? Effect.void : Scope.close(holder, Exit.void)
          })
        ],
        [8, Effect.suspend(() => TestClock.adjust([1, 100, 500, 1000, 4000, 5000, 31_000][random.below(7)]!))],
        [4, Effect.repeatN(Effect.yieldNow(), random.below(10))],
        [2, settled]
      )
    for (let i = 0; i < steps; i++) yield* step()
    // Everything comes to rest.
    yield* whileTimePasses(connection.enable)
    for (let i = 0; i < 60; i++) yield* TestClock.adjust("3 seconds")
    yield* settled
    const unsettled = tasks.filter((_) => _.ends.count !== 1 && _.fiber.unsafePoll() === null)
    for (const { name } of unsettled) watch.problem(`${name} has not ended`)
    for (const { ends, name } of tasks) if (ends.count > 1) watch.problem(`${name} ended ${ends.count} times`)
    for (const [n, count] of watch.executions) if (count > 3) watch.problem(`call ${n} was sent ${count} times`)
    yield* closed("close")
    yield* start("a use after all of it", connection.awaitReady)
    yield* whileTimePasses(Scope.close(scope, Exit.void))
    yield* settled
    const { handling, live } = yield* server.stats
    if (live.length > 0) watch.problem(`after the end sessions ${live.join()} are live`)
    if (handling > 0) watch.problem(`after the end ${handling} handlers run`)
    if (timers.count > 0) watch.problem(`after the end there are ${timers.count} timers`)
    if ((yield* connection.state)._tag !== "Closed") watch.problem("after the end it is not Closed")
    for (const { fiber, name } of tasks) if (fiber.unsafePoll() === null) watch.problem(`${name} runs after the end`)
    yield* Effect.forEach(holders, (_) => Scope.close(_, Exit.void))
    const { attempts } = yield* server.stats
    return { problems: watch.problems, calls, executed: watch.executions.size, attempts }
  })

const seeds = Number(process.env.MODEL_SEEDS ?? 12)
const first = Number(process.env.MODEL_FIRST ?? 1)

describe("any interleaving", () => {
  for (let seed = first; seed < first + seeds; seed++) {
    it.scoped(`holds what a connection promises (seed ${seed})`, () =>
      Effect.gen(function*() {
        const before = Fiber.unsafeRoots().length
        const { attempts, calls, executed, problems } = yield* run(seed, 80)
        assert.deepStrictEqual(problems, [])
        assert.isAbove(calls, 10)
        assert.isAbove(executed, 0)
        assert.isAbove(attempts, 1)
        assert.isAtMost(Fiber.unsafeRoots().length, before)
      }))
  }
})
