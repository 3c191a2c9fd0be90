/**
 * What the tests of telemetry share: a tracer that keeps its spans, the metrics of one server, and wires that know secrets.
 */
import type { McpTransport } from "@mcp-runtime/core"
import { Effect, Exit, Metric, MetricState, Option, Tracer } from "effect"

/** A span, as it was made and as it ended. */
export interface Kept {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly spanId: string
  readonly traceId: string
  readonly sampled: boolean
  readonly parent: Tracer.AnySpan | undefined
  readonly links: ReadonlyArray<Tracer.SpanLink>
  readonly startTime: bigint
  readonly attributes: Map<string, unknown>
  readonly events: Array<{ readonly name: string; readonly attributes: Record<string, unknown> | undefined }>
  readonly capturesStack: boolean
  endTime: bigint | undefined
  exit: Exit.Exit<unknown, unknown> | undefined
}

/** What a span has that is not wished otherwise. `number` counts from 1. */
interface Ids {
  readonly spanId?: (number: number) => string
  readonly traceId?: string
  readonly sampled?: boolean
}

/** A tracer that keeps all of its spans, in the order in which they were begun. */
export const recorder = ({ sampled, spanId, traceId }: Ids = {}) => {
  const spans: Array<Kept> = []
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind, options) => {
      const number = spans.length + 1
      const hex = number.toString(16)
      const kept: Kept = {
        name,
        kind,
        spanId: spanId?.(number) ?? hex.padStart(16, "0"),
        traceId: traceId ?? Option.match(parent, { onNone: () => hex.padStart(32, "0"), onSome: (_) => _.traceId }),
        sampled: sampled ?? Option.match(parent, { onNone: () => true, onSome: (_) => _.sampled }),
        parent: Option.getOrUndefined(parent),
        links,
        startTime,
        attributes: new Map(),
        events: [],
        capturesStack: options?.captureStackTrace !== false,
        endTime: undefined,
        exit: undefined
      }
      spans.push(kept)
      return {
        _tag: "Span",
        name,
        spanId: kept.spanId,
        traceId: kept.traceId,
        parent,
        context,
        links,
        kind,
        sampled: kept.sampled,
        status: { _tag: "Started", startTime },
        attributes: kept.attributes,
        attribute: (key, value) => void kept.attributes.set(key, value),
        event: (name, _, attributes) => void kept.events.push({ name, attributes }),
        addLinks: () => {},
        end: (endTime, exit) => {
          if (kept.exit !== undefined) throw new Error(`the span ${name} has ended twice`)
          kept.endTime = endTime
          kept.exit = exit
        }
      }
    }
  })
  return { tracer, spans }
}

/** Each span behind those it is part of: `"app > tools/call echo > mcp.runtime.connect"`. */
export const paths = (spans: ReadonlyArray<Kept>): ReadonlyArray<string> =>
  spans.map((span) => {
    const path: Array<string> = []
    let current: Kept | undefined = span
    while (current !== undefined) {
      path.unshift(current.name)
      const { parent }: Kept = current
      current = parent === undefined ? undefined : spans.find((_) => _.spanId === parent.spanId)
      if (parent !== undefined && current === undefined) path.unshift(`(${parent.spanId})`)
    }
    return path.join(" > ")
  })

/** How a span has ended. */
export const endOf = ({ exit }: Kept): "open" | "success" | "failure" | "interrupted" =>
  exit === undefined ? "open" : Exit.isSuccess(exit) ? "success" : Exit.isInterrupted(exit) ? "interrupted" : "failure"

export const attributesOf = ({ attributes }: Kept) => Object.fromEntries(attributes)

/** What was counted of this server, by the name of the metric and its other tags; of durations how many and their sum. */
export const metricsOf = (server: string): Record<string, number | readonly [count: number, sum: number]> => {
  const points: Record<string, number | readonly [number, number]> = {}
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const tags = [...metricKey.tags].map(({ key, value }) => [key, value] as const)
    if (!tags.some(([key, value]) => key === "mcp.server.name" && value === server)) continue
    const others = tags.filter(([key]) => key !== "mcp.server.name").map((_) => _.join("=")).sort().join(" ")
    points[`${metricKey.name}{${others}}`] = MetricState.isHistogramState(metricState)
      ? [metricState.count, metricState.sum]
      : MetricState.isCounterState(metricState)
      ? Number(metricState.count)
      : Number.NaN
  }
  return points
}

/** Those of one metric, without its name. */
export const pointsOf = (server: string, metric: string) =>
  Object.fromEntries(
    Object.entries(metricsOf(server)).flatMap(([key, value]) =>
      key.startsWith(`${metric}{`) ? [[key.slice(metric.length + 1, -1), value]] : []
    )
  )

/** All points of one metric together. */
export const sumOf = (server: string, metric: string): number =>
  Object.values(pointsOf(server, metric)).reduce<number>((sum, _) => sum + (typeof _ === "number" ? _ : _[0]), 0)

let lastServer = 0

/** Metrics outlive a test: each has servers of its own. */
export const freshName = (): string => `server-${++lastServer}`

export const inSpan = (tracer: Tracer.Tracer, name = "app") => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.withSpan(name), Effect.withTracer(tracer))

/** The same wire, which knows what must not show. */
export const knowing = (channel: McpTransport.Channel, secrets: ReadonlyArray<string>): McpTransport.Channel => ({
  ...channel,
  open: (events) => Effect.map(channel.open(events), (wire) => ({ ...wire, secrets: () => secrets }))
})
