import { assert, describe, it } from "@effect/vitest"
import { McpError, type McpProtocol } from "@mcp-runtime/core"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import { Cause, Context, Deferred, Effect, Either, Exit, FastCheck, Fiber, Schema, TestClock } from "effect"
import { lacksRequest, missingRequest } from "../../src/internal/toolset/asker.js"
import type * as Listing from "../../src/internal/toolset/listing.js"
import { shownBy } from "../../src/internal/toolset/listing.js"
import * as NameMatcher from "../../src/internal/toolset/nameMatcher.js"
import { settled } from "../connection/kit.js"
import { processorMillis } from "../processor.js"
import { atOnce, type Line, logged, run, tool, tools } from "./asking.js"

const request = { agent: { role: "guest" }, runContext: { user: "ada" } }

type Answer = boolean | Effect.Effect<boolean, unknown>

const shown = (filter: ToolFilter.ToolFilter, ...names: ReadonlyArray<string>): string =>
  names.filter((name) => atOnce(filter.decide(tool(name), "docs", undefined))).join(" ")

const names = (list: ReadonlyArray<McpProtocol.Tool>): string => list.map((_) => _.name).join(" ")

const listed = <Request, R>(
  filter: ToolFilter.ToolFilter<Request, R>,
  list: ReadonlyArray<McpProtocol.Tool>,
  request: Request | undefined,
  bounds?: Partial<Listing.Bounds>
) =>
  Effect.suspend(() =>
    run(shownBy(filter, "docs", list, request, bounds && { concurrency: 16, maxTotal: 30_000, ...bounds }))
  )

/** A filter that answers this for the tool `odd`, and yes for all others. */
const odd = (answer: () => unknown, options?: ToolFilter.DynamicOptions) =>
  ToolFilter.dynamic((tool) => tool.name === "odd" ? answer() as Answer : Effect.succeed(true), options)

const isOneErrorLine = (lines: ReadonlyArray<Line>, ...says: ReadonlyArray<string>) => {
  assert.strictEqual(lines.length, 1, JSON.stringify(lines))
  const [line] = lines as readonly [Line]
  assert.deepStrictEqual([line.level, line.server, line.tool], ["Error", "docs", "odd"])
  for (const text of ["MCP server \"docs\"", "\"odd\"", "excluded", ...says]) assert.include(line.text, text)
}

describe("static", () => {
  it("allow first, then block; an empty list of what is allowed allows nothing, none allows everything", () => {
    assert.strictEqual(shown(ToolFilter.fromNames({}), "a", "b"), "a b")
    assert.strictEqual(shown(ToolFilter.fromNames({ allow: [] }), "a", "b"), "")
    assert.strictEqual(shown(ToolFilter.allow(), "a", "b"), "")
    assert.strictEqual(shown(ToolFilter.fromNames({ block: [] }), "a", "b"), "a b")
    assert.strictEqual(shown(ToolFilter.block(), "a", "b"), "a b")
    assert.strictEqual(shown(ToolFilter.fromNames({ allow: ["a", "b"], block: ["b", "c"] }), "a", "b", "c", "d"), "a")
    assert.strictEqual(shown(ToolFilter.fromNames({ allow: ["*"], block: ["*"] }), "a"), "")
    assert.strictEqual(shown(ToolFilter.allow("a"), "a", "b"), "a")
    assert.strictEqual(shown(ToolFilter.block("a"), "a", "b"), "b")
    assert.strictEqual(shown(ToolFilter.all, "a", "b"), "a b")
    assert.strictEqual(shown(ToolFilter.none, "a", "b"), "")
  })

  it("names of the prototype are names like others", () => {
    const hostile = ["__proto__", "constructor", "hasOwnProperty", "toString"]
    assert.strictEqual(shown(ToolFilter.allow("a"), ...hostile), "")
    assert.strictEqual(shown(ToolFilter.allow("__proto__", "const*"), ...hostile), "__proto__ constructor")
  })

  it("only what was written is changed: the lists are copied", () => {
    const allow = ["a"]
    const filter = ToolFilter.fromNames({ allow })
    allow.push("b")
    assert.strictEqual(shown(filter, "a", "b"), "a")
    assert.deepStrictEqual(filter.allowed, ["a"])
    assert.isFalse(Object.isFrozen(allow))
  })

  it("what is no list of names is refused field by field, and never half understood", () => {
    const problems = (names: unknown) =>
      Either.match(ToolFilter.decodeNames(names), {
        onLeft: (error) => {
          assert.instanceOf(error, McpError.ConfigInvalid)
          return error.problems.map((_) => `${_.field} ${_.problem}`)
        },
        onRight: () => []
      })
    assert.deepStrictEqual(problems({ allow: ["a"], block: undefined }), [])
    assert.deepStrictEqual(problems({ allow: "a*", block: ["a", 1, "", null], allowed: [] }), [
      "allowed is not a known field",
      "allow must be a list of tool names",
      "block[1] must be a text",
      "block[2] must not be empty",
      "block[3] must be a text"
    ])
    // eslint-disable-next-line no-sparse-arrays
    assert.deepStrictEqual(problems({ block: ["a", , "b"] }), ["block[1] must be a text"])
    for (const u of [null, undefined, "a", ["a"], 1, new Map([["block", ["a"]]])]) {
      assert.deepStrictEqual(problems(u), ["(root) must be an object"])
    }
    assert.throws(() => ToolFilter.fromNames({ block: "delete_*" as never }), McpError.ConfigInvalid)
    assert.throws(() => ToolFilter.block(undefined as never), McpError.ConfigInvalid)
  })

  it("by what servers say: what is said of nothing is nothing", () => {
    const some = [
      tool("reads", { readOnlyHint: true }),
      tool("writes", { readOnlyHint: false }),
      tool("silent"),
      tool("lies", { readOnlyHint: "yes" as never })
    ]
    assert.strictEqual(names(atOnce(shownBy(ToolFilter.readOnly, "docs", some, undefined))), "reads")
    const quiet = ToolFilter.annotated((_) => _.readOnlyHint === undefined)
    assert.strictEqual(names(atOnce(shownBy(quiet, "docs", some, undefined))), "silent")
  })

  it.effect("a predicate that throws, or answers neither, excludes and is told", () =>
    Effect.gen(function*() {
      for (
        const [predicate, says] of [
          [() => {
            throw new TypeError("token=hunter2")
          }, "threw (TypeError)"],
          [() => 1 as never, "neither true nor false"],
          [() => Promise.resolve(true) as never, "neither true nor false"]
        ] as ReadonlyArray<[() => boolean, string]>
      ) {
        const { lines, value } = yield* logged(listed(ToolFilter.annotated(predicate), tools("odd"), undefined))
        assert.strictEqual(names(value), "")
        isOneErrorLine(lines, says)
        assert.notInclude(lines[0]!.text, "hunter2")
      }
    }))

  it("1A.8: an allow pattern that means nothing can be told", () => {
    const filter = ToolFilter.and(
      ToolFilter.fromNames({ allow: ["read_*", "raed_*", "list", "lsit", "?"], block: ["nothing"] }),
      ToolFilter.allow("lsit", "*_file"),
      ToolFilter.readOnly
    )
    const all = ["read_file", "list", "ab"]
    assert.deepStrictEqual(ToolFilter.unmatched(filter, all), ["raed_*", "lsit", "?"])
    assert.deepStrictEqual(ToolFilter.unmatched(ToolFilter.all, all), [])
    assert.deepStrictEqual(ToolFilter.unmatched(ToolFilter.allow("a"), []), ["a"])
  })
})

describe("patterns", () => {
  const matches = (pattern: string, name: string) => NameMatcher.make([pattern]).has(name)

  it("1A.8: * and ? are all there is; everything else is literal", () => {
    const cases: ReadonlyArray<[string, string, boolean]> = [
      ["*", "", true],
      ["*", "a/b.c", true],
      ["**", "abc", true],
      ["a*", "a", true],
      ["a*", ".a", false],
      ["*a", "ba", true],
      ["*a", "ab", false],
      ["a*a", "a", false],
      ["a*a", "aa", true],
      ["a*b*c", "a-b-c", true],
      ["a*b*c", "acb", false],
      ["*a*a*", "a", false],
      ["ab*bc", "abc", false],
      ["?", "", false],
      ["?", "a", true],
      ["?", "日", true],
      ["?", "😀", true],
      ["??", "😀", false],
      ["?*", "", false],
      ["a?c*", "abcd", true],
      ["*?c", "c", false],
      ["*?c", "bc", true],
      ["*.*", "a.b", true],
      ["*.*", "ab", false],
      ["!a", "a", false],
      ["!a", "!a", true],
      ["!a*", "b", false],
      ["[ab]", "a", false],
      ["[ab]*", "[ab]c", true],
      ["{a,b}*", "a", false],
      ["a+*", "aa", false],
      ["a\\*", "a\\b", true],
      ["^a$*", "a", false],
      ["Read_*", "read_file", false],
      ["read", "read_file", false],
      ["a*", "a\nb", true]
    ]
    for (const [pattern, name, expected] of cases) {
      assert.strictEqual(matches(pattern, name), expected, `${pattern} ${name}`)
    }
  })

  it("property: as a pattern means by its definition", () => {
    /** Tries everything. */
    const means = (pattern: ReadonlyArray<string>, name: ReadonlyArray<string>): boolean => {
      const [head, ...rest] = pattern
      if (head === undefined) return name.length === 0
      if (head === "*") return means(rest, name) || (name.length > 0 && means(pattern, name.slice(1)))
      return name.length > 0 && (head === "?" || head === name[0]) && means(rest, name.slice(1))
    }
    const text = (unit: ReadonlyArray<string>) =>
      FastCheck.string({ unit: FastCheck.constantFrom(...unit), maxLength: 8 })
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(text(["a", "b", "*", "?", "😀"]), { maxLength: 3 }),
        text(["a", "b", "😀", "*"]),
        (patterns, name) => {
          assert.strictEqual(
            NameMatcher.make(patterns).has(name),
            patterns.some((_) => means([..._], [...name]))
          )
        }
      ),
      { numRuns: 3000 }
    )
  })

  it("a hostile name costs its length", () => {
    const name = "a".repeat(100_000)
    const from = processorMillis()
    for (
      const pattern of [
        `${"*a".repeat(20)}*b`,
        `*${"a".repeat(30)}b*`,
        `${"*?a".repeat(20)}*b`,
        `*${"a?".repeat(15)}b*`
      ]
    ) {
      assert.isFalse(matches(pattern, name), pattern)
    }
    assert.isBelow(processorMillis() - from, 2000)
  })
})

describe("dynamic", () => {
  it("gets the tool itself, the server, the agent and the run, and needs no effect where it makes none", () => {
    const seen: Array<unknown> = []
    const filter = ToolFilter.dynamic((tool, context) => {
      seen.push(tool, context)
      return tool.name !== "b"
    })
    const list = tools("a", "b")
    assert.strictEqual(names(atOnce(shownBy(filter, "docs", list, request))), "a")
    assert.strictEqual(seen[0], list[0])
    assert.deepStrictEqual(seen[1], { server: "docs", ...request })
    assert.strictEqual((seen[1] as typeof request).agent, request.agent)
    assert.isTrue(
      atOnce(ToolFilter.dynamic(() => Effect.succeed(true)).decide(list[0]!, "docs", request))
    )
  })

  it.effect("1.6: without agent and run it is a typed error, and shows nothing to who does not ask for it", () =>
    Effect.gen(function*() {
      const filter = ToolFilter.dynamic(() => true)
      for (
        const missing of [
          undefined,
          null,
          {},
          { agent: "a" },
          { runContext: "r" },
          { agent: "a", runContext: undefined },
          { agent: null, runContext: "r" }
        ] as ReadonlyArray<unknown> as ReadonlyArray<never>
      ) {
        assert.isTrue(lacksRequest(filter, missing))
        const { lines, value } = yield* logged(listed(filter, tools("odd"), missing))
        assert.strictEqual(names(value), "")
        isOneErrorLine(lines, "not told who asks")
      }
      assert.isFalse(lacksRequest(filter, { agent: 0, runContext: "" }))
      assert.isFalse(lacksRequest(ToolFilter.all, undefined))
      const error = missingRequest("docs")
      assert.deepStrictEqual([error._tag, error.server, error.operation, error.executed], [
        "RequestMissing",
        "docs",
        "tools/list",
        "no"
      ])
      assert.include(error.message, "MCP server \"docs\": tools/list")
      const again = Schema.decodeUnknownSync(ToolRequest.RequestMissing)(
        Schema.encodeSync(ToolRequest.RequestMissing)(error)
      )
      assert.strictEqual(again.message, error.message)
    }))

  class Boom {
    readonly _tag = "Boom"
    readonly message = "Bearer hunter2"
  }

  const failing: ReadonlyArray<[string, () => unknown, string]> = [
    ["fails", () => Effect.fail(new Boom()), "failed (Boom)"],
    ["fails later", () => Effect.zipRight(Effect.yieldNow(), Effect.fail(new Boom())), "failed (Boom)"],
    ["fails with a text", () => Effect.fail("Bearer hunter2"), "failed, so"],
    ["fails with a tag that is a secret", () => Effect.fail({ _tag: "Bearer hunter2" }), "failed, so"],
    ["fails with what can't be read", () =>
      Effect.fail({
        get _tag() {
          throw new Error("hunter2")
        }
      }), "failed, so"],
    ["dies", () => Effect.die(new RangeError("Bearer hunter2")), "died (RangeError)"],
    ["dies later", () => Effect.zipRight(Effect.yieldNow(), Effect.die(null)), "died, so"],
    ["throws", () => {
      throw new Boom()
    }, "threw (Boom)"],
    ["throws inside", () =>
      Effect.suspend((): Effect.Effect<boolean> => {
        throw new SyntaxError("hunter2")
      }), "died (SyntaxError)"],
    ["answers 1", () => 1, "neither true nor false"],
    ["answers a text", () => "hunter2", "neither true nor false"],
    ["answers nothing", () => undefined, "neither true nor false"],
    ["answers an object", () => ({ allowed: true }), "neither true nor false"],
    ["answers a promise", () => Promise.resolve(true), "neither true nor false"],
    ["answers 1 later", () => Effect.map(Effect.yieldNow(), () => 1), "neither true nor false"],
    ["answers 1 in an effect", () => Effect.succeed(1), "neither true nor false"],
    [
      "fails, and interrupts what it did beside",
      () => Effect.all([Effect.never, Effect.fail(new Boom())], { concurrency: 2 }),
      "failed (Boom)"
    ]
  ]

  for (const [what, answer, says] of failing) {
    it.effect(`1.6: a filter that ${what} excludes that tool, says so once, and nothing secret`, () =>
      Effect.gen(function*() {
        const { lines, value } = yield* logged(listed(odd(answer), tools("a", "odd", "b"), request))
        assert.strictEqual(names(value), "a b")
        isOneErrorLine(lines, says)
        assert.notInclude(JSON.stringify(lines), "hunter2")
        const one = yield* logged(
          Effect.suspend(() => run(odd(answer).decide(tool("odd"), "docs", request)))
        )
        assert.isFalse(one.value)
        assert.strictEqual(one.lines.length, 1)
      }))
  }

  it.effect("what is logged of a hostile name is bounded, without control characters", () =>
    Effect.gen(function*() {
      const name = `\u001b[31m${"x".repeat(100_000)}`
      const { lines } = yield* logged(listed(ToolFilter.dynamic(() => 1 as never), tools(name), request))
      assert.isBelow(JSON.stringify(lines).length, 1000)
      assert.notInclude(lines[0]!.text, "\u001b")
    }))

  const hanging: ReadonlyArray<[string, () => Effect.Effect<boolean>]> = [
    ["hangs", () => Effect.never],
    ["hangs and can't be interrupted", () => Effect.uninterruptible(Effect.never)]
  ]
  for (const [what, answer] of hanging) {
    for (const around of ["", ", in a region that can't be interrupted"]) {
      it.effect(`1.6: a filter that ${what} excludes that tool after 5 seconds${around}`, () =>
        Effect.gen(function*() {
          const listing = listed(odd(answer), tools("a", "odd", "b"), request)
          const fiber = yield* Effect.fork(logged(around === "" ? listing : Effect.uninterruptible(listing)))
          yield* TestClock.adjust(4999)
          yield* settled
          assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
          yield* TestClock.adjust(1)
          const { lines, value } = yield* Fiber.join(fiber)
          assert.strictEqual(names(value), "a b")
          isOneErrorLine(lines, "5000 ms")
        }))
    }
  }

  it.effect("the deadline is an option; a wrong one is refused when the filter is made", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(
        logged(listed(odd(() => Effect.never, { timeout: "1 second" }), tools("odd"), request))
      )
      yield* TestClock.adjust(1000)
      isOneErrorLine((yield* Fiber.join(fiber)).lines, "1000 ms")
      for (const timeout of [0, -1, Infinity, "soon", null] as ReadonlyArray<unknown> as ReadonlyArray<never>) {
        assert.throws(() => ToolFilter.dynamic(() => true, { timeout }), McpError.ConfigInvalid)
      }
    }))

  it.effect("what takes too long is interrupted", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const answer = () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      const fiber = yield* Effect.fork(logged(listed(odd(answer), tools("odd"), request)))
      yield* TestClock.adjust(5000)
      yield* Fiber.join(fiber)
      yield* Deferred.await(interrupted)
    }))

  it.effect("an interruption is one: nothing is listed, nothing logged, and the filter has cleaned up before", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      let cleaned = false
      const answer = () =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.zipRight(Effect.yieldNow(), Effect.sync(() => void (cleaned = true))))
        )
      let logs: ReadonlyArray<Line> = []
      const fiber = yield* Effect.fork(
        logged(Effect.exit(listed(odd(answer), tools("a", "odd"), request))).pipe(
          Effect.tap(({ lines }) => void (logs = lines))
        )
      )
      yield* Deferred.await(begun)
      const exit = yield* Fiber.interrupt(fiber)
      assert(Exit.isFailure(exit))
      assert.isTrue(Cause.isInterruptedOnly(exit.cause))
      assert.isTrue(cleaned)
      assert.strictEqual(logs.length, 0)
    }))

  it.effect("an interruption does not wait for ever for a filter that can't be interrupted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const answer = () => Effect.uninterruptible(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
      const fiber = yield* Effect.fork(run(odd(answer).decide(tool("odd"), "docs", request)))
      yield* Deferred.await(begun)
      const ending = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* settled
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(ending)))
    }))

  it.effect("a filter that is interrupted itself is neither a yes nor a no", () =>
    Effect.gen(function*() {
      for (const answer of [() => Effect.interrupt, () => Effect.zipRight(Effect.yieldNow(), Effect.interrupt)]) {
        const { lines, value } = yield* logged(Effect.exit(listed(odd(answer), tools("a", "odd"), request)))
        assert.isTrue(Exit.isInterrupted(value))
        assert.strictEqual(lines.length, 0)
      }
    }))

  it.effect("it gets its services and what its caller's fiber has, and leaves nothing there", () =>
    Effect.gen(function*() {
      class Rights extends Context.Tag("Rights")<Rights, { readonly may: (name: string) => boolean }>() {}
      const filter = ToolFilter.dynamic((tool) =>
        Effect.zipRight(Effect.yieldNow(), Effect.map(Rights, (_) => _.may(tool.name)))
      )
      const list = yield* Effect.provideService(
        listed(filter, tools("a", "b"), request),
        Rights,
        { may: (name) => name === "b" }
      )
      assert.strictEqual(names(list), "b")
    }))
})

describe("lists", () => {
  const slow = (decide: (name: string, agent: string) => boolean) =>
    ToolFilter.dynamic((tool, { agent }: ToolFilter.FilterContext<string>) =>
      Effect.map(Effect.sleep(tool.name.length * 10), () => decide(tool.name, agent))
    )

  it("the same list where nothing is excluded", () => {
    const list = tools("a", "b")
    for (const filter of [ToolFilter.all, ToolFilter.allow("*"), ToolFilter.and(), ToolFilter.block("c")]) {
      assert.strictEqual(atOnce(shownBy(filter, "docs", list, undefined)), list)
    }
    assert.notStrictEqual(atOnce(shownBy(ToolFilter.block("a"), "docs", list, undefined)), list)
  })

  it.effect("the same list too where it takes time, and the same order whatever ends first", () =>
    Effect.gen(function*() {
      const list = tools("ccc", "bb", "a", "dddd")
      const all = yield* Effect.fork(listed(slow(() => true), list, { agent: "x", runContext: 1 }))
      const some = yield* Effect.fork(listed(slow((_) => _ !== "a"), list, { agent: "x", runContext: 1 }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(all), list)
      assert.strictEqual(names(yield* Fiber.join(some)), "ccc bb dddd")
    }))

  it.effect("so many decisions at once as it may be, 16 by default", () =>
    Effect.gen(function*() {
      for (const [options, expected] of [[undefined, 16], [{ concurrency: 3 }, 3]] as const) {
        let [now, most] = [0, 0]
        const filter = ToolFilter.dynamic(() =>
          Effect.acquireUseRelease(
            Effect.sync(() => void (most = Math.max(most, ++now))),
            () => Effect.as(Effect.sleep(10), true),
            () => Effect.sync(() => void now--)
          )
        )
        const list = tools(...Array.from({ length: 40 }, (_, i) => `t${i}`))
        const fiber = yield* Effect.fork(listed(filter, list, request, options))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(fiber), list)
        assert.strictEqual(most, expected)
      }
    }))

  it.effect("a filter that hangs for thousands of tools costs 30 seconds, and what was decided holds", () =>
    Effect.gen(function*() {
      const filter = ToolFilter.dynamic((tool) =>
        tool.name === "a" ? Effect.zipRight(Effect.yieldNow(), Effect.succeed(true)) : Effect.never
      )
      const list = tools("a", "sync", ...Array.from({ length: 5000 }, (_, i) => `t${i}`))
      const fiber = yield* Effect.fork(logged(listed(filter, list, request)))
      yield* TestClock.adjust(30_000)
      const { lines, value } = yield* Fiber.join(fiber)
      assert.strictEqual(names(value), "a")
      const last = lines.at(-1)!
      assert.deepStrictEqual([last.level, last.server], ["Error", "docs"])
      assert.include(last.text, "of 5002 tools within 30000 ms, so they are excluded")
    }))

  it.effect("an effect of a listing can be run twice, and decides again", () =>
    Effect.gen(function*() {
      let role = "admin"
      const filter = ToolFilter.dynamic(() => Effect.map(Effect.yieldNow(), () => role === "admin"))
      const listing = run(shownBy(filter, "docs", tools("a"), request))
      assert.strictEqual(names(yield* listing), "a")
      role = "guest"
      assert.strictEqual(names(yield* listing), "")
    }))

  it.live("100 agents with different rights at once over one frozen list, each right", () =>
    Effect.gen(function*() {
      const list = tools(...Array.from({ length: 50 }, (_, i) => `${i % 10}_${i}`))
      const filter = ToolFilter.and(
        ToolFilter.block("*_13"),
        ToolFilter.dynamic((tool, { agent }: ToolFilter.FilterContext<string>) =>
          Effect.as(Effect.repeatN(Effect.yieldNow(), tool.name.length), tool.name.startsWith(agent))
        )
      )
      const all = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, i) => String(i % 10)),
        (agent) => Effect.map(listed(filter, list, { agent, runContext: {} }), (seen) => [agent, names(seen)] as const),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(all.length, 100)
      for (const [agent, seen] of all) {
        assert.strictEqual(seen, names(list.filter((_) => _.name.startsWith(agent) && _.name !== "3_13")))
      }
    }))

  it("10,000 tools cost a few milliseconds", () => {
    const list = tools(...Array.from({ length: 10_000 }, (_, i) => `server_${i % 50}_tool_number_${i}`))
    const filter = ToolFilter.and(
      ToolFilter.fromNames({
        allow: ["server_1*", "server_2?_*", "*_number_7*", "list"],
        block: ["*delete*", "*_tool_number_77", "server_11_tool_number_11"]
      }),
      ToolFilter.dynamic((tool) => tool.name.length > 3)
    )
    const times: Array<number> = []
    for (let i = 0; i < 10; i++) {
      const from = processorMillis()
      const seen = atOnce(shownBy(filter, "docs", list, request))
      times.push(processorMillis() - from)
      assert.isAbove(seen.length, 1000)
    }
    assert.isBelow(Math.min(...times), 50)
  })
})

describe("and", () => {
  it("all of them must say yes, in any order and nesting", () => {
    const [a, b] = [ToolFilter.allow("a*"), ToolFilter.block("*b")]
    for (const filter of [ToolFilter.and(a, b), ToolFilter.and(b, a), ToolFilter.and(ToolFilter.and(a), b)]) {
      assert.strictEqual(shown(filter, "a", "ab", "c"), "a")
      assert.isFalse(filter.needsRequest)
    }
    assert.strictEqual(shown(ToolFilter.and(), "a"), "a")
    assert.strictEqual(shown(ToolFilter.and(a, ToolFilter.none), "a"), "")
  })

  it.effect("nobody is asked about what is excluded already, and one that fails excludes", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const asks = (id: string, answer: (name: string) => Effect.Effect<boolean, string>) =>
        ToolFilter.dynamic((tool) => {
          asked.push(id + tool.name)
          return Effect.zipRight(Effect.yieldNow(), answer(tool.name))
        })
      const filter = ToolFilter.and(
        asks("1", (name) => Effect.succeed(name !== "a")),
        asks("2", (name) => name === "b" ? Effect.fail("no") : Effect.succeed(true)),
        ToolFilter.block("c")
      )
      assert.isTrue(filter.needsRequest)
      const { lines, value } = yield* logged(listed(filter, tools("a", "b", "c", "d"), request))
      assert.strictEqual(names(value), "d")
      assert.strictEqual(lines.length, 1)
      assert.strictEqual([...asked].sort().join(" "), "1a 1b 1d 2b 2d")
    }))

  it.effect("property: it shows what every one shows", () =>
    Effect.promise(() => {
      const filters: ReadonlyArray<[ToolFilter.ToolFilter<ToolRequest.ToolRequest>, (name: string) => boolean]> = [
        [ToolFilter.all, () => true],
        [ToolFilter.allow("a*"), (_) => _.startsWith("a")],
        [ToolFilter.block("*b"), (_) => !_.endsWith("b")],
        [ToolFilter.dynamic((_) => _.name.length > 1), (_) => _.length > 1],
        [ToolFilter.dynamic((_) => Effect.succeed(_.name.length < 4)), (_) => _.length < 4],
        [ToolFilter.dynamic((_) => Effect.map(Effect.yieldNow(), () => _.name[1] !== "a")), (_) => _[1] !== "a"],
        [ToolFilter.none, () => false]
      ]
      const text = FastCheck.string({ unit: FastCheck.constantFrom("a", "b"), maxLength: 4, minLength: 1 })
      return FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(FastCheck.constantFrom(...filters.keys()), { maxLength: 4 }),
          FastCheck.array(text, { maxLength: 5 }),
          async (chosen, some) => {
            const seen = await Effect.runPromise(
              listed(ToolFilter.and(...chosen.map((_) => filters[_]![0])), tools(...some), request)
            )
            assert.strictEqual(
              names(seen),
              some.filter((name) => chosen.every((_) => filters[_]![1](name))).join(" ")
            )
          }
        ),
        { numRuns: 300 }
      )
    }))
})
