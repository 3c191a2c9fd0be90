/**
 * Spans of what a server asks us.
 *
 * Owns: whose part they are: of the span that the server names in `_meta`, or of none.
 * May not touch: what is answered.
 */
import * as Effect from "effect/Effect"
import * as McpProtocol from "../../McpProtocol.js"
import * as Secrets from "../secrets.js"
import * as Spans from "./spans.js"
import * as TraceContext from "./traceContext.js"

/** Whatever goes wrong in a handler is this to the server. */
const toldTheServer = String(McpProtocol.ErrorCode.InternalError)

/** What a server asks. */
export interface Question {
  readonly server: string
  readonly id: McpProtocol.RequestId
  readonly method: string
  readonly params: McpProtocol.JsonObject
  /** What must not show, should the server repeat it. */
  readonly secrets: () => ReadonlyArray<string>
}

/** A request for which there is a handler: no method that a server makes up gets a span. */
export const handling = <A, E>(
  answer: Effect.Effect<A, E>,
  { id, method, params, secrets, server }: Question
): Effect.Effect<A, E> =>
  Effect.withFiberRuntime((fiber) => {
    if (!Spans.isTraced(fiber)) return answer
    return Spans.always(answer, {
      name: method,
      kind: "server",
      attributes: {
        "mcp.method.name": method,
        "mcp.server.name": server,
        "jsonrpc.request.id": Secrets.shown(String(id), secrets(), 64)
      },
      parent: TraceContext.spanOf(params),
      failedAs: toldTheServer
    })
  })
