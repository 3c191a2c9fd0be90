/**
 * OpenTelemetry: an application and a server export their spans to one collector, where a call is one trace, and the
 * application exports what it has counted. The collector and the server are fixtures on this machine; the rest is what an
 * application has.
 */
import * as Otlp from "@effect/opentelemetry/Otlp"
import { FetchHttpClient } from "@effect/platform"
import { NodeRuntime } from "@effect/platform-node"
import { McpManager, McpRuntime } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Console, Effect, Layer, ManagedRuntime } from "effect"
import { collector } from "./servers/collector.js"
import { tracedClock } from "./servers/tracedClock.js"

const telemetry = (baseUrl: string, serviceName: string) =>
  Otlp.layerJson({ baseUrl, resource: { serviceName } }).pipe(Layer.provide(FetchHttpClient.layer))

const program = Effect.gen(function*() {
  const manager = yield* McpManager.McpManager
  const hours = (city: string) => manager.callTool("clock", { name: "hours_from_utc", arguments: { city } })

  yield* hours("Oslo").pipe(Effect.withSpan("plan a trip"))
  yield* hours("Atlantis").pipe(Effect.withSpan("plan another trip"))
})

const main = Effect.gen(function*() {
  const { metrics, traces, url } = yield* collector
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => ManagedRuntime.make(telemetry(url, "clock"))),
    (runtime) => runtime.disposeEffect
  )
  const live = McpRuntime.layer({
    servers: [{ name: "clock", transport: "inMemory", server: tracedClock(server) }]
  }).pipe(
    Layer.provide(NodeMcp.layer),
    // Below what is to be traced, so that it is there before anything is connected, and until everything is closed.
    Layer.provideMerge(telemetry(url, "application"))
  )
  yield* Effect.provide(program, live)
  yield* server.disposeEffect

  yield* Console.log((yield* traces).join("\n"))
  yield* Console.log()
  yield* Console.log((yield* metrics("application")).filter((_) => _.startsWith("mcp.")).join("\n"))
})

NodeRuntime.runMain(Effect.scoped(main))
