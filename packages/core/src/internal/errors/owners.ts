/**
 * What an error is about where it is no server.
 *
 * Owns: its names, which are few, and how messages call it.
 */

import { displayName } from "./display.js"

/** A name may have been cut already, and is not cut again. */
export const longestName = 320

/** In the place of the name of a server; some are those of `@mcp-runtime/node`. */
export const owners = {
  catalogStore: "<catalog store>",
  fileStore: "<file store>",
  fileTokens: "<file tokens>",
  loopbackAuthorizer: "<loopback authorizer>",
  manager: "<manager>",
  pendingApproval: "<pending approval>",
  requestLimit: "<request limit>",
  retryPolicy: "<retry policy>",
  secrets: "<secrets>",
  toolApproval: "<tool approval>",
  toolFilter: "<tool filter>",
  toolset: "<toolset>",
  undici: "<undici>",
  unnamed: "<unnamed>",
  wireTap: "<wire tap>"
} as const

/** In messages. */
export const words: ReadonlyMap<string, string> = new Map(
  Object.values(owners).map((_) => [_, _ === owners.unnamed ? "MCP server without a name" : _.slice(1, -1)])
)

/** Whether it is the name of a server. */
export const isServer = (name: string): boolean => !words.has(name)

/** How a message about it begins. */
export const called = (name: string): string => words.get(name) ?? `MCP server "${displayName(name, longestName)}"`
