/**
 * Servers in this process, as small as they can be: what is measured is the client's. Each client keeps the tools that it
 * was given, as an application would.
 *
 * Owns: the servers' end, and what clients hold there. A client's code is loaded when it is asked for.
 */
import { loadAnswers } from "../servers.js"
import type { Managed } from "./oursManager.js"

/** The server's end of a transport. */
interface End {
  onmessage?: ((message: never) => void) | undefined
  start(): Promise<void>
  send(message: unknown): Promise<void>
}

interface Message {
  readonly id?: unknown
}

/** Connects so many servers, and gives what has to be held to keep them. */
export type Hold = (count: number) => Promise<unknown>

export type Serve = (end: End) => Promise<void>

/** A server with tools `first` and following. */
export const serverOf = async (toolCount: number, every: number, first = 0): Promise<Serve> => {
  const { response, resultFor, toolsResult } = await loadAnswers()
  const tools = toolsResult(toolCount, every, first)
  return (end) => {
    const onmessage = (message: Message): void => {
      const result = resultFor(message, tools)
      if (result !== undefined) void end.send(JSON.parse(response(message.id, result)))
    }
    return Object.assign(end, { onmessage }).start()
  }
}

/** One client of the SDK for each server. */
export const connectSdk = async (servers: ReadonlyArray<Serve>) => {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js")
  const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js")
  return Promise.all(servers.map(async (serve) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await serve(theirs as End)
    const client = new Client({ name: "bench", version: "1.0.0" })
    await client.connect(ours)
    return { client, tools: (await client.listTools()).tools }
  }))
}

/** One manager for all servers, each of which has so many tools. All are connected and listed. */
export const connectOurs = async (servers: ReadonlyArray<Serve>, toolCount: number): Promise<Managed> => {
  const { CatalogStore } = await import("@mcp-runtime/core")
  const { checkLists, managed } = await import("./oursManager.js")
  const { Effect } = await import("effect")
  const inputs = servers.map((serve, i) => ({
    name: `server-${i}`,
    transport: "inMemory" as const,
    server: () => ({ connect: serve })
  }))
  const held = await managed(inputs, CatalogStore.layerNone)
  await held.connect()
  checkLists(await Effect.runPromise(held.catalog.current), servers.length, toolCount)
  return held
}

export const load = async (contender: "sdk" | "ours", toolCount: number, every: number): Promise<Hold> => {
  const serve = await serverOf(toolCount, every)
  const servers = (count: number): ReadonlyArray<Serve> => Array.from({ length: count }, () => serve)
  return contender === "sdk"
    ? (count) => connectSdk(servers(count))
    : (count) => connectOurs(servers(count), toolCount)
}
