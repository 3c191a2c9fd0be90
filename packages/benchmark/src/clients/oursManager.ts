/**
 * This library, through `McpManager` and `McpCatalog`.
 */
import { CatalogStore, McpCatalog, type McpConfig, McpManager } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Exit, Layer, Option, Scope, Stream } from "effect"
import type { Wire } from "./client.js"
import { inputOf, runtime } from "./turns.js"

/** A manager and its lists, until `close`. */
export interface Managed {
  readonly manager: McpManager.Manager
  readonly catalog: McpCatalog.Lists
  /** Connects, as far as the start waits for it. */
  readonly connect: () => Promise<void>
  /** Waits until every tool has come from a server that is connected. */
  readonly allLive: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Nothing is connected yet. What is known of earlier runs is in `directory`; without one, nothing is kept. */
export const manage = (wires: ReadonlyArray<Wire>, directory?: string): Promise<Managed> =>
  managed(
    wires.map((wire, i) => inputOf(wire, `server-${i}`)),
    directory === undefined ? CatalogStore.layerNone : NodeMcp.layerCatalog(directory)
  )

export const managed = async (
  servers: ReadonlyArray<McpConfig.ServerConfigInput>,
  store: Layer.Layer<CatalogStore.CatalogStore>
): Promise<Managed> => {
  const scope = Effect.runSync(Scope.make())
  const manager = await runtime.runPromise(
    Effect.flatMap(Layer.build(store), (context) =>
      // More than the default of 10 s: what is measured is time, and not who was given up on a busy machine.
      Effect.provide(McpManager.make({ servers, connectTimeout: "60 seconds" }), context)).pipe(Scope.extend(scope))
  )
  const catalog = McpCatalog.make(manager)
  return {
    manager,
    catalog,
    connect: () => Effect.runPromise(connecting(manager)),
    allLive: () => Effect.runPromise(allLive(catalog, servers.length)),
    close: () => Effect.runPromise(Effect.ensuring(closing(manager), Scope.close(scope, Exit.void)))
  }
}

const connecting = Effect.fnUntraced(function*(manager: McpManager.Manager) {
  yield* manager.connectAll
  for (const [server, error] of yield* manager.errors) return yield* Effect.dieMessage(`${server}: ${error.message}`)
})

const allLive = (catalog: McpCatalog.Lists, count: number): Effect.Effect<void> =>
  catalog.changes.pipe(
    Stream.filter((lists) => lists.length === count && lists.every((_) => _.origin === "live")),
    Stream.runHead,
    Effect.flatMap((found) => Option.isSome(found) ? Effect.void : Effect.dieMessage("the lists have ended"))
  )

const closing = Effect.fnUntraced(function*(manager: McpManager.Manager) {
  for (const error of yield* manager.close) return yield* Effect.die(error)
})

/** Throws where a list is missing or incomplete. */
export const checkLists = (
  lists: ReadonlyArray<McpCatalog.ServerList<unknown>>,
  servers: number,
  tools: number
): void => {
  if (lists.length !== servers || lists.some((_) => _.items.length !== tools)) throw new Error("lists are not complete")
}
