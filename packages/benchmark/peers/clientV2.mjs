/**
 * The SDK's second version: its `Client` over its own transports, with its defaults (revision 2025-11-25).
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

const transportOf = (wire) =>
  wire.type === "stdio"
    ? new StdioClientTransport({ command: process.execPath, args: [wire.script, ...wire.args] })
    : new StreamableHTTPClientTransport(new URL(wire.url))

export const open = async (wire) => {
  const client = new Client({ name: "bench", version: "1.0.0" })
  await client.connect(transportOf(wire))
  const list = async () => (await client.listTools()).tools.length
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text,
    list,
    again: list,
    close: () => client.close()
  }
}
