/**
 * The tools of the chosen servers, as an agent with this configuration would see them.
 *
 * Owns: which tool a typed name means.
 * May not touch: output, arguments.
 */
import * as CatalogStore from "@mcp-runtime/core/CatalogStore"
import * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpError from "@mcp-runtime/core/McpError"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import * as Toolset from "@mcp-runtime/core/Toolset"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { failed, type Failure, fromMcpError, usage } from "./exit.js"
import { oneLine, shownName } from "./output/text.js"
import * as Servers from "./Servers.js"
import type { Setup } from "./Setup.js"
import { suggest } from "./suggest.js"
import { together } from "./together.js"

export type Toolbox = Toolset.Toolbox<never, McpProtocol.CallToolResult, McpError.McpError>

/** Calls fail with the typed error, and results come as they are. */
export const toolbox = ({ manager, setup }: Servers.Servers): Effect.Effect<Toolbox, Failure> =>
  Toolset.make(manager, {
    servers: ConfigFile.toolsetServers(setup.loaded),
    output: ToolOutput.raw,
    failure: "propagate",
    validateArguments: true
  }).pipe(
    Effect.map((toolset) => toolset.for()),
    Effect.mapError((error) => fromMcpError(error))
  )

export const listed = ({ list }: Toolbox): Effect.Effect<Toolset.ToolList, Failure> => Effect.mapError(list, listError)

export const listError = (error: Toolset.ListError): Failure =>
  failed(oneLine(error.message), ["Look at the names of your servers: mcp-runtime config check"], error._tag)

// ---------------------------------------------------------------------------------------------------------------------
// names
// ---------------------------------------------------------------------------------------------------------------------

type Named = Pick<Toolset.AgentTool, "name" | "server" | "tool">

/**
 * The tool that is meant: by the name that agents see (`notes__add_note`), as `server/tool` or `server__tool` where agents see
 * another name of it, or by its own name where only one server has it.
 */
export const resolve = <A extends Named>(
  written: string,
  tools: ReadonlyArray<A>
): Either.Either<
  A,
  { readonly _tag: "Unknown" } | { readonly _tag: "Ambiguous"; readonly tools: ReadonlyArray<A> }
> => {
  const exact = tools.find((_) => _.name === written)
  if (exact !== undefined) return Either.right(exact)
  const withServer = tools.filter(({ server, tool }) =>
    `${server}/${tool}` === written || `${server}__${tool}` === written
  )
  const found = withServer.length > 0 ? withServer : tools.filter((_) => _.tool === written)
  const [only] = found
  if (only === undefined) return Either.left({ _tag: "Unknown" })
  return found.length === 1 ? Either.right(only) : Either.left({ _tag: "Ambiguous", tools: found })
}

export const unknownTool = (
  written: string,
  tools: ReadonlyArray<Named>,
  silent: ReadonlyArray<string>
): Failure => {
  // Whichever of its names was meant, the one that always works is shown.
  const names = new Map<string, string>()
  for (const { name, server, tool } of tools) names.set(tool, name).set(`${server}/${tool}`, name).set(name, name)
  const close = new Set(suggest(written, names.keys()).map((_) => shownName(names.get(_) ?? _)))
  return usage(`There is no tool "${oneLine(written.slice(0, 256))}"`, [
    ...(close.size === 0 ? [] : [`Did you mean ${[...close].join(" or ")}?`]),
    ...Servers.notLookedIn(silent),
    ...(tools.length > 0 && tools.length <= 12
      ? [`There ${tools.length === 1 ? "is" : "are"} ${tools.map((_) => shownName(_.name)).join(", ")}.`]
      : []),
    "See what there is: mcp-runtime tools"
  ], "ToolNotFound")
}

export const ambiguousTool = (written: string, tools: ReadonlyArray<Named>): Failure =>
  usage(`More than one server has a tool "${shownName(written)}"`, [
    `Say which one: ${tools.map((_) => shownName(_.name)).join(", ")}`
  ], "ToolAmbiguous")

// ---------------------------------------------------------------------------------------------------------------------
// which servers have to be connected for a name
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The servers that a name may belong to: those it begins with; else, where the lists of all servers are stored, those that
 * have it; else all.
 */
export const candidates = (written: string, setup: Setup): Effect.Effect<ReadonlySet<string>> =>
  Effect.gen(function*() {
    const enabled = setup.loaded.entries.filter((_) => _.config.enabled !== false)
    const all = new Set(enabled.map((_) => _.name))
    const named = setup.loaded.entries.filter(({ name }) => beginsWith(written, name))
    if (named.length > 0) return new Set(named.map((_) => _.name))
    if (setup.common.noCache || all.size < 2) return all
    const stored = yield* together(enabled, storedTools).pipe(
      Effect.provide(Servers.platform(setup)),
      Effect.scoped
    )
    const having = enabled.filter((_, at) => stored[at]?.has(written) === true)
    return stored.every((_) => _ !== undefined) && having.length === 1 ? new Set(having.map((_) => _.name)) : all
  })

const beginsWith = (written: string, server: string): boolean => {
  const part = server.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "")
  return written.startsWith(`${server}__`) || written.startsWith(`${server}/`) ||
    (part !== "" && written.startsWith(`${part.slice(0, 24)}`) && written.includes("__"))
}

const storedTools = (
  { config }: ConfigFile.Entry
): Effect.Effect<ReadonlySet<string> | undefined, never, CatalogStore.CatalogStore> =>
  Effect.gen(function*() {
    const decoded = yield* Effect.either(McpConfig.decode(config))
    if (Either.isLeft(decoded)) return undefined
    const stored = yield* (yield* CatalogStore.CatalogStore).of(decoded.right).load("tools")
    return stored === undefined ? undefined : new Set(stored.items.map((_) => _.name))
  })
