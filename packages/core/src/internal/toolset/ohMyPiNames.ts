/**
 * The names of oh-my-pi.
 *
 * Owns: being equal to it wherever it names a tool. Where two tools have one name there, it drops the one with the larger
 * key; here that one gets the hash of its key.
 * May not touch: anything else.
 */
import type { ToolIdentity } from "../../ToolNaming.js"
import * as Naming from "./naming.js"
import { wyhash } from "./wyhash.js"

export const ohMyPi = (
  tools: ReadonlyArray<ToolIdentity>,
  reserved: ReadonlySet<string>
): ReadonlyArray<string> =>
  Naming.settle(
    tools.map((tool) => {
      const name = uncut(tool)
      return name.length <= Naming.maxLength ? name : withHash(name, name)
    }),
    reserved,
    (index) => key(tools[index]!),
    (index, attempt) => withHash(uncut(tools[index]!), `${key(tools[index]!)}\0${attempt}`)
  )

const key = ({ server, tool }: ToolIdentity): string => `${server}\0${tool}`

/** A tool that repeats its server's name loses it. */
const uncut = (identity: ToolIdentity): string => {
  const server = part(identity.server, "server")
  const tool = part(identity.tool, "tool")
  return `mcp__${server}_${tool.startsWith(`${server}_`) ? tool.slice(server.length + 1) : tool}`
}

const withHash = (name: string, seed: string): string => {
  const hash = wyhash(seed).toString(36).slice(0, 8)
  return `${name.slice(0, Naming.maxLength - hash.length - 1)}_${hash}`
}

const part = (text: string, fallback: string): string =>
  Naming.trimmed(text.toLowerCase().replace(/[^a-z0-9]+/g, "_")) || fallback
