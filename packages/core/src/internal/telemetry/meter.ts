/**
 * The metrics of one connection.
 *
 * Owns: their tags, made once and kept, so that counting a request is two look-ups and an addition.
 * May not touch: clocks. It is told how long something took.
 *
 * Tags that come from outside are bounded: by what the protocol has, or by number.
 */
import type * as Metric from "effect/Metric"
import * as MetricLabel from "effect/MetricLabel"
import type * as Catalog from "../../Catalog.js"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpError from "../../McpError.js"
import * as McpMetrics from "../../McpMetrics.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import * as Methods from "../protocol/methods.js"
import * as ErrorType from "./errorType.js"

type Tags = ReadonlyArray<MetricLabel.MetricLabel>

const tagged = (tags: Tags, key: string, value: string): Tags => [...tags, MetricLabel.make(key, value)]

const known = (method: string): string => Methods.isKnown(method) ? method : ErrorType.other

/** The tags of one metric, by one of a bounded number of last tags. */
class Family {
  /** Most have none. */
  private byValue: Map<string, Tags> | undefined = undefined

  constructor(readonly tags: Tags, private readonly key: string) {}

  with(value: string | undefined): Tags {
    if (value === undefined) return this.tags
    const byValue = this.byValue ??= new Map()
    let tags = byValue.get(value)
    if (tags === undefined) {
      tags = tagged(this.tags, this.key, value)
      byValue.set(value, tags)
    }
    return tags
  }
}

/** What is kept of a request until it has ended. */
export type Instrument = Family

/** What a session tells of its requests and of itself. All synchronous and total. */
export interface SessionMeter {
  /** It is handed to the wire. */
  readonly sent: (method: string, params: McpProtocol.JsonObject | undefined) => Instrument
  /** Exactly once for each that was sent. */
  readonly ended: (instrument: Instrument, millis: number, errorType: string | undefined) => void
  readonly opened: () => void
  readonly closed: (millis: number, error: McpError.McpError | undefined) => void
  readonly skipped: (kind: McpTransport.WarningKind) => void
}

/** Beside what an application may say of a session: what its connection says. */
export interface Metered {
  readonly meter?: SessionMeter | undefined
}

export class Meter implements SessionMeter {
  private readonly server: Tags
  private readonly session: Family
  /** The same of durations: exporters take the unit from there. */
  private readonly timed: Family
  private readonly active: Tags
  private readonly byMethod = new Map<string, Instrument>()
  private readonly byTool = new Map<string, Instrument>()
  /** Of those that have no tag of their own. */
  private otherTools: Instrument | undefined = undefined
  private readonly warnings: Family
  private readonly reads = new Map<Catalog.Kind, Family>()

  constructor(
    config: McpConfig.ServerConfig,
    private readonly mostTools: number,
    /** Whether the server lists a tool of this name. */
    private readonly isListed: (tool: string) => boolean
  ) {
    this.server = [MetricLabel.make("mcp.server.name", config.name)]
    this.active = this.server
    const transport = networkTransportOf(config)
    const session = transport === undefined ? this.server : tagged(this.server, "network.transport", transport)
    this.session = new Family(session, "error.type")
    this.timed = new Family(tagged(session, "unit", "s"), "error.type")
    this.warnings = new Family(this.server, "mcp.runtime.warning")
  }

  readonly sent = (method: string, params: McpProtocol.JsonObject | undefined): Instrument => {
    McpMetrics.requestsActive.unsafeUpdate(1, this.active)
    return this.mostTools > 0 && method === "tools/call" ? this.tool(params?.name) : this.method(method)
  }

  readonly ended = (instrument: Instrument, millis: number, errorType: string | undefined): void => {
    McpMetrics.requestsActive.unsafeUpdate(-1, this.active)
    McpMetrics.operationDuration.unsafeUpdate(secondsOf(millis), instrument.with(errorType))
  }

  private method(method: string): Instrument {
    const instrument = this.byMethod.get(method)
    if (instrument !== undefined) return instrument
    const name = known(method)
    // Those that share a name share its tags.
    const made = this.byMethod.get(name) ??
      new Family(tagged(this.timed.tags, "mcp.method.name", name), "error.type")
    this.byMethod.set(name, made)
    return made
  }

  private tool(name: unknown): Instrument {
    const instrument = typeof name === "string" ? this.byTool.get(name) : undefined
    if (instrument !== undefined) return instrument
    const has = typeof name === "string" && this.byTool.size < this.mostTools && this.isListed(name)
    if (!has) return this.otherTools ??= this.ofTool(ErrorType.other)
    const made = this.ofTool(name)
    this.byTool.set(name, made)
    return made
  }

  private ofTool(name: string): Instrument {
    const calls = tagged(this.timed.tags, "mcp.method.name", "tools/call")
    return new Family(
      tagged(tagged(calls, "gen_ai.operation.name", "execute_tool"), "gen_ai.tool.name", name),
      "error.type"
    )
  }

  readonly opened = (): void => {
    McpMetrics.sessionsOpened.unsafeUpdate(1, this.session.tags)
    McpMetrics.sessionsOpen.unsafeUpdate(1, this.session.tags)
  }

  readonly closed = (millis: number, error: McpError.McpError | undefined): void => {
    McpMetrics.sessionsOpen.unsafeUpdate(-1, this.session.tags)
    McpMetrics.sessionDuration.unsafeUpdate(secondsOf(millis), this.timed.with(typeOf(error)))
  }

  readonly skipped = (kind: McpTransport.WarningKind): void =>
    McpMetrics.messagesSkipped.unsafeUpdate(1, this.warnings.with(kind))

  connected(millis: number, errorType: string | undefined): void {
    McpMetrics.connectDuration.unsafeUpdate(secondsOf(millis), this.timed.with(errorType))
  }

  lost(error: McpError.McpError): void {
    McpMetrics.sessionsLost.unsafeUpdate(1, this.session.with(ErrorType.bounded(error)))
  }

  reconnected(): void {
    McpMetrics.reconnects.unsafeUpdate(1, this.session.tags)
  }

  replayed(method: string, error: McpError.McpError): void {
    this.rarely(McpMetrics.operationReplays, [
      ["mcp.method.name", known(method)],
      ["error.type", ErrorType.bounded(error)]
    ])
  }

  failed(method: string, error: McpError.McpError): void {
    this.rarely(McpMetrics.operationFailures, [
      ["mcp.method.name", known(method)],
      ["error.type", ErrorType.bounded(error)],
      ["mcp.runtime.executed", error.executed]
    ])
  }

  catalogRead(list: Catalog.Kind, outcome: "hit" | "miss" | "stale"): void {
    let reads = this.reads.get(list)
    if (reads === undefined) {
      reads = new Family(tagged(this.server, "mcp.runtime.catalog.list", list), "mcp.runtime.catalog.outcome")
      this.reads.set(list, reads)
    }
    McpMetrics.catalogReads.unsafeUpdate(1, reads.with(outcome))
  }

  catalogRefreshed(list: Catalog.Kind, error: McpError.McpError | undefined): void {
    const type = typeOf(error)
    this.rarely(McpMetrics.catalogRefreshes, [
      ["mcp.runtime.catalog.list", list],
      ...(type === undefined ? [] : [["error.type", type] as const])
    ])
  }

  private readonly rare = new Map<string, Tags>()

  /** What is counted seldom enough to be looked up by its text. Every value is one of a few. */
  private rarely(metric: Metric.Metric.Counter<number>, labels: ReadonlyArray<readonly [string, string]>): void {
    const key = labels.join()
    let tags = this.rare.get(key)
    if (tags === undefined) {
      tags = [...this.server, ...labels.map(([key, value]) => MetricLabel.make(key, value))]
      this.rare.set(key, tags)
    }
    metric.unsafeUpdate(1, tags)
  }
}

/** A clock may be set back. */
const secondsOf = (millis: number): number => millis > 0 ? millis / 1000 : 0

const typeOf = (error: McpError.McpError | undefined): string | undefined =>
  error === undefined || isOurDoing(error) ? undefined : ErrorType.bounded(error)

/** What the application has closed did not fail. */
const isOurDoing = (error: McpError.McpError): boolean =>
  error._tag === "ConnectionClosed" && error.reason === "Closing"

/** As OpenTelemetry calls what the bytes go over. */
export const networkTransportOf = (config: McpConfig.ServerConfig): "pipe" | "tcp" | undefined => {
  switch (config.transport) {
    case "stdio":
      return "pipe"
    case "inMemory":
      return undefined
    default:
      return "tcp"
  }
}
