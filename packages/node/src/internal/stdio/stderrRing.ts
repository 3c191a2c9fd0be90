/**
 * The end of what a process wrote to stderr, in a bounded number of bytes.
 *
 * Owns: the bytes, and how they are shown. May not touch: the process.
 */
import * as McpError from "@mcp-runtime/core/McpError"
import { Buffer } from "node:buffer"

/** @internal */
export class StderrRing {
  private bytes: Buffer | undefined = undefined
  private written = 0

  constructor(private readonly capacity: number) {}

  push(chunk: Buffer): void {
    const bytes = this.bytes ??= Buffer.allocUnsafeSlow(this.capacity)
    const from = Math.max(0, chunk.length - this.capacity)
    const at = (this.written + from) % this.capacity
    const first = Math.min(chunk.length - from, this.capacity - at)
    chunk.copy(bytes, at, from, from + first)
    if (from + first < chunk.length) chunk.copy(bytes, 0, from + first)
    this.written += chunk.length
  }

  /**
   * Starts with a whole line if it can, and never in the middle of a character. Control characters and the secrets of URLs
   * are not shown.
   */
  tail(): string | undefined {
    if (this.bytes === undefined) return undefined
    const text = this.decode(this.bytes)
    return McpError.displayText(text, text.length)
  }

  private decode(bytes: Buffer): string {
    if (this.written <= this.capacity) return bytes.toString("utf8", 0, this.written)
    const at = this.written % this.capacity
    const ordered = Buffer.concat([bytes.subarray(at), bytes.subarray(0, at)])
    const line = ordered.indexOf("\n") + 1
    if (line > 0 && line < ordered.length) return ordered.toString("utf8", line)
    let start = 0
    while (start < 3 && start < ordered.length && (ordered[start]! & 0xc0) === 0x80) start++
    return ordered.toString("utf8", start)
  }
}
