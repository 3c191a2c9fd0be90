/**
 * The end of a round: every fault is taken away, and then everything must work, be in order, and be quiet.
 *
 * Owns: what must hold at rest, and how long it may take until it does: documented bounds, and generous slack for a machine
 * that others use too.
 * May not touch: what is wrong. It only says so.
 */
import { McpConnection } from "@mcp-runtime/core"
import { Duration, Effect, Exit } from "effect"
import { goOn } from "./disturb.js"
import { deadlines } from "./lineup.js"
import * as Measure from "./measure.js"
import { servers } from "./plan.js"
import { describeProcess, markedWith } from "./processes.js"
import type { Stage } from "./stage.js"

const slack = 60_000

/** A breaker that has doubled its cool-down as often as it can, a handshake, and slack. */
const recovery = deadlines.coolDown * 10 + deadlines.handshake + slack

/** How many processes of a server there are while it has a session: the wrapper, the server, and the helper's two. */
const processes: { readonly [server: string]: ReadonlyArray<number> } = {
  plain: [1],
  wrapped: [4],
  idle: [0, 1]
}

/** Looks again and again until nothing is wrong. No event tells of most of it. */
const until = (look: Effect.Effect<ReadonlyArray<string>>, atMost: number): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const end = performance.now() + atMost
    let found = yield* look
    while (found.length > 0 && performance.now() < end) {
      yield* Effect.sleep(10)
      found = yield* look
    }
    return found
  })

/** Whatever was done to servers is undone. */
export const heal = (stage: Stage): Effect.Effect<void> =>
  Effect.zipRight(
    goOn(stage),
    Effect.forEach(stage.peers.values(), (peer) => peer.up, { discard: true })
  )

/** What still does not work after its bound. */
export const recovered = (stage: Stage): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const { lineup, manager } = stage.current
    lineup.restore()
    yield* stage.total("reload", manager.reload(lineup.configs))
    yield* stage.total("connectAll", manager.connectAll)
    const found = yield* Effect.forEach(servers, ({ name }) => until(usable(stage, name), recovery), {
      concurrency: "unbounded"
    })
    return found.flat()
  })

const usable = (stage: Stage, server: string): Effect.Effect<ReadonlyArray<string>> => {
  const { manager } = stage.current
  const use = Effect.gen(function*() {
    yield* manager.connect(server)
    const connection = yield* manager.connection(server)
    yield* connection.enable
    yield* McpConnection.listTools(connection, { timeout: deadlines.request, maxTotal: deadlines.total })
    return yield* manager.callTool(server, { name: "pid" }, { timeout: deadlines.request, maxTotal: deadlines.total })
  })
  return Effect.map(
    Effect.exit(use),
    (exit) => Exit.isSuccess(exit) ? [] : [`${server} can't be used again: ${String(exit.cause)}`]
  )
}

/** What is not in order after its bound: views, sessions, processes, tools. */
export const settled = (stage: Stage): Effect.Effect<ReadonlyArray<string>> =>
  until(
    Effect.map(
      Effect.all([views(stage), sessions(stage), Effect.sync(() => processProblems(stage)), tools(stage)]),
      (_) => _.flat()
    ),
    slack
  )

const views = ({ current: { manager } }: Stage): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const found: Array<string> = []
    const { servers: statuses } = yield* manager.state
    const configured = yield* manager.configured
    const expected = servers.map((_) => _.name).join()
    if (configured.join() !== expected) found.push(`configured are ${configured.join()}, not ${expected}`)
    const connected = yield* manager.connected
    const idle = statuses.filter((_) => _.phase === "idle").map((_) => _.name)
    const failed = yield* manager.failed
    const parts = configured.filter((_) => connected.includes(_) || idle.includes(_))
    if (parts.join() !== expected || connected.length + idle.length !== configured.length) {
      found.push(`connected are ${connected.join()}, idle ${idle.join()}`)
    }
    if (failed.length > 0) found.push(`failed are ${failed.join()}`)
    const active = yield* manager.active
    if (active.join() !== expected) found.push(`active are ${active.join()}, not ${expected}`)
    for (const [name, error] of yield* manager.errors) {
      // What did not end in order when it was closed last is told until it is closed again.
      if (error._tag !== "CloseFailed") found.push(`${name} works, with the error ${error.message}`)
    }
    return found
  })

const sessions = ({ current: { manager } }: Stage): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(
    Effect.forEach(servers, ({ name }) =>
      Effect.gen(function*() {
        const connection = yield* manager.connection(name)
        const state = yield* connection.state
        const { _tag } = state
        const { holders, open } = yield* connection.stats
        const isInOrder = (_tag === "Ready" && open === 1) || (name === "idle" && _tag === "Idle" && open === 0)
        return isInOrder && holders === 0
          ? []
          : [`${name} is ${describeState(state)}; ${open} sessions are open, ${holders} hold it`]
      }).pipe(Effect.catchAll((error) => Effect.succeed([String(error)])))),
    (_) => _.flat()
  )

const describeState = (state: McpConnection.ConnectionState): string => {
  const reason = "reason" in state ? ` (${state.reason})` : ""
  const error = "error" in state && state.error !== undefined ? `: ${state.error.message}` : ""
  return `${state._tag}${reason}${error}`
}

const processProblems = ({ mark }: Stage): ReadonlyArray<string> => {
  const found = Object.entries(processes).flatMap(([server, counts]) => {
    const alive = markedWith(`SOAK_SERVER=${server}\0`).filter((pid) => markedWith(mark).includes(pid))
    return counts.includes(alive.length) ? [] : [`${server} has ${alive.length} processes: ${alive.join()}`]
  })
  return found
}

const tools = ({ current: { toolbox } }: Stage): Effect.Effect<ReadonlyArray<string>> =>
  Effect.match(toolbox.list, {
    onFailure: (error) => [`the tools can't be listed: ${String(error)}`],
    onSuccess: ({ problems, tools }) => {
      const from = [...new Set(tools.map((_) => _.server))].join()
      const expected = servers.map((_) => _.name).join()
      return [
        ...problems.map((_) => `the tools of ${_.server}: ${_.error.message}`),
        ...(from === expected ? [] : [`tools are those of ${from}, not of ${expected}`])
      ]
    }
  })

/** What is left when the manager has ended: nothing may be. */
export const nothingLeft = (stage: Stage, before: Measure.Sample): Effect.Effect<ReadonlyArray<string>> =>
  until(
    Effect.gen(function*() {
      const alive = markedWith(stage.mark)
      const sockets = yield* Effect.forEach(stage.peers.values(), (peer) =>
        Effect.map(peer.sockets, (count) => count === 0 ? [] : [`${peer.name} has ${count} sockets`]))
      return [
        ...alive.map((pid) =>
          `process ${pid} is alive: ${describeProcess(pid)}`
        ),
        ...sockets.flat(),
        ...Measure.left(before, yield* Measure.sample)
      ]
    }),
    Duration.toMillis("20 seconds")
  )
