import { assert, describe, it } from "@effect/vitest"
import type { HttpExchange } from "@mcp-runtime/core/HttpExchange"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import { Effect, Exit, Fiber, Scope, Supervisor, TestClock } from "effect"
import type * as Net from "node:net"
import { exchangeContract, open } from "../../core/test/exchangeContract.js"
import { type Answer, byteServer, closedPort, exchange, httpServer, send } from "../../core/test/exchangeServer.js"

exchangeContract("undici", UndiciExchange.layer)

const test = <E>(
  title: string,
  effect: () => Effect.Effect<void, E, HttpExchange | Scope.Scope>,
  options: UndiciExchange.Options = {}
) => it.live(title, () => Effect.scoped(effect()).pipe(Effect.provide(UndiciExchange.layerOptions(options))))

const ok: Answer = (_, response) => response.end("ok")

/** Answers when it is told to, in the order of arrival. */
const onDemand = () => {
  const waiting: Array<() => void> = []
  const answer: Answer = (arrived, response) => {
    waiting.push(() => response.end(`done ${arrived.body}`))
  }
  return { answer, next: () => waiting.shift()!() }
}

describe("undici: sockets", () => {
  test("requests one after the other share one socket", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url })
      for (let i = 0; i < 20; i++) yield* exchange(client, { url: server.url })
      assert.strictEqual(new Set(server.requests.map((_) => _.remotePort)).size, 1)
      assert.strictEqual(server.connections, 1)
    }))

  test("requests sent while an answer is reported share its socket", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url })
      let left = 10
      yield* Effect.async<void>((resume) => {
        const again = (): void => {
          if (left-- === 0) return resume(Effect.void)
          client.send(
            { method: "POST", url: server.url, headers: {}, body: "{}" },
            { head: () => {}, data: () => {}, end: again, failed: () => resume(Effect.die("failed")) },
            "request"
          )
        }
        again()
      })
      assert.strictEqual(server.connections, 1)
    }))

  test("an answer that closes its connection does not disturb the next request", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.writeHead(200, { connection: "close" }).end("ok"))
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const all = yield* Effect.all(
        Array.from({ length: 5 }, () => exchange(client, { url: server.url })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(all.map((_) => _.body), ["ok", "ok", "ok", "ok", "ok"])
      assert.strictEqual(server.connections, 5)
    }))

  test("H04: sockets that the server closed while idle cost nothing", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url })
      for (let i = 0; i < 5; i++) {
        const recorded = yield* exchange(client, { url: server.url })
        assert.strictEqual(recorded.body, "ok")
        for (const socket of server.sockets) socket.destroy()
        yield* server.until(() => server.sockets.size === 0)
      }
      assert.strictEqual(server.requests.length, 5)
    }))

  test("H04: a socket over which a request was answered before it was all written serves no other", () =>
    Effect.gen(function*() {
      const server = yield* byteServer((socket, chunk) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        if (chunk.includes("xxx")) socket.pause()
      })
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const large = send(client, { url: server.url, body: "x".repeat(20_000_000) })
      const next = send(client, { url: server.url, body: "small" })
      for (const recorded of [large, next]) {
        yield* Effect.timeout(recorded.settled, "5 seconds")
        assert.strictEqual(recorded.body, "ok")
      }
      assert.strictEqual((yield* exchange(client, { url: server.url, body: "small" })).body, "ok")
      assert.strictEqual(server.connections, 2)
    }))

  test("H04: idle sockets are closed by us, before the server would", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.writeHead(200, { "keep-alive": "" }).end("ok"))
      const client = yield* open({ url: server.url })
      yield* exchange(client, { url: server.url })
      yield* server.until(() => server.sockets.size === 0)
      yield* exchange(client, { url: server.url })
      assert.strictEqual(server.connections, 2)
    }), { keepAliveTimeout: "20 millis" })

  test("maxConnections bounds the sockets for requests, and those who wait go in order", () =>
    Effect.gen(function*() {
      const { answer, next } = onDemand()
      const server = yield* httpServer(answer)
      const client = yield* open({ url: server.url, maxConnections: 2 })
      const all = Array.from({ length: 6 }, (_, i) => send(client, { url: server.url, body: String(i) }))
      for (let arrived = 2; arrived <= 6; arrived++) {
        yield* server.until(() => server.requests.length === arrived)
        next()
      }
      next()
      for (const recorded of all) yield* recorded.settled
      assert.strictEqual(server.connections, 2)
      assert.deepStrictEqual(server.requests.slice(2).map((_) => _.body), ["2", "3", "4", "5"])
      assert.deepStrictEqual(all.map((_) => _.body), [0, 1, 2, 3, 4, 5].map((i) => `done ${i}`))
    }))

  test("H12: with one socket for requests, open streams hold up nothing", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((arrived, response) => {
        if (arrived.method === "GET") response.write("open")
        else response.end("ok")
      })
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const streams = [1, 2, 3].map(() => send(client, { url: server.url, method: "GET", body: undefined }, "stream"))
      for (const stream of streams) yield* stream.until(() => stream.chunks.length === 1)
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* exchange(client, { url: server.url })).body, "ok")
      assert.strictEqual(server.connections, 4)
      for (const stream of streams) stream.abort()
      yield* server.until(() => server.sockets.size === 1)
    }))

  test("asks for bodies as they are, since none is unpacked, unless the request says otherwise", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url })
      const own = { "x-mine": "1" }
      for (const headers of [own, own, { ...own, "accept-encoding": "gzip" }, own]) {
        yield* exchange(client, { url: server.url, headers })
      }
      assert.deepStrictEqual(server.requests.map((_) => [_.headers["accept-encoding"], _.headers["x-mine"]]), [
        ["identity", "1"],
        ["identity", "1"],
        ["gzip", "1"],
        ["identity", "1"]
      ])
      assert.deepStrictEqual(own, { "x-mine": "1" })
    }))

  test("a header that comes twice with the same value is there once", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) =>
        response.writeHead(200, { "Mcp-Session-Id": ["s", "s"], "X-Two": ["a", "b"], "X-Three": ["a", "a", "a"] }).end()
      )
      const client = yield* open({ url: server.url })
      const recorded = yield* exchange(client, { url: server.url })
      assert.strictEqual(recorded.header("mcp-session-id"), "s")
      assert.strictEqual(recorded.header("x-two"), "a, b")
      assert.strictEqual(recorded.header("x-three"), "a")
    }))

  test("H03: what is no HTTP is called so, and not a lost connection: before the head, and within the body", () =>
    Effect.gen(function*() {
      const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
      for (
        const bytes of ["SSH-2.0-OpenSSH_9.6\r\n", Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0]), `${head}no chunk\r\n`]
      ) {
        const server = yield* byteServer((socket) => socket.write(bytes))
        const client = yield* open({ url: server.url })
        const { failure } = yield* exchange(client, { url: server.url })
        assert.deepStrictEqual([failure?.sent, failure?.reason], [true, "Lost"])
        assert.include(failure?.detail, "what came back is not HTTP")
      }
      const cut = yield* byteServer((socket) =>
        socket.end(head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n5\r\nab"))
      )
      const { failure } = yield* exchange(yield* open({ url: cut.url }), { url: cut.url })
      assert.include(failure?.detail, "the connection was lost before the answer was complete")
    }))

  test("a 100 Continue that nobody has asked for is named, since undici ends the connection", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) => {
        response.writeContinue()
        response.end("ok")
      })
      const client = yield* open({ url: server.url })
      const { failure } = yield* exchange(client, { url: server.url })
      assert.deepStrictEqual([failure?.sent, failure?.reason], [true, "Lost"])
      assert.include(failure?.detail, "100 Continue")
    }))

  test("another origin gets sockets of its own", () =>
    Effect.gen(function*() {
      const first = yield* httpServer(ok)
      const second = yield* httpServer(ok)
      const client = yield* open({ url: first.url })
      for (const { url } of [first, second, first, second]) {
        assert.strictEqual((yield* exchange(client, { url })).body, "ok")
      }
      assert.deepStrictEqual([first.connections, second.connections], [1, 1])
    }))
})

describe("undici: aborting", () => {
  test("H11: while it waits for a socket: nothing is sent, and the socket serves the next", () =>
    Effect.gen(function*() {
      const { answer, next } = onDemand()
      const server = yield* httpServer(answer)
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const first = send(client, { url: server.url, body: "first" })
      const waiting = Array.from({ length: 5 }, () => send(client, { url: server.url, body: "waiting" }))
      const last = send(client, { url: server.url, body: "last" })
      yield* server.until(() => server.requests.length === 1)
      for (const recorded of waiting) assert.strictEqual(recorded.abort(), true, "nothing of it was written")
      next()
      yield* server.until(() => server.requests.length === 2)
      next()
      yield* last.settled
      assert.deepStrictEqual(server.requests.map((_) => _.body), ["first", "last"])
      assert.strictEqual(server.connections, 1)
      assert.strictEqual(first.body, "done first")
      assert.deepStrictEqual(waiting.flatMap((_) => _.events), [])
    }))

  test("H11: one that holds the only socket: the next gets a new one", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((arrived, response) => {
        if (arrived.body === "next") response.end("ok")
      })
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const holding = send(client, { url: server.url, body: "holding" })
      const next = send(client, { url: server.url, body: "next" })
      yield* server.until(() => server.requests.length === 1)
      assert.strictEqual(holding.abort(), false, "it was written")
      yield* next.settled
      assert.strictEqual(next.body, "ok")
      assert.strictEqual(server.connections, 2)
      assert.deepStrictEqual(holding.events, [])
    }))

  test("H11: 50 aborted requests leave no socket at all, and none is opened in their place", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(() => {})
      const client = yield* open({ url: server.url })
      const all = Array.from({ length: 50 }, () => send(client, { url: server.url }))
      yield* server.until(() => server.requests.length === 50)
      for (const recorded of all) recorded.abort()
      yield* server.until(() => server.sockets.size === 0)
      send(client, { url: server.url })
      yield* server.until(() => server.requests.length === 51)
      assert.strictEqual(server.connections, 51)
    }))

  test("H11: before the start: no socket is left connecting, none is used", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url, maxConnections: 1 })
      for (let i = 0; i < 20; i++) send(client, { url: server.url, body: "aborted" }).abort()
      yield* exchange(client, { url: server.url, body: "kept" })
      yield* server.until(() => server.sockets.size === 1)
      assert.deepStrictEqual(server.requests.map((_) => _.body), ["kept"])
    }))

  test("a failure lets those who wait try on their own", () =>
    Effect.gen(function*() {
      const server = yield* byteServer((socket: Net.Socket, _, count) => {
        if (count === 1) socket.resetAndDestroy()
        else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const first = send(client, { url: server.url })
      const others = [1, 2, 3].map(() => send(client, { url: server.url }))
      for (const recorded of [first, ...others]) yield* recorded.settled
      assert.strictEqual(first.failure?.reason, "Lost")
      assert.deepStrictEqual(others.map((_) => _.body), ["ok", "ok", "ok"])
    }))

  test("a closed port fails all that wait, each once", () =>
    Effect.gen(function*() {
      const url = `http://127.0.0.1:${yield* closedPort}/mcp`
      const client = yield* open({ url, maxConnections: 2 })
      const all = Array.from({ length: 50 }, () => send(client, { url }))
      for (const recorded of all) yield* recorded.settled
      assert.deepStrictEqual(all.flatMap((_) => _.events), all.map(() => "failed"))
      assert.strictEqual(all.every((_) => _.failure?.reason === "Refused" && !_.failure.sent), true)
    }))

  test("a request that can't be written is not sent, also when all that wait can't", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const client = yield* open({ url: server.url, maxConnections: 1 })
      const all = Array.from({ length: 2000 }, () =>
        send(client, { url: server.url, headers: { "x-bad": "secret\nsecret" } }))
      assert.deepStrictEqual(
        all.flatMap((_) =>
          _.events
        ),
        []
      )
      for (const recorded of all) yield* recorded.settled
      assert.strictEqual(all.every((_) => _.failure?.sent === false && _.failure.reason === "Other"), true)
      assert.notInclude(JSON.stringify(all.map((_) => _.failure)), "secret")
      assert.strictEqual((yield* exchange(client, { url: server.url })).body, "ok")
      assert.strictEqual(server.requests.length, 1)
    }))
})

describe("undici: the scope", () => {
  test("H13: every socket is closed when close returns: busy, idle, streaming and waiting", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((arrived, response) => {
        if (arrived.body === "idle") response.end("ok")
        if (arrived.body === "stream") response.write("data")
      })
      const scope = yield* Scope.make()
      const client = yield* open({ url: server.url, maxConnections: 3 }).pipe(Scope.extend(scope))
      yield* Effect.all([1, 2, 3].map(() => exchange(client, { url: server.url, body: "idle" })), { concurrency: 3 })
      const busy = [1, 2].map(() => send(client, { url: server.url, body: "busy" }))
      const stream = send(client, { url: server.url, body: "stream" }, "stream")
      yield* stream.until(() => stream.chunks.length === 1)
      yield* server.until(() => server.requests.length === 6)
      const waiting = [1, 2, 3].map(() => send(client, { url: server.url, body: "waiting" }))
      const before = process.getActiveResourcesInfo().filter((_) => _ === "TCPSocketWrap").length
      yield* Scope.close(scope, Exit.void)
      const after = process.getActiveResourcesInfo().filter((_) => _ === "TCPSocketWrap").length
      assert.isAtMost(after, before - 3)
      yield* server.until(() => server.sockets.size === 0)
      assert.deepStrictEqual([...busy, ...waiting].flatMap((_) => _.events), [])
      assert.deepStrictEqual(stream.events, ["head", "data"])
    }))

  it.live("H03: the connect time-out of a channel that was opened in a region without interruption ends with the dial", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(ok)
      const supervisor = yield* Supervisor.track
      const client = yield* open({ url: server.url }).pipe(Effect.uninterruptible, Effect.supervised(supervisor))
      const sent = send(client, { url: server.url })
      assert.strictEqual((yield* supervisor.value).length, 1)
      yield* sent.settled
      assert.strictEqual(sent.body, "ok")
      yield* Effect.yieldNow()
      assert.strictEqual((yield* supervisor.value).length, 0)
    }).pipe(Effect.scoped, Effect.provide(UndiciExchange.layer)))

  it.scoped("H03: the connect time-out runs on the Effect clock, and closes what it opened", () =>
    Effect.gen(function*() {
      const server = yield* byteServer(() => {})
      const url = `https://127.0.0.1:${server.port}/mcp`
      const client = yield* open({ url })
      const recorded = send(client, { url })
      yield* server.until(() => server.connections === 1)
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(recorded.events, [])
      yield* TestClock.adjust("1 millis")
      yield* recorded.settled
      assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Timeout"])
      yield* server.until(() => server.sockets.size === 0)
    }).pipe(Effect.provide(UndiciExchange.layer)))

  it.scoped("H13: a socket that is being opened is closed by abort, and by the end of the scope", () =>
    Effect.gen(function*() {
      const server = yield* byteServer(() => {})
      const url = `https://127.0.0.1:${server.port}/mcp`
      const scope = yield* Scope.make()
      const client = yield* open({ url }).pipe(Scope.extend(scope))
      const aborted = send(client, { url })
      yield* server.until(() => server.connections === 1)
      aborted.abort()
      yield* server.until(() => server.sockets.size === 0)
      const recorded = send(client, { url })
      yield* server.until(() => server.connections === 2)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* server.until(() => server.sockets.size === 0)
      yield* Fiber.join(closing)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([...aborted.events, ...recorded.events], [])
    }).pipe(Effect.provide(UndiciExchange.layer)))
})
