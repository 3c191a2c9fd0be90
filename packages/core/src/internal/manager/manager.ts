/**
 * The servers of a manager, and what is done to them together.
 *
 * Owns: the order of what is done, what is undone when it fails or is interrupted.
 * May not touch: how one server is connected or ends.
 */
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as CatalogStore from "../../CatalogStore.js"
import * as McpError from "../../McpError.js"
import type { Manager, ManagerOptions, ManagerState, Reloaded, ServerStatus } from "../../McpManager.js"
import * as McpTransport from "../../McpTransport.js"
import { forkIn } from "../catalog/flights.js"
import { withoutSecrets } from "../config/printed.js"
import * as Connection from "../connection/connection.js"
import * as Operations from "../connection/operations.js"
import * as Errors from "../engine/errors.js"
import { shownAs } from "../shownAs.js"
import * as Steady from "../steady.js"
import * as Spans from "../telemetry/spans.js"
import { together } from "../together.js"
import { Watched } from "../watched.js"
import { within } from "../within.js"
import { Entry, type NoConnection, type Parts as EntryParts } from "./entry.js"
import * as Glance from "./glance.js"
import * as Lineup from "./lineup.js"
import * as Settings from "./settings.js"
import * as Starting from "./starting.js"
import { Turns } from "./turns.js"

type Unavailable = McpError.ConnectionUnavailable

type Unknown = McpError.UnknownServer | Unavailable

type Connected = Effect.Effect<ReadonlyArray<string>, McpError.ServersFailed | Unavailable>

export const make = (
  options: ManagerOptions
): Effect.Effect<
  Manager,
  McpError.ConfigInvalid,
  McpTransport.McpTransport | CatalogStore.CatalogStore | Scope.Scope
> =>
  Effect.gen(function*() {
    const settings = yield* Settings.make(options)
    const declared = yield* Lineup.of(options?.servers)
    const transport = yield* McpTransport.McpTransport
    const store = yield* CatalogStore.CatalogStore
    const runtime = yield* Effect.runtime<never>()
    const fork = yield* forkIn(yield* Effect.scope)
    const open: EntryParts["open"] = (config, scope, observer) => {
      const { catalog, ...wished } = settings.connection(config)
      // When it is connected is for the manager to say.
      const managed = config.lifetime === "eager" ? withoutSecrets({ ...config, lifetime: undefined }) : config
      const connection = Connection.make(
        transport.channel(managed),
        managed,
        { ...wished, catalog: { ...catalog, storage: catalog?.storage ?? store.of(config) } },
        observer
      )
      return Effect.suspend(() => {
        const making = Runtime.runFork(runtime)(Scope.extend(connection, scope))
        return making.unsafePoll() ?? Fiber.join(making)
      })
    }
    const servers = new Servers(settings, declared, { settings, open, fork })
    yield* Effect.addFinalizer(() => servers.end)
    return servers.visible
  })

class Servers {
  private entries: ReadonlyArray<Entry>
  private byName: ReadonlyMap<string, Entry>
  private readonly watched: Watched<ManagerState>
  private readonly turns = new Turns()
  /** Something was connected, ever. */
  private started = false
  /** What is configured is to be connected. */
  private open = false
  /** All were closed, and nothing was connected since. */
  private closed = false
  private released = false
  /** Those that a change of the servers is connecting, or ending. */
  private changing: ReadonlyArray<Entry> = []

  constructor(
    private readonly settings: Settings.Settings,
    declared: ReadonlyArray<Lineup.Declared>,
    private readonly parts: Omit<EntryParts, "changed">
  ) {
    this.entries = declared.map((_) => this.entry(_))
    this.byName = byName(this.entries)
    this.watched = new Watched(this.snapshot())
  }

  private entry(declared: Lineup.Declared): Entry {
    return new Entry(declared, { ...this.parts, changed: (entry) => this.changed(entry) })
  }

  // ---------------------------------------------------------------------------------------------
  // The snapshot
  // ---------------------------------------------------------------------------------------------

  private changed(entry: Entry): void {
    const { status } = entry
    if (entry.refresh() !== status && this.byName.get(entry.name) === entry) this.publish()
  }

  private publish(): void {
    this.watched.set(this.snapshot())
  }

  private snapshot(): ManagerState {
    const servers = this.entries.map((_) => _.status)
    const active = this.entries.filter((_) => this.isActive(_)).map((_) => _.name)
    return Object.freeze({ servers: Object.freeze(servers), active: Object.freeze(active) })
  }

  private isActive(entry: Entry): boolean {
    if (!entry.isUsable) return false
    if (!this.started || !this.settings.dropFailed) return true
    return entry.isUp || (entry.attempt !== undefined && entry.tools !== undefined && this.settings.gate !== Infinity)
  }

  private get state(): ManagerState {
    return this.watched.current
  }

  private get activeNames(): ReadonlyArray<string> {
    return this.state.active
  }

  private names(phase: ServerStatus["phase"]): Effect.Effect<ReadonlyArray<string>> {
    return Effect.sync(() => this.state.servers.filter((_) => _.phase === phase).map((_) => _.name))
  }

  // ---------------------------------------------------------------------------------------------
  // One server
  // ---------------------------------------------------------------------------------------------

  private find(name: string, operation: string): Effect.Effect<Entry, Unknown> {
    return Effect.suspend((): Effect.Effect<Entry, Unknown> => {
      if (this.released) return Effect.fail(released(operation, name))
      const entry = this.byName.get(name)
      return entry !== undefined ? Effect.succeed(entry) : Effect.fail(
        new McpError.UnknownServer({
          server: McpError.displayName(String(name)),
          operation,
          executed: "no",
          configured: this.entries.map((_) => _.name)
        })
      )
    })
  }

  /** Its connection, where it has one. */
  private made(name: string): Connection.Connection | undefined {
    return this.released ? undefined : this.byName.get(name)?.connection
  }

  private connectionOf(
    name: string,
    operation: string
  ): Effect.Effect<Connection.Connection, McpError.UnknownServer | NoConnection> {
    return Effect.suspend(() => {
      const connection = this.made(name)
      return connection !== undefined
        ? Effect.succeed(connection)
        : Effect.flatMap(this.find(name, operation), (entry) => entry.ensure)
    })
  }

  /** A use that waits for an attempt to connect fails as that does. */
  private using<A>(
    entry: Entry,
    operation: string,
    use: (connection: Connection.Connection) => Effect.Effect<A, McpError.McpError>
  ): Effect.Effect<A, McpError.McpError> {
    const { attempt, forbidden } = entry
    if (forbidden !== undefined) return Effect.fail(Errors.about(forbidden, operation, "no"))
    const used = Effect.flatMap(entry.ensure, use)
    return attempt === undefined ? used : Effect.catchTag(used, "ConnectionClosed", (error) => {
      const { failure } = entry
      const isGivenUp = error.reason === "Closing" && error.executed === "no" && failure !== undefined
      return Effect.fail(isGivenUp ? Errors.about(failure, operation, "no") : error)
    })
  }

  // ---------------------------------------------------------------------------------------------
  // What is done to them
  // ---------------------------------------------------------------------------------------------

  /** One after the other, in order of arrival. */
  private exclusively<A, E>(operation: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> {
    const unlessReleased = Effect.suspend(() =>
      this.released ? Effect.fail(released(operation)) : Effect.filterOrFail(
        effect,
        () => !this.released,
        () => released(operation)
      )
    )
    return Spans.within(
      Effect.suspend(() => this.released ? Effect.fail(released(operation)) : this.turns.inTurn(unlessReleased)),
      { name: `mcp.runtime.manager.${operation}`, kind: "internal", attributes: {} }
    )
  }

  readonly connectAll: Connected = this.exclusively(
    "connect",
    this.beginning(Effect.suspend(() => {
      const targets = this.entries.filter((_) => _.isUsable && !_.isConnected && _.attempt === undefined)
      return this.connecting(targets, this.entries, this.settings.gate)
    }))
  )

  /** Where it fails, or is interrupted, it is as before whether what is configured later is to be connected. */
  private beginning<A, E>(connecting: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const { closed, open } = this
      this.begun()
      return Effect.onError(connecting, () =>
        Effect.sync(() => {
          this.closed = closed
          this.open = open
        }))
    })
  }

  private begun(): void {
    this.open = true
    this.closed = false
    if (this.started) return
    this.started = true
    this.publish()
  }

  /** Connects these, and gives the names of the active ones. Of `concerned`, all must be up in the end, where all must be. */
  private connecting(
    targets: ReadonlyArray<Entry>,
    concerned: ReadonlyArray<Entry>,
    gate: number
  ): Connected {
    const { strict } = this.settings
    const begun = new Set<Entry>()
    const body = Effect.gen(this, function*() {
      if (this.released) return yield* Effect.fail(released("connect"))
      const beganAt = yield* Steady.now
      yield* Starting.beginAll(
        this.worthTrying(targets, concerned),
        {
          ...this.settings,
          span: yield* Spans.current,
          begun: (entry) => begun.add(entry),
          isOver: () => this.released
        }
      )
      const left = Math.max(0, beganAt + gate - (yield* Steady.now))
      yield* strict ? Starting.outcomes(concerned) : Starting.untilUsable(concerned, left)
      yield* Starting.endings(targets)
      const errors = strict ? Starting.failuresOf(concerned) : []
      if (errors.length === 0) return this.activeNames
      yield* this.undo(begun)
      return yield* Effect.fail(failed(errors))
    })
    return Effect.onInterrupt(body, () => this.undo(begun))
  }

  /** Where the first failure ends it, what comes after a server that can't be used is not tried. */
  private worthTrying(targets: ReadonlyArray<Entry>, concerned: ReadonlyArray<Entry>): ReadonlyArray<Entry> {
    const { mode, strict } = this.settings
    const unusable = strict && mode === "sequential" ? concerned.findIndex((_) => _.config === undefined) : -1
    return unusable < 0 ? targets : targets.filter((_) => concerned.indexOf(_) < unusable)
  }

  /** Closes what an attempt has opened, in reverse order. */
  private undo(begun: ReadonlySet<Entry>): Effect.Effect<void> {
    const back = (entry: Entry): Effect.Effect<void> =>
      Effect.gen(this, function*() {
        yield* entry.abort
        yield* entry.settled
        // It has failed, and is closed already.
        if (!entry.wanted && entry.shut === entry.wasShut) return
        yield* entry.wanted ? entry.undone : entry.release(entry.before)
      })
    return Effect.uninterruptible(this.inReverse([...begun], back))
  }

  private inReverse<A>(
    entries: ReadonlyArray<Entry>,
    f: (entry: Entry) => Effect.Effect<A>
  ): Effect.Effect<Array<A>> {
    return together(Arr.reverse(entries), f, this.settings.closing)
  }

  connect(name: string): Effect.Effect<void, McpError.McpError> {
    const connect = Effect.gen(this, function*() {
      const entry = yield* this.find(name, "connect")
      if (entry.failure !== undefined && entry.config === undefined) return yield* Effect.fail(entry.failure)
      if (!entry.isUsable) return yield* Effect.fail(disabled(name))
      return yield* this.beginning(this.connectingOne(entry))
    })
    return Effect.zipRight(this.find(name, "connect"), this.exclusively("connect", connect))
  }

  private connectingOne(entry: Entry): Effect.Effect<void, McpError.McpError> {
    return Effect.gen(this, function*() {
      if (entry.isConnected) return
      const begun = entry.attempt === undefined
      const ended = Effect.suspend(() => Deferred.await((entry.attempt ?? entry.begin(atOnce, true)).outcome)).pipe(
        Effect.zipLeft(Starting.endings([entry])),
        Effect.onInterrupt(() => begun ? this.undo(new Set([entry])) : Effect.void)
      )
      const error = yield* ended
      if (error !== undefined) return yield* Effect.fail(error)
    })
  }

  reconnect(options?: { readonly failedOnly?: boolean | undefined }): Connected {
    const reconnect = Effect.suspend((): Connected => {
      if (options?.failedOnly === false) {
        const anew = Effect.suspend(() => {
          const targets = this.entries.filter((_) => _.isUsable)
          return this.connecting(targets, this.entries, Infinity)
        })
        // A lazy one that has failed is tried, also when its connection knows no more of it.
        for (const entry of this.entries) entry.noteFailure()
        return this.beginning(Effect.zipRight(this.closing("usable"), anew))
      }
      const concerned = this.entries.filter((_) => _.status.phase === "failed")
      if (concerned.length === 0) return Effect.sync(() => this.activeNames)
      const targets = concerned.filter((_) => _.isUsable)
      return this.beginning(Effect.suspend(() => this.connecting(targets, concerned, Infinity)))
    })
    return this.exclusively("reconnect", reconnect)
  }

  disconnect(name: string): Effect.Effect<void, Unknown> {
    const disconnect = Effect.flatMap(this.find(name, "disconnect"), (entry) => {
      const forgotten = Effect.suspend(() => {
        entry.forget()
        return this.leave(entry, "unusable")
      })
      entry.forbid()
      return Effect.uninterruptible(Effect.zipRight(entry.abort, Effect.asVoid(forgotten)))
    })
    return Effect.zipRight(this.find(name, "disconnect"), this.exclusively("disconnect", disconnect))
  }

  /** Ends it, whatever it is doing. */
  private leave(entry: Entry, how: "usable" | "unusable"): Effect.Effect<McpError.CloseFailed | undefined> {
    return Effect.gen(this, function*() {
      if (how === "unusable") entry.forbid()
      yield* entry.abort
      yield* entry.settled
      entry.wanted = false
      return yield* entry.release(how)
    })
  }

  private closing(how: "usable" | "unusable"): Effect.Effect<ReadonlyArray<McpError.CloseFailed>> {
    return Effect.uninterruptible(
      Effect.map(
        this.inReverse(this.entries, (entry) => this.leave(entry, how)),
        (errors) => Arr.reverse(errors).filter((_) => _ !== undefined)
      )
    )
  }

  readonly close: Effect.Effect<ReadonlyArray<McpError.CloseFailed>, Unavailable> = this.exclusively(
    "close",
    Effect.suspend(() => {
      this.started = true
      this.open = false
      this.closed = true
      return this.closing("unusable")
    })
  )

  // ---------------------------------------------------------------------------------------------
  // Other servers
  // ---------------------------------------------------------------------------------------------

  reload(
    inputs: unknown
  ): Effect.Effect<Reloaded, McpError.ConfigInvalid | McpError.ServersFailed | Unavailable> {
    return this.exclusively(
      "reload",
      Effect.flatMap(Lineup.of(inputs), (declared) => {
        const change = this.changeTo(declared)
        return this.settings.strict ? this.exchangeStrictly(change) : this.exchange(change)
      })
    )
  }

  private changeTo(declared: ReadonlyArray<Lineup.Declared>): Change {
    const next: Array<Entry> = []
    const fresh: Array<Entry> = []
    const [added, restarted, unchanged]: [Array<string>, Array<string>, Array<string>] = [[], [], []]
    for (const server of declared) {
      const old = this.byName.get(server.name)
      if (old !== undefined && Lineup.isSame(old.declared, server)) {
        next.push(old)
        unchanged.push(server.name)
        continue
      }
      const entry = this.entry(server)
      // What was closed stays closed.
      entry.shut = old?.shut ?? this.closed
      next.push(entry)
      fresh.push(entry)
      ;(old === undefined ? added : restarted).push(server.name)
    }
    const kept = new Set(next)
    const old = this.entries.filter((_) => !kept.has(_))
    const names = byName(next)
    const removed = old.map((_) => _.name).filter((_) => !names.has(_))
    const wanted = new Set(old.filter((_) => _.isUp || _.attempt !== undefined || this.open).map((_) => _.name))
    const targets = fresh.filter((_) => _.isUsable && !_.shut && (this.open || wanted.has(_.name)))
    return { next, old, fresh, targets, report: { added, restarted, removed, unchanged } }
  }

  private take({ next }: Change): void {
    this.entries = next
    this.byName = byName(next)
    this.publish()
  }

  private exchange(change: Change): Effect.Effect<Reloaded, McpError.ServersFailed | Unavailable> {
    const { old, report, targets } = change
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        yield* this.inReverse(old, (entry) => Effect.zipRight(this.leave(entry, "unusable"), entry.end))
        this.take(change)
        yield* restore(this.connecting(targets, targets, Infinity))
        return report
      })
    )
  }

  /** The old ones live until the new ones do. */
  private exchangeStrictly(change: Change): Effect.Effect<Reloaded, McpError.ServersFailed | Unavailable> {
    const { fresh, old, report, targets } = change
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        const left = Effect.uninterruptible(this.inReverse(fresh, (entry) => entry.end))
        this.changing = fresh
        yield* Effect.onError(restore(this.connecting(targets, fresh, Infinity)), () => left)
        this.take(change)
        this.changing = old
        yield* this.inReverse(old, (entry) => Effect.zipRight(this.leave(entry, "unusable"), entry.end))
        return report
      }).pipe(Effect.ensuring(Effect.sync(() => {
        this.changing = []
      })))
    )
  }

  // ---------------------------------------------------------------------------------------------
  // The end
  // ---------------------------------------------------------------------------------------------

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.released = true
    const last = (entry: Entry) => Effect.zipRight(within(entry.abort, Starting.endsQuickly), entry.end)
    return together(Arr.reverse([...this.changing, ...this.entries]), last).pipe(
      Effect.zipRight(Effect.sync(() => this.watched.end()))
    )
  })

  get visible(): Manager {
    const manager: Manager = {
      state: Effect.sync(() => this.state),
      changes: this.watched.changes,
      configured: Effect.sync(() => this.state.servers.map((_) => _.name)),
      connected: this.names("connected"),
      failed: this.names("failed"),
      active: Effect.sync(() => this.activeNames),
      errors: Effect.sync(() =>
        new Map(
          this.state.servers.flatMap(({ closeError, error, name }) => {
            const shown = error ?? closeError
            return shown === undefined ? [] : [[name, shown] as const]
          })
        )
      ),
      status: (name) => Effect.map(this.find(name, "status"), (_) => _.status),
      connection: (name) => this.connectionOf(name, "connection"),
      callTool: (server, params, options) =>
        Effect.flatMap(
          this.find(server, "tools/call"),
          (entry) => this.using(entry, "tools/call", (connection) => Operations.callTool(connection, params, options))
        ),
      connectAll: this.connectAll,
      connect: (name) => this.connect(name),
      reconnect: (options) => this.reconnect(options),
      disconnect: (name) => this.disconnect(name),
      reload: (servers) => this.reload(servers),
      close: this.close
    }
    Glance.offer(manager, { state: () => this.state, connection: (name) => this.made(name) })
    return shownAs(manager, "McpManager", () => ({
      servers: this.state.servers.map(({ name, phase }) => ({ name, phase }))
    }))
  }
}

const atOnce = (attempt: Effect.Effect<void>): Effect.Effect<void> => attempt

const byName = (entries: ReadonlyArray<Entry>): ReadonlyMap<string, Entry> => new Map(entries.map((_) => [_.name, _]))

const failed = (errors: ReadonlyArray<McpError.McpError>): McpError.ServersFailed => {
  const [first] = errors
  return new McpError.ServersFailed({
    server: first!.server,
    operation: first!.operation,
    executed: "no",
    errors: errors as unknown as McpError.ServersFailed["errors"]
  })
}

const released = (operation: string, server = Settings.owner): Unavailable =>
  new McpError.ConnectionUnavailable({
    server: McpError.displayName(String(server)),
    operation,
    executed: "no",
    reason: "Released",
    detail: "the scope of the manager has closed"
  })

const disabled = (server: string): Unavailable =>
  new McpError.ConnectionUnavailable({
    server,
    operation: "connect",
    executed: "no",
    reason: "Disabled",
    detail: "the server is disabled by its configuration"
  })

interface Change {
  readonly next: ReadonlyArray<Entry>
  /** Those that are not there any more. */
  readonly old: ReadonlyArray<Entry>
  readonly fresh: ReadonlyArray<Entry>
  /** Those that are to be connected. */
  readonly targets: ReadonlyArray<Entry>
  readonly report: Reloaded
}
