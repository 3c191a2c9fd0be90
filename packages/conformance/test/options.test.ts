/**
 * What the command can be told.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { conformance } from "../src/runner/main.js"
import { type Options, parse } from "../src/runner/options.js"

const right = (...args: ReadonlyArray<string>): Options => Either.getOrThrow(parse(args))

describe("the options", () => {
  it("are all optional", () => {
    const { client, ...options } = right()
    assert.match(client, /client\.js$/)
    assert.deepStrictEqual(options, {
      scenarios: [],
      revision: undefined,
      extensions: false,
      repeat: 1,
      seconds: 60,
      verbose: false,
      report: undefined
    })
  })

  it("can be given", () => {
    assert.deepStrictEqual(
      right(
        ..."--scenario a --scenario b --spec-version 2025-06-18 --extensions --repeat 5".split(" "),
        ..."--timeout 1.5 --client x.js --verbose --report x.md".split(" ")
      ),
      {
        scenarios: ["a", "b"],
        revision: "2025-06-18",
        extensions: true,
        repeat: 5,
        seconds: 1.5,
        client: "x.js",
        verbose: true,
        report: "x.md"
      }
    )
  })

  it("are refused where they make no sense", () => {
    const problem = (...args: ReadonlyArray<string>) => Either.getOrThrow(Either.flip(parse(args)))
    assert.include(problem("--spec-version", "2026-07-28"), "--spec-version must be one of 2025-03-26")
    for (const n of ["0", "-1", "1.5", "x", ""]) assert.include(problem(`--repeat=${n}`), "--repeat must be")
    for (const n of ["0", "-1", "x", "Infinity"]) assert.include(problem(`--timeout=${n}`), "--timeout must be")
    assert.include(problem("--nonsense"), "--nonsense")
    assert.include(problem("word"), "word")
  })

  it.live("that leave nothing to run, or make a report of a part, end it before anything is run", () =>
    Effect.gen(function*() {
      const ended = (...args: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(conformance(right(...args))), ({ message }) => message)
      assert.strictEqual(yield* ended("--scenario", "no-such-scenario"), "there is no such scenario")
      const aReport = "a report is made of everything, once"
      assert.strictEqual(yield* ended("--report", "x.md", "--extensions"), aReport)
      assert.strictEqual(yield* ended("--report", "x.md", "--repeat", "2"), aReport)
    }))
})
