/**
 * What is enough to have passed, and what is not; and what is shown of it.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Result } from "../src/runner/execute.js"
import * as Table from "../src/runner/table.js"
import { type Evidence, judge } from "../src/runner/verdict.js"

const check = (status: string, id = "an-id") => ({ id, status, description: "what is checked", timestamp: "now" })

const evidence = (statuses: ReadonlyArray<string>, more: Partial<Evidence> = {}): Evidence => ({
  ended: { _tag: "Exited", code: 0, leftProcesses: false },
  checks: JSON.stringify(statuses.map((_) => check(_))),
  log: "",
  stderr: "",
  ...more
})

const problems = (...args: Parameters<typeof evidence>) => judge(evidence(...args)).problems

describe("a verdict", () => {
  it("needs a success", () => {
    assert.deepStrictEqual(problems(["SUCCESS", "INFO", "SKIPPED"]), [])
    for (const statuses of [[], ["INFO"], ["SKIPPED", "INFO"]]) {
      assert.deepStrictEqual(problems(statuses), ["no check has succeeded: nothing was shown"])
    }
  })

  it("suffers no failure and no warning", () => {
    assert.deepStrictEqual(problems(["SUCCESS", "FAILURE"]), ["FAILURE an-id: what is checked"])
    assert.deepStrictEqual(problems(["SUCCESS", "WARNING"]), ["WARNING an-id: what is checked"])
  })

  it("needs checks that can be read", () => {
    for (const checks of [undefined, "", "[{", "{}", `[{"status":"FINE"}]`]) {
      assert.deepStrictEqual(problems([], { checks }), ["the suite has written no checks"])
    }
  })

  it("suffers no end but a good one", () => {
    const log = "\nClient exited with code 3\n"
    assert.deepStrictEqual(problems(["SUCCESS"], { log, stderr: "why\n" }), [
      "the client has ended with exit code 3: why"
    ])
    assert.deepStrictEqual(problems(["SUCCESS"], { ended: { _tag: "TimedOut" } }), [
      "it did not end in time and was killed"
    ])
    assert.deepStrictEqual(problems([], { ended: { _tag: "TimedOut" }, checks: undefined, log: "it has begun\n" }), [
      "it did not end in time and was killed: it has begun",
      "the suite has written no checks"
    ])
    const ended = { _tag: "Exited", code: 1, leftProcesses: true } as const
    assert.deepStrictEqual(problems(["SUCCESS"], { ended, log: "bad" }), [
      "processes of the client were left behind",
      "the suite has ended with exit code 1: bad"
    ])
  })
})

describe("the table", () => {
  const result = (scenario: string, statuses: ReadonlyArray<string>): Result => ({
    planned: { scenario, revision: "2025-11-25", group: "dated", alone: false },
    millis: 1234,
    log: "",
    ...judge(evidence(statuses))
  })
  const results = [result("good", ["SUCCESS", "SUCCESS"]), result("bad", ["SUCCESS", "WARNING"])]

  it("shows what has failed, and why", () => {
    assert.match(Table.row(results[0]!), /^ok +good +2025-11-25 dated +1\.2 s {2}2 passed$/)
    assert.match(Table.row(results[1]!), /^FAILED bad .* 1 passed, 1 warnings\n +WARNING an-id: what is checked$/)
    assert.strictEqual(Table.summary(results), "dated runs: 1 of 2")
  })

  it("counts against what there should be, in the place that a page has for it, and is the same each time", () => {
    const place = (text: string) =>
      `before\n<!-- table: npm run conformance -- --report docs/conformance.md -->${text}<!-- end of the table -->\nafter`
    const page = Table.inPage(place("old"), results, "about")!
    assert.match(page, /^before\n/)
    assert.match(page, /\nafter$/)
    assert.notInclude(page, "old")
    assert.include(page, "| dated runs | 1 of 26 |")
    assert.include(page, "| `bad` | 2025-11-25 | 1 passed, 1 warnings | **failed** |")
    assert.strictEqual(Table.inPage(page, results, "about"), page)
    assert.isUndefined(Table.inPage("a page without a place", results, "about"))
  })
})
