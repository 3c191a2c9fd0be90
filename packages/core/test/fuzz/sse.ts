/**
 * The event stream format, against a slow parser that follows the text of the specification.
 *
 * Holds: the same events with the same ids and `retry`, however the bytes are cut; with a bound on the size of an event, a
 * beginning of the same events.
 */
import { FastCheck } from "effect"
import { EventParser, lastEventIdHeader } from "../../src/internal/http/sse.js"
import { holds, same } from "./kit/holds.js"
import { part } from "./kit/part.js"

type Event = readonly [type: string, data: string, id: string]

interface Read {
  readonly events: ReadonlyArray<Event>
  readonly retry: number | undefined
  readonly id: string
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, step by step. */
const slowly = (bytes: Uint8Array): Read => {
  const text = new TextDecoder("utf-8").decode(bytes)
  const lines: Array<string> = []
  let line = ""
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== "\r" && text[i] !== "\n") {
      line += text[i]
      continue
    }
    if (text[i] === "\r" && text[i + 1] === "\n") i++
    lines.push(line)
    line = ""
  }
  const events: Array<Event> = []
  let [type, data, idBuffer, id] = ["", "", "", ""]
  let retry: number | undefined
  for (const line of lines) {
    if (line === "") {
      id = idBuffer
      if (data !== "") events.push([type === "" ? "message" : type, data.slice(0, -1), id])
      type = ""
      data = ""
      continue
    }
    const colon = line.indexOf(":")
    if (colon === 0) continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const rest = colon === -1 ? "" : line.slice(colon + 1)
    const value = rest.startsWith(" ") ? rest.slice(1) : rest
    if (field === "event") type = value
    else if (field === "data") data += `${value}\n`
    else if (field === "id" && !value.includes("\0")) idBuffer = value
    else if (field === "retry" && value !== "" && [...value].every((_) => _ >= "0" && _ <= "9")) retry = Number(value)
  }
  return { events, retry, id }
}

const quickly = (chunks: ReadonlyArray<Uint8Array>, max: number): Read & { readonly isWhole: boolean } => {
  const events: Array<Event> = []
  const parser: EventParser = new EventParser(max, (type, data) => events.push([type, data, parser.lastEventId]))
  // A chunk belongs to who gave it: it is overwritten afterwards, as a pool of buffers does it.
  const isWhole = chunks.every((chunk) => parser.push(chunk))
  lastEventIdHeader(parser.lastEventId)
  return { events, retry: parser.retry, id: parser.lastEventId, isWhole }
}

/** Cut after so many bytes, again and again. */
export const cut = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : sizes[i % sizes.length]!
    chunks.push(bytes.slice(at, at + size))
    at += size
  }
  return chunks
}

export const sizes = FastCheck.array(FastCheck.integer({ min: 1, max: 40 }), { maxLength: 5 })

const piece = FastCheck.oneof(
  {
    arbitrary: FastCheck.constantFrom(
      "data",
      "data:",
      "data: ",
      "event: ",
      "id: ",
      "id",
      "retry: ",
      "retry:",
      ":",
      "dat",
      "Data: ",
      " data: ",
      "idx: "
    ),
    weight: 6
  },
  { arbitrary: FastCheck.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r"), weight: 8 },
  {
    arbitrary: FastCheck.constantFrom("\ufeff", "\0", "é", "😀", "1", "500", "１", "99999999999999999999", "-1"),
    weight: 3
  },
  {
    arbitrary: FastCheck.constantFrom(
      "data: a\n",
      "data: b\ndata: c\ndata\n",
      "id: 2\n",
      "id: 3\0\n",
      "event: x\n",
      "\n"
    ),
    weight: 5
  },
  { arbitrary: FastCheck.string({ maxLength: 8 }), weight: 3 },
  { arbitrary: FastCheck.json({ maxDepth: 1 }), weight: 2 },
  { arbitrary: FastCheck.nat({ max: 300 }).map((_) => "x".repeat(_)), weight: 1 }
).map((text) => new TextEncoder().encode(text))

const bytes = FastCheck.array(
  FastCheck.oneof(
    { arbitrary: piece, weight: 12 },
    // No UTF-8, or half of a character.
    { arbitrary: FastCheck.uint8Array({ maxLength: 4 }), weight: 1 },
    {
      arbitrary: FastCheck.constantFrom([0xc3], [0xef, 0xbb], [0xed, 0xa0, 0x80], [0xff]).map((_) =>
        Uint8Array.from(_)
      ),
      weight: 1
    }
  ),
  { maxLength: 40 }
).map((pieces) => Uint8Array.from(pieces.flatMap((_) => [..._])))

const fill = (size: number, unit: string) => new TextEncoder().encode(unit.repeat(Math.ceil(size / unit.length)))

const reading = (size: number, unit: string, step: number) => {
  const chunks = cut(fill(size, unit), [step])
  return () => quickly(chunks, 1 << 30)
}

export const ssePart = part({
  name: "sse",
  about: "the same events as a slow parser written after the specification, however the bytes are cut",
  inputs: 2500,
  share: 3,
  input: FastCheck.record({ bytes, sizes, max: FastCheck.constantFrom(1 << 20, 1 << 20, 0, 10, 100) }),
  check: ({ bytes, max, sizes }) => {
    const expected = slowly(bytes)
    const { isWhole, ...found } = quickly(cut(bytes, sizes), max)
    if (isWhole) return same(found, expected, "events")
    holds(max <= 100, "an event was too large that was not")
    same(found.events, expected.events.slice(0, found.events.length), "events before one that is too large")
  },
  growths: [
    { name: "one line, byte by byte", from: 2000, run: (size) => reading(size, "x", 1) },
    { name: "one data line in chunks", from: 20_000, run: (size) => reading(size, "data: x", 16) },
    { name: "lines of data", from: 2000, run: (size) => reading(size, "data\n", 64) },
    { name: "events", from: 2000, run: (size) => reading(size, "data: x\n\n", 1000) },
    { name: "CR alone", from: 2000, run: (size) => reading(size, "\r", 7) },
    { name: "LF and then CR alone", from: 2000, run: (size) => reading(size, "a\ra\r", 1 << 20) },
    { name: "ids", from: 2000, run: (size) => reading(size, "id: 1\n", 1 << 20) }
  ]
})
