/**
 * Servers in this process, as small as they can be: what is measured is the client's. Each client keeps the tools that it
 * was given, as an application would.
 *
 * Owns: the servers' end, and what clients hold there. A client's code is loaded when it is asked for.
 */
import { loadAnswers } from "../servers.js"

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

type Serve = (end: End) => Promise<void>

const serverOf = async (toolCount: number, every: number): Promise<Serve> => {
  const { response, resultFor, toolsResult } = await loadAnswers()
  const tools = toolsResult(toolCount, every)
  return (end) => {
    const onmessage = (message: Message): void => {
      const result = resultFor(message, tools)
      if (result !== undefined) void end.send(JSON.parse(response(message.id, result)))
    }
    return Object.assign(end, { onmessage }).start()
  }
}

const sdk = async (serve: Serve): Promise<Hold> => {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js")
  const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js")
  const open = async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await serve(theirs as End)
    const client = new Client({ name: "bench", version: "1.0.0" })
    await client.connect(ours)
    return { client, tools: (await client.listTools()).tools }
  }
  return (count) => Promise.all(Array.from({ length: count }, open))
}

const ours = async (serve: Serve, toolCount: number): Promise<Hold> => {
  const { CatalogStore } = await import("@mcp-runtime/core")
  const { checkLists, managed } = await import("./oursManager.js")
  const { Effect } = await import("effect")
  return async (count) => {
    const servers = Array.from({ length: count }, (_, i) => ({
      name: `server-${i}`,
      transport: "inMemory" as const,
      server: () => ({ connect: serve })
    }))
    const held = await managed(servers, CatalogStore.layerNone)
    await held.connect()
    checkLists(await Effect.runPromise(held.catalog.current), count, toolCount)
    return held
  }
}

export const load = async (contender: "sdk" | "ours", toolCount: number, every: number): Promise<Hold> => {
  const serve = await serverOf(toolCount, every)
  return contender === "sdk" ? sdk(serve) : ours(serve, toolCount)
}
