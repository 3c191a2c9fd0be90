import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import {
  eventOf,
  notification,
  openScripted,
  record,
  request,
  response,
  type Scripted,
  scriptedClient
} from "./harness.js"

const primed = (exchange: Scripted, retry?: number) => exchange.sse().data(eventOf("", "event-1", retry)).end()

describe("resumption of a request's stream", () => {
  it.scoped("H07: reads on with Last-Event-ID after exactly the server's retry, and gives the answer", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      primed(client.last(), 500)
      yield* TestClock.adjust("499 millis")
      assert.strictEqual(client.of("GET").length, 0)
      yield* TestClock.adjust("1 millis")
      const get = client.last()
      assert.strictEqual(get.request.method, "GET")
      assert.strictEqual(get.kind, "stream")
      assert.strictEqual(get.request.headers["last-event-id"], "event-1")
      assert.strictEqual(get.request.headers["accept"], "text/event-stream")
      get.sse().data(eventOf(notification("notifications/progress"), "event-2") + eventOf(response(1), "event-3"))
      assert.deepStrictEqual(recorded.messages.map((_) => _.id), [undefined, 1])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.open(), 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(client.exchanges.length, 2)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("H07: a broken stream is resumed as well, by default after a second", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      client.last().sse().data(eventOf("", "a")).data("id: half\ndata: {").fail()
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.last().request.headers["last-event-id"], "a")
      client.last().sse().data(eventOf(response(1))).end()
      assert.strictEqual(recorded.messages.length, 1)
    }))

  for (const [what, id] of [["5000 characters", "x".repeat(5000)], ["a control character", "a\u0001b"]] as const) {
    it.scoped(`H07: an event id that no header can carry (${what}) is not waited with: the answer is lost at once`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        client.last().sse().data("retry: 300000\n").data(eventOf("", id)).end()
        const { error } = recorded.failed[0]!
        assert.isTrue(error._tag === "ResponseLost" && error.reason === "ResumeFailed" && error.executed === "maybe")
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(client.of("GET").length, 0)
        assert.strictEqual(client.open(), 0)
        assert.strictEqual(recorded.failed.length, 1)
      }))
  }

  const fruitless: ReadonlyArray<readonly [string, (exchange: Scripted) => unknown, number]> = [
    ["404", (_) => _.status(404), 1],
    ["401", (_) => _.status(401), 1],
    ["405", (_) => _.status(405), 1],
    ["409", (_) => _.status(409), 3],
    ["JSON", (_) => _.json({}), 1],
    ["202", (_) => _.status(202), 1],
    ["500", (_) => _.status(500), 3],
    ["429", (_) => _.status(429), 3],
    ["a failure", (_) => _.fail(), 3],
    ["an empty stream", (_) => _.sse().end(), 3],
    ["the same event again", (_) => _.sse().data(eventOf("", "event-1")).end(), 3]
  ]
  for (const [what, reply, attempts] of fruitless) {
    it.scoped(`H07: ${what} to the resumption gives up after ${attempts} attempts, and fails the request`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "POST") primed(_, 10)
          else reply(_)
        })
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(client.of("GET").length, attempts)
        assert.strictEqual(recorded.failed.length, 1)
        const { error } = recorded.failed[0]!
        assert(error._tag === "ResponseLost" && error.reason === "ResumeFailed" && error.executed === "maybe")
        assert.include(error.detail, attempts === 1 ? "in 1 attempt:" : `in ${attempts} attempts:`)
        assert.strictEqual(client.open(), 0)
      }))
  }

  it.scoped("H07: Retry-After and 409 of a server that is not ready yet are waited for", () =>
    Effect.gen(function*() {
      const clock = yield* Effect.clock
      const times: Array<number> = []
      const client = scriptedClient((_) => {
        times.push(clock.unsafeCurrentTimeMillis())
        if (_.request.method === "POST") primed(_, 50)
        else if (times.length === 2) _.status(503, "", { "retry-after": "7" })
        else if (times.length === 3) _.status(409)
        else _.sse().data(eventOf(response(1))).end()
      })
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(recorded.messages.length, 1)
      assert.deepStrictEqual(times.slice(1).map((_, i) => _ - times[i]!), [50, 7000, 1000])
    }))

  it.scoped("H07: Retry-After is kept to for five minutes, not longer", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => {
        if (_.request.method === "POST") primed(_, 50)
        else _.status(429, "", { "retry-after": "99999999" })
      })
      const transport = yield* openScripted(client, record())
      transport.send(request(1, "tools/call"))
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(client.of("GET").length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.of("GET").length, 2)
    }))

  it.scoped("H07: new event ids are progress: a server may end its stream many times before it answers", () =>
    Effect.gen(function*() {
      let gets = 0
      const client = scriptedClient((_) => {
        if (_.request.method === "POST") return void primed(_, 200)
        gets++
        _.sse().data(eventOf(gets === 20 ? response(1) : "", `event-${gets + 1}`)).end()
      })
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(recorded.messages.length, 1)
      assert.strictEqual(gets, 20)
    }))

  for (const retry of [0, 99999999999]) {
    it.scoped(`H08: retry: ${retry} with ever new ids is neither a storm nor without end`, () =>
      Effect.gen(function*() {
        let gets = 0
        const client = scriptedClient((_) => {
          if (_.request.method === "POST") return void primed(_, retry)
          _.sse().data(eventOf("", `n-${gets++}`, retry)).end()
        })
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        yield* TestClock.adjust("10 seconds")
        assert.isAtMost(gets, 103)
        yield* TestClock.adjust("4 days")
        assert.isAtMost(gets, 1000)
        assert.strictEqual(recorded.failed.length, 1)
      }))
  }

  it.scoped("H11, H15: release and close end a resumption that waits or reads", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      for (const id of [1, 2]) {
        transport.send(request(id, "tools/call"))
        primed(client.last(), 500)
        if (id === 2) {
          yield* TestClock.adjust("500 millis")
          client.last().sse().data(": hi\n\n")
        }
        transport.release(id)
      }
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(client.exchanges.map((_) => _.request.method), ["POST", "POST", "GET"])
      assert.strictEqual(client.open(), 0)
      assert.strictEqual(recorded.count(), 0)
    }))
})
