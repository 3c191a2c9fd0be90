import { assert, describe, it } from "@effect/vitest"
import { HttpExchange } from "@mcp-runtime/core"
import { Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { open } from "./exchangeContract.js"
import { exchange, send } from "./exchangeServer.js"

const url = "http://127.0.0.1:1/mcp"

const withFetch = (fetch: typeof globalThis.fetch) =>
  Effect.provideService(HttpExchange.HttpExchange, HttpExchange.fromFetch(fetch))

describe("fromFetch", () => {
  it.scoped("tls, proxy and maxConnections are refused, and all fields are named", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        open({ url, tls: { verify: false }, proxy: "http://u:hunter2@127.0.0.1:2", maxConnections: 4 })
      )
      assert.strictEqual(error._tag, "ConfigInvalid")
      if (error._tag !== "ConfigInvalid") return
      assert.deepStrictEqual(error.problems.map((_) => _.field), ["tls", "proxy", "maxConnections"])
      assert.include(error.message, "UndiciExchange.layer")
      assert.notInclude(error.message, "hunter2")
    }).pipe(Effect.provide(HttpExchange.layerFetch)))

  it.scoped("H18: a redirect that the platform hides is a failure, and its body is given back", () =>
    Effect.gen(function*() {
      const client = yield* open({ url })
      const recorded = yield* exchange(client, { url })
      assert.deepStrictEqual(recorded.events, ["failed"])
      assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [true, "BadUrl"])
    }).pipe(withFetch(() => Promise.resolve(Response.error()))))

  it.scoped("a fetch that throws at once is a failure after send has returned", () =>
    Effect.gen(function*() {
      const client = yield* open({ url })
      const recorded = send(client, { url })
      assert.deepStrictEqual(recorded.events, [])
      yield* recorded.settled
      assert.deepStrictEqual(recorded.events, ["failed"])
      assert.notInclude(JSON.stringify(recorded.failure), "secret")
    }).pipe(withFetch(() => {
      throw new Error("secret")
    })))

  it.scoped("H11: a fetch that answers although it was aborted: the body is given back, nothing is reported", () => {
    let cancelled = false
    let answer: ((response: Response) => void) | undefined
    const body = () =>
      new ReadableStream<Uint8Array>({
        cancel: () => {
          cancelled = true
        }
      })
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const client = yield* open({ url }).pipe(Scope.extend(scope))
      const recorded = send(client, { url })
      recorded.abort()
      answer!(new Response(body()))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(cancelled, true)
      assert.deepStrictEqual(recorded.events, [])
    }).pipe(withFetch(() => new Promise((resolve) => (answer = resolve))))
  })

  it.scoped("H13: the end of the scope waits for aborted fetches, but not for ever", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const client = yield* open({ url }).pipe(Scope.extend(scope))
      const recorded = send(client, { url })
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(closing.unsafePoll(), null)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(recorded.events, [])
    }).pipe(withFetch(() => new Promise(() => {}))))

  it.scoped("one signal per request, and no shared one", () => {
    const signals = new Set<AbortSignal>()
    return Effect.gen(function*() {
      const client = yield* open({ url })
      for (let i = 0; i < 3; i++) yield* exchange(client, { url })
      assert.strictEqual(signals.size, 3)
    }).pipe(withFetch((_, init) => {
      signals.add(init!.signal!)
      return Promise.resolve(new Response("ok"))
    }))
  })
})
