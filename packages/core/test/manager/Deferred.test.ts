/**
 * Calls of tools that are known from an earlier run, while their server is not connected yet.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpCatalog, type McpError, type McpManager } from "@mcp-runtime/core"
import { Deferred, Effect, Exit, Fiber } from "effect"
import {
  assertNothingLeft,
  begun,
  ending,
  failure,
  fake,
  type FakeOptions,
  isDone,
  type Over,
  over,
  overInScope,
  pass,
  phases,
  settled,
  textOf,
  timed,
  views
} from "./kit.js"
import { storeOf, told } from "./stores.js"

/** A server that needs 5 s, whose tools are stored, after the gate. */
const deferred = (
  options: FakeOptions = {},
  more: Over & { readonly stored?: Parameters<typeof storeOf>[0][string] } = {}
) =>
  Effect.gen(function*() {
    const { stored = ["a"], ...rest } = more
    const a = yield* fake("a", { delay: 5000, ...options })
    const { end, manager } = yield* overInScope([a], { store: storeOf({ a: stored }).layer, ...rest })
    yield* Effect.addFinalizer(() => {
      a.closing = "works"
      a.letGo()
      return end
    })
    const starting = yield* begun(manager.connectAll)
    yield* pass(250)
    assert.isTrue(yield* isDone(starting))
    return { a, manager, end }
  })

const call = (manager: McpManager.Manager, args: object = {}, name = "a") =>
  manager.callTool("a", { name, arguments: { ...args } })

const countOf = (
  { server }: { readonly server: { readonly receivedOf: (method: string) => Effect.Effect<ReadonlyArray<unknown>> } },
  method: string
) => Effect.map(server.receivedOf(method), (_) => _.length)

const exits = <E>(fibers: ReadonlyArray<Fiber.RuntimeFiber<Exit.Exit<unknown, McpError.McpError>, E>>) =>
  Effect.forEach(fibers, (_) => Effect.map(Fiber.join(_), ending))

describe("the first call of a deferred tool", () => {
  it.scoped("waits for the connection in progress, looks the tool up, and runs once", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred()
      const calling = yield* begun(call(manager, { n: 1 }))
      yield* pass(4700)
      assert.isFalse(yield* isDone(calling))
      yield* pass(100)
      const exit = yield* Fiber.join(calling)
      assert.deepStrictEqual(Exit.isSuccess(exit) && textOf(exit.value), `{"n":1}`)
      assert.strictEqual((yield* a.server.stats).attempts, 1)
      assert.strictEqual(yield* countOf(a, "tools/list"), 1)
      assert.strictEqual(yield* countOf(a, "tools/call"), 1)
      assert.strictEqual(yield* phases(manager), "a connected")
    }))

  it.scoped("twenty at once share one connection and one listing", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred()
      const calls = yield* Effect.forEach(Array.from({ length: 20 }), (_, n) => begun(call(manager, { n })))
      yield* pass(5000, 100)
      assert.deepStrictEqual(yield* exits(calls), Array.from({ length: 20 }, () => "success"))
      assert.strictEqual((yield* a.server.stats).attempts, 1)
      assert.strictEqual(yield* countOf(a, "tools/list"), 1)
      assert.strictEqual(yield* countOf(a, "tools/call"), 20)
    }))

  it.scoped("of a tool that is gone is ToolNotFound, and nothing is sent", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred({ tools: ["other"] })
      const calling = yield* begun(call(manager))
      yield* pass(5000, 100)
      const error = failure(yield* Fiber.join(calling))
      assert.strictEqual(error._tag, "ToolNotFound")
      assert.strictEqual(error.executed, "no")
      assert.strictEqual(yield* countOf(a, "tools/call"), 0)
      assert.strictEqual(yield* phases(manager), "a connected")
    }))

  it.scoped("of a server that has no tools any more is a typed error, at once and later", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred({ capabilities: {} })
      const calling = yield* begun(call(manager))
      yield* pass(5000, 100)
      const error = failure(yield* Fiber.join(calling))
      assert.include(["ToolNotFound", "CapabilityMissing"], error._tag)
      assert.strictEqual(error.executed, "no")
      const later = failure(yield* Effect.exit(Effect.asVoid(call(manager))))
      assert.include(["ToolNotFound", "CapabilityMissing"], later._tag)
      assert.strictEqual(yield* countOf(a, "tools/call"), 0)
    }))

  it.scoped("is checked against the live schema, and told that it has changed", () =>
    Effect.gen(function*() {
      const live = { name: "a", inputSchema: { type: "object" as const, required: ["path"] } }
      const { a, manager } = yield* deferred({ tools: [live] })
      const wrong = yield* begun(call(manager, { text: "x" }))
      const right = yield* begun(call(manager, { path: "x" }))
      yield* pass(5000, 100)
      const error = failure(yield* Fiber.join(wrong))
      assert(error._tag === "ArgumentsInvalid")
      assert.deepStrictEqual(error.problems, [{ field: "arguments.path", problem: "is required" }])
      assert.include(error.message, "changed")
      assert.strictEqual(ending(yield* Fiber.join(right)), "success")
      assert.strictEqual(yield* countOf(a, "tools/call"), 1)
    }))

  it.scoped("what the stored schema required, and the live one does not, is not required", () =>
    Effect.gen(function*() {
      const old = { name: "a", inputSchema: { type: "object" as const, required: ["gone"] } }
      const { a, manager } = yield* deferred({}, { stored: [old] })
      const calling = yield* begun(call(manager, {}))
      yield* pass(5000, 100)
      assert.strictEqual(ending(yield* Fiber.join(calling)), "success")
      assert.strictEqual(yield* countOf(a, "tools/call"), 1)
    }))

  it.scoped("of a tool that was not stored is decided by the live list", () =>
    Effect.gen(function*() {
      const { manager } = yield* deferred({ tools: ["a", "new"] })
      const calling = yield* begun(call(manager, {}, "new"))
      const unknown = yield* begun(call(manager, {}, "constructor"))
      yield* pass(5000, 100)
      assert.strictEqual(ending(yield* Fiber.join(calling)), "success")
      assert.strictEqual(ending(yield* Fiber.join(unknown)), "a: ToolNotFound")
    }))

  it.scoped("does not wait for the turn of its server, also where that was closed before", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const store = storeOf({ a: ["a"], b: ["b"] })
      const manager = yield* over([a, b], { mode: "sequential", store: store.layer })
      yield* manager.connectAll
      yield* manager.close
      a.way = "hangs in initialize"
      const { exit, took } = yield* timed(manager.connectAll)
      assert.deepStrictEqual([ending(exit), took, (yield* views(manager)).active], ["success", 250, "a b"])
      const call = yield* timed(manager.callTool("b", { name: "b" }))
      assert.deepStrictEqual([ending(call.exit), call.took], ["success", 0])
    }))

  it.scoped("before the gate, before anything was read from the store, and without any start, it works too", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const store = storeOf({ a: ["a"] })
      store.beforeLoad = Deferred.await(held)
      const a = yield* fake("a", { delay: 1000 })
      const { manager } = yield* overInScope([a], { store: store.layer })
      const before = yield* begun(call(manager))
      const starting = yield* begun(manager.connectAll)
      const during = yield* begun(call(manager))
      yield* pass(500)
      yield* Deferred.succeed(held, undefined)
      const after = yield* begun(call(manager))
      yield* pass(500)
      assert.deepStrictEqual(yield* exits([before, during, after]), ["success", "success", "success"])
      assert.strictEqual(ending(yield* Fiber.join(starting)), "success")
      assert.strictEqual((yield* a.server.stats).attempts, 1)
    }))
})

describe("a connection that fails late", () => {
  it.scoped("is the typed error of who waits for it; a later call tries again, and heals the server", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred({ way: "refused" })
      const calling = yield* begun(call(manager))
      yield* pass(5000, 100)
      assert.strictEqual(ending(yield* Fiber.join(calling)), "a: ConnectFailed")
      assert.strictEqual((yield* views(manager)).errors, "a ConnectFailed")
      a.way = "works"
      a.delay = 100
      const { exit } = yield* timed(call(manager))
      assert.strictEqual(ending(exit), "success")
      assert.deepStrictEqual(yield* views(manager), {
        active: "a",
        connected: "a",
        failed: "",
        errors: "",
        phases: "a connected"
      })
      assert.strictEqual(told(yield* McpCatalog.make(manager).current), "a live: a")
      assert.strictEqual((yield* a.server.stats).attempts, 2)
    }))

  it.scoped(
    "every way to fail ends the call with an error that says why, without execution",
    () =>
      Effect.gen(function*() {
        const expected = {
          refused: "a: ConnectFailed",
          unauthorized: "a: Unauthorized",
          forbidden: "a: Forbidden",
          exits: "a: HandshakeFailed",
          "dies at start": "a: HandshakeFailed",
          "hangs at start": "a: RequestTimeout",
          "hangs in initialize": "a: RequestTimeout",
          "hangs in tools/list": "a: RequestTimeout"
        } as const
        for (const [way, error] of Object.entries(expected)) {
          const { a, manager } = yield* deferred({ way: way as keyof typeof expected, delay: 1000 })
          const calling = yield* begun(call(manager))
          yield* pass(12_000, 500)
          assert.isTrue(yield* isDone(calling), way)
          const failed = failure(yield* Fiber.join(calling))
          assert.strictEqual(`${failed.server}: ${failed._tag}`, error, way)
          assert.strictEqual(failed.executed, "no", way)
          assert.strictEqual(failed.operation, "tools/call", way)
          assert.notInclude(failed.message, "closed by this application", way)
          assert.strictEqual(yield* countOf(a, "tools/call"), 0, way)
          assert.strictEqual((yield* views(manager)).phases, "a failed", way)
        }
      }),
    20_000
  )

  it.scoped("a call that begins while the failed connection is still being closed waits, and heals it", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred({ way: "hangs in tools/list", closing: 2000, delay: 1000 })
      yield* pass(10_000, 250)
      assert.strictEqual((yield* views(manager)).errors, "a RequestTimeout")
      a.way = "works"
      const calling = yield* begun(call(manager))
      yield* pass(5000, 250)
      assert.strictEqual(ending(yield* Fiber.join(calling)), "success")
      assert.strictEqual((yield* views(manager)).phases, "a connected")
      assert.strictEqual((yield* views(manager)).errors, "")
    }))
})

describe("a call that ends before", () => {
  it.scoped("interrupted: nobody else notices", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred()
      const calls = yield* Effect.forEach(Array.from({ length: 5 }), (_, n) => begun(call(manager, { n })))
      yield* pass(1000)
      yield* Fiber.interrupt(calls[0]!)
      yield* pass(4000, 100)
      assert.deepStrictEqual(yield* exits(calls.slice(1)), Array.from({ length: 4 }, () => "success"))
      assert.strictEqual(yield* countOf(a, "tools/call"), 4)
      assert.strictEqual(yield* phases(manager), "a connected")
    }))

  it.scoped("interrupted, the only one: the server is connected all the same, and nothing is called", () =>
    Effect.gen(function*() {
      for (const at of [0, 100, 4749, 4750]) {
        const { a, manager } = yield* deferred()
        const calling = yield* Effect.fork(Effect.exit(call(manager)))
        if (at > 0) yield* pass(at)
        const exit = yield* Fiber.interrupt(calling)
        yield* pass(5000, 500)
        assert.strictEqual(yield* countOf(a, "tools/call"), at === 4750 ? 1 : 0)
        assert.strictEqual(Exit.isInterrupted(exit), at !== 4750)
        assert.strictEqual(yield* phases(manager), "a connected")
      }
    }))

  it.scoped("has a deadline, which includes the wait", () =>
    Effect.gen(function*() {
      for (const options of [{ timeout: "1 second" }, { maxTotal: "1 second" }] as const) {
        const { a, manager } = yield* deferred()
        const calling = yield* begun(manager.callTool("a", { name: "a" }, options))
        yield* pass(999)
        assert.isFalse(yield* isDone(calling))
        yield* pass(1)
        const error = failure(yield* Fiber.join(calling))
        assert(error._tag === "RequestTimeout")
        assert.strictEqual(error.executed, "no")
        yield* pass(5000, 500)
        assert.strictEqual(yield* phases(manager), "a connected")
        assert.strictEqual(yield* countOf(a, "tools/call"), 0)
      }
    }))

  it.scoped("what is left of maxTotal after the wait bounds the call itself", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred({ tools: [{ name: "a", call: () => Effect.never }] })
      const calling = yield* begun(manager.callTool("a", { name: "a" }, { maxTotal: "6 seconds" }))
      yield* pass(5900, 100)
      assert.strictEqual(yield* countOf(a, "tools/call"), 1)
      assert.isFalse(yield* isDone(calling))
      yield* pass(150, 50)
      const error = failure(yield* Fiber.join(calling))
      assert.include(["RequestTimeout", "OutcomeUnknown"], error._tag)
    }))
})

describe("meanwhile", () => {
  const meanwhile = (
    act: (
      parts: { readonly manager: McpManager.Manager; readonly end: Effect.Effect<void> }
    ) => Effect.Effect<unknown, McpError.McpError>,
    options?: FakeOptions
  ) =>
    Effect.gen(function*() {
      const { a, end, manager } = yield* deferred(options)
      const calls = yield* Effect.forEach(Array.from({ length: 5 }), (_, n) => begun(call(manager, { n })))
      yield* pass(1000)
      const acting = yield* begun(act({ manager, end }))
      yield* pass(50)
      const errors = yield* Effect.forEach(calls, (calling) =>
        Effect.gen(function*() {
          assert.isTrue(yield* isDone(calling), "the call hangs")
          return failure(yield* Fiber.join(calling))
        }))
      yield* timed(Fiber.join(acting))
      assert.strictEqual(yield* countOf(a, "tools/call"), 0)
      assert.deepStrictEqual([...new Set(errors.map((_) => _.executed))], ["no"])
      const after = yield* begun(call(manager))
      yield* pass(50)
      assert.isTrue(yield* isDone(after), "the call after it hangs")
      return { a, errors: [...new Set(errors.map((_) => _._tag))], after: ending(yield* Fiber.join(after)) }
    })

  it.scoped("the manager is closed: who waits is told at once, and so is who comes later", () =>
    Effect.gen(function*() {
      const { a, after, errors } = yield* meanwhile(({ manager }) => manager.close)
      assert.deepStrictEqual(errors.filter((_) => _ !== "ConnectionClosed" && _ !== "ConnectionUnavailable"), [])
      assert.strictEqual(after, "a: ConnectionUnavailable")
      yield* assertNothingLeft(a)
    }))

  it.scoped("its scope ends", () =>
    Effect.gen(function*() {
      const { a, after, errors } = yield* meanwhile(({ end }) => end)
      assert.deepStrictEqual(errors.filter((_) => _ !== "ConnectionClosed" && _ !== "ConnectionUnavailable"), [])
      assert.strictEqual(after, "a: ConnectionUnavailable")
      yield* assertNothingLeft(a)
    }))

  it.scoped("the server is disconnected", () =>
    Effect.gen(function*() {
      const { a, after, errors } = yield* meanwhile(({ manager }) => manager.disconnect("a"))
      assert.deepStrictEqual(errors.filter((_) => _ !== "ConnectionClosed" && _ !== "ConnectionUnavailable"), [])
      assert.strictEqual(after, "a: ConnectionUnavailable")
      yield* assertNothingLeft(a)
    }))

  it.scoped("the server is reloaded away", () =>
    Effect.gen(function*() {
      const { a, after, errors } = yield* meanwhile(({ manager }) => manager.reload([]))
      assert.deepStrictEqual(errors.filter((_) => _ !== "ConnectionClosed" && _ !== "ConnectionUnavailable"), [])
      assert.strictEqual(after, "a: UnknownServer")
      yield* assertNothingLeft(a)
    }))

  it.scoped("the server gets another configuration: it is another server, which is called by the next", () =>
    Effect.gen(function*() {
      const { a, manager } = yield* deferred()
      const calling = yield* begun(call(manager))
      yield* pass(1000)
      const reloading = yield* begun(manager.reload([{ ...a.config, timeouts: { request: "9 seconds" } } as never]))
      const next = yield* begun(call(manager))
      yield* pass(10_000, 500)
      assert.include(["a: ConnectionClosed", "a: ConnectionUnavailable"], ending(yield* Fiber.join(calling)))
      assert.strictEqual(ending(yield* Fiber.join(reloading)), "success")
      assert.isTrue(yield* isDone(next))
      const after = yield* begun(call(manager))
      assert.strictEqual(ending(yield* Fiber.join(after)), "success")
    }))

  it.scoped("a server that does not end when it is closed holds up nobody who has called it", () =>
    Effect.gen(function*() {
      for (const how of ["close", "end"] as const) {
        const { a, manager, end } = yield* deferred({ way: "hangs in tools/list", delay: 0, closing: "hangs" })
        const calling = yield* begun(call(manager))
        yield* pass(1000)
        const acting = yield* begun(how === "close" ? Effect.asVoid(manager.close) : end)
        yield* pass(1000, 100)
        assert.isTrue(yield* isDone(calling), how)
        const after = yield* begun(call(manager))
        assert.isTrue(yield* isDone(after), how)
        assert.strictEqual(ending(yield* Fiber.join(after)), "a: ConnectionUnavailable")
        yield* timed(Fiber.join(acting))
        // Also after it was left behind: it is closed.
        const later = yield* begun(call(manager))
        yield* pass(1000, 100)
        assert.isTrue(yield* isDone(later), how)
        assert.strictEqual(ending(yield* Fiber.join(later)), "a: ConnectionUnavailable", how)
        assert.strictEqual((yield* a.server.stats).attempts, 1, how)
        a.letGo()
        yield* pass(1000)
        yield* assertNothingLeft(a)
      }
    }))
})

describe("a manager that is closed", () => {
  it.scoped("connects nothing by a call, also where there was no connection before", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* fake("a"), yield* fake("b")]
      const { manager } = yield* overInScope([a, b])
      yield* manager.disconnect("b")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "b: ConnectionUnavailable")
      yield* manager.close
      for (const name of ["a", "b"]) {
        assert.strictEqual(
          ending(yield* Effect.exit(manager.callTool(name, { name }))),
          `${name}: ConnectionUnavailable`
        )
      }
      assert.strictEqual((yield* a.server.stats).attempts + (yield* b.server.stats).attempts, 0)
      yield* manager.connect("a")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("a", { name: "a" }))), "success")
    }))

  it.scoped("a call at the moment at which the scope ends leaves nothing behind", () =>
    Effect.gen(function*() {
      for (let turns = 0; turns < 12; turns++) {
        const a = yield* fake("a")
        const { end, manager } = yield* overInScope([a])
        const calling = yield* Effect.fork(Effect.exit(Effect.asVoid(manager.callTool("a", { name: "a" }))))
        for (let i = 0; i < turns; i++) yield* Effect.promise(() => Promise.resolve())
        const ended = yield* Effect.fork(end)
        yield* settled
        assert.isTrue(yield* isDone(calling), `hangs after ${turns} turns`)
        yield* Fiber.join(ended)
        yield* settled
        yield* assertNothingLeft(a)
      }
    }))
})
