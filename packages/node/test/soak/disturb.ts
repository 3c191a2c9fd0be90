/**
 * What happens to servers and managers while others use them.
 *
 * Owns: how each kind of event is done, and that one which could not be done is not counted.
 * May not touch: when it happens.
 */
import type { McpConnection } from "@mcp-runtime/core"
import { Effect } from "effect"
import type { Event, EventKind } from "./plan.js"
import { isMarkedWith } from "./processes.js"
import type { Stage } from "./stage.js"

/** Does it, and says whether there was anything to do. */
type Doing = (stage: Stage, server: string) => Effect.Effect<boolean, unknown>

export const disturb = (stage: Stage, { kind, server }: Event): Effect.Effect<void> =>
  stage.total(
    kind,
    Effect.map(Effect.suspend(() => doings[kind](stage, server)), (done) => done ? stage.happens(kind) : undefined)
  )

const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name)
  } catch {
    // It has just ended.
    return false
  }
}

/** To the process of a server that was started last, if it is alive. */
const signalTo = (stage: Stage, server: string, name: NodeJS.Signals, who: "pid" | "parent" = "pid"): boolean => {
  const peer = stage.peers.get(server)
  const pid = peer === undefined ? stage.journals.latest(server)?.[who] : peer.pid
  if (pid === undefined || (peer === undefined && !isMarkedWith(pid, stage.mark))) return false
  const sent = signal(pid, name)
  if (name === "SIGSTOP" && sent) stage.stopped.add(pid)
  return sent
}

/** Whoever was stopped goes on. */
export const goOn = (stage: Stage): Effect.Effect<boolean> =>
  Effect.sync(() => {
    const isMine = (pid: number) =>
      isMarkedWith(pid, stage.mark) || [...stage.peers.values()].some((peer) => peer.pid === pid)
    const sent = [...stage.stopped].filter((pid) => isMine(pid) && signal(pid, "SIGCONT"))
    stage.stopped.clear()
    return sent.length > 0
  })

const signalling = (name: NodeJS.Signals, who?: "pid" | "parent"): Doing => (stage, server) =>
  Effect.sync(() => signalTo(stage, server, name, who))

const told = (command: string): Doing => (stage, server) =>
  Effect.sync(() => stage.peers.get(server)?.tell(command) ?? false)

/** In milliseconds: a server that refuses more than 30 good tokens in five minutes gets no new ones for a while. */
const leastBetweenRevocations = 20_000

const revoking: Doing = (stage, server) =>
  Effect.suspend(() => {
    const now = performance.now()
    if (now - stage.revokedAt < leastBetweenRevocations) return Effect.succeed(false)
    stage.revokedAt = now
    return told("revoke")(stage, server)
  })

const toConnection =
  (f: (connection: McpConnection.McpConnection) => Effect.Effect<unknown, unknown>): Doing => (stage, server) =>
    Effect.as(Effect.flatMap(stage.current.manager.connection(server), f), true)

const toManager = (f: (stage: Stage, server: string) => Effect.Effect<unknown, unknown>): Doing => (stage, server) =>
  Effect.as(f(stage, server), true)

/** The lineup changes at this moment; the manager when its turn has come. */
const reloading = (change: (stage: Stage, server: string) => void): Doing =>
  toManager((stage, server) => {
    change(stage, server)
    const { lineup, manager } = stage.current
    return Effect.zipRight(stage.count, manager.reload(lineup.configs))
  })

const doings: { readonly [kind in EventKind]: Doing } = {
  kill: signalling("SIGKILL"),
  killWrapper: signalling("SIGKILL", "parent"),
  stop: signalling("SIGSTOP"),
  continue: goOn,
  down: (stage, server) => Effect.as(stage.peers.get(server)?.down ?? Effect.void, true),
  up: (stage, server) => Effect.as(stage.peers.get(server)?.up ?? Effect.void, true),
  expire: told("expire"),
  expire400: told("expire400"),
  streams: told("streams"),
  endStreams: told("endStreams"),
  sockets: told("sockets"),
  revoke: revoking,
  flood: told("flood"),
  junk: told("junk"),
  ask: told("ask"),
  reconnect: toConnection((_) => _.reconnect),
  close: toConnection((_) => _.close),
  disable: toConnection((_) => _.disable),
  enable: toConnection((_) => _.enable),
  disconnect: toManager((stage, server) => stage.current.manager.disconnect(server)),
  connect: toManager((stage, server) => stage.current.manager.connect(server)),
  reload: reloading((stage, server) => stage.current.lineup.change(server)),
  reorder: reloading((stage) => stage.current.lineup.reorder()),
  remove: reloading((stage, server) => stage.current.lineup.remove(server)),
  restore: reloading((stage) => stage.current.lineup.restore()),
  reconnectFailed: toManager((stage) => stage.current.manager.reconnect()),
  reconnectAll: toManager((stage) => stage.current.manager.reconnect({ failedOnly: false })),
  closeAll: toManager((stage) => stage.current.manager.close),
  connectAll: toManager((stage) => stage.current.start),
  fresh: toManager((stage) => stage.renew)
}
