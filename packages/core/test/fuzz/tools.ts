/**
 * Lists and results of hostile servers on their way to an agent: connection, catalogue, toolset.
 *
 * Holds: a listing ends, its names are different and such as models take, its schemas are there and the whole list is JSON;
 * every call with any arguments ends as a result or a typed error, and what a model reads is bounded where it is ours; the
 * same after the server says that its lists have changed. One bad tool costs no good one.
 */
import { McpConnection, type McpProtocol, ToolOutput, Toolset } from "@mcp-runtime/core"
import { Effect, Exit, FastCheck, Stream } from "effect"
import { freeze } from "../../src/internal/protocol/json.js"
import { holds, same } from "./kit/holds.js"
import { type Edit, edited, edits, type Hostile, hostile, json, made } from "./kit/hostile.js"
import { part } from "./kit/part.js"
import { simulate } from "./kit/virtual.js"
import * as Oracles from "./oracles.js"
import { resultsOf } from "./traffic.js"
import { Wire } from "./wire.js"

interface Input {
  /** From where in all tools that were recorded. */
  readonly from: number
  readonly changes: ReadonlyArray<Edit>
  /** Of the list after it has changed. */
  readonly changesThen: ReadonlyArray<Edit>
  readonly pages: number
  readonly result: number
  readonly resultChanges: ReadonlyArray<Edit>
  readonly args: ReadonlyArray<Hostile | "text" | "fitting">
  readonly schemas: "verbatim" | "strict" | "nullable"
  readonly validate: boolean
  readonly output: number
}

const outputs = [
  ToolOutput.make(),
  ToolOutput.make({ structured: "append", single: "list" }),
  ToolOutput.text,
  ToolOutput.openAiAgents(),
  ToolOutput.ohMyPi,
  ToolOutput.uiPath,
  ToolOutput.pydanticAi,
  ToolOutput.fastMcp
] as ReadonlyArray<ToolOutput.ToolOutput<unknown>>

const recorded = (resultsOf("tools/list") as ReadonlyArray<{ readonly tools: ReadonlyArray<McpProtocol.Tool> }>)
  .flatMap((_) => _.tools)
const results = resultsOf("tools/call")

/** It is always there, and nothing is wrong with it. */
const goodTool = { name: "good", inputSchema: { type: "object", properties: { a: { type: "string" } } } }
const goodResult = { content: [{ type: "text", text: "good" }] }

const input: FastCheck.Arbitrary<Input> = FastCheck.record({
  from: FastCheck.nat({ max: recorded.length - 1 }),
  changes: edits(6),
  changesThen: edits(2),
  pages: FastCheck.constantFrom(1, 1, 2, 20),
  result: FastCheck.nat({ max: results.length - 1 }),
  resultChanges: edits(3),
  args: FastCheck.array(
    FastCheck.oneof(
      hostile,
      json.map((value) => ({ value })),
      FastCheck.constantFrom("text" as const, "fitting" as const)
    ),
    { minLength: 1, maxLength: 2 }
  ),
  schemas: FastCheck.constantFrom("verbatim", "strict", "nullable"),
  validate: FastCheck.boolean(),
  output: FastCheck.nat({ max: outputs.length - 1 })
})

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "f", version: "1" }
}

/** A list that is not changed has one item that can be anything. */
const badTools = ({ args: [first], changes }: Input): ReadonlyArray<unknown> =>
  changes.length > 0 || first === undefined || typeof first === "string" ? [] : [made(first)]

/** Answers as a server of this input does. */
const serve = (wire: Wire, input: Input, listing: () => number) => (request: McpProtocol.JsonObject) => {
  const { id, method } = request
  const params = (request.params ?? {}) as McpProtocol.JsonObject
  const answer = (result: unknown) => wire.say({ jsonrpc: "2.0", id, result })
  switch (method) {
    case "initialize":
      return answer(initialized)
    case "tools/list": {
      const page = Number(params.cursor ?? 0)
      const changes = listing() === 0 ? input.changes : input.changesThen
      const result = edited(
        { tools: recorded.slice(input.from, input.from + 5) },
        page === 0 ? changes : []
      ) as McpProtocol.JsonObject
      const tools = Array.isArray(result?.tools) && page === 0
        ? [...result.tools, ...badTools(input), goodTool]
        : result?.tools
      return answer({
        ...result,
        ...(tools !== undefined && { tools: page === 0 ? tools : [{ ...goodTool, name: `page${page}` }] }),
        ...(page + 1 < input.pages && { nextCursor: String(page + 1) })
      })
    }
    case "tools/call":
      return answer(params.name === "good" ? goodResult : edited(results[input.result], input.resultChanges))
    default:
      return wire.say({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } })
  }
}

const name = /^[A-Za-z0-9_-]{1,64}$/

const isList = ({ tools }: Toolset.ToolList): void => {
  same(new Set(tools.map((_) => _.name)).size, tools.length, "how many different names")
  for (const tool of tools) {
    holds(name.test(tool.name), `the name ${JSON.stringify(tool.name)}`)
    holds(typeof tool.inputSchema === "object" && tool.inputSchema !== null, "a tool without a schema")
    holds(typeof tool.description === "string", "a description that is no text")
    holds(freeze(tool.definition), "a tool that is nested too deeply")
    JSON.stringify(tool)
  }
}

const isResult = (result: Toolset.ToolResult<unknown>, what: string): void => {
  switch (result._tag) {
    case "Success":
      JSON.stringify(result.output)
      JSON.stringify(result.result)
      return
    case "Failure":
      holds(result.text.length < 50_000, `${what}: a text of ${result.text.length} characters for the model`)
      Oracles.shows(result.error, what)
  }
}

const argumentsOf = (given: Input["args"][number], tool: Toolset.AgentTool): unknown => {
  if (given === "text") return "{\"a\":[1,{\"__proto__\":2}]}"
  if (given !== "fitting") return made(given)
  const { required } = tool.definition.inputSchema
  return Array.isArray(required) ? Object.fromEntries(required.map((_) => [_, "x"])) : {}
}

const mostCalls = 2

const agent = (wire: Wire, input: Input) =>
  Effect.gen(function*() {
    let listing = 0
    wire.onRequest = serve(wire, input, () => listing)
    const connection = yield* McpConnection.fromChannel(wire.channel)
    const toolset = yield* Toolset.make([connection], {
      schemas: input.schemas,
      validateArguments: input.validate,
      output: outputs[input.output]!,
      includeReturnSchema: true,
      instructions: true
    })
    const { call, changes, list } = toolset.for()
    yield* Effect.forkScoped(Stream.runDrain(Stream.take(changes, 3)))
    for (; listing < 2; listing++) {
      const listed = yield* Effect.exit(list)
      Oracles.ended(listed, "list")
      if (input.changes.length === 0 && listing === 0) {
        holds(
          Exit.isSuccess(listed) && listed.value.tools.some((_) => _.tool === "good"),
          "one bad tool costs all others"
        )
      }
      if (Exit.isSuccess(listed)) {
        isList(listed.value)
        for (const { error } of listed.value.problems) Oracles.shows(error, "a problem of the list")
        const chosen = listed.value.tools.slice(0, mostCalls)
        for (const tool of chosen) {
          for (const given of input.args) {
            const called = yield* Effect.exit(call(tool.name, argumentsOf(given, tool)))
            Oracles.ended(called, `call of ${tool.name}`)
            if (Exit.isSuccess(called)) isResult(called.value, `call of ${tool.name}`)
          }
        }
        const good = listed.value.tools.find((_) =>
          _.tool === "good" && _.definition.inputSchema.required === undefined
        )
        if (good !== undefined) {
          const called = yield* Effect.exit(call(good.name, {}, { output: outputs[0]! }))
          holds(Exit.isSuccess(called) && called.value._tag === "Success", "the good tool can't be called")
        }
      }
      wire.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
      // Of the clock of `simulate`: until the flood of changes is over and the list was read again.
      yield* Effect.sleep("10 seconds")
    }
    yield* connection.close
  })

export const toolsPart = part({
  name: "tools",
  about: "whatever tools and results a server has: listings and calls end well or with a typed error",
  inputs: 60,
  share: 0.1,
  input,
  check: async (given) => {
    const wire = new Wire()
    const { exit } = await simulate(Effect.scoped(agent(wire, given)), { tasks: 300_000 })
    if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
    same(wire.closed, wire.opened, "wires closed")
  }
})
