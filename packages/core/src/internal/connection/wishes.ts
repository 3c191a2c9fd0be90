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
  /** How many streams follow it. */
  followers: number
  /** Whether it was asked for without a stream: it holds until it is taken back. */
  kept: boolean
}

export class Subscriptions {
  private readonly all = new Map<string, Subscription>()

  /** Also those that are under way: a session that takes the place of this one is to know of them. */
  get uris(): ReadonlyArray<string> {
    return [...this.all].flatMap(([uri, { asking, granted }]) => asking > 0 || granted ? [uri] : [])
  }

  /** One request for it, with what it means for the next session. */
  during<A, E>(uri: string, request: Effect.Effect<A, E>, kept: boolean): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const subscription = this.of(uri)
      subscription.asking++
      return Effect.onExit(request, (exit) =>
        Effect.sync(() => {
          subscription.asking--
          if (exit._tag === "Success") {
            subscription.granted = true
            subscription.kept ||= kept
          } else this.forget(uri, subscription)
        }))
    })
  }

  follow(uri: string): void {
    this.of(uri).followers++
  }

  /** Whether the server need not tell of it any more. */
  unfollow(uri: string): boolean {
    const subscription = this.all.get(uri)
    if (subscription === undefined || --subscription.followers > 0 || subscription.kept) return false
    const { granted } = subscription
    subscription.granted = false
    this.forget(uri, subscription)
    return granted
  }

  private of(uri: string): Subscription {
    const known = this.all.get(uri)
    if (known !== undefined) return known
    const subscription = { asking: 0, granted: false, followers: 0, kept: false }
    this.all.set(uri, subscription)
    return subscription
  }

  /** Unless somebody wants it. */
  private forget(uri: string, subscription: Subscription): void {
    const isWanted = subscription.asking > 0 || subscription.followers > 0 || subscription.granted
    if (!isWanted && this.all.get(uri) === subscription) this.all.delete(uri)
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
