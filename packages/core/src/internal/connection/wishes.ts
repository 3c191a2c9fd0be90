/**
 * What the application has asked a session for, and so expects of the next one.
 *
 * Owns: the truth about wishes that are still under way: one that fails takes back nobody else's.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as McpProtocol from "../../McpProtocol.js"

interface Subscription {
  /** How many requests for it are under way. */
  asking: number
  granted: boolean
  /** Whether the server may have been asked for it. */
  told: boolean
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
      subscription.told = true
      return Effect.onExit(request, (exit) =>
        Effect.sync(() => {
          subscription.asking--
          if (exit._tag === "Success") {
            subscription.granted = true
            subscription.kept ||= kept
            return
          }
          if (!Exit.isInterrupted(exit)) subscription.told = subscription.granted || subscription.asking > 0
          this.forget(uri, subscription)
        }))
    })
  }

  /** Gives what ends it, and says then whether the server need not tell of it any more. */
  follow(uri: string): () => boolean {
    const subscription = this.of(uri)
    subscription.followers++
    return () => this.unfollow(uri, subscription)
  }

  private unfollow(uri: string, subscription: Subscription): boolean {
    if (--subscription.followers > 0 || subscription.kept || this.all.get(uri) !== subscription) return false
    subscription.granted = false
    this.forget(uri, subscription)
    return subscription.told && subscription.asking === 0
  }

  private of(uri: string): Subscription {
    const known = this.all.get(uri)
    if (known !== undefined) return known
    const subscription = { asking: 0, granted: false, told: false, followers: 0, kept: false }
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
