/**
 * The state of a connection for everybody to see: written by the owner alone.
 *
 * Owns: the current state, and who is told of a change.
 * May not touch: when it changes.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Limits } from "../../McpConfig.js"
import type { ConnectionState } from "../../McpConnection.js"
import type { Bounds } from "../backlog.js"
import { Hub } from "../hub.js"
import { Measure } from "../protocol/json.js"
import type { Live } from "./live.js"

interface Numbered {
  readonly number: number
  readonly state: ConnectionState
  readonly last: boolean
}

/** A reader that is slower than this misses what is between. */
const buffered = 64

/** A server has a say in them: in what it is, and in its errors. */
const boundsOf = ({ messageBytes }: Limits): Bounds<Numbered> => ({
  count: buffered,
  size: messageBytes,
  sizeOf: ({ state }) => Measure.of(messageBytes, ...Object.values(state))
})

export class States {
  private current: Numbered
  private readonly hub: Hub<Numbered>

  /** The observer is called at each change, before anybody else can see it. Total. */
  constructor(state: ConnectionState, limits: Limits, private readonly observer: () => void) {
    this.hub = new Hub(boundsOf(limits))
    this.current = { number: 0, state, last: false }
  }

  get state(): ConnectionState {
    return this.current.state
  }

  /** After the last one the streams of changes end. */
  set(state: ConnectionState, last = false): Effect.Effect<void> {
    return Effect.sync(() => {
      this.current = { number: this.current.number + 1, state, last }
      this.observer()
      this.hub.publish(this.current)
    })
  }

  get changes(): Stream.Stream<ConnectionState> {
    return Stream.unwrapScoped(
      Effect.map(this.hub.subscribe, (changes) => {
        let seen = -1
        return Stream.concat(Stream.sync(() => this.current), changes).pipe(
          // What was published between the subscription and the first look is older than that look.
          Stream.filter(({ number }) => {
            if (number <= seen) return false
            seen = number
            return true
          }),
          Stream.takeUntil((_) => _.last),
          Stream.map((_) => _.state)
        )
      })
    )
  }
}

/** What is to be seen of a session: the state as it is, where that says so already. */
export const stateOf = (live: Live, before: ConnectionState, since: number): ConnectionState => {
  const { generation, session: { info } } = live
  const reason = reasonOf(live)
  if (reason === undefined) return before._tag === "Ready" ? before : { _tag: "Ready", since, generation, info }
  return before._tag === "Degraded" && before.reason === reason
    ? before
    : { _tag: "Degraded", since, generation, info, reason, error: live.unreachable ?? live.unauthorized }
}

const reasonOf = (live: Live) => {
  if (live.unreachable !== undefined) return "Unreachable"
  if (live.unauthorized !== undefined) return "Unauthorized"
  return live.streamDown ? "StreamDown" : undefined
}
