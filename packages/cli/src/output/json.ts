/**
 * A document that grows: one JSON array, whose items are written as they come, one on each line.
 *
 * Owns: the brackets and commas. The array is closed with the scope, so that what was interrupted is whole all the same.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Screen, text } from "./Screen.js"

export const list: Effect.Effect<(item: unknown) => Effect.Effect<void>, never, Screen | Scope.Scope> = Effect.gen(
  function*() {
    const { claimDocument, out } = yield* Screen
    claimDocument()
    let items = 0
    yield* Effect.acquireRelease(out.write("["), () => out.line(items === 0 ? "]" : "\n]"))
    return (item: unknown) => Effect.suspend(() => out.write(`${items++ === 0 ? "\n" : ",\n"}${text(item)}`))
  }
)
