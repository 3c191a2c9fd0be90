/**
 * The configuration of a scripted server that a test opens itself, so that nobody connects to what it names.
 */
import { McpConfig } from "@mcp-runtime/core"

export const configWith = (extra: object) =>
  McpConfig.decodeUnknown({ name: "scripted", transport: "inMemory", server: () => undefined, ...extra })
