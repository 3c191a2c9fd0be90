/**
 * Calls of one who asks.
 *
 * Owns: the order of the steps of a call.
 * May not touch: how a step is done.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as McpConfig from "../../McpConfig.js"
import * as McpConnection from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as ToolApproval from "../../ToolApproval.js"
import type * as ToolNaming from "../../ToolNaming.js"
import type * as ToolOutput from "../../ToolOutput.js"
import type {
  AgentTool,
  ApproveError,
  CallError,
  CallHook,
  CallOptions,
  ListError,
  OutgoingCall,
  ToolResult
} from "../../Toolset.js"
import type { Connection } from "../connection/connection.js"
import * as Left from "../connection/left.js"
import * as Errors from "../engine/errors.js"
import * as Lines from "../telemetry/lines.js"
import { inTime } from "../within.js"
import * as Answer from "./answer.js"
import * as Arguments from "./arguments.js"
import * as Canonical from "./canonical.js"
import * as Decision from "./decision.js"
import { describe } from "./description.js"
import * as Failure from "./failure.js"
import { isPlainObject } from "./patternList.js"
import * as Pending from "./pending.js"
import * as Refusals from "./refusals.js"
import { idOf, type Table, type ToolLists } from "./table.js"
import type { Parts, Visible } from "./toolset.js"

/** Why there is no call of a tool that need not be approved: who is told of an `McpError`, is settled later. */
type Unready = ListError<McpError.McpError>

/** The same of one that may need approval. */
type Unapproved = CallError<McpError.McpError>

type Asked = Refusals.Asked

/** A call that may be made. */
interface Ready {
  readonly tool: AgentTool
  readonly args: McpProtocol.JsonObject
  /** Its server's, if nothing was waited for since it was looked up. */
  readonly connection?: McpConnection.McpConnection | undefined
}

/** A call that may not. */
interface Refused {
  readonly tool: AgentTool
  readonly error: McpError.McpError
}

/** A tool as its server has it now. */
interface Current {
  readonly tool: AgentTool
  readonly connection: McpConnection.McpConnection
}

/** A server that took back a tool without a word says so when it is called. */
const unknownTool: ReadonlySet<number> = new Set([-32601, -32602])

type Next = Parameters<CallHook<never>>[1]

export class Calls<Request, R, A, E> {
  constructor(
    private readonly parts: Parts<Request, R, A, E>,
    private readonly visible: Visible<Request, R, A, E>,
    private readonly request: Request | undefined
  ) {}

  call<B, R2, E2>(
    asked: Asked,
    input: unknown,
    options?: CallOptions<B, R2, E2>
  ): Effect.Effect<ToolResult<A | B>, CallError<E | E2>, R | R2> {
    return Effect.suspend(() => {
      if (!Refusals.isAsked(asked)) return this.failed(undefined, "", Refusals.notFound("", "none is named"), options)
      const { problems } = this.parts.source
      if (!problems.isChecked) return Effect.zipRight(problems.check, this.call(asked, input, options))
      const ready = this.atOnce(asked, input)
      if (ready === undefined) return this.stepByStep(asked, input, options)
      return Either.isRight(ready)
        ? this.run(ready.right, options)
        : this.failed(ready.left.tool, asked, ready.left.error, options)
    })
  }

  /** Most calls need no step of the fiber before they are sent: everything is known, and nobody has a say. */
  private atOnce(asked: Asked, input: unknown): Either.Either<Ready, Refused> | undefined {
    const { settings, source: { atOnce }, tables } = this.parts
    if (atOnce === undefined) return undefined
    const table = tables.known(atOnce.tools())
    const tool = table?.find(asked)
    if (table === undefined || tool === undefined || this.hasMoved(asked, tool, table)) return undefined
    const { approval, filter, validateArguments } = settings.of(tool.server)
    const connection = atOnce.connection(tool.server)
    if (filter !== undefined || approval !== ToolApproval.never || connection === undefined) return undefined
    const { owner } = connection
    if (owner.catalog.shelves.tools.current(owner.now())?.stale !== false) return undefined
    const read = Arguments.read(tool, input, this.isNullable(tool))
    if (Either.isLeft(read)) return Either.left({ tool, error: read.left })
    const args = read.right
    const checked = Arguments.check(tool, args, validateArguments)
    return Either.isLeft(checked)
      ? Either.left({ tool, error: checked.left })
      : Either.right({ tool, args, connection })
  }

  private stepByStep<B, R2, E2>(
    asked: Asked,
    input: unknown,
    options: CallOptions<B, R2, E2> | undefined
  ): Effect.Effect<ToolResult<A | B>, CallError<E | E2>, R | R2> {
    return this.after(asked, options, (found) =>
      Effect.flatMap(this.find(asked, options), (known) => {
        found(known)
        const read = Arguments.read(known, input, this.isNullable(known))
        const kept = Either.flatMap(read, (written) => this.kept(known, written))
        if (Either.isLeft(kept)) return Effect.fail(kept.left)
        const args = kept.right
        return Effect.flatMap(this.asItIs(known, options), (current) => {
          found(current.tool)
          return this.unlessApprovalIsNeeded(current, args, options, true)
        })
      }))
  }

  approve<B, R2, E2>(
    pending: ToolApproval.PendingApproval,
    options?: CallOptions<B, R2, E2>
  ): Effect.Effect<ToolResult<A | B>, ApproveError<E | E2>, R | R2> {
    return Effect.flatMap(
      this.use(pending),
      (asked) =>
        this.after(asked, options, (found) =>
          Effect.gen(this, function*() {
            const known = found(yield* this.find(asked, options))
            const { connection, tool } = yield* this.asItIs(known, options)
            found(tool)
            const problem = Pending.problemWith(asked, tool.definition, connection.config)
            if (problem !== undefined) return yield* Refusals.unusable(asked, problem)
            const args = asked.arguments
            yield* Arguments.check(tool, args, this.parts.settings.of(tool.server).validateArguments)
            return { tool, args, connection }
          }))
    )
  }

  reject(pending: ToolApproval.PendingApproval, reason = ""): Effect.Effect<ToolResult<never>, McpError.ConfigInvalid> {
    return Effect.map(this.use(pending), ({ name }) => ({
      _tag: "Rejected",
      reason,
      text: `The call of "${McpError.displayName(name)}" was rejected by a person${
        reason === "" ? "" : `: ${McpError.displayText(reason, 2000)}`
      }. It has not run.`
    }))
  }

  // ---------------------------------------------------------------------------------------------
  // Before the call
  // ---------------------------------------------------------------------------------------------

  /** The call once everything that comes before it is done. What goes wrong there is told as what goes wrong in it. */
  private after<F extends CallError | McpError.ConfigInvalid, B, R2, E2>(
    asked: Asked,
    options: CallOptions<B, R2, E2> | undefined,
    ready: (found: (tool: AgentTool) => AgentTool) => Effect.Effect<Ready, F | McpError.McpError, R>
  ): Effect.Effect<ToolResult<A | B>, F | E | E2, R | R2> {
    return Effect.suspend(() => {
      let tool: AgentTool | undefined = undefined
      const late = () => Refusals.late(tool ?? asked, total)
      const total = Left.millisOf(options?.maxTotal)
      const preparing = ready((_) => tool = _)
      const inTotal = total === Number.POSITIVE_INFINITY ? preparing : inTime(preparing, total, late)
      return Effect.flatMap(Left.since(options), (left) =>
        Effect.matchEffect(Effect.zip(inTotal, left(late)), {
          onFailure: (error): Effect.Effect<ToolResult<A | B>, F | E | E2, R | R2> =>
            isForCaller(error) ? Effect.fail(error as F) : this.failed(tool, asked, error, options),
          onSuccess: ([ready, left]) => this.run(ready, left)
        }))
    })
  }

  /** The tool, if it is shown. */
  private find(
    asked: Asked,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<AgentTool, Unready, R> {
    const { settings, source: { lists }, tables } = this.parts
    return Effect.flatMap(lists.current, (current) => {
      const table = tables.known(current)
      const tool = table?.find(asked)
      return tool !== undefined && settings.of(tool.server).filter === undefined
        ? this.unlessMoved(asked, tool, table!)
        : this.lookFor(asked, current, options)
    })
  }

  /** What is not known is looked for once more. */
  private lookFor(
    asked: Asked,
    current: ToolLists,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<AgentTool, Unready, R> {
    const { tables } = this.parts
    return Effect.gen(this, function*() {
      let table = yield* tables.soon(current)
      if (table.clash === undefined && table.find(asked) === undefined) {
        table = yield* tables.soon(yield* this.readFor(asked, options))
      }
      const tool = table.find(asked)
      if (tool !== undefined && (yield* this.visible.shows(tool))) {
        return yield* this.unlessMoved(asked, tool, table)
      }
      if (table.clash !== undefined) {
        // Where not all tools can have names together, those that are shown may.
        const { list, table } = yield* this.visible.offered
        const shown = list.tools.find((_) => isAsked(_, asked))
        if (shown !== undefined) return yield* this.unlessMoved(asked, shown, table)
      }
      const end = yield* this.parts.source.end
      if (end !== undefined) return yield* Refusals.ended(asked, end)
      const server = typeof asked === "string" ? this.visible.serverOf(asked) : asked.server
      const away = server === undefined ? undefined : yield* this.parts.source.away(server)
      return yield* (away && Refusals.away(away)) ?? Refusals.notFound(asked)
    })
  }

  /** Who was given a name for one tool does not mean another one with it. */
  private unlessMoved(
    asked: Asked,
    tool: AgentTool,
    table: Table
  ): Effect.Effect<AgentTool, McpError.ToolNotFound> {
    return this.hasMoved(asked, tool, table) ? Refusals.notFound(asked, Failure.nameHasMoved) : Effect.succeed(tool)
  }

  private hasMoved(asked: Asked, tool: AgentTool, table: Table): boolean {
    return typeof asked === "string" && this.visible.hasMoved(asked, tool, table)
  }

  /** The lists once more: of the one server where it is known which, and not for longer than the call may take. */
  private readFor(
    asked: Asked,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<ToolLists, McpError.McpError> {
    const { connection, lists } = this.parts.source
    if (typeof asked !== "string") {
      const read = Effect.flatMap(
        connection(asked.server),
        (_) => (_ as Connection).inTime(_.catalog.tools.get, "tools/call", options)
      )
      return Effect.zipRight(Effect.ignore(read), lists.current)
    }
    const bound = Math.min(Left.millisOf(options?.timeout), Left.millisOf(options?.maxTotal))
    return bound === Number.POSITIVE_INFINITY
      ? lists.tools
      : inTime(lists.tools, bound, () => lists.current)
  }

  /**
   * The tool as its server has it now: where its list is out of date it is read first, and where it has changed while a filter
   * thought the filter is asked again, so that everything that follows is decided about what is called.
   */
  private asItIs(
    tool: AgentTool,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<Current, Unready, R> {
    return Effect.flatMap(
      this.parts.source.connection(tool.server),
      (connection) =>
        Effect.flatMap(
          connection.catalog.tools.current,
          (known): Effect.Effect<Current, Unready, R> =>
            known?.stale !== true && connection.catalog.tools.find(tool.tool) === tool.definition
              ? Effect.succeed({ tool, connection })
              : this.readAnew(tool, connection as Connection, options)
        )
    )
  }

  private readAnew(
    tool: AgentTool,
    { catalog: { tools }, inTime }: Connection,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<Current, Unready, R> {
    return Effect.flatMap(inTime(tools.get, "tools/call", options), (read) => {
      // What an earlier run has left is enough to show a tool, and not to call it.
      if (read.origin === "store" && read.error !== undefined) {
        return Effect.fail(Errors.about(read.error, "tools/call", "no"))
      }
      const definition = tools.find(tool.tool)
      if (definition === undefined) return Refusals.gone(tool)
      return Effect.flatMap(this.find(identityOf(tool), options), (tool) =>
        Effect.flatMap(
          this.parts.source.connection(tool.server),
          (connection): Effect.Effect<Current, Unready, R> =>
            // Compared with what was read, and not with that of the tool: a copy of a connection may have lists of its own.
            connection.catalog.tools.find(tool.tool) === definition
              ? Effect.succeed({ tool, connection })
              : Refusals.changing(tool)
        ))
    })
  }

  private isNullable(tool: AgentTool): boolean {
    return tool.strict && this.parts.settings.looks.schemas === "nullable"
  }

  /** What is approved is what is called, also where the application changes its own object meanwhile. */
  private kept(
    tool: AgentTool,
    args: McpProtocol.JsonObject
  ): Either.Either<McpProtocol.JsonObject, McpError.McpError> {
    if (this.parts.settings.of(tool.server).approval === ToolApproval.never) return Either.right(args)
    const kept = Canonical.snapshot(args)
    return kept === undefined ? Either.left(McpError.unwritable(tool.server, "tools/call")) : Either.right(kept)
  }

  /** What a policy decides at once is about the tool as it is. What it thought about may be another one, or its server, by now. */
  private unlessApprovalIsNeeded(
    { connection, tool }: Current,
    args: McpProtocol.JsonObject,
    options: McpConnection.CallOptions | undefined,
    onceMore: boolean
  ): Effect.Effect<Ready, Unapproved, R> {
    const { approval, validateArguments } = this.parts.settings.of(tool.server)
    const checked = Arguments.check(tool, args, validateArguments)
    if (Either.isLeft(checked)) return Effect.fail(checked.left)
    if (approval === ToolApproval.never) return Effect.succeed({ tool, args, connection })
    return Effect.suspend(() => {
      const { config } = connection
      const required = approval.decide(describe(tool, args, config), this.request)
      if (!Effect.isEffect(required)) {
        return required ? this.askFor(tool, args, config) : Effect.succeed({ tool, args, connection })
      }
      return Effect.flatMap(required, (required) =>
        required ? this.askFor(tool, args, config) : Effect.flatMap(
          this.asItIs(tool, options),
          (now): Effect.Effect<Ready, Unapproved, R> =>
            now.tool.definition === tool.definition && now.connection.config === config
              ? Effect.succeed({ ...now, args })
              : onceMore
              ? this.unlessApprovalIsNeeded(now, args, options, false)
              : this.askFor(now.tool, args, now.connection.config)
        ))
    })
  }

  /** Approval, of a person. */
  private askFor(
    tool: AgentTool,
    args: McpProtocol.JsonObject,
    config: McpConfig.ServerConfig
  ): Effect.Effect<never, Unapproved> {
    const { id, approvalExpiresIn } = this.parts.settings
    const { definition, name, server } = tool
    const call = { toolset: id, server, tool: tool.tool, name, arguments: args, definition, config }
    return Effect.flatMap(Pending.make(call, { expiresIn: approvalExpiresIn }), (pending) =>
      Effect.fail(
        new ToolApproval.ApprovalRequired({
          server: tool.server,
          operation: "tools/call",
          executed: "no",
          pending
        })
      ))
  }

  /** Takes the answer of a person, once: what was approved or rejected, whatever happens to the application's value meanwhile. */
  private use(
    pending: ToolApproval.PendingApproval
  ): Effect.Effect<ToolApproval.PendingApproval, McpError.ConfigInvalid> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { settings: { id }, source } = this.parts
      const asked = Pending.intact(pending)
      if (asked === undefined) return Effect.fail(Refusals.unusable(pending, "is not what approval was asked for"))
      const problem = asked.toolset !== id
        ? `is for the toolset "${McpError.displayName(asked.toolset)}", not for "${id}"`
        : ToolApproval.isExpired(asked, now)
        ? "has expired; the call must be made anew"
        : source.answered(asked.server).take(asked)
      return problem === undefined ? Effect.succeed(asked) : Effect.fail(Refusals.unusable(asked, problem))
    })
  }

  // ---------------------------------------------------------------------------------------------
  // The call
  // ---------------------------------------------------------------------------------------------

  private run<B, R2, E2>(
    { args, connection, tool }: Ready,
    options: CallOptions<B, R2, E2> | undefined
  ): Effect.Effect<ToolResult<A | B>, E | E2, R | R2> {
    const { onToolError, output, validateOutput } = this.parts.settings.of(tool.server)
    const call: OutgoingCall = Object.freeze({
      server: tool.server,
      tool: tool.tool,
      name: tool.name,
      arguments: args
    })
    const wishes = { validate: validateOutput, onToolError: options?.onToolError ?? onToolError }
    const fail = (error: McpError.McpError) => this.failed(tool, tool, error, options)
    const success = (result: McpProtocol.CallToolResult, customData: unknown): ToolResult<A | B> => ({
      _tag: "Success",
      tool,
      output: (options?.output ?? output as ToolOutput.ToolOutput<A | B>).convert(result, tool.definition),
      isError: result.isError === true,
      result,
      customData
    })
    return Effect.matchEffect(this.send(tool, connection, call, options), {
      onFailure: fail,
      onSuccess: (result) => {
        const { error, unchecked } = Answer.judge(tool, result, wishes)
        if (error !== undefined) return fail(error)
        const succeeded = this.parts.options.extract === undefined
          ? Effect.succeed(success(result, undefined))
          : Effect.map(this.extracted(result, call), (customData) => success(result, customData))
        return unchecked === undefined ? succeeded : Effect.zipRight(Answer.tell(tool, unchecked), succeeded)
      }
    })
  }

  private send(
    tool: AgentTool,
    connection: McpConnection.McpConnection | undefined,
    call: OutgoingCall,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError, R> {
    return connection !== undefined
      ? this.sendOver(connection, tool, call, options)
      : Effect.flatMap(
        this.parts.source.connection(tool.server),
        (connection) => this.sendOver(connection, tool, call, options)
      )
  }

  private sendOver(
    connection: McpConnection.McpConnection,
    tool: AgentTool,
    call: OutgoingCall,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError, R> {
    const wire = options === undefined ? undefined : wireOf(options)
    const { around, meta } = this.parts.options
    let isListed = false
    const onFailure = (error: McpError.McpError) => {
      if (isListed || error._tag !== "RemoteError" || !unknownTool.has(error.code)) return Effect.fail(error)
      isListed = true
      return this.orGone(tool, connection as Connection, error, wire)
    }
    // The model is told what the server says, and the next listing what there is.
    const onSuccess = (result: McpProtocol.CallToolResult) =>
      Answer.saysUnknown(result) ? Effect.as(connection.catalog.tools.invalidate, result) : Effect.succeed(result)
    const send = (args: McpProtocol.JsonObject, options: McpConnection.CallOptions | undefined) =>
      Effect.matchEffect(
        McpConnection.callTool(connection, { name: tool.tool, arguments: args }, options),
        { onFailure, onSuccess }
      )
    if (around === undefined && meta === undefined) return send(call.arguments, wire)
    let wasSent = false
    // What was sent before may have run.
    const late = () => Refusals.late(tool, Left.millisOf(wire?.maxTotal), wasSent ? "maybe" : "no")
    return Effect.flatMap(Left.since(wire), (left) =>
      Effect.flatMap(this.metaOf(tool, call, wire), (meta) => {
        const next: Next = (change = {}) =>
          Effect.flatMap(left(late), (left) => {
            wasSent = true
            const options = withMeta(left ?? {}, { ...meta, ...wire?.meta, ...change.meta })
            return send(change.arguments ?? call.arguments, options)
          })
        return around === undefined ? next() : around(call, next)
      }))
  }

  /** Its server is asked once for each call whether it has the tool. */
  private orGone(
    tool: AgentTool,
    { catalog: { tools }, inTime }: Connection,
    error: McpError.RemoteError,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<never, McpError.McpError> {
    return Effect.flatMap(
      Effect.option(inTime(tools.refresh, "tools/call", options)),
      (read) => Effect.fail(read._tag === "Some" && tools.find(tool.tool) === undefined ? Refusals.gone(tool) : error)
    )
  }

  private metaOf(
    tool: AgentTool,
    call: OutgoingCall,
    options: McpConnection.CallOptions | undefined
  ): Effect.Effect<McpProtocol.JsonObject | undefined, McpError.McpError, R> {
    const { meta } = this.parts.options
    if (meta === undefined) return Effect.succeed(undefined)
    const patience = Math.min(Decision.patience, Left.millisOf(options?.timeout), Left.millisOf(options?.maxTotal))
    const resolved = Effect.suspend(() => {
      const resolved = meta(call, this.request)
      return Effect.isEffect(resolved)
        ? Decision.before(resolved, patience)
        : Effect.succeedSome(Exit.succeed(resolved))
    })
    const refuse = (why: string) => Effect.fail(Refusals.withoutMeta(tool, why))
    return Effect.flatMap(Effect.exit(resolved), (asked) => {
      const end = Exit.isSuccess(asked) ? asked.value : Option.some(Exit.failCause(asked.cause))
      if (Option.isNone(end)) return refuse(`took longer than ${patience} ms`)
      if (Exit.isFailure(end.value)) {
        const { cause } = end.value
        return Cause.isInterruptedOnly(cause) ? Effect.failCause(cause as Cause.Cause<never>) : refuse("failed")
      }
      const { value } = end.value
      return value === undefined || isPlainObject(value)
        ? Effect.succeed(value)
        : refuse("gave something that is no object")
    })
  }

  /** The call has run, whatever becomes of this. */
  private extracted(result: McpProtocol.CallToolResult, call: OutgoingCall): Effect.Effect<unknown> {
    const { extract } = this.parts.options
    if (extract === undefined) return Effect.succeed(undefined)
    return Effect.catchAllCause(
      Effect.sync(() => {
        const data = extract(result, call)
        if (!Predicate.isPromiseLike(data)) return data
        // It is not waited for, and its rejection is nobody's.
        data.then(undefined, () => {})
        throw new TypeError("it must not be asynchronous")
      }),
      () =>
        Effect.as(
          Lines.about(call.server, "tools/call")(
            Effect.logError(
              `the data of the application could not be taken from a result of "${
                McpError.displayName(call.name, 128)
              }"`
            )
          ),
          undefined
        )
    )
  }

  /** A text for the model in the place of the error, or the error. */
  private failed<R2, E2>(
    tool: AgentTool | undefined,
    asked: Asked,
    error: McpError.McpError,
    options: CallOptions<unknown, R2, E2> | undefined
  ): Effect.Effect<ToolResult<never>, E | E2, R | R2> {
    const server = tool?.server ?? error.server
    // Whose tool it would be whose name no tool has, nobody knows, whatever the error names.
    const known = tool?.server ?? (typeof asked === "string" ? undefined : asked.server)
    const name = tool?.name ?? (typeof asked === "string" ? asked : idOf(asked.server, asked.tool))
    const call = { server, tool: tool?.tool ?? name, name: McpError.displayName(name) }
    const told: Effect.Effect<string, E | E2, R | R2> = options?.failure === undefined
      ? Failure.handle(this.parts.settings.of(known).failure, error, call)
      : Failure.handle(options.failure, error, call)
    return Effect.map(told, (text) => ({ _tag: "Failure", tool, text, error }))
  }
}

const isAsked = (tool: AgentTool, asked: Asked): boolean =>
  typeof asked === "string" ? tool.name === asked : tool.server === asked.server && tool.tool === asked.tool

const identityOf = ({ server, tool }: AgentTool): ToolNaming.ToolIdentity => ({ server, tool })

/** What no model is told, because it is the caller who has to do something. */
const isForCaller = (error: Unapproved): error is CallError | McpError.ConfigInvalid =>
  error._tag === "ApprovalRequired" || error._tag === "RequestMissing" || error._tag === "NamesClash" ||
  (error._tag === "ConfigInvalid" && error.operation === Refusals.approving)

/** What is the connection's affair. */
const wireOf = (
  { failure: _, onToolError: __, output: ___, ...wire }: CallOptions<unknown>
): McpConnection.CallOptions => wire

const withMeta = <O extends McpConnection.CallOptions>(options: O, meta: McpProtocol.JsonObject): O =>
  Object.keys(meta).length === 0 ? options : { ...options, meta }
