/**
 * `@langchain/mcp-adapters`: a `MultiServerMCPClient`, and the LangChain tools that it makes. It connects as it lists, one
 * server after the other, and knows its tools for ever after.
 */
import { MultiServerMCPClient } from "@langchain/mcp-adapters"

const connectionOf = (wire) =>
  wire.type === "stdio"
    ? { transport: "stdio", command: process.execPath, args: [wire.script, ...wire.args] }
    : { transport: "http", url: wire.url }

const clientOf = (wires) =>
  new MultiServerMCPClient({
    mcpServers: Object.fromEntries(wires.map((wire, i) => [`server-${i}`, connectionOf(wire)]))
  })

const textOf = (given) => typeof given === "string" ? given : given[0].text

export const open = async (wire) => {
  const client = clientOf([wire])
  const known = new Map((await client.getTools()).map((_) => [_.name, _]))
  const list = async () => (await client.getTools()).length
  return {
    call: async (name, args) => textOf(await known.get(name).invoke(args)),
    list,
    again: list,
    close: () => client.close()
  }
}

export const openMany = async (wires) => {
  const client = clientOf(wires)
  const lists = await client.initializeConnections()
  return { counts: Object.values(lists).map((_) => _.length), close: () => client.close() }
}
