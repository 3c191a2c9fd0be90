/**
 * The lists of all active servers, each as its catalogue has it.
 *
 * Owns: which lists there are, in configured order, and that one which can't be read costs no other.
 * May not touch: what is in a list, and when it is read again.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { Items, Kind, List, Snapshot } from "../../Catalog.js"
import type { Lists, ServerList } from "../../McpCatalog.js"
import * as McpError from "../../McpError.js"
import type { Manager, ManagerState, Phase, ServerStatus } from "../../McpManager.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { Connection } from "../connection/connection.js"
import * as Steady from "../steady.js"
import { together } from "../together.js"
import { inTime } from "../within.js"
import type { Glance } from "./glance.js"

/** What is read of a manager. */
export type Servers = Pick<Manager, "state" | "changes" | "configured" | "connection">

/** What servers of our making know, without a step of a fiber. */
export interface AtOnce {
  readonly tools: () => ReadonlyArray<Tools>
  readonly connection: Glance["connection"]
}

export interface Made {
  readonly lists: Lists
  readonly atOnce: AtOnce | undefined
}

export const make = (manager: Servers, glance: Glance | undefined): Made => {
  const remembered = new Remembered()
  const atOnce: AtOnce | undefined = glance &&
    { tools: () => remembered.of(glance.state()), connection: glance.connection }
  const current = Effect.map(manager.state, (state) => remembered.of(state))
  const late = new Late()
  const read = Effect.flatMap(
    all(manager, late, "tools"),
    (read) => Effect.map(current, (known) => areSame(known, read) ? known : read)
  )
  const lists: Lists = {
    current,
    changes: Stream.changes(Stream.map(manager.changes, (state) => remembered.of(state))),
    tools: atOnce === undefined
      ? Effect.flatMap(
        current,
        (known) => Effect.flatMap(areFresh(manager, known), (fresh) => fresh ? Effect.succeed(known) : read)
      )
      : Effect.suspend(() => {
        const known = atOnce.tools()
        return areAllFresh(atOnce, known) ? Effect.succeed(known) : read
      }),
    prompts: all(manager, late, "prompts"),
    resources: all(manager, late, "resources"),
    templates: all(manager, late, "templates"),
    of: (server) => Effect.map(manager.connection(server), (_) => _.catalog),
    invalidate: Effect.flatMap(manager.configured, (names) =>
      Effect.forEach(
        names,
        (name) => Effect.ignore(Effect.flatMap(manager.connection(name), (_) => _.catalog.invalidate)),
        { discard: true }
      ))
  }
  return { lists, atOnce }
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
      const next = lacks(status, "tools")
        ? emptyOf<McpProtocol.Tool>(status.name)
        : listOf(status.name, status.tools, isConnected(status.phase), status.error)
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

const areSame = (a: ReadonlyArray<Tools>, b: ReadonlyArray<Tools>): boolean =>
  a.length === b.length && a.every((list, i) => list.server === b[i]!.server && isSame(list, b[i]!))

/** Only each catalogue knows what has become too old. */
const areFresh = (manager: Servers, known: ReadonlyArray<Tools>): Effect.Effect<boolean> =>
  !known.every(mayBeFresh) ? Effect.succeed(false) : Effect.every(
    known,
    ({ items, server }) =>
      items === nothing
        ? Effect.succeed(true)
        : Effect.match(Effect.flatMap(manager.connection(server), (_) => _.catalog.tools.fresh), {
          onFailure: () => false,
          onSuccess: (fresh) => fresh !== undefined
        })
  )

/** The same, without a step of the fiber for each server. */
const areAllFresh = ({ connection }: AtOnce, known: ReadonlyArray<Tools>): boolean =>
  known.every((list) => mayBeFresh(list) && (list.items === nothing || isFresh(connection(list.server))))

const mayBeFresh = ({ origin, stale }: Tools): boolean => origin === "live" && !stale

const isFresh = (connection: Connection | undefined): boolean =>
  connection !== undefined && connection.owner.catalog.shelves.tools.fresh(connection.owner.now()) !== undefined

const isConnected = (phase: Phase): boolean => phase === "connected"

/** The list of whoever has none. */
const nothing: ReadonlyArray<never> = Object.freeze([])

const emptyOf = <A>(server: string): ServerList<A> =>
  Object.freeze({ server, items: nothing, origin: "live", stale: false, error: undefined })

/** Whether it is connected, and does not offer such a list. */
const lacks = ({ phase, state }: ServerStatus, kind: Kind): boolean =>
  isConnected(phase) && state !== undefined && "info" in state && !offers(state.info.capabilities, kind)

const listOf = <A>(
  server: string,
  snapshot: Snapshot<A> | undefined,
  connected: boolean,
  error: McpError.McpError | undefined
): ServerList<A> =>
  snapshot === undefined
    ? Object.freeze({ server, items: nothing, origin: "unknown", stale: true, error })
    : Object.freeze({
      server,
      items: snapshot.items,
      origin: snapshot.origin === "server" || connected ? "live" : "deferred",
      stale: snapshot.stale,
      error: snapshot.error ?? error
    })

const all = <K extends Kind>(
  manager: Servers,
  late: Late,
  kind: K
): Effect.Effect<ReadonlyArray<ServerList<Items[K]>>> =>
  Effect.flatMap(manager.state, ({ active, servers }) => {
    const names = new Set(active)
    return together(servers.filter((_) => names.has(_.name)), (status) => one(manager, late, status, kind))
  })

/** A server that is not there is not waited for: what is known of it is all there is. */
const one = <K extends Kind>(
  manager: Servers,
  late: Late,
  status: ServerStatus,
  kind: K
): Effect.Effect<ServerList<Items[K]>> =>
  Effect.gen(function*() {
    const { name, phase } = status
    const found = yield* Effect.either(manager.connection(name))
    if (Either.isLeft(found)) return listOf<Items[K]>(name, undefined, false, found.left)
    const list = found.right.catalog[kind] as unknown as List<Items[K]>
    const connected = isConnected(phase)
    if (!connected) return listOf(name, yield* list.current, false, status.error)
    if (lacks(status, kind)) return emptyOf<Items[K]>(name)
    const read = yield* late.unlessLate(name, kind, list, generationOf(status))
    return Either.isLeft(read)
      ? listOf<Items[K]>(name, yield* list.current, true, read.left)
      : listOf(name, read.right, true, undefined)
  })

/** How long one server can keep the lists of the others waiting. */
const patience = 10_000

/** How long one that has done so is not waited for again. */
const notAgainFor = 10_000

const generationOf = ({ state }: ServerStatus): number | undefined =>
  state !== undefined && "generation" in state ? state.generation : undefined

/** A list may have been asked for before there was a session. */
const isLater = (generation: number | undefined, than: number | undefined): boolean =>
  generation !== undefined && than !== undefined && generation !== than

/** The lists that were not there in time, each in a session: the next one, or another server, may be quicker. */
class Late {
  private readonly until = new WeakMap<
    List<unknown>,
    { readonly at: number; readonly generation: number | undefined; readonly error: McpError.McpError }
  >()

  unlessLate<A>(
    server: string,
    kind: Kind,
    list: List<A>,
    generation: number | undefined
  ): Effect.Effect<Either.Either<Snapshot<A>, McpError.McpError>> {
    return Effect.flatMap(Steady.now, (now) => {
      const late = this.until.get(list)
      if (late !== undefined && now < late.at && !isLater(generation, late.generation)) {
        return Effect.map(list.fresh, (fresh) => fresh === undefined ? Either.left(late.error) : Either.right(fresh))
      }
      const tooLate = Effect.map(Steady.now, (at) => {
        const error = didNotAnswer(server, kind)
        this.until.set(list, { at: at + notAgainFor, generation, error })
        return Either.left(error)
      })
      return inTime(Effect.either(list.get), patience, () => tooLate)
    })
  }
}

const didNotAnswer = (server: string, kind: Kind): McpError.McpError =>
  new McpError.RequestTimeout({
    server,
    operation: kind === "templates" ? "resources/templates/list" : `${kind}/list`,
    executed: "maybe",
    kind: "total",
    millis: patience,
    detail: "the lists of the other servers do not wait for it any longer"
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
