/**
 * The end of what a process wrote to stderr, in a bounded number of bytes.
 *
 * Owns: the bytes, and how they are shown. May not touch: the process.
 */
import { Buffer } from "node:buffer"
import { Secrets } from "./secrets.js"

/** More is never kept, whatever a configuration that was not decoded says. */
const largest = 16 * 1024 * 1024

/** Most servers write a few lines. */
const smallest = 1024

/** @internal */
export class StderrRing {
  private readonly capacity: number
  private bytes: Buffer | undefined = undefined
  private written = 0

  constructor(capacity: number, private readonly secrets: Secrets = new Secrets([])) {
    this.capacity = Math.min(capacity, largest)
  }

  push(chunk: Buffer): void {
    const { capacity } = this
    const bytes = this.room(chunk.length)
    const from = Math.max(0, chunk.length - capacity)
    const at = (this.written + from) % capacity
    const first = Math.min(chunk.length - from, capacity - at)
    chunk.copy(bytes, at, from, from + first)
    if (from + first < chunk.length) chunk.copy(bytes, 0, from + first)
    this.written += chunk.length
  }

  /** Nothing goes round before the buffer has its full size. */
  private room(more: number): Buffer {
    const had = this.bytes
    const needed = this.written + more
    if (had !== undefined && (had.length === this.capacity || needed <= had.length)) return had
    const bytes = Buffer.allocUnsafeSlow(Math.min(this.capacity, Math.max(needed, smallest, 2 * (had?.length ?? 0))))
    had?.copy(bytes, 0, 0, this.written)
    return this.bytes = bytes
  }

  /**
   * Starts with a whole line if it can, and never in the middle of a character. Control characters, the secrets of URLs
   * and the configured values of variables are not shown.
   */
  tail(): string | undefined {
    if (this.bytes === undefined) return undefined
    const text = this.decode(this.bytes)
    return this.secrets.show(text, Number.MAX_SAFE_INTEGER, { start: this.written > this.capacity, end: true })
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
