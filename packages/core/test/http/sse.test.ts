import { assert, describe, it } from "@effect/vitest"
import { EventParser, lastEventIdHeader } from "../../src/internal/http/sse.js"

const bytes = (text: string) => new TextEncoder().encode(text)

const parse = (chunks: ReadonlyArray<Uint8Array>, max = 1 << 20) => {
  const events: Array<readonly [string, string, string]> = []
  const parser: EventParser = new EventParser(max, (type, data) => events.push([type, data, parser.lastEventId]))
  const ok = chunks.every((_) => parser.push(_))
  return { events, ok, parser }
}

const whole = (text: string) => parse([bytes(text)]).events

const everyWay = (text: string) => {
  const all = bytes(text)
  const expected = parse([all]).events
  for (let size = 1; size <= Math.min(all.length, 12); size++) {
    const chunks: Array<Uint8Array> = []
    for (let i = 0; i < all.length; i += size) chunks.push(all.subarray(i, i + size))
    assert.deepStrictEqual(parse(chunks).events, expected, `chunks of ${size}`)
  }
  for (let cut = 0; cut <= all.length; cut++) {
    assert.deepStrictEqual(parse([all.subarray(0, cut), all.subarray(cut)]).events, expected, `cut at ${cut}`)
  }
  return expected
}

describe("event stream", () => {
  it("reads the same events however the bytes are cut", () => {
    const text =
      "\ufeff: hello\nid: 1\nevent: message\ndata: {\"a\":\"\u{1f600}\u00e9\"}\n\nretry: 500\r\ndata:two\r\ndata\r\n" +
      "data:  three\r\n\r\nid\rdata: x\r\rfoo: bar\n\ndata: \ufeffmark\n\n"
    assert.deepStrictEqual(everyWay(text), [
      ["message", "{\"a\":\"\u{1f600}\u00e9\"}", "1"],
      ["message", "two\n\n three", "1"],
      ["message", "x", ""],
      ["message", "\ufeffmark", ""]
    ])
  })

  it("takes LF, CR and CRLF as ends of lines, mixed", () => {
    assert.deepStrictEqual(everyWay("data: a\rdata: b\ndata: c\r\n\r\ndata: d\r\r\n"), [
      ["message", "a\nb\nc", ""],
      ["message", "d", ""]
    ])
  })

  it("gives other types with their name, and resets the type after each event", () => {
    assert.deepStrictEqual(whole("event: endpoint\ndata: /m\n\ndata: x\n\nevent: y\n\ndata: z\n\n"), [
      ["endpoint", "/m", ""],
      ["message", "x", ""],
      ["message", "z", ""]
    ])
  })

  it("gives a priming event without data, and keeps ids of events that are complete only", () => {
    const { events, parser } = parse([bytes("id: 1\ndata:\n\nid: 2\nretry: 500\n\nid: 3\ndata: half")])
    assert.deepStrictEqual(events, [["message", "", "1"]])
    assert.strictEqual(parser.lastEventId, "2")
    assert.strictEqual(parser.retry, 500)
    assert.isTrue(parser.unfinished)
  })

  it("ignores an id with NUL, a retry that is no number, and fields that only begin like known ones", () => {
    const { events, parser } = parse([
      bytes("id: a\n\nid: b\0c\nretry: 1.5\nretry: -1\nretry:\ndatax: 1\ndat: 2\nevents: q\nidx: 9\ndata: ok\n\n")
    ])
    assert.deepStrictEqual(events, [["message", "ok", "a"]])
    assert.strictEqual(parser.retry, undefined)
  })

  it("takes an event with an empty last id as one without", () => {
    assert.deepStrictEqual(whole("id: 1\ndata: a\n\nid\ndata: b\n\n"), [["message", "a", "1"], ["message", "b", ""]])
  })

  it("H05: does not give an event that is not terminated", () => {
    assert.deepStrictEqual(whole("data: {\"id\":1}"), [])
    assert.deepStrictEqual(whole("data: {\"id\":1}\n"), [])
  })

  it("H24: stops at the bound of an event, however it comes", () => {
    const chunk = bytes("x".repeat(64))
    const endless = parse([bytes("data: "), ...Array.from({ length: 20 }, () => chunk)], 1000)
    assert.isFalse(endless.ok)
    assert.isFalse(parse([bytes(`data: ${"x".repeat(1000)}\n\n`)], 1000).ok)
    assert.isFalse(parse(Array.from({ length: 20 }, () => bytes(`data: ${"x".repeat(60)}\n`)), 1000).ok)
    assert.isFalse(parse([bytes(":"), ...Array.from({ length: 20 }, () => chunk)], 1000).ok)
    assert.isTrue(parse(Array.from({ length: 20 }, () => bytes(`data: ${"x".repeat(900)}\n\n: ping\n\n`)), 1000).ok)
  })

  it("has linear cost: a large event in small chunks, many lines in one chunk", () => {
    // What copies the whole for each chunk or line would not end within the time a test has.
    const large = [bytes("data: "), ...Array.from({ length: 32 * 1024 }, () => bytes("x".repeat(1024))), bytes("\n\n")]
    assert.isTrue(parse(large, 1 << 26).ok)
    assert.isTrue(parse([bytes("data: x\n\n".repeat(1_000_000)), bytes("\r")], 1 << 26).ok)
  })
  it("sends back only ids that a header can carry", () => {
    assert.strictEqual(lastEventIdHeader(""), undefined)
    assert.strictEqual(lastEventIdHeader("a\u0001"), undefined)
    assert.strictEqual(lastEventIdHeader("x".repeat(5000)), undefined)
    assert.strictEqual(lastEventIdHeader("a_1-2:3"), "a_1-2:3")
    assert.strictEqual(lastEventIdHeader("\u00e9"), "\u00c3\u00a9")
  })
})
