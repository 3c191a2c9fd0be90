import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import {
  eventOf,
  handshake,
  handshaking,
  type HttpInput,
  notification,
  openScripted,
  record,
  type Recorded,
  request,
  response,
  type Scripted,
  type ScriptedClient
} from "./harness.js"

/** A session whose standalone stream is answered by a function; `now` says when each GET came. */
const listening = (reply: (exchange: Scripted, nth: number) => unknown, input: HttpInput = {}) =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const times: Array<number> = []
    const client = handshaking((exchange) => {
      if (exchange.request.method !== "GET") return
      times.push(clock.unsafeCurrentTimeMillis())
      reply(exchange, times.length)
    })
    const recorded = record()
    const transport = yield* openScripted(client, recorded, input)
    yield* handshake(transport, recorded)
    return { client, recorded, times, transport }
  })

const gets = (client: ScriptedClient) => client.of("GET")

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((_, i) => _ - times[i]!)

const settle = (recorded: Recorded) => recorded.stream[recorded.stream.length - 1]

describe("the standalone stream", () => {
  it.scoped("is open when its head has come; what comes on it is told", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening(() => {})
      const fiber = yield* Effect.fork(transport.listen)
      yield* Effect.yieldNow()
      const get = client.last()
      assert.strictEqual(get.kind, "stream")
      assert.deepInclude(get.request.headers, {
        accept: "text/event-stream",
        "mcp-session-id": "session-1",
        "mcp-protocol-version": "2025-11-25"
      })
      assert.isTrue(fiber.unsafePoll() === null)
      get.sse()
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(recorded.stream, ["open"])
      get.data(eventOf(request("s", "elicitation/create")))
      assert.strictEqual(recorded.messages[1]?.id, "s")
    }))

  it.scoped("listen waits half a second for a head, not longer; the stream may still open", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening(() => {})
      const fiber = yield* Effect.fork(transport.listen)
      yield* TestClock.adjust("499 millis")
      assert.isTrue(fiber.unsafePoll() === null)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(recorded.stream, ["down"])
      client.last().sse()
      assert.deepStrictEqual(recorded.stream, ["down", "open"])
    }))

  for (const status of [400, 404, 405, 406, 409, 410, 501, 302]) {
    it.scoped(`HTTP ${status} means that there is none: not fatal, never tried again`, () =>
      Effect.gen(function*() {
        const { client, recorded, transport } = yield* listening((_) => _.status(status))
        yield* transport.listen
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(recorded.stream, ["none"])
        assert.strictEqual(gets(client).length, 1)
        transport.send(request(1, "ping"))
        client.last().json(response(1))
        assert.strictEqual(recorded.failed.length, 0)
      }))
  }

  it.scoped("2xx without an event stream means that there is none", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening((_) =>
        _.status(200, "<html>", { "content-type": "text/html" })
      )
      yield* transport.listen
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(recorded.stream, ["none"])
      assert.strictEqual(gets(client).length, 1)
    }))

  for (const status of [401, 403]) {
    it.scoped(`A04: HTTP ${status} for ever is asked twice, then never again`, () =>
      Effect.gen(function*() {
        const { client, recorded, transport } = yield* listening((_) => _.status(status))
        yield* transport.listen
        yield* TestClock.adjust("1 day")
        assert.strictEqual(gets(client).length, 2)
        assert.strictEqual(settle(recorded), "down")
      }))
  }

  const storms: ReadonlyArray<readonly [string, (exchange: Scripted) => unknown]> = [
    ["accept, then close", (_) => _.sse().end()],
    ["accept, then break", (_) => _.sse().fail()],
    ["retry: 0", (_) => _.sse().data("retry: 0\n\n").end()],
    ["a priming event, then close", (_) => _.sse().data(eventOf("", "e", 0)).end()],
    ["500", (_) => _.status(500)],
    ["503 with Retry-After: 0", (_) => _.status(503, "", { "retry-after": "0" })],
    ["429", (_) => _.status(429)],
    ["a failure", (_) => _.fail({ sent: false, reason: "Refused" })]
  ]
  for (const [what, reply] of storms) {
    it.scoped(`H08: ${what}, for ever, is no storm`, () =>
      Effect.gen(function*() {
        const { client, recorded, times, transport } = yield* listening(reply)
        yield* transport.listen
        yield* TestClock.adjust("10 seconds")
        assert.isAtMost(gets(client).length, 7)
        yield* TestClock.adjust("10 minutes")
        assert.isAtMost(gets(client).length, 45)
        assert.isAtLeast(gets(client).length, 15)
        assert.isTrue(gaps(times).every((_) => _ >= 100 && _ <= 30_000), gaps(times).join())
        assert.isAtLeast(Math.min(...gaps(times).slice(-5)), 20_000)
        assert.strictEqual(settle(recorded), "down")
        assert.isAtMost(recorded.warnings.length, gets(client).length)
      }))
  }

  it.scoped("H08: a server that says something on each of its short streams is bounded as well", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening((_) =>
        _.sse().data(eventOf(notification("n"), "e", 0)).end()
      )
      yield* transport.listen
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(gets(client).length, 72)
      assert.isAtLeast(recorded.messages.length, 60)
    }))

  it.scoped("H09: after a stream that was worth it, the next is opened at exactly the server's retry, from its last event", () =>
    Effect.gen(function*() {
      const { client, recorded, times, transport } = yield* listening((_, nth) => {
        _.sse()
        if (nth === 1) _.data(eventOf(notification("a"), "e-1", 700))
      })
      yield* transport.listen
      client.last().data(eventOf(notification("b"), "e-2")).data("id: e-3\ndata: half").end()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(gaps(times), [700])
      assert.strictEqual(client.last().request.headers["last-event-id"], "e-2")
      client.last().fail()
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(gaps(times), [700, 60_000 - 700 + 700])
      assert.deepStrictEqual(recorded.stream, ["open", "down", "open", "down", "open"])
    }))

  for (const retry of [4000, 40_000, 99_999_999_999]) {
    for (const [what, data] of [["nothing", ""], ["something", notification("n")]] as const) {
      it.scoped(`H09: retry: ${retry} is kept to where the streams bring ${what}, up to five minutes`, () =>
        Effect.gen(function*() {
          const { times, transport } = yield* listening((_) => _.sse().data(eventOf(data, "e", retry)).end())
          yield* transport.listen
          const least = Math.min(retry, 300_000)
          yield* TestClock.adjust(`${least * 4 + 100} millis`)
          assert.isAtLeast(times.length, 4)
          assert.isTrue(gaps(times).every((_) => _ >= least), gaps(times).join())
        }))
    }
  }

  for (const status of [400, 404, 410]) {
    it.scoped(`H07, H09: an event id that is refused with ${status} is given up, not the stream`, () =>
      Effect.gen(function*() {
        const { client, recorded, times, transport } = yield* listening((_, nth) => {
          if (_.request.headers["last-event-id"] !== undefined) _.status(status)
          else if (nth === 1) _.sse().data(eventOf(notification("a"), "e-1")).end()
          else _.sse()
        })
        yield* transport.listen
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(gets(client).map((_) => _.request.headers["last-event-id"]), [
          undefined,
          "e-1",
          undefined
        ])
        assert.deepStrictEqual(gaps(times), [1000, 0])
        assert.deepStrictEqual(recorded.stream, ["open", "down", "open"])
      }))

    it.scoped(`${status} without an event id then means that there is none any more`, () =>
      Effect.gen(function*() {
        const { client, recorded, transport } = yield* listening((_, nth) =>
          nth === 1 ? _.sse().data(eventOf(notification("a"), "e-1")).end() : _.status(status)
        )
        yield* transport.listen
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(gets(client).length, 3)
        assert.deepStrictEqual(recorded.stream, ["open", "down", "none"])
      }))
  }

  it.scoped("H09: broken once and then answered 500, it is tried until it opens; 409 then is no refusal", () =>
    Effect.gen(function*() {
      const { recorded, times, transport } = yield* listening((_, nth) => {
        if (nth === 1) _.sse().data(eventOf(notification("a"))).fail()
        else if (nth < 6) _.status(nth % 2 === 0 ? 500 : 409)
        else _.sse()
      })
      yield* transport.listen
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(times.length, 6)
      assert.deepStrictEqual(recorded.stream, ["open", "down", "open"])
    }))

  it.scoped("Retry-After is honoured, up to five minutes", () =>
    Effect.gen(function*() {
      const { times, transport } = yield* listening((_, nth) =>
        nth === 3 ? _.sse() : _.status(503, "", { "retry-after": nth === 1 ? "40" : "99999999" })
      )
      yield* transport.listen
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(gaps(times), [40_000, 300_000])
    }))

  it.scoped("H10: an idle stream is never cut by us", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening((_) => _.sse())
      yield* transport.listen
      yield* TestClock.adjust("7 days")
      assert.strictEqual(gets(client).length, 1)
      assert.isTrue(gets(client)[0]!.open)
      assert.deepStrictEqual(recorded.stream, ["open"])
    }))

  it.scoped("H24: an event that is too large costs the stream, not the session", () =>
    Effect.gen(function*() {
      const { client, recorded, transport } = yield* listening((_) => _.sse(), { limits: { eventBytes: 100 } })
      yield* transport.listen
      client.last().data(`data: ${"x".repeat(200)}`)
      assert.isTrue(client.last().aborted)
      assert.strictEqual(settle(recorded), "down")
      assert.strictEqual(recorded.warnings[0]?.kind, "StreamFailed")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(settle(recorded), "open")
    }))

  it.scoped("A09: headers that can't be made keep the stream down, with growing pauses", () =>
    Effect.gen(function*() {
      let runs = 0
      const { client, recorded, transport } = yield* listening((_) => _.sse(), {
        requestHeaders: Effect.suspend(() => ++runs > 2 && runs < 6 ? Effect.fail("no token") : Effect.succeed({}))
      })
      yield* transport.listen
      assert.deepStrictEqual(recorded.stream, ["down"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(recorded.stream, ["down", "open"])
      assert.strictEqual(gets(client).length, 1)
    }))

  it.scoped("a session without listen opens none; a second listen opens no second", () =>
    Effect.gen(function*() {
      const { client, transport } = yield* listening((_) => _.sse())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(gets(client).length, 0)
      yield* transport.listen
      yield* transport.listen
      assert.strictEqual(gets(client).length, 1)
    }))
})
