/**
 * A list as text that outlives the program.
 *
 * Owns: the format of an entry, its bounds, and what of an entry is believed: nothing but whole items, in an entry that
 * says itself what it is.
 * May not touch: where entries are kept.
 */
import type * as Catalog from "../../Catalog.js"
import * as McpProtocol from "../../McpProtocol.js"

const version = 1

/** Of an entry, in characters. */
export const maxText = 64 * 1024 * 1024

/** Of an entry. As many as a listing may have by default. */
export const maxItems = 100_000

/** How far the clock of whoever has stored an entry may be ahead of ours. */
export const maxSkewMillis = 5 * 60 * 1000

/** Safe as the name of a file. */
export const entryKey = (hash: string, kind: Catalog.Kind): string => `mcp-catalog.v${version}.${hash}.${kind}`

/** The text of an entry, or why there is none. */
export type Encoded = { readonly text: string } | { readonly problem: string }

export const encode = <K extends Catalog.Kind>(
  key: string,
  kind: K,
  listedAt: number,
  items: ReadonlyArray<Catalog.Items[K]>
): Encoded => {
  if (items.length > maxItems) return { problem: `it has more than ${maxItems} items` }
  let text = `${JSON.stringify({ version, key, kind, listedAt }).slice(0, -1)},"items":[`
  try {
    for (let i = 0; i < items.length; i++) {
      const item: string | undefined = JSON.stringify(items[i])
      if (item?.includes("null") === true && hasInfinity(items[i])) {
        return { problem: "a number in it is too large to be written" }
      }
      if (text.length + (item?.length ?? 0) + 3 > maxText) return { problem: `it is larger than ${maxText} characters` }
      text += `${i === 0 ? "" : ","}${item ?? "null"}`
    }
  } catch {
    return { problem: "it can't be written as JSON" }
  }
  return { text: `${text}]}` }
}

/** What a server has written as `1e999` would be written as `null`, and be another schema when it is read again. */
const hasInfinity = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some(hasInfinity)
    : typeof value === "number" && !Number.isFinite(value)

export interface Expected {
  readonly key: string
  /** The moment by which its age is judged. */
  readonly now: number
  readonly maxAgeMillis: number
}

/** What is left of an entry, or why nothing is. No contents are part of the reason. */
export type Loaded<A> = { readonly stored: Catalog.Stored<A> } | { readonly problem: string }

export const decode = <K extends Catalog.Kind>(
  text: unknown,
  kind: K,
  expected: Expected
): Loaded<Catalog.Items[K]> => {
  if (typeof text !== "string") return { problem: "it is not a text" }
  if (text.length > maxText) return { problem: `it is larger than ${maxText} characters` }
  const entry = parse(text)
  if (!McpProtocol.isObject(entry)) return { problem: "it is not a JSON object" }
  if (entry.version !== version) return { problem: "it is of another version" }
  if (entry.kind !== kind || entry.key !== expected.key) return { problem: "it belongs to another list" }
  const { items, listedAt } = entry
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt)) {
    return { problem: "it does not say when it was listed" }
  }
  if (listedAt > expected.now + maxSkewMillis) return { problem: "it is from the future" }
  if (expected.now - listedAt > expected.maxAgeMillis) return { problem: "it is too old" }
  if (!Array.isArray(items)) return { problem: "it has no list" }
  if (items.length > maxItems) return { problem: `it has more than ${maxItems} items` }
  const listing = decodeItems(items, decoders[kind])
  return listing.items.length === 0
    ? { problem: "it has no usable item" }
    : { stored: Object.freeze({ ...listing, listedAt }) }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const decoders: { readonly [K in Catalog.Kind]: (item: unknown) => McpProtocol.Decoded<Catalog.Items[K]> } = {
  tools: McpProtocol.decodeTool,
  prompts: McpProtocol.decodePrompt,
  resources: McpProtocol.decodeResource,
  templates: McpProtocol.decodeResourceTemplate
}

const decodeItems = <A>(
  found: ReadonlyArray<unknown>,
  decodeItem: (item: unknown) => McpProtocol.Decoded<A>
): McpProtocol.Listing<A> => {
  const items: Array<A> = []
  const dropped: Array<McpProtocol.DroppedItem> = []
  for (const [index, item] of found.entries()) {
    const decoded = McpProtocol.freeze(item) ? decodeItem(item) : { problem: "is nested too deeply" }
    if ("value" in decoded) items.push(decoded.value)
    else dropped.push(Object.freeze({ index, ...decoded }))
  }
  return { items: Object.freeze(items), dropped: Object.freeze(dropped) }
}
