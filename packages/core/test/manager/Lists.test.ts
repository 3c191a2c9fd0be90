/**
 * What all servers offer together: what is known is given at once and as it is, and one broken server costs only its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { McpCatalog, McpError, McpManager } from "@mcp-runtime/core"
import type * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import {
  begun,
  ending,
  type Fake,
  fake,
  type FakeOptions,
  fakes,
  isDone,
  type Over,
  over,
  pass,
  phases,
  settled,
  timed
} from "./kit.js"
import { following, storeOf, told } from "./stores.js"

/** Servers that are connected. */
const connected = (all: ReadonlyArray<Fake>, options?: Over) =>
  Effect.gen(function*() {
    const manager = yield* over(all, options)
    yield* manager.connectAll
    yield* settled
    return { manager, lists: McpCatalog.make(manager) }
  })

/** A server whose list is what the test says. */
const changing = (name: string, options: FakeOptions = {}) =>
  Effect.gen(function*() {
    const world = { tools: [name], listing: Effect.void as Effect.Effect<void, McpError.McpError> }
    const list: ScriptedServer.Handler = () =>
      Effect.suspend(() =>
        Effect.map(
          world.listing,
          () => ({ tools: world.tools.map((name) => ({ name, inputSchema: { type: "object" } })) })
        )
      )
    const server = yield* fake(name, {
      capabilities: { tools: { listChanged: true } },
      ...options,
      handlers: { "tools/list": list, ...options.handlers }
    })
    return Object.assign(server, { world })
  })

const listings = ({ server }: Fake) => Effect.map(server.receivedOf("tools/list"), (_) => _.length)

const lost = new McpError.RemoteError({
  server: "b",
  operation: "tools/list",
  executed: "maybe",
  code: -32603,
  reason: "scripted",
  data: undefined
})

describe("current", () => {
  it.scoped("is the same value while nothing changes, and its items are those of the catalogues", () =>
    Effect.gen(function*() {
      const servers = [yield* changing("a"), yield* changing("b"), yield* changing("c")]
      const { lists, manager } = yield* connected(servers)
      const first = yield* lists.current
      assert.isTrue(Object.isFrozen(first))
      for (const list of first) {
        assert.isTrue(Object.isFrozen(list))
        const { tools } = (yield* manager.connection(list.server)).catalog
        assert.strictEqual(list.items, (yield* tools.get).items)
        assert.strictEqual(list.items, (yield* manager.status(list.server)).tools?.items)
      }
      for (let i = 0; i < 100; i++) assert.isTrue((yield* lists.current) === first)
      assert.isTrue((yield* lists.tools) === first)
      // What happens elsewhere changes nothing of it.
      yield* manager.callTool("a", { name: "a" })
      yield* manager.connectAll
      assert.isTrue((yield* lists.current) === first)
      const [a] = servers
      a!.world.tools = ["a", "new"]
      yield* a!.server.notify("notifications/tools/list_changed")
      yield* pass(200, 50)
      const second = yield* lists.current
      assert.strictEqual(told(second), "a live: a new, b live: b, c live: c")
      assert.isFalse(second === first)
      assert.isTrue(second[1] === first[1] && second[2] === first[2])
    }))

  it.scoped("is in configured order, whatever finished first, also after another configuration", () =>
    Effect.gen(function*() {
      const servers = [
        yield* fake("a", { delay: 300 }),
        yield* fake("b", { delay: 100 }),
        yield* fake("c", { delay: 200 })
      ]
      const manager = yield* over(servers)
      const lists = McpCatalog.make(manager)
      yield* timed(manager.connectAll)
      assert.strictEqual(told(yield* lists.current), "a live: a, b live: b, c live: c")
      yield* timed(manager.reload([servers[2]!.config, servers[0]!.config]))
      assert.strictEqual(told(yield* lists.current), "c live: c, a live: a")
      assert.strictEqual(told(yield* lists.tools), "c live: c, a live: a")
    }))

  it.scoped("before the first start, all are there, unknown; reading does not connect them", () =>
    Effect.gen(function*() {
      const servers = yield* fakes("a b")
      const lists = McpCatalog.make(yield* over(servers))
      assert.strictEqual(told(yield* lists.current), "a unknown:, b unknown:")
      assert.strictEqual(told(yield* lists.tools), "a unknown:, b unknown:")
      assert.strictEqual(told(yield* lists.prompts), "a unknown:, b unknown:")
      for (const { server } of servers) assert.strictEqual((yield* server.stats).attempts, 0)
    }))

  it.scoped("of many catalogues over one manager are the same items", () =>
    Effect.gen(function*() {
      const { lists, manager } = yield* connected(yield* fakes("a b"))
      const other = yield* McpCatalog.McpCatalog.pipe(
        Effect.provide(Layer.provide(McpCatalog.layer, Layer.succeed(McpManager.McpManager, manager)))
      )
      const [one, two] = [yield* lists.current, yield* other.current]
      assert.strictEqual(told(one), told(two))
      for (const [i, list] of one.entries()) assert.isTrue(list.items === two[i]!.items)
    }))
})

describe("tools", () => {
  it.scoped("one broken server costs its own list only, and says why", () =>
    Effect.gen(function*() {
      const [a, b, c] = [yield* changing("a"), yield* changing("b"), yield* changing("c")]
      const { lists } = yield* connected([a, b, c])
      b.world.listing = Effect.fail(lost)
      yield* lists.invalidate
      assert.strictEqual(told(yield* lists.current), "a live stale: a, b live stale: b, c live stale: c")
      const read = yield* timed(lists.tools)
      assert.deepStrictEqual(
        yield* Effect.map(read.exit, told),
        "a live: a, b live stale: b (RemoteError), c live: c"
      )
      assert.strictEqual(told(yield* lists.current), "a live: a, b live stale: b (RemoteError), c live: c")
      b.world.listing = Effect.void
      const healed = yield* lists.tools
      assert.strictEqual(told(healed), "a live: a, b live: b, c live: c")
      assert.isTrue(healed === (yield* lists.current))
      assert.isTrue((yield* lists.tools) === (yield* lists.current))
    }))

  it.scoped("one whose connection can't even be made costs its own list only, and nobody dies of it", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b], {
        dropFailed: false,
        connection: ({ name }) => {
          if (name === "b") throw new Error("scripted")
          return {}
        }
      })
      yield* manager.connectAll
      const catalog = McpCatalog.make(manager)
      yield* catalog.invalidate
      assert.strictEqual(told(yield* catalog.tools), "a live: a, b unknown: (ConfigInvalid)")
      for (const use of [manager.connection("b"), manager.callTool("b", { name: "b" })]) {
        assert.strictEqual(
          ending(
            yield* Effect.exit<void, McpError.McpError, never>(Effect.asVoid<unknown, McpError.McpError, never>(use))
          ),
          "b: ConfigInvalid"
        )
      }
    }))

  it.scoped("a server that hangs in tools/list holds up whoever reads for as long as a request may take", () =>
    Effect.gen(function*() {
      const [a, b] = [
        yield* changing("a"),
        yield* changing("b", { config: { timeouts: { request: "3 seconds", total: "3 seconds" } } })
      ]
      const { lists } = yield* connected([a, b])
      b.world.listing = Effect.never
      yield* lists.invalidate
      const reading = yield* begun(lists.tools)
      assert.isFalse(yield* isDone(reading))
      // What is known does not wait for it.
      assert.strictEqual(told(yield* lists.current), "a live: a, b live stale: b")
      yield* pass(60_000, 500)
      assert.isTrue(yield* isDone(reading))
      const read = yield* Effect.flatten(Fiber.join(reading))
      assert.strictEqual(told(read.slice(0, 1)), "a live: a")
      assert.strictEqual(read[1]?.items[0]?.name, "b")
      assert.isDefined(read[1]?.error)
      assert.isTrue(read[1]?.stale)
    }))

  it.scoped("a thousand readers of a stale list cost one listing", () =>
    Effect.gen(function*() {
      const a = yield* changing("a")
      const { lists } = yield* connected([a])
      const before = yield* listings(a)
      yield* lists.invalidate
      const read = yield* Effect.all(Array.from({ length: 1000 }, () => lists.tools), { concurrency: "unbounded" })
      assert.strictEqual(new Set(read.map(told)).size, 1)
      assert.strictEqual((yield* listings(a)) - before, 1)
    }))

  it.scoped("what is too old, or is never to be remembered, is read again", () =>
    Effect.gen(function*() {
      const a = yield* changing("a")
      const { lists } = yield* connected([a], { connection: { catalog: { cache: { ttl: "1 minute" } } } })
      assert.strictEqual(told(yield* lists.tools), "a live: a")
      a.world.tools = ["new"]
      yield* pass(59_000)
      assert.strictEqual(told(yield* lists.tools), "a live: a")
      yield* pass(1000)
      assert.strictEqual(told(yield* lists.tools), "a live: new")
      const b = yield* changing("b")
      const off = yield* connected([b], { connection: { catalog: { cache: "off" } } })
      b.world.tools = ["new"]
      assert.strictEqual(told(yield* off.lists.tools), "b live: new")
    }))

  it.scoped("a server whose session is lost is not waited for: it is what was known, stale or not", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* changing("a"), yield* changing("b")]
      const { lists, manager } = yield* connected([a, b])
      a.way = "hangs at start"
      yield* a.server.disconnect()
      yield* settled
      assert.strictEqual(yield* phases(manager), "a reconnecting, b connected")
      const reading = yield* begun(lists.tools)
      assert.isTrue(yield* isDone(reading))
      const read = yield* Effect.flatten(Fiber.join(reading))
      assert.deepStrictEqual(read.map((_) => _.items.map((_) => _.name)), [["a"], ["b"]])
    }))
})

describe("prompts, resources and templates", () => {
  for (const how of ["is replaced", "is reconnected"]) {
    it.scoped(`that a server was slow is not held against it when it ${how}`, () =>
      Effect.gen(function*() {
        let hangs = true
        const a = yield* fake("a", {
          capabilities: { prompts: {} },
          handlers: {
            "prompts/list": () =>
              Effect.suspend(() => hangs ? Effect.never : Effect.succeed({ prompts: [{ name: "p" }] }))
          }
        })
        const { lists, manager } = yield* connected([a], { enrich: false })
        const slow = yield* timed(lists.prompts)
        assert.strictEqual(slow.took, 10_000)
        // It is not waited for again.
        const again = yield* timed(lists.prompts)
        assert.strictEqual(again.took, 0)
        hangs = false
        if (how === "is replaced") yield* manager.reload([{ ...a.config, args: ["--fixed"] } as never])
        else yield* timed(manager.reconnect({ failedOnly: false }))
        yield* settled
        assert.strictEqual(told(yield* lists.prompts), "a live: p")
      }))
  }

  const offering = (name: string, capabilities: object) =>
    fake(name, {
      capabilities,
      handlers: {
        "prompts/list": () => Effect.succeed({ prompts: [{ name: `prompt of ${name}` }] }),
        "resources/list": () => Effect.succeed({ resources: [{ uri: `file:///${name}`, name }] }),
        "resources/templates/list": () =>
          Effect.succeed({ resourceTemplates: [{ uriTemplate: `file:///${name}/{x}`, name: `template of ${name}` }] })
      }
    })

  it.scoped("are asked only of servers that offer them", () =>
    Effect.gen(function*() {
      const servers = [
        yield* offering("a", { tools: {} }),
        yield* offering("b", { tools: {}, prompts: {} }),
        yield* offering("c", { resources: {} })
      ]
      const { lists } = yield* connected(servers, { enrich: false })
      assert.strictEqual(told(yield* lists.tools), "a live: a, b live: b, c live:")
      assert.strictEqual(told(yield* lists.prompts), "a live:, b live: prompt of b, c live:")
      assert.strictEqual(told(yield* lists.resources), "a live:, b live:, c live: c")
      assert.strictEqual(told(yield* lists.templates), "a live:, b live:, c live: template of c")
      const asked = yield* Effect.forEach(servers, ({ server }) =>
        Effect.map(server.received, (all) =>
          all.map((_) => _.method).filter((_) => _?.endsWith("/list")).join(" ")))
      assert.deepStrictEqual(asked, [
        "tools/list",
        "tools/list prompts/list",
        "resources/list resources/templates/list"
      ])
      // Nothing is asked twice.
      const again = yield* lists.prompts
      assert.strictEqual(told(again), "a live:, b live: prompt of b, c live:")
      assert.strictEqual((yield* servers[1]!.server.receivedOf("prompts/list")).length, 1)
    }))

  it.scoped("that can't be read are an error of that server", () =>
    Effect.gen(function*() {
      const [a, b] = [
        yield* fake("a", { capabilities: { tools: {}, prompts: {} } }),
        yield* offering("b", { tools: {}, prompts: {} })
      ]
      const { lists } = yield* connected([a, b])
      assert.strictEqual(told(yield* lists.prompts), "a unknown: (RemoteError), b live: prompt of b")
      assert.strictEqual(told(yield* lists.tools), "a live: a, b live: b")
    }))
})

describe("of one server", () => {
  it.scoped("is its catalogue; an unknown one is a typed error, whatever its name", () =>
    Effect.gen(function*() {
      const { lists } = yield* connected(yield* fakes("a"))
      assert.strictEqual((yield* (yield* lists.of("a")).tools.get).items[0]?.name, "a")
      for (const name of ["b", "", "constructor", "__proto__", "x".repeat(10_000)]) {
        const error = yield* Effect.flip(Effect.asVoid(lists.of(name)))
        assert.strictEqual(error._tag, "UnknownServer")
        assert.isBelow(error.message.length, 2000)
      }
    }))

  it.scoped("that is not valid is its configuration's error; a disabled one is there and not active", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { config: { enabled: false } })
      const manager = yield* over([a], { servers: [a.config, { name: "broken", transport: "stdio" } as never] })
      const lists = McpCatalog.make(manager)
      yield* manager.connectAll
      assert.strictEqual(ending(yield* Effect.exit(Effect.asVoid(lists.of("broken")))), "broken: ConfigInvalid")
      assert.deepStrictEqual(yield* lists.current, [])
      assert.deepStrictEqual(yield* lists.tools, [])
      assert.strictEqual((yield* lists.of("a")).server, "a")
      yield* lists.invalidate
    }))
})

describe("changes", () => {
  it.scoped("tells what is there, then each change once, and nothing where nothing has changed", () =>
    Effect.gen(function*() {
      const a = yield* changing("a")
      const { lists, manager } = yield* connected([a, yield* fake("b")])
      const seen = yield* following(lists.changes, told)
      assert.deepStrictEqual(seen, ["a live: a, b live: b"])
      yield* manager.connectAll
      yield* manager.callTool("a", { name: "a" })
      yield* (yield* lists.of("b")).tools.refresh
      yield* settled
      yield* pass(1000)
      assert.deepStrictEqual(
        seen.filter((_) => !_.includes("stale")),
        seen.length > 1 ? [seen[0]!, seen[0]!] : [seen[0]!]
      )
      const before = seen.length
      yield* a.server.notify("notifications/tools/list_changed")
      yield* pass(200, 50)
      assert.strictEqual(seen.at(-1), "a live: a, b live: b")
      a.world.tools = ["x"]
      for (let i = 0; i < 7; i++) yield* a.server.notify("notifications/tools/list_changed")
      yield* pass(200, 50)
      assert.strictEqual(seen.at(-1), "a live: x, b live: b")
      assert.isAtMost(seen.length - before, 6)
      yield* manager.disconnect("b")
      yield* settled
      assert.strictEqual(seen.at(-1), "a live: x")
    }))

  it.scoped("a slow reader misses what is between, never the last", () =>
    Effect.gen(function*() {
      const a = yield* changing("a")
      const { lists } = yield* connected([a])
      const held = yield* Deferred.make<void>()
      const seen: Array<string> = []
      yield* Effect.forkScoped(Stream.runForEach(lists.changes, (_) =>
        Effect.zipRight(
          Effect.sync(() => void seen.push(told(_))),
          Deferred.await(held)
        )))
      yield* settled
      for (let i = 0; i < 200; i++) {
        a.world.tools = [`t${i}`]
        yield* (yield* lists.of("a")).tools.refresh
      }
      assert.strictEqual(told(yield* lists.current), "a live: t199")
      assert.strictEqual(seen.length, 1)
      yield* Deferred.succeed(held, undefined)
      yield* settled
      assert.isBelow(seen.length, 5)
      assert.strictEqual(seen.at(-1), "a live: t199")
    }))

  it.scoped("ends with the manager", () =>
    Effect.gen(function*() {
      const running = yield* Effect.scoped(Effect.gen(function*() {
        const { lists } = yield* connected(yield* fakes("a"))
        const following = yield* Effect.forkDaemon(Stream.runDrain(lists.changes))
        yield* settled
        return following
      }))
      yield* Fiber.join(running)
    }))
})

describe("deferred lists", () => {
  it.scoped("are given as the store has them, without a copy, and reading waits for nobody", () =>
    Effect.gen(function*() {
      const store = storeOf({ a: ["a"] })
      const a = yield* fake("a", { delay: 5000 })
      const manager = yield* over([a], { store: store.layer })
      const lists = McpCatalog.make(manager)
      yield* timed(manager.connectAll)
      const reading = yield* begun(lists.tools)
      assert.isTrue(yield* isDone(reading))
      const [list] = yield* Effect.flatten(Fiber.join(reading))
      assert.strictEqual(list?.origin, "deferred")
      assert.isTrue(list?.items === store.tools.get("a"))
      const others = [lists.prompts, lists.resources, lists.templates]
      for (const other of others) assert.strictEqual(told(yield* other), "a unknown:")
      yield* pass(5000)
      // It has said what was known: nobody needs to look again.
      assert.isTrue((yield* lists.current)[0]?.items === store.tools.get("a"))
      assert.strictEqual(told(yield* lists.current), "a live: a")
    }))
})
