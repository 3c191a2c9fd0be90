/**
 * `@mastra/mcp`: an `MCPClient` over all servers, and the Mastra tools that it makes. It connects as it lists. Time limits
 * are wide, for a busy machine.
 */
import { MCPClient } from "@mastra/mcp"

let clients = 0

const serverOf = (wire) =>
  wire.type === "stdio"
    ? { command: process.execPath, args: [wire.script, ...wire.args], timeout: 60_000 }
    : { url: new URL(wire.url), timeout: 60_000, connectTimeout: 60_000 }

const clientOf = (wires) =>
  new MCPClient({
    id: `bench-${clients++}`,
    timeout: 60_000,
    servers: Object.fromEntries(wires.map((wire, i) => [`server${i}`, serverOf(wire)]))
  })

const textOf = (given) => typeof given === "string" ? given : given.content[0].text

export const open = async (wire) => {
  const client = clientOf([wire])
  const known = await client.listTools()
  const list = async () => Object.keys(await client.listTools()).length
  return {
    call: async (name, args) => textOf(await known[`server0_${name}`].execute(args, {})),
    list,
    again: list,
    close: () => client.disconnect()
  }
}

export const openMany = async (wires) => {
  const client = clientOf(wires)
  const lists = await client.listToolsets()
  return { counts: Object.values(lists).map((_) => Object.keys(_).length), close: () => client.disconnect() }
}
