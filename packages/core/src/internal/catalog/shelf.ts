/**
 * One list of one server, as it is known.
 *
 * Owns: the last good list, its generation, whether it is fresh, and what its readers are told.
 * May not touch: listing, time (it is told), other lists.
 */
import type * as Catalog from "../../Catalog.js"
import type * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import { Watched } from "../watched.js"
import { driftOf, sameJson } from "./drift.js"

export type Kind = Catalog.Kind

/** The kinds whose lists a notification calls out of date. A map, since a server may call a notification `constructor`. */
export const kindsOf: ReadonlyMap<string, ReadonlyArray<Kind>> = new Map<string, ReadonlyArray<Kind>>([
  ["notifications/tools/list_changed", ["tools"]],
  ["notifications/prompts/list_changed", ["prompts"]],
  ["notifications/resources/list_changed", ["resources", "templates"]]
])

const keys: { readonly [K in Kind]: (item: Catalog.Items[K]) => string } = {
  tools: (_) => _.name,
  prompts: (_) => _.name,
  resources: (_) => _.uri,
  templates: (_) => _.uriTemplate
}

/** Of what is listed twice the first counts. */
export const indexOf = <K extends Kind>(
  kind: K,
  items: ReadonlyArray<Catalog.Items[K]>
): ReadonlyMap<string, Catalog.Items[K]> => {
  const index = new Map<string, Catalog.Items[K]>()
  for (const item of items) {
    const key = keys[kind](item)
    if (!index.has(key)) index.set(key, item)
  }
  return index
}

/** The first and the last of each key: what is listed twice, and changed in one place, has changed. */
const endsOf = <K extends Kind>(
  kind: K,
  items: ReadonlyArray<Catalog.Items[K]>,
  index: ReadonlyMap<string, Catalog.Items[K]>
): ReadonlyMap<string, readonly [first: Catalog.Items[K], last: Catalog.Items[K]]> =>
  new Map(items.map((item) => {
    const key = keys[kind](item)
    return [key, [index.get(key)!, item]]
  }))

/** A list as it is held. */
interface Held<A> {
  readonly snapshot: Catalog.Snapshot<A>
  readonly index: ReadonlyMap<string, A>
  /** When its listing began. What is stored is older than all of them. */
  readonly began: number
}

const older = -1

export class Shelf<K extends Kind> {
  /** When the list was called out of date for the last time. */
  generation = 0
  /** What happens to the list, in order: listings begin, it is called out of date. */
  private moment = 0
  private held: Held<Catalog.Items[K]> | undefined = undefined
  private readonly watched = new Watched<Catalog.Snapshot<Catalog.Items[K]> | undefined>(undefined)

  constructor(
    readonly kind: K,
    /** For how many milliseconds a list that was read is fresh. */
    private readonly ttl: number,
    private readonly observer?: () => void
  ) {}

  get changes(): Watched<Catalog.Snapshot<Catalog.Items[K]> | undefined>["changes"] {
    return this.watched.changes
  }

  /** Whether it was read from the server, ever. */
  get isListed(): boolean {
    return this.held !== undefined && this.held.began !== older
  }

  get isStored(): boolean {
    return this.held?.snapshot.origin === "store"
  }

  /** Whether it was called out of date since it was read. */
  get isOutdated(): boolean {
    return this.held !== undefined && this.held.began < this.generation
  }

  /** As `current`, without a look at the time. */
  get known(): Catalog.Snapshot<Catalog.Items[K]> | undefined {
    return this.held?.snapshot
  }

  find(key: string): Catalog.Items[K] | undefined {
    return this.held?.index.get(key)
  }

  current(now: number): Catalog.Snapshot<Catalog.Items[K]> | undefined {
    const { held } = this
    if (held === undefined) return undefined
    if (!held.snapshot.stale && this.isExpired(held, now)) this.mark(held, held.snapshot.error)
    return this.held?.snapshot
  }

  fresh(now: number): Catalog.Snapshot<Catalog.Items[K]> | undefined {
    const { held } = this
    return held === undefined || held.snapshot.stale || this.isExpired(held, now) ? undefined : held.snapshot
  }

  private isExpired({ snapshot }: Held<Catalog.Items[K]>, now: number): boolean {
    // A clock that was set back makes nothing fresh for longer.
    return this.ttl !== Number.POSITIVE_INFINITY && !(now >= snapshot.listedAt && now < snapshot.listedAt + this.ttl)
  }

  /** It may differ at the server from now on. */
  outdate(): void {
    this.generation = ++this.moment
    if (this.held !== undefined && !this.held.snapshot.stale) this.mark(this.held, this.held.snapshot.error)
  }

  /** A listing begins. */
  begin(): number {
    return ++this.moment
  }

  /** The listing that began then could not be read. It says nothing about a later one. */
  failed(began: number, error: McpError.McpError): void {
    if (this.held !== undefined && this.held.began < began) this.mark(this.held, error)
  }

  private mark(held: Held<Catalog.Items[K]>, error: McpError.McpError | undefined): void {
    const snapshot = Object.freeze({ ...held.snapshot, stale: true, error })
    this.held = { ...held, snapshot }
    this.tell(snapshot)
  }

  /** What the store knows, where nothing better is known: whether it is taken. */
  take(stored: Catalog.Stored<Catalog.Items[K]>): boolean {
    if (this.held !== undefined) return false
    const { dropped, items, listedAt } = stored
    this.hold({
      snapshot: Object.freeze({
        items,
        dropped,
        listedAt,
        origin: "store",
        stale: true,
        error: undefined,
        drift: undefined
      }),
      index: indexOf(this.kind, items),
      began: older
    })
    return true
  }

  /**
   * The listing that began then is complete: what its readers get. It is kept unless there is one that began later, which
   * they get instead. Where it says what was known already, what was known is kept: who has derived something from it need
   * not do so again.
   */
  remember(
    began: number,
    listing: McpProtocol.Listing<Catalog.Items[K]>,
    now: number
  ): Catalog.Snapshot<Catalog.Items[K]> {
    const { held } = this
    if (held !== undefined && began < held.began) return held.snapshot
    const index = indexOf(this.kind, listing.items)
    const drift = held === undefined ? undefined : this.driftOf(held, listing.items, index)
    const same = held !== undefined && drift === undefined && (
      index.size === listing.items.length
        ? isSameOrder(held.snapshot.items, listing.items, this.kind)
        : sameJson(held.snapshot.items, listing.items)
    )
    const snapshot = Object.freeze({
      items: same ? held.snapshot.items : listing.items,
      dropped: listing.dropped,
      origin: "server",
      listedAt: now,
      stale: began < this.generation,
      error: undefined,
      drift
    }) satisfies Catalog.Snapshot<Catalog.Items[K]>
    const next = { snapshot, index: same ? held.index : index, began }
    if (!same || isNews(held.snapshot, snapshot)) this.hold(next)
    else {
      this.held = next
      this.watched.replace(snapshot)
    }
    return snapshot
  }

  private driftOf(
    { index, snapshot: { items } }: Held<Catalog.Items[K]>,
    later: ReadonlyArray<Catalog.Items[K]>,
    indexOfLater: ReadonlyMap<string, Catalog.Items[K]>
  ): Catalog.Drift | undefined {
    return index.size === items.length && indexOfLater.size === later.length
      ? driftOf(index, indexOfLater)
      : driftOf(endsOf(this.kind, items, index), endsOf(this.kind, later, indexOfLater))
  }

  private hold(held: Held<Catalog.Items[K]>): void {
    this.held = held
    this.tell(held.snapshot)
  }

  private tell(snapshot: Catalog.Snapshot<Catalog.Items[K]>): void {
    this.watched.set(snapshot)
    this.observer?.()
  }

  end(): void {
    this.watched.end()
  }
}

/** Whether they differ in more than when they were listed; their items don't. */
const isNews = <A>(before: Catalog.Snapshot<A>, after: Catalog.Snapshot<A>): boolean =>
  before.stale !== after.stale || before.origin !== after.origin || before.error !== after.error ||
  !sameJson(before.dropped, after.dropped)

const isSameOrder = <K extends Kind>(
  before: ReadonlyArray<Catalog.Items[K]>,
  after: ReadonlyArray<Catalog.Items[K]>,
  kind: K
): boolean => before.length === after.length && after.every((item, i) => keys[kind](item) === keys[kind](before[i]!))
