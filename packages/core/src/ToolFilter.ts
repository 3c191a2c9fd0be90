/**
 * Which tools an agent may see.
 *
 * Owns: the decision for each tool of a server, and that a filter which does not decide shows nothing.
 * May not touch: where tools come from, what they are called for the agent, and calls. A filter always gets the name that
 * the server gave to the tool, and the tool itself as it is, frozen.
 *
 * | a filter that | the tool is |
 * |---|---|
 * | answers `true` | shown |
 * | answers `false` | excluded |
 * | fails, dies, throws, takes too long, or answers anything else | excluded, with a line in the log |
 * | is interrupted | nothing: the interruption goes on |
 *
 * Nothing is remembered: each request is decided on its own.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { owners } from "./internal/errors/owners.js"
import * as Check from "./internal/options.js"
import { isToolRequest } from "./internal/toolset/asker.js"
import * as Decision from "./internal/toolset/decision.js"
import * as NameMatcher from "./internal/toolset/nameMatcher.js"
import * as PatternList from "./internal/toolset/patternList.js"
import type * as McpError from "./McpError.js"
import type * as McpProtocol from "./McpProtocol.js"
import type { ToolRequest } from "./ToolRequest.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("@mcp-runtime/core/ToolFilter")

/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * A filter that has to know `Request` (who asks), and needs the services `R`. One that needs neither fits everywhere.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolFilter<in Request = unknown, out R = never> {
  readonly [TypeId]: TypeId
  /** Whether it can't decide without a request. */
  readonly needsRequest: boolean
  /** The patterns that say what is allowed, where some do. */
  readonly allowed: ReadonlyArray<string>
  /**
   * Whether a tool of this server is shown: at once, where no effect is needed for that. It never fails. Without the request
   * that it needs, no tool is.
   */
  readonly decide: (
    tool: McpProtocol.Tool,
    server: string,
    request: Request | undefined
  ) => boolean | Effect.Effect<boolean, never, R>
}

/**
 * @since 0.1.0
 * @category models
 */
export declare namespace ToolFilter {
  /** Any filter, whatever it needs. */
  export type Any = ToolFilter<never, unknown>

  /** What all of these filters together have to know: for a union of filters, the intersection. */
  export type Request<F extends Any> = [F] extends [ToolFilter<infer Request, unknown>] ? Request : never

  /** The services that these filters need. */
  export type Context<F extends Any> = F extends ToolFilter<never, infer R> ? R : never
}

/**
 * What a dynamic filter gets beside the tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface FilterContext<out Agent = unknown, out RunContext = unknown> extends ToolRequest<Agent, RunContext> {
  /** The configured name of the server. */
  readonly server: string
}

/**
 * Patterns for the names that servers give to their tools. `*` stands for any characters or none, `?` for one, everything
 * else for itself; upper and lower case differ.
 *
 * @since 0.1.0
 * @category models
 */
export interface Names {
  /** What may be seen. An empty list allows nothing; without a list everything is allowed. */
  readonly allow?: ReadonlyArray<string> | undefined
  /** What may not be seen, even if it is allowed. */
  readonly block?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category options
 */
export interface DynamicOptions {
  /** How long a decision about one tool may take. Positive and finite. Default: 5 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Whether a value is a filter that was made here.
 *
 * @since 0.1.0
 * @category guards
 */
export const isToolFilter = (u: unknown): u is ToolFilter.Any =>
  typeof u === "object" && u !== null && (u as { readonly [TypeId]?: unknown })[TypeId] === TypeId

type Decide<Request, R> = ToolFilter<Request, R>["decide"]

const make = <Request, R>(
  decide: Decide<Request, R>,
  facts: { readonly needsRequest?: boolean; readonly allowed?: ReadonlyArray<string> } = {}
): ToolFilter<Request, R> =>
  Object.freeze<ToolFilter<Request, R>>({
    [TypeId]: TypeId,
    needsRequest: facts.needsRequest ?? false,
    allowed: Object.freeze(facts.allowed ?? []),
    decide
  })

/**
 * Shows every tool.
 *
 * @since 0.1.0
 * @category constructors
 */
export const all: ToolFilter = make(() => true)

/**
 * Shows no tool.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: ToolFilter = make(() => false)

const owner = owners.toolFilter

/**
 * A filter from lists of patterns that someone wrote down, in a file for example. Fails with one problem for each field
 * and entry that is wrong.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decodeNames = (names: unknown): Either.Either<ToolFilter, McpError.ConfigInvalid> => {
  if (!PatternList.isPlainObject(names)) {
    return Either.left(PatternList.invalid(owner, [{ field: "(root)", problem: "must be an object" }]))
  }
  const problems: Array<McpError.ConfigProblem> = []
  PatternList.checkFields(names, ["allow", "block"], problems)
  const list = (field: "allow" | "block") =>
    names[field] === undefined ? undefined : PatternList.check(field, names[field], problems)
  const [allow, block] = [list("allow"), list("block")]
  return problems.length > 0 ? Either.left(PatternList.invalid(owner, problems)) : Either.right(byName(allow, block))
}

const byName = (
  allow: ReadonlyArray<string> | undefined,
  block: ReadonlyArray<string> | undefined
): ToolFilter => {
  const blocked = NameMatcher.make(block ?? [])
  if (allow === undefined) return make((tool) => !blocked.has(tool.name))
  const allowed = NameMatcher.make(allow)
  return make((tool) => allowed.has(tool.name) && !blocked.has(tool.name), { allowed: allow })
}

/**
 * Shows what `allow` names and `block` does not. What is written for this must be known to be right: it throws where a
 * pattern is empty or no text. For what comes from elsewhere there is `decodeNames`.
 *
 * @example
 * ```ts
 * import { ToolFilter } from "@mcp-runtime/core"
 *
 * const files = ToolFilter.fromNames({ allow: ["read_*", "list_*"], block: ["read_secret"] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromNames = (names: Names): ToolFilter => Either.getOrThrowWith(decodeNames(names), (error) => error)

/**
 * Shows only tools with these names. Without any, none. Patterns are as in `Names`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const allow = (...patterns: ReadonlyArray<string>): ToolFilter => fromNames({ allow: patterns })

/**
 * Shows all tools but those with these names. Patterns are as in `Names`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const block = (...patterns: ReadonlyArray<string>): ToolFilter => fromNames({ block: patterns })

const noAnnotations: McpProtocol.ToolAnnotations = Object.freeze({})

/**
 * Shows tools by what their servers say about them. A server may say anything: it is to be trusted for this. A tool of
 * which nothing is said is shown only if the predicate accepts that.
 *
 * @example
 * ```ts
 * import { ToolFilter } from "@mcp-runtime/core"
 *
 * const closedWorld = ToolFilter.annotated((annotations) => annotations.openWorldHint === false)
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const annotated = (predicate: (annotations: McpProtocol.ToolAnnotations) => boolean): ToolFilter =>
  make((tool, server) => {
    let answer: boolean
    try {
      answer = predicate(tool.annotations ?? noAnnotations)
    } catch (error) {
      return Decision.thrown(question(tool, server), error)
    }
    return typeof answer === "boolean" ? answer : Decision.settle(answer, 0, question(tool, server))
  })

/**
 * Shows tools that say of themselves that they change nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const readOnly: ToolFilter = annotated((annotations) => annotations.readOnlyHint === true)

/**
 * Decides with the agent, its run, and services of the application. Without a request the whole listing is an error.
 *
 * Only `true` shows the tool. Each decision has a deadline, which holds for effects; a function that does not return
 * can't be stopped.
 *
 * @example
 * ```ts
 * import { ToolFilter } from "@mcp-runtime/core"
 * import { Context, Effect } from "effect"
 *
 * interface Agent {
 *   readonly role: "admin" | "guest"
 * }
 *
 * class Rights extends Context.Tag("Rights")<Rights, {
 *   readonly mayUse: (user: string, tool: string) => Effect.Effect<boolean>
 * }>() {}
 *
 * const byRole = ToolFilter.dynamic((tool, context: ToolFilter.FilterContext<Agent>) =>
 *   context.agent.role === "admin" || !tool.name.startsWith("admin_"))
 *
 * const byRights = ToolFilter.dynamic(
 *   (tool, { runContext }: ToolFilter.FilterContext<unknown, { readonly user: string }>) =>
 *     Effect.flatMap(Rights, (rights) => rights.mayUse(runContext.user, tool.name)),
 *   { timeout: "1 second" }
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const dynamic = <Agent = unknown, RunContext = unknown, E = never, R = never>(
  decide: (
    tool: McpProtocol.Tool,
    context: FilterContext<Agent, RunContext>
  ) => boolean | Effect.Effect<boolean, E, R>,
  options: DynamicOptions = {}
): ToolFilter<ToolRequest<Agent, RunContext>, R> => {
  const { timeout } = Either.getOrThrowWith(
    Check.check({ timeout: Check.finiteBound }, { timeout: Decision.patience }, options, owner),
    (error) => error
  )
  return make((tool, server, request) => {
    if (!isToolRequest(request)) return Decision.unanswered(question(tool, server), "was not told who asks")
    let answer: boolean | Effect.Effect<boolean, E, R>
    try {
      answer = decide(tool, { server, agent: request.agent, runContext: request.runContext })
    } catch (error) {
      return Decision.thrown(question(tool, server), error)
    }
    return typeof answer === "boolean" ? answer : Decision.settle(answer, timeout, question(tool, server))
  }, { needsRequest: true })
}

const question = (tool: McpProtocol.Tool, server: string): Decision.Question => ({
  who: "the filter",
  operation: "tools/list",
  server,
  tool: tool.name,
  safe: false,
  consequence: "so it is excluded"
})

/**
 * Shows what all of these filters show; without any, everything. Those that need no request are asked first, and nobody
 * is asked about a tool that is excluded already.
 *
 * It needs what each of them needs: all their services, and a request that is good enough for each.
 *
 * @since 0.1.0
 * @category combinators
 */
export const and = <Filters extends ReadonlyArray<ToolFilter.Any>>(
  ...filters: Filters
): ToolFilter<ToolFilter.Request<Filters[number]>, ToolFilter.Context<Filters[number]>> => {
  type Request = ToolFilter.Request<Filters[number]>
  type R = ToolFilter.Context<Filters[number]>
  // Each of them needs no more than all together.
  const given = filters as ReadonlyArray<ToolFilter.Any> as ReadonlyArray<ToolFilter<Request, R>>
  const ordered = [...given.filter((_) => !_.needsRequest), ...given.filter((_) => _.needsRequest)]
  const from = (first: number, ...asked: Parameters<Decide<Request, R>>): Decision.Decision<R> => {
    for (let i = first; i < ordered.length; i++) {
      const answer = ordered[i]!.decide(...asked)
      if (answer === false) return false
      if (answer !== true) {
        return Effect.flatMap(answer, (_) => _ ? Decision.toEffect(from(i + 1, ...asked)) : Effect.succeed(false))
      }
    }
    return true
  }
  return make((tool, server, request) => from(0, tool, server, request), {
    needsRequest: given.some((_) => _.needsRequest),
    allowed: given.flatMap((_) => _.allowed)
  })
}

/**
 * The patterns of `allow` that mean none of these tools: probably misspelt. Each once, in the order in which they were
 * written.
 *
 * @since 0.1.0
 * @category inspection
 */
export const unmatched = (filter: ToolFilter.Any, names: Iterable<string>): ReadonlyArray<string> => {
  const all = new Set(names)
  return [...new Set(filter.allowed)].filter((pattern) => {
    if (!NameMatcher.isGlob(pattern)) return !all.has(pattern)
    const matches = NameMatcher.glob(pattern)
    for (const name of all) if (matches(name)) return false
    return true
  })
}
