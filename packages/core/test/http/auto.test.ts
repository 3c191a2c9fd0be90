import { assert, describe, it } from "@effect/vitest"
import type { McpError } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Exit, Scope, TestClock } from "effect"
import * as Channel from "../../src/internal/http/channel.js"
import { settable } from "../clocks.js"
import {
  decode,
  eventOf,
  handshake,
  initialize,
  inScope,
  openChannel,
  openScripted,
  realClients,
  record,
  request,
  response,
  type Scripted,
  scriptedClient,
  url
} from "./harness.js"

const isFirst = (exchange: Scripted) => exchange.request.url === url && exchange.request.method === "POST"

/** The first transport refuses; the second is served by two functions. */
const legacy = (
  refuse: (exchange: Scripted) => unknown,
  stream: (exchange: Scripted) => unknown = (_) => _.sse().data("event: endpoint\ndata: /message\n\n"),
  message: (exchange: Scripted) => unknown = (_) => _.status(202)
) =>
  scriptedClient((_) => {
    if (_.request.method === "DELETE") _.status(200)
    else if (isFirst(_)) refuse(_)
    else if (_.request.method === "GET") stream(_)
    else message(_)
  })

describe("transport: auto", () => {
  for (const status of [400, 404, 405]) {
    it.scoped(`initialize answered ${status} goes to HTTP+SSE, in the same transport, and is remembered`, () =>
      Effect.gen(function*() {
        const client = legacy((_) => _.status(status, "no", { "mcp-session-id": "evil" }))
        const channel = Channel.make(yield* decode("auto", url), client)
        for (const session of [1, 2]) {
          const recorded = record()
          const { scope, value: transport } = yield* inScope(channel.open(recorded.events))
          transport.send(initialize)
          yield* client.until(() => client.last().request.url === "http://server.test/message")
          assert.strictEqual(transport.kind(), "sse")
          assert.strictEqual(client.last().rpc.method, "initialize")
          client.of("GET")[session - 1]!.data(eventOf(response(0)))
          assert.deepStrictEqual(recorded.messages, [response(0)])
          transport.negotiated("2024-11-05")
          transport.send(request(1, "ping"))
          assert.strictEqual(client.last().request.headers["mcp-protocol-version"], "2024-11-05")
          assert.strictEqual(recorded.failed.length, 0)
          yield* Scope.close(scope, Exit.void)
          assert.strictEqual(client.open(), 0)
        }
        assert.strictEqual(client.exchanges.filter(isFirst).length, 1)
        assert.strictEqual(client.of("DELETE").length, 0)
      }))
  }

  const versionMismatch = JSON.stringify({ id: 0, error: { code: -32022, message: "", data: { supported: ["x"] } } })
  const others: ReadonlyArray<readonly [string, (exchange: Scripted) => unknown, McpError.McpError["_tag"]]> = [
    ["401", (_) => _.status(401), "Unauthorized"],
    ["403", (_) => _.status(403), "Forbidden"],
    ["406", (_) => _.status(406), "HttpError"],
    ["429", (_) => _.status(429), "HttpError"],
    ["500", (_) => _.status(500), "HttpError"],
    ["503", (_) => _.status(503), "HttpError"],
    ["a redirect elsewhere", (_) => _.status(307, "", { location: "http://evil.test/" }), "HttpError"],
    ["no connection", (_) => _.fail({ sent: false, reason: "Refused" }), "ConnectFailed"],
    ["a TLS failure", (_) => _.fail({ sent: false, reason: "Tls" }), "ConnectFailed"],
    ["a lost connection", (_) => _.fail(), "ConnectionClosed"],
    ["202", (_) => _.status(202), "ResponseLost"],
    ["400 with -32022", (_) => _.status(400, versionMismatch), "VersionMismatch"]
  ]
  for (const [what, refuse, tag] of others) {
    it.scoped(`initialize answered with ${what} stays what it is`, () =>
      Effect.gen(function*() {
        const client = legacy(refuse)
        const recorded = record()
        const transport = yield* openScripted(client, recorded, {}, "auto")
        transport.send(initialize)
        assert.deepStrictEqual(recorded.failed.map((_) => _.error._tag), [tag])
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(client.exchanges.length, 1)
        assert.strictEqual(transport.kind(), "http")
      }))
  }

  it.scoped("an answer whose id can't be made a text is no answer to initialize", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) =>
        _.sse().data(eventOf({ jsonrpc: "2.0", id: { toString: null }, result: {} }))
      )
      const recorded = record()
      const transport = yield* openScripted(client, recorded, {}, "auto")
      transport.send(initialize)
      assert.strictEqual(recorded.messages.length, 1)
      client.last().data(eventOf(response(0)))
      assert.deepStrictEqual(recorded.messages[1], response(0))
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("Streamable HTTP that works is remembered: a later 404 is never a reason to try the other", () =>
    Effect.gen(function*() {
      let known = true
      const client = scriptedClient((_) => {
        if (_.request.method !== "POST") _.status(405)
        else if (known) _.json(response(_.rpc.id), { "mcp-session-id": "s" })
        else _.status(404)
      })
      const channel = Channel.make(yield* decode("auto", url), client)
      const recorded = record()
      const transport = yield* channel.open(recorded.events)
      transport.send(initialize)
      transport.send(request(1, "ping"))
      assert.strictEqual(transport.sessionId(), "s")
      known = false
      transport.send(request(2, "ping"))
      assert.strictEqual(recorded.failed[0]?.error._tag, "SessionExpired")
      const second = record()
      const again = yield* channel.open(second.events)
      again.send(initialize)
      assert.strictEqual(second.failed[0]?.error._tag, "HttpError")
      assert.strictEqual(client.of("GET").length, 0)
    }))

  const failures: ReadonlyArray<
    readonly [string, stream: (exchange: Scripted) => unknown, message: (exchange: Scripted) => unknown, string]
  > = [
    ["404 to its stream", (_) => _.status(404), () => {}, "HTTP 404"],
    ["no connection", (_) => _.fail({ sent: false, reason: "Refused", detail: "refused" }), () => {}, "refused"],
    ["a foreign endpoint", (_) => _.sse().data("event: endpoint\ndata: http://evil.test/\n\n"), () => {}, "origin"],
    ["500 to its initialize", (_) => _.sse().data("event: endpoint\ndata: /m\n\n"), (_) => _.status(500), "HTTP 500"]
  ]
  for (const [what, stream, message, detail] of failures) {
    it.scoped(`when both fail the error tells both: ${what}`, () =>
      Effect.gen(function*() {
        const client = legacy((_) => _.status(405), stream, message)
        const recorded = record()
        const { scope, value: transport } = yield* inScope(openScripted(client, recorded, {}, "auto"))
        transport.send(initialize)
        const error = yield* recorded.failure(0)
        assert.strictEqual(recorded.failed.length, 1)
        assert.isTrue(error._tag === "HandshakeFailed")
        assert.include(error.message, "HTTP 405")
        assert.include(error.message, detail)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(client.open(), 0)
      }))
  }

  for (
    const [what, timeouts, millis, setBy] of [
      ["", {}, 5000, 0],
      [", nor longer than the handshake has", { handshake: "2 seconds" }, 1000, 0],
      [", also of a short handshake", { handshake: "500 millis" }, 250, 0],
      [", also where it has no deadline", { handshake: null }, 5000, 0],
      [", also where the wall clock is set meanwhile", { handshake: "2 seconds" }, 1000, 3_600_000]
    ] as const
  ) {
    it.scoped(`a stream that says nothing does not hide why initialize was refused${what}`, () =>
      Effect.gen(function*() {
        const refusal = { jsonrpc: "2.0", id: 0, error: { code: -32000, message: "api key missing" } }
        const client = legacy((_) => _.status(400, JSON.stringify(refusal)), (_) => _.sse())
        const recorded = record()
        const { clock, set } = yield* settable
        const transport = yield* Effect.withClock(openScripted(client, recorded, { timeouts }, "auto"), clock)
        set(setBy)
        transport.send(initialize)
        yield* client.until(() => client.of("GET").length === 1)
        yield* TestClock.adjust(millis - 1)
        assert.strictEqual(recorded.failed.length, 0)
        yield* TestClock.adjust(1)
        const error = yield* recorded.failure(0)
        assert(error._tag === "HandshakeFailed")
        assert.deepStrictEqual([error.executed, error.code], ["no", -32000])
        assert.include(error.message, "api key missing")
        assert.include(error.message, "no endpoint")
        yield* client.until(() => client.open() === 0)
      }))
  }

  it.scoped("credentials that the second try asks for are asked for", () =>
    Effect.gen(function*() {
      const client = legacy((_) => _.status(405), (_) => _.status(401, "", { "www-authenticate": "Bearer x" }))
      const recorded = record()
      const transport = yield* openScripted(client, recorded, {}, "auto")
      transport.send(initialize)
      const error = yield* recorded.failure(0)
      assert.isTrue(error._tag === "Unauthorized" && error.challenge === "Bearer x")
    }))

  for (const end of ["release", "close"] as const) {
    it.scoped(`${end} while falling back holds nothing and tells nothing`, () =>
      Effect.gen(function*() {
        const client = legacy((_) => _.status(405), () => {})
        const recorded = record()
        const { scope, value: transport } = yield* inScope(openScripted(client, recorded, {}, "auto"))
        transport.send(initialize)
        yield* client.until(() => client.of("GET").length === 1)
        if (end === "release") {
          transport.release(0)
          yield* client.until(() => client.open() === 0)
        }
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(client.open(), 0)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(client.exchanges.length, 2)
        assert.strictEqual(recorded.count(), 0)
      }))
  }

  it.scoped("a remembered HTTP+SSE that is gone is forgotten, so that the next session tries both again", () =>
    Effect.gen(function*() {
      let gone = false
      const client = legacy(
        (_) => gone ? _.json(response(0)) : _.status(405),
        (_) => gone ? _.status(405) : _.sse().data("event: endpoint\ndata: /m\n\n")
      )
      const channel = Channel.make(yield* decode("auto", url), client)
      const first = yield* channel.open(record().events)
      first.send(initialize)
      yield* client.until(() => client.last().rpc.method === "initialize" && client.exchanges.length === 3)
      client.of("GET")[0]!.data(eventOf(response(0)))
      gone = true
      assert.strictEqual((yield* Effect.flip(channel.open(record().events)))._tag, "HttpError")
      const recorded = record()
      const third = yield* channel.open(recorded.events)
      third.send(initialize)
      assert.strictEqual(recorded.messages.length, 1)
      assert.strictEqual(third.kind(), "http")
    }))

  for (const [name, exchange] of realClients) {
    for (const kind of ["http", "sse"] as const) {
      it.scopedLive(`finds ${kind} over real sockets (${name})`, () =>
        Effect.gen(function*() {
          const server = yield* HttpFixture.make({ legacy: kind === "sse" })
          const config = yield* decode("auto", server.url)
          const { scope: channelScope, value: channel } = yield* inScope(openChannel(exchange, config))
          for (let n = 0; n < 2; n++) {
            const recorded = record()
            const { scope, value: transport } = yield* inScope(channel.open(recorded.events))
            yield* handshake(transport, recorded)
            assert.strictEqual(transport.kind(), kind)
            yield* transport.listen
            transport.send(request(1, "tools/call", { name: "echo" }))
            yield* recorded.answer(1)
            assert.strictEqual(recorded.failed.length, 0)
            yield* Scope.close(scope, Exit.void)
            yield* server.awaitStreams((_) => _ === 0)
          }
          assert.strictEqual(server.log.filter((_) => _.rpc === "initialize").length, kind === "sse" ? 3 : 2)
          yield* Scope.close(channelScope, Exit.void)
          if (name === "undici") yield* server.awaitSockets((_) => _ === 0)
        }))
    }
  }
})
