/**
 * Which URLs of others are used.
 *
 * Owns: that decision. A server names the places to which secrets go, so they are encrypted, or on this very machine; and
 * only a server on this machine may send us to others on it, and only one at a private address to others at such. An
 * address is judged by what it stands for, however it is written.
 * May not touch: the network.
 */

import * as Redacted from "effect/Redacted"
import type * as McpConfig from "../../McpConfig.js"

const longestUrl = 4096

export const parse = (text: unknown): URL | undefined => {
  if (typeof text !== "string" || text.length > longestUrl) return undefined
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** This very machine. A name below `localhost` is not, as whoever answers for names says where it is. */
export const isLoopback = ({ hostname }: URL): boolean => {
  const host = bare(hostname)
  if (host === "localhost" || host === "0.0.0.0" || host === "[::]" || host === "[::1]") return true
  const groups = groupsOf(host)
  return (groups === undefined ? bytesOf(host) : isMapped(groups) ? lastBytes(groups) : undefined)?.[0] === 127
}

/** An address that means something in this network alone. A name may stand for such a one too, which can't be seen here. */
const isPrivate = ({ hostname }: URL): boolean => {
  const host = bare(hostname)
  const groups = groupsOf(host)
  const bytes = groups === undefined ? bytesOf(host) : embedded(groups)
  return host.endsWith(".localhost") || (bytes !== undefined && isPrivateIpv4(bytes)) ||
    (groups !== undefined && isPrivateIpv6(groups))
}

type Bytes = ReadonlyArray<number>

const bare = (hostname: string): string => hostname.replace(/\.$/, "")

/** With what is set aside for protocols: a cloud has its metadata there. */
const isPrivateIpv4 = ([a = 0, b = 0, c]: Bytes): boolean =>
  a === 0 || a === 10 || a === 127 || a >= 224 || (a === 100 && b >= 64 && b < 128) || (a === 169 && b === 254) ||
  (a === 172 && b >= 16 && b < 32) || (a === 192 && (b === 168 || (b === 0 && c === 0))) ||
  (a === 198 && (b === 18 || b === 19))

/** Unique to a site, of a link, of a site, for many, or for what a network translates by itself (RFC 8215). */
const isPrivateIpv6 = ([a = 0, b, c]: ReadonlyArray<number>): boolean =>
  (a >= 0xfc00 && a < 0xfe00) || a >= 0xfe80 || (a === 0x64 && b === 0xff9b && c === 1)

/** A URL writes each address in one way. */
const bytesOf = (host: string): Bytes | undefined =>
  /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split(".").map(Number) : undefined

/** The eight groups of an IPv6 address, which a URL writes in one way. */
const groupsOf = (host: string): ReadonlyArray<number> | undefined => {
  if (!host.startsWith("[")) return undefined
  const [before = [], after = []] = host.slice(1, -1).split("::").map((_) => _ === "" ? [] : _.split(":"))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return [...before, ...zeros, ...after].map((_) => parseInt(_, 16))
}

const bytesFrom = (high: number, low: number): Bytes => [high >> 8, high & 255, low >> 8, low & 255]

const lastBytes = (groups: ReadonlyArray<number>): Bytes => bytesFrom(groups[6]!, groups[7]!)

const isMapped = (groups: ReadonlyArray<number>): boolean =>
  groups.slice(0, 5).every((_) => _ === 0) && groups[5] === 0xffff

/** The IPv4 address that one of IPv6 stands for: mapped, compatible, translated (RFC 6052, RFC 2765), or by 6to4. */
const embedded = (groups: ReadonlyArray<number>): Bytes | undefined => {
  const [a, b, c] = groups
  if (a === 0x2002) return bytesFrom(b!, c!)
  const isTranslated = a === 0x64 && b === 0xff9b && groups.slice(2, 6).every((_) => _ === 0)
  const isOfStateless = groups.slice(0, 4).every((_) => _ === 0) && groups[4] === 0xffff && groups[5] === 0
  const isCompatible = groups.slice(0, 6).every((_) => _ === 0)
  return isTranslated || isOfStateless || isCompatible || isMapped(groups) ? lastBytes(groups) : undefined
}

/** Whoever is in between can read what is sent there. A proxy elsewhere is in between, also on the way to this machine. */
export const isPlain = (url: URL, proxy?: URL): boolean =>
  url.protocol === "http:" && !(isLoopback(url) && (proxy === undefined || isLoopback(proxy)))

/** The proxy of a configuration that holds no references any more. */
export const proxyOf = ({ proxy }: Pick<McpConfig.AnyHttpConfig, "proxy">): URL | undefined =>
  proxy === undefined ? undefined : parse(Redacted.value(proxy))

/** The same for what this configuration sends there, unless it says that this is all right. */
export const isInTheClear = (
  url: URL,
  config: Pick<McpConfig.AnyHttpConfig, "allowTokensOverHttp" | "proxy">
): boolean => config.allowTokensOverHttp !== true && isPlain(url, proxyOf(config))

export const plainProblem =
  `is an http:// URL, so everybody in between, as a proxy is, could read the token that goes there; use https, or set "allowTokensOverHttp": true where the network encrypts by itself`

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

/** Whether tokens for this resource are meant for this URL: the same one, or one that is wider. */
export const covers = (resource: string, server: URL): boolean => reachOf(resource, server) !== undefined

/**
 * What a resource is to a server: itself, or what it is a part of, which has a path that its own begins with, or no query.
 * It is sent as it is written, so it must be written as it is read: dot segments would mean another one to who gets it.
 */
export const reachOf = (resource: string, server: URL): "same" | "wider" | undefined => {
  const written = /^[a-z]+:\/\/[^\s/?#\\]+([^\s#\\]*)$/i.exec(resource)?.[1]
  const url = parse(resource)
  if (written === undefined || url === undefined || url.username !== "" || url.password !== "") return undefined
  const read = url.pathname + url.search
  if (url.origin !== server.origin || (read !== written && read !== `/${written}`)) return undefined
  const path = pathOf(url)
  const isSamePath = path === pathOf(server)
  if (isSamePath && url.search === server.search) return "same"
  return url.search === "" && (isSamePath || server.pathname.startsWith(`${path}/`)) ? "wider" : undefined
}
