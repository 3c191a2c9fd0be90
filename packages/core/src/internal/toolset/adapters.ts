/**
 * Tools, calls and results as the APIs of models write them.
 *
 * Owns: the shapes of those APIs, and what of a result each of them can take.
 * May not touch: what a tool is called, and whether a call is made.
 */
import type { JsonObject } from "../../McpProtocol.js"
import type {
  Adapter,
  AnthropicContent,
  AnthropicResult,
  AnthropicTool,
  Call,
  Describable,
  ObjectSchema,
  OpenAiChatResult,
  OpenAiChatTool,
  OpenAiContent,
  OpenAiResult,
  OpenAiTool,
  Outcome,
  Output,
  ResultOptions,
  VercelContent,
  VercelJson,
  VercelOptions,
  VercelOutput,
  VercelResult,
  VercelSchema,
  VercelTool
} from "../../ToolAdapters.js"
import type { Part } from "../../ToolOutput.js"
import { normalized } from "../../ToolSchema.js"
import type { ToolResult } from "../../Toolset.js"
import { isObject } from "../protocol/json.js"
import { inWords, isImage, isJson, isResource } from "./content.js"

// ---------------------------------------------------------------------------------------------------------------------
// Tools
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Arguments are always an object, so that a schema which lets other values in as well loses nothing that could be said.
 */
const objectSchema = (schema: JsonObject): ObjectSchema =>
  normalized(schema.type === "object" ? schema : { ...schema, type: "object" }) as ObjectSchema

// ---------------------------------------------------------------------------------------------------------------------
// Calls
// ---------------------------------------------------------------------------------------------------------------------

const noItems: ReadonlyArray<JsonObject> = []

/** The objects in a list, or in the list that an object has under a key. */
const itemsIn = (answer: unknown, key: string): ReadonlyArray<JsonObject> => {
  const list = isObject(answer) ? answer[key] : answer
  return Array.isArray(list) ? list.filter(isObject) : noItems
}

const textOf = (u: unknown): string => typeof u === "string" ? u : ""

const callOf = (id: unknown, name: unknown, args: unknown): Call => ({
  id: textOf(id),
  name: textOf(name),
  arguments: argumentsOf(args)
})

/** Other values stay what they are, as JSON, so that the call fails for what the model wrote and not for nothing. */
const argumentsOf = (args: unknown): string | JsonObject => {
  if (typeof args === "string" || isObject(args)) return args
  try {
    return args === undefined || args === null ? "" : JSON.stringify(args) ?? unwritable
  } catch {
    return unwritable
  }
}

/** Not JSON, so that whoever reads arguments says so. */
const unwritable = "<unwritable>"

// ---------------------------------------------------------------------------------------------------------------------
// Results
// ---------------------------------------------------------------------------------------------------------------------

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp"

type Media =
  | { readonly kind: "image"; readonly mediaType: ImageType; readonly data: string }
  | { readonly kind: "pdf"; readonly mediaType: "application/pdf"; readonly data: string; readonly filename: string }

const imageTypes: ReadonlyMap<string, ImageType> = new Map([
  ["image/jpeg", "image/jpeg"],
  ["image/jpg", "image/jpeg"],
  ["image/png", "image/png"],
  ["image/gif", "image/gif"],
  ["image/webp", "image/webp"]
])

const mediaFrom = (mimeType: string, data: string, uri: string): Media | undefined => {
  if (data === "") return undefined
  const type = mimeType.split(";", 1)[0]!.trim().toLowerCase()
  const image = imageTypes.get(type)
  if (image !== undefined) return { kind: "image", mediaType: image, data }
  return type === "application/pdf" ? { kind: "pdf", mediaType: type, data, filename: filenameOf(uri) } : undefined
}

const filenameOf = (uri: string): string => {
  const last = /[^/\\?#]{1,128}\.pdf$/i.exec(uri.slice(-132))
  return last === null ? "resource.pdf" : last[0]
}

/** What these APIs take as it is. A request with anything else would be refused whole. */
const mediaOf = (part: Part): Media | undefined => {
  if (isImage(part)) return mediaFrom(part.mimeType, part.data, "")
  if (!isResource(part)) return undefined
  const { blob, mimeType, text, uri } = part.resource
  return typeof blob === "string" && typeof mimeType === "string" && typeof text !== "string"
    ? mediaFrom(mimeType, blob, uri)
    : undefined
}

const dataUrl = (media: Media): string => `data:${media.mediaType};base64,${media.data}`

const failed = "Error:"

interface Told {
  readonly output: Output
  readonly isError: boolean
}

const toldOf = (outcome: Outcome, options: ResultOptions | undefined): Told => {
  const told = typeof outcome === "string" || isList(outcome)
    ? { output: outcome, isError: false }
    : resultTold(outcome)
  return options?.isError === undefined ? told : { ...told, isError: options.isError }
}

const isList = (outcome: Exclude<Outcome, string>): outcome is ReadonlyArray<Part> => Array.isArray(outcome)

/** What is there in the place of a result is one of a failure, whoever it was. */
const resultTold = <A>(result: ToolResult<A>): { readonly output: A | string; readonly isError: boolean } =>
  result._tag === "Success"
    ? { output: result.output, isError: result.isError }
    : { output: result.text, isError: true }

/** A text that stands for a failure says so itself. */
const saysIt = ({ isError, output }: Told): ReadonlyArray<Part> =>
  typeof output === "string"
    ? [{ type: "text", text: output }]
    : isError
    ? [{ type: "text", text: failed }, ...output]
    : output

const asText = (parts: ReadonlyArray<Part>): string => parts.map(inWords).join("\n")

/** One text for texts in a row, which is all of it as a rule; the rest as it comes. */
const contentOf = <A>(
  parts: ReadonlyArray<Part>,
  text: (text: string) => A,
  media: (media: Media) => A
): string | Array<A> => {
  const all = parts.map(mediaOf)
  if (all.every((_) => _ === undefined)) return asText(parts)
  return parts.map((part, i) => {
    const it = all[i]
    return it === undefined ? text(inWords(part)) : media(it)
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// OpenAI
// ---------------------------------------------------------------------------------------------------------------------

const openAiFunction = ({ description, inputSchema, name, strict }: Describable): Omit<OpenAiTool, "type"> => ({
  name,
  description,
  parameters: objectSchema(inputSchema),
  strict
})

export const openAi: Adapter<OpenAiTool, OpenAiResult> = {
  tools: (tools) => Array.from(tools, (tool) => ({ type: "function", ...openAiFunction(tool) })),
  calls: (answer) =>
    itemsIn(answer, "output")
      .filter((item) => item.type === "function_call")
      .map((item) => callOf(item.call_id, item.name, item.arguments)),
  result: ({ id }, outcome, options) => ({
    type: "function_call_output",
    call_id: id,
    output: contentOf<OpenAiContent>(
      saysIt(toldOf(outcome, options)),
      (text) => ({ type: "input_text", text }),
      (media) =>
        media.kind === "image"
          ? { type: "input_image", image_url: dataUrl(media) }
          : { type: "input_file", filename: media.filename, file_data: dataUrl(media) }
    )
  })
}

export const openAiChat: Adapter<OpenAiChatTool, OpenAiChatResult> = {
  tools: (tools) => Array.from(tools, (tool) => ({ type: "function", function: openAiFunction(tool) })),
  calls: (answer) =>
    itemsIn(answer, "tool_calls").flatMap((call) =>
      isObject(call.function) ? [callOf(call.id, call.function.name, call.function.arguments)] : []
    ),
  result: ({ id }, outcome, options) => ({
    role: "tool",
    tool_call_id: id,
    content: asText(saysIt(toldOf(outcome, options)))
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Anthropic
// ---------------------------------------------------------------------------------------------------------------------

const anthropicMedia = (media: Media): AnthropicContent =>
  media.kind === "image"
    ? { type: "image", source: { type: "base64", media_type: media.mediaType, data: media.data } }
    : { type: "document", source: { type: "base64", media_type: media.mediaType, data: media.data } }

const anthropicContent = (parts: ReadonlyArray<Part>, isError: boolean): Array<AnthropicContent> =>
  parts.flatMap((part): ReadonlyArray<AnthropicContent> => {
    const media = isError ? undefined : mediaOf(part)
    if (media !== undefined) return [anthropicMedia(media)]
    const text = inWords(part)
    return text.trim() === "" ? [] : [{ type: "text", text }]
  })

const silentFailure: AnthropicContent = { type: "text", text: "The tool failed and does not say why." }

export const anthropic: Adapter<AnthropicTool, AnthropicResult> = {
  tools: (tools) =>
    Array.from(tools, ({ description, inputSchema, name }) => ({
      name,
      description,
      input_schema: objectSchema(inputSchema)
    })),
  calls: (answer) =>
    itemsIn(answer, "content")
      .filter((block) => block.type === "tool_use")
      .map((block) => callOf(block.id, block.name, block.input)),
  result: ({ id }, outcome, options) => {
    const { isError, output } = toldOf(outcome, options)
    const content = anthropicContent(typeof output === "string" ? [{ type: "text", text: output }] : output, isError)
    if (isError && content.length === 0) content.push(silentFailure)
    return {
      type: "tool_result",
      tool_use_id: id,
      ...(content.length === 0 ? undefined : { content }),
      ...(isError ? { is_error: true } : undefined)
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// AI SDK
// ---------------------------------------------------------------------------------------------------------------------

const schemaSymbol = Symbol.for("vercel.ai.schema")

const vercelOutput = ({ isError, output }: Told): VercelOutput => {
  if (isError) {
    return { type: "error-text", value: typeof output === "string" ? output : asText(output) }
  }
  if (typeof output === "string") return { type: "text", value: output }
  const [only] = output
  if (output.length === 1 && isJson(only!)) return { type: "json", value: only.value as VercelJson }
  const content = contentOf<VercelContent>(
    output,
    (text) => ({ type: "text", text }),
    ({ data, mediaType, ...media }) =>
      media.kind === "image"
        ? { type: "image-data", data, mediaType }
        : { type: "file-data", data, mediaType, filename: media.filename }
  )
  return typeof content === "string" ? { type: "text", value: content } : { type: "content", value: content }
}

const isParts = (u: unknown): u is ReadonlyArray<Part> =>
  Array.isArray(u) && u.every((_) => isObject(_) && typeof _.type === "string")

/** It may have been JSON meanwhile. */
const isToolResult = (u: unknown): u is ToolResult<unknown> =>
  isObject(u) && (u._tag === "Success"
    ? "output" in u && isObject(u.result) && typeof u.isError === "boolean"
    : (u._tag === "Failure" || u._tag === "Rejected") && typeof u.text === "string")

const toModelOutput = ({ output: given }: { readonly output: unknown }): VercelOutput => {
  const { isError, output } = isToolResult(given) ? resultTold(given) : { isError: false, output: given }
  if (typeof output === "string" || isParts(output)) return vercelOutput({ isError, output })
  return { type: isError ? "error-json" : "json", value: (output ?? null) as VercelJson }
}

// Async, so that a `run` which throws fails its promise.
const executed =
  <A>(name: string, run: Run<A>): NonNullable<VercelTool<A>["execute"]> => async (args, { abortSignal, toolCallId }) =>
    run(callOf(toolCallId, name, args), { signal: abortSignal })

const markedSchema = (schema: ObjectSchema): VercelSchema => ({
  [schemaSymbol]: true,
  _type: undefined,
  jsonSchema: schema,
  validate: undefined
} as VercelSchema)

type Run<A> = NonNullable<VercelOptions<A, unknown>["run"]>

export const vercel = {
  tools: <A = never, S = VercelSchema>(
    tools: Iterable<Describable>,
    { jsonSchema, run }: VercelOptions<A, S> = {}
  ): { [name: string]: VercelTool<A, S> } => {
    const schemaOf = (jsonSchema ?? markedSchema) as (schema: ObjectSchema) => S
    const toolOf = ({ description, inputSchema, name, strict, title }: Describable): VercelTool<A, S> => ({
      type: "dynamic",
      ...(title === undefined ? undefined : { title }),
      description,
      inputSchema: schemaOf(objectSchema(inputSchema)),
      strict,
      ...(run === undefined ? undefined : { execute: executed(name, run) }),
      toModelOutput
    })
    return Object.fromEntries(Array.from(tools, (tool) => [tool.name, toolOf(tool)]))
  },
  calls: (answer: unknown): ReadonlyArray<Call> =>
    itemsIn(answer, "toolCalls")
      .filter((call) => call.providerExecuted !== true && (call.type === undefined || call.type === "tool-call"))
      .map((call) => callOf(call.toolCallId, call.toolName, call.input)),
  result: (call: Pick<Call, "id" | "name">, outcome: Outcome, options?: ResultOptions): VercelResult => ({
    type: "tool-result",
    toolCallId: call.id,
    toolName: call.name,
    output: vercelOutput(toldOf(outcome, options))
  })
}
