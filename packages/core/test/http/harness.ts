/**
 * What the tests of the HTTP transports share: a recorder of what a transport tells, a client whose every exchange is
 * scripted in memory, and a way to open a channel over either that or real sockets.
 */
import {
  HttpExchange,
  type McpAuth,
  McpConfig,
  type McpError,
  type McpProtocol,
  type McpTransport
} from "@mcp-runtime/core"
import { UndiciExchange } from "@mcp-runtime/node"
import { Effect, Scope } from "effect"
import * as Channel from "../../src/internal/http/channel.js"

export interface Recorded {
  readonly messages: Array<{ readonly [key: string]: unknown }>
  readonly failed: Array<{ readonly id: McpProtocol.RequestId; readonly error: McpError.McpError }>
  readonly closed: Array<McpError.McpError>
  readonly warnings: Array<{ readonly kind: McpTransport.WarningKind; readonly detail: string }>
  readonly stream: Array<McpTransport.ServerStreamState>
  /** How many events there were. */
  readonly count: () => number
  readonly events: McpTransport.TransportEvents
  /** Waits until what was recorded is as wanted. */
  readonly until: (predicate: (recorded: Recorded) => boolean) => Effect.Effect<void>
  /** Waits for the failure of a request. */
  readonly failure: (id: McpProtocol.RequestId) => Effect.Effect<McpError.McpError>
  /** Waits for the answer to a request. */
  readonly answer: (id: McpProtocol.RequestId) => Effect.Effect<{ readonly [key: string]: unknown }>
}

/** Those who wait for a condition, which is looked at whenever something changed. */
const waiting = () => {
  const checks = new Set<() => void>()
  return {
    changed: () => {
      for (const check of checks) check()
    },
    until: (predicate: () => boolean) =>
      Effect.async<void>((resume) => {
        const check = () => {
          if (!predicate()) return
          checks.delete(check)
          resume(Effect.void)
        }
        checks.add(check)
        check()
        return Effect.sync(() => checks.delete(check))
      })
  }
}

export const record = (): Recorded => {
  const { changed, until: wait } = waiting()
  const messages: Array<{ readonly [key: string]: unknown }> = []
  const failed: Array<{ readonly id: McpProtocol.RequestId; readonly error: McpError.McpError }> = []
  const closed: Array<McpError.McpError> = []
  const warnings: Array<{ readonly kind: McpTransport.WarningKind; readonly detail: string }> = []
  const stream: Array<McpTransport.ServerStreamState> = []
  let count = 0
  const after = (add: () => void) => {
    add()
    count++
    changed()
  }
  const until = (predicate: (recorded: Recorded) => boolean) => wait(() => predicate(recorded))
  const recorded: Recorded = {
    messages,
    failed,
    closed,
    warnings,
    stream,
    count: () => count,
    events: {
      message: (_) => after(() => messages.push(_ as { readonly [key: string]: unknown })),
      requestFailed: (id, error) => after(() => failed.push({ id, error })),
      closed: (_) => after(() => closed.push(_)),
      warning: (kind, detail) => after(() => warnings.push({ kind, detail })),
      serverStream: (_) => after(() => stream.push(_))
    },
    until,
    failure: (id) =>
      Effect.map(until(() => failed.some((_) => _.id === id)), () => failed.find((_) => _.id === id)!.error),
    answer: (id) =>
      Effect.map(
        until(() => messages.some((_) => _.id === id && _.method === undefined)),
        () => messages.find((_) => _.id === id && _.method === undefined)!
      )
  }
  return recorded
}

/** One exchange of the scripted client. */
export class Scripted {
  aborted = false
  over = false
  /** Something of it has left us. */
  written = true

  constructor(
    readonly request: HttpExchange.HttpRequest,
    readonly kind: "request" | "stream",
    private readonly listener: HttpExchange.HttpListener
  ) {}

  get rpc(): { readonly [key: string]: unknown } {
    return this.request.body === undefined ? {} : JSON.parse(this.request.body)
  }

  get open(): boolean {
    return !this.aborted && !this.over
  }

  head(status: number, headers: { readonly [name: string]: string } = {}): this {
    if (this.open) this.listener.head(status, (_) => headers[_])
    return this
  }

  data(text: string | Uint8Array): this {
    if (this.open) this.listener.data(typeof text === "string" ? new TextEncoder().encode(text) : text)
    return this
  }

  end(): this {
    if (!this.open) return this
    this.over = true
    this.listener.end()
    return this
  }

  fail(failure: Partial<HttpExchange.HttpFailure> = {}): this {
    if (!this.open) return this
    this.over = true
    this.listener.failed({ sent: true, reason: "Lost", detail: "the connection was lost", ...failure })
    return this
  }

  status(status: number, body = "", headers: { readonly [name: string]: string } = {}): this {
    return this.head(status, headers).data(body).end()
  }

  json(value: unknown, headers: { readonly [name: string]: string } = {}): this {
    return this.status(200, JSON.stringify(value), { "content-type": "application/json", ...headers })
  }

  sse(headers: { readonly [name: string]: string } = {}): this {
    return this.head(200, { "content-type": "text/event-stream", ...headers })
  }
}

export interface ScriptedClient extends HttpExchange.HttpClient {
  readonly exchanges: Array<Scripted>
  readonly last: () => Scripted
  readonly of: (method: HttpExchange.HttpRequest["method"]) => ReadonlyArray<Scripted>
  /** How many exchanges hold a socket. */
  readonly open: () => number
  /** Waits until what was sent or aborted is as wanted. */
  readonly until: (predicate: () => boolean) => Effect.Effect<void>
}

const answerDelete = (exchange: Scripted) => {
  if (exchange.request.method === "DELETE") exchange.status(200)
}

/** Nothing but DELETE is answered but by the test, or by this function, which is called within `send`. */
export const scriptedClient = (script: (exchange: Scripted) => void = answerDelete): ScriptedClient => {
  const exchanges: Array<Scripted> = []
  const { changed, until } = waiting()
  return {
    exchanges,
    until,
    last: () => exchanges[exchanges.length - 1]!,
    of: (method) => exchanges.filter((_) => _.request.method === method),
    open: () => exchanges.filter((_) => _.open).length,
    send: (request, listener, kind) => {
      const exchange = new Scripted(request, kind, listener)
      exchanges.push(exchange)
      script(exchange)
      changed()
      return () => {
        const withdrawn = exchange.open && !exchange.written
        exchange.aborted = true
        changed()
        return withdrawn
      }
    }
  }
}

export type HttpInput = Omit<Extract<McpConfig.ServerConfigInput, { transport: "http" }>, "name" | "transport" | "url">

export const decode = (
  transport: "http" | "sse" | "auto",
  url: string,
  input: HttpInput = {}
): Effect.Effect<McpConfig.AnyHttpConfig> =>
  Effect.orDie(
    McpConfig.decode({ name: "remote", transport, url, ...input })
  ) as Effect.Effect<McpConfig.AnyHttpConfig>

export const url = "http://server.test/mcp"

/** Opens one session over a scripted client. */
export const openScripted = (
  client: HttpExchange.HttpClient,
  recorded: Recorded,
  input: HttpInput = {},
  transport: "http" | "sse" | "auto" = "http",
  at = url,
  credentials?: McpAuth.Credentials
) =>
  Effect.flatMap(
    decode(transport, at, input),
    (config) => Channel.make(config, client, credentials).open(recorded.events)
  )

/** Credentials of which `token` is the header; the server's refusals change nothing but through `refused`. */
export const credentialsOf = (
  token: () => string,
  refused: McpAuth.Credentials["refused"] = () => Effect.succeed("no")
): McpAuth.Credentials => ({
  current: () => ({ header: token() }),
  prepare: Effect.sync(() => ({ header: token() })),
  accepted: () => {},
  refused,
  secrets: () => [],
  follow: () => () => {}
})

export const request = (id: McpProtocol.RequestId, method: string, params?: McpProtocol.JsonObject) =>
  ({ jsonrpc: "2.0", id, method, params }) as const

export const notification = (method: string, params?: McpProtocol.JsonObject) =>
  ({ jsonrpc: "2.0", method, params }) as const

export const initialize = request(0, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1.0.0" }
})

export const response = (id: unknown, result: unknown = {}) => ({ jsonrpc: "2.0", id, result })

export const eventOf = (data: unknown, id?: string, retry?: number) =>
  `${id === undefined ? "" : `id: ${id}\n`}${retry === undefined ? "" : `retry: ${retry}\n`}data: ${
    typeof data === "string" ? data : JSON.stringify(data)
  }\n\n`

/** Sends what has no answer, and waits until the transport says what became of it. */
export const post = (transport: McpTransport.MessageTransport, message: McpProtocol.JsonRpcMessage) =>
  Effect.async<McpError.McpError | undefined>((resume) => {
    transport.send(message, (error) => resume(Effect.succeed(error)))
  })

/** The usual handshake, as far as the transport is concerned. */
export const handshake = (transport: McpTransport.MessageTransport, recorded: Recorded) =>
  Effect.gen(function*() {
    transport.send(initialize)
    yield* recorded.answer(0)
    transport.negotiated("2025-11-25")
    yield* post(transport, notification("notifications/initialized"))
  })

/** A scripted client that answers the handshake and leaves the rest to a function. */
export const handshaking = (
  rest: (exchange: Scripted) => void = () => {},
  end: (exchange: Scripted) => unknown = (_) => _.status(200)
) =>
  scriptedClient((exchange) => {
    if (exchange.request.method === "DELETE") return void end(exchange)
    switch (exchange.rpc.method) {
      case "initialize":
        return void exchange.json(response(0), { "mcp-session-id": "session-1" })
      case "notifications/initialized":
        return void exchange.status(202)
      default:
        rest(exchange)
    }
  })

/** The clients that open sockets. */
export const realClients = [
  ["undici", UndiciExchange.make()],
  ["fetch", HttpExchange.fromFetch((input, init) => globalThis.fetch(input, init))]
] as const

/** A channel over real sockets, in the scope of the caller. */
export const openChannel = (
  exchange: (typeof realClients)[number][1],
  config: McpConfig.AnyHttpConfig
) => Effect.map(exchange.open(config), (client) => Channel.make(config, client))

/** An Effect in its own scope, which can be closed while the test goes on. */
export const inScope = <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const value = yield* Scope.extend(effect, scope)
    return { value, scope }
  })
