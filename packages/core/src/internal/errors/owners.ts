/**
 * What an error is about where it is no server.
 *
 * Owns: its names, which are few, and how messages call it.
 */

/** In the place of the name of a server. */
export const owners = {
  catalogStore: "<catalog store>",
  manager: "<manager>",
  pendingApproval: "<pending approval>",
  requestLimit: "<request limit>",
  retryPolicy: "<retry policy>",
  toolApproval: "<tool approval>",
  toolFilter: "<tool filter>",
  toolset: "<toolset>",
  unnamed: "<unnamed>"
} as const

/** In messages. */
export const words: ReadonlyMap<string, string> = new Map(
  Object.values(owners).map((_) => [_, _ === owners.unnamed ? "MCP server without a name" : _.slice(1, -1)])
)

/** Whether it is the name of a server. */
export const isServer = (name: string): boolean => !words.has(name)

/** How a message about it begins. */
export const called = (name: string): string => words.get(name) ?? `MCP server "${name}"`
