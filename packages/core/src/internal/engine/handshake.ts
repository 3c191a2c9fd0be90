/**
 * The handshake of revisions up to 2025-11-25: `initialize`, the choice of a version, `notifications/initialized`.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"
import type * as McpTransport from "../../McpTransport.js"
import { withoutNulls } from "../protocol/json.js"
import * as Secrets from "../secrets.js"
import type { Call, Decoder, Engine } from "./engine.js"
import * as Errors from "./errors.js"

export interface Hello {
  readonly server: string
  readonly clientInfo: McpProtocol.Implementation
  readonly capabilities: McpProtocol.ClientCapabilities
  /** Whether the server may speak unasked. */
  readonly listen: boolean
}

/** Its deadline is that of the whole `open`. */
const unbounded: Call = {
  idle: Number.POSITIVE_INFINITY,
  total: Number.POSITIVE_INFINITY,
  progress: false,
  onProgress: undefined,
  ungated: true
}

export const handshake = (
  engine: Engine,
  transport: McpTransport.MessageTransport,
  hello: Hello
): Effect.Effect<McpProtocol.ServerInfo, McpError.McpError> =>
  Effect.gen(function*() {
    const params = {
      protocolVersion: McpProtocol.latestProtocolVersion,
      capabilities: hello.capabilities as McpProtocol.JsonObject,
      clientInfo: hello.clientInfo
    }
    const info = yield* engine.request("initialize", params, decodeInitialize, unbounded)
    if (!McpProtocol.supportedProtocolVersions.includes(info.protocolVersion)) {
      return yield* Effect.fail(
        new McpError.VersionMismatch({
          server: hello.server,
          operation: "initialize",
          executed: "no",
          requested: McpProtocol.latestProtocolVersion,
          offered: [Secrets.shown(info.protocolVersion, engine.secrets, 64)],
          supported: McpProtocol.supportedProtocolVersions
        })
      )
    }
    transport.negotiated(info.protocolVersion)
    yield* engine.post({ jsonrpc: "2.0", method: "notifications/initialized" }, "notifications/initialized")
    if (hello.listen) yield* transport.listen
    return info
  }).pipe(
    Effect.mapError((error) =>
      Errors.withFrames(Errors.handshake(error, McpProtocol.latestProtocolVersion), engine.lastFrames)
    )
  )

/** Lenient: servers forget their name and their capabilities, but a version there must be. */
const decodeInitialize: Decoder<McpProtocol.ServerInfo> = (result) => {
  if (!McpProtocol.isObject(result)) return { problem: "the result of initialize is not an object" }
  const { capabilities, instructions, protocolVersion, serverInfo } = result
  if (typeof protocolVersion !== "string") return { problem: `"protocolVersion" is not a text` }
  const value: McpProtocol.ServerInfo = {
    implementation: decodeImplementation(serverInfo),
    capabilities: McpProtocol.isObject(capabilities) ? withoutNulls(capabilities) : Object.freeze({}),
    ...(typeof instructions === "string" && { instructions }),
    protocolVersion
  }
  return { value: Object.freeze(value) }
}

const decodeImplementation = (u: unknown): McpProtocol.Implementation =>
  Object.freeze(
    McpProtocol.isObject(u)
      ? {
        ...withoutNulls(u),
        name: typeof u.name === "string" ? u.name : "unknown",
        version: typeof u.version === "string" ? u.version : "unknown"
      }
      : { name: "unknown", version: "unknown" }
  )
