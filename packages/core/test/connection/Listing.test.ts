/**
 * A complete list over a connection: many requests, one budget, one session.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpConnection, type McpError, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import {
  closed,
  config,
  connectFailed,
  countOf,
  errorOf,
  expired,
  http,
  lost,
  macrotask,
  policy,
  replays,
  run,
  tagOf,
  untilDone
} from "./replayKit.js"

const inputSchema = { type: "object" }

const tools = (...names: ReadonlyArray<string>) => names.map((name) => ({ name, inputSchema }))

interface Asked {
  readonly session: number
  readonly page: number
  /** How often this page has been asked for in this session, this time included. */
  readonly time: number
}

/** Three pages whose cursors are good in one session only; tools are called after their session and page. */
const paged = (
  script: (asked: Asked, peer: ScriptedServer.Peer) => Effect.Effect<void, McpError.McpError>,
  options: Partial<ScriptedServer.Options> = {},
  pages = 3
) => {
  const times = new Map<string, number>()
  return ScriptedServer.make({
    handlers: {
      "tools/list": ({ params, session }, peer) =>
        Effect.gen(function*() {
          const [from, at] = params.cursor === undefined ? [session, 1] : String(params.cursor).split("/").map(Number)
          if (from !== session) {
            return yield* new ScriptedServer.RpcError({ code: -32602, message: "the cursor of another session" })
          }
          const page = at!
          const time = (times.get(`${session}/${page}`) ?? 0) + 1
          times.set(`${session}/${page}`, time)
          yield* script({ session, page, time }, peer)
          return {
            tools: tools(`s${session}p${page}`),
            ...(page < pages && { nextCursor: `${session}/${page + 1}` })
          }
        })
    },
    ...options
  })
}

/** Which page in which session, in order. */
const asked = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(
    server.receivedOf("tools/list"),
    (_) => _.map(({ params, session }) => params.cursor === undefined ? `${session}/1` : String(params.cursor))
  )

const names = (exit: Exit.Exit<{ readonly items: ReadonlyArray<{ readonly name: string }> }, McpError.McpError>) =>
  Exit.isSuccess(exit) ? exit.value.items.map((_) => _.name) : assert.fail(tagOf(exit))

describe("a list", () => {
  it.scoped("only the page that failed is asked for again", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page, time }) => page === 2 && time === 1 ? Effect.fail(http(503)) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection))
      assert.deepStrictEqual(names(exit), ["s1p1", "s1p2", "s1p3"])
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2", "1/2", "1/3"])
    }))

  it.scoped("all pages share one budget, and its backoff grows from page to page", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ time }) => time === 1 ? Effect.fail(http(503)) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const retry = policy({ replays: 2, base: 100 })
      const exit = yield* run(McpConnection.listTools(connection, { retry }))
      assert.strictEqual(tagOf(exit), "HttpError")
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/1", "1/2", "1/2", "1/3"])
      assert.deepStrictEqual((yield* server.receivedOf("tools/list")).map((_) => _.at), [0, 100, 100, 300, 300])
      assert.strictEqual(connection.catalog.tools.find("s1p1"), undefined, "nothing partial is remembered")
      assert.strictEqual(tagOf(yield* run(McpConnection.listTools(connection, { retry }))), "ok", "its own budget")
    }))

  it.scoped("a page after which no session is there begins the list anew, in the next one only", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page, session }, peer) =>
        session === 1 && page === 2 ? Effect.delay(peer.disconnect(closed("Exited")), 0) : Effect.void
      )
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection))
      assert.deepStrictEqual(names(exit), ["s2p1", "s2p2", "s2p3"])
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2", "2/1", "2/2", "2/3"])
    }))

  it.scoped("a session that expires between two pages: the same", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page, session }) =>
        session === 1 && page === 3 ? Effect.fail(expired) : Effect.void
      )
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection))
      assert.deepStrictEqual(names(exit), ["s2p1", "s2p2", "s2p3"])
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2", "1/3", "2/1", "2/2", "2/3"])
      assert.strictEqual(connection.catalog.tools.find("s1p1"), undefined)
      assert.isDefined(connection.catalog.tools.find("s2p3"))
    }))

  it.scoped("a session that expires at the first page: the next one is asked for each page once", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ session }) => session === 1 ? Effect.fail(expired) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection))
      assert.deepStrictEqual(names(exit), ["s2p1", "s2p2", "s2p3"])
      assert.deepStrictEqual(yield* asked(server), ["1/1", "2/1", "2/2", "2/3"])
    }))

  it.scoped("a reconnection between two pages, without any failure of a page: never a cursor of the old session", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const server = yield* paged(({ page, session }) =>
        session === 1 && page === 2
          ? Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(goOn))
          : Effect.void
      )
      const connection = yield* McpConnection.fromChannel(server.channel)
      const listing = yield* Effect.fork(McpConnection.listTools(connection))
      yield* Deferred.await(reached)
      // The answer to a request of a session that has expired for others may still arrive.
      yield* run(connection.perform({
        method: "ping",
        send: (session) => session.generation === 1 ? Effect.fail(expired) : Effect.void
      }))
      assert.strictEqual((yield* connection.stats).sessions, 2)
      yield* Deferred.succeed(goOn, undefined)
      const exit = yield* untilDone(listing)
      assert.deepStrictEqual(names(exit), ["s2p1", "s2p2", "s2p3"])
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2", "2/1", "2/2", "2/3"])
    }))

  it.scoped("sessions that are lost after each page: it ends, with an error", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page }, peer) => page === 2 ? peer.disconnect() : Effect.void, {
        config: config()
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection, { retry: policy({ replays: "unlimited" }) }))
      assert.strictEqual(tagOf(exit), "ConnectionClosed")
      assert.isAtMost((yield* asked(server)).length, 12)
      assert.strictEqual(connection.catalog.tools.find("s1p1"), undefined)
    }))

  it.scoped("a failure that will not pass ends it at once, whatever page it is", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page }) => page === 2 ? Effect.fail(http(404)) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual(tagOf(yield* run(McpConnection.listTools(connection))), "HttpError")
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2"])
    }))

  it.scoped("replay: \"never\" holds for each page", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page }) => page === 2 ? Effect.fail(lost) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      assert.strictEqual(tagOf(yield* run(McpConnection.listTools(connection, { replay: "never" }))), "ResponseLost")
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2"])
      assert.strictEqual(yield* replays(connection), 0)
    }))

  it.scoped("the first connection and the pages share the budget", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page, time }) => page === 2 && time === 1 ? Effect.fail(lost) : Effect.void, {
        config: config(),
        start: (n) => n <= 2 ? Effect.fail(connectFailed()) : Effect.void
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection, { retry: policy({ replays: 2 }) }))
      assert.strictEqual(tagOf(exit), "ResponseLost")
      assert.deepStrictEqual(yield* asked(server), ["3/1", "3/2"])
    }))

  it.scoped("interrupted between two tries of a page: over at once, nothing more is asked for", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ page }) => page === 2 ? Effect.fail(lost) : Effect.void)
      const connection = yield* McpConnection.fromChannel(server.channel)
      const listing = yield* Effect.fork(McpConnection.listTools(connection))
      yield* server.awaitReceived((_) => _.params.cursor !== undefined)
      yield* macrotask
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(listing)))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* asked(server), ["1/1", "1/2"])
    }))
})

describe("the time of a list", () => {
  const slow = (millis: number) => () => Effect.sleep(millis)

  it.scoped("maxTotal is for all pages together", () =>
    Effect.gen(function*() {
      const server = yield* paged(slow(400))
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* connection.awaitReady
      const exit = yield* run(McpConnection.listTools(connection, { maxTotal: 1000 }))
      const error = errorOf(exit)
      if (error._tag !== "RequestTimeout") return assert.fail(error._tag)
      assert.deepStrictEqual([error.kind, error.millis], ["total", 1000])
      assert.strictEqual(yield* TestClock.currentTimeMillis, 1000)
    }))

  it.scoped("and for the time until there was a session", () =>
    Effect.gen(function*() {
      const server = yield* paged(slow(100), { start: () => Effect.sleep(900) })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection, { maxTotal: 1000 }))
      assert.strictEqual(tagOf(exit), "RequestTimeout")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 1000)
    }))

  it.scoped("and for the lists that began anew", () =>
    Effect.gen(function*() {
      const server = yield* paged(
        ({ page }, peer) => Effect.zipRight(Effect.sleep(400), page === 2 ? peer.disconnect() : Effect.void),
        { config: config() }
      )
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(
        McpConnection.listTools(connection, { maxTotal: 1000, retry: policy({ replays: "unlimited", base: 1 }) })
      )
      assert.strictEqual(tagOf(exit), "RequestTimeout")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 1000)
    }))

  it.scoped("an application that lists over \"perform\" itself has the same times", () =>
    Effect.gen(function*() {
      for (
        const [options, end, at] of [
          [{ timeout: 1000 }, "ok", 2400],
          [{ maxTotal: 2000 }, "RequestTimeout", 2000],
          [{ maxTotal: 2500 }, "ok", 2400],
          [{ timeout: 1000, maxTotal: null }, "ok", 2400]
        ] as const
      ) {
        yield* Effect.scoped(Effect.gen(function*() {
          const server = yield* paged(slow(500), { start: () => Effect.sleep(900) })
          const connection = yield* McpConnection.fromChannel(server.channel)
          const before = yield* TestClock.currentTimeMillis
          const exit = yield* run(connection.perform({
            method: "tools/list",
            options,
            send: (session, options) => McpSession.listTools(session, options)
          }))
          assert.deepStrictEqual([tagOf(exit), (yield* TestClock.currentTimeMillis) - before], [end, at])
        }))
      }
    }))

  it.scoped("timeout is for each page", () =>
    Effect.gen(function*() {
      const server = yield* paged(slow(400))
      const connection = yield* McpConnection.fromChannel(server.channel)
      const exit = yield* run(McpConnection.listTools(connection, { timeout: 500, maxTotal: 5000 }))
      assert.strictEqual(tagOf(exit), "ok")
      assert.strictEqual(yield* TestClock.currentTimeMillis, 1200)
    }))
})

describe("what is remembered of a list", () => {
  it.scoped("a listing that ends after a newer one does not replace it", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      let version = 0
      const server = yield* ScriptedServer.make({
        handlers: {
          "tools/list": () => {
            const mine = ++version
            return Effect.as(mine === 1 ? Deferred.await(gate) : Effect.void, { tools: tools(`v${mine}`) })
          }
        }
      })
      const connection = yield* McpConnection.fromChannel(server.channel)
      const old = yield* Effect.fork(McpConnection.listTools(connection))
      yield* server.awaitReceived("tools/list")
      yield* server.notify("notifications/tools/list_changed")
      yield* macrotask
      yield* McpConnection.listTools(connection)
      assert.isDefined(connection.catalog.tools.find("v2"))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(old)
      assert.isDefined(connection.catalog.tools.find("v2"), "the newer one stays")
      assert.isUndefined(connection.catalog.tools.find("v1"))
    }))

  it.scoped("each new session is listed again before it is used, and a failed refresh keeps the last list", () =>
    Effect.gen(function*() {
      const server = yield* paged(({ session, page }) =>
        session === 2 && page === 2 ? Effect.fail(http(404)) : Effect.void
      )
      const connection = yield* McpConnection.fromChannel(server.channel)
      yield* McpConnection.listTools(connection)
      yield* connection.reconnect.pipe(Effect.asVoid)
      assert.isDefined(connection.catalog.tools.find("s1p3"))
      assert.isUndefined(connection.catalog.tools.find("s2p1"), "nothing partial")
      yield* connection.reconnect.pipe(Effect.asVoid)
      assert.isDefined(connection.catalog.tools.find("s3p3"))
      assert.isUndefined(connection.catalog.tools.find("s1p3"))
      assert.strictEqual(yield* countOf(server, "tools/list"), 8)
    }))
})
