/**
 * Where the tools of a toolset come from.
 *
 * Owns: that connections without a manager can be read as the servers of one.
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

export interface ToolSource {
  readonly lists: Lists
  readonly connection: (server: string) => Effect.Effect<McpConnection, McpError.McpError>
}

export const of = (source: Source): Either.Either<ToolSource, ReadonlyArray<McpError.ConfigProblem>> => {
  if (!Array.isArray(source)) return Either.right(over(source as Manager))
  const connections = source as ReadonlyArray<McpConnection>
  const byName = new Map(connections.map((_) => [_.server, _]))
  return byName.size === connections.length
    ? Either.right(over(serversOf(connections, byName)))
    : Either.left([{ field: "source", problem: "several connections have the same server name" }])
}

const over = (servers: ManagerLists.Servers): ToolSource => ({
  lists: ManagerLists.make(servers),
  connection: servers.connection
})

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
    changes: Stream.mergeAll(
      connections.flatMap((_) => [_.changes, _.catalog.tools.changes] as ReadonlyArray<Stream.Stream<unknown>>),
      { concurrency: "unbounded", bufferSize: 1 }
    ).pipe(Stream.mapEffect(() => state)),
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

/** A connection at rest is connected by whoever reads its list. */
const phaseOf = (state: ConnectionState): Phase => {
  switch (state._tag) {
    case "Reconnecting":
      return "reconnecting"
    case "Failed":
    case "NeedsAuthorization":
      return "failed"
    case "Disabled":
      return "disabled"
    default:
      return "connected"
  }
}
