/**
 * Every transport on Node, ready to be composed.
 *
 * Owns: the layer that an application provides. The parts are in `StdioTransport` and `UndiciExchange`.
 *
 * @since 0.1.0
 */
import * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as StdioTransport from "./StdioTransport.js"
import * as UndiciExchange from "./UndiciExchange.js"

/**
 * Server processes, over the `HttpExchange` that is provided for everything else: an application brings its own HTTP
 * client or `fetch` this way.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWithoutHttp: Layer.Layer<McpTransport.McpTransport, never, HttpExchange.HttpExchange> = Layer.effect(
  McpTransport.McpTransport,
  Effect.map(HttpExchange.HttpExchange, (http) => McpTransport.make({ http, stdio: StdioTransport.channel }))
)

/**
 * Server processes, and HTTP over undici.
 *
 * @example
 * ```ts
 * import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
 * import { NodeMcp } from "@mcp-runtime/node"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const transport = yield* McpTransport.McpTransport
 *   const config = yield* McpConfig.decode({ name: "time", transport: "stdio", command: "my-time-server" })
 *   const session = yield* McpSession.open(yield* transport.channel(config))
 *   return yield* McpSession.callTool(session, { name: "now" })
 * }).pipe(Effect.scoped, Effect.provide(NodeMcp.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<McpTransport.McpTransport> = Layer.provide(layerWithoutHttp, UndiciExchange.layer)
