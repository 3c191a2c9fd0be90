/**
 * Where lists outlive the program, so that the next run can show tools before a server is connected.
 *
 * Owns: which server an entry belongs to, how old it may be, and that a store which hangs, fails or holds rubbish costs
 * nobody more than a short wait: it is as if nothing were stored.
 * May not touch: connections, and the values of secrets.
 *
 * There is one entry for each list of each server: JSON with the version of its format, its own key, the kind of list,
 * when it was listed, and the items. Whatever is not exactly that is ignored, and replaced by the next save. An item
 * that can't be understood is dropped alone. An empty list is never stored: saving one removes the entry.
 *
 * An entry holds what the server said about itself, and nothing of the configuration: neither its key nor its text has
 * a secret of ours. Whoever can write to the store can make up lists: it must belong to the user.
 *
 * @since 0.1.0
 */
import * as PlatformError from "@effect/platform/Error"
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Catalog from "./Catalog.js"
import * as Identity from "./internal/catalog/identity.js"
import { noStorage } from "./internal/catalog/noStorage.js"
import * as Stored from "./internal/catalog/stored.js"
import * as Writes from "./internal/catalog/writes.js"
import { owners } from "./internal/errors/owners.js"
import * as Check from "./internal/options.js"
import * as Lines from "./internal/telemetry/lines.js"
import { within } from "./internal/within.js"
import type * as McpConfig from "./McpConfig.js"
import type * as McpError from "./McpError.js"

/**
 * The stored lists of each server.
 *
 * @since 0.1.0
 * @category tags
 */
export class CatalogStore extends Context.Tag("@mcp-runtime/core/CatalogStore")<CatalogStore, {
  /**
   * What is stored for this server. Neither `load` nor `save` fails, dies, or waits for long: 1 second to load, 5 to
   * save. An interruption is obeyed at once; a save that was begun is still completed.
   */
  readonly of: (config: McpConfig.ServerConfig) => Catalog.Storage
}>() {}

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** How old a list may be. Positive and finite. Default: 30 days. */
  readonly maxAge?: Duration.DurationInput | undefined
  /**
   * Where processes start that have no `cwd`, or one that is relative: so that the lists of a server `./server` of one
   * directory are not shown as those of another. Where it fails, nothing of such processes is stored. A store that is used
   * in more than one directory needs it; `NodeMcp` gives the working directory. Default: it is the same for all.
   */
  readonly directory?: Effect.Effect<string> | undefined
}

/**
 * What tells this server from others in the store: a SHA-256, in hexadecimal. Nothing where it can't be told, and then
 * nothing is stored: a server in this process is a function; and a platform may have no Web Crypto.
 *
 * Part of it, for each server: `name` and `transport`. For a process: `command`, `args`, `cwd`, the names in
 * `inheritEnv`, the names of the variables in `env`, and the `directory` in which it starts, unless `cwd` is a whole path.
 * For the others: scheme, host, port and path of the URL, the names of its query parameters, the names of `headers`, in any
 * spelling, scheme, host and port of `proxy`, and of `tls` the `ca` and whether `verify` is `false`. The order of names does
 * not matter.
 *
 * No part of it: values of variables, headers and query parameters, user and password of the URL and the proxy, its
 * fragment, `requestHeaders`, `auth`, the rest of `tls`, `secrets`. So a token that is rotated keeps the lists, and users
 * with different tokens for the same server share them until they are read again. Nor is anything that does not change what
 * a server offers: `timeouts`, `limits`, `logLevel`, `enabled`, `concurrency`, `lifetime`, `keepAlive`, `trusted`, `recovery`,
 * `subscriptions`, `shutdown`, `maxConnections`, `allowTokensOverHttp`.
 *
 * A secret in `args`, or in the path of a URL, is part of the hash, from which it can't be read. Texts count as they are
 * written: a reference such as `${VAR}` is itself, not what it stands for, but for `${workspaceFolder}`; the default of one
 * (`${VAR:-default}`) counts.
 *
 * @since 0.1.0
 * @category accessors
 */
export const keyOf: (
  config: McpConfig.ServerConfig,
  options?: {
    /** Where a process starts whose `cwd` does not say it all. */
    readonly directory?: string | undefined
  }
) => Effect.Effect<string | undefined> = Identity.keyOf

/** How long whoever wants a list waits for the store. */
const loadWithin: Duration.DurationInput = "1 second"

/** How long whoever has a list waits for the store, and how long one write may take. */
const saveWithin: Duration.DurationInput = "5 seconds"

/** How long the end of the layer waits for what is being written. */
const finishWithin: Duration.DurationInput = "1 second"

const defaultMaxAge = Duration.days(30)

const make = (
  store: KeyValueStore.KeyValueStore,
  maxAgeMillis: number,
  directory: Options["directory"]
): Effect.Effect<Context.Tag.Service<CatalogStore>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const writes = new Writes.Writes(saveWithin)
    yield* Effect.addFinalizer(() => within(writes.idle, finishWithin))
    return { of: (config) => storageOf(store, writes, maxAgeMillis, config, directory) }
  })

const storageOf = (
  store: KeyValueStore.KeyValueStore,
  writes: Writes.Writes,
  maxAgeMillis: number,
  config: McpConfig.ServerConfig,
  directory: Options["directory"]
): Catalog.Storage => {
  const hash = once(hashOf(config, directory))

  const load = <K extends Catalog.Kind>(kind: K) =>
    Effect.gen(function*() {
      const known = yield* hash
      if (known === undefined) return undefined
      const key = Stored.entryKey(known, kind)
      const text = yield* Effect.suspend(() => store.get(key))
      if (Option.isNone(text)) return undefined
      const now = yield* Clock.currentTimeMillis
      const loaded = Stored.decode(text.value, kind, { key, now, maxAgeMillis })
      if ("stored" in loaded) return loaded.stored
      yield* Effect.logDebug(`what is stored of the ${kind} is not used: ${loaded.problem}`)
      return undefined
    })

  const write = <K extends Catalog.Kind>(
    key: string,
    kind: K,
    listedAt: number,
    items: ReadonlyArray<Catalog.Items[K]>
  ): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (items.length === 0) return store.remove(key)
      const encoded = Stored.encode(key, kind, listedAt, items)
      if ("text" in encoded) return store.set(key, encoded.text)
      // What was stored before is known not to hold any more.
      return Effect.zipRight(Effect.logDebug(`the ${kind} are not stored: ${encoded.problem}`), store.remove(key))
    }).pipe(Effect.catchAllCause((cause) => notDone(`the ${kind} could not be stored`, cause)), saidOf(config))

  const save = <K extends Catalog.Kind>(
    ticket: Writes.Ticket,
    kind: K,
    items: ReadonlyArray<Catalog.Items[K]>
  ): Effect.Effect<void> =>
    Effect.gen(function*() {
      const listedAt = yield* Clock.currentTimeMillis
      const known = yield* hash
      if (known === undefined) return
      const key = Stored.entryKey(known, kind)
      yield* writes.write(key, ticket, write(key, kind, listedAt, items))
    })

  return {
    load: (kind) =>
      detached(Effect.suspend(() => {
        const problem = `what is stored of the ${kind} could not be read`
        return Effect.map(bounded(load(kind), loadWithin, problem, config), Option.getOrUndefined)
      })),
    save: (kind, items) =>
      detached(Effect.suspend(() => {
        const ticket = writes.begin()
        const saving = bounded(save(ticket, kind, items), saveWithin, `the ${kind} could not be stored`, config)
        return Effect.ensuring(saving, Effect.sync(() => writes.end()))
      }))
  }
}

const hashOf = (config: McpConfig.ServerConfig, directory: Options["directory"]): Effect.Effect<string | undefined> =>
  config.transport !== "stdio" || directory === undefined
    ? Identity.keyOf(config)
    : Effect.catchAllDefect(
      Effect.flatMap(directory, (_) => Identity.keyOf(config, { directory: _ })),
      () => Effect.succeed(undefined)
    )

/** In a fiber of its own, which is not interrupted with the one that waits for it. It must end in time by itself. */
const detached = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(effect), (fiber) => restore(Fiber.join(fiber)))
  )

/** Its value if there is one in time, else a line in the log. */
const bounded = <A>(
  effect: Effect.Effect<A, unknown>,
  limit: Duration.DurationInput,
  problem: string,
  config: McpConfig.ServerConfig
): Effect.Effect<Option.Option<A>> =>
  Effect.flatMap(within(effect, limit), (ended) => {
    if (Option.isNone(ended)) return Effect.as(Effect.logDebug(`${problem}: no answer of the store`), Option.none<A>())
    return Exit.isSuccess(ended.value)
      ? Effect.succeed(Option.some(ended.value.value))
      : Effect.as(notDone(problem, ended.value.cause), Option.none<A>())
  }).pipe(saidOf(config))

/** The words of a store may quote what it holds, so only the kind of the failure is logged. */
const notDone = (problem: string, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logDebug(`${problem}: ${kindOf(cause)}`)

const kindOf = (cause: Cause.Cause<unknown>): string => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  if (error instanceof PlatformError.SystemError) return error.reason
  if (error instanceof PlatformError.BadArgument) return "the store does not take it"
  return "the store is defective"
}

const saidOf = (config: McpConfig.ServerConfig) => <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Lines.about(config.name, "store")(effect)

/** Its value is computed again only as long as there is none: an interruption is not remembered. */
const once = <A>(effect: Effect.Effect<A>): Effect.Effect<A> => {
  let known: { readonly value: A } | undefined
  return Effect.suspend(() => {
    if (known !== undefined) return Effect.succeed(known.value)
    return Effect.tap(effect, (value) => {
      known = { value }
    })
  })
}

/**
 * Stores in the `KeyValueStore` that is provided. One that writes an entry as a whole or not at all serves best; half
 * an entry is ignored. When the scope of the layer closes, what is being written is waited for, for a second at most.
 *
 * Options that can't be used are a `ConfigInvalid`.
 *
 * @example
 * ```ts
 * import { KeyValueStore } from "@effect/platform"
 * import { CatalogStore } from "@mcp-runtime/core"
 * import { Layer } from "effect"
 *
 * // In the storage of a browser, for a week.
 * export const stored = CatalogStore.layer({ maxAge: "7 days" }).pipe(
 *   Layer.provide(KeyValueStore.layerStorage(() => localStorage))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (): Layer.Layer<CatalogStore, never, KeyValueStore.KeyValueStore>
  (options: Options): Layer.Layer<CatalogStore, McpError.ConfigInvalid, KeyValueStore.KeyValueStore>
} = (options: Options = {}): Layer.Layer<CatalogStore, never, KeyValueStore.KeyValueStore> => {
  const checked = Check.check(checks, { maxAge: defaultMaxAge, directory: undefined }, options, owners.catalogStore)
  if (Either.isLeft(checked)) return Layer.fail(checked.left) as never
  const { directory, maxAge } = checked.right
  return Layer.scoped(
    CatalogStore,
    Effect.flatMap(KeyValueStore.KeyValueStore, (store) => make(store, maxAge, directory))
  )
}

const checks = {
  maxAge: Check.finiteBound,
  directory: (value: unknown): Check.Checked<Options["directory"]> =>
    value === undefined || Effect.isEffect(value)
      ? Either.right(value as Options["directory"])
      : Either.left("must be an Effect that gives a directory")
}

/**
 * Stores for as long as the layer lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<CatalogStore> = Layer.suspend(() =>
  Layer.provide(layer(), Layer.fresh(KeyValueStore.layerMemory))
)

/**
 * Stores nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNone: Layer.Layer<CatalogStore> = Layer.succeed(CatalogStore, {
  of: () => noStorage
})
