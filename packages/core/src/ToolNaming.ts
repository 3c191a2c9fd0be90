/**
 * How tools are called when an agent sees them.
 *
 * Owns: the name of each tool, from the name of its server and its own name there; and that no two have the same.
 * May not touch: servers, schemas, calls. Nobody ever reads a name back: a call goes to the server and the original name
 * that are kept beside it.
 *
 * | mode | name | where two want one name |
 * |---|---|---|
 * | `raw` | `search` | error |
 * | `prefixed` | `web__search` | each has its own; a name that can't be kept ends in a hash |
 * | `openAiAgents` | `mcp_web__search` | all of them end in a hash |
 * | `ohMyPi` | `mcp__web_search` | one keeps it, the others end in a hash |
 * | `pydanticAi` | `web_search` | error |
 *
 * Where names depend on what else there is, one can become that of another tool when servers come and go. A toolbox that has given
 * out a name for one tool does not call another one by it before it has listed again.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Naming from "./internal/toolset/naming.js"
import * as OhMyPi from "./internal/toolset/ohMyPiNames.js"
import * as OpenAi from "./internal/toolset/openAiNames.js"
import * as Prefixed from "./internal/toolset/prefixedNames.js"
import { displayName } from "./McpError.js"

/**
 * Which tool of which server: the configured name of the server, and the name that the server gave to the tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolIdentity {
  readonly server: string
  readonly tool: string
}

/**
 * A way to name tools.
 *
 * `names` gives one name for each tool, in the same order, all different and none of them in `reserved`; or says which
 * can't be had. It is a pure function.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolNaming {
  readonly mode: string
  readonly names: (
    tools: ReadonlyArray<ToolIdentity>,
    reserved: ReadonlySet<string>
  ) => Either.Either<ReadonlyArray<string>, NamesClash>
}

/**
 * Why tools can't have a name. `duplicate`: several tools would have it. `reserved`: it belongs to something else.
 * `invalid`: it is not 1 to 64 of the characters `A-Z a-z 0-9 _ -`.
 *
 * @since 0.1.0
 * @category models
 */
export type NameProblem = "duplicate" | "reserved" | "invalid"

/**
 * Tools can't be named in this mode. `names` has all names that can't be used, each with all tools that would have it,
 * in the order of their characters, whatever the order in which servers were connected and tools listed. `server` is that
 * of the first.
 *
 * @since 0.1.0
 * @category errors
 */
export class NamesClash extends Schema.TaggedError<NamesClash>("@mcp-runtime/core/NamesClash")("NamesClash", {
  server: Schema.String,
  operation: Schema.String,
  executed: Schema.Literal("no", "maybe", "yes"),
  names: Schema.Array(Schema.Struct({
    name: Schema.String,
    problem: Schema.Literal("duplicate", "reserved", "invalid"),
    tools: Schema.Array(Schema.Struct({ server: Schema.String, tool: Schema.String }))
  }))
}) {
  override get message() {
    const { names } = this
    return `MCP server "${displayName(this.server, 64)}": ${this.operation}: ${names.length} tool ${
      names.length === 1 ? "name" : "names"
    } can't be used: ${
      some(
        names,
        10,
        "; ",
        (_) => `"${displayName(_.name, 64)}" ${reasons[_.problem]} ${some(_.tools, 4, ", ", place)}`
      )
    }. Exclude some of these tools by a filter, or name all of them by ToolNaming.prefixed`
  }
}

const reasons: Readonly<Record<NameProblem, string>> = {
  duplicate: "would be the name of",
  reserved: "is reserved, and would be the name of",
  invalid: "is not 1 to 64 letters, digits, \"_\" or \"-\", and would be the name of"
}

const place = (_: ToolIdentity): string => `"${displayName(_.tool, 64)}" of "${displayName(_.server, 64)}"`

const some = <A>(all: ReadonlyArray<A>, max: number, separator: string, show: (a: A) => string): string =>
  all.slice(0, max).map(show).join(separator) + (all.length > max ? ` and ${all.length - max} more` : "")

/**
 * A way of one's own. What `name` returns is checked: 1 to 64 of the characters `A-Z a-z 0-9 _ -`, none reserved, and no
 * two the same. Otherwise the naming fails with all names that are wrong, so that no tool is lost in silence.
 *
 * @example
 * ```ts
 * import { ToolNaming } from "@mcp-runtime/core"
 * import { Either } from "effect"
 *
 * const dashed = ToolNaming.make({ mode: "dashed", name: ({ server, tool }) => `${server}-${tool}` })
 *
 * Either.getOrThrow(dashed.names([{ server: "web", tool: "search" }], new Set())) // ["web-search"]
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly mode: string
  readonly name: (identity: ToolIdentity) => string
}): ToolNaming => exact(options.mode, (_) => asText(options.name(_)), Naming.isValid)

/** Nobody's types hold in JavaScript: what is no text is an invalid name. */
const asText = (name: unknown): string => typeof name === "string" ? name : ""

const exact = (
  mode: string,
  nameOf: (identity: ToolIdentity) => string,
  isValid: (name: string) => boolean
): ToolNaming => ({
  mode,
  names: (tools, reserved) => {
    const names = tools.map(nameOf)
    const isGood = (name: string) => isValid(name) && !reserved.has(name)
    return new Set(names).size === names.length && names.every(isGood)
      ? Either.right(names)
      : Either.left(
        clash(tools, names, (name) => isValid(name) ? reserved.has(name) ? "reserved" : undefined : "invalid")
      )
  }
})

const clash = (
  tools: ReadonlyArray<ToolIdentity>,
  names: ReadonlyArray<string>,
  problemOf: (name: string) => NameProblem | undefined
): NamesClash => {
  const owners = new Map<string, Array<ToolIdentity>>()
  tools.forEach(({ server, tool }, index) => {
    const name = names[index]!
    const others = owners.get(name)
    if (others === undefined) owners.set(name, [{ server, tool }])
    else others.push({ server, tool })
  })
  const wrong = [...owners].flatMap(([name, tools]) => {
    const problem = problemOf(name) ?? (tools.length > 1 ? "duplicate" : undefined)
    return problem === undefined ? [] : [{
      name,
      problem,
      tools: tools.sort((a, b) => Naming.compare(a.server, b.server) || Naming.compare(a.tool, b.tool))
    }]
  }).sort((a, b) => Naming.compare(a.name, b.name))
  return new NamesClash({ server: wrong[0]!.tools[0]!.server, operation: "name", executed: "no", names: wrong })
}

const total = (
  mode: string,
  names: (tools: ReadonlyArray<ToolIdentity>, reserved: ReadonlySet<string>) => ReadonlyArray<string>
): ToolNaming => ({ mode, names: (tools, reserved) => Either.right(names(tools, reserved)) })

/**
 * The names that the servers gave, as they are. Fails if two tools have the same, of one server or of several.
 *
 * @since 0.1.0
 * @category modes
 */
export const raw: ToolNaming = exact("raw", (_) => _.tool, () => true)

/**
 * `<server>__<tool>`: the default. Never fails.
 *
 * All names consist of 1 to 64 of the characters `A-Z a-z 0-9 _ -`, and upper and lower case count as different. A name
 * depends on the tool's own server and name alone, not on what else there is, nor on the order in which servers connect
 * or list. That is why a name that can't stay as it is gets `_` and a hash of ten digits even where it is the only one:
 *
 * - server or tool is empty, or has other characters, of which each run becomes one `_`;
 * - it would be too long: it is cut, the server's part down to 24 characters at most;
 * - it could be taken for the name of another tool: the server has `__` in it or ends in `_`; or it looks as if it
 *   ended in a hash.
 *
 * Three things only make a name depend on others. It is reserved: then it gets a hash, as above. Two hashes are equal, one
 * chance in 10^12 for two tools whose names are alike up to there: the first by server and tool keeps its name. A server
 * lists a tool twice: the first in its list has the name, and each of the others gets a hash of identity and number.
 *
 * @example
 * ```ts
 * import { ToolNaming } from "@mcp-runtime/core"
 * import { Either } from "effect"
 *
 * const tools = [{ server: "web", tool: "search" }, { server: "web", tool: "検索" }]
 *
 * Either.getOrThrow(ToolNaming.prefixed.names(tools, new Set())) // ["web__search", "web__tool_5d89c85398"]
 * ```
 *
 * @since 0.1.0
 * @category modes
 */
export const prefixed: ToolNaming = total("prefixed", Prefixed.prefixed)

/**
 * The names of the OpenAI Agents SDK with `include_server_in_tool_names`: `mcp_<server>__<tool>`, at most 64 characters.
 * Never fails. Where several want one name, or it is reserved or too long, each gets `_` and eight digits of a hash.
 *
 * So a name can change when another server is added. In the part of the server, URLs lose what may be secret.
 *
 * @since 0.1.0
 * @category modes
 */
export const openAiAgents: ToolNaming = total("openAiAgents", OpenAi.openAiAgents)

/**
 * The names of oh-my-pi: `mcp__<server>_<tool>` in lower case, at most 64 characters, a tool's own prefix that repeats
 * its server left out. Never fails. Where several want one name, the first by server and tool has it. oh-my-pi drops
 * the others; here each gets `_` and eight characters of a hash.
 *
 * So a name can change when another server is added.
 *
 * @since 0.1.0
 * @category modes
 */
export const ohMyPi: ToolNaming = total("ohMyPi", OhMyPi.ohMyPi)

/**
 * The names of pydantic-ai's configured servers: `<server>_<tool>`, as they are, of any length and characters; some
 * models' APIs refuse such names. Fails if two tools have the same, of one server or of several.
 *
 * @since 0.1.0
 * @category modes
 */
export const pydanticAi: ToolNaming = exact("pydanticAi", (_) => `${_.server}_${_.tool}`, () => true)
