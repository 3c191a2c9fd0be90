/** A short soak: the long one is `npm run soak`. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { slope } from "./soak/measure.js"
import { run } from "./soak/soak.js"

it.live(
  "3,000 calls while the sessions end 60 times: each settles once and runs as it says, nothing grows",
  () =>
    Effect.gen(function*() {
      const report = yield* run({
        seed: 1,
        rounds: 4,
        http: 450,
        stdio: 300,
        httpDisturbances: 14,
        stdioDisturbances: 4,
        // The first rounds compile; what is small and grows is for the long soak.
        heapSlack: 16 * 1024 * 1024
      })
      assert.deepStrictEqual(report.violations, [])
      assert.isAtLeast(report.reconnects, 60)
      assert.isAtLeast(report.ledger.count("ok"), 2000)
    }),
  60_000
)

it("the line through measurements shows what grows, and not what only moves", () => {
  assert.strictEqual(slope([1, 2, 3, 4]), 1)
  assert.strictEqual(slope([5, 5, 5]), 0)
  assert.strictEqual(slope([1, 3, 3, 1]), 0)
})
