/**
 * Stands where the API of a model would: three turns, always the same, in the form of the OpenAI Responses API.
 */
import type { ToolAdapters } from "@mcp-runtime/core"
import { Effect } from "effect"

export type Item =
  | { readonly role: "user"; readonly content: string }
  | { readonly type: "function_call"; readonly call_id: string; readonly name: string; readonly arguments: string }
  | { readonly type: "message"; readonly role: "assistant"; readonly content: string }
  | ToolAdapters.OpenAiResult

export interface Answer {
  readonly output: ReadonlyArray<Item>
}

const call = (id: string, name: string, args: unknown): Item => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: JSON.stringify(args)
})

/** The longer the conversation is, the further it has come. */
export const askModel = (
  conversation: ReadonlyArray<Item>,
  tools: ReadonlyArray<ToolAdapters.OpenAiTool>
): Effect.Effect<Answer> =>
  Effect.sync(() => {
    const results = conversation.filter((item) => "type" in item && item.type === "function_call_output").length
    const nameOf = (end: string) => tools.find(({ name }) => name.endsWith(end))?.name ?? end
    if (results === 0) {
      return {
        output: [
          call("call_1", nameOf("add_note"), { text: "buy milk" }),
          call("call_2", nameOf("add_note"), { text: "sell the house" })
        ]
      }
    }
    // A model may well forget an argument. What it is told lets it ask again.
    if (results === 2) return { output: [call("call_3", nameOf("count"), {})] }
    if (results === 3) return { output: [call("call_4", nameOf("count"), { to: 3 })] }
    return {
      output: [{
        type: "message",
        role: "assistant",
        content: "I have kept the milk, and counted. The house is yours."
      }]
    }
  })

export const messageOf = ({ output }: Answer): string =>
  output.flatMap((item) => ("type" in item && item.type === "message" ? [item.content] : [])).join("\n")
