/**
 * Each operation of the protocol as a function over a connection.
 *
 * Owns: what a connection adds to an operation of a session: checks before it is sent, what is remembered after it.
 * May not touch: how it is sent, and again.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Items } from "../../Catalog.js"
import type { CallOptions, McpConnection, Operation } from "../../McpConnection.js"
import * as McpError from "../../McpError.js"
import type * as McpProtocol from "../../McpProtocol.js"
import * as McpSession from "../../McpSession.js"
import type { Kind } from "../catalog/shelf.js"
import type { Waited } from "../engine/calls.js"
import * as Errors from "../engine/errors.js"
import { type Budget, isRefusal } from "./calls.js"
import type { Connection } from "./connection.js"
import * as Known from "./known.js"
import * as Left from "./left.js"

type Result<A> = Effect.Effect<A, McpError.McpError>

const internals = (connection: McpConnection): Connection => connection as Connection

/**
 * Whether the server answers.
 *
 * @since 0.1.0
 * @category operations
 */
export const ping = (connection: McpConnection, options?: CallOptions): Effect.Effect<void, McpError.McpError> =>
  connection.perform({ method: "ping", options, send: (session, options) => McpSession.ping(session, options) })

/**
 * Calls a tool. Arguments that the last listing of the tools calls required are checked before anything is sent. A result
 * with `isError` is a value: the tool ran and says that it failed.
 *
 * @example
 * ```ts
 * import { McpConnection } from "@mcp-runtime/core"
 *
 * const add = (connection: McpConnection.McpConnection, a: number, b: number) =>
 *   McpConnection.callTool(connection, { name: "add", arguments: { a, b } }, { replay: "always", timeout: "5 seconds" })
 * ```
 *
 * @since 0.1.0
 * @category operations
 */
export const callTool = (
  connection: McpConnection,
  params: McpProtocol.CallToolParams,
  options?: CallOptions
): Effect.Effect<McpProtocol.CallToolResult, McpError.McpError> => {
  const { owner, performIn } = internals(connection)
  const { tools: shelf } = owner.catalog.shelves
  return Effect.withFiberRuntime((fiber) => {
    if (shelf.isStored) return callOnceListed(connection, params, options)
    const refusal = Known.problem(connection.server, params.name, shelf.find(params.name), params.arguments)
    if (refusal === undefined) return performIn(fiber, callOf(params, options))
    return shelf.isOutdated ? callIfRelisted(connection, params, options) : Effect.fail(refusal)
  })
}

const callOf = (
  params: McpProtocol.CallToolParams,
  options: CallOptions | undefined
): Operation<McpProtocol.CallToolResult> => ({
  method: "tools/call",
  target: params.name,
  options,
  send: (session, options) => McpSession.callTool(session, params, options)
})

/** What an earlier run has left is shown to whoever chooses a tool; what is called is a tool of the server as it is now. */
const callOnceListed = (
  connection: McpConnection,
  params: McpProtocol.CallToolParams,
  options: CallOptions | undefined
): Result<McpProtocol.CallToolResult> => {
  const { budget: budgetOf, inTime, owner } = internals(connection)
  const { tools: shelf } = owner.catalog.shelves
  const startedAt = owner.steady.now()
  // It does not outlast a close while the tools are listed.
  const budget = budgetOf(options)
  return Effect.matchEffect(inTime(owner.catalog.readTools, "tools/call", options), {
    onFailure: (error) => notLookedUp(owner, error),
    onSuccess: (tools) =>
      shelf.find(params.name) === undefined
        ? Effect.fail(Known.notFound(connection.server, params.name))
        : callIfComplete(connection, params, options, budget, startedAt, Known.changeOf(tools, params.name))
  })
}

/** The server has said that its tools have changed: it is asked before a call is refused. */
const callIfRelisted = (
  connection: McpConnection,
  params: McpProtocol.CallToolParams,
  options: CallOptions | undefined
): Result<McpProtocol.CallToolResult> => {
  const { budget: budgetOf, owner } = internals(connection)
  const startedAt = owner.steady.now()
  const budget = budgetOf(options)
  const asking = { timeout: options?.timeout, maxTotal: options?.maxTotal, replay: options?.replay }
  return Effect.flatMap(
    Effect.option(remembered(connection, "tools", asking, budget)),
    () => callIfComplete(connection, params, options, budget, startedAt)
  )
}

/** By what is known of the tool now. */
const callIfComplete = (
  connection: McpConnection,
  params: McpProtocol.CallToolParams,
  options: CallOptions | undefined,
  budget: Budget,
  startedAt: number,
  detail?: string
): Result<McpProtocol.CallToolResult> => {
  const { owner, performWith } = internals(connection)
  const tool = owner.catalog.shelves.tools.find(params.name)
  const refusal = Known.problem(connection.server, params.name, tool, params.arguments, detail)
  return refusal === undefined
    ? performWith(callOf(params, Left.after(options, owner.steady.now() - startedAt)), budget)
    : Effect.fail(refusal)
}

/** Nobody else has counted it: its listing is asked for as one that nobody waits for. */
const notLookedUp = ({ meter }: Connection["owner"], error: McpError.McpError): Result<never> =>
  Effect.suspend(() => {
    const told = Errors.about(error, "tools/call", "no")
    if (!isRefusal(error)) meter?.failed("tools/call", told)
    return Effect.fail(told)
  })

/** The same of a listing that was asked for as one that nobody waits for, and whose failure somebody was given. */
export const countListing = (meter: Connection["owner"]["meter"], kind: Kind, error: McpError.McpError): void => {
  if (!isRefusal(error)) meter?.failed(methods[kind], error)
}

/**
 * The complete list of tools, from the server. It is remembered to check arguments, and listed again in each new session.
 *
 * @since 0.1.0
 * @category operations
 */
export const listTools = (
  connection: McpConnection,
  options?: CallOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Tool>, McpError.McpError> => remembered(connection, "tools", options)

/**
 * The complete list of prompts, from the server. It is listed again in each new session.
 *
 * @since 0.1.0
 * @category operations
 */
export const listPrompts = (
  connection: McpConnection,
  options?: CallOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Prompt>, McpError.McpError> =>
  remembered(connection, "prompts", options)

/**
 * The complete list of resources, from the server. It is listed again in each new session.
 *
 * @since 0.1.0
 * @category operations
 */
export const listResources = (
  connection: McpConnection,
  options?: CallOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.Resource>, McpError.McpError> =>
  remembered(connection, "resources", options)

/**
 * The complete list of resource templates, from the server. It is listed again in each new session.
 *
 * @since 0.1.0
 * @category operations
 */
export const listResourceTemplates = (
  connection: McpConnection,
  options?: CallOptions
): Effect.Effect<McpProtocol.Listing<McpProtocol.ResourceTemplate>, McpError.McpError> =>
  remembered(connection, "templates", options)

type Listing<K extends Kind> = McpProtocol.Listing<Items[K]>

const methods: { readonly [K in Kind]: string } = {
  tools: "tools/list",
  prompts: "prompts/list",
  resources: "resources/list",
  templates: "resources/templates/list"
}

const lists: {
  readonly [K in Kind]: (session: McpSession.McpSession, options?: McpSession.RequestOptions) => Result<Listing<K>>
} = {
  tools: McpSession.listTools,
  prompts: McpSession.listPrompts,
  resources: McpSession.listResources,
  templates: McpSession.listResourceTemplates
}

/** A list that its caller has asked for, from the server: the catalogue knows it then, too. */
const remembered = <K extends Kind>(
  connection: McpConnection,
  kind: K,
  options: CallOptions | undefined,
  budget?: Budget
): Result<Listing<K>> =>
  Effect.suspend(() => {
    const { catalog } = internals(connection).owner
    let began = 0
    const list = listing(connection, kind, options, budget, () => {
      began = catalog.shelves.of(kind).begin()
      return undefined
    })
    return Effect.tap(list, (listing) => Effect.sync(() => catalog.remember(kind, began, listing)))
  })

/**
 * A list is one logical call of many requests: they share its budget, and only a page that failed is asked again. Where the
 * session is lost between two pages the list begins anew, since cursors belong to a session. `begins` is called each time
 * when there is a session to ask, and may know the list already.
 */
export const listing = <K extends Kind>(
  connection: McpConnection,
  kind: K,
  options: CallOptions | undefined,
  shared?: Budget,
  begins?: () => Listing<K> | undefined
): Result<Listing<K>> => whole<Listing<K>>(connection, methods[kind], lists[kind], options, shared, begins)

/** The same for any list, with a way to read it in one session. */
export const whole = <A>(
  connection: McpConnection,
  method: string,
  list: (session: McpSession.McpSession, options?: McpSession.RequestOptions) => Result<A>,
  options: CallOptions | undefined,
  shared?: Budget,
  begins?: () => A | undefined
): Result<A> => {
  const { budget: budgetOf, inSpan, owner, performInSpan } = internals(connection)
  const begin = (budget: Budget, startedAt: number, beginnings: number): Result<A> =>
    Effect.suspend(() => {
      const waiting = Left.after(options, owner.steady.now() - startedAt)
      const asking: (CallOptions & Waited) | undefined = options?.maxTotal === undefined
        ? options
        : { ...options, waited: { idleFrom: startedAt, totalFrom: startedAt } }
      return performInSpan({ method, options: waiting, send: Effect.succeed }, budget).pipe(
        Effect.flatMap((session) => {
          const known = begins?.()
          return known === undefined
            ? list(inOneSession(session, performInSpan, budget), asking)
            : Effect.succeed(known)
        }),
        Effect.catchSomeDefect((defect) =>
          defect !== moved
            ? Option.none()
            : Option.some(
              beginnings < mostBeginnings
                ? begin(budget, startedAt, beginnings + 1)
                : Effect.fail(neverWhole(connection, method))
            )
        )
      )
    })
  return Effect.suspend(() => inSpan({ method }, begin(shared ?? budgetOf(options), owner.steady.now(), 1)))
}

const mostBeginnings = 5

/** A page is to be asked for in another session than the one before it. Never leaves this module. */
const moved = Symbol("mcp-runtime/moved")

const inOneSession = (
  session: McpSession.McpSession,
  perform: Connection["performInSpan"],
  budget: Budget
): McpSession.McpSession => ({
  ...session,
  requestWith: (method, params, decode, options) =>
    perform({
      method,
      options,
      send: (current, options) =>
        current === session ? current.requestWith(method, params, decode, options) : Effect.die(moved)
    }, budget)
})

const neverWhole = ({ server }: McpConnection, operation: string): McpError.McpError =>
  new McpError.ConnectionClosed({
    server,
    operation,
    executed: "yes",
    reason: "Reset",
    detail: `the session was lost ${mostBeginnings} times between two pages of the list`
  })

/**
 * A prompt, with its arguments filled in by the server.
 *
 * @since 0.1.0
 * @category operations
 */
export const getPrompt = (
  connection: McpConnection,
  params: McpProtocol.GetPromptParams,
  options?: CallOptions
): Effect.Effect<McpProtocol.GetPromptResult, McpError.McpError> =>
  connection.perform({
    method: "prompts/get",
    target: params.name,
    options,
    send: (session, options) => McpSession.getPrompt(session, params, options)
  })

/**
 * The contents of a resource.
 *
 * @since 0.1.0
 * @category operations
 */
export const readResource = (
  connection: McpConnection,
  uri: string,
  options?: CallOptions
): Effect.Effect<McpProtocol.ReadResourceResult, McpError.McpError> =>
  connection.perform({
    method: "resources/read",
    uri,
    options,
    send: (session, options) => McpSession.readResource(session, uri, options)
  })

/**
 * Asks to be told when a resource changes: `notifications/resources/updated` arrives on `notifications`. Each new session
 * is subscribed again. `resourceUpdates` is a stream of them.
 *
 * @since 0.1.0
 * @category operations
 */
export const subscribe = (
  connection: McpConnection,
  uri: string,
  options?: CallOptions
): Effect.Effect<void, McpError.McpError> =>
  connection.perform({
    method: "resources/subscribe",
    uri,
    options,
    send: (session, options) =>
      internals(connection).owner.subscriptions.during(uri, McpSession.subscribe(session, uri, options), true)
  })

/**
 * The opposite of `subscribe`.
 *
 * @since 0.1.0
 * @category operations
 */
export const unsubscribe = (
  connection: McpConnection,
  uri: string,
  options?: CallOptions
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    internals(connection).owner.subscriptions.delete(uri)
    return connection.perform({
      method: "resources/unsubscribe",
      uri,
      options,
      send: (session, options) => McpSession.unsubscribe(session, uri, options)
    })
  })

/**
 * Suggestions for the value of an argument of a prompt or of a resource template.
 *
 * @since 0.1.0
 * @category operations
 */
export const complete = (
  connection: McpConnection,
  params: McpProtocol.CompleteParams,
  options?: CallOptions
): Effect.Effect<McpProtocol.CompleteResult, McpError.McpError> =>
  connection.perform({
    method: "completion/complete",
    options,
    send: (session, options) => McpSession.complete(session, params, options)
  })

/**
 * From which level on the server sends log messages, also in each new session.
 *
 * @since 0.1.0
 * @category operations
 */
export const setLogLevel = (
  connection: McpConnection,
  level: McpProtocol.LogLevel,
  options?: CallOptions
): Effect.Effect<void, McpError.McpError> =>
  connection.perform({
    method: "logging/setLevel",
    options,
    send: (session, options) =>
      internals(connection).owner.logLevel.during(level, McpSession.setLogLevel(session, level, options))
  })

/**
 * Tells the server that the roots have changed. Not needed where the roots handler has `changes`.
 *
 * @since 0.1.0
 * @category operations
 */
export const sendRootsChanged = (connection: McpConnection): Effect.Effect<void, McpError.McpError> =>
  connection.notify("notifications/roots/list_changed")
