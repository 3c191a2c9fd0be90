/**
 * This library, through `McpSession`, as an Effect application uses it: generators with a loop, and one fiber per call in
 * flight. Each turn is one run of an Effect, as it would be within an application.
 */
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Exit, ManagedRuntime, Scope } from "effect"
import { callArguments, checkResult, type Session, type Wire } from "./client.js"

const configOf = (wire: Wire): McpConfig.ServerConfigInput =>
  wire.type === "stdio"
    ? { name: "bench", transport: "stdio", command: process.execPath, args: [wire.script, ...wire.args] }
    : { name: "bench", transport: "http", url: wire.url }

const runtime = ManagedRuntime.make(NodeMcp.layer)

const openSession = Effect.fnUntraced(function*(wire: Wire) {
  const config = yield* McpConfig.decode(configOf(wire))
  const transport = yield* McpTransport.McpTransport
  return yield* McpSession.open(yield* transport.channel(config))
})

const callInTurn = Effect.fnUntraced(function*(session: McpSession.McpSession, name: string, more: () => boolean) {
  while (more()) checkResult(yield* McpSession.callTool(session, { name, arguments: callArguments }))
})

export const open = async (wire: Wire): Promise<Session> => {
  const scope = Effect.runSync(Scope.make())
  const session = await runtime.runPromise(openSession(wire).pipe(Scope.extend(scope)))
  const callsBy = (tool: string, count: number) => {
    let left = count
    return callInTurn(session, tool, () => left-- > 0)
  }
  return {
    sequential: (tool, count) => Effect.runPromise(callsBy(tool, count)),
    concurrent: (tool, count, inFlight) => {
      const worker = callsBy(tool, count)
      return Effect.runPromise(Effect.replicateEffect(worker, inFlight, { concurrency: inFlight, discard: true }))
    },
    list: async () => (await Effect.runPromise(McpSession.listTools(session))).items.length,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
