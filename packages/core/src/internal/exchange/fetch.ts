/**
 * Exchanges over a `fetch` function.
 *
 * Owns: one abort controller and one reader per exchange, and the promises that come with them.
 * May not touch: what a body means. TLS, proxies and sockets are the platform's and can't be reached from here.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpClient, HttpExchange, HttpFailure, HttpListener, HttpRequest } from "../../HttpExchange.js"
import { within } from "../within.js"
import * as Config from "./config.js"
import * as Failure from "./failure.js"
import * as Url from "./url.js"

/** The part of `fetch` that is used. */
type Fetch = typeof globalThis.fetch

const instead = "fetch has no such setting; use UndiciExchange.layer of @mcp-runtime/node"

/** How long the end of a scope waits for a `fetch` that does not settle although it was aborted. */
const settleTimeout = "1 second"

const noop = () => {}

class FetchedExchange {
  readonly controller = new AbortController()
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  done = false

  constructor(readonly listener: HttpListener) {}

  abort() {
    if (this.done) return
    this.done = true
    this.controller.abort()
    this.reader?.cancel().catch(noop)
  }

  fail(failure: HttpFailure) {
    if (this.done) return
    this.done = true
    this.listener.failed(failure)
  }

  async run(fetch: Fetch, target: Url.Target, request: HttpRequest): Promise<void> {
    try {
      const response = await fetch(target.url.href, {
        method: request.method,
        headers: Url.headersFor(target, request.headers) as Record<string, string>,
        redirect: "manual",
        signal: this.controller.signal,
        ...(request.body === undefined ? undefined : { body: request.body })
      })
      await this.receive(response)
    } catch (error) {
      this.reader?.cancel().catch(noop)
      // A fetch that throws at once must not be reported before `send` has returned.
      await undefined
      this.fail(Failure.fromError(error, this.reader === undefined ? "unknown" : "sent"))
    }
  }

  async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const chunk = await reader.read()
      if (this.done || chunk.done) return
      this.listener.data(chunk.value)
    }
  }

  async receive(response: Response): Promise<void> {
    if (this.done) return await response.body?.cancel()
    if (response.status === 0) {
      await response.body?.cancel()
      return this.fail(Failure.redirectHidden)
    }
    this.reader = response.body?.getReader()
    const headers = response.headers
    this.listener.head(response.status, (name) => headers.get(name) ?? undefined)
    if (this.reader !== undefined) await this.read(this.reader)
    if (this.done) return
    this.done = true
    this.listener.end()
  }
}

class FetchClient implements HttpClient {
  readonly running = new Map<FetchedExchange, Promise<void>>()
  closed = false

  constructor(readonly fetch: Fetch) {}

  readonly send = (request: HttpRequest, listener: HttpListener): () => void => {
    const target = this.closed ? undefined : Url.parse(request.url)
    if (target === undefined) return Failure.refuse(listener, this.closed ? Failure.channelClosed : Failure.badUrl)
    const exchange = new FetchedExchange(listener)
    this.running.set(exchange, exchange.run(this.fetch, target, request).finally(() => this.running.delete(exchange)))
    return () => exchange.abort()
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    const settled = [...this.running.values()]
    for (const exchange of this.running.keys()) exchange.abort()
    return Effect.asVoid(within(Effect.promise(() => Promise.all(settled)), settleTimeout))
  })
}

/** @internal */
export const fromFetch = (fetch: Fetch): Context.Tag.Service<HttpExchange> => ({
  open: (config) =>
    Effect.zipRight(
      Config.withoutSockets(config, instead),
      Effect.acquireRelease(Effect.sync(() => new FetchClient(fetch)), (client) => client.close)
    )
})
