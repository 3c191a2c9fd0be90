/**
 * What a policy is told of a call.
 *
 * Owns: that nothing is worked out that it does not look at: few want the digests.
 */
import type * as McpConfig from "../../McpConfig.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { Call } from "../../ToolApproval.js"
import type { AgentTool } from "../../Toolset.js"
import * as Canonical from "./canonical.js"
import * as ServerIdentity from "./serverIdentity.js"

export const describe = (
  { annotations, definition, server, tool }: AgentTool,
  args: McpProtocol.JsonObject,
  config: McpConfig.ServerConfig
): Call => ({
  server,
  tool,
  arguments: args,
  annotations,
  trusted: config.trusted === true,
  get toolFingerprint() {
    return Canonical.toolFingerprint(definition)
  },
  get serverFingerprint() {
    return ServerIdentity.of(config)?.fingerprint
  }
})
