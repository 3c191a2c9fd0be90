/**
 * The channel of a server that speaks HTTP.
 *
 * Owns: which transport each of its sessions uses.
 * May not touch: sockets; they belong to the client that is handed in, and outlive the sessions.
 */
import type { HttpClient } from "../../HttpExchange.js"
import type * as McpConfig from "../../McpConfig.js"
import type { Channel } from "../../McpTransport.js"
import * as Auto from "./auto.js"
import * as LegacySse from "./legacySse.js"
import * as StreamableHttp from "./streamableHttp.js"

export const make = (config: McpConfig.AnyHttpConfig, client: HttpClient): Channel => {
  switch (config.transport) {
    case "http":
      return { config, open: (events) => StreamableHttp.open(config, client, events) }
    case "sse":
      return { config, open: (events) => LegacySse.open(config, client, events) }
    case "auto":
      return { config, open: Auto.make(config, client) }
  }
}
