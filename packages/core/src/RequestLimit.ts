/**
 * How many requests may be under way at once over several connections.
 *
 * Owns: the bound, and its validation. What waits goes round by connection, so that no server keeps the others waiting.
 * May not touch: the bound of a single connection (`concurrency` of its configuration), and deadlines, which run meanwhile.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Turnstile } from "./internal/engine/turnstile.js"
import { owners } from "./internal/errors/owners.js"
import * as McpError from "./McpError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/core/RequestLimit")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * A bound that connections share.
 *
 * A request counts from the moment at which it is sent until it is settled; one that waits for the turn of its own
 * connection counts nowhere. What no caller waits for does not count: handshakes, pings, and what a connection asks for
 * itself. A server that hangs keeps what it was sent until the deadlines of those requests. A handler that, for a server,
 * sends requests under the same bound needs more of it than the request it works for.
 *
 * @since 0.1.0
 * @category models
 */
export interface RequestLimit {
  readonly [TypeId]: TypeId
  readonly permits: number
}

/**
 * A bound of so many requests. Fails where that is no whole number of at least 1.
 *
 * @example
 * ```ts
 * import { McpConfig, McpConnection, RequestLimit } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const requests = yield* RequestLimit.make(100)
 *   const urls = ["http://127.0.0.1:8080/mcp", "http://127.0.0.1:8081/mcp"]
 *   return yield* Effect.forEach(urls, (url, i) =>
 *     Effect.flatMap(
 *       McpConfig.decode({ name: `docs ${i}`, transport: "http", url }),
 *       (config) => McpConnection.make(config, { requests })
 *     ))
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (permits: number): Effect.Effect<RequestLimit, McpError.ConfigInvalid> =>
  Effect.suspend(() =>
    Number.isSafeInteger(permits) && permits >= 1
      ? Effect.succeed(new Limit(permits))
      : Effect.fail(
        new McpError.ConfigInvalid({
          server: owners.requestLimit,
          operation: "configure",
          executed: "no",
          problems: [{ field: "requests", problem: "must be a whole number of at least 1" }]
        })
      )
  )

class Limit extends Turnstile implements RequestLimit {
  readonly [TypeId]: TypeId = TypeId
}
