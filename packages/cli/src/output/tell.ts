/**
 * A failure, told once: on stderr for people, and as the document for programs.
 */
import * as Effect from "effect/Effect"
import type { Failure } from "../exit.js"
import { Screen } from "./Screen.js"

const told = new WeakSet<Failure>()

export const tell = (failure: Failure): Effect.Effect<void, never, Screen> =>
  Effect.gen(function*() {
    if (told.has(failure)) return
    told.add(failure)
    const { document, err, json } = yield* Screen
    const [headline = "", ...more] = failure.text.split("\n")
    yield* err.line([err.style.red(headline), ...more].join("\n"))
    if (json) yield* document({ error: failure.document })
  })
