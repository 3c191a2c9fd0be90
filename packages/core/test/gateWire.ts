/**
 * What the tests of the gate share: requests that hang until the test answers them, and a wire that counts. What is under
 * way is counted at the wire itself, where no scheduling comes between.
 */
import { assert } from "@effect/vitest"
import type { McpProtocol, McpSession, McpTransport } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Exit } from "effect"
import { macrotask } from "./moments.js"

export { macrotask }

/** A request as it went over the wire. */
export interface Sent {
  readonly id: McpProtocol.RequestId
  readonly params: McpProtocol.JsonObject
}

/** The channel, and what went over it after the handshake. */
export const tap = (channel: McpTransport.Channel) => {
  const underWay = new Set<unknown>()
  const over = new Set<unknown>()
  const sent: Array<Sent> = []
  const cancelled: Array<unknown> = []
  let most = 0

  const ended = (id: unknown) => {
    if (underWay.delete(id)) over.add(id)
  }
  const heard = (message: unknown) => {
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown }
    if (method === undefined) ended(id)
  }
  const record = (message: McpProtocol.JsonRpcMessage) => {
    if (!("method" in message) || message.method === "initialize") return
    if ("id" in message) {
      sent.push({ id: message.id, params: message.params ?? {} })
      most = Math.max(most, underWay.add(message.id).size)
    } else if (message.method === "notifications/cancelled") {
      cancelled.push(message.params?.requestId)
      underWay.delete(message.params?.requestId)
    }
  }
  const tapped: McpTransport.Channel = {
    ...channel,
    open: (events) =>
      channel.open({
        ...events,
        message: (message) => {
          heard(message)
          events.message(message)
        },
        requestFailed: (id, error) => {
          ended(id)
          events.requestFailed(id, error)
        },
        closed: (error) => {
          underWay.clear()
          events.closed(error)
        }
      }).pipe(Effect.map((transport) => ({
        ...transport,
        send: (message, accepted) => {
          record(message)
          transport.send(message, accepted)
        }
      })))
  }
  return {
    channel: tapped,
    sent: sent as ReadonlyArray<Sent>,
    cancelled: cancelled as ReadonlyArray<unknown>,
    underWay: underWay as ReadonlySet<unknown>,
    /** What was answered, or will certainly not be. */
    over: over as ReadonlySet<unknown>,
    most: () => most
  }
}

/** Each request hangs until the test answers it. */
export const hanging: ScriptedServer.Options = { handlers: { "x/work": () => Effect.never } }

/** What a request is known by, on both sides. */
export const work = (session: McpSession.McpSession, n: number, options?: McpSession.RequestOptions) =>
  session.request("x/work", { n }, options)

export const forkWork = (session: McpSession.McpSession, n: number, options?: McpSession.RequestOptions) =>
  Effect.tap(Effect.fork(Effect.exit(work(session, n, options))), () => macrotask)

export const failure = <A, E>(exit: Exit.Exit<A, E>): E => {
  assert(Exit.isFailure(exit) && exit.cause._tag === "Fail")
  return exit.cause.error
}

/** The numbers of the requests that were sent, in order. */
export const sentNumbers = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(server.receivedOf("x/work"), (all) => all.map((_) => _.params.n))

export const answer = (server: ScriptedServer.ScriptedServer, n: number) =>
  Effect.gen(function*() {
    const { id } = yield* server.awaitReceived((_) => _.method === "x/work" && _.params.n === n)
    yield* server.sendRaw(ScriptedServer.result(id, { n }))
    yield* macrotask
  })

/** What the session says to the server, after the handshake: methods, with the number or the cancelled id. */
export const said = (server: ScriptedServer.ScriptedServer) =>
  Effect.map(
    server.received,
    (all) =>
      all.filter((_) => _.method !== "initialize" && _.method !== "notifications/initialized")
        .map((_) => _.method === "notifications/cancelled" ? `cancelled ${String(_.params.requestId)}` : `${_.method}`)
  )

export const range = (length: number) => Array.from({ length }, (_, i) => i)
