/**
 * Where secrets are found when a session is opened.
 *
 * Owns: the questions that a configuration may ask, and the answers that need no platform. `NodeSecrets` of
 * `@mcp-runtime/node` has the environment, commands and a store.
 * May not touch: what the values are used for. Nobody keeps them longer than a session needs.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Secrets from "./internal/secrets.js"

/**
 * Why there is no value. `"Unset"`: there is none, and a default of the configuration may take its place. `"Failed"`: there
 * may be one, but it can't be had now. `problem` says what to do; no value is part of it.
 *
 * @since 0.1.0
 * @category errors
 */
export class SecretUnavailable extends Data.TaggedError("SecretUnavailable")<{
  readonly reason: "Unset" | "Failed"
  readonly problem: string
}> {
  override get message() {
    return this.problem
  }
}

/**
 * What a question is answered with.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer = Effect.Effect<Redacted.Redacted<string>, SecretUnavailable>

/**
 * The service that finds secrets: one function per kind of reference. Each is asked at most once for the same thing while a session
 * is opened, may be interrupted, and is asked again for the next session. An application that provides none gets that of its
 * platform: `NodeSecrets` with `NodeMcp.layer`, `none` elsewhere.
 *
 * @since 0.1.0
 * @category tags
 */
export class SecretResolver extends Context.Tag("@mcp-runtime/core/SecretResolver")<SecretResolver, {
  /** `{ env: "NAME" }`, `${NAME}`: a variable of the environment. One that is set to nothing is set. */
  readonly env: (name: string) => Answer
  /** `{ command: "..." }`: what a command writes. It runs in `directory`, or where this process does. */
  readonly command: (
    command: string,
    options: { readonly timeout: Duration.Duration | undefined; readonly directory?: string | undefined }
  ) => Answer
  /** `{ store: "key" }`: what a key-value store has. */
  readonly store: (key: string) => Answer
  /** `{ input: "id" }`, `${input:id}`: what a person has given. */
  readonly input: (id: string) => Answer
  /** `${userHome}`: the directory of the user. It is no secret. */
  readonly userHome: Effect.Effect<string, SecretUnavailable>
}>() {}

/**
 * The service from some of its functions. The others say that they have nothing.
 *
 * @example
 * ```ts
 * import { SecretResolver } from "@mcp-runtime/core"
 * import { Effect, Layer, Redacted } from "effect"
 *
 * declare const readVault: (key: string) => Effect.Effect<string, Error>
 *
 * const Secrets = Layer.succeed(
 *   SecretResolver.SecretResolver,
 *   SecretResolver.make({
 *     store: (key) =>
 *       Effect.mapBoth(readVault(key), {
 *         onSuccess: Redacted.make,
 *         onFailure: () =>
 *           new SecretResolver.SecretUnavailable({ reason: "Failed", problem: "the vault can't be reached" })
 *       })
 *   })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  functions: Partial<Context.Tag.Service<SecretResolver>>
): Context.Tag.Service<SecretResolver> => ({ ...none, ...functions })

const missing = (what: string): Effect.Effect<never, SecretUnavailable> =>
  Effect.fail(
    new SecretUnavailable({
      reason: "Failed",
      problem:
        `${what} can't be used here; provide a SecretResolver that can, such as NodeSecrets.layer of @mcp-runtime/node`
    })
  )

/**
 * Has nothing, whatever is asked. A `Config` needs no resolver.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Context.Tag.Service<SecretResolver> = {
  env: () => missing("variables of the environment"),
  command: () => missing("the output of a command"),
  store: () => missing("a key-value store"),
  input: () => missing("an input"),
  userHome: missing("the directory of the user")
}

const unset = (problem: string): Effect.Effect<never, SecretUnavailable> =>
  Effect.fail(new SecretUnavailable({ reason: "Unset", problem }))

/**
 * What `fromMap` answers with, by the kind of reference.
 *
 * @since 0.1.0
 * @category models
 */
export interface Values {
  readonly env?: { readonly [name: string]: string } | undefined
  readonly command?: { readonly [command: string]: string } | undefined
  readonly store?: { readonly [key: string]: string } | undefined
  readonly input?: { readonly [id: string]: string } | undefined
  readonly userHome?: string | undefined
}

/**
 * Values that are known, for tests. They are read each time, so that a test may change them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromMap = (values: Values): Context.Tag.Service<SecretResolver> => {
  const get =
    (kind: "env" | "command" | "store" | "input", problem: (name: string) => string) => (name: string): Answer =>
      Effect.suspend(() => {
        const known = values[kind]
        return known !== undefined && Object.hasOwn(known, name)
          ? Effect.succeed(Redacted.make(known[name]!))
          : unset(problem(name))
      })
  return {
    env: get("env", (name) => `there is no variable "${name}"`),
    command: get("command", () => "there is no answer to this command"),
    store: get("store", (key) => `there is no key "${key}"`),
    input: get("input", (id) => `there is no input "${id}"`),
    userHome: Effect.suspend(() =>
      values.userHome === undefined ? unset("there is no directory of the user") : Effect.succeed(values.userHome)
    )
  }
}

/**
 * Variables of the environment from a `ConfigProvider`: the one that is given, or that of whoever opens a session. Nothing
 * else.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromConfigProvider = (provider?: ConfigProvider.ConfigProvider): Context.Tag.Service<SecretResolver> =>
  make({
    env: (name) => {
      const config = Config.redacted(name)
      const loaded = provider === undefined
        ? Effect.configProviderWith((current) => current.load(config))
        : provider.load(config)
      return Effect.mapError(
        loaded,
        () => new SecretUnavailable({ reason: "Unset", problem: `the configuration has no value for "${name}"` })
      )
    }
  })

/**
 * `none` as a layer: configurations with references fail to connect, and name what is missing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNone: Layer.Layer<SecretResolver> = Layer.succeed(SecretResolver, none)

/**
 * `fromMap` as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMap = (values: Values): Layer.Layer<SecretResolver> =>
  Layer.sync(SecretResolver, () => fromMap(values))

/**
 * `fromConfigProvider` as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfigProvider = (provider?: ConfigProvider.ConfigProvider): Layer.Layer<SecretResolver> =>
  Layer.sync(SecretResolver, () => fromConfigProvider(provider))

/**
 * How programs may write secrets: as they are, trimmed, in JSON, in a URL or a form. Those of less than six characters are left
 * out, as they are words that occur anyway. For who shows what a server says, such as a transport of its own.
 *
 * @since 0.1.0
 * @category accessors
 */
export const spellingsOf: (secrets: Iterable<string>) => ReadonlyArray<string> = Secrets.spellingsOf
