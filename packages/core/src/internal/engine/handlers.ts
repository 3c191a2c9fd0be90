/**
 * What the handlers of an application amount to.
 *
 * Owns: the capabilities that are announced for them, and the checks on what they answer to a form.
 */
import type { Handlers } from "../../ClientHandlers.js"
import * as McpProtocol from "../../McpProtocol.js"

/** What is announced to the server for these handlers. */
export const capabilities = (handlers: Handlers): McpProtocol.ClientCapabilities => {
  const { elicitation, roots, sampling } = handlers
  return {
    ...(sampling && { sampling: { ...(sampling.tools && { tools: {} }), ...(sampling.context && { context: {} }) } }),
    ...((elicitation?.form ?? elicitation?.url) && {
      elicitation: { ...(elicitation?.form && { form: {} }), ...(elicitation?.url && { url: {} }) }
    }),
    ...(roots && { roots: { listChanged: roots.changes !== undefined } })
  }
}

/** Why a handler's answer to a form can't be sent, or `undefined`. */
export const elicitationProblem = (
  result: McpProtocol.ElicitationResult,
  request: McpProtocol.FormElicitation | McpProtocol.UrlElicitation
): string | undefined => {
  if (!McpProtocol.isObject(result)) return "the answer is not an object"
  if (result.action !== "accept" && result.action !== "decline" && result.action !== "cancel") {
    return `"action" is not accept, decline or cancel`
  }
  if (request.mode === "url" || result.action !== "accept") {
    return result.content === undefined ? undefined : `"content" is only for accepted forms`
  }
  const content: unknown = result.content ?? {}
  if (!McpProtocol.isObject(content)) return `"content" is not an object`
  for (const [field, value] of Object.entries(content)) {
    if (!isFormValue(value)) return `"${field}" is not a text, number, truth value or list of texts`
  }
  const required = request.requestedSchema.required
  const missing = Array.isArray(required)
    ? required.find((field) => typeof field === "string" && !Object.hasOwn(content, field))
    : undefined
  return missing === undefined ? undefined : `the required field "${String(missing)}" is missing`
}

const isFormValue = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)) ||
  (Array.isArray(value) && value.every((_) => typeof _ === "string"))

/** An accepted form, with the defaults of the schema in every field that it leaves out. */
export const withDefaults = (
  result: McpProtocol.ElicitationResult,
  request: McpProtocol.FormElicitation
): McpProtocol.ElicitationResult => {
  const properties = request.requestedSchema.properties
  if (result.action !== "accept" || !McpProtocol.isObject(properties)) return result
  const content: Record<string, string | number | boolean | ReadonlyArray<string>> = { ...result.content }
  for (const [field, schema] of Object.entries(properties)) {
    if (!Object.hasOwn(content, field) && McpProtocol.isObject(schema) && isFormValue(schema.default)) {
      Object.defineProperty(content, field, { value: schema.default, enumerable: true })
    }
  }
  return { ...result, content }
}
