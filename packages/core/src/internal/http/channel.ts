/**
 * The channel of a server that speaks HTTP.
 *
 * Owns: which transport each of its sessions uses.
 * May not touch: sockets; they belong to the client that is handed in, and outlive the sessions.
 */
import type { HttpClient } from "../../HttpExchange.js"
import type { Credentials } from "../../McpAuth.js"
import type * as McpConfig from "../../McpConfig.js"
import type { Channel } from "../../McpTransport.js"
import * as Auto from "./auto.js"
import * as LegacySse from "./legacySse.js"
import * as StreamableHttp from "./streamableHttp.js"

export const make = (config: McpConfig.AnyHttpConfig, client: HttpClient, credentials?: Credentials): Channel => ({
  config,
  open: openOf(config, client, credentials),
  ...(credentials === undefined ? undefined : { followCredentials: credentials.follow })
})

const openOf = (
  config: McpConfig.AnyHttpConfig,
  client: HttpClient,
  credentials: Credentials | undefined
): Channel["open"] => {
  switch (config.transport) {
    case "http":
      return (events) => StreamableHttp.open(config, client, events, credentials)
    case "sse":
      return (events) => LegacySse.open(config, client, events, credentials)
    case "auto":
      return Auto.make(config, client, credentials)
  }
}
