/**
 * Many who list at once: each gets what is right for it, whoever else asks, and in whatever order servers answer. And how much
 * work that is, counted.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpProtocol } from "@mcp-runtime/core"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import type * as ToolRequest from "@mcp-runtime/core/ToolRequest"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Context, Deferred, Effect, Exit, FastCheck, Fiber } from "effect"
import { logged } from "./asking.js"
import {
  begun,
  connections,
  failure,
  interrupted,
  isDone,
  listed,
  managed,
  namesOf,
  pass,
  server,
  servers,
  settled,
  toolset
} from "./kit.js"

interface Agent {
  readonly level: number
}

type Request = ToolRequest.ToolRequest<Agent, { readonly user: string }>

class Rights extends Context.Tag("test/Rights")<Rights, {
  readonly may: (user: string, tool: string) => Effect.Effect<boolean, "unknown user">
}>() {}

const request = { agent: { level: 1 }, runContext: { user: "ada" } }

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

describe("filters", () => {
  it.scoped("that of a server and that of the toolset must both show a tool; what allows nothing shows nothing", () =>
    Effect.gen(function*() {
      const source = yield* connections(yield* servers({ a: ["x", "y", "z"], b: ["x", "y", "z"] }))
      const shown = (options: Toolset.ToolsetOptions<unknown, never, never>) =>
        Effect.flatMap(Toolset.make(source, options), (_) => listed(_.for()))
      assert.strictEqual(
        yield* shown({ filter: ToolFilter.allow("x", "y"), servers: { a: { filter: ToolFilter.block("x") } } }),
        "a__y b__x b__y"
      )
      // What the server's filter allows, that of the toolset may still exclude.
      assert.strictEqual(
        yield* shown({ filter: ToolFilter.none, servers: { a: { filter: ToolFilter.all } } }),
        ""
      )
      assert.strictEqual(yield* shown({ filter: ToolFilter.fromNames({ allow: [] }) }), "")
      assert.strictEqual(yield* shown({ servers: { b: { filter: ToolFilter.allow() } } }), "a__x a__y a__z")
      // It sees the names that servers gave, not those for agents.
      assert.strictEqual(yield* shown({ filter: ToolFilter.allow("a__x") }), "")
    }))

  it.scoped("dynamic: with services, and an agent and a run that the application has typed", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const made = yield* toolset(yield* servers({ a: ["x", "y"], b: ["x"] }), {
        filter: ToolFilter.dynamic(
          (tool, { agent, runContext, server }: ToolFilter.FilterContext<Agent, Request["runContext"]>) => {
            asked.push(`${server}/${tool.name}`)
            return agent.level > 1 || Effect.flatMap(Rights, (_) => _.may(runContext.user, tool.name))
          }
        )
      })
      const rights = Rights.of({
        may: (user, tool) => user === "ada" ? Effect.succeed(tool === "x") : Effect.fail("unknown user")
      })
      const list = (request: Request) => Effect.provideService(listed(made.for(request)), Rights, rights)
      assert.strictEqual(yield* list(request), "a__x b__x")
      assert.strictEqual(yield* list({ agent: { level: 2 }, runContext: { user: "eve" } }), "a__x a__y b__x")
      const { lines, value } = yield* logged(list({ agent: { level: 1 }, runContext: { user: "eve" } }))
      assert.strictEqual(value, "")
      assert.strictEqual(lines.length, 3)
      // Asked anew each time.
      asked.length = 0
      const box = made.for(request)
      for (let i = 0; i < 2; i++) yield* Effect.provideService(box.list, Rights, rights)
      assert.strictEqual(asked.length, 6)
    }))

  it.scoped("without a request that one needs, the listing is an error, whatever else is there", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: [] })
      const dynamic = ToolFilter.dynamic(() => true)
      for (const options of [{ filter: dynamic }, { servers: { b: { filter: dynamic } } }]) {
        const made = yield* toolset(all, options as Toolset.ToolsetOptions<ToolRequest.ToolRequest, never, never>)
        const none: ReadonlyArray<unknown> = [undefined, null, {}, { agent: 1 }, { agent: 1, runContext: null }]
        for (const one of none) {
          const error = failure(yield* Effect.exit(made.for(one as never).list))
          assert.strictEqual(error._tag, "RequestMissing")
        }
        assert.strictEqual(yield* listed(made.for({ agent: 0, runContext: "" })), "a__x")
      }
    }))

  it.scoped("one that fails, dies, throws, or answers anything else excludes that tool, and is logged", () =>
    Effect.gen(function*() {
      const answers: Readonly<Record<string, () => unknown>> = {
        yes: () => true,
        fails: () => Effect.fail("secret"),
        dies: () => Effect.die(new Error("secret")),
        throws: () => {
          throw new Error("secret")
        },
        truthy: () => 1,
        odd: () => Effect.succeed("true"),
        promise: () => Promise.resolve(true),
        later: () => Effect.zipRight(Effect.yieldNow(), Effect.succeed(true))
      }
      const made = yield* toolset([yield* server("a", Object.keys(answers))], {
        filter: ToolFilter.dynamic((tool) => answers[tool.name]!() as boolean)
      })
      const { lines, value } = yield* logged(listed(made.for(request)))
      assert.strictEqual(value, "a__yes a__later")
      assert.deepStrictEqual(lines.map((_) => _.tool).sort(), ["dies", "fails", "odd", "promise", "throws", "truthy"])
      assert.isFalse(lines.some((_) => _.text.includes("secret")))
    }))

  it.scoped("one that hangs excludes that tool when its time is over", () =>
    Effect.gen(function*() {
      const made = yield* toolset(yield* servers({ a: ["x", "slow"], b: ["x", "slow"] }), {
        filter: ToolFilter.dynamic((tool) => tool.name === "slow" ? Effect.never : true, { timeout: "2 seconds" })
      })
      const listing = yield* begun(logged(listed(made.for(request))))
      yield* pass(1900, 100)
      assert.isFalse(yield* isDone(listing))
      yield* pass(100)
      const { lines, value } = yield* Effect.flatten(Fiber.join(listing))
      assert.strictEqual(value, "a__x b__x")
      assert.strictEqual(lines.length, 2)
    }))

  it.scoped("interrupted, the listing is interrupted, and what the filter held is let go", () =>
    Effect.gen(function*() {
      let held = 0
      const made = yield* toolset([yield* server("a", ["x", "y"])], {
        filter: ToolFilter.dynamic(() =>
          Effect.acquireUseRelease(Effect.sync(() => held++), () => Effect.never, () => Effect.sync(() => held--))
        )
      })
      const listing = yield* begun(listed(made.for(request)))
      assert.strictEqual(held, 2)
      assert.isTrue(Exit.isInterrupted(yield* interrupted(listing)))
      assert.strictEqual(held, 0)
      const itself = yield* toolset([yield* server("b", ["x"])], { filter: ToolFilter.dynamic(() => Effect.interrupt) })
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(itself.for(request).list)))
    }))
})

describe("many at once", () => {
  it.scoped("a hundred agents with different rights over the same catalogue, each right", () =>
    Effect.gen(function*() {
      const tools = numbers(20).map((i) => `t${i}`)
      const all = yield* servers({ a: tools, b: tools })
      const { toolset: made } = yield* managed(all, {
        filter: ToolFilter.dynamic(
          (tool, { agent, runContext }: ToolFilter.FilterContext<Agent, Request["runContext"]>) => {
            const answer = Number(tool.name.slice(1)) % (agent.level + 1) === 0
            if (runContext.user === "sync") return answer
            return Effect.as(Effect.repeatN(Effect.yieldNow(), (agent.level * 7 + tool.name.length) % 5), answer)
          }
        )
      })
      const names = (level: number) =>
        ["a", "b"].flatMap((server) => tools.filter((_, i) => i % (level + 1) === 0).map((_) => `${server}__${_}`))
          .join(" ")
      const seen = yield* Effect.forEach(
        numbers(100),
        (level) =>
          Effect.map(
            made.for({ agent: { level }, runContext: { user: level % 3 === 0 ? "sync" : "async" } }).list,
            namesOf
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(seen, numbers(100).map(names))
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.listings), [1, 1])
    }))

  it.scoped("what changes during a listing is in it whole, or not at all", () =>
    Effect.gen(function*() {
      const one = yield* server("a", ["old1", "old2"])
      const open = yield* Deferred.make<void>()
      const made = yield* toolset([one], {
        filter: ToolFilter.dynamic(() => Effect.as(Deferred.await(open), true))
      })
      const early = yield* begun(listed(made.for(request)))
      const watching = yield* begun(listed(made.for(request)))
      yield* one.offers("new1", "new2")
      const late = yield* begun(listed(made.for(request)))
      yield* Deferred.succeed(open, undefined)
      yield* settled
      const results = yield* Effect.forEach([early, watching, late], (_) => Effect.flatten(Fiber.join(_)))
      assert.deepStrictEqual(results, ["a__old1 a__old2", "a__old1 a__old2", "a__new1 a__new2"])
    }))

  for (const naming of [ToolNaming.prefixed, ToolNaming.openAiAgents, ToolNaming.ohMyPi]) {
    it.scopedLive(`names depend neither on who asks nor on the order in which servers answer (${naming.mode})`, () =>
      Effect.gen(function*() {
        const world: Readonly<Record<string, ReadonlyArray<string>>> = {
          "web": ["search", "a__b", "検索", "x".repeat(80)],
          "web__a": ["b", "search"],
          "WEB": ["search"],
          "Ω": ["検索", "search"],
          "web_": ["_search"]
        }
        const servers_ = yield* servers(world)
        const listing = (order: ReadonlyArray<number>, source: Effect.Effect.Success<ReturnType<typeof connections>>) =>
          Effect.gen(function*() {
            const gates = yield* Effect.forEach(servers_, () => Deferred.make<void>())
            servers_.forEach((one, i) => void (one.listing = Deferred.await(gates[i]!)))
            const made = yield* Toolset.make(source, {
              naming,
              filter: ToolFilter.dynamic((tool, { agent }) => agent === "all" || tool.name !== "search")
            })
            const asking = yield* begun(
              Effect.all([
                made.for({ agent: "all", runContext: 1 }).list,
                made.for({ agent: "some", runContext: 1 }).list
              ], { concurrency: "unbounded" })
            )
            yield* Effect.forEach(order, (i) => Effect.zipRight(Deferred.succeed(gates[i]!, undefined), settled))
            const [all, some] = yield* Effect.flatten(Fiber.join(asking))
            const nameOf = new Map(all.tools.map((_) => [_.id, _.name]))
            assert.strictEqual(nameOf.size, 10)
            assert.strictEqual(new Set(nameOf.values()).size, 10)
            assert.isTrue(some.tools.every((_) => nameOf.get(_.id) === _.name))
            assert.isTrue(some.tools.every((_) => all.tools.includes(_)))
            return namesOf(all)
          })
        const fresh = (order: ReadonlyArray<number>) =>
          Effect.scoped(Effect.flatMap(connections(servers_), (_) => listing(order, _)))
        const expected = yield* fresh([0, 1, 2, 3, 4])
        yield* Effect.promise(() =>
          FastCheck.assert(
            FastCheck.asyncProperty(
              FastCheck.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }),
              (order) => Effect.runPromise(Effect.map(fresh(order), (names) => assert.strictEqual(names, expected)))
            ),
            { numRuns: 8 }
          )
        )
      }))
  }
})

describe("10,000 tools of 50 servers", () => {
  const schema = {
    type: "object",
    properties: { text: { type: "string" }, limit: { type: "integer" } },
    required: ["text"]
  } as unknown as McpProtocol.Tool["inputSchema"]

  const tools = numbers(200).map((i) => ({ name: `tool${i}`, description: `Tool ${i}`, inputSchema: schema }))

  it.scopedLive("nothing is worked out twice while nothing changes", () =>
    Effect.gen(function*() {
      const all = yield* Effect.forEach(numbers(50), (i) => server(`server${i}`, tools))
      const source = yield* connections(all)
      yield* Effect.forEach(source, (_) => _.catalog.tools.get, { concurrency: "unbounded", discard: true })
      for (const schemas of ["verbatim", "strict"] as const) {
        let named = 0
        const made = yield* Toolset.make(source, {
          schemas,
          naming: {
            mode: "counted",
            names: (tools, reserved) => {
              named += tools.length
              return ToolNaming.prefixed.names(tools, reserved)
            }
          }
        })
        const box = made.for()
        const first = yield* box.list
        assert.strictEqual(first.tools.length, 10_000)
        assert.strictEqual(new Set(first.tools.map((_) => _.id)).size, 10_000)
        assert.isTrue(first.tools.every((_) => _.strict === (schemas === "strict")))
        const again = yield* box.list
        assert.isTrue(again.tools === first.tools)
        yield* Effect.forEach(numbers(100), () => box.list, { discard: true })
        assert.isTrue((yield* made.for({ agent: 1, runContext: 2 }).list).tools === first.tools)
        assert.strictEqual(named, 10_000)
        yield* box.call("server49__tool199", { text: "x", limit: 1 })
        yield* Effect.forEach(numbers(100), (i) => box.call(`server${i % 50}__tool${i}`, { text: "x", limit: 1 }), {
          discard: true
        })
        assert.strictEqual(named, 10_000)
      }
      assert.deepStrictEqual([...new Set(yield* Effect.forEach(all, (_) => _.listings))], [1])
    }))
})
