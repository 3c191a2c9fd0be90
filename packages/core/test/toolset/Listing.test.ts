/**
 * What an agent gets when it lists: the right tools, in order, under the right names, shared for as long as nothing changes,
 * and one broken server costs only its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { type McpConnection, McpError, type McpProtocol } from "@mcp-runtime/core"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as ToolNaming from "@mcp-runtime/core/ToolNaming"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { unauthorized } from "../manager/kit.js"
import { storeOf } from "../manager/stores.js"
import { interruptedAtEveryStep } from "../moments.js"
import {
  begun,
  connections,
  failure,
  following,
  isDone,
  listed,
  managed,
  namesOf,
  pass,
  type Server,
  server,
  servers,
  settled,
  tagOf,
  told,
  toolsChanged,
  toolset
} from "./kit.js"

const convertible = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"]
}

/** No strict schema accepts only this. */
const inconvertible = { type: "object", additionalProperties: { type: "string" }, required: ["any"] }

/** Tools with schemas that are small, and make much work: in each, twenty objects all of which refer to all. */
const entangled = (count: number) => {
  const numbers = Array.from({ length: 20 }, (_, i) => i)
  const properties = Object.fromEntries(numbers.map((i) => [`p${i}`, { $ref: `#/$defs/d${i}` }]))
  const $defs = Object.fromEntries(numbers.map((i) => [`d${i}`, { type: "object", properties }]))
  return Array.from({ length: count }, (_, i) => ({
    name: `t${i}`,
    inputSchema: { type: "object", $defs, properties: { a: { $ref: "#/$defs/d0" } } } as const
  }))
}

const refusal = Effect.fail(new RpcError({ code: -32603, message: "scripted" }))

const assertFrozen = (value: unknown, path = "it"): void => {
  if (typeof value !== "object" || value === null || value instanceof Error) return
  assert.isTrue(Object.isFrozen(value), `${path} is not frozen`)
  for (const [key, part] of Object.entries(value)) assertFrozen(part, `${path}.${key}`)
}

describe("a list", () => {
  it.scoped("has servers in configured order and tools in theirs, with all that is told of them", () =>
    Effect.gen(function*() {
      const all = yield* servers({
        zoo: ["z", { name: "a", title: "A title", annotations: { readOnlyHint: true } }],
        arc: [{ name: "m", description: "Says m", outputSchema: { type: "object" } }],
        none: []
      })
      for (const { toolset: made } of [{ toolset: yield* toolset(all) }, yield* managed(all)]) {
        const { problems, tools } = yield* made.for().list
        assert.deepStrictEqual(problems, [])
        assert.deepStrictEqual(tools.map((_) => [_.id, _.name, _.server, _.tool, _.title, _.description]), [
          ["zoo/z", "zoo__z", "zoo", "z", undefined, ""],
          ["zoo/a", "zoo__a", "zoo", "a", "A title", "A title"],
          ["arc/m", "arc__m", "arc", "m", undefined, "Says m"]
        ])
        const [z, a, m] = tools as [Toolset.AgentTool, Toolset.AgentTool, Toolset.AgentTool]
        assert.deepStrictEqual(a.annotations, { readOnlyHint: true })
        assert.isTrue(tools.every((_) => !_.deferred && !_.strict && _.inputSchema === _.definition.inputSchema))
        assert.isUndefined(m.outputSchema)
        assert.deepStrictEqual(m.definition.outputSchema, { type: "object" })
        assert.isUndefined(z.annotations)
        assertFrozen({ ...yield* made.for().list }.tools)
        assert.isTrue(Object.isFrozen(yield* made.for().list))
      }
    }))

  it.scoped("shares list and tools for as long as nothing changes, whoever asks", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x", "y"], b: ["x"] })
      const source = yield* connections(all)
      const plain = yield* Toolset.make(source)
      const first = yield* plain.for().list
      for (let i = 0; i < 20; i++) {
        assert.isTrue((yield* plain.for({ agent: i, runContext: i }).list).tools === first.tools)
      }
      const filtered = yield* Toolset.make(source, {
        filter: ToolFilter.dynamic((tool, { agent }) => agent === "all" || tool.name === "x")
      })
      const everything = yield* filtered.for({ agent: "all", runContext: 0 }).list
      const some = yield* filtered.for({ agent: "some", runContext: 0 }).list
      assert.strictEqual(namesOf(some), "a__x b__x")
      assert.isTrue((yield* filtered.for({ agent: "all", runContext: 1 }).list).tools === everything.tools)
      assert.isTrue(some.tools.every((tool) => everything.tools.includes(tool)))
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.listings), [1, 1])
      // A change of one server leaves the tools of the other as they are.
      yield* all[0]!.offers("x", "z")
      const after = yield* plain.for().list
      assert.strictEqual(namesOf(after), "a__x a__z b__x")
      assert.isTrue(after.tools[2] === first.tools[2])
      assert.isTrue(after.tools !== first.tools)
    }))

  it.scoped("schemas are the server's own, or strict, or nullable; what can't be converted is the same object", () =>
    Effect.gen(function*() {
      const one = yield* server("a", [
        { name: "good", inputSchema: convertible as McpProtocol.Tool["inputSchema"], outputSchema: { type: "object" } },
        { name: "odd", inputSchema: inconvertible as McpProtocol.Tool["inputSchema"] }
      ])
      const source = yield* connections([one])
      const read = (options: Toolset.ToolsetOptions<unknown, never, never>) =>
        Effect.flatMap(
          Toolset.make(source, options),
          (_) => Effect.map(_.for().list, (_) => _.tools as unknown as [Toolset.AgentTool, Toolset.AgentTool])
        )
      const before = JSON.stringify(yield* read({}))
      for (const schemas of ["strict", "nullable"] as const) {
        const [good, odd] = yield* read({ schemas, includeReturnSchema: true })
        assert.isTrue(good.strict)
        assert.deepStrictEqual(good.inputSchema.required, ["city", "days"])
        assert.strictEqual(good.inputSchema.additionalProperties, false)
        const { days } = good.inputSchema.properties as { readonly days: McpProtocol.JsonObject }
        assert.deepStrictEqual(days.type, schemas === "strict" ? "integer" : ["integer", "null"])
        assert.deepStrictEqual(good.definition.inputSchema, convertible)
        assert.isTrue(good.outputSchema === good.definition.outputSchema && good.outputSchema !== undefined)
        assert.isFalse(odd.strict)
        assert.isTrue(odd.inputSchema === odd.definition.inputSchema)
        assert.isUndefined(odd.outputSchema)
        assertFrozen(Object.freeze([good, odd]))
      }
      assert.strictEqual(JSON.stringify(yield* read({})), before)
    }))

  it.scoped("`only` names the servers; nobody else is asked or told of", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"], c: ["x"] })
      all[1]!.way = "forbidden"
      for (
        const { toolset: made } of [
          { toolset: yield* toolset(all, { only: ["c", "a"], servers: { b: { onToolError: "fail" } } }) },
          yield* managed(all, { only: ["c", "a"] })
        ]
      ) {
        assert.strictEqual(yield* listed(made.for()), "a__x c__x")
      }
      const { toolset: nobody } = yield* managed(all, { only: [] })
      assert.strictEqual(yield* listed(nobody.for()), "")
      const { toolset: failing } = yield* managed(all, { only: ["b", "a"] })
      assert.strictEqual(yield* listed(failing.for()), "a__x (b Forbidden)")
    }))

  for (const kind of ["connections", "manager"] as const) {
    it.scoped(`\`only\`: a server that is not in it is not asked, nor waited for (${kind})`, () =>
      Effect.gen(function*() {
        const [a, b] = (yield* servers({ a: ["x"], b: ["y"] })) as [Server, Server]
        const options = { only: ["a"] }
        const made = kind === "connections"
          ? yield* toolset([a, b], options)
          : (yield* managed([a, b], options)).toolset
        yield* listed(made.for())
        const before = yield* b.listings
        b.way = "hangs in tools/list"
        yield* a.server.notify(toolsChanged)
        if (kind === "manager") yield* b.server.notify(toolsChanged)
        yield* settled
        assert.strictEqual(yield* listed(made.for()), "a__x")
        assert.strictEqual(yield* b.listings, before)
      }))
  }

  it.scoped("schemas that are dear to convert stop nobody else while a list of them is converted", () =>
    Effect.gen(function*() {
      const source = yield* connections([yield* server("a", entangled(100))])
      yield* (yield* Toolset.make(source)).for().list
      const made = yield* Toolset.make(source, { schemas: "nullable" })
      let turns = 0
      const other = yield* Effect.fork(Effect.forever(Effect.suspend(() => {
        turns++
        return Effect.yieldNow()
      })))
      const { tools } = yield* made.for().list
      yield* Fiber.interrupt(other)
      assert.isTrue(tools.every((_) => _.strict), "they are converted")
      assert.isAtLeast(turns, 20)
    }))

  it.scoped("has the tools of earlier runs, which say so, until their server is there", () =>
    Effect.gen(function*() {
      const slow = yield* server("slow", ["x", "y"], { delay: 5000 })
      const store = storeOf({ slow: ["x", "y"] })
      const { manager, toolset: made } = yield* Effect.gen(function*() {
        const starting = yield* begun(
          managed([slow], { schemas: "strict" }, { store: store.layer, startup: { gate: "1 second" } })
        )
        yield* pass(1000, 250)
        return yield* Effect.flatMap(Fiber.join(starting), (_) => _)
      })
      const before = yield* made.for().list
      assert.deepStrictEqual(before.tools.map((_) => [_.name, _.deferred]), [["slow__x", true], ["slow__y", true]])
      yield* pass(6000, 500)
      assert.deepStrictEqual(yield* manager.connected, ["slow"])
      const after = yield* made.for().list
      assert.deepStrictEqual(after.tools.map((_) => [_.name, _.deferred]), [["slow__x", false], ["slow__y", false]])
      assert.deepStrictEqual(after.tools.map((_) => _.id), before.tools.map((_) => _.id))
    }))

  it.scoped("is read from all servers at once", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"], c: ["x"] })
      const open = yield* Deferred.make<void>()
      for (const one of all) one.listing = Deferred.await(open)
      const made = yield* toolset(all)
      const listing = yield* begun(made.for().list)
      yield* settled
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.listings), [1, 1, 1])
      assert.isFalse(yield* isDone(listing))
      yield* Deferred.succeed(open, undefined)
      assert.strictEqual(namesOf(yield* Effect.flatten(Fiber.join(listing))), "a__x b__x c__x")
    }))
})

describe("a broken server", () => {
  it.scoped("costs its own tools, and is told of, or is the error, by option", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"], c: ["x"] })
      all[1]!.listing = refusal
      const source = yield* connections(all)
      const reporting = yield* Toolset.make(source)
      assert.strictEqual(yield* listed(reporting.for()), "a__x c__x (b RemoteError)")
      assertFrozen((yield* reporting.for().list).problems)
      const failing = yield* Toolset.make(source, { onServerError: "fail" })
      const one = failure(yield* Effect.exit(failing.for().list))
      assert(one._tag === "ServersFailed")
      assert.deepStrictEqual(one.errors.map((_) => `${_.server} ${_._tag}`), ["b RemoteError"])
      assert.deepStrictEqual([one.server, one.operation, one.executed], ["b", "tools/list", "no"])
      assert.strictEqual(one.message, one.errors[0].message)
      all[0]!.listing = refusal
      yield* source[0]!.catalog.invalidate
      // Its last good tools are still there.
      assert.strictEqual(yield* listed(reporting.for()), "a__x c__x (a RemoteError) (b RemoteError)")
      const both = yield* servers({ d: [], e: [] })
      for (const one of both) one.listing = refusal
      const none = yield* Toolset.make(yield* connections(both), { onServerError: "fail" })
      const error = failure(yield* Effect.exit(none.for().list))
      assert(error._tag === "ServersFailed")
      assert.deepStrictEqual(error.errors.map((_) => _.server), ["d", "e"])
    }))

  for (const dropFailed of [true, false]) {
    it.scoped(`that its manager could not connect is told of as well (dropFailed: ${dropFailed})`, () =>
      Effect.gen(function*() {
        const all = yield* servers({ a: ["x"], b: ["x"], c: ["x"] })
        all[1]!.way = "forbidden"
        const { manager, toolset: made } = yield* managed(all, {}, { dropFailed })
        assert.strictEqual(yield* listed(made.for()), "a__x c__x (b Forbidden)")
        const failing = yield* Toolset.make(manager, { onServerError: "fail" })
        const error = failure(yield* Effect.exit(failing.for().list))
        assert(error._tag === "ServersFailed")
        assert.deepStrictEqual(error.errors.map((_) => `${_.server} ${_._tag}`), ["b Forbidden"])
        all[1]!.way = "works"
        yield* manager.reconnect()
        assert.strictEqual(yield* listed(made.for()), "a__x b__x c__x")
        yield* manager.disconnect("c")
        assert.strictEqual(yield* listed(made.for()), dropFailed ? "a__x b__x" : "a__x b__x c__x")
      }))
  }

  it.scoped("of a list of connections is tried again by a later listing", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"] })
      all[1]!.way = "unauthorized"
      const made = yield* toolset(all)
      assert.strictEqual(yield* listed(made.for()), `a__x (b ${unauthorized("b")._tag})`)
      all[1]!.way = "works"
      assert.strictEqual(yield* listed(made.for()), "a__x b__x")
      all[1]!.way = "refused"
      const other = yield* toolset(all)
      const first = yield* begun(listed(other.for()))
      yield* pass(30_000, 250)
      assert.match(yield* Effect.flatten(Fiber.join(first)), /^a__x \(b /)
      all[1]!.way = "works"
      yield* pass(120_000, 10_000)
      assert.strictEqual(yield* listed(other.for()), "a__x b__x")
    }))
})

describe("changes", () => {
  for (const kind of ["connections", "a manager"] as const) {
    const over = (all: Parameters<typeof toolset>[0]) =>
      kind === "connections" ? toolset(all) : Effect.map(managed(all), (_) => _.toolset)

    it.scoped(`the list, then each change, once (${kind})`, () =>
      Effect.gen(function*() {
        const all = yield* servers({ a: ["x"], b: ["x"] })
        const made = yield* over(all)
        const seen = yield* following(made.for().changes, told)
        yield* pass(1000, 250)
        assert.deepStrictEqual(seen, ["a__x b__x"])
        yield* all[0]!.offers("x", "y")
        assert.deepStrictEqual(seen, ["a__x b__x", "a__x a__y b__x"])
        // The same again is no change.
        yield* all[0]!.offers("x", "y")
        assert.strictEqual(seen.length, 2)
      }))

    it.scoped(`a server whose list can't be read again is asked no more than it should be (${kind})`, () =>
      Effect.gen(function*() {
        const all = yield* servers({ a: ["x"], b: ["x"] })
        const made = yield* over(all)
        const seen = yield* following(made.for().changes, told)
        all[1]!.listing = refusal
        yield* all[1]!.offers("z")
        yield* pass(60_000, 5000)
        assert.deepStrictEqual(seen, ["a__x b__x", "a__x b__x (b RemoteError)"])
        assert.isAtMost(yield* all[1]!.listings, 4)
        all[1]!.listing = Effect.void
        yield* all[1]!.offers("z")
        assert.deepStrictEqual(seen.slice(2), ["a__x b__z"])
      }))
  }

  it.scoped("nothing is read over and over where nothing is kept", () =>
    Effect.gen(function*() {
      const one = yield* server("a")
      const source = yield* connections([one], { catalog: { cache: "off" } })
      const seen = yield* following((yield* Toolset.make(source)).for().changes, told)
      yield* pass(10_000, 1000)
      assert.deepStrictEqual(seen, ["a__a"])
      assert.isAtMost(yield* one.listings, 4)
    }))

  for (const way of ["is another one each time", "can be read every second time"] as const) {
    it.scoped(`nor where nothing is kept and a list ${way}, whoever else follows`, () =>
      Effect.gen(function*() {
        const one = yield* server("a")
        let times = 0
        // What is asked for without end would have no end.
        one.listing = Effect.suspend(() => {
          if (++times > 50) return Effect.never
          if (way === "is another one each time") one.tools = [{ name: "a", description: `read ${times} times` }]
          else if (times % 2 === 0) return refusal
          return Effect.void
        })
        const made = yield* Toolset.make(yield* connections([one], { catalog: { cache: "off" } }))
        const followed = [yield* following(made.for().changes, told), yield* following(made.for().changes, told)]
        yield* pass(10_000, 1000)
        assert.isAtMost(times, 4)
        const before = times
        const { tools } = yield* made.for().list
        yield* pass(1000, 250)
        assert.strictEqual(times, before + 1)
        for (const seen of followed) assert.isAtMost(seen.length, 5)
        assert.strictEqual(tools.length, 1)
      }))
  }

  for (const cache of ["session", "off"] as const) {
    it.scoped(`of which only what was stored is known is read when it is connected, once (cache: "${cache}")`, () =>
      Effect.gen(function*() {
        const one = yield* server("a", ["new"], { config: { lifetime: "lazy" } })
        const { manager, toolset: made } = yield* managed([one], {}, {
          store: storeOf({ a: ["old"] }).layer,
          connection: { catalog: { cache } }
        })
        const seen = yield* following(made.for().changes, told)
        // Whoever uses something else of it connects it.
        yield* begun(Effect.flatMap(manager.connection("a"), (_) => _.reconnect))
        yield* pass(1000, 250)
        assert.deepStrictEqual(seen, ["a__old", "a__new"])
        assert.strictEqual(yield* one.listings, 1)
      }))
  }

  it.scoped("a server that can't be connected is not tried over and over", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"], c: ["x"] })
      all[1]!.way = "refused"
      all[2]!.way = "unauthorized"
      const made = yield* toolset(all)
      const seen = yield* following(made.for().changes, told)
      yield* pass(300_000, 5000)
      assert.isAtMost(seen.length, 3)
      for (const one of all.slice(1)) assert.isAtMost((yield* one.server.stats).attempts, 8)
    }))

  it.scoped("a server that comes after the gate, one that is lost, and a reload", () =>
    Effect.gen(function*() {
      const slow = yield* server("slow", ["x"], { delay: 5000 })
      const quick = yield* server("quick", ["x"])
      const later = yield* server("later", ["x"])
      const store = storeOf({ slow: ["old"] })
      const options = { store: store.layer, startup: { gate: "1 second" }, others: [later] } as const
      const starting = yield* begun(managed([slow, quick], {}, options))
      yield* pass(1000, 250)
      const { manager, toolset: made } = yield* Effect.flatten(Fiber.join(starting))
      const seen = yield* following(made.for().changes, told)
      assert.deepStrictEqual(seen, ["slow__old quick__x"])
      yield* pass(6000, 500)
      assert.deepStrictEqual(seen.slice(1), ["slow__x quick__x"])
      const before = (yield* made.for().list).tools[1]
      yield* begun(manager.reload([quick.config, later.config]))
      yield* pass(1000, 250)
      assert.strictEqual(seen.at(-1), "quick__x later__x")
      assert.isTrue((yield* made.for().list).tools[0] === before)
      quick.way = "forbidden"
      yield* quick.server.disconnect()
      yield* pass(30_000, 500)
      assert.match(seen.at(-1)!, /^later__x \(quick /)
    }))

  it.scoped("a slow reader misses what is between, never the last", () =>
    Effect.gen(function*() {
      const one = yield* server("a", ["t0"])
      const made = yield* toolset([one])
      const seen: Array<string> = []
      const open = yield* Deferred.make<void>()
      yield* Effect.forkScoped(
        Stream.runForEach(made.for().changes, (list) =>
          Effect.zipRight(
            Effect.sync(() => void seen.push(told(list))),
            seen.length === 0 ? Deferred.await(open) : Effect.void
          ))
      )
      yield* settled
      for (let i = 1; i <= 20; i++) yield* one.offers(`t${i}`)
      yield* Deferred.succeed(open, undefined)
      yield* settled
      assert.strictEqual(seen[0], "a__t0")
      assert.strictEqual(seen.at(-1), "a__t20")
      assert.isBelow(seen.length, 6)
    }))

  it.scoped("over connections that are not ours: dies as soon as one of them has, however slow the reader is", () =>
    Effect.gen(function*() {
      const [mine, other] = (yield* connections(yield* servers({ a: ["x"], b: ["y"] }))) as [
        McpConnection.McpConnection,
        McpConnection.McpConnection
      ]
      yield* Effect.zip(mine.awaitReady, other.awaitReady)
      const news = yield* Queue.unbounded<McpConnection.ConnectionState>()
      const death = yield* Deferred.make<never>()
      const dying = { ...mine, changes: Stream.fromEffect(Deferred.await(death)) }
      const telling = { ...other, changes: Stream.fromQueue(news) }
      const made = yield* Toolset.make([dying, telling])
      const open = yield* Deferred.make<void>()
      const fiber = yield* begun(Stream.runForEach(made.for().changes, () => Deferred.await(open)))
      yield* Deferred.die(death, "gone")
      for (let i = 0; i < 5; i++) {
        yield* Queue.offer(news, yield* other.state)
        yield* settled
      }
      yield* Queue.shutdown(news)
      yield* Deferred.succeed(open, undefined)
      yield* settled
      assert.isTrue(yield* isDone(fiber))
      assert.strictEqual(tagOf(yield* Fiber.join(fiber)), "Die")
    }))

  it.scoped("whoever can't be interrupted may have had enough", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["y"] })
      const made = yield* toolset(all)
      const wanted = Stream.filter(made.for().changes, (_) => told(_) === "a__z b__y")
      const fiber = yield* begun(Effect.uninterruptible(Stream.runHead(wanted)))
      yield* all[0]!.offers("z")
      assert.isTrue(yield* isDone(fiber))
    }))

  it.scoped("whoever follows can be interrupted at every step", () =>
    Effect.gen(function*() {
      const made = yield* toolset(yield* servers({ a: ["x"], b: ["y"], c: [] }))
      yield* made.for().list
      yield* interruptedAtEveryStep(Stream.runDrain(made.for().changes), 24, 16)
    }), 60_000)

  it.scoped("ends with its scope, fails with its error, and is one list where there is no server", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["y"] })
      const scope = yield* Scope.make()
      const made = yield* Scope.extend(toolset(all, { naming: ToolNaming.raw }), scope)
      const seen: Array<string> = []
      const fiber = yield* begun(
        Stream.runForEach(made.for().changes, (_) => Effect.sync(() => void seen.push(told(_))))
      )
      yield* all[1]!.offers("x")
      assert.deepStrictEqual(seen, ["x y"])
      const error = failure(yield* Fiber.join(fiber))
      assert.strictEqual(error._tag, "NamesClash")
      const ending = yield* begun(Stream.runDrain((yield* Scope.extend(toolset(all), scope)).for().changes))
      yield* Scope.close(scope, Exit.void)
      yield* settled
      assert.isTrue(yield* isDone(ending))
      const nothing = yield* Toolset.make([])
      assert.deepStrictEqual([...yield* Stream.runCollect(Stream.map(nothing.for().changes, told))], [""])
    }))
})

describe("names", () => {
  it.scoped("raw: all that clash, of several servers and of one; a clash that a filter resolves is none", () =>
    Effect.gen(function*() {
      const all = yield* servers({ b: ["x", "own", "twice", "twice"], a: ["x", "y"] })
      const source = yield* connections(all)
      const error = failure(yield* Effect.exit((yield* Toolset.make(source, { naming: ToolNaming.raw })).for().list))
      assert(error._tag === "NamesClash")
      assert.deepStrictEqual(error.names, [
        {
          name: "twice",
          problem: "duplicate",
          tools: [{ server: "b", tool: "twice" }, { server: "b", tool: "twice" }]
        },
        { name: "x", problem: "duplicate", tools: [{ server: "a", tool: "x" }, { server: "b", tool: "x" }] }
      ])
      const resolved = yield* Toolset.make(source, {
        naming: ToolNaming.raw,
        servers: { b: { filter: ToolFilter.block("x", "twice") } }
      })
      const first = yield* resolved.for().list
      assert.strictEqual(namesOf(first), "own x y")
      const second = yield* resolved.for().list
      assert.isTrue(second.tools.every((tool, i) => tool === first.tools[i]), "the tools are shared")
      const partly = yield* Toolset.make(source, { naming: ToolNaming.raw, filter: ToolFilter.block("twice") })
      const left = failure(yield* Effect.exit(partly.for().list))
      assert(left._tag === "NamesClash")
      assert.deepStrictEqual(left.names.map((_) => _.name), ["x"])
    }))

  it.scoped("reserved names are nobody's", () =>
    Effect.gen(function*() {
      const source = yield* connections(yield* servers({ a: ["x", "y"] }))
      const prefixed = yield* Toolset.make(source, { reserved: new Set(["a__x"]) })
      const { tools } = yield* prefixed.for().list
      assert.match(tools[0]!.name, /^a__x_[0-9a-f]{10}$/)
      assert.strictEqual(tools[1]!.name, "a__y")
      const raw = yield* Toolset.make(source, { naming: ToolNaming.raw, reserved: ["y"] })
      const error = failure(yield* Effect.exit(raw.for().list))
      assert(error._tag === "NamesClash")
      assert.deepStrictEqual(error.names.map((_) => [_.name, _.problem]), [["y", "reserved"]])
    }))

  it.scoped("a naming that throws harms one listing, and no later one", () =>
    Effect.gen(function*() {
      const one = yield* server("a", ["x"])
      let breaks = false
      const made = yield* toolset([one], {
        naming: ToolNaming.make({
          mode: "own",
          name: ({ tool }) => {
            if (breaks) throw new Error("broken")
            return tool
          }
        })
      })
      assert.strictEqual(yield* listed(made.for()), "x")
      yield* one.offers("y")
      breaks = true
      assert.isTrue(Exit.isFailure(yield* Effect.exit(made.for().list)))
      breaks = false
      assert.strictEqual(yield* listed(made.for()), "y")
    }))

  it.scoped("a tool that its server lists twice is there twice, under two names, filtered or not", () =>
    Effect.gen(function*() {
      const source = yield* connections(yield* servers({ a: ["x", "x", "y"] }))
      for (const filter of [undefined, ToolFilter.block("y")]) {
        const { tools } = yield* (yield* Toolset.make(source, { filter })).for().list
        assert.strictEqual(new Set(tools.map((_) => _.name)).size, tools.length)
        assert.strictEqual(tools[0]!.name, "a__x")
        assert.match(tools[1]!.name, /^a__x_[0-9a-f]{10}$/)
      }
    }))
})

describe("sources", () => {
  it.scoped("nothing is connected before a listing; then each once", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"], b: ["x"] })
      const made = yield* toolset(all)
      const box = made.for()
      yield* settled
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => Effect.map(_.server.stats, (_) => _.attempts)), [0, 0])
      yield* Effect.all([box.list, box.list, made.for().list], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => Effect.map(_.server.stats, (_) => _.attempts)), [1, 1])
      assert.deepStrictEqual(yield* Effect.forEach(all, (_) => _.listings), [1, 1])
    }))

  it.scoped("two connections of one name, or what is no source, are wrong; servers without tools are right", () =>
    Effect.gen(function*() {
      const one = yield* server("a")
      const source = [...yield* connections([one]), ...yield* connections([one])]
      for (const wrong of [source, undefined, null, {}, [undefined], "a"]) {
        const error = failure(yield* Effect.exit(Toolset.make(wrong as never)))
        assert(error._tag === "ConfigInvalid" && error instanceof McpError.ConfigInvalid)
        assert.deepStrictEqual(error.problems.map((_) => _.field), ["source"])
      }
      const bare = yield* server("bare", [], { capabilities: {} })
      const made = yield* Toolset.make(yield* connections([bare, one]), { onServerError: "fail" })
      for (let i = 0; i < 2; i++) assert.strictEqual(yield* listed(made.for()), "a__a")
      assert.strictEqual(yield* bare.listings, 0)
      assert.strictEqual(yield* listed((yield* Toolset.make([])).for()), "")
    }))
})
