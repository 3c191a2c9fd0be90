/**
 * Secrets where Node finds them: in the environment, in what a command writes, in a key-value store.
 *
 * Owns: the implementation of `SecretResolver` on Node.
 * May not touch: the environment, which is only read, and the values, which go to who has asked and are not kept.
 *
 * @since 0.1.0
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as McpError from "@mcp-runtime/core/McpError"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { homedir } from "node:os"
import * as Durations from "./internal/durations.js"
import * as Command from "./internal/secrets/command.js"
import { Shared } from "./internal/secrets/shared.js"

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** Where `{ store: "key" }` is looked up. */
  readonly store?: KeyValueStore.KeyValueStore | undefined
  /** In place of `process.env`. It is read each time. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** How long a command may take that does not say so itself. Positive and finite. Default: 10 seconds. */
  readonly commandTimeout?: Duration.DurationInput | undefined
  /** For how long what a command wrote is used again. Positive and finite. Default: it is run for each session. */
  readonly reuseCommands?: Duration.DurationInput | undefined
}

/**
 * The resolver of Node. For options that can't be used a `ConfigInvalid` is thrown.
 *
 * - A variable is read when a session is opened.
 * - A command runs in a shell (`/bin/sh -c`, `cmd /c`) with our environment, without input, and in the directory that is
 *   given, else in ours. What it writes to its output is
 *   the value, without the end of the last line: at most 64 KiB of text. It must exit with code 0. What it writes to stderr is
 *   shown nowhere. It and all it has started are killed when it takes too long, or when nobody waits for it any more.
 *   Sessions that ask for the same command at once share one run.
 * - An input is the variable `MCP_INPUT_<ID>`: `${input:api-key}` is `MCP_INPUT_API_KEY`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Context.Tag.Service<SecretResolver.SecretResolver> => {
  const { commandTimeout, reuseCommands } = Durations.positive("<secrets>", {
    commandTimeout: options.commandTimeout ?? "10 seconds",
    reuseCommands: options.reuseCommands
  })
  const shared = new Shared(reuseCommands === undefined ? 0 : Duration.toMillis(reuseCommands))
  const variable = (name: string): string | undefined => {
    const env = options.env ?? process.env
    return Object.hasOwn(env, name) ? env[name] : undefined
  }
  return {
    env: (name) =>
      Effect.suspend(() =>
        answer(variable(name), `the environment variable "${name}" is not set; set it, or write "\${${name}:-default}"`)
      ),
    command: (command, { directory, timeout = commandTimeout }) =>
      shared.get(
        JSON.stringify([Duration.toMillis(timeout), directory, command]),
        Command.run(command, timeout, directory)
      ),
    store: (key) => {
      const { store } = options
      return store === undefined
        ? Effect.fail(
          unavailable("Failed", "there is no key-value store; provide one, or NodeSecrets.layer({ store })")
        )
        : Effect.matchEffect(store.get(key), {
          onFailure: () => Effect.fail(unavailable("Failed", "the key-value store can't be read")),
          onSuccess: (found) => answer(Option.getOrUndefined(found), `the key-value store has nothing under "${key}"`)
        })
    },
    input: (id) => {
      const name = inputVariable(id)
      return Effect.suspend(() =>
        answer(variable(name), `the input "${id}" is not known; set the variable ${name} to it`)
      )
    },
    userHome: Effect.try({
      try: () => homedir(),
      catch: () => unavailable("Failed", "the system does not know the directory of the user")
    })
  }
}

/** The variable of the environment that holds what a person would be asked for. */
const inputVariable = (id: string): string => `MCP_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`

const unavailable = (reason: SecretResolver.SecretUnavailable["reason"], problem: string) =>
  new SecretResolver.SecretUnavailable({ reason, problem })

const answer = (value: string | undefined, problem: string): SecretResolver.Answer =>
  value === undefined ? Effect.fail(unavailable("Unset", problem)) : Effect.succeed(Redacted.make(value))

/**
 * The resolver of Node as a layer. Without `store`, the `KeyValueStore` of the context is used if there is one.
 *
 * `NodeMcp.layer` has it; this is for other options. Those that can't be used are a `ConfigInvalid`.
 *
 * @example
 * ```ts
 * import { NodeMcp, NodeSecrets } from "@mcp-runtime/node"
 * import { Layer } from "effect"
 *
 * const live = Layer.provide(NodeMcp.layer, NodeSecrets.layer({ commandTimeout: "1 minute", reuseCommands: "5 minutes" }))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: {
  (): Layer.Layer<SecretResolver.SecretResolver>
  (options: Options): Layer.Layer<SecretResolver.SecretResolver, McpError.ConfigInvalid>
} = (options: Options = {}): Layer.Layer<SecretResolver.SecretResolver> =>
  Layer.effect(SecretResolver.SecretResolver, withContext(options))

/** Without options it can't fail. */
const withContext = (options: Options): Effect.Effect<Context.Tag.Service<SecretResolver.SecretResolver>> =>
  Effect.flatMap(
    Effect.serviceOption(KeyValueStore.KeyValueStore),
    (store) => Durations.made(() => make({ ...options, store: options.store ?? Option.getOrUndefined(store) }))
  ) as Effect.Effect<Context.Tag.Service<SecretResolver.SecretResolver>>

/**
 * The `SecretResolver` of the application if it provides one, else that of Node.
 *
 * @since 0.1.0
 * @category accessors
 */
export const current: Effect.Effect<Context.Tag.Service<SecretResolver.SecretResolver>> = Effect.flatMap(
  Effect.serviceOption(SecretResolver.SecretResolver),
  Option.match({ onNone: () => withContext({}), onSome: Effect.succeed })
)
