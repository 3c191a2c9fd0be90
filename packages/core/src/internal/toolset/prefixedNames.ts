/**
 * `<server>__<tool>`, for every server and tool there can be.
 *
 * Owns: which names can stay as they are, and what becomes of the others.
 * May not touch: what other tools there are, except where two want one name.
 *
 * A name stays as it is, if no other identity can have it: its server has no `__` and doesn't end in `_`, so that the
 * first `__` is the separator; and it doesn't end in what looks like a hash. All others end in one, so the two kinds
 * have no name in common.
 */
import type { ToolIdentity } from "../../ToolNaming.js"
import * as Naming from "./naming.js"
import { sha1 } from "./sha1.js"

const hashLength = 10

const hashed = /_[0-9a-f]{10}$/

/** What is left for server, separator and tool before `_` and the hash. */
const stemLength = Naming.maxLength - hashLength - 1

/** What a long server name may take of it, however long the tool's name is. */
const serverLength = 24

export const prefixed = (
  tools: ReadonlyArray<ToolIdentity>,
  reserved: ReadonlySet<string>
): ReadonlyArray<string> =>
  Naming.settle(
    tools.map((tool) => natural(tool) ?? withHash(tool, 0)),
    reserved,
    (index) => seed(tools[index]!),
    (index, attempt) => withHash(tools[index]!, attempt)
  )

const natural = ({ server, tool }: ToolIdentity): string | undefined => {
  if (server === "" || tool === "" || server.length + 2 + tool.length > Naming.maxLength) return undefined
  const name = `${server}__${tool}`
  return Naming.isValid(name) && !server.includes("__") && !server.endsWith("_") && !hashed.test(name)
    ? name
    : undefined
}

const withHash = (identity: ToolIdentity, attempt: number): string => {
  const tool = part(identity.tool, "tool")
  const server = part(identity.server, "server").slice(0, Math.max(serverLength, stemLength - 2 - tool.length))
  const stem = Naming.trimmedEnd(`${Naming.trimmedEnd(server)}__${tool}`.slice(0, stemLength))
  return `${stem}_${sha1(seed(identity, attempt)).slice(0, hashLength)}`
}

/** In JSON, so that different identities have different seeds, whatever characters they hold. */
const seed = ({ server, tool }: ToolIdentity, attempt = 0): string =>
  JSON.stringify(attempt === 0 ? [server, tool] : [server, tool, attempt])

/** Runs of other characters become one `_`. */
const part = (text: string, fallback: string): string =>
  Naming.trimmed(text.replace(/[^A-Za-z0-9-]+/g, "_")) || fallback
