/**
 * Lists that show whether they are whole: every item says by whom, and how large the list is.
 */
import type { McpConfig, McpProtocol } from "@mcp-runtime/core"

export const server: McpConfig.ServerConfigInput = { name: "shared", transport: "stdio", command: "serve" }

/** Long and short ones in turn, so that a write in place would leave the end of the longer one. */
export const contentOf = (writer: number, count: number): ReadonlyArray<McpProtocol.Tool> => {
  const size = count % 2 === 0 ? 2000 + writer : 20 + writer
  return Array.from({ length: size }, (_, i) => ({
    name: `${writer}/${count}/${size}/${i}`,
    description: "x".repeat(100),
    inputSchema: { type: "object" }
  }))
}

export const problemOf = (items: ReadonlyArray<McpProtocol.Tool>): string | undefined => {
  const [writer, count, size] = items[0]!.name.split("/")
  if (Number(size) !== items.length) return `${items.length} of ${size} items`
  const mixed = items.find((item, i) => item.name !== `${writer}/${count}/${size}/${i}`)
  return mixed === undefined ? undefined : `mixed with ${mixed.name}`
}
