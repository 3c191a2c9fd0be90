/**
 * One step of the plan, as an application would take it.
 */
import { McpConnection, type McpProtocol } from "@mcp-runtime/core"
import { Effect } from "effect"
import { deadlines } from "./lineup.js"
import type { Request, Step } from "./plan.js"
import type { Running } from "./running.js"

/** What never gets an answer of its own is not waited for long. */
const unanswered: ReadonlySet<string> = new Set(["hang", "deaf"])

const optionsOf = (does: string | undefined) => ({
  timeout: does !== undefined && unanswered.has(does) ? deadlines.impatient : deadlines.request,
  maxTotal: deadlines.total
})

const textOf = ({ content }: { readonly content: ReadonlyArray<unknown> }): string =>
  (content[0] as { readonly text: string }).text

/** Gives what the server has answered. */
export const perform = (
  running: Running,
  step: Step,
  onProgress: () => void
): Effect.Effect<unknown, unknown> =>
  step.call === undefined ? request(running, step, step.request!) : call(running, step, step.call, onProgress)

const call = (
  { manager, toolbox }: Running,
  { key, server }: Step,
  { bytes, does, replay, tool, via }: NonNullable<Step["call"]>,
  onProgress: () => void
): Effect.Effect<string, unknown> => {
  const args: McpProtocol.JsonObject = { key, does, ...(bytes > 0 && { padding: "p".repeat(bytes) }) }
  const options: McpConnection.CallOptions = {
    ...optionsOf(does),
    replay,
    onProgress: () => Effect.sync(onProgress)
  }
  const params = { name: tool, arguments: args }
  switch (via) {
    case "manager":
      return Effect.map(manager.callTool(server, params, options), textOf)
    case "connection":
      return manager.connection(server).pipe(
        Effect.flatMap((connection) => McpConnection.callTool(connection, params, options)),
        Effect.map(textOf)
      )
    case "toolset":
      return Effect.flatMap(toolbox.call({ server, tool }, args, options), (result) => {
        switch (result._tag) {
          case "Success":
            return Effect.succeed(textOf(result.result))
          case "Failure":
            return Effect.fail(result.error)
          case "Rejected":
            return Effect.die("nobody has rejected it")
        }
      })
  }
}

const request = (
  { catalog, manager, toolbox }: Running,
  { armed, server }: Step,
  what: Request
): Effect.Effect<unknown, unknown> => {
  if (what === "toolbox") return toolbox.list
  if (what === "catalog") return Effect.all([catalog.tools, catalog.resources, catalog.prompts])
  return Effect.flatMap(manager.connection(server), (connection) => {
    const arming = armed === undefined ? Effect.void : McpConnection.callTool(connection, {
      name: "arm",
      arguments: { method: methods[what], does: armed }
    }, optionsOf(undefined))
    return Effect.zipRight(Effect.ignore(arming), requests[what](connection, optionsOf(armed)))
  })
}

const methods: { readonly [what in Request]?: string } = {
  tools: "tools/list",
  prompts: "prompts/list",
  resources: "resources/list",
  templates: "resources/templates/list"
}

type Connected = Exclude<Request, "toolbox" | "catalog">

const requests: {
  readonly [what in Connected]: (
    connection: McpConnection.McpConnection,
    options: McpConnection.CallOptions
  ) => Effect.Effect<unknown, unknown>
} = {
  tools: McpConnection.listTools,
  prompts: McpConnection.listPrompts,
  resources: McpConnection.listResources,
  templates: McpConnection.listResourceTemplates,
  prompt: (connection, options) => McpConnection.getPrompt(connection, { name: "hello" }, options),
  resource: (connection, options) => McpConnection.readResource(connection, "soak://one", options),
  subscribe: (connection, options) => McpConnection.subscribe(connection, "soak://two", options),
  unsubscribe: (connection, options) => McpConnection.unsubscribe(connection, "soak://two", options),
  level: (connection, options) => McpConnection.setLogLevel(connection, "error", options),
  complete: (connection, options) =>
    McpConnection.complete(connection, {
      ref: { type: "ref/prompt", name: "hello" },
      argument: { name: "a", value: "h" }
    }, options),
  ping: McpConnection.ping
}
