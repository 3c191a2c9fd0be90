/**
 * What changes between a decision and what it was about: a tool while a filter, a policy or a person thinks, the meaning of a name,
 * and the value of an approval.
 */
import { assert, describe, it } from "@effect/vitest"
import { ToolApproval, ToolFilter, ToolNaming } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Deferred, Effect, Either, Exit, Fiber } from "effect"
import * as Pending from "../../src/internal/toolset/pending.js"
import { end, ending, failed, pendingOf, problemsOf, sentArguments, succeeded } from "./calling.js"
import * as Kit from "./kit.js"

const who = { agent: { name: "a" }, runContext: { user: "u" } }

const x = (description: string, readOnlyHint: boolean): Kit.Given => ({
  name: "x",
  description,
  annotations: { readOnlyHint, destructiveHint: !readOnlyHint }
})

/** Answers what is right for the tool that it is asked about, when it is let go; and how often it was asked. */
const thinker = Effect.map(
  Effect.all([Deferred.make<void>(), Deferred.make<void>(), Deferred.make<void>()]),
  (gates) => {
    const self = {
      asked: 0,
      about: (isReadOnly: boolean | undefined, answer: (isReadOnly: boolean) => boolean) =>
        Effect.suspend(() => Effect.as(Deferred.await(gates[self.asked++]!), answer(isReadOnly === true))),
      /** The nth question is answered. */
      letGo: (n: number) => Effect.zipRight(Deferred.succeed(gates[n]!, undefined), Kit.settled)
    }
    return self
  }
)

/** A tool that is decided about, by whom, and what that is when the tool is not what it was. */
const deciders = {
  filter: (thinks: Effect.Effect.Success<typeof thinker>) => ({
    filter: ToolFilter.dynamic((tool) => thinks.about(tool.annotations?.readOnlyHint, (_) => _))
  }),
  policy: (thinks: Effect.Effect.Success<typeof thinker>) => ({
    approval: Either.getOrThrow(ToolApproval.make((call) => thinks.about(call.annotations?.readOnlyHint, (_) => !_)))
  })
}

const refused = { filter: "Failure ToolNotFound", policy: "error ApprovalRequired" }

const over = {
  "connections": (a: Kit.Server) => Kit.connections([a]),
  "a manager": (a: Kit.Server) => Effect.map(Kit.managed([a]), (_) => _.manager)
}

for (const [kind, sourceOf] of Object.entries(over)) {
  for (const by of ["filter", "policy"] as const) {
    describe(`a decision by a ${by} over ${kind}`, () => {
      const made = Effect.gen(function*() {
        const a = yield* Kit.server("a", [x("reads", true)])
        const source = yield* sourceOf(a)
        const thinks = yield* thinker
        const { call } = (yield* Toolset.make(source, deciders[by](thinks))).for(who)
        const { list } = (yield* Toolset.make(source)).for()
        yield* list
        return {
          a,
          call,
          thinks,
          /** Who else reads the list has read it: it is not out of date. */
          becomes: (description: string, readOnly: boolean) =>
            Effect.zipRight(a.offers(x(description, readOnly)), Effect.asVoid(list))
        }
      })

      it.scoped("is made anew where the tool was changed meanwhile, and its list is fresh again", () =>
        Effect.gen(function*() {
          const { a, becomes, call, thinks } = yield* made
          const calling = yield* Kit.begun(call("a__x"))
          assert.strictEqual(thinks.asked, 1)
          yield* becomes("deletes", false)
          yield* thinks.letGo(0)
          assert.strictEqual(thinks.asked, 2)
          yield* thinks.letGo(1)
          assert.strictEqual(end(yield* Fiber.join(calling)), refused[by])
          assert.deepStrictEqual(yield* a.calls, [])
        }))

      it.scoped("that is the same about the changed tool lets it be called", () =>
        Effect.gen(function*() {
          const { a, becomes, call, thinks } = yield* made
          const calling = yield* Kit.begun(call("a__x"))
          yield* becomes("reads more", true)
          yield* thinks.letGo(0)
          yield* thinks.letGo(1)
          const { tool } = yield* succeeded(Effect.flatten(Fiber.join(calling)))
          assert.strictEqual(tool.description, "reads more")
          assert.deepStrictEqual([thinks.asked, yield* a.calls], [2, ["x"]])
        }))

      it.scoped("is made twice at most: a tool that is changed each time is not called", () =>
        Effect.gen(function*() {
          const { a, becomes, call, thinks } = yield* made
          const calling = yield* Kit.begun(call("a__x"))
          yield* becomes("reads more", true)
          yield* thinks.letGo(0)
          yield* becomes("reads even more", true)
          yield* thinks.letGo(1)
          assert.strictEqual(end(yield* Fiber.join(calling)), refused[by])
          assert.deepStrictEqual([thinks.asked, yield* a.calls], [2, []])
        }))

      it.scoped("about what has not changed is made once, and costs no listing", () =>
        Effect.gen(function*() {
          const { a, call, thinks } = yield* made
          const before = yield* a.listings
          const calling = yield* Kit.begun(call("a__x"))
          yield* thinks.letGo(0)
          assert.strictEqual(end(yield* Fiber.join(calling)), "a x")
          assert.deepStrictEqual([thinks.asked, yield* a.listings], [1, before])
        }))
    })
  }
}

for (const by of ["filter", "policy"] as const) {
  it.scoped(`a decision by a ${by} about a server that is replaced meanwhile is made anew`, () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [x("reads", true)])
      const thinks = yield* thinker
      const { manager, toolset } = yield* Kit.managed([a], deciders[by](thinks))
      const calling = yield* Kit.begun(toolset.for(who).call("a__x"))
      a.tools = [x("deletes", false)]
      yield* manager.reload([{ ...a.config, args: ["--root", "/production"] } as never])
      yield* Kit.settled
      yield* thinks.letGo(0)
      yield* thinks.letGo(1)
      assert.strictEqual(end(yield* Fiber.join(calling)), refused[by])
      assert.deepStrictEqual([thinks.asked, yield* a.calls], [2, []])
    }))
}

describe("a name", () => {
  /** Two servers whose tools want one name; the one that has it goes. */
  const moved = (naming: ToolNaming.ToolNaming) =>
    Effect.gen(function*() {
      const [a, b] = [yield* Kit.server("foo-bar", ["delete"]), yield* Kit.server("foo_bar", ["delete"])]
      const { manager, toolset } = yield* Kit.managed([a, b], { naming })
      const box = toolset.for()
      const { tools } = yield* box.list
      const go = Effect.zipRight(manager.disconnect("foo-bar"), Kit.settled)
      return { a, b, manager, toolset, box, name: tools.find((_) => _.server === "foo-bar")!.name, go }
    })

  it.scoped("that was given out and is that of another server's tool by now goes nowhere, and the model is told why", () =>
    Effect.gen(function*() {
      const { b, box, go, name } = yield* moved(ToolNaming.ohMyPi)
      yield* go
      const { error, text, tool } = yield* failed(box.call(name))
      assert.deepStrictEqual([error._tag, error.executed, tool], ["ToolNotFound", "no", undefined])
      assert.match(text, /The list of tools has changed/)
      assert.match(text, /It has not run/)
      assert.deepStrictEqual(yield* b.calls, [])
      // Whoever has seen the new list means what it says.
      assert.deepStrictEqual((yield* box.list).tools.map((_) => [_.name, _.server]), [[name, "foo_bar"]])
      assert.strictEqual(yield* ending(box.call(name)), "foo_bar delete")
    }))

  it.scoped("goes where it goes for whoever was given no list, and a tool always by what tells it", () =>
    Effect.gen(function*() {
      const { box, go, name, toolset } = yield* moved(ToolNaming.ohMyPi)
      yield* go
      assert.strictEqual(yield* ending(toolset.for().call(name)), "foo_bar delete")
      assert.strictEqual(yield* ending(box.call({ server: "foo_bar", tool: "delete" })), "foo_bar delete")
    }))

  it.scoped("is remembered as it was given out, also where nothing could be listed meanwhile", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* Kit.server("a", ["delete"]), yield* Kit.server("b", ["delete"])]
      b.way = "refused"
      const { manager, toolset } = yield* Kit.managed([a, b], { naming: ToolNaming.raw })
      const box = toolset.for()
      assert.strictEqual(Kit.namesOf(yield* box.list), "delete")
      b.way = "works"
      yield* manager.reconnect()
      yield* Kit.settled
      assert.strictEqual(yield* ending(box.call("delete")), "error NamesClash")
      assert.strictEqual(Kit.tagOf(yield* Effect.exit(box.list)), "NamesClash")
      yield* manager.disconnect("a")
      yield* Kit.settled
      assert.strictEqual(yield* ending(box.call("delete")), "Failure ToolNotFound")
      assert.deepStrictEqual(yield* b.calls, [])
    }))

  it.scoped("is remembered where a filter leaves one of those that clash", () =>
    Effect.gen(function*() {
      const all = yield* Kit.servers({ a: ["delete"], b: ["delete"] })
      let shown = "a"
      const filter = ToolFilter.dynamic((_, { server }) => server === shown)
      const { call, list } = (yield* Kit.toolset(all, { naming: ToolNaming.raw, filter })).for(who)
      yield* list
      assert.strictEqual(yield* ending(call("delete")), "a delete")
      shown = "b"
      assert.strictEqual(yield* ending(call("delete")), "Failure ToolNotFound")
      yield* list
      assert.strictEqual(yield* ending(call("delete")), "b delete")
    }))

  it.scoped("that is another tool's of the same server by now goes nowhere", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("foo", ["read data", "read_data"])
      const { call, list } = (yield* Kit.toolset([a], { naming: ToolNaming.ohMyPi })).for()
      const { tools: [first] } = yield* list
      yield* a.offers("read_data")
      assert.strictEqual(yield* ending(call(first!.name)), "Failure ToolNotFound")
      yield* list
      assert.strictEqual(yield* ending(call(first!.name)), "foo read_data")
    }))

  it.scoped("of what has not moved, or is new, is called as ever", () =>
    Effect.gen(function*() {
      const [a, b] = (yield* Kit.servers({ a: ["x"], b: ["y"] })) as [Kit.Server, Kit.Server]
      const { toolset } = yield* Kit.managed([a, b], { servers: { b: { filter: ToolFilter.block("z") } } })
      const { call, list } = toolset.for()
      yield* list
      yield* a.offers(x("reads", true), "w")
      for (const [name, said] of [["a__x", "a x"], ["a__w", "a w"], ["b__y", "b y"]] as const) {
        assert.strictEqual(yield* ending(call(name)), said)
      }
    }))
})

describe("an approval", () => {
  const always = { approval: ToolApproval.always }

  const refusal = <A>(exit: Exit.Exit<A, Toolset.ApproveError>): string => {
    assert(Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error._tag === "ConfigInvalid", "refused")
    return problemsOf(exit.cause.error)
  }

  const changes: Readonly<Record<string, Kit.Given>> = {
    "its description": x("deletes", true),
    "its annotations": x("reads", false),
    "its input schema": { ...x("reads", true) as object, name: "x", inputSchema: { type: "object", required: [] } },
    "its output schema": { ...x("reads", true) as object, name: "x", outputSchema: { type: "object" } }
  }
  for (const [what, changed] of Object.entries(changes)) {
    it.scoped(`is for the tool as it was: where ${what} is another, it is refused, and nothing is sent`, () =>
      Effect.gen(function*() {
        const a = yield* Kit.server("a", [x("reads", true)])
        const { approve, call } = (yield* Kit.toolset([a], always)).for()
        const [first, second] = [yield* pendingOf(call("a__x")), yield* pendingOf(call("a__x"))]
        yield* a.offers(changed)
        assert.strictEqual(
          refusal(yield* Effect.exit(approve(first))),
          "pending: the tool has changed since approval was asked; the call must be made anew"
        )
        assert.deepStrictEqual(yield* a.calls, [])
        yield* a.offers(x("reads", true))
        assert.strictEqual(yield* ending(approve(second)), "a x")
      }))
  }

  it.scoped("holds in another process, and where the tool comes from a list that was read anew", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", [x("reads", true)])
      const asked = yield* pendingOf((yield* Kit.toolset([a], always)).for().call("a__x"))
      const stored = JSON.stringify(ToolApproval.encode(asked))
      a.tools = [{ annotations: { destructiveHint: false, readOnlyHint: true }, description: "reads", name: "x" }]
      const again = Either.getOrThrow(ToolApproval.decode(JSON.parse(stored)))
      assert.strictEqual(yield* ending((yield* Kit.toolset([a], always)).for().approve(again)), "a x")
    }))

  it.scoped("that does not say what the tool was can be read and rejected, and not approved", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["x"])
      const { approve, reject } = (yield* Kit.toolset([a], always)).for()
      const call = { toolset: "tools", server: "a", tool: "x", name: "a__x", arguments: {} }
      const [first, second] = yield* Effect.all([Pending.make(call), Pending.make(call)])
      const again = Either.getOrThrow(ToolApproval.decode(ToolApproval.encode(first)))
      assert.strictEqual(
        refusal(yield* Effect.exit(approve(again))),
        "pending: does not say what the tool was; the call must be made anew"
      )
      assert.strictEqual(yield* ending(reject(second, "no")), "Rejected no")
      assert.deepStrictEqual(yield* a.calls, [])
    }))

  it.scoped("runs what was checked, whatever the application's own object is by then", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["rm"])
      const { approve, call } = (yield* Kit.toolset([a], always)).for()
      const asked = yield* pendingOf(call("a__rm", { path: "/tmp/x" }))
      const args: Record<string, unknown> = { path: "/etc" }
      const forged = Object.assign(Object.create(asked) as ToolApproval.PendingApproval, { arguments: args })
      const approving = approve(forged)
      args.path = "/tmp/x"
      assert.strictEqual(yield* ending(approving), "a rm")
      // Each look sees something else.
      for (let at = 1; at <= 8; at++) {
        const pending = yield* pendingOf(call("a__rm", { path: "/tmp/y" }))
        let looks = 0
        const turning = Object.assign(Object.create(pending) as ToolApproval.PendingApproval, {
          arguments: Object.defineProperty({}, "path", {
            enumerable: true,
            get: () => ++looks === at ? "/etc" : "/tmp/y"
          })
        })
        yield* Effect.exit(approve(turning))
      }
      const paths = new Set((yield* sentArguments(a)).map((_) => (_ as { readonly path: string }).path))
      assert.deepStrictEqual([...paths].sort(), ["/tmp/x", "/tmp/y"])
    }))

  it.scoped("is decoded as a frozen copy", () =>
    Effect.gen(function*() {
      const a = yield* Kit.server("a", ["rm"])
      const { call } = (yield* Kit.toolset([a], always)).for()
      const json = { ...ToolApproval.encode(yield* pendingOf(call("a__rm", { path: { of: "/tmp/x" } }))) }
      const given = { path: { of: "/tmp/x" } }
      const decoded = Either.getOrThrow(ToolApproval.decode({ ...json, arguments: given }))
      given.path.of = "/etc"
      assert.deepStrictEqual(decoded.arguments, { path: { of: "/tmp/x" } })
      assert.isTrue(Object.isFrozen(decoded.arguments) && Object.isFrozen(decoded.arguments.path))
    }))
})
