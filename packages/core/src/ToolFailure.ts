/**
 * What an agent learns when a tool could not be called.
 *
 * Owns: the text in the place of an error.
 * May not touch: interruption, which stays interruption, and defects. A tool that ran and says that it failed is no
 * failure here: it has a result.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as internal from "./internal/toolset/failure.js"
import type * as McpError from "./McpError.js"

/**
 * Which call has failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface FailedCall {
  readonly server: string
  /** Its name at the server. */
  readonly tool: string
  /** Its name for the agent. */
  readonly name: string
}

/**
 * `"propagate"`: the typed error, which `E` has to allow. Otherwise a text for the model; where making it fails with `E`, the
 * call fails with that, and where making it takes longer than 5 seconds the text is that of `explained`.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolFailure<R = never, E = never> =
  | ([McpError.McpError] extends [E] ? "propagate" : never)
  | ((error: McpError.McpError, call: FailedCall) => string | Effect.Effect<string, E, R>)

/**
 * @since 0.1.0
 * @category models
 */
export declare namespace ToolFailure {
  /** Any of them, whatever it needs and fails with. */
  export type Any = ToolFailure<unknown, unknown>

  /** What calls can still fail with where these are told of their failures. */
  export type Error<F extends Any> = F extends "propagate" ? McpError.McpError
    : Answer<F> extends infer A ? A extends Effect.Effect<string, infer E, infer _> ? E : never
    : never

  /** The services that these need. */
  export type Context<F extends Any> = Answer<F> extends infer A
    ? A extends Effect.Effect<string, infer _, infer R> ? R : never
    : never

  /** What they give where they are functions. */
  export type Answer<F extends Any> = F extends (...args: never) => infer A ? A : never
}

/**
 * Says what happened, whether it may have run, and what the model can do about it. Bounded. Of servers it has only
 * what they say about the call: nothing of their stderr, their addresses, their commands, or the bodies of their HTTP
 * responses.
 *
 * | error                                                           | what the model can do                        |
 * |-----------------------------------------------------------------|----------------------------------------------|
 * | `ArgumentsInvalid`, unwritable params, `RemoteError` -32602     | mend the arguments: it is told what is wrong |
 * | `ToolFailed`                                                    | mend what the tool names                     |
 * | `RemoteError`                                                   | what its server says                         |
 * | `ToolNotFound`, `UnknownServer`, `CapabilityMissing`            | use another tool                             |
 * | `Unauthorized`, `Forbidden`, `ElicitationRequired`              | tell the user, who alone can change it       |
 * | `LimitExceeded`                                                 | ask for less                                 |
 * | `ConnectFailed`, `ConnectionClosed`, `ConnectionUnavailable`    | go on without it, or try again and when      |
 * | `HandshakeFailed`, `HttpError`, `RequestTimeout`                | the same                                     |
 * | `SessionExpired`, `SpawnFailed`                                 | the same                                     |
 * | `ConfigInvalid`, `VersionMismatch`, `MetaFailed`, `CloseFailed` | go on without it                             |
 * | `InvalidResult`, `OutputInvalid`                                | not call it again for the same: it has run   |
 * | `TaskFailed`                                                    | look before it calls it again                |
 * | `OutcomeUnknown`, `ResponseLost`, `ProtocolViolation`           | find out whether it has run                  |
 * | any of these that may have been executed                        | the same                                     |
 * | `ServersFailed`                                                 | as for the first of its errors               |
 *
 * @since 0.1.0
 * @category presets
 */
export const explained: ToolFailure = internal.explained

/**
 * As the OpenAI Agents SDK: the server's own words for a JSON-RPC error, and which tool of which server for any other,
 * after an invitation to try again. It gives that invitation even where the call may have run: prefer `explained`.
 *
 * @since 0.1.0
 * @category presets
 */
export const openAiAgents: ToolFailure = internal.openAiAgents

/**
 * The same text for every error.
 *
 * @since 0.1.0
 * @category constructors
 */
export const constant = (text: string): ToolFailure => () => text
