/**
 * The head of a `SKILL.md`, and whether it says what the entry of the skill says.
 *
 * What a person approves is the entry, what an agent gets is the file. They must be the same in content, field by field. What
 * servers may differ in is how their reader of YAML understands a text without quotation marks: `yes`, `1.10` and
 * `2025-01-01` may be a text or something else to it.
 */
import * as Either from "effect/Either"
import * as McpProtocol from "../../McpProtocol.js"
import { type Node, read } from "./yaml.js"

/** In characters. */
const maxHead = 64 * 1024

export interface Document {
  readonly text: string
  readonly head: Node
  /** What comes after the head. */
  readonly body: string
}

/** Nothing after a "---" at the beginning of a line belongs to the head. */
export const parse = (file: Uint8Array): Either.Either<Document, string> => {
  const text = textOf(file)
  if (text === undefined) return Either.left("it is not a text in UTF-8")
  const begin = /^\ufeff?---[ \t]*(?:\r\n?|\n)/.exec(text)
  if (begin === null) return Either.left(`it does not begin with a line "---"`)
  const start = begin[0].length
  const ending = /(?<=[\r\n])---[ \t]*(?:\r\n?|\n|$)/g
  ending.lastIndex = start
  const end = ending.exec(text)
  if (end === null) return Either.left(`its head does not end with a line "---"`)
  if (end.index - start > maxHead) return Either.left(`its head has more than ${maxHead} characters`)
  return Either.map(read(text.slice(start, end.index)), (head) => ({
    text,
    head,
    body: text.slice(afterEmptyLines(text, ending.lastIndex))
  }))
}

/** One line at a time: a regular expression that repeats has as deep a stack as there are lines. */
const afterEmptyLines = (text: string, from: number): number => {
  const empty = /[ \t]*(?:\r\n?|\n)/y
  let at = from
  for (empty.lastIndex = at; empty.test(text);) at = empty.lastIndex
  return at
}

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The first field that the two do not agree about: `metadata.version`. */
export const difference = (node: Node, value: unknown, path = ""): string | undefined => {
  switch (node.kind) {
    case "map":
      return McpProtocol.isObject(value) ? differenceOfFields(node.fields, value, path) : path
    case "list":
      return Array.isArray(value) ? differenceOfItems(node.items, value, path) : path
    case "quoted":
      return node.text === value ? undefined : path
    case "block":
      return typeof value === "string" && node.text.trimEnd() === value.trimEnd() ? undefined : path
    case "plain":
      return mayMean(node.text, value) ? undefined : path
  }
}

const differenceOfFields = (
  fields: ReadonlyMap<string, Node>,
  value: McpProtocol.JsonObject,
  path: string
): string | undefined => {
  const inside = (key: string) => path === "" ? key : `${path}.${key}`
  for (const [key, node] of fields) {
    const found = Object.hasOwn(value, key) ? difference(node, value[key], inside(key)) : inside(key)
    if (found !== undefined) return found
  }
  const other = Object.keys(value).find((key) => !fields.has(key))
  return other === undefined ? undefined : inside(other)
}

const differenceOfItems = (
  items: ReadonlyArray<Node>,
  value: ReadonlyArray<unknown>,
  path: string
): string | undefined => {
  for (const [i, node] of items.entries()) {
    const found = i < value.length ? difference(node, value[i], `${path}[${i}]`) : `${path}[${i}]`
    if (found !== undefined) return found
  }
  return items.length === value.length ? undefined : `${path}[${items.length}]`
}

const number = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const otherBase = /^0[xo][0-9a-fA-F]+$/
/** To its end: `Date.parse` takes no notice of words in parentheses. */
const moment =
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,9})?(?:[ \t]*(?:[Zz]|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?$/

/** Whether a reader of YAML 1.1 or 1.2 may understand this text as this value. */
const mayMean = (text: string, value: unknown): boolean => {
  switch (typeof value) {
    case "string":
      return text === value || (moment.test(text) && Date.parse(text) === Date.parse(value))
    case "number":
      return (number.test(text) || otherBase.test(text)) &&
        (Number(text) === value || (/^0[0-7]+$/.test(text) && Number.parseInt(text, 8) === value))
    case "boolean":
      return value ? /^(?:true|yes|on)$/i.test(text) : /^(?:false|no|off)$/i.test(text)
    default:
      return value === null && /^(?:|~|null)$/i.test(text)
  }
}
