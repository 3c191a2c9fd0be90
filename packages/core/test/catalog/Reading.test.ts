/**
 * One list of a catalogue, read by many: what each of them gets, and what it costs the server.
 */
import { assert, describe, it } from "@effect/vitest"
import { Catalog, McpError } from "@mcp-runtime/core"
import { Effect, Either, Exit, Fiber, TestClock } from "effect"
import { settled } from "../connection/kit.js"
import { brief, broken, memory, namesOf, reader, scripted, storedTools, tool } from "./kit.js"

describe("the life of a list", () => {
  it.scoped("unknown: nothing, and it is not read until somebody wants it", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      yield* settled
      assert.isUndefined(yield* tools.current)
      assert.isUndefined(tools.find("a"))
      assert.strictEqual(asked.length, 0)
      yield* TestClock.adjust("7 seconds")
      const one = yield* reader(tools.get)
      assert.strictEqual(asked.length, 1)
      assert.isUndefined(yield* tools.current)
      yield* answer(0, "a", "b")
      const snapshot = yield* Fiber.join(one)
      assert.deepStrictEqual(
        [brief(snapshot), snapshot.origin, snapshot.listedAt, snapshot.drift],
        ["a b", "server", 7000, undefined]
      )
      assert.isTrue(Object.isFrozen(snapshot))
    }))

  it.scoped("fresh: reading copies nothing and asks nobody", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const one = yield* reader(tools.get)
      yield* answer(0, "a")
      const first = yield* Fiber.join(one)
      yield* TestClock.adjust("1000 days")
      const again = yield* tools.get
      assert.isTrue(again === first && again.items === first.items && (yield* tools.current) === first)
      assert.isTrue(tools.find("a") === first.items[0])
      assert.strictEqual(asked.length, 1)
      assert.strictEqual(Effect.runSync(tools.get), first)
    }))

  it.scoped("stale: shown at once, read again by whoever wants it, kept where that fails", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0, "a")
      yield* tools.invalidate
      assert.strictEqual(brief(yield* tools.current), "a stale")
      assert.strictEqual(asked.length, 1)
      const one = yield* reader(tools.get)
      yield* fail(1, broken("first"))
      const last = yield* Fiber.join(one)
      assert.strictEqual(brief(last), "a stale ConnectionClosed")
      assert.isTrue(tools.find("a") === last.items[0])
      const other = yield* reader(tools.get)
      assert.strictEqual(asked.length, 3, "a failure is not kept")
      yield* answer(2, "a", "b")
      assert.strictEqual(brief(yield* Fiber.join(other)), "a b")
      assert.strictEqual(brief(yield* tools.current), "a b")
    }))

  it.scoped("stored: shown at once, never called fresh, given where the server can't be asked", () =>
    Effect.gen(function*() {
      const { storage } = memory(storedTools([tool("old")], -5))
      const { answer, asked, catalog, fail, tools } = yield* scripted({ storage })
      yield* catalog.restore
      assert.strictEqual(brief(yield* tools.current), "old stored stale")
      assert.strictEqual((yield* tools.current)?.listedAt, -5)
      assert.strictEqual(tools.find("old")?.name, "old")
      assert.strictEqual(asked.length, 0)
      const one = yield* reader(tools.get)
      yield* fail(0)
      assert.strictEqual(brief(yield* Fiber.join(one)), "old stored stale ConnectionClosed")
      const other = yield* reader(tools.get)
      yield* answer(1, "new")
      const fresh = yield* Fiber.join(other)
      assert.strictEqual(brief(fresh), "new")
      assert.deepStrictEqual(fresh.drift, { added: ["new"], removed: ["old"], changed: [] })
      yield* catalog.restore
      assert.strictEqual(brief(yield* tools.current), "new", "what is stored replaces nothing better")
    }))

  it.scoped("a failure without anything known is the reader's, and the next one asks again", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted()
      const one = yield* reader(Effect.flip(tools.get))
      yield* fail(0)
      assert.strictEqual((yield* Fiber.join(one))._tag, "ConnectionClosed")
      assert.isUndefined(yield* tools.current)
      const other = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "a")
      assert.deepStrictEqual(namesOf(yield* Fiber.join(other)), ["a"])
    }))

  it.scoped("an empty list is a list", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0)
      assert.deepStrictEqual((yield* tools.get).items, [])
      assert.strictEqual(asked.length, 1)
    }))

  it.scoped("each kind for itself, found by its own key", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const items = {
        tools: [tool("t")],
        prompts: [{ name: "p" }],
        resources: [{ uri: "a:1", name: "r" }],
        templates: [{ uriTemplate: "a:{x}", name: "x" }]
      }
      const catalog = yield* Catalog.make({
        server: "s",
        list: (kind) =>
          Effect.suspend(() => {
            asked.push(kind)
            return Effect.succeed({ items: items[kind], dropped: [] } as never)
          })
      })
      yield* catalog.templates.get
      yield* catalog.resources.get
      yield* catalog.prompts.get
      assert.deepStrictEqual(asked, ["templates", "resources", "prompts"])
      assert.strictEqual(catalog.server, "s")
      assert.strictEqual(catalog.templates.find("a:{x}")?.name, "x")
      assert.strictEqual(catalog.resources.find("a:1")?.name, "r")
      assert.strictEqual(catalog.prompts.find("p")?.name, "p")
      assert.isUndefined(catalog.tools.find("t"))
      for (const name of ["constructor", "__proto__", "toString"]) assert.isUndefined(catalog.prompts.find(name))
      yield* catalog.invalidate
      assert.isTrue((yield* catalog.prompts.current)?.stale)
      yield* catalog.prompts.get
      assert.strictEqual(asked.length, 4)
    }))
})

describe("many readers", () => {
  it.scoped("a thousand at once share one listing and one result", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const all = yield* Effect.all(Array.from({ length: 1000 }, () => Effect.fork(tools.get)))
      yield* settled
      assert.strictEqual(asked.length, 1)
      yield* answer(0, "a")
      const snapshots = new Set(yield* Fiber.join(Fiber.all(all)))
      assert.strictEqual(snapshots.size, 1)
    }))

  it.scoped("a thousand at once share its failure, too", () =>
    Effect.gen(function*() {
      const { asked, fail, tools } = yield* scripted()
      const all = yield* Effect.all(Array.from({ length: 1000 }, () => Effect.fork(Effect.flip(tools.get))))
      yield* settled
      yield* fail(0)
      assert.strictEqual(new Set(yield* Fiber.join(Fiber.all(all))).size, 1)
      assert.strictEqual(asked.length, 1)
    }))

  it.scoped("the source is asked for a listing only where one begins", () =>
    Effect.gen(function*() {
      let calls = 0
      const source = {
        server: "s",
        calls: 0,
        list(this: { calls: number } | undefined) {
          calls++
          this!.calls++
          return Effect.never
        }
      }
      const catalog = yield* Catalog.make(source as never)
      yield* Effect.all(Array.from({ length: 10 }, () => Effect.fork(catalog.tools.get)))
      yield* settled
      assert.strictEqual(calls, 1)
      assert.strictEqual(source.calls, 1)
    }))

  it.scoped("the first, and all but one, go away: the one that stays gets its list", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const all = yield* Effect.all(Array.from({ length: 20 }, () => Effect.fork(tools.get)))
      yield* settled
      yield* Fiber.interrupt(all[0]!)
      yield* Fiber.interruptAll(all.slice(0, -1))
      yield* settled
      assert.deepStrictEqual(asked.map((_) => _.state), ["under way"])
      yield* answer(0, "a")
      assert.strictEqual(brief(yield* Fiber.join(all.at(-1)!)), "a")
    }))

  it.scoped("all go away: the listing ends, and the next reader begins another one", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const all = yield* Effect.all(Array.from({ length: 5 }, () => Effect.fork(tools.get)))
      yield* settled
      yield* Fiber.interruptAll(all)
      yield* settled
      assert.deepStrictEqual(asked.map((_) => _.state), ["interrupted"])
      const next = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "a")
      assert.strictEqual(brief(yield* Fiber.join(next)), "a")
    }))

  it.scoped("a reader that comes while an abandoned listing still ends begins its own", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted({ interruptible: false })
      const first = yield* reader(tools.get)
      yield* Fiber.interrupt(first)
      const next = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "new")
      assert.strictEqual(brief(yield* Fiber.join(next)), "new")
      yield* answer(0, "old")
      assert.strictEqual(brief(yield* tools.current), "new", "what nobody waits for is not kept over it")
    }))

  it.scoped("a reader that can't be interrupted waits, and harms nobody", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const one = yield* reader(Effect.uninterruptible(tools.get))
      const two = yield* reader(tools.get)
      yield* Fiber.interruptFork(one)
      yield* Fiber.interrupt(two)
      yield* settled
      assert.deepStrictEqual(asked.map((_) => _.state), ["under way"])
      yield* answer(0, "a")
      yield* Fiber.await(one)
      assert.strictEqual(brief(yield* tools.current), "a")
    }))

  it.scoped("a reader in a finalizer gets its list", () =>
    Effect.gen(function*() {
      const { answer, tools } = yield* scripted()
      let got: string | undefined
      const one = yield* reader(Effect.ensuring(
        Effect.never,
        Effect.map(Effect.orDie(tools.get), (_) => {
          got = brief(_)
        })
      ))
      yield* Fiber.interruptFork(one)
      yield* settled
      yield* answer(0, "a")
      yield* Fiber.await(one)
      assert.strictEqual(got, "a")
    }))

  it.scoped("a source that dies kills no later reader", () =>
    Effect.gen(function*() {
      let calls = 0
      const catalog = yield* Catalog.make({
        server: "s",
        list: () => {
          if (++calls === 1) throw new Error("a mistake")
          return Effect.succeed({ items: [], dropped: [] })
        }
      })
      const exit = yield* Effect.exit(catalog.tools.get)
      assert(Exit.isFailure(exit) && exit.cause._tag === "Die")
      assert.strictEqual((yield* catalog.tools.get).items.length, 0)
    }))
})

describe("invalidation and refresh", () => {
  it.scoped("an invalidation during a listing is not lost: its readers get it, marked", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const one = yield* reader(tools.get)
      yield* tools.invalidate
      yield* answer(0, "old")
      assert.strictEqual(brief(yield* Fiber.join(one)), "old stale")
      assert.strictEqual(brief(yield* tools.current), "old stale")
      const two = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "new")
      assert.strictEqual(brief(yield* Fiber.join(two)), "new")
    }))

  it.scoped("who reads after an invalidation does not join what began before it; the older one is not kept", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const one = yield* reader(tools.get)
      yield* tools.invalidate
      const two = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "new")
      assert.strictEqual(brief(yield* Fiber.join(two)), "new")
      yield* answer(0, "old")
      // Nothing worse than what is known is given to anybody.
      assert.strictEqual(brief(yield* Fiber.join(one)), "new")
      assert.strictEqual(brief(yield* tools.current), "new")
    }))

  it.scoped("an older listing that fails says nothing about a newer one", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted()
      const one = yield* reader(tools.get)
      yield* tools.invalidate
      const two = yield* reader(tools.get)
      yield* answer(1, "new")
      yield* Fiber.join(two)
      yield* fail(0)
      assert.strictEqual(brief(yield* tools.current), "new")
      assert.strictEqual(brief(yield* Fiber.join(one)), "new")
      yield* tools.get
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("refresh never joins what began before it; readers join the newest", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const get = yield* reader(tools.get)
      const refresh = yield* reader(tools.refresh)
      const later = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* answer(1, "new")
      assert.strictEqual(brief(yield* Fiber.join(refresh)), "new")
      assert.strictEqual(brief(yield* Fiber.join(later)), "new")
      yield* answer(0, "old")
      yield* Fiber.join(get)
      assert.strictEqual(brief(yield* tools.current), "new")
      yield* reader(tools.refresh)
      assert.strictEqual(asked.length, 3, "what is fresh is read again, too")
    }))

  it.scoped("refreshes asked for together cost one listing", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      const all = yield* Effect.all(Array.from({ length: 100 }, () => Effect.fork(tools.refresh)))
      yield* settled
      assert.strictEqual(asked.length, 1)
      yield* answer(0, "a")
      assert.strictEqual(new Set(yield* Fiber.join(Fiber.all(all))).size, 1)
    }))

  it.scoped("a refresh that fails keeps the last good list, says why, and fails", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0, "a")
      const before = yield* tools.get
      const refresh = yield* reader(Effect.flip(tools.refresh))
      yield* fail(1)
      assert.strictEqual((yield* Fiber.join(refresh))._tag, "ConnectionClosed")
      const after = yield* tools.current
      assert.strictEqual(brief(after), "a stale ConnectionClosed")
      assert.isTrue(after?.items === before.items)
      const get = yield* reader(tools.get)
      yield* answer(2, "a")
      const healed = yield* Fiber.join(get)
      assert.strictEqual(brief(healed), "a")
      assert.isTrue(healed.items === before.items && healed.drift === undefined)
      assert.strictEqual(asked.length, 3)
    }))

  it.scoped("a refresh that is interrupted leaves the list stale", () =>
    Effect.gen(function*() {
      const { answer, asked, tools } = yield* scripted()
      yield* reader(tools.get)
      yield* answer(0, "a")
      yield* Fiber.interrupt(yield* reader(tools.refresh))
      assert.deepStrictEqual(asked.map((_) => _.state), ["done", "interrupted"])
      assert.strictEqual(brief(yield* tools.current), "a stale")
    }))
})

describe("how long it is fresh", () => {
  it.scoped("ttl: to the moment, then it is read again; the old one where that fails", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted({ cache: { ttl: "1 minute" } })
      yield* reader(tools.get)
      yield* answer(0, "a")
      yield* TestClock.adjust(59_999)
      assert.strictEqual(brief(yield* tools.get), "a")
      yield* TestClock.adjust(1)
      assert.strictEqual(brief(yield* tools.current), "a stale")
      const one = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* fail(1)
      assert.strictEqual(brief(yield* Fiber.join(one)), "a stale ConnectionClosed")
      const two = yield* reader(tools.get)
      yield* answer(2, "a")
      assert.strictEqual(brief(yield* Fiber.join(two)), "a")
      yield* TestClock.adjust(59_999)
      yield* tools.get
      assert.strictEqual(asked.length, 3)
    }))

  it.scoped("a clock that is set back makes nothing fresh for longer", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1_000_000)
      const { answer, asked, tools } = yield* scripted({ cache: { ttl: "1 minute" } })
      yield* reader(tools.get)
      yield* answer(0, "a")
      yield* TestClock.setTime(1000)
      assert.strictEqual(brief(yield* tools.current), "a stale")
      const one = yield* reader(tools.get)
      yield* answer(1, "b")
      assert.strictEqual(brief(yield* Fiber.join(one)), "b")
      yield* TestClock.adjust(30_000)
      assert.strictEqual(brief(yield* tools.get), "b")
      assert.strictEqual(asked.length, 2)
    }))

  it.scoped("off: each reader lists, those at once share, the last good one is there where that fails", () =>
    Effect.gen(function*() {
      const { answer, asked, fail, tools } = yield* scripted({ cache: "off" })
      const one = yield* reader(tools.get)
      const two = yield* reader(tools.get)
      yield* answer(0, "a")
      assert.strictEqual(brief(yield* Fiber.join(one)), "a")
      yield* Fiber.join(two)
      assert.strictEqual(brief(yield* tools.current), "a stale")
      const three = yield* reader(tools.get)
      assert.strictEqual(asked.length, 2)
      yield* fail(1)
      assert.strictEqual(brief(yield* Fiber.join(three)), "a stale ConnectionClosed")
      assert.strictEqual(tools.find("a")?.name, "a")
    }))

  const wrong: ReadonlyArray<readonly [Catalog.CatalogOptions | object, ReadonlyArray<string>]> = [
    [{ cache: "on" }, ["catalog.cache"]],
    [{ cache: null }, ["catalog.cache"]],
    [{ cache: {} }, ["catalog.cache.ttl"]],
    [{ cache: { ttl: 0 } }, ["catalog.cache.ttl"]],
    [{ cache: { ttl: "Infinity" } }, ["catalog.cache.ttl"]],
    [{ cache: { ttl: -1 } }, ["catalog.cache.ttl"]],
    [{ debounce: "soon" }, ["catalog.debounce"]],
    [{ debounce: Number.POSITIVE_INFINITY, cache: 5 }, ["catalog.cache", "catalog.debounce"]]
  ]
  for (const [options, fields] of wrong) {
    it.scoped(`${JSON.stringify(options)} is a wrong option, named as one`, () =>
      Effect.gen(function*() {
        const made = yield* Effect.either(
          Effect.asVoid(Catalog.make({ server: "s", list: () => Effect.never }, options as Catalog.CatalogOptions))
        )
        assert(Either.isLeft(made) && made.left instanceof McpError.ConfigInvalid)
        assert.deepStrictEqual(made.left.problems.map((_) => _.field), fields)
        assert.strictEqual(made.left.executed, "no")
      }))
  }
})
