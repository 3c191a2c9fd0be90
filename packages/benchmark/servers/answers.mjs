/**
 * The answers that both servers give, as text that is ready but for the id.
 *
 * Owns: what is in a result. May not touch: pipes and sockets.
 */

const tool = (i, withOutput) => ({
  name: `tool_${i}`,
  title: `Tool ${i}`,
  description: `Does the thing number ${i}: looks something up by its identifier and reports what it has found there.`,
  inputSchema: {
    type: "object",
    properties: {
      [`id_${i}`]: { type: "string", description: "What to look up" },
      limit: { type: "integer", minimum: 1, maximum: 100 + i },
      fields: { type: "array", items: { type: "string", enum: ["name", "size", "owner", `field_${i}`] } }
    },
    required: [`id_${i}`]
  },
  ...(withOutput && {
    outputSchema: {
      type: "object",
      properties: {
        [`item_${i}`]: { type: "string" },
        count: { type: "integer", minimum: 0 },
        rows: {
          type: "array",
          items: { type: "object", properties: { name: { type: "string" }, size: { type: "number" } }, required: ["name"] }
        }
      },
      required: [`item_${i}`, "count"]
    }
  })
})

/** `count` tools, numbered from `first`, of which every `every`th has an output schema. */
export const toolsResult = (count, every, first = 0) =>
  JSON.stringify({ tools: Array.from({ length: count }, (_, i) => tool(first + i, i % every === 0)) })

const callable = (name) => ({
  name,
  description: `Answers with a text that is always the same (${name}).`,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true }
})

/** The tools that are called. Some clients call only what they have listed. */
export const callableTools = JSON.stringify({ tools: ["echo", "big", "forget"].map(callable) })

const text = (value) => JSON.stringify({ content: [{ type: "text", text: value }] })

/** The result of the tool `echo`: small, and the same whatever was asked, so that the server costs next to nothing. */
export const smallResult = text("x")

/** The result of the tool `big`: one text of 1 MB. */
export const bigResult = text("0123456789abcdef".repeat(65_536))

const initializeResult = (protocolVersion) =>
  JSON.stringify({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "bench", version: "1.0.0" }
  })

/** One JSON-RPC response. */
export const response = (id, result) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`

/** What a request is that this server does not know: to some clients it tells which revision of the protocol this is. */
const unknownMethod = (id) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"Method not found"}}`

/** One JSON-RPC response to whatever came, or `undefined` for what is no request. */
export const answerTo = (message, tools) => {
  const result = resultFor(message, tools)
  if (result !== undefined) return response(message.id, result)
  return message.id === undefined || message.method === undefined ? undefined : unknownMethod(message.id)
}

/** The text of the result for a request, or `undefined` for what is no request that it knows. */
export const resultFor = (message, tools) => {
  if (message.id === undefined) return undefined
  switch (message.method) {
    case "tools/call":
      return message.params.name === "big" ? bigResult : smallResult
    case "tools/list":
      return tools
    case "initialize":
      return initializeResult(message.params.protocolVersion)
    case "ping":
    case "logging/setLevel":
      return "{}"
    default:
      return undefined
  }
}
