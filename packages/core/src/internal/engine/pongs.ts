/**
 * The answers to the pings of the server.
 *
 * Owns: how many the wire has not taken yet. A server that asks and asks, and reads no answer, must not fill the memory with them.
 * May not touch: the wire.
 */
import type * as McpProtocol from "../../McpProtocol.js"

export class Pongs {
  private waiting = 0

  constructor(
    private readonly most: number,
    /** Calls back once, when the wire has taken it or never will. */
    private readonly post: (message: McpProtocol.JsonRpcMessage, settled: () => void) => void,
    private readonly dropped: (detail: string) => void
  ) {}

  answer(id: McpProtocol.RequestId): void {
    if (this.waiting >= this.most) {
      return this.dropped(`a ping was not answered: ${this.waiting} answers to others were not taken yet`)
    }
    this.waiting++
    this.post({ jsonrpc: "2.0", id, result: {} }, this.settled)
  }

  private readonly settled = (): void => {
    this.waiting--
  }
}
