import { type McpConnection, type McpError, McpMetrics, WireTap } from "@mcp-runtime/core"
import type { Effect, Metric, Stream } from "effect"
import { describe, expect, it } from "tstyche"

type Metrics = typeof McpMetrics
type Options = McpConnection.ConnectionOptions

describe("McpMetrics", () => {
  it("durations are histograms, everything else is a counter", () => {
    type Durations = "operationDuration" | "sessionDuration" | "connectDuration"
    expect<Metrics[Durations]>().type.toBe<Metric.Metric.Histogram<number>>()
    expect<Metrics[Exclude<keyof Metrics, Durations | "durationBoundaries">]>().type.toBe<
      Metric.Metric.Counter<number>
    >()
    expect(McpMetrics.durationBoundaries).type.toBe<ReadonlyArray<number>>()
  })

  it("are on, off, or with tools", () => {
    expect<Options>().type.toBeAssignableFrom<{ metrics: boolean }>()
    expect<Options>().type.toBeAssignableFrom<{ metrics: { tools: number } }>()
    expect<Options>().type.not.toBeAssignableFrom<{ metrics: { tools: boolean } }>()
  })
})

describe("WireTap", () => {
  it("needs nothing, fails for wrong options only, and gives frames that nobody can change", () => {
    expect(WireTap.make()).type.toBe<Effect.Effect<WireTap.WireTap>>()
    expect(WireTap.make({ capacity: 1 })).type.toBe<Effect.Effect<WireTap.WireTap, McpError.ConfigInvalid>>()
    expect<WireTap.WireTap>().type.not.toBeAssignableFrom<Pick<WireTap.WireTap, "frames">>()
    expect<WireTap.WireTap["frames"]>().type.toBe<Stream.Stream<WireTap.Frame>>()
    expect<WireTap.Frame>().type.toBe<Readonly<WireTap.Frame>>()
    expect<Options>().type.toBeAssignableFrom<{ tap: WireTap.WireTap }>()
  })
})
