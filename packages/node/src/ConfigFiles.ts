/**
 * The configuration files of a user and a project: found, read, watched, and followed by a running application.
 *
 * Owns: where files are looked for, reading them, and passing on what has changed.
 * May not touch: what files mean (`ConfigFile` of `@mcp-runtime/core`), and which servers a change concerns (`McpManager`).
 *
 * | level      | file, the first that exists                                                                   |
 * |------------|-----------------------------------------------------------------------------------------------|
 * | `explicit` | `explicit`, else the environment's `MCP_RUNTIME_CONFIG`                                          |
 * | `project`  | `.mcp.json`, `mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json` in the working directory          |
 * | `user`     | `$XDG_CONFIG_HOME/mcp-runtime/mcp.json`, else `~/.config/...`, on Windows `%APPDATA%\mcp-runtime\...` |
 *
 * All three are read; of two servers with one name, that of the higher level is taken.
 *
 * Nothing here fails. What can't be read is a problem that names its file, and everything else is there. While a file is
 * followed, one that is broken at this moment, half written or with a mistake in it, keeps the servers of its last good
 * version.
 *
 * @since 0.1.0
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpError from "@mcp-runtime/core/McpError"
import type * as McpRuntime from "@mcp-runtime/core/McpRuntime"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Follow from "./internal/configFiles/follow.js"
import * as Live from "./internal/configFiles/live.js"
import * as Places from "./internal/configFiles/places.js"

/**
 * Which files.
 *
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** Files that have to be there, the most important first. Default: what `MCP_RUNTIME_CONFIG` names, if anything. */
  readonly explicit?: string | ReadonlyArray<string> | undefined
  /** The directory of the project: where relative paths begin, and `${workspaceFolder}`. Default: the working directory. */
  readonly cwd?: string | undefined
  /**
   * Whether the project's file is read. Its servers are commands that run as the user: a program that is started in
   * directories of strangers says `false`. Then servers of the user's file that have no `cwd` start in the directory of the
   * user, and so do commands that find their secrets. Default: `true`.
   */
  readonly enableProjectConfig?: boolean | undefined
  /** Another file for the user's, or `false` for none. Default: `true`. */
  readonly user?: boolean | string | undefined
  /** Servers that are left out, see `ConfigFile.LoadOptions`. */
  readonly exclude?: ReadonlyArray<ConfigFile.Predicate> | undefined
  /** For servers whose file does not say, and if `MCP_RUNTIME_TIMEOUT` does not. `null` and 0: none. */
  readonly defaultTimeout?: Duration.DurationInput | null | undefined
  /**
   * Which variables say where files are, and how long servers may take. What references in the files stand for is looked up with
   * the `SecretResolver`, and so is not in here: see `NodeSecrets`. Default: that of this process.
   */
  readonly environment?: { readonly [name: string]: string | undefined } | undefined
}

/**
 * Where a file is looked for: of `paths`, the first that exists is read.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place {
  readonly level: ConfigFile.Level
  /** Absolute. */
  readonly paths: ReadonlyArray<string>
  /** Whether it is a problem that nothing is there. */
  readonly required: boolean
}

/**
 * What the files of a running application say.
 *
 * @since 0.1.0
 * @category tags
 */
export class ConfigFiles extends Context.Tag("@mcp-runtime/node/ConfigFiles")<ConfigFiles, {
  /** Now. What is taken from it for tools (`ConfigFile.toolsetServers`) is best taken anew for each agent. */
  readonly loaded: Effect.Effect<ConfigFile.Loaded>
  /** Now, then each change. A slow reader misses what is between, never the last. */
  readonly changes: Stream.Stream<ConfigFile.Loaded>
}>() {}

const settingsOf = (options: Options): Effect.Effect<Follow.Settings> =>
  Effect.sync(() => {
    const environment = options.environment ?? process.env
    const timeout = Places.timeoutOf(environment)
    return {
      places: Places.places(options, environment),
      options: {
        enableProjectConfig: options.enableProjectConfig,
        exclude: options.exclude,
        defaultTimeout: options.defaultTimeout,
        workspaceFolder: Places.projectDirectory(options),
        userFolder: Places.userDirectory(process.platform, environment),
        ...(typeof timeout === "number" && { timeout })
      },
      problems: typeof timeout === "object" ? [timeout] : []
    }
  })

/**
 * Where is looked, the highest level first. What `mcp-runtime config check` shows.
 *
 * @since 0.1.0
 * @category accessors
 */
export const places = (options: Options = {}): Effect.Effect<ReadonlyArray<Place>> =>
  Effect.map(settingsOf(options), (_) => _.places)

/**
 * Reads the files once.
 *
 * @example
 * ```ts
 * import { ConfigFile } from "@mcp-runtime/core"
 * import { ConfigFiles } from "@mcp-runtime/node"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const { entries, problems } = yield* ConfigFiles.load({ explicit: "servers.json" })
 *   for (const problem of problems) yield* Effect.logWarning(ConfigFile.display(problem))
 *   return entries.map(({ name, origin }) => `${name} of ${origin.path}`)
 * })
 * ```
 *
 * @since 0.1.0
 * @category loading
 */
export const load = (options: Options = {}): Effect.Effect<ConfigFile.Loaded> =>
  Effect.flatMap(settingsOf(options), Follow.once)

/**
 * What the files say now, and after each change of what they say. It is noticed however a file is changed: written over,
 * replaced by renaming, deleted, created, with or after its directory, behind symbolic links. Where the system tells of no
 * changes, as on network drives, it takes up to 15 seconds.
 *
 * @since 0.1.0
 * @category loading
 */
export const changes = (options: Options = {}): Stream.Stream<ConfigFile.Loaded> =>
  Stream.unwrapScoped(Effect.map(Effect.flatMap(settingsOf(options), Follow.make), Stream.repeatEffect))

/**
 * @since 0.1.0
 * @category options
 */
export interface LayerOptions extends Options, Omit<McpRuntime.RuntimeOptions, "servers"> {
  /** Servers of the application itself. They come first, and no file has a say in their names. Default: none. */
  readonly servers?: ReadonlyArray<McpConfig.Shorthand> | undefined
  /** Whether changes of the files change the servers. Default: `true`. */
  readonly watch?: boolean | undefined
}

/**
 * The manager and the catalogue of the servers in the files, and the files themselves. When they change, exactly the servers
 * that have changed are started, restarted or ended; calls of the others go on. What is wrong in a file is logged once, as a
 * warning, and so is a change that could not be made.
 *
 * @example
 * ```ts
 * import { McpCatalog } from "@mcp-runtime/core"
 * import { ConfigFiles, NodeMcp } from "@mcp-runtime/node"
 * import { Effect, Layer } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const catalog = yield* McpCatalog.McpCatalog
 *   for (const { items, server } of yield* catalog.tools) yield* Effect.log(`${server}: ${items.length} tools`)
 * })
 *
 * const main = Effect.provide(program, Layer.provide(ConfigFiles.layer(), NodeMcp.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  { watch = true, servers = [], ...options }: LayerOptions = {}
): Layer.Layer<
  McpRuntime.McpRuntime | ConfigFiles,
  McpError.ConfigInvalid | McpError.ServersFailed,
  McpRuntime.Requirements
> => {
  const { cwd, defaultTimeout, enableProjectConfig, environment, exclude, explicit, user, ...runtime } = options
  const files = { cwd, defaultTimeout, enableProjectConfig, environment, exclude, explicit, user }
  return Live.layer(ConfigFiles, settingsOf(files), { runtime, servers, watch })
}
