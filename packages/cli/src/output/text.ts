/**
 * Texts from outside on a terminal.
 *
 * Owns: what of a text may reach a terminal, how wide it is there, and how it is wrapped and cut.
 * May not touch: colours, streams.
 */
import * as McpError from "@mcp-runtime/core/McpError"

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g

const laterControls = /[\u0080-\u009f]/g

/**
 * A text without anything that could drive a terminal, or that nobody sees: each control character becomes its picture (`␛`),
 * so that it is seen that there was one. Lines and tabs stay, and what words and emoji are joined with.
 */
export const clean = (text: string): string =>
  McpError.displayMarks(text.replaceAll("\r\n", "\n").replace(controls, picture).replace(laterControls, "\ufffd"))

const picture = (control: string): string => {
  const code = control.charCodeAt(0)
  return code === 0x7f ? "\u2421" : String.fromCharCode(0x2400 + code)
}

/** The same on one line. */
export const oneLine = (text: string): string => clean(text).replace(/\s+/g, " ").trim()

/** The name of a server, a tool or a prompt, in which nothing is that nobody sees. */
export const shownName = (name: string): string => McpError.displayName(name, 1024)

/** The same as in names. */
const unseen =
  /[\u007f-\u009f\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\u2800\ufff9-\ufffb\u{1d159}]/gu

/** JSON that is safe to be shown: the same value, with every character escaped that a terminal could act upon. */
export const safeJson = (json: string): string =>
  json.replace(unseen, (found) => Array.from({ length: found.length }, (_, at) => escaped(found[at]!)).join(""))

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" })

const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\ud840-\ud8bf][\udc00-\udfff])/u

// eslint-disable-next-line no-control-regex
const ascii = /^[\u0020-\u007e]*$/

/** How many columns a text takes that has no control characters. */
export const width = (text: string): number => {
  if (ascii.test(text)) return text.length
  let columns = 0
  for (const { segment } of segmenter.segment(text)) columns += widthOf(segment)
  return columns
}

const widthOf = (grapheme: string): number => wide.test(grapheme) || grapheme.includes("\ufe0f") ? 2 : 1

/** The beginning of a text that takes at most so many columns, ending in `…` if something is missing. */
export const cut = (text: string, columns: number): string => {
  // No character takes less than a column, and none is longer than this: a text is not measured for ever.
  const most = Math.min(text.length, columns * 32 + 32)
  const kept = text.slice(0, most)
  if (kept.length === text.length && width(kept) <= columns) return text
  return `${take(kept, Math.max(0, columns - 1)).trimEnd()}…`
}

const take = (text: string, columns: number): string => {
  if (ascii.test(text)) return text.slice(0, columns)
  let taken = ""
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment)
    if (used > columns) break
    taken += segment
  }
  return taken
}

export const pad = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - width(text)))

/** Lines of at most so many columns, broken at spaces where there are some. The last line of `most` ends in `…` if more follows. */
export const wrap = (text: string, columns: number, most = Number.POSITIVE_INFINITY): ReadonlyArray<string> => {
  const room = Math.max(1, columns)
  const lines: Array<string> = []
  let line = ""
  const push = (text: string): boolean => {
    lines.push(text)
    return lines.length > most
  }
  const words = text.split(" ").filter((word) => word !== "")
  for (const word of words) {
    let rest = word
    if (line !== "" && width(line) + 1 + width(rest) <= room) {
      line += ` ${rest}`
      continue
    }
    if (line !== "" && push(line)) break
    while (width(rest) > room) {
      const head = take(rest, room) || rest[0]!
      if (push(head)) break
      rest = rest.slice(head.length)
    }
    if (lines.length > most) break
    line = rest
  }
  if (lines.length <= most && line !== "") lines.push(line)
  if (lines.length <= most) return lines.length === 0 ? [""] : lines
  const shown = lines.slice(0, most)
  return [...shown.slice(0, -1), cut(`${shown[most - 1]} ${"…".repeat(room)}`, room).replace(/\s*…+$/, "…")]
}
