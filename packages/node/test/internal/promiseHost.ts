/**
 * An application that isn't Effect, in a process of its own. Argument: its options, as JSON. It uses its servers, closes
 * them, and then has nothing left to do; it never says `process.exit`. What it has seen it writes as one line of JSON.
 */
import { McpRuntime } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"

const seen: Record<string, unknown> = {}

const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
    return "it has succeeded"
  } catch (error) {
    const { _tag, message, server } = error as {
      readonly _tag: string
      readonly message: string
      readonly server: string
    }
    return { _tag, message, server, isError: error instanceof Error }
  }
}

process.on("unhandledRejection", (reason) => {
  seen.unhandled = String(reason)
})

const main = async () => {
  const options = JSON.parse(process.argv[2]!) as McpRuntime.RuntimeOptions
  const mcp = await McpRuntime.promise(options, NodeMcp.layer)
  const { active } = mcp.state()
  seen.active = active
  seen.tools = (await mcp.tools()).map(({ items, server }) => [server, items.length])
  const echo = (server: string) => mcp.callTool(server, { name: "echo", arguments: { server } })
  seen.answers = (await Promise.all(active.map(echo))).map(({ content }) => content)
  seen.unknown = await failureOf(mcp.callTool("nobody", { name: "echo" }))

  const controller = new AbortController()
  const hanging = failureOf(mcp.callTool(active[0]!, { name: "hang" }, { signal: controller.signal }))
  const late = failureOf(mcp.callTool(active[0]!, { name: "hang" }, { timeout: 300 }))
  await mcp.callTool(active[0]!, { name: "echo" })
  controller.abort(new Error("not wanted any more"))
  seen.aborted = await hanging
  seen.late = await late

  await mcp.disconnect(active[0]!)
  seen.disconnected = await failureOf(echo(active[0]!))
  await mcp.connect(active[0]!)
  seen.again = (await echo(active[0]!)).content

  const running = failureOf(mcp.callTool(active[0]!, { name: "hang" }))
  await echo(active[0]!)
  await Promise.all([mcp.close(), mcp.close()])
  seen.running = await running
  seen.closed = await failureOf(echo(active[0]!))
}

main().then(
  () => {
    seen.end = "closed"
  },
  (error: unknown) => {
    seen.end = (error as { readonly _tag: string })._tag
  }
).finally(() => process.stdout.write(`${JSON.stringify(seen)}\n`))
