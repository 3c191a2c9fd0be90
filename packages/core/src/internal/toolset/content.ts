/**
 * What is in a block of content.
 *
 * Owns: which blocks are what their kind says, and what a block is called where only text is taken.
 * May not touch: the blocks. They are decoded leniently: a kind is all that is sure of them. One without the fields of
 * its kind is read as a kind that nobody knows, as JSON, so that nothing in it is lost and nothing throws.
 */
import type * as McpProtocol from "../../McpProtocol.js"
import type { Part } from "../../ToolOutput.js"
import { isObject } from "../protocol/json.js"

/** Anything in a list of parts. Nothing is known of its other fields. */
export type Block = { readonly type: string }

type JsonPart = Extract<Part, { readonly type: "json"; readonly value: McpProtocol.JsonObject }>

const isTextOrAbsent = (u: unknown): boolean => typeof u === "string" || u === undefined || u === null

const hasBytes = (block: Block): boolean => {
  const { data, mimeType } = block as Partial<McpProtocol.ImageContent>
  return typeof data === "string" && typeof mimeType === "string"
}

export const isText = (block: Block): block is McpProtocol.TextContent =>
  block.type === "text" && typeof (block as Partial<McpProtocol.TextContent>).text === "string"

export const isImage = (block: Block): block is McpProtocol.ImageContent => block.type === "image" && hasBytes(block)

export const isAudio = (block: Block): block is McpProtocol.AudioContent => block.type === "audio" && hasBytes(block)

export const isResource = (block: Block): block is McpProtocol.EmbeddedResource => {
  if (block.type !== "resource") return false
  const resource: unknown = (block as Partial<McpProtocol.EmbeddedResource>).resource
  return isObject(resource) && typeof resource.uri === "string" && isTextOrAbsent(resource.text) &&
    isTextOrAbsent(resource.blob) && isTextOrAbsent(resource.mimeType)
}

export const isLink = (block: Block): block is McpProtocol.ResourceLink =>
  block.type === "resource_link" && typeof (block as Partial<McpProtocol.ResourceLink>).uri === "string"

/** Structured content. Servers could call a block of their own so: it is none if there is anything else in it. */
export const isJson = (block: Block): block is JsonPart =>
  block.type === "json" && isObject((block as Partial<JsonPart>).value) && Object.keys(block).length === 2

const bracketed = (...words: ReadonlyArray<unknown>): string =>
  `[${words.filter((_) => typeof _ === "string" && _ !== "").join(" ")}]`

/** What a block is in a text: itself, if it is text, and otherwise what it is called. */
export const inWords = (block: Block): string => {
  if (isText(block)) return block.text
  if (isImage(block) || isAudio(block)) return bracketed(block.type, block.mimeType)
  if (isJson(block)) return JSON.stringify(block.value)
  if (isResource(block)) {
    const { mimeType, text, uri } = block.resource
    return typeof text === "string" ? `${bracketed("resource", uri)}\n${text}` : bracketed("resource", uri, mimeType)
  }
  return isLink(block) ? linkInWords(block) : JSON.stringify(block)
}

const linkInWords = ({ description, mimeType, name, title, uri }: McpProtocol.ResourceLink): string => {
  const said = [typeof title === "string" ? title : name, description].filter((_) => typeof _ === "string" && _ !== "")
  return `${bracketed("resource", uri, mimeType)}${said.length === 0 ? "" : ` ${said.join(": ")}`}`
}
