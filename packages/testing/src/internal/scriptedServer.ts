/**
 * One scripted server: its log, its statistics and its sessions.
 *
 * Owns: what outlives a session, and who waits for what to happen.
 * May not touch: the messages of a session (`scriptedSession`).
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import type * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Effect from "effect/Effect"
import type * as ScriptedServer from "../ScriptedServer.js"
import * as defaults from "./scriptedDefaults.js"
import { ScriptedSession } from "./scriptedSession.js"

/** What all sessions of a server share. */
export class Hub {
  readonly log: Array<ScriptedServer.Received> = []
  readonly live = new Map<number, ScriptedSession>()
  readonly listening: Array<number> = []
  readonly negotiated: Array<{ readonly session: number; readonly protocolVersion: string }> = []
  readonly released: Array<{ readonly session: number; readonly id: McpProtocol.RequestId }> = []
  attempts = 0
  opened = 0
  closed = 0
  handling = 0
  private readonly watchers = new Set<() => void>()

  /** Something has happened: whoever waits looks again. */
  readonly changed = (): void => {
    for (const look of this.watchers) look()
  }

  /** Waits until the probe gives a value. */
  until<A>(probe: () => A | undefined): Effect.Effect<A> {
    return Effect.async((resume) => {
      const look = () => {
        const found = probe()
        if (found === undefined) return
        this.watchers.delete(look)
        resume(Effect.succeed(found))
      }
      this.watchers.add(look)
      look()
      return Effect.sync(() => this.watchers.delete(look))
    })
  }

  stats(): ScriptedServer.Stats {
    return {
      attempts: this.attempts,
      opened: this.opened,
      closed: this.closed,
      live: [...this.live.keys()],
      listening: [...this.listening],
      negotiated: [...this.negotiated],
      released: [...this.released],
      handling: this.handling
    }
  }
}

export const make = (options: ScriptedServer.Options): ScriptedServer.ScriptedServer => {
  const hub = new Hub()
  const config = options.config ?? inMemory(options.name ?? "scripted")
  const kind = options.kind ?? kindOf(config)
  const handlers = { ...defaults.handlers(options), ...options.handlers }

  const open: McpTransport.Channel["open"] = (events) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const runtime = yield* Effect.runtime<never>()
        const clock = yield* Effect.clock
        const number = ++hub.attempts
        const session = new ScriptedSession(hub, number, events, runtime, clock, config, options, handlers)
        hub.changed()
        if (options.start !== undefined) {
          const { start } = options
          yield* restore(Effect.suspend(() => start(number))).pipe(Effect.onError(() => session.abandon))
        }
        hub.opened++
        hub.live.set(number, session)
        yield* Effect.addFinalizer(() => session.close)
        hub.changed()
        return session.transport(kind)
      })
    )

  const newest = Effect.suspend(() => {
    const session = [...hub.live.values()].at(-1)
    return session === undefined ? Effect.dieMessage(`no session of "${config.name}" is live`) : Effect.succeed(session)
  })

  return {
    channel: { config, open },
    session: (number) =>
      Effect.suspend(() => {
        const session = hub.live.get(number)
        return session === undefined
          ? Effect.dieMessage(`session ${number} of "${config.name}" is not live`)
          : Effect.succeed(session)
      }),
    received: Effect.sync(() => [...hub.log]),
    receivedOf: (method) => Effect.sync(() => hub.log.filter((_) => _.method === method)),
    awaitReceived: (match) => {
      const matches = typeof match === "string" ? (_: ScriptedServer.Received) => _.method === match : match
      return hub.until(() => hub.log.find(matches))
    },
    stats: Effect.sync(() => hub.stats()),
    awaitStats: (predicate) =>
      hub.until(() => {
        const stats = hub.stats()
        return predicate(stats) ? stats : undefined
      }),
    notify: (...args) => Effect.flatMap(newest, (_) => _.notify(...args)),
    request: (...args) => Effect.flatMap(newest, (_) => _.request(...args)),
    sendRaw: (...args) => Effect.flatMap(newest, (_) => _.sendRaw(...args)),
    failRequest: (...args) => Effect.flatMap(newest, (_) => _.failRequest(...args)),
    disconnect: (...args) => Effect.flatMap(newest, (_) => _.disconnect(...args)),
    serverStream: (...args) => Effect.flatMap(newest, (_) => _.serverStream(...args)),
    warn: (...args) => Effect.flatMap(newest, (_) => _.warn(...args))
  }
}

/** Nobody connects to this server: the channel stands in for its wire. */
const inMemory = (name: string): McpConfig.InMemoryConfig => ({
  name,
  transport: "inMemory",
  server: () => ({ connect: () => Promise.reject(new Error("a scripted server is opened by its channel")) })
})

const kindOf = (config: McpConfig.ServerConfig): McpTransport.TransportKind =>
  config.transport === "auto" ? "http" : config.transport
