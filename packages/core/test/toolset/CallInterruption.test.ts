/**
 * Interruption at every step of a call: it is never an answer for a model, and leaves nothing behind.
 */
import { assert, it } from "@effect/vitest"
import { type McpProtocol, ToolApproval, ToolFilter, type ToolRequest } from "@mcp-runtime/core"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Either, Fiber } from "effect"
import { end, pendingOf, succeeded } from "./calling.js"
import * as Kit from "./kit.js"

const who = { agent: 1, runContext: 1 }

const yielding = <A>(value: A) => Effect.as(Effect.yieldNow(), value)

/** Every step that an application can have a say in takes its time. */
const options = (told: Array<string>): Toolset.ToolsetOptions<ToolRequest.ToolRequest, never, unknown> => ({
  filter: ToolFilter.dynamic(() => yielding(true)),
  approval: Either.getOrThrow(ToolApproval.make(() => yielding(false))),
  meta: () => yielding({ m: 1 }),
  around: (_, next) => Effect.zipLeft(Effect.zipRight(Effect.yieldNow(), next()), Effect.yieldNow()),
  extract: () => 1,
  failure: (error) => {
    told.push(error._tag)
    return yielding("text")
  }
})

const tools: ReadonlyArray<Kit.Given> = [
  "x",
  { name: "refuses", call: () => Effect.fail(new RpcError({ code: -32602, message: "no" })) },
  { name: "lies", outputSchema: { type: "object" }, call: () => Effect.succeed("text") },
  { name: "hangs", call: () => Effect.never }
]

/**
 * How it ends where it is interrupted after so many turns of everybody, and whether it had ended before. With less than ten
 * operations in a turn, sleeping on the test clock never ends.
 */
const interruptedAfter = <A>(
  turns: number,
  call: Effect.Effect<Toolset.ToolResult<A>, Toolset.CallError | Toolset.ApproveError>
) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(Effect.withMaxOpsBeforeYield(call, 10))
    for (let i = 0; i < turns; i++) yield* Effect.yieldNow()
    const wasDone = fiber.unsafePoll() !== null
    return { ended: end(yield* Fiber.interrupt(fiber)), wasDone }
  })

const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
  ["a call that succeeds", "x", ["a x"]],
  ["a call that fails, after one more listing", "refuses", ["Failure RemoteError"]],
  ["a call whose output is wrong", "lies", ["Failure OutputInvalid"]],
  ["a call that is not answered", "hangs", []],
  ["a call of no tool", "none", ["Failure ToolNotFound"]]
]

for (const [what, tool, ends] of cases) {
  it.scoped(`${what} is interrupted at every step`, () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", tools)
      const told: Array<string> = []
      const toolbox = (yield* Kit.toolset([a], options(told))).for(who)
      yield* toolbox.list
      const most = ends.length > 0 ? 2000 : 300
      let isDone = false
      let interruptions = 0
      for (let turns = 0; !isDone && turns < most; turns++) {
        const { ended, wasDone } = yield* interruptedAfter(turns, toolbox.call(`a__${tool}`))
        isDone = wasDone
        if (ended === "interrupted") interruptions++
        else assert.include(ends, ended, `after ${turns} turns`)
      }
      assert.strictEqual(isDone, ends.length > 0)
      assert.isAbove(interruptions, 10)
      const allowed = new Set(ends.map((_) => _.replace("Failure ", "")))
      for (const tag of told) assert.isTrue(allowed.has(tag), tag)
      yield* Kit.settled
      assert.strictEqual((yield* a.server.stats).handling, 0)
      assert.strictEqual(end(yield* Effect.exit(toolbox.call("a__x"))), "a x")
      assert.strictEqual((yield* a.server.stats).opened, 1)
    }), 30_000)
}

it.scoped("an approval whose call is interrupted at any step is used up, and has run once at most", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["x"])
    const { approve, call } = (yield* Kit.toolset([a], { approval: ToolApproval.always })).for()
    let isDone = false
    for (let turns = 0; !isDone && turns < 2000; turns++) {
      const pending = yield* pendingOf(call("a__x", { turns }))
      const { ended, wasDone } = yield* interruptedAfter(turns, approve(pending))
      isDone = wasDone
      assert.include(["interrupted", "a x"], ended)
      const again = end(yield* Effect.exit(approve(pending)))
      // Interrupted before it began, it was not used.
      assert.include(["error ConfigInvalid", "a x"], again)
      if (ended === "a x") assert.strictEqual(again, "error ConfigInvalid")
    }
    assert.isTrue(isDone)
    yield* Kit.settled
    const seen = (yield* a.server.receivedOf("tools/call")).map((_) =>
      (_.params.arguments as McpProtocol.JsonObject).turns
    )
    assert.strictEqual(new Set(seen).size, seen.length)
  }))

it.scoped("the interruption of the run while the failure is put in words is no answer", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", tools)
    const { call } = (yield* Kit.toolset([a])).for()
    const calling = yield* Kit.begun(call("a__refuses", "", { failure: () => Effect.never }))
    assert.strictEqual(end(yield* Kit.interrupted(calling)), "interrupted")
  }))

it.scoped("one caller's interruption hurts no other call", () =>
  Effect.gen(function*() {
    const a = yield* Kit.server("a", ["x"], { delay: 1000 })
    const { call } = (yield* Kit.toolset([a])).for()
    const [one, two, three] = yield* Effect.all([
      Kit.begun(call("a__x")),
      Kit.begun(call("a__x")),
      Kit.begun(call("a__x"))
    ])
    assert.strictEqual(end(yield* Kit.interrupted(one)), "interrupted")
    yield* Kit.pass(1000, 250)
    assert.strictEqual(end(yield* Fiber.join(two)), "a x")
    assert.strictEqual(end(yield* Fiber.join(three)), "a x")
    yield* succeeded(call("a__x"))
    assert.strictEqual((yield* a.server.stats).opened, 1)
  }))
