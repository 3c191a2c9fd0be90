/**
 * The server behind `HttpFixture`.
 *
 * Owns: sockets, bodies, the log and who waits for it.
 * May not touch: what the default replies say (`httpDefaults.ts`).
 */
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Ending, HttpFixture, LoggedRequest, Options, Piece, Reply } from "../HttpFixture.js"
import { HttpDefaults } from "./httpDefaults.js"

export const make = (options: Options = {}): Effect.Effect<HttpFixture, never, Scope.Scope> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) =>
    Effect.acquireRelease(
      Effect.async<Fixture>((resume) => {
        const fixture = new Fixture(options, runtime)
        // Without a socket or a port there is no fixture; later errors are those of single connections.
        fixture.server.on("error", (error) => resume(Effect.die(error)))
        fixture.server.listen(0, "127.0.0.1", () => resume(Effect.succeed(fixture)))
      }),
      (fixture) => fixture.close
    ))

interface Waiter {
  readonly check: () => boolean
}

class Fixture implements HttpFixture {
  readonly server: Http.Server
  readonly log: Array<LoggedRequest> = []
  private readonly sockets = new Set<Socket>()
  private readonly waiters = new Set<Waiter>()
  private readonly fibers = new Set<() => void>()
  private readonly defaults: HttpDefaults
  private override: Options["override"]

  constructor(options: Options, private readonly runtime: Runtime.Runtime<never>) {
    this.override = options.override
    this.defaults = new HttpDefaults(options, this.changed)
    this.server = Http.createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, this.receive)
    this.server.on("connection", (socket) => {
      this.sockets.add(socket)
      socket.on("close", () => {
        this.sockets.delete(socket)
        this.changed()
      })
      this.changed()
    })
  }

  get origin() {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  get url() {
    return `${this.origin}/mcp`
  }

  readonly awaitLog = (predicate: (log: ReadonlyArray<LoggedRequest>) => boolean) =>
    this.until(() => predicate(this.log) ? this.log : undefined)

  readonly setOverride = (override: Options["override"]) =>
    Effect.sync(() => {
      this.override = override
    })

  readonly openSockets = () => this.sockets.size

  readonly awaitSockets = (predicate: (open: number) => boolean) =>
    this.until(() => predicate(this.sockets.size) ? this.sockets.size : undefined)

  readonly openStreams = () => this.defaults.streams.size

  readonly awaitStreams = (predicate: (open: number) => boolean) =>
    this.until(() => predicate(this.defaults.streams.size) ? this.defaults.streams.size : undefined)

  readonly pushToStream = (message: unknown) => Effect.sync(() => this.defaults.push(message))

  readonly endStreams = (ending: "end" | "destroy") => Effect.sync(() => this.defaults.endStreams(ending))

  readonly destroySockets = Effect.sync(() => {
    for (const socket of this.sockets) socket.destroy()
  })

  readonly expireSessions = Effect.sync(() => this.defaults.sessions.clear())

  readonly sessions = () => [...this.defaults.sessions]

  readonly executions = (tool?: string) => this.defaults.executions(tool)

  readonly close: Effect.Effect<void> = Effect.async<void>((resume) => {
    for (const interrupt of this.fibers) interrupt()
    this.server.close(() => resume(Effect.void))
    for (const socket of this.sockets) socket.destroy()
  })

  private readonly changed = (): void => {
    for (const waiter of this.waiters) if (waiter.check()) this.waiters.delete(waiter)
  }

  private until<A>(get: () => A | undefined): Effect.Effect<A> {
    return Effect.async<A>((resume) => {
      const check = () => {
        const value = get()
        if (value === undefined) return false
        resume(Effect.succeed(value))
        return true
      }
      if (check()) return
      const waiter = { check }
      this.waiters.add(waiter)
      return Effect.sync(() => this.waiters.delete(waiter))
    })
  }

  private readonly receive = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("error", ignore)
    response.on("error", ignore)
    request.on("end", () => {
      const logged = describe(this.log.length, request, Buffer.concat(chunks).toString("utf8"))
      this.log.push(logged)
      const reply = this.override?.(logged)
      if (reply === undefined) this.defaults.answer(logged, response, (_) => this.perform(_, response))
      else this.perform(reply, response)
      this.changed()
    })
  }

  private perform(reply: Reply, response: Http.ServerResponse): void {
    switch (reply._tag) {
      case "Hang":
        return
      case "Destroy":
        response.socket?.destroy()
        return
      case "After":
        return this.run(reply.effect, () => this.perform(reply.reply, response))
      case "Respond": {
        const whole = reply.ending === "end" && reply.pieces.every((_) => typeof _ === "string") &&
          reply.headers["content-type"] !== "text/event-stream"
        if (whole) {
          const body = reply.pieces.join("")
          response.writeHead(reply.status, {
            ...(reply.status === 204 ? undefined : { "content-length": Buffer.byteLength(body) }),
            ...reply.headers
          })
          response.end(body)
          return
        }
        response.writeHead(reply.status, reply.headers)
        response.flushHeaders()
        return this.write(response, reply.pieces, 0, reply.ending)
      }
    }
  }

  private write(
    response: Http.ServerResponse,
    pieces: ReadonlyArray<Piece>,
    from: number,
    ending: Ending
  ): void {
    for (let i = from; i < pieces.length; i++) {
      const piece = pieces[i]!
      if (Effect.isEffect(piece)) {
        return this.run(piece, (written) => {
          if (written !== undefined) response.write(written)
          this.write(response, pieces, i + 1, ending)
        })
      }
      response.write(piece)
    }
    if (ending === "end") response.end()
    else if (ending === "destroy") response.socket?.destroySoon()
  }

  private run<A>(effect: Effect.Effect<A>, then: (value: A) => void): void {
    const fiber = Runtime.runFork(this.runtime)(Effect.interruptible(effect))
    const interrupt = () => fiber.unsafeInterruptAsFork(FiberId.none)
    this.fibers.add(interrupt)
    fiber.addObserver((exit) => {
      this.fibers.delete(interrupt)
      if (exit._tag === "Success") then(exit.value)
    })
  }
}

const ignore = () => {}

const describe = (index: number, request: Http.IncomingMessage, body: string): LoggedRequest => {
  const message = parse(body)
  const { id, method } = (typeof message === "object" && message !== null ? message : {}) as {
    readonly id?: string | number
    readonly method?: string
  }
  const header = (name: string) => {
    const value = request.headers[name]
    return Array.isArray(value) ? value.join(", ") : value
  }
  return {
    index,
    method: request.method ?? "",
    path: request.url ?? "",
    headers: Object.fromEntries(Object.keys(request.headers).map((name) => [name, header(name)])),
    rpc: method,
    id,
    body,
    message,
    session: header("mcp-session-id"),
    version: header("mcp-protocol-version"),
    lastEventId: header("last-event-id"),
    port: request.socket.remotePort ?? 0
  }
}

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
