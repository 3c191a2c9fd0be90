/**
 * The `TokenStore` in a directory, for all programs of one user on one machine.
 *
 * Owns: one file for each entry, readable by the user alone, and one for each lock while somebody holds it.
 * May not touch: what entries mean, other files, and a directory that others can use too: it is refused.
 *
 * An entry is forced to the disk and then replaces the older one at once, so that a reader sees the old or the new one.
 * A lock is taken over when its holder is dead. Nothing is encrypted: who can read the user's files can read the tokens.
 *
 * @since 0.1.0
 */
import * as McpAuth from "@mcp-runtime/core/McpAuth"
import type * as McpError from "@mcp-runtime/core/McpError"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import * as FileStore from "./FileStore.js"
import * as Durations from "./internal/durations.js"
import { attempt, systemError } from "./internal/store/failure.js"
import { entryName } from "./internal/store/fileName.js"
import * as Lock from "./internal/store/lock.js"
import * as PrivateDirectory from "./internal/store/privateDirectory.js"
import * as UserDirectory from "./internal/store/userDirectory.js"

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** How long to wait for others who hold a lock. Positive and finite. 1 minute by default. */
  readonly lockTimeout?: Duration.DurationInput | undefined
}

/**
 * The store in this directory, which is made when something is written for the first time, with mode 0700. Nothing is
 * touched before.
 *
 * An operation fails with a `SystemError` where the system refuses it, where the directory belongs to another user or is
 * open to others (`PermissionDenied`, with what to do), and where a lock stays held (`TimedOut`). For options that can't be
 * used a `ConfigInvalid` is thrown.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (path: string, options: Options = {}): Context.Tag.Service<McpAuth.TokenStore> => {
  const directory = resolve(path)
  const files = FileStore.make(directory, { durable: true })
  const { lockTimeout } = Durations.positive("<file tokens>", { lockTimeout: options.lockTimeout ?? "1 minute" })

  const guarded = (method: string, check: (directory: string) => Promise<unknown>) =>
    attempt(method, directory, () => check(directory))

  const entries = McpAuth.tokenStore(files, (key) => {
    const file = join(directory, `lock-${entryName(key)}`)
    return Effect.zipRight(
      guarded("lock", PrivateDirectory.ensure),
      Effect.mapError(Lock.acquire(file, { wait: lockTimeout }), (error) => systemError("lock", file, error))
    )
  })

  return {
    get: (key) => Effect.zipRight(guarded("get", PrivateDirectory.check), entries.get(key)),
    set: (key, value) => Effect.zipRight(guarded("set", PrivateDirectory.ensure), entries.set(key, value)),
    remove: (key) => Effect.zipRight(guarded("remove", PrivateDirectory.check), entries.remove(key)),
    lock: entries.lock
  }
}

/**
 * The store in this directory, or in `directory`. Building the layer touches nothing, and fails only for options that can't
 * be used. For a user without a home, tokens are kept in memory, with a warning in the log.
 *
 * @example
 * ```ts
 * import { McpAuth } from "@mcp-runtime/core"
 * import { FileTokens, UndiciExchange } from "@mcp-runtime/node"
 * import { Layer } from "effect"
 *
 * // Without an `Authorizer`, errors have the page to visit, and `McpAuth.finish` goes on from there.
 * const auth = Layer.provide(McpAuth.layer, [UndiciExchange.layer, FileTokens.layer()])
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (path?: string): Layer.Layer<McpAuth.TokenStore>
  (path: string | undefined, options: Options): Layer.Layer<McpAuth.TokenStore, McpError.ConfigInvalid>
} = (path?: string, options?: Options): Layer.Layer<McpAuth.TokenStore> => Layer.unwrapEffect(layerOf(path, options))

const layerOf = (path: string | undefined, options: Options | undefined) =>
  Effect.flatMap(
    path === undefined ? directory : Effect.succeedSome(path),
    Option.match({
      onNone: () => Effect.as(Effect.logWarning(homeless), McpAuth.layerTokensMemory),
      onSome: (found) =>
        Effect.succeed(
          Layer.effect(
            McpAuth.TokenStore,
            Durations.made(() => make(found, options))
          ) as typeof McpAuth.layerTokensMemory
        )
    })
  )

const homeless = "This user has no home directory: tokens of MCP servers are kept in memory, and lost at the end"

/**
 * Where the tokens of this user are: `tokens` in `$XDG_DATA_HOME/mcp-runtime` or `~/.local/share/mcp-runtime`, on macOS in
 * `~/Library/Application Support/mcp-runtime`, on Windows in `%LOCALAPPDATA%\mcp-runtime\Data`. Nothing where the user has
 * no home.
 *
 * @since 0.1.0
 * @category accessors
 */
export const directory: Effect.Effect<Option.Option<string>> = Effect.sync(() =>
  Option.map(UserDirectory.dataOf(process.platform, process.env, homedir()), (_) => join(_, "tokens"))
).pipe(Effect.catchAllDefect(() => Effect.succeedNone))
