// A small MCP server over Streamable HTTP, made with the official SDK: on the loopback only, on a free port.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { z } from "zod"

const sessions = new Map()

const newSession = async () => {
  const server = new McpServer({ name: "weather", version: "1.0.0" })
  server.registerTool("forecast", {
    description: "The weather of tomorrow",
    inputSchema: { city: z.string() },
    outputSchema: { city: z.string(), celsius: z.number() }
  }, ({ city }) => {
    const structuredContent = { city, celsius: 10 + (city.length % 15) }
    return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] }
  })
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => {
      sessions.delete(id)
      console.log(`session closed, ${sessions.size} left`)
    }
  })
  await server.connect(transport)
  return transport
}

const http = createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"]
  const transport = id === undefined ? await newSession() : sessions.get(id)
  if (transport === undefined) response.writeHead(404).end()
  else await transport.handleRequest(request, response)
})

http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
