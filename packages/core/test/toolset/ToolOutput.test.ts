import { assert, describe, it } from "@effect/vitest"
import { McpProtocol } from "@mcp-runtime/core"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import { FastCheck } from "effect"
import { decodeCallToolResult } from "../../src/internal/operations/operations.js"
import { processorMillis } from "../processor.js"

type Result = McpProtocol.CallToolResult

/** As it comes to a caller: parsed, frozen, decoded as `callTool` does. */
const resultOf = (value: unknown): Result => {
  const parsed: unknown = JSON.parse(JSON.stringify(value))
  assert(McpProtocol.freeze(parsed), "expected a value that can be frozen")
  const decoded = decodeCallToolResult(parsed)
  assert("value" in decoded, "expected a result")
  return decoded.value
}

const of = (content: ReadonlyArray<unknown>, rest: object = {}): Result => resultOf({ content, ...rest })

const convert = <A>(output: ToolOutput.ToolOutput<A>, result: Result, tool?: McpProtocol.Tool): A =>
  output.convert(result, tool)

const text = (text: unknown) => ({ type: "text", text })
const image = { type: "image", data: "aW1n", mimeType: "image/png" }
const audio = { type: "audio", data: "c25k", mimeType: "audio/wav" }
const link = {
  type: "resource_link",
  uri: "https://a.test/r?id=5#top",
  name: "r",
  title: "Report",
  description: "Of May"
}
const embedded = { type: "resource", resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "contents" } }
const blob = { type: "resource", resource: { uri: "file:///a.bin", mimeType: "application/zip", blob: "emlw" } }
const hollow = { type: "resource", resource: { uri: "file:///none" } }
const unknown = { type: "video", frames: [1, 2], toJSON: "no function" }
const every = [text("hello"), image, audio, link, embedded, blob, hollow, unknown]

/** Blocks without the fields of their kind, which `callTool` lets in. */
const malformed: ReadonlyArray<object> = [
  { type: "text" },
  text(5),
  text(null),
  text({ toString: 1, valueOf: 1 }),
  { type: "image" },
  { type: "image", data: 1, mimeType: { toString: 1 } },
  { type: "image", data: "aW1n" },
  { type: "image", data: "aW1n", mimeType: { toString: 1 } },
  { type: "audio", mimeType: "audio/wav" },
  { type: "resource" },
  { type: "resource", resource: null },
  { type: "resource", resource: "file:///a" },
  { type: "resource", resource: { uri: 5, text: "x" } },
  { type: "resource", resource: { uri: "file:///a", text: 5 } },
  { type: "resource", resource: { uri: "file:///a", blob: 5, mimeType: [] } },
  { type: "resource_link" },
  { type: "resource_link", uri: null },
  { type: "json" },
  { type: "json", value: 5 },
  { type: "json", value: { a: 1 }, more: 2 },
  { type: "__proto__", constructor: { prototype: 1 } },
  { type: "" }
]

const presets: ReadonlyArray<ToolOutput.ToolOutput<unknown>> = [
  ToolOutput.make(),
  ToolOutput.make({ structured: "append" }),
  ToolOutput.make({ structured: "ignore" }),
  ToolOutput.make({ single: "unwrap" }),
  ToolOutput.raw,
  ToolOutput.text,
  ToolOutput.openAiAgents(),
  ToolOutput.openAiAgents({ useStructuredContent: true }),
  ToolOutput.ohMyPi,
  ToolOutput.uiPath,
  ToolOutput.pydanticAi,
  ToolOutput.fastMcp
]

describe("make", () => {
  it("gives every block as it came, the same objects, in their order", () => {
    const result = of([...every, ...malformed])
    assert.strictEqual(convert(ToolOutput.make(), result), result.content)
  })

  it("has the names of its options in its name", () => {
    assert.strictEqual(ToolOutput.make().name, "parts(prefer, list)")
    assert.strictEqual(ToolOutput.make({ single: "unwrap", structured: "append" }).name, "parts(append, unwrap)")
  })

  it("prefers structured content to the texts that repeat it, and keeps what is said once", () => {
    const structuredContent = { a: [1, { b: null }], c: "d" }
    const result = of([
      text(`{ "c": "d", "a": [1, {"b": null}] }`),
      text("note: only the first page"),
      image,
      text("{}")
    ], { structuredContent })
    assert.deepStrictEqual(
      convert(ToolOutput.make(), result),
      [{ type: "json", value: structuredContent }, text("note: only the first page"), image, text("{}")] as never
    )
  })

  it("knows a repetition of what is alone in structured content, as JSON or as it is", () => {
    const only = (value: unknown, said: string) =>
      convert(ToolOutput.make(), of([text(said)], { structuredContent: { result: value } })).length
    assert.strictEqual(only(5, "5"), 1)
    assert.strictEqual(only("five", "five"), 1)
    assert.strictEqual(only("five", `"five"`), 1)
    assert.strictEqual(only([1, 2], "[1,2]"), 1)
    assert.strictEqual(only(null, "null"), 1)
    assert.strictEqual(only(5, "6"), 2)
    assert.strictEqual(only(undefined, ""), 2)
  })

  it("does not take a text for a repetition whose numbers are more exact than structured content can be", () => {
    const content = [text(`{"id": 9007199254740993}`)]
    const structuredContent = JSON.parse(`{"id": 9007199254740993}`) as object
    assert.deepStrictEqual(
      convert(ToolOutput.make(), of(content, { structuredContent })),
      [{ type: "json", value: structuredContent }, ...content] as never
    )
    assert.lengthOf(
      convert(ToolOutput.make(), of([text(`{"x":0.30000000000000004}`)], { structuredContent: { x: 0.1 + 0.2 } })),
      1
    )
  })

  it("drops a text with numbers only where each is in structured content as it was written", () => {
    const partsOf = (json: string) =>
      convert(ToolOutput.make(), of([text(json)], { structuredContent: JSON.parse(json) as object })).length
    const lost = [
      "0.1234567890123456789012",
      "12345678901234567890",
      "-9007199254740993",
      "1.0000000000000000000001",
      "1e400",
      "-1E+400",
      "1e-400",
      "1.23456789012e-320",
      "0.00000000000012345678901234567"
    ]
    for (const literal of lost) {
      assert.strictEqual(partsOf(`{"v": ${literal}}`), 2, literal)
      assert.strictEqual(partsOf(`{"a": "1", "v": [[0, ${literal}]]}`), 2, literal)
    }
    const kept = [
      "0.30000000000000004",
      "9007199254740991",
      "9007199254740992",
      "100000000000000000000000000",
      "9007199254740993e2",
      "1.7976931348623157e308",
      "0.000000000000000000000000000001",
      "1.00000000000000000000",
      "5e-324",
      "-0.0",
      "0e999",
      "0.5E-7"
    ]
    for (const literal of kept) assert.strictEqual(partsOf(`{"v": ${literal}}`), 1, literal)
    // What is a text is one in structured content, too.
    assert.strictEqual(partsOf(`{"id": "12345678901234567890", "\\"1e999": "\\\\\\"1e400", "e": "\\\\"}`), 1)
    assert.strictEqual(partsOf(`{"id": "\\\\", "v": 12345678901234567890}`), 2)
  })

  it("drops no text that says more than structured content: for whom it is, or what the server adds", () => {
    const structuredContent = { v: 1 }
    for (const more of [{ annotations: { audience: ["user"] } }, { _meta: { k: 1 } }]) {
      const annotated = { ...text(`{"v":1}`), ...more }
      const json = { type: "json", value: structuredContent }
      assert.deepStrictEqual(
        convert(ToolOutput.make(), of([annotated, text(`{"v":1}`)], { structuredContent })),
        [json, annotated] as never
      )
      const only = { ...text("five"), ...more }
      assert.lengthOf(convert(ToolOutput.make(), of([only], { structuredContent: { result: "five" } })), 2)
    }
  })

  it("appends structured content unless a text is all of it", () => {
    const append = ToolOutput.make({ structured: "append" })
    const appended = (said: string, structuredContent: object) =>
      convert(append, of([text(said)], { structuredContent })).length === 2
    assert.isTrue(appended("true", { deleted: true }))
    assert.isTrue(appended("five", { result: "five" }))
    const exact = `{"v":12345678901234567890}`
    assert.isTrue(appended(exact, JSON.parse(exact) as object))
    assert.isFalse(appended(`{ "deleted": true }`, { deleted: true }))
  })

  it("appends structured content where no text repeats it, and ignores it if told so", () => {
    const structuredContent = { a: 1 }
    const json = { type: "json", value: structuredContent }
    const append = ToolOutput.make({ structured: "append" })
    assert.deepStrictEqual(
      convert(append, of([text("one")], { structuredContent })),
      [text("one"), json] as never
    )
    assert.deepStrictEqual(convert(append, of([text(`{"a":1}`)], { structuredContent })), [text(`{"a":1}`)] as never)
    assert.deepStrictEqual(
      convert(ToolOutput.make({ structured: "ignore" }), of([text("one")], { structuredContent })),
      [text("one")] as never
    )
  })

  it("keeps every text of a failure", () => {
    const result = of([text(`{"a":1}`), text("why")], { structuredContent: { b: 2 }, isError: true })
    assert.deepStrictEqual(
      convert(ToolOutput.make(), result),
      [text(`{"a":1}`), text("why"), { type: "json", value: { b: 2 } }] as never
    )
  })

  it("unwraps a single part, and nothing else", () => {
    const unwrap = ToolOutput.make({ single: "unwrap" })
    assert.deepStrictEqual(convert(unwrap, of([image])), image as never)
    assert.deepStrictEqual(convert(unwrap, of([])), [])
    assert.deepStrictEqual(convert(unwrap, of([text("a"), text("b")])), [text("a"), text("b")] as never)
  })

  it("has empty structured content, and content that the server left out", () => {
    assert.deepStrictEqual(convert(ToolOutput.make(), resultOf({})), [])
    assert.deepStrictEqual(
      convert(ToolOutput.make(), resultOf({ structuredContent: {} })),
      [{ type: "json", value: {} }]
    )
  })
})

describe("raw", () => {
  it("is the result", () => {
    const result = of(every, { _meta: { a: 1 }, isError: true })
    assert.strictEqual(convert(ToolOutput.raw, result), result)
  })
})

describe("text", () => {
  it("names what is no text, with all that can be said of it", () => {
    assert.strictEqual(
      convert(ToolOutput.text, of(every)),
      [
        "hello",
        "[image image/png]",
        "[audio audio/wav]",
        "[resource https://a.test/r?id=5#top] Report: Of May",
        "[resource file:///a.txt]",
        "contents",
        "[resource file:///a.bin application/zip]",
        "[resource file:///none]",
        `{"type":"video","frames":[1,2],"toJSON":"no function"}`
      ].join("\n")
    )
  })

  it("says of links what servers leave in them", () => {
    const linked = (fields: object) => convert(ToolOutput.text, of([{ type: "resource_link", uri: "a:b", ...fields }]))
    assert.strictEqual(linked({}), "[resource a:b]")
    assert.strictEqual(linked({ name: "n" }), "[resource a:b] n")
    assert.strictEqual(
      linked({ name: "n", title: 5, description: {}, mimeType: "text/css" }),
      "[resource a:b text/css] n"
    )
    assert.strictEqual(linked({ name: 5, description: "d" }), "[resource a:b] d")
  })

  it("writes malformed blocks as JSON", () => {
    for (const block of malformed) {
      assert.strictEqual(convert(ToolOutput.text, of([block])), JSON.stringify(block))
    }
  })

  it("has structured content as JSON, and says that the tool failed", () => {
    assert.strictEqual(
      convert(ToolOutput.text, of([text(`{"a":1}`), text("b")], { structuredContent: { a: 1 } })),
      `{"a":1}\nb`
    )
    assert.strictEqual(convert(ToolOutput.text, of([text("why")], { isError: true })), "Error: why")
    assert.strictEqual(convert(ToolOutput.text, of([])), "")
  })
})

describe("openAiAgents", () => {
  const plain = ToolOutput.openAiAgents()
  const structured = ToolOutput.openAiAgents({ useStructuredContent: true })

  it("1.13: one item without a list, none or several in one", () => {
    assert.deepStrictEqual(convert(plain, of([text("a")])), { type: "text", text: "a" })
    assert.deepStrictEqual(convert(plain, of([])), [])
    assert.deepStrictEqual(convert(plain, of([text("a"), image])), [
      { type: "text", text: "a" },
      { type: "image", image_url: "data:image/png;base64,aW1n" }
    ])
  })

  it("1.13: text and image items lose what else is in their block; every other kind is its JSON", () => {
    assert.deepStrictEqual(convert(plain, of([{ ...text("a"), annotations: { priority: 1 }, _meta: {} }])), {
      type: "text",
      text: "a"
    })
    for (const block of [audio, link, embedded, blob, hollow, unknown, ...malformed]) {
      assert.deepStrictEqual(convert(plain, of([block])), { type: "text", text: JSON.stringify(block) })
    }
  })

  it("1.13: structured content by option, alone, if it is not empty and the tool did not fail", () => {
    const rest = { structuredContent: { a: 1 } }
    assert.strictEqual(convert(structured, of([text("x"), image], rest)), `{"a":1}`)
    assert.deepStrictEqual(convert(plain, of([text("x")], rest)), { type: "text", text: "x" })
    assert.deepStrictEqual(convert(structured, of([text("x")], { structuredContent: {} })), { type: "text", text: "x" })
    assert.deepStrictEqual(
      convert(structured, of([text("x")], { ...rest, isError: true })),
      { type: "text", text: "x" }
    )
  })
})

describe("ohMyPi", () => {
  it("1A.7: the texts in one with blank lines between, images beside it, resources with their URI", () => {
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([text("a"), image, text("b"), embedded])), [
      { type: "text", text: "a\n\nb\n\n[Resource: file:///a.txt]\ncontents" },
      image
    ] as never)
  })

  it("1A.7: structured content as fenced JSON, unless a text deeply equals it", () => {
    const structuredContent = { a: { b: 1 } }
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([text("x")], { structuredContent })), [
      { type: "text", text: "x\n\n```json\n{\n  \"a\": {\n    \"b\": 1\n  }\n}\n```" }
    ])
    assert.deepStrictEqual(
      convert(ToolOutput.ohMyPi, of([text(`{"a": {"b": 1}}`)], { structuredContent })),
      [text(`{"a": {"b": 1}}`)] as never
    )
    assert.deepStrictEqual(
      convert(ToolOutput.ohMyPi, resultOf({ structuredContent: {} })),
      [text("```json\n{}\n```")] as never
    )
  })

  it("1A.7: a prefix where the tool failed; nothing where there is nothing", () => {
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([text("a")], { isError: true })), [text("Error: a")] as never)
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([image], { isError: true })), [
      text("Error: "),
      image
    ] as never)
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([])), [])
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([image])), [image] as never)
  })

  it("3B.15: audio, links and blobs, which that system loses, are named", () => {
    assert.deepStrictEqual(convert(ToolOutput.ohMyPi, of([audio, blob, { type: "image" }])), [
      text("[audio audio/wav]\n\n[resource file:///a.bin application/zip]\n\n{\"type\":\"image\"}")
    ] as never)
  })
})

describe("uiPath", () => {
  it("1B.4: always a list, items without nulls at any depth, structured content and isError left out", () => {
    const items = [
      { ...text("a"), annotations: null, _meta: { kept: null } },
      { type: "resource", resource: { uri: "file:///a", text: "t", mimeType: null }, annotations: { audience: null } },
      { ...link, icons: [{ src: "i", sizes: null }, null] }
    ]
    assert.deepStrictEqual(convert(ToolOutput.uiPath, of(items, { structuredContent: { a: 1 }, isError: true })), [
      { ...text("a"), _meta: { kept: null } },
      { type: "resource", resource: { uri: "file:///a", text: "t" }, annotations: {} },
      { ...link, icons: [{ src: "i" }, null] }
    ])
    assert.deepStrictEqual(convert(ToolOutput.uiPath, of([])), [])
  })

  it("keeps a key __proto__ as a key", () => {
    const content: unknown = JSON.parse(`[{"type":"x","__proto__":{"polluted":1}}]`)
    const [item] = convert(ToolOutput.uiPath, of(content as ReadonlyArray<unknown>))
    assert.strictEqual(JSON.stringify(item), `{"type":"x","__proto__":{"polluted":1}}`)
    assert.strictEqual((item as { polluted?: unknown }).polluted, undefined)
  })
})

describe("pydanticAi", () => {
  const pydanticAi = ToolOutput.pydanticAi
  const structuredContent = { a: 1 }

  it("1C.4: structured content of a success where everything is text, an empty one too", () => {
    assert.deepStrictEqual(convert(pydanticAi, of([text("x")], { structuredContent })), { a: 1 })
    assert.deepStrictEqual(convert(pydanticAi, of([], { structuredContent: {} })), {})
    assert.deepStrictEqual(convert(pydanticAi, of([text("x"), image], { structuredContent })), [
      "x",
      { kind: "binary", data: "aW1n", media_type: "image/png" }
    ])
  })

  it("3C.6: what is alone in `result` is unwrapped, as that system does", () => {
    assert.strictEqual(convert(pydanticAi, of([], { structuredContent: { result: 5 } })), 5)
    assert.strictEqual(convert(pydanticAi, of([], { structuredContent: { result: null } })), null)
    assert.deepStrictEqual(convert(pydanticAi, of([], { structuredContent: { result: 5, b: 1 } })), { result: 5, b: 1 })
    assert.deepStrictEqual(convert(pydanticAi, of([], { structuredContent: { other: 5 } })), { other: 5 })
  })

  it("1C.4: one part alone, several in a list, none an empty list", () => {
    assert.strictEqual(convert(pydanticAi, of([text("x")])), "x")
    assert.deepStrictEqual(convert(pydanticAi, of([text("x"), text("y")])), ["x", "y"])
    assert.deepStrictEqual(convert(pydanticAi, of([])), [])
  })

  it("1C.4: text that begins as JSON is read as such, and stays a text where it is none", () => {
    assert.deepStrictEqual(convert(pydanticAi, of([text(`{"a":1}`)])), { a: 1 })
    assert.deepStrictEqual(convert(pydanticAi, of([text("[1]")])), [1])
    assert.strictEqual(convert(pydanticAi, of([text("[1")])), "[1")
    assert.strictEqual(convert(pydanticAi, of([text(" [1]")])), " [1]")
    assert.strictEqual(convert(pydanticAi, of([text("5")])), "5")
    const tooDeep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`
    assert.strictEqual(convert(pydanticAi, of([text(tooDeep)])), tooDeep)
  })

  it("1C.4: audio, resources and links", () => {
    assert.deepStrictEqual(convert(pydanticAi, of([audio, embedded, blob, link])), [
      { kind: "binary", data: "c25k", media_type: "audio/wav" },
      "contents",
      { kind: "binary", data: "emlw", media_type: "application/zip" },
      "https://a.test/r?id=5#top"
    ])
    assert.deepStrictEqual(
      convert(pydanticAi, of([{ type: "resource", resource: { uri: "a:b", blob: "eA==", mimeType: null } }])),
      { kind: "binary", data: "eA==", media_type: "application/octet-stream" }
    )
    assert.deepStrictEqual(convert(pydanticAi, of([hollow])), hollow)
  })

  it("1C.3: of a failure the structured content as JSON, else its texts, else that there is one", () => {
    const tool = { name: "add", inputSchema: {} }
    const isError = true
    assert.strictEqual(convert(pydanticAi, of([text("x")], { structuredContent, isError }), tool), `{"a":1}`)
    assert.strictEqual(convert(pydanticAi, of([text("x"), image, text("y")], { isError }), tool), "x\ny")
    assert.strictEqual(convert(pydanticAi, of([image], { isError }), tool), "Tool 'add' returned an error")
  })
})

describe("fastMcp", () => {
  const tool = (outputSchema?: McpProtocol.JsonObject): McpProtocol.Tool => ({
    name: "t",
    inputSchema: {},
    outputSchema
  })

  it("1D.3: content, structured content, meta, whether it failed, and data", () => {
    const result = of([text("5")], { structuredContent: { result: 5 }, _meta: { m: 1 } })
    assert.deepStrictEqual(convert(ToolOutput.fastMcp, result, tool()), {
      content: result.content,
      structuredContent: { result: 5 },
      meta: { m: 1 },
      isError: false,
      data: { result: 5 }
    })
  })

  it("1D.3: data is unwrapped where the schema says that it is wrapped, and only there", () => {
    const result = of([], { structuredContent: { result: 5 } })
    assert.strictEqual(convert(ToolOutput.fastMcp, result, tool({ "x-fastmcp-wrap-result": true })).data, 5)
    assert.deepStrictEqual(convert(ToolOutput.fastMcp, result, tool({ "x-fastmcp-wrap-result": "true" })).data, {
      result: 5
    })
    assert.deepStrictEqual(convert(ToolOutput.fastMcp, result).data, { result: 5 })
  })

  it("3D.5, 3D.6: a failure without texts is a value, and an empty object is not lost", () => {
    assert.deepStrictEqual(convert(ToolOutput.fastMcp, resultOf({ isError: true, structuredContent: {} })), {
      content: [],
      structuredContent: {},
      meta: undefined,
      isError: true,
      data: {}
    })
  })
})

describe("every preset", () => {
  const key = FastCheck.oneof(
    FastCheck.constantFrom(
      "__proto__",
      "constructor",
      "toJSON",
      "toString",
      "valueOf",
      "type",
      "text",
      "data",
      "mimeType",
      "resource",
      "uri",
      "blob",
      "name",
      "title",
      "description",
      "value",
      "result",
      "_meta"
    ),
    FastCheck.string({ maxLength: 3 })
  )
  const { json } = FastCheck.letrec((tie) => ({
    json: FastCheck.oneof(
      { maxDepth: 4 },
      FastCheck.constantFrom(null, true, 0, 1e21, "", "a", "{", `{"a":1}`, "[1]", "image/png"),
      FastCheck.string({ unit: "binary", maxLength: 4 }),
      FastCheck.array(tie("json"), { maxLength: 3 }),
      FastCheck.dictionary(key, tie("json"), { maxKeys: 4 })
    )
  }))
  const kind = FastCheck.constantFrom("text", "image", "audio", "resource", "resource_link", "json", "video", "")
  const block = FastCheck.tuple(kind, FastCheck.dictionary(key, json, { maxKeys: 5 })).map(([type, rest]) => ({
    ...rest,
    type
  }))
  const result = FastCheck.record({
    content: FastCheck.array(block, { maxLength: 4 }),
    structuredContent: FastCheck.dictionary(key, json, { maxKeys: 3 }),
    isError: FastCheck.boolean(),
    _meta: FastCheck.dictionary(key, json, { maxKeys: 2 })
  }, { requiredKeys: [] })

  it("is total over whatever `callTool` lets in, and leaves it as it was", () => {
    FastCheck.assert(
      FastCheck.property(result, json, (value, schema) => {
        const result = resultOf(value)
        const before = JSON.stringify(result)
        const tool = { name: "t", inputSchema: {}, outputSchema: schema as McpProtocol.JsonObject }
        for (const preset of presets) {
          preset.convert(result, undefined)
          // What an agent gets can be written down.
          assert.notStrictEqual(JSON.stringify(preset.convert(result, tool)), undefined, preset.name)
        }
        assert.strictEqual(JSON.stringify(result), before)
      }),
      { numRuns: 1000 }
    )
  })

  it("loses no block in parts, and no text in a text", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(block, { maxLength: 4 }),
        FastCheck.dictionary(key, json),
        (content, value) => {
          const result = of(content, { structuredContent: value })
          const parts = convert(ToolOutput.make({ structured: "append" }), result)
          for (const one of result.content) assert.include(parts, one)
          const said = convert(ToolOutput.text, of(content))
          for (const one of content) {
            const text: unknown = (one as { text?: unknown }).text
            if (one.type === "text" && typeof text === "string") assert.include(said, text)
          }
        }
      ),
      { numRuns: 500 }
    )
  })

  it("takes huge texts, many blocks and deep values in time", () => {
    const huge = "x".repeat(4_000_000)
    const deep: unknown = JSON.parse(`${"{\"a\":".repeat(200)}1${"}".repeat(200)}`)
    const result = of(
      [
        text(huge),
        text(`[${"[".repeat(100_000)}`),
        { ...image, data: huge },
        ...Array.from({ length: 10_000 }, () => link)
      ],
      { structuredContent: deep }
    )
    const started = processorMillis()
    for (const preset of presets) preset.convert(result, undefined)
    assert.isBelow(processorMillis() - started, 5000)
    assert.include(convert(ToolOutput.text, result), huge)
  })

  it("looks for numbers in huge texts in time", () => {
    const zeros = `1${"0".repeat(500_000)}`
    const items = Array.from({ length: 100_000 }, (_, i) => i + 0.123456789)
    const structuredContent = { items, escaped: "\\\"".repeat(500_000) }
    const json = JSON.stringify(structuredContent)
    const said = [json, `[0.${zeros}1]`, `[${zeros}1]`, `[0.${zeros}]`].map(text)
    const result = of(said, { structuredContent })
    const numbers = of([text(`[0.${zeros}]`)], { structuredContent: { v: [0.1] } })
    const started = processorMillis()
    assert.lengthOf(convert(ToolOutput.make(), result), said.length)
    assert.lengthOf(convert(ToolOutput.make(), numbers), 1)
    assert.isBelow(processorMillis() - started, 2000)
  })
})
