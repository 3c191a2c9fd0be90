/**
 * What the tests of the catalogue share: a way to list whose every listing is ended by the test, and lists to give.
 */
import { Catalog, McpError, type McpProtocol } from "@mcp-runtime/core"
import { Deferred, Effect, Exit, FiberId, Queue, Stream } from "effect"
import { settled } from "../connection/kit.js"

export const tool = (name: string, more: Partial<McpProtocol.Tool> = {}): McpProtocol.Tool =>
  Object.freeze({ name, inputSchema: { type: "object" }, ...more })

export const listingOf = <A>(items: ReadonlyArray<A>): McpProtocol.Listing<A> => ({
  items: Object.freeze([...items]),
  dropped: []
})

export const broken = (detail = "it is broken") =>
  new McpError.ConnectionClosed({
    server: "scripted",
    operation: "tools/list",
    executed: "maybe",
    reason: "Reset",
    detail
  })

/** One listing that somebody has asked the server for. */
export interface Asked {
  readonly kind: Catalog.Kind
  readonly via: "list" | "relist"
  readonly answer: Deferred.Deferred<McpProtocol.Listing<never> | undefined, McpError.McpError>
  state: "under way" | "done" | "interrupted"
}

export interface Script extends Catalog.CatalogOptions {
  /** Whether the source tells of listings that nobody waits for. */
  readonly relists?: boolean | undefined
  /** Whether a listing can be interrupted. */
  readonly interruptible?: boolean | undefined
}

/** A catalogue, and the hand that lists for it. */
export const scripted = ({ interruptible = true, relists = false, ...options }: Script = {}) =>
  Effect.gen(function*() {
    const asked: Array<Asked> = []
    const said = yield* Queue.unbounded<McpProtocol.Notification>()
    const asking = (kind: Catalog.Kind, via: Asked["via"]) =>
      Effect.suspend(() => {
        const one: Asked = { kind, via, answer: Deferred.unsafeMake(FiberId.none), state: "under way" }
        asked.push(one)
        const answered = Effect.onExit(Deferred.await(one.answer), (exit) =>
          Effect.sync(() => {
            one.state = Exit.isInterrupted(exit) ? "interrupted" : "done"
          }))
        return interruptible ? answered : Effect.uninterruptible(answered)
      })
    const catalog = yield* Catalog.make({
      server: "scripted",
      list: (kind) => asking(kind, "list") as never,
      ...(relists && { relist: (kind: Catalog.Kind) => asking(kind, "relist") as never }),
      notifications: Stream.fromQueue(said)
    }, options)
    const answer = (at: number, ...names: ReadonlyArray<string | McpProtocol.Tool>) =>
      Effect.zipRight(
        Effect.suspend(() =>
          Deferred.succeed(asked[at]!.answer, listingOf(names.map((_) => typeof _ === "string" ? tool(_) : _)) as never)
        ),
        settled
      )
    const fail = (at: number, error: McpError.McpError = broken()) =>
      Effect.zipRight(Effect.suspend(() => Deferred.fail(asked[at]!.answer, error)), settled)
    const decline = (at: number) =>
      Effect.zipRight(Effect.suspend(() => Deferred.succeed(asked[at]!.answer, undefined)), settled)
    const say = (method: string) => Effect.zipRight(Queue.offer(said, { method, params: {} }), settled)
    return { catalog, tools: catalog.tools, asked, answer, fail, decline, say }
  })

export const toolsChanged = "notifications/tools/list_changed"

export const namesOf = (snapshot: Catalog.Snapshot<{ readonly name: string }> | undefined) =>
  snapshot?.items.map((_) => _.name)

/** A reader, and how it ends. */
export const reader = <A, E>(effect: Effect.Effect<A, E>) => Effect.tap(Effect.fork(effect), () => settled)

/** Everything that a list tells whoever follows it, from here on. */
export const follow = <A>(list: Catalog.List<A>) =>
  Effect.gen(function*() {
    const seen: Array<Catalog.Snapshot<A>> = []
    yield* Effect.forkScoped(Stream.runForEach(list.changes, (_) => Effect.sync(() => void seen.push(_))))
    yield* settled
    return seen
  })

/** As short as it can be told. */
export const brief = (snapshot: Catalog.Snapshot<{ readonly name: string }> | undefined): string =>
  snapshot === undefined
    ? "nothing"
    : `${snapshot.items.map((_) => _.name).join(" ")}${snapshot.origin === "store" ? " stored" : ""}${
      snapshot.stale ? " stale" : ""
    }${snapshot.error === undefined ? "" : ` ${snapshot.error._tag}`}`

/** A storage in memory that tells what was saved. */
export const memory = (stored: Partial<Record<Catalog.Kind, Catalog.Stored<unknown>>> = {}) => {
  const saves: Array<readonly [Catalog.Kind, ReadonlyArray<string>]> = []
  let loads = 0
  const storage: Catalog.Storage = {
    load: (kind) =>
      Effect.suspend(() => {
        loads++
        return Effect.succeed(stored[kind] as never)
      }),
    save: (kind, items) =>
      Effect.sync(() => {
        saves.push([kind, items.map((_) => (_ as { readonly name: string }).name)])
      })
  }
  return { storage, saves, loads: () => loads }
}

export const storedTools = (tools: ReadonlyArray<McpProtocol.Tool>, listedAt = 0) => ({
  tools: { ...listingOf(tools), listedAt }
})
