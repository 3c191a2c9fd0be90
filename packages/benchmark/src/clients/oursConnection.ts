/**
 * This library, through `McpConnection`: gate, deadlines, budget and state included.
 */
import { McpConnection } from "@mcp-runtime/core"
import { Effect, Exit, Schedule, Tracer } from "effect"
import { callArguments, type Session, type Wire } from "./client.js"
import { configOf, type Opened, sessionOf } from "./turns.js"

const openConnection = Effect.fnUntraced(function*(wire: Wire) {
  // The servers here lose sessions as often as a row wants it.
  const reconnect = { schedule: Schedule.forever }
  const connection = yield* McpConnection.make(yield* configOf(wire), { reconnect })
  yield* connection.awaitReady
  const opened: Opened = {
    call: (name) => McpConnection.callTool(connection, { name, arguments: callArguments }),
    list: Effect.map(McpConnection.listTools(connection), ({ items }) => items.length),
    again: Effect.map(connection.catalog.tools.get, ({ items }) => items.length)
  }
  return opened
})

export const open = (wire: Wire): Promise<Session> => sessionOf(openConnection(wire))

/** Makes real spans and hands them to nobody. */
const tracer = Tracer.make({
  span: (name, parent, context, links, startTime, kind) => {
    const attributes = new Map<string, unknown>()
    const span: Tracer.Span = {
      _tag: "Span",
      name,
      spanId: "0123456789abcdef",
      traceId: "0123456789abcdef0123456789abcdef",
      parent,
      context,
      status: { _tag: "Started", startTime },
      attributes,
      links,
      sampled: true,
      kind,
      end: (_: bigint, exit: Exit.Exit<unknown, unknown>) => {
        attributes.set("ok", Exit.isSuccess(exit))
      },
      attribute: (key, value) => {
        attributes.set(key, value)
      },
      event: () => {},
      addLinks: () => {}
    }
    return span
  },
  context: (run) => run()
})

export const openTraced = (wire: Wire): Promise<Session> =>
  sessionOf(openConnection(wire), (effect) => Effect.withTracer(effect, tracer))
