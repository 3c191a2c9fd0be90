/**
 * Which URLs of others are used.
 *
 * Owns: that decision. A server names the places to which secrets go, so they are encrypted, or on this very machine; and
 * only a server on this machine may send us to others on it, and only one at a private address to others at such.
 * May not touch: the network.
 */

const longestUrl = 4096

export const parse = (text: unknown): URL | undefined => {
  if (typeof text !== "string" || text.length > longestUrl) return undefined
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

export const isLoopback = (url: URL): boolean => {
  const host = url.hostname.replace(/\.$/, "")
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host) ||
    host === "0.0.0.0" || host === "[::]" || host.startsWith("[::ffff:7f")
}

/** An address that means something in this network alone. A name may stand for such a one too, which can't be seen here. */
const isPrivate = ({ hostname }: URL): boolean => {
  const mapped = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname)
  const [a, b] = mapped === null
    ? /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname.split(".").map(Number) : []
    : [parseInt(mapped[1]!, 16) >> 8, parseInt(mapped[1]!, 16) & 255]
  if (a === undefined || b === undefined) return /^\[f(?:[cd]|e[89ab])/.test(hostname)
  return a === 10 || a === 0 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) ||
    (a === 169 && b === 254) || (a === 100 && b >= 64 && b < 128)
}

/** Whoever is in between can read what is sent there. */
export const isPlain = (url: URL): boolean => url.protocol === "http:" && !isLoopback(url)

export const plainProblem =
  `is an http:// URL, so everybody in between could read the token that goes there; use https, or set "allowTokensOverHttp": true where the network encrypts by itself`

/** The server itself: what its user has configured. */
export const ofServer = (url: string): URL => {
  const parsed = new URL(url)
  parsed.username = ""
  parsed.password = ""
  parsed.hash = ""
  return parsed
}

/** A place that the server, or its authorization server, has named. */
export const allowed = (text: unknown, server: URL): URL | undefined => {
  const url = parse(text)
  if (url === undefined || url.username !== "" || url.password !== "" || url.hash !== "") return undefined
  if (isLoopback(url)) return isLoopback(server) && isHttp(url) ? url : undefined
  if (isPrivate(url) && !isPrivate(server) && !isLoopback(server)) return undefined
  return url.protocol === "https:" ? url : undefined
}

const isHttp = (url: URL): boolean => url.protocol === "http:" || url.protocol === "https:"

/** The path without the slash at its end. */
export const pathOf = (url: URL): string => url.pathname.replace(/\/$/, "")

/** Whether tokens for this resource are meant for this URL: the same origin, and a path that it begins with. */
export const covers = (resource: string, server: URL): boolean => {
  const url = parse(resource)
  if (url === undefined || resource.includes("#") || url.username !== "" || url.password !== "") return false
  if (url.origin !== server.origin) return false
  const path = pathOf(url)
  return path === pathOf(server) || server.pathname.startsWith(`${path}/`)
}
