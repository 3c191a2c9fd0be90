/**
 * What an application wants of a toolset, for each server.
 *
 * Owns: which setting holds where it is made in several places, and the checks of all of them.
 */
import * as Either from "effect/Either"
import * as McpError from "../../McpError.js"
import * as ToolApproval from "../../ToolApproval.js"
import * as ToolFailure from "../../ToolFailure.js"
import * as ToolFilter from "../../ToolFilter.js"
import * as ToolNaming from "../../ToolNaming.js"
import * as ToolOutput from "../../ToolOutput.js"
import type { ServerOptions, ToolsetOptions } from "../../Toolset.js"
import { owners } from "../errors/owners.js"
import * as Check from "../options.js"
import { isPlainObject } from "./patternList.js"
import type { Looks } from "./table.js"

/** What holds for the tools of one server. */
export interface ServerSettings<Request, R, A, E> {
  /** Nothing where every tool is shown. */
  readonly filter: ToolFilter.ToolFilter<Request, R> | undefined
  readonly approval: ToolApproval.ToolApproval<Request, R>
  readonly failure: ToolFailure.ToolFailure<R, E>
  readonly output: ToolOutput.ToolOutput<A>
  readonly onToolError: "value" | "fail"
  readonly validateArguments: boolean
  readonly validateOutput: boolean
}

export interface Settings<Request, R, A, E> {
  readonly id: string
  readonly only: ReadonlySet<string> | undefined
  /** The servers that are spoken of. */
  readonly named: ReadonlyArray<string>
  readonly looks: Looks
  readonly onServerError: "report" | "fail"
  /** In milliseconds; `null` for ever. */
  readonly approvalExpiresIn: number | null
  /** How long the instructions of one server may be. Nothing where they are not wished. */
  readonly instructions: number | undefined
  /** What holds for the tools of this server; of none, where it is not known whose they would be. */
  readonly of: (server: string | undefined) => ServerSettings<Request, R, A, E>
}

const owner = owners.toolset

const defaultInstructions = 4096

const oneOf = <A extends string>(...values: ReadonlyArray<A>) => (value: unknown): Check.Checked<A> =>
  values.includes(value as A)
    ? Either.right(value as A)
    : Either.left(`must be one of ${values.map((_) => `"${_}"`).join(", ")}`)

const truth = (value: unknown): Check.Checked<boolean> =>
  typeof value === "boolean" ? Either.right(value) : Either.left("must be true or false")

const is = (guard: (u: unknown) => boolean, what: string) => (value: unknown): Check.Checked<unknown> =>
  value === undefined || guard(value) ? Either.right(value) : Either.left(`must be ${what}`)

const isFunction = (u: unknown) => typeof u === "function"

const isRecord = (u: unknown): u is Record<string, unknown> => typeof u === "object" && u !== null && !Array.isArray(u)

const names = (value: unknown): Check.Checked<ReadonlyArray<string> | undefined> =>
  value === undefined || (Array.isArray(value) && value.every((_) => typeof _ === "string"))
    ? Either.right(value)
    : Either.left("must be a list of names")

const reserved = (value: unknown): Check.Checked<ReadonlySet<string>> =>
  typeof value === "object" && value !== null && Symbol.iterator in value
    ? Either.filterOrLeft(
      Either.right(new Set(value as Iterable<string>)),
      (names) => Array.from(names).every((_) => typeof _ === "string"),
      () => "must be names"
    )
    : Either.left("must be names")

const instructions = (value: unknown): Check.Checked<number | undefined> => {
  if (typeof value === "boolean") return Either.right(value ? defaultInstructions : undefined)
  const maxLength = isRecord(value) ? value.maxLength : undefined
  return Number.isSafeInteger(maxLength) && (maxLength as number) > 0
    ? Either.right(maxLength as number)
    : Either.left("must be true, false, or { maxLength: a whole number of at least 1 }")
}

const id = (value: unknown): Check.Checked<string> =>
  typeof value === "string" && value !== "" && value.length <= 256
    ? Either.right(value)
    : Either.left("must be a text of 1 to 256 characters")

const serverChecks = {
  filter: is(ToolFilter.isToolFilter, "a ToolFilter"),
  approval: is(ToolApproval.isToolApproval, "a ToolApproval"),
  failure: is((u) => u === "propagate" || isFunction(u), `"propagate" or a function`),
  output: is((u) => isRecord(u) && isFunction(u.convert), "a ToolOutput"),
  onToolError: oneOf("value", "fail"),
  validateArguments: truth,
  validateOutput: truth
}

const serverDefaults = {
  filter: undefined,
  approval: undefined,
  failure: undefined,
  output: undefined,
  onToolError: "value",
  validateArguments: false,
  validateOutput: true
}

const checks = {
  ...serverChecks,
  id,
  only: names,
  servers: is(isPlainObject, "a record of options by the names of servers"),
  naming: is((u) => isRecord(u) && isFunction(u.names), "a ToolNaming"),
  reserved,
  schemas: oneOf("verbatim", "strict", "nullable"),
  includeReturnSchema: truth,
  onServerError: oneOf("report", "fail"),
  approvalExpiresIn: (value: unknown): Check.Checked<number | null> =>
    value === undefined ? Either.right(null) : Check.finiteBound(value),
  meta: is(isFunction, "a function"),
  around: is(isFunction, "a function"),
  extract: is(isFunction, "a function"),
  instructions
}

const defaults = {
  ...serverDefaults,
  id: "tools",
  only: undefined,
  servers: undefined,
  naming: undefined,
  reserved: [],
  schemas: "verbatim",
  includeReturnSchema: false,
  onServerError: "report",
  approvalExpiresIn: undefined,
  meta: undefined,
  around: undefined,
  extract: undefined,
  instructions: false
}

export const make = <Request, R, A, E, L>(
  options: ToolsetOptions<Request, R, A, E, L>,
  problems: ReadonlyArray<McpError.ConfigProblem>
): Either.Either<Settings<Request, R, A, E>, McpError.ConfigInvalid> => {
  const checked = Check.check(checks, defaults, options, owner)
  const perServer = isRecord(options) && isPlainObject(options.servers) ? Object.entries(options.servers) : []
  const all = [...problems, ...Check.problemsOf(checked, "")]
  for (const [server, settings] of perServer) {
    all.push(
      ...Check.problemsOf(
        // A `Map` would be taken for settings that say nothing.
        Check.check(serverChecks, serverDefaults, isPlainObject(settings) ? settings : undefined, owner),
        `servers.${McpError.displayText(server, 64)}.`
      )
    )
  }
  if (all.length > 0 || Either.isLeft(checked)) {
    return Either.left(
      new McpError.ConfigInvalid({ server: owner, operation: "configure", executed: "no", problems: all })
    )
  }
  const { approvalExpiresIn, includeReturnSchema, only, reserved, right } = { ...checked.right, right: checked.right }
  const general = serverSettings<Request, R, A, E>(options, {})
  const special = new Map(
    perServer.map(([server, own]) => [server, serverSettings(options, own as ServerOptions<Request, R, A, E>)])
  )
  return Either.right({
    id: right.id,
    only: only === undefined ? undefined : new Set(only),
    named: [...new Set([...only ?? [], ...special.keys()])],
    looks: { naming: options.naming ?? ToolNaming.prefixed, reserved, schemas: right.schemas, includeReturnSchema },
    onServerError: right.onServerError,
    approvalExpiresIn,
    instructions: right.instructions,
    of: (server) => server === undefined ? general : special.get(server) ?? general
  })
}

/** What is settled for a server wins, but for filters: both must show a tool. */
const serverSettings = <Request, R, A, E>(
  toolset: ServerOptions<Request, R, A, E>,
  server: ServerOptions<Request, R, A, E>
): ServerSettings<Request, R, A, E> => ({
  filter: both(server.filter, toolset.filter),
  approval: server.approval ?? toolset.approval ?? ToolApproval.never,
  failure: server.failure ?? toolset.failure ?? ToolFailure.explained,
  output: server.output ?? toolset.output ?? ToolOutput.make() as ToolOutput.ToolOutput<never>,
  onToolError: server.onToolError ?? toolset.onToolError ?? "value",
  validateArguments: server.validateArguments ?? toolset.validateArguments ?? false,
  validateOutput: server.validateOutput ?? toolset.validateOutput ?? true
})

const both = <Request, R>(
  one: ToolFilter.ToolFilter<Request, R> | undefined,
  other: ToolFilter.ToolFilter<Request, R> | undefined
): ToolFilter.ToolFilter<Request, R> | undefined =>
  one === undefined
    ? other
    : other === undefined
    ? one
    : ToolFilter.and(one, other) as ToolFilter.ToolFilter<Request, R>
