/**
 * What configuration files say: the servers of `mcp.json` and its relatives, where each of them comes from, and what is wrong
 * with the rest.
 *
 * Owns: the format of the files, which of several files wins, and the words in which a mistake is explained.
 * May not touch: files, the environment, connections. It gets texts and gives data; `ConfigFiles` of `@mcp-runtime/node` finds
 * and watches the files.
 *
 * ```text
 * texts -> JSON (comments, trailing commas) -> servers by name -> each checked on its own -> predicates -> merged by name
 * ```
 *
 * - Files of Claude Desktop, Cursor and the MCP documentation (`mcpServers`), of VS Code (`servers` and `inputs`, also under
 *   `mcp` as in its settings).
 * - A broken file or server is a problem that names the file, the server and the field; everything else is there.
 * - Of two servers with one name the one of the higher level is taken, whole. One that is wrong hides nothing, and one that is
 *   disabled keeps its name: nothing of a lower level connects under it.
 * - References such as `${TOKEN}` stay as they are. They are resolved when a server is connected, see `McpConfig`.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as schema from "./internal/configFile/jsonSchema.js"
import * as internal from "./internal/configFile/load.js"
import * as predicates from "./internal/configFile/predicates.js"
import * as rules from "./internal/configFile/rules.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as ToolApproval from "./ToolApproval.js"
import type * as Toolset from "./Toolset.js"

/**
 * Who a file speaks for, the highest first: the file that was asked for, the project's, the user's.
 *
 * @since 0.1.0
 * @category models
 */
export type Level = "explicit" | "project" | "user"

/**
 * Where something was found.
 *
 * @since 0.1.0
 * @category models
 */
export interface Origin {
  readonly level: Level
  readonly path: string
}

/**
 * A file and its text.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source extends Origin {
  readonly text: string
}

/**
 * What is wrong, where, and what to do about it. No value of a file is part of it, since it may be a secret.
 *
 * An `"error"` has cost something: a file, or a server. With a `"warning"` everything is there, but perhaps not as it was
 * meant.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly path: string
  /** From 1, where it is known. */
  readonly line?: number
  /** From 1, where it is known. */
  readonly column?: number
  readonly server?: string
  readonly field?: string
  readonly problem: string
  readonly severity: "error" | "warning"
}

/**
 * When a call of a tool needs approval, by the names of tools. The same as `ToolApproval.make` takes.
 *
 * @since 0.1.0
 * @category models
 */
export type Approval = "always" | "never" | ToolApproval.Names

/**
 * What a file says about the tools of a server, as it says it. `toolsetServers` makes filters and approvals of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerRules {
  readonly tools?: {
    readonly allow?: ReadonlyArray<string>
    readonly block?: ReadonlyArray<string>
  }
  readonly approval?: Approval
}

/**
 * One server of a file.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entry {
  readonly name: string
  readonly origin: Origin
  /** Where else there is a server of this name. It is not used. */
  readonly shadows: ReadonlyArray<Origin>
  /** Who has switched it off, if its own `enabled` has not. */
  readonly disabledBy?: Origin
  /**
   * Unresolved. `enabled: false` where it is disabled. It is as the file has it, secrets that are written there too: what is to be
   * printed is what `McpConfig.decode` makes of it.
   */
  readonly config: McpConfig.ServerConfigInput
  readonly rules: ServerRules
}

/**
 * Something a user is asked for once (`inputs` of VS Code), to be used as `${input:id}`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Input {
  readonly id: string
  readonly origin: Origin
  /** `"promptString"` or `"pickString"`. Others exist, and can't be asked for outside of VS Code. */
  readonly type: string
  readonly description?: string
  /** Whether it is a secret. */
  readonly password: boolean
  readonly default?: string
  /** What can be picked. */
  readonly options?: ReadonlyArray<string>
}

/**
 * What all files say together.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  /** The servers: those of the highest level first, in the order of the files. Names are unique. */
  readonly entries: ReadonlyArray<Entry>
  /** In the order of the sources. */
  readonly problems: ReadonlyArray<Problem>
  /** The files that were taken into account, the highest level first. */
  readonly sources: ReadonlyArray<Origin>
  /** By id. */
  readonly inputs: ReadonlyMap<string, Input>
}

/**
 * A server as it was found, before servers of the same name are merged. Nothing in it is resolved.
 *
 * @since 0.1.0
 * @category models
 */
export interface Discovered {
  readonly name: string
  readonly origin: Origin
  readonly enabled: boolean
  readonly transport: "stdio" | "http" | "sse" | "auto"
  readonly url?: string
  readonly command?: string
  readonly args?: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export type Predicate = (entry: Discovered) => boolean

/**
 * @since 0.1.0
 * @category options
 */
export interface LoadOptions {
  /** Whether files of the project count. Without them it is as if they were not there. Default: `true`. */
  readonly enableProjectConfig?: boolean | undefined
  /**
   * Servers that are left out, for example because the application has its own. As if they were not there: one of the same
   * name in another file takes the place, if it is not left out too.
   */
  readonly exclude?: ReadonlyArray<Predicate> | undefined
  /** From the environment: for every server, whatever its file says. `null` and 0: none. */
  readonly timeout?: Duration.DurationInput | null | undefined
  /** For servers whose file does not say. `null` and 0: none. Default: that of `McpConfig`. */
  readonly defaultTimeout?: Duration.DurationInput | null | undefined
  /** The directory that `${workspaceFolder}` stands for. Without it, servers that ask for it can't be connected. */
  readonly workspaceFolder?: string | undefined
  /**
   * The directory of the user. Where files of the project do not count (`enableProjectConfig: false`), servers of the user's
   * file that have no `cwd` start in it, and so do commands that find their secrets: what they run could be found in the
   * working directory first. Default: they start in the working directory.
   */
  readonly userFolder?: string | undefined
}

/**
 * Reads files. It never fails: what is wrong is in `problems`.
 *
 * The level decides which of two servers with one name is taken; within a level, the source that is given first.
 *
 * @example
 * ```ts
 * import { ConfigFile } from "@mcp-runtime/core"
 *
 * const { entries, problems } = ConfigFile.load([{
 *   level: "project",
 *   path: ".mcp.json",
 *   text: `{
 *     "mcpServers": {
 *       "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] },
 *       "docs": { "url": "https://docs.example.com/mcp", "headers": { "Authorization": "Bearer \${DOCS_TOKEN}" } },
 *       "wrong": { "commmand": "npx" }
 *     }
 *   }`
 * }])
 *
 * entries.map((entry) => entry.name) // ["files", "docs"]
 * problems.map(ConfigFile.display) // [".mcp.json:5:18: server \"wrong\": commmand: is not ..."]
 * ```
 *
 * @since 0.1.0
 * @category loading
 */
export const load: (sources: ReadonlyArray<Source>, options?: LoadOptions) => Loaded = internal.load

/**
 * The servers, for a manager or `McpRuntime.layer`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const serversOf = (loaded: Loaded): ReadonlyArray<McpConfig.ServerConfigInput> =>
  loaded.entries.map((entry) => entry.config)

/**
 * What files say about tools (`tools`, `approval`), as the `servers` of `Toolset.make`.
 *
 * @example
 * ```ts
 * import { ConfigFile, type McpManager, Toolset } from "@mcp-runtime/core"
 *
 * const toolset = (manager: McpManager.Manager, loaded: ConfigFile.Loaded) =>
 *   Toolset.make(manager, { servers: ConfigFile.toolsetServers(loaded) })
 * ```
 *
 * @since 0.1.0
 * @category accessors
 */
export const toolsetServers: (loaded: Loaded) => {
  readonly [server: string]: Pick<Toolset.ServerOptions<unknown, never, never>, "filter" | "approval">
} = rules.toolsetServers

/**
 * A problem in one line: the file, the place, the server, the field, what is wrong.
 *
 * @since 0.1.0
 * @category accessors
 */
export const display = (problem: Problem): string => {
  const place = problem.line === undefined ? "" : `:${problem.line}:${problem.column ?? 1}`
  const server = problem.server === undefined ? "" : ` server "${problem.server}":`
  const field = problem.field === undefined ? "" : ` ${problem.field}:`
  return `${problem.path}${place}:${server}${field} ${problem.problem}`
}

/**
 * Servers with such a name. `*` stands for any characters or none, `?` for one.
 *
 * @example
 * ```ts
 * import { ConfigFile } from "@mcp-runtime/core"
 *
 * const load = (sources: ReadonlyArray<ConfigFile.Source>) =>
 *   ConfigFile.load(sources, {
 *     exclude: [ConfigFile.named("exa*"), ConfigFile.url("*://mcp.exa.ai/*")]
 *   })
 * ```
 *
 * @since 0.1.0
 * @category predicates
 */
export const named: (pattern: string) => Predicate = predicates.named

/**
 * Servers with such a URL, as it is written or as it is meant (`HTTPS://Example.com` is `https://example.com/`). `*` stands
 * for any characters or none, `?` for one.
 *
 * @since 0.1.0
 * @category predicates
 */
export const url: (pattern: string) => Predicate = predicates.url

/**
 * Servers of this level.
 *
 * @since 0.1.0
 * @category predicates
 */
export const level = (level: Level): Predicate => (entry) => entry.origin.level === level

/**
 * The format of the files as JSON Schema (draft-07), for editors. The package has it as `mcp.schema.json`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const jsonSchema: McpProtocol.JsonObject = schema.jsonSchema
