/**
 * What every implementation of `HttpExchange` must do, as a suite of tests over its layer.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, type McpError } from "@mcp-runtime/core"
import { type HttpClient, HttpExchange } from "@mcp-runtime/core/HttpExchange"
import { Effect, Exit, type Layer, Scope } from "effect"
import type * as Net from "node:net"
import {
  type Answer,
  byteServer,
  closedPort,
  exchange,
  httpServer,
  type Recorded,
  send,
  type TestServer
} from "./exchangeServer.js"

export const open = (
  input: { readonly url: string } & Record<string, unknown>
): Effect.Effect<HttpClient, McpError.McpError, HttpExchange | Scope.Scope> =>
  Effect.gen(function*() {
    const config = yield* McpConfig.decodeUnknown({ name: "server", transport: "http", ...input })
    return yield* (yield* HttpExchange).open(config as McpConfig.AnyHttpConfig)
  })

/** The arrival of a later exchange: whatever an earlier one would still do has happened by then. */
const barrier = (client: HttpClient, server: TestServer) =>
  Effect.tap(exchange(client, { url: server.url, body: "barrier" }), () => {
    assert.strictEqual(server.requests.at(-1)!.body, "barrier")
  })

const ok: Answer = (_, response) => response.end("ok")

/** Answers a request with the body "barrier", and leaves all others to `answer`. */
const orBarrier = (answer: Answer): Answer => (arrived, response) =>
  arrived.body === "barrier" ? response.end("ok") : answer(arrived, response)

const lost = (recorded: Recorded) => {
  assert.strictEqual(recorded.failure?.sent, true)
  assert.strictEqual(recorded.failure?.reason, "Lost")
  assert.notInclude(recorded.failure?.detail ?? "", "secret")
}

export const exchangeContract = (name: string, layer: Layer.Layer<HttpExchange>): void => {
  const test = <E>(title: string, effect: () => Effect.Effect<void, E, HttpExchange | Scope.Scope>) =>
    it.live(title, () => Effect.scoped(effect()).pipe(Effect.provide(layer)))

  describe(`${name}: what is reported`, () => {
    test("H03: the request arrives as it was given, and head, data, end are reported in this order", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((_, response) => {
          response.writeHead(200, { "Content-Type": "application/json", "Mcp-Session-Id": "s1", "X-Two": ["a", "b"] })
          response.end(`{"answer":true}`)
        })
        const client = yield* open({ url: server.url })
        const recorded = yield* exchange(client, {
          url: `${server.url}?q=1`,
          headers: { "content-type": "application/json", "x-mine": "m\u00fcller" },
          body: `{"question":"\u00fc"}`
        })
        assert.deepStrictEqual(recorded.events, ["head", "data", "end"])
        assert.strictEqual(recorded.status, 200)
        assert.strictEqual(recorded.header("mcp-session-id"), "s1")
        assert.strictEqual(recorded.header("x-two"), "a, b")
        assert.strictEqual(recorded.header("x-none"), undefined)
        assert.strictEqual(recorded.header("constructor"), undefined)
        assert.strictEqual(recorded.body, `{"answer":true}`)
        const [arrived] = server.requests
        assert.strictEqual(arrived!.method, "POST")
        assert.strictEqual(arrived!.url, "/mcp?q=1")
        assert.strictEqual(arrived!.headers["content-type"], "application/json")
        assert.strictEqual(arrived!.headers["x-mine"], "m\u00fcller")
        assert.strictEqual(arrived!.headers["traceparent"], undefined)
        assert.strictEqual(arrived!.body, `{"question":"\u00fc"}`)
      }))

    test("H03: GET and DELETE go without a body, also as streams", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((arrived, response) =>
          response.writeHead(204, { "x-m": arrived.method }).end()
        )
        const client = yield* open({ url: server.url })
        for (const method of ["GET", "DELETE"] as const) {
          for (const kind of ["request", "stream"] as const) {
            const recorded = yield* exchange(client, { url: server.url, method, headers: {}, body: undefined }, kind)
            assert.deepStrictEqual(recorded.events, ["head", "end"])
            assert.strictEqual(recorded.header("x-m"), method)
          }
        }
        assert.strictEqual(server.requests.every((_) => _.body === ""), true)
      }))

    test("H06: a body arrives piece by piece, as the server sends it", () =>
      Effect.gen(function*() {
        const bytes = Buffer.from("data: gr\u00fc\u00dfe\n\n")
        let respond: ((chunk: Uint8Array | undefined) => void) | undefined
        const server = yield* httpServer((_, response) => {
          respond = (chunk) => chunk === undefined ? response.end() : response.write(chunk)
          response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
        })
        const client = yield* open({ url: server.url })
        const recorded = send(client, { url: server.url }, "stream")
        yield* recorded.until(() => recorded.events.length === 1)
        assert.deepStrictEqual(recorded.events, ["head"])
        for (let i = 0; i < bytes.length; i++) {
          respond!(bytes.subarray(i, i + 1))
          yield* recorded.until(() => recorded.chunks.length === i + 1)
        }
        assert.strictEqual(recorded.finished, false)
        respond!(undefined)
        yield* recorded.settled
        assert.strictEqual(recorded.body, bytes.toString())
        assert.deepStrictEqual(recorded.events.slice(-2), ["data", "end"])
      }))

    test("H24: what was reported is not changed by what comes later", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((_, response) => {
          for (let i = 0; i < 64; i++) response.write(String(i % 10).repeat(40_000))
          response.end()
        })
        const client = yield* open({ url: server.url })
        const recorded = yield* exchange(client, { url: server.url })
        let expected = ""
        for (let i = 0; i < 64; i++) expected += String(i % 10).repeat(40_000)
        assert.strictEqual(recorded.body === expected, true)
      }))

    test("H01: every status is a value, with its body and headers", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((arrived, response) =>
          response.writeHead(Number(arrived.body), { "retry-after": "7", "www-authenticate": "Bearer x" }).end("why")
        )
        const client = yield* open({ url: server.url })
        for (const status of [202, 400, 401, 403, 404, 405, 429, 500, 503]) {
          const recorded = yield* exchange(client, { url: server.url, body: String(status) })
          assert.deepStrictEqual(recorded.events, ["head", "data", "end"], String(status))
          assert.strictEqual(recorded.status, status)
          assert.strictEqual(recorded.header("retry-after"), "7")
          assert.strictEqual(recorded.body, "why")
        }
      }))

    test("H18: redirects are reported and not followed", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((arrived, response) =>
          response.writeHead(Number(arrived.body), { location: "/other" }).end()
        )
        const client = yield* open({ url: server.url })
        for (const status of [301, 302, 303, 304, 307, 308]) {
          const recorded = yield* exchange(client, { url: server.url, body: String(status) })
          assert.deepStrictEqual(recorded.events, ["head", "end"], String(status))
          assert.strictEqual(recorded.status, status)
          assert.strictEqual(recorded.header("location"), "/other")
        }
        assert.strictEqual(server.requests.every((_) => _.url === "/mcp"), true)
      }))

    test("103 is not the answer", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((_, response) => {
          response.writeEarlyHints({ link: "</style.css>; rel=preload" })
          response.end("ok")
        })
        const client = yield* open({ url: server.url })
        const recorded = yield* exchange(client, { url: server.url })
        assert.deepStrictEqual(recorded.events, ["head", "data", "end"])
        assert.strictEqual(recorded.status, 200)
      }))

    test("a user name and password in the URL become a header, unless there is one", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(ok)
        const client = yield* open({ url: server.url })
        const url = `http://us%40er:pass@127.0.0.1:${server.port}/mcp`
        yield* exchange(client, { url })
        yield* exchange(client, { url, headers: { authorization: "Bearer mine" } })
        const basic = Buffer.from("us@er:pass").toString("base64")
        assert.deepStrictEqual(server.requests.map((_) => _.headers.authorization), [`Basic ${basic}`, "Bearer mine"])
      }))

    test("H22: many at once, each with its own answer", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((arrived, response) => response.end(`echo ${arrived.body}`))
        const client = yield* open({ url: server.url })
        const all = yield* Effect.forEach(
          Array.from({ length: 100 }, (_, i) => String(i)),
          (body) => exchange(client, { url: server.url, body }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(all.map((_) => _.body), all.map((_, i) => `echo ${i}`))
      }))
  })

  describe(`${name}: failures`, () => {
    test("H03: a closed port: refused, not sent", () =>
      Effect.gen(function*() {
        const url = `http://127.0.0.1:${yield* closedPort}/mcp`
        const client = yield* open({ url })
        const recorded = yield* exchange(client, { url })
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.deepStrictEqual(recorded.failure, {
          sent: false,
          reason: "Refused",
          code: "ECONNREFUSED",
          detail: "the connection was refused (ECONNREFUSED)"
        })
      }))

    test("H03: localhost, where every address refuses: not sent", () =>
      Effect.gen(function*() {
        const url = `http://localhost:${yield* closedPort}/mcp`
        const client = yield* open({ url })
        const recorded = yield* exchange(client, { url })
        assert.strictEqual(recorded.failure?.sent, false)
        assert.strictEqual(recorded.failure?.reason, "Refused")
      }))

    test("H03: an unknown host name: not sent", () =>
      Effect.gen(function*() {
        const url = "http://nonexistent.invalid/mcp"
        const client = yield* open({ url })
        const recorded = yield* exchange(client, { url })
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.strictEqual(recorded.failure?.sent, false)
        assert.strictEqual(recorded.failure?.reason, "NameNotFound")
      }))

    test("H03: a URL that can't be used: not sent, and said after send has returned", () =>
      Effect.gen(function*() {
        const client = yield* open({ url: "http://127.0.0.1:1/mcp" })
        for (const url of ["ftp://127.0.0.1/secret", "no url secret", "http://127.0.0.1:99999/secret"]) {
          const recorded = send(client, { url })
          assert.deepStrictEqual(recorded.events, [])
          yield* recorded.settled
          assert.deepStrictEqual(recorded.events, ["failed"])
          assert.strictEqual(recorded.failure?.sent, false)
          assert.strictEqual(recorded.failure?.reason, "BadUrl")
          assert.notInclude(recorded.failure?.detail ?? "", "secret")
          const aborted = send(client, { url })
          aborted.abort()
          yield* exchange(client, { url })
          assert.deepStrictEqual(aborted.events, [])
        }
      }))

    const breaks = (title: string, events: ReadonlyArray<string>, breakOff: (socket: Net.Socket) => void) =>
      test(`H03: ${title}: may have been executed`, () =>
        Effect.gen(function*() {
          const server = yield* byteServer((socket) => breakOff(socket))
          const client = yield* open({ url: server.url })
          const recorded = yield* exchange(client, { url: server.url, headers: { authorization: "Bearer secret" } })
          assert.deepStrictEqual(recorded.events, events)
          lost(recorded)
        }))

    breaks("the server resets before an answer", ["failed"], (socket) => socket.resetAndDestroy())
    breaks("the server ends before an answer", ["failed"], (socket) => socket.end())
    breaks("the server answers garbage", ["failed"], (socket) => socket.end("secret: what is this\r\n\r\n"))
    breaks("the head is cut", ["failed"], (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-ty"))
    breaks(
      "the head is too large",
      ["failed"],
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nx-large: ${"x".repeat(100_000)}\r\n\r\n`)
    )
    breaks(
      "a body with a length is cut",
      ["head", "data", "failed"],
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsecret")
    )
    breaks(
      "a body in chunks is cut",
      ["head", "data", "failed"],
      (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nsecret\r\n")
    )
    breaks("a body is reset", ["head", "data", "failed"], (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsecret")
      setImmediate(() => setImmediate(() => socket.resetAndDestroy()))
    })

    test("H04: a kept socket that dies under a request: may have been executed, and is not sent again", () =>
      Effect.gen(function*() {
        const server = yield* byteServer((socket, _, count) => {
          if (count <= 2) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
          else socket.resetAndDestroy()
        })
        const client = yield* open({ url: server.url })
        const headers = { "content-type": "text/plain" }
        yield* exchange(client, { url: server.url, method: "GET", headers, body: undefined })
        yield* exchange(client, { url: server.url, method: "GET", headers, body: undefined })
        let arrived = 0
        for (const socket of server.sockets) socket.on("data", () => arrived++)
        const recorded = yield* exchange(client, { url: server.url, method: "GET", headers, body: undefined })
        lost(recorded)
        assert.strictEqual(arrived, 1)
      }))

    test("no failure shows a secret", () =>
      Effect.gen(function*() {
        const url = `http://hunter1:hunter2@127.0.0.1:${yield* closedPort}/hunter3?key=hunter4`
        const client = yield* open({ url })
        const recorded = yield* exchange(client, { url, headers: { authorization: "Bearer hunter5" } })
        assert.strictEqual(recorded.failure?.reason, "Refused")
        assert.notInclude(JSON.stringify(recorded.failure), "hunter")
      }))
  })

  describe(`${name}: aborting`, () => {
    const hang = orBarrier(() => {})

    test("H11: before the start: nothing is sent and nothing reported", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(ok)
        const client = yield* open({ url: server.url })
        const aborted = Array.from({ length: 10 }, () => send(client, { url: server.url, body: "aborted" }))
        for (const recorded of aborted) recorded.abort()
        yield* barrier(client, server)
        const again = send(client, { url: server.url, body: "aborted" })
        again.abort()
        yield* barrier(client, server)
        assert.deepStrictEqual(server.requests.map((_) => _.body), ["barrier", "barrier"])
        assert.deepStrictEqual([...aborted, again].flatMap((_) => _.events), [])
      }))

    test("H11: before the answer: the server sees the socket close", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(hang)
        const client = yield* open({ url: server.url })
        const recorded = send(client, { url: server.url })
        yield* server.until(() => server.requests.length === 1)
        recorded.abort()
        recorded.abort()
        yield* server.closed(server.requests[0]!)
        yield* barrier(client, server)
        assert.deepStrictEqual(recorded.events, [])
        assert.strictEqual(server.requests.length, 2)
      }))

    test("H11: inside head: nothing comes after it", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(orBarrier((_, response) => {
          response.write("data")
        }))
        const client = yield* open({ url: server.url })
        const recorded = send(client, { url: server.url })
        const abortAtOnce = recorded.until(() => {
          if (recorded.events.length === 0) return false
          recorded.abort()
          return true
        })
        yield* abortAtOnce
        yield* server.closed(server.requests[0]!)
        yield* barrier(client, server)
        assert.deepStrictEqual(recorded.events, ["head"])
      }))

    test("H11: in the middle of the body: the server sees the socket close", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(orBarrier((_, response) => {
          response.write("data")
        }))
        const client = yield* open({ url: server.url })
        const other = send(client, { url: server.url, body: "other" })
        const recorded = send(client, { url: server.url }, "stream")
        yield* other.until(() => other.chunks.length === 1)
        yield* recorded.until(() => recorded.chunks.length === 1)
        recorded.abort()
        yield* server.closed(server.requests.find((_) => _.body !== "other")!)
        yield* barrier(client, server)
        assert.deepStrictEqual(recorded.events, ["head", "data"])
        assert.strictEqual(other.finished, false)
        other.abort()
      }))

    test("H11: after the end it does nothing", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(ok)
        const client = yield* open({ url: server.url })
        const recorded = yield* exchange(client, { url: server.url })
        recorded.abort()
        recorded.abort()
        yield* barrier(client, server)
        assert.deepStrictEqual(recorded.events, ["head", "data", "end"])
      }))

    test("H11: 50 aborted requests free their 50 sockets", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(hang)
        const client = yield* open({ url: server.url })
        const all = Array.from({ length: 50 }, () => send(client, { url: server.url }))
        yield* server.until(() => server.requests.length === 50)
        const held = [...server.sockets]
        assert.strictEqual(held.length, 50)
        for (const recorded of all) recorded.abort()
        yield* server.until(() => held.every((_) => !server.sockets.has(_)))
        assert.deepStrictEqual(all.flatMap((_) => _.events), [])
      }))

    test("H17: 300 requests, a third of them aborted, leave no listeners behind that Node would warn about", () =>
      Effect.gen(function*() {
        const warnings: Array<string> = []
        const listener = (warning: Error) => warnings.push(warning.name)
        yield* Effect.acquireRelease(
          Effect.sync(() => process.on("warning", listener)),
          () => Effect.sync(() => process.off("warning", listener))
        )
        const server = yield* httpServer(ok)
        const client = yield* open({ url: server.url })
        for (let i = 0; i < 100; i++) {
          const aborted = send(client, { url: server.url })
          yield* Effect.all([exchange(client, { url: server.url }), exchange(client, { url: server.url })], {
            concurrency: 2
          })
          aborted.abort()
        }
        assert.deepStrictEqual(warnings, [])
      }))
  })

  describe(`${name}: the scope`, () => {
    test("H13: its end aborts what is under way, closes the sockets, and is silent", () =>
      Effect.gen(function*() {
        const server = yield* httpServer((arrived, response) => {
          if (arrived.body === "streaming") response.write("data")
        })
        const scope = yield* Scope.make()
        const client = yield* open({ url: server.url }).pipe(Scope.extend(scope))
        const waiting = Array.from({ length: 5 }, () => send(client, { url: server.url }))
        const streaming = send(client, { url: server.url, body: "streaming" }, "stream")
        yield* streaming.until(() => streaming.chunks.length === 1)
        yield* server.until(() => server.requests.length === 6)
        const held = [...server.sockets]
        const justNow = send(client, { url: server.url })
        yield* Scope.close(scope, Exit.void)
        yield* server.until(() => held.every((_) => !server.sockets.has(_)))
        assert.deepStrictEqual(waiting.flatMap((_) => _.events), [])
        assert.deepStrictEqual(streaming.events, ["head", "data"])
        assert.deepStrictEqual(justNow.events, [])
        for (const recorded of [...waiting, streaming]) recorded.abort()
      }))

    test("H13: after its end a request is refused, not sent", () =>
      Effect.gen(function*() {
        const server = yield* httpServer(ok)
        const scope = yield* Scope.make()
        const client = yield* open({ url: server.url }).pipe(Scope.extend(scope))
        yield* exchange(client, { url: server.url })
        yield* Scope.close(scope, Exit.void)
        const recorded = send(client, { url: server.url })
        assert.deepStrictEqual(recorded.events, [])
        yield* recorded.settled
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.strictEqual(recorded.failure?.sent, false)
        assert.strictEqual(server.requests.length, 1)
      }))

    test("H17: two channels do not share their fate", () =>
      Effect.gen(function*() {
        let finish: (() => void) | undefined
        const server = yield* httpServer((arrived, response) => {
          if (arrived.body === "second") finish = () => response.end("done")
        })
        const scope = yield* Scope.make()
        const first = yield* open({ url: server.url }).pipe(Scope.extend(scope))
        const second = yield* open({ url: server.url })
        const ofFirst = send(first, { url: server.url })
        const ofSecond = send(second, { url: server.url, body: "second" })
        yield* server.until(() => server.requests.length === 2)
        yield* Scope.close(scope, Exit.void)
        finish!()
        yield* ofSecond.settled
        assert.strictEqual(ofSecond.body, "done")
        assert.deepStrictEqual(ofFirst.events, [])
      }))
  })
}
