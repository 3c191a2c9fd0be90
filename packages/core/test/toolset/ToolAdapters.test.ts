import { assert, describe, it } from "@effect/vitest"
import { McpError, type Toolset } from "@mcp-runtime/core"
import * as ToolAdapters from "@mcp-runtime/core/ToolAdapters"
import * as ToolOutput from "@mcp-runtime/core/ToolOutput"
import { FastCheck } from "effect"

const inputSchema = Object.freeze({
  type: "object",
  properties: Object.freeze({ q: Object.freeze({ type: "string" }) }),
  required: Object.freeze(["q"])
})

const search: ToolAdapters.Describable = {
  name: "web__search",
  title: "Search",
  description: "Searches the web",
  inputSchema,
  strict: false,
  outputSchema: { type: "object" },
  annotations: { readOnlyHint: true }
}

const add: ToolAdapters.Describable = {
  name: "math__add",
  description: "",
  inputSchema: { type: "object", properties: {}, required: [], additionalProperties: false },
  strict: true
}

const call = { id: "call_1", name: "web__search" }

type Parts = ReadonlyArray<ToolOutput.Part>

const text = (text: string): ToolOutput.Part => ({ type: "text", text })
const png: ToolOutput.Part = { type: "image", data: "aW1n", mimeType: "image/png" }
const jpg: ToolOutput.Part = { type: "image", data: "aW1n", mimeType: "IMAGE/JPG; q=1" }
const svg: ToolOutput.Part = { type: "image", data: "aW1n", mimeType: "image/svg+xml" }
const emptyPng: ToolOutput.Part = { type: "image", data: "", mimeType: "image/png" }
const audio: ToolOutput.Part = { type: "audio", data: "c25k", mimeType: "audio/wav" }
const json: ToolOutput.Part = { type: "json", value: { a: 1 } }
const resource = (resource: object): ToolOutput.Part => ({ type: "resource", resource })
const pdf = resource({ uri: "https://a.test/docs/May report.pdf", mimeType: "application/pdf", blob: "cGRm" })
const webp = resource({ uri: "file:///a", mimeType: "image/webp", blob: "d2Vi" })
const zip = resource({ uri: "file:///a.zip", mimeType: "application/zip", blob: "emlw" })
const embedded = resource({ uri: "file:///a.txt", text: "contents", mimeType: "image/png", blob: "aW1n" })

const all: Parts = [text("a"), png, jpg, svg, emptyPng, audio, json, pdf, webp, zip, embedded]

const adapters = {
  openAi: ToolAdapters.openAi,
  openAiChat: ToolAdapters.openAiChat,
  anthropic: ToolAdapters.anthropic,
  vercel: ToolAdapters.vercel
} as const

describe("openAi", () => {
  const { calls, result, tools } = ToolAdapters.openAi

  it("writes function tools, with strict said in both cases", () => {
    assert.deepStrictEqual(tools([search, add]), [
      {
        type: "function",
        name: "web__search",
        description: "Searches the web",
        parameters: inputSchema,
        strict: false
      },
      { type: "function", name: "math__add", description: "", parameters: add.inputSchema, strict: true }
    ] as never)
    assert.strictEqual(tools([search])[0]!.parameters, inputSchema as never)
  })

  it("reads the calls of a response or of its output, and nothing else", () => {
    const output = [
      { type: "reasoning", id: "rs_1", summary: [] },
      {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "web__search",
        arguments: `{"q":"x"}`,
        status: "completed"
      },
      { type: "message", content: [] },
      { type: "custom_tool_call", call_id: "call_2", name: "code", input: "x" },
      { type: "function_call", call_id: "call_3", name: "math__add", arguments: "{" }
    ]
    const expected = [
      { id: "call_1", name: "web__search", arguments: `{"q":"x"}` },
      { id: "call_3", name: "math__add", arguments: "{" }
    ]
    assert.deepStrictEqual(calls({ id: "resp_1", output }), expected)
    assert.deepStrictEqual(calls(output), expected)
  })

  it("writes texts as one, and images and PDF files as they are", () => {
    assert.deepStrictEqual(result(call, "done"), { type: "function_call_output", call_id: "call_1", output: "done" })
    assert.strictEqual(result(call, []).output, "")
    assert.strictEqual(result(call, [text("a"), json, audio]).output, `a\n{"a":1}\n[audio audio/wav]`)
    assert.deepStrictEqual(result(call, all).output, [
      { type: "input_text", text: "a" },
      { type: "input_image", image_url: "data:image/png;base64,aW1n" },
      { type: "input_image", image_url: "data:image/jpeg;base64,aW1n" },
      { type: "input_text", text: "[image image/svg+xml]" },
      { type: "input_text", text: "[image image/png]" },
      { type: "input_text", text: "[audio audio/wav]" },
      { type: "input_text", text: `{"a":1}` },
      { type: "input_file", filename: "May report.pdf", file_data: "data:application/pdf;base64,cGRm" },
      { type: "input_image", image_url: "data:image/webp;base64,d2Vi" },
      { type: "input_text", text: "[resource file:///a.zip application/zip]" },
      { type: "input_text", text: "[resource file:///a.txt]\ncontents" }
    ])
  })

  it("says of content that it is of a failure, and lets a text speak for itself", () => {
    assert.strictEqual(result(call, [text("why")], { isError: true }).output, "Error:\nwhy")
    assert.strictEqual(result(call, "Error: why", { isError: true }).output, "Error: why")
    assert.deepStrictEqual(result(call, [png], { isError: true }).output, [
      { type: "input_text", text: "Error:" },
      { type: "input_image", image_url: "data:image/png;base64,aW1n" }
    ])
  })

  it("finds a name for every file", () => {
    const named = (uri: string) =>
      result(call, [resource({ uri, mimeType: "application/pdf", blob: "cGRm" })]).output[0] as { filename?: string }
    assert.strictEqual(named("a.pdf").filename, "a.pdf")
    assert.strictEqual(named("file:///x/A.PDF").filename, "A.PDF")
    assert.strictEqual(named("https://a.test/?file=1").filename, "resource.pdf")
    assert.strictEqual(named("").filename, "resource.pdf")
    assert.strictEqual(named(`${"x".repeat(1_000_000)}.pdf`).filename!.length, 132)
  })
})

describe("openAiChat", () => {
  const { calls, result, tools } = ToolAdapters.openAiChat

  it("writes tools, with strict said", () => {
    assert.deepStrictEqual(tools([search]), [{
      type: "function",
      function: {
        name: "web__search",
        description: "Searches the web",
        parameters: inputSchema as never,
        strict: false
      }
    }])
  })

  it("reads the calls of a message or of its tool_calls", () => {
    const list = [
      { id: "call_1", type: "function", function: { name: "web__search", arguments: "{}" } },
      { id: "call_2", type: "custom", custom: { name: "code", input: "x" } }
    ]
    const expected = [{ id: "call_1", name: "web__search", arguments: "{}" }]
    assert.deepStrictEqual(calls({ role: "assistant", content: null, tool_calls: list }), expected)
    assert.deepStrictEqual(calls(list), expected)
    assert.deepStrictEqual(calls({ role: "assistant", content: "no calls" }), [])
  })

  it("writes everything as text, since that API takes nothing else", () => {
    assert.deepStrictEqual(result(call, [text("a"), png, pdf]), {
      role: "tool",
      tool_call_id: "call_1",
      content: "a\n[image image/png]\n[resource https://a.test/docs/May report.pdf application/pdf]"
    })
    assert.strictEqual(result(call, [text("a")], { isError: true }).content, "Error:\na")
  })
})

describe("anthropic", () => {
  const { calls, result, tools } = ToolAdapters.anthropic

  it("writes tools", () => {
    assert.deepStrictEqual(tools([search]), [
      { name: "web__search", description: "Searches the web", input_schema: inputSchema as never }
    ])
  })

  it("reads the calls of a message or of its content, but not those that the API runs itself", () => {
    const content = [
      { type: "text", text: "I will search" },
      { type: "tool_use", id: "toolu_1", name: "web__search", input: { q: "x" } },
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }
    ]
    const expected = [{ id: "toolu_1", name: "web__search", arguments: { q: "x" } }]
    assert.deepStrictEqual(calls({ role: "assistant", content }), expected)
    assert.deepStrictEqual(calls(content), expected)
  })

  it("writes content as that API takes it, without blank texts, which it refuses", () => {
    assert.deepStrictEqual(result(call, [...all, text(" \n")]), {
      type: "tool_result",
      tool_use_id: "call_1",
      content: [
        { type: "text", text: "a" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1n" } },
        { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "aW1n" } },
        { type: "text", text: "[image image/svg+xml]" },
        { type: "text", text: "[image image/png]" },
        { type: "text", text: "[audio audio/wav]" },
        { type: "text", text: `{"a":1}` },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "cGRm" } },
        { type: "image", source: { type: "base64", media_type: "image/webp", data: "d2Vi" } },
        { type: "text", text: "[resource file:///a.zip application/zip]" },
        { type: "text", text: "[resource file:///a.txt]\ncontents" }
      ]
    })
    assert.deepStrictEqual(result(call, []), { type: "tool_result", tool_use_id: "call_1" })
    assert.deepStrictEqual(result(call, ""), { type: "tool_result", tool_use_id: "call_1" })
  })

  it("writes a failure as text alone, and never without any", () => {
    assert.deepStrictEqual(result(call, [text("why"), png], { isError: true }), {
      type: "tool_result",
      tool_use_id: "call_1",
      content: [{ type: "text", text: "why" }, { type: "text", text: "[image image/png]" }],
      is_error: true
    })
    assert.deepStrictEqual(result(call, "why", { isError: true }).content, [{ type: "text", text: "why" }])
    assert.deepStrictEqual(result(call, [], { isError: true }).content, [
      { type: "text", text: "The tool failed and does not say why." }
    ])
    assert.notProperty(result(call, "done", { isError: false }), "is_error")
  })
})

describe("vercel", () => {
  const { calls, result, tools } = ToolAdapters.vercel

  /** As the AI SDK tells its own schemas from others: provider-utils 3 (ai 5) to 5 (ai 7). */
  const isSchema = (u: unknown): boolean =>
    typeof u === "object" && u !== null && Symbol.for("vercel.ai.schema") in u &&
    (u as Record<symbol, unknown>)[Symbol.for("vercel.ai.schema")] === true && "jsonSchema" in u && "validate" in u

  it("makes a record of tools with schemas that the AI SDK knows for its own", () => {
    const made = tools([search, add])
    assert.deepStrictEqual(Object.keys(made), ["web__search", "math__add"])
    const { inputSchema: schema, toModelOutput, ...rest } = made.web__search!
    assert.deepStrictEqual(rest, {
      type: "dynamic",
      title: "Search",
      description: "Searches the web",
      strict: false
    })
    assert.isFunction(toModelOutput)
    assert.isTrue(isSchema(schema))
    assert.strictEqual(schema.jsonSchema, inputSchema as never)
    assert.strictEqual(schema.validate, undefined)
    assert.notProperty(made.math__add!, "title")
    assert.notProperty(made.math__add!, "execute")
  })

  it("takes schemas from the AI SDK itself, if it is given", () => {
    const made = tools([search], { jsonSchema: (schema: object) => ({ theirs: schema }) })
    assert.deepStrictEqual(made.web__search!.inputSchema, { theirs: inputSchema })
  })

  it("has an own key for every name, whatever it is", () => {
    const names = ["__proto__", "constructor", "toString"]
    const made = tools(names.map((name) => ({ ...add, name })))
    assert.deepStrictEqual(Object.keys(made), names)
    for (const name of names) assert.strictEqual(made[name]!.type, "dynamic")
  })

  it("runs a call with its name, id, arguments and signal", async () => {
    const seen: Array<unknown> = []
    const made = tools([search], {
      run: async (call, options) => {
        seen.push(call, options.signal)
        return "done"
      }
    })
    const { signal } = new AbortController()
    const options = { toolCallId: "call_1", abortSignal: signal, messages: [] }
    assert.strictEqual(await made.web__search!.execute!({ q: "x" }, options), "done")
    assert.deepStrictEqual(seen, [{ id: "call_1", name: "web__search", arguments: { q: "x" } }, signal])
  })

  it("fails the promise with what a run throws or fails with", async () => {
    const boom = new Error("boom")
    const failing = [
      () => {
        throw boom
      },
      () => Promise.reject(boom)
    ]
    for (const run of failing) {
      const execute = tools([search], { run }).web__search!.execute!
      const outcome = execute({}, { toolCallId: "1" }).then(() => undefined, (error: unknown) => error)
      assert.strictEqual(await outcome, boom)
    }
  })

  it("tells the model what a run answered", () => {
    const said = (output: unknown) => tools([search]).web__search!.toModelOutput({ output })
    assert.deepStrictEqual(said("done"), { type: "text", value: "done" })
    assert.deepStrictEqual(said([text("a"), text("b")]), { type: "text", value: "a\nb" })
    assert.deepStrictEqual(said([]), { type: "text", value: "" })
    assert.deepStrictEqual(said([json]), { type: "json", value: { a: 1 } })
    assert.deepStrictEqual(said([text("a"), png, pdf, zip]), {
      type: "content",
      value: [
        { type: "text", text: "a" },
        { type: "image-data", data: "aW1n", mediaType: "image/png" },
        { type: "file-data", data: "cGRm", mediaType: "application/pdf", filename: "May report.pdf" },
        { type: "text", text: "[resource file:///a.zip application/zip]" }
      ]
    })
    assert.deepStrictEqual(said({ any: 1 }), { type: "json", value: { any: 1 } })
    assert.deepStrictEqual(said([1, 2]), { type: "json", value: [1, 2] })
    assert.deepStrictEqual(said(undefined), { type: "json", value: null })
  })

  it("reads the calls of a result or of its toolCalls, but not those that a provider runs itself", () => {
    const toolCalls = [
      { type: "tool-call", toolCallId: "1", toolName: "web__search", input: { q: "x" } },
      { type: "tool-call", toolCallId: "2", toolName: "web_search", input: {}, providerExecuted: true },
      { toolCallId: "3", toolName: "math__add", input: "{}" },
      { type: "tool-result", toolCallId: "1", toolName: "web__search", output: {} }
    ]
    const expected = [
      { id: "1", name: "web__search", arguments: { q: "x" } },
      { id: "3", name: "math__add", arguments: "{}" }
    ]
    assert.deepStrictEqual(calls({ text: "", toolCalls }), expected)
    assert.deepStrictEqual(calls(toolCalls), expected)
  })

  it("writes results, failures as such", () => {
    assert.deepStrictEqual(result(call, [text("a")]), {
      type: "tool-result",
      toolCallId: "call_1",
      toolName: "web__search",
      output: { type: "text", value: "a" }
    })
    assert.deepStrictEqual(result(call, [text("a"), png], { isError: true }).output, {
      type: "error-text",
      value: "a\n[image image/png]"
    })
    assert.deepStrictEqual(result(call, "why", { isError: true }).output, { type: "error-text", value: "why" })
  })
})

describe("what a call gives", () => {
  const { anthropic, openAi, openAiChat, vercel } = ToolAdapters
  const error = new McpError.ToolNotFound({
    server: "a",
    operation: "tools/call",
    executed: "no",
    tool: "x",
    detail: ""
  })
  const failure: Toolset.ToolResult<Parts> = { _tag: "Failure", tool: undefined, text: "It failed.", error }
  const rejected: Toolset.ToolResult<Parts> = { _tag: "Rejected", text: "Nobody wants it.", reason: "" }
  const success = <A>(output: A, isError: boolean): Toolset.ToolResult<A> => ({
    _tag: "Success",
    tool: undefined as never,
    output,
    isError,
    result: { content: [], isError },
    customData: undefined
  })

  it("is told as its output", () => {
    for (const { result } of Object.values(adapters)) {
      for (const output of ["done", [], all]) {
        assert.deepStrictEqual(result(call, success(output, false)), result(call, output))
        assert.deepStrictEqual(result(call, success(output, true)), result(call, output, { isError: true }))
      }
    }
  })

  it("is told as a failure where a text is in the place of a result", () => {
    for (const told of [failure, rejected]) {
      const { text } = told
      for (const { result } of Object.values(adapters)) {
        assert.deepStrictEqual(result(call, told), result(call, text, { isError: true }))
      }
      assert.isTrue(anthropic.result(call, told).is_error)
      assert.deepStrictEqual(vercel.result(call, told).output, { type: "error-text", value: text })
      assert.strictEqual(openAi.result(call, told).output, text)
      assert.strictEqual(openAiChat.result(call, told).content, text)
    }
  })

  it("is what the caller says, where the caller says it", () => {
    for (const { result } of Object.values(adapters)) {
      assert.deepStrictEqual(result(call, failure, { isError: false }), result(call, "It failed."))
      assert.deepStrictEqual(result(call, success("x", false), { isError: true }), result(call, "x", { isError: true }))
      assert.deepStrictEqual(result(call, failure, {}), result(call, failure))
      assert.deepStrictEqual(result(call, failure, { isError: undefined }), result(call, failure))
    }
  })

  it("may be what a tool of the AI SDK runs, also after it was stored as JSON", () => {
    const said = (output: unknown) => vercel.tools([search]).web__search!.toModelOutput({ output })
    const stored = (output: unknown): unknown => JSON.parse(JSON.stringify(output))
    for (const as of [(_: unknown) => _, stored]) {
      assert.deepStrictEqual(said(as(failure)), { type: "error-text", value: "It failed." })
      assert.deepStrictEqual(said(as(rejected)), { type: "error-text", value: "Nobody wants it." })
      assert.deepStrictEqual(said(as(success("done", false))), { type: "text", value: "done" })
      assert.deepStrictEqual(said(as(success([text("why")], true))), { type: "error-text", value: "why" })
      assert.deepStrictEqual(said(as(success({ any: 1 }, false))), { type: "json", value: { any: 1 } })
      assert.deepStrictEqual(said(as(success({ any: 1 }, true))), { type: "error-json", value: { any: 1 } })
    }
    for (const other of [{ _tag: "Failure" }, { _tag: "Success", output: 1 }, { _tag: "Other", text: "x" }]) {
      assert.deepStrictEqual(said(other), { type: "json", value: other })
    }
  })
})

describe("every adapter", () => {
  it("makes the schema of an object of any schema, and leaves the original alone", () => {
    const schemas: ReadonlyArray<readonly [object, object]> = [
      [{}, { type: "object", properties: {} }],
      [{ properties: { a: {} } }, { type: "object", properties: { a: {} } }],
      [{ type: ["object", "null"] }, { type: "object", properties: {} }],
      [{ type: "object" }, { type: "object", properties: {} }],
      [{ type: "string" }, { type: "object", properties: {} }]
    ]
    for (const [schema, expected] of schemas) {
      const given = JSON.stringify(schema)
      const tool = { ...add, inputSchema: Object.freeze(schema) as never }
      assert.deepStrictEqual(ToolAdapters.openAi.tools([tool])[0]!.parameters, expected as never)
      assert.deepStrictEqual(ToolAdapters.openAiChat.tools([tool])[0]!.function.parameters, expected as never)
      assert.deepStrictEqual(ToolAdapters.anthropic.tools([tool])[0]!.input_schema, expected as never)
      assert.deepStrictEqual(
        ToolAdapters.vercel.tools([tool]).math__add!.inputSchema.jsonSchema,
        expected as never
      )
      assert.strictEqual(JSON.stringify(schema), given)
    }
  })

  it("takes tools from anything that can be iterated", () => {
    assert.lengthOf(ToolAdapters.anthropic.tools(new Set([search, add])), 2)
    assert.lengthOf(ToolAdapters.openAi.tools([]), 0)
  })

  it("answers calls that lack something with empty texts, so that each can be answered", () => {
    const empty = { id: "", name: "", arguments: "" }
    assert.deepStrictEqual(ToolAdapters.openAi.calls([{ type: "function_call", name: 5, arguments: null }]), [empty])
    assert.deepStrictEqual(ToolAdapters.openAiChat.calls([{ function: {} }]), [empty])
    assert.deepStrictEqual(ToolAdapters.anthropic.calls([{ type: "tool_use", id: null }]), [empty])
    assert.deepStrictEqual(ToolAdapters.vercel.calls([{}]), [empty])
  })

  it("keeps arguments that are no object as the JSON that they are, or as none", () => {
    const read = (input: unknown) => ToolAdapters.anthropic.calls([{ type: "tool_use", input }])[0]!.arguments
    assert.strictEqual(read([1, 2]), "[1,2]")
    assert.strictEqual(read(5), "5")
    assert.strictEqual(read(false), "false")
    assert.strictEqual(read(""), "")
    const cyclic: Array<unknown> = []
    cyclic.push(cyclic)
    for (const unwritable of [cyclic, 5n, () => 1, Symbol("s")]) {
      assert.strictEqual(read(unwritable), "<unwritable>")
    }
  })

  it("reads anything without throwing", () => {
    const likely = FastCheck.constantFrom("function_call", "tool_use", "tool-call", "output", "tool_calls", "content")
    const key = FastCheck.constantFrom(
      "type",
      "output",
      "tool_calls",
      "toolCalls",
      "content",
      "function",
      "arguments",
      "input",
      "id",
      "call_id",
      "__proto__"
    )
    const { answer } = FastCheck.letrec((tie) => ({
      answer: FastCheck.oneof(
        { maxDepth: 4 },
        likely,
        FastCheck.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 1 }),
        FastCheck.array(tie("answer"), { maxLength: 3 }),
        FastCheck.dictionary(key, tie("answer"), { maxKeys: 4 })
      )
    }))
    FastCheck.assert(
      FastCheck.property(answer, (answer) => {
        for (const { calls } of Object.values(adapters)) {
          for (const call of calls(answer)) {
            assert.isString(call.id)
            assert.isString(call.name)
            assert(typeof call.arguments === "string" || typeof call.arguments === "object")
          }
        }
      }),
      { numRuns: 2000 }
    )
  })

  it("writes any blocks without throwing, and leaves them as they were", () => {
    const field = FastCheck.oneof(FastCheck.jsonValue({ maxDepth: 2 }), FastCheck.constantFrom("image/png", "a.pdf"))
    const block = FastCheck.tuple(
      FastCheck.constantFrom("text", "image", "audio", "resource", "resource_link", "json", "video"),
      FastCheck.dictionary(FastCheck.constantFrom("text", "data", "mimeType", "uri", "value", "name"), field),
      FastCheck.option(FastCheck.dictionary(FastCheck.constantFrom("uri", "text", "blob", "mimeType"), field))
    ).map(([type, fields, resource]): ToolOutput.Part =>
      Object.freeze({ ...fields, ...(resource === null ? {} : { resource: Object.freeze(resource) }), type })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(block, { maxLength: 5 }), FastCheck.boolean(), (parts, isError) => {
        const before = JSON.stringify(parts)
        for (const { result } of Object.values(adapters)) {
          const options = { isError }
          assert.isObject(JSON.parse(JSON.stringify(result(call, Object.freeze(parts), options))))
        }
        assert.strictEqual(JSON.stringify(parts), before)
      }),
      { numRuns: 1000 }
    )
  })

  it("fits the outputs of make and text", () => {
    const result = { content: [{ type: "text", text: "a" }] } as const
    const outputs = [ToolOutput.make().convert(result, undefined), ToolOutput.text.convert(result, undefined)]
    for (const output of outputs) {
      assert.strictEqual(ToolAdapters.openAi.result(call, output).output, "a")
    }
  })
})
