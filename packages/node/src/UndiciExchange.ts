/**
 * HTTP exchanges over undici, several times faster than `fetch`, with TLS settings, proxies and bounds on sockets.
 *
 * Owns: the HTTP client of a channel: its sockets live in the scope of `open` and end with it. Requests and streams have
 * sockets of their own, so that streams which stay open never leave requests without a socket.
 * May not touch: what requests and answers mean.
 *
 * @since 0.1.0
 */
import * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpError from "@mcp-runtime/core/McpError"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Durations from "./internal/durations.js"
import { load } from "./internal/undici.js"
import { open, type Times } from "./internal/undiciChannel.js"
import * as Settings from "./internal/undiciSettings.js"

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /**
   * How long an idle socket is kept if the server does not say. Default: 4 seconds, because most servers close theirs
   * after 5, and a request that meets a closing socket is lost.
   */
  readonly keepAliveTimeout?: Duration.DurationInput | undefined
  /** How long opening a connection may take, with TLS and proxy. Default: 10 seconds; `null` for no limit. */
  readonly connectTimeout?: Duration.DurationInput | null | undefined
  /** How long the end of a channel waits for its sockets to close. Default: 1 second. All are positive and finite. */
  readonly closeTimeout?: Duration.DurationInput | undefined
}

/**
 * The service of exchanges over undici, which is loaded when the first channel is opened. Settings of a configuration that
 * can't be used, such as a certificate, are a `ConfigInvalid`; for options that can't be used it is thrown.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Context.Tag.Service<HttpExchange.HttpExchange> => {
  const { closeTimeout = "1 second", connectTimeout = "10 seconds", keepAliveTimeout = "4 seconds" } = options
  const durations = Durations.positive("<undici>", { keepAliveTimeout, connectTimeout, closeTimeout })
  const times: Times = {
    keepAlive: Duration.toMillis(durations.keepAliveTimeout),
    connect: durations.connectTimeout ?? undefined,
    close: durations.closeTimeout
  }
  return {
    open: (config: McpConfig.AnyHttpConfig) =>
      Effect.flatMap(
        Settings.make(config),
        (settings) => Effect.flatMap(load(config), (undici) => open(config, { undici, settings, times }))
      )
  }
}

/**
 * Exchanges over undici, with its usual times.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<HttpExchange.HttpExchange> = Layer.sync(HttpExchange.HttpExchange, () => make())

/**
 * The same as `layer` with other times. Options that can't be used are a `ConfigInvalid`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerOptions = (options: Options): Layer.Layer<HttpExchange.HttpExchange, McpError.ConfigInvalid> =>
  Layer.effect(HttpExchange.HttpExchange, Durations.made(() => make(options)))
