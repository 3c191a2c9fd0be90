/**
 * What the application has asked a session for, and so expects of the next one.
 *
 * Owns: the truth about wishes that are still under way: one that fails takes back nobody else's.
 */
import * as Effect from "effect/Effect"
import type * as McpProtocol from "../../McpProtocol.js"

interface Subscription {
  /** How many requests for it are under way. */
  asking: number
  granted: boolean
}

export class Subscriptions {
  private readonly all = new Map<string, Subscription>()

  /** Also those that are under way: a session that takes the place of this one is to know of them. */
  get uris(): ReadonlyArray<string> {
    return [...this.all.keys()]
  }

  /** One request for it, with what it means for the next session. */
  during<A, E>(uri: string, request: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const subscription = this.all.get(uri) ?? { asking: 0, granted: false }
      this.all.set(uri, subscription)
      subscription.asking++
      return Effect.onExit(request, (exit) =>
        Effect.sync(() => {
          subscription.asking--
          if (exit._tag === "Success") subscription.granted = true
          else if (subscription.asking === 0 && !subscription.granted && this.all.get(uri) === subscription) {
            this.all.delete(uri)
          }
        }))
    })
  }

  delete(uri: string): void {
    this.all.delete(uri)
  }
}

export class LogLevelWish {
  level: McpProtocol.LogLevel | undefined
  private granted: McpProtocol.LogLevel | undefined
  /** The newest request, while it is under way. */
  private newest: object | undefined = undefined

  constructor(level: McpProtocol.LogLevel | undefined) {
    this.level = level
    this.granted = level
  }

  during<A, E>(level: McpProtocol.LogLevel, request: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const asking = {}
      this.newest = asking
      this.level = level
      return Effect.onExit(request, (exit) =>
        Effect.sync(() => {
          if (exit._tag === "Success") this.granted = level
          if (this.newest !== asking && this.newest !== undefined) return
          this.newest = undefined
          this.level = this.granted
        }))
    })
  }
}
