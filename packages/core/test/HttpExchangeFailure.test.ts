import { assert, describe, it } from "@effect/vitest"
import { HttpExchange } from "@mcp-runtime/core"

const error = (code: string, more: object = {}) => Object.assign(new Error(`secret ${code}`), { code }, more)
const fetchFailed = (cause: unknown) => new TypeError("fetch failed", { cause })

describe("failureFromError", () => {
  it("H03: errors that prove by themselves that nothing was sent", () => {
    const table: ReadonlyArray<readonly [unknown, string]> = [
      [error("ECONNREFUSED", { syscall: "connect" }), "Refused"],
      [error("ENOTFOUND", { syscall: "getaddrinfo" }), "NameNotFound"],
      [error("EAI_AGAIN", { syscall: "getaddrinfo" }), "NameNotFound"],
      [error("EHOSTUNREACH", { syscall: "connect" }), "Unreachable"],
      [error("ENETUNREACH", { syscall: "connect" }), "Unreachable"],
      [error("EADDRNOTAVAIL", { syscall: "connect" }), "Unreachable"],
      [error("UND_ERR_CONNECT_TIMEOUT"), "Timeout"],
      [error("ETIMEDOUT", { syscall: "connect" }), "Timeout"],
      [error("DEPTH_ZERO_SELF_SIGNED_CERT"), "Tls"],
      [error("SELF_SIGNED_CERT_IN_CHAIN"), "Tls"],
      [error("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "Tls"],
      [error("CERT_HAS_EXPIRED"), "Tls"],
      [error("ERR_TLS_CERT_ALTNAME_INVALID"), "Tls"],
      [error("ERR_SSL_WRONG_VERSION_NUMBER"), "Tls"],
      [error("ERR_INVALID_URL"), "BadUrl"],
      [new Error("bad port"), "BadUrl"],
      [new AggregateError([error("ECONNREFUSED"), error("ENETUNREACH")]), "Refused"],
      [Object.assign(new AggregateError([error("ECONNREFUSED")]), { code: "ECONNREFUSED" }), "Refused"]
    ]
    for (const [thrown, reason] of table) {
      for (const nested of [thrown, fetchFailed(thrown), fetchFailed(new Error("x", { cause: thrown }))]) {
        const failure = HttpExchange.failureFromError(nested, "unknown")
        assert.deepStrictEqual([failure.sent, failure.reason], [false, reason], String(thrown))
        assert.notInclude(JSON.stringify(failure), "secret")
      }
    }
  })

  it("H03, H04: everything else may have been sent", () => {
    const table: ReadonlyArray<unknown> = [
      error("UND_ERR_SOCKET"),
      error("ECONNRESET", { syscall: "read" }),
      error("EPIPE", { syscall: "write" }),
      error("HPE_INVALID_CONSTANT"),
      error("UND_ERR_HEADERS_OVERFLOW"),
      error("UND_ERR_HEADERS_TIMEOUT"),
      error("UND_ERR_BODY_TIMEOUT"),
      error("ETIMEDOUT", { syscall: "read" }),
      error("EHOSTUNREACH", { syscall: "read" }),
      error("ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC"),
      new AggregateError([error("ECONNREFUSED"), error("ECONNRESET")]),
      new TypeError("Failed to fetch"),
      new TypeError("terminated", { cause: error("UND_ERR_SOCKET") }),
      "text",
      undefined,
      null
    ]
    for (const thrown of table) {
      for (const nested of [thrown, fetchFailed(thrown)]) {
        const failure = HttpExchange.failureFromError(nested, "unknown")
        assert.deepStrictEqual([failure.sent, failure.reason], [true, "Lost"], String(thrown))
        assert.notInclude(JSON.stringify(failure), "secret")
      }
    }
  })

  it("H03: what the implementation knows wins over the code", () => {
    assert.deepStrictEqual(HttpExchange.failureFromError(error("ECONNREFUSED"), "sent"), {
      sent: true,
      reason: "Lost",
      code: "ECONNREFUSED",
      detail: "the connection was lost before the answer was complete (ECONNREFUSED)"
    })
    assert.deepStrictEqual(HttpExchange.failureFromError(error("ECONNRESET"), "unsent"), {
      sent: false,
      reason: "Other",
      code: "ECONNRESET",
      detail: "the connection was closed before anything was sent (ECONNRESET)"
    })
    assert.strictEqual(
      HttpExchange.failureFromError(error("ETIMEDOUT", { syscall: "read" }), "unsent").reason,
      "Timeout"
    )
    assert.strictEqual(HttpExchange.failureFromError(error("EPROTO"), "unsent").reason, "Tls")
    assert.strictEqual(HttpExchange.failureFromError(undefined, "unsent").reason, "Other")
  })

  it("the alert of a server that rejects our certificate is not a request that was sent", () => {
    for (const code of ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE"]) {
      const failure = HttpExchange.failureFromError(error(code), "sent")
      assert.deepStrictEqual([failure.sent, failure.reason], [false, "Tls"])
      assert.include(failure.detail, "does not accept our certificate")
    }
  })

  it("a code that is not a code is not shown, and causes in a circle end", () => {
    const circle: { cause?: unknown; code: string } = { code: "secret value of a header" }
    circle.cause = circle
    assert.strictEqual(HttpExchange.failureFromError(circle, "unknown").code, undefined)
  })
})
