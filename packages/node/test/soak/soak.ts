/**
 * Many calls over two connections whose servers are disturbed all the time.
 *
 * Owns: who calls what, and when something happens. May not touch: the servers' books, what is measured, the verdict.
 */
import { McpConnection, RetryPolicy } from "@mcp-runtime/core"
import { Effect, Either, ExecutionStrategy, Exit, Fiber, Logger, LogLevel, Scope } from "effect"
import { join } from "node:path"
import { directory } from "../internal/connections.js"
import { Ledger } from "./ledger.js"
import { growth, left, type Sample, sample } from "./measure.js"
import { chance, pick } from "./random.js"
import { httpServer, type Server, stdioServer, textOf } from "./servers.js"

export interface Options {
  readonly seed: number
  readonly rounds: number
  /** Calls per round, over HTTP and over stdio. */
  readonly http: number
  readonly stdio: number
  /** Disturbances per round. */
  readonly httpDisturbances: number
  readonly stdioDisturbances: number
  /** By how many bytes the heap may have grown at the end. */
  readonly heapSlack: number
}

export interface Round {
  readonly calls: number
  readonly sessions: number
  readonly sample: Sample
}

export interface Report {
  readonly rounds: ReadonlyArray<Round>
  readonly ledger: Ledger
  readonly reconnects: number
  readonly replays: number
  readonly disturbances: ReadonlyMap<string, number>
  readonly violations: ReadonlyArray<string>
}

/** What is asked of `chance` about the same call. */
const salt = { kind: 1, slow: 2, patience: 3, disturbance: 4 } as const

const workers = 24

/** How often the connection is used until there is another session. */
const mostProbes = 500

/** Loss after loss: a call may be sent again a few times, soon. */
const retry = Either.getOrThrow(RetryPolicy.make({ replays: 6, base: "1 millis", cap: "20 millis" }))

export const run = (options: Options): Effect.Effect<Report, unknown> =>
  Effect.gen(function*() {
    const unheard: Array<string> = []
    const hear = (what: string) => (reason: unknown) => {
      unheard.push(`${what}: ${String(reason)}`)
    }
    yield* listening({ unhandledRejection: hear("a rejection"), warning: hear("a warning") })
    const path = yield* directory
    const perRound = options.http + options.stdio
    const ledger = new Ledger(options.rounds * perRound)
    const disturbances = new Map<string, number>()
    const rounds: Array<Round> = []
    yield* sample
    const before = yield* sample
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const http = yield* Scope.extend(httpServer(join(path, "http")), scope)
    const stdio = yield* Scope.extend(stdioServer(join(path, "stdio")), scope)
    const use = (server: Server, from: number, count: number, every: number) =>
      workThrough({ options, ledger, disturbances, server, from, to: from + count, every })
    for (let round = 0; round < options.rounds; round++) {
      const from = round * perRound
      yield* Effect.all([
        use(http, from, options.http, Math.floor(options.http / options.httpDisturbances)),
        use(stdio, from + options.http, options.stdio, Math.floor(options.stdio / options.stdioDisturbances))
      ], { concurrency: "unbounded", discard: true })
      yield* Effect.forEach([http, stdio], quiet)
      const sessions = (yield* http.connection.stats).sessions + (yield* stdio.connection.stats).sessions
      rounds.push({ calls: perRound, sessions, sample: yield* sample })
    }
    const stats = [yield* http.connection.stats, yield* stdio.connection.stats]
    yield* Scope.close(scope, Exit.void)
    const violations = [
      ...ledger.audit([http.ledger, stdio.ledger]),
      ...growth(rounds.map((_) => _.sample), options.heapSlack),
      ...left(before, yield* sample),
      ...stats.flatMap(({ holders, open }) =>
        open === 1 && holders === 0 ? [] : [`${open} sessions are open, ${holders} hold them`]
      ),
      ...unheard
    ]
    return {
      rounds,
      ledger,
      disturbances,
      violations,
      reconnects: stats.reduce((sum, { sessions }) => sum + sessions - 1, 0),
      replays: stats.reduce((sum, { replays }) => sum + replays, 0)
    }
  }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))

/** What nobody handles, and warnings, while the soak runs. */
const listening = (handlers: { readonly [event: string]: (reason: unknown) => void }) =>
  Effect.acquireRelease(
    Effect.sync(() => Object.entries(handlers).forEach(([event, handler]) => process.on(event, handler))),
    () => Effect.sync(() => Object.entries(handlers).forEach(([event, handler]) => process.off(event, handler)))
  )

interface Work {
  readonly options: Options
  readonly ledger: Ledger
  readonly disturbances: Map<string, number>
  readonly server: Server
  readonly from: number
  readonly to: number
  /** A disturbance every so many calls. */
  readonly every: number
}

const workThrough = (work: Work): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const oneAtATime = yield* Effect.makeSemaphore(1)
    let next = work.from
    const worker = Effect.gen(function*() {
      while (next < work.to) {
        const key = next++
        if ((key - work.from) % work.every === work.every - 1) yield* oneAtATime.withPermits(1)(disturb(work, key))
        yield* callOnce(work, key)
      }
    })
    yield* Effect.forEach(Array.from({ length: workers }), () => worker, { concurrency: workers, discard: true })
  })

/** Something happens to the server, and is over when there is another session if that is what follows. */
const disturb = ({ disturbances, options, server: { connection, disturbances: possible } }: Work, key: number) =>
  Effect.gen(function*() {
    const { name, renews, run } = pick(possible, chance(options.seed, key, salt.disturbance))
    const { sessions } = yield* connection.stats
    // What is asked of the server for it may meet the one before.
    yield* Effect.retry(run, { times: 20 })
    const which = `${connection.server} ${name}`
    disturbances.set(which, (disturbances.get(which) ?? 0) + 1)
    if (!renews) return
    for (let probe = 0; probe < mostProbes; probe++) {
      if ((yield* connection.stats).sessions > sessions) return
      yield* Effect.ignore(McpConnection.listTools(connection, { retry }))
    }
    return yield* Effect.fail(new Error(`${which}: there is no other session after ${mostProbes} listings`))
  })

const callOnce = ({ ledger, options: { seed }, server: { connection } }: Work, key: number) => {
  const kind = chance(seed, key, salt.kind)
  const isRepeatable = kind < 0.03
  const isImpatient = kind > 0.97
  const call = McpConnection.callTool(
    connection,
    { name: "work", arguments: { key, slow: chance(seed, key, salt.slow) < 0.1 } },
    { retry, ...(isRepeatable && { replay: "always" }) }
  ).pipe(Effect.map(textOf))
  return Effect.uninterruptibleMask((restore) => {
    const settled = Effect.map(Effect.exit(restore(call)), (exit) => ledger.settle(key, exit, isRepeatable))
    return isImpatient ? interrupted(settled, Math.floor(chance(seed, key, salt.patience) * 40)) : settled
  })
}

/** The caller loses patience after so many turns. */
const interrupted = (call: Effect.Effect<unknown>, turns: number) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(call)
    for (let turn = 0; turn < turns; turn++) yield* turn % 4 === 3 ? turnOfTheLoop : Effect.yieldNow()
    yield* Fiber.interrupt(fiber)
  })

const turnOfTheLoop = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Nothing is under way any more. */
const quiet = ({ connection }: Server) =>
  Effect.gen(function*() {
    yield* Effect.retry(McpConnection.listTools(connection, { retry }), { times: 50 })
    // A lost session ends its draining without an event to wait for: it is looked at, a bounded number of times.
    for (let turn = 0; turn < 5000; turn++) {
      if ((yield* connection.stats).open === 1 && (yield* connection.state)._tag === "Ready") return
      yield* Effect.sleep(1)
    }
    const { open } = yield* connection.stats
    return yield* Effect.fail(
      new Error(`${connection.server}: no rest, ${open} open, ${(yield* connection.state)._tag}`)
    )
  })
