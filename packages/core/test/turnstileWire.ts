/**
 * What the tests of a limit over all sessions share: sessions that hang until the test answers them, and the order in which
 * requests go out over all of their wires.
 */
import { McpSession, type McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"
import { hanging, macrotask } from "./gateWire.js"

/** The channel, and what is told of each piece of work at the moment at which it is sent. */
export const recording = (channel: McpTransport.Channel, sent: (n: unknown) => void): McpTransport.Channel => ({
  ...channel,
  open: (events) =>
    Effect.map(channel.open(events), (transport) => ({
      ...transport,
      send: (message, accepted) => {
        if ("method" in message && message.method === "x/work") sent(message.params?.n)
        transport.send(message, accepted)
      }
    }))
})

/** A server with a session, whose requests are known by its name and their number. */
export const peer = (
  name: string,
  options: McpSession.SessionOptions,
  order: Array<string>,
  script: ScriptedServer.Options = hanging
) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make({ name, ...script })
    const session = yield* McpSession.open(recording(server.channel, (n) => order.push(`${name}${String(n)}`)), options)
    return { server, session }
  })

export const answerTo = (server: ScriptedServer.ScriptedServer, n: number, via: ScriptedServer.Peer = server) =>
  Effect.gen(function*() {
    const { id } = yield* server.awaitReceived((_) => _.method === "x/work" && _.params.n === n)
    yield* via.sendRaw(ScriptedServer.result(id!, { n }))
    yield* macrotask
  })
