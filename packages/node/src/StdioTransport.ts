/**
 * Servers that run as local processes and speak over their standard input and output.
 *
 * Owns: nothing itself; it opens one process per session, in the scope of that session.
 * May not touch: the meaning of a message.
 *
 * What holds for every process:
 *
 * - It runs in its own process group with a minimal environment (`inheritEnv` and `env` add to it), and what it starts is
 *   ended with it: end of input, then SIGTERM, then SIGKILL to the whole group (`shutdown` sets the graces). When the scope
 *   has closed, nobody in the group lives.
 * - It is ended when this process dies, whatever kills it, SIGKILL included.
 * - Its exit is noticed at once, also when a helper still holds its pipes. Its exit code or signal and the end of its stderr
 *   are part of the error.
 * - Lines, the queue to it and the kept stderr are bounded by `limits`.
 *
 * @since 0.1.0
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Connection from "./internal/stdio/connection.js"

/**
 * The channel of a server that runs as a process. It holds nothing itself: every `open` starts a new process, and the scope
 * of that `open` ends it.
 *
 * @example
 * ```ts
 * import { McpSession } from "@mcp-runtime/core"
 * import { StdioTransport } from "@mcp-runtime/node"
 * import { Effect } from "effect"
 *
 * const channel = StdioTransport.channel({
 *   name: "files",
 *   transport: "stdio",
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-filesystem", "."]
 * })
 *
 * const program = McpSession.open(channel).pipe(
 *   Effect.flatMap((session) => McpSession.listTools(session)),
 *   Effect.scoped
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const channel = (config: McpConfig.StdioConfig): McpTransport.Channel => ({
  config,
  open: (events) => Connection.open(config, events)
})
