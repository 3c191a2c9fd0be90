/**
 * What a scripted server does where its script says nothing.
 *
 * Owns: the default answers to `initialize`, `ping`, `tools/list` and `tools/call`.
 * May not touch: sessions, the wire.
 */
import * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Effect from "effect/Effect"
import type * as ScriptedServer from "../ScriptedServer.js"
import { RpcError } from "./scriptedMessages.js"

export const handlers = (options: ScriptedServer.Options): { readonly [method: string]: ScriptedServer.Handler } => {
  const tools = options.tools ?? [{ name: "echo", description: "Gives its arguments back" }]
  return {
    initialize: (request) => Effect.sync(() => initialize(options, request)),
    ping: () => Effect.succeed({}),
    "tools/list": (request) => Effect.suspend(() => listTools(tools, options.pageSize ?? tools.length, request)),
    "tools/call": (request, peer) => Effect.suspend(() => callTool(tools, request, peer))
  }
}

const initialize = (options: ScriptedServer.Options, request: ScriptedServer.Request): McpProtocol.JsonObject => {
  const versions = options.protocolVersions ?? McpProtocol.supportedProtocolVersions
  const asked = request.params.protocolVersion
  return {
    protocolVersion: typeof asked === "string" && versions.includes(asked) ? asked : versions[0],
    capabilities: options.capabilities ?? { tools: {} },
    serverInfo: options.info ?? { name: "scripted", version: "0.0.0" },
    ...(options.instructions !== undefined && { instructions: options.instructions })
  }
}

const listTools = (
  tools: ReadonlyArray<ScriptedServer.ScriptedTool>,
  pageSize: number,
  request: ScriptedServer.Request
): Effect.Effect<unknown, RpcError> => {
  const { cursor } = request.params
  const from = cursor === undefined ? 0 : Number(cursor)
  if (!Number.isInteger(from) || from < 0 || from > tools.length) return invalidParams("there is no such page")
  const to = from + Math.max(pageSize, 1)
  return Effect.succeed({
    tools: tools.slice(from, to).map(({ call: _, ...tool }) => ({ inputSchema: { type: "object" }, ...tool })),
    ...(to < tools.length && { nextCursor: String(to) })
  })
}

const callTool = (
  tools: ReadonlyArray<ScriptedServer.ScriptedTool>,
  request: ScriptedServer.Request,
  peer: ScriptedServer.Peer
): ReturnType<ScriptedServer.Handler> => {
  const tool = tools.find((_) => _.name === request.params.name)
  if (tool === undefined) return invalidParams(`there is no tool "${String(request.params.name)}"`)
  const args = McpProtocol.isObject(request.params.arguments) ? request.params.arguments : {}
  return tool.call === undefined
    ? Effect.succeed(text(JSON.stringify(args)))
    : Effect.map(tool.call(args, request, peer), (value) => typeof value === "string" ? text(value) : value)
}

const text = (text: string): McpProtocol.CallToolResult => ({ content: [{ type: "text", text }] })

const invalidParams = (message: string) =>
  Effect.fail(new RpcError({ code: McpProtocol.ErrorCode.InvalidParams, message }))
