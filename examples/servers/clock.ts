/**
 * A small MCP server in the same process, made with the official SDK: it knows the time of day in a few cities.
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { z } from "zod"

const hoursFromUtc: ReadonlyMap<string, number> = new Map([["Oslo", 1], ["Montevideo", -3], ["Ulaanbaatar", 8]])

/** Called once for each session, as an application configures it: `{ transport: "inMemory", server: clockServer }`. */
export const clockServer = (): McpServer => {
  const server = new McpServer({ name: "clock", version: "1.0.0" })
  server.registerTool("hours_from_utc", {
    description: "How far a city is from UTC",
    inputSchema: { city: z.string() }
  }, ({ city }) => {
    const hours = hoursFromUtc.get(city)
    return { isError: hours === undefined, content: [{ type: "text", text: String(hours ?? "unknown city") }] }
  })
  return server
}
