/**
 * From the result of a tool to what an agent gets.
 *
 * Owns: what is kept of a result, and in which order.
 * May not touch: the result, which is shared.
 */
import type * as McpProtocol from "../../McpProtocol.js"
import type { BinaryContent, FastMcpResult, OpenAiItem, Part, ToolOutput } from "../../ToolOutput.js"
import { sameJson } from "../catalog/drift.js"
import { freeze, isObject } from "../protocol/json.js"
import { inWords, isAudio, isImage, isLink, isResource, isText } from "./content.js"

type Result = McpProtocol.CallToolResult
type Block = McpProtocol.ContentBlock

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const valueIn = (structured: McpProtocol.JsonObject): unknown => {
  const keys = Object.keys(structured)
  return keys.length === 1 ? structured[keys[0]!] : undefined
}

/** The same for numbers that are the same, but for their magnitude. */
const digitsOf = (literal: string): string => {
  const exponent = literal.search(/[eE]/)
  const digits = (exponent === -1 ? literal : literal.slice(0, exponent)).replace(".", "")
  let [start, end] = [0, digits.length]
  while (start < end && digits[start] === "0") start++
  while (end > start && digits[end - 1] === "0") end--
  return digits.slice(start, end)
}

/** Whether a number of JSON, without its sign, can be written as it was once it was read. */
const isKept = (literal: string): boolean => {
  const value = Number(literal)
  return Number.isFinite(value) && digitsOf(literal) === digitsOf(String(value))
}

/** Whether all numbers of this JSON can. Structured content has lost the last digits of one that can't. */
const areNumbersKept = (json: string): boolean => {
  const rest = /[\d.eE+-]*/y
  for (let at = 0; at < json.length; at++) {
    if (json[at] === "\"") {
      at++
      while (json[at] !== "\"") at += json[at] === "\\" ? 2 : 1
    } else if (json[at]! >= "0" && json[at]! <= "9") {
      rest.lastIndex = at
      const [literal] = rest.exec(json)!
      if (!isKept(literal)) return false
      at += literal.length
    }
  }
  return true
}

/** A text, and nothing that says for whom it is or what else the server knows of it. */
const isBareText = (block: Block): block is McpProtocol.TextContent =>
  isText(block) && block.annotations === undefined && block._meta === undefined

/** Whether a block is all of structured content, as a text. */
const isWhole = (block: Block, structured: McpProtocol.JsonObject): boolean =>
  isBareText(block) && sameJson(parsed(block.text), structured) && areNumbersKept(block.text)

/** The same, or what is alone in it: servers that may only structure objects wrap other values in one, and repeat the bare value. */
const repeats = (block: Block, structured: McpProtocol.JsonObject): boolean => {
  if (!isBareText(block)) return false
  const only = valueIn(structured)
  if (only === block.text) return true
  const value = parsed(block.text)
  return value !== undefined && (sameJson(value, structured) || sameJson(value, only)) && areNumbersKept(block.text)
}

interface Options {
  readonly structured?: "prefer" | "append" | "ignore" | undefined
  readonly single?: "list" | "unwrap" | undefined
}

export const make = ({ single = "list", structured = "prefer" }: Options = {}): ToolOutput<never> => ({
  name: `parts(${structured}, ${single})`,
  convert: (result) => {
    const parts = partsOf(result, structured)
    return (single === "unwrap" && parts.length === 1 ? parts[0] : parts) as never
  }
})

const partsOf = (
  { content, isError, structuredContent }: Result,
  structured: NonNullable<Options["structured"]>
): ReadonlyArray<Part> => {
  if (structuredContent === undefined || structured === "ignore") return content
  const json: Part = { type: "json", value: structuredContent }
  // The texts of a failure are what it says about itself.
  if (structured === "prefer" && isError !== true) {
    return [
      json,
      ...content.filter((_) => !repeats(_, structuredContent))
    ]
  }
  return content.some((_) => isWhole(_, structuredContent)) ? content : [...content, json]
}

export const failed = "Error: "

export const text = (result: Result): string =>
  `${result.isError === true ? failed : ""}${partsOf(result, "prefer").map(inWords).join("\n")}`

const isEmpty = (object: McpProtocol.JsonObject): boolean => Object.keys(object).length === 0

export const openAiAgents = (useStructured: boolean) => ({ content, isError, structuredContent }: Result) => {
  if (useStructured && isError !== true && structuredContent !== undefined && !isEmpty(structuredContent)) {
    return JSON.stringify(structuredContent)
  }
  const items = content.map(openAiItem)
  return items.length === 1 ? items[0]! : items
}

const openAiItem = (block: Block): OpenAiItem =>
  isText(block)
    ? { type: "text", text: block.text }
    : isImage(block)
    ? { type: "image", image_url: `data:${block.mimeType};base64,${block.data}` }
    : { type: "text", text: JSON.stringify(block) }

export const ohMyPi = (
  { content, isError, structuredContent }: Result
): ReadonlyArray<McpProtocol.TextContent | McpProtocol.ImageContent> => {
  const images = content.filter(isImage)
  const texts = content.filter((_) => !isImage(_)).map((block) =>
    isResource(block) && typeof block.resource.text === "string"
      ? `[Resource: ${block.resource.uri}]\n${block.resource.text}`
      : inWords(block)
  )
  if (
    structuredContent !== undefined && !content.some((_) => isText(_) && sameJson(parsed(_.text), structuredContent))
  ) {
    texts.push(`\`\`\`json\n${JSON.stringify(structuredContent, undefined, 2)}\n\`\`\``)
  }
  const text = `${isError === true ? failed : ""}${texts.join("\n\n")}`
  return text === "" ? images : [{ type: "text", text }, ...images]
}

export const uiPath = ({ content }: Result): ReadonlyArray<McpProtocol.JsonObject> =>
  content.map((block) => withoutNulls(block) as McpProtocol.JsonObject)

/** What is in `_meta` is the server's own: it stays as it came. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null && field !== undefined)
      .map(([key, field]) => [key, key === "_meta" ? field : withoutNulls(field)])
  )
}

export const pydanticAi = (
  { content, isError, structuredContent }: Result,
  tool: McpProtocol.Tool | undefined
): unknown => {
  if (isError === true) {
    const said = structuredContent === undefined
      ? content.filter(isText).map((_) => _.text).join("\n")
      : JSON.stringify(structuredContent)
    return said === "" ? `Tool '${tool?.name ?? ""}' returned an error` : said
  }
  if (structuredContent !== undefined && content.every(isText)) {
    const keys = Object.keys(structuredContent)
    return keys.length === 1 && keys[0] === "result" ? structuredContent.result : structuredContent
  }
  const parts = content.map(pydanticPart)
  return parts.length === 1 ? parts[0] : parts
}

const pydanticPart = (block: Block): unknown => {
  if (isText(block)) {
    if (!block.text.startsWith("{") && !block.text.startsWith("[")) return block.text
    const value = parsed(block.text)
    // What is nested more deeply than a message may be, could not be written down by whoever gets it.
    return value !== undefined && freeze(value) ? value : block.text
  }
  if (isImage(block) || isAudio(block)) return binary(block.data, block.mimeType)
  if (isResource(block)) {
    const { blob, mimeType, text } = block.resource
    if (typeof text === "string") return text
    return typeof blob === "string" ? binary(blob, mimeType ?? "application/octet-stream") : block
  }
  return isLink(block) ? block.uri : block
}

const binary = (data: string, mediaType: string): BinaryContent => ({ kind: "binary", data, media_type: mediaType })

export const fastMcp = (
  { _meta, content, isError, structuredContent }: Result,
  tool: McpProtocol.Tool | undefined
): FastMcpResult => ({
  content,
  structuredContent,
  meta: _meta,
  isError: isError === true,
  data: structuredContent !== undefined && tool?.outputSchema?.["x-fastmcp-wrap-result"] === true
    ? structuredContent.result
    : structuredContent
})
