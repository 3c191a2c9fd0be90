/**
 * What the last listings said, as far as a connection itself needs it: to check arguments before anything is sent, to know
 * which tools may be called twice, and to list again what was listed before the session was lost.
 *
 * Owns: the last complete listing of each kind, and whether it may be out of date.
 * May not touch: caching for callers.
 */
import * as McpError from "../../McpError.js"
import * as McpProtocol from "../../McpProtocol.js"

export type Kind = "tools" | "prompts" | "resources" | "templates"

/** A map, since a server may call a notification `constructor`. */
const kindsOfNotification: ReadonlyMap<string, ReadonlyArray<Kind>> = new Map<string, ReadonlyArray<Kind>>([
  ["notifications/tools/list_changed", ["tools"]],
  ["notifications/prompts/list_changed", ["prompts"]],
  ["notifications/resources/list_changed", ["resources", "templates"]]
])

export class Known {
  /** How often each kind was called out of date, so that a listing under way is not taken for a newer one. */
  private readonly versions = new Map<Kind, number>()
  /** With which version the listing began that is remembered. */
  private readonly remembered = new Map<Kind, number>()
  private tools: ReadonlyMap<string, McpProtocol.Tool> = new Map()

  /** What was listed, and is to be listed again in a new session. */
  get kinds(): ReadonlyArray<Kind> {
    return [...this.remembered.keys()]
  }

  tool(name: string): McpProtocol.Tool | undefined {
    return this.tools.get(name)
  }

  isStale(kind: Kind): boolean {
    return (this.remembered.get(kind) ?? 0) < this.version(kind)
  }

  version(kind: Kind): number {
    return this.versions.get(kind) ?? 0
  }

  /** A listing that began at this version is complete. It may be older than one that was complete before. */
  remember(kind: Kind, version: number, items: ReadonlyArray<unknown>): void {
    if (version < (this.remembered.get(kind) ?? 0)) return
    this.remembered.set(kind, version)
    if (kind === "tools") {
      this.tools = new Map((items as ReadonlyArray<McpProtocol.Tool>).map((tool) => [tool.name, tool]))
    }
  }

  /** The server has said so, or may have said so while it could not be heard. */
  outdate(kinds: ReadonlyArray<Kind>): void {
    for (const kind of kinds) this.versions.set(kind, this.version(kind) + 1)
  }

  hear(notification: McpProtocol.Notification): void {
    const kinds = kindsOfNotification.get(notification.method)
    if (kinds !== undefined) this.outdate(kinds)
  }

  /** Whether the server calls it harmless to run twice. */
  isIdempotent(name: string): boolean {
    const annotations = this.tool(name)?.annotations
    return annotations?.readOnlyHint === true || annotations?.idempotentHint === true
  }

  /** What is wrong with the arguments of a call, as far as the last listing tells: required ones must be there. */
  problem(server: string, name: string, args: unknown): McpError.ArgumentsInvalid | undefined {
    const problems = problemsOf(this.tool(name), args)
    return problems.length === 0 ? undefined : new McpError.ArgumentsInvalid({
      server,
      operation: "tools/call",
      executed: "no",
      tool: McpError.displayText(name, 256),
      problems
    })
  }
}

const none: ReadonlyArray<McpError.ConfigProblem> = []

const problemsOf = (tool: McpProtocol.Tool | undefined, args: unknown): ReadonlyArray<McpError.ConfigProblem> => {
  if (args !== undefined && !McpProtocol.isObject(args)) {
    return [{ field: "arguments", problem: "must be an object" }]
  }
  const required = tool?.inputSchema.required
  if (!Array.isArray(required)) return none
  let problems: Array<McpError.ConfigProblem> | undefined = undefined
  for (const key of required as ReadonlyArray<unknown>) {
    // What is undefined does not become JSON.
    if (typeof key !== "string" || (args !== undefined && Object.hasOwn(args, key) && args[key] !== undefined)) continue
    problems ??= []
    problems.push({ field: `arguments.${McpError.displayText(key, 128)}`, problem: "is required" })
  }
  return problems ?? none
}
