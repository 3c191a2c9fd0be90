/** A transport that opens nothing and records what it was asked to open, with a resolver that a test fills. */
import type { McpConfig } from "@mcp-runtime/core"
import { McpError, McpTransport } from "@mcp-runtime/core"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { Effect } from "effect"
import type { Context, Scope } from "effect"

export type Resolved = Extract<McpConfig.ServerConfig, { transport: "stdio" }>
export type ResolvedHttp = Extract<McpConfig.ServerConfig, { transport: "http" }>

export const events: McpTransport.TransportEvents = {
  message: () => {},
  requestFailed: () => {},
  closed: () => {},
  warning: () => {},
  serverStream: () => {}
}

const wire: McpTransport.MessageTransport = {
  kind: () => "stdio",
  sessionId: () => undefined,
  send: () => {},
  release: () => false,
  negotiated: () => {},
  listen: Effect.void,
  stderrTail: () => undefined
}

export interface Recorder {
  readonly transport: typeof McpTransport.McpTransport.Service
  /** What was opened, in order. */
  readonly opened: Array<McpConfig.ServerConfig>
  /** What happened to HTTP clients, in order. */
  readonly clients: Array<string>
}

export const recorder = (secrets?: Context.Tag.Service<SecretResolver.SecretResolver>): Recorder => {
  const opened: Array<McpConfig.ServerConfig> = []
  const clients: Array<string> = []
  const transport = McpTransport.make({
    stdio: (config) => ({
      config,
      open: () =>
        Effect.sync(() => {
          opened.push(config)
          return wire
        })
    }),
    http: {
      open: (config) =>
        Effect.acquireRelease(
          Effect.map(Effect.yieldNow(), () => {
            opened.push(config)
            clients.push(`open ${config.url}`)
            return { send: () => () => {} }
          }),
          () => Effect.sync(() => clients.push(`close ${config.url}`))
        )
    },
    ...(secrets !== undefined && { secrets })
  })
  return { transport, opened, clients }
}

/** Opens one session and gives what was opened. */
export const openOnce = (
  config: McpConfig.ServerConfig,
  secrets?: Context.Tag.Service<SecretResolver.SecretResolver>
): Effect.Effect<McpConfig.ServerConfig, McpError.McpError> => {
  const { opened, transport } = recorder(secrets)
  return Effect.scoped(Effect.gen(function*() {
    const channel = yield* transport.channel(config)
    yield* channel.open(events)
    return opened.at(-1)!
  }))
}

/** The problems of what can't be opened. */
export const problemsOf = <A>(effect: Effect.Effect<A, McpError.McpError, never>) =>
  Effect.map(Effect.flip(effect), (error) => {
    if (!(error instanceof McpError.ConfigInvalid)) throw new Error(`it is ${error._tag}`)
    return Object.fromEntries(error.problems.map(({ field, problem }) => [field, problem]))
  })

export const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.scoped(effect)

export const fromEnv = (env: Record<string, string>) => SecretResolver.fromMap({ env })
