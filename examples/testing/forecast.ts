/**
 * A part of an application, as it is tested beside this file.
 */
import { McpManager } from "@mcp-runtime/core"
import { Effect } from "effect"

/** The forecast for a city, or a word of regret within 5 seconds. */
export const forecast = Effect.fnUntraced(function*(city: string) {
  const manager = yield* McpManager.McpManager
  const { content } = yield* manager.callTool(
    "weather",
    { name: "forecast", arguments: { city } },
    { timeout: "5 seconds" }
  )
  return content.map((block) => (block.type === "text" ? block.text : "")).join("")
}, Effect.catchTag("OutcomeUnknown", () => Effect.succeed("No forecast today.")))
