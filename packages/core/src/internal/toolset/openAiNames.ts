/**
 * The names of the OpenAI Agents SDK with `include_server_in_tool_names`.
 *
 * Owns: being equal to it, down to the digits of its hashes.
 * May not touch: anything else.
 */
import type { ToolIdentity } from "../../ToolNaming.js"
import * as Naming from "./naming.js"
import { sha1 } from "./sha1.js"

const stemLength = Naming.maxLength - 9

export const openAiAgents = (
  tools: ReadonlyArray<ToolIdentity>,
  reserved: ReadonlySet<string>
): ReadonlyArray<string> => {
  const servers = new Map<string, string>()
  const seeds: Array<string> = []
  const bases: Array<string> = []
  const wishes = new Map<string, number>()
  for (const { server, tool } of tools) {
    let shown = servers.get(server)
    if (shown === undefined) servers.set(server, shown = displayed(server))
    const base = `mcp_${part(shown, "server")}__${part(tool, "tool")}`
    seeds.push(`${shown}\0${tool}`)
    bases.push(base)
    wishes.set(base, (wishes.get(base) ?? 0) + 1)
  }
  return Naming.settle(
    bases.map((base, index) =>
      base.length <= Naming.maxLength && wishes.get(base) === 1 && !reserved.has(base)
        ? base
        : withHash(base, seeds[index]!)
    ),
    reserved,
    (index) => seeds[index]!,
    (index, attempt) => withHash(bases[index]!, `${seeds[index]!}\0${attempt}`)
  )
}

const withHash = (base: string, seed: string): string =>
  `${Naming.trimmedEnd(base.slice(0, stemLength))}_${sha1(seed).slice(0, 8)}`

/** Each other character becomes a `_`, not each code unit. */
const part = (text: string, fallback: string): string =>
  Naming.trimmed(text.replace(/[^A-Za-z0-9_-]/gu, "_")) || fallback

const prefixes = ["sse: ", "streamable_http: ", "streamable-http: "]

/** The server's name without the secrets of a URL in it, as that system shows it: the hash is taken of this. */
const displayed = (name: string): string => {
  const prefix = prefixes.find((_) => name.startsWith(_)) ?? ""
  const text = name.slice(prefix.length).replace(/[\t\r\n]/g, "").trimStart()
  const scheme = /^https?:/i.exec(text)?.[0].toLowerCase()
  if (scheme === undefined) return name
  const [, authority = "", path = ""] = /^\/\/([^/?#]*)([^?#]*)/.exec(text.slice(scheme.length)) ?? []
  const host = hostOf(authority.slice(authority.lastIndexOf("@") + 1))
  return host === undefined ? `${prefix}<invalid-url>` : `${prefix}${scheme}//${host}${path}`
}

const hostOf = (authority: string): string | undefined => {
  const [, host, port = ""] = /^(\[[0-9A-Fa-f:.]+\]|[^[\]:\s]+)(?::([0-9]{0,5}))?$/.exec(authority) ?? []
  if (host === undefined || Number(port) > 65_535) return undefined
  return port === "" ? host.toLowerCase() : `${host.toLowerCase()}:${Number(port)}`
}
