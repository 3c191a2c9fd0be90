/**
 * This library, through `McpSession`.
 */
import { McpSession, McpTransport } from "@mcp-runtime/core"
import { Effect } from "effect"
import { callArguments, type Session, type Wire } from "./client.js"
import { configOf, type Opened, sessionOf } from "./turns.js"

const openSession = Effect.fnUntraced(function*(wire: Wire) {
  const transport = yield* McpTransport.McpTransport
  const session = yield* McpSession.open(yield* transport.channel(yield* configOf(wire)))
  const list = Effect.map(McpSession.listTools(session), ({ items }) => items.length)
  const opened: Opened = {
    call: (name) => McpSession.callTool(session, { name, arguments: callArguments }),
    list,
    again: list
  }
  return opened
})

export const open = (wire: Wire): Promise<Session> => sessionOf(openSession(wire))
