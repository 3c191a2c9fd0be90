/**
 * How foreign text is shown.
 *
 * Owns: what is left out of it.
 * May not touch: what it means.
 */

/** Each start of a run of letters is tried once, so that a long text without URLs costs its length and no more. */
const urlish = /(?<![a-z0-9+.-])([0-9+.-]*)([a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+)/gi

/** And what a terminal is told with them, as colours: servers write their errors in red. */
// eslint-disable-next-line no-control-regex -- it is control characters that are looked for
const controls = /(?:\u001b\[[0-?]{0,32}[ -/]{0,4}[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f])+/g

/**
 * A URL that can be shown: without user, password, query and fragment, which may hold secrets.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayUrl = (url: string): string => {
  try {
    const parsed = new URL(url)
    return `${parsed.protocol}//${parsed.host}${parsed.pathname}`
  } catch {
    return "<not a URL>"
  }
}

/**
 * What nobody sees, or what turns the direction of the text around it. Joiners and variation selectors are among them: they
 * are parts of words and emoji, and of names that are to pass for others.
 */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\u2800\ufff9-\ufffb\u{1d159}]+/gu

const unseenInNames =
  /[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\u2800\ufff9-\ufffb\u{1d159}]/gu

/** One form of the character before it, then whether it joins the next. */
const joining = /^\p{Variation_Selector}?\p{Join_Control}?/u

const beyondAscii = /[\u0080-\uffff]/

/**
 * A text in which each mark that nobody sees, or that turns text around, is a `\ufffd`. Words, emoji and what they are joined
 * with stay, and so do control characters.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayMarks = (text: string): string => beyondAscii.test(text) ? text.replace(unseen, seenInText) : text

const seenInText = (marks: string, at: number, whole: string): string => {
  const kept = at > 0 && /\S/.test(whole[at - 1]!) ? joining.exec(marks)![0] : ""
  return kept + marks.slice(kept.length).replace(/./gsu, "\ufffd")
}

/** A control character as its picture. */
const seenInName = (mark: string): string => {
  const code = mark.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd"
}

/** What is kept of a text with its URLs reduced. A URL that the bound cuts could show its password as its host. */
const withoutUrls = (kept: string, isCut: boolean): string =>
  kept.includes("://")
    ? kept.replace(
      urlish,
      (match: string, before: string, url: string, at: number, whole: string) =>
        before + (isCut && at + match.length === whole.length ? "<cut URL>" : displayUrl(url))
    )
    : kept

const more = (text: string, max: number): string => `... (${text.length - max} more characters)`

/**
 * A text from outside that can be shown: bounded, without control characters (and colours) but tabs and line ends, with marks
 * that are seen (`displayMarks`), its URLs reduced by `displayUrl`.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayText = (text: string, max: number): string => {
  const isCut = text.length > max
  const kept = isCut ? text.slice(0, max) : text
  const shown = withoutUrls(displayMarks(kept.replace(controls, " ")), isCut)
  return isCut ? `${shown.trimStart()}${more(text, max)}` : shown.trim()
}

const plain = /^[ -~]*$/

/**
 * The name of a tool or a server as it can be shown: bounded, on one line, with its URLs reduced. Whatever nobody sees, turns
 * text around or ends a line is one visible character, so that no name looks like another one or like words of ours. It is
 * for a person to read: a server is asked by the name that it has given.
 *
 * @example
 * ```ts
 * import { McpError } from "@mcp-runtime/core"
 *
 * McpError.displayName("read_\u200bfile\n") // "read_\ufffdfile\u240a"
 * ```
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayName = (name: string, max = 256): string => {
  if (name.length <= max && plain.test(name) && !name.includes("://")) return name
  const isCut = name.length > max
  const shown = withoutUrls((isCut ? name.slice(0, max) : name).replace(unseenInNames, seenInName), isCut)
  return isCut ? `${shown}${more(name, max)}` : shown
}
