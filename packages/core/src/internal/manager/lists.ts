/**
 * The lists of all active servers, each as its catalogue has it.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { Items, Kind, List, Snapshot } from "../../Catalog.js"
import type { Lists, ServerList } from "../../McpCatalog.js"
import type * as McpError from "../../McpError.js"
import type { Manager, ManagerState, Phase, ServerStatus } from "../../McpManager.js"
import type * as McpProtocol from "../../McpProtocol.js"

export const make = (manager: Manager): Lists => {
  const remembered = new Remembered()
  const current = Effect.map(manager.state, (state) => remembered.of(state))
  return {
    current,
    changes: Stream.changes(Stream.map(manager.changes, (state) => remembered.of(state))),
    tools: Effect.flatMap(
      current,
      (known) => known.every((_) => _.origin === "live" && !_.stale) ? Effect.succeed(known) : all(manager, "tools")
    ),
    prompts: all(manager, "prompts"),
    resources: all(manager, "resources"),
    templates: all(manager, "templates"),
    of: (server) => Effect.map(manager.connection(server), (_) => _.catalog),
    invalidate: Effect.flatMap(manager.configured, (names) =>
      Effect.forEach(
        names,
        (name) => Effect.ignore(Effect.flatMap(manager.connection(name), (_) => _.catalog.invalidate)),
        { discard: true }
      ))
  }
}

type Tools = ServerList<McpProtocol.Tool>

/** The same lists are the same value, so that who has derived something from them need not do so again. */
class Remembered {
  private state: ManagerState | undefined = undefined
  private lists: ReadonlyArray<Tools> = []

  of(state: ManagerState): ReadonlyArray<Tools> {
    if (this.state === state) return this.lists
    const active = new Set(state.active)
    const known = new Map(this.lists.map((_) => [_.server, _]))
    const lists = state.servers.filter((_) => active.has(_.name)).map((status) => {
      const next = listOf(status.name, status.tools, isConnected(status.phase), status.error)
      const last = known.get(status.name)
      return last !== undefined && isSame(last, next) ? last : next
    })
    const unchanged = lists.length === this.lists.length && lists.every((list, i) => list === this.lists[i])
    this.state = state
    if (!unchanged) this.lists = Object.freeze(lists)
    return this.lists
  }
}

const isSame = (a: Tools, b: Tools): boolean =>
  a.items === b.items && a.origin === b.origin && a.stale === b.stale && a.error === b.error

const isConnected = (phase: Phase): boolean => phase === "connected"

const listOf = <A>(
  server: string,
  snapshot: Snapshot<A> | undefined,
  connected: boolean,
  error: McpError.McpError | undefined
): ServerList<A> =>
  snapshot === undefined
    ? Object.freeze({ server, items: [], origin: "unknown", stale: true, error })
    : Object.freeze({
      server,
      items: snapshot.items,
      origin: snapshot.origin === "server" || connected ? "live" : "deferred",
      stale: snapshot.stale,
      error: snapshot.error ?? error
    })

const all = <K extends Kind>(manager: Manager, kind: K): Effect.Effect<ReadonlyArray<ServerList<Items[K]>>> =>
  Effect.flatMap(manager.state, ({ active, servers }) => {
    const names = new Set(active)
    return Effect.forEach(
      servers.filter((_) => names.has(_.name)),
      (status) => one(manager, status, kind),
      { concurrency: "unbounded" }
    )
  })

/** A server that is not there is not waited for: what is known of it is all there is. */
const one = <K extends Kind>(
  manager: Manager,
  status: ServerStatus,
  kind: K
): Effect.Effect<ServerList<Items[K]>> =>
  Effect.gen(function*() {
    const { name, phase, state } = status
    const found = yield* Effect.either(manager.connection(name))
    if (Either.isLeft(found)) return listOf<Items[K]>(name, undefined, false, found.left)
    const list = found.right.catalog[kind] as unknown as List<Items[K]>
    const connected = isConnected(phase)
    if (!connected) return listOf(name, yield* list.current, false, status.error)
    if (state !== undefined && "info" in state && !offers(state.info.capabilities, kind)) {
      return Object.freeze({ server: name, items: [], origin: "live", stale: false, error: undefined })
    }
    const read = yield* Effect.either(list.get)
    return Either.isLeft(read)
      ? listOf<Items[K]>(name, undefined, true, read.left)
      : listOf(name, read.right, true, undefined)
  })

const offers = (capabilities: McpProtocol.ServerCapabilities, kind: Kind): boolean => {
  switch (kind) {
    case "tools":
      return capabilities.tools !== undefined
    case "prompts":
      return capabilities.prompts !== undefined
    default:
      return capabilities.resources !== undefined
  }
}
