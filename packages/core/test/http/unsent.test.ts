import { assert, describe, it } from "@effect/vitest"
import { type McpError, McpSession } from "@mcp-runtime/core"
import { Effect, Exit, Fiber, Scope, TestClock } from "effect"
import * as Channel from "../../src/internal/http/channel.js"
import { decode, eventOf, type HttpInput, inScope, response, type Scripted, scriptedClient, url } from "./harness.js"

/** A session whose requests other than the handshake are left to a function, which is called before anything is written. */
const session = (onRequest: (exchange: Scripted) => void, input: HttpInput = {}, transport: "http" | "sse" = "http") =>
  Effect.gen(function*() {
    const client = scriptedClient((exchange) => {
      const { id, method } = exchange.rpc
      if (exchange.request.method === "DELETE") return void exchange.status(200)
      if (exchange.request.method === "GET") {
        return void (transport === "http"
          ? exchange.status(405)
          : exchange.sse().data("event: endpoint\ndata: /in\n\n"))
      }
      if (id === undefined) return void exchange.status(202)
      if (method !== "initialize") return onRequest(exchange)
      const answer = response(id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" }
      })
      if (transport === "http") return void exchange.json(answer)
      exchange.status(202)
      client.of("GET")[0]!.data(eventOf(answer))
    })
    const config = yield* decode(transport, url, input)
    const { scope, value } = yield* inScope(McpSession.open(Channel.make(config, client)))
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    return { client, scope, session: value }
  })

const cancellations = (exchanges: ReadonlyArray<Scripted>) =>
  exchanges.filter((_) => _.rpc.method === "notifications/cancelled").map((_) => _.rpc.params)

const call = (opened: McpSession.McpSession, options?: McpSession.RequestOptions) =>
  opened.request("tools/call", { name: "t", arguments: {} }, options) as Effect.Effect<unknown, McpError.McpError>

describe("a request that is given up before a byte of it was written", () => {
  for (const transport of ["http", "sse"] as const) {
    it.scoped(`${transport}: its time is over: it was not executed, and nothing of it is cancelled`, () =>
      Effect.gen(function*() {
        const { client, session: opened } = yield* session(
          (_) => {
            _.written = false
          },
          {},
          transport
        )
        const fiber = yield* Effect.fork(Effect.flip(call(opened, { timeout: "5 seconds" })))
        yield* client.until(() => client.last().rpc.method === "tools/call")
        yield* TestClock.adjust("5 seconds")
        const error = yield* Fiber.join(fiber)
        assert(error._tag === "RequestTimeout")
        assert.deepStrictEqual([error.executed, error.kind, error.millis], ["no", "wait", 5000])
        assert.include(error.message, "it has not run")
        assert.deepStrictEqual(cancellations(client.exchanges), [])
      }))

    it.scoped(`${transport}: its caller is interrupted: nothing of it is cancelled`, () =>
      Effect.gen(function*() {
        const { client, session: opened } = yield* session(
          (_) => {
            _.written = false
          },
          {},
          transport
        )
        const fiber = yield* Effect.fork(call(opened))
        yield* client.until(() => client.last().rpc.method === "tools/call")
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
        assert.isTrue(client.of("POST").find((_) => _.rpc.method === "tools/call")!.aborted)
        assert.deepStrictEqual(cancellations(client.exchanges), [])
      }))

    it.scoped(`${transport}: what was written may have been executed, and is cancelled`, () =>
      Effect.gen(function*() {
        const { client, session: opened } = yield* session(() => {}, {}, transport)
        const fiber = yield* Effect.fork(Effect.flip(call(opened, { timeout: "5 seconds" })))
        yield* client.until(() => client.last().rpc.method === "tools/call")
        const { id } = client.last().rpc
        yield* TestClock.adjust("5 seconds")
        const error = yield* Fiber.join(fiber)
        assert(error._tag === "RequestTimeout")
        assert.deepStrictEqual([error.executed, error.kind], ["maybe", "idle"])
        assert.deepStrictEqual(cancellations(client.exchanges), [{
          requestId: id,
          reason: "The request was timed out"
        }])
      }))
  }

  for (const transport of ["http", "sse"] as const) {
    it.scoped(`${transport}: the session is closed: only what was written may have been executed`, () =>
      Effect.gen(function*() {
        const written = (_: Scripted) => (_.rpc.params as { readonly n: number }).n === 1
        const { client, scope, session: opened } = yield* session(
          (_) => {
            _.written = written(_)
          },
          {},
          transport
        )
        const ask = (n: number) => opened.request("x/y", { n }) as Effect.Effect<unknown, McpError.McpError>
        const fibers = [yield* Effect.fork(Effect.flip(ask(1))), yield* Effect.fork(Effect.flip(ask(2)))]
        yield* client.until(() => client.of("POST").filter((_) => _.rpc.method === "x/y").length === 2)
        yield* Scope.close(scope, Exit.void)
        const errors = [yield* Fiber.join(fibers[0]!), yield* Fiber.join(fibers[1]!)]
        assert.deepStrictEqual(errors.map((_) => [_._tag, _.executed]), [
          ["ConnectionClosed", "maybe"],
          ["ConnectionClosed", "no"]
        ])
      }))
  }

  it.scoped("sse: the stream of the session breaks: only what was written may have been executed", () =>
    Effect.gen(function*() {
      const { client, session: opened } = yield* session(
        (_) => {
          _.written = (_.rpc.params as { readonly n: number }).n === 1
        },
        {},
        "sse"
      )
      const ask = (n: number) => opened.request("x/y", { n }) as Effect.Effect<unknown, McpError.McpError>
      const fibers = [yield* Effect.fork(Effect.flip(ask(1))), yield* Effect.fork(Effect.flip(ask(2)))]
      yield* client.until(() => client.of("POST").filter((_) => _.rpc.method === "x/y").length === 2)
      client.of("GET")[0]!.end()
      const errors = [yield* Fiber.join(fibers[0]!), yield* Fiber.join(fibers[1]!)]
      assert.deepStrictEqual(errors.map((_) => [_._tag, _.executed]), [
        ["ConnectionClosed", "maybe"],
        ["ConnectionClosed", "no"]
      ])
      assert.isTrue(client.of("POST").filter((_) => _.rpc.method === "x/y").every((_) => _.aborted))
    }))

  it.scoped("its headers are still being made", () =>
    Effect.gen(function*() {
      let hangs = false
      const { client, session: opened } = yield* session(() => {}, {
        requestHeaders: Effect.suspend(() => hangs ? Effect.never : Effect.succeed({ "x-a": "1" }))
      })
      hangs = true
      const fiber = yield* Effect.fork(Effect.flip(call(opened, { timeout: "5 seconds" })))
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(fiber)
      assert.deepStrictEqual([error._tag, error.executed], ["RequestTimeout", "no"])
      hangs = false
      assert.deepStrictEqual(cancellations(client.exchanges), [])
    }))
})
