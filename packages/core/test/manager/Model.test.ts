/**
 * A manager at random: its servers are rough, and whatever an application can do is done at once, and interrupted at any
 * moment. What must hold at each moment, of each end, when all is well again and after the end is looked at. A seed makes it
 * happen again: `MODEL_FIRST=42 MODEL_SEEDS=1`.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  CatalogStore,
  McpCatalog,
  type McpConfig,
  McpConnection,
  type McpError,
  McpManager,
  McpTransport,
  Toolset
} from "@mcp-runtime/core"
import { Cause, Effect, Exit, Fiber, Logger, Random as EffectRandom, Scope, Stream } from "effect"
import { Laboratory } from "../fuzz/kit/virtual.js"
import { macrotask, seedsOf, sweepTime } from "../moments.js"
import { type Random, randomOf } from "../random.js"
import { make as roughServer, type RoughServer, Weather } from "./roughServer.js"

const names = ["a", "b", "c", "d"] as const

const inProcess = [() => undefined, () => undefined, () => undefined]

const configOf = (random: Random, { name, transport }: RoughServer): McpConfig.ServerConfigInput => {
  const other = random.below(3)
  const where = {
    stdio: { transport: "stdio", command: `server${other}` },
    http: {
      transport: "http",
      url: `http://127.0.0.1:1/${other}`,
      ...(random.isIn(0.3) && { recovery: "isolated" })
    },
    inMemory: { transport: "inMemory", server: inProcess[other]! }
  }
  return {
    name,
    ...where[transport],
    lifetime: random.pick<unknown>([3, undefined], [1, "lazy"], [1, "eager"], [2, { idle: "4 seconds" }]),
    concurrency: random.pick<unknown>([2, undefined], [1, "serial"], [1, 3]),
    keepAlive: random.pick([3, undefined], [1, { every: "3 seconds", timeout: "1 second" }]),
    enabled: random.isIn(0.9),
    trusted: random.isIn(0.3),
    timeouts: { handshake: "5 seconds", request: "20 seconds" }
  } as McpConfig.ServerConfigInput
}

/** What a store has of a server: what it offers now, or what it never did. */
const storageOf = (random: Random, { tools }: RoughServer) => ({
  load: (kind: string) =>
    Effect.succeed(
      kind === "tools" && random.isIn(0.7) ? { items: tools, dropped: [], listedAt: 0 } as never : undefined
    ),
  save: () => Effect.void
})

const optionsOf = (random: Random, servers: ReadonlyMap<string, RoughServer>, configs: Configs) => {
  const isWarm = random.isIn(0.5)
  return {
    servers: [...configs.values()],
    mode: random.one(["parallel", "sequential"] as const),
    strict: random.isIn(0.2),
    dropFailed: random.isIn(0.8),
    connectTimeout: random.pick([2, undefined], [1, 2000]),
    closeTimeout: random.pick([2, undefined], [1, 2000]),
    startup: { deferred: random.isIn(0.8) },
    requests: random.pick([2, undefined], [1, 2]),
    enrich: random.isIn(0.7),
    connection: ({ name }: McpConfig.ServerConfig) => {
      const server = servers.get(name)!
      return isWarm ? { catalog: { storage: storageOf(random, server) } } : {}
    }
  } satisfies McpManager.ManagerOptions
}

type Configs = ReadonlyMap<string, McpConfig.ServerConfigInput>

/** Something that the application does. */
interface Doing {
  readonly what: string
  readonly kind: "lifecycle" | "use" | "following"
  readonly fiber: Fiber.RuntimeFiber<Exit.Exit<unknown, unknown>>
  exit: Exit.Exit<unknown, unknown> | undefined
  interrupted: boolean
}

type Step = () => Effect.Effect<unknown>

const tagOf = (error: unknown): string => (error as McpError.McpError)._tag

const errorsOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []

const shown = (exit: Exit.Exit<unknown, unknown> | undefined): string =>
  exit === undefined
    ? "nothing"
    : Exit.isSuccess(exit)
    ? "success"
    : errorsOf(exit).map(tagOf).join() || exit.cause._tag

const descriptions = (tools: ReadonlyArray<{ readonly description?: unknown }>): string =>
  tools.map((_) => _.description).join()

const run = (seed: number, steps: number, laboratory: Laboratory) =>
  Effect.gen(function*() {
    const { clock, settled } = laboratory
    const rootsBefore = new Set(Fiber.unsafeRoots())
    const random = randomOf(seed)
    const weather = new Weather(random, random.pick([1, 0], [3, 1], [1, 2]))
    const problem = (text: string) => weather.problem(`${clock.now} ms: ${text}`)
    const servers = new Map(names.map((name) => [name as string, roughServer(name, weather)]))
    const some = (): Configs => {
      const wished = names.filter(() => random.isIn(0.75)).sort(() => random.below(3) - 1)
      return new Map(wished.map((name) => {
        const known = configs.get(name)
        return [name, known !== undefined && random.isIn(0.6) ? known : configOf(random, servers.get(name)!)]
      }))
    }
    let configs: Configs = new Map()
    configs = some()
    // Fibers yield after so many steps, and others have their turns.
    const turn = random.pick([3, 2048], [1, 16], [1, 40], [1, 200])
    const options = optionsOf(random, servers, configs)
    const scope = yield* Scope.make()
    const manager = yield* Scope.extend(McpManager.make(options), scope).pipe(
      Effect.provide(CatalogStore.layerNone),
      Effect.provideService(McpTransport.McpTransport, {
        channel: (config) => Effect.sync(() => servers.get(config.name)!.channel(config))
      }),
      Effect.withRandom(EffectRandom.make(seed)),
      Effect.withMaxOpsBeforeYield(turn)
    )
    const lists = McpCatalog.make(manager)
    const toolbox = (yield* Toolset.make(manager)).for()
    const state = () => Effect.runSync(manager.state)
    const doings: Array<Doing> = []
    let isReleased = false

    // -------------------------------------------------------------------------------------------
    // Doing something, and what must hold of its end
    // -------------------------------------------------------------------------------------------

    const start = <A>(
      kind: Doing["kind"],
      what: string,
      effect: Effect.Effect<A, unknown>,
      judge: (exit: Exit.Exit<A, unknown>) => void = () => {}
    ) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkDaemon(
          Effect.withMaxOpsBeforeYield(Effect.exit(effect), random.one([turn, 2048]))
        )
        const doing: Doing = { what, kind, fiber, exit: undefined, interrupted: false }
        doings.push(doing)
        fiber.addObserver((ended) => {
          const exit = doing.exit = Exit.flatten(ended)
          if (Exit.isFailure(exit) && Cause.isInterrupted(exit.cause) && !doing.interrupted) {
            problem(`${what} was interrupted by nobody`)
          }
          if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) problem(`${what} died: ${Cause.pretty(exit.cause)}`)
          judge(exit as Exit.Exit<A, unknown>)
        })
        return doing
      })

    const interrupt = (doing: Doing) =>
      Effect.suspend(() => {
        doing.interrupted = true
        return Fiber.interruptFork(doing.fiber)
      })

    let calls = 0
    const callOf = (name: string) =>
      Effect.suspend(() => {
        const n = ++calls
        const begins = clock.now
        const maxTotal = random.pick([3, undefined], [1, 50 + random.below(9000)])
        const replay = random.pick<McpConnection.CallOptions["replay"]>([4, undefined], [1, "always"], [1, "never"])
        const timeout = random.pick([3, undefined], [1, 100 + random.below(5000)])
        const args = { n, ...(replay === "always" && { again: true }) }
        const asked = { maxTotal, replay, timeout }
        return start(
          "use",
          `call ${n} of ${name}`,
          manager.callTool(name, { name: "work", arguments: args }, asked),
          (exit) => {
            const times = weather.runs.get(n) ?? 0
            const isLate = maxTotal !== undefined && clock.now > begins + maxTotal
            if (isLate && !Exit.isInterrupted(exit)) problem(`call ${n} of ${name} took longer than ${maxTotal} ms`)
            if (Exit.isSuccess(exit) && times === 0) problem(`call ${n} of ${name} succeeded and has not run`)
            for (const error of errorsOf(exit)) {
              if ((error as McpError.McpError).executed === "no" && times > 0) {
                problem(`call ${n} of ${name} has run, and says that it has not: ${tagOf(error)}`)
              }
            }
          }
        )
      })

    const anyName = () => random.isIn(0.04) ? "nobody" : random.one(names)
    const holders: Array<Scope.CloseableScope> = []
    const using =
      (what: string, use: (connection: McpConnection.McpConnection) => Effect.Effect<unknown, unknown>): Step => () => {
        const name = anyName()
        return start("use", `${what} ${name}`, Effect.flatMap(manager.connection(name), use))
      }
    const following = <A>(stream: Stream.Stream<A, unknown>): Step => () =>
      start(
        "following",
        "a stream",
        Stream.runForEach(stream, () => random.isIn(0.5) ? Effect.void : Effect.sleep(1000))
      )
    const use = (): Effect.Effect<unknown> =>
      random.pick<Step>(
        [12, () => callOf(anyName())],
        [2, () => Effect.repeatN(callOf(random.one(names)), 4)],
        [2, () => start("use", "toolbox.list", toolbox.list)],
        [1, () => start("use", "lists.tools", lists.tools)],
        [1, () => start("use", "lists.invalidate", lists.invalidate)],
        [1, using("awaitReady", (_) => _.awaitReady)],
        [1, using("reconnect", (_) => _.reconnect)],
        [1, using("tools.get", (_) => _.catalog.tools.get)],
        [1, using("tools.refresh", (_) => _.catalog.tools.refresh)],
        [1, using("listTools", (_) => McpConnection.listTools(_))],
        [0.5, using("close", (_) => _.close)],
        [0.5, using("enable", (_) => _.enable)],
        [0.5, using("subscribe", (_) => McpConnection.subscribe(_, "x:1"))],
        [1, () => {
          const holder = Effect.runSync(Scope.make())
          holders.push(holder)
          return using("hold", (_) => Scope.extend(_.hold, holder))()
        }],
        [0.5, following(manager.changes)],
        [0.5, following(Stream.take(toolbox.changes, 3))]
      )()

    const lifecycle = (): Effect.Effect<unknown> => {
      const name = random.one(names)
      const neverFails = (exit: Exit.Exit<unknown, unknown>) => {
        if (!options.strict && !isReleased && errorsOf(exit).length > 0) problem(`it failed: ${shown(exit)}`)
      }
      return random.pick<Step>(
        [3, () => start("lifecycle", "connectAll", manager.connectAll, neverFails)],
        [3, () => start("lifecycle", `connect ${name}`, manager.connect(name))],
        [2, () => start("lifecycle", "reconnect", manager.reconnect(), neverFails)],
        [1, () => start("lifecycle", "reconnect all", manager.reconnect({ failedOnly: false }), neverFails)],
        [2, () => start("lifecycle", `disconnect ${name}`, manager.disconnect(name))],
        [2, () => {
          const next = some()
          return start("lifecycle", "reload", manager.reload([...next.values()]), (exit) => {
            if (Exit.isSuccess(exit)) configs = next
          })
        }],
        [1, () => start("lifecycle", "close", manager.close, neverFails)]
      )()
    }

    const weathering = (): Effect.Effect<unknown> => {
      const living = [...servers.values()].filter((_) => _.live.length > 0)
      const server = random.one(living.length > 0 ? living : [...servers.values()])
      return random.pick<Step>(
        [4, () => server.change],
        [2, () => server.stumble],
        [2, () => server.recover],
        [1, () => server.die],
        [1, () => Effect.sync(() => server.forget())],
        [0.5, () => Effect.sync(() => void (server.refusesCredentials = true))],
        [1, () => Effect.sync(() => server.authorize())]
      )()
    }

    // -------------------------------------------------------------------------------------------
    // What must hold at each moment
    // -------------------------------------------------------------------------------------------

    const isLive = (tag: string | undefined) => tag === "Ready" || tag === "Degraded"
    const coherent = Effect.sync(() => {
      const { active, servers: all } = state()
      const order = all.map((_) => _.name).filter((_) => active.includes(_))
      if (active.join() !== order.join()) problem(`active is out of order: ${active.join()}`)
      for (const { error, name, phase, state } of all) {
        if ((phase === "failed") !== (error !== undefined)) problem(`${name} is ${phase}, its error ${error?._tag}`)
        if (phase === "connected" && !isLive(state?._tag)) {
          problem(`${name} is connected, its connection ${state?._tag}`)
        }
        if (phase === "connected" && !active.includes(name)) problem(`${name} is connected and not active`)
      }
    })
    /** Where nothing more happens without time, what is said to be fresh is what the server offers. */
    const truthful = Effect.zipRight(
      settled,
      Effect.sync(() => {
        for (const { name, phase, state: connection, tools } of state().servers) {
          const server = servers.get(name)!
          if (phase !== "connected" || connection?._tag !== "Ready" || tools === undefined || tools.stale) continue
          const [known, offered] = [descriptions(tools.items), descriptions(server.tools)]
          if (server.isHeard && known !== offered) problem(`of ${name} is known ${known}, not ${offered}`)
        }
      })
    )
    const pass = (millis: number) => Effect.zipRight(laboratory.pass(millis), truthful)
    const ended = <A>(what: string, effect: Effect.Effect<A, unknown>, millis = 10_000) =>
      Effect.gen(function*() {
        const doing = yield* start("use", what, effect)
        yield* pass(millis)
        if (doing.exit === undefined || Exit.isFailure(doing.exit)) problem(`${what}: ${shown(doing.exit)}`)
        return doing.exit !== undefined && Exit.isSuccess(doing.exit) ? doing.exit.value as A : undefined
      })

    let last: McpManager.ManagerState | undefined
    const follower = yield* start(
      "following",
      "the last state",
      Stream.runForEach(manager.changes, (_) => Effect.sync(() => void (last = _)))
    )
    for (let i = 0; i < steps; i++) {
      yield* random.pick<Step>(
        [5, lifecycle],
        [12, use],
        [6, weathering],
        [4, () => {
          const going = doings.filter((_) => _.exit === undefined && _ !== follower)
          return going.length === 0 ? Effect.void : interrupt(random.one(going))
        }],
        [1, () => Effect.forEach(holders.splice(0), (_) => Scope.close(_, Exit.void))],
        [6, () => pass(random.one([1, 50, 100, 300, 1000, 3000, 5000, 12_000, 40_000]))],
        [3, () => Effect.repeatN(Effect.yieldNow(), random.below(20))],
        [3, () => truthful]
      )()
      yield* coherent
    }

    // -------------------------------------------------------------------------------------------
    // All is well
    // -------------------------------------------------------------------------------------------

    weather.clear()
    for (const server of servers.values()) {
      server.authorize()
      yield* server.recover
    }
    yield* Effect.forEach(holders.splice(0), (_) => Scope.close(_, Exit.void))
    // As long as the slowest pause between two tries.
    yield* pass(720_000)
    yield* coherent
    for (const { exit, kind, what } of doings) {
      if (exit === undefined && kind !== "following") problem(`${what} has not ended`)
    }
    for (const { name, phase } of state().servers) {
      if (phase === "connecting" || phase === "reconnecting") problem(`${name} is ${phase}, though all is well`)
    }
    // Who does not know that its session was forgotten learns it by a use.
    for (const name of state().servers.map((_) => _.name)) {
      yield* ended(
        `ping ${name}`,
        Effect.ignore(Effect.flatMap(manager.connection(name), (_) => _.request("ping"))),
        30_000
      )
    }
    yield* ended("connectAll", manager.connectAll, 30_000)
    const usable = state().servers.filter((_) => _.phase !== "disabled")
    for (const { name, phase } of usable) {
      if (phase !== "connected" && phase !== "idle") problem(`${name} is ${phase} in the end`)
      const n = ++calls
      yield* ended(`the last call of ${name}`, manager.callTool(name, { name: "work", arguments: { n } }), 100)
    }
    const read = yield* ended("lists.tools", lists.tools, 100)
    const knownOf = (_: McpCatalog.ServerList<{ readonly description?: unknown }>) =>
      `${_.server} ${descriptions(_.items)}`
    assert.deepStrictEqual(
      read?.map((_) => [_.origin, _.stale, _.error, knownOf(_)]),
      usable.map(({ name }) => ["live", false, undefined, `${name} ${descriptions(servers.get(name)!.tools)}`])
    )
    if (last !== state()) problem("who follows the manager has not seen the last state")
    // What is idle rests, and nobody opens or lists anything.
    yield* pass(40_000)
    const sessions = () => [...servers.values()].map((_) => _.live.join(" ")).join()
    const before = sessions()
    yield* pass(200_000)
    if (sessions() !== before) {
      problem(
        `sessions come and go though nobody does anything: ${before}, then ${sessions()}`
      )
    }

    // -------------------------------------------------------------------------------------------
    // The end
    // -------------------------------------------------------------------------------------------

    for (let i = 0; i < 2; i++) {
      const failures = yield* ended("close", manager.close)
      if (failures?.length !== 0) problem("not all of it closed in order")
      if (/\d/.test(sessions())) problem(`after close there are sessions ${sessions()}`)
    }
    for (const { name } of usable.slice(0, 1)) {
      const error = yield* Effect.flip(manager.callTool(name, { name: "work" }))
      if (error._tag !== "ConnectionUnavailable") problem(`a call after close: ${error._tag}`)
    }
    if (random.isIn(0.5)) yield* start("lifecycle", "connectAll", manager.connectAll)
    for (let i = 0; i < 5; i++) yield* random.isIn(0.5) ? use() : lifecycle()
    yield* Effect.repeatN(Effect.yieldNow(), random.below(50))
    isReleased = true
    const end = yield* Effect.forkDaemon(Scope.close(scope, Exit.void))
    yield* laboratory.pass(180_000)
    if (end.unsafePoll() === null) problem("the scope has not closed")
    for (const { exit, what } of doings) if (exit === undefined) problem(`${what} goes on after the end`)
    yield* Effect.forEach(holders, (_) => Scope.close(_, Exit.void))
    for (const server of servers.values()) {
      const { closed, handling, opened } = yield* server.scripted.stats
      if (opened !== closed) problem(`${server.name} has opened ${opened} sessions, and closed ${closed}`)
      if (handling > 0) problem(`${handling} handlers of ${server.name} run after the end`)
      if (server.isFollowed) problem(`credentials of ${server.name} are followed after the end`)
    }
    if (clock.waiting > 0) problem(`after the end there are ${clock.waiting} timers`)
    const left = Fiber.unsafeRoots().filter((_) => !rootsBefore.has(_) && _.unsafePoll() === null)
    if (left.length > 0) problem(`after the end there are ${left.length} fibers`)
    return weather.problems
  }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

const first = Number(process.env["MODEL_FIRST"] ?? 1)

/** Fibers run some ten thousand times. */
const mostTasks = 5_000_000

describe("McpManager: anything at once", () => {
  for (let seed = first; seed < first + seedsOf(12, 1000); seed++) {
    it(`holds what a manager promises (seed ${seed})`, async () => {
      // A laboratory lets nobody else have a turn: what tells of the tests needs one in between.
      await Effect.runPromise(macrotask)
      const laboratory = new Laboratory(mostTasks)
      const exit = await laboratory.run(run(seed, 80, laboratory))
      assert(Exit.isSuccess(exit), shown(exit))
      assert.deepStrictEqual(exit.value, [])
    }, sweepTime)
  }
})
