/**
 * What is wrong with the servers of a toolset.
 *
 * Owns: which of them are told of, and that what has not changed is the same value.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import type { ManagerState, ServerStatus } from "../../McpManager.js"
import * as Reasons from "../connection/reasons.js"
import * as Lines from "../telemetry/lines.js"
import type { Settings } from "./settings.js"
import type { ToolLists } from "./table.js"

export interface Problem {
  readonly server: string
  readonly error: McpError.McpError
  /** It has none of its tools. */
  readonly isMissing: boolean
}

/** What is wanted of which servers. */
export type Wanted = Pick<Settings<never, never, never, never>, "id" | "only" | "named">

type Servers = ManagerState["servers"]

/** Nothing where the servers can still be used. */
export type End = Effect.Effect<McpError.ConnectionUnavailable | undefined>

export class Problems {
  /** Whether the names in the options were looked up. */
  isChecked: boolean
  private strangers: { readonly configured: ReadonlyArray<string>; readonly problems: ReadonlyArray<Problem> }
  private readonly told = new Set<string>()
  private readonly ended = new Map<string, Problem>()

  constructor(
    private readonly wanted: Wanted,
    private readonly servers: Effect.Effect<ManagerState>,
    private readonly end: End
  ) {
    this.isChecked = wanted.named.length === 0
    this.strangers = { configured: [], problems: this.strangersAmong([]) }
  }

  /** In configured order: also of servers that have no list. */
  of(lists: ToolLists): Effect.Effect<ReadonlyArray<Problem>> {
    return Effect.flatMap(this.servers, ({ servers }) => {
      const listOf = new Map(lists.map((_) => [_.server, _]))
      const isLeftOut = ({ name, phase }: ServerStatus) =>
        !listOf.has(name) && phase !== "failed" && phase !== "disabled" && this.isWanted(name)
      const end = servers.some(isLeftOut) ? this.end : Effect.succeed(undefined)
      return Effect.flatMap(end, (end) => {
        const problems = servers.flatMap((status): ReadonlyArray<Problem> => {
          const list = listOf.get(status.name)
          if (list !== undefined) return problemsOf(list, status, () => this.endOf(status.name, undefined))
          if (end !== undefined && isLeftOut(status)) return [this.endOf(status.name, end)]
          return status.phase === "failed" && this.isWanted(status.name) && status.error !== undefined
            ? [{ server: status.name, error: status.error, isMissing: true }]
            : []
        })
        return Effect.map(this.checked(servers), (strangers) => [...problems, ...strangers])
      })
    })
  }

  /** Warns of names in the options that nobody has. */
  get check(): Effect.Effect<void> {
    return Effect.flatMap(this.servers, ({ servers }) => Effect.asVoid(this.checked(servers)))
  }

  private isWanted(server: string): boolean {
    return this.wanted.only === undefined || this.wanted.only.has(server)
  }

  /** What is closed for good: all of them, or the connection of this one. */
  private endOf(server: string, end: McpError.ConnectionUnavailable | undefined): Problem {
    const known = this.ended.get(server)
    if (known !== undefined) return known
    const { detail, reason } = end ?? Reasons.released(server)
    const error = new McpError.ConnectionUnavailable({ server, operation, executed: "no", reason, detail })
    const problem = { server, error, isMissing: end !== undefined }
    this.ended.set(server, problem)
    return problem
  }

  private checked(servers: Servers): Effect.Effect<ReadonlyArray<Problem>> {
    this.isChecked = true
    const problems = this.unknownTo(servers)
    const news = problems.filter((_) => !this.told.has(_.server))
    if (news.length === 0) return Effect.succeed(problems)
    for (const { server } of news) this.told.add(server)
    return Effect.as(Effect.forEach(news, (_) => this.warn(_), { discard: true }), problems)
  }

  /** The names in the options that nobody has: the same value for as long as they and the servers are the same. */
  unknownTo(servers: Servers): ReadonlyArray<Problem> {
    const configured = servers.map((_) => _.name)
    if (!isSame(configured, this.strangers.configured)) {
      this.strangers = { configured, problems: this.strangersAmong(configured) }
    }
    return this.strangers.problems
  }

  private strangersAmong(configured: ReadonlyArray<string>): ReadonlyArray<Problem> {
    const names = new Set(configured)
    return this.wanted.named.filter((_) => !names.has(_)).map((server) => ({
      server,
      error: new McpError.UnknownServer({
        server: McpError.displayName(server),
        operation,
        executed: "no",
        configured
      }),
      isMissing: true
    }))
  }

  private warn({ error, server }: Problem): Effect.Effect<void> {
    return Lines.about(McpError.displayName(server, 128), operation)(
      Effect.logWarning(
        `the options of the toolset "${this.wanted.id}" name a server that there is not: ${error.message}`
      )
    )
  }
}

const operation = "tools/list"

const problemsOf = (
  { error, origin, server }: ToolLists[number],
  { state }: ServerStatus,
  ended: () => Problem
): ReadonlyArray<Problem> => {
  if (error === undefined) return state?._tag === "Closed" ? [ended()] : []
  // A server without tools has none to miss.
  return error._tag === "CapabilityMissing" ? [] : [{ server, error, isMissing: origin === "unknown" }]
}

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((_, i) => _ === b[i])
