/**
 * How an error of the wire becomes the error of one request.
 */
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import { operationFor } from "../errors/connecting.js"
import * as Secrets from "../secrets.js"
import type { ShownFrame } from "../telemetry/lastFrames.js"

type Constructor = new(fields: object) => McpError.McpError

/** The same error for who asked for this operation: what a closed connection means to each request that was waiting. */
export const about = (
  error: McpError.McpError,
  operation: string,
  executed: McpError.Executed
): McpError.McpError => {
  const { _tag: _, ...fields } = error as unknown as Record<string, unknown>
  return new (error.constructor as Constructor)({ ...fields, operation: operationFor(error, operation), executed })
}

/** The same error without secrets that a server has repeated in what it is about. */
export const without = (error: McpError.McpError, secrets: ReadonlyArray<string>): McpError.McpError => {
  const { _tag: _, executed, operation, server, ...said } = error as unknown as Record<string, unknown>
  const shown = Secrets.withoutInValue(said, secrets)
  return shown === said
    ? error
    : new (error.constructor as Constructor)({ ...shown as object, server, operation, executed })
}

/** Those of the protocol: what was said before them says what has gone wrong. */
const withConversation: ReadonlySet<string> = new Set<McpError.McpError["_tag"]>([
  "HandshakeFailed",
  "ConnectionClosed",
  "RequestTimeout",
  "ResponseLost",
  "ProtocolViolation",
  "InvalidResult"
])

/** The same error with what was said last, where it is one of the protocol. */
export const withFrames = (
  error: McpError.McpError,
  lastFrames: () => ReadonlyArray<ShownFrame>
): McpError.McpError => {
  if (!withConversation.has(error._tag) || "lastFrames" in error) return error
  const shown = lastFrames()
  if (shown.length === 0) return error
  const { _tag: _, ...fields } = error as unknown as Record<string, unknown>
  return new (error.constructor as Constructor)({ ...fields, lastFrames: shown })
}

const unsent = new WeakSet<McpError.McpError>()

/** The error of a request that was never handed to the wire: it waited, or the session was over. */
export const ofUnsent = (error: McpError.McpError): McpError.McpError => {
  unsent.add(error)
  return error
}

export const isUnsent = (error: McpError.McpError): boolean => unsent.has(error)

/** What runs there may have asked for something itself, of us or of a server behind its own, and pass on the refusal. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"])

const executedOf = (operation: string, code: number): McpError.Executed =>
  code === McpProtocol.ErrorCode.UrlElicitationRequired ||
    (code === McpProtocol.ErrorCode.MethodNotFound && !asking.has(operation))
    ? "no"
    : "maybe"

/**
 * A JSON-RPC error of the server. Only two codes promise that nothing was executed: servers use -32602 also for results
 * that failed their own validation, after the tool ran. The server may repeat `secrets`, which are not shown.
 */
export const remote = (
  server: string,
  operation: string,
  error: unknown,
  secrets: ReadonlyArray<string> = Secrets.none
): McpError.McpError => {
  const { code, message, ...rest } = McpProtocol.isObject(error)
    ? error
    : { code: undefined, data: undefined, message: undefined }
  const data = Secrets.withoutInValue(rest.data, secrets)
  const numeric = typeof code === "number" ? code : McpProtocol.ErrorCode.InternalError
  const reason = typeof message === "string" ? Secrets.shown(message, secrets, 4096) : "(no message)"
  const executed = executedOf(operation, numeric)
  if (numeric === McpProtocol.ErrorCode.UrlElicitationRequired) {
    const elicitations = urlElicitations(data)
    if (elicitations.length > 0) {
      return new McpError.ElicitationRequired({ server, operation, executed, reason, elicitations })
    }
  }
  return new McpError.RemoteError({ server, operation, executed, code: numeric, reason, data })
}

/** As many requests are under way as may be. */
export const tooManyInFlight = (server: string, operation: string, max: number): McpError.McpError =>
  new McpError.LimitExceeded({ server, operation, executed: "no", limit: "inFlight", max })

/** What the server has answered can't be used; it ran. */
export const invalid = (
  server: string,
  operation: string,
  detail: string,
  result: unknown,
  secrets: ReadonlyArray<string>
): McpError.McpError =>
  new McpError.InvalidResult({
    server,
    operation,
    executed: "yes",
    detail: Secrets.without(detail, secrets),
    result: Secrets.withoutInValue(result, secrets)
  })

const urlElicitations = (data: unknown): Array<{ elicitationId: string; url: string; message: string }> => {
  const list = McpProtocol.isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : []
  return list.filter((_) => McpProtocol.isObject(_) && typeof _.elicitationId === "string" && typeof _.url === "string")
    .map((_) => ({
      elicitationId: _.elicitationId,
      url: _.url,
      message: typeof _.message === "string" ? _.message : ""
    }))
}

/** What a failed `initialize` means. */
export const handshake = (error: McpError.McpError, requested: string): McpError.McpError => {
  switch (error._tag) {
    case "RemoteError": {
      const offered = supportedVersions(error.data)
      if (offered !== undefined) {
        return new McpError.VersionMismatch({
          server: error.server,
          operation: error.operation,
          executed: "no",
          requested,
          offered,
          supported: McpProtocol.supportedProtocolVersions
        })
      }
      if (error.code === McpProtocol.ErrorCode.MethodNotFound) {
        return new McpError.ProtocolViolation({
          server: error.server,
          operation: error.operation,
          executed: "no",
          detail:
            `it does not know "initialize"; the program answers, but it is not an MCP server of a supported revision`
        })
      }
      return new McpError.HandshakeFailed({
        server: error.server,
        operation: error.operation,
        executed: "no",
        detail: `the server refused "initialize" with error ${error.code}: ${error.reason}`,
        code: error.code,
        data: error.data
      })
    }
    case "ConnectionClosed":
      return error.reason === "Closing" ? error : new McpError.HandshakeFailed({
        server: error.server,
        operation: error.operation,
        executed: "no",
        detail: error.detail,
        exit: error.exit,
        stderrTail: error.stderrTail,
        ...(error.lastFrames !== undefined && { lastFrames: error.lastFrames })
      })
    default:
      return error
  }
}

const supportedVersions = (data: unknown): ReadonlyArray<string> | undefined =>
  McpProtocol.isObject(data) && Array.isArray(data.supported)
    ? data.supported.filter((_) => typeof _ === "string").slice(0, 16).map((_) => McpError.displayText(_, 64))
    : undefined
