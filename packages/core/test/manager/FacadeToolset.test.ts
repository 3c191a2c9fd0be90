/**
 * Toolsets for code that isn't Effect.
 */
import { assert, describe } from "@effect/vitest"
import {
  McpError,
  McpManager,
  ToolAdapters,
  ToolApproval,
  ToolFilter,
  ToolNaming,
  ToolOutput,
  ToolRequest,
  type Toolset
} from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"
import type { Fake, FakeOptions } from "./kit.js"
import { check, make, nothingLeft, open, rejection } from "./promises.js"

const namesOf = ({ tools }: Toolset.ToolList) => tools.map((_) => _.name).join(" ")

const succeeded = <A>(result: Toolset.ToolResult<A>): A => {
  assert(result._tag === "Success", result._tag)
  return result.output
}

/** The tool and the arguments of each call that the server was sent. */
const callsOf = async ({ server }: Fake) =>
  (await Effect.runPromise(server.receivedOf("tools/call"))).map(({ message }) => {
    assert("params" in message)
    return [message.params?.name, message.params?.arguments]
  })

/** What a call waits for that a person has to approve. */
const pendingOf = async (call: Promise<unknown>): Promise<ToolApproval.PendingApproval> => {
  const error = await rejection(call)
  assert.instanceOf(error, ToolApproval.ApprovalRequired)
  return error.pending
}

const hanging: FakeOptions = { tools: [{ name: "slow", call: () => Effect.never }, { name: "quick" }] }

describe("the toolset of a promise runtime", () => {
  check("shows the tools that an agent shall have, and calls them", async () => {
    const [a, b] = [make("a", { tools: ["read", "delete_all"] }), make("b")]
    const mcp = await open([a, b])
    const toolset = await mcp.toolset({
      id: "mine",
      filter: ToolFilter.block("delete_*"),
      output: ToolOutput.text,
      servers: { b: { output: ToolOutput.raw } }
    })
    assert.strictEqual(toolset.id, "mine")
    const { call, list } = toolset.for()
    assert.strictEqual(namesOf(await list()), "a__read b__b")
    assert.strictEqual(succeeded(await call("a__read", `{"n":1}`, { timeout: "5 seconds" })), `{"n":1}`)
    assert.deepStrictEqual(succeeded(await call("b__b")), { content: [{ type: "text", text: "{}" }] })
    assert.deepStrictEqual(
      succeeded(await call({ server: "a", tool: "read" }, {}, { output: ToolOutput.of("n", (_) => _.content.length) })),
      1
    )
    const hidden = await call("a__delete_all")
    assert(hidden._tag === "Failure" && hidden.error._tag === "ToolNotFound")
    assert.deepStrictEqual(await callsOf(a), [["read", { n: 1 }], ["read", {}]])
    await mcp.close()
    await nothingLeft(a, b)
  })

  check("is for whoever asks, and its functions have the services of the runtime", async () => {
    const a = make("a", { tools: ["read", "write"] })
    const mcp = await open([a])
    const toolset = await mcp.toolset({
      filter: ToolFilter.dynamic((tool, { agent }: ToolFilter.FilterContext<"reader" | "writer">) =>
        Effect.map(
          Effect.flatMap(McpManager.McpManager, (_) => _.configured),
          ([server]) => server === "a" && (agent === "writer" || tool.name === "read")
        )
      )
    })
    assert.strictEqual(namesOf(await toolset.for({ agent: "reader", runContext: 1 }).list()), "a__read")
    assert.strictEqual(namesOf(await toolset.for({ agent: "writer", runContext: 1 }).list()), "a__read a__write")
    const nobody = toolset.for(undefined as never)
    assert.instanceOf(await rejection(nobody.list()), ToolRequest.RequestMissing)
    assert.instanceOf(await rejection(nobody.call("a__read")), ToolRequest.RequestMissing)
    await mcp.close()
    await nothingLeft(a)
  })

  check("gives what servers say about themselves, where that is wished", async () => {
    const a = make("a", {
      handlers: {
        initialize: ({ params }) =>
          Effect.succeed({
            protocolVersion: params?.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: "a", version: "1" },
            instructions: "be kind"
          })
      }
    })
    const mcp = await open([a])
    const [said] = await (await mcp.toolset({ instructions: true })).instructions()
    assert.include(said?.text, "be kind")
    assert.deepStrictEqual(await (await mcp.toolset()).instructions(), [])
    await mcp.close()
    await nothingLeft(a)
  })

  check("tells failures to the model, or rejects with the errors themselves", async () => {
    const [a, b] = [make("a", { tools: ["same"] }), make("b", { tools: ["same"], way: "refused" })]
    const mcp = await open([a, b])
    assert.instanceOf(await rejection(mcp.toolset({ schemas: "loose" as never })), McpError.ConfigInvalid)

    const told = (await mcp.toolset()).for()
    const { problems } = await told.list()
    assert.deepStrictEqual(problems.map(({ error, server }) => [server, error._tag]), [["b", "ConnectFailed"]])
    const failed = await told.call("nothing")
    assert(failed._tag === "Failure" && failed.error._tag === "ToolNotFound")

    const strict = (await mcp.toolset({ failure: "propagate", onServerError: "fail" })).for()
    assert.instanceOf(await rejection(strict.list()), McpError.ServersFailed)
    assert.instanceOf(await rejection(strict.call("nothing")), McpError.ToolNotFound)
    const words = await strict.call("nothing", {}, { failure: ({ _tag }) => `no: ${_tag}` })
    assert(words._tag === "Failure")
    assert.strictEqual(words.text, "no: ToolNotFound")

    b.way = "works"
    await mcp.reconnect()
    const clashing = (await mcp.toolset({ naming: ToolNaming.raw })).for()
    assert.instanceOf(await rejection(clashing.list()), ToolNaming.NamesClash)
    await mcp.close()
    await nothingLeft(a, b)
  })

  check("tells progress to functions that know nothing of Effect, also of a call that was approved", async () => {
    const a = make("a", {
      handlers: {
        "tools/call": (request, peer) =>
          Effect.as(
            Effect.forEach([1, 2], (progress) => peer.sendRaw(ScriptedServer.progress(request, { progress }))),
            { content: [] }
          )
      }
    })
    const mcp = await open([a])
    const heard: Array<number> = []
    const onProgress = async ({ progress }: { readonly progress: number }) => {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      heard.push(progress)
    }
    await (await mcp.toolset()).for().call("a__a", {}, { onProgress })
    assert.deepStrictEqual(heard, [1, 2])
    const asking = (await mcp.toolset({ approval: ToolApproval.always })).for()
    await asking.approve(await pendingOf(asking.call("a__a")), { onProgress })
    assert.deepStrictEqual(heard, [1, 2, 1, 2])
    await mcp.close()
    await nothingLeft(a)
  })
})

describe("a call that needs approval", () => {
  check("is made once a person has approved it, as it was asked for, and only once", async () => {
    const a = make("a", { tools: ["write", "read"] })
    const mcp = await open([a])
    const approval = await mcp.run(ToolApproval.make({ always: ["write"], never: ["*"] }))
    const { approve, call, reject } = (await mcp.toolset({ approval, output: ToolOutput.text })).for()
    assert.strictEqual(succeeded(await call("a__read")), "{}")

    const pending = await pendingOf(call("a__write", { n: 1 }))
    assert.deepStrictEqual([pending.server, pending.tool, pending.arguments], ["a", "write", { n: 1 }])
    assert.deepStrictEqual(await callsOf(a), [["read", {}]])

    const stored = JSON.stringify(ToolApproval.encode(pending))
    const again = await mcp.run(ToolApproval.decode(JSON.parse(stored)))
    assert.deepStrictEqual(succeeded(await approve(again, { output: ToolOutput.raw })).content, [
      { type: "text", text: `{"n":1}` }
    ])
    assert.instanceOf(await rejection(approve(pending)), McpError.ConfigInvalid)
    assert.instanceOf(await rejection(reject(pending)), McpError.ConfigInvalid)
    assert.deepStrictEqual(await callsOf(a), [["read", {}], ["write", { n: 1 }]])
    await mcp.close()
    await nothingLeft(a)
  })

  check("is not made where it is rejected, and the model is told", async () => {
    const a = make("a")
    const mcp = await open([a])
    const { approve, call, reject } = (await mcp.toolset({ approval: ToolApproval.always })).for()
    const pending = await pendingOf(call("a__a"))
    const result = await reject(pending, "not now")
    assert(result._tag === "Rejected")
    assert.strictEqual(result.reason, "not now")
    assert.instanceOf(await rejection(approve(pending)), McpError.ConfigInvalid)
    assert.deepStrictEqual(await callsOf(a), [])
    await mcp.close()
    await nothingLeft(a)
  })

  check("still waits for an answer where the one that was given was aborted before it began", async () => {
    const a = make("a")
    const mcp = await open([a])
    const { approve, call, reject } = (await mcp.toolset({ approval: ToolApproval.always })).for()
    const pending = await pendingOf(call("a__a"))
    const reason = new Error("enough")
    const signal = AbortSignal.abort(reason)
    assert.strictEqual(await rejection(approve(pending, { signal })), reason)
    assert.strictEqual(await rejection(reject(pending, "no", { signal })), reason)
    assert.strictEqual((await approve(pending))._tag, "Success")
    await mcp.close()
    await nothingLeft(a)
  })
})

describe("the calls of an agent without Effect", () => {
  check("can be aborted: before, during, and too late", async () => {
    const a = make("a", hanging)
    const mcp = await open([a])
    const { call, list } = (await mcp.toolset()).for()
    const reason = new Error("enough")
    const aborted = { signal: AbortSignal.abort(reason) }
    assert.strictEqual(await rejection(call("a__quick", {}, aborted)), reason)
    assert.strictEqual(await rejection(list(aborted)), reason)
    assert.deepStrictEqual(await callsOf(a), [])
    const during = new AbortController()
    const calling = rejection(call("a__slow", {}, { signal: during.signal, timeout: null }))
    await Effect.runPromise(a.server.awaitReceived("tools/call"))
    during.abort(reason)
    assert.strictEqual(await calling, reason)
    await Effect.runPromise(a.server.awaitReceived("notifications/cancelled"))
    const late = new AbortController()
    await call("a__quick", {}, { signal: late.signal })
    late.abort(reason)
    assert.strictEqual(namesOf(await list()), "a__slow a__quick")
    await mcp.close()
    await nothingLeft(a)
  })

  check("end with the runtime, and then nothing works, but with an error", async () => {
    const a = make("a", hanging)
    const mcp = await open([a])
    const toolset = await mcp.toolset()
    const { approve, call, list, reject } = toolset.for()
    const asking = (await mcp.toolset({ approval: ToolApproval.always })).for()
    const pending = await pendingOf(asking.call("a__quick"))
    const calling = call("a__slow", {}, { timeout: null })
    await Effect.runPromise(a.server.awaitReceived("tools/call"))
    await mcp.close()
    const ended = await calling
    assert(ended._tag === "Failure")
    assert.strictEqual(ended.error.executed, "maybe")
    for (
      const use of [
        () => list(),
        () => call("a__quick"),
        () => approve(pending),
        () => reject(pending),
        () => toolset.instructions(),
        () => mcp.toolset()
      ]
    ) {
      const error = await rejection(use())
      assert.instanceOf(error, McpError.ConnectionUnavailable)
      assert.strictEqual(error.executed, "no")
    }
    assert.strictEqual((await callsOf(a)).length, 1)
    await nothingLeft(a)
  })

  check("can be those of the SDK of a model, with its signal", async () => {
    const a = make("a", hanging)
    const mcp = await open([a])
    const { call, list } = (await mcp.toolset()).for()
    const { a__quick, a__slow } = ToolAdapters.vercel.tools((await list()).tools, {
      run: (asked, options) => call(asked.name, asked.arguments, options)
    })
    const output = await a__quick!.execute!({ n: 1 }, { toolCallId: "1" })
    assert.deepStrictEqual(a__quick!.toModelOutput({ output }), { type: "text", value: `{"n":1}` })
    const reason = new Error("enough")
    const controller = new AbortController()
    const slow = a__slow!.execute!({}, { toolCallId: "2", abortSignal: controller.signal })
    await Effect.runPromise(
      a.server.awaitReceived(({ message }) => "params" in message && message.params?.name === "slow")
    )
    controller.abort(reason)
    assert.strictEqual(await rejection(slow), reason)

    const [asked] = ToolAdapters.openAi.calls([
      { type: "function_call", call_id: "3", name: "a__quick", arguments: `{"n":3}` }
    ])
    assert.deepStrictEqual(
      ToolAdapters.openAi.result(asked!, await call(asked!.name, asked!.arguments)),
      { type: "function_call_output", call_id: "3", output: `{"n":3}` }
    )
    await mcp.close()
    await nothingLeft(a)
  })
})
