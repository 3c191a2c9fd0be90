/**
 * Stands where a collector of OpenTelemetry would: takes what is exported (OTLP over HTTP, as JSON), and shows it.
 */
import { Effect } from "effect"
import { once } from "node:events"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: unknown; readonly boolValue?: boolean }
}

interface Resource {
  readonly attributes: ReadonlyArray<Attribute>
}

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly status: { readonly code: number }
}

interface Points {
  readonly dataPoints: ReadonlyArray<
    { readonly attributes: ReadonlyArray<Attribute>; readonly count?: unknown; readonly asDouble?: number }
  >
}

interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: Points
  readonly histogram?: Points
}

interface Export {
  readonly resourceSpans?: ReadonlyArray<
    { readonly resource: Resource; readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }> }
  >
  readonly resourceMetrics?: ReadonlyArray<
    { readonly resource: Resource; readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<Metric> }> }
  >
}

const textOf = ({ value }: Attribute): string => String(Object.values(value)[0])

const valueOf = (attributes: ReadonlyArray<Attribute>, key: string): string | undefined =>
  attributes.filter((_) => _.key === key).map(textOf)[0]

const serviceOf = ({ attributes }: Resource): string => valueOf(attributes, "service.name") ?? "?"

const kinds = ["", "internal", "server", "client"]

/** Ends with the scope. */
export const collector = Effect.gen(function*() {
  const spans: Array<Span & { readonly service: string }> = []
  const metrics = new Map<string, ReadonlyArray<Metric>>()

  const take = ({ resourceMetrics = [], resourceSpans = [] }: Export) => {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = serviceOf(resource)
      spans.push(...scopeSpans.flatMap((_) => _.spans).map((span) => ({ ...span, service })))
    }
    // Each export has the whole of what was counted.
    for (const { resource, scopeMetrics } of resourceMetrics) {
      metrics.set(serviceOf(resource), scopeMetrics.flatMap((_) => _.metrics))
    }
  }
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      http.createServer((request, response) => {
        void json(request).then((body) => take(body as Export)).finally(() => response.end("{}"))
      })
    ),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  server.listen(0, "127.0.0.1")
  yield* Effect.promise(() => once(server, "listening"))

  const line = ({ attributes, kind, name, service, status }: (typeof spans)[number]): string => {
    const error = valueOf(attributes, "error.type")
    return `${name} (${service}, ${kinds[kind]}${status.code === 2 ? `, failed: ${error}` : ""})`
  }
  const childrenOf = (parent: string | undefined, depth: number): ReadonlyArray<string> =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent)
      .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
      .flatMap((span) => [`${"  ".repeat(depth)}${line(span)}`, ...childrenOf(span.spanId, depth + 1)])

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Each span below the one it is part of. */
    traces: Effect.sync(() => childrenOf(undefined, 0)),
    /** What a service has counted, each point with its tags. */
    metrics: (service: string) =>
      Effect.sync(() =>
        (metrics.get(service) ?? []).flatMap(({ histogram, name, sum, unit }) =>
          (histogram ?? sum)!.dataPoints.map(({ asDouble, attributes, count }) => {
            const tags = attributes.filter((_) => _.key !== "unit" && _.key !== "mcp.server.name").map(textOf)
            return `${name} ${tags.length === 0 ? "" : `[${tags.join(", ")}] `}${
              histogram === undefined ? asDouble : `${String(count)} times (${unit})`
            }`
          })
        ).sort()
      )
  }
})
