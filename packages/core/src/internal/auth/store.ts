/**
 * The store of tokens over a `KeyValueStore`.
 *
 * Owns: that what it gives is `Redacted`, and the locks of this process.
 * May not touch: what is stored.
 */
import type * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { TokenStore } from "../../McpAuth.js"

type Service = Context.Tag.Service<TokenStore>

export const make = (store: KeyValueStore.KeyValueStore, lock: Service["lock"] = locks()): Service => ({
  get: (key) =>
    Effect.map(
      Effect.suspend(() => store.get(key)),
      Option.match({ onNone: () => undefined, onSome: (text) => Redacted.make(text) })
    ),
  set: (key, value) => Effect.asVoid(Effect.suspend(() => store.set(key, Redacted.value(value)))),
  remove: (key) => Effect.asVoid(Effect.suspend(() => store.remove(key))),
  lock
})

/** One semaphore for each key that somebody holds or waits for. */
const locks = (): Service["lock"] => {
  const held = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()
  return (key) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const lock = held.get(key) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
        held.set(key, lock)
        lock.users++
        const leave = Effect.sync(() => {
          if (--lock.users === 0) held.delete(key)
        })
        return Effect.onError(restore(lock.semaphore.take(1)), () => leave).pipe(
          Effect.zipRight(Effect.addFinalizer(() => Effect.zipRight(lock.semaphore.release(1), leave)))
        )
      })
    )
}
