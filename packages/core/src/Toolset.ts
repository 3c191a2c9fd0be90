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
import type * as Types from "effect/Types"
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
 * What can be settled for one server, and for all of them, each part of its own type: so it is inferred.
 *
 * @since 0.1.0
 * @category options
 */
export interface ServerParts<out Filter, out Approval, out Failure, out Output> {
  /** Default: all tools. That of a server and that of the toolset must both show a tool. */
  readonly filter?: Filter | undefined
  /** Default: no call needs approval. That of a server takes the place of that of the toolset. */
  readonly approval?: Approval | undefined
  /** What a call that has failed gives. Default: `ToolFailure.explained`. */
  readonly failure?: Failure | undefined
  /** What a result becomes. Default: `ToolOutput.make()`. */
  readonly output?: Output | undefined
  /** What a result is with which a tool says that it has failed: a result, or `ToolFailed`. Default: `"value"`. */
  readonly onToolError?: "value" | "fail" | undefined
  /** Whether arguments must fit the whole input schema, and not only have what it requires. Default: `false`. */
  readonly validateArguments?: boolean | undefined
  /** Whether structured content must fit the output schema. Default: `true`. */
  readonly validateOutput?: boolean | undefined
}

/**
 * The same for whoever asks as `Request`, with the services `R`. `E` is what calls fail with beside what every call can fail
 * with: nothing, or what `failure` lets through.
 *
 * @since 0.1.0
 * @category options
 */
export type ServerOptions<Request, R, A, E = never> = ServerParts<
  ToolFilter.ToolFilter<Request, R>,
  ToolApproval.ToolApproval<Request, R>,
  ToolFailure.ToolFailure<R, E>,
  ToolOutput.ToolOutput<A>
>

/**
 * @since 0.1.0
 * @category options
 */
export declare namespace ServerOptions {
  /** Any of them. */
  export type Any = ServerParts<
    ToolFilter.ToolFilter.Any,
    ToolApproval.ToolApproval.Any,
    ToolFailure.ToolFailure.Any,
    ToolOutput.ToolOutput.Any
  >

  /** A part of these, where they have it. */
  export type Part<O, P extends keyof Any> = O extends unknown
    ? P extends keyof O ? Extract<O[P], NonNullable<Any[P]>> : never
    : never

  /** Who has to ask. */
  export type Request<O extends Any> =
    & ToolFilter.ToolFilter.Request<Part<O, "filter">>
    & ToolApproval.ToolApproval.Request<Part<O, "approval">>

  /** The services that they need. */
  export type Context<O extends Any> =
    | ToolFilter.ToolFilter.Context<Part<O, "filter">>
    | ToolApproval.ToolApproval.Context<Part<O, "approval">>
    | ToolFailure.ToolFailure.Context<Part<O, "failure">>

  /** What calls can fail with because of them. */
  export type Error<O extends Any> = ToolFailure.ToolFailure.Error<Part<O, "failure">>

  /** What results become where one of them says it. */
  export type Output<O extends Any> = ToolOutput.ToolOutput.Output<Part<O, "output">>
}

/**
 * What is sent along with a call as `_meta`, or not at all. A fresh object for each call. Where it fails, or takes longer than 5
 * seconds, or than the call may take, the tool is not called.
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
 * How a toolset is made, each part of its own type: so it is inferred. Everything is optional.
 *
 * @since 0.1.0
 * @category options
 */
export interface ToolsetParts<
  out Filter,
  out Approval,
  out Failure,
  out Output,
  out Servers,
  out Meta,
  out Around,
  out OnServerError
> extends ServerParts<Filter, Approval, Failure, Output> {
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
  readonly servers?: Servers | undefined
  /** Default: `ToolNaming.prefixed`. */
  readonly naming?: ToolNaming.ToolNaming | undefined
  /** Names that no tool may have, such as those of an agent's own tools. */
  readonly reserved?: Iterable<string> | undefined
  /** `"strict"` and `"nullable"` convert what can be, see `ToolSchema.strict`. Default: the server's own schemas. */
  readonly schemas?: "verbatim" | "strict" | "nullable" | undefined
  /** Whether models get output schemas. Default: `false`. */
  readonly includeReturnSchema?: boolean | undefined
  /**
   * What a listing does where a server has none of its tools: `"report"` tells it in `problems`, `"fail"` fails with
   * `ServersFailed`. Default: `"report"`.
   */
  readonly onServerError?: OnServerError | undefined
  /** How long an approval may take. Default: for ever. */
  readonly approvalExpiresIn?: Duration.DurationInput | undefined
  readonly meta?: Meta | undefined
  readonly around?: Around | undefined
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
 * The same for whoever asks as `Request`, with the services `R`. `E` is what calls fail with beside what every call can fail
 * with, `L` is the same for listings: nothing, or `ServersFailed`, which `onServerError: "fail"` needs.
 *
 * @since 0.1.0
 * @category options
 */
export type ToolsetOptions<Request, R, A, E = never, L = never> = ToolsetParts<
  ToolFilter.ToolFilter<Request, R>,
  ToolApproval.ToolApproval<Request, R>,
  ToolFailure.ToolFailure<R, E>,
  ToolOutput.ToolOutput<A>,
  { readonly [server: string]: ServerOptions<Request, R, A, E> },
  MetaResolver<Request, R>,
  CallHook<R>,
  "report" | ([McpError.ServersFailed] extends [L] ? "fail" : never)
>

/**
 * How one call is made, each part of its own type: so it is inferred. What is not said here is as in the toolset. `maxTotal` bounds
 * all of it: filter, list, policy and metadata, and the call itself.
 *
 * @since 0.1.0
 * @category options
 */
export interface CallParts<out Failure, out Output> extends McpConnection.CallOptions {
  readonly failure?: Failure | undefined
  readonly output?: Output | undefined
  readonly onToolError?: "value" | "fail" | undefined
}

/**
 * The same with a result that becomes `A`, and failures that need the services `R` and let `E` through.
 *
 * @since 0.1.0
 * @category options
 */
export type CallOptions<A, R = never, E = never> = CallParts<
  ToolFailure.ToolFailure<R, E>,
  ToolOutput.ToolOutput<A>
>

/**
 * @since 0.1.0
 * @category options
 */
export declare namespace CallOptions {
  /** Any of them. */
  export type Any = CallParts<ToolFailure.ToolFailure.Any, ToolOutput.ToolOutput.Any>

  /** What a result becomes, in a toolset where it becomes `A`. */
  export type Output<O extends Pick<Any, "output">, A> = "output" extends keyof O
    ? O extends { readonly output: ToolOutput.ToolOutput<infer B> } ? B
    : A | ToolOutput.ToolOutput.Output<ServerOptions.Part<O, "output">>
    : A

  /** What a call fails with beside what every call can fail with, in a toolset where that is `E`. */
  export type Error<O extends Any, E> = "failure" extends keyof O
    ? O extends { readonly failure: infer F extends ToolFailure.ToolFailure.Any } ? ToolFailure.ToolFailure.Error<F>
    : E | ToolFailure.ToolFailure.Error<ServerOptions.Part<O, "failure">>
    : E

  /** The services that they need. */
  export type Context<O extends Any> = ToolFailure.ToolFailure.Context<ServerOptions.Part<O, "failure">>
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
 * Why tools can't be listed. Servers that have none of their tools are in `problems`; only with `onServerError: "fail"` is that
 * `ServersFailed`, which is `L` then.
 *
 * @since 0.1.0
 * @category errors
 */
export type ListError<L = never> = ToolNaming.NamesClash | ToolRequest.RequestMissing | L

/**
 * Why a call has no result. Everything else is a `Failure`, for the model; what `failure` lets through is `E`.
 *
 * @since 0.1.0
 * @category errors
 */
export type CallError<E = never> =
  | ToolApproval.ApprovalRequired
  | ToolNaming.NamesClash
  | ToolRequest.RequestMissing
  | E

/**
 * Why a call that waited for approval has no result: it can't be the one that was asked about (`ConfigInvalid`), or as for any
 * call.
 *
 * @since 0.1.0
 * @category errors
 */
export type ApproveError<E = never> = McpError.ConfigInvalid | ToolNaming.NamesClash | ToolRequest.RequestMissing | E

/**
 * What one agent in one run sees and may call. It needs the services `R`, and results become `A`. `E` is what calls fail with
 * beside what every call can fail with, such as `McpError` where failures propagate; `L` is the same for listings.
 *
 * @since 0.1.0
 * @category models
 */
export interface Toolbox<out R, out A, out E = never, out L = never> {
  /** The tools. Decided anew each time; what has not changed since is shared. */
  readonly list: Effect.Effect<ToolList, ListError<L>, R>
  /** The tools, then again each time that what servers offer has changed. That reads no list which the server has told. */
  readonly changes: Stream.Stream<ToolList, ListError<L>, R>
  /**
   * Calls a tool: by its name, or by what tells it. Arguments may be JSON as text. A tool that the filter does not show does
   * not exist, nor does one whose name was that of another tool in the last list. Where it needs approval it fails with
   * `ToolApproval.ApprovalRequired`.
   */
  readonly call: <O extends CallOptions.Any = {}>(
    tool: string | ToolNaming.ToolIdentity,
    args?: unknown,
    options?: O & Types.NoExcessProperties<CallOptions.Any, O>
  ) => Effect.Effect<
    ToolResult<CallOptions.Output<O, A>>,
    CallError<CallOptions.Error<O, E>>,
    R | CallOptions.Context<O>
  >
  /**
   * Makes the call that waited for approval. It is not asked for again, and each is made once, whichever toolset over the same
   * manager or connection it is approved through: it is used up even where the call fails before anything is sent. Where the server
   * says something else of the tool by then, or is another one of the name, it fails with `ConfigInvalid`.
   */
  readonly approve: <O extends CallOptions.Any = {}>(
    pending: ToolApproval.PendingApproval,
    options?: O & Types.NoExcessProperties<CallOptions.Any, O>
  ) => Effect.Effect<
    ToolResult<CallOptions.Output<O, A>>,
    ApproveError<CallOptions.Error<O, E>>,
    R | CallOptions.Context<O>
  >
  /** Says to the model that a person did not want the call. */
  readonly reject: (
    pending: ToolApproval.PendingApproval,
    reason?: string
  ) => Effect.Effect<ToolResult<never>, McpError.ConfigInvalid>
}

/**
 * Tools of servers, as an application wants its agents to have them. Its types are those of its toolboxes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Toolset<Request, out R, out A, out E = never, out L = never> {
  readonly id: string
  /** For one agent in one run. Where something depends on who asks, it must be said. */
  readonly for: (...request: RequestArgs<Request>) => Toolbox<R, A, E, L>
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
 * Each part may need services and know who asks in its own way: toolboxes need the services of all of them, and a request that
 * is good enough for each. `meta` knows who asks as the filter and the policy of the toolset do; what else it has to know, the type
 * of its parameter says. Results of servers with an `output` of their own are in the type beside those of all others.
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
export function make<
  Filter extends ToolFilter.ToolFilter.Any = ToolFilter.ToolFilter,
  Approval extends ToolApproval.ToolApproval.Any = ToolApproval.ToolApproval,
  Failure extends ToolFailure.ToolFailure.Any = ToolFailure.ToolFailure,
  A = ReadonlyArray<ToolOutput.Part>,
  Servers extends { readonly [server: string]: ServerOptions.Any } = {},
  Request = unknown,
  ForMeta = never,
  ForAround = never,
  OnServerError extends "report" | "fail" = "report"
>(
  source: Source,
  options?: ToolsetParts<
    Filter,
    Approval,
    Failure,
    ToolOutput.ToolOutput<A>,
    Servers & { readonly [Server in keyof Servers]: Types.NoExcessProperties<ServerOptions.Any, Servers[Server]> },
    MetaResolver<
      ToolFilter.ToolFilter.Request<Filter> & ToolApproval.ToolApproval.Request<Approval> & Request,
      ForMeta
    >,
    CallHook<ForAround>,
    OnServerError
  >
): Effect.Effect<
  Toolset<
    & ToolFilter.ToolFilter.Request<Filter>
    & ToolApproval.ToolApproval.Request<Approval>
    & ServerOptions.Request<Servers[keyof Servers]>
    & Request,
    | ToolFilter.ToolFilter.Context<Filter>
    | ToolApproval.ToolApproval.Context<Approval>
    | ToolFailure.ToolFailure.Context<Failure>
    | ServerOptions.Context<Servers[keyof Servers]>
    | ForMeta
    | ForAround,
    A | ServerOptions.Output<Servers[keyof Servers]>,
    ToolFailure.ToolFailure.Error<Failure> | ServerOptions.Error<Servers[keyof Servers]>,
    "fail" extends OnServerError ? McpError.ServersFailed : never
  >,
  McpError.ConfigInvalid
>
export function make<Request = unknown, R = never, A = ReadonlyArray<ToolOutput.Part>, E = never, L = never>(
  source: Source,
  options?: ToolsetOptions<NoInfer<Request>, NoInfer<R>, NoInfer<A>, NoInfer<E>, NoInfer<L>>
): Effect.Effect<Toolset<Request, R, A, E, L>, McpError.ConfigInvalid>
export function make<Request, R, A, E, L>(
  source: Source,
  options?: ToolsetOptions<Request, R, A, E, L>
): Effect.Effect<Toolset<Request, R, A, E, L>, McpError.ConfigInvalid> {
  return internal.make(source, options)
}

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
