/**
 * What the tests of the start share: a store whose behaviour can be changed, and what is shown of lists, in few words.
 */
import { type Catalog, CatalogStore, type McpCatalog, type McpManager, type McpProtocol } from "@mcp-runtime/core"
import { Effect, Layer, Stream } from "effect"
import { settled } from "./kit.js"

export const toolOf = (tool: string | Partial<McpProtocol.Tool> & { readonly name: string }): McpProtocol.Tool =>
  Object.freeze({ inputSchema: { type: "object" as const }, ...(typeof tool === "string" ? { name: tool } : tool) })

/** The tools of servers, by the names of these; they answer at once unless they are told otherwise. */
export const storeOf = (
  stored: { readonly [server: string]: ReadonlyArray<string | Partial<McpProtocol.Tool> & { readonly name: string }> }
) => {
  const tools = new Map<string, ReadonlyArray<McpProtocol.Tool>>(
    Object.entries(stored).map(([server, tools]) => [server, Object.freeze(tools.map(toolOf))])
  )
  const saves: Array<string> = []
  const behaviour = { beforeLoad: Effect.void as Effect.Effect<void>, loads: 0 }
  const of = ({ name }: { readonly name: string }): Catalog.Storage => ({
    load: (kind) =>
      Effect.suspend(() => {
        behaviour.loads++
        return Effect.map(
          behaviour.beforeLoad,
          () => {
            const items = kind === "tools" ? tools.get(name) : undefined
            return items === undefined ? undefined : ({ items, dropped: [], listedAt: 0 }) as never
          }
        )
      }),
    save: (kind, items) =>
      Effect.sync(() => {
        saves.push(`${name} ${kind} ${items.length}`)
        if (kind === "tools") tools.set(name, items as ReadonlyArray<McpProtocol.Tool>)
      })
  })
  return Object.assign(behaviour, { tools, saves, layer: Layer.succeed(CatalogStore.CatalogStore, { of }) })
}

/** `"a deferred: x y, b unknown:"` */
export const told = (lists: ReadonlyArray<McpCatalog.ServerList<{ readonly name: string }>>): string =>
  lists.map(({ error, items, origin, server, stale }) =>
    [
      `${server} ${origin}${stale && origin === "live" ? " stale" : ""}:`,
      ...items.map((_) => _.name),
      ...(error === undefined ? [] : [`(${error._tag})`])
    ].join(" ")
  ).join(", ")

/** What whoever follows is told, in few words, from here on. */
export const following = <A>(changes: Stream.Stream<A>, f: (value: A) => string) =>
  Effect.gen(function*() {
    const seen: Array<string> = []
    yield* Effect.forkScoped(Stream.runForEach(changes, (_) => Effect.sync(() => void seen.push(f(_)))))
    yield* settled
    return seen
  })

export const phasesOf = ({ servers }: McpManager.ManagerState): string =>
  servers.map((_) => `${_.name} ${_.phase}`).join(", ")
