import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import type * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import { Context, Deferred, Effect, Either, Exit, FastCheck, Fiber, TestClock } from "effect"
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import * as Pending from "../../src/internal/toolset/pending.js"
import { sha256 } from "../../src/internal/toolset/sha256.js"
import { settled } from "../connection/kit.js"
import { atOnce, logged, run } from "./asking.js"

const request = { agent: { role: "guest" }, runContext: { user: "ada" } }

const call = (tool: string, more: Partial<ToolApproval.Call> = {}): ToolApproval.Call => ({
  server: "docs",
  tool,
  arguments: {},
  trusted: false,
  ...more
})

const made = <A>(result: Either.Either<A, McpError.ConfigInvalid>): A => Either.getOrThrow(result)

/** Those that need approval. */
const asked = (approval: ToolApproval.ToolApproval, ...tools: ReadonlyArray<string>): string =>
  tools.filter((tool) => atOnce(approval.decide(call(tool), undefined))).join(" ")

const problems = (result: Either.Either<unknown, McpError.ConfigInvalid>): ReadonlyArray<string> =>
  Either.match(result, {
    onLeft: (error) => {
      assert.instanceOf(error, McpError.ConfigInvalid)
      return error.problems.map((_) => `${_.field} ${_.problem}`)
    },
    onRight: () => []
  })

const refused = (input: unknown, options?: unknown): ReadonlyArray<string> =>
  problems(ToolApproval.make(input as "always", options as ToolApproval.Options))

describe("by name", () => {
  it("1.11: always and never", () => {
    assert.strictEqual(asked(made(ToolApproval.make("always")), "a", "b"), "a b")
    assert.strictEqual(asked(made(ToolApproval.make("never")), "a", "b"), "")
    assert.strictEqual(asked(ToolApproval.always, "a"), "a")
    assert.strictEqual(asked(ToolApproval.never, "a"), "")
  })

  it("5.18: a tool in no rule needs approval, unless it is said otherwise", () => {
    const map = { a: "always", b: "never", c: true, d: false } as const
    assert.strictEqual(asked(made(ToolApproval.make(map)), "a", "b", "c", "d", "new"), "a c new")
    assert.strictEqual(asked(made(ToolApproval.make(map, { otherwise: "never" })), "a", "b", "c", "d", "new"), "a c")
    const lists = { always: ["a"], never: ["b"] }
    assert.strictEqual(asked(made(ToolApproval.make(lists)), "a", "b", "new"), "a new")
    assert.strictEqual(asked(made(ToolApproval.make(lists, { otherwise: "never" })), "a", "b", "new"), "a")
    assert.strictEqual(asked(made(ToolApproval.make({})), "a"), "a")
    assert.strictEqual(asked(made(ToolApproval.make({ never: [] })), "a"), "a")
  })

  it("1.11: always and never are names of tools unless one is a list", () => {
    assert.strictEqual(
      asked(made(ToolApproval.make({ always: "never", never: true })), "always", "never", "a"),
      "never a"
    )
  })

  it("a name says more than a pattern; where patterns disagree, it needs approval", () => {
    const approval = made(ToolApproval.make({
      always: ["delete_*", "read_secret"],
      never: ["*", "delete_draft", "read_*"]
    }))
    assert.strictEqual(
      asked(approval, "delete_all", "delete_draft", "read_file", "read_secret", "new", "delete_*"),
      "delete_all read_secret delete_*"
    )
    assert.strictEqual(asked(made(ToolApproval.make({ "a*": false, "*b": true })), "a", "ab", "b", "c"), "ab b c")
    assert.strictEqual(asked(made(ToolApproval.make({ "a?": false, "a*": true })), "a?"), "a?")
  })

  it("names of the prototype are names like others", () => {
    const hostile = ["__proto__", "constructor", "toString"]
    assert.strictEqual(asked(made(ToolApproval.make({ a: "never" })), ...hostile), hostile.join(" "))
    const own = JSON.parse("{\"__proto__\":\"never\",\"constructor\":false}") as ToolApproval.Names
    assert.strictEqual(asked(made(ToolApproval.make(own)), ...hostile), "toString")
  })

  it("it is what it was when it was made", () => {
    const lists = { always: [] as Array<string>, never: ["a"] }
    const approval = made(ToolApproval.make(lists))
    lists.never.push("b")
    assert.strictEqual(asked(approval, "a", "b"), "b")
  })

  it("1.11: what is wrong is told when it is made, field by field", () => {
    assert.deepStrictEqual(refused({ a: "sometimes", b: 1, c: null, d: {}, e: "never" }), [
      "a must be \"always\", \"never\", true or false",
      "b must be \"always\", \"never\", true or false",
      "c must be \"always\", \"never\", true or false",
      "d must be \"always\", \"never\", true or false"
    ])
    assert.deepStrictEqual(refused({ always: ["a", 1, "b", ""], never: ["c", "b", "a"], otherwise: "never" }), [
      "otherwise is not a known field",
      "always[1] must be a text",
      "always[3] must not be empty"
    ])
    assert.deepStrictEqual(refused({ always: ["a", "b"], never: ["c", "b", "a"] }), [
      "never[1] is in the list \"always\" too",
      "never[2] is in the list \"always\" too"
    ])
    assert.deepStrictEqual(refused({ always: ["a"], never: "b" }), ["never must be a list of tool names"])
    assert.deepStrictEqual(refused({ always: {} }), ["always must be \"always\", \"never\", true or false"])
    assert.deepStrictEqual(refused({ "": "never" }), ["(a name) must not be empty"])
    for (const input of ["Always", "", undefined, null, true, false, 1, ["a"], new Map([["a", "never"]]), new Date()]) {
      assert.strictEqual(refused(input).length, 1, String(input))
      assert.include(refused(input)[0], "(root) must be")
    }
    assert.deepStrictEqual(refused("never", { otherwise: "no", timeout: 0, other: 1 }), [
      "otherwise must be \"always\" or \"never\"",
      "timeout must be a positive and finite duration such as \"5 seconds\"",
      "other is not a known field"
    ])
  })

  it("destructive: free is only what a trusted server calls read-only", () => {
    const free = (trusted: unknown, annotations: ToolApproval.Call["annotations"]) =>
      !atOnce(
        ToolApproval.destructive.decide(call("a", { trusted: trusted as boolean, annotations }), undefined)
      )
    assert.isTrue(free(true, { readOnlyHint: true }))
    assert.isFalse(free(false, { readOnlyHint: true }))
    assert.isFalse(free("yes", { readOnlyHint: true }))
    assert.isFalse(free(true, { readOnlyHint: false, destructiveHint: false }))
    assert.isFalse(free(true, { readOnlyHint: "yes" as never }))
    assert.isFalse(free(true, {}))
    assert.isFalse(free(true, undefined))
  })
})

describe("by function", () => {
  const by = (answer: () => unknown, options?: ToolApproval.Options) =>
    made(ToolApproval.make(() => answer() as boolean, options))

  const decided = (approval: ToolApproval.ToolApproval<ToolRequest.ToolRequest>) =>
    logged(Effect.suspend(() => run(approval.decide(call("pay"), request))))

  it("gets the call and who asks, as they are", () => {
    const seen: Array<unknown> = []
    const approval = made(ToolApproval.make((call, { agent }: ToolRequest.ToolRequest<{ role: string }>) => {
      seen.push(call)
      return agent.role !== "admin"
    }))
    const one = call("pay", { arguments: Object.freeze({ amount: 1 }) })
    assert.isTrue(atOnce(approval.decide(one, request)))
    assert.isFalse(atOnce(approval.decide(one, { agent: { role: "admin" }, runContext: 1 })))
    assert.strictEqual(seen[0], one)
  })

  it.effect("it gets its services", () =>
    Effect.gen(function*() {
      class Limits extends Context.Tag("Limits")<Limits, { readonly free: number }>() {}
      const approval = made(
        ToolApproval.make((call) => Effect.map(Limits, (_) => !(Number(call.arguments.amount) <= _.free)))
      )
      for (const [amount, expected] of [[1, false], [11, true], ["x", true]] as const) {
        const required = yield* run(
          approval.decide(call("pay", { arguments: { amount } }), request)
        ).pipe(Effect.provideService(Limits, { free: 10 }))
        assert.strictEqual(required, expected)
      }
    }))

  it.effect("only false is no", () =>
    Effect.gen(function*() {
      for (const answer of [() => false, () => Effect.succeed(false), () => Effect.as(Effect.yieldNow(), false)]) {
        assert.deepStrictEqual(yield* decided(by(answer)), { value: false, lines: [] })
      }
      for (const answer of [() => true, () => Effect.succeed(true), () => Effect.as(Effect.yieldNow(), true)]) {
        assert.deepStrictEqual(yield* decided(by(answer)), { value: true, lines: [] })
      }
    }))

  const unclear: ReadonlyArray<[string, () => unknown, string]> = [
    ["fails", () => Effect.fail(new Error("hunter2")), "failed (Error)"],
    ["fails later", () => Effect.zipRight(Effect.yieldNow(), Effect.fail("hunter2")), "failed, so"],
    ["dies", () => Effect.die(new RangeError("hunter2")), "died (RangeError)"],
    ["throws", () => {
      throw new TypeError("hunter2")
    }, "threw (TypeError)"],
    ["answers 0", () => 0, "neither true nor false"],
    ["answers nothing", () => undefined, "neither true nor false"],
    ["answers null", () => null, "neither true nor false"],
    ["answers a text", () => "", "neither true nor false"],
    ["answers a promise", () => Promise.resolve(false), "neither true nor false"],
    ["answers 0 later", () => Effect.as(Effect.yieldNow(), 0), "neither true nor false"]
  ]
  for (const [what, answer, says] of unclear) {
    it.effect(`a policy that ${what} means approval, with a line in the log, without secrets`, () =>
      Effect.gen(function*() {
        const { lines, value } = yield* decided(by(answer, { otherwise: "never" }))
        assert.isTrue(value)
        assert.strictEqual(lines.length, 1)
        const [line] = lines as [typeof lines[number]]
        assert.deepStrictEqual([line.level, line.server, line.tool], ["Error", "docs", "pay"])
        for (const text of ["MCP server \"docs\"", "\"pay\"", "needs approval", says]) assert.include(line.text, text)
        assert.notInclude(JSON.stringify(lines), "hunter2")
      }))
  }

  it.effect("1.11: without agent or run it is not asked, and approval is needed", () =>
    Effect.gen(function*() {
      let count = 0
      const approval = by(() => {
        count++
        return false
      })
      for (const missing of [undefined, null, { agent: 1 }, { runContext: 1 }, { agent: 1, runContext: null }]) {
        const { lines, value } = yield* logged(
          run(approval.decide(call("pay"), missing as unknown as typeof request))
        )
        assert.isTrue(value)
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0]!.text, "not told who asks")
      }
      assert.strictEqual(count, 0)
    }))

  for (const around of ["", ", in a region that can't be interrupted too"]) {
    it.effect(`a policy that hangs means approval after 5 seconds${around}`, () =>
      Effect.gen(function*() {
        const deciding = decided(by(() => Effect.never))
        const fiber = yield* Effect.fork(around === "" ? deciding : Effect.uninterruptible(deciding))
        yield* TestClock.adjust(4999)
        yield* settled
        assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
        yield* TestClock.adjust(1)
        const { lines, value } = yield* Fiber.join(fiber)
        assert.isTrue(value)
        assert.include(lines[0]!.text, "5000 ms")
      }))
  }

  it.effect("an interruption is one, whoever is interrupted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        decided(by(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)))
      )
      yield* Deferred.await(begun)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      const { lines, value } = yield* logged(Effect.exit(
        run(
          by(() => Effect.zipRight(Effect.yieldNow(), Effect.interrupt)).decide(call("pay"), request)
        )
      ))
      assert.isTrue(Exit.isInterrupted(value))
      assert.strictEqual(lines.length, 0)
    }))
})

describe("pending", () => {
  const some = {
    toolset: "toolset",
    server: "docs",
    tool: "pay",
    name: "docs__pay",
    arguments: { amount: 1, to: { name: "ada", list: [1, null, "x"] } }
  }

  const read = (pending: ToolApproval.PendingApproval, change: (json: typeof some) => unknown = (_) => _) =>
    ToolApproval.decode(change(JSON.parse(JSON.stringify(ToolApproval.encode(pending))) as typeof some))

  const anyJson: FastCheck.Arbitrary<ToolApproval.Call["arguments"]> = FastCheck.dictionary(
    FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.constantFrom("__proto__", "constructor", "toJSON")),
    FastCheck.jsonValue({ maxDepth: 4 }) as FastCheck.Arbitrary<unknown>,
    { noNullPrototype: true }
  )

  it.effect("says when it was asked for, and when it is too late", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1000)
      const forever = yield* Pending.make(some)
      assert.deepStrictEqual([forever.requestedAt, forever.expiresAt], [1000, undefined])
      assert.isFalse(ToolApproval.isExpired(forever, Number.MAX_SAFE_INTEGER))
      const { id: _id, fingerprint: _, ...rest } = ToolApproval.encode(forever)
      assert.deepStrictEqual(rest, { ...some, requestedAt: 1000 })
      const brief = yield* Pending.make(some, { expiresIn: "1 minute" })
      assert.strictEqual(brief.expiresAt, 61_000)
      assert.isFalse(ToolApproval.isExpired(brief, 60_999))
      assert.isTrue(ToolApproval.isExpired(brief, 61_000))
      assert.isTrue(ToolApproval.isExpired(brief, Number.NaN))
      for (const expiresIn of [Number.MAX_SAFE_INTEGER, "1000000000000 days", 1e300] as const) {
        assert.isUndefined((yield* Pending.make(some, { expiresIn })).expiresAt, String(expiresIn))
      }
    }))

  it.effect("ids are long, and never the same", () =>
    Effect.gen(function*() {
      const all = yield* Effect.replicateEffect(Pending.make(some), 1000)
      assert.strictEqual(new Set(all.map((_) => _.id)).size, 1000)
      for (const { id } of all) assert.match(id, /^[0-9a-f]{32}$/)
    }))

  it.effect("its arguments are a frozen copy", () =>
    Effect.gen(function*() {
      const args = { list: [1] }
      const pending = yield* Pending.make({ ...some, arguments: args })
      args.list.push(2)
      assert.deepStrictEqual(pending.arguments, { list: [1] })
      assert.isTrue(Object.isFrozen(pending.arguments) && Object.isFrozen(pending.arguments.list))
      assert.isDefined(Pending.intact(pending))
    }))

  it.effect("what can't be written is refused", () =>
    Effect.gen(function*() {
      const cyclic: Record<string, unknown> = {}
      cyclic.self = cyclic
      const deep: unknown = JSON.parse(`${"{\"a\":".repeat(5000)}1${"}".repeat(5000)}`)
      for (const args of [cyclic, deep, { a: 1n }, [], null, "x", undefined]) {
        const error = yield* Effect.flip(Pending.make({ ...some, arguments: args as never }))
        assert.strictEqual(error._tag, "ConfigInvalid")
      }
      for (const expiresIn of [0, -1, "soon", Infinity]) {
        const error = yield* Effect.flip(Pending.make(some, { expiresIn: expiresIn as never }))
        assert.strictEqual(error.problems[0]!.field, "expiresIn")
      }
    }))

  it.effect("property: it is the same after it was written and read, in any process", () =>
    Effect.gen(function*() {
      const runtime = yield* Effect.runtime()
      FastCheck.assert(
        FastCheck.property(
          FastCheck.record({
            toolset: FastCheck.string(),
            server: FastCheck.string({ unit: "binary" }),
            tool: FastCheck.string({ unit: "binary" }),
            name: FastCheck.string(),
            arguments: anyJson
          }),
          FastCheck.option(FastCheck.integer({ min: 1 })),
          (call, expiresIn) => {
            const pending = Effect.runSync(Effect.provide(Pending.make(call, { expiresIn }), runtime))
            const again = made(read(pending))
            assert.instanceOf(again, ToolApproval.PendingApproval)
            assert.deepStrictEqual({ ...again }, { ...pending })
            assert.strictEqual(JSON.stringify(ToolApproval.encode(again)), JSON.stringify(ToolApproval.encode(pending)))
            assert.isDefined(Pending.intact(again))
          }
        ),
        { numRuns: 300 }
      )
    }))

  it("property: the order of fields does not matter, and any other arguments do", () => {
    const of = (args: unknown) =>
      Effect.runSync(Pending.make({ ...some, arguments: args as typeof some.arguments })).fingerprint
    const plain = (json: unknown): unknown => JSON.parse(JSON.stringify(json))
    const turned = (json: unknown): unknown =>
      Array.isArray(json)
        ? json.map(turned)
        : typeof json === "object" && json !== null
        ? Object.fromEntries(
          Object.entries(json).reduceRight<Array<[string, unknown]>>(
            (all, [key, value]) => [...all, [key, turned(value)]],
            []
          )
        )
        : json
    FastCheck.assert(
      FastCheck.property(anyJson, anyJson, (one, other) => {
        assert.strictEqual(of(turned(one)), of(one))
        if (!isDeepStrictEqual(plain(one), plain(other))) {
          assert.notStrictEqual(of(other), of(one))
        }
      }),
      { numRuns: 300 }
    )
    const different = [
      {},
      { a: 1 },
      { a: "1" },
      { a: [1] },
      { a: [[1]] },
      { a: {} },
      { a: null },
      { b: 1 },
      {
        a: 1,
        b: 1
      },
      { "a\":1,\"b": 1 },
      { a: [1, 2] },
      { a: [12] },
      { a: "[1,2]" }
    ]
    assert.strictEqual(new Set(different.map(of)).size, different.length)
    assert.notStrictEqual(
      Effect.runSync(Pending.make({ ...some, server: "a", tool: "bc" })).fingerprint,
      Effect.runSync(Pending.make({ ...some, server: "ab", tool: "c" })).fingerprint
    )
  })

  it.effect("another call than the one that was asked for is noticed", () =>
    Effect.gen(function*() {
      const pending = yield* Pending.make({ ...some, arguments: { ...some.arguments, token: "hunter2" } })
      const changes: ReadonlyArray<(json: typeof some) => unknown> = [
        (_) => ({ ..._, arguments: { ..._.arguments, amount: 1000 } }),
        (_) => ({ ..._, arguments: {} }),
        (_) => ({ ..._, server: "other" }),
        (_) => ({ ..._, tool: "pay_all" }),
        (_) => ({ ..._, name: "docs__search" }),
        (_) => ({ ..._, toolset: "of guests" }),
        (_) => ({ ..._, fingerprint: `1:${"0".repeat(64)}` })
      ]
      for (const change of changes) {
        const result = read(pending, change)
        assert.include(problems(result)[0], "is not what approval was asked for")
        assert(Either.isLeft(result))
        assert.notInclude(result.left.message, "hunter2")
      }
      assert.throws(() => new ToolApproval.PendingApproval({ ...pending, tool: "pay_all" }))
      Object.assign(pending, { arguments: { amount: 1000 } })
      assert.isUndefined(Pending.intact(pending))
      Object.assign(pending, { arguments: [1] })
      assert.isUndefined(Pending.intact(pending))
    }))

  it.effect("what another version has stored can't be checked, and says so", () =>
    Effect.gen(function*() {
      const pending = yield* Pending.make(some)
      assert.match(pending.fingerprint, /^1:[0-9a-f]{64}$/)
      for (const fingerprint of [pending.fingerprint.slice(2), `2:${pending.fingerprint.slice(2)}`, ""]) {
        assert.include(
          problems(read(pending, (_) => ({ ..._, fingerprint })))[0],
          "was made by another version of this library; the call must be made anew"
        )
      }
    }))

  it.effect("what is no pending approval is refused, without its values", () =>
    Effect.gen(function*() {
      const pending = yield* Pending.make({ ...some, arguments: { token: "hunter2" } })
      const cases: ReadonlyArray<[(json: typeof some) => unknown, string]> = [
        [({ name: _, ...rest }) => rest, "name is missing"],
        [(_) => ({ ..._, arguments: ["hunter2"] }), "arguments must be a JSON object"],
        [(_) => ({ ..._, arguments: { token: () => "hunter2" } }), "arguments must be a JSON object"],
        [(_) => ({ ..._, arguments: { token: new Date() } }), "arguments must be a JSON object"],
        [(_) => ({ ..._, arguments: { token: Number.NaN } }), "arguments must be a JSON object"],
        [(_) => ({ ..._, requestedAt: "now" }), "requestedAt must be a number"],
        [() => null, "(root) must be"],
        [() => "hunter2", "(root) must be"]
      ]
      for (const [change, says] of cases) {
        const result = read(pending, change)
        assert.include(problems(result)[0], says)
        assert(Either.isLeft(result))
        assert.notInclude(result.left.message, "hunter2")
      }
    }))

  it("property: SHA-256 is what others compute", () => {
    const digest = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex")
    for (let length = 0; length < 200; length++) {
      const text = "a".repeat(length)
      assert.strictEqual(sha256(text), digest(text), String(length))
    }
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 500 }), (text) => {
        assert.strictEqual(sha256(text), digest(text))
      }),
      { numRuns: 300 }
    )
  })
})
