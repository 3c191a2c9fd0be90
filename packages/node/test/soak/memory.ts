/**
 * The server of the soak in this process.
 */
import type { McpConfig } from "@mcp-runtime/core"
import { makePeer } from "./peer/peer.mjs"

/** A new server for each session, as one of the SDK would be. */
export const make = (journal: string) => (): McpConfig.InProcessServer => ({
  connect: (wire: never) => {
    const transport: McpConfig.InProcessTransport = wire
    const send = (message: unknown): void => {
      transport.send(message).catch(() => {})
    }
    const { receive } = makePeer({
      journal,
      flaws: {
        throws: (to) => {
          to.execute()
          throw new Error("the server of the soak throws")
        },
        hangsUp: (to) => {
          to.execute()
          void transport.close()
        }
      }
    })
    Object.assign(transport, { onmessage: (message: unknown) => receive(message, { send }) })
    return transport.start()
  }
})
