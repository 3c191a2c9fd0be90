/**
 * From what a platform threw to an `HttpFailure`.
 *
 * Owns: which codes prove that nothing was sent, and the words for them.
 * May not touch: texts of the platform. They may hold addresses, headers or bytes of the answer; only codes are taken.
 */
import type { HttpFailure, HttpListener } from "../../HttpExchange.js"

type Reason = HttpFailure["reason"]

/** @internal */
export type Stage = "unsent" | "sent" | "unknown"

/** Codes that only an attempt to connect can have, unless their system call says otherwise. */
const connecting: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ["ECONNREFUSED", "Refused"],
  ["ConnectionRefused", "Refused"],
  ["ENOTFOUND", "NameNotFound"],
  ["EAI_AGAIN", "NameNotFound"],
  ["EAI_FAIL", "NameNotFound"],
  ["EAI_NONAME", "NameNotFound"],
  ["EAI_NODATA", "NameNotFound"],
  ["EHOSTUNREACH", "Unreachable"],
  ["ENETUNREACH", "Unreachable"],
  ["EADDRNOTAVAIL", "Unreachable"],
  ["EHOSTDOWN", "Unreachable"],
  ["ENETDOWN", "Unreachable"],
  ["FailedToOpenSocket", "Unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "Timeout"],
  ["ETIMEDOUT", "Timeout"],
  ["ERR_INVALID_URL", "BadUrl"],
  ["ERR_SOCKET_BAD_PORT", "BadUrl"],
  ["ERR_UNESCAPED_CHARACTERS", "BadUrl"]
])

const certificate =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CRL_|ERROR_IN_C|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_|HOSTNAME_|ERR_TLS_)/

const tlsHandshake =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|.*ALERT_(HANDSHAKE_FAILURE|PROTOCOL_VERSION|UNRECOGNIZED_NAME|NO_APPLICATION_PROTOCOL|CERTIFICATE_\w+|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE))$/

/** The alerts of a server that did not accept our certificate. It sends them in place of reading the request. */
const certificateAlert = /^ERR_SSL_.*ALERT_(CERTIFICATE_\w+|BAD_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE)$/

const anyTls = /^(ERR_SSL_|ERR_OSSL_|EPROTO$)/

interface Found {
  readonly code: string | undefined
  /** Set when the code proves that nothing was sent. */
  readonly reason: Reason | undefined
}

const nothing: Found = { code: undefined, reason: undefined }

const prove = (code: string, syscall: unknown): Reason | undefined => {
  if (certificate.test(code) || tlsHandshake.test(code)) return "Tls"
  const reason = connecting.get(code)
  return syscall === "read" || syscall === "write" ? undefined : reason
}

/** Looks into causes and into the attempts of an `AggregateError`: several prove something only if each one does. */
const find = (error: unknown, depth: number): Found => {
  if (typeof error !== "object" || error === null || depth > 5) return nothing
  const self = error as {
    readonly code?: unknown
    readonly syscall?: unknown
    readonly errors?: unknown
    readonly cause?: unknown
    readonly message?: unknown
  }
  const code = typeof self.code === "string" && /^\w{1,64}$/.test(self.code) ? self.code : undefined
  if (Array.isArray(self.errors) && self.errors.length > 0) {
    const found = self.errors.slice(0, 16).map((_) => find(_, depth + 1))
    const first = found.find((_) => _.code !== undefined) ?? nothing
    return { code: first.code ?? code, reason: found.every((_) => _.reason !== undefined) ? first.reason : undefined }
  }
  if (code !== undefined) return { code, reason: prove(code, self.syscall) }
  if (self.message === "bad port") return { code: undefined, reason: "BadUrl" }
  return find(self.cause, depth + 1)
}

const tlsWords = (code: string | undefined): string => {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return "the certificate of the server has expired"
    case "CERT_NOT_YET_VALID":
      return "the certificate of the server is not valid yet"
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "the certificate of the server is for another host"
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return "the server does not speak TLS on this port"
    default:
      return code !== undefined && certificateAlert.test(code)
        ? "the server does not accept our certificate"
        : code !== undefined && certificate.test(code)
        ? "the certificate of the server is not trusted"
        : "no secure connection could be made"
  }
}

const lostWords = (code: string | undefined): string => {
  if (code === undefined) return "the connection was lost before the answer was complete"
  if (code.startsWith("HPE_")) return "what came back is not HTTP"
  switch (code) {
    case "UND_ERR_HEADERS_OVERFLOW":
      return "the headers of the answer are too large"
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return "the body of the answer has another length than announced"
    case "ECONNRESET":
      return "the connection was reset before the answer was complete"
    default:
      return "the connection was lost before the answer was complete"
  }
}

const words = (reason: Reason, code: string | undefined): string => {
  switch (reason) {
    case "Refused":
      return "the connection was refused"
    case "NameNotFound":
      return "the name of the host was not found"
    case "Unreachable":
      return "the host can't be reached"
    case "Timeout":
      return "the connection was not made in time"
    case "Tls":
      return tlsWords(code)
    case "BadUrl":
      return "the URL can't be used"
    case "Proxy":
      return "the proxy can't be used"
    case "Lost":
      return lostWords(code)
    case "TooLarge":
      return "the answer is too large"
    case "Other":
      return code === "ECONNRESET" || code === "EPIPE"
        ? "the connection was closed before anything was sent"
        : "the request could not be sent"
  }
}

/** @internal */
export const make = (sent: boolean, reason: Reason, detail: string, code?: string): HttpFailure =>
  code === undefined ? { sent, reason, detail } : { sent, reason, code, detail: `${detail} (${code})` }

/** @internal */
export const badUrl: HttpFailure = make(false, "BadUrl", "not an http:// or https:// URL")

/** @internal */
export const redirectHidden: HttpFailure = make(
  true,
  "BadUrl",
  "the server redirects to another URL; redirects are not followed, and this platform does not say where to"
)

/** @internal */
export const channelClosed: HttpFailure = make(false, "Other", "the channel is closed")

/**
 * Reports a failure of a request that was not tried: later, as every report, so that `send` has returned.
 *
 * @internal
 */
export const refuse = (listener: HttpListener, failure: HttpFailure): () => void => {
  let aborted = false
  queueMicrotask(() => {
    if (!aborted) listener.failed(failure)
  })
  return () => {
    aborted = true
  }
}

/** @internal */
export const fromError = (error: unknown, stage: Stage): HttpFailure => {
  const { code, reason } = find(error, 0)
  if (stage === "unsent") {
    const why = reason ?? (code !== undefined && (anyTls.test(code)) ? "Tls" : connecting.get(code ?? "") ?? "Other")
    return make(false, why, words(why, code), code)
  }
  const proven = stage === "unknown"
    ? reason
    : code !== undefined && certificateAlert.test(code)
    ? "Tls"
    : undefined
  return proven === undefined
    ? make(true, "Lost", words("Lost", code), code)
    : make(false, proven, words(proven, code), code)
}
