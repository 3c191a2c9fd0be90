import { assert, describe, it } from "@effect/vitest"
import type { HttpExchange } from "@mcp-runtime/core/HttpExchange"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import { Effect, Exit, Redacted, Scope } from "effect"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import { open } from "../../core/test/exchangeContract.js"
import {
  answering,
  byteServer,
  closedPort,
  exchange,
  httpServer,
  listen,
  send,
  TestServer
} from "../../core/test/exchangeServer.js"

const pem = (name: string) => Fs.readFileSync(new URL(`fixtures/tls/${name}`, import.meta.url), "utf8")

const tls = { ca: pem("ca.pem") }

interface ProxyLog {
  readonly server: TestServer
  /** `CONNECT host:port` and `POST http://...`, in order of arrival. */
  readonly lines: Array<string>
  readonly authorizations: Array<string | undefined>
}

/** A forward proxy that also opens tunnels. `refuse` gives a status in place of service. */
const proxyServer = (options: { readonly refuse?: number; readonly secure?: boolean } = {}) =>
  Effect.suspend(() => {
    const log: ProxyLog = { server: new TestServer(), lines: [], authorizations: [] }
    const note = (request: Http.IncomingMessage) => {
      log.lines.push(`${request.method} ${request.url}`)
      log.authorizations.push(request.headers["proxy-authorization"])
    }
    const proxy = options.secure === true
      ? Https.createServer({ cert: pem("server.pem"), key: pem("server.key") })
      : Http.createServer()
    proxy.on("connection", log.server.track)
    proxy.on("request", (request: Http.IncomingMessage, response: Http.ServerResponse) => {
      note(request)
      if (options.refuse !== undefined) {
        response.writeHead(options.refuse).end("refused")
        return
      }
      const { "proxy-authorization": _, ...headers } = request.headers
      const onward = Http.request(request.url!, { method: request.method!, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
      onward.on("error", () => response.destroy())
      response.on("close", () => onward.destroy())
      request.pipe(onward)
    })
    proxy.on("connect", (request: Http.IncomingMessage, socket: Net.Socket) => {
      note(request)
      socket.on("error", () => {})
      if (options.refuse !== undefined) {
        socket.end(`HTTP/1.1 ${options.refuse} No\r\n\r\n`)
        return
      }
      const [host, port] = request.url!.split(":")
      const onward = Net.connect(Number(port), host)
      onward.on("error", () => socket.destroy())
      onward.on("close", () => socket.destroy())
      socket.on("close", () => onward.destroy())
      onward.on("connect", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
        onward.pipe(socket).pipe(onward)
      })
    })
    return Effect.as(listen(proxy, log.server), log)
  })

const httpsServer = Effect.suspend(() => {
  const log = new TestServer()
  const server = Https.createServer(
    { cert: pem("server.pem"), key: pem("server.key") },
    answering(log, (arrived, response) => {
      if (arrived.body !== "hang") response.writeHead(arrived.body === "407" ? 407 : 200).end("secure")
    })
  )
  server.on("connection", log.track)
  return listen(server, log)
})

const test = (title: string, effect: () => Effect.Effect<void, unknown, HttpExchange | Scope.Scope>) =>
  it.live(title, () => Effect.scoped(effect()).pipe(Effect.provide(UndiciExchange.layer)))

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`

describe("undici: proxy", () => {
  test("an http:// server: requests are handed to the proxy as they are, over kept sockets", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer()
      const server = yield* httpServer((_, response) => response.end("plain"))
      const client = yield* open({ url: server.url, proxy: `http://127.0.0.1:${proxy.server.port}` })
      for (let i = 0; i < 3; i++) {
        const recorded = yield* exchange(client, { url: `${server.url}?q=1`, headers: { "x-mine": "1" } })
        assert.strictEqual(recorded.body, "plain")
      }
      const url = `http://127.0.0.1:${server.port}/mcp?q=1`
      assert.deepStrictEqual(proxy.lines, [`POST ${url}`, `POST ${url}`, `POST ${url}`])
      assert.strictEqual(proxy.server.connections, 1)
      assert.strictEqual(server.requests[0]!.headers["host"], `127.0.0.1:${server.port}`)
      assert.strictEqual(server.requests[0]!.headers["x-mine"], "1")
    }))

  test("an https:// server: through a tunnel, which is kept", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer()
      const server = yield* httpsServer
      const url = `https://localhost:${server.port}/mcp`
      const client = yield* open({ url, tls, proxy: `http://127.0.0.1:${proxy.server.port}` })
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* exchange(client, { url })).body, "secure")
      assert.deepStrictEqual(proxy.lines, [`CONNECT localhost:${server.port}`])
      assert.strictEqual(server.requests.length, 3)
      assert.strictEqual(server.requests[0]!.headers["proxy-authorization"], undefined)
    }))

  test("credentials of the proxy's URL go to the proxy, and to nobody else", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer()
      const plain = yield* httpServer((_, response) => response.end("plain"))
      const secure = yield* httpsServer
      const at = Redacted.make(`http://us%3Aer:hunter2@127.0.0.1:${proxy.server.port}`)
      const urls = [plain.url, `https://localhost:${secure.port}/mcp`]
      for (const url of urls) {
        const client = yield* open({ url, tls, proxy: at })
        assert.strictEqual((yield* exchange(client, { url })).status, 200)
      }
      assert.deepStrictEqual(proxy.authorizations, [basic("us:er:hunter2"), basic("us:er:hunter2")])
      for (const { headers } of [...plain.requests, ...secure.requests]) {
        assert.notInclude(JSON.stringify(headers), basic("us:er:hunter2"))
      }
    }))

  test("a proxy behind TLS, for both kinds of servers", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer({ secure: true })
      const plain = yield* httpServer((_, response) => response.end("plain"))
      const secure = yield* httpsServer
      const at = `https://localhost:${proxy.server.port}`
      for (const url of [plain.url, `https://localhost:${secure.port}/mcp`]) {
        const client = yield* open({ url, tls, proxy: at })
        assert.strictEqual((yield* exchange(client, { url })).status, 200)
      }
      assert.strictEqual(proxy.lines.length, 2)
    }))

  for (const [refuse, words] of [[407, "asks for credentials"], [403, "refuses to connect"]] as const) {
    test(`H03: a proxy that refuses a tunnel (${refuse}): Proxy, not sent`, () =>
      Effect.gen(function*() {
        const proxy = yield* proxyServer({ refuse })
        const server = yield* httpsServer
        const url = `https://localhost:${server.port}/mcp`
        const client = yield* open({ url, tls, proxy: `http://127.0.0.1:${proxy.server.port}` })
        const recorded = yield* exchange(client, { url })
        assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Proxy"])
        assert.include(recorded.failure!.detail, words)
        assert.strictEqual(server.connections, 0)
        yield* proxy.server.until(() => proxy.server.sockets.size === 0)
      }))
  }

  test("H03: a proxy that does not accept our credentials: Proxy, not sent, and nothing of them is shown", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer({ refuse: 407 })
      const server = yield* httpServer((_, response) => response.end("plain"))
      for (const url of [server.url, "https://localhost:1/mcp"]) {
        const client = yield* open({ url, tls, proxy: `http://user:hunter2@127.0.0.1:${proxy.server.port}` })
        const recorded = yield* exchange(client, { url })
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Proxy"])
        assert.include(recorded.failure!.detail, "does not accept our credentials")
        assert.notInclude(JSON.stringify(recorded.failure), "hunter2")
      }
      assert.strictEqual(server.requests.length, 0)
    }))

  test("a 407 of a server behind a tunnel is its answer", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer()
      const server = yield* httpsServer
      const url = `https://localhost:${server.port}/mcp`
      const client = yield* open({ url, tls, proxy: `http://127.0.0.1:${proxy.server.port}` })
      const recorded = yield* exchange(client, { url, body: "407" })
      assert.deepStrictEqual(recorded.events, ["head", "data", "end"])
      assert.strictEqual(recorded.status, 407)
      assert.strictEqual(proxy.lines.length, 1)
    }))

  test("H03: no proxy there, one that breaks off, one that talks nonsense: Proxy, not sent", () =>
    Effect.gen(function*() {
      const ends = yield* byteServer((socket) => socket.end())
      const resets = yield* byteServer((socket) => socket.resetAndDestroy())
      const garbage = yield* byteServer((socket) => socket.end("hunter2\r\n\r\n"))
      const url = "https://localhost:1/mcp"
      for (const port of [yield* closedPort, ends.port, resets.port, garbage.port]) {
        const client = yield* open({ url, proxy: `http://user:hunter2@127.0.0.1:${port}` })
        const recorded = yield* exchange(client, { url })
        assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Proxy"])
        assert.notInclude(JSON.stringify(recorded.failure), "hunter2")
      }
      const plain = "http://localhost:1/mcp"
      const client = yield* open({ url: plain, proxy: `http://127.0.0.1:${yield* closedPort}` })
      const { failure } = yield* exchange(client, { url: plain })
      assert.deepStrictEqual([failure!.sent, failure!.reason, failure!.code], [false, "Proxy", "ECONNREFUSED"])
    }))

  test("H13: abort and the end of the scope close tunnels, also those that are being opened", () =>
    Effect.gen(function*() {
      const proxy = yield* proxyServer()
      const silent = yield* byteServer(() => {})
      const server = yield* httpsServer
      const scope = yield* Scope.make()
      const url = `https://localhost:${server.port}/mcp`
      const client = yield* open({ url, tls, proxy: `http://127.0.0.1:${proxy.server.port}` }).pipe(Scope.extend(scope))
      const viaSilent = yield* open({ url, tls, proxy: `http://127.0.0.1:${silent.port}` }).pipe(Scope.extend(scope))
      const aborted = send(client, { url, body: "hang" })
      yield* server.until(() => server.requests.length === 1)
      aborted.abort()
      yield* proxy.server.until(() => proxy.server.sockets.size === 0)
      const hanging = send(client, { url, body: "hang" })
      const opening = send(viaSilent, { url })
      yield* server.until(() => server.requests.length === 2)
      yield* silent.until(() => silent.connections === 1)
      yield* Scope.close(scope, Exit.void)
      yield* proxy.server.until(() => proxy.server.sockets.size === 0)
      yield* silent.until(() => silent.sockets.size === 0)
      assert.deepStrictEqual([aborted, hanging, opening].flatMap((_) => _.events), [])
    }))
})
