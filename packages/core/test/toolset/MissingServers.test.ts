/**
 * Servers that there are not: names in options that nobody has configured, and what is closed for good. Neither is passed over in
 * silence.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-runtime/core"
import * as ToolApproval from "@mcp-runtime/core/ToolApproval"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Effect, Exit, Scope } from "effect"
import { over, overInScope } from "../manager/kit.js"
import { failed, pendingOf } from "./calling.js"
import {
  begun,
  failure,
  following,
  isDone,
  type Line,
  listed,
  managed,
  noting,
  pass,
  type Server,
  servers,
  settled,
  told,
  toolset
} from "./kit.js"

const correct = "to do: correct the name, or configure the server"

type Options = Toolset.ToolsetOptions<unknown, never, never, never, McpError.ServersFailed>

const errorsOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E | McpError.ServersFailed>) => {
  const error = failure(exit)
  assert(error instanceof McpError.ServersFailed, error._tag)
  return error.errors
}

describe("a server that nobody has configured", () => {
  const misspelt = { only: ["A", "a"], servers: { B: { approval: ToolApproval.always }, A: {}, b: {} } }

  const kinds = {
    connections: (all: ReadonlyArray<Server>, options: Options) =>
      toolset<unknown, never, never, McpError.ServersFailed>(all, options),
    manager: (all: ReadonlyArray<Server>, options: Options) =>
      Effect.map(managed<unknown, never, never, McpError.ServersFailed>(all, options), (_) => _.toolset)
  }

  for (const [kind, make] of Object.entries(kinds)) {
    it.scoped(`is told of, or is the error, by option: a rule for it holds for nobody (${kind})`, () =>
      Effect.gen(function*() {
        const all = yield* servers({ a: ["x"], b: ["x"] })
        const made = yield* make(all, misspelt)
        const { problems, tools } = yield* made.for().list
        assert.deepStrictEqual(tools.map((_) => _.name), ["a__x"])
        assert.deepStrictEqual(problems.map((_) => `${_.server} ${_.error.message}`), [
          `A MCP server "A": tools/list: no server of this name is configured; these are: "a", "b"; ${correct}`,
          `B MCP server "B": tools/list: no server of this name is configured; these are: "a", "b"; ${correct}`
        ])
        for (const { error } of problems) assert.strictEqual(error._tag, "UnknownServer")
        assert.strictEqual(
          (yield* made.for().list).problems[0]!.error,
          problems[0]!.error,
          "the same for the same names"
        )

        const only = yield* make(all, { only: ["A"], onServerError: "fail" })
        assert.deepInclude(errorsOf(yield* Effect.exit(only.for().list))[0], { _tag: "UnknownServer", server: "A" })
        const rule = yield* make(all, { servers: { A: { approval: ToolApproval.always } }, onServerError: "fail" })
        assert.deepInclude(errorsOf(yield* Effect.exit(rule.for().list))[0], { _tag: "UnknownServer", server: "A" })
        const both = failure(yield* Effect.exit((yield* make(all, { ...misspelt, onServerError: "fail" })).for().list))
        assert(both._tag === "ServersFailed", both._tag)
        assert.deepStrictEqual(both.errors.map((_) => `${_.server} ${_._tag}`), ["A UnknownServer", "B UnknownServer"])
      }))

    it.scoped(`is a warning, once for each name, whether tools are listed or only called (${kind})`, () =>
      Effect.gen(function*() {
        const all = yield* servers({ a: ["x"], b: ["x"] })
        for (const does of ["list", "call", "call by identity"]) {
          const lines: Array<Line> = []
          const made = yield* make(all, misspelt)
          const box = made.for()
          const once: Effect.Effect<void, unknown> = does === "list"
            ? Effect.asVoid(box.list)
            : Effect.asVoid(box.call(does === "call" ? "a__x" : { server: "a", tool: "x" }))
          yield* Effect.provide(Effect.zipRight(once, once), noting(lines))
          yield* Effect.provide(made.for().list, noting(lines))
          const warnings = lines.filter((_) => _.level === "WARN").map((_) => _.text)
          assert.strictEqual(warnings.length, 2, `${does}: ${warnings.join()}`)
          assert.include(
            warnings[0],
            `the options of the toolset "tools" name a server that there is not: MCP server "A"`
          )
          assert.include(warnings[1], `MCP server "B"`)
        }
      }))
  }

  it.scoped("may come, and go, by a reload; whoever follows is told", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* servers({ a: ["x"], b: ["x"] })) as [Server, Server]
      const { manager, toolset: made } = yield* managed([a], { only: ["a", "b"] }, { others: [b] })
      const seen = yield* following(made.for().changes, told)
      yield* begun(manager.reload([a.config, b.config]))
      yield* pass(1000, 250)
      yield* begun(manager.reload([b.config]))
      yield* pass(1000, 250)
      assert.strictEqual(seen[0], "a__x (b UnknownServer)")
      assert.include(seen, "a__x b__x")
      assert.strictEqual(seen.at(-1), "b__x (a UnknownServer)")
    }))
})

describe("a manager that is closed for good", () => {
  it.scoped("has no tools, which is told for each server, or is the error, and by whoever follows", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["y"], c: ["z"] })
      const { end, manager } = yield* overInScope(all)
      yield* manager.connectAll
      yield* settled
      const made = yield* Toolset.make(manager, { only: ["a", "c"] })
      const failing = yield* Toolset.make(manager, { only: ["a"], onServerError: "fail" })
      const seen = yield* following(made.for().changes, told)
      assert.strictEqual(yield* listed(made.for()), "a__x c__z")
      yield* end
      yield* settled
      assert.strictEqual(yield* listed(made.for()), "(a ConnectionUnavailable) (c ConnectionUnavailable)")
      const [problem] = (yield* made.for().list).problems
      assert.deepInclude(problem!.error, { reason: "Released", operation: "tools/list", server: "a", executed: "no" })
      assert.deepInclude(errorsOf(yield* Effect.exit(failing.for().list))[0], { reason: "Released", server: "a" })
      assert.strictEqual(seen.at(-1), "(a ConnectionUnavailable) (c ConnectionUnavailable)")
      assert.isAtMost(seen.length, 4)
    }))

  it.scoped("says so to a call, by name and by identity, through the failure policy as any other", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["y"] })
      const { end, manager } = yield* overInScope(all)
      yield* manager.connectAll
      yield* settled
      const never = yield* Toolset.make(manager)
      const approving = yield* Toolset.make(manager, { approval: ToolApproval.always })
      const propagating = yield* Toolset.make(manager, { failure: "propagate" })
      assert.strictEqual((yield* never.for().call("a__x"))._tag, "Success")
      const pending = yield* pendingOf(approving.for().call("a__x"))
      yield* end
      yield* settled
      for (const { call } of [never.for(), approving.for()]) {
        for (const asked of ["a__x", "nope", { server: "a", tool: "x" }, { server: "q", tool: "x" }]) {
          const { error, text } = yield* failed(call(asked))
          assert.deepInclude(error, {
            _tag: "ConnectionUnavailable",
            reason: "Released",
            operation: "tools/call",
            server: typeof asked === "string" ? "<toolset>" : asked.server,
            executed: "no"
          })
          assert.include(text, "Its server is not available. It has not run.")
        }
      }
      const late = failure(yield* Effect.exit(Effect.asVoid(propagating.for().call("a__x"))))
      assert.strictEqual(
        (late as McpError.McpError).message,
        "toolset: tools/call: there is no connection: the scope of the manager has closed; to do: use one that is open"
      )
      assert.deepInclude((yield* failed(approving.for().approve(pending))).error, { reason: "Released", server: "a" })
      const none = yield* Toolset.make(yield* Effect.scoped(over([])))
      assert.deepInclude((yield* failed(none.for().call("a__x"))).error, { reason: "Released" })
      assert.strictEqual(yield* listed(none.for()), "")
    }))

  it.scoped("connections that are closed for good say so as well", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["y"] })
      const scope = yield* Scope.make()
      const made = yield* Scope.extend(toolset(all), scope)
      assert.strictEqual(yield* listed(made.for()), "a__x b__y")
      yield* Scope.close(scope, Exit.void)
      assert.match(
        yield* listed(made.for()),
        /\(a ConnectionUnavailable\) \(b ConnectionUnavailable\)$/
      )
      for (const asked of ["a__x", { server: "a", tool: "x" }]) {
        assert.deepInclude((yield* failed(made.for().call(asked))).error, { reason: "Released", server: "a" })
      }
    }))
})

describe("a server that is away", () => {
  it.scoped("while it is restarted or after it was disconnected: whoever had the name of its tool is told why, and another one nothing", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* servers({ a: ["x"], b: ["x"] })) as [Server, Server]
      const { manager, toolset } = yield* managed([a, b])
      const box = toolset.for()
      yield* box.list
      yield* manager.disconnect("b")
      const gone = yield* failed(box.call("b__x"))
      assert(gone.error instanceof McpError.ConnectionUnavailable, gone.error._tag)
      assert.strictEqual(gone.error.reason, "Disabled")
      a.way = "hangs at start"
      const reloading = yield* begun(
        manager.reload([{ ...a.config, args: ["--other"] } as never, b.config])
      )
      assert.isFalse(yield* isDone(reloading))
      const { error, text } = yield* failed(box.call("a__x"))
      assert(error instanceof McpError.ConnectionUnavailable, error._tag)
      assert.deepStrictEqual([error.server, error.reason, error.executed], ["a", "Connecting", "no"])
      assert.include(text, "try")
      for (const asked of ["a__y", "c__x"]) {
        assert.strictEqual((yield* failed(box.call(asked))).error._tag, "ToolNotFound")
      }
      assert.strictEqual((yield* failed(toolset.for().call("a__x"))).error._tag, "ToolNotFound")
    }))

  it.scoped("also where the tools were listed again meanwhile, or are followed; not where it is gone for good", () =>
    Effect.gen(function*() {
      const [a, b, c] = (yield* servers({ a: ["x"], b: ["x"], c: ["x"] })) as [Server, Server, Server]
      const { manager, toolset } = yield* managed([a, b, c])
      const [listing, follower] = [toolset.for(), toolset.for()]
      yield* listing.list
      yield* following(follower.changes, told)
      yield* manager.disconnect("b")
      yield* manager.disconnect("c")
      yield* settled
      assert.strictEqual(yield* listed(listing), "a__x")
      assert.strictEqual(yield* listed(listing), "a__x")
      for (const { call } of [listing, follower]) {
        const { error } = yield* failed(call("b__x"))
        assert.deepInclude(error, { _tag: "ConnectionUnavailable", server: "b", reason: "Disabled", executed: "no" })
        assert.strictEqual((yield* failed(call("b__y"))).error._tag, "ToolNotFound")
      }
      yield* begun(manager.reload([a.config, b.config]))
      yield* pass(1000, 250)
      assert.strictEqual((yield* failed(listing.call("c__x"))).error._tag, "ToolNotFound")
      yield* begun(manager.connect("b"))
      yield* pass(1000, 250)
      assert.strictEqual((yield* listing.call("b__x"))._tag, "Success")
    }))
})
