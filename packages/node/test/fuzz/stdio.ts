/**
 * The output of a server process: lines that are cut anywhere, noise between them, lines of any length.
 *
 * Holds: the same lines as splitting all of it at once, and the same values as `JSON.parse` gives; up to the first line that
 * is too long, and nothing after it.
 */
import { FastCheck } from "effect"
import { Buffer } from "node:buffer"
import { holds, same } from "../../../core/test/fuzz/kit/holds.js"
import { texts } from "../../../core/test/fuzz/kit/hostile.js"
import { part } from "../../../core/test/fuzz/kit/part.js"
import { cut, sizes } from "../../../core/test/fuzz/sse.js"
import { messages } from "../../../core/test/fuzz/traffic.js"
import { LineSplitter } from "../../src/internal/stdio/lineSplitter.js"
import { parseLong } from "../../src/internal/stdio/longJson.js"

interface Heard {
  readonly lines: ReadonlyArray<string>
  readonly isTooLong: boolean
}

const slowly = (bytes: Buffer, max: number): Heard => {
  const lines: Array<string> = []
  let from = 0
  while (from < bytes.length) {
    const newline = bytes.indexOf(10, from)
    const end = newline === -1 ? bytes.length : newline
    if (end - from > max) return { lines, isTooLong: true }
    const line = bytes.subarray(from, end).toString("utf8")
    if (line !== "" && line !== "\r") lines.push(line)
    from = end + 1
  }
  return { lines, isTooLong: false }
}

const quickly = (chunks: ReadonlyArray<Uint8Array>, max: number): Heard => {
  const lines: Array<string> = []
  let overflows = 0
  const splitter = new LineSplitter(
    max,
    (line) => lines.push(line),
    (line) => lines.push(line.toString("utf8")),
    () => overflows++
  )
  for (const chunk of chunks) {
    const lent = Buffer.from(chunk)
    splitter.push(lent)
    // A stream may use its buffer again.
    lent.fill(0x7b)
  }
  splitter.end()
  holds(overflows <= 1, "it overflows twice")
  return { lines, isTooLong: overflows > 0 }
}

const message = FastCheck.constantFrom(...messages).map((_) => JSON.stringify(_))

const piece = FastCheck.oneof(
  { arbitrary: message.map((_) => Buffer.from(`${_}\n`)), weight: 5 },
  {
    arbitrary: FastCheck.constantFrom("\n", "\r\n", "\n\n", "\r", "listening on 3000\n", "\u0000", "{", "\u001b[2J\n"),
    weight: 4
  },
  { arbitrary: texts, weight: 3 },
  { arbitrary: FastCheck.uint8Array({ maxLength: 6 }), weight: 1 },
  { arbitrary: FastCheck.constantFrom(5000, 20_000, 140_000).map((_) => "é".repeat(_)), weight: 1 }
).map((_) => Buffer.from(_))

const splitting = (size: number, text: string, step: number) => {
  const chunks = cut(Buffer.from(text.repeat(Math.ceil(size / text.length))), [step])
  return () => quickly(chunks, 1 << 30)
}

export const stdioPart = part({
  name: "stdio",
  about: "the same lines as splitting the whole output, however it is cut",
  inputs: 800,
  share: 1.5,
  input: FastCheck.record({
    pieces: FastCheck.array(piece, { maxLength: 12 }),
    sizes: FastCheck.oneof(sizes, sizes.map((_) => _.map((_) => _ * 1000))),
    max: FastCheck.constantFrom(1 << 26, 1 << 26, 0, 10, 500, 8192)
  }),
  check: ({ max, pieces, sizes }) => {
    const bytes = Buffer.concat(pieces)
    same(
      quickly(cut(bytes, sizes.length > 0 && bytes.length > 50_000 ? sizes.map((_) => _ * 50) : sizes), max),
      slowly(bytes, max),
      "lines"
    )
  },
  growths: [
    { name: "one line, byte by byte", from: 4000, run: (n) => splitting(n, "x", 1) },
    { name: "short lines", from: 4000, run: (n) => splitting(n, "a\n", 65_536) },
    { name: "line ends, byte by byte", from: 4000, run: (n) => splitting(n, "\n", 1) }
  ]
})

// -------------------------------------------------------------------------------------------------
// Long lines
// -------------------------------------------------------------------------------------------------

/** A text of a JSON document, long or short, of plain characters or others. */
const jsonText = FastCheck.record({
  unit: FastCheck.constantFrom("x", "QUJD", "é", "\\", "\"", "@mcp-runtime/cut/0", "\u0001", "{\"a\":1}"),
  length: FastCheck.constantFrom(1, 10, 16_383, 16_384, 16_385, 17_000, 40_000)
}).map(({ length, unit }) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length))

const document = FastCheck.letrec<{ value: unknown }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 3 },
    jsonText,
    FastCheck.constantFrom<Array<unknown>>(null, 1, true, "@mcp-runtime/cut/0", "@mcp-runtime/cut/x"),
    FastCheck.array(tie("value"), { maxLength: 3 }),
    FastCheck.array(
      FastCheck.tuple(
        FastCheck.oneof(FastCheck.constantFrom("a", "__proto__", "@mcp-runtime/cut/0"), jsonText),
        tie("value")
      ),
      {
        maxLength: 3
      }
    ).map((_) => Object.fromEntries(_))
  )
})).value

const parsed = (parse: () => unknown): { readonly value: unknown } | undefined => {
  try {
    return { value: parse() }
  } catch {
    return undefined
  }
}

export const longJsonPart = part({
  name: "long-json",
  about: "a long line means what JSON.parse says",
  inputs: 300,
  share: 0.7,
  input: FastCheck.record({
    document,
    damage: FastCheck.array(
      FastCheck.record({
        at: FastCheck.nat({ max: 100_000 }),
        by: FastCheck.constantFrom("\"", "\\", "{", ",", "", "é", "x")
      }),
      { maxLength: 2 }
    )
  }),
  check: ({ damage, document }) => {
    let text = JSON.stringify(document)
    for (const { at, by } of damage) {
      const place = at % (text.length + 1)
      text = text.slice(0, place) + by + text.slice(place + 1)
    }
    const line = Buffer.from(text)
    same(parsed(() => parseLong(line)), parsed(() => JSON.parse(text)), "the value")
  },
  growths: [
    {
      name: "many long texts",
      from: 10,
      most: 4000,
      run: (n) => {
        const line = Buffer.from(JSON.stringify(Array.from({ length: n }, () => "x".repeat(17_000))))
        return () => parseLong(line)
      }
    },
    {
      name: "many quotes",
      from: 10_000,
      run: (n) => {
        const line = Buffer.from(JSON.stringify(Array.from({ length: n }, () => "")))
        return () => parseLong(line)
      }
    }
  ]
})
