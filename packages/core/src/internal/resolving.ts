/**
 * A channel of a server whose configuration holds references.
 *
 * Owns: that they are looked up for each session, before anything of it is opened; which channel a session gets, and when one
 * that no new session gets is closed.
 * May not touch: sessions, and the values, which go to the channel behind and nowhere else.
 *
 * | happens                                   | then                                                                   |
 * |-------------------------------------------|------------------------------------------------------------------------|
 * | a session is opened, the values are known | it gets the channel that the last one got                              |
 * | a session is opened, they are others      | a channel is made for it; the one before is closed with its last session |
 * | they can't be looked up                   | the session is not opened; the channel stays for those that come       |
 * | the scope is closed                       | so are all channels                                                    |
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as McpConfig from "../McpConfig.js"
import type * as McpError from "../McpError.js"
import type * as McpTransport from "../McpTransport.js"
import type * as SecretResolver from "../SecretResolver.js"
import * as Expand from "./config/expand.js"
import { addFinalizer } from "./finalizers.js"

type MakeChannel = (
  config: McpConfig.ServerConfig
) => Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>

/** A channel of certain values. */
interface Inner {
  readonly texts: ReadonlyArray<string>
  readonly channel: McpTransport.Channel
  readonly scope: Scope.CloseableScope
  /** Sessions that are open, or being opened. */
  sessions: number
}

/** Who wants to know of new credentials, whichever channel they are for. */
interface Follower {
  readonly listener: () => void
  unfollow: (() => void) | undefined
}

/** The channel of a configuration, whether something of it is to be looked up or not. */
export const channel = (
  config: McpConfig.ServerConfig,
  resolver: Context.Tag.Service<SecretResolver.SecretResolver>,
  make: MakeChannel
): Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope> =>
  McpConfig.isResolved(config)
    ? make(config)
    : Effect.map(Effect.scope, (scope) => {
      const inners = new Inners(make, scope)
      return {
        config,
        followCredentials: (listener) => inners.follow(listener),
        open: (events) =>
          Expand.resolve(config, resolver).pipe(
            Effect.flatMap((resolved) => inners.take(resolved)),
            Effect.flatMap(({ channel }) => channel.open(events))
          )
      }
    })

class Inners {
  private newest: Inner | undefined = undefined
  private readonly followers = new Set<Follower>()
  /** Two sessions that are opened at once don't make two channels of the same values. */
  private readonly turn = Effect.unsafeMakeSemaphore(1).withPermits(1)

  constructor(private readonly make: MakeChannel, private readonly scope: Scope.Scope) {}

  /** The channel of these values, until the scope of the session is closed. */
  take({ config, texts }: Expand.Resolved): Effect.Effect<Inner, McpError.McpError, Scope.Scope> {
    return this.turn(
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(this, function*() {
          const before = this.newest
          const inner = before !== undefined && isSame(before.texts, texts)
            ? before
            : yield* this.open(texts, restore(this.make(config)))
          inner.sessions++
          yield* addFinalizer(() => this.release(inner))
          if (inner !== before) {
            this.become(inner)
            if (before?.sessions === 0) yield* close(before)
          }
          return inner
        })
      )
    )
  }

  /** New credentials of the channel of the newest values, as long as somebody listens. */
  follow(listener: () => void): () => void {
    const follower: Follower = { listener, unfollow: this.newest?.channel.followCredentials?.(listener) }
    this.followers.add(follower)
    return () => {
      this.followers.delete(follower)
      follower.unfollow?.()
    }
  }

  private become(inner: Inner): void {
    this.newest = inner
    for (const follower of this.followers) {
      const before = follower.unfollow
      follower.unfollow = inner.channel.followCredentials?.(follower.listener)
      before?.()
    }
  }

  private open(
    texts: ReadonlyArray<string>,
    made: Effect.Effect<McpTransport.Channel, McpError.McpError, Scope.Scope>
  ): Effect.Effect<Inner, McpError.McpError> {
    return Effect.gen(this, function*() {
      const scope = yield* Scope.fork(this.scope, ExecutionStrategy.sequential)
      const exit = yield* Effect.exit(Scope.extend(made, scope))
      if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
      return { texts, channel: yield* exit, scope, sessions: 0 }
    })
  }

  private release(inner: Inner): Effect.Effect<void> {
    return Effect.suspend(() => {
      inner.sessions--
      return inner.sessions === 0 && inner !== this.newest ? close(inner) : Effect.void
    })
  }
}

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])

/** What goes wrong with the end of the old one is no concern of a session. */
const close = ({ scope }: Inner): Effect.Effect<void> => Effect.asVoid(Effect.exit(Scope.close(scope, Exit.void)))
