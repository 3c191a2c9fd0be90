/**
 * What tools, prompts and resources answer, for people: texts as they are, everything else in a line.
 *
 * Owns: the words. What is bytes goes to files. Everything is cleaned here.
 */
import * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import * as Effect from "effect/Effect"
import type { Failure } from "../exit.js"
import type { SavedFile, Saver } from "./images.js"
import * as Text from "./text.js"

export interface Shown {
  readonly text: string
  readonly file?: SavedFile | undefined
}

type Block = ToolOutput.Part | McpProtocol.PromptMessage["content"]

export const block = (part: Block, index: number, saver: Saver): Effect.Effect<Shown, Failure> => {
  if (part.type === "json") return shown(JSON.stringify((part as { readonly value: unknown }).value, undefined, 2))
  if (!McpProtocol.isKnownContent(part as McpProtocol.ContentBlock)) {
    return shown(`[${Text.oneLine(part.type)}] ${JSON.stringify(part)}`)
  }
  const known = part as McpProtocol.ContentBlock
  switch (known.type) {
    case "text":
      return shown(known.text)
    case "image":
    case "audio":
      return saved(known.type, index, known, saver)
    case "resource_link":
      return shown(describeResource(known))
    case "resource":
      return contents(known.resource, index, saver)
  }
}

/** The contents of one resource. */
export const contents = (
  { blob, mimeType, text, uri }: McpProtocol.ResourceContents,
  index: number,
  saver: Saver
): Effect.Effect<Shown, Failure> => {
  if (text !== undefined) return shown(text)
  if (blob === undefined) return shown(`[resource ${uri}: nothing in it]`)
  return saved(`resource ${uri}`, index, { data: blob, mimeType: mimeType ?? "application/octet-stream" }, saver)
}

const shown = (text: string): Effect.Effect<Shown> => Effect.sync(() => ({ text: Text.clean(text) }))

const saved = (
  what: string,
  index: number,
  file: { readonly data: string; readonly mimeType: string },
  saver: Saver
): Effect.Effect<Shown, Failure> =>
  Effect.map(saver.save(index, file), (saved) => ({
    text: `[${Text.oneLine(what.slice(0, 512))}] ${saved.path} (${saved.mimeType}, ${size(saved.bytes)})`,
    file: saved
  }))

export const describeResource = (resource: McpProtocol.Resource): string =>
  [
    `[link] ${Text.oneLine(resource.title ?? resource.name)}: ${Text.oneLine(resource.uri)}`,
    resource.mimeType === undefined ? "" : `(${Text.oneLine(resource.mimeType)})`,
    resource.description === undefined ? "" : `- ${Text.oneLine(resource.description)}`
  ].filter((_) => _ !== "").join(" ")

export const size = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} bytes`
    : bytes < 1024 * 1024
    ? `${(bytes / 1024).toFixed(1)} KiB`
    : `${(bytes / (1024 * 1024)).toFixed(1)} MiB`
