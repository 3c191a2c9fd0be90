/**
 * The event stream format, read from bytes as they arrive.
 *
 * Owns: lines, fields and events; the last event id and the `retry` of one stream; the bound on the bytes of one event.
 * May not touch: connections, and what the data of an event means.
 *
 * Every byte is looked at a fixed number of times, however the stream is cut into chunks. Line ends are found by byte and
 * only the values of fields are decoded, so an event within one chunk costs one decoding and no copy.
 */
import { Bytes, decodePart } from "./bytes.js"

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a

const mark = [0xef, 0xbb, 0xbf]

const ascii = (name: string) => Uint8Array.from(name, (_) => _.charCodeAt(0))
const DATA = ascii("data")
const EVENT = ascii("event")
const ID = ascii("id")
const RETRY = ascii("retry")

export class EventParser {
  /** The id of the last event that was complete. */
  lastEventId: string
  /** What the server asked for last, in milliseconds. Not bounded. */
  retry: number | undefined = undefined

  private readonly partial = new Bytes()
  private marked = 0
  private afterCr = false

  private size = 0
  private type = ""
  private id: string | undefined = undefined
  private data: string | undefined = undefined
  private moreData: Array<string> | undefined = undefined

  constructor(
    private readonly maxEventBytes: number,
    private readonly onEvent: (type: string, data: string) => void,
    lastEventId = ""
  ) {
    this.lastEventId = lastEventId
  }

  /** Whether an event has begun that is not complete. */
  get unfinished(): boolean {
    return this.partial.length > 0 || this.data !== undefined
  }

  /** Reads the next chunk. `false` when an event is larger than allowed: nothing more can be read then. */
  push(chunk: Uint8Array): boolean {
    let start = this.marked < mark.length ? this.skipMark(chunk) : 0
    if (this.afterCr && start < chunk.length) {
      this.afterCr = false
      if (chunk[start] === LF) start++
    }
    let lf = -2
    let cr = -2
    while (start < chunk.length) {
      if (lf !== -1 && lf < start) lf = chunk.indexOf(LF, start)
      if (cr !== -1 && cr < start) cr = chunk.indexOf(CR, start)
      const end = lf === -1 ? cr : cr === -1 || lf < cr ? lf : cr
      if (end === -1) {
        this.partial.append(start === 0 ? chunk : chunk.subarray(start))
        return this.size + this.partial.length <= this.maxEventBytes
      }
      if (this.partial.length === 0) {
        this.line(chunk, start, end)
      } else {
        if (end > start) this.partial.append(chunk.subarray(start, end))
        this.line(this.partial.view(), 0, this.partial.length)
        this.partial.clear()
      }
      if (this.size > this.maxEventBytes) return false
      start = end + 1
      if (end === cr) {
        if (start === chunk.length) this.afterCr = true
        else if (chunk[start] === LF) start++
      }
    }
    return true
  }

  /** A byte order mark before the first line, itself perhaps in several chunks. Half a mark spoils the first line. */
  private skipMark(chunk: Uint8Array): number {
    let at = 0
    while (this.marked < mark.length && at < chunk.length) {
      if (chunk[at] !== mark[this.marked]) {
        if (this.marked > 0) this.partial.append(Uint8Array.from(mark.slice(0, this.marked)))
        this.marked = mark.length
        break
      }
      this.marked++
      at++
    }
    return at
  }

  private line(bytes: Uint8Array, start: number, end: number): void {
    if (start === end) return this.dispatch()
    switch (bytes[start]) {
      case DATA[0]: {
        const value = valueOf(bytes, start, end, DATA)
        if (value < 0) return
        this.size += end - start
        if (this.size > this.maxEventBytes) return
        const data = value === end ? "" : decodePart(bytes.subarray(value, end))
        if (this.data === undefined) this.data = data
        else if (this.moreData === undefined) this.moreData = [this.data, data]
        else this.moreData.push(data)
        return
      }
      case EVENT[0]: {
        const value = valueOf(bytes, start, end, EVENT)
        if (value < 0) return
        this.size += end - start
        this.type = decodePart(bytes.subarray(value, end))
        return
      }
      case ID[0]: {
        const value = valueOf(bytes, start, end, ID)
        if (value < 0) return
        this.size += end - start
        const id = decodePart(bytes.subarray(value, end))
        if (!id.includes("\0")) this.id = id
        return
      }
      case RETRY[0]: {
        const value = valueOf(bytes, start, end, RETRY)
        if (value < 0) return
        const digits = decodePart(bytes.subarray(value, end))
        if (/^[0-9]+$/.test(digits)) this.retry = Number(digits)
        return
      }
    }
  }

  private dispatch(): void {
    const data = this.moreData === undefined ? this.data : this.moreData.join("\n")
    const type = this.type
    if (this.id !== undefined) this.lastEventId = this.id
    this.size = 0
    this.type = ""
    this.data = undefined
    this.moreData = undefined
    if (data !== undefined) this.onEvent(type === "" ? "message" : type, data)
  }
}

/** Where the value of the field of this name starts, or -1 when the line has another name. */
const valueOf = (bytes: Uint8Array, start: number, end: number, name: Uint8Array): number => {
  const colon = start + name.length
  if (colon > end) return -1
  for (let i = 1; i < name.length; i++) if (bytes[start + i] !== name[i]) return -1
  if (colon === end) return end
  if (bytes[colon] !== COLON) return -1
  return colon + 1 < end && bytes[colon + 1] === SPACE ? colon + 2 : colon + 1
}

// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f]/

/** An event id as the header that asks for what came after it; `undefined` when there is none to ask with. */
export const lastEventIdHeader = (id: string): string | undefined => {
  if (id === "" || id.length > 4096 || control.test(id)) return undefined
  // eslint-disable-next-line no-control-regex
  if (/^[\u0020-\u007e]*$/.test(id)) return id
  let latin1 = ""
  for (const byte of new TextEncoder().encode(id)) latin1 += String.fromCharCode(byte)
  return latin1
}
