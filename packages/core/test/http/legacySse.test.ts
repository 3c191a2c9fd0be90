import { assert, describe, it } from "@effect/vitest"
import type { McpError } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Either, Exit, Fiber, Scope, TestClock } from "effect"
import {
  decode,
  eventOf,
  handshake,
  type HttpInput,
  inScope,
  notification,
  openChannel,
  openScripted,
  post,
  realClients,
  record,
  request,
  response,
  type Scripted,
  scriptedClient
} from "./harness.js"

const at = "http://server.test/sse"

const endpoint = (to = "/message?sessionId=1") => `event: endpoint\ndata: ${to}\n\n`

const open = (client: ReturnType<typeof scriptedClient>, recorded = record(), input: HttpInput = {}) =>
  openScripted(client, recorded, input, "sse", at)

/** The stream opens; POSTs are answered by a function. */
const serving = (reply: (exchange: Scripted) => unknown = (_) => _.status(202)) =>
  scriptedClient((_) => {
    if (_.request.method === "GET") _.sse().data(endpoint())
    else reply(_)
  })

const streamOf = (client: ReturnType<typeof scriptedClient>) => client.of("GET")[0]!

describe("HTTP+SSE of 2024-11-05", () => {
  it.scoped("opens the stream, posts to its endpoint, and hears answers on the stream", () =>
    Effect.gen(function*() {
      const client = serving()
      const recorded = record()
      const transport = yield* openScripted(client, recorded, { headers: { "x-key": "api-key" } }, "sse", at)
      assert.strictEqual(transport.kind(), "sse")
      assert.deepInclude(streamOf(client).request.headers, { accept: "text/event-stream", "x-key": "api-key" })
      assert.strictEqual(streamOf(client).kind, "stream")
      transport.send(request(1, "initialize"))
      assert.strictEqual(client.last().request.url, "http://server.test/message?sessionId=1")
      assert.strictEqual(client.last().kind, "request")
      assert.strictEqual(client.last().request.headers["x-key"], "api-key")
      streamOf(client).data(eventOf(response(1)))
      assert.deepStrictEqual(recorded.messages, [response(1)])
      transport.negotiated("2024-11-05")
      assert.strictEqual(yield* post(transport, notification("notifications/initialized")), undefined)
      assert.strictEqual(client.last().request.headers["mcp-protocol-version"], "2024-11-05")
      yield* transport.listen
      assert.strictEqual(client.of("GET").length, 1)
    }))

  it.scoped("the body of a POST is ignored, and does not hold its socket; nor does a POST that is never answered", () =>
    Effect.gen(function*() {
      const client = serving(() => {})
      const recorded = record()
      const transport = yield* open(client, recorded)
      transport.send(request(1, "a"))
      client.last().json(response(1, "wrong"))
      transport.send(request(2, "b"))
      client.last().head(202)
      transport.send(request(3, "c"))
      streamOf(client).data(eventOf(response(1)) + eventOf(response(2)) + eventOf(response(3)))
      assert.deepStrictEqual(recorded.messages, [response(1), response(2), response(3)])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.open(), 1)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("L01: a stream that can't be opened fails open, and nothing is tried again", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => void _.fail({ sent: false, reason: "Refused" }))
      const recorded = record()
      const error = yield* Effect.flip(open(client, recorded))
      assert.isTrue(error._tag === "ConnectFailed" && error.executed === "no")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(client.exchanges.length, 1)
      assert.strictEqual(recorded.count(), 0)
    }))

  const refusals: ReadonlyArray<readonly [string, (exchange: Scripted) => unknown, McpError.McpError["_tag"]]> = [
    ["204", (_) => _.status(204), "ProtocolViolation"],
    ["200 with HTML", (_) => _.status(200, "<html>", { "content-type": "text/html" }), "ProtocolViolation"],
    ["400", (_) => _.status(400), "HttpError"],
    ["401 (L07)", (_) => _.status(401, "", { "www-authenticate": "Bearer" }), "Unauthorized"],
    ["403", (_) => _.status(403), "Forbidden"],
    ["404", (_) => _.status(404), "HttpError"],
    ["405", (_) => _.status(405), "HttpError"],
    ["500", (_) => _.status(500), "HttpError"],
    ["503", (_) => _.status(503), "HttpError"],
    ["a redirect elsewhere", (_) => _.status(302, "", { location: "http://evil.test/" }), "HttpError"],
    ["an end before the endpoint", (_) => _.sse().end(), "ConnectionClosed"],
    ["an endless event", (_) => _.sse().data("data: ").data("x".repeat(2000)), "ConnectionClosed"]
  ]
  for (const [what, reply, tag] of refusals) {
    it.scoped(`L02: ${what} fails open, once, and holds nothing`, () =>
      Effect.gen(function*() {
        const client = scriptedClient(reply)
        const recorded = record()
        const error = yield* Effect.flip(open(client, recorded, { limits: { eventBytes: 1000 } }))
        assert.strictEqual(error._tag, tag)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(client.exchanges.length, 1)
        assert.strictEqual(client.open(), 0)
        assert.strictEqual(recorded.count(), 0)
      }))
  }

  for (const [what, reply] of [["no head", () => {}], ["no endpoint", (_: Scripted) => void _.sse()]] as const) {
    it.effect(`L03: a stream with ${what} is given up when open is, before its scope is closed`, () =>
      Effect.gen(function*() {
        const client = scriptedClient(reply)
        const scope = yield* Scope.make()
        const fiber = yield* Effect.fork(Scope.extend(open(client), scope))
        yield* TestClock.adjust("1 hour")
        assert.isTrue(fiber.unsafePoll() === null)
        assert.strictEqual(client.open(), 1)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(client.open(), 0)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(client.exchanges.length, 1)
      }))
  }

  for (const [what, lose] of [["ends", (_: Scripted) => _.end()], ["breaks", (_: Scripted) => _.fail()]] as const) {
    it.scoped(`L04: when the stream ${what}, the session is over: told once, never opened again`, () =>
      Effect.gen(function*() {
        const client = serving(() => {})
        const recorded = record()
        const transport = yield* open(client, recorded)
        transport.send(request(1, "tools/call"))
        const told: Array<McpError.McpError | undefined> = []
        transport.send(notification("n"), (_) => told.push(_))
        lose(streamOf(client))
        assert.strictEqual(recorded.closed.length, 1)
        const error = recorded.closed[0]!
        assert.isTrue(error._tag === "ConnectionClosed" && error.reason === "StreamLost" && error.executed === "maybe")
        assert.strictEqual(told[0]?._tag, "ConnectionClosed")
        assert.strictEqual(client.open(), 0)
        transport.send(request(2, "tools/call"))
        assert.deepStrictEqual(recorded.failed.map((_) => [_.id, _.error.executed]), [[2, "no"]])
        assert.strictEqual((yield* post(transport, notification("n")))?.executed, "no")
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(client.exchanges.length, 3)
        assert.strictEqual(recorded.closed.length, 1)
      }))
  }

  const foreign = [
    "http://evil.test/message",
    "https://server.test/message",
    "//evil.test/m",
    "http://:bad",
    "file:///x"
  ]
  for (const to of foreign) {
    it.scoped(`L05: the endpoint ${to} is refused`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => void _.sse().data(endpoint(to)).data(endpoint()))
        const recorded = record()
        const error = yield* Effect.flip(open(client, recorded))
        assert.isTrue(error._tag === "ProtocolViolation" && error.executed === "no")
        assert.strictEqual(client.exchanges.length, 1)
        assert.strictEqual(client.open(), 0)
      }))
  }

  it.scoped("L05: an endpoint within the origin is taken without user and fragment; a second one is not", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => {
        if (_.request.method === "GET") _.sse().data(endpoint("http://u:p@server.test/m?s=1#x") + endpoint("/other"))
      })
      const transport = yield* open(client)
      transport.send(request(1, "a"))
      assert.strictEqual(client.last().request.url, "http://server.test/m?s=1")
    }))

  it.scoped("L06: a POST that is refused fails its request by its status, and the session lives on", () =>
    Effect.gen(function*() {
      const client = serving((_) => {
        const { id, method } = _.rpc
        if (method === "fail") _.fail()
        else if (id !== undefined) _.status(Number(id), "No session", { "retry-after": "1" })
        else _.status(500)
      })
      const recorded = record()
      const transport = yield* open(client, recorded)
      for (const status of [404, 401, 403, 429, 500]) transport.send(request(status, "tools/call"))
      transport.send(request(1, "fail"))
      assert.deepStrictEqual(recorded.failed.map((_) => [_.id, _.error._tag, _.error.executed]), [
        [404, "HttpError", "no"],
        [401, "Unauthorized", "no"],
        [403, "Forbidden", "no"],
        [429, "HttpError", "no"],
        [500, "HttpError", "maybe"],
        [1, "ConnectionClosed", "maybe"]
      ])
      const error = yield* post(transport, notification("n"))
      assert.isTrue(error?._tag === "HttpError" && error.status === 500)
      assert.strictEqual(recorded.closed.length, 0)
      assert.isTrue(streamOf(client).open)
    }))

  for (const [body, status] of [["", 404], ["Bad Request: No valid session ID provided", 400]] as const) {
    it.scoped(`an endpoint that has accepted messages, and then says ${status}: the session is lost`, () =>
      Effect.gen(function*() {
        const client = serving((_) =>
          _.status(_.rpc.method === "lost" ? status : 202, _.rpc.method === "lost" ? body : "")
        )
        const recorded = record()
        const transport = yield* open(client, recorded)
        transport.send(request(1, "lost"))
        transport.send(request(2, "initialize"))
        transport.send(request(3, "lost"))
        assert.deepStrictEqual(recorded.failed.map((_) => [_.id, _.error._tag, _.error.executed]), [
          [1, "HttpError", "no"],
          [3, "SessionExpired", "no"]
        ])
      }))
  }

  it.scoped("H11: release frees a POST; a late refusal of it is not told", () =>
    Effect.gen(function*() {
      const client = serving(() => {})
      const recorded = record()
      const transport = yield* open(client, recorded)
      transport.send(request(1, "a"))
      transport.release(1)
      assert.isTrue(client.last().aborted)
      assert.strictEqual(recorded.count(), 0)
    }))

  it.scoped("H13, H15: the close of the scope stops stream and POSTs without a report; nothing comes after", () =>
    Effect.gen(function*() {
      const client = serving(() => {})
      const recorded = record()
      const { scope, value: transport } = yield* inScope(open(client, recorded))
      const told: Array<McpError.McpError | undefined> = []
      transport.send(request(1, "a"))
      transport.send(notification("n"), (_) => told.push(_))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(client.open(), 0)
      assert.strictEqual(told.length, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(client.exchanges.length, 3)
      assert.strictEqual(recorded.count(), 0)
    }))

  it.scoped("A09: headers that can't be made fail open", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const error = yield* Effect.flip(open(client, record(), { requestHeaders: Effect.fail("secret") }))
      assert.strictEqual(error._tag, "ConnectFailed")
      assert.strictEqual(client.exchanges.length, 0)
    }))

  for (const [name, exchange] of realClients) {
    it.scopedLive(`a whole session over real sockets (${name}), twice on one channel, with the stream lost in between`, () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({ legacy: true })
        const config = yield* decode("sse", server.url)
        const { scope: channelScope, value: channel } = yield* inScope(openChannel(exchange, config))
        for (const lose of [true, false]) {
          const recorded = record()
          const { scope, value: transport } = yield* inScope(channel.open(recorded.events))
          yield* handshake(transport, recorded)
          transport.send(request(1, "tools/call", { name: "echo", arguments: { text: "hi" } }))
          yield* recorded.answer(1)
          yield* server.pushToStream(notification("notifications/message"))
          yield* recorded.until((_) => _.messages.some((_) => _.method === "notifications/message"))
          if (lose) {
            yield* server.endStreams("destroy")
            yield* recorded.until((_) => _.closed.length === 1)
          }
          yield* Scope.close(scope, Exit.void)
          yield* server.awaitStreams((_) => _ === 0)
          assert.strictEqual(recorded.closed.length, lose ? 1 : 0)
        }
        assert.strictEqual(server.log.filter((_) => _.rpc === "initialize").length, 2)
        assert.strictEqual(server.log.filter((_) => _.method === "GET").length, 2)
        assert.strictEqual(server.executions("echo"), 2)
        yield* Scope.close(channelScope, Exit.void)
        if (name === "undici") yield* server.awaitSockets((_) => _ === 0)
      }))

    it.scopedLive(`L01, L02: refused for real (${name})`, () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: () => HttpFixture.respond({ status: 404, body: "nothing" })
        })
        const config = yield* decode("sse", server.url)
        const channel = yield* openChannel(exchange, config)
        const result = yield* Effect.either(Effect.scoped(channel.open(record().events)))
        assert.isTrue(Either.isLeft(result) && result.left._tag === "HttpError" && result.left.status === 404)
        assert.strictEqual(server.log.length, 1)
      }))
  }
})
