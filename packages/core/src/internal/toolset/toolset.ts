/**
 * Puts a toolset together, and gives each agent its toolbox.
 *
 * Owns: the order of the steps of a listing.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type { PendingApproval } from "../../ToolApproval.js"
import type {
  AgentTool,
  CallOptions,
  ListError,
  Source,
  Toolbox,
  ToolList,
  Toolset,
  ToolsetOptions
} from "../../Toolset.js"
import { shownAs } from "../shownAs.js"
import { together } from "../together.js"
import { lacksRequest, missingRequest } from "./asker.js"
import { Calls } from "./calls.js"
import { instructionsOf } from "./instructions.js"
import * as Listing from "./listing.js"
import type { Problem } from "./problems.js"
import type { Asked } from "./refusals.js"
import * as Settings from "./settings.js"
import * as ToolSource from "./source.js"
import { type Found, type Table, Tables, type ToolLists } from "./table.js"

export const make = <Request, R, A, E, L>(
  source: Source,
  options: ToolsetOptions<Request, R, A, E, L> = {}
): Effect.Effect<Toolset<Request, R, A, E, L>, McpError.ConfigInvalid> =>
  Effect.suspend(() => {
    const from = ToolSource.of(source)
    return Either.map(
      Settings.make(options, Either.isLeft(from) ? from.left : []),
      (settings): Toolset<Request, R, A, E, L> => {
        // They are the caller's, who may change them.
        const parts = new Parts(Either.getOrThrow(from)(settings), settings, { ...options })
        const toolset: Toolset<Request, R, A, E, L> = {
          id: settings.id,
          for: (...[request]) => new OwnToolbox(parts, request as Request | undefined),
          instructions: instructionsOf(parts)
        }
        return shownAs(toolset, "Toolset", () => ({ id: settings.id }))
      }
    )
  })

/** What all toolboxes of a toolset share. */
export class Parts<Request, R, A, E> {
  readonly tables: Tables

  constructor(
    readonly source: ToolSource.ToolSource,
    readonly settings: Settings.Settings<Request, R, A, E>,
    readonly options: Pick<ToolsetOptions<Request, R, A, E>, "meta" | "around" | "extract">
  ) {
    this.tables = new Tables(settings.looks)
  }
}

/** Each run of an agent has its own, so that it is made of as little as can be. */
class OwnToolbox<Request, R, A, E, L> implements Toolbox<R, A, E, L> {
  readonly list: Toolbox<R, A, E, L>["list"]
  readonly changes: Toolbox<R, A, E, L>["changes"]
  readonly call: Toolbox<R, A, E, L>["call"]
  readonly approve: Toolbox<R, A, E, L>["approve"]
  readonly reject: Toolbox<R, A, E, L>["reject"]
  readonly toolset: string

  constructor(parts: Parts<Request, R, A, E>, request: Request | undefined) {
    const visible = new Visible(parts, request)
    const calls = new Calls(parts, visible, request)
    this.toolset = parts.settings.id
    // It only fails with `ServersFailed` where the options say so, and then that is `L`.
    this.list = visible.list as Toolbox<R, A, E, L>["list"]
    this.changes = Stream.suspend(() => {
      const isUnread = unread()
      const next = (lists: ToolLists) => isUnread(lists) ? visible.list : visible.listOf(lists)
      return Stream.changesWith(
        Stream.mapEffect(Stream.changesWith(parts.source.changes, offerTheSame), ({ lists }) => next(lists)),
        tellTheSame
      )
    }) as Toolbox<R, A, E, L>["changes"]
    // What comes of their options is more than can be shown here.
    const call = <B, R2, E2>(tool: Asked, args: unknown, options: CallOptions<B, R2, E2> | undefined) =>
      calls.call(tool, args, options)
    const approve = <B, R2, E2>(pending: PendingApproval, options: CallOptions<B, R2, E2> | undefined) =>
      calls.approve(pending, options)
    this.call = call as Toolbox<R, A, E, L>["call"]
    this.approve = approve as Toolbox<R, A, E, L>["approve"]
    this.reject = (pending, reason) => calls.reject(pending, reason)
  }
}

shownAs(OwnToolbox.prototype, "Toolbox", ({ toolset }) => ({ toolset }))

/** The tools of one server that its filter shows; nothing where it has none. */
type Kept = ReadonlyArray<McpProtocol.Tool> | undefined

/** Most filters decide at once. */
const decidedOf = <R>(
  kept: ReadonlyArray<Kept | Effect.Effect<Kept, never, R>>
): Effect.Effect<Array<Kept>, never, R> =>
  kept.some(Effect.isEffect)
    ? together(kept, (tools) => Effect.isEffect(tools) ? tools : Effect.succeed(tools))
    : Effect.succeed(kept as Array<Kept>)

/** A list, and the table that it was made of. */
interface Offered {
  readonly list: ToolList
  readonly table: Table
}

type Listed<A, R> = Effect.Effect<A, ListError<McpError.ServersFailed>, R>

const named = new WeakMap<ReadonlyArray<AgentTool>, ReadonlyMap<string, AgentTool>>()

/** Most lists are those of many toolboxes, and few are ever looked at again. */
const byName = (tools: ReadonlyArray<AgentTool>): ReadonlyMap<string, AgentTool> => {
  const known = named.get(tools)
  if (known !== undefined) return known
  const made = new Map(tools.map((_) => [_.name, _]))
  named.set(tools, made)
  return made
}

const none: ReadonlyMap<string, string> = new Map()

/** What one who asks may see. */
export class Visible<Request, R, A, E> {
  /** What was handed out last. */
  private handedOut: Offered | undefined = undefined
  /** Whose tools were handed out before that, of the servers that are away since. */
  private left: ReadonlyMap<string, string> = none

  constructor(private readonly parts: Parts<Request, R, A, E>, private readonly request: Request | undefined) {}

  readonly list: Listed<ToolList, R> = Effect.suspend(() =>
    Effect.flatMap(this.offered, (offered) => this.handOut(offered))
  )

  /** What these lists offer. None of them is read. */
  listOf(lists: ToolLists): Listed<ToolList, R> {
    return Effect.flatMap(this.offeredBy(lists), (offered) => this.handOut(offered))
  }

  private handOut(offered: Offered): Effect.Effect<ToolList> {
    const left = this.leftBy(offered)
    const away = left === this.left ? Effect.succeed(left) : this.away(left)
    return Effect.map(away, (left) => {
      this.left = left
      this.handedOut = offered
      return offered.list
    })
  }

  /** Whose tools were handed out, and are of servers that have none in this list. */
  private leftBy({ list: { tools } }: Offered): ReadonlyMap<string, string> {
    const before = this.handedOut?.list.tools
    if (before === undefined || before === tools) return this.left
    const there = new Set(tools.map((_) => _.server))
    const gone = before.filter((_) => !there.has(_.server))
    if (gone.length === 0 && this.left.size === 0) return this.left
    const known = [...this.left].filter(([, server]) => !there.has(server))
    return new Map([...known, ...gone.map(({ name, server }) => [name, server] as const)])
  }

  /** Only of servers that may come back. */
  private away(left: ReadonlyMap<string, string>): Effect.Effect<ReadonlyMap<string, string>> {
    return Effect.map(
      Effect.filter(new Set(left.values()), (_) => Effect.map(this.parts.source.away(_), Predicate.isNotUndefined)),
      (servers) => new Map([...left].filter(([, server]) => servers.includes(server)))
    )
  }

  /** What there is to list, without handing it out. */
  get offered(): Listed<Offered, R> {
    return Effect.flatMap(this.parts.source.lists.tools, (lists) => this.offeredBy(lists))
  }

  private offeredBy(lists: ToolLists): Listed<Offered, R> {
    const { settings, source, tables } = this.parts
    return Effect.flatMap(source.problems.of(lists), (problems) => {
      const missing = problems.filter((_) => _.isMissing)
      if (settings.onServerError === "fail" && missing.length > 0) return failed(missing)
      return Effect.flatMap(tables.soon(lists), (table) =>
        Effect.map(this.shown(table, lists), (tools): Offered => ({
          table,
          list: Object.freeze({
            tools,
            problems: Object.freeze(problems.map(({ error, server }) => Object.freeze({ server, error })))
          })
        })))
    })
  }

  /** Whether this name was handed out for another tool than this one of the table. */
  hasMoved(name: string, tool: AgentTool, table: Table): boolean {
    const { handedOut } = this
    if (handedOut === undefined || (handedOut.table === table && table.clash === undefined)) return false
    const before = byName(handedOut.list.tools).get(name)
    return before !== undefined && before.id !== tool.id
  }

  /** Whose tool this name was handed out for. */
  serverOf(name: string): string | undefined {
    return (this.handedOut && byName(this.handedOut.list.tools).get(name)?.server) ?? this.left.get(name)
  }

  /** The tools that the filters show, under their names. */
  private shown(table: Table, lists: ToolLists): Effect.Effect<ReadonlyArray<AgentTool>, ListError, R> {
    const asking = lists.find((_) => this.isMissingFor(_.server))
    if (asking !== undefined) return Effect.fail(missingRequest(asking.server))
    const kept = lists.map((list) => this.keptOf(list))
    if (kept.every((_) => _ === undefined)) {
      return table.clash === undefined ? Effect.succeed(table.tools) : Effect.fail(table.clash)
    }
    return Effect.flatMap(decidedOf(kept), (decided) => {
      if (table.clash === undefined && decided.every((tools, i) => tools === undefined || tools === lists[i]!.items)) {
        return Effect.succeed(table.tools)
      }
      if (table.clash === undefined) return Effect.succeed(table.keeping(lists, decided))
      return table.some(
        lists.flatMap((list, i) => (decided[i] ?? list.items).map((definition): Found => ({ list, definition })))
      )
    })
  }

  /** Nothing where no filter says anything. */
  private keptOf({ items, server }: ToolLists[number]): Kept | Effect.Effect<Kept, never, R> {
    const { filter } = this.parts.settings.of(server)
    return filter === undefined ? undefined : Listing.shownBy(filter, server, items, this.request)
  }

  /** Whether a filter has to know who asks, and that was not said. */
  private isMissingFor(server: string): boolean {
    const { filter } = this.parts.settings.of(server)
    return filter !== undefined && lacksRequest(filter, this.request)
  }

  /** Whether this tool is shown, decided anew. */
  shows(tool: AgentTool): Effect.Effect<boolean, ListError, R> {
    const { filter } = this.parts.settings.of(tool.server)
    if (filter === undefined) return Effect.succeed(true)
    if (this.isMissingFor(tool.server)) return Effect.fail(missingRequest(tool.server))
    const decision = filter.decide(tool.definition, tool.server, this.request)
    return Effect.isEffect(decision) ? decision : Effect.succeed(decision)
  }
}

/**
 * Whether one who follows has to read: at first, and where nobody knows a list, nor why not, or knows of a server that is there by
 * now only what was stored. No other list is read: who reads it would be the cause of what it follows, for ever where a list is
 * another one each time.
 */
const unread = (): (lists: ToolLists) => boolean => {
  const stored = new Set<string>()
  let isFirst = true
  const isUnread = ({ error, origin, server, stale }: ToolLists[number]): boolean => {
    if (origin === "deferred") stored.add(server)
    if (origin !== "live") return origin === "unknown" && error === undefined
    return stored.delete(server) && stale && error === undefined
  }
  return (lists) => {
    // Each is looked at, since it may be one that is only stored by now.
    const found = lists.filter(isUnread).length > 0 || isFirst
    isFirst = false
    return found
  }
}

/**
 * Whether the servers offer the same tools. That a list is read again, and fails again, is no change: whoever follows reads
 * it, and would be the cause of it for ever.
 */
const offerTheSame = (a: ToolSource.Offered, b: ToolSource.Offered): boolean =>
  a.unknown.length === b.unknown.length && a.unknown.every((_, i) => _ === b.unknown[i]) &&
  a.lists.length === b.lists.length && a.lists.every((list, i) => {
    const other = b.lists[i]!
    return list.server === other.server && list.items === other.items && list.origin === other.origin &&
      (list.error === undefined) === (other.error === undefined)
  })

const tellTheSame = (a: ToolList, b: ToolList): boolean =>
  a.tools.length === b.tools.length && a.tools.every((tool, i) => tool === b.tools[i]) &&
  a.problems.length === b.problems.length && a.problems.every(({ error, server }, i) => {
    const other = b.problems[i]!
    return server === other.server && error === other.error
  })

const failed = (
  missing: ReadonlyArray<Problem>
): Effect.Effect<never, ListError<McpError.ServersFailed>> => {
  const errors = missing.map((_) => _.error)
  const [{ operation, server }] = errors as [McpError.McpError]
  return new McpError.ServersFailed({
    server,
    operation,
    executed: "no",
    errors: errors as unknown as McpError.ServersFailed["errors"]
  })
}
