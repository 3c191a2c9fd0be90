import {
  FetchHttpClient,
  HttpClient,
  HttpClientError,
  type HttpClientRequest,
  type HttpClientResponse
} from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { HttpExchange } from "@mcp-runtime/core"
import { Effect, Exit, Layer, Scope } from "effect"
import { open } from "./exchangeContract.js"
import { exchange, httpServer, send } from "./exchangeServer.js"
import { recorder } from "./telemetry/kit.js"

const url = "http://127.0.0.1:1/mcp"

const overFetch = (f: (client: HttpClient.HttpClient) => HttpClient.HttpClient) =>
  Layer.effect(
    HttpExchange.HttpExchange,
    Effect.map(HttpClient.HttpClient, (client) => HttpExchange.fromHttpClient(f(client)))
  ).pipe(Layer.provide(FetchHttpClient.layer))

const over = (
  execute: (
    request: HttpClientRequest.HttpClientRequest
  ) => Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>
) => Effect.provideService(HttpExchange.HttpExchange, HttpExchange.fromHttpClient(HttpClient.make(execute)))

describe("fromHttpClient", () => {
  it.scoped("tls, proxy and maxConnections are refused, and all fields are named", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        open({ url, tls: { verify: false }, proxy: "http://u:hunter2@127.0.0.1:2", maxConnections: 4 })
      )
      assert.strictEqual(error._tag, "ConfigInvalid")
      if (error._tag !== "ConfigInvalid") return
      assert.deepStrictEqual(error.problems.map((_) => _.field), ["tls", "proxy", "maxConnections"])
      assert.notInclude(error.message, "hunter2")
    }).pipe(Effect.provide(overFetch((_) => _))))

  it.live("no span and no trace header is made per exchange", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.end("ok"))
      const client = yield* open({ url: server.url })
      yield* exchange(client, { url: server.url })
      assert.deepStrictEqual(spans, [])
      assert.strictEqual(server.requests[0]!.headers["traceparent"], undefined)
    }).pipe(Effect.scoped, Effect.provide(overFetch((_) => _)), Effect.withTracer(tracer))
  })

  it.live("a client on which tracing was set keeps it", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.end("ok"))
      const client = yield* open({ url: server.url })
      yield* exchange(client, { url: server.url })
      assert.deepStrictEqual(spans.map((_) => _.name), ["http.client POST"])
      assert.isString(server.requests[0]!.headers["traceparent"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        overFetch((client) =>
          client.pipe(HttpClient.withTracerDisabledWhen(() => false), HttpClient.withTracerPropagation(true))
        )
      ),
      Effect.withTracer(tracer)
    )
  })

  it.live("H01: a client that fails on a status still reports it, with its body", () =>
    Effect.gen(function*() {
      const server = yield* httpServer((_, response) => response.writeHead(404).end("gone"))
      const client = yield* open({ url: server.url })
      const recorded = yield* exchange(client, { url: server.url })
      assert.deepStrictEqual(recorded.events, ["head", "data", "end"])
      assert.strictEqual(recorded.status, 404)
      assert.strictEqual(recorded.body, "gone")
    }).pipe(Effect.scoped, Effect.provide(overFetch(HttpClient.filterStatusOk))))

  it.live("the application's RequestInit stays, and redirects are still not followed", () => {
    const inits: Array<RequestInit | undefined> = []
    return Effect.gen(function*() {
      const client = yield* open({ url })
      const recorded = yield* exchange(client, { url })
      assert.strictEqual(recorded.body, "ok")
      assert.strictEqual(inits[0]!.credentials, "include")
      assert.strictEqual(inits[0]!.redirect, "manual")
    }).pipe(
      Effect.scoped,
      Effect.provide(overFetch((_) => _)),
      Effect.provideService(FetchHttpClient.RequestInit, { credentials: "include" }),
      Effect.provideService(FetchHttpClient.Fetch, (_, init) => {
        inits.push(init)
        return Promise.resolve(new Response("ok"))
      })
    )
  })

  it.scoped("a defect of the client is a failure that may have been sent, without its text", () =>
    Effect.gen(function*() {
      const client = yield* open({ url })
      const recorded = yield* exchange(client, { url })
      assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [true, "Lost"])
      assert.include(recorded.failure!.detail, "the HttpClient of the application has died")
      assert.notInclude(JSON.stringify(recorded.failure), "secret")
    }).pipe(over(() => Effect.die(new Error("secret")))))

  it.scoped("a client that interrupts itself is a failure, not silence", () =>
    Effect.gen(function*() {
      const client = yield* open({ url })
      const recorded = yield* exchange(client, { url })
      assert.deepStrictEqual([recorded.failure!.sent, recorded.failure!.reason], [true, "Lost"])
    }).pipe(over(() => Effect.interrupt)))

  it.scoped("H03: errors of the client are told apart", () => {
    const errors: Array<(request: HttpClientRequest.HttpClientRequest) => HttpClientError.HttpClientError> = [
      (request) => new HttpClientError.RequestError({ request, reason: "InvalidUrl" }),
      (request) => new HttpClientError.RequestError({ request, reason: "Encode" }),
      (request) => new HttpClientError.RequestError({ request, reason: "Transport", cause: { code: "ECONNREFUSED" } }),
      (request) => new HttpClientError.RequestError({ request, reason: "Transport", cause: { code: "ECONNRESET" } })
    ]
    return Effect.gen(function*() {
      const client = yield* open({ url })
      const seen: Array<unknown> = []
      while (errors.length > 0) {
        const recorded = send(client, { url })
        assert.deepStrictEqual(recorded.events, [], "nothing is reported before send has returned")
        yield* recorded.settled
        seen.push([recorded.failure!.sent, recorded.failure!.reason])
      }
      assert.deepStrictEqual(seen, [[false, "BadUrl"], [false, "Other"], [false, "Refused"], [true, "Lost"]])
    }).pipe(over((request) => Effect.fail(errors.shift()!(request))))
  })

  it.live("H11: of a channel that was opened in a region without interruption, an aborted exchange frees its socket", () =>
    Effect.gen(function*() {
      const server = yield* httpServer(() => {})
      const client = yield* Effect.uninterruptible(open({ url: server.url }))
      const aborted = send(client, { url: server.url })
      yield* server.until(() => server.requests.length === 1)
      assert.strictEqual(server.sockets.size, 1)
      aborted.abort()
      yield* server.until(() => server.sockets.size === 0)
      assert.deepStrictEqual(aborted.events, [])
    }).pipe(Effect.scoped, Effect.provide(overFetch((_) => _))))

  it.scoped("H11, H13: abort and the end of the scope interrupt, and the scope waits for it", () => {
    const log: Array<string> = []
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const client = yield* open({ url }).pipe(Scope.extend(scope))
      const aborted = send(client, { url, method: "GET", body: undefined })
      const open2 = send(client, { url, method: "DELETE", body: undefined })
      yield* Effect.yieldNow()
      assert.deepStrictEqual(log, ["start GET", "start DELETE"])
      aborted.abort()
      yield* Effect.yieldNow()
      assert.deepStrictEqual(log, ["start GET", "start DELETE", "end GET"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["start GET", "start DELETE", "end GET", "end DELETE"])
      assert.deepStrictEqual([aborted.events, open2.events], [[], []])
    }).pipe(over((request) =>
      Effect.acquireUseRelease(
        Effect.sync(() => log.push(`start ${request.method}`)),
        () => Effect.never,
        () => Effect.sync(() => log.push(`end ${request.method}`))
      )
    ))
  })
})
