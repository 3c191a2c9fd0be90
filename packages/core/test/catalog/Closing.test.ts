/**
 * The end of a catalogue: nobody waits for ever, and nothing is left.
 */
import { assert, describe, it } from "@effect/vitest"
import { Catalog } from "@mcp-runtime/core"
import { Effect, Exit, Fiber, Scope, Stream, TestClock } from "effect"
import { settled } from "../connection/kit.js"
import { brief, memory, type Script, scripted, storedTools, tool, toolsChanged } from "./kit.js"

const open = (script: Script = {}) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const all = yield* Scope.extend(scripted(script), scope)
    return { ...all, close: Effect.zipRight(Scope.close(scope, Exit.void), settled) }
  })

describe("closed", () => {
  for (const interruptible of [true, false]) {
    it.effect(`who waits gets a typed error, whether a listing can be interrupted or not: ${interruptible}`, () =>
      Effect.gen(function*() {
        const { asked, close, tools } = yield* open({ interruptible })
        const gets = yield* Effect.all(Array.from({ length: 20 }, () => Effect.fork(Effect.flip(tools.get))))
        const refresh = yield* Effect.fork(Effect.flip(tools.refresh))
        const held = yield* Effect.fork(Effect.uninterruptible(Effect.flip(tools.get)))
        yield* settled
        yield* close
        if (interruptible) {
          for (const one of [...gets, refresh, held]) {
            const error = yield* Fiber.join(one)
            assert.deepStrictEqual([error._tag, error.executed], ["ConnectionUnavailable", "no"])
          }
          assert.isTrue(asked.every((_) => _.state === "interrupted"))
        } else {
          for (const one of [...gets, refresh, held]) {
            assert.strictEqual((yield* Fiber.join(one))._tag, "ConnectionUnavailable")
          }
        }
      }))
  }

  it.effect("after it: what is known is shown, what is not fails at once, nothing is listed", () =>
    Effect.gen(function*() {
      const { answer, asked, catalog, close, tools } = yield* open()
      const one = yield* Effect.fork(tools.get)
      yield* settled
      yield* answer(0, "a")
      yield* Fiber.join(one)
      yield* close
      assert.strictEqual(brief(yield* tools.get), "a")
      assert.strictEqual(tools.find("a")?.name, "a")
      assert.strictEqual((yield* Effect.flip(catalog.prompts.get))._tag, "ConnectionUnavailable")
      assert.strictEqual((yield* Effect.flip(tools.refresh))._tag, "ConnectionUnavailable")
      assert.strictEqual(brief(yield* tools.get), "a stale ConnectionUnavailable")
      assert.strictEqual(asked.length, 1)
      assert.strictEqual(yield* Stream.runCount(catalog.tools.changes), 1)
      assert.strictEqual(yield* Stream.runCount(catalog.prompts.changes), 0)
    }))

  it.effect("V09: a list that was to be read again is not", () =>
    Effect.gen(function*() {
      const { answer, asked, close, say, tools } = yield* open()
      yield* Effect.fork(tools.get)
      yield* settled
      yield* answer(0, "a")
      yield* say(toolsChanged)
      yield* close
      yield* TestClock.adjust("1 hour")
      yield* settled
      assert.strictEqual(asked.length, 1)
    }))

  it.effect("no fiber is left: the listing, the silence, and who hears the server have ended", () =>
    Effect.gen(function*() {
      const ended: Array<string> = []
      const scope = yield* Scope.make()
      const catalog = yield* Scope.extend(
        Catalog.make({
          server: "s",
          list: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push("listing"))),
          notifications: Stream.ensuring(Stream.never, Effect.sync(() => ended.push("hearing")))
        }),
        scope
      )
      const one = yield* Effect.fork(Effect.flip(catalog.tools.get))
      yield* settled
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(one)
      yield* settled
      assert.sameMembers(ended, ["listing", "hearing"])
    }))
})

describe("storage", () => {
  it.scoped("a list is stored when it was read, again when it has changed, and again after a day", () =>
    Effect.gen(function*() {
      const { saves, storage } = memory()
      const { answer, asked, tools } = yield* scripted({ storage })
      const list = (...names: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          yield* Effect.fork(tools.refresh)
          yield* settled
          yield* answer(asked.length - 1, ...names)
        })
      yield* list("a")
      yield* list("a")
      yield* TestClock.adjust("23 hours")
      yield* list("a")
      assert.deepStrictEqual(saves, [["tools", ["a"]]])
      yield* list("b")
      assert.deepStrictEqual(saves.slice(1), [["tools", ["b"]]])
      yield* TestClock.adjust("1 day")
      yield* list("b")
      assert.deepStrictEqual(saves.slice(2), [["tools", ["b"]]])
      yield* list()
      assert.deepStrictEqual(saves.slice(3), [["tools", []]], "which takes it away")
    }))

  it.scoped("what says the same as what was stored today is not stored again", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("100 days")
      const day = 24 * 60 * 60 * 1000
      for (const [age, times] of [[day - 1, 0], [day, 1], [-1, 1]] as const) {
        const { saves, storage } = memory(storedTools([tool("a")], 100 * day - age))
        const { answer, catalog, tools } = yield* scripted({ storage })
        yield* catalog.restore
        yield* Effect.fork(tools.get)
        yield* settled
        yield* answer(0, "a")
        assert.strictEqual(saves.length, times, `${age}`)
      }
    }))

  it.scoped("what is stale already is not stored, nor an older list over a newer one", () =>
    Effect.gen(function*() {
      const { saves, storage } = memory()
      const { answer, tools } = yield* scripted({ storage })
      yield* Effect.fork(tools.get)
      yield* settled
      yield* tools.invalidate
      yield* Effect.fork(tools.get)
      yield* settled
      yield* answer(1, "new")
      yield* answer(0, "old")
      yield* tools.invalidate
      yield* Effect.fork(tools.get)
      yield* settled
      yield* tools.invalidate
      yield* answer(2, "late")
      assert.deepStrictEqual(saves, [["tools", ["new"]]])
    }))

  it.scoped("a storage that dies, hangs or throws harms no reader", () =>
    Effect.gen(function*() {
      const dying: Catalog.Storage = {
        load: (kind) => {
          if (kind === "tools") throw new Error("thrown")
          return kind === "prompts" ? Effect.die("died") : Effect.succeed(undefined)
        },
        save: () => {
          throw new Error("thrown")
        }
      }
      const { answer, catalog, tools } = yield* scripted({ storage: dying })
      yield* catalog.restore
      const one = yield* Effect.fork(tools.get)
      yield* settled
      yield* answer(0, "a")
      assert.strictEqual(brief(yield* Fiber.join(one)), "a")

      const hanging = yield* scripted({ storage: { load: () => Effect.never, save: () => Effect.never } })
      const restoring = yield* Effect.fork(hanging.catalog.restore)
      const other = yield* Effect.fork(hanging.tools.get)
      yield* settled
      yield* hanging.answer(0, "b")
      assert.strictEqual(brief(yield* Fiber.join(other)), "b")
      yield* Fiber.interrupt(restoring)
    }))

  it.scoped("what is loaded late replaces nothing better", () =>
    Effect.gen(function*() {
      const { storage } = memory(storedTools([tool("old")]))
      const slow = { ...storage, load: (kind: never) => Effect.delay(storage.load(kind), "1 second") }
      const { answer, catalog, tools } = yield* scripted({ storage: slow as Catalog.Storage })
      const restoring = yield* Effect.fork(catalog.restore)
      yield* Effect.fork(tools.get)
      yield* settled
      yield* answer(0, "new")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(restoring)
      assert.strictEqual(brief(yield* tools.current), "new")
    }))

  it.scoped("nothing is loaded unless it is asked for, and nothing without a storage", () =>
    Effect.gen(function*() {
      const { loads, storage } = memory(storedTools([tool("old")]))
      const { tools } = yield* scripted({ storage })
      yield* settled
      assert.isUndefined(yield* tools.current)
      assert.strictEqual(loads(), 0)
      const without = yield* scripted()
      yield* without.catalog.restore
      assert.isUndefined(yield* without.tools.current)
    }))
})
