/**
 * What changes between a decision and what it was about: a tool while a filter, a policy or a person thinks, the meaning of a name,
 * and the value of an approval.
 */
import { assert, describe, it } from "@effect/vitest"
import { ToolApproval, ToolFilter, ToolNaming } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Deferred, Effect, Either, Fiber } from "effect"
import { end, ending, failed, succeeded } from "./calling.js"
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
