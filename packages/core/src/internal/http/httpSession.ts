/**
 * What one session of Streamable HTTP knows about itself.
 *
 * Owns: the session id, which only the answer to `initialize` gives; the protocol version; the headers that follow from
 * both.
 * May not touch: exchanges.
 */
import type { Headers, Target } from "./wire.js"

export class HttpSession {
  id: string | undefined = undefined
  /** The server has accepted the session id at least once. */
  worked = false
  /** The server has said that it does not know the session id any more. */
  lost = false
  /** What goes with a message. */
  post!: Headers
  /** What goes with the opening of a stream. */
  stream!: Headers
  /** What goes with the end of the session. */
  end!: Headers
  private version: string | undefined = undefined

  constructor(private readonly target: Target) {
    this.rebuild()
  }

  begun(id: string | undefined): void {
    if (id === undefined || id === "" || this.id !== undefined) return
    this.id = id
    this.rebuild()
  }

  negotiated(version: string): void {
    this.version = version
    this.rebuild()
  }

  private rebuild(): void {
    const common = {
      ...this.target.headers,
      ...(this.version === undefined ? undefined : { "mcp-protocol-version": this.version }),
      ...(this.id === undefined ? undefined : { "mcp-session-id": this.id })
    }
    this.post = { ...common, "content-type": "application/json", accept: "application/json, text/event-stream" }
    this.stream = { ...common, accept: "text/event-stream" }
    this.end = common
  }
}
