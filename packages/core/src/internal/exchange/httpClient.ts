/**
 * Exchanges over the `HttpClient` of `@effect/platform`, so that an application can bring its own.
 *
 * Owns: one fiber per exchange, in the scope of the channel.
 * May not touch: how their client connects. Its TLS, proxies, sockets, retries and redirects are its owner's.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as PlatformClient from "@effect/platform/HttpClient"
import type * as PlatformError from "@effect/platform/HttpClientError"
import * as PlatformRequest from "@effect/platform/HttpClientRequest"
import type * as PlatformResponse from "@effect/platform/HttpClientResponse"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { constTrue } from "effect/Function"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { HttpClient, HttpExchange, HttpFailure, HttpListener, HttpRequest } from "../../HttpExchange.js"
import { within } from "../within.js"
import * as Config from "./config.js"
import * as Failure from "./failure.js"
import * as Url from "./url.js"

const instead = "the HttpClient of the application decides it; set it there, or use UndiciExchange.layer of " +
  "@mcp-runtime/node"

const died = "the HttpClient of the application has died"

/** How long the end of a scope waits for exchanges of a client that can't be interrupted. */
const settleTimeout = "1 second"

/** Scopes are often opened where nothing is interruptible, which must not hold for what runs in them. */
const enableInterruption = Runtime.enableRuntimeFlag(RuntimeFlags.Interruption)

class FiberExchange {
  fiber: Fiber.RuntimeFiber<void> | undefined
  headSeen = false
  done = false

  constructor(readonly listener: HttpListener) {}

  abort() {
    if (this.done) return
    this.done = true
    this.fiber?.unsafeInterruptAsFork(FiberId.none)
  }

  fail(failure: HttpFailure) {
    if (this.done) return
    this.done = true
    this.listener.failed(failure)
  }

  end() {
    if (this.done) return
    this.done = true
    this.listener.end()
  }

  head(response: PlatformResponse.HttpClientResponse) {
    if (this.done) return
    this.headSeen = true
    const headers = response.headers
    this.listener.head(response.status, (name) => headers[name])
  }

  data(chunk: Iterable<Uint8Array>) {
    for (const bytes of chunk) {
      if (this.done) return
      this.listener.data(bytes)
    }
  }
}

const requestOf = (target: Url.Target, request: HttpRequest): PlatformRequest.HttpClientRequest => {
  const head = PlatformRequest.make(request.method)(target.url.href).pipe(
    PlatformRequest.setHeaders(Url.headersFor(target, request.headers))
  )
  return request.body === undefined
    ? head
    : PlatformRequest.bodyText(head, request.body, request.headers["content-type"] ?? "application/json")
}

const failureOf = (cause: Cause.Cause<PlatformError.HttpClientError>, headSeen: boolean): HttpFailure => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  if (error === undefined) {
    const failure = Failure.fromError(Cause.squash(cause), headSeen ? "sent" : "unknown")
    return Cause.isDie(cause) ? { ...failure, detail: `${failure.detail}: ${died}` } : failure
  }
  if (error._tag === "ResponseError") return Failure.fromError(error.cause, "sent")
  switch (error.reason) {
    case "InvalidUrl":
      return Failure.badUrl
    case "Encode":
      return Failure.fromError(error.cause, "unsent")
    case "Transport":
      return Failure.fromError(error.cause, "unknown")
  }
}

/** A client that fails on a status is not believed: the status is part of what an exchange reports. */
const anyStatus = (
  error: PlatformError.HttpClientError
): Effect.Effect<PlatformResponse.HttpClientResponse, PlatformError.HttpClientError> =>
  error._tag === "ResponseError" && error.reason === "StatusCode" ? Effect.succeed(error.response) : Effect.fail(error)

const receive = (
  exchange: FiberExchange,
  response: PlatformResponse.HttpClientResponse
): Effect.Effect<void, PlatformError.HttpClientError> => {
  if (response.status === 0) return Effect.sync(() => exchange.fail(Failure.redirectHidden))
  exchange.head(response)
  return Stream.runForEachChunk(response.stream, (chunk) => Effect.sync(() => exchange.data(chunk))).pipe(
    Effect.catchIf((error) => error.reason === "EmptyBody", () => Effect.void)
  )
}

class FiberClient implements HttpClient {
  readonly exchanges = new Set<FiberExchange>()
  closed = false

  constructor(
    readonly client: PlatformClient.HttpClient.With<PlatformError.HttpClientError, Scope.Scope>,
    readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  ) {}

  readonly send = (request: HttpRequest, listener: HttpListener): () => void => {
    const target = this.closed ? undefined : Url.parse(request.url)
    if (target === undefined) return Failure.refuse(listener, this.closed ? Failure.channelClosed : Failure.badUrl)
    const exchange = new FiberExchange(listener)
    const fiber = this.fork(this.run(exchange, requestOf(target, request)))
    exchange.fiber = fiber
    this.exchanges.add(exchange)
    fiber.addObserver(() => this.exchanges.delete(exchange))
    return () => exchange.abort()
  }

  run(exchange: FiberExchange, request: PlatformRequest.HttpClientRequest): Effect.Effect<void> {
    return this.client.execute(request).pipe(
      Effect.catchAll(anyStatus),
      Effect.flatMap((response) => receive(exchange, response)),
      Effect.scoped,
      Effect.matchCause({
        onFailure: (cause) => exchange.fail(failureOf(cause, exchange.headSeen)),
        onSuccess: () => exchange.end()
      })
    )
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    const fibers: Array<Fiber.RuntimeFiber<void>> = []
    for (const exchange of this.exchanges) {
      if (exchange.fiber !== undefined) fibers.push(exchange.fiber)
      exchange.abort()
    }
    return Effect.asVoid(within(Fiber.interruptAll(fibers), settleTimeout))
  })
}

/**
 * The settings of every exchange: redirects are reported where the platform lets us (fetch), and no span or trace header
 * is made per exchange. What the application set on its own client is nearer to the request, so it wins.
 */
const settings = (init: RequestInit | undefined) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.provideService(FetchHttpClient.RequestInit, { ...init, redirect: "manual" }),
    Effect.locally(PlatformClient.currentTracerDisabledWhen, constTrue),
    Effect.locally(PlatformClient.currentTracerPropagation, false)
  )

/** @internal */
export const fromHttpClient = (client: PlatformClient.HttpClient): Context.Tag.Service<HttpExchange> => ({
  open: (config) =>
    Effect.gen(function*() {
      yield* Config.withoutSockets(config, instead)
      const runtime = yield* Effect.runtime<never>()
      const init = Context.getOption(runtime.context as Context.Context<unknown>, FetchHttpClient.RequestInit)
      const withSettings = settings(Option.getOrUndefined(init))
      const fork = Runtime.runFork(enableInterruption(runtime))
      const scoped = PlatformClient.withScope(client)
      return yield* Effect.acquireRelease(
        Effect.sync(() => new FiberClient(scoped, (effect) => fork(withSettings(effect), { immediate: false }))),
        (self) => self.close
      )
    })
})
