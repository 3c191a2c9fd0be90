// A small MCP server over stdio, made with the official SDK: it keeps notes and counts slowly.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { setTimeout } from "node:timers/promises"
import { z } from "zod"

const notes = []
const server = new McpServer({ name: "notes", version: "1.0.0" })
const text = (text) => ({ content: [{ type: "text", text }] })

server.registerTool("add_note", {
  description: "Keeps a note",
  inputSchema: { text: z.string() }
}, (args) => {
  notes.push(args.text)
  return text(`kept; ${notes.length} note(s)`)
})

server.registerTool("count", {
  description: "Counts, and says how far it has come",
  inputSchema: { to: z.number().int().min(1).max(100) }
}, async ({ to }, extra) => {
  const progressToken = extra._meta?.progressToken
  for (let progress = progressToken === undefined ? to + 1 : 1; progress <= to; progress++) {
    await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: to } })
  }
  return text(`counted to ${to}`)
})

server.registerTool("wait_for_ever", { description: "Never answers", inputSchema: {} }, () => new Promise(() => {}))

server.registerTool("process_id", { description: "Which process this is", inputSchema: {} }, () => text(`${process.pid}`))

server.registerTool("crash", { description: "Ends the server", inputSchema: {} }, () => process.exit(1))

// Some servers have much to do before they can be used.
if (process.env.START_AFTER !== undefined) await setTimeout(Number(process.env.START_AFTER))

await server.connect(new StdioServerTransport())
