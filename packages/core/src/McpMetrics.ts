/**
 * What connections count, as metrics of Effect: for whoever exports all of them, and for whoever asks for one.
 *
 * Owns: their names, units and bounds.
 * May not touch: when they change. Nothing is counted before something happens, and nothing where `metrics` of the
 * options of connections is `false`.
 *
 * Two of them have the name and the buckets that OpenTelemetry gives them (`mcp.client.*`); the others are ours
 * (`mcp.runtime.*`). Their tags are few, whatever a server does. To Effect tags in another order are another metric; this is
 * their order:
 *
 * | tag                           | values                                                                            |
 * |-------------------------------|-----------------------------------------------------------------------------------|
 * | `mcp.server.name`             | the configured name                                                               |
 * | `network.transport`           | `pipe` (stdio) or `tcp` (HTTP); absent in memory                                  |
 * | `unit`                        | `s`, of durations: exporters of `@effect/opentelemetry` take it from there        |
 * | `mcp.method.name`             | a method of the protocol or of skills, else `_OTHER`                              |
 * | `mcp.runtime.catalog.list`    | `tools`, `prompts`, `resources`, `templates`                                      |
 * | `mcp.runtime.catalog.outcome` | `hit`, `miss`, `stale`                                                            |
 * | `gen_ai.operation.name`       | `execute_tool`, with the next one                                                 |
 * | `gen_ai.tool.name`            | only where it is wished: tools that the server lists, up to a bound, else `_OTHER` |
 * | `error.type`                  | only of failures: the `_tag` of the error, `tool_error`, `Interrupted`, `Defect`, or a well-known JSON-RPC code, else `_OTHER` |
 * | `mcp.runtime.executed`        | `no`, `maybe`, `yes`                                                              |
 * | `mcp.runtime.warning`         | see `McpTransport.WarningKind`                                                    |
 *
 * Metrics outlive what they are of: an application that makes servers under ever new names turns them off.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"

/**
 * The upper bounds of the buckets of every duration here, in seconds, as OpenTelemetry gives them for MCP.
 *
 * @since 0.1.0
 * @category constants
 */
export const durationBoundaries: ReadonlyArray<number> = Object.freeze(
  [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
)

const duration = (name: string, description: string): Metric.Metric.Histogram<number> =>
  Metric.histogram(name, MetricBoundaries.fromIterable(durationBoundaries), description)

const count = (name: string, description: string): Metric.Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true })

const upAndDown = (name: string, description: string): Metric.Metric.Counter<number> =>
  Metric.counter(name, { description })

/**
 * `mcp.client.operation.duration`, in seconds: each request, from when it was sent until its answer was there. Its count is
 * the number of requests. Tags: server, method, transport, error type; tools where they are wished.
 *
 * @example
 * ```ts
 * import { McpMetrics } from "@mcp-runtime/core"
 * import { Effect, Metric } from "effect"
 *
 * const callsOf = (server: string) =>
 *   McpMetrics.operationDuration.pipe(
 *     Metric.tagged("mcp.server.name", server),
 *     Metric.tagged("network.transport", "pipe"),
 *     Metric.tagged("unit", "s"),
 *     Metric.tagged("mcp.method.name", "tools/call"),
 *     Metric.value,
 *     Effect.map(({ count, sum }) => ({ calls: count, seconds: sum }))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category metrics
 */
export const operationDuration: Metric.Metric.Histogram<number> = duration(
  "mcp.client.operation.duration",
  "The duration of a request, from when it was sent until its answer was there, in seconds"
)

/**
 * `mcp.client.session.duration`, in seconds: each session, when it has ended. Tags: server, transport; the error type where the
 * wire has ended it, or the server does not know it any more.
 *
 * @since 0.1.0
 * @category metrics
 */
export const sessionDuration: Metric.Metric.Histogram<number> = duration(
  "mcp.client.session.duration",
  "The duration of a session, in seconds"
)

/**
 * `mcp.runtime.connect.duration`, in seconds: each try to open a session, with the start of the process, the handshake and
 * what is restored. Its count is the number of tries. Sessions of single calls (`recovery: "isolated"`) are none of them. Tags:
 * server, transport, error type.
 *
 * @since 0.1.0
 * @category metrics
 */
export const connectDuration: Metric.Metric.Histogram<number> = duration(
  "mcp.runtime.connect.duration",
  "The duration of a try to open a session, in seconds"
)

/**
 * `mcp.runtime.requests.active`: requests that were sent and have no answer yet. Tags: server.
 *
 * @since 0.1.0
 * @category metrics
 */
export const requestsActive: Metric.Metric.Counter<number> = upAndDown(
  "mcp.runtime.requests.active",
  "Requests that were sent and have no answer yet"
)

/**
 * `mcp.runtime.sessions.open`: sessions that are open. Tags: server, transport.
 *
 * @since 0.1.0
 * @category metrics
 */
export const sessionsOpen: Metric.Metric.Counter<number> = upAndDown(
  "mcp.runtime.sessions.open",
  "Sessions that are open"
)

/**
 * `mcp.runtime.sessions.opened`: sessions that were opened, ever. Tags: server, transport.
 *
 * @since 0.1.0
 * @category metrics
 */
export const sessionsOpened: Metric.Metric.Counter<number> = count(
  "mcp.runtime.sessions.opened",
  "Sessions that were opened"
)

/**
 * `mcp.runtime.sessions.lost`: sessions of connections that ended without our doing. Tags: server, transport, error type.
 *
 * @since 0.1.0
 * @category metrics
 */
export const sessionsLost: Metric.Metric.Counter<number> = count(
  "mcp.runtime.sessions.lost",
  "Sessions that ended without our doing"
)

/**
 * `mcp.runtime.reconnects`: sessions that took the place of another one, which was lost, or which the application wanted to be
 * exchanged. With the transport `pipe`, restarts of a process. Tags: server, transport.
 *
 * @since 0.1.0
 * @category metrics
 */
export const reconnects: Metric.Metric.Counter<number> = count(
  "mcp.runtime.reconnects",
  "Sessions that took the place of another one"
)

/**
 * `mcp.runtime.operation.failures`: failures that whoever called was given, after all replays. `mcp.runtime.executed` says
 * whether the server ran it (`no`, `maybe`, `yes`). Not: what was refused here (`ArgumentsInvalid`, `CapabilityMissing`, too many
 * requests at once, options that can't be), what nobody has called for, interruptions, results with `isError`. Tags: server, method, error type, executed.
 *
 * @since 0.1.0
 * @category metrics
 */
export const operationFailures: Metric.Metric.Counter<number> = count(
  "mcp.runtime.operation.failures",
  "Failures that whoever called was given, after all replays"
)

/**
 * `mcp.runtime.operation.replays`: requests that were sent again, by what had failed. Tags: server, method, error type.
 *
 * @since 0.1.0
 * @category metrics
 */
export const operationReplays: Metric.Metric.Counter<number> = count(
  "mcp.runtime.operation.replays",
  "Requests that were sent again"
)

/**
 * `mcp.runtime.catalog.reads`: how lists were read. `mcp.runtime.catalog.list` is `tools`, `prompts`, `resources` or
 * `templates`; `mcp.runtime.catalog.outcome` is `hit`, `miss` (the server is asked), or `stale` (it was asked in vain, and the
 * last good list was given). Tags: server, list, outcome.
 *
 * @since 0.1.0
 * @category metrics
 */
export const catalogReads: Metric.Metric.Counter<number> = count(
  "mcp.runtime.catalog.reads",
  "Lists that were read, from what is known or not"
)

/**
 * `mcp.runtime.catalog.refreshes`: lists that were asked for from the server. Tags: server, list, error type.
 *
 * @since 0.1.0
 * @category metrics
 */
export const catalogRefreshes: Metric.Metric.Counter<number> = count(
  "mcp.runtime.catalog.refreshes",
  "Lists that were asked for from the server"
)

/**
 * `mcp.runtime.messages.skipped`: what was skipped, dropped or failed unseen; `mcp.runtime.warning` is its kind, see
 * `McpTransport.WarningKind`. Tags: server, warning.
 *
 * @since 0.1.0
 * @category metrics
 */
export const messagesSkipped: Metric.Metric.Counter<number> = count(
  "mcp.runtime.messages.skipped",
  "Messages that were skipped or dropped, by kind"
)

/**
 * What of it is counted.
 *
 * @since 0.1.0
 * @category options
 */
export interface MetricsOptions {
  /**
   * How many tools of a server have a tag of their own (`gen_ai.tool.name`) in the durations; the others are `_OTHER`. Only
   * names that the server lists are taken, the first ones that are called. Default: 0, no such tag.
   */
  readonly tools?: number | undefined
}
