/**
 * Which calls a human has to approve, and what waits for the answer.
 *
 * Owns: the decision for each call, and that a policy which does not decide asks for approval; pending approvals as values,
 * which can be stored, and answered later and elsewhere.
 * May not touch: the call itself, how an agent is told, and how often it is asked: once for each call is what it is made
 * for. It always gets the name that the server gave to the tool.
 *
 * | a policy that | approval is |
 * |---|---|
 * | answers `false` | not needed |
 * | answers `true` | needed |
 * | has no rule for the tool | needed, unless `otherwise` is `"never"` |
 * | fails, dies, throws, takes too long, answers anything else, or was not told who asks | needed, with a line in the log |
 * | is interrupted | nothing: the interruption goes on |
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { problemsOf } from "./internal/config/problems.js"
import { where } from "./internal/errors/facts.js"
import { owners } from "./internal/errors/owners.js"
import * as Check from "./internal/options.js"
import * as Rules from "./internal/toolset/approvalRules.js"
import { isToolRequest } from "./internal/toolset/asker.js"
import * as Canonical from "./internal/toolset/canonical.js"
import * as Deciding from "./internal/toolset/decision.js"
import * as PatternList from "./internal/toolset/patternList.js"
import * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"
import type { ToolRequest } from "./ToolRequest.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/core/ToolApproval")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * What an agent is about to do.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  /** The configured name of the server. */
  readonly server: string
  /** The name that the server gave to the tool. */
  readonly tool: string
  readonly arguments: McpProtocol.JsonObject
  /** What the server says of the tool. */
  readonly annotations?: McpProtocol.ToolAnnotations | undefined
  /** Whether the configuration calls the server trusted, so that what it says can be believed. */
  readonly trusted: boolean
  /**
   * What the server says of the tool, and which server it is, as in a `PendingApproval` of this call. A policy that remembers what a
   * person has allowed once and for all compares both: by name alone, another tool or program may be called the same.
   */
  readonly toolFingerprint?: string | undefined
  readonly serverFingerprint?: string | undefined
}

/**
 * A policy that has to know `Request` (who asks), and needs the services `R`. One that needs neither fits everywhere.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolApproval<in Request = unknown, out R = never> {
  readonly [TypeId]: TypeId
  /**
   * Whether a call needs approval: at once, where no effect is needed for that. It never fails. To be asked once for each call.
   */
  readonly decide: (call: Call, request: Request | undefined) => boolean | Effect.Effect<boolean, never, R>
}

/**
 * @since 0.1.0
 * @category models
 */
export declare namespace ToolApproval {
  /** Any policy, whatever it needs. */
  export type Any = ToolApproval<never, unknown>

  /** What all of these policies together have to know: for a union of policies, the intersection. */
  export type Request<P extends Any> = [P] extends [ToolApproval<infer Request, unknown>] ? Request : never

  /** The services that these policies need. */
  export type Context<P extends Any> = P extends ToolApproval<never, infer R> ? R : never
}

/**
 * Rules by the names that servers give to their tools, or patterns for them: `*` stands for any characters or none, `?`
 * for one. A name that is written out says more than a pattern; where patterns disagree, approval is needed.
 *
 * @since 0.1.0
 * @category models
 */
export type Names =
  | { readonly always?: ReadonlyArray<string> | undefined; readonly never?: ReadonlyArray<string> | undefined }
  | { readonly [name: string]: "always" | "never" | boolean }

/**
 * A policy as a function. Only `false` means that no approval is needed.
 *
 * @since 0.1.0
 * @category models
 */
export type Policy<in Agent, in RunContext, out E, out R> = (
  call: Call,
  request: ToolRequest<Agent, RunContext>
) => boolean | Effect.Effect<boolean, E, R>

/**
 * @since 0.1.0
 * @category options
 */
export interface Options {
  /** For tools that are in none of the rules. Default: `"always"`, so that a new tool of a server is not free. */
  readonly otherwise?: "always" | "never" | undefined
  /** How long the decision of a function may take. Positive and finite. Default: 5 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Whether a value is a policy that was made here.
 *
 * @since 0.1.0
 * @category guards
 */
export const isToolApproval = (u: unknown): u is ToolApproval.Any =>
  typeof u === "object" && u !== null && (u as { readonly [TypeId]?: unknown })[TypeId] === TypeId

const from = <Request, R>(decide: ToolApproval<Request, R>["decide"]): ToolApproval<Request, R> =>
  Object.freeze<ToolApproval<Request, R>>({ [TypeId]: TypeId, decide })

/**
 * Every call needs approval.
 *
 * @since 0.1.0
 * @category constructors
 */
export const always: ToolApproval = from(() => true)

/**
 * No call needs approval.
 *
 * @since 0.1.0
 * @category constructors
 */
export const never: ToolApproval = from(() => false)

/**
 * Every call needs approval, but those of tools that change nothing, as a trusted server says.
 *
 * @since 0.1.0
 * @category constructors
 */
export const destructive: ToolApproval = from((call) =>
  !(call.trusted === true && call.annotations?.readOnlyHint === true)
)

const owner = owners.toolApproval

const checks = {
  otherwise: (value: unknown): Check.Checked<boolean> =>
    value === "always" || value === "never"
      ? Either.right(value === "always")
      : Either.left("must be \"always\" or \"never\""),
  timeout: Check.finiteBound
}

/**
 * A policy. Fails with one problem for each field and entry that is wrong.
 *
 * - `"always"`, `"never"`: for every tool.
 * - `{ delete_file: "always", read_file: "never" }`: a rule for each name; `true` is `"always"`, `false` is `"never"`.
 * - `{ always: ["delete_*"], never: ["read_*"] }`: the same as two lists. It is this if `always` or `never` is a list;
 *   otherwise these are names of tools.
 * - A function of the call, the agent and its run. Without agent or run it is not asked, and approval is needed. Its
 *   deadline holds for effects; a function that does not return can't be stopped.
 *
 * @example
 * ```ts
 * import { ToolApproval, type ToolRequest } from "@mcp-runtime/core"
 *
 * const byName = ToolApproval.make({ always: ["delete_*"], never: ["*"] })
 *
 * const byAmount = ToolApproval.make(
 *   (call, { runContext }: ToolRequest.ToolRequest<unknown, { readonly limit: number }>) =>
 *     !(Number(call.arguments.amount) <= runContext.limit)
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export function make(
  input: "always" | "never" | Names,
  options?: Options
): Either.Either<ToolApproval, McpError.ConfigInvalid>
export function make<Agent = unknown, RunContext = unknown, E = never, R = never>(
  input: "always" | "never" | Names | Policy<Agent, RunContext, E, R>,
  options?: Options
): Either.Either<ToolApproval<ToolRequest<Agent, RunContext>, R>, McpError.ConfigInvalid>
export function make<Agent, RunContext, E, R>(
  input: "always" | "never" | Names | Policy<Agent, RunContext, E, R>,
  options: Options = {}
): Either.Either<ToolApproval<ToolRequest<Agent, RunContext>, R>, McpError.ConfigInvalid> {
  return Either.flatMap(
    Check.check(checks, { otherwise: "always", timeout: Deciding.patience }, options, owner),
    ({ otherwise, timeout }) => {
      if (typeof input === "function") return Either.right(byPolicy(input, timeout))
      return input === "always"
        ? Either.right(always)
        : input === "never"
        ? Either.right(never)
        : byName(input, otherwise)
    }
  )
}

const byName = (input: unknown, otherwise: boolean): Either.Either<ToolApproval, McpError.ConfigInvalid> => {
  if (!PatternList.isPlainObject(input)) {
    return Either.left(PatternList.invalid(owner, [{
      field: "(root)",
      problem: "must be \"always\", \"never\", rules by the names of tools, or a function"
    }]))
  }
  return Either.mapBoth(Rules.areLists(input) ? Rules.fromLists(input) : Rules.fromMap(input), {
    onLeft: (problems) => PatternList.invalid(owner, problems),
    onRight: (rules) => from((call) => rules(call.tool) ?? otherwise)
  })
}

const byPolicy = <Agent, RunContext, E, R>(
  policy: Policy<Agent, RunContext, E, R>,
  timeout: number
): ToolApproval<ToolRequest<Agent, RunContext>, R> =>
  from((call, request) => {
    if (!isToolRequest(request)) return Deciding.unanswered(question(call), "was not told who asks")
    let answer: boolean | Effect.Effect<boolean, E, R>
    try {
      answer = policy(call, request)
    } catch (error) {
      return Deciding.thrown(question(call), error)
    }
    return typeof answer === "boolean" ? answer : Deciding.settle(answer, timeout, question(call))
  })

const question = (call: Call): Deciding.Question => ({
  who: "the approval policy",
  operation: "tools/call",
  server: call.server,
  tool: call.tool,
  safe: true,
  consequence: "so the call needs approval"
})

/** Read as a frozen copy, so that nobody changes what was checked. */
const JsonObject: Schema.Schema<McpProtocol.JsonObject> = Schema.declare([], {
  decode: () => (input, _, ast) => {
    const copy = Canonical.isJsonObject(input) ? Canonical.snapshot(input) : undefined
    return copy === undefined ? ParseResult.fail(new ParseResult.Type(ast, input)) : ParseResult.succeed(copy)
  },
  encode: () => (input) => ParseResult.succeed(input as McpProtocol.JsonObject)
}, {
  identifier: "JsonObject",
  jsonSchema: { type: "object" },
  message: () => "must be a JSON object"
})

/**
 * A call that waits for someone's answer. It holds all that is needed to make the call later, in another process too, and
 * is JSON when it is encoded.
 *
 * `fingerprint` is a digest of toolset, server, tool, name, arguments and the digests below: of what a person is shown, and of
 * what is called. A value in which one of them is another than it was can't be made or decoded, so nobody approves one call and
 * gets another by accident. It is no signature: whoever can write to where these values are stored can make up new ones. The
 * arguments are those of the model, and may hold secrets. They are read as a frozen copy.
 *
 * `toolFingerprint` is a digest of what the server said of the tool: its name, title, description, annotations and schemas. Where
 * it says something else by then, nothing is called. Without it a value can be read and rejected, and not approved.
 *
 * `serverFingerprint` is a digest of which server that was, as it is configured: after a reload the same name may be that of another
 * program, which may describe its tools the same. It is treated as `toolFingerprint` is, and is the same in every process.
 *
 * - Part of it: `name`, `transport`, `command`, `args`, `cwd`, `inheritEnv`, `expand`; scheme, host, port and path of the URL, and
 *   the names of its query parameters; the names of `env` and `headers`; scheme, host and port of `proxy`; `tls.ca`, and whether
 *   `tls.verify` is `false`; the client in `auth`; and the references in all of them and in `tls`.
 * - No part of it: what is written out and may be a secret, which is the values of `env`, `headers`, `auth` and the other fields of
 *   `tls`, of the query and the user of a URL, of arguments after a name such as `--token` or `PASSWORD=`, and whatever is in
 *   `secrets`; and what a reference stands for. A secret in a path, or inside an argument that says more, is part of it.
 * - Nor anything about how a server is used: `enabled`, `trusted`, `timeouts`, `limits`, `lifetime` and the like.
 *
 * `serverSeal` is a digest of the same with all values, secrets too, and with the function of a server in this process. Its key never
 * leaves the process that has made it, so that nobody finds out by trying what they are; and so it counts in that process only.
 *
 * @since 0.1.0
 * @category pending approvals
 */
export class PendingApproval extends Schema.Class<PendingApproval>("@mcp-runtime/core/PendingApproval")(
  Schema.Struct({
    /** 128 random bits, in hexadecimal. */
    id: Schema.String,
    /** The id of the toolset over which it is to be called. */
    toolset: Schema.String,
    /** The configured name of the server. */
    server: Schema.String,
    /** The name that the server gave to the tool. */
    tool: Schema.String,
    /** The name by which the agent called it. */
    name: Schema.String,
    arguments: JsonObject,
    /** Milliseconds since 1970. */
    requestedAt: Schema.Int,
    /** Milliseconds since 1970; without it, it does not expire. */
    expiresAt: Schema.optional(Schema.Int),
    fingerprint: Schema.String,
    toolFingerprint: Schema.optional(Schema.String),
    serverFingerprint: Schema.optional(Schema.String),
    serverSeal: Schema.optional(Schema.String)
  }).pipe(
    Schema.filter((_) =>
      !Canonical.isOfThisVersion(_.fingerprint)
        ? "was made by another version of this library; the call must be made anew"
        : _.fingerprint === Canonical.fingerprint(_) ||
          "is not what approval was asked for: the fingerprint is that of another call"
    )
  )
) {}

/**
 * As JSON.
 *
 * @since 0.1.0
 * @category pending approvals
 */
export const encode: (pending: PendingApproval) => typeof PendingApproval.Encoded = Schema.encodeSync(PendingApproval)

const decodeUnknown = Schema.decodeUnknownEither(PendingApproval)

/**
 * From JSON. Fails with one problem per field that is wrong, without the value that was found; and where it is not the
 * call for which approval was asked.
 *
 * @since 0.1.0
 * @category pending approvals
 */
export const decode = (json: unknown): Either.Either<PendingApproval, McpError.ConfigInvalid> =>
  Either.mapLeft(
    decodeUnknown(json),
    (error) =>
      new McpError.ConfigInvalid({
        server: owners.pendingApproval,
        operation: "approve",
        executed: "no",
        problems: problemsOf(error)
      })
  )

/**
 * Whether it is too late for an answer. `now` is in milliseconds since 1970.
 *
 * @since 0.1.0
 * @category pending approvals
 */
export const isExpired = (pending: PendingApproval, now: number): boolean =>
  pending.expiresAt !== undefined && !(now < pending.expiresAt)

/**
 * A call needs the approval of a person first. `pending` can be stored, and answered later, in another process too.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApprovalRequired
  extends Schema.TaggedError<ApprovalRequired>("@mcp-runtime/core/ApprovalRequired")("ApprovalRequired", {
    server: Schema.String,
    operation: Schema.String,
    executed: McpError.Executed,
    pending: PendingApproval
  })
{
  override get message() {
    const { name } = this.pending
    return `${where(this)}: the call of "${
      McpError.displayName(name)
    }" needs approval; to do: ask a person, and give 'pending' to approve or reject`
  }
}
