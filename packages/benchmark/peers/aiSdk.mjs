/**
 * `@ai-sdk/mcp`: one client per server. Tools are those that it makes for a model, and are called through them.
 */
import { createMCPClient } from "@ai-sdk/mcp"
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio"

const transportOf = (wire) =>
  wire.type === "stdio"
    ? new StdioMCPTransport({ command: process.execPath, args: [wire.script, ...wire.args] })
    : { type: "http", url: wire.url }

export const open = async (wire) => {
  const client = await createMCPClient({ transport: transportOf(wire) })
  let known
  const tools = async () => known ??= await client.tools()
  const list = async () => Object.keys(await client.tools()).length
  return {
    call: async (name, args) => {
      const { [name]: tool } = known ?? await tools()
      return (await tool.execute(args, { toolCallId: "1", messages: [] })).content[0].text
    },
    list,
    again: list,
    close: () => client.close()
  }
}
