/**
 * What files say about tools, as toolsets take it.
 *
 * Owns: how plain data becomes filters and approvals.
 * May not touch: names of fields in files; they are settled before.
 */
import * as Either from "effect/Either"
import type { Entry, Loaded } from "../../ConfigFile.js"
import * as ToolApproval from "../../ToolApproval.js"
import * as ToolFilter from "../../ToolFilter.js"
import type { ServerOptions } from "../../Toolset.js"

type Settings = Pick<ServerOptions<unknown, never, never>, "filter" | "approval">

/** Own properties by definition, so that a server may be called `__proto__`. */
export const toolsetServers = (loaded: Loaded): { readonly [server: string]: Settings } =>
  Object.fromEntries(loaded.entries.flatMap((entry) => {
    const settings = settingsOf(entry)
    return Object.keys(settings).length === 0 ? [] : [[entry.name, settings]]
  }))

/** Rules were checked when they were read. One that does not hold all the same is no reason to show or allow anything. */
const settingsOf = ({ rules }: Entry): Settings => ({
  ...(rules.tools !== undefined &&
    { filter: Either.getOrElse(ToolFilter.decodeNames(rules.tools), () => ToolFilter.none) }),
  ...(rules.approval !== undefined &&
    { approval: Either.getOrElse(ToolApproval.make(rules.approval), () => ToolApproval.always) })
})
