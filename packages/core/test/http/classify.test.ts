import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as Classify from "../../src/internal/http/classify.js"

const asked: Classify.Asked = {
  server: "remote",
  operation: "tools/call",
  method: "POST",
  id: 7,
  sessionWorked: false,
  version: undefined,
  secrets: []
}

const refusal = (status: number, rest: Partial<Classify.Refusal> = {}): Classify.Refusal => ({
  status,
  retryAfter: undefined,
  challenge: undefined,
  location: undefined,
  body: "",
  ...rest
})

const ofRefusal = (status: number, rest: Partial<Classify.Refusal> = {}, about: Partial<Classify.Asked> = {}) =>
  Classify.ofRefusal({ ...asked, ...about }, refusal(status, rest), 0)

describe("classify", () => {
  const table: ReadonlyArray<readonly [number, McpError.McpError["_tag"], McpError.Executed]> = [
    [301, "HttpError", "no"],
    [302, "HttpError", "maybe"],
    [303, "HttpError", "maybe"],
    [307, "HttpError", "no"],
    [400, "HttpError", "no"],
    [401, "Unauthorized", "no"],
    [403, "Forbidden", "no"],
    [404, "HttpError", "no"],
    [405, "HttpError", "no"],
    [406, "HttpError", "no"],
    [408, "HttpError", "maybe"],
    [409, "HttpError", "no"],
    [410, "HttpError", "no"],
    [413, "HttpError", "no"],
    [415, "HttpError", "no"],
    [425, "HttpError", "maybe"],
    [429, "HttpError", "no"],
    [500, "HttpError", "maybe"],
    [502, "HttpError", "maybe"],
    [503, "HttpError", "maybe"],
    [504, "HttpError", "maybe"]
  ]
  it.each(table)("H01: HTTP %i is %s, executed %s", (status, tag, executed) => {
    const error = ofRefusal(status, { body: "<html>why</html>" })
    assert.strictEqual(error._tag, tag)
    assert.strictEqual(error.executed, executed)
    assert.strictEqual(error.operation, "tools/call")
    if (error._tag === "HttpError") {
      assert.strictEqual(error.status, status)
      assert.strictEqual(error.body, "<html>why</html>")
    }
  })

  it("H01: keeps Retry-After, in seconds or as a date, and never a negative or endless one", () => {
    const millis = (retryAfter: string, now = 0) => {
      const error = Classify.ofRefusal(asked, refusal(429, { retryAfter }), now)
      return error._tag === "HttpError" ? error.retryAfterMillis : undefined
    }
    assert.strictEqual(millis("2"), 2000)
    assert.strictEqual(millis(" 0 "), 0)
    assert.strictEqual(millis("Thu, 01 Jan 1970 00:00:05 GMT"), 5000)
    assert.strictEqual(millis("Thu, 01 Jan 1970 00:00:05 GMT", 60_000), 0)
    assert.strictEqual(millis("9".repeat(30)), 2_147_483_647)
    assert.strictEqual(millis("soon"), undefined)
    assert.strictEqual(millis(""), undefined)
  })

  it("H01, A01, A06: keeps the challenge and the scope it asks for", () => {
    const challenge =
      "Bearer error=\"insufficient_scope\", scope=\"mcp:write mcp:read\", resource_metadata=\"http://a/b?c\""
    const unauthorized = ofRefusal(401, { challenge })
    assert.isTrue(unauthorized._tag === "Unauthorized" && unauthorized.challenge === challenge)
    const forbidden = ofRefusal(403, { challenge, body: "no" })
    assert.isTrue(forbidden._tag === "Forbidden" && forbidden.scope === "mcp:write mcp:read")
    assert.isTrue(forbidden._tag === "Forbidden" && forbidden.challenge === challenge)
  })

  it("H01: bounds the body, and shows no secret that the server repeats", () => {
    const error = ofRefusal(500, { body: `token s3cr3t-value at http://u:p@h/x?key=1 ${"y".repeat(100_000)}` }, {
      secrets: ["s3cr3t-value"]
    })
    assert.isTrue(error._tag === "HttpError" && error.body.length < 1200)
    assert.notInclude(error.message, "s3cr3t-value")
    assert.notInclude(error.message, "key=1")
    assert.notInclude(error.message, "u:p")
  })

  it("H01: reads the JSON-RPC error of a body that is about this request, or about none", () => {
    const body = (id: unknown) =>
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "x", data: [1] } })
    for (const id of [7, "7", null, undefined]) {
      const error = ofRefusal(400, { body: body(id) })
      assert.isTrue(error._tag === "HttpError" && error.code === -32000)
      assert.deepStrictEqual(error._tag === "HttpError" ? error.data : undefined, [1])
    }
    for (
      const other of [
        body({ toString: null }),
        body([7]),
        body(8),
        body(7).slice(0, -2),
        "[]",
        "{}",
        "{\"error\":{\"code\":\"1\"}}"
      ]
    ) {
      const error = ofRefusal(400, { body: other })
      assert.isTrue(error._tag === "HttpError" && error.code === undefined)
    }
  })

  const lost = [
    [404, ""],
    [404, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"Session not found\"},\"id\":null}"],
    [400, "{\"error\":{\"code\":-32000,\"message\":\"Bad Request: Server not initialized\"}}"],
    [400, "{\"error\":{\"code\":-32000,\"message\":\"Bad Request: No valid session ID provided\"}}"],
    [400, "Session not found"],
    [400, "{\"error\":\"Invalid or missing session ID\"}"],
    [400, "Unknown Mcp-Session-Id header"],
    [401, "Unauthorized: Session not found"]
  ] as const
  it.each(lost)("H02: HTTP %i %s is a lost session only where a session had worked", (status, body) => {
    const error = ofRefusal(status, { body }, { sessionWorked: true })
    assert.strictEqual(error._tag, "SessionExpired")
    assert.strictEqual(error.executed, "no")
    assert.strictEqual(ofRefusal(status, { body })._tag, status === 401 ? "Unauthorized" : "HttpError")
  })

  it("H02, A01: a 401 that asks for credentials, or says nothing of the session, is no lost session", () => {
    const tag = (rest: Partial<Classify.Refusal>) => ofRefusal(401, rest, { sessionWorked: true })._tag
    assert.strictEqual(tag({ body: "Session not found", challenge: "Bearer error=\"invalid_token\"" }), "Unauthorized")
    assert.strictEqual(tag({ body: "Unauthorized" }), "Unauthorized")
  })

  it("H02: a 400 about anything else is no lost session", () => {
    assert.strictEqual(ofRefusal(400, { body: "Invalid arguments" }, { sessionWorked: true })._tag, "HttpError")
  })

  const rpcBody = (code: number, id: unknown, message = "no") =>
    JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })

  it("H01: a JSON-RPC error for this very request decides whether it was executed", () => {
    const executed = (status: number, code: number, id: unknown, operation = "tools/list") =>
      ofRefusal(status, { body: rpcBody(code, id) }, { operation }).executed
    assert.deepStrictEqual([400, 404, 422].map((_) => executed(_, -32602, 7)), ["maybe", "maybe", "maybe"])
    assert.deepStrictEqual([-32601, -32042, -32603, 1].map((_) => executed(400, _, 7)), ["no", "no", "maybe", "maybe"])
    assert.deepStrictEqual(["7", 8, null, undefined].map((_) => executed(400, -32602, _)), ["maybe", "no", "no", "no"])
    assert.strictEqual(executed(400, -32601, 7, "tools/call"), "maybe")
    assert.strictEqual(executed(500, -32601, 7), "maybe")
    assert.strictEqual(ofRefusal(302, {}, { method: "GET" }).executed, "no")
  })

  it("H01: 429 was not executed, also where its body is a JSON-RPC error for this very request", () => {
    for (const code of [-32000, -32601, -32602, -32603, 429]) {
      for (const id of [7, "7", 8, null, undefined]) {
        for (const sessionWorked of [true, false]) {
          const error = ofRefusal(429, { body: rpcBody(code, id), retryAfter: "3" }, { sessionWorked })
          assert(error._tag === "HttpError")
          assert.deepStrictEqual([error.status, error.executed, error.retryAfterMillis], [429, "no", 3000])
          assert.strictEqual(error.code, id === 8 ? undefined : code)
        }
      }
    }
    assert.isTrue(McpError.isTransient(ofRefusal(429, { body: rpcBody(-32000, 7) })))
  })

  it("H02: a 400 about this very request is a lost session only with a code that says so", () => {
    const tag = (code: number, id: unknown) =>
      ofRefusal(400, { body: rpcBody(code, id, "Unknown session") }, { sessionWorked: true })._tag
    assert.deepStrictEqual([-32000, -32001, -32600].map((_) => tag(_, 7)), Array(3).fill("SessionExpired"))
    assert.deepStrictEqual([null, undefined].map((_) => tag(-32602, _)), Array(2).fill("SessionExpired"))
    const own = ofRefusal(400, { body: rpcBody(-32602, 7, "Unknown session") }, { sessionWorked: true })
    assert.deepStrictEqual([own._tag, own.executed], ["HttpError", "maybe"])
  })

  it("H01: data shows no secret, in whichever escapes, and whole if one is a part of another", () => {
    const body = String.raw`{"id":7,"error":{"code":1,"message":"","data":{"k":["x=a\/\u0022bcd", "aaaaaaXYZ", 1]}}}`
    const error = ofRefusal(400, { body }, { secrets: ["a/\"bcd", "aaaaaa", "aaaaaaXYZ"] })
    assert.deepStrictEqual(error._tag === "HttpError" ? error.data : undefined, {
      k: ["x=<redacted>", "<redacted>", 1]
    })
  })

  it("P12, N03: initialize answered 400 with -32022 is a version mismatch", () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 0,
      error: { code: -32022, message: "unsupported", data: { supported: ["2026-07-28", 1], requested: "2025-11-25" } }
    })
    const error = ofRefusal(400, { body }, { operation: "initialize", id: 0, version: "2025-11-25" })
    assert.isTrue(error._tag === "VersionMismatch" && error.requested === "2025-11-25")
    assert.deepStrictEqual(error._tag === "VersionMismatch" ? error.offered : [], ["2026-07-28"])
    assert.strictEqual(ofRefusal(400, { body }, { operation: "tools/list", id: 0 })._tag, "HttpError")
  })

  it("H03: what was never sent is executed \"no\", what was sent is \"maybe\"", () => {
    for (const reason of ["Refused", "NameNotFound", "Unreachable", "Timeout", "Tls", "BadUrl", "Proxy"] as const) {
      const error = Classify.ofFailure(asked, "http://u:p@h/x?k=1", { sent: false, reason, code: "X", detail: "why" })
      assert.isTrue(error._tag === "ConnectFailed" && error.reason === reason && error.executed === "no")
      assert.isTrue(error._tag === "ConnectFailed" && error.url === "http://h/x" && error.code === "X")
    }
    const unsent = Classify.ofFailure(asked, "http://h/", { sent: false, reason: "Lost", detail: "why" })
    assert.isTrue(unsent._tag === "ConnectFailed" && unsent.reason === "Other" && unsent.executed === "no")
    const lost = Classify.ofFailure(asked, "http://h/", { sent: true, reason: "Lost", detail: "why" })
    assert.isTrue(lost._tag === "ConnectionClosed" && lost.reason === "Reset" && lost.executed === "maybe")
    const large = Classify.ofFailure(asked, "http://h/", { sent: true, reason: "TooLarge", detail: "why" })
    assert.isTrue(large._tag === "ProtocolViolation" && large.executed === "maybe")
  })
})
