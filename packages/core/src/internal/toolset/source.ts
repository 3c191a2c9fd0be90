/**
 * Where the tools of a toolset come from.
 *
 * Owns: that connections without a manager can be read as the servers of one, and that nobody asks a server whose tools are
 * not wanted, or waits for it.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { Snapshot } from "../../Catalog.js"
import type { Lists } from "../../McpCatalog.js"
import type { ConnectionState, McpConnection } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type { Manager, ManagerState, Phase, ServerStatus } from "../../McpManager.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { Source } from "../../Toolset.js"
import * as Connections from "../connection/connection.js"
import * as Glance from "../manager/glance.js"
import * as ManagerLists from "../manager/lists.js"
import { whenever } from "../whenever.js"
import * as Answered from "./answered.js"
import { type End, type Problem, Problems, type Wanted } from "./problems.js"
import type { ToolLists } from "./table.js"

export interface ToolSource {
  readonly lists: Lists
  readonly connection: (server: string) => Effect.Effect<McpConnection, McpError.McpError>
  /** What is known without a step of a fiber. Nothing where the source is not of our making. */
  readonly atOnce: ManagerLists.AtOnce | undefined
  /** The approvals of calls of this server that were answered, through whichever toolset. */
  readonly answered: (server: string) => Answered.Answered
  readonly problems: Problems
  /** What is offered, then each time that something is different. */
  readonly changes: Stream.Stream<Offered>
  /** Why all of it is closed for good. */
  readonly end: End
  /** A server that is wanted, and of which nothing is listed now. */
  readonly away: (server: string) => Effect.Effect<ServerStatus | undefined>
}

export interface Offered {
  readonly lists: ToolLists
  /** Of names in the options that nobody has. */
  readonly unknown: ReadonlyArray<Problem>
}

/** Only the servers of a source that are wanted, or all that are active. */
export type Selected = (wanted: Wanted) => ToolSource

export const of = (source: Source): Either.Either<Selected, ReadonlyArray<McpError.ConfigProblem>> => {
  if (!Array.isArray(source)) {
    return isObject(source) && "connection" in source
      ? Either.right(over(source as Manager, Glance.at(source), () => source, endOf(source as Manager)))
      : Either.left([{ field: "source", problem: "must be a manager, or a list of connections" }])
  }
  const connections: ReadonlyArray<McpConnection> = [...source]
  if (!connections.every((_) => isObject(_) && "catalog" in _)) {
    return Either.left([{ field: "source", problem: "must be a list of connections" }])
  }
  const byName = new Map(connections.map((_) => [_.server, _]))
  return byName.size === connections.length
    ? Either.right(over(...serversOf(connections, byName), (server) => byName.get(server) ?? connections, never))
    : Either.left([{ field: "source", problem: "several connections have the same server name" }])
}

const over = (
  servers: ManagerLists.Servers,
  glance: Glance.Glance | undefined,
  /** What outlives the toolsets over it, and has this server. */
  ownerOf: (server: string) => object,
  end: End
): Selected =>
(wanted) => {
  const { only } = wanted
  const some = only === undefined ? { servers, glance } : narrowed(servers, glance, only)
  const { atOnce, lists } = ManagerLists.make(some.servers, some.glance)
  const problems = new Problems(wanted, servers.state, end)
  return {
    lists,
    connection: some.servers.connection,
    atOnce,
    answered: (server) => Answered.of(ownerOf(server)),
    problems,
    changes: wanted.named.length === 0
      ? Stream.map(lists.changes, (lists) => ({ lists, unknown: [] }))
      : Stream.mapEffect(
        servers.changes,
        (state) => Effect.map(lists.current, (lists) => ({ lists, unknown: problems.unknownTo(state.servers) }))
      ),
    end,
    away: (server) =>
      Effect.map(
        servers.state,
        ({ active, servers }) =>
          only?.has(server) === false || active.includes(server) ? undefined : servers.find((_) => _.name === server)
      )
  }
}

/** As if no other servers were active. What is known of the same state is the same value. */
const someOf = (only: ReadonlySet<string>): (all: ManagerState) => ManagerState => {
  let last: { readonly all: ManagerState; readonly some: ManagerState } | undefined = undefined
  return (all) => {
    if (last?.all !== all) last = { all, some: { ...all, active: all.active.filter((_) => only.has(_)) } }
    return last.some
  }
}

/** As if there were no other servers: to ask for the connection of one would open it. */
const narrowed = (
  { changes, configured, connection, state }: ManagerLists.Servers,
  glance: Glance.Glance | undefined,
  only: ReadonlySet<string>
) => {
  const some = someOf(only)
  const servers: ManagerLists.Servers = {
    configured: Effect.map(configured, (names) => names.filter((_) => only.has(_))),
    connection: (name) => only.has(name) ? connection(name) : Effect.fail(unknown(name, only)),
    state: Effect.map(state, some),
    changes: Stream.map(changes, some)
  }
  return { servers, glance: glance && { ...glance, state: () => some(glance.state()) } }
}

const unknown = (name: string, known: Iterable<string>): McpError.UnknownServer =>
  new McpError.UnknownServer({
    server: McpError.displayName(name),
    operation: "connection",
    executed: "no",
    configured: [...known]
  })

const isObject = (u: unknown): u is object => typeof u === "object" && u !== null

/** A manager says whether it has ended to whoever asks for one of its servers. */
const endOf = (manager: Manager): End =>
  Effect.suspend(() => manager.configured).pipe(
    Effect.flatMap(([name = ""]) => manager.status(name)),
    Effect.match({
      onFailure: (error) => error._tag === "ConnectionUnavailable" && error.reason === "Released" ? error : undefined,
      onSuccess: () => undefined
    })
  )

/** Connections end one by one. */
const never: End = Effect.succeed(undefined)

const serversOf = (
  connections: ReadonlyArray<McpConnection>,
  byName: ReadonlyMap<string, McpConnection>
): readonly [ManagerLists.Servers, Glance.Glance | undefined] => {
  const stateOf = remembering()
  const ours = connections.every(Connections.isOurs) ? connections : undefined
  const now = ours && (() => stateOf(connections, ours.map(factsOf)))
  const state = now === undefined
    ? Effect.map(Effect.forEach(connections, factsBySteps), (facts) => stateOf(connections, facts))
    : Effect.sync(now)
  const servers: ManagerLists.Servers = {
    state,
    changes: Stream.concat(
      Stream.fromEffect(state),
      Stream.mapEffect(
        whenever(
          connections.flatMap((_): ReadonlyArray<Stream.Stream<unknown>> => [_.changes, _.catalog.tools.changes])
        ),
        () => state
      )
    ),
    configured: Effect.succeed(connections.map((_) => _.server)),
    connection: (name) => {
      const connection = byName.get(name)
      return connection !== undefined ? Effect.succeed(connection) : Effect.fail(unknown(name, byName.keys()))
    }
  }
  const oursOf = (name: string): Connections.Connection | undefined => {
    const connection = byName.get(name)
    return connection !== undefined && Connections.isOurs(connection) ? connection : undefined
  }
  return [servers, now && { state: now, connection: oursOf }]
}

/** What a connection is, and knows. */
interface Facts {
  readonly state: ConnectionState
  readonly tools: Snapshot<McpProtocol.Tool> | undefined
}

const factsOf = ({ owner }: Connections.Connection): Facts => ({
  state: owner.state,
  tools: owner.catalog.shelves.tools.current(owner.now())
})

const factsBySteps = (connection: McpConnection): Effect.Effect<Facts> =>
  Effect.zipWith(connection.state, connection.catalog.tools.current, (state, tools) => ({ state, tools }))

/** As long as all facts are the same, the state is the same value. */
const remembering = () => {
  let last: { readonly facts: ReadonlyArray<Facts>; readonly state: ManagerState } | undefined = undefined
  return (connections: ReadonlyArray<McpConnection>, facts: ReadonlyArray<Facts>): ManagerState => {
    if (last === undefined || !facts.every((_, i) => isSame(_, last!.facts[i]!))) {
      const servers = connections.map((_, i) => statusOf(_, facts[i]!))
      last = { facts, state: { servers, active: servers.filter((_) => _.phase !== "disabled").map((_) => _.name) } }
    }
    return last.state
  }
}

const isSame = (a: Facts, b: Facts): boolean => a.state === b.state && a.tools === b.tools

const statusOf = ({ config, server }: McpConnection, { state, tools }: Facts): ServerStatus => ({
  name: server,
  phase: phaseOf(state),
  config,
  state,
  error: "error" in state ? state.error : undefined,
  closeError: undefined,
  tools
})

/** A connection that is at rest, or whose tries are over, is connected by whoever reads its list. */
const phaseOf = (state: ConnectionState): Phase => {
  switch (state._tag) {
    case "Reconnecting":
      return "reconnecting"
    case "Disabled":
      return "disabled"
    default:
      return "connected"
  }
}
