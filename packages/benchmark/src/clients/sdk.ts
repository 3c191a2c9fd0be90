/**
 * The raw SDK: its `Client` over its own transports, with its defaults. Over HTTP it adds a listener to one signal with each
 * call, of which Node warns again and again (H17 of our list of its faults, see docs/decisions.md); the script that starts the
 * benchmark turns that off.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { callArguments, checkResult, promiseLoops, type Session, type Wire } from "./client.js"

const transportOf = (wire: Wire): Transport =>
  wire.type === "stdio"
    ? new StdioClientTransport({ command: process.execPath, args: [wire.script, ...wire.args] })
    : new StreamableHTTPClientTransport(new URL(wire.url)) as Transport

export const open = async (wire: Wire): Promise<Session> => {
  const client = new Client({ name: "bench", version: "1.0.0" })
  await client.connect(transportOf(wire))
  const list = async (): Promise<number> => (await client.listTools()).tools.length
  const call = async (name: string): Promise<void> =>
    checkResult(await client.callTool({ name, arguments: callArguments }), name)
  return {
    ...promiseLoops(call, list),
    list,
    close: () => client.close()
  }
}
