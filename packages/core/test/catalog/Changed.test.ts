/**
 * A server that says that its lists have changed, and those who follow them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Catalog, type McpProtocol } from "@mcp-runtime/core"
import { Chunk, Deferred, Effect, Fiber, Stream, TestClock } from "effect"
import { settable } from "../clocks.js"
import { settled } from "../connection/kit.js"
import { brief, follow, reader, type Script, scripted, tool, toolsChanged } from "./kit.js"

/** A catalogue whose tools are known: `a`. */
const listed = (script: Script = {}) =>
  Effect.gen(function*() {
    const all = yield* scripted(script)
    yield* reader(all.tools.get)
    yield* all.answer(0, "a")
    return all
  })

describe("list_changed", () => {
  it.scoped("V09: seven of them are one listing, when the server has been silent for a while", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* listed()
      for (let i = 0; i < 7; i++) {
        yield* say(toolsChanged)
        assert.isTrue((yield* tools.current)?.stale, "at once")
        yield* TestClock.adjust(99)
      }
      assert.strictEqual(asked.length, 1)
      yield* TestClock.adjust(1)
      yield* settled
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "a", "b")
      assert.strictEqual(brief(yield* tools.current), "a b")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("a server that never stops talking delays it ten times as long at most", () =>
    Effect.gen(function*() {
      const { asked, say } = yield* listed({ debounce: "1 second" })
      yield* say(toolsChanged)
      for (let at = 0; at < 9500; at += 500) {
        yield* TestClock.adjust(500)
        yield* say(toolsChanged)
      }
      assert.strictEqual(asked.length, 1)
      yield* TestClock.adjust(500)
      yield* settled
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("it may also be read again at once", () =>
    Effect.gen(function*() {
      const { asked, say } = yield* listed({ debounce: 0 })
      yield* say(toolsChanged)
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("it comes in time where the wall clock is set meanwhile", () =>
    Effect.gen(function*() {
      const { clock, set } = yield* settable
      const { answer, asked, say } = yield* Effect.withClock(listed(), clock)
      for (const [round, by] of [-3_600_000, 3_600_000].entries()) {
        yield* say(toolsChanged)
        yield* TestClock.adjust(99)
        set(by)
        yield* say(toolsChanged)
        yield* TestClock.adjust(99)
        yield* settled
        assert.strictEqual(asked.length, round + 1)
        yield* TestClock.adjust(1)
        yield* settled
        assert.strictEqual(asked.length, round + 2)
        yield* answer(round + 1, "a")
        yield* TestClock.adjust(200)
      }
    }))

  it.scoped("resources are told of together with their templates, and what was never listed is not listed", () =>
    Effect.gen(function*() {
      const { answer, asked, catalog, say } = yield* listed()
      yield* say("notifications/resources/list_changed")
      yield* say("notifications/prompts/list_changed")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 1)
      yield* reader(catalog.resources.get)
      yield* reader(catalog.templates.get)
      yield* answer(1)
      yield* answer(2)
      yield* say("notifications/resources/list_changed")
      assert.deepStrictEqual(
        [(yield* catalog.resources.current)?.stale, (yield* catalog.templates.current)?.stale],
        [true, true]
      )
      yield* TestClock.adjust(100)
      yield* settled
      assert.sameMembers(asked.slice(3).map((_) => _.kind), ["resources", "templates"])
    }))

  it.scoped("other words mean nothing, whatever they are", () =>
    Effect.gen(function*() {
      const { asked, say, tools } = yield* listed()
      for (const method of ["constructor", "__proto__", "toString", "notifications/message", ""]) yield* say(method)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(brief(yield* tools.current), "a")
      assert.strictEqual(asked.length, 1)
    }))

  it.scoped("a reader does not wait for the silence, and saves the second listing", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* listed()
      yield* say(toolsChanged)
      const one = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* Fiber.join(one)), "b")
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("also where the reader still waits when the silence is over", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* listed()
      yield* say(toolsChanged)
      const one = yield* reader(tools.get)
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* Fiber.join(one)), "b")
    }))

  it.scoped("said while the list is read again, it is read once more", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* listed()
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      yield* say(toolsChanged)
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* tools.current), "b stale")
      yield* TestClock.adjust(200)
      yield* settled
      assert.strictEqual(asked.length, 3)
      yield* answer(2, "c")
      assert.strictEqual(brief(yield* tools.current), "c")
    }))

  it.scoped("a server that says so at each listing is listened to ever more slowly, until it is silent for a while", () =>
    Effect.gen(function*() {
      const { answer, asked, say } = yield* listed()
      const times: Array<number> = []
      yield* say(toolsChanged)
      for (let i = 1; i <= 12; i++) {
        for (let millis = 100; asked.length === i && millis <= 60_000; millis += 100) {
          yield* TestClock.adjust(100)
          yield* settled
          if (asked.length > i) times.push(millis)
        }
        yield* say(toolsChanged)
        yield* answer(i, `list ${i}`)
      }
      assert.deepStrictEqual(times, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000])

      yield* TestClock.adjust("30 seconds")
      yield* settled
      yield* answer(13, "the last")
      yield* TestClock.adjust("1 minute")
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      assert.strictEqual(asked.length, 15)
    }))

  it.scoped("said while the list is read for the first time, it is read once more, too", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* scripted()
      const one = yield* reader(tools.get)
      yield* say(toolsChanged)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(asked.length, 1)
      yield* answer(0, "a")
      assert.strictEqual(brief(yield* Fiber.join(one)), "a stale")
      yield* TestClock.adjust(100)
      yield* settled
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* tools.current), "b")
    }))

  it.scoped("what can't be read again stays as it is, marked, and is not tried on and on", () =>
    Effect.gen(function*() {
      const { asked, fail, say, tools } = yield* listed()
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      yield* fail(1)
      assert.strictEqual(brief(yield* tools.current), "a stale ConnectionClosed")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("cache off: nobody lists but readers", () =>
    Effect.gen(function*() {
      const { asked, say } = yield* listed({ cache: "off" })
      yield* say(toolsChanged)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked.length, 1)
    }))

  it.scoped("a source that lists unasked in another way is asked in that way", () =>
    Effect.gen(function*() {
      const { answer, asked, decline, say, tools } = yield* listed({ relists: true })
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual(asked.map((_) => _.via), ["list", "relist"])
      yield* decline(1)
      assert.strictEqual(brief(yield* tools.current), "a stale", "not now is no error")
      yield* TestClock.adjust("1 second")
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      assert.deepStrictEqual(asked.map((_) => _.via), ["list", "relist", "relist"])
      yield* answer(2, "b")
      assert.strictEqual(brief(yield* tools.current), "b")
    }))

  it.scoped("readers who joined what can't be read just now have it read, once", () =>
    Effect.gen(function*() {
      const { answer, asked, decline, say, tools } = yield* listed({ relists: true })
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      const readers = yield* Effect.all(Array.from({ length: 50 }, () => Effect.fork(tools.get)))
      yield* settled
      assert.strictEqual(asked.length, 2)
      yield* decline(1)
      assert.deepStrictEqual(asked.map((_) => _.via), ["list", "relist", "list"])
      yield* answer(2, "b")
      for (const one of readers) assert.strictEqual(brief(yield* Fiber.join(one)), "b")
    }))

  it.scoped("what was listed unasked is not ended by a reader who goes away", () =>
    Effect.gen(function*() {
      const { answer, asked, say, tools } = yield* listed()
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      yield* Fiber.interrupt(yield* reader(tools.get))
      assert.deepStrictEqual(asked.map((_) => _.state), ["done", "under way"])
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* tools.current), "b")
    }))
})

describe("changes", () => {
  it.scoped("what is known first, then each change; nothing where nothing has changed", () =>
    Effect.gen(function*() {
      const { answer, say, tools } = yield* scripted()
      const early = yield* follow(tools)
      assert.deepStrictEqual(early, [])
      yield* reader(tools.get)
      yield* answer(0, "a")
      const late = yield* follow(tools)
      assert.deepStrictEqual([early.map(brief), late.map(brief)], [["a"], ["a"]])
      yield* tools.get
      yield* tools.get
      yield* say(toolsChanged)
      yield* say(toolsChanged)
      yield* TestClock.adjust(100)
      yield* settled
      yield* answer(1, "a", "b")
      assert.deepStrictEqual(early.map(brief), ["a", "a stale", "a b"])
      assert.deepStrictEqual(late.map(brief), early.map(brief))
      assert.isTrue(late[2] === early[2])
    }))

  it.scoped("a list that says the same again is the same, also in words that only look new", () =>
    Effect.gen(function*() {
      const { answer, tools } = yield* scripted({ cache: { ttl: "1 second" } })
      const before = yield* reader(tools.get)
      const schema = { type: "object", properties: { x: { type: "string" }, y: {} } } as const
      yield* answer(0, tool("a", { inputSchema: schema }))
      const { items } = yield* Fiber.join(before)
      const seen = yield* follow(tools)
      yield* TestClock.adjust("1 second")
      const after = yield* reader(tools.get)
      yield* answer(1, tool("a", { inputSchema: { properties: { y: {}, x: { type: "string" } }, type: "object" } }))
      const again = yield* Fiber.join(after)
      assert.isTrue(again.items === items)
      assert.isUndefined(again.drift)
      assert.strictEqual(again.listedAt, 1000)
      assert.strictEqual(seen.length, 1, "nothing to tell")
      assert.strictEqual((yield* tools.current)?.listedAt, 1000)
    }))

  it.scoped("the same list, still stale, is no news", () =>
    Effect.gen(function*() {
      const { answer, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* tools.invalidate
      yield* answer(0, "a")
      const seen = yield* follow(tools)
      yield* reader(tools.get)
      yield* tools.invalidate
      yield* answer(1, "a")
      assert.deepStrictEqual(seen.map(brief), ["a stale"])
    }))

  it.scoped("a slow reader holds nobody up, and gets the last one", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0, "0")
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(tools.changes, (_) =>
          Effect.zipRight(Deferred.await(gate), Effect.sync(() => seen.push(brief(_)))))
      )
      const quick = yield* follow(tools)
      for (let i = 1; i <= 100; i++) {
        const refresh = yield* reader(tools.refresh)
        yield* answer(asked.length - 1, `${i}`)
        yield* Fiber.join(refresh)
      }
      assert.strictEqual(quick.length, 201)
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.deepStrictEqual(seen, ["0", "100"])
    }), 20_000)

  it.effect("ends with the scope, after the last one", () =>
    Effect.gen(function*() {
      const all = yield* Effect.scoped(Effect.gen(function*() {
        const { answer, tools } = yield* scripted()
        const following = yield* Effect.forkDaemon(Stream.runCollect(tools.changes))
        yield* settled
        yield* reader(tools.get)
        yield* answer(0, "a")
        return following
      }))
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(all)).map(brief), ["a"])
    }))
})

describe("drift", () => {
  const t = (name: string, description?: string): McpProtocol.Tool =>
    tool(name, description === undefined ? {} : { description })
  const cases: ReadonlyArray<
    readonly [string, ReadonlyArray<McpProtocol.Tool>, ReadonlyArray<McpProtocol.Tool>, Catalog.Drift | undefined]
  > = [
    ["added and removed", [t("a"), t("b")], [t("b"), t("c")], { added: ["c"], removed: ["a"], changed: [] }],
    ["changed", [t("a", "1"), t("b")], [t("a", "2"), t("b")], { added: [], removed: [], changed: ["a"] }],
    ["a field less", [t("a", "1")], [t("a")], { added: [], removed: [], changed: ["a"] }],
    ["reordered", [t("a"), t("b")], [t("b"), t("a")], undefined],
    ["from nothing", [], [t("constructor")], { added: ["constructor"], removed: [], changed: [] }],
    ["to nothing", [t("__proto__")], [], { added: [], removed: ["__proto__"], changed: [] }],
    ["twice the same name", [t("a")], [t("a"), t("a")], undefined],
    ["twice, and one of them changed", [t("a", "1"), t("a", "2")], [t("a", "1"), t("a", "3")], {
      added: [],
      removed: [],
      changed: ["a"]
    }],
    [
      "null is not an absent field, nor an array an object",
      [tool("a", { annotations: {} }), tool("b", { _meta: { x: [] } })],
      [tool("a"), tool("b", { _meta: { x: {} } })],
      { added: [], removed: [], changed: ["a", "b"] }
    ],
    ["keys of objects", [tool("a", { _meta: { x: 1 } })], [tool("a", { _meta: { toString: 1 } })], {
      added: [],
      removed: [],
      changed: ["a"]
    }]
  ]
  for (const [name, before, after, drift] of cases) {
    it.scoped(name, () =>
      Effect.gen(function*() {
        const { answer, tools } = yield* scripted()
        yield* reader(tools.get)
        yield* answer(0, ...before)
        const seen = yield* follow(tools)
        yield* reader(tools.refresh)
        yield* answer(1, ...after)
        const now = yield* tools.get
        assert.deepStrictEqual(now.drift, drift)
        assert.isTrue(drift === undefined || Object.isFrozen(now.drift))
        assert.deepStrictEqual(now.items.map((_) => _.name), after.map((_) => _.name), "as the server orders them")
        assert.isTrue(seen.at(-1) === now)
      }))
  }

  it.scoped("a list with a name twice that says the same is the same", () =>
    Effect.gen(function*() {
      const { answer, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0, t("a", "1"), t("a", "2"))
      const { items } = yield* tools.get
      yield* reader(tools.refresh)
      yield* answer(1, t("a", "1"), t("a", "2"))
      assert.isTrue((yield* tools.get).items === items)
      assert.strictEqual(tools.find("a")?.description, "1")
      yield* reader(tools.refresh)
      yield* answer(2, t("a", "3"), t("a", "2"))
      assert.strictEqual((yield* tools.get).items[0]?.description, "3")
    }))

  it.scoped("an item that is dropped now, or was, is news", () =>
    Effect.gen(function*() {
      let dropped: ReadonlyArray<McpProtocol.DroppedItem> = [{ index: 0, problem: "one" }]
      const catalog = yield* Catalog.make({
        server: "s",
        list: () => Effect.sync(() => ({ items: [], dropped })) as never
      }, { cache: { ttl: 1 } })
      yield* catalog.tools.get
      const seen = yield* follow(catalog.tools)
      for (const next of [dropped, [{ index: 0, problem: "another" }], [{ index: 0, problem: "another" }], []]) {
        dropped = next
        yield* TestClock.adjust(1)
        yield* catalog.tools.get
        yield* settled
      }
      assert.deepStrictEqual(seen.map((_) => _.dropped[0]?.problem), ["one", "another", undefined])
    }))
})
