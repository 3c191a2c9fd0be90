/**
 * Where the tools of a toolset come from.
 *
 * Owns: that connections without a manager can be read as the servers of one, and that nobody asks a server whose tools are
 * not wanted, or waits for it.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { Lists } from "../../McpCatalog.js"
import type { ConnectionState, McpConnection } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type { Manager, ManagerState, Phase, ServerStatus } from "../../McpManager.js"
import type { Source } from "../../Toolset.js"
import * as ManagerLists from "../manager/lists.js"
import type { ToolLists } from "./table.js"

export interface ToolSource {
  readonly lists: Lists
  readonly connection: (server: string) => Effect.Effect<McpConnection, McpError.McpError>
  /** What is wrong with servers, in configured order: also with those that have no list, because they have failed. */
  readonly problems: (lists: ToolLists) => Effect.Effect<ReadonlyArray<Problem>>
}

export interface Problem {
  readonly server: string
  readonly error: McpError.McpError
  /** It has none of its tools. */
  readonly isMissing: boolean
}

/** Only these servers of a source, or all that are active. */
export type Selected = (only: ReadonlySet<string> | undefined) => ToolSource

export const of = (source: Source): Either.Either<Selected, ReadonlyArray<McpError.ConfigProblem>> => {
  if (!Array.isArray(source)) {
    return isObject(source) && "connection" in source
      ? Either.right(over(source as Manager))
      : Either.left([{ field: "source", problem: "must be a manager, or a list of connections" }])
  }
  const connections: ReadonlyArray<McpConnection> = [...source]
  if (!connections.every((_) => isObject(_) && "catalog" in _)) {
    return Either.left([{ field: "source", problem: "must be a list of connections" }])
  }
  const byName = new Map(connections.map((_) => [_.server, _]))
  return byName.size === connections.length
    ? Either.right(over(serversOf(connections, byName)))
    : Either.left([{ field: "source", problem: "several connections have the same server name" }])
}

const over = (all: ManagerLists.Servers): Selected => (only) => {
  const servers = only === undefined ? all : narrowed(all, only)
  return {
    lists: ManagerLists.make(servers),
    connection: servers.connection,
    problems: (lists) => Effect.map(servers.state, ({ servers }) => problemsOf(servers, lists, only))
  }
}

/** As if no other servers were active. What is known of the same state is the same value. */
const narrowed = (
  { changes, configured, connection, state }: ManagerLists.Servers,
  only: ReadonlySet<string>
): ManagerLists.Servers => {
  let last: { readonly all: ManagerState; readonly some: ManagerState } | undefined = undefined
  const someOf = (all: ManagerState): ManagerState => {
    if (last?.all !== all) last = { all, some: { ...all, active: all.active.filter((_) => only.has(_)) } }
    return last.some
  }
  return { configured, connection, state: Effect.map(state, someOf), changes: Stream.map(changes, someOf) }
}

const isObject = (u: unknown): u is object => typeof u === "object" && u !== null

const problemsOf = (
  servers: ReadonlyArray<ServerStatus>,
  lists: ToolLists,
  only: ReadonlySet<string> | undefined
): ReadonlyArray<Problem> => {
  const listOf = new Map(lists.map((_) => [_.server, _]))
  return servers.flatMap(({ error, name, phase }): ReadonlyArray<Problem> => {
    const list = listOf.get(name)
    if (list !== undefined) {
      // A server without tools has none to miss.
      return list.error === undefined || list.error._tag === "CapabilityMissing"
        ? []
        : [{ server: name, error: list.error, isMissing: list.origin === "unknown" }]
    }
    const isLeftOut = phase === "failed" && (only === undefined || only.has(name))
    return isLeftOut && error !== undefined ? [{ server: name, error, isMissing: true }] : []
  })
}

const serversOf = (
  connections: ReadonlyArray<McpConnection>,
  byName: ReadonlyMap<string, McpConnection>
): ManagerLists.Servers => {
  const state = Effect.map(Effect.forEach(connections, statusOf), (servers): ManagerState => ({
    servers,
    active: servers.filter((_) => _.phase !== "disabled").map((_) => _.name)
  }))
  return {
    state,
    changes: Stream.concat(
      Stream.fromEffect(state),
      Stream.mergeAll(
        connections.flatMap((_) => [_.changes, _.catalog.tools.changes] as ReadonlyArray<Stream.Stream<unknown>>),
        { concurrency: "unbounded", bufferSize: 1 }
      ).pipe(Stream.mapEffect(() => state))
    ),
    configured: Effect.succeed(connections.map((_) => _.server)),
    connection: (name) => {
      const connection = byName.get(name)
      return connection !== undefined ? Effect.succeed(connection) : Effect.fail(
        new McpError.UnknownServer({
          server: McpError.displayText(name, 256),
          operation: "connection",
          executed: "no",
          configured: [...byName.keys()]
        })
      )
    }
  }
}

const statusOf = (connection: McpConnection): Effect.Effect<ServerStatus> =>
  Effect.zipWith(connection.state, connection.catalog.tools.current, (state, tools) => ({
    name: connection.server,
    phase: phaseOf(state),
    config: connection.config,
    state,
    error: "error" in state ? state.error : undefined,
    closeError: undefined,
    tools
  }))

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
