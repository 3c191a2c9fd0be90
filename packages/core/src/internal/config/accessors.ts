/**
 * What a decoded configuration says, with the defaults where it says nothing.
 *
 * Owns: the defaults that are no limits or deadlines, and how a server is described.
 * May not touch: what a configuration may be.
 */
import * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"
import type { ServerConfig, StdioConfig } from "../../McpConfig.js"
import { displayText, displayUrl } from "../errors/display.js"
import * as Auth from "./auth.js"
import * as Bounds from "./bounds.js"
import * as Deferred from "./deferred.js"
import * as References from "./references.js"

/**
 * The limits of a server: its own, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const limitsOf = (config: ServerConfig): Bounds.Limits => ({
  ...Bounds.defaultLimits,
  ...defined(config.limits)
})

/**
 * The deadlines of a server: its own, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const timeoutsOf = (config: ServerConfig): Bounds.Timeouts => ({
  ...Bounds.defaultTimeouts,
  ...defined(config.timeouts)
})

/**
 * How many requests may be under way at once: as configured, else 16 over HTTP and 64 elsewhere.
 *
 * @since 0.1.0
 * @category accessors
 */
export const concurrencyOf = (config: ServerConfig): number => {
  switch (config.concurrency) {
    case undefined:
      return config.transport === "stdio" || config.transport === "inMemory" ? 64 : 16
    case "serial":
      return 1
    case "unbounded":
      return Number.POSITIVE_INFINITY
    default:
      return config.concurrency
  }
}

/**
 * How a process is ended: its own graces, where it has them, over the defaults.
 *
 * @since 0.1.0
 * @category accessors
 */
export const shutdownOf = (config: StdioConfig): {
  readonly afterEof: Duration.Duration
  readonly afterTerm: Duration.Duration
  readonly afterKill: Duration.Duration
} => ({ ...defaultShutdown, ...defined(config.shutdown) })

const defaultShutdown = {
  afterEof: Duration.seconds(2),
  afterTerm: Duration.seconds(2),
  afterKill: Duration.seconds(2)
}

/** After how long a transport that does not end is left to itself: all its own bounds, and some. */
export const closeBoundOf = (config: ServerConfig): Duration.Duration => {
  const shutdown = config.transport === "stdio" ? Object.values(shutdownOf(config)) : []
  return [timeoutsOf(config).close, ...shutdown].reduce(Duration.sum, Duration.seconds(5))
}

const defined = <A extends object>(value: A | undefined): { [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, _]) => _ !== undefined)) as never

/**
 * Whether all values are there. Where not, they are looked up by `McpTransport`, each time that it opens a session.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isResolved = (config: ServerConfig): boolean =>
  config.expand === undefined && secretsIn(config).every((_) => Deferred.of(_) === undefined)

/** Those that it has itself, or looks up. */
export const secretsIn = (config: ServerConfig): ReadonlyArray<Redacted.Redacted<string>> => {
  switch (config.transport) {
    case "inMemory":
      return []
    case "stdio":
      return Object.values(config.env ?? {})
    default: {
      const auth = typeof config.auth === "object" ? Auth.valuesOf(config.auth) : []
      const tls = Object.values(config.tls ?? {}).flat()
      return [config.proxy, ...Object.values(config.headers ?? {}), ...auth, ...tls].filter(isSecret)
    }
  }
}

const isSecret = (u: unknown): u is Redacted.Redacted<string> => Redacted.isRedacted(u)

/**
 * Where a server is, in words that can be shown: a command, or a URL without user, password and query.
 *
 * @since 0.1.0
 * @category accessors
 */
export const describeTarget = (config: ServerConfig): string => {
  switch (config.transport) {
    case "stdio":
      return displayText(config.command, 1024)
    case "inMemory":
      return "this process"
    default: {
      const parts = config.expand === undefined ? undefined : References.urlParts(config.url)
      return parts === undefined ? displayUrl(config.url) : parts.place.slice(0, 1024)
    }
  }
}
