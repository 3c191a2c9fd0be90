/**
 * Everything that is there while a soak runs: servers, their journals, the manager of the moment.
 *
 * Owns: how these are made and how they end; what has happened so far.
 * May not touch: the plan, the verdict.
 */
import { type CatalogStore, McpError, type McpTransport } from "@mcp-runtime/core"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import { NodeMcp, UndiciExchange } from "@mcp-runtime/node"
import { Cause, type Context, Effect, Exit, Layer, Option } from "effect"
import type { Scope } from "effect"
import { join } from "node:path"
import * as FileTokens from "../../src/FileTokens.js"
import { directory } from "../internal/connections.js"
import { guard } from "./guardian.js"
import { Journals } from "./journals.js"
import { Lineup } from "./lineup.js"
import * as Peers from "./peers.js"
import * as Running from "./running.js"

type Services = McpTransport.McpTransport | CatalogStore.CatalogStore

export class Stage {
  /** What has been done to servers and managers, and how often. */
  readonly happened = new Map<string, number>()
  /** What must not be. */
  readonly violations: Array<string> = []
  /** What everything that the runtime starts has in its environment. */
  readonly mark: string
  /** Processes that do not run at the moment. */
  readonly stopped = new Set<number>()
  /** When tokens were revoked last, of `performance.now()`. */
  revokedAt = Number.NEGATIVE_INFINITY
  replays = 0
  private readonly counted = new WeakMap<object, number>()

  private constructor(
    readonly peers: Peers.Peers,
    readonly journals: Journals,
    private readonly path: string,
    private readonly services: Context.Context<Services>,
    public current: Running.Running
  ) {
    this.mark = `SOAK_MARK=${path}\0`
  }

  static readonly make = (capacity: number): Effect.Effect<Stage, unknown, Scope.Scope> =>
    Effect.gen(function*() {
      const path = yield* directory
      yield* guard(path)
      const journals = new Journals(path, capacity)
      const peers = yield* Peers.make((_) => journals.file(_))
      const services = yield* Layer.build(live(path))
      const lineup = new Lineup(peers, path, (_) => journals.file(_))
      const current = yield* Effect.provide(Running.make(lineup), services)
      const stage = new Stage(peers, journals, path, services, current)
      // An interrupted soak leaves nothing either.
      yield* Effect.addFinalizer(() => stage.end(stage.current))
      return stage
    })

  /** Another manager, and the end of the one before. */
  readonly renew: Effect.Effect<void, unknown> = Effect.gen(this, function*() {
    const old = this.current
    yield* this.count
    const current = this.current = yield* this.manager
    yield* Effect.all([current.start, this.end(old)], { concurrency: "unbounded" })
  })

  /** The end of the manager, without another one. */
  readonly endCurrent: Effect.Effect<void> = Effect.suspend(() => Effect.zipRight(this.count, this.end(this.current)))

  /** A manager where there is none. */
  readonly begin: Effect.Effect<void, unknown> = Effect.map(
    Effect.suspend(() => this.manager),
    (manager) => {
      this.current = manager
    }
  )

  private get manager(): Effect.Effect<Running.Running, unknown> {
    const lineup = new Lineup(this.peers, this.path, (_) => this.journals.file(_))
    return Effect.provide(Running.make(lineup), this.services)
  }

  private end(running: Running.Running): Effect.Effect<void> {
    return Effect.map(running.end, () => {
      this.violations.push(...running.nonsense.map((_) => `a state of the manager: ${_}`))
    })
  }

  happens(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1)
  }

  /** How often requests were sent again, as far as connections that are still there know. */
  readonly count: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.current.lineup.configs], ({ name }) =>
      Effect.ignore(Effect.gen(this, function*() {
        const connection = yield* this.current.manager.connection(name)
        const { replays } = yield* connection.stats
        this.replays += replays - (this.counted.get(connection) ?? 0)
        this.counted.set(connection, replays)
      })), { discard: true })
  )

  /** What is done to a manager may fail, as it says; anything else must not be. */
  total(what: string, effect: Effect.Effect<unknown, unknown>): Effect.Effect<void> {
    return Effect.map(Effect.exit(effect), (exit) => {
      if (Exit.isSuccess(exit)) return
      const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
      if (McpError.isMcpError(error) && Cause.defects(exit.cause).length === 0) return
      this.violations.push(`${what}: ${Cause.pretty(exit.cause)}`)
    })
  }
}

const live = (path: string): Layer.Layer<Services> => {
  const auth = McpAuth.layer.pipe(
    Layer.provide(UndiciExchange.layer),
    Layer.provide(FileTokens.layer(join(path, "tokens")))
  )
  return Layer.provide(Layer.merge(NodeMcp.layerTransport, NodeMcp.layerCatalog(join(path, "cache"))), auth)
}
