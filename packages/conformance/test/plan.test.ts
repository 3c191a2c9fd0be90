/**
 * That nothing is left out unnoticed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Plan from "../src/runner/plan.js"
import * as Suite from "../src/runner/suite.js"

/** The suite is asked once. */
const offered = Effect.runSync(Effect.cached(Suite.offered))

const count = (planned: ReadonlyArray<Plan.Planned>, revision: string) =>
  planned.filter((_) => _.group === "dated" && _.revision === revision).length

describe("the plan", () => {
  it.live("has every scenario of the suite that is for us", () =>
    Effect.gen(function*() {
      const planned = Plan.plan(yield* offered)
      assert.deepStrictEqual(Plan.problems(planned), [])
      assert.deepStrictEqual(Plan.revisions.map((_) => count(planned, _)), [2, 5, 19])
      assert.strictEqual(new Set(planned.map((_) => `${_.scenario} ${_.revision}`)).size, 26 + 10 + 12)
    }))

  it.live("is refused where a scenario is missing, or there is one more", () =>
    Effect.gen(function*() {
      const all = yield* offered
      const without = (scenario: string) => Plan.problems(Plan.plan(all.filter((_) => _.scenario !== scenario)))
      assert.deepStrictEqual(without("sse-retry"), [`there are 25 runs in "dated", and not 26`])
      assert.deepStrictEqual(without("auth/dpop"), [`there are 9 runs in "extension", and not 10`])
      assert.deepStrictEqual(without("auth/iss-normalized"), [`there are 11 runs in "ahead", and not 12`])
      const more = Plan.plan([...all, { scenario: "new", revisions: ["2025-11-25"] }])
      assert.deepStrictEqual(Plan.problems(more), [`there are 27 runs in "dated", and not 26`])
    }))

  it.live("can be reduced", () =>
    Effect.gen(function*() {
      const planned = Plan.plan(yield* offered)
      const nothing = { scenarios: [], revision: undefined, extensions: false }
      assert.isTrue(Plan.isEverything(nothing))
      assert.lengthOf(Plan.select(planned, nothing), 48)
      assert.lengthOf(Plan.select(planned, { ...nothing, extensions: true }), 10)
      assert.lengthOf(Plan.select(planned, { ...nothing, revision: "2025-06-18" }), 5)
      assert.lengthOf(Plan.select(planned, { ...nothing, revision: "2025-06-18", extensions: true }), 15)
      assert.lengthOf(Plan.select(planned, { ...nothing, scenarios: ["tools_call"] }), 2)
      assert.lengthOf(Plan.select(planned, { ...nothing, scenarios: ["tools_call"], revision: "2025-11-25" }), 1)
    }))
})
