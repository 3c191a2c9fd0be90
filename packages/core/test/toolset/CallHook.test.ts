/**
 * What an application adds to calls: metadata, and a hook around them.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError, type McpProtocol, ToolApproval } from "@mcp-runtime/core"
import type * as Toolset from "@mcp-runtime/core/Toolset"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Context, Effect, Exit, Fiber, Ref } from "effect"
import { end, ending, failed, pendingOf, schema, sent, sentArguments, succeeded, told } from "./calling.js"
import * as Kit from "./kit.js"

/** What a connection adds by itself. */
const ofConnections: ReadonlySet<string> = new Set(["progressToken", "traceparent", "tracestate", "baggage"])

/** The metadata of each call, or nothing where it had none. */
const metas = (server: Kit.Server) =>
  Effect.map(sent(server), (_) =>
    _.map(({ _meta }) => {
      const fields = Object.entries((_meta ?? {}) as object).filter(([key]) => !ofConnections.has(key))
      return fields.length === 0 ? undefined : Object.fromEntries(fields)
    }))

describe("metadata", () => {
  it.scoped("is what the resolver gives for this call and who asks, at once or as an effect with services", () =>
    Effect.gen(function*() {
      class User extends Context.Tag("User")<User, string>() {}
      const a = yield* Kit.server("a", ["x"])
      const seen: Array<unknown> = []
      const toolset = yield* Kit.toolset<unknown, User, never>([a], {
        meta: (call, request) => {
          seen.push([call, request])
          const { n } = call.arguments
          return n === 0 ? undefined : n === 1 ? { at: "once" } : Effect.map(User, (user) => ({ user }))
        }
      })
      const { call } = toolset.for({ agent: 1, runContext: 2 })
      for (const n of [0, 1, 2]) {
        yield* Effect.provideService(succeeded(call("a__x", { n })), User, "u")
      }
      assert.deepStrictEqual(yield* metas(a), [undefined, { at: "once" }, { user: "u" }])
      assert.strictEqual(seen.length, 3)
      assert.deepStrictEqual(seen[2], [
        { server: "a", tool: "x", name: "a__x", arguments: { n: 2 } },
        { agent: 1, runContext: 2 }
      ])
    }))

  it.scoped("is a copy: what the resolver gave is not touched, and may be frozen", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const given = Object.freeze({ tenant: "t" })
      const { call } = (yield* Kit.toolset([a], { meta: () => given })).for()
      yield* succeeded(call("a__x", "", { meta: { more: 1 }, onProgress: () => Effect.void }))
      yield* succeeded(call("a__x"))
      assert.deepStrictEqual(given, { tenant: "t" })
      assert.deepStrictEqual(yield* metas(a), [{ tenant: "t", more: 1 }, { tenant: "t" }])
    }))

  it.scoped("of the resolver yields to that of the call, and both to the hook", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call } = (yield* Kit.toolset([a], {
        meta: () => ({ a: "resolver", b: "resolver", c: "resolver", "__proto__x": 1 }),
        around: (_, next) => next({ meta: { c: "hook" } })
      })).for()
      yield* succeeded(call("a__x", "", { meta: { b: "call", c: "call" } }))
      assert.deepStrictEqual(yield* metas(a), [{ a: "resolver", b: "call", c: "hook", "__proto__x": 1 }])
    }))

  const wrong: ReadonlyArray<readonly [string, Toolset.MetaResolver<unknown, never>]> = [
    ["fails", () => Effect.fail("secret")],
    ["dies", () => Effect.dieMessage("secret")],
    ["throws", () => {
      throw new Error("secret")
    }],
    ["gives a text", () => "secret" as never],
    ["gives null", () => null as never],
    ["gives a list", () => ["secret"] as never],
    ["gives an effect of a list", () => Effect.succeed(["secret"] as never)],
    ["gives what is no JSON", () => ({ secret: 1n })]
  ]
  for (const [what, meta] of wrong) {
    it.scoped(`whose resolver ${what}: the tool is not called`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", ["x"])
        let asked = 0
        const { call } = (yield* Kit.toolset([a], {
          meta,
          around: (_, next) => {
            asked++
            return next()
          }
        })).for()
        const { error, text } = yield* failed(call("a__x"))
        const isJson = what !== "gives what is no JSON"
        assert.strictEqual(error._tag, isJson ? "MetaFailed" : "ConfigInvalid")
        assert.strictEqual(error.executed, "no")
        assert.notInclude(error.message + text, "secret")
        assert.strictEqual(asked, isJson ? 0 : 1)
        assert.deepStrictEqual(yield* a.calls, [])
      }))
  }

  for (
    const [options, millis] of [[{}, 5000], [{ maxTotal: "2 seconds" }, 2000], [
      { timeout: "3 seconds" },
      3000
    ]] as const
  ) {
    it.scoped(`whose resolver never ends (${JSON.stringify(options)}): after ${millis} ms the tool is not called`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", ["x"])
        const seen: Array<string> = []
        const { call } = (yield* Kit.toolset([a], {
          meta: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
        })).for()
        const calling = yield* Kit.begun(failed(call("a__x", {}, options)))
        yield* Kit.pass(millis - 1, 500)
        assert.isFalse(yield* Kit.isDone(calling))
        yield* Kit.pass(1)
        const { error } = yield* Effect.flatten(Fiber.join(calling))
        assert.strictEqual(error._tag, "MetaFailed")
        assert.strictEqual(error.executed, "no")
        assert.include(error.message, `took longer than ${millis} ms`)
        assert.deepStrictEqual(seen, ["interrupted"])
        assert.deepStrictEqual(yield* a.calls, [])
      }))
  }

  it.scoped("is asked for after approval, and not for a call that is refused", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [{ name: "x", inputSchema: schema({}, ["n"]) }])
      let asked = 0
      const { approve, call } = (yield* Kit.toolset([a], {
        approval: ToolApproval.always,
        meta: () => ({ n: ++asked })
      })).for()
      yield* failed(call("a__x", "{}"))
      const pending = yield* pendingOf(call("a__x", { n: 1 }))
      assert.strictEqual(asked, 0)
      yield* succeeded(approve(pending))
      assert.deepStrictEqual(yield* metas(a), [{ n: 1 }])
    }))

  it.scoped("whose resolver is interrupted: the call is, too", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { call } = (yield* Kit.toolset([a], { meta: () => Effect.interrupt })).for()
      assert.strictEqual(yield* ending(call("a__x")), "interrupted")
      const hanging = (yield* Kit.toolset([a], { meta: () => Effect.never })).for()
      const calling = yield* Kit.begun(hanging.call("a__x"))
      assert.strictEqual(end(yield* Kit.interrupted(calling)), "interrupted")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("of the result comes back", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [{
        name: "x",
        call: () => Effect.succeed({ content: [], _meta: { "vendor/cost": 2 } })
      }])
      const { call } = (yield* Kit.toolset([a])).for()
      assert.deepStrictEqual((yield* succeeded(call("a__x"))).result._meta, { "vendor/cost": 2 })
    }))
})

describe("a hook", () => {
  const answer: McpProtocol.CallToolResult = { content: [{ type: "text", text: "from elsewhere" }] }

  const around = (hook: Toolset.CallHook<never>, tools: ReadonlyArray<Kit.Given> = ["x"]) =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", tools)
      const { call } = (yield* Kit.toolset([a], { around: hook })).for()
      return { a, call }
    })

  it.scoped("that takes longer than the call may: nothing is sent any more, also not once more", () =>
    Effect.gen(function*() {
      for (
        const hook of [
          (_, next) => Effect.delay(Effect.suspend(next), "3 seconds"),
          (_, next) => Effect.zipRight(Effect.sleep("2 seconds"), Effect.retry(Effect.suspend(next), { times: 2 }))
        ] as ReadonlyArray<Toolset.CallHook<never>>
      ) {
        const { a, call } = yield* around(hook)
        const calling = yield* Kit.begun(failed(call("a__x", {}, { maxTotal: "2 seconds" })))
        yield* Kit.pass(4000, 500)
        const { error } = yield* Effect.flatten(Fiber.join(calling))
        assert.deepInclude(error, { _tag: "RequestTimeout", executed: "no" })
        assert.deepStrictEqual(yield* a.calls, [])
      }
      // What was sent in time may have run.
      const twice = yield* around((_, next) => Effect.retry(Effect.suspend(next), { times: 1 }), [
        { name: "x", call: () => Effect.never }
      ])
      const calling = yield* Kit.begun(failed(twice.call("a__x", {}, { maxTotal: "2 seconds" })))
      yield* Kit.pass(4000, 500)
      const { error } = yield* Effect.flatten(Fiber.join(calling))
      assert.strictEqual(error.executed, "maybe")
      assert.strictEqual((yield* twice.a.calls).length, 1)
    }))

  it.scoped("gets the call, frozen, and may change its arguments and metadata", () =>
    Effect.gen(function*() {
      const seen: Array<Toolset.OutgoingCall> = []
      const { a, call } = yield* around((call, next) => {
        seen.push(call)
        return next({ arguments: { ...call.arguments, tenant: "t" }, meta: { trace: 1 } })
      })
      yield* succeeded(call("a__x", { q: 1 }))
      assert.deepStrictEqual(seen, [{ server: "a", tool: "x", name: "a__x", arguments: { q: 1 } }])
      assert.isTrue(Object.isFrozen(seen[0]))
      assert.deepStrictEqual(yield* sentArguments(a), [{ q: 1, tenant: "t" }])
      assert.deepStrictEqual(yield* metas(a), [{ trace: 1 }])
    }))

  it.scoped("can't send what lacks what is required", () =>
    Effect.gen(function*() {
      const { a, call } = yield* around((_, next) => next({ arguments: {} }), [
        { name: "x", inputSchema: schema({}, ["n"]) }
      ])
      assert.strictEqual(yield* ending(call("a__x", { n: 1 })), "Failure ArgumentsInvalid")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("may answer from elsewhere: nothing is sent, and the answer is held to the schema", () =>
    Effect.gen(function*() {
      const { a, call } = yield* around(() => Effect.succeed(answer), [
        "x",
        { name: "y", outputSchema: { type: "object" } }
      ])
      assert.strictEqual(told(yield* call("a__x")), "from elsewhere")
      assert.strictEqual(yield* ending(call("a__y")), "Failure OutputInvalid")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("may call again, and never does by itself", () =>
    Effect.gen(function*() {
      let n = 0
      const tool: Kit.Given = {
        name: "x",
        call: () =>
          Effect.suspend(() =>
            ++n % 2 === 1 ? Effect.fail(new RpcError({ code: 1, message: "no" })) : Effect.succeed("2nd")
          )
      }
      const { a, call } = yield* around((_, next) => Effect.retry(next(), { times: 1 }), [tool])
      assert.strictEqual(yield* ending(call("a__x")), "2nd")
      assert.strictEqual((yield* a.calls).length, 2)
      const twice = yield* around((_, next) => Effect.zipRight(next(), next()))
      yield* succeeded(twice.call("a__x"))
      assert.strictEqual((yield* twice.a.calls).length, 2)
      const prepared = yield* around((_, next) => {
        void next()
        return Effect.succeed(answer)
      })
      yield* succeeded(prepared.call("a__x"))
      assert.deepStrictEqual(yield* prepared.a.calls, [])
    }))

  it.scoped("sees the failure of a call, and may turn it into an answer", () =>
    Effect.gen(function*() {
      const { call } = yield* around(
        (_, next) => Effect.catchTag(next(), "RemoteError", () => Effect.succeed(answer)),
        [{ name: "x", call: () => Effect.fail(new RpcError({ code: 1, message: "no" })) }]
      )
      assert.strictEqual(yield* ending(call("a__x")), "from elsewhere")
    }))

  it.scoped("sees that a tool is gone", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const { a, call } = yield* around((_, next) =>
        Effect.tapError(next(), (_) => Effect.sync(() => tags.push(_._tag)))
      )
      yield* succeeded(call("a__x"))
      a.tools = []
      assert.strictEqual(yield* ending(call("a__x")), "Failure ToolNotFound")
      assert.deepStrictEqual(tags, ["ToolNotFound"])
    }))

  it.scoped("that fails is a failure like others, one that dies or throws is a defect", () =>
    Effect.gen(function*() {
      const limited = new McpError.LimitExceeded({
        server: "a",
        operation: "tools/call",
        executed: "no",
        limit: "calls",
        max: 1
      })
      const failing = yield* around(() => Effect.fail(limited))
      assert.strictEqual((yield* failed(failing.call("a__x"))).error, limited)
      const bug = new Error("bug")
      const thrown = () => {
        throw bug
      }
      for (const hook of [thrown, () => Effect.die(bug)]) {
        const exit = yield* Effect.exit((yield* around(hook)).call("a__x"))
        assert(Exit.isFailure(exit))
        assert.deepStrictEqual([...Cause.defects(exit.cause)], [bug])
      }
    }))

  it.scoped("may bound a call in time: the server is told", () =>
    Effect.gen(function*() {
      const late = new McpError.LimitExceeded({
        server: "a",
        operation: "tools/call",
        executed: "maybe",
        limit: "time",
        max: 1
      })
      const { a, call } = yield* around(
        (_, next) => Effect.timeoutFail(next(), { duration: "1 second", onTimeout: () => late }),
        [{ name: "x", call: () => Effect.never }]
      )
      const calling = yield* Kit.begun(call("a__x"))
      yield* Kit.pass(1000, 500)
      assert.strictEqual(end(yield* Fiber.join(calling)), "Failure LimitExceeded")
      yield* a.server.awaitReceived("notifications/cancelled")
      assert.strictEqual((yield* a.server.stats).handling, 0)
    }))

  it.scoped("may hold calls back, and is not gone through before approval", () =>
    Effect.gen(function*() {
      const limit = yield* Effect.makeSemaphore(1)
      const running = yield* Ref.make(0)
      const most: Array<number> = []
      const a = yield* Kit.server("a", [{
        name: "x",
        call: () =>
          Effect.zipRight(
            Effect.tap(Ref.updateAndGet(running, (_) => _ + 1), (_) => Effect.sync(() => most.push(_))),
            Effect.as(Effect.ensuring(Effect.sleep(10), Ref.update(running, (_) => _ - 1)), "done")
          )
      }, "guarded"])
      let around = 0
      const { call } = (yield* Kit.toolset([a], {
        approval: ToolApproval.make({ always: ["guarded"], never: ["*"] }).pipe((_) =>
          _._tag === "Right" ? _.right : ToolApproval.always
        ),
        around: (_, next) => {
          around++
          return limit.withPermits(1)(next())
        }
      })).for()
      const calling = yield* Kit.begun(
        Effect.forEach(Array.from({ length: 5 }), () => call("a__x"), { concurrency: "unbounded" })
      )
      yield* Kit.pass(100, 5)
      assert.deepStrictEqual(
        (yield* Effect.flatten(Fiber.join(calling))).map(told),
        Array.from({ length: 5 }, () => "done")
      )
      assert.deepStrictEqual(most, [1, 1, 1, 1, 1])
      yield* pendingOf(call("a__guarded"))
      assert.strictEqual(around, 5)
    }))

  it.scoped("is interrupted with the run, and so is what it called", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const { a, call } = yield* around(
        (_, next) => Effect.onInterrupt(next(), () => Effect.sync(() => interrupted++)),
        [{ name: "x", call: () => Effect.never }]
      )
      const calling = yield* Kit.begun(call("a__x"))
      assert.strictEqual(end(yield* Kit.interrupted(calling)), "interrupted")
      yield* a.server.awaitReceived("notifications/cancelled")
      assert.strictEqual(interrupted, 1)
    }))
})
