/**
 * The right tools for an agent, safely called.
 *
 * Owns: the way of a tool to an agent (catalogue, filter, name, schema) and of a call to its server (name, arguments, approval,
 * connection, output). Each step is a module of its own; this one says in which order they are gone.
 * May not touch: connections. It calls tools through them.
 *
 * ```text
 * list:  catalogue -> filter -> name -> schema
 * call:  name -> filter -> arguments -> approval -> metadata -> hook -> connection -> output schema -> output
 *                                                                             \-> failure
 * ```
 *
 * A *toolset* is what an application configures once; a *toolbox* is what one agent in one run gets of it. Names never decide
 * where a call goes: each belongs to a server and the name that the server gave to its tool.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as internal from "./internal/toolset/toolset.js"
import type * as McpConnection from "./McpConnection.js"
import type * as McpError from "./McpError.js"
import type * as McpManager from "./McpManager.js"
import type * as McpProtocol from "./McpProtocol.js"
import type * as ToolApproval from "./ToolApproval.js"
import type * as ToolFailure from "./ToolFailure.js"
import type * as ToolFilter from "./ToolFilter.js"
import type * as ToolNaming from "./ToolNaming.js"
import type * as ToolOutput from "./ToolOutput.js"
import type * as ToolRequest from "./ToolRequest.js"

/**
 * A tool as an agent gets it. Frozen.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentTool {
  /** The same in every process and run, whatever its name: it tells the tool among all of the toolset. */
  readonly id: string
  /** The name for the agent. */
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  /** The schema of its arguments for the model. The server's own is in `definition`. */
  readonly inputSchema: McpProtocol.JsonObject
  /** Whether the model can be held to `inputSchema`. */
  readonly strict: boolean
  /** Only where it is wished for models. */
  readonly outputSchema: McpProtocol.JsonObject | undefined
  readonly annotations: McpProtocol.ToolAnnotations | undefined
  /** The configured name of its server. */
  readonly server: string
  /** The name that its server gave to it. */
  readonly tool: string
  /** Known from an earlier run, while its server is not connected: a call connects it. */
  readonly deferred: boolean
  /** What its server says of it. */
  readonly definition: McpProtocol.Tool
}

/**
 * The tools that an agent gets, in configured order of their servers.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolList {
  readonly tools: ReadonlyArray<AgentTool>
  /**
   * The servers whose tools are not there, or may be out of date, and why. `UnknownServer`: a name in `only` or `servers` that no
   * server has, so that what is settled for it holds for nobody.
   */
  readonly problems: ReadonlyArray<{ readonly server: string; readonly error: McpError.McpError }>
}

/**
 * What can be settled for one server, and for all of them.
 *
 * @since 0.1.0
 * @category options
 */
export interface ServerOptions<in Request, out R, out A> {
  /** Default: all tools. That of a server and that of the toolset must both show a tool. */
  readonly filter?: ToolFilter.ToolFilter<Request, R> | undefined
  /** Default: no call needs approval. That of a server takes the place of that of the toolset. */
  readonly approval?: ToolApproval.ToolApproval<Request, R> | undefined
  /** What a call that has failed gives. Default: `ToolFailure.explained`. */
  readonly failure?: ToolFailure.ToolFailure<R> | undefined
  /** What a result becomes. Default: `ToolOutput.make()`. */
  readonly output?: ToolOutput.ToolOutput<A> | undefined
  /** What a result is with which a tool says that it has failed: a result, or `ToolFailed`. Default: `"value"`. */
  readonly onToolError?: "value" | "fail" | undefined
  /** Whether arguments must fit the whole input schema, and not only have what it requires. Default: `false`. */
  readonly validateArguments?: boolean | undefined
  /** Whether structured content must fit the output schema. Default: `true`. */
  readonly validateOutput?: boolean | undefined
}

/**
 * What is sent along with a call as `_meta`, or not at all. A fresh object for each call. Where it fails, the tool is not
 * called.
 *
 * @since 0.1.0
 * @category options
 */
export type MetaResolver<in Request, out R> = (
  call: OutgoingCall,
  request: Request | undefined
) => McpProtocol.JsonObject | undefined | Effect.Effect<McpProtocol.JsonObject | undefined, unknown, R>

/**
 * A call on its way to a server.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutgoingCall extends ToolNaming.ToolIdentity {
  /** The name for the agent. */
  readonly name: string
  readonly arguments: McpProtocol.JsonObject
}

/**
 * Wraps the calls of tools: to change or watch them, to hold them back, to call again, or to answer from elsewhere. `next` calls
 * the tool, with other arguments or metadata if wished.
 *
 * @since 0.1.0
 * @category options
 */
export type CallHook<out R> = (
  call: OutgoingCall,
  next: (
    change?: { readonly arguments?: McpProtocol.JsonObject; readonly meta?: McpProtocol.JsonObject }
  ) => Effect.Effect<McpProtocol.CallToolResult, McpError.McpError>
) => Effect.Effect<McpProtocol.CallToolResult, McpError.McpError, R>

/**
 * How a toolset is made. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface ToolsetOptions<in Request, out R, out A> extends ServerOptions<Request, R, A> {
  /**
   * The name of the toolset, which pending approvals and recorded tools remember. Toolsets with the same one answer each other's
   * approvals: one for each policy, the same in every process. Default: `"tools"`.
   */
  readonly id?: string | undefined
  /**
   * The servers whose tools are in it; no other one is opened, whatever is called. One that nobody has configured is a problem of
   * the listing. Default: all that are active.
   */
  readonly only?: ReadonlyArray<string> | undefined
  /** What is settled otherwise for single servers. One that nobody has configured is a problem of the listing. */
  readonly servers?: { readonly [server: string]: ServerOptions<Request, R, A> } | undefined
  /** Default: `ToolNaming.prefixed`. */
  readonly naming?: ToolNaming.ToolNaming | undefined
  /** Names that no tool may have, such as those of an agent's own tools. */
  readonly reserved?: Iterable<string> | undefined
  /** `"strict"` and `"nullable"` convert what can be, see `ToolSchema.strict`. Default: the server's own schemas. */
  readonly schemas?: "verbatim" | "strict" | "nullable" | undefined
  /** Whether models get output schemas. Default: `false`. */
  readonly includeReturnSchema?: boolean | undefined
  /** What a listing does where a server has none of its tools: tell it in `problems`, or fail. Default: `"report"`. */
  readonly onServerError?: "report" | "fail" | undefined
  /** How long an approval may take. Default: for ever. */
  readonly approvalExpiresIn?: Duration.DurationInput | undefined
  readonly meta?: MetaResolver<Request, R> | undefined
  readonly around?: CallHook<R> | undefined
  /** Something of the application's own from a result. Its failure is logged, and harms no call that has run. */
  readonly extract?:
    | ((result: McpProtocol.CallToolResult, call: OutgoingCall) => unknown)
    | undefined
  /**
   * What servers say about themselves to models. It is theirs, so it is off by default, bounded, and marked as coming from
   * outside.
   */
  readonly instructions?: boolean | { readonly maxLength: number } | undefined
}

/**
 * How one call is made.
 *
 * @since 0.1.0
 * @category options
 */
export interface CallOptions<out A> extends McpConnection.CallOptions {
  readonly output?: ToolOutput.ToolOutput<A> | undefined
  readonly failure?: ToolFailure.ToolFailure | undefined
  readonly onToolError?: "value" | "fail" | undefined
}

/**
 * What came of a call.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolResult<A> =
  | {
    readonly _tag: "Success"
    readonly tool: AgentTool
    readonly output: A
    /** The tool says that it has failed. */
    readonly isError: boolean
    readonly result: McpProtocol.CallToolResult
    readonly customData: unknown
  }
  | {
    readonly _tag: "Failure"
    /** Nothing where there is no such tool. */
    readonly tool: AgentTool | undefined
    /** For the model. */
    readonly text: string
    readonly error: McpError.McpError
  }
  | {
    readonly _tag: "Rejected"
    /** For the model. */
    readonly text: string
    readonly reason: string
  }

/**
 * Why tools can't be listed.
 *
 * @since 0.1.0
 * @category errors
 */
export type ListError = McpError.McpError | ToolNaming.NamesClash | ToolRequest.RequestMissing

/**
 * Why a call has no result.
 *
 * @since 0.1.0
 * @category errors
 */
export type CallError = ListError | ToolApproval.ApprovalRequired

/**
 * What one agent in one run sees and may call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Toolbox<out R, out A> {
  /** The tools. Decided anew each time; what has not changed since is shared. */
  readonly list: Effect.Effect<ToolList, ListError, R>
  /** The tools, then again each time that what servers offer has changed. */
  readonly changes: Stream.Stream<ToolList, ListError, R>
  /**
   * Calls a tool: by its name, or by what tells it. Arguments may be JSON as text. A tool that the filter does not show does
   * not exist, nor does one whose name was that of another tool in the last list. Where it needs approval it fails with
   * `ToolApproval.ApprovalRequired`.
   */
  readonly call: {
    <B>(
      tool: string | ToolNaming.ToolIdentity,
      args: unknown,
      options: CallOptions<B> & { readonly output: ToolOutput.ToolOutput<B> }
    ): Effect.Effect<ToolResult<B>, CallError, R>
    <B = A>(
      tool: string | ToolNaming.ToolIdentity,
      args?: unknown,
      options?: CallOptions<B>
    ): Effect.Effect<ToolResult<A | B>, CallError, R>
  }
  /**
   * Makes the call that waited for approval. It is not asked for again, and each is made once, whichever toolset over the same
   * manager or connection it is approved through: it is used up even where the call fails before anything is sent. Where the server says something else of the tool by then it fails with `ConfigInvalid`.
   */
  readonly approve: {
    <B>(
      pending: ToolApproval.PendingApproval,
      options: CallOptions<B> & { readonly output: ToolOutput.ToolOutput<B> }
    ): Effect.Effect<ToolResult<B>, CallError, R>
    <B = A>(
      pending: ToolApproval.PendingApproval,
      options?: CallOptions<B>
    ): Effect.Effect<ToolResult<A | B>, CallError, R>
  }
  /** Says to the model that a person did not want the call. */
  readonly reject: (
    pending: ToolApproval.PendingApproval,
    reason?: string
  ) => Effect.Effect<ToolResult<never>, McpError.ConfigInvalid>
}

/**
 * Tools of servers, as an application wants its agents to have them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Toolset<Request, out R, out A> {
  readonly id: string
  /** For one agent in one run. Where something depends on who asks, it must be said. */
  readonly for: (...request: RequestArgs<Request>) => Toolbox<R, A>
  /** What servers say about themselves, marked as coming from outside. Empty unless wished. */
  readonly instructions: Effect.Effect<
    ReadonlyArray<{ readonly server: string; readonly text: string }>
  >
}

/**
 * Who asks may be left out where nothing depends on it.
 *
 * @since 0.1.0
 * @category models
 */
export type RequestArgs<Request> = unknown extends Request ? [request?: ToolRequest.ToolRequest] : [request: Request]

/**
 * Where tools come from: a manager, or connections.
 *
 * @since 0.1.0
 * @category models
 */
export type Source = McpManager.Manager | ReadonlyArray<McpConnection.McpConnection>

/**
 * A toolset. Fails for wrong options only; no server is needed for that.
 *
 * @example
 * ```ts
 * import { McpManager, ToolApproval, ToolFilter, Toolset } from "@mcp-runtime/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const manager = yield* McpManager.McpManager
 *   const toolset = yield* Toolset.make(manager, {
 *     filter: ToolFilter.block("delete_*"),
 *     approval: ToolApproval.destructive,
 *     schemas: "strict"
 *   })
 *   const { call, list } = toolset.for()
 *   const { tools } = yield* list
 *   yield* Effect.log(tools.map((tool) => tool.name))
 *   return yield* call("docs__search", { text: "effect" })
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <Request = unknown, R = never, A = ReadonlyArray<ToolOutput.Part>>(
  source: Source,
  options?: ToolsetOptions<Request, R, A>
) => Effect.Effect<Toolset<Request, R, A>, McpError.ConfigInvalid> = internal.make

/** As it is: what servers send is not copied, since a property may have any name. */
const JsonObject: Schema.Schema<McpProtocol.JsonObject> = Schema.declare(
  (u): u is McpProtocol.JsonObject => typeof u === "object" && u !== null && !Array.isArray(u),
  { identifier: "JsonObject", jsonSchema: { type: "object" } }
)

/**
 * What can be recorded of a tool, and read in another process: a workflow lists once, and calls later by identity.
 *
 * @since 0.1.0
 * @category durable identity
 */
export class RecordedTool extends Schema.Class<RecordedTool>("@mcp-runtime/core/RecordedTool")({
  toolset: Schema.String,
  server: Schema.String,
  tool: Schema.String,
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.String,
  inputSchema: JsonObject,
  strict: Schema.Boolean,
  outputSchema: Schema.optional(JsonObject)
}) {}

/**
 * What is recorded of a tool of this toolset.
 *
 * @since 0.1.0
 * @category durable identity
 */
export const record = (toolset: { readonly id: string }, tool: AgentTool): RecordedTool =>
  new RecordedTool({
    toolset: toolset.id,
    server: tool.server,
    tool: tool.tool,
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    inputSchema: tool.inputSchema,
    strict: tool.strict,
    ...(tool.outputSchema !== undefined && { outputSchema: tool.outputSchema })
  })
