/** Stand-in until the HTTP transports land (owned by the HTTP helper, who replaces this file). */
import type { HttpClient } from "../../HttpExchange.js"
import type * as McpConfig from "../../McpConfig.js"
import type * as McpTransport from "../../McpTransport.js"

export const make = (_config: McpConfig.AnyHttpConfig, _client: HttpClient): McpTransport.Channel => {
  throw new Error("not yet")
}
