/**
 * Spans of what a server asks us.
 *
 * Owns: whose part they are: of the span that the server names in `_meta`, or of none.
 * May not touch: what is answered.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import * as Spans from "./spans.js"
import * as TraceContext from "./traceContext.js"

/** Whatever goes wrong in a handler is this to the server. */
const toldTheServer = String(McpProtocol.ErrorCode.InternalError)

/** A request for which there is a handler: no method that a server makes up gets a span. */
export const handling = <A, E>(
  answer: Effect.Effect<A, E>,
  server: string,
  id: McpProtocol.RequestId,
  method: string,
  params: McpProtocol.JsonObject
): Effect.Effect<A, E> =>
  Effect.withFiberRuntime((fiber) => {
    if (!Spans.isTraced(fiber)) return answer
    return Spans.always(answer, {
      name: method,
      kind: "server",
      attributes: {
        "mcp.method.name": method,
        "mcp.server.name": server,
        "jsonrpc.request.id": McpError.displayText(String(id), 64)
      },
      parent: TraceContext.spanOf(params),
      unknown: toldTheServer
    })
  })
