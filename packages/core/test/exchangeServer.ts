/**
 * Loopback servers for tests of exchanges: a log of what arrived, and events to wait for in place of time.
 *
 * Owns: servers, their sockets, the recording of one exchange.
 * May not touch: what a test expects.
 */
import type { HttpClient, HttpFailure, HttpListener, HttpRequest } from "@mcp-runtime/core/HttpExchange"
import { Effect, type Scope } from "effect"
import * as Http from "node:http"
import * as Net from "node:net"

export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  readonly remotePort: number
}

/** Whatever can be watched: `change` is called after each event, `until` waits for a condition on them. */
export class Watched {
  readonly #waiting = new Set<() => void>()

  readonly change = (): void => {
    for (const check of this.#waiting) check()
  }

  readonly until = (condition: () => boolean): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      const check = () => {
        if (!condition()) return
        this.#waiting.delete(check)
        resume(Effect.void)
      }
      this.#waiting.add(check)
      check()
      return Effect.sync(() => this.#waiting.delete(check))
    })
}

export class TestServer extends Watched {
  readonly requests: Array<Arrived> = []
  readonly sockets = new Set<Net.Socket>()
  connections = 0
  port = 0

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`
  }

  /** Until the socket over which this request came is closed. */
  readonly closed = (arrived: Arrived): Effect.Effect<void> =>
    this.until(() => [...this.sockets].every((_) => _.remotePort !== arrived.remotePort))

  readonly track = (socket: Net.Socket): void => {
    this.connections++
    this.sockets.add(socket)
    socket.on("error", () => {})
    socket.once("close", () => {
      this.sockets.delete(socket)
      this.change()
    })
    this.change()
  }
}

/** Listens until the scope ends; then every socket is destroyed and the port is free. */
export const listen = (server: Net.Server, log: TestServer): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<TestServer>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        log.port = (server.address() as Net.AddressInfo).port
        resume(Effect.succeed(log))
      })
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of log.sockets) socket.destroy()
      })
  )

export type Answer = (arrived: Arrived, response: Http.ServerResponse) => void

/** The listener of a `node:http` or `node:https` server that reads a request, logs it and answers. */
export const answering = (log: TestServer, answer: Answer): Http.RequestListener => (request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("error", () => {})
  request.on("end", () => {
    const arrived = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      remotePort: request.socket.remotePort ?? 0
    }
    log.requests.push(arrived)
    log.change()
    answer(arrived, response)
  })
}

export const httpServer = (answer: Answer): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.suspend(() => {
    const log = new TestServer()
    const server = Http.createServer(answering(log, answer))
    server.on("connection", log.track)
    return listen(server, log)
  })

/** A server of bytes: `onRequest` is called with each chunk that arrives. */
export const byteServer = (
  onRequest: (socket: Net.Socket, chunk: Buffer, count: number) => void
): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.suspend(() => {
    const log = new TestServer()
    let count = 0
    const server = Net.createServer((socket) => {
      log.track(socket)
      socket.on("data", (chunk) => onRequest(socket, chunk, ++count))
    })
    return listen(server, log)
  })

/** A port on which nothing listens. */
export const closedPort: Effect.Effect<number> = Effect.scoped(Effect.map(httpServer(() => {}), (_) => _.port))

/** What one exchange reported, in order. */
export class Recorded extends Watched implements HttpListener {
  readonly events: Array<string> = []
  readonly chunks: Array<Uint8Array> = []
  failure: HttpFailure | undefined
  header: (name: string) => string | undefined = () => undefined
  status = 0
  finished = false
  abort: () => boolean | void = () => {}

  readonly head = (status: number, header: (name: string) => string | undefined) => {
    this.status = status
    this.header = header
    this.#report("head")
  }

  readonly data = (chunk: Uint8Array) => {
    this.chunks.push(chunk)
    this.#report("data")
  }

  readonly end = () => {
    this.finished = true
    this.#report("end")
  }

  readonly failed = (failure: HttpFailure) => {
    this.failure = failure
    this.finished = true
    this.#report("failed")
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString()
  }

  readonly settled = this.until(() => this.finished)

  #report(event: string) {
    this.events.push(event)
    this.change()
  }
}

export const send = (
  client: HttpClient,
  request: Partial<HttpRequest> & { readonly url: string },
  kind: "request" | "stream" = "request"
): Recorded => {
  const recorded = new Recorded()
  recorded.abort = client.send(
    { method: "POST", headers: { "content-type": "application/json" }, body: "{}", ...request },
    recorded,
    kind
  )
  return recorded
}

/** Sends, and waits for the end. */
export const exchange = (
  client: HttpClient,
  request: Partial<HttpRequest> & { readonly url: string },
  kind: "request" | "stream" = "request"
): Effect.Effect<Recorded> =>
  Effect.suspend(() => {
    const recorded = send(client, request, kind)
    return Effect.as(recorded.settled, recorded)
  })
