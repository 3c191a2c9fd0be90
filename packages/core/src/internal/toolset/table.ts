/**
 * The tools of all servers under their names for agents.
 *
 * Owns: what is derived from the lists of servers without regard to who asks, once for as long as they stay the same.
 * May not touch: filters.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ServerList } from "../../McpCatalog.js"
import type * as McpProtocol from "../../McpProtocol.js"
import type * as ToolNaming from "../../ToolNaming.js"
import * as ToolSchema from "../../ToolSchema.js"
import type { AgentTool } from "../../Toolset.js"
import * as Strict from "./strict.js"
import * as Words from "./words.js"

export type ToolLists = ReadonlyArray<ServerList<McpProtocol.Tool>>

export interface Looks {
  readonly naming: ToolNaming.ToolNaming
  readonly reserved: ReadonlySet<string>
  readonly schemas: "verbatim" | "strict" | "nullable"
  readonly includeReturnSchema: boolean
}

/** One tool of one server, before it has a name. */
export interface Found {
  readonly list: ServerList<McpProtocol.Tool>
  readonly definition: McpProtocol.Tool
}

/** The tools of one set of lists. */
export class Table {
  readonly tools: ReadonlyArray<AgentTool>
  /** Why not all of them can have names together. Fewer of them may. */
  readonly clash: ToolNaming.NamesClash | undefined
  private readonly byServer = new Map<string, Map<McpProtocol.Tool, AgentTool>>()
  private readonly byName = new Map<string, AgentTool>()
  private byId: Map<string, AgentTool> | undefined = undefined

  constructor(readonly found: ReadonlyArray<Found>, private readonly looks: Looks, before: Table | undefined) {
    const named = nameAll(found, looks, before)
    this.clash = Either.isLeft(named) ? named.left : undefined
    this.tools = Either.getOrElse(named, () => [])
    for (const tool of this.tools) {
      this.byName.set(tool.name, tool)
      this.keep(tool)
    }
  }

  private keep(tool: AgentTool): void {
    let ofServer = this.byServer.get(tool.server)
    if (ofServer === undefined) this.byServer.set(tool.server, ofServer = new Map())
    ofServer.set(tool.definition, tool)
  }

  /** By its name, or by what tells it whatever its name is. */
  find(asked: string | ToolNaming.ToolIdentity): AgentTool | undefined {
    if (typeof asked === "string") return this.byName.get(asked)
    this.byId ??= new Map(this.tools.map((_) => [_.id, _]))
    return this.byId.get(idOf(asked.server, asked.tool))
  }

  of(server: string, definition: McpProtocol.Tool): AgentTool | undefined {
    return this.byServer.get(server)?.get(definition)
  }

  /**
   * Of the lists that it was made of, those tools that are kept, in order: all of a list where nothing is said of it. What is kept
   * of a list is a part of its items, the same objects in the same order.
   */
  keeping(
    lists: ToolLists,
    kept: ReadonlyArray<ReadonlyArray<McpProtocol.Tool> | undefined>
  ): ReadonlyArray<AgentTool> {
    const tools: Array<AgentTool> = []
    let at = 0
    for (let i = 0; i < lists.length; i++) {
      const { items } = lists[i]!
      const wanted = kept[i] ?? items
      // Looking up each of thousands would take longer than to decide about them.
      for (let j = 0, next = 0; j < items.length; j++, at++) {
        if (items[j] !== wanted[next]) continue
        next++
        tools.push(this.tools[at]!)
      }
    }
    return Object.freeze(tools)
  }

  /** Fewer of the tools, where not all of them can have names together. */
  some(found: ReadonlyArray<Found>): Either.Either<ReadonlyArray<AgentTool>, ToolNaming.NamesClash> {
    return Either.map(nameAll(found, this.looks, this), (tools) => {
      for (const tool of tools) this.keep(tool)
      return tools
    })
  }
}

const nameAll = (
  found: ReadonlyArray<Found>,
  looks: Looks,
  before: Table | undefined
): Either.Either<ReadonlyArray<AgentTool>, ToolNaming.NamesClash> =>
  Either.map(
    looks.naming.names(
      found.map(({ definition, list }) => ({ server: list.server, tool: definition.name })),
      looks.reserved
    ),
    (names) => Object.freeze(found.map((tool, i) => agentTool(tool, names[i]!, looks, before)))
  )

/** The one that was there before, where nothing about it is different. */
const agentTool = ({ definition, list }: Found, name: string, looks: Looks, before: Table | undefined): AgentTool => {
  const deferred = list.origin === "deferred"
  const known = before?.of(list.server, definition)
  if (known !== undefined && known.name === name && known.deferred === deferred) return known
  const { schema, strict } = schemaOf(definition, looks.schemas)
  return Object.freeze({
    id: idOf(list.server, definition.name),
    name,
    title: Words.titleOf(definition),
    description: Words.describe(definition),
    inputSchema: schema,
    strict,
    outputSchema: looks.includeReturnSchema ? definition.outputSchema : undefined,
    annotations: definition.annotations,
    server: list.server,
    tool: definition.name,
    deferred,
    definition
  })
}

const optionalOf = (schemas: "strict" | "nullable") => schemas === "nullable" ? "nullable" : "require"

const schemaOf = ({ inputSchema }: McpProtocol.Tool, schemas: Looks["schemas"]): ToolSchema.StrictSchema => {
  if (schemas === "verbatim") return { schema: inputSchema, strict: false }
  const converted = ToolSchema.strict(inputSchema, { optional: optionalOf(schemas) })
  return converted.strict ? converted : { schema: inputSchema, strict: false }
}

/** The first slash ends the name of the server. */
export const idOf = (server: string, tool: string): string =>
  `${/[%/]/.test(server) ? escaped(server) : server}/${tool}`

const escaped = (server: string): string => server.replaceAll("%", "%25").replaceAll("/", "%2F")

/** Some milliseconds: a hundred plain schemas, or one that is entangled. */
const stepsAtOnce = 2000

/** The table of the newest lists. */
export class Tables {
  private lists: ToolLists = []
  private table: Table

  constructor(private readonly looks: Looks) {
    this.table = new Table([], looks, undefined)
  }

  /** The table of these lists, if it is made already. */
  known(lists: ToolLists): Table | undefined {
    return this.isKnown(lists) ? this.table : undefined
  }

  of(lists: ToolLists): Table {
    if (!this.isKnown(lists)) {
      const found = lists.flatMap((list) => list.items.map((definition) => ({ list, definition })))
      this.table = new Table(found, this.looks, this.table)
      this.lists = lists
    }
    return this.table
  }

  /**
   * The same for whoever can wait: schemas that are not converted yet are converted a few at a time, so that thousands of them
   * stop nobody else.
   */
  soon(lists: ToolLists): Effect.Effect<Table> {
    const table = Effect.sync(() => this.of(lists))
    const { schemas } = this.looks
    if (schemas === "verbatim" || this.isKnown(lists)) return table
    const definitions = lists.flatMap((_) => _.items)
    const convert = (from: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        let [next, steps] = [from, 0]
        while (next < definitions.length && steps < stepsAtOnce) {
          steps += Strict.convert(definitions[next++]!.inputSchema, optionalOf(schemas)).steps
        }
        return next < definitions.length ? Effect.zipRight(Effect.yieldNow(), convert(next)) : Effect.void
      })
    return Effect.zipRight(convert(0), table)
  }

  /** What else is said of a list changes no tool. */
  private isKnown(lists: ToolLists): boolean {
    return lists === this.lists || (lists.length === this.lists.length && lists.every((list, i) => {
      const known = this.lists[i]!
      return list.items === known.items && list.server === known.server && list.origin === known.origin
    }))
  }
}
