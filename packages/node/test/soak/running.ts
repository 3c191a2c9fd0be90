/**
 * A manager with its toolset, and whether what it says of itself makes sense.
 *
 * Owns: the manager, its handlers for what servers ask, and the watch over its states.
 * May not touch: servers.
 */
import { type CatalogStore, McpCatalog, McpManager, type McpTransport, RetryPolicy, Toolset } from "@mcp-runtime/core"
import type { ClientHandlers } from "@mcp-runtime/core"
import { Effect, Either, Exit, Schedule, Scope, Stream } from "effect"
import type { Lineup } from "./lineup.js"
import { deadlines } from "./lineup.js"

export interface Running {
  readonly manager: McpManager.Manager
  readonly toolbox: Toolset.Toolbox<never, unknown>
  readonly catalog: McpCatalog.Lists
  readonly lineup: Lineup
  /** Connects all servers. */
  readonly start: Effect.Effect<unknown, unknown>
  /** What it has said that makes no sense. */
  readonly nonsense: ReadonlyArray<string>
  readonly end: Effect.Effect<void>
}

/** Loss after loss: a call may be sent again a few times, soon. */
const retry = Either.getOrThrow(RetryPolicy.make({ replays: 5, base: "2 millis", cap: "50 millis" }))

/** Soon, and without end but for processes that keep ending. */
const reconnect = (isRemote: boolean) => ({
  schedule: Schedule.union(Schedule.exponential("5 millis"), Schedule.spaced("250 millis")).pipe(
    Schedule.intersect(isRemote ? Schedule.forever : Schedule.recurs(8))
  ),
  stableAfter: "200 millis" as const,
  coolDown: deadlines.coolDown
})

const handlers: ClientHandlers.Handlers = {
  sampling: {
    create: () =>
      Effect.as(Effect.yieldNow(), { role: "assistant", content: { type: "text", text: "hello" }, model: "none" })
  },
  elicitation: {
    form: ({ message }) =>
      message === "hang" ? Effect.never : message === "fail" ? Effect.fail("no") : Effect.succeed({ action: "decline" })
  },
  roots: { list: Effect.succeed([{ uri: "file:///soak" }]) },
  onNotification: () => Effect.void
}

const up: ReadonlySet<McpManager.Phase> = new Set(["connected", "reconnecting", "idle"])

/**
 * Why a state of a manager makes no sense; nothing where it does. Until it has been started, a server that has failed when it
 * was used is active all the same: its next use tries again.
 */
export const nonsenseOf = (
  { active, servers }: McpManager.ManagerState,
  allowed: ReadonlySet<string>,
  isStarted: boolean
): string | undefined => {
  const names = servers.map((_) => _.name)
  if (!allowed.has(names.join())) return `the servers are in no configured order: ${names.join()}`
  const inOrder = names.filter((_) => active.includes(_))
  if (inOrder.join() !== active.join()) return `the active servers are ${active.join()}, of ${names.join()}`
  for (const { error, name, phase } of servers) {
    const isActive = active.includes(name)
    if (up.has(phase) && !isActive) return `${name} is ${phase}, but not active`
    if (((phase === "failed" && isStarted) || phase === "disabled") && isActive) {
      return `${name} is ${phase}, and active`
    }
    if (phase === "failed" && error === undefined) return `${name} is failed without an error`
    if (phase === "connected" && error !== undefined) return `${name} is connected, with the error ${error.message}`
  }
  return undefined
}

export const make = (
  lineup: Lineup
): Effect.Effect<Running, unknown, McpTransport.McpTransport | CatalogStore.CatalogStore> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const manager = yield* Scope.extend(
      McpManager.make({
        servers: lineup.configs,
        connectTimeout: deadlines.connect,
        closeTimeout: deadlines.close,
        connection: ({ transport }) => ({
          retry,
          handlers,
          reconnect: reconnect(transport !== "stdio" && transport !== "inMemory")
        })
      }),
      scope
    )
    let isStarted = false
    const nonsense: Array<string> = []
    const look = (state: McpManager.ManagerState) =>
      Effect.sync(() => {
        const found = nonsenseOf(state, lineup.allowed, isStarted)
        if (found !== undefined && nonsense.length < 5) nonsense.push(found)
      })
    yield* Effect.forkIn(Stream.runForEach(manager.changes, look), scope)
    const toolset = yield* Toolset.make(manager)
    return {
      manager,
      toolbox: toolset.for(),
      catalog: McpCatalog.make(manager),
      lineup,
      start: Effect.ensuring(
        manager.connectAll,
        Effect.sync(() => {
          isStarted = true
        })
      ),
      nonsense,
      end: Scope.close(scope, Exit.void)
    }
  })
