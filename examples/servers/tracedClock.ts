/**
 * A small MCP server, made with the official SDK, which takes part in the traces of its clients: each says in `_meta` which
 * span a call is part of, as W3C trace context.
 */
import { Headers, HttpTraceContext } from "@effect/platform"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Effect, type ManagedRuntime, Option } from "effect"
import { z } from "zod"

const hoursFromUtc: ReadonlyMap<string, number> = new Map([["Oslo", 1], ["Montevideo", -3]])

const parentOf = (meta: { readonly [key: string]: unknown } | undefined) =>
  typeof meta?.traceparent === "string"
    ? Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromInput({ traceparent: meta.traceparent })))
    : undefined

const lookUp = (city: string) => Effect.sync(() => hoursFromUtc.get(city)).pipe(Effect.withSpan("look up"))

/** It has a tracer of its own, as a server in another process has. */
export const tracedClock = (runtime: ManagedRuntime.ManagedRuntime<never, never>) => (): McpServer => {
  const server = new McpServer({ name: "clock", version: "1.0.0" })
  server.registerTool("hours_from_utc", {
    description: "How far a city is from UTC",
    inputSchema: { city: z.string() }
  }, async ({ city }, { _meta }) => {
    const hours = await runtime.runPromise(
      lookUp(city).pipe(
        Effect.withSpan("tools/call hours_from_utc", {
          kind: "server",
          parent: parentOf(_meta),
          captureStackTrace: false
        })
      )
    )
    return { isError: hours === undefined, content: [{ type: "text", text: String(hours ?? "unknown city") }] }
  })
  return server
}
