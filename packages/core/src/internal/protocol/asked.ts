/**
 * What servers ask of clients, and what these answer: roots, sampling and elicitation.
 *
 * Owns: these types.
 */
import type { JsonObject, Role, Tool } from "../../McpProtocol.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Root {
  readonly uri: string
  readonly name?: string | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * What a server asks with `sampling/createMessage`.
 *
 * @since 0.1.0
 * @category client features
 */
export interface SamplingRequest {
  readonly messages: ReadonlyArray<JsonObject>
  readonly maxTokens: number
  readonly systemPrompt?: string | undefined
  readonly temperature?: number | undefined
  readonly stopSequences?: ReadonlyArray<string> | undefined
  readonly modelPreferences?: JsonObject | undefined
  readonly includeContext?: "none" | "thisServer" | "allServers" | undefined
  readonly tools?: ReadonlyArray<Tool> | undefined
  readonly toolChoice?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category client features
 */
export interface SamplingResult {
  readonly role: Role
  readonly content: JsonObject | ReadonlyArray<JsonObject>
  readonly model: string
  readonly stopReason?: string | undefined
  readonly _meta?: JsonObject | undefined
}

/**
 * A server asks the user to fill in a form.
 *
 * @since 0.1.0
 * @category client features
 */
export interface FormElicitation {
  readonly mode: "form"
  readonly message: string
  readonly requestedSchema: JsonObject
  readonly _meta?: JsonObject | undefined
}

/**
 * A server asks the user to visit a page. Nothing of what happens there passes through the client.
 *
 * @since 0.1.0
 * @category client features
 */
export interface UrlElicitation {
  readonly mode: "url"
  readonly message: string
  readonly url: string
  readonly elicitationId: string
  readonly _meta?: JsonObject | undefined
}

/**
 * @since 0.1.0
 * @category client features
 */
export interface ElicitationResult {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: { readonly [key: string]: string | number | boolean | ReadonlyArray<string> } | undefined
  readonly _meta?: JsonObject | undefined
}
