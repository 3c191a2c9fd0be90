import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpConnection, McpSession, McpTransport, RetryPolicy } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { HttpFixture } from "@mcp-runtime/testing"
import { Deferred, Effect, Either, Fiber } from "effect"
import {
  awaitState,
  connect,
  countOf,
  echo,
  echoes,
  errorOf,
  interrupted,
  nothingElse,
  Stage,
  withServer
} from "./httpConnections.js"

const rpcError = (id: unknown, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })

/** How real servers say that they don't know a session. */
const forms: Record<string, HttpFixture.Reply> = {
  "404 as the specification says": HttpFixture.json(rpcError(null, -32001, "Session not found"), { status: 404 }),
  "404 without a body": HttpFixture.respond({ status: 404 }),
  "400 of an SDK server after its restart": HttpFixture.json(
    rpcError(null, -32000, "Bad Request: Server not initialized"),
    { status: 400 }
  ),
  "400 of the SDK's examples": HttpFixture.json(rpcError(null, -32000, "Bad Request: No valid session ID provided"), {
    status: 400
  }),
  "400 as a text": HttpFixture.respond({ status: 400, body: "Invalid session ID" })
}

describe("a transport that is wrapped", () => {
  it.live("by a copy of it with another function is as good", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const { channel } = yield* McpTransport.McpTransport
        const config = yield* McpConfig.decode({ name: "wrapped", transport: "http", url: server.url })
        const original = yield* channel(config)
        let sent = 0
        const session = yield* McpSession.open({
          config,
          open: (events) =>
            Effect.map(original.open(events), (transport) => ({
              ...transport,
              send: (message, accepted) => {
                sent++
                transport.send(message, accepted)
              }
            }))
        })
        assert.strictEqual(yield* session.serverStream.get, "open")
        yield* McpSession.ping(session)
        assert.strictEqual(sent, 3)
      }).pipe(Effect.provide(NodeMcp.layerTransport))))
})

describe("a session that has expired", () => {
  it.live("H02: 50 concurrent calls, one new session, 50 answers, over the sockets that were there", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        assert.strictEqual(yield* echoes(connection, 50), 50)
        const [old] = server.sessions()
        const sockets = server.openSockets()
        const ports = new Set(server.log.map((_) => _.port))
        const before = server.log.length
        yield* server.expireSessions
        yield* server.endStreams("end")
        yield* server.awaitStreams((open) => open === 0)
        assert.strictEqual(yield* echoes(connection, 50), 50)

        const log = server.log.slice(before)
        assert.strictEqual(countOf(log, "initialize"), 1)
        assert.strictEqual(server.executions("echo"), 100)
        const posts = log.filter((_) => _.method === "POST")
        for (const post of posts) {
          assert.strictEqual(post.session === undefined, post.rpc === "initialize", String(post.rpc))
          assert.isTrue(ports.has(post.port), `a new socket for ${post.rpc}`)
        }
        // What was on its way when the loss was noticed is no more than what may be under way at once.
        const noticed = posts.findIndex((_) => _.rpc === "initialize")
        assert.isAtMost(posts.filter((_) => _.session === old).length, 16)
        assert.isTrue(posts.slice(noticed).every((_) => _.session !== old))
        assert.isFalse(log.some((_) => _.method === "DELETE"))
        yield* server.awaitSockets((open) => open <= sockets)
        assert.strictEqual((yield* connection.stats).sessions, 2)
      })))

  for (const [name, form] of Object.entries(forms)) {
    it.live(`H02: ${name}: one new session for 20 calls, also where only the newest session is known`, () =>
      withServer({}, (server) =>
        Effect.gen(function*() {
          // Each new session is the end of the one before it.
          yield* server.setOverride((request) =>
            request.session !== undefined && request.session !== server.sessions().at(-1) ? form : undefined
          )
          const one = yield* connect(server.url)
          const other = yield* connect(server.url)
          for (const connection of [one, other, one, other]) {
            assert.strictEqual(yield* echoes(connection, 20), 20)
          }
          assert.strictEqual(countOf(server.log, "initialize"), 4)
          assert.strictEqual(server.executions("echo"), 80)
          assert.strictEqual((yield* one.stats).sessions, 2)
        })))
  }

  it.live("H02: an application's error is not a loss, whatever its code and its words", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        yield* connection.awaitReady
        for (const code of [-32000, -32001, -32600]) {
          for (const message of ["Session not found", "Server not initialized"]) {
            yield* server.setOverride((request) =>
              request.rpc === "tools/call" ? HttpFixture.json(rpcError(request.id, code, message)) : undefined
            )
            const before = server.log.length
            const error = yield* errorOf(echo(connection))
            assert.strictEqual(error._tag, "RemoteError")
            assert.deepStrictEqual(server.log.slice(before).map((_) => _.rpc ?? _.method), ["tools/call"])
          }
        }
        assert.strictEqual((yield* connection.stats).sessions, 1)
      })))

  it.live("H02: lost again at once, the call fails with what happened instead of trying for ever", () =>
    withServer({
      override: (request) => request.rpc === "tools/call" ? HttpFixture.respond({ status: 404 }) : undefined
    }, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        const error = yield* errorOf(echo(connection))
        assert.strictEqual(error._tag, "SessionExpired")
        assert.strictEqual(countOf(server.log, "tools/call"), 2)
        yield* server.setOverride(undefined)
        yield* echo(connection)
      })))

  it.live("a refused re-initialisation is the error of all who wait; the next call tries again and has its answer", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        yield* echo(connection)
        yield* server.expireSessions
        const stage = new Stage((_) => _.rpc === "initialize", () => HttpFixture.respond({ status: 404, body: "gone" }))
        yield* server.setOverride(stage.override)
        const before = server.log.length
        const waiting = yield* Effect.fork(
          Effect.all(Array.from({ length: 10 }, () => errorOf(echo(connection))), { concurrency: "unbounded" })
        )
        yield* server.awaitLog((log) => countOf(log.slice(before), "tools/call") === 10)
        yield* stage.arrived(server, 1)
        yield* nothingElse
        yield* stage.release(0)
        const errors = yield* Fiber.join(waiting)
        for (const error of errors) {
          assert.isTrue(error._tag === "HttpError" && error.status === 404, `${error._tag}: ${error.message}`)
          assert.strictEqual(error.executed, "no")
        }
        assert.strictEqual(countOf(server.log.slice(before), "initialize"), 1)
        assert.strictEqual((yield* connection.state)._tag, "Reconnecting")
        yield* server.setOverride(undefined)
        assert.strictEqual(yield* echoes(connection, 10), 10)
        assert.strictEqual(countOf(server.log.slice(before), "initialize"), 2)
        assert.strictEqual((yield* connection.state)._tag, "Ready")
        assert.strictEqual(server.executions("echo"), 11)
      })))
})

const isWork = ({ rpc }: HttpFixture.LoggedRequest): boolean =>
  rpc === "tools/call" || rpc === "tools/list" || rpc === "prompts/get" || rpc === "resources/read"

const anyResult = (request: HttpFixture.LoggedRequest): HttpFixture.Reply =>
  HttpFixture.result(request, { content: [], tools: [], messages: [], contents: [] })

/** Announces everything, so that nothing is refused here. */
const capable = (request: HttpFixture.LoggedRequest): HttpFixture.Reply | undefined =>
  request.rpc !== "initialize" ? undefined : HttpFixture.result(request, {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: "capable", version: "1" }
  })

const kinds: Record<string, (connection: McpConnection.McpConnection) => Effect.Effect<unknown, unknown>> = {
  "tools/call": (_) => McpConnection.callTool(_, { name: "t" }),
  "tools/list": (_) => McpConnection.listTools(_),
  "prompts/get": (_) => McpConnection.getPrompt(_, { name: "p" }),
  "resources/read": (_) => McpConnection.readResource(_, "file:///r")
}

describe("the gate over HTTP", () => {
  const serialServer = (stage: Stage) => ({
    sessions: false,
    override: (request: HttpFixture.LoggedRequest) => capable(request) ?? stage.override(request)
  })

  it.live("serial: a tool call, a listing, a prompt and a resource never overlap, in the order of arrival", () => {
    const stage = new Stage(isWork, anyResult)
    return withServer(serialServer(stage), (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { concurrency: "serial" })
        yield* connection.awaitReady
        const wanted = Object.keys(kinds).flatMap((kind, i, all) => [kind, all[all.length - 1 - i]!])
        const fiber = yield* Effect.fork(
          Effect.all(wanted.map((kind) => kinds[kind]!(connection)), { concurrency: "unbounded" })
        )
        for (let i = 0; i < wanted.length; i++) {
          yield* stage.arrived(server, i + 1)
          yield* nothingElse
          assert.strictEqual(server.log.filter(isWork).length, i + 1)
          yield* stage.release(i)
        }
        yield* Fiber.join(fiber)
        assert.strictEqual(stage.most, 1)
        assert.deepStrictEqual(server.log.filter(isWork).map((_) => _.rpc), wanted)
      }))
  })

  it.live("serial: the deadlines of those behind a slow one run, and they were not executed", () => {
    const stage = new Stage(isWork, anyResult)
    return withServer(serialServer(stage), (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { concurrency: "serial" })
        yield* connection.awaitReady
        const slow = yield* Effect.fork(McpConnection.callTool(connection, { name: "slow" }))
        yield* stage.arrived(server, 1)
        const errors = yield* Effect.all(
          Object.keys(kinds).map((kind) =>
            errorOf(
              connection.perform({
                method: kind,
                options: { timeout: "50 millis" },
                send: (session, options) => session.request(kind, { name: "t", uri: "file:///r" }, options)
              })
            )
          ),
          { concurrency: "unbounded" }
        )
        for (const error of errors) {
          assert.isTrue(error._tag === "RequestTimeout" && error.kind === "wait", `${error._tag}: ${error.message}`)
          assert.strictEqual(error.executed, "no")
        }
        yield* stage.release(0)
        yield* Fiber.join(slow)
        assert.strictEqual(server.log.filter(isWork).length, 1)
        assert.strictEqual(countOf(server.log, "notifications/cancelled"), 0)
      }))
  })

  it.live("serial: interrupting one that waits and one that runs leaves the others alone", () => {
    const stage = new Stage(isWork, anyResult)
    return withServer(serialServer(stage), (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { concurrency: "serial" })
        yield* connection.awaitReady
        const call = (name: string) => Effect.fork(McpConnection.callTool(connection, { name }))
        const running = yield* call("running")
        yield* stage.arrived(server, 1)
        const waiting = yield* call("waiting")
        const next = yield* call("next")
        const last = yield* Effect.fork(McpConnection.listTools(connection))
        yield* nothingElse
        yield* interrupted(waiting)
        yield* nothingElse
        assert.strictEqual(countOf(server.log, "notifications/cancelled"), 0)
        yield* interrupted(running)
        yield* stage.arrived(server, 2)
        yield* stage.release(1)
        yield* Fiber.join(next)
        yield* stage.arrived(server, 3)
        yield* stage.release(2)
        yield* Fiber.join(last)
        const works = server.log.filter(isWork)
        assert.deepStrictEqual(works.map((_) => _.rpc), ["tools/call", "tools/call", "tools/list"])
        const cancelled = yield* server.awaitLog((log) => countOf(log, "notifications/cancelled") > 0)
        const ids = cancelled.filter((_) => _.rpc === "notifications/cancelled").map(cancelledId)
        assert.deepStrictEqual(ids, [works[0]!.id])
      }))
  })

  for (const [concurrency, atOnce] of [[undefined, 16], ["unbounded", 50]] as const) {
    it.live(`${concurrency ?? "default"}: ${atOnce} of 50 calls at once, and all have their answer`, () => {
      const stage = new Stage((_) => _.rpc === "tools/call")
      return withServer({ override: stage.override }, (server) =>
        Effect.gen(function*() {
          const connection = yield* connect(server.url, concurrency === undefined ? {} : { concurrency })
          const fiber = yield* Effect.fork(
            Effect.all(Array.from({ length: 50 }, () => echo(connection)), { concurrency: "unbounded" })
          )
          yield* stage.arrived(server, atOnce)
          yield* nothingElse
          assert.strictEqual(countOf(server.log, "tools/call"), atOnce)
          for (let i = 0; i < 50; i++) {
            yield* stage.arrived(server, i + 1)
            yield* stage.release(i)
          }
          assert.strictEqual((yield* Fiber.join(fiber)).length, 50)
          assert.strictEqual(stage.most, atOnce)
        }))
    })
  }
})

const cancelledId = ({ message }: HttpFixture.LoggedRequest): unknown =>
  (message as { readonly params?: { readonly requestId?: unknown } }).params?.requestId

describe("interrupting the caller", () => {
  it.live("while its call runs: one cancelled on the wire, its socket is free, nothing is sent again", () => {
    const stage = new Stage((_) => _.rpc === "tools/call")
    return withServer({ override: stage.override }, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url, { maxConnections: 1 })
        const fiber = yield* Effect.fork(echo(connection))
        yield* stage.arrived(server, 1)
        yield* interrupted(fiber)
        const log = yield* server.awaitLog((log) => countOf(log, "notifications/cancelled") > 0)
        const [call] = log.filter((_) => _.rpc === "tools/call")
        assert.deepStrictEqual(
          log.filter((_) => _.rpc === "notifications/cancelled").map(cancelledId),
          [call!.id]
        )
        // There is one socket for requests, which the call no longer has.
        yield* McpConnection.ping(connection)
        assert.strictEqual(countOf(server.log, "tools/call"), 1)
        assert.strictEqual(countOf(server.log, "notifications/cancelled"), 1)
      }))
  })

  it.live("while it waits for the handshake: the handshake goes on for the others, the call is never sent", () => {
    const stage = new Stage((_) => _.rpc === "initialize", (request) => capable(request)!)
    return withServer({ sessions: false, override: stage.override }, (server) =>
      Effect.gen(function*() {
        const connection = yield* connect(server.url)
        const starter = yield* Effect.fork(echo(connection))
        yield* stage.arrived(server, 1)
        const other = yield* Effect.fork(McpConnection.listTools(connection))
        yield* interrupted(starter)
        yield* stage.release(0)
        yield* Fiber.join(other)
        assert.strictEqual(countOf(server.log, "tools/call"), 0)
        assert.strictEqual(countOf(server.log, "notifications/cancelled"), 0)
        assert.strictEqual(countOf(server.log, "initialize"), 1)
      }))
  })

  it.live("while it waits for a new session, or in its backoff: nothing is sent", () =>
    withServer({}, (server) =>
      Effect.gen(function*() {
        const patient = Either.getOrThrow(RetryPolicy.make({ base: "1 hour", cap: null }))
        const connection = yield* connect(server.url, {}, { retry: patient })
        yield* echo(connection)

        const failing = yield* Deferred.make<void>()
        yield* server.setOverride((request) =>
          request.rpc === "tools/call"
            ? HttpFixture.after(Deferred.succeed(failing, undefined), HttpFixture.respond({ status: 429 }))
            : undefined
        )
        const inBackoff = yield* Effect.fork(echo(connection))
        yield* Deferred.await(failing)
        yield* server.setOverride(undefined)
        // An answer later, the failure has been heard.
        yield* McpConnection.ping(connection)
        yield* interrupted(inBackoff)

        const stage = new Stage((_) => _.rpc === "initialize", () => HttpFixture.respond({ status: 503 }))
        yield* server.expireSessions
        yield* server.setOverride(stage.override)
        const renewing = yield* Effect.fork(echo(connection))
        yield* stage.arrived(server, 1)
        const calls = countOf(server.log, "tools/call")
        yield* interrupted(renewing)
        yield* server.setOverride(undefined)
        yield* stage.release(0)
        yield* awaitState(connection, "Ready")
        assert.strictEqual(countOf(server.log, "tools/call"), calls)
        assert.strictEqual(countOf(server.log, "notifications/cancelled"), 0)
        assert.strictEqual(server.executions("echo"), 1)
      })))
})
