/**
 * The catalogue of one server over a way to list.
 *
 * Owns: when a list is read: because somebody wants it, or because the server said that it has changed.
 * May not touch: how it is read, and what it says.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Catalog from "../../Catalog.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as Check from "../options.js"
import { Debounce } from "./debounce.js"
import { Flights, type Fork, forkIn } from "./flights.js"
import type { Kind, Shelf } from "./shelf.js"
import { Shelves } from "./shelves.js"

/** What those who list need beside what applications see. */
export interface Internal extends Catalog.Catalog {
  readonly shelves: Shelves
  readonly hear: (notification: McpProtocol.Notification) => void
  /** The tools, from the server, to connect it. Whoever waits for them at once shares one listing. */
  readonly readTools: Effect.Effect<Catalog.Snapshot<McpProtocol.Tool>, McpError.McpError>
  /** The listing that began then is complete. */
  readonly remember: <K extends Kind>(
    kind: K,
    began: number,
    listing: McpProtocol.Listing<Catalog.Items[K]>
  ) => void
}

/** How a connection lists. */
export interface Source extends Catalog.Source {
  /** As `list`, in order to connect: it takes no turn from those who call, and waits for none. */
  readonly first?: Catalog.Source["list"] | undefined
}

const kinds: ReadonlyArray<Kind> = ["tools", "prompts", "resources", "templates"]

/** What is stored is stored again after this time, so that it does not get too old while nothing changes. */
const storedAgainAfter = 24 * 60 * 60 * 1000

export const make = (
  source: Source,
  options: Catalog.CatalogOptions = {},
  /** Called, synchronously, when a list has changed. Total. */
  observer?: () => void
): Effect.Effect<Internal, McpError.ConfigInvalid, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const settings = yield* settingsOf(source.server, options)
      const shelves = new Shelves(settings.ttl, observer)
      const fork = yield* forkIn(yield* Effect.scope)
      const clock = yield* Effect.clock
      const keeper = new Keeper(source, options.storage, shelves, settings, fork, clock)
      yield* Effect.addFinalizer(() => Effect.sync(() => keeper.release()))
      if (source.notifications !== undefined) {
        fork(Stream.runForEach(source.notifications, (notification) => Effect.sync(() => keeper.hear(notification))))
      }
      return visible(source.server, keeper)
    })
  )

interface Settings {
  /** In milliseconds; what is listed is never fresh for whoever asks where it is 0. */
  readonly ttl: number
  readonly debounce: number
}

const settingsOf = (
  server: string,
  { cache = "session", debounce = 100 }: Catalog.CatalogOptions
): Either.Either<Settings, McpError.ConfigInvalid> => {
  const problems: Array<McpError.ConfigProblem> = []
  const value = (field: string, checked: Check.Checked<number>): number => {
    if (Either.isLeft(checked)) problems.push({ field, problem: checked.left })
    return Either.getOrElse(checked, () => 0)
  }
  const isTtl = typeof cache === "object" && cache !== null
  if (!isTtl && cache !== "off" && cache !== "session") {
    problems.push({ field: "catalog.cache", problem: `must be "off", "session" or { ttl: a duration }` })
  }
  const settings = {
    ttl: isTtl
      ? value("catalog.cache.ttl", Check.finiteBound(cache.ttl))
      : cache === "off"
      ? 0
      : Number.POSITIVE_INFINITY,
    debounce: value("catalog.debounce", Check.base(debounce))
  }
  return problems.length === 0
    ? Either.right(settings)
    : Either.left(new McpError.ConfigInvalid({ server, operation: "configure", executed: "no", problems }))
}

type Reading<K extends Kind> = Catalog.Snapshot<Catalog.Items[K]>

/** It can't be read without somebody who waits for it. Never leaves this module. */
const notNow = Symbol("mcp-runtime/notNow")

type Unread = McpError.McpError | typeof notNow

class Keeper {
  private readonly flights = new Map<Kind, Flights<Reading<never>, Unread>>()
  private readonly debounces: { readonly [K in Kind]: Debounce }
  /** When the server said that a list has changed which was not there yet: it may have been listed just then. */
  private readonly heardAt = new Map<Kind, number>()
  private readonly saved = new Map<Kind, { readonly items: ReadonlyArray<unknown>; readonly at: number }>()

  constructor(
    private readonly source: Source,
    private readonly storage: Catalog.Storage | undefined,
    readonly shelves: Shelves,
    private readonly settings: Settings,
    private readonly fork: Fork,
    private readonly clock: Clock.Clock
  ) {
    const debounce = () => new Debounce(settings.debounce, clock)
    this.debounces = { tools: debounce(), prompts: debounce(), resources: debounce(), templates: debounce() }
    for (const kind of kinds) {
      this.flights.set(kind, new Flights<Reading<never>, Unread>(fork, () => released(source.server)))
    }
  }

  /** Nobody waits any longer. */
  release(): void {
    for (const shelf of this.shelves.all) shelf.end()
    for (const flights of this.flights.values()) flights.release()
  }

  now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  private shelf<K extends Kind>(kind: K): Shelf<K> {
    return this.shelves.of(kind)
  }

  private flightsOf<K extends Kind>(kind: K): Flights<Reading<K>, Unread> {
    return this.flights.get(kind) as never
  }

  get<K extends Kind>(kind: K): Effect.Effect<Reading<K>, McpError.McpError> {
    return Effect.suspend(() => {
      const fresh = this.shelf(kind).fresh(this.now())
      return fresh !== undefined ? Effect.succeed(fresh) : Effect.catchAll(this.read(kind), (error) => {
        const last = this.shelf(kind).current(this.now())
        if (last === undefined) return Effect.fail(error)
        return Effect.succeed(last.stale && last.error === undefined ? Object.freeze({ ...last, error }) : last)
      })
    })
  }

  /** As the listing of the current generation ends. */
  read<K extends Kind>(kind: K, toConnect = false): Effect.Effect<Reading<K>, McpError.McpError> {
    const { source } = this
    const list = () => toConnect && source.first !== undefined ? source.first(kind) : source.list(kind)
    return Effect.suspend(() =>
      Effect.catchAll(
        this.flightsOf(kind).join(this.shelf(kind).generation, this.listing(kind, list)),
        // What was under way was nobody's.
        (error) => error === notNow ? this.read(kind, toConnect) : Effect.fail(error)
      )
    )
  }

  refresh<K extends Kind>(kind: K): Effect.Effect<Reading<K>, McpError.McpError> {
    return Effect.suspend(() => {
      // What is under way may have begun before what the caller knows of.
      this.shelf(kind).outdate()
      // Whoever asks for the same at this moment shares one listing.
      return Effect.zipRight(Effect.yieldNow(), this.read(kind))
    })
  }

  private listing<K extends Kind>(
    kind: K,
    list: () => Effect.Effect<McpProtocol.Listing<Catalog.Items[K]> | undefined, McpError.McpError>
  ): Effect.Effect<Reading<K>, Unread> {
    return Effect.suspend(() => {
      const shelf = this.shelf(kind)
      const began = shelf.begin()
      return list().pipe(
        Effect.tapError((error) => Effect.sync(() => shelf.failed(began, error))),
        Effect.flatMap((listing): Effect.Effect<Reading<K>, Unread> =>
          listing === undefined ? Effect.fail(notNow) : Effect.succeed(this.remember(kind, began, listing))
        )
      )
    })
  }

  remember<K extends Kind>(
    kind: K,
    began: number,
    listing: McpProtocol.Listing<Catalog.Items[K]>
  ): Reading<K> {
    const shelf = this.shelf(kind)
    const { isListed: wasListed, isStored: wasStored } = shelf
    const reading = shelf.remember(began, listing, this.now())
    if (wasStored && reading.drift !== undefined) this.tellDrift(kind, reading.drift)
    if (!reading.stale) this.save(kind, reading)
    if (!wasListed && began < (this.heardAt.get(kind) ?? 0)) this.debounce(kind)
    return reading
  }

  /** What was shown from the store was not the truth. */
  private tellDrift(kind: Kind, { added, changed, removed }: Catalog.Drift): void {
    const names = (list: ReadonlyArray<string>, what: string) =>
      list.length === 0 ?
        [] :
        [`${list.length} ${what} (${list.slice(0, 5).map((_) => McpError.displayText(_, 64)).join(", ")}${
          list.length > 5 ? ", ..." : ""
        })`]
    const what = [...names(added, "new"), ...names(changed, "changed"), ...names(removed, "gone")].join(", ")
    this.fork(
      Effect.annotateLogs(
        Effect.logInfo(`its ${kind} differ from what was stored of them: ${what}`),
        "mcp.server",
        this.source.server
      )
    )
  }

  private save<K extends Kind>(kind: K, { items, listedAt }: Reading<K>): void {
    const { storage } = this
    const last = this.saved.get(kind)
    if (storage === undefined) return
    if (last?.items === items && listedAt >= last.at && listedAt - last.at < storedAgainAfter) return
    this.saved.set(kind, { items, at: listedAt })
    // What was listed just before the end is stored, too.
    this.fork(Effect.uninterruptible(Effect.suspend(() => storage.save(kind, items))))
  }

  readonly restore: Effect.Effect<void> = Effect.suspend(() => {
    const { storage } = this
    return storage === undefined ? Effect.void : Effect.forEach(
      kinds,
      (kind) => Effect.exit(Effect.map(Effect.suspend(() => storage.load(kind)), (stored) => this.take(kind, stored))),
      { concurrency: "unbounded", discard: true }
    )
  })

  private take<K extends Kind>(kind: K, stored: Catalog.Stored<Catalog.Items[K]> | undefined): void {
    // An empty list is never stored: nobody is to take it for what there is.
    if (stored === undefined || stored.items.length === 0 || !this.shelf(kind).take(stored)) return
    this.saved.set(kind, { items: stored.items, at: stored.listedAt })
  }

  /** Every notification makes it stale at once; it is read again when the server has said all of it. */
  hear(notification: McpProtocol.Notification): void {
    for (const kind of this.shelves.hear(notification)) {
      if (this.settings.ttl === 0) continue
      const shelf = this.shelf(kind)
      if (shelf.isListed) this.debounce(kind)
      else this.heardAt.set(kind, shelf.generation)
    }
  }

  private debounce(kind: Kind): void {
    const relisting = this.debounces[kind].heard(Effect.suspend(() => this.relist(kind)))
    if (relisting !== undefined) this.fork(relisting)
  }

  private relist(kind: Kind): Effect.Effect<unknown, Unread> {
    const shelf = this.shelf(kind)
    const flights = this.flightsOf(kind)
    if (shelf.fresh(this.now()) !== undefined || flights.isUnderWay(shelf.generation)) return Effect.void
    const { source } = this
    const listing = source.relist === undefined
      ? this.listing(kind, () => source.list(kind))
      // Who has come meanwhile has it listed as for anybody.
      : Effect.mapError(this.listing(kind, () => source.relist!(kind)), (): Unread => notNow)
    return flights.join(shelf.generation, listing)
  }
}

const visible = (server: string, keeper: Keeper): Internal => {
  const { shelves } = keeper
  const list = <K extends Kind>(kind: K): Catalog.List<Catalog.Items[K]> => {
    const shelf = shelves.of(kind)
    return {
      current: Effect.sync(() => shelf.current(keeper.now())),
      fresh: Effect.sync(() => shelf.fresh(keeper.now())),
      get: keeper.get(kind),
      refresh: keeper.refresh(kind),
      invalidate: Effect.sync(() => shelf.outdate()),
      find: (key) => shelf.find(key),
      changes: Stream.filter(shelf.changes, (_) => _ !== undefined)
    }
  }
  return {
    server,
    tools: list("tools"),
    prompts: list("prompts"),
    resources: list("resources"),
    templates: list("templates"),
    invalidate: Effect.sync(() => shelves.outdate(kinds)),
    restore: keeper.restore,
    shelves,
    hear: (notification) => keeper.hear(notification),
    readTools: keeper.read("tools", true),
    remember: (kind, began, listing) => {
      keeper.remember(kind, began, listing)
    }
  }
}

const released = (server: string): McpError.McpError =>
  new McpError.ConnectionUnavailable({
    server,
    operation: "list",
    executed: "no",
    reason: "Released",
    detail: "the catalogue has been closed"
  })
