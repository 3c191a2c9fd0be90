/**
 * Secrets in what a server says.
 *
 * Owns: in which spellings they are looked for, and how texts and JSON values show without them.
 * May not touch: what is a secret, and who is told what.
 */
import * as McpError from "../McpError.js"
import { spellingsOf as urlSpellingsOf } from "./exchange/url.js"

/** Shorter values are words that occur anyway. */
const shortest = 6

/** Stands for a secret while URLs are taken apart: it may be a part of one, which "<redacted>" may not. */
const placeholder = "mcp-redacted-value"
const covered = "<redacted>"

export const none: ReadonlyArray<string> = []

/** As they are, and as programs write them: trimmed, in JSON, in a URL or a form. A word is none in longer letters, either. */
export const spellingsOf = (values: Iterable<string>): ReadonlyArray<string> => {
  const spellings = new Set<string>()
  for (const value of values) {
    const trimmed = value.trim()
    if (value.length >= shortest) spellings.add(value)
    if (trimmed.length < shortest) continue
    for (const spelling of [trimmed, ...jsonSpellingsOf(trimmed), ...urlSpellingsOf(trimmed)]) spellings.add(spelling)
  }
  return [...spellings]
}

/** PHP writes slashes with a backslash, too; it and Python write nothing but ASCII. */
const jsonSpellingsOf = (text: string): ReadonlyArray<string> => {
  const plain = JSON.stringify(text).slice(1, -1)
  const escaped = plain.replaceAll("/", "\\/")
  return [plain, escaped, inAscii(plain), inAscii(escaped)]
}

const inAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** The whole of a text. */
export const without = (text: string, secrets: ReadonlyArray<string>): string =>
  replaced(text, longestFirst(secrets), covered)

/** One character, so that what it stands for never gets longer. Where a text has it itself, it shows as a secret. */
const mark = "\uffff"

/** The beginning of a text, of about `max` characters, with nothing of a secret that the bound would cut. */
export const beginningOf = (text: string, secrets: ReadonlyArray<string>, max: number): string => {
  const longest = secrets.reduce((longest, secret) => Math.max(longest, secret.length), 0)
  const looked = text.slice(0, max + longest)
  const marked = replaced(looked, longestFirst(secrets), mark)
  const whole = looked.length === text.length ? marked : marked.slice(0, Math.max(0, marked.length - longest))
  return whole.slice(0, max).replaceAll(mark, covered)
}

/** The part of a text from outside that is shown. */
export const shown = (text: string, secrets: ReadonlyArray<string>, max: number): string =>
  secrets.length === 0
    ? McpError.displayText(text, max)
    : McpError.displayText(replaced(text, longestFirst(secrets), placeholder), max).replaceAll(placeholder, covered)

/** A JSON value that was frozen; the same one where it holds no secret, else another one. */
export const withoutInValue = (value: unknown, secrets: ReadonlyArray<string>): unknown =>
  secrets.length === 0 ? value : walk(value, longestFirst(secrets))

/** One secret may be a part of another. */
const longestFirst = (secrets: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...secrets].sort((a, b) => b.length - a.length)

const replaced = (text: string, secrets: ReadonlyArray<string>, by: string): string => {
  let shown = text
  for (const secret of secrets) {
    if (shown.includes(secret)) shown = shown.replaceAll(secret, by)
  }
  return shown
}

const walk = (value: unknown, secrets: ReadonlyArray<string>): unknown => {
  switch (typeof value) {
    case "string":
      return replaced(value, secrets, covered)
    case "number": {
      const text = String(value)
      const shown = replaced(text, secrets, covered)
      return shown === text ? value : shown
    }
    case "object":
      return value === null ? value : Array.isArray(value) ? ofList(value, secrets) : ofObject(value, secrets)
    default:
      return value
  }
}

const ofList = (list: ReadonlyArray<unknown>, secrets: ReadonlyArray<string>): unknown => {
  const shown = list.map((_) => walk(_, secrets))
  return shown.every((_, i) => Object.is(_, list[i])) ? list : Object.freeze(shown)
}

const ofObject = (object: object, secrets: ReadonlyArray<string>): unknown => {
  let same = true
  const shown = Object.entries(object).map(([key, value]) => {
    const entry = [replaced(key, secrets, covered), walk(value, secrets)] as const
    if (entry[0] !== key || !Object.is(entry[1], value)) same = false
    return entry
  })
  return same ? object : Object.freeze(Object.fromEntries(shown))
}
