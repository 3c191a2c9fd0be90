import { assert, describe, it } from "@effect/vitest"
import type { McpTransport } from "@mcp-runtime/core"
import { HttpFixture } from "@mcp-runtime/testing"
import { Effect, Exit, Scope } from "effect"
import * as Net from "node:net"
import { telling } from "../clocks.js"
import {
  decode,
  eventOf,
  handshake,
  type HttpInput,
  initialize,
  inScope,
  notification,
  openChannel,
  post,
  realClients,
  record,
  request,
  response
} from "./harness.js"

type Reply = ReturnType<typeof HttpFixture.json>

for (const [client, exchange] of realClients) {
  const connect = (url: string, input: HttpInput = {}) =>
    Effect.gen(function*() {
      const config = yield* decode("http", url, input)
      const channel = yield* inScope(openChannel(exchange, config))
      return { channel: channel.value, closeChannel: Scope.close(channel.scope, Exit.void) }
    })

  const session = (channel: McpTransport.Channel) =>
    Effect.gen(function*() {
      const recorded = record()
      const { scope, value: transport } = yield* inScope(channel.open(recorded.events))
      return { close: Scope.close(scope, Exit.void), recorded, transport }
    })

  const ready = (url: string, input: HttpInput = {}) =>
    Effect.gen(function*() {
      const connection = yield* connect(url, input)
      const opened = yield* session(connection.channel)
      yield* handshake(opened.transport, opened.recorded)
      return { ...connection, ...opened }
    })

  /** The sockets of the platform's own fetch are pooled for the process. */
  const noSockets = (server: HttpFixture.HttpFixture) =>
    client === "undici" ? server.awaitSockets((_) => _ === 0) : server.destroySockets

  /** Only undici can bound its sockets. */
  const oneClient = (input: HttpInput): HttpInput => client === "undici" ? input : {}

  const calls = (override: (request: HttpFixture.LoggedRequest) => Reply | undefined) =>
  (
    request: HttpFixture.LoggedRequest
  ) => request.rpc === "tools/call" ? override(request) : undefined

  describe(`Streamable HTTP over ${client}`, () => {
    for (const answers of ["json", "sse"] as const) {
      it.scopedLive(`a whole session with ${answers} answers: handshake, stream, calls, notifications, DELETE`, () =>
        Effect.gen(function*() {
          const server = yield* HttpFixture.make({ answers })
          const { close, closeChannel, recorded, transport } = yield* ready(server.url)
          yield* transport.listen
          assert.deepStrictEqual(recorded.stream, ["open"])
          for (let id = 1; id <= 20; id++) {
            transport.send(request(id, "tools/call", { name: "echo", arguments: { text: `caf\u00e9 ${id}` } }))
          }
          for (let id = 1; id <= 20; id++) yield* recorded.answer(id)
          assert.strictEqual(server.executions("echo"), 20)
          assert.include(JSON.stringify(yield* recorded.answer(7)), "caf\u00e9 7")
          yield* server.pushToStream(notification("notifications/tools/list_changed"))
          yield* recorded.until((_) => _.messages.some((_) => _.method === "notifications/tools/list_changed"))
          assert.strictEqual(yield* post(transport, response("s") as never), undefined)
          yield* close
          assert.deepStrictEqual(server.log.map((_) => _.rpc ?? _.method).filter((_) => _ !== "tools/call"), [
            "initialize",
            "notifications/initialized",
            "GET",
            "POST",
            "DELETE"
          ])
          assert.isTrue(server.log.slice(1).every((_) => _.session === "session-1" && _.version === "2025-11-25"))
          assert.deepStrictEqual(server.sessions(), [])
          yield* closeChannel
          yield* noSockets(server)
          assert.strictEqual(recorded.failed.length, 0)
          assert.strictEqual(recorded.closed.length, 0)
        }))
    }

    it.scopedLive("sessions of one channel share its sockets: the second needs no new one for its requests", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make()
        const { channel, close, closeChannel } = yield* ready(server.url)
        yield* close
        const ports = new Set(server.log.map((_) => _.port))
        const second = yield* session(channel)
        yield* handshake(second.transport, second.recorded)
        yield* second.close
        assert.deepStrictEqual(new Set(server.log.map((_) => _.port)), ports)
        yield* closeChannel
        yield* noSockets(server)
      }))

    const statuses = [
      [401, "Unauthorized", "no"],
      [403, "Forbidden", "no"],
      [404, "SessionExpired", "no"],
      [429, "HttpError", "no"],
      [500, "HttpError", "maybe"],
      [503, "HttpError", "maybe"]
    ] as const
    it.scopedLive("H01: a refusal keeps what its headers say, and its socket is used again", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: calls((_) =>
            HttpFixture.respond({
              status: Number(_.id),
              headers: { "retry-after": "7", "www-authenticate": "Bearer scope=\"a b\"" },
              body: "why"
            })
          )
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        for (const [status, tag, executed] of statuses) {
          transport.send(request(status, "tools/call"))
          const error = yield* recorded.failure(status)
          assert.deepStrictEqual([error._tag, error.executed], [tag, executed])
          if (error._tag === "HttpError") assert.strictEqual(error.retryAfterMillis, 7000)
          if (error._tag === "Unauthorized") assert.strictEqual(error.challenge, "Bearer scope=\"a b\"")
          if (error._tag === "Forbidden") assert.strictEqual(error.scope, "a b")
        }
        const ports = new Set(server.log.filter((_) => _.id !== undefined).map((_) => _.port))
        if (client === "undici") assert.strictEqual(ports.size, 1)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H02: a forgotten session is told to every call, none is executed, and it is not deleted", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make()
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        yield* server.expireSessions
        for (let id = 1; id <= 10; id++) transport.send(request(id, "tools/call", { name: "echo" }))
        for (let id = 1; id <= 10; id++) assert.strictEqual((yield* recorded.failure(id))._tag, "SessionExpired")
        assert.strictEqual(server.executions(), 0)
        yield* close
        assert.isFalse(server.log.some((_) => _.method === "DELETE"))
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H03: a closed port is ConnectFailed, not executed", () =>
      Effect.gen(function*() {
        const port = yield* Effect.async<number>((resume) => {
          const probe = Net.createServer().listen(0, "127.0.0.1", () => {
            const { port } = probe.address() as Net.AddressInfo
            probe.close(() => resume(Effect.succeed(port)))
          })
        })
        const { channel, closeChannel } = yield* connect(`http://user:secret@127.0.0.1:${port}/mcp?key=secret`)
        const { close, recorded, transport } = yield* session(channel)
        transport.send(initialize)
        const error = yield* recorded.failure(0)
        assert.isTrue(error._tag === "ConnectFailed" && error.reason === "Refused" && error.executed === "no")
        assert.notInclude(error.message, "secret")
        yield* close
        yield* closeChannel
      }))

    it.scopedLive("H03: a server that drops the socket leaves the outcome open", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({ override: calls(() => HttpFixture.destroy) })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        transport.send(request(1, "tools/call"))
        const error = yield* recorded.failure(1)
        assert.deepStrictEqual([error._tag, error.executed], ["ConnectionClosed", "maybe"])
        transport.send(request(2, "ping"))
        yield* recorded.answer(2)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    const event = HttpFixture.event
    const lost: ReadonlyArray<readonly [string, Reply]> = [
      ["ResponseLost", HttpFixture.accepted],
      ["ResponseLost", HttpFixture.sse([])],
      ["ResponseLost", HttpFixture.sse([event({ jsonrpc: "2.0", method: "n" })])],
      ["ResponseLost", HttpFixture.sse(["data: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}"])],
      ["ResponseLost", HttpFixture.sse([event("hello")])],
      ["ResponseLost", HttpFixture.sse([": hi\n\n"], "destroy")],
      ["ResponseLost", HttpFixture.json({ jsonrpc: "2.0", id: 99, result: {} })],
      ["ResponseLost", HttpFixture.json([])],
      ["ProtocolViolation", HttpFixture.respond({ status: 204 })],
      ["ProtocolViolation", HttpFixture.respond({ headers: { "content-type": "text/html" }, body: "<html>" })],
      ["ProtocolViolation", HttpFixture.respond({ headers: { "content-type": "application/json" } })],
      [
        "ResponseLost",
        HttpFixture.respond({
          headers: { "content-type": "application/json", "content-length": "100" },
          body: ["{"],
          ending: "destroy"
        })
      ]
    ]
    it.scopedLive("H05, H06: every lost response fails its call, and the session lives on", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({ override: calls((_) => lost[Number(_.id) - 1]![1]) })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        for (const [index, [tag]] of lost.entries()) {
          transport.send(request(index + 1, "tools/call"))
          // Nothing here has a deadline: a lost response that is not noticed would not end.
          const error = yield* recorded.failure(index + 1)
          assert.deepStrictEqual([index, error._tag, error.executed], [index, tag, "maybe"])
        }
        transport.send(request(100, "ping"))
        yield* recorded.answer(100)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H07: as the conformance suite wants it: Last-Event-ID, not before retry: 500 has passed", () =>
      Effect.gen(function*() {
        const { clock, over } = yield* telling
        const resumed: Array<ReadonlyArray<number | string>> = []
        const server = yield* HttpFixture.make({
          override: (_) => {
            if (_.rpc === "tools/call") {
              return HttpFixture.sse([event("", { id: "event-1", retry: 500 })])
            }
            if (_.lastEventId === undefined) return undefined
            resumed.push([_.lastEventId, ...over])
            return HttpFixture.sse([event({ jsonrpc: "2.0", id: 1, result: {} }, { id: "event-2" })])
          }
        })
        const { close, closeChannel, recorded, transport } = yield* Effect.withClock(ready(server.url), clock)
        transport.send(request(1, "tools/call"))
        yield* recorded.answer(1)
        assert.deepStrictEqual(resumed, [["event-1", 500]])
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H11: released calls free their sockets, before and after the head of the answer", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: calls((_) => Number(_.id) % 2 === 0 ? HttpFixture.hang : HttpFixture.sse([": hi\n\n"], "open"))
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, oneClient({ maxConnections: 64 }))
        for (let id = 1; id <= 50; id++) transport.send(request(id, "tools/call"))
        yield* server.awaitLog((log) => log.filter((_) => _.rpc === "tools/call").length === 50)
        assert.isAtLeast(server.openSockets(), 50)
        for (let id = 1; id <= 50; id++) transport.release(id)
        yield* server.awaitSockets((_) => _ <= (client === "undici" ? 1 : 4))
        transport.send(request(51, "ping"))
        yield* recorded.answer(51)
        assert.strictEqual(recorded.failed.length, 0)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H17: hundreds of requests, released or answered, bring no warning about listeners", () =>
      Effect.gen(function*() {
        const warnings: Array<Error> = []
        const warned = (warning: Error) => void warnings.push(warning)
        process.on("warning", warned)
        const server = yield* HttpFixture.make({ override: calls(() => HttpFixture.hang) })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        for (let id = 1; id <= 400; id++) {
          transport.send(request(id, id % 4 === 0 ? "tools/call" : "ping"))
          if (id % 4 === 0) transport.release(id)
          else yield* recorded.answer(id)
        }
        yield* close
        yield* closeChannel
        yield* noSockets(server)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        process.off("warning", warned)
        assert.deepStrictEqual(warnings, [])
      }))

    it.scopedLive("H12: one request socket is enough beside an open stream", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make()
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, oneClient({ maxConnections: 1 }))
        yield* transport.listen
        for (let id = 1; id <= 3; id++) transport.send(request(id, "ping"))
        for (let id = 1; id <= 3; id++) yield* recorded.answer(id)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H12: over one request socket, a request of the server within a call is answered, and the session is deleted", () =>
      Effect.gen(function*() {
        const server: HttpFixture.HttpFixture = yield* HttpFixture.make({
          override: calls((_) =>
            HttpFixture.sse([
              eventOf(request("s-1", "roots/list")),
              Effect.suspend(() => server.awaitLog((log) => log.some((_) => _.id === "s-1"))).pipe(Effect.asVoid),
              eventOf(response(_.id))
            ])
          )
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, oneClient({ maxConnections: 1 }))
        yield* transport.listen
        transport.send(request(1, "tools/call"))
        yield* recorded.until((_) => _.messages.some((_) => _.method === "roots/list"))
        const sent = yield* post(transport, response("s-1", { roots: [] }) as never)
        assert.isUndefined(sent)
        yield* recorded.answer(1)
        yield* server.setOverride(calls(() => HttpFixture.hang))
        transport.send(request(2, "tools/call"))
        yield* server.awaitLog((log) => log.some((_) => _.id === 2))
        yield* close
        assert.deepStrictEqual(server.sessions(), [])
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H14, H15: a DELETE that is never answered is given up, and nothing comes after", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: (_) => _.method === "DELETE" || _.rpc === "tools/call" ? HttpFixture.hang : undefined
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, {
          timeouts: { close: "150 millis" }
        })
        yield* transport.listen
        transport.send(request(1, "tools/call"))
        yield* server.awaitLog((log) => log.some((_) => _.rpc === "tools/call"))
        const told = recorded.count()
        yield* close
        yield* server.awaitStreams((_) => _ === 0)
        yield* closeChannel
        yield* noSockets(server)
        assert.strictEqual(recorded.count(), told)
        assert.strictEqual(server.log[server.log.length - 1]?.method, "DELETE")
      }))

    it.scopedLive("H18: a redirect within the origin is followed with its body; one to another server is not", () =>
      Effect.gen(function*() {
        const other = yield* HttpFixture.make()
        const server = yield* HttpFixture.make({
          override: (_) =>
            _.path === "/mcp"
              ? HttpFixture.respond({ status: 307, headers: { location: _.rpc === "leave" ? other.url : "/mcp/" } })
              : undefined
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, {
          headers: { "x-api-key": "secret-key" }
        })
        yield* transport.listen
        assert.deepStrictEqual(recorded.stream, ["open"])
        transport.send(request(1, "leave"))
        const error = yield* recorded.failure(1)
        assert.isTrue(error._tag === "HttpError" && error.status === 307 && error.location === other.url)
        assert.strictEqual(other.log.length, 0)
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H23: initialized answered 500: the session is deleted", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: (_) => _.rpc === "notifications/initialized" ? HttpFixture.respond({ status: 500 }) : undefined
        })
        const { channel, closeChannel } = yield* connect(server.url)
        const { close, recorded, transport } = yield* session(channel)
        transport.send(initialize)
        yield* recorded.answer(0)
        const error = yield* post(transport, notification("notifications/initialized"))
        assert.isTrue(error?._tag === "HttpError" && error.status === 500)
        yield* close
        assert.deepStrictEqual(server.sessions(), [])
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H24: endless bodies, of JSON, of an event and of a refusal, end at their bound", () =>
      Effect.gen(function*() {
        const chunk = "x".repeat(100_000)
        const endless = (first: string, status: number, type: string) =>
          HttpFixture.respond({
            status,
            headers: { "content-type": type },
            body: [first, ...Array.from({ length: 50 }, () => chunk)],
            ending: "open"
          })
        const server = yield* HttpFixture.make({
          override: calls((_) =>
            _.id === 1
              ? endless("\"", 200, "application/json")
              : _.id === 2
              ? endless("data: ", 200, "text/event-stream")
              : endless("", 500, "text/plain")
          )
        })
        const limits = { messageBytes: 1_000_000, eventBytes: 1_000_000 }
        const { close, closeChannel, recorded, transport } = yield* ready(server.url, { limits })
        const tags: Array<string> = []
        for (let id = 1; id <= 3; id++) {
          transport.send(request(id, "tools/call"))
          tags.push((yield* recorded.failure(id))._tag)
        }
        assert.deepStrictEqual(tags, ["LimitExceeded", "LimitExceeded", "HttpError"])
        yield* server.awaitSockets((_) => _ <= (client === "undici" ? 1 : 4))
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("a stream that stays open after its answer, and a 202 whose body does not end, hold no socket", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({
          override: (_) =>
            _.rpc === "tools/call"
              ? HttpFixture.sse([event({ jsonrpc: "2.0", id: _.id, result: {} })], "open")
              : _.rpc === "notifications/cancelled"
              ? HttpFixture.respond({ status: 202, body: ["more"], ending: "open" })
              : undefined
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        for (let id = 1; id <= 5; id++) transport.send(request(id, "tools/call"))
        for (let id = 1; id <= 5; id++) yield* recorded.answer(id)
        assert.strictEqual(yield* post(transport, notification("notifications/cancelled")), undefined)
        yield* server.awaitSockets((_) => _ <= (client === "undici" ? 1 : 4))
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("large results in many chunks arrive whole, as JSON and as an event", () =>
      Effect.gen(function*() {
        const text = "\u{1f600}caf\u00e9".repeat(100_000)
        const server = yield* HttpFixture.make({
          override: calls((_) => {
            const message = { jsonrpc: "2.0", id: _.id, result: { text } }
            return _.id === 1 ? HttpFixture.json(message) : HttpFixture.sse([event(message)])
          })
        })
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        for (let id = 1; id <= 2; id++) {
          transport.send(request(id, "tools/call"))
          const { result } = yield* recorded.answer(id)
          assert.isTrue((result as { readonly text: string }).text === text)
        }
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("H09: a stream that is destroyed is opened again where it was, and heard again", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make()
        const { close, closeChannel, recorded, transport } = yield* ready(server.url)
        yield* transport.listen
        yield* server.pushToStream(event(notification("one"), { id: "e-1", retry: 100 }))
        yield* recorded.until((_) => _.messages.some((_) => _.method === "one"))
        yield* server.endStreams("destroy")
        yield* recorded.until((_) => _.stream.length === 3)
        assert.deepStrictEqual(recorded.stream, ["open", "down", "open"])
        assert.strictEqual(server.log[server.log.length - 1]?.lastEventId, "e-1")
        yield* server.pushToStream(notification("two"))
        yield* recorded.until((_) => _.messages.some((_) => _.method === "two"))
        yield* close
        yield* closeChannel
        yield* noSockets(server)
      }))

    it.scopedLive("an initialize that is never answered is interrupted: its socket is freed, nothing is deleted", () =>
      Effect.gen(function*() {
        const server = yield* HttpFixture.make({ override: () => HttpFixture.hang })
        const { channel, closeChannel } = yield* connect(server.url)
        const { close, recorded, transport } = yield* session(channel)
        transport.send(initialize)
        yield* server.awaitLog((_) => _.length === 1)
        yield* close
        yield* server.awaitSockets((_) => _ === 0)
        assert.strictEqual(server.log.length, 1)
        assert.strictEqual(recorded.count(), 0)
        yield* closeChannel
      }))
  })
}
