/**
 * The second example of the README: an agent with filtered tools, one of which needs approval.
 */
import { McpManager, ToolApproval, ToolFilter, Toolset } from "@mcp-runtime/core"
import { Effect } from "effect"

export const agent = Effect.gen(function*() {
  const toolset = yield* Toolset.make(yield* McpManager.McpManager, {
    filter: ToolFilter.block("crash", "wait_for_ever"),
    approval: yield* ToolApproval.make({ always: ["add_*"], never: ["*"] })
  })
  const { approve, call, list } = toolset.for()

  const { tools } = yield* list
  const result = yield* call("notes__add_note", { text: "buy milk" }).pipe(
    // A person says yes.
    Effect.catchTag("ApprovalRequired", ({ pending }) => approve(pending))
  )
  return { tools: tools.map((tool) => tool.name), result }
})
