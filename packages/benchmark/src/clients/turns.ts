/**
 * The loops of this library: generators with a loop, and one fiber per call in flight, as an Effect application has them.
 * Each turn is one run of an Effect, as it would be within an application.
 */
import { McpConfig, type McpError, type McpProtocol } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Exit, Layer, Logger, LogLevel, ManagedRuntime, Scope } from "effect"
import { checkCount, checkResult, type Session, type Wire } from "./client.js"

export const inputOf = (wire: Wire, name: string): McpConfig.ServerConfigInput =>
  wire.type === "stdio"
    ? { name, transport: "stdio", command: process.execPath, args: [wire.script, ...wire.args] }
    : { name, transport: "http", url: wire.url }

export const configOf = (wire: Wire): Effect.Effect<McpConfig.ServerConfig, McpError.McpError> =>
  McpConfig.decode(inputOf(wire, "bench"))

export const runtime = ManagedRuntime.make(Layer.merge(NodeMcp.layer, Logger.minimumLogLevel(LogLevel.Warning)))

export type Services = Layer.Layer.Success<typeof NodeMcp.layer>

/** What is open, and what can be done with it. */
export interface Opened {
  readonly call: (tool: string) => Effect.Effect<McpProtocol.CallToolResult, unknown>
  /** Gives the number of tools. */
  readonly list: Effect.Effect<number, unknown>
  /** The same, as an application does that has had the list before. */
  readonly again: Effect.Effect<number, unknown>
}

const callInTurn = Effect.fnUntraced(function*({ call }: Opened, tool: string, more: () => boolean) {
  while (more()) checkResult(yield* call(tool), tool)
})

const listInTurn = Effect.fnUntraced(function*({ again }: Opened, tools: number, count: number) {
  for (let i = 0; i < count; i++) checkCount(yield* again, tools)
})

export const sessionOf = async (
  opening: Effect.Effect<Opened, unknown, Scope.Scope | Services>,
  around: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E> = (effect) => effect
): Promise<Session> => {
  const scope = Effect.runSync(Scope.make())
  const opened = await runtime.runPromise(opening.pipe(Scope.extend(scope)))
  const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(around(effect))
  const callsBy = (tool: string, count: number) => {
    let left = count
    return callInTurn(opened, tool, () => left-- > 0)
  }
  return {
    sequential: (tool, count) => run(callsBy(tool, count)),
    concurrent: (tool, count, inFlight) =>
      run(Effect.replicateEffect(callsBy(tool, count), inFlight, { concurrency: inFlight, discard: true })),
    list: () => run(opened.list),
    again: (tools, count) => run(listInTurn(opened, tools, count)),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
