/**
 * What is noticed of a session, by those who watch it and by its calls, and what the owner is told of it.
 *
 * Owns: what is known of a session between two turns of the owner, and which event says so.
 * May not touch: the state. That is the owner's, when its turn comes.
 */
import type * as Effect from "effect/Effect"
import type { McpError } from "../../McpError.js"
import type { Notification } from "../../McpProtocol.js"
import type { OwnerEvent } from "./events.js"
import type { Live } from "./live.js"

/** Whom those who notice something tell. All synchronous but for what is said of use. */
export interface Ears {
  readonly ended: (live: Live, error: McpError) => void
  readonly expired: (live: Live, error: McpError) => void
  readonly unreachable: (live: Live, error: McpError) => void
  readonly unauthorized: (live: Live, error: McpError) => void
  readonly silent: (live: Live, error: McpError) => void
  /** It has answered. */
  readonly reached: (live: Live) => void
  /** There was another sign of it. */
  readonly alive: (live: Live) => void
  /** A question whether it is there was not sent. */
  readonly unasked: (live: Live) => void
  readonly streamDown: (live: Live, down: boolean) => void
  /** The server may have forgotten the session. */
  readonly suspected: (live: Live) => void
  readonly idle: (live: Live) => void
  /** How many those who follow them have lost by it. */
  readonly notification: (notification: Notification) => number
  /** Since when nobody has used the connection, in milliseconds; nothing while somebody does. */
  readonly unusedSince: (live: Live) => Effect.Effect<number | undefined>
}

export interface Parts extends Pick<Ears, "notification" | "unusedSince"> {
  readonly post: (event: OwnerEvent) => void
  /** Nothing is sent over it any more, from now on. */
  readonly over: (live: Live) => void
}

export const make = ({ notification, over, post, unusedSince }: Parts): Ears => {
  const shaken = (live: Live) => post({ _tag: "Shaken", live })
  const lose = (live: Live, error: McpError, drain: boolean): void => {
    if (live.over) return
    live.over = true
    over(live)
    post({ _tag: "Lost", live, error, drain })
  }
  return {
    ended: (live, error) => lose(live, error, false),
    expired: (live, error) => lose(live, error, true),
    unreachable: (live, error) => {
      live.unreachable = error
      shaken(live)
    },
    unauthorized: (live, error) => {
      live.unauthorized = error
      shaken(live)
    },
    silent: (live, error) => {
      // Over HTTP each request may have a connection of its own: those that are under way may still have their answers.
      if (++live.silences >= 2) return lose(live, error, isOverHttp(live))
      live.unreachable = error
      shaken(live)
    },
    reached: (live) => {
      live.silences = 0
      if (live.isSound) return
      live.unreachable = undefined
      live.unauthorized = undefined
      shaken(live)
    },
    alive: (live) => {
      live.silences = 0
      if (live.unreachable === undefined) return
      live.unreachable = undefined
      shaken(live)
    },
    unasked: (live) => {
      if (live.unreachable !== undefined) shaken(live)
    },
    streamDown: (live, down) => {
      if (live.streamDown === down) return
      live.streamDown = down
      if (down) live.deaf = true
      shaken(live)
    },
    suspected: (live) => {
      if (++live.suspicions === 1) post({ _tag: "Suspected", live })
    },
    idle: (live) => post({ _tag: "Idle", live }),
    notification,
    unusedSince
  }
}

/** A call has met this error. */
export const hear = (ears: Ears, live: Live, error: McpError): void => {
  if (error._tag === "SessionExpired") return ears.expired(live, error)
  if (error._tag === "Unauthorized") return ears.unauthorized(live, error)
  if (error._tag !== "ConnectionClosed") return isOutOfReach(error) ? ears.unreachable(live, error) : undefined
  if (error.reason === "Closing") return
  return isOverHttp(live) ? ears.unreachable(live, error) : ears.ended(live, error)
}

const isOverHttp = ({ session: { info: { transport } } }: Live): boolean => transport === "http" || transport === "sse"

/** Whether the server itself has not answered: nobody has, or a gateway in its place. */
export const isOutOfReach = (error: McpError): boolean => {
  switch (error._tag) {
    case "ConnectFailed":
    case "ConnectionClosed":
    case "ResponseLost":
      return true
    case "HttpError":
      return error.status === 502 || error.status === 503 || error.status === 504
    default:
      return false
  }
}
