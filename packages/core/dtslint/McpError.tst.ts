import { McpError } from "@mcp-runtime/core"
import { describe, expect, it } from "tstyche"

declare const error: McpError.McpError

describe("McpError", () => {
  it("is a closed family, the same as type and as schema", () => {
    expect<McpError.McpError["_tag"]>().type.toBe<
      | "ArgumentsInvalid"
      | "CapabilityMissing"
      | "CloseFailed"
      | "ConfigInvalid"
      | "ConnectFailed"
      | "ConnectionClosed"
      | "ConnectionUnavailable"
      | "ElicitationRequired"
      | "Forbidden"
      | "HandshakeFailed"
      | "HttpError"
      | "InvalidResult"
      | "LimitExceeded"
      | "MetaFailed"
      | "OutcomeUnknown"
      | "OutputInvalid"
      | "ProtocolViolation"
      | "RemoteError"
      | "RequestTimeout"
      | "ResponseLost"
      | "ServersFailed"
      | "SessionExpired"
      | "SpawnFailed"
      | "TaskFailed"
      | "ToolFailed"
      | "ToolNotFound"
      | "Unauthorized"
      | "UnknownServer"
      | "VersionMismatch"
    >()
    expect<typeof McpError.McpError.Type>().type.toBe<McpError.McpError>()
    expect(McpError.isTransient).type.toBe<(error: McpError.McpError) => boolean>()
  })

  it("says for each whether it was executed, by which server and what", () => {
    expect(error.executed).type.toBe<"no" | "maybe" | "yes">()
    expect<McpError.McpError>().type.toBeAssignableTo<{ readonly server: string; readonly operation: string }>()
  })

  it("an unknown outcome is that of a request that was sent", () => {
    expect<McpError.OutcomeUnknown["error"]["_tag"]>().type.toBe<
      "ConnectionClosed" | "HttpError" | "ProtocolViolation" | "RequestTimeout" | "ResponseLost"
    >()
    expect<McpError.ConnectionUnavailable["reason"]>().type.toBe<"Disabled" | "Released" | "CrashLoop" | "Connecting">()
    expect<McpError.RequestTimeout["kind"]>().type.toBe<"idle" | "total" | "handshake" | "send" | "wait">()
  })
})
