import { assert, describe, it } from "@effect/vitest"
import type { McpError } from "@mcp-runtime/core"
import { Effect, Exit, Fiber, Scope, TestClock } from "effect"
import {
  handshake,
  handshaking,
  type HttpInput,
  inScope,
  notification,
  openScripted,
  record,
  request,
  response,
  scriptedClient
} from "./harness.js"

describe("messages without an answer", () => {
  const deadlines: ReadonlyArray<readonly [string, HttpInput, (of: typeof notification) => unknown, number]> = [
    ["notifications/cancelled", {}, (of) => of("notifications/cancelled", { requestId: 1 }), 5000],
    ["any other", {}, (of) => of("notifications/progress"), 60_000],
    ["an answer of ours", { timeouts: { request: "7 seconds" } }, () => response("s-1"), 7000],
    ["any, where requests have no deadline,", { timeouts: { request: null } }, (of) => of("x"), 30_000]
  ]
  for (const [what, input, make, millis] of deadlines) {
    for (const transportName of ["http", "sse"] as const) {
      it.scoped(`H11, H25: ${what} over ${transportName} that is never answered is told after ${millis} ms, its socket freed`, () =>
        Effect.gen(function*() {
          const client = scriptedClient((_) => {
            if (_.request.method === "GET") _.sse().data("event: endpoint\ndata: /message\n\n")
            else if (_.request.method === "DELETE") _.status(200)
          })
          const recorded = record()
          const transport = yield* openScripted(client, recorded, input, transportName)
          const before = client.open()
          const told: Array<McpError.McpError | undefined> = []
          for (let i = 0; i < 10; i++) transport.send(make(notification) as never, (error) => told.push(error))
          assert.strictEqual(client.open() - before, 10)
          yield* TestClock.adjust(millis - 1)
          assert.strictEqual(told.length, 0)
          transport.send(make(notification) as never, (error) => told.push(error))
          yield* TestClock.adjust(1)
          assert.strictEqual(told.length, 10)
          assert.strictEqual(client.open() - before, 1)
          for (const error of told) {
            assert.isTrue(error?._tag === "RequestTimeout" && error.kind === "send" && error.millis === millis)
            assert.strictEqual(error?.executed, "maybe")
          }
          client.last().status(202)
          yield* TestClock.adjust("5 minutes")
          assert.strictEqual(told.length, 11)
          assert.isUndefined(told[10])
          assert.strictEqual(client.open() - before, 0)
          assert.deepStrictEqual([recorded.failed.length, recorded.closed.length], [0, 0])
        }))
    }
  }

  it.scoped("leave no fiber behind when they are accepted, however long they might have waited", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const transport = yield* openScripted(client, record())
      const roots = Effect.map(Fiber.roots, (_) => [..._].length)
      const before = yield* roots
      for (let round = 0; round < 3; round++) {
        transport.send(notification("notifications/progress") as never)
        assert.isAbove(yield* roots, before)
        client.last().status(202)
        // A body that may still come is waited for.
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* roots, before)
      }
    }))

  it.scoped("H11, A09: a notification whose headers never come is told, not executed", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const transport = yield* openScripted(client, record(), { requestHeaders: Effect.never })
      const told: Array<McpError.McpError | undefined> = []
      transport.send(notification("x"), (error) => told.push(error))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(told.map((_) => [_?._tag, _?.executed]), [["RequestTimeout", "no"]])
      assert.strictEqual(client.exchanges.length, 0)
    }))

  for (const transportName of ["http", "sse"] as const) {
    it.scoped(`H25: the messages without an answer that are under way over ${transportName} are bounded`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "GET") _.sse().data("event: endpoint\ndata: /message\n\n")
          else if (_.request.method === "DELETE") _.status(200)
        })
        const transport = yield* openScripted(client, record(), {}, transportName)
        const before = client.open()
        const told: Array<McpError.McpError | undefined> = []
        for (let i = 0; i < 1100; i++) transport.send(notification("x"), (error) => told.push(error))
        assert.strictEqual(client.open() - before, 1024)
        assert.strictEqual(told.length, 76)
        assert.isTrue(told.every((_) => _ !== undefined && limitOf(_) === "sendBuffer" && _.executed === "no"))
        assert.strictEqual(new Set(told).size, 1, "a flood does not make an error and a stack for each")
        transport.send(response("s-1") as never, (error) => told.push(error))
        assert.strictEqual(told[76]?.operation, "response")
        client.last().status(202)
        transport.send(notification("x"), (error) => told.push(error))
        assert.strictEqual(client.open() - before, 1024)
        transport.send(request(1, "tools/call"))
        assert.strictEqual(client.open() - before, 1025)
        transport.release(1)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(client.open() - before, 0)
      }))
  }

  for (const transportName of ["http", "sse"] as const) {
    describe(`our answers over ${transportName}: sixteen at once are on their way, and nothing else waits for them`, () => {
      const most = 16
      const opened = Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "GET") _.sse().data("event: endpoint\ndata: /message\n\n")
          else if (_.request.method === "DELETE") _.status(200)
        })
        const { scope, value: transport } = yield* inScope(openScripted(client, record(), {}, transportName))
        const first = client.exchanges.length
        const told: Array<McpError.McpError | undefined> = []
        const tell = (error: McpError.McpError | undefined) => told.push(error)
        const answers = (count: number) => {
          for (let i = 0; i < count; i++) transport.send(response(`s-${i}`) as never, tell)
        }
        return { client, transport, told, tell, answers, scope, sent: () => client.exchanges.slice(first) }
      })

      it.scoped("in their order, also where they can't be sent at all", () =>
        Effect.gen(function*() {
          const { answers, client, sent, tell, told, transport } = yield* opened
          const before = client.open()
          answers(100)
          assert.strictEqual(client.open() - before, most)
          transport.send(notification("notifications/cancelled", { requestId: 1 }) as never)
          transport.send(request(1, "tools/call"))
          transport.send(request(2, "ping"))
          assert.strictEqual(client.open() - before, most + 3)
          transport.send(response("never", 1n) as never, tell)
          for (let i = 0; i < 103; i++) sent()[i]!.status(202)
          assert.strictEqual(client.open() - before, 0)
          const failed = told.filter((_) => _ !== undefined)
          assert.deepStrictEqual([told.length, ...failed.map((_) => _._tag)], [101, "ConfigInvalid"])
          const ids = sent().map((_) => _.rpc).flatMap((_) => _.method === undefined ? [_.id] : [])
          assert.deepStrictEqual(ids, Array.from({ length: 100 }, (_, i) => `s-${i}`))
        }))

      it.scoped("one that is accepted has its socket until its body has ended, or a second is over", () =>
        Effect.gen(function*() {
          const { answers, client, sent, told } = yield* opened
          const before = client.open()
          answers(most + 3)
          sent()[0]!.head(202)
          assert.strictEqual(told.length, 1)
          assert.strictEqual(client.open() - before, most)
          assert.strictEqual(sent().length, most)
          sent()[0]!.end()
          assert.strictEqual(sent().length, most + 1)
          sent()[1]!.head(202)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(sent().length, most + 2)
          sent()[2]!.fail()
          assert.strictEqual(sent().length, most + 3)
          assert.strictEqual(client.open() - before, most)
        }))

      it.scoped("one that waits has its deadline all the same, and is not sent after it, nor when all is closed", () =>
        Effect.gen(function*() {
          const { answers, client, scope, sent, told } = yield* opened
          const before = client.open()
          answers(most + 4)
          yield* TestClock.adjust("30 seconds")
          answers(most + 4)
          assert.strictEqual(sent().length, most)
          yield* TestClock.adjust("30 seconds")
          assert.strictEqual(told.length, most + 4)
          assert.deepStrictEqual(told.map((_) => _?.executed), [
            ...Array.from({ length: most }, () => "maybe" as const),
            ...Array.from({ length: 4 }, () => "no" as const)
          ])
          assert.strictEqual(client.open() - before, most)
          assert.strictEqual(sent().length, 2 * most)
          yield* Scope.close(scope, Exit.void)
          assert.strictEqual(told.length, 2 * (most + 4))
          assert.strictEqual(sent().filter((_) => _.request.method === "POST").length, 2 * most)
          assert.strictEqual(client.open(), 0)
        }))
    })
  }

  for (const transportName of ["http", "sse"] as const) {
    it.scoped(`H12: a ping over ${transportName} waits behind no call, so that busy sockets are not taken for silence`, () =>
      Effect.gen(function*() {
        const client = scriptedClient((_) => {
          if (_.request.method === "GET") _.sse().data("event: endpoint\ndata: /message\n\n")
          else if (_.request.method === "DELETE") _.status(200)
        })
        const transport = yield* openScripted(client, record(), {}, transportName)
        transport.send(request(1, "tools/call"))
        assert.strictEqual(client.last().kind, "request")
        transport.send(request(2, "ping"))
        assert.strictEqual(client.last().kind, "stream")
      }))
  }

  it.scoped("H12: messages without an answer and the DELETE are not bounded as requests are", () =>
    Effect.gen(function*() {
      const client = handshaking()
      const recorded = record()
      const { scope, value } = yield* inScope(openScripted(client, recorded))
      yield* handshake(value, recorded)
      value.send(response("s-1") as never)
      client.last().status(202)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(client.exchanges.map((_) => [_.request.method, _.kind]), [
        ["POST", "request"],
        ["POST", "stream"],
        ["POST", "stream"],
        ["DELETE", "stream"]
      ])
    }))
})

const limitOf = (error: McpError.McpError) => error._tag === "LimitExceeded" ? error.limit : undefined
