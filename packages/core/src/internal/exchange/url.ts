/**
 * A URL as an exchange needs it.
 *
 * Owns: which URLs can be used, and how a user name and password in one become a header.
 * May not touch: sockets.
 */

/** @internal */
export interface Target {
  /** Without user name and password. */
  readonly url: URL
  /** The `authorization` that the URL itself asks for. */
  readonly authorization: string | undefined
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const basic = (user: string, password: string): string => {
  let latin1 = ""
  for (const byte of new TextEncoder().encode(`${decoded(user)}:${decoded(password)}`)) {
    latin1 += String.fromCharCode(byte)
  }
  return `Basic ${btoa(latin1)}`
}

/** @internal */
export const parse = (text: string): Target | undefined => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return undefined
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined
  if (url.username === "" && url.password === "") return { url, authorization: undefined }
  const authorization = basic(url.username, url.password)
  url.username = ""
  url.password = ""
  return { url, authorization }
}

/** How a text may be written in a URL, or in a form, where that is another way. @internal */
export const spellingsOf = (text: string): ReadonlyArray<string> => {
  try {
    const inForm = new URLSearchParams([["", text]]).toString().slice(1)
    return [encodeURI(text), encodeURIComponent(text), inForm].filter((_) => _ !== text)
  } catch {
    // Half of a surrogate pair can't be written in a URL.
    return []
  }
}

/** @internal */
export const headersFor = (
  target: Target,
  headers: { readonly [name: string]: string }
): { readonly [name: string]: string } =>
  target.authorization === undefined || headers["authorization"] !== undefined
    ? headers
    : { ...headers, authorization: target.authorization }
