/**
 * What the tests of connections over real HTTP share: a connection to a fixture, many calls at once, what the log says,
 * and a port that can go away and come back.
 */
import { McpConfig, McpConnection, type McpError } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture, LeakCheck } from "@mcp-runtime/testing"
import { Deferred, Effect, Exit, Fiber, FiberId, Stream } from "effect"
import type { Scope } from "effect"
import * as net from "node:net"

type HttpInput = Extract<McpConfig.ServerConfigInput, { transport: "http" }>

type Extra = Partial<Omit<HttpInput, "url" | "name" | "transport">> & {
  readonly transport?: "http" | "sse" | "auto"
}

export const connect = (
  url: string,
  extra: Extra = {},
  options: McpConnection.ConnectionOptions = {}
): Effect.Effect<McpConnection.McpConnection, McpError.McpError, Scope.Scope> =>
  McpConfig.decode({ name: "http", transport: "http", ...extra, url }).pipe(
    Effect.flatMap((config) => McpConnection.make(config, options)),
    Effect.provide(NodeMcp.layer)
  )

/** Runs a test with a fixture; afterwards no socket is open at the server, and nothing is left here. */
export const withServer = <A, E>(
  options: HttpFixture.Options,
  use: (server: HttpFixture.HttpFixture) => Effect.Effect<A, E, Scope.Scope>
) =>
  LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
    const server = yield* HttpFixture.make(options)
    const result = yield* Effect.scoped(use(server))
    yield* server.awaitSockets((open) => open === 0)
    return result
  })))

export const echo = (connection: McpConnection.McpConnection, text = "x", options?: McpConnection.CallOptions) =>
  McpConnection.callTool(connection, { name: "echo", arguments: { text } }, options)

/** So many calls at once, each with its own text, which comes back. */
export const echoes = (connection: McpConnection.McpConnection, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, i) => `text ${i}`),
    (text) => Effect.map(echo(connection, text), ({ content }) => JSON.stringify(content).includes(`${text}\\`)),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((results) => results.filter(Boolean).length))

/** The error of what must fail, without handing on what must not be printed. */
export const errorOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<E, never, R> =>
  Effect.orDieWith(Effect.flip(Effect.asVoid(effect)), () => new Error("it has succeeded"))

export const countOf = (log: ReadonlyArray<HttpFixture.LoggedRequest>, rpc: string): number =>
  log.filter((_) => _.rpc === rpc).length

/** Waits until the connection is in a state. */
export const awaitState = (connection: McpConnection.McpConnection, tag: McpConnection.ConnectionState["_tag"]) =>
  Stream.runDrain(Stream.takeUntil(connection.changes, (_) => _._tag === tag))

/** Requests that the server keeps until the test lets them go, one by one. */
export class Stage {
  /** How many were under way at once, at most. */
  most = 0
  private active = 0
  private readonly gates: Array<Deferred.Deferred<void>> = []

  constructor(
    private readonly which: (request: HttpFixture.LoggedRequest) => boolean,
    private readonly answer: (request: HttpFixture.LoggedRequest) => HttpFixture.Reply = emptyResult
  ) {}

  readonly override = (request: HttpFixture.LoggedRequest): HttpFixture.Reply | undefined => {
    if (!this.which(request)) return undefined
    const gate = Deferred.unsafeMake<void>(FiberId.none)
    this.gates.push(gate)
    this.most = Math.max(this.most, ++this.active)
    return HttpFixture.after(Deferred.await(gate), this.answer(request))
  }

  /** Lets the n-th go, counted from 0. */
  readonly release = (n: number): Effect.Effect<void> =>
    Effect.sync(() => {
      this.active--
      Deferred.unsafeDone(this.gates[n]!, Exit.void)
    })

  /** Waits until so many have arrived. */
  readonly arrived = (server: HttpFixture.HttpFixture, count: number) =>
    Effect.asVoid(server.awaitLog(() => this.gates.length >= count))
}

export const emptyResult = (request: HttpFixture.LoggedRequest): HttpFixture.Reply =>
  HttpFixture.result(request, { content: [] })

/** A port of the loopback in front of a server, which can be closed like that of a server that ends, and opened again. */
export interface Door {
  readonly url: string
  /** Nothing listens any more, and every socket is gone. */
  readonly shut: Effect.Effect<void>
  readonly open: Effect.Effect<void>
}

export const door = (server: HttpFixture.HttpFixture): Effect.Effect<Door, never, Scope.Scope> =>
  Effect.gen(function*() {
    const target = Number(new URL(server.origin).port)
    const sockets = new Set<net.Socket>()
    const keep = (socket: net.Socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => sockets.delete(socket))
    }
    const listener = net.createServer((inside) => {
      const outside = net.connect(target, "127.0.0.1")
      keep(inside)
      keep(outside)
      inside.pipe(outside)
      outside.pipe(inside)
      inside.on("close", () => outside.destroy())
      outside.on("close", () => inside.destroy())
    })
    const listen = (port: number) =>
      Effect.async<number>((resume) => {
        listener.listen(port, "127.0.0.1", () => resume(Effect.succeed((listener.address() as net.AddressInfo).port)))
      })
    const shut = Effect.async<void>((resume) => {
      listener.close(() => resume(Effect.void))
      for (const socket of sockets) socket.destroy()
    })
    const port = yield* Effect.acquireRelease(listen(0), () => shut)
    return { url: `http://127.0.0.1:${port}/mcp`, shut, open: Effect.asVoid(listen(port)) }
  })

/** Interrupts a caller, whose end must be its interruption. */
export const interrupted = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<void> =>
  Effect.map(Fiber.interrupt(fiber), (exit) => {
    if (!Exit.isInterrupted(exit)) throw new Error("the caller was interrupted, and got something else")
  })

/** Some turns of the event loop, in which whatever was already written would have arrived. */
export const nothingElse: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turn = (left: number) => {
    if (left === 0) resume(Effect.void)
    else setImmediate(turn, left - 1)
  }
  turn(20)
})
