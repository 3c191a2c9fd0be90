/**
 * The last messages of a session, for the errors of the protocol.
 *
 * Owns: which ones are kept, and that they keep nothing alive: while requests are under way they are references; when none is,
 * only what each message was called.
 * May not touch: the messages. Nothing is written out before there is an error.
 */
import * as McpError from "../../McpError.js"
import * as Secrets from "../secrets.js"
import { render } from "./render.js"

/** As errors have it. */
export interface ShownFrame {
  readonly direction: "sent" | "received"
  readonly text: string
}

/** A power of two. */
const size = 8
const longestText = 256
const longestName = 128

/** In the place of a message that is not kept. */
type Name = string | number

export class LastFrames {
  private readonly frames: Array<unknown> = Array.from({ length: size }, () => undefined)
  private readonly sent: Array<boolean> = Array.from({ length: size }, () => false)
  /** How many there have been. */
  private count = 0
  /** How many of them are names only, by now. */
  private forgotten = 0

  /** Between requests a message is a name at once. */
  addName(sent: boolean, frame: unknown): void {
    this.add(sent, frame)
    this.forget()
  }

  add(sent: boolean, frame: unknown): void {
    const at = this.count++ & (size - 1)
    this.frames[at] = typeof frame === "object" ? frame : "?"
    this.sent[at] = sent
  }

  /** Nothing is under way: what was said last is not kept alive. */
  forget(): void {
    const from = Math.max(this.forgotten, this.count - size)
    for (let i = from; i < this.count; i++) {
      const at = i & (size - 1)
      this.frames[at] = nameOf(this.frames[at])
    }
    this.forgotten = this.count
  }

  /** The oldest first. */
  shown(secrets: ReadonlyArray<string>): ReadonlyArray<ShownFrame> {
    const shown: Array<ShownFrame> = []
    for (let i = Math.max(0, this.count - size); i < this.count; i++) {
      const at = i & (size - 1)
      shown.push({
        direction: this.sent[at] ? "sent" : "received",
        text: textOf(this.frames[at], secrets)
      })
    }
    return shown
  }
}

/** What is left of a message: its method, or the id that it answers. Never an object, nor a long text. */
const nameOf = (frame: unknown): Name => {
  if (typeof frame !== "object" || frame === null) return "?"
  const { id, method } = frame as { readonly id?: unknown; readonly method?: unknown }
  if (typeof method === "string") return method.length > longestName ? "?" : method
  return typeof id === "number" ? id : "?"
}

const textOf = (frame: unknown, secrets: ReadonlyArray<string>): string =>
  typeof frame === "object"
    ? render(frame, secrets, longestText).text
    : typeof frame === "number"
    ? `(the answer to ${frame})`
    : McpError.displayText(`(${Secrets.without(String(frame), secrets)})`, longestText)
