/**
 * A `KeyValueStore` in a directory, for several processes at once.
 *
 * Owns: the files of one directory whose names it has made itself: one for each entry, and temporary ones while it
 * writes.
 * May not touch: what entries mean, other files, the directory itself beyond making it.
 *
 * An entry is written to a temporary file that is then renamed, so that a reader sees the old or the new entry, never
 * half of one, and of several writers one wins. Unless `durable`, it is not forced to the disk: after a loss of power an
 * entry may be empty or torn. Files are readable by their user alone.
 *
 * @since 0.1.0
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as McpError from "@mcp-runtime/core/McpError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { homedir } from "node:os"
import { resolve } from "node:path"
import * as Durations from "./internal/durations.js"
import { attempt } from "./internal/store/failure.js"
import * as Files from "./internal/store/files.js"
import * as UserDirectory from "./internal/store/userDirectory.js"

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** Entries that were not written for so long are removed now and then. Positive and finite. Default: they stay. */
  readonly expireAfter?: Duration.DurationInput | undefined
  /** Entries are forced to the disk before they replace older ones, which takes its time. Off by default. */
  readonly durable?: boolean | undefined
}

/** How often a store looks for what others have left behind. */
const sweepEvery = 60 * 60 * 1000

/**
 * The store in this directory, which is made when something is written for the first time. Nothing is touched before.
 *
 * An operation fails with a `SystemError` where the system refuses it; a directory that is not there is an empty one.
 * `clear` removes the entries and leaves everything else. `modify` is no transaction: another process may write in
 * between. For options that can't be used a `ConfigInvalid` is thrown.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (path: string, options: Options = {}): KeyValueStore.KeyValueStore => {
  const directory = resolve(path)
  const { expireAfter = Duration.infinity } = Durations.positive("<file store>", { expireAfter: options.expireAfter })
  let sweptAt = Number.NEGATIVE_INFINITY

  const sweep = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (now - sweptAt < sweepEvery) return Effect.void
    sweptAt = now
    return Effect.ignore(Effect.tryPromise(() => Files.sweep(directory, now, Duration.toMillis(expireAfter))))
  })

  const read = (method: string, key: string) => attempt(method, directory, () => Files.read(directory, key))

  return KeyValueStore.make({
    get: (key) => Effect.map(read("get", key), (bytes) => Option.map(bytes, (_) => _.toString("utf8"))),
    getUint8Array: (key) => read("getUint8Array", key),
    // A write that nobody waits for any more must not come after a newer one.
    set: (key, value) =>
      Effect.uninterruptible(
        Effect.zipLeft(attempt("set", directory, () => Files.write(directory, key, value, options.durable)), sweep)
      ),
    remove: (key) => Effect.uninterruptible(attempt("remove", directory, () => Files.remove(directory, key))),
    clear: Effect.uninterruptible(attempt("clear", directory, () => Files.clear(directory))),
    size: attempt("size", directory, () => Files.count(directory))
  })
}

/**
 * The store in this directory. Building the layer touches nothing, and fails only for options that can't be used.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (directory: string): Layer.Layer<KeyValueStore.KeyValueStore>
  (directory: string, options: Options): Layer.Layer<KeyValueStore.KeyValueStore, McpError.ConfigInvalid>
} = (directory: string, options?: Options): Layer.Layer<KeyValueStore.KeyValueStore> =>
  Layer.effect(KeyValueStore.KeyValueStore, Durations.made(() => make(directory, options))) as Layer.Layer<
    KeyValueStore.KeyValueStore
  >

/**
 * Where programs like this one keep what they can make again: `$XDG_CACHE_HOME/mcp-runtime` or `~/.cache/mcp-runtime`,
 * on macOS `~/Library/Caches/mcp-runtime`, on Windows `%LOCALAPPDATA%\mcp-runtime\Cache`. Nothing where the user has no
 * home: a directory that is open to others is no place for it.
 *
 * @since 0.1.0
 * @category accessors
 */
export const cacheDirectory: Effect.Effect<Option.Option<string>> = Effect.sync(() =>
  UserDirectory.cacheOf(process.platform, process.env, homedir())
).pipe(Effect.catchAllDefect(() => Effect.succeedNone))
