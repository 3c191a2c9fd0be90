import { assert, describe, it } from "@effect/vitest"
import type { McpError, McpTransport } from "@mcp-runtime/core"
import { Deferred, Effect, Redacted, TestClock } from "effect"
import {
  credentialsOf,
  eventOf,
  handshake,
  handshaking,
  initialize,
  notification,
  openScripted,
  post,
  record,
  request,
  response,
  type Scripted,
  scriptedClient
} from "./harness.js"

const json = { "content-type": "application/json" }

describe("requests over Streamable HTTP", () => {
  it.scoped("sends a message as one POST, and gives its JSON answer", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(7, "tools/list", { cursor: "a" }))
      assert.strictEqual(client.last().request.method, "POST")
      assert.strictEqual(client.last().kind, "request")
      assert.deepStrictEqual(client.last().rpc, {
        jsonrpc: "2.0",
        id: 7,
        method: "tools/list",
        params: { cursor: "a" }
      })
      assert.strictEqual(client.last().request.headers["accept"], "application/json, text/event-stream")
      client.last().json(response(7))
      assert.deepStrictEqual(recorded.messages, [response(7)])
      assert.strictEqual(client.open(), 0)
    }))

  it.scoped("takes ids as texts, as numbers, and lists of older protocol versions", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "ping"))
      client.last().json(response("1"))
      transport.send(request("a", "ping"))
      client.last().json([notification("notifications/message"), response("a")])
      transport.send(request("3", "ping"))
      client.last().json(response(3))
      assert.strictEqual(recorded.messages.length, 4)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("H05: what the engine takes for an answer settles its request, and nothing else does", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      const answers: ReadonlyArray<{ readonly [key: string]: unknown }> = [
        { ...response(1), id: "01" },
        { ...response(1), method: null },
        { ...response(1), method: 7, id: "1" },
        { jsonrpc: "2.0", id: 1, result: null },
        { jsonrpc: "2.0", id: 1, error: null }
      ]
      for (const answer of answers) {
        transport.send(request(1, "tools/call"))
        client.last().sse().data(eventOf({ id: 1, result: {} }) + eventOf({ ...response(1), id: "1.0" })).data(
          eventOf({ ...response(1), id: " 1" }) + eventOf({ ...response(1), method: "x" })
        )
        const before = pendingOf(transport)
        client.last().data(eventOf(answer))
        assert.deepStrictEqual([before, pendingOf(transport)], [1, 0], JSON.stringify(answer))
        client.last().end()
      }
      assert.strictEqual(recorded.failed.length, 0)
    }))

  for (const [when, first] of [["comes", false], ["already waits", true]] as const) {
    it.scoped(`H12: the rest of a stream is not read for a second where another request ${when} that needs its socket`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const transport = yield* openScripted(client, record(), { maxConnections: 2 })
        const answer = (id: number) => client.exchanges[id - 1]!.sse().data(eventOf(response(id)))
        for (const id of [1, 2]) transport.send(request(id, "tools/call"))
        if (first) transport.send(request(3, "tools/call"))
        for (const id of [1, 2]) answer(id)
        if (!first) {
          yield* TestClock.adjust("500 millis")
          assert.strictEqual(client.open(), 2)
          transport.send(request(3, "tools/call"))
        }
        yield* TestClock.adjust("49 millis")
        assert.strictEqual(client.open(), 3)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(client.exchanges.map((_) => _.aborted), [true, true, false])
        client.last().json(response(3))
        assert.strictEqual(client.open(), 0)
      }))
  }

  for (const [what, type] of [["JSON", "application/json"], ["an event stream", "text/event-stream"]] as const) {
    it.scoped(`an answer as ${what} in a content coding that was not asked for is named`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        client.last().head(200, { "content-type": type, "content-encoding": "gzip" }).data(
          Uint8Array.from([0x1f, 0x8b, 8, 0, 0])
        ).end()
        const error = yield* recorded.failure(1)
        assert.strictEqual(error.executed, "maybe")
        assert.include(error.message, "content coding \"gzip\"")
      }))
  }

  for (
    const [what, resumed, id] of [
      ["an error with the id null on the request's own stream", false, { id: null }],
      ["an error with the id null on the request's own resumed stream", true, { id: null }],
      ["an error without an id (2025-11-25) on the request's own stream", false, {}]
    ] as const
  ) {
    it.scoped(`${what} is about that request`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        transport.send(request(2, "tools/call"))
        if (resumed) {
          client.last().sse().data(eventOf("", "e-1")).end()
          yield* TestClock.adjust("1 second")
        }
        client.last().sse().data(
          eventOf({ jsonrpc: "2.0", ...id, error: { code: -32603, message: "no room left" } })
        )
        assert.deepStrictEqual(recorded.failed.map((_) => [_.id, _.error._tag, _.error.executed]), [
          [2, "ProtocolViolation", "maybe"]
        ])
        assert.include(recorded.failed[0]!.error.message, "-32603: no room left")
        assert.strictEqual(pendingOf(transport), 1)
        assert.strictEqual(client.open(), 2)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(client.open(), 1)
      }))
  }

  it.scoped("events that are not JSON are shown a hundred times, and counted after that", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      client.last().sse().data(eventOf("nonsense").repeat(150))
      assert.strictEqual(recorded.warnings.length, 150)
      assert.isTrue(
        recorded.warnings.every((_, i) => _.kind === "NotJson" && _.detail.includes("nonsense") === i < 100)
      )
      assert.isTrue(recorded.warnings.every((_) => _.detail.startsWith("an event that is not JSON")))
    }))

  it.scoped("H11: a release after the answer leaves the rest of its stream to end by itself", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      client.last().sse().data(eventOf(response(1)))
      transport.release(1)
      assert.isFalse(client.last().aborted)
      client.last().end()
      assert.isFalse(client.last().aborted)
      transport.send(request(2, "tools/call"))
      client.last().sse().data(eventOf({ jsonrpc: "2.0", id: 2 }))
      transport.release(2)
      assert.isTrue(client.last().aborted)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("gives the messages of a stream in order, and takes an error for an answer (H07)", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "tools/call"))
      const error = { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "no" } }
      client.last().sse().data(eventOf("", "e-0")).data(eventOf(notification("notifications/progress"), "e-1")).data(
        eventOf(request("s-1", "roots/list"), "e-2") + eventOf(error, "e-3")
      ).end()
      assert.deepStrictEqual(
        recorded.messages,
        [
          notification("notifications/progress"),
          request("s-1", "roots/list"),
          error
        ].map((_) => JSON.parse(JSON.stringify(_)))
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(client.exchanges.length, 1)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  const lost: ReadonlyArray<
    readonly [row: string, reason: string, reply: (exchange: Scripted) => unknown]
  > = [
    ["H05: 202 to a request", "ResponseLost Accepted", (_) => _.head(202)],
    ["H05: a stream that ends empty", "ResponseLost Ended", (_) => _.sse().end()],
    [
      "H05: a stream with a notification only",
      "ResponseLost Ended",
      (_) => _.sse().data(eventOf(notification("notifications/message"))).end()
    ],
    [
      "H05: a stream whose last event is not terminated",
      "ResponseLost Ended",
      (_) => _.sse().data(eventOf(response(1)).trimEnd()).end()
    ],
    [
      "H05: a stream with something that is not JSON",
      "ResponseLost Ended",
      (_) => _.sse().data("data: hello\n\n").end()
    ],
    ["H05: a stream that breaks", "ResponseLost Broken", (_) => _.sse().data(": hi\n\n").fail()],
    ["H05: JSON with the id of another request", "ResponseLost Unanswered", (_) => _.json(response(99))],
    ["H05: an empty list", "ResponseLost Unanswered", (_) => _.json([])],
    ["H05: a notification instead of the answer", "ResponseLost Unanswered", (_) => _.json(notification("n"))],
    [
      "H05: a stream with the answer to another request",
      "ResponseLost Ended",
      (_) => _.sse().data(eventOf(response(2))).end()
    ],
    ["H05: JSON that breaks off", "ResponseLost Broken", (_) => _.head(200, json).data("{").fail()],
    ["H05: the server dies before it answers", "ConnectionClosed Reset", (_) => _.fail()],
    ["H06: 204", "ProtocolViolation", (_) => _.head(204)],
    ["H06: HTML", "ProtocolViolation", (_) => _.head(200, { "content-type": "text/html; charset=utf-8" })],
    ["H06: JSON that is none", "ProtocolViolation", (_) => _.status(200, "{\"jsonrpc\"", json)],
    ["H06: an empty body", "ProtocolViolation", (_) => _.status(200, "", json)],
    ["H06: no type and no body", "ProtocolViolation", (_) => _.status(200)],
    ["H06: JSON that is not JSON-RPC", "ProtocolViolation", (_) => _.json({ hello: 1 })],
    ["H06: an answer without jsonrpc", "ProtocolViolation", (_) => _.json({ id: 1, result: {} })],
    [
      "H06: an answer of another version",
      "ProtocolViolation",
      (_) => _.json({ jsonrpc: "1.0", id: 1, error: { code: 1, message: "" } })
    ],
    [
      "H06: an answer with neither result nor error",
      "ProtocolViolation",
      (_) => _.json({ jsonrpc: "2.0", id: 1 })
    ],
    ["H06: an answer that is a request", "ResponseLost Unanswered", (_) => _.json({ ...response(1), method: "x" })],
    [
      "H05: a stream with an answer without jsonrpc",
      "ResponseLost Ended",
      (_) => _.sse().data(eventOf({ id: 1, result: {} })).end()
    ],
    ["H06: a JSON text", "ProtocolViolation", (_) => _.json("hello")],
    [
      "H06: an error about no request",
      "ProtocolViolation",
      (_) => _.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "Session not found" } })
    ]
  ]
  for (const [row, reason, reply] of lost) {
    it.scoped(`${row} fails the request at once, executed "maybe"`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "tools/call"))
        reply(client.last())
        assert.strictEqual(recorded.failed.length, 1)
        const { error, id } = recorded.failed[0]!
        assert.strictEqual(id, 1)
        assert.strictEqual("reason" in error ? `${error._tag} ${error.reason}` : error._tag, reason)
        assert.strictEqual(error.executed, "maybe")
        assert.strictEqual(error.operation, "tools/call")
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(recorded.failed.length, 1)
        assert.strictEqual(client.exchanges.length, 1)
        assert.strictEqual(client.open(), 0)
      }))
  }

  it.scoped("accepts an answer with another JSON type, or without any type", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      for (const [id, type] of ["Application/JSON;charset=utf-8", "application/problem+json", undefined].entries()) {
        transport.send(request(id, "ping"))
        client.last().status(
          200,
          `\ufeff${JSON.stringify(response(id))}`,
          type === undefined ? {} : {
            "content-type": type
          }
        )
      }
      assert.strictEqual(recorded.messages.length, 3)
    }))

  it.scoped("skips what is not JSON-RPC with a warning (server-everything's bare {})", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "ping"))
      client.last().sse().data(eventOf({}) + eventOf("") + eventOf("x") + eventOf([3]) + eventOf(response(1)))
      assert.deepStrictEqual(recorded.warnings.map((_) => _.kind), ["NotJsonRpc", "NotJson", "NotJsonRpc"])
      assert.deepStrictEqual(recorded.messages, [response(1)])
    }))

  it.scoped("A08: what the server repeats of headers, query and session id shows in no error and in no warning", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const secrets = ["static-secret", "dynamic-secret", "query/secret", "query%2Fsecret", "session-secret"]
      const transport = yield* openScripted(
        client,
        recorded,
        {
          headers: { authorization: "Bearer static-secret" },
          requestHeaders: Effect.succeed({ "x-key": Redacted.make("dynamic-secret") })
        },
        "http",
        "https://server.test/mcp?key=query%2Fsecret&a=b"
      )
      transport.send(initialize)
      yield* client.until(() => client.exchanges.length === 1)
      client.last().json(response(0), { "mcp-session-id": "session-secret" })
      const echo = `"${secrets.join(" ")}`
      const replies: ReadonlyArray<(exchange: Scripted) => unknown> = [
        (_) => _.status(200, echo, json),
        (_) => _.head(200, { "content-type": echo }),
        (_) => _.json({ jsonrpc: "2.0", id: null, error: { code: 1, message: echo } }),
        (_) => _.sse().data(eventOf(echo)).end(),
        (_) => _.head(200, json).fail({ detail: echo }),
        (_) => _.status(500, JSON.stringify({ jsonrpc: "2.0", error: { code: 1, message: echo, data: { echo } } }))
      ]
      for (const [index, reply] of replies.entries()) {
        transport.send(request(index + 1, "tools/call"))
        yield* client.until(() => client.exchanges.length === index + 2)
        reply(client.last())
      }
      assert.deepStrictEqual([recorded.failed.length, recorded.warnings.length], [replies.length, 1])
      const shown = [
        ...recorded.failed.map(({ error }) => `${error.message} ${JSON.stringify(error)}`),
        recorded.warnings[0]!.detail
      ]
      for (const text of shown) {
        for (const secret of secrets) assert.notInclude(text, secret)
      }
      assert.strictEqual(shown.filter((_) => _.includes("<redacted>")).length, replies.length)
    }))

  it.scoped("A08: nor what a proxy repeats of the credentials that it was given", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(
        client,
        recorded,
        { proxy: "http://user:proxy%2Fsecret@proxy.test:3128" },
        "http",
        "http://server.test/mcp"
      )
      transport.send(initialize)
      yield* client.until(() => client.exchanges.length === 1)
      const sent = btoa("user:proxy/secret")
      client.last().status(403, `{"proxy-authorization":"Basic ${sent}","password":"proxy/secret"}`)
      yield* client.until(() => recorded.failed.length === 1)
      const { error } = recorded.failed[0]!
      const shown = `${error.message} ${JSON.stringify(error)}`
      for (const secret of [sent, "proxy/secret"]) assert.notInclude(shown, secret)
      assert.include(error.message, `{"proxy-authorization":"<redacted>","password":"<redacted>"}`)
    }))

  it.scoped("H24: bounds the bytes of an answer, of an event and of a refusal", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded, { limits: { messageBytes: 1000, eventBytes: 500 } })
      const chunk = "x".repeat(400)
      transport.send(request(1, "a"))
      client.last().head(200, json).data(chunk).data(chunk).data(chunk)
      transport.send(request(2, "b"))
      client.last().head(200, { ...json, "content-length": "1001" })
      transport.send(request(3, "c"))
      client.last().sse().data(`data: ${chunk}`).data(chunk)
      transport.send(request(4, "d"))
      const refused = client.last().head(500)
      for (let i = 0; i < 1000 && refused.open; i++) refused.data(chunk)
      assert.deepStrictEqual(recorded.failed.map(({ error, id }) => [id, error._tag, limitOf(error)]), [
        [1, "LimitExceeded", "messageBytes"],
        [2, "LimitExceeded", "messageBytes"],
        [3, "LimitExceeded", "eventBytes"],
        [4, "HttpError", undefined]
      ])
      assert.isTrue(client.exchanges.every((_) => _.aborted))
    }))

  it.scoped("H24: a refusal whose body never ends is told after a second", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "a"))
      client.last().head(503, { "retry-after": "3" }).data("try later")
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(recorded.failed.length, 0)
      yield* TestClock.adjust("1 millis")
      const { error } = recorded.failed[0]!
      assert.isTrue(error._tag === "HttpError" && error.body === "try later" && error.retryAfterMillis === 3000)
      assert.strictEqual(client.open(), 0)
    }))

  it.scoped("a stream that goes on after its answer is cut after a second, with what it still says", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      for (const id of [1, 2]) transport.send(request(id, "a"))
      const [first, second] = client.exchanges as [Scripted, Scripted]
      first.sse().data(eventOf(response(1)))
      yield* TestClock.adjust("600 millis")
      second.sse().data(eventOf(response(2)))
      first.data(eventOf(notification("late")))
      assert.strictEqual(recorded.messages.length, 3)
      yield* TestClock.adjust("400 millis")
      assert.deepStrictEqual([first.open, second.open], [false, true])
      yield* TestClock.adjust("600 millis")
      assert.deepStrictEqual([first.open, second.open], [false, false])
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("an answer that came on another stream settles its request, and frees its socket", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "a"))
      transport.send(request(2, "b"))
      client.exchanges[1]!.sse().data(eventOf(response(1)) + eventOf(response(2))).end()
      assert.deepStrictEqual(recorded.messages.map((_) => _.id), [1, 2])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.open(), 0)
      assert.strictEqual(recorded.failed.length, 0)
    }))

  it.scoped("H11: release frees the exchange at once, and nothing of it is told any more", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      for (let id = 1; id <= 4; id++) transport.send(request(id, "a"))
      client.exchanges[1]!.sse().data(": hi\n\n")
      client.exchanges[2]!.head(200, json).data("{")
      client.exchanges[3]!.sse().data(eventOf("", "e-1", 100)).end()
      for (let id = 1; id <= 4; id++) transport.release(id)
      assert.strictEqual(client.open(), 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(client.exchanges.length, 4)
      assert.strictEqual(recorded.count(), 0)
    }))

  it.scoped("H20: takes the session id from the answer to initialize only, and sends it ever after", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(9, "early"))
      client.last().json(response(9), { "mcp-session-id": "evil-1" })
      transport.send(initialize)
      assert.strictEqual(client.last().request.headers["mcp-session-id"], undefined)
      client.last().json(response(0), { "mcp-session-id": "good" })
      assert.strictEqual(transport.sessionId(), "good")
      transport.send(request(1, "a"))
      assert.strictEqual(client.last().request.headers["mcp-session-id"], "good")
      assert.strictEqual(client.last().request.headers["mcp-protocol-version"], undefined)
      client.last().status(500, "", { "mcp-session-id": "evil-2" })
      transport.negotiated("2025-06-18")
      transport.send(notification("n"))
      assert.strictEqual(client.last().request.headers["mcp-session-id"], "good")
      assert.strictEqual(client.last().request.headers["mcp-protocol-version"], "2025-06-18")
      client.last().status(202, "", { "mcp-session-id": "evil-3" })
      assert.strictEqual(transport.sessionId(), "good")
    }))

  it.scoped("H20, H21: a refused initialize gives no session id", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(initialize)
      client.last().status(500, "", { "mcp-session-id": "evil" })
      assert.strictEqual(transport.sessionId(), undefined)
    }))

  it.scoped("H02: a session is lost only after it had worked, and every call that is told so is not executed", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(initialize)
      client.last().json(response(0), { "mcp-session-id": "s" })
      transport.send(request(1, "a"))
      client.last().status(404)
      transport.send(notification("notifications/initialized"))
      client.last().status(202)
      for (let id = 2; id <= 4; id++) transport.send(request(id, "tools/call"))
      client.exchanges[3]!.status(404, "", json)
      client.exchanges[4]!.status(
        400,
        "{\"error\":{\"code\":-32000,\"message\":\"Bad Request: Server not initialized\"}}"
      )
      client.exchanges[5]!.status(400, "bad arguments")
      assert.deepStrictEqual(recorded.failed.map(({ error }) => [error._tag, error.executed]), [
        ["HttpError", "no"],
        ["SessionExpired", "no"],
        ["SessionExpired", "no"],
        ["HttpError", "no"]
      ])
    }))

  it.scoped("H02, A01: no other credentials are asked for where a 401 says that the session is lost", () =>
    Effect.gen(function*() {
      const client = handshaking()
      const recorded = record()
      const asked: Array<number> = []
      const credentials = credentialsOf(() => "Bearer x", ({ status }) => Effect.sync(() => (asked.push(status), "no")))
      const transport = yield* openScripted(
        client,
        recorded,
        { allowTokensOverHttp: true },
        "http",
        undefined,
        credentials
      )
      yield* handshake(transport, recorded)
      for (const [id, body] of [[1, "Unauthorized: Session not found"], [2, "Unauthorized"]] as const) {
        transport.send(request(id, "tools/call"))
        yield* client.until(() => client.last().request.body?.includes(`"id":${id}`) === true)
        client.last().status(401, body)
        yield* client.until(() => recorded.failed.length === id)
      }
      assert.deepStrictEqual(recorded.failed.map((_) => _.error._tag), ["SessionExpired", "Unauthorized"])
      assert.deepStrictEqual(asked, [401])
    }))

  it.scoped("H25: a notification or an answer of ours is told once: accepted, refused or lost", () =>
    Effect.gen(function*() {
      const client = handshaking()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      yield* handshake(transport, recorded)
      const told: Array<McpError.McpError | undefined> = []
      const send = (reply: (exchange: Scripted) => void) => {
        transport.send(response("s-1") as never, (error) => told.push(error))
        reply(client.last())
      }
      send((_) => _.head(202))
      send((_) => _.json({ ignored: true }))
      send((_) => _.status(503, "busy"))
      send((_) => _.status(404))
      send((_) => _.fail({ sent: false, reason: "Refused" }))
      send((_) => _.fail())
      assert.deepStrictEqual(told.map((_) => _?._tag), [
        undefined,
        undefined,
        "HttpError",
        "SessionExpired",
        "ConnectFailed",
        "ConnectionClosed"
      ])
      assert.strictEqual(recorded.failed.length, 0)
      assert.strictEqual(recorded.messages.length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(client.open(), 0)
    }))

  it.scoped("H19: header names are joined by nobody; a later source wins over an earlier one", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const transport = yield* openScripted(
        client,
        record(),
        {
          headers: { Authorization: "Bearer static-token", "X-Api-Key": "key" },
          requestHeaders: Effect.succeed({ AUTHORIZATION: Redacted.make("Bearer dynamic-token") })
        },
        "http",
        "https://user:p%40ss@server.test/mcp?a=b#c"
      )
      transport.send(request(1, "a"))
      assert.deepInclude(client.last().request.headers, {
        authorization: "Bearer dynamic-token",
        "x-api-key": "key",
        accept: "application/json, text/event-stream",
        "content-type": "application/json"
      })
      assert.strictEqual(Object.keys(client.last().request.headers).length, 4)
      assert.strictEqual(client.last().request.url, "https://server.test/mcp?a=b")
    }))

  it.scoped("a user in the URL becomes Basic credentials, unless a header says otherwise", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const transport = yield* openScripted(client, record(), {}, "http", "http://user:p%40ss@server.test/mcp")
      transport.send(request(1, "a"))
      assert.strictEqual(client.last().request.headers["authorization"], `Basic ${btoa("user:p@ss")}`)
      assert.strictEqual(client.last().request.url, "http://server.test/mcp")
    }))

  const bad = [
    ["a reserved name", { "Mcp-Session-Id": "stolen-secret" }],
    ["a name with a space", { "bad name": "stolen-secret" }],
    ["a value with a line end", { "x-token": "stolen-secret\r\nx: y" }],
    ["a value that is no text", { "x-token": { token: "stolen-secret" } as never }]
  ] as const
  for (const [what, headers] of bad) {
    it.scoped(`H19: ${what} from requestHeaders fails the request unsent, without showing the value`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded, { requestHeaders: Effect.succeed(headers as never) })
        transport.send(request(1, "tools/call"))
        const { error } = recorded.failed[0]!
        assert.isTrue(error._tag === "ConfigInvalid" && error.executed === "no")
        assert.notInclude(JSON.stringify(error) + error.message, "stolen-secret")
        assert.strictEqual(client.exchanges.length, 0)
      }))
  }

  it.scoped("A09: requestHeaders run per request, and their failure, defect or wait is that of the request", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const gate = yield* Deferred.make<{ readonly authorization: string }>()
      let runs = 0
      let released = false
      const sources = [
        Effect.succeed({ authorization: "Bearer one-token" }),
        Effect.fail(new Error("token s3cr3t-token")),
        Effect.die("s3cr3t-token"),
        Deferred.await(gate),
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => released = true))
      ]
      const requestHeaders = Effect.suspend(() => sources[runs++]!) as never
      const transport = yield* openScripted(client, recorded, { requestHeaders }, "http", "https://server.test/mcp")
      for (let id = 1; id <= 5; id++) transport.send(request(id, "a"))
      assert.strictEqual(client.exchanges.length, 1)
      assert.deepStrictEqual(recorded.failed.map((_) => [_.id, _.error._tag, _.error.executed]), [
        [2, "ConnectFailed", "no"],
        [3, "ConnectFailed", "no"]
      ])
      assert.notInclude(recorded.failed.map((_) => _.error.message).join(), "s3cr3t-token")
      transport.release(5)
      yield* Deferred.succeed(gate, { authorization: "Bearer late-token" })
      yield* Effect.yieldNow()
      yield* Effect.yieldNow()
      assert.strictEqual(client.exchanges.length, 2)
      assert.strictEqual(client.last().request.headers["authorization"], "Bearer late-token")
      assert.isTrue(released)
      assert.strictEqual(runs, 5)
    }))

  it.scoped("what JSON can't carry is refused, and nothing is sent", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "a", { n: 1n }))
      assert.strictEqual(recorded.failed[0]?.error._tag, "ConfigInvalid")
      assert.strictEqual((yield* post(transport, notification("n", { n: 1n })))?._tag, "ConfigInvalid")
      assert.strictEqual(client.exchanges.length, 0)
    }))

  const origin = "http://server.test"
  it.scoped("H18: 307 and 308 within the origin are followed, with the body, at most 5 times", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      transport.send(request(1, "a"))
      client.last().head(307, { location: "/other" }).end()
      assert.strictEqual(client.last().request.url, `${origin}/other`)
      assert.deepStrictEqual(client.last().rpc.id, 1)
      client.last().head(308, { location: `http://u:p@server.test/third?a=b` }).end()
      assert.strictEqual(client.last().request.url, `${origin}/third?a=b`)
      client.last().json(response(1))
      assert.deepStrictEqual(recorded.messages, [response(1)])

      transport.send(request(2, "a"))
      const before = client.exchanges.length
      for (let i = 0; i < 10 && recorded.failed.length === 0; i++) {
        client.last().head(307, { location: `/${i}` }).end()
      }
      assert.strictEqual(client.exchanges.length - before, 5)
      const { error } = recorded.failed[0]!
      assert.isTrue(error._tag === "HttpError" && error.location === `${origin}/5` && error.executed === "no")
    }))

  const blocked = [
    ["307 to another host", 307, "http://evil.test/mcp?token=x"],
    ["307 to another scheme", 307, "https://server.test/mcp"],
    ["301 on a POST", 301, "/other"],
    ["302 on a POST", 302, "/other"],
    ["303 on a POST", 303, "/other"]
  ] as const
  for (const [what, status, location] of blocked) {
    it.scoped(`H18: ${what} is not followed`, () =>
      Effect.gen(function*() {
        const client = scriptedClient()
        const recorded = record()
        const transport = yield* openScripted(client, recorded)
        transport.send(request(1, "a"))
        client.last().status(status, "", { location })
        assert.strictEqual(client.exchanges.length, 1)
        const { error } = recorded.failed[0]!
        const executed = status === 302 || status === 303 ? "maybe" : "no"
        assert.isTrue(error._tag === "HttpError" && error.status === status && error.executed === executed)
        assert.strictEqual(
          error._tag === "HttpError" ? error.location : undefined,
          new URL(location, origin).href.split("?")[0]
        )
      }))
  }

  it.scoped("H18: releasing a request that was redirected frees what it was redirected to", () =>
    Effect.gen(function*() {
      const client = scriptedClient()
      const transport = yield* openScripted(client, record())
      transport.send(request(1, "a"))
      client.last().head(307, { location: "/other" })
      transport.release(1)
      assert.strictEqual(client.open(), 0)
    }))

  for (const maxConnections of [undefined, 1]) {
    for (const [body, write] of [["never ends", ""], ["is large", "x".repeat(100_000)]] as const) {
      it.scoped(`H18: a redirect whose own body ${body} holds nobody up, with ${maxConnections ?? "any"} connections`, () =>
        Effect.gen(function*() {
          const client = scriptedClient()
          const recorded = record()
          const transport = yield* openScripted(client, recorded, { maxConnections })
          transport.send(request(1, "a"))
          const redirect = client.last().head(307, { location: "/other" })
          const followed = client.last()
          redirect.data(write)
          yield* TestClock.adjust("10 seconds")
          assert.isTrue(redirect.aborted)
          assert.isFalse(followed.aborted)
          followed.json(response(1))
          assert.deepStrictEqual(recorded.messages, [response(1)])
          assert.strictEqual(client.open(), 0)
        }))
    }
  }

  it.scoped("H16: thousands of requests leave nothing behind", () =>
    Effect.gen(function*() {
      const client = scriptedClient((_) => _.sse().data(eventOf(response(_.rpc.id))).end())
      const recorded = record()
      const transport = yield* openScripted(client, recorded)
      for (let id = 1; id <= 5000; id++) transport.send(request(id, "ping"))
      assert.strictEqual(recorded.messages.length, 5000)
      assert.strictEqual(client.open(), 0)
      const inside = transport as unknown as {
        readonly inbox: { readonly pending: Map<unknown, unknown> }
        readonly wire: { readonly live: Set<unknown>; readonly linger: { readonly entries: Map<unknown, unknown> } }
      }
      assert.strictEqual(inside.inbox.pending.size, 0)
      assert.strictEqual(inside.wire.live.size, 0)
      assert.strictEqual(inside.wire.linger.entries.size, 0)
    }))
})

const pendingOf = (transport: McpTransport.MessageTransport) =>
  (transport as unknown as { readonly inbox: { readonly pending: Map<unknown, unknown> } }).inbox.pending.size

const limitOf = (error: McpError.McpError) => error._tag === "LimitExceeded" ? error.limit : undefined
