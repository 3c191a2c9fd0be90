/**
 * `@openai/agents-core`: one server class per connection, its `MCPServers` for many. Lists are cached as its manual
 * recommends; servers are connected in parallel, which is not its default. Time limits are wide, for a busy machine.
 */
import { connectMcpServers, MCPServerStdio, MCPServerStreamableHttp } from "@openai/agents-core"

const patient = { cacheToolsList: true, clientSessionTimeoutSeconds: 60 }

const serverOf = (wire, i = 0) =>
  wire.type === "stdio"
    ? new MCPServerStdio({ name: `server-${i}`, command: process.execPath, args: [wire.script, ...wire.args], ...patient })
    : new MCPServerStreamableHttp({ name: `server-${i}`, url: wire.url, ...patient })

export const open = async (wire) => {
  const server = serverOf(wire)
  await server.connect()
  const list = async () => (await server.listTools()).length
  return {
    call: async (name, args) => (await server.callTool(name, args))[0].text,
    list,
    again: list,
    close: () => server.close()
  }
}

export const openMany = async (wires) => {
  const servers = await connectMcpServers(wires.map(serverOf), {
    connectInParallel: true,
    strict: true,
    connectTimeoutMs: 60_000,
    closeTimeoutMs: 60_000
  })
  return {
    counts: (await Promise.all(servers.active.map((_) => _.listTools()))).map((_) => _.length),
    close: () => servers.close()
  }
}
