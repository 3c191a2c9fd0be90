/**
 * One server that hangs in a listing costs the others a bounded time, and a call no more than it may take.
 */
import { assert, describe, it } from "@effect/vitest"
import { ToolApproval } from "@mcp-runtime/core"
import { Effect, Fiber, TestClock } from "effect"
import * as Pending from "../../src/internal/toolset/pending.js"
import { ending, pendingOf } from "./calling.js"
import * as Kit from "./kit.js"

const healthyAndHanging = Effect.gen(function*() {
  const a = yield* Kit.server("a", ["x"])
  const b = yield* Kit.server("b", ["y"])
  b.listing = Effect.never
  return { a, b, toolbox: (yield* Kit.toolset([a, b])).for() }
})

describe("a server that hangs in tools/list", () => {
  it.scoped("keeps a listing waiting for 10 seconds, and the next ones not at all for a while", () =>
    Effect.gen(function*() {
      const { b, toolbox: { list } } = yield* healthyAndHanging
      const first = yield* Effect.fork(list)
      yield* Kit.pass(9900, 100)
      assert.isFalse(yield* Kit.isDone(first))
      yield* Kit.pass(100)
      const { problems, tools } = yield* Fiber.join(first)
      assert.deepStrictEqual(tools.map((_) => _.name), ["a__x"])
      assert.deepStrictEqual(problems.map((_) => [_.server, _.error._tag]), [["b", "RequestTimeout"]])

      const again = yield* list
      assert.deepStrictEqual(again.problems.map((_) => _.server), ["b"])

      b.listing = Effect.void
      yield* Kit.pass(10_000, 1000)
      assert.deepStrictEqual((yield* list).tools.map((_) => _.name), ["a__x", "b__y"])
    }))

  it.scoped("is not waited for by who calls a tool of another one by its identity, nor longer than a call may take", () =>
    Effect.gen(function*() {
      const { a, toolbox: { call } } = yield* healthyAndHanging
      assert.strictEqual(yield* ending(call({ server: "a", tool: "x" })), "a x")
      const unknown = yield* Effect.fork(call("nobody", {}, { maxTotal: "1 second" }))
      yield* Kit.pass(1000, 100)
      assert.isTrue(yield* Kit.isDone(unknown))
      assert.deepStrictEqual(yield* a.calls, ["x"])
    }))

  it.scoped("after it has refused a tool: the call ends when it has to", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call, list } = (yield* Kit.toolset([a])).for()
      yield* list
      a.tools = []
      a.listing = Effect.never
      const calling = yield* Effect.fork(call("a__x", {}, { maxTotal: "1 second" }))
      yield* Kit.pass(1000, 100)
      assert.isTrue(yield* Kit.isDone(calling))
    }))
})

describe("approvals of long ago", () => {
  it.scoped("are not good for a second call after ten thousand others", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { approve, call, reject } = (yield* Kit.toolset([a], { approval: ToolApproval.always })).for()
      const first = yield* pendingOf(call("a__x"))
      yield* approve(first)
      yield* TestClock.adjust("1 second")
      const other = { toolset: "tools", server: "a", tool: "x", name: "a__x", arguments: {} }
      for (let i = 0; i < 10_000; i++) yield* reject(yield* Pending.make(other))
      assert.strictEqual((yield* Effect.exit(Effect.asVoid(approve(first))))._tag, "Failure")
      assert.deepStrictEqual(yield* a.calls, ["x"])
    }), 60_000)
})
