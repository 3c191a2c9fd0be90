/**
 * What the tests of toolsets share: scripted servers whose tools can be changed at any moment, toolsets over connections to
 * them or over a manager, and what an agent sees, in few words.
 */
import { assert } from "@effect/vitest"
import { type CatalogStore, McpConfig, McpConnection, type McpError, type McpProtocol } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit, type Layer, Stream } from "effect"
import * as ManagerKit from "../manager/kit.js"

export { begun, failure, fake, interrupted, isDone, type Line, noting, pass, settled } from "../manager/kit.js"

/** A tool, or only its name. */
export type Given = string | ScriptedServer.ScriptedTool

/** A scripted server whose tools, and what happens while they are listed, can be changed. */
export interface Server extends ManagerKit.Fake {
  tools: ReadonlyArray<Given>
  /** Runs before each listing is answered. */
  listing: Effect.Effect<void, ScriptedServer.RpcError | McpError.McpError>
  /** How often it was asked for its tools. */
  readonly listings: Effect.Effect<number>
  /** Takes other tools, and says that they have changed. Who has to be told has been told afterwards. */
  readonly offers: (...tools: ReadonlyArray<Given>) => Effect.Effect<void>
  /** The calls that it got, as names. */
  readonly calls: Effect.Effect<ReadonlyArray<string>>
}

export const toolsChanged = "notifications/tools/list_changed"

/** Offers these tools; without any, one of its own name. */
export const server = (
  name: string,
  tools: ReadonlyArray<Given> = [name],
  options: Omit<ManagerKit.FakeOptions, "tools"> = {}
): Effect.Effect<Server> =>
  Effect.gen(function*() {
    const call: ScriptedServer.Handler = (request, peer) => {
      const found = self.tools.find((_) => nameOf(_) === request.params.name)
      if (found === undefined) {
        return Effect.fail(
          new ScriptedServer.RpcError({ code: -32602, message: `Unknown tool: ${request.params.name}` })
        )
      }
      const args = (request.params.arguments ?? {}) as McpProtocol.JsonObject
      return Effect.map(
        typeof found === "string" || found.call === undefined
          ? Effect.succeed(`${name} ${nameOf(found)}`)
          : found.call(args, request, peer),
        (_) => typeof _ === "string" ? { content: [{ type: "text", text: _ }] } : _
      )
    }
    const made = yield* ManagerKit.fake(name, {
      capabilities: { tools: { listChanged: true } },
      ...options,
      handlers: {
        "tools/list": () =>
          Effect.suspend(() =>
            self.way === "hangs in tools/list"
              ? Effect.never
              : Effect.map(self.listing, () => ({ tools: self.tools.map(declared) }))
          ),
        "tools/call": call,
        ...options.handlers
      }
    })
    const of = (method: string) => made.server.receivedOf(method)
    const self: Server = Object.assign(made, {
      tools,
      listing: Effect.void,
      listings: Effect.map(of("tools/list"), (_) => _.length),
      calls: Effect.map(of("tools/call"), (_) => _.map(({ params }) => String(params.name))),
      offers: (...tools: ReadonlyArray<Given>) =>
        Effect.suspend(() => {
          self.tools = tools
          return made.server.notify(toolsChanged)
        }).pipe(
          Effect.zipRight(ManagerKit.settled),
          // A catalogue waits a little for more of these.
          Effect.zipRight(ManagerKit.pass(1000, 250))
        )
    })
    return self
  })

const nameOf = (tool: Given): string => typeof tool === "string" ? tool : tool.name

const declared = (tool: Given) => {
  if (typeof tool === "string") return { name: tool, inputSchema: { type: "object" } }
  const { call: _, ...declared } = tool
  return { inputSchema: { type: "object" }, ...declared }
}

/** A server for each of these, with these tools. */
export const servers = (
  all: { readonly [name: string]: ReadonlyArray<Given> }
): Effect.Effect<ReadonlyArray<Server>> => Effect.forEach(Object.entries(all), ([name, tools]) => server(name, tools))

// -------------------------------------------------------------------------------------------------
// Toolsets
// -------------------------------------------------------------------------------------------------

/** A connection to a server, not connected yet. */
export const connection = (to: Server, options?: McpConnection.ConnectionOptions) =>
  Effect.flatMap(
    McpConfig.decodeUnknown(to.config),
    (config) => McpConnection.fromChannel({ ...to.server.channel, config }, options)
  )

export const connections = (all: ReadonlyArray<Server>, options?: McpConnection.ConnectionOptions) =>
  Effect.forEach(all, (_) => connection(_, options))

/** A toolset over plain connections to these servers. */
export const toolset = <Request = unknown, R = never, A = ReadonlyArray<never>, L = never>(
  all: ReadonlyArray<Server>,
  options?: Toolset.ToolsetOptions<Request, R, A, never, L>
) => Effect.flatMap(connections(all), (source) => Toolset.make(source, options))

export interface Over extends ManagerKit.Over {
  readonly store?: Layer.Layer<CatalogStore.CatalogStore> | undefined
}

/** A toolset over a manager that has connected these servers. */
export const managed = <Request = unknown, R = never, A = ReadonlyArray<never>, L = never>(
  all: ReadonlyArray<Server>,
  options?: Toolset.ToolsetOptions<Request, R, A, never, L>,
  over?: Over
) =>
  Effect.gen(function*() {
    const manager = yield* ManagerKit.over(all, over)
    yield* manager.connectAll
    yield* ManagerKit.settled
    return { manager, toolset: yield* Toolset.make(manager, options) }
  })

// -------------------------------------------------------------------------------------------------
// What an agent sees
// -------------------------------------------------------------------------------------------------

export const namesOf = ({ tools }: Toolset.ToolList): string => tools.map((_) => _.name).join(" ")

/** `"a__x b__y (c ConnectFailed)"` */
export const told = (list: Toolset.ToolList): string =>
  [namesOf(list), ...list.problems.map(({ error, server }) => `(${server} ${error._tag})`)].filter((_) => _ !== "")
    .join(" ")

/** What an agent gets when it lists, in few words. */
export const listed = <E, R>(toolbox: { readonly list: Effect.Effect<Toolset.ToolList, E, R> }) =>
  Effect.map(toolbox.list, told)

/** What whoever follows is told, in few words, from here on. */
export const following = <A, E, R>(changes: Stream.Stream<A, E, R>, show: (value: A) => string) =>
  Effect.gen(function*() {
    const seen: Array<string> = []
    yield* Effect.forkScoped(Effect.exit(Stream.runForEach(changes, (_) => Effect.sync(() => void seen.push(show(_))))))
    yield* ManagerKit.settled
    return seen
  })

/** The tag of the error with which it fails. */
export const tagOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>): string => {
  assert(Exit.isFailure(exit), "it should have failed")
  return exit.cause._tag === "Fail" ? exit.cause.error._tag : exit.cause._tag
}
