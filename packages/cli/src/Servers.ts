/**
 * The servers of one run of the command, connected.
 *
 * Owns: the layers, and what is said on stderr about servers that fail.
 * May not touch: what is done with the servers.
 */
import * as CatalogStore from "@mcp-runtime/core/CatalogStore"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import * as McpCatalog from "@mcp-runtime/core/McpCatalog"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpConnection from "@mcp-runtime/core/McpConnection"
import type * as McpError from "@mcp-runtime/core/McpError"
import * as McpManager from "@mcp-runtime/core/McpManager"
import * as McpRuntime from "@mcp-runtime/core/McpRuntime"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as FileTokens from "@mcp-runtime/node/FileTokens"
import * as NodeMcp from "@mcp-runtime/node/NodeMcp"
import * as NodeSecrets from "@mcp-runtime/node/NodeSecrets"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { explain, format, type Surroundings } from "./Doctor.js"
import * as Places from "./doctor/places.js"
import { documentOf, type Failure, type FailureDocument, fromMcpError } from "./exit.js"
import * as Connecting from "./output/connecting.js"
import { Screen } from "./output/Screen.js"
import * as StderrTap from "./output/stderrTap.js"
import { shownName } from "./output/text.js"
import type { Broken, Setup } from "./Setup.js"

export interface Servers {
  readonly setup: Setup
  readonly manager: McpManager.Manager
  readonly catalog: McpCatalog.Lists
  readonly times: Connecting.Times
}

export interface Options {
  /** Whether servers whose tools are stored need not be waited for. */
  readonly deferred: boolean
  /** Whether servers that are connected by their first use are connected now, and stay so. */
  readonly eager?: boolean | undefined
  readonly connection?: McpConnection.ConnectionOptions | undefined
  /** Gets each line that a server process writes to stderr. */
  readonly onStderr?: ((server: string, line: string) => Effect.Effect<void>) | undefined
  /** Only these, of those that were chosen. */
  readonly only?: ReadonlySet<string> | undefined
}

/**
 * Authorization with what is stored. Only with an `Authorizer` is a person asked: that is for `auth`; everywhere else an error
 * says what to do.
 */
export const auth: Layer.Layer<McpAuth.McpAuth> = McpAuth.layer.pipe(
  Layer.provide(FileTokens.layer()),
  Layer.provide(NodeSecrets.layer()),
  Layer.provide(UndiciExchange.layer)
)

const transports: Layer.Layer<McpTransport.McpTransport> = NodeMcp.layerWithoutHttp.pipe(
  Layer.provide(auth),
  Layer.provide(UndiciExchange.layer)
)

/**
 * What is needed to reach servers. One after the other: `Layer.merge` and `Layer.provide` of several (3.22.4) wait for ever where they
 * are interrupted just before the first one has begun.
 */
export const platform = (setup: Setup): Layer.Layer<McpTransport.McpTransport | CatalogStore.CatalogStore> =>
  Layer.provideMerge(transports, setup.common.noCache ? CatalogStore.layerNone : NodeMcp.layerCatalog())

/** The servers that were chosen, connected as far as they can be. They are closed with the scope. */
export const connect = (
  setup: Setup,
  options: Options
): Effect.Effect<Servers, Failure, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const chosen = ConfigFile.serversOf(setup.loaded).filter((_) => options.only?.has(_.name) ?? true)
    const servers = options.eager === true ? chosen.map((_) => ({ ..._, lifetime: "eager" as const })) : chosen
    const layer = McpRuntime.layer({
      servers,
      connect: false,
      enrich: false,
      connectTimeout: connectTimeoutOf(setup, servers),
      startup: { deferred: options.deferred },
      connection: options.connection
    }).pipe(Layer.provide(options.onStderr === undefined ? platform(setup) : heard(setup, options.onStderr)))
    const context = yield* Effect.mapError(Layer.build(layer), (error) => fromMcpError(error))
    const manager = Context.get(context, McpManager.McpManager)
    const catalog = Context.get(context, McpCatalog.McpCatalog)
    const times = yield* Effect.scoped(
      Effect.tap(Connecting.watch(manager), () => Effect.mapError(manager.connectAll, (error) => fromMcpError(error)))
    )
    return { setup, manager, catalog, times }
  })

const heard = (setup: Setup, onStderr: (server: string, line: string) => Effect.Effect<void>) =>
  Layer.provideMerge(StderrTap.layer(onStderr), platform(setup))

/** What lists come after the handshake, beside its own bound. */
const afterHandshake = 10_000

/** A server that did not answer is ended before that is told; what is told is that it did not answer, and not that it is slow to end. */
const toEnd = (servers: ReadonlyArray<McpConfig.ServerConfigInput>): number =>
  Math.max(
    0,
    ...servers.map((_) => {
      const { afterEof = ending, afterKill = ending, afterTerm = ending } = _.transport === "stdio"
        ? _.shutdown ?? {}
        : {}
      return Duration.toMillis(afterEof) + Duration.toMillis(afterTerm) + Duration.toMillis(afterKill)
    })
  )

/** Each step of ending a process, where nothing else is configured. */
const ending: Duration.DurationInput = "2 seconds"

/** The handshake of each server has a bound of its own; this is for what comes after it. */
const connectTimeoutOf = (
  { timeout }: Setup,
  servers: ReadonlyArray<McpConfig.ServerConfigInput>
): Duration.DurationInput | null => {
  if (timeout === 0) return null
  const bounds = servers.map(({ timeouts }) => {
    if (timeouts?.handshake === null) return null
    return timeouts?.handshake === undefined
      ? Duration.toMillis(McpConfig.defaultTimeouts.handshake ?? Duration.seconds(30))
      : Duration.toMillis(timeouts.handshake)
  })
  if (bounds.some((_) => _ === null || !Number.isFinite(_))) return null
  const longest = Math.max(0, ...bounds.map((_) => _ ?? 0))
  return longest + toEnd(servers) + (timeout === undefined ? afterHandshake : Math.min(timeout, afterHandshake))
}

/** What there is to know for advice about an error of a server. */
export const surroundingsOf = (setup: Setup, error: McpError.McpError): Effect.Effect<Surroundings> =>
  Effect.gen(function*() {
    const entry = setup.loaded.entries.find((_) => _.name === error.server)
    if (entry === undefined) return {}
    const decoded = yield* Effect.either(McpConfig.decode(entry.config))
    const configFile = entry.origin.path
    if (Either.isLeft(decoded)) return { configFile }
    const config = decoded.right
    const findings =
      error._tag === "SpawnFailed" || error._tag === "HandshakeFailed" || error._tag === "ConnectionClosed"
        ? yield* Places.look(config)
        : []
    return { config, configFile, findings, path: Places.pathOf(config) }
  })

export const failureOf = (setup: Setup) => (error: McpError.McpError): Effect.Effect<never, Failure> =>
  Effect.flatMap(surroundingsOf(setup, error), (surroundings) => Effect.fail(fromMcpError(error, surroundings)))

/** What one server came to. */
export interface ServerReport {
  readonly name: string
  /** `cached`: not connected yet, its lists are those of the last run. `invalid`: its configuration can't be used. */
  readonly status: "connected" | "cached" | "failed" | "needs-authorization" | "disabled" | "invalid"
  readonly error: FailureDocument | null
  readonly milliseconds: number
}

/** One for each server, in configured order; those that can't be used are last. */
export const reports = ({ manager, setup, times }: Servers): Effect.Effect<ReadonlyArray<ServerReport>> =>
  Effect.gen(function*() {
    const { servers } = yield* manager.state
    const found = yield* Effect.forEach(servers, (status) =>
      Effect.gen(function*() {
        const milliseconds = yield* times.of(status.name)
        const surroundings = status.error === undefined ? {} : yield* surroundingsOf(setup, status.error)
        return {
          name: status.name,
          status: statusOf(status),
          error: status.error === undefined ? null : documentOf(status.error, surroundings),
          milliseconds
        }
      }))
    return [...found, ...setup.broken.map(reportOf)]
  })

const statusOf = ({ phase, state, tools }: McpManager.ServerStatus): ServerReport["status"] => {
  switch (phase) {
    case "disabled":
      return "disabled"
    case "failed":
      return state?._tag === "NeedsAuthorization" ? "needs-authorization" : "failed"
    case "connecting":
    case "disconnected":
      return tools === undefined ? "failed" : "cached"
    default:
      return "connected"
  }
}

const reportOf = ({ name, problems }: Broken): ServerReport => ({
  name,
  status: "invalid",
  error: {
    tag: "ConfigInvalid",
    message: problems.map((_) => `${_.field === undefined ? "" : `${_.field}: `}${_.problem}`).join("; "),
    server: name,
    executed: "no",
    todo: problems.map((_) => `Correct ${ConfigFile.display(_)}`)
  },
  milliseconds: 0
})

/** Which servers have had no say, where something is not found. */
export const notLookedIn = (silent: Iterable<string>): ReadonlyArray<string> => {
  const names = [...new Set(silent)].map(shownName)
  return names.length === 0 ? [] : [`Not looked for in ${names.join(", ")}: not connected. See: mcp-runtime doctor`]
}

/** The same of all that have failed, or whose configuration can't be used. */
export const silent = ({ manager, setup }: Servers): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(manager.errors, (errors) => notLookedIn([...setup.broken.map((_) => _.name), ...errors.keys()]))

/** Why servers have failed and what to do about it, on stderr. What is wrong in files was told before. */
export const tellFailures = ({ manager, setup }: Servers): Effect.Effect<void, never, Screen> =>
  Effect.gen(function*() {
    const { err } = yield* Screen
    for (const [, error] of yield* manager.errors) {
      const text = format(explain(error, yield* surroundingsOf(setup, error)))
      const [headline = "", ...more] = text.split("\n")
      yield* err.line([err.style.red(headline), ...more].join("\n"))
    }
  })

/** Whether something has failed that `--strict` does not allow. */
export const anyFailed = (reports: ReadonlyArray<ServerReport>): boolean => reports.some((_) => _.error !== null)
