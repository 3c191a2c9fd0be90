/** A stream for one reader: whenever something is said, and however short its turns are. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { Feed } from "../src/internal/feed.js"
import { macrotask } from "./moments.js"

const settled = Effect.repeatN(macrotask, 2)

const make = () => new Feed<number>({ count: 1000, size: 1000, sizeOf: () => 1 })

/** In turns of so many steps: so it can lose its turn between any two of them. */
const reading = (feed: Feed<number>, budget: number, read: Array<number>) =>
  Stream.runForEach(feed.stream, (value) => Effect.sync(() => read.push(value))).pipe(
    Effect.withMaxOpsBeforeYield(budget),
    Effect.fork
  )

const budgets = Array.from({ length: 60 }, (_, i) => 12 + i)

describe("a feed", () => {
  it.effect("is read at once and in order, at whatever step of its reader something comes", () =>
    Effect.gen(function*() {
      for (const budget of budgets) {
        const feed = make()
        const read: Array<number> = []
        const reader = yield* reading(feed, budget, read)
        const sent: Array<number> = []
        for (let i = 0; i < 40; i++) {
          feed.offer(i)
          sent.push(i)
          for (let turns = 0; turns <= i % 3; turns++) yield* Effect.yieldNow()
        }
        yield* settled
        assert.deepStrictEqual(read, sent, `turns of ${budget} steps`)
        yield* Fiber.interrupt(reader)
      }
    }))

  it.effect("ends, at whatever step of its reader its end comes", () =>
    Effect.gen(function*() {
      for (const budget of budgets) {
        for (let turns = 0; turns < 40; turns++) {
          const feed = make()
          const reader = yield* reading(feed, budget, [])
          feed.offer(1)
          for (let i = 0; i < turns; i++) yield* Effect.yieldNow()
          feed.end()
          yield* settled
          assert.strictEqual((yield* reader.poll)._tag, "Some", `after ${turns} turns of ${budget} steps`)
        }
      }
    }))
})
