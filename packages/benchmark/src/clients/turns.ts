/**
 * The loops of this library: generators with a loop, and one fiber per call in flight, as an Effect application has them.
 * Each turn is one run of an Effect, as it would be within an application.
 */
import { McpConfig, type McpError, type McpProtocol } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Exit, type Layer, ManagedRuntime, Scope } from "effect"
import { checkResult, type Session, type Wire } from "./client.js"

export const configOf = (wire: Wire): Effect.Effect<McpConfig.ServerConfig, McpError.McpError> =>
  McpConfig.decode(
    wire.type === "stdio"
      ? { name: "bench", transport: "stdio", command: process.execPath, args: [wire.script, ...wire.args] }
      : { name: "bench", transport: "http", url: wire.url }
  )

export const runtime = ManagedRuntime.make(NodeMcp.layer)

type Services = Layer.Layer.Success<typeof NodeMcp.layer>

/** What is open, and what can be done with it. */
export interface Opened {
  readonly call: (tool: string) => Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
  readonly list: Effect.Effect<McpProtocol.Listing<McpProtocol.Tool>, McpError.McpError>
}

const callInTurn = Effect.fnUntraced(function*({ call }: Opened, tool: string, more: () => boolean) {
  while (more()) checkResult(yield* call(tool))
})

export const sessionOf = async (
  opening: Effect.Effect<Opened, McpError.McpError, Scope.Scope | Services>,
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
    list: async () => (await run(opened.list)).items.length,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
