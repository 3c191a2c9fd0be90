/**
 * How foreign text is shown.
 *
 * Owns: what is left out of it.
 * May not touch: what it means.
 */

/** Each start of a run of letters is tried once, so that a long text without URLs costs its length and no more. */
const urlish = /(?<![a-z0-9+.-])([0-9+.-]*)([a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+)/gi

// eslint-disable-next-line no-control-regex -- it is control characters that are looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g

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
 * A text from outside that can be shown: bounded, without control characters, its URLs reduced by `displayUrl`.
 *
 * @since 0.1.0
 * @category redaction
 */
export const displayText = (text: string, max: number): string => {
  const kept = text.length > max ? text.slice(0, max) : text
  // A URL that the bound cuts could show its password as its host.
  const shown = kept.replace(controls, " ").replace(
    urlish,
    (match: string, before: string, url: string, at: number, whole: string) =>
      before + (kept !== text && at + match.length === whole.length ? "<cut URL>" : displayUrl(url))
  )
  return kept === text ? shown.trim() : `${shown.trimStart()}... (${text.length - max} more characters)`
}
