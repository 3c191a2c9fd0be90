/**
 * One list of one server, kept.
 *
 * Owns: when the list is read (because somebody wants it, or because the server said that it has changed), and that it is
 * stored.
 * May not touch: how it is read, and what it says.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Catalog from "../../Catalog.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as Lines from "../telemetry/lines.js"
import type { Meter } from "../telemetry/meter.js"
import * as Spans from "../telemetry/spans.js"
import { Debounce } from "./debounce.js"
import { Flights, type Fork } from "./flights.js"
import type { Kind, Shelf } from "./shelf.js"

/** How a connection lists. */
export interface Source extends Catalog.Source {
  /** As `list`, where no caller has asked for it: it takes no turn from those who call, and waits for none. */
  readonly unattended?: Catalog.Source["list"] | undefined
  /** What `unattended` has failed with was given to somebody who had asked. */
  readonly told?: ((kind: Kind, error: McpError.McpError) => void) | undefined
  readonly meter?: Meter | undefined
}

export interface Parts {
  readonly source: Source
  readonly storage: Catalog.Storage | undefined
  /** In milliseconds; nobody but readers lists where it is 0. */
  readonly ttl: number
  /** In milliseconds. */
  readonly debounce: number
  readonly fork: Fork
  readonly clock: Clock.Clock
}

type Reading<K extends Kind> = Catalog.Snapshot<Catalog.Items[K]>

/** It can't be read without somebody who waits for it. Never leaves this module. */
const notNow = Symbol("mcp-runtime/notNow")

/** Nobody had asked when it began, so that nobody else has counted it. Never leaves this module. */
class Uncounted {
  counted = false

  constructor(readonly error: McpError.McpError) {}
}

type Unlisted = McpError.McpError | typeof notNow

type Unread = Unlisted | Uncounted

/** What is stored is stored again after this time, so that it does not get too old while nothing changes. */
const storedAgainAfter = 24 * 60 * 60 * 1000

/** Its effects are made when they are asked for: most lists of most servers never are. */
export class KeptList<K extends Kind> implements Catalog.List<Catalog.Items[K]> {
  private readonly kind: K
  private readonly flights: Flights<Reading<K>, Unread>
  private changed: Debounce | undefined = undefined
  /** When the server said that it has changed while it was not there yet: it may have been listed just then. */
  private heardAt = 0
  private saved: { readonly items: ReadonlyArray<unknown>; readonly at: number } | undefined = undefined

  constructor(private readonly shelf: Shelf<K>, private readonly parts: Parts) {
    this.kind = shelf.kind
    this.flights = new Flights<Reading<K>, Unread>(parts.fork, () => released(parts.source.server))
  }

  private now(): number {
    return this.parts.clock.unsafeCurrentTimeMillis()
  }

  /** Nobody waits any longer. */
  release(): void {
    this.shelf.end()
    this.flights.release()
  }

  readonly find = (key: string): Catalog.Items[K] | undefined => this.shelf.find(key)

  get current(): Effect.Effect<Reading<K> | undefined> {
    return Effect.sync(() => this.shelf.current(this.now()))
  }

  get fresh(): Effect.Effect<Reading<K> | undefined> {
    return Effect.sync(() => this.shelf.fresh(this.now()))
  }

  get changes(): Stream.Stream<Reading<K>> {
    return Stream.filter(this.shelf.changes, (_) => _ !== undefined)
  }

  get invalidate(): Effect.Effect<void> {
    return Effect.sync(() => this.shelf.outdate())
  }

  get get(): Effect.Effect<Reading<K>, McpError.McpError> {
    return Effect.suspend(() => {
      const fresh = this.shelf.fresh(this.now())
      const { meter } = this.parts.source
      meter?.catalogRead(this.kind, fresh === undefined ? "miss" : "hit")
      return fresh !== undefined ? Effect.succeed(fresh) : Effect.catchAll(this.read(), (error) => {
        const last = this.shelf.current(this.now())
        if (last === undefined) return Effect.fail(error)
        meter?.catalogRead(this.kind, "stale")
        return Effect.succeed(last.stale && last.error === undefined ? Object.freeze({ ...last, error }) : last)
      })
    })
  }

  get refresh(): Effect.Effect<Reading<K>, McpError.McpError> {
    return Effect.suspend(() => {
      // What is under way may have begun before what the caller knows of.
      this.shelf.outdate()
      // Whoever asks for the same at this moment shares one listing.
      return Effect.zipRight(Effect.yieldNow(), this.read())
    })
  }

  /** As the listing of the current generation ends. */
  read(unattended = false): Effect.Effect<Reading<K>, McpError.McpError> {
    return Effect.flatMap(Spans.current, (span) => {
      const listing = this.listingFor(unattended)
      // It is part of the trace of the first who asks.
      const traced = span === undefined ? listing : Effect.withParentSpan(listing, span)
      return Effect.catchAll(
        this.flights.join(this.shelf.generation, traced),
        // What was under way was nobody's.
        (error) => error === notNow ? this.read(unattended) : Effect.fail(this.given(error, unattended))
      )
    })
  }

  private listingFor(unattended: boolean): Effect.Effect<Reading<K>, Unread> {
    const { source } = this.parts
    return unattended && source.unattended !== undefined
      ? Effect.mapError(
        this.listing(() => source.unattended!(this.kind)),
        (error) => error === notNow ? error : new Uncounted(error)
      )
      : this.listing(() => source.list(this.kind))
  }

  /** The first who had asked is the one whose failure it is. */
  private given(error: McpError.McpError | Uncounted, unattended: boolean): McpError.McpError {
    if (!(error instanceof Uncounted)) return error
    if (!unattended && !error.counted) {
      error.counted = true
      this.parts.source.told?.(this.kind, error.error)
    }
    return error.error
  }

  private listing(
    list: () => Effect.Effect<McpProtocol.Listing<Catalog.Items[K]> | undefined, McpError.McpError>
  ): Effect.Effect<Reading<K>, Unlisted> {
    return Effect.suspend(() => {
      const began = this.shelf.begin()
      return list().pipe(
        Effect.tapError((error) =>
          Effect.sync(() => {
            this.parts.source.meter?.catalogRefreshed(this.kind, error)
            this.shelf.failed(began, error)
          })
        ),
        Effect.flatMap((listing): Effect.Effect<Reading<K>, Unlisted> => {
          if (listing === undefined) return Effect.fail(notNow)
          this.parts.source.meter?.catalogRefreshed(this.kind, undefined)
          return Effect.succeed(this.remember(began, listing))
        })
      )
    })
  }

  /** The listing that began then is complete. */
  remember(began: number, listing: McpProtocol.Listing<Catalog.Items[K]>): Reading<K> {
    const { isListed: wasListed, isStored: wasStored } = this.shelf
    const reading = this.shelf.remember(began, listing, this.now())
    if (wasStored && reading.drift !== undefined) this.tellDrift(reading.drift)
    if (!reading.stale) this.save(reading)
    if (!wasListed && began < this.heardAt) this.relistSoon()
    return reading
  }

  /** What was shown from the store was not the truth. */
  private tellDrift({ added, changed, removed }: Catalog.Drift): void {
    const what = [...someOf(added, "new"), ...someOf(changed, "changed"), ...someOf(removed, "gone")].join(", ")
    this.parts.fork(
      Lines.about(
        this.parts.source.server,
        this.kind === "templates" ? "resources/templates/list" : `${this.kind}/list`
      )(
        Effect.logInfo(`its ${this.kind} differ from what was stored of them: ${what}`)
      )
    )
  }

  private save({ items, listedAt }: Reading<K>): void {
    const { parts: { fork, storage }, saved } = this
    if (storage === undefined) return
    if (saved?.items === items && listedAt >= saved.at && listedAt - saved.at < storedAgainAfter) return
    this.saved = { items, at: listedAt }
    // What was listed just before the end is stored, too.
    fork(Effect.uninterruptible(Effect.suspend(() => storage.save(this.kind, items))))
  }

  /** What the store knows, where nothing better is known. */
  restoreFrom(storage: Catalog.Storage): Effect.Effect<void> {
    const loaded = Effect.suspend(() => storage.load(this.kind))
    return Effect.asVoid(Effect.exit(Effect.map(loaded, (stored) => this.take(stored))))
  }

  private take(stored: Catalog.Stored<Catalog.Items[K]> | undefined): void {
    // An empty list is never stored: nobody is to take it for what there is.
    if (stored === undefined || stored.items.length === 0 || !this.shelf.take(stored)) return
    this.saved = { items: stored.items, at: stored.listedAt }
  }

  /** The server has said that it has changed, and it is stale already. It is read again when the server has said all of it. */
  heard(): void {
    if (this.parts.ttl === 0) return
    if (this.shelf.isListed) this.relistSoon()
    else this.heardAt = this.shelf.generation
  }

  /** The server may have said so, and was not heard. What was listed before is listed again by who knows of it. */
  unheard(): void {
    if (this.shelf.isListed) return
    this.shelf.outdate()
    this.heard()
  }

  private relistSoon(): void {
    this.changed ??= new Debounce(this.parts.debounce, this.parts.clock)
    const relisting = this.changed.heard(Effect.suspend(() => this.relist()))
    // Whoever brings the news goes on first: what it brings next may be the answer that somebody waits for.
    if (relisting !== undefined) this.parts.fork(Effect.zipRight(Effect.yieldNow(), relisting))
  }

  private relist(): Effect.Effect<unknown, Unread> {
    const { generation } = this.shelf
    if (this.shelf.fresh(this.now()) !== undefined || this.flights.isUnderWay(generation)) return Effect.void
    const { source } = this.parts
    const listing = source.relist === undefined
      ? this.listing(() => source.list(this.kind))
      // Who has come meanwhile has it listed as for anybody, unless that is over.
      : Effect.mapError(
        this.listing(() => source.relist!(this.kind)),
        (error): Unread => isClosing(error) ? error : notNow
      )
    return this.flights.join(generation, listing)
  }
}

const isClosing = (error: Unlisted): boolean =>
  error !== notNow && error._tag === "ConnectionClosed" && error.reason === "Closing"

const someOf = (names: ReadonlyArray<string>, what: string): ReadonlyArray<string> => {
  if (names.length === 0) return []
  const shown = names.slice(0, 5).map((_) => McpError.displayName(_, 64)).join(", ")
  return [`${names.length} ${what} (${shown}${names.length > 5 ? ", ..." : ""})`]
}

const released = (server: string): McpError.McpError =>
  new McpError.ConnectionUnavailable({
    server,
    operation: "list",
    executed: "no",
    reason: "Released",
    detail: "the catalogue has been closed"
  })
