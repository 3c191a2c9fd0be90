/**
 * Bytes in, lines out.
 *
 * Owns: where a line ends, and how long it may be.
 * May not touch: what a line means.
 *
 * No byte is searched or copied more than a constant number of times, however a server cuts its output: a chunk with whole
 * lines is decoded once, and only what is left at its end is kept, in a buffer that doubles.
 */
import { Buffer, constants, isAscii } from "node:buffer"

const newline = 10
const smallestBuffer = 4096
/** A larger buffer is not kept for the next line. */
const largestIdleBuffer = 4 * 1024 * 1024
/** After so many chunks that did not need the buffer it is given back. */
const idleChunks = 256
/** From this length on it pays to look whether a text is ASCII, which decodes seven times as fast. */
const asciiWorthwhile = 4096

/** A line of this length is given as bytes: there are faster ways to read it than to decode it first. */
const longLine = 128 * 1024

const decode = (bytes: Buffer, start: number, end: number): string => {
  if (end - start < asciiWorthwhile) return bytes.toString("utf8", start, end)
  return bytes.toString(isAscii(bytes.subarray(start, end)) ? "latin1" : "utf8", start, end)
}

/** Where the last line ends that is whole: mostly where the chunk does. */
const endOfLines = (chunk: Buffer): number => {
  const last = chunk.length - 1
  return chunk[last] === newline ? last : chunk.lastIndexOf(newline)
}

/** @internal */
export class LineSplitter {
  private kept: Buffer | undefined = undefined
  private length = 0
  private idle = 0
  private stopped = false
  private readonly max: number

  constructor(
    maxLineBytes: number,
    private readonly onLine: (line: string) => void,
    /** The bytes are good until it returns. */
    private readonly onLongLine: (line: Buffer) => void,
    private readonly onOverflow: () => void
  ) {
    this.max = Math.min(maxLineBytes, constants.MAX_STRING_LENGTH)
  }

  push(chunk: Buffer): void {
    if (this.stopped) return
    const last = endOfLines(chunk)
    if (last === -1) {
      this.keep(chunk, 0, chunk.length)
      return
    }
    let start = 0
    if (this.length === 0) this.giveBackIdle()
    else {
      start = chunk.indexOf(newline) + 1
      if (!this.keep(chunk, 0, start - 1)) return
      this.emitKept()
    }
    if (last - start <= this.max) this.emitDecoded(decode(chunk, start, last))
    else this.emitOneByOne(chunk, start, last)
    if (last + 1 < chunk.length) this.keep(chunk, last + 1, chunk.length)
  }

  /** The output is over: a last line needs no end. */
  end(): void {
    if (!this.stopped && this.length > 0) this.emitKept()
    this.stop()
  }

  /** Nothing is emitted from here on, not even from the middle of a chunk. */
  stop(): void {
    this.stopped = true
    this.kept = undefined
    this.length = 0
  }

  private giveBackIdle(): void {
    if (this.kept !== undefined && ++this.idle > idleChunks) this.kept = undefined
  }

  private emitDecoded(text: string): void {
    let start = 0
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.emit(text.slice(start, end))
      start = end + 1
    }
    this.emit(start === 0 ? text : text.slice(start))
  }

  /** A chunk that is larger than a line may be: each line is measured. */
  private emitOneByOne(chunk: Buffer, from: number, last: number): void {
    let start = from
    while (start <= last && !this.stopped) {
      const end = chunk.indexOf(newline, start)
      if (end - start > this.max) {
        this.overflow()
        return
      }
      this.emit(decode(chunk, start, end))
      start = end + 1
    }
  }

  private emitKept(): void {
    const kept = this.kept!
    const { length } = this
    this.length = 0
    if (kept.length > largestIdleBuffer) this.kept = undefined
    if (length >= longLine) this.onLongLine(kept.subarray(0, length))
    else this.emit(decode(kept, 0, length))
  }

  private emit(line: string): void {
    if (!this.stopped && line !== "" && line !== "\r") this.onLine(line)
  }

  private keep(chunk: Buffer, from: number, to: number): boolean {
    if (this.stopped) return false
    const length = this.length + to - from
    if (length > this.max) {
      this.overflow()
      return false
    }
    if (this.kept === undefined || this.kept.length < length) {
      const growth = this.length < largestIdleBuffer ? 4 : 2
      const capacity = Math.min(this.max, Math.max(length, smallestBuffer, this.length * growth))
      const larger = Buffer.allocUnsafeSlow(capacity)
      if (this.kept !== undefined) this.kept.copy(larger, 0, 0, this.length)
      this.kept = larger
    }
    chunk.copy(this.kept, this.length, from, to)
    this.length = length
    this.idle = 0
    return true
  }

  private overflow(): void {
    this.stop()
    this.onOverflow()
  }
}
