/**
 * An agent: a model is told which tools there are, asks for calls, is told what came of them, and so on until it answers. The
 * model is a fake one that speaks the OpenAI Responses API; what is around it is what an application writes.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpManager, McpRuntime, ToolAdapters, ToolApproval, ToolFilter, ToolOutput, Toolset } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Console, Effect, Layer } from "effect"
import { askModel, type Item, messageOf } from "./servers/fakeModel.js"
import { notesServer } from "./servers/start.js"

const live = McpRuntime.layer({ servers: [{ name: "notes", transport: "stdio", ...notesServer }] }).pipe(
  Layer.provide(NodeMcp.layer)
)

/** A real application asks a person, perhaps tomorrow and in another process. */
const mayCall = ({ arguments: args, name }: ToolApproval.PendingApproval) =>
  Effect.as(Console.log(`  a person is asked: ${name} ${JSON.stringify(args)}`), args.text === "buy milk")

const runCall = <R>({ approve, call, reject }: Toolset.Toolbox<R, string>, asked: ToolAdapters.Call) =>
  call(asked.name, asked.arguments).pipe(
    Effect.catchTag(
      "ApprovalRequired",
      ({ pending }) =>
        Effect.flatMap(
          mayCall(pending),
          (yes) => yes ? approve(pending) : reject(pending, "the user does not want that")
        )
    ),
    Effect.tap((result) => Console.log(`  ${asked.name}: ${result._tag === "Success" ? result.output : result.text}`)),
    // As it is: where the API has a sign for failures, those and rejections get it.
    Effect.map((result) => ToolAdapters.openAi.result(asked, result))
  )

const agent = Effect.gen(function*() {
  const toolset = yield* Toolset.make(yield* McpManager.McpManager, {
    filter: ToolFilter.allow("add_note", "count"),
    approval: yield* ToolApproval.make({ always: ["add_*"], never: ["*"] }),
    output: ToolOutput.text
  })
  const toolbox = toolset.for()

  let conversation: ReadonlyArray<Item> = [{
    role: "user",
    content: "Remember the milk, sell the house, and count to 3."
  }]
  for (let turn = 1; turn <= 10; turn++) {
    // Listed anew in each turn, which costs nothing: a tool that has come or gone meanwhile is seen.
    const { tools } = yield* toolbox.list
    const answer = yield* askModel(conversation, ToolAdapters.openAi.tools(tools))
    const calls = ToolAdapters.openAi.calls(answer)
    if (calls.length === 0) return yield* Console.log(`the model: ${messageOf(answer)}`)

    yield* Console.log(`turn ${turn}: the model asks for ${calls.length} call(s)`)
    const results = yield* Effect.forEach(calls, (asked) => runCall(toolbox, asked), { concurrency: 4 })
    conversation = [...conversation, ...answer.output, ...results]
  }
})

NodeRuntime.runMain(Effect.provide(agent, live))
