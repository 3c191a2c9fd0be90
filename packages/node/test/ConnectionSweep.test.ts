/**
 * Somebody uses, reconnects or closes a connection and is interrupted, at each step once. It harms nobody else, the
 * connection is of use afterwards, and its scope leaves nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, type McpError, type McpProtocol, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck, ScriptedServer, StdioFixture } from "@mcp-runtime/testing"
import { Array, Cause, Deferred, Effect, Exit, Fiber, FiberId } from "effect"
import type { Scope } from "effect"
import { strideOf, sweepTime } from "../../core/test/moments.js"
import { awaitState } from "./internal/connections.js"
import { inTurns, stepping } from "./internal/stepping.js"

type Connection = McpConnection.McpConnection

interface Target {
  readonly config: McpConfig.ServerConfig
  readonly transport: McpTransport.McpTransport["Type"]
  /** The server loses the session. */
  readonly lose: (connection: Connection) => Effect.Effect<unknown, McpError.McpError>
  /** How many sessions or processes the server has at this moment. */
  readonly live?: Effect.Effect<number> | undefined
}

const echo = (connection: Connection, n: number) =>
  Effect.map(
    McpConnection.callTool(connection, { name: "echo", arguments: { n } }),
    ({ content }) => assert.include(JSON.stringify(content), String(n))
  )

interface Victim {
  /** Before anybody is interrupted. */
  readonly before: (connection: Connection, target: Target) => Effect.Effect<unknown, McpError.McpError>
  readonly act: (connection: Connection) => Effect.Effect<unknown, McpError.McpError>
  /** Whether it is the wish of the victim that others' calls fail. */
  readonly endsOthers: boolean
}

const victims: { readonly [name: string]: Victim } = {
  connect: { before: () => Effect.void, act: (_) => Effect.asVoid(_.awaitReady), endsOthers: false },
  "first call": { before: () => Effect.void, act: (_) => echo(_, 1), endsOthers: false },
  call: { before: (_) => echo(_, 0), act: (_) => echo(_, 1), endsOthers: false },
  hold: { before: () => Effect.void, act: (_) => Effect.scoped(Effect.asVoid(_.hold)), endsOthers: false },
  reconnect: { before: (_) => echo(_, 0), act: (_) => Effect.asVoid(_.reconnect), endsOthers: true },
  close: { before: (_) => echo(_, 0), act: (_) => _.close, endsOthers: true },
  "close at the start": { before: () => Effect.void, act: (_) => _.close, endsOthers: true },
  "call after a loss": {
    before: (_, { lose }) => Effect.zipRight(echo(_, 0), lose(_)),
    act: (_) => Effect.catchAll(echo(_, 1), () => echo(_, 2)),
    endsOthers: true
  },
  "disable, enable": {
    before: (_) => echo(_, 0),
    act: (_) => Effect.ensuring(_.disable, _.enable),
    endsOthers: true
  }
}

/** One round: how many steps there were when the victim had ended. */
const interruptedAt = (target: Target, victim: Victim, at: number, fine: boolean) =>
  Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    let armed: Fiber.RuntimeFiber<unknown, unknown> | undefined
    let steps = 0
    const step = () => {
      if (armed === undefined || ++steps !== at) return
      armed.unsafeInterruptAsFork(FiberId.none)
      Deferred.unsafeDone(reached, Exit.void)
    }
    const round = Effect.gen(function*() {
      const connection = yield* McpConnection.make(target.config).pipe(
        Effect.provideService(McpTransport.McpTransport, fine ? target.transport : stepping(target.transport, step))
      )
      yield* victim.before(connection, target)
      armed = yield* Effect.fork(victim.act(connection))
      const others = yield* Effect.forEach([10, 11, 12], (n) => Effect.fork(echo(connection, n)))
      const exit = yield* Fiber.await(armed)
      const made = steps
      armed = undefined
      assert.isTrue(Exit.isSuccess(exit) || Exit.isInterrupted(exit), `step ${at}: ${exit}`)
      for (const other of others) {
        const exit = yield* Fiber.await(other)
        if (Exit.isSuccess(exit)) continue
        assert.isTrue(victim.endsOthers, `another's call failed: ${Cause.pretty(exit.cause)}`)
        assert.isTrue(Cause.isFailure(exit.cause) && !Cause.isDie(exit.cause), Cause.pretty(exit.cause))
        assert.isFalse(Cause.isInterrupted(exit.cause), "another's call was interrupted")
      }
      // Who is interrupted while it closes has said so all the same: the owner may do it only now.
      yield* connection.enable
      yield* echo(connection, 20)
      assert.strictEqual((yield* connection.stats).holders, 0)
      yield* onlyOneOpen(connection, target)
      return made
    })
    return yield* fine ? inTurns(step)(round) : round
  })

/** Sessions that are lost or given up are gone, not forgotten. */
const onlyOneOpen = (connection: Connection, { live }: Target) =>
  Effect.gen(function*() {
    assert.strictEqual((yield* connection.stats).open, 1)
    yield* awaitState(connection, "Ready")
    if (live !== undefined) assert.strictEqual(yield* live, 1)
  })

/** How many rounds there are between two looks at what is left. */
const batch = 10

const inTime = Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => new Error("it hangs") })

interface Sweep {
  /** Whether each turn of the fibers is a step, or what the wire does. */
  readonly fine: boolean
  readonly atLeast: number
  /** Every how manieth step is tried. */
  readonly stride: number
}

/** Runs `round`, which says how many steps it made, for each step. */
const sweep = <E>(round: (at: number) => Effect.Effect<number, E, Scope.Scope>, { atLeast, fine, stride }: Sweep) =>
  Effect.gen(function*() {
    const clean = (steps: ReadonlyArray<number>) =>
      LeakCheck.noLeaks(Effect.forEach(steps, (at) =>
        inTime(Effect.scoped(round(at))).pipe(
          Effect.catchAllCause((cause) => Effect.die(new Error(`interrupted at step ${at}: ${Cause.pretty(cause)}`)))
        ))).pipe(Effect.mapError((error) => new Error(`interrupted at steps ${steps.join(", ")}: ${error.message}`)))
    const [total] = yield* clean([Number.MAX_SAFE_INTEGER])
    assert.isAtLeast(total!, atLeast)
    const all = Array.range(1, total!).filter((at) => at % stride === 0)
    for (const steps of Array.chunksOf(all, fine ? batch : 1)) yield* clean(steps)
  })

const decode = (input: McpConfig.ServerConfigInput) => McpConfig.decode(input)

const nodeTransport = Effect.provide(McpTransport.McpTransport, NodeMcp.layer)

const shutdown = { afterEof: "20 millis", afterTerm: "20 millis" } as const

const scripted: Effect.Effect<Target> = Effect.gen(function*() {
  const server = yield* ScriptedServer.make()
  return {
    config: server.channel.config,
    transport: yield* Effect.provide(McpTransport.McpTransport, ScriptedServer.layer(server)),
    lose: () => server.disconnect(),
    live: Effect.map(server.stats, (_) => _.live.length)
  }
})

const stdio = (input: McpConfig.ServerConfigInput) =>
  Effect.all({ config: decode(input), transport: nodeTransport, lose: Effect.succeed(kill) })

const kill = (connection: Connection) =>
  Effect.map(McpConnection.callTool(connection, { name: "pid" }), ({ content }) => {
    const { pid } = JSON.parse((content[0] as McpProtocol.TextContent).text) as { pid: number }
    process.kill(pid, "SIGKILL")
  })

const http = Effect.gen(function*() {
  const server = yield* HttpFixture.make()
  return {
    config: yield* decode({ name: "http", transport: "http", url: server.url }),
    transport: yield* nodeTransport,
    lose: () => server.expireSessions
  }
})

const wires = {
  scripted,
  stdio: stdio(StdioFixture.config([], { shutdown })),
  http
} as const

const stubborn = stdio(StdioFixture.wrapped(["ignoreeof", "ignoreterm"], { shutdown }))

/** How many steps the wire makes at least while the victim acts. */
const leastSteps: { readonly [name: string]: number } = { "close at the start": 0 }

/** Every how manieth turn of the fibers is tried. What is not here differs from another in what it waits for only. */
const strides: { readonly [name: string]: number } = {
  connect: strideOf(19),
  call: strideOf(2),
  reconnect: strideOf(23),
  close: strideOf(19),
  "call after a loss": strideOf(29)
}

/** What ends a process in its course. */
const ending: ReadonlyArray<string> = ["reconnect", "close", "call after a loss"]

type AnyTarget = Effect.Effect<Target, unknown, Scope.Scope>

const sweepVictim = (target: AnyTarget, victim: Victim, sort: Sweep) =>
  Effect.scoped(Effect.flatMap(target, (made) => sweep((at) => interruptedAt(made, victim, at, sort.fine), sort)))

for (const [name, victim] of Object.entries(victims)) {
  const atLeast = leastSteps[name] ?? 2
  const stride = strides[name]
  describe(`interrupted: ${name}`, () => {
    if (stride !== undefined) {
      it.live(
        "at the turns of the fibers, with a scripted server",
        () => sweepVictim(scripted, victim, { fine: true, atLeast: 10, stride }),
        sweepTime
      )
    }
    for (const [wire, target] of Object.entries(wires)) {
      it.live(
        `at each step of the wire, over ${wire}`,
        () => sweepVictim(target, victim, { fine: false, atLeast, stride: 1 }),
        sweepTime
      )
    }
    if (ending.includes(name)) {
      it.live(
        "S09: at steps of the wire, over stdio behind sh -c, ignoring EOF and SIGTERM",
        () => sweepVictim(stubborn, victim, { fine: false, atLeast, stride: strideOf(2) }),
        sweepTime
      )
    }
  })
}

/** A whole life, whose owner is interrupted; somebody else has a call that runs. */
const life = (target: Target, at: number, fine: boolean) =>
  Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    let steps = 0
    const step = () => {
      if (++steps === at) Deferred.unsafeDone(reached, Exit.void)
    }
    let other: Fiber.RuntimeFiber<void, McpError.McpError> | undefined
    const owner = Effect.gen(function*() {
      const connection = yield* McpConnection.make(target.config).pipe(
        Effect.provideService(McpTransport.McpTransport, fine ? target.transport : stepping(target.transport, step))
      )
      other = yield* Effect.forkDaemon(echo(connection, 10))
      yield* echo(connection, 1)
      // What was listed is listed again before the next session is ready.
      yield* McpConnection.listTools(connection)
      yield* connection.reconnect
      yield* echo(connection, 2)
      yield* connection.close
      yield* echo(connection, 3)
    }).pipe(Effect.scoped)
    const fiber = yield* Effect.fork(fine ? inTurns(step)(owner) : owner)
    const exit = yield* Effect.raceFirst(
      Effect.zipRight(Deferred.await(reached), Fiber.interrupt(fiber)),
      Fiber.await(fiber)
    )
    assert.isTrue(Exit.isSuccess(exit) || Exit.isInterrupted(exit), String(exit))
    if (other !== undefined) {
      const exit = yield* Fiber.await(other)
      assert.isTrue(Exit.isSuccess(exit) || Cause.isFailType(exit.cause), String(exit))
    }
    return steps
  })

describe("interrupted: the owner of the scope", () => {
  const swept = (target: AnyTarget, sort: Sweep) =>
    Effect.scoped(Effect.flatMap(target, (made) => sweep((at) => life(made, at, sort.fine), sort)))
  it.live(
    "at the turns of the fibers, with a scripted server",
    () => swept(scripted, { fine: true, atLeast: 100, stride: strideOf(59) }),
    sweepTime
  )
  for (const [wire, target] of Object.entries(wires)) {
    it.live(
      `at each step of the wire, over ${wire}`,
      () => swept(target, { fine: false, atLeast: 50, stride: 1 }),
      sweepTime
    )
  }
  it.live(
    "S09: at steps of the wire, over stdio behind sh -c, ignoring EOF and SIGTERM",
    () => swept(stubborn, { fine: false, atLeast: 50, stride: strideOf(5) }),
    sweepTime
  )
})
