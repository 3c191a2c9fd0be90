/**
 * What the tests of the manager share: scripted servers whose behaviour can be changed at any moment, a manager over them,
 * and what it shows, in few words.
 */
import { assert } from "@effect/vitest"
import { CatalogStore, type McpConfig, McpError, McpManager, type McpProtocol } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { type Cause, Effect, Exit, Fiber, FiberRef, HashSet, Layer, Logger, LogLevel, Scope, TestClock } from "effect"
import { macrotask } from "../gateWire.js"

/** What a server does from now on, in each new session. */
export type Way =
  | "works"
  /** Nothing happens when its process is started. */
  | "hangs at start"
  | "hangs in initialize"
  | "hangs in tools/list"
  /** Its process ends in the handshake. */
  | "exits"
  | "dies at start"
  | "interrupts itself at start"
  | "unauthorized"
  | "refused"
  | "forbidden"

/** What a session does when it is closed. */
export type Closing = "works" | "hangs" | "dies" | number

export interface FakeOptions extends Omit<ScriptedServer.Options, "name" | "config" | "start" | "close" | "tools"> {
  readonly way?: Way | undefined
  readonly closing?: Closing | undefined
  /** How long its start takes, in milliseconds. */
  readonly delay?: number | undefined
  readonly tools?: ReadonlyArray<string | ScriptedServer.ScriptedTool> | undefined
  /** More fields of its configuration. */
  readonly config?: object | undefined
  /** Where it notes when a session is opened, ready and closed: `"+a"`, `"-a"`. */
  readonly journal?: Array<string> | undefined
}

/** A server whose behaviour can be changed. */
export interface Fake {
  readonly name: string
  readonly config: McpConfig.ServerConfigInput
  readonly server: ScriptedServer.ScriptedServer
  way: Way
  closing: Closing
  delay: number
  /** Lets go of all sessions that hang while they are closed. */
  readonly letGo: () => void
}

const errorOf = (server: string) => ({ server, operation: "open", executed: "no" }) as const

export const refused = (server: string) =>
  new McpError.ConnectFailed({
    ...errorOf(server),
    reason: "Refused",
    url: "http://127.0.0.1:1",
    detail: "it is refused"
  })

export const unauthorized = (server: string) => new McpError.Unauthorized(errorOf(server))

export const forbidden = (server: string) => new McpError.Forbidden({ ...errorOf(server), body: "" })

/** It works, over stdio, with one tool of its own name, unless the options say otherwise. */
export const fake = (name: string, options: FakeOptions = {}): Effect.Effect<Fake> =>
  Effect.gen(function*() {
    const { closing = "works", config, delay = 0, handlers, journal, tools = [name], way = "works", ...script } =
      options
    const hanging = new Set<() => void>()
    const input = { name, transport: "stdio", command: "server", ...config } as McpConfig.ServerConfigInput
    const behaviour = { way, closing, delay }
    const offered = tools.map((_) => typeof _ === "string" ? { name: _ } : _)
    const start = (): Effect.Effect<void, McpError.McpError> => {
      journal?.push(`+${name}`)
      switch (behaviour.way) {
        case "hangs at start":
          return Effect.never
        case "interrupts itself at start":
          return Effect.interrupt
        case "dies at start":
          return Effect.dieMessage("scripted")
        case "unauthorized":
          return Effect.fail(unauthorized(name))
        case "forbidden":
          return Effect.fail(forbidden(name))
        case "refused":
          return Effect.fail(refused(name))
        default:
          return Effect.void
      }
    }
    const close = Effect.suspend(() => {
      switch (behaviour.closing) {
        case "works":
          return Effect.void
        case "dies":
          return Effect.dieMessage("scripted")
        case "hangs":
          return Effect.async<void>((resume) => void hanging.add(() => resume(Effect.void)))
        default:
          return Effect.sleep(behaviour.closing)
      }
    })
    const initialize: ScriptedServer.Handler = (request, peer) =>
      behaviour.way === "hangs in initialize"
        ? Effect.never
        : behaviour.way === "exits"
        ? Effect.zipRight(peer.disconnect(), Effect.never)
        : Effect.succeed({
          protocolVersion: request.params.protocolVersion,
          capabilities: script.capabilities ?? { tools: {} },
          serverInfo: { name, version: "1" }
        })
    const list: ScriptedServer.Handler = () =>
      behaviour.way === "hangs in tools/list" ? Effect.never : Effect.succeed({ tools: offered.map(declared) })
    const server = yield* ScriptedServer.make({
      ...script,
      config: input as McpConfig.ServerConfig,
      tools: offered,
      handlers: { initialize, "tools/list": list, ...handlers },
      start: () =>
        Effect.suspend(() => behaviour.delay > 0 ? Effect.delay(Effect.suspend(start), behaviour.delay) : start()),
      close: () =>
        Effect.ensuring(
          close,
          Effect.sync(() => void journal?.push(`-${name}`))
        )
    })
    const letGo = () => {
      for (const resume of hanging) resume()
      hanging.clear()
    }
    return Object.assign(behaviour, { name, config: input, server, letGo })
  })

const declared = ({ call: _, ...tool }: ScriptedServer.ScriptedTool) => ({ inputSchema: { type: "object" }, ...tool })

/** Several of them, by name, with the same options. */
export const fakes = (names: string, options?: FakeOptions): Effect.Effect<ReadonlyArray<Fake>> =>
  Effect.forEach(names.split(" "), (name) => fake(name, options))

export interface Over extends Partial<McpManager.ManagerOptions> {
  /** Servers that are there, but not configured at first. */
  readonly others?: ReadonlyArray<Fake> | undefined
  readonly store?: Layer.Layer<CatalogStore.CatalogStore> | undefined
  /** Where it notes what is logged; otherwise nothing of it is seen. */
  readonly lines?: Array<Line> | undefined
}

/** A manager over these servers. Nothing is stored unless it is given a store. */
export const over = (
  all: ReadonlyArray<Fake>,
  { lines, others = [], store = CatalogStore.layerNone, ...options }: Over = {}
) =>
  McpManager.make({ servers: all.map((_) => _.config), ...options }).pipe(
    Effect.provide(
      Layer.merge(ScriptedServer.layer(...[...all, ...others].map((_) => _.server)), store)
    ),
    heard(lines)
  )

/** The same in a scope of its own, and what closes that. */
export const overInScope = (all: ReadonlyArray<Fake>, options?: Over) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const manager = yield* Scope.extend(over(all, options), scope)
    return { manager, end: Scope.close(scope, Exit.void) }
  })

// -------------------------------------------------------------------------------------------------
// What it shows
// -------------------------------------------------------------------------------------------------

/** `"a connected, b failed"`. */
export const phases = ({ state }: McpManager.Manager): Effect.Effect<string> =>
  Effect.map(state, ({ servers }) => servers.map(({ name, phase }) => `${name} ${phase}`).join(", "))

/** All views: `{ active: "a c", connected: "a c", failed: "b", errors: "b RequestTimeout", phases: ... }`. */
export const views = (manager: McpManager.Manager) =>
  Effect.gen(function*() {
    const joined = (names: ReadonlyArray<string>) => names.join(" ")
    const errors = yield* manager.errors
    return {
      active: joined(yield* manager.active),
      connected: joined(yield* manager.connected),
      failed: joined(yield* manager.failed),
      errors: [...errors].map(([name, error]) => `${name} ${error._tag}`).join(", "),
      phases: yield* phases(manager)
    }
  })

/** The number of the session that a server has now; nothing where it has none. */
export const generation = (manager: McpManager.Manager, name: string) =>
  Effect.map(
    manager.status(name),
    ({ state }) => state !== undefined && "generation" in state ? state.generation : undefined
  )

/** Everything that was opened is closed, and no handler runs. */
export const assertNothingLeft = (...all: ReadonlyArray<Fake>) =>
  Effect.forEach(
    all,
    ({ name, server }) =>
      Effect.map(server.stats, ({ closed, handling, live, opened }) =>
        assert.deepStrictEqual(
          { name, open: opened - closed, live, handling },
          { name, open: 0, live: [], handling: 0 }
        )),
    { discard: true }
  )

// -------------------------------------------------------------------------------------------------
// Doing
// -------------------------------------------------------------------------------------------------

/** Everything has happened that needs no time. */
export const settled = Effect.repeatN(macrotask, 4)

/** How it ends, as a fiber, after everything has happened that needs no time. */
export const begun = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tap(Effect.fork(Effect.exit(effect)), () => settled)

/** How it ends when it is interrupted. */
export const interrupted = <A, E>(fiber: Fiber.RuntimeFiber<Exit.Exit<A, E>>) =>
  Effect.map(Fiber.interrupt(fiber), Exit.flatten)

/** Whether the fiber has ended. */
export const isDone = (fiber: Fiber.RuntimeFiber<unknown, unknown>) =>
  Effect.map(fiber.status, (_) => _._tag === "Done")

/** Time passes in steps, so that whatever happens in between has its own moment. */
export const pass = (millis: number, step: number = millis) =>
  Effect.gen(function*() {
    for (let left = millis; left > 0; left -= step) {
      yield* TestClock.adjust(Math.min(step, left))
      yield* settled
    }
  })

/** The result of what needs time, which passes until it has ended, with the milliseconds that it took. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>, step = 50, most = 120_000) =>
  Effect.gen(function*() {
    const fiber = yield* begun(effect)
    let took = 0
    while (!(yield* isDone(fiber)) && took < most) {
      yield* pass(step)
      took += step
    }
    assert(yield* isDone(fiber), `it did not end within ${most} ms`)
    return { exit: yield* Fiber.join(fiber), took }
  })

/** The error it fails with. */
export const failure = <A, E>(exit: Exit.Exit<A, E>): E => {
  assert(Exit.isFailure(exit), "it should have failed")
  assert(exit.cause._tag === "Fail", `it should have failed with an error: ${tagOf(exit.cause)}`)
  return exit.cause.error
}

const tagOf = (cause: Cause.Cause<unknown>): string => cause._tag

/** `"a: ConnectFailed"`, or all of them where there are several. */
export const brief = (error: McpError.McpError): string =>
  error._tag === "ServersFailed"
    ? `${error.server}: ${error.errors.map((_) => `${_.server} ${_._tag}`).join(", ")}`
    : `${error.server}: ${error._tag}`

/** In one word, how it ended. */
export const ending = <A>(exit: Exit.Exit<A, McpError.McpError>): string =>
  Exit.isSuccess(exit)
    ? "success"
    : exit.cause._tag === "Fail"
    ? brief(exit.cause.error)
    : Exit.isInterrupted(exit)
    ? "interrupted"
    : exit.cause._tag

/** The text of the result of a call. */
export const textOf = (result: McpProtocol.CallToolResult): string | undefined => {
  const [first] = result.content
  return first?.type === "text" ? first.text : undefined
}

export interface Line {
  readonly level: string
  readonly server: unknown
  readonly text: string
  readonly cause: Cause.Cause<unknown>
}

/** Notes what is logged, at every level. */
export const noting = (lines: Array<Line>) =>
  Layer.merge(Logger.minimumLogLevel(LogLevel.All), Logger.replace(Logger.defaultLogger, noter(lines)))

const noter = (lines: Array<Line>) =>
  Logger.make(({ annotations, cause, logLevel, message }) => {
    const [server] = [...annotations].filter(([key]) => key === "mcp.server").map(([, value]) => value)
    lines.push({ level: logLevel.label, server, text: String(message), cause })
  })

/** The lines that this causes are noted there and nowhere else; without a place they are lost. */
const heard = (lines: Array<Line> | undefined) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  lines === undefined
    ? Effect.provide(effect, Logger.remove(Logger.defaultLogger))
    : effect.pipe(
      Effect.locally(FiberRef.currentLoggers, HashSet.make(noter(lines))),
      Effect.locally(FiberRef.currentMinimumLogLevel, LogLevel.All)
    )
