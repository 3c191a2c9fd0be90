import { assert, describe, it } from "@effect/vitest"
import { HttpFixture } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"

const send = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  Effect.promise((signal) =>
    fetch(url, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
      signal
    })
  )

const get = (url: string, headers: Record<string, string> = {}) =>
  Effect.promise((signal) => fetch(url, { headers, signal }))

const text = (response: Response) => Effect.promise(() => response.text())

const rpc = (id: number, method: string, params: unknown = {}) => ({ jsonrpc: "2.0", id, method, params })

describe("HttpFixture", () => {
  it.scopedLive("speaks the protocol by default, and logs what it was asked", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make()
      const opened = yield* send(server.url, rpc(0, "initialize", { protocolVersion: "2025-06-18" }))
      const session = opened.headers.get("mcp-session-id") ?? ""
      assert.include(yield* text(opened), "\"protocolVersion\":\"2025-06-18\"")
      const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-06-18" }
      const initialized = yield* send(server.url, { jsonrpc: "2.0", method: "notifications/initialized" }, headers)
      assert.strictEqual(initialized.status, 202)
      const called = yield* send(server.url, rpc(1, "tools/call", { name: "echo", arguments: { a: 1 } }), headers)
      assert.include(yield* text(called), "{\\\"a\\\":1}")
      assert.strictEqual(server.executions("echo"), 1)
      assert.strictEqual((yield* send(server.url, rpc(2, "ping"))).status, 400)
      yield* server.expireSessions
      assert.strictEqual((yield* send(server.url, rpc(3, "ping"), headers)).status, 404)
      assert.deepStrictEqual(server.log.map((_) => [_.index, _.method, _.rpc, _.id]), [
        [0, "POST", "initialize", 0],
        [1, "POST", "notifications/initialized", undefined],
        [2, "POST", "tools/call", 1],
        [3, "POST", "ping", 2],
        [4, "POST", "ping", 3]
      ])
      assert.deepStrictEqual([server.log[2]?.session, server.log[2]?.version], ["session-1", "2025-06-18"])
    }))

  it.scopedLive("pushes on open streams, and wakes those who wait for streams, sockets and the log", () =>
    Effect.gen(function*() {
      const server = yield* HttpFixture.make({ sessions: false })
      const waiting = yield* Effect.fork(server.awaitLog((log) => log.some((_) => _.lastEventId === "7")))
      const stream = yield* get(server.url, { "last-event-id": "7" })
      assert.strictEqual((yield* Fiber.join(waiting)).length, 1)
      yield* server.awaitStreams((_) => _ === 1)
      assert.strictEqual(yield* server.pushToStream({ hello: 1 }), 1)
      yield* server.endStreams("end")
      assert.strictEqual(yield* text(stream), "data: {\"hello\":1}\n\n")
      yield* server.awaitStreams((_) => _ === 0)
      yield* server.destroySockets
      yield* server.awaitSockets((_) => _ === 0)
    }))

  it.scopedLive("does what an override says: wait, write in pieces, break off", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<string>()
      const server = yield* HttpFixture.make({
        override: (_) => {
          switch (_.rpc) {
            case "pieces":
              return HttpFixture.sse(["a", Deferred.await(gate), Effect.void, new Uint8Array([98])])
            case "after":
              return HttpFixture.after(Deferred.await(gate), HttpFixture.result(_, 5))
            case "broken":
              return HttpFixture.respond({ headers: { "content-length": "10" }, body: "abc", ending: "destroy" })
            case "destroy":
              return HttpFixture.destroy
            default:
              return undefined
          }
        }
      })
      const pieces = yield* send(server.url, rpc(1, "pieces"))
      const after = yield* Effect.fork(send(server.url, rpc(2, "after")))
      yield* server.awaitLog((_) => _.length === 2)
      assert.isTrue(after.unsafePoll() === null)
      yield* Deferred.succeed(gate, "-")
      assert.strictEqual(yield* text(pieces), "a-b")
      assert.strictEqual(yield* text(yield* Fiber.join(after)), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":5}")
      const broken = yield* send(server.url, rpc(3, "broken"))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(text(broken))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(send(server.url, rpc(4, "destroy")))))
      yield* server.setOverride(undefined)
      assert.strictEqual((yield* send(server.url, rpc(5, "pieces"))).status, 400)
    }))

  it.scopedLive("its close destroys what is open", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const server = yield* Scope.extend(HttpFixture.make({ override: () => HttpFixture.hang }), scope)
      const url = server.url
      const hanging = yield* Effect.fork(Effect.exit(send(url, rpc(1, "ping"))))
      yield* server.awaitLog((_) => _.length === 1)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(hanging)))
      assert.strictEqual(server.openSockets(), 0)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(send(url, rpc(2, "ping")))))
    }))
})
