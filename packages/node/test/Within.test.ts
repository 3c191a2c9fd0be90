import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { interruptedAtEveryStep } from "../../core/test/moments.js"
import { testBounds } from "../../core/test/races.js"
import { firstOf, inTime } from "../src/internal/within.js"

describe("the first of two", () => testBounds(inTime, firstOf))

describe("interrupted at every step, it ends", () => {
  it.effect("the first of two", () => interruptedAtEveryStep(firstOf(Effect.never, Effect.never)))
  it.effect("in time", () => interruptedAtEveryStep(inTime(Effect.never, "1 hour", () => Effect.void)))
})
