/**
 * The last request of a session.
 *
 * Owns: the DELETE and its bound. Every outcome is good enough: the session ends here in any case.
 * May not touch: anything else; the session has stopped before.
 */
import * as Effect from "effect/Effect"
import type { Exchange, Reader } from "./exchange.js"
import * as Exchanges from "./exchange.js"
import type { HttpSession } from "./httpSession.js"
import type { Wire } from "./wire.js"
import * as Wires from "./wire.js"

export const terminate = (wire: Wire, session: HttpSession, atMostMillis: number): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (session.id === undefined || session.lost) return resume(Effect.void)
    let over = false
    let exchange: Exchange | undefined = undefined
    let cancelHeaders: (() => void) | undefined = undefined
    const done = () => {
      if (over) return
      over = true
      cancelBound()
      cancelHeaders?.()
      exchange?.abort()
      resume(Effect.void)
    }
    const reader: Reader = {
      optional: true,
      accepted: () => ({ data: noop, end: done, failed: done }),
      refused: done,
      failed: done,
      unsent: done
    }
    const cancelBound = wire.timers.after(atMostMillis, done)
    cancelHeaders = Wires.withHeaders(wire, "close", session.end, (headers) => {
      if (over) return
      exchange = new Exchanges.Exchange(wire, reader, { method: "DELETE", url: wire.target.url, headers }, "stream", 0)
      exchange.start()
    }, done)
  })

const noop = () => {}
