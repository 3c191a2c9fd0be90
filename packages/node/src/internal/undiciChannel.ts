/**
 * The HTTP client of one channel.
 *
 * Owns: from the URL of a request to the lanes of its origin; opening and closing of the whole.
 * May not touch: single sockets and exchanges.
 */
import type * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Scope from "effect/Scope"
import type * as Net from "node:net"
import type * as Undici from "undici"
import type { DialContext } from "./undiciDial.js"
import { Exchange, Lanes } from "./undiciLanes.js"
import { bareHost, basic } from "./undiciSettings.js"
import type { SocketSettings } from "./undiciSettings.js"
import { within } from "./within.js"

/** @internal */
export interface Times {
  readonly keepAlive: number
  readonly connect: Duration.Duration | undefined
  readonly close: Duration.Duration
}

/** How a URL is reached: worked out once, since a channel has hardly more than one. */
interface Route {
  readonly lanes: Lanes
  readonly path: string
  /** Headers that every request to this URL has unless it has its own. */
  readonly extra: Headers
  /** The headers of the last request, with these. The next one usually has the same. */
  last: { readonly own: Headers; readonly all: Headers } | undefined
}

type Headers = HttpExchange.HttpRequest["headers"]

const headersOf = (route: Route, own: Headers): Headers => {
  if (route.last?.own === own) return route.last.all
  const all = { ...route.extra, ...own }
  route.last = { own, all }
  return all
}

/** No server's hint makes us keep an idle socket for longer. */
const maxKeepAliveMillis = 60_000

/** Bounds the memory of routes, should URLs vary. */
const maxRoutes = 64

const noop = () => {}

class Channel implements HttpExchange.HttpClient {
  readonly #context: DialContext
  readonly #undici: typeof Undici
  readonly #clientOptions: Undici.Client.Options
  readonly #max: number
  readonly #lanes = { request: new Map<string, Lanes>(), stream: new Map<string, Lanes>() }
  readonly #routes = { request: new Map<string, Route>(), stream: new Map<string, Route>() }
  #closed = false

  constructor(undici: typeof Undici, context: DialContext, max: number | undefined, keepAlive: number) {
    this.#undici = undici
    this.#context = context
    this.#max = max ?? Number.POSITIVE_INFINITY
    const keepAliveTimeout = Math.min(Math.max(keepAlive, 1), 2 ** 31 - 1)
    this.#clientOptions = {
      keepAliveTimeout,
      keepAliveMaxTimeout: Math.max(keepAliveTimeout, maxKeepAliveMillis),
      bodyTimeout: 0,
      headersTimeout: 0,
      pipelining: 1,
      allowH2: false
    }
  }

  readonly send = (
    request: HttpExchange.HttpRequest,
    listener: HttpExchange.HttpListener,
    kind: "request" | "stream"
  ): () => boolean => {
    const route = this.#routes[kind].get(request.url) ?? this.#route(request.url, kind)
    if ("reason" in route) return refuse(listener, route)
    const { lanes } = route
    const exchange = new Exchange(
      {
        method: request.method,
        path: route.path,
        headers: headersOf(route, request.headers),
        body: request.body ?? null
      },
      listener,
      lanes
    )
    lanes.submit(exchange)
    return () => lanes.abort(exchange)
  }

  #route(text: string, kind: "request" | "stream"): Route | HttpExchange.HttpFailure {
    if (this.#closed) return { sent: false, reason: "Other", detail: "the channel is closed" }
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
      return { sent: false, reason: "BadUrl", detail: "not an http:// or https:// URL" }
    }
    const { proxy } = this.#context.settings
    const forwarded = proxy !== undefined && url.protocol === "http:"
    // Nothing is unpacked here.
    const extra: Record<string, string> = { "accept-encoding": "identity" }
    if (url.username !== "" || url.password !== "") extra["authorization"] = basic(url.username, url.password)
    if (forwarded && proxy.authorization !== undefined) extra["proxy-authorization"] = proxy.authorization
    const path = `${url.pathname}${url.search}`
    const route: Route = {
      lanes: this.#lanesOf(url, kind),
      path: forwarded ? `${url.origin}${path}` : path,
      extra,
      last: undefined
    }
    const routes = this.#routes[kind]
    if (routes.size >= maxRoutes) routes.clear()
    routes.set(text, route)
    return route
  }

  #lanesOf(url: URL, kind: "request" | "stream"): Lanes {
    const known = this.#lanes[kind].get(url.origin)
    if (known !== undefined) return known
    const secure = url.protocol === "https:"
    const { proxy } = this.#context.settings
    const lanes = new Lanes({
      undici: this.#undici,
      origin: url.origin,
      destination: {
        secure,
        host: bareHost(url.hostname),
        port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
        session: undefined
      },
      context: this.#context,
      clientOptions: this.#clientOptions,
      max: kind === "request" ? this.#max : Number.POSITIVE_INFINITY,
      proxyAuthorized: proxy === undefined || secure ? undefined : proxy.authorization !== undefined
    })
    this.#lanes[kind].set(url.origin, lanes)
    return lanes
  }

  /** Ends everything that is under way; `closed` is called when the last socket has closed. */
  close(closed: () => void): void {
    this.#closed = true
    for (const kind of ["request", "stream"] as const) {
      this.#routes[kind].clear()
      for (const lanes of this.#lanes[kind].values()) lanes.close()
    }
    const { sockets } = this.#context
    if (sockets.size === 0) return closed()
    for (const socket of sockets) {
      socket.once("close", () => {
        if (sockets.size === 0) closed()
      })
      socket.destroy()
    }
  }
}

const refuse = (listener: HttpExchange.HttpListener, failure: HttpExchange.HttpFailure): () => boolean => {
  let aborted = false
  queueMicrotask(() => {
    if (!aborted) listener.failed(failure)
  })
  return () => {
    aborted = true
    return true
  }
}

/** The scope of a channel is often opened where nothing is interruptible. */
const enableInterruption = Runtime.enableRuntimeFlag(RuntimeFlags.Interruption)

/** @internal */
export const open = (
  config: McpConfig.AnyHttpConfig,
  { settings, times, undici }: {
    readonly undici: typeof Undici
    readonly settings: SocketSettings
    readonly times: Times
  }
): Effect.Effect<HttpExchange.HttpClient, never, Scope.Scope> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) => {
    const fork = Runtime.runFork(enableInterruption(runtime))
    const { connect } = times
    const deadline = connect === undefined
      ? () => noop
      : (expired: () => void) => {
        const fiber = fork(Effect.delay(Effect.sync(expired), connect))
        return () => fiber.unsafeInterruptAsFork(FiberId.none)
      }
    const channel = new Channel(
      undici,
      { settings, sockets: new Set<Net.Socket>(), deadline },
      config.maxConnections,
      times.keepAlive
    )
    const close = within(Effect.async<void>((resume) => channel.close(() => resume(Effect.void))), times.close)
    // `Effect.acquireRelease` would keep the fiber refs of whoever opens for as long as the channel is open.
    return Effect.as(Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, close)), channel)
  })
