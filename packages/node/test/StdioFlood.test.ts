/** A process that floods its output with nonsense costs others nothing but their share of the processor: S13. */
import { assert, describe, it } from "@effect/vitest"
import { StdioFixture } from "@mcp-runtime/testing"
import { Effect } from "effect"
import { clean, decode, open, turn } from "./internal/wire.js"

/** Two bytes each, so that a chunk has as many as it can. */
const linesOfChunk = 64 * 1024 / 2

describe("a flood of lines that are not JSON", () => {
  it.live("S13: between two chunks of it everything else has its turn", () =>
    clean((marks) =>
      Effect.gen(function*() {
        const input = StdioFixture.config([], {
          command: "/bin/sh",
          args: ["-c", "yes"],
          shutdown: { afterEof: "50 millis", afterTerm: "50 millis" }
        })
        const { config, mark } = yield* decode(input)
        marks.push(mark)
        const { warnings } = yield* open(config)
        let most = 0
        for (let turns = 0; turns < 200 || warnings.length < 20 * linesOfChunk; turns++) {
          const before = warnings.length
          yield* turn
          most = Math.max(most, warnings.length - before)
          if (turns > 1_000_000) assert.fail("there is no flood")
        }
        assert.isAtMost(most, 4 * linesOfChunk)
        assert.isTrue(warnings.every((_) => _.kind === "NotJson"))
        assert.strictEqual(warnings[0]?.detail, "a line of its output is not JSON: y")
      })
    ), 60_000)
})
