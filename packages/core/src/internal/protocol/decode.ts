/**
 * Items of lists, one by one.
 *
 * Owns: which fields an item must have, and what of it is kept. What is fine is kept by reference.
 */
import type { JsonObject, Prompt, Resource, ResourceTemplate, Role, Task, TaskStatus, Tool } from "../../McpProtocol.js"
import { isObject, nameOf } from "./json.js"

/**
 * The outcome of decoding one item: the item, or the reason why it is left out.
 *
 * @since 0.1.0
 * @category decoding
 */
export type Decoded<A> = { readonly value: A } | { readonly problem: string; readonly name?: string | undefined }

/** What is kept of a field: the value itself where nothing is wrong with it, `undefined` where it is of the wrong kind. */
type Keep = (value: unknown) => unknown

type Fields = ReadonlyArray<readonly [string, Keep]>

const keepIf = (check: (u: unknown) => boolean): Keep => (value) => check(value) ? value : undefined

const text = keepIf((u) => typeof u === "string")
const number = keepIf((u) => typeof u === "number")
const truth = keepIf((u) => typeof u === "boolean")
const object = keepIf(isObject)

const objectOf = (fields: Fields): Keep => (value) => isObject(value) ? withoutBadFields(value, fields) : undefined

/** A list without the items that lack a text they need. */
const listOf = (required: string, fields: Fields): Keep => (value) => {
  if (!Array.isArray(value)) return undefined
  const isItem = (u: unknown): u is JsonObject => isObject(u) && typeof u[required] === "string" && u[required] !== ""
  const items = value.filter(isItem).map((_) => withoutBadFields(_, fields))
  const unchanged = items.length === value.length && items.every((item, i) => item === value[i])
  return unchanged ? value : Object.freeze(items)
}

const roles: ReadonlySet<unknown> = new Set<Role>(["user", "assistant"])
const taskSupports: ReadonlySet<unknown> = new Set(["required", "optional", "forbidden"])
const themes: ReadonlySet<unknown> = new Set(["light", "dark"])

const icons = listOf("src", [
  ["mimeType", text],
  ["sizes", keepIf((u) => Array.isArray(u) && u.every((_) => typeof _ === "string"))],
  ["theme", keepIf((u) => themes.has(u))]
])

const annotations = objectOf([
  ["audience", keepIf((u) => Array.isArray(u) && u.every((_) => roles.has(_)))],
  ["priority", number],
  ["lastModified", text]
])

const optionalToolFields: Fields = [
  ["title", text],
  ["description", text],
  ["outputSchema", object],
  [
    "annotations",
    objectOf([
      ["title", text],
      ["readOnlyHint", truth],
      ["destructiveHint", truth],
      ["idempotentHint", truth],
      ["openWorldHint", truth]
    ])
  ],
  ["execution", objectOf([["taskSupport", keepIf((u) => taskSupports.has(u))]])],
  ["icons", icons],
  ["_meta", object]
]

const optionalPromptFields: Fields = [
  ["title", text],
  ["description", text],
  ["arguments", listOf("name", [["title", text], ["description", text], ["required", truth]])],
  ["icons", icons],
  ["_meta", object]
]

const optionalResourceFields: Fields = [
  ["title", text],
  ["description", text],
  ["mimeType", text],
  ["size", number],
  ["annotations", annotations],
  ["icons", icons],
  ["_meta", object]
]

/** The item itself where every optional field is of the right kind, else a frozen copy without those that are not. */
const withoutBadFields = (item: JsonObject, fields: Fields): JsonObject => {
  let copy: Record<string, unknown> | undefined
  for (const [field, keep] of fields) {
    const value = item[field]
    if (value === undefined) continue
    const kept = keep(value)
    if (kept === value) continue
    copy ??= { ...item }
    if (kept === undefined) delete copy[field]
    else copy[field] = kept
  }
  return copy === undefined ? item : Object.freeze(copy)
}

const decodeItem = (
  item: unknown,
  required: ReadonlyArray<string>,
  fields: Fields
): Decoded<JsonObject> => {
  if (!isObject(item)) return { problem: "is not an object" }
  for (const field of required) {
    const value = item[field]
    if (typeof value !== "string" || value === "") {
      return { problem: `"${field}" is not a non-empty string`, name: nameOf(item) }
    }
  }
  return { value: withoutBadFields(item, fields) }
}

/**
 * A tool from one item of `tools/list`. An optional field of the wrong kind is left out; a tool without a name or an
 * input schema is not a tool.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeTool = (item: unknown): Decoded<Tool> => {
  const decoded = decodeItem(item, ["name"], optionalToolFields)
  if ("problem" in decoded) return decoded
  if (!isObject(decoded.value.inputSchema)) {
    return { problem: `"inputSchema" is not an object`, name: nameOf(decoded.value) }
  }
  return decoded as unknown as Decoded<Tool>
}

/**
 * One item of `prompts/list`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodePrompt = (item: unknown): Decoded<Prompt> =>
  decodeItem(item, ["name"], optionalPromptFields) as unknown as Decoded<Prompt>

/**
 * One item of `resources/list`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeResource = (item: unknown): Decoded<Resource> =>
  decodeItem(item, ["uri", "name"], optionalResourceFields) as unknown as Decoded<Resource>

/**
 * One item of `resources/templates/list`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeResourceTemplate = (item: unknown): Decoded<ResourceTemplate> =>
  decodeItem(item, ["uriTemplate", "name"], optionalResourceFields) as unknown as Decoded<ResourceTemplate>

/**
 * A task from a result or a notification, or why it is none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeTask = (item: unknown): Decoded<Task> => {
  if (!isObject(item)) return { problem: "the task is not an object" }
  if (typeof item.taskId !== "string" || item.taskId === "") return { problem: `"taskId" is not a non-empty string` }
  if (!taskStatuses.has(item.status)) return { problem: `"status" is not a known task status` }
  return {
    value: withoutBadFields(item, optionalTaskFields) as unknown as Task
  }
}

const taskStatuses: ReadonlySet<unknown> = new Set<TaskStatus>([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled"
])

const optionalTaskFields: Fields = [
  ["statusMessage", text],
  ["createdAt", text],
  ["lastUpdatedAt", text],
  ["ttl", keepIf((u) => u === null || typeof u === "number")],
  ["pollInterval", number]
]
