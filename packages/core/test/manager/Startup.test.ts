/**
 * What a start waits for: servers whose tools are known from an earlier run are shown after the gate, the others are waited
 * for.
 */
import { KeyValueStore } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpCatalog, type McpConfig, type McpError, type McpManager } from "@mcp-runtime/core"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { Deferred, Effect, Exit, Fiber, FiberId, Layer, Option, Scope } from "effect"
import { settable } from "../clocks.js"
import {
  begun,
  brief,
  ending,
  failure,
  fake,
  type FakeOptions,
  fakes,
  isDone,
  type Line,
  noting,
  over,
  overInScope,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"
import { following, phasesOf, storeOf, told } from "./stores.js"

const slow = (names: string, options?: FakeOptions) => fakes(names, { delay: 5000, ...options })

const known = (manager: McpManager.Manager) => Effect.map(McpCatalog.make(manager).current, told)

const attemptsOf = (
  all: ReadonlyArray<{ readonly server: { readonly stats: Effect.Effect<{ readonly attempts: number }> } }>
) => Effect.forEach(all, ({ server }) => Effect.map(server.stats, (_) => _.attempts))

/** When a start ends. */
const startOf = (manager: McpManager.Manager, step = 50) =>
  Effect.map(timed(manager.connectAll, step), ({ exit, took }) => {
    assert.strictEqual(ending(exit), "success")
    return { active: Exit.isSuccess(exit) ? exit.value.join(" ") : "", took }
  })

describe("the gate", () => {
  it.scoped("with a warm store servers that need 5 s are there after 250 ms, deferred and active", () =>
    Effect.gen(function*() {
      const servers = yield* slow("a b c")
      const manager = yield* over(servers, { store: storeOf({ a: ["a"], b: ["b", "old"], c: ["c"] }).layer })
      const starting = yield* begun(manager.connectAll)
      yield* pass(249)
      assert.isFalse(yield* isDone(starting))
      yield* pass(1)
      assert.isTrue(yield* isDone(starting))
      assert.deepStrictEqual(yield* Effect.flatten(Fiber.join(starting)), ["a", "b", "c"])
      assert.deepStrictEqual(yield* views(manager), {
        active: "a b c",
        connected: "",
        failed: "",
        errors: "",
        phases: "a connecting, b connecting, c connecting"
      })
      assert.strictEqual(yield* known(manager), "a deferred: a, b deferred: b old, c deferred: c")
      yield* pass(4750)
      assert.strictEqual(yield* phases(manager), "a connected, b connected, c connected")
      assert.strictEqual(yield* known(manager), "a live: a, b live: b, c live: c")
      assert.deepStrictEqual(yield* attemptsOf(servers), [1, 1, 1])
    }))

  it.scoped("with a cold store all are waited for", () =>
    Effect.gen(function*() {
      const manager = yield* over(yield* slow("a b c"), { store: storeOf({}).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b c", took: 5000 })
      assert.strictEqual(yield* known(manager), "a live: a, b live: b, c live: c")
    }))

  it.scoped("those without stored tools are waited for, those with are not", () =>
    Effect.gen(function*() {
      const [a, b, c, d] = [
        yield* fake("a", { delay: 5000 }),
        yield* fake("b", { delay: 2000 }),
        yield* fake("c"),
        yield* fake("d", { delay: 1000, way: "refused" })
      ]
      const manager = yield* over([a, b, c, d], { store: storeOf({ a: ["a"], c: ["c"] }).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b c", took: 2000 })
      assert.strictEqual(yield* known(manager), "a deferred: a, b live: b, c live: c")
      assert.strictEqual((yield* views(manager)).errors, "d ConnectFailed")
    }))

  it.scoped("counts from the beginning, also where it takes long to begin them all", () =>
    Effect.gen(function*() {
      const servers = yield* slow("a b c")
      const { clock, set } = yield* settable
      const manager = yield* over(servers, {
        store: storeOf({ a: ["a"], b: ["b"], c: ["c"] }).layer,
        // The processor is busy for so long with each of them.
        connection: () => {
          set(20)
          return {}
        }
      })
      const starting = yield* begun(Effect.withClock(manager.connectAll, clock))
      yield* pass(189)
      assert.isFalse(yield* isDone(starting))
      yield* pass(1)
      assert.isTrue(yield* isDone(starting))
    }))

  it.scoped("nobody waits for the gate where all are there before it, and their lists are live", () =>
    Effect.gen(function*() {
      const store = storeOf({ a: ["old"], b: ["b"] })
      const manager = yield* over(yield* fakes("a b"), { store: store.layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 0 })
      assert.strictEqual(yield* known(manager), "a live: a, b live: b")
      const slower = yield* over(yield* fakes("a b", { delay: 200 }), { store: store.layer })
      assert.deepStrictEqual(yield* startOf(slower), { active: "a b", took: 200 })
      assert.strictEqual(yield* known(slower), "a live: a, b live: b")
    }))

  it.scoped("one that fails before the gate is an error, stored or not, and costs nobody time", () =>
    Effect.gen(function*() {
      const servers = [yield* fake("a", { way: "unauthorized" }), yield* fake("b", { delay: 5000 })]
      const manager = yield* over(servers, { store: storeOf({ a: ["a"], b: ["b"] }).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "b", took: 250 })
      assert.strictEqual((yield* views(manager)).errors, "a Unauthorized")
    }))

  it.scoped("may be open at once, open late, or not be there", () =>
    Effect.gen(function*() {
      const start = (startup: McpManager.StartupOptions) =>
        Effect.gen(function*() {
          const { layer } = storeOf({ a: ["a"], b: ["b"] })
          const manager = yield* over(yield* slow("a b"), { store: layer, startup })
          const { took } = yield* startOf(manager)
          return [took, yield* known(manager)]
        }).pipe(Effect.scoped)
      const deferred = "a deferred: a, b deferred: b"
      const live = "a live: a, b live: b"
      assert.deepStrictEqual(yield* start({ gate: 0 }), [0, deferred])
      assert.deepStrictEqual(yield* start({ gate: "2 seconds" }), [2000, deferred])
      assert.deepStrictEqual(yield* start({ gate: "1 minute" }), [5000, live])
      assert.deepStrictEqual(yield* start({ deferred: false }), [5000, live])
      assert.deepStrictEqual(yield* start({ gate: 0, deferred: false }), [5000, live])
    }))

  it.scoped("is of no interest where all must be connected", () =>
    Effect.gen(function*() {
      const { layer } = storeOf({ a: ["a"], b: ["b"] })
      const manager = yield* over(yield* slow("a b"), { store: layer, strict: true })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 5000 })
      const broken = [yield* fake("a"), yield* fake("b", { delay: 5000, way: "refused" })]
      const other = yield* over(broken, { store: layer, strict: true })
      const { exit, took } = yield* timed(other.connectAll)
      assert.deepStrictEqual([took, brief(failure(exit))], [5000, "b: b ConnectFailed"])
      assert.strictEqual((yield* views(other)).connected, "")
    }))

  it.scoped("the first server starts while the connections of the later ones are still to be made", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const servers = yield* fakes("a b c d e f", { journal })
      const manager = yield* over(servers, {
        connection: ({ name }) => {
          journal.push(`made ${name}`)
          return {}
        }
      })
      assert.deepStrictEqual(journal, [])
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c", "d", "e", "f"])
      assert.isBelow(journal.indexOf("+a"), journal.indexOf("made d"))
      assert.isBelow(journal.indexOf("+c"), journal.indexOf("made f"))
      assert.strictEqual(journal.length, 12)
    }))

  it.scoped("an interruption while they are begun leaves nothing, and begins no more of them", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const servers = yield* fakes("a b c d e f", { journal })
      const manager = yield* over(servers, {
        connection: ({ name }) => {
          if (name === "c") starting?.unsafeInterruptAsFork(FiberId.none)
          journal.push(`made ${name}`)
          return {}
        }
      })
      const starting: Fiber.RuntimeFiber<unknown, unknown> | undefined = yield* Effect.fork(manager.connectAll)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(starting)))
      assert.include(journal, "+a")
      assert.notInclude(journal, "made e")
      assert.strictEqual(
        journal.filter((_) => _.startsWith("-")).length,
        journal.filter((_) => _.startsWith("+")).length
      )
      assert.deepStrictEqual((yield* attemptsOf(servers)).slice(4), [0, 0])
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c", "d", "e", "f"])
    }))

  const turns = Array.from({ length: 12 }, (_, i) => i)
  const after = (count: number) => Effect.repeatN(Effect.yieldNow(), count)

  it.scoped("interrupted while they are begun, it leaves those as they were that it has not begun", () =>
    Effect.gen(function*() {
      for (const count of turns) {
        const servers = yield* fakes("a b c d e f")
        const manager = yield* over(servers)
        yield* manager.connectAll
        // Each has failed by itself, which is to be seen until it is tried again.
        for (const server of servers) {
          server.way = "unauthorized"
          yield* Effect.ignore((yield* manager.connection(server.name)).reconnect)
        }
        yield* settled
        const before = yield* views(manager)
        assert.strictEqual(before.failed, "a b c d e f")
        for (const server of servers) server.way = "works"
        const starting = yield* Effect.fork(manager.connectAll)
        yield* after(count)
        yield* Fiber.interrupt(starting)
        yield* settled
        const { failed } = yield* views(manager)
        // One in each turn is begun at most.
        for (const { name } of servers.slice(count + 1)) assert.include(failed, name, `after ${count} turns`)
      }
    }))

  it.scoped("interrupted while they are begun anew, it leaves each usable", () =>
    Effect.gen(function*() {
      for (let count = 0; count < 60; count += 2) {
        const servers = yield* fakes("a b c d e f")
        const manager = yield* over(servers)
        yield* manager.connectAll
        yield* manager.close
        yield* manager.connectAll
        const starting = yield* Effect.fork(manager.reconnect({ failedOnly: false }))
        yield* after(count)
        yield* Fiber.interrupt(starting)
        yield* settled
        const calls = yield* Effect.forEach(servers, ({ name }) => Effect.exit(manager.callTool(name, { name })))
        assert.deepStrictEqual(calls.map(ending), calls.map(() => "success"), `after ${count} turns`)
      }
    }))

  it.scoped("closed while they are begun, it begins no more of them, and has nothing to warn of", () =>
    Effect.gen(function*() {
      for (const count of turns) {
        const lines: Array<Line> = []
        const servers = yield* fakes("a b c d e f")
        const { end, manager } = yield* overInScope(servers, { lines })
        const starting = yield* Effect.fork(manager.connectAll)
        yield* after(count)
        yield* end
        yield* Fiber.await(starting)
        yield* settled
        assert.deepStrictEqual(lines.filter((_) => _.level === "WARN").map((_) => _.text), [], `after ${count} turns`)
      }
    }))

  it.scoped("one server after the other, or few at once: stored tools need no turn", () =>
    Effect.gen(function*() {
      const { layer } = storeOf({ a: ["a"], b: ["b"], c: ["c"] })
      for (const options of [{ mode: "sequential" }, { concurrency: 1 }, { concurrency: 2 }] as const) {
        const servers = yield* slow("a b c")
        const manager = yield* over(servers, { store: layer, ...options })
        assert.deepStrictEqual(yield* startOf(manager), { active: "a b c", took: 250 })
        assert.strictEqual(yield* known(manager), "a deferred: a, b deferred: b, c deferred: c")
        yield* pass(15_000, 1000)
        assert.strictEqual(yield* known(manager), "a live: a, b live: b, c live: c")
        assert.deepStrictEqual(yield* attemptsOf(servers), [1, 1, 1])
      }
    }))

  it.scoped("a second start waits as the first one did, and connects nothing twice", () =>
    Effect.gen(function*() {
      const servers = yield* slow("a b")
      const manager = yield* over(servers, { store: storeOf({ a: ["a"], b: ["b"] }).layer })
      yield* startOf(manager)
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 250 })
      yield* pass(5000, 500)
      assert.deepStrictEqual(yield* attemptsOf(servers), [1, 1])
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 0 })
    }))

  it.scoped("an interrupted start closes what it has begun; what comes after the gate goes on without it", () =>
    Effect.gen(function*() {
      const servers = yield* slow("a b")
      const { layer } = storeOf({ a: ["a"], b: ["b"] })
      const manager = yield* over(servers, { store: layer })
      const starting = yield* begun(manager.connectAll)
      yield* pass(100)
      yield* Fiber.interrupt(starting)
      yield* pass(6000, 500)
      assert.strictEqual(yield* phases(manager), "a disconnected, b disconnected")
      assert.strictEqual((yield* views(manager)).active, "")
      yield* startOf(manager)
      yield* pass(5000, 500)
      assert.strictEqual(yield* phases(manager), "a connected, b connected")
    }))
})

describe("the store", () => {
  it.scoped("may be slower than the gate", () =>
    Effect.gen(function*() {
      const store = storeOf({ a: ["a"], b: ["b"] })
      store.beforeLoad = Effect.sleep(400)
      const manager = yield* over(yield* slow("a b"), { store: store.layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 400 })
      assert.strictEqual(yield* known(manager), "a deferred: a, b deferred: b")
    }))

  it.scoped("that hangs, fails or dies is as if nothing were stored", () =>
    Effect.gen(function*() {
      for (const beforeLoad of [Effect.never, Effect.dieMessage("scripted"), Effect.interrupt]) {
        const store = storeOf({ a: ["a"], b: ["b"] })
        store.beforeLoad = beforeLoad
        const manager = yield* over(yield* slow("a b"), { store: store.layer })
        assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 5000 })
        assert.strictEqual(yield* known(manager), "a live: a, b live: b")
      }
    }))

  it.scoped("that hangs delays no lazy server for longer than its connection may take", () =>
    Effect.gen(function*() {
      const store = storeOf({ a: ["a"] })
      store.beforeLoad = Effect.never
      const manager = yield* over([yield* fake("a", { config: { lifetime: "lazy" } })], { store: store.layer })
      const { took } = yield* startOf(manager)
      assert.isAtMost(took, 10_000)
      assert.strictEqual((yield* views(manager)).phases, "a connected")
    }))

  it.scoped("an empty list says nothing: the server is waited for", () =>
    Effect.gen(function*() {
      const manager = yield* over(yield* slow("a b"), { store: storeOf({ a: [], b: ["b"] }).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 5000 })
    }))

  it.scoped("with rubbish in it is as if nothing were stored, and the rubbish is replaced", () =>
    Effect.gen(function*() {
      const entries = new Map<string, string>()
      for (const rubbish of ["", "null", "[]", `{"version":1,"items":[{}]}`, "\u0000".repeat(10)]) {
        const { layer } = storeOver(entries, () => rubbish)
        const manager = yield* over(yield* slow("a"), { store: layer })
        assert.deepStrictEqual(yield* startOf(manager), { active: "a", took: 5000 })
      }
      yield* eventually(() => entries.size === 1)
      assert.include([...entries.values()][0], `"name":"a"`)
    }))

  it.scoped("that hangs below the runtime's own costs a second at most", () =>
    Effect.gen(function*() {
      const { layer } = storeOver(new Map(), undefined, Effect.never)
      const lazy = yield* fake("a", { config: { lifetime: "lazy" } })
      const manager = yield* over([lazy], { store: layer })
      const { took } = yield* startOf(manager)
      assert.isAtMost(took, 2000)
      assert.strictEqual((yield* views(manager)).phases, "a connected")
    }))
})

/** The real store, over entries that the test sees. */
const storeOver = (
  entries: Map<string, string>,
  answer: (key: string) => string | undefined = (key) => entries.get(key),
  before: Effect.Effect<void> = Effect.void
) => {
  const underlying = KeyValueStore.makeStringOnly({
    get: (key) => Effect.map(before, () => Option.fromNullable(answer(key))),
    set: (key, value) => Effect.sync(() => void entries.set(key, value)),
    remove: (key) => Effect.sync(() => void entries.delete(key)),
    clear: Effect.sync(() => entries.clear()),
    size: Effect.sync(() => entries.size)
  })
  return { layer: Layer.provide(CatalogStore.layer(), Layer.succeed(KeyValueStore.KeyValueStore, underlying)) }
}

/** What needs real time outside of this program's hands: a hash of the platform. Bounded by the time of the test. */
const eventually = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => condition() ? Effect.void : Effect.zipRight(settled, eventually(condition)))

describe("after the gate", () => {
  it.scoped("a server that connects replaces its deferred tools, and whoever follows is told", () =>
    Effect.gen(function*() {
      const servers = [
        yield* fake("a", { delay: 1000, tools: ["x", "new"] }),
        yield* fake("b", { delay: 2000 }),
        yield* fake("c")
      ]
      const manager = yield* over(servers, { store: storeOf({ a: ["x", "gone"], b: ["b"] }).layer })
      const lists = yield* following(McpCatalog.make(manager).changes, told)
      const states = yield* following(manager.changes, phasesOf)
      yield* startOf(manager)
      lists.splice(0)
      states.splice(0)
      yield* pass(750)
      assert.deepStrictEqual(lists.at(-1), "a live: x new, b deferred: b, c live: c")
      assert.deepStrictEqual(states.at(-1), "a connected, b connecting, c connected")
      yield* pass(1000)
      assert.deepStrictEqual(lists.at(-1), "a live: x new, b live: b, c live: c")
      assert.deepStrictEqual(states.at(-1), "a connected, b connected, c connected")
      const [a] = (yield* manager.state).servers
      assert.deepStrictEqual(a?.tools?.drift, { added: ["new"], removed: ["gone"], changed: [] })
    }))

  it.scoped("one that fails is an error in the state, leaves active and is logged once", () =>
    Effect.gen(function*() {
      const lines: Array<Line> = []
      yield* Effect.gen(function*() {
        const servers = [yield* fake("a", { delay: 1000, way: "refused" }), yield* fake("b")]
        const manager = yield* over(servers, { store: storeOf({ a: ["a"], b: ["b"] }).layer })
        const lists = yield* following(McpCatalog.make(manager).changes, told)
        assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 250 })
        yield* pass(60_000, 250)
        assert.deepStrictEqual(yield* views(manager), {
          active: "b",
          connected: "b",
          failed: "a",
          errors: "a ConnectFailed",
          phases: "a failed, b connected"
        })
        assert.strictEqual(lists.at(-1), "b live: b")
        const warnings = lines.filter((_) => _.level === "WARN" || _.level === "ERROR")
        assert.strictEqual(warnings.length, 1, JSON.stringify(warnings))
        assert.strictEqual(warnings[0]?.server, "a")
        assert.include(warnings[0]?.text, "could not be connected")
      }).pipe(Effect.provide(noting(lines)))
    }))

  it.scoped("one that hangs has the time to connect, and not more", () =>
    Effect.gen(function*() {
      for (const way of ["hangs at start", "hangs in initialize", "hangs in tools/list"] as const) {
        const lines: Array<Line> = []
        yield* Effect.gen(function*() {
          const servers = [yield* fake("a", { way })]
          const manager = yield* over(servers, { store: storeOf({ a: ["a"] }).layer })
          assert.deepStrictEqual(yield* startOf(manager), { active: "a", took: 250 })
          yield* pass(9700, 100)
          assert.strictEqual((yield* views(manager)).phases, "a connecting")
          yield* pass(100)
          assert.strictEqual((yield* views(manager)).errors, "a RequestTimeout", way)
          assert.strictEqual((yield* views(manager)).active, "", way)
          yield* pass(20_000, 1000)
          assert.strictEqual((yield* views(manager)).errors, "a RequestTimeout", way)
          assert.strictEqual(lines.filter((_) => _.level === "WARN").length, 1)
          assert.strictEqual((yield* servers[0]!.server.stats).live.length, 0)
        }).pipe(Effect.scoped, Effect.provide(noting(lines)))
      }
    }))

  it.scoped("with dropFailed: false one that fails stays active, with its stored tools and the error", () =>
    Effect.gen(function*() {
      const servers = [yield* fake("a", { delay: 1000, way: "refused" })]
      const manager = yield* over(servers, { store: storeOf({ a: ["a"] }).layer, dropFailed: false })
      yield* startOf(manager)
      yield* pass(1000)
      assert.strictEqual((yield* views(manager)).active, "a")
      assert.strictEqual(yield* known(manager), "a deferred: a (ConnectFailed)")
    }))

  it.scoped("one that does not offer tools any more has none", () =>
    Effect.gen(function*() {
      const servers = [yield* fake("a", { delay: 1000, capabilities: {} })]
      const store = storeOf({ a: ["gone"] })
      const manager = yield* over(servers, { store: store.layer })
      yield* startOf(manager)
      assert.strictEqual(yield* known(manager), "a deferred: gone")
      yield* pass(1000)
      assert.strictEqual((yield* views(manager)).phases, "a connected")
      assert.strictEqual(yield* known(manager), "a live:")
      assert.strictEqual(told(yield* McpCatalog.make(manager).tools), "a live:")
      assert.deepStrictEqual(store.tools.get("a"), [])
    }))

  it.scoped("what is stored comes too late for a server that is there already, also one without tools", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const store = storeOf({ a: ["old"], b: ["old"] })
      store.beforeLoad = Deferred.await(held)
      const servers = [yield* fake("a"), yield* fake("b", { capabilities: {} })]
      const manager = yield* over(servers, { store: store.layer })
      yield* startOf(manager)
      yield* Deferred.succeed(held, undefined)
      yield* settled
      for (const list of yield* McpCatalog.make(manager).current) {
        assert.notInclude(list.items.map((_) => _.name), "old")
      }
    }))
})

describe("a lazy server", () => {
  it.scoped("with stored tools is not connected before its first call", () =>
    Effect.gen(function*() {
      const lazy = yield* fake("a", { config: { lifetime: "lazy" }, delay: 1000 })
      const manager = yield* over([lazy, yield* fake("b")], { store: storeOf({ a: ["a"], b: ["b"] }).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a b", took: 0 })
      yield* pass(60_000, 1000)
      assert.strictEqual(yield* phases(manager), "a idle, b connected")
      assert.strictEqual(yield* known(manager), "a deferred: a, b live: b")
      assert.strictEqual(told(yield* McpCatalog.make(manager).tools), "a deferred: a, b live: b")
      assert.strictEqual((yield* lazy.server.stats).attempts, 0)
      const { exit, took } = yield* timed(manager.callTool("a", { name: "a" }))
      assert.deepStrictEqual([ending(exit), took], ["success", 1000])
      assert.strictEqual(yield* phases(manager), "a connected, b connected")
      assert.strictEqual(yield* known(manager), "a live: a, b live: b")
      assert.strictEqual((yield* lazy.server.stats).attempts, 1)
      assert.strictEqual((yield* lazy.server.receivedOf("tools/list")).length, 1)
    }))

  it.scoped("whose tools are known is at rest when all are connected anew", () =>
    Effect.gen(function*() {
      const lazy = yield* fake("a", { config: { lifetime: "lazy" } })
      const manager = yield* over([lazy])
      yield* timed(manager.connectAll)
      assert.strictEqual(yield* phases(manager), "a connected")
      const { exit } = yield* timed(manager.reconnect({ failedOnly: false }))
      assert.deepStrictEqual(exit, Exit.succeed(["a"]))
      assert.strictEqual(yield* phases(manager), "a idle")
      assert.strictEqual(yield* known(manager), "a live: a")
      assert.strictEqual((yield* lazy.server.stats).attempts, 1)
      assert.strictEqual(ending((yield* timed(manager.callTool("a", { name: "a" }))).exit), "success")
      assert.strictEqual(yield* phases(manager), "a connected")
    }))

  for (const how of ["connectAll", "connect", "reconnect", "all anew"] as const) {
    it.scoped(`that has failed is tried, though its tools are known (${how})`, () =>
      Effect.gen(function*() {
        const lazy = yield* fake("a", { config: { lifetime: "lazy" } })
        const manager = yield* over([lazy])
        const connected = timed<unknown, McpError.McpError, never>(
          how === "connectAll"
            ? manager.connectAll
            : how === "connect"
            ? manager.connect("a")
            : manager.reconnect({ failedOnly: how === "reconnect" })
        )
        yield* timed(manager.connectAll)
        lazy.way = "forbidden"
        yield* lazy.server.disconnect()
        yield* pass(10_000, 1000)
        assert.strictEqual(yield* phases(manager), "a failed")
        // A try in vain is no success, however often.
        for (let i = 0; i < 2; i++) {
          const { attempts } = yield* lazy.server.stats
          yield* connected
          assert.strictEqual(yield* phases(manager), "a failed")
          assert.isAbove((yield* lazy.server.stats).attempts, attempts)
        }
        lazy.way = "works"
        assert.strictEqual(ending((yield* connected).exit), "success")
        assert.strictEqual(yield* phases(manager), "a connected")
      }))
  }

  it.scoped("without stored tools is connected with the others", () =>
    Effect.gen(function*() {
      const lazy = yield* fake("a", { config: { lifetime: "lazy" }, delay: 1000 })
      const manager = yield* over([lazy], { store: storeOf({}).layer })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a", took: 1000 })
      assert.strictEqual(yield* known(manager), "a live: a")
    }))
})

describe("the next run", () => {
  const run = (entries: Map<string, string>, options: FakeOptions = {}) =>
    Effect.gen(function*() {
      const a = yield* fake("a", { delay: 5000, ...options })
      const manager = yield* over([a], { store: storeOver(entries).layer })
      return { a, manager }
    })

  /** The hash is real: the store has answered when this is known. */
  const started = (manager: McpManager.Manager) =>
    Effect.gen(function*() {
      const starting = yield* begun(manager.connectAll)
      yield* pass(250)
      yield* eventually(() => Effect.runSync(manager.state).servers.every((_) => _.tools !== undefined))
      yield* Effect.flatten(Fiber.join(starting))
      return yield* known(manager)
    })

  it.scoped("starts from what the last one has stored", () =>
    Effect.gen(function*() {
      const entries = new Map<string, string>()
      yield* Effect.scoped(Effect.gen(function*() {
        const { manager } = yield* run(entries)
        yield* timed(manager.connectAll)
        yield* eventually(() => entries.size === 1)
      }))
      const { manager } = yield* run(entries, { tools: ["a", "b"], config: { timeouts: { request: "5 seconds" } } })
      assert.strictEqual(yield* started(manager), "a deferred: a")
      yield* pass(5000, 500)
      assert.strictEqual(yield* known(manager), "a live: a b")
      yield* eventually(() => [...entries.values()].some((_) => _.includes(`"b"`)))
    }))

  it.scoped("of another configuration starts from nothing", () =>
    Effect.gen(function*() {
      const entries = new Map<string, string>()
      yield* Effect.scoped(Effect.gen(function*() {
        const { manager } = yield* run(entries)
        yield* timed(manager.connectAll)
        yield* eventually(() => entries.size === 1)
      }))
      const { manager } = yield* run(entries, { config: { args: ["--other"] } })
      assert.deepStrictEqual(yield* startOf(manager), { active: "a", took: 5000 })
      yield* eventually(() => entries.size === 2)
    }))

  it.scoped("a server in this process is not stored, nor is one without tools", () =>
    Effect.gen(function*() {
      const entries = new Map<string, string>()
      const inside = {
        name: "a",
        transport: "inMemory",
        server: () => new Server({ name: "a", version: "1" })
      } as const
      const cases: ReadonlyArray<readonly [FakeOptions, McpConfig.ServerConfigInput?]> = [
        [{}, inside],
        [{ capabilities: {} }],
        [{ tools: [] }]
      ]
      for (const [options, config] of cases) {
        for (let i = 0; i < 2; i++) {
          const a = yield* fake("a", { delay: 5000, ...options })
          const scope = yield* Scope.make()
          const { layer } = storeOver(entries)
          const manager = yield* Scope.extend(
            over([a], { store: layer, ...(config !== undefined && { servers: [config] }) }),
            scope
          )
          assert.deepStrictEqual(yield* startOf(manager), { active: "a", took: 5000 })
          yield* Scope.close(scope, Exit.void)
        }
      }
      // What comes after them is stored: they had their chance.
      const last = yield* over([yield* fake("z")], { store: storeOver(entries).layer })
      yield* startOf(last)
      yield* eventually(() => entries.size > 0)
      assert.strictEqual(entries.size, 1)
      assert.include([...entries.values()][0], `"name":"z"`)
    }))
})
