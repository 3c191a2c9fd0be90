/**
 * That the report leaves nothing out, and that a part of a run does not take the place of a whole one.
 */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { chart, placed, positionOf } from "../src/report/chart.js"
import { doubtsOf, type Facts } from "../src/report/facts.js"
import { markdown } from "../src/report/markdown.js"
import { table } from "../src/report/table.js"
import { directoryOf } from "../src/report/write.js"
import type { Line } from "../src/row.js"
import { everyone } from "../src/who.js"

const facts: Facts = {
  date: "2026-11-19 03:00",
  machine: "2 x a <processor>",
  node: "v24.0.0",
  loadBefore: 0.25,
  loadAfter: 1,
  seconds: 60,
  versions: [["mcporter (mcporter)", "0.12.3"]],
  doubts: ["Other work was running."]
}

const lines: ReadonlyArray<Line> = [
  {
    title: "one at a time",
    unit: "us",
    shows: "rate",
    targets: [{ of: "session", against: "sdk", bound: 1.15 }],
    values: { session: [50], connection: [60], toolset: [70], sdk: [55], openai: [50], limit: [40] },
    cpu: { connection: [30], sdk: [40] },
    failures: { mastra: "it ended | with\n1" },
    notes: ["a remark"]
  },
  {
    title: "the list again",
    unit: "us",
    shows: "rate",
    targets: [{ most: 5 }],
    values: { sdk: [5000], ours: [0.5] }
  }
]

const sectionOf = (page: string, title: string): string => page.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!

const rowsOf = (text: string, title: string): ReadonlyArray<ReadonlyArray<string>> =>
  text.split("\n").filter((_) => _.startsWith(`| ${title}`)).map((_) =>
    _.split(/(?<!\\)\|/).slice(2, -1).map((_) => _.trim())
  )

describe("the table", () => {
  it("has columns of one width", () => {
    const widths = table(["", "a long title"], [["x", "1"], ["a long name", "2"]]).split("\n").map((_) => _.length)
    assert.strictEqual(new Set(widths).size, 1)
  })
})

describe("the page", () => {
  const page = markdown(facts, lines)

  it("says where, when and with what was measured, and why it should not be believed", () => {
    for (const text of [facts.date, facts.machine, facts.node, "0.25, 1.00", "0.12.3", "**Other work was running.**"]) {
      assert.include(page, text)
    }
  })

  it("shows ratios, marks who is ahead of ours, and who has failed", () => {
    const [row] = rowsOf(sectionOf(page, "Times as good as the raw SDK (v1)"), "one at a time")
    assert.deepStrictEqual(row, ["0.92", "0.79", "", "1.10 ▲", "", "", "failed", "", "1.38"])
  })

  it("lists each who is ahead, of which of ours, and by how much", () => {
    assert.deepStrictEqual(rowsOf(sectionOf(page, "Where another client is ahead of ours"), "one at a time"), [
      ["SDK v1", "ours: connection", "1.09 (1.09-1.09)"],
      ["SDK v1", "ours: toolset", "1.27 (1.27-1.27)"],
      ["OpenAI Agents", "ours: connection", "1.20 (1.20-1.20)"],
      ["OpenAI Agents", "ours: toolset", "1.40 (1.40-1.40)"]
    ])
  })

  it("shows targets that were met and that were not", () => {
    const targets = sectionOf(page, "Targets")
    assert.deepStrictEqual(rowsOf(targets, "one at a time"), [[
      "ours: bare session",
      ">= 1.15 of sdk",
      "1.10",
      "**no**"
    ]])
    assert.deepStrictEqual(rowsOf(targets, "the list again"), [["ours", "<= 5 us", "0.50", "yes"]])
  })

  it("has every value, also of what is compared with nobody", () => {
    assert.include(rowsOf(sectionOf(page, "Measured"), "one at a time")[0]!, "40.0 (40.0-40.0)")
    assert.include(rowsOf(sectionOf(page, "CPU of the client's process"), "one at a time")[0]!, "30.0 (30.0-30.0)")
    assert.include(rowsOf(sectionOf(page, "Ours in one process with the raw SDK"), "the list again")[0]!, "10000")
  })

  it("says why somebody has failed, in one line that no text can leave", () => {
    const remarks = sectionOf(page, "Remarks")
    assert.include(remarks, "- one at a time: a remark")
    assert.include(remarks, "- one at a time: mastra failed: it ended \\| with 1")
  })
})

describe("the picture", () => {
  it("has a dot for each who stands beside the SDK, none for it, and no row without others", () => {
    const svg = chart(lines, "a <caption>")
    const shown = svg.split(">one at a time</text>")[1]!
    assert.deepStrictEqual(
      [...shown.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title),
      ["ours: toolset: 0.79", "ours: connection: 0.92", "OpenAI Agents: 1.10", "by hand: 1.38"]
    )
    assert.notInclude(svg, "the list again")
    assert.include(svg, "a &lt;caption&gt;")
  })

  it("has a scale with an end on each side, on which more is to the right", () => {
    assert.isBelow(positionOf(0.5), positionOf(1))
    assert.strictEqual(positionOf(1000), positionOf(100))
    assert.strictEqual(positionOf(0.001), positionOf(0.1))
  })

  it("lets no dot cover another one", () => {
    const who = FastCheck.constantFrom(...(["connection", "toolset", "openai", "limit"] as const))
    const ratios = FastCheck.array(FastCheck.tuple(who, FastCheck.double({ min: 0.01, max: 200, noNaN: true })), {
      maxLength: 12
    })
    FastCheck.assert(FastCheck.property(ratios, (ratios) => {
      const dots = placed(ratios)
      assert.lengthOf(dots, ratios.length)
      for (const [i, a] of dots.entries()) {
        for (const b of dots.slice(i + 1)) assert.isTrue(a.lane !== b.lane || Math.abs(a.x - b.x) >= 16)
      }
    }))
  })
})

describe("where it is written", () => {
  const whole = { conclusive: true, only: undefined, out: undefined, who: everyone }

  it("is the documentation for a whole run, and elsewhere for a short one, a part, or one without the others", () => {
    assert.match(directoryOf(whole), /docs\/benchmarks$/)
    assert.notMatch(directoryOf({ ...whole, conclusive: false }), /docs/)
    assert.notMatch(directoryOf({ ...whole, only: "stdio" }), /docs/)
    assert.notMatch(directoryOf({ ...whole, who: ["connection", "sdk"] }), /docs/)
    assert.strictEqual(directoryOf({ ...whole, out: "/tmp/x" }), "/tmp/x")
  })

  it("comes with its doubts", () => {
    assert.deepStrictEqual(doubtsOf(whole, 0.2), [])
    assert.lengthOf(doubtsOf({ conclusive: false, only: "stdio" }, 2), 3)
  })
})
