/**
 * The runtime for code that isn't Effect.
 */
import { assert, describe } from "@effect/vitest"
import { McpCatalog, McpError, McpManager, type McpRuntime } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect } from "effect"
import { getEventListeners } from "node:events"
import type { FakeOptions } from "./kit.js"
import { check, make, nothingLeft, open, rejection } from "./promises.js"
import { told } from "./stores.js"

const hanging: FakeOptions = { tools: [{ name: "slow", call: () => Effect.never }, { name: "quick" }] }

describe("the promise runtime", () => {
  check("does everything, and its end leaves nothing", async () => {
    const [a, b] = [make("a"), make("b")]
    const mcp = await open([a, b])
    assert.deepStrictEqual(mcp.state().active, ["a", "b"])
    assert.strictEqual(told(await mcp.tools()), "a live: a, b live: b")
    const result = await mcp.callTool("a", { name: "a", arguments: { n: 1 } }, { timeout: "5 seconds" })
    assert.deepStrictEqual(result.content, [{ type: "text", text: `{"n":1}` }])
    await mcp.disconnect("a")
    assert.deepStrictEqual(mcp.state().active, ["b"])
    await mcp.connect("a")
    assert.deepStrictEqual(await mcp.reconnect(), ["a", "b"])
    assert.deepStrictEqual(await mcp.reconnect({ failedOnly: false }), ["a", "b"])
    assert.deepStrictEqual((await mcp.reload([b.config])).removed, ["a"])
    const names = await mcp.run(Effect.flatMap(McpManager.McpManager, (_) => _.configured))
    assert.deepStrictEqual(names, ["b"])
    assert.strictEqual(told(await mcp.run(Effect.flatMap(McpCatalog.McpCatalog, (_) => _.current))), "b live: b")
    await mcp.close()
    await nothingLeft(a, b)
  })

  check("prompts, resources, and progress for functions that know nothing of Effect", async () => {
    const a = make("a", {
      capabilities: { tools: {}, prompts: {}, resources: {} },
      handlers: {
        "prompts/list": () => Effect.succeed({ prompts: [{ name: "p" }] }),
        "prompts/get": ({ params }) =>
          Effect.succeed({ messages: [{ role: "user", content: { type: "text", text: String(params?.name) } }] }),
        "resources/list": () => Effect.succeed({ resources: [{ uri: "a:1", name: "one" }] }),
        "resources/read": ({ params }) => Effect.succeed({ contents: [{ uri: params?.uri, text: "one" }] }),
        "tools/call": (request, peer) =>
          Effect.as(
            Effect.forEach([1, 2, 3], (progress) => peer.sendRaw(ScriptedServer.progress(request, { progress }))),
            { content: [] }
          )
      }
    })
    const mcp = await open([a])
    assert.deepStrictEqual((await mcp.prompts()).map((_) => _.items.map((_) => _.name)), [["p"]])
    assert.deepStrictEqual((await mcp.resources()).map((_) => _.items.map((_) => _.uri)), [["a:1"]])
    assert.deepStrictEqual((await mcp.getPrompt("a", { name: "p" })).messages[0]?.content, { type: "text", text: "p" })
    assert.deepStrictEqual((await mcp.readResource("a", "a:1")).contents, [{ uri: "a:1", text: "one" }])
    assert.instanceOf(await rejection(mcp.readResource("x", "a:1")), McpError.UnknownServer)
    const heard: Array<number> = []
    await mcp.callTool("a", { name: "a" }, { onProgress: ({ progress }) => heard.push(progress) })
    assert.deepStrictEqual(heard, [1, 2, 3])
    const late: Array<number> = []
    await mcp.callTool("a", { name: "a" }, {
      onProgress: async ({ progress }) => {
        await new Promise<void>((resolve) => void setImmediate(resolve))
        late.push(progress)
      }
    })
    assert.deepStrictEqual(late, [1, 2, 3])
    await mcp.close()
    await nothingLeft(a)
  })

  check("runs nothing when it is closed", async () => {
    const a = make("a")
    const mcp = await open([a])
    const closing = mcp.close()
    let ran = false
    const effect = Effect.sync(() => {
      ran = true
    })
    for (const late of [rejection(mcp.run(effect)), closing.then(() => rejection(mcp.run(effect)))]) {
      const error = await late
      assert.instanceOf(error, McpError.ConnectionUnavailable)
      assert.strictEqual(error.executed, "no")
    }
    assert.isFalse(ran)
    await nothingLeft(a)
  })

  check("rejects with the errors themselves", async () => {
    const [a, b] = [make("a"), make("b", { way: "refused" })]
    const mcp = await open([a, b])
    const unknown = await rejection(mcp.callTool("x", { name: "x" }))
    assert.instanceOf(unknown, McpError.UnknownServer)
    assert.deepStrictEqual(unknown.configured, ["a", "b"])
    assert.instanceOf(await rejection(mcp.connect("b")), McpError.ConnectFailed)
    assert.instanceOf(await rejection(mcp.disconnect("x")), McpError.UnknownServer)
    assert.instanceOf(await rejection(mcp.callTool("b", { name: "b" })), McpError.ConnectFailed)
    assert.instanceOf(await rejection(mcp.reload("rubbish" as never)), McpError.ConfigInvalid)
    const own = new Error("own")
    assert.strictEqual(await rejection(mcp.run(Effect.fail(own))), own)
    assert.strictEqual(await rejection(mcp.run(Effect.die(own))), own)
    await mcp.close()
    await nothingLeft(a, b)
  })

  check("can be aborted: before, during, and too late", async () => {
    const a = make("a", hanging)
    const mcp = await open([a])
    const reason = new Error("enough")
    const aborted = AbortSignal.abort(reason)
    assert.strictEqual(await rejection(mcp.callTool("a", { name: "quick" }, { signal: aborted })), reason)
    assert.strictEqual((await Effect.runPromise(a.server.receivedOf("tools/call"))).length, 0)
    const during = new AbortController()
    const call = rejection(mcp.callTool("a", { name: "slow" }, { signal: during.signal }))
    await Effect.runPromise(a.server.awaitReceived("tools/call"))
    during.abort(reason)
    assert.strictEqual(await call, reason)
    await Effect.runPromise(a.server.awaitReceived("notifications/cancelled"))
    const late = new AbortController()
    await mcp.callTool("a", { name: "quick" }, { signal: late.signal })
    late.abort(reason)
    for (const act of [mcp.tools, (_: McpRuntime.PromiseOptions) => mcp.reconnect(_)]) {
      assert.strictEqual(await rejection(act({ signal: aborted })), reason)
    }
    assert.strictEqual(told(await mcp.tools()), "a live: slow quick")
    await mcp.close()
    await nothingLeft(a)
  })

  check("one signal for all of an application has one listener, and none when nothing runs under it", async () => {
    const [a, reason] = [make("a", hanging), new Error("enough")]
    const { signal } = new AbortController()
    const mcp = await open([a], {}, { signal })
    assert.lengthOf(getEventListeners(signal, "abort"), 0)
    await Promise.all(Array.from({ length: 20 }, () => mcp.callTool("a", { name: "quick" }, { signal })))
    assert.lengthOf(getEventListeners(signal, "abort"), 0)
    const during = new AbortController()
    const calls = Array.from(
      { length: 20 },
      () => rejection(mcp.callTool("a", { name: "slow" }, { signal: during.signal }))
    )
    assert.lengthOf(getEventListeners(during.signal, "abort"), 1)
    during.abort(reason)
    assert.deepStrictEqual(new Set(await Promise.all(calls)), new Set([reason]))
    assert.lengthOf(getEventListeners(during.signal, "abort"), 0)
    await mcp.close()
    await nothingLeft(a)
  })

  check("close: twice, during calls, and then nothing works, but with an error", async () => {
    const a = make("a", hanging)
    const mcp = await open([a])
    const call = rejection(mcp.callTool("a", { name: "slow" }, { timeout: null }))
    const other = rejection(mcp.run(Effect.never))
    await Effect.runPromise(a.server.awaitReceived("tools/call"))
    const closing = [mcp.close(), mcp.close()]
    await Promise.all(closing)
    const error = await call
    assert(
      error instanceof McpError.ConnectionUnavailable || error instanceof McpError.ConnectionClosed ||
        error instanceof McpError.OutcomeUnknown
    )
    assert.strictEqual(error.executed, "maybe")
    assert.instanceOf(await other, McpError.ConnectionUnavailable)
    await mcp.close()
    for (
      const use of [
        () => mcp.callTool("a", { name: "quick" }),
        () => mcp.connect("a"),
        () => mcp.disconnect("a"),
        () => mcp.reconnect(),
        () => mcp.reload([]),
        () => mcp.tools()
      ]
    ) assert.instanceOf(await rejection(use()), McpError.ConnectionUnavailable)
    assert.deepStrictEqual(mcp.state().servers.map((_) => _.name), ["a"])
    await nothingLeft(a)
  })

  check("that can't be built leaves nothing open, and says why", async () => {
    const [a, b] = [make("a"), make("b", { way: "refused" })]
    const failed = await rejection(open([a, b], { strict: true }))
    assert.instanceOf(failed, McpError.ServersFailed)
    assert.deepStrictEqual(failed.errors.map((_) => _._tag), ["ConnectFailed"])
    await nothingLeft(a, b)
    assert.instanceOf(await rejection(open([a], { connectTimeout: -1 })), McpError.ConfigInvalid)
    const c = make("c", { way: "hangs in initialize" })
    const reason = new Error("enough")
    const controller = new AbortController()
    const building = rejection(open([a, c], {}, { signal: controller.signal }))
    await Effect.runPromise(c.server.awaitReceived("initialize"))
    controller.abort(reason)
    assert.strictEqual(await building, reason)
    assert.strictEqual(await rejection(open([a], {}, { signal: AbortSignal.abort(reason) })), reason)
    await nothingLeft(a, b, c)
  })

  check("with connect: false connects by the first call", async () => {
    const a = make("a")
    const mcp = await open([a], { connect: false })
    assert.strictEqual((await Effect.runPromise(a.server.stats)).attempts, 0)
    await mcp.callTool("a", { name: "a" })
    assert.deepStrictEqual(mcp.state().servers.map((_) => _.phase), ["connected"])
    await mcp.close()
    await nothingLeft(a)
  })
})
