/**
 * Other servers for those there are: only what has changed is touched.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpManager } from "@mcp-runtime/core"
import { Effect, Fiber, Redacted } from "effect"
import {
  assertNothingLeft,
  begun,
  brief,
  ending,
  failure,
  fake,
  fakes,
  generation,
  interrupted,
  over,
  pass,
  phases,
  settled,
  timed,
  views
} from "./kit.js"

const slow = { name: "slow", call: () => Effect.delay(Effect.succeed("done"), 60_000) }

const none = { added: [], restarted: [], removed: [], unchanged: [] }

const untyped = (...servers: ReadonlyArray<unknown>) => servers as McpManager.ManagerOptions["servers"]

const attempts = (
  all: ReadonlyArray<{ readonly server: { readonly stats: Effect.Effect<{ readonly attempts: number }> } }>
) => Effect.forEach(all, (_) => Effect.map(_.server.stats, (_) => _.attempts))

describe("McpManager: reload", () => {
  for (const strict of [false, true]) {
    it.scoped(`strict ${strict}: one changed entry restarts that one only; calls over the others go on`, () =>
      Effect.gen(function*() {
        const all = yield* fakes("a b c", { tools: [slow] })
        const [a, b, c] = all
        const manager = yield* over(all, { strict })
        yield* manager.connectAll
        const [connection, replaced] = [yield* manager.connection("a"), yield* manager.connection("b")]
        const before = [yield* manager.status("a"), yield* manager.status("c")]
        const calls = yield* Effect.forEach(["a", "b", "c"], (name) => begun(manager.callTool(name, { name: "slow" })))
        const report = yield* manager.reload(untyped(a!.config, { ...b!.config, args: ["--more"] }, c!.config))
        assert.deepStrictEqual(report, { ...none, restarted: ["b"], unchanged: ["a", "c"] })
        assert.isTrue(connection === (yield* manager.connection("a")))
        assert.isTrue(before[0] === (yield* manager.status("a")) && before[1] === (yield* manager.status("c")))
        assert.isFalse(replaced === (yield* manager.connection("b")))
        assert.strictEqual(ending(yield* Effect.exit(replaced.awaitReady)), "b: ConnectionUnavailable")
        assert.deepStrictEqual(yield* attempts(all), [1, 2, 1])
        assert.deepInclude(yield* manager.status("b"), { phase: "connected", name: "b" })
        assert.deepStrictEqual((yield* b!.server.stats).live, [2])
        yield* pass(60_000)
        const endings = yield* Effect.forEach(calls, (_) => Effect.map(Fiber.join(_), ending))
        assert.deepStrictEqual([endings[0], endings[2]], ["success", "success"])
        assert.match(endings[1]!, /^b: /)
        yield* manager.close
        yield* assertNothingLeft(...all)
      }))

    it.scoped(`strict ${strict}: added, removed and reordered at once; views are in the new order`, () =>
      Effect.gen(function*() {
        const [a, b, c, d] = yield* Effect.all([fake("a"), fake("b"), fake("c"), fake("d")])
        const manager = yield* over([a, b, c], { others: [d], strict })
        yield* manager.connectAll
        const gone = yield* manager.connection("b")
        const report = yield* manager.reload([d.config, c.config, a.config])
        assert.deepStrictEqual(report, { added: ["d"], restarted: [], removed: ["b"], unchanged: ["c", "a"] })
        assert.deepStrictEqual(yield* views(manager), {
          active: "d c a",
          connected: "d c a",
          failed: "",
          errors: "",
          phases: "d connected, c connected, a connected"
        })
        assert.deepStrictEqual(yield* attempts([a, b, c, d]), [1, 1, 1, 1])
        yield* assertNothingLeft(b)
        assert.strictEqual(ending(yield* Effect.exit(manager.callTool("b", { name: "b" }))), "b: UnknownServer")
        assert.strictEqual(ending(yield* Effect.exit(gone.awaitReady)), "b: ConnectionUnavailable")
        const before = yield* manager.state
        assert.deepStrictEqual(yield* manager.reload([d.config, c.config, a.config]), {
          ...none,
          unchanged: ["d", "c", "a"]
        })
        assert.deepStrictEqual(yield* manager.state, before)
        assert.deepStrictEqual(yield* manager.reload([]), { ...none, removed: ["d", "c", "a"] })
        assert.deepStrictEqual(yield* manager.configured, [])
        yield* assertNothingLeft(a, b, c, d)
      }))
  }

  it.scoped("secrets count: another one restarts the server, the same one does not", () =>
    Effect.gen(function*() {
      const config = (token: string | Redacted.Redacted<string>) => ({ config: { env: { TOKEN: token, MORE: "x" } } })
      const a = yield* fake("a", config(Redacted.make("one")))
      const again = yield* fake("a", config(Redacted.make("one")))
      const other = yield* fake("a", config(Redacted.make("two")))
      const manager = yield* over([a])
      yield* manager.connectAll
      assert.deepStrictEqual((yield* manager.reload([again.config])).unchanged, ["a"])
      assert.strictEqual(yield* generation(manager, "a"), 1)
      assert.deepStrictEqual((yield* manager.reload([other.config])).restarted, ["a"])
      assert.deepStrictEqual(yield* attempts([a]), [2])
      assert.notInclude(JSON.stringify(yield* manager.state), "two")
    }))

  it.scoped("what only looks different is the same: order of fields, durations in other words, defaults of a field", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { config: { args: ["x"], timeouts: { request: "5 seconds" } } })
      const manager = yield* over([a])
      yield* manager.connectAll
      const report = yield* manager.reload(untyped({
        timeouts: { request: "5000 millis" },
        args: ["x"],
        command: "server",
        cwd: undefined,
        name: "a",
        transport: "stdio"
      }))
      assert.deepStrictEqual(report.unchanged, ["a"])
    }))

  it.scoped("a server that is there twice, word by word, is there once", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b, a, a])
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b"])
      assert.deepStrictEqual((yield* manager.reload([b.config, { ...b.config }, a.config])).unchanged, ["b", "a"])
      assert.deepStrictEqual(yield* attempts([a, b]), [1, 1])
    }))

  it.scoped("two different servers with one name: an error that names them, and nothing changes", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      const before = yield* manager.state
      for (
        const servers of [
          untyped(a.config, b.config, { ...a.config, args: ["x"] }),
          untyped(a.config, { ...a.config, nonsense: true })
        ]
      ) {
        const error = failure(yield* Effect.exit(manager.reload(servers)))
        assert(error._tag === "ConfigInvalid")
        assert.deepStrictEqual(error.problems.map((_) => _.field), [`servers.${servers.length - 1}.name`])
        assert.include(error.message, `"a"`)
        assert.isTrue(before === (yield* manager.state))
      }
      assert.deepStrictEqual(yield* attempts([a, b]), [1, 1])
    }))

  it.scoped("what is no list, and what is no server", () =>
    Effect.gen(function*() {
      const a = yield* fake("a")
      const manager = yield* over([a])
      yield* manager.connectAll
      for (const servers of [undefined, null, {}, "a", 3, () => []]) {
        const error = failure(yield* Effect.exit(manager.reload(servers as never)))
        assert(error._tag === "ConfigInvalid")
        assert.deepStrictEqual(error.problems.map((_) => _.field), ["servers"])
      }
      const report = yield* manager.reload(untyped(a.config, 3, null, { command: "x" }))
      assert.deepStrictEqual(report, { ...none, added: ["#2", "#3", "#4"], unchanged: ["a"] })
      assert.strictEqual(yield* phases(manager), "a connected, #2 failed, #3 failed, #4 failed")
      assert.deepStrictEqual((yield* manager.reload(untyped(a.config, 3))).unchanged, ["a", "#2"])
      assert.deepStrictEqual(yield* attempts([a]), [1])
    }))

  it.scoped("an entry that is not valid any more has failed, and is closed; later it is valid again", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      const report = yield* manager.reload(untyped(a.config, { ...b.config, command: "" }))
      assert.deepStrictEqual(report, { ...none, restarted: ["b"], unchanged: ["a"] })
      assert.strictEqual((yield* views(manager)).errors, "b ConfigInvalid")
      yield* assertNothingLeft(b)
      assert.deepStrictEqual((yield* manager.reload([a.config, b.config])).restarted, ["b"])
      assert.strictEqual(yield* phases(manager), "a connected, b connected")
      assert.deepStrictEqual(yield* attempts([a, b]), [1, 2])
    }))

  it.scoped("a new server that fails is reported in the state, not as an error", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b", { way: "refused" })])
      const manager = yield* over([a], { others: [b] })
      yield* manager.connectAll
      assert.deepStrictEqual(yield* manager.reload([a.config, b.config]), { ...none, added: ["b"], unchanged: ["a"] })
      assert.strictEqual((yield* views(manager)).errors, "b ConnectFailed")
    }))

  it.scoped("disabled and enabled again", () =>
    Effect.gen(function*() {
      const a = yield* fake("a")
      const manager = yield* over([a])
      yield* manager.connectAll
      yield* manager.reload(untyped({ ...a.config, enabled: false }))
      assert.strictEqual(yield* phases(manager), "a disabled")
      yield* assertNothingLeft(a)
      yield* manager.reload([a.config])
      assert.strictEqual(yield* phases(manager), "a connected")
    }))

  it.scoped("strict: the old ones live on when a new one fails, and nothing of the new ones is left", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b c d")
      const [a, b, c, d] = all
      const manager = yield* over([a!, b!], { others: [c!, d!], strict: true })
      yield* manager.connectAll
      const before = yield* manager.state
      d!.way = "refused"
      const changed = { ...b!.config, args: ["x"] }
      const error = failure(yield* Effect.exit(manager.reload(untyped(c!.config, changed, d!.config))))
      assert.strictEqual(brief(error), "d: d ConnectFailed")
      assert.isTrue(before === (yield* manager.state))
      assert.deepStrictEqual((yield* b!.server.stats).live, [1])
      yield* assertNothingLeft(c!, d!)
      const invalid = failure(yield* Effect.exit(manager.reload(untyped(a!.config, { ...b!.config, command: "" }))))
      assert.strictEqual(brief(invalid), "b: b ConfigInvalid")
      assert.isTrue(before === (yield* manager.state))
      for (const name of ["a", "b"]) yield* manager.callTool(name, { name })
      d!.way = "works"
      assert.deepStrictEqual(yield* manager.reload(untyped(c!.config, changed, d!.config)), {
        added: ["c", "d"],
        restarted: ["b"],
        removed: ["a"],
        unchanged: []
      })
      assert.strictEqual((yield* views(manager)).connected, "c b d")
      yield* assertNothingLeft(a!)
    }))

  it.scoped("while nothing is connected, nothing is connected by it: before the start, and after close", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a], { others: [b] })
      const changed = untyped({ ...a.config, args: ["x"] }, b.config)
      assert.deepStrictEqual(yield* manager.reload(changed), { ...none, added: ["b"], restarted: ["a"] })
      assert.deepStrictEqual(yield* manager.active, ["a", "b"])
      assert.deepStrictEqual(yield* attempts([a, b]), [0, 0])
      yield* manager.connectAll
      yield* manager.close
      assert.deepStrictEqual(yield* manager.reload([a.config, { ...b.config, enabled: true }]), {
        ...none,
        restarted: ["a", "b"]
      })
      assert.deepStrictEqual(yield* attempts([a, b]), [1, 1])
      assert.deepStrictEqual(yield* manager.active, [])
    }))

  it.scoped("after close, what it has replaced or added is as closed as the rest: a use is an error", () =>
    Effect.gen(function*() {
      const [a, b, c] = yield* Effect.all([fake("a"), fake("b"), fake("c")])
      const manager = yield* over([a, b], { others: [c] })
      yield* manager.connectAll
      yield* manager.close
      yield* manager.reload(untyped(a.config, { ...b.config, args: ["x"] }, c.config))
      for (const name of ["a", "b", "c"]) {
        assert.strictEqual(
          ending(yield* Effect.exit(manager.callTool(name, { name }))),
          `${name}: ConnectionUnavailable`
        )
      }
      assert.deepStrictEqual(yield* attempts([a, b, c]), [1, 1, 0])
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c"])
    }))

  it.scoped("one that was disconnected stays so, also where its configuration has changed", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const manager = yield* over([a, b])
      yield* manager.connectAll
      yield* manager.disconnect("a")
      const report = yield* manager.reload(untyped({ ...a.config, args: ["x"] }, { ...b.config, args: ["x"] }))
      assert.deepStrictEqual(report, { ...none, restarted: ["a", "b"] })
      assert.strictEqual(yield* phases(manager), "a disconnected, b connected")
      assert.strictEqual(ending(yield* Effect.exit(manager.callTool("a", { name: "a" }))), "a: ConnectionUnavailable")
      yield* manager.connect("a")
      yield* manager.callTool("a", { name: "a" })
    }))

  it.scoped("interrupted: what it has opened is closed; the new configuration is there, and can be connected", () =>
    Effect.gen(function*() {
      const [a, b, c] = yield* Effect.all([fake("a"), fake("b", { way: "hangs in initialize" }), fake("c")])
      const manager = yield* over([a], { others: [b, c] })
      yield* manager.connectAll
      const reloading = yield* begun(manager.reload([a.config, b.config, c.config]))
      assert.strictEqual(yield* phases(manager), "a connected, b connecting, c connected")
      assert.strictEqual(ending(yield* interrupted(reloading)), "interrupted")
      assert.strictEqual(yield* phases(manager), "a connected, b disconnected, c disconnected")
      yield* assertNothingLeft(b, c)
      b.way = "works"
      assert.deepStrictEqual(yield* manager.connectAll, ["a", "b", "c"])
      assert.deepStrictEqual(yield* attempts([a]), [1])
    }))

  it.scoped("strict, interrupted: everything is as it was", () =>
    Effect.gen(function*() {
      const [a, b, c] = yield* Effect.all([fake("a"), fake("b"), fake("c")])
      const manager = yield* over([a, b], { others: [c], strict: true })
      yield* manager.connectAll
      const before = yield* manager.state
      c.way = "hangs in initialize"
      const reloading = yield* begun(manager.reload(untyped({ ...a.config, args: ["x"] }, c.config)))
      assert.deepStrictEqual((yield* a.server.stats).live, [1, 2])
      assert.strictEqual(ending(yield* interrupted(reloading)), "interrupted")
      assert.isTrue(before === (yield* manager.state))
      assert.deepStrictEqual((yield* a.server.stats).live, [1])
      yield* assertNothingLeft(c)
    }))

  it.scoped("what is replaced and hangs when it is closed does not keep the new one away for long", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { closing: "hangs" })
      const manager = yield* over([a], { closeTimeout: 1000 })
      yield* manager.connectAll
      const { exit, took } = yield* timed(manager.reload(untyped({ ...a.config, args: ["x"] })))
      assert.strictEqual(ending(exit), "success")
      assert.isAtMost(took, 2000)
      assert.strictEqual(yield* phases(manager), "a connected")
      a.closing = "works"
      a.letGo()
      yield* settled
      yield* manager.close
      yield* assertNothingLeft(a)
    }))

  it.scoped("one that is being connected after the gate is replaced: the old attempt ends", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "hangs in initialize" })
      const manager = yield* over([a], { connectTimeout: 60_000 })
      const connecting = yield* begun(manager.connectAll)
      yield* interrupted(connecting)
      a.way = "works"
      yield* manager.reload(untyped({ ...a.config, args: ["x"] }))
      yield* manager.connectAll
      assert.strictEqual(yield* phases(manager), "a connected")
      const { closed, opened } = yield* a.server.stats
      assert.strictEqual(opened - closed, 1)
    }))

  for (const how of ["fails", "is interrupted"]) {
    it.scoped(`after close, a connect that ${how} does not make it connect what is added later`, () =>
      Effect.gen(function*() {
        const all = yield* fakes("a b c")
        const manager = yield* over(all.slice(0, 2), { others: all.slice(2) })
        yield* manager.connectAll
        yield* manager.close
        all[0]!.way = how === "fails" ? "refused" : "hangs at start"
        const connecting = yield* begun(manager.connect("a"))
        if (how === "fails") assert.strictEqual(ending(yield* Fiber.join(connecting)), "a: ConnectFailed")
        else yield* interrupted(connecting)
        yield* manager.reload(untyped(...all.map((_) => _.config)))
        yield* settled
        assert.include(yield* phases(manager), "c disconnected")
        yield* manager.connect("b")
        yield* manager.reload(untyped(all[1]!.config))
        yield* manager.reload(untyped(...all.slice(1).map((_) => _.config)))
        assert.strictEqual(yield* phases(manager), "b connected, c connected")
      }))
  }

  it.scoped("strict: nor does a reconnection of all that fails", () =>
    Effect.gen(function*() {
      const all = yield* fakes("a b c")
      const manager = yield* over(all.slice(0, 2), { others: all.slice(2), strict: true })
      yield* manager.connectAll
      yield* manager.close
      all[0]!.way = "refused"
      assert.strictEqual(failure(yield* Effect.exit(manager.reconnect({ failedOnly: false })))._tag, "ServersFailed")
      yield* manager.reload(untyped(...all.slice(1).map((_) => _.config)))
      assert.include(yield* phases(manager), "c disconnected")
    }))
})
