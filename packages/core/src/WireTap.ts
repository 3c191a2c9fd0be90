/**
 * What is said over the wires, for whoever looks for a mistake: every message, both ways.
 *
 * Owns: what is shown of a message: JSON as it was said, bounded, and without the secrets that are known of its server.
 * May not touch: the messages. Listening can't stop, slow down for long, or change them: a slow reader loses the oldest.
 *
 * Where nobody listens nothing is written out, and without a tap nothing is paid at all. Headers are no part of a message,
 * and never here. What is not masked: arguments of calls, and what a server says of its own.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as internal from "./internal/telemetry/wireTap.js"
import type * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/core/WireTap")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * One message on its way.
 *
 * @since 0.1.0
 * @category models
 */
export interface Frame {
  /** The configured name of the server. */
  readonly server: string
  /** The number of the session among those of its connection. */
  readonly generation: number
  readonly direction: "sent" | "received"
  /** When, in milliseconds of the Effect clock. */
  readonly at: number
  /** Of a request or a notification. */
  readonly method: string | undefined
  /** Of a request or an answer. */
  readonly id: McpProtocol.RequestId | undefined
  /** The message as JSON, without known secrets. */
  readonly text: string
  /** Whether it is longer than what is shown of it. */
  readonly truncated: boolean
}

/**
 * Given as `tap` to sessions, connections or a manager, as many as wished.
 *
 * @since 0.1.0
 * @category models
 */
export interface WireTap {
  readonly [TypeId]: TypeId
  /** What is said from now on. Each reader has a bound of its own: a slow one loses the oldest. */
  readonly frames: Stream.Stream<Frame>
}

/**
 * @since 0.1.0
 * @category options
 */
export interface WireTapOptions {
  /** How many frames wait for a slow reader of `frames`. A whole number of at least 1. Default: 1024. */
  readonly capacity?: number | undefined
  /** How many characters of a message are shown. A whole number of at least 1. Default: 16,384. */
  readonly maxLength?: number | undefined
  /** Called, synchronously, with each frame. What it throws is ignored; it should be quick. */
  readonly onFrame?: ((frame: Frame) => void) | undefined
}

/**
 * A tap. Options that can't be used are a `ConfigInvalid`.
 *
 * @example
 * ```ts
 * import { McpManager, WireTap } from "@mcp-runtime/core"
 * import { Effect, Stream } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const tap = yield* WireTap.make()
 *   yield* Effect.forkScoped(
 *     Stream.runForEach(tap.frames, (_) => Effect.log(`${_.server} ${_.direction === "sent" ? "->" : "<-"} ${_.text}`))
 *   )
 *   const manager = yield* McpManager.make({
 *     servers: [{ name: "files", transport: "stdio", command: "my-files-server" }],
 *     connection: { tap }
 *   })
 *   yield* manager.connectAll
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  (): Effect.Effect<WireTap>
  (options: WireTapOptions): Effect.Effect<WireTap, McpError.ConfigInvalid>
} = internal.make
