import { assert, describe, it } from "@effect/vitest"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Https from "node:https"
import type * as Tls from "node:tls"
import { Worker } from "node:worker_threads"
import { open } from "../../core/test/exchangeContract.js"
import {
  type Answer,
  answering,
  byteServer,
  exchange,
  listen,
  send,
  TestServer
} from "../../core/test/exchangeServer.js"

const pem = (name: string) => Fs.readFileSync(new URL(`fixtures/tls/${name}`, import.meta.url), "utf8")

const ca = pem("ca.pem")

const ok: Answer = (_, response) => response.end("ok")

/** An HTTPS server in a thread of its own, which counts in `shared` its sockets, and the answers that it has written. */
const elsewhere = `
const { workerData: { shared, cert, key }, parentPort } = require("node:worker_threads")
const written = () => {
  Atomics.add(shared, 1, 1)
  Atomics.notify(shared, 1)
}
const server = require("node:https").createServer({ cert, key }, (request, response) => {
  request.resume().on("end", () => response.end("ok", () => setImmediate(written)))
})
server.on("connection", () => Atomics.add(shared, 0, 1))
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port))
`

/** An HTTPS server whose log counts handshakes (`sessions`), and those that resumed an earlier one. */
const httpsServer = (options: Tls.TlsOptions = {}, certificate = "server", answer = ok) =>
  Effect.suspend(() => {
    const log = new TestServer()
    const resumed: Array<boolean> = []
    const server = Https.createServer(
      { cert: pem(`${certificate}.pem`), key: pem(`${certificate}.key`), ...options },
      answering(log, answer)
    )
    server.on("connection", log.track)
    server.on("secureConnection", (socket) => {
      resumed.push(socket.isSessionReused())
    })
    return Effect.map(listen(server, log), () => ({
      log,
      resumed,
      url: (host: string) => `https://${host}:${log.port}/mcp`
    }))
  })

const test = (
  title: string,
  effect: () => Effect.Effect<void, unknown, Effect.Effect.Context<ReturnType<typeof open>>>
) => it.live(title, () => Effect.scoped(effect()).pipe(Effect.provide(UndiciExchange.layer)))

const over = (input: { readonly url: string } & Record<string, unknown>) =>
  Effect.flatMap(open(input), (client) => exchange(client, { url: input.url }))

const problems = (tls: Record<string, unknown>) =>
  Effect.map(Effect.flip(open({ url: "https://127.0.0.1:1/mcp", tls })), (error) => {
    assert.strictEqual(error._tag, "ConfigInvalid")
    assert.notInclude(JSON.stringify(error), "hunter2")
    return error._tag === "ConfigInvalid" ? error.problems.map((_) => _.field) : []
  })

describe("undici: TLS", () => {
  test("a server of a given authority, by name and by address", () =>
    Effect.gen(function*() {
      const server = yield* httpsServer()
      for (const host of ["localhost", "127.0.0.1"]) {
        for (const given of [ca, [pem("other-ca.pem"), ca]]) {
          const recorded = yield* over({ url: server.url(host), tls: { ca: given } })
          assert.strictEqual(recorded.body, "ok")
        }
      }
    }))

  test("a socket serves the next request also where an answer has come within the turn in which it was asked for", () =>
    Effect.gen(function*() {
      const shared = new Int32Array(new SharedArrayBuffer(8))
      const worker = yield* Effect.acquireRelease(
        Effect.sync(() =>
          new Worker(elsewhere, { eval: true, workerData: { shared, cert: pem("server.pem"), key: pem("server.key") } })
        ),
        (_) => Effect.promise(() => _.terminate())
      )
      const port = yield* Effect.async<number>((resume) =>
        void worker.once("message", (_) => resume(Effect.succeed(_)))
      )
      const url = `https://127.0.0.1:${port}/mcp`
      const client = yield* open({ url, tls: { ca } })
      const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
      const answered = (count: number) => {
        for (let now = 0; now < count; now = Atomics.load(shared, 1)) {
          if (Atomics.wait(shared, 1, now, 5000) === "timed-out") return
        }
      }
      for (const [i, body] of ["first", "x".repeat(100_000), "small", "small", "next"].entries()) {
        if (body === "small") yield* turn
        const recorded = send(client, { url, body })
        // undici writes in the next turn to a socket that was at rest; nothing else happens from then until the answer is there.
        if (body === "small") setImmediate(answered, i + 1)
        yield* recorded.settled
        assert.strictEqual(recorded.body, "ok")
      }
      assert.strictEqual(shared[0], 1)
    }))

  test("a server is told the name that we want, and never an address as a name", () =>
    Effect.gen(function*() {
      const names: Array<string> = []
      const server = yield* httpsServer({
        SNICallback: (name, done) => {
          names.push(name)
          done(null)
        }
      })
      for (const host of ["127.0.0.1", "localhost"]) yield* over({ url: server.url(host), tls: { ca } })
      assert.strictEqual(server.log.requests.length, 2)
      assert.deepStrictEqual(names, ["localhost"])
    }))

  test("the second connection of a channel resumes the TLS session of the first", () =>
    Effect.gen(function*() {
      const server = yield* httpsServer({}, "server", (_, response) => {
        response.writeHead(200, { connection: "close" }).end("ok")
      })
      const url = server.url("localhost")
      const client = yield* open({ url, tls: { ca } })
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* exchange(client, { url })).body, "ok")
      assert.deepStrictEqual(server.resumed, [false, true, true])
    }))

  const untrusted = (title: string, tls: Record<string, unknown> | undefined, certificate: string, words: string) =>
    test(`H03: ${title}: Tls, not sent`, () =>
      Effect.gen(function*() {
        const server = yield* httpsServer({}, certificate)
        const url = server.url("localhost")
        const recorded = yield* over({ url, ...(tls === undefined ? {} : { tls }) })
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Tls"])
        assert.include(recorded.failure!.detail, words)
        assert.strictEqual(server.log.requests.length, 0)
        yield* server.log.until(() => server.log.sockets.size === 0)
      }))

  untrusted("an unknown authority", undefined, "server", "is not trusted")
  untrusted("another authority", { ca: pem("other-ca.pem") }, "server", "is not trusted")
  untrusted("a certificate for another host", { ca }, "elsewhere", "is for another host")

  test("verify: false takes any certificate", () =>
    Effect.gen(function*() {
      const server = yield* httpsServer({}, "elsewhere")
      const recorded = yield* over({ url: server.url("localhost"), tls: { verify: false } })
      assert.strictEqual(recorded.body, "ok")
    }))

  test("H03: a server that does not speak TLS: Tls, not sent", () =>
    Effect.gen(function*() {
      const server = yield* byteServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
      const recorded = yield* over({ url: `https://127.0.0.1:${server.port}/mcp` })
      assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [false, "Tls"])
      assert.include(recorded.failure!.detail, "does not speak TLS")
    }))

  for (const how of ["end", "resetAndDestroy"] as const) {
    test(`H03: a server that breaks off in the handshake (${how}): not sent`, () =>
      Effect.gen(function*() {
        const server = yield* byteServer((socket) => socket[how]())
        const recorded = yield* over({ url: `https://127.0.0.1:${server.port}/mcp` })
        assert.deepStrictEqual(recorded.events, ["failed"])
        assert.strictEqual(recorded.failure!.sent, false)
      }))
  }

  for (const key of ["client.key", "client.encrypted.key"]) {
    test(`our own certificate is shown (${key})`, () =>
      Effect.gen(function*() {
        let shown: string | undefined
        const server = yield* httpsServer(
          { requestCert: true, rejectUnauthorized: true, ca },
          "server",
          (_, response) => {
            shown = (response.socket as Tls.TLSSocket).getPeerCertificate().subject.CN
            response.end("ok")
          }
        )
        const recorded = yield* over({
          url: server.url("localhost"),
          tls: { ca, cert: pem("client.pem"), key: pem(key), passphrase: "hunter2-passphrase" }
        })
        assert.strictEqual(recorded.body, "ok")
        assert.strictEqual(shown, "client")
      }))
  }

  test("H03: a server that wants a certificate and gets none: a failure, and nothing is executed", () =>
    Effect.gen(function*() {
      const server = yield* httpsServer({ requestCert: true, rejectUnauthorized: true, ca })
      const recorded = yield* over({ url: server.url("localhost"), tls: { ca } })
      assert.deepStrictEqual(recorded.events, ["failed"])
      assert.strictEqual(server.log.requests.length, 0)
    }))

  test("what is wrong with a certificate or key is said per field when the channel is opened, without any value", () =>
    Effect.gen(function*() {
      const cert = pem("client.pem")
      const key = pem("client.key")
      assert.deepStrictEqual(yield* problems({ ca: "hunter2" }), ["tls.ca"])
      assert.deepStrictEqual(yield* problems({ ca: [ca, "hunter2"] }), ["tls.ca"])
      assert.deepStrictEqual(yield* problems({ cert: "hunter2", key }), ["tls.cert"])
      assert.deepStrictEqual(yield* problems({ cert, key: "hunter2" }), ["tls.key"])
      assert.deepStrictEqual(yield* problems({ cert: "hunter2", key: "hunter2" }), ["tls.cert", "tls.key"])
      assert.deepStrictEqual(
        yield* problems({ cert, key: pem("client.encrypted.key"), passphrase: "hunter2-wrong" }),
        ["tls.key"]
      )
      assert.deepStrictEqual(yield* problems({ cert, key: pem("client.encrypted.key") }), ["tls.key"])
      assert.deepStrictEqual(yield* problems({ cert, key: pem("server.key") }), ["tls.key"])
    }))

  test("H11: abort in the middle of a body closes the socket of the server", () =>
    Effect.gen(function*() {
      const server = yield* httpsServer({}, "server", (_, response) => {
        response.write("data")
      })
      const url = server.url("localhost")
      const client = yield* open({ url, tls: { ca } })
      const recorded = send(client, { url }, "stream")
      yield* recorded.until(() => recorded.chunks.length === 1)
      recorded.abort()
      yield* server.log.until(() => server.log.sockets.size === 0)
      assert.deepStrictEqual(recorded.events, ["head", "data"])
    }))
})
