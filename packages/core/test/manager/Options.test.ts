/**
 * Options that can't be used are an error that names them, before anything is opened.
 */
import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpManager } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Effect, Exit, Layer } from "effect"
import { failure, fake, type Line, over, phases, timed } from "./kit.js"

const make = (options: unknown) =>
  Effect.asVoid(McpManager.make(options as McpManager.ManagerOptions)).pipe(
    Effect.provide(Layer.merge(ScriptedServer.layer(), CatalogStore.layerNone)),
    Effect.scoped
  )

const wrong: ReadonlyArray<readonly [field: string, options: object]> = [
  ...["serial", "", null, 1, true].map((mode) => ["mode", { mode }] as const),
  ...[0, -1, 1.5, NaN, "2", null, -Infinity, 2 ** 60].map((concurrency) => ["concurrency", { concurrency }] as const),
  ...[0, -1, 1.5, NaN, "2", null, Infinity].map((requests) => ["requests", { requests }] as const),
  ...["strict", "dropFailed", "enrich"].flatMap((field) =>
    [null, 0, 1, "true", {}].map((value) => [field, { [field]: value }] as const)
  ),
  ...["connectTimeout", "closeTimeout"].flatMap((field) =>
    [0, -1, NaN, Infinity, "soon", "-1 seconds", "0 millis", "", {}, true, [], -1n].map((value) =>
      [field, { [field]: value }] as const
    )
  ),
  ...[-1, NaN, Infinity, null, "soon", "-1 seconds", {}, true].map((gate) =>
    ["startup.gate", { startup: { gate } }] as const
  ),
  ...[null, 0, "false"].map((deferred) => ["startup.deferred", { startup: { deferred } }] as const),
  ["startup.later", { startup: { later: true } }],
  ["startup.(root)", { startup: 250 }],
  ["startup.(root)", { startup: [] }],
  ...[null, 1, "x", []].map((connection) => ["connection", { connection }] as const),
  ["timeout", { timeout: 1 }],
  ["__proto__x", { __proto__x: 1 }]
]

describe("McpManager: options", () => {
  for (const [field, options] of wrong) {
    it.effect(`${field}: ${Object.values(options).map((_) => typeof _ === "object" ? JSON.stringify(_) : String(_))}`, () =>
      Effect.gen(function*() {
        const error = failure(yield* Effect.exit(make({ servers: [], ...options })))
        assert(error._tag === "ConfigInvalid")
        assert.deepStrictEqual(error.problems.map((_) => _.field), [field])
        assert.deepStrictEqual([error.executed, error.operation], ["no", "configure"])
        assert.include(error.message, field)
      }))
  }

  it.effect("all that are wrong are named at once", () =>
    Effect.gen(function*() {
      const error = failure(
        yield* Effect.exit(make({ servers: [], mode: 1, strict: 1, startup: { gate: -1 }, closeTimeout: 0 }))
      )
      assert(error._tag === "ConfigInvalid")
      assert.sameMembers(error.problems.map((_) => _.field), ["mode", "strict", "closeTimeout", "startup.gate"])
    }))

  it.effect("what is no list of servers, and no options at all", () =>
    Effect.gen(function*() {
      const all = [undefined, null, {}, 3, "x", []].map((options) => options as unknown)
      for (const options of [...all, ...all.map((servers) => ({ servers })).slice(0, 5)]) {
        const error = failure(yield* Effect.exit(make(options)))
        assert(error._tag === "ConfigInvalid")
        assert.deepStrictEqual(error.problems.map((_) => _.field), ["servers"])
      }
    }))

  it.effect("a value is not in the message", () =>
    Effect.gen(function*() {
      const secret = "sk-123456"
      for (const field of ["mode", "concurrency", "requests", "strict", "connectTimeout", "connection"]) {
        assert.notInclude(failure(yield* Effect.exit(make({ servers: [], [field]: secret }))).message, secret)
      }
    }))

  it.effect("entries without a name are known by their place; names with control characters are shown without them", () =>
    Effect.gen(function*() {
      const manager = yield* McpManager.make({
        servers: [
          { transport: "stdio", command: "x" },
          { name: "a\u001b[2J\nb", transport: "stdio", command: "x" },
          null,
          [],
          { name: 3, transport: "stdio", command: "x" },
          { name: "", transport: "stdio", command: "x" },
          { name: "\u0007", transport: "stdio", command: "x" }
        ] as never
      })
      const { active, servers } = yield* manager.state
      assert.deepStrictEqual(active, [])
      for (const { error, name, phase } of servers) {
        // eslint-disable-next-line no-control-regex
        assert.notMatch(name, /[\u0000-\u001f\u007f-\u009f]/)
        assert.deepStrictEqual([phase, error?._tag], ["failed", "ConfigInvalid"])
        assert.strictEqual(error?.server, name)
        // eslint-disable-next-line no-control-regex
        assert.notMatch(error!.message, /[\u0000-\u001f\u007f-\u009f]/)
        assert.strictEqual((yield* manager.status(name)).name, name)
      }
      assert.strictEqual(servers.length, 7)
      assert.strictEqual(servers[0]!.name, "#1")
      assert.deepStrictEqual(yield* manager.connectAll, [])
      assert.strictEqual((yield* manager.errors).size, 7)
    }).pipe(Effect.provide(Layer.merge(ScriptedServer.layer(), CatalogStore.layerNone)), Effect.scoped))

  it.effect("no servers at all", () =>
    Effect.gen(function*() {
      for (const strict of [true, false]) {
        const manager = yield* over([], { strict })
        assert.deepStrictEqual(yield* manager.connectAll, [])
        assert.deepStrictEqual(yield* manager.reconnect({ failedOnly: false }), [])
        assert.deepStrictEqual(yield* manager.close, [])
        assert.strictEqual(yield* phases(manager), "")
      }
    }).pipe(Effect.scoped))

  it.scoped("null: no bound for connecting; then only the server's own counts", () =>
    Effect.gen(function*() {
      const a = yield* fake("a", { way: "hangs in tools/list", config: { timeouts: { request: "40 seconds" } } })
      const manager = yield* over([a], { connectTimeout: null })
      const { took } = yield* timed(manager.connectAll, 5000, 600_000)
      assert.isAtLeast(took, 40_000)
      assert.strictEqual(yield* phases(manager), "a failed")
    }))

  it.scoped("a server that is configured with a longer handshake has it, unless the application says how long", () =>
    Effect.gen(function*() {
      const failsAfter = Effect.fnUntraced(function*(handshake: number | undefined, connectTimeout?: number) {
        const config = handshake === undefined ? {} : { timeouts: { handshake } }
        const a = yield* fake("a", { way: "hangs in initialize", config })
        const manager = yield* over([a], { connectTimeout })
        return (yield* timed(manager.connectAll, 1000, 600_000)).took
      })
      assert.strictEqual(yield* failsAfter(undefined), 10_000)
      assert.strictEqual(yield* failsAfter(40_000), 40_000)
      assert.strictEqual(yield* failsAfter(3000), 3000)
      assert.strictEqual(yield* failsAfter(40_000, 20_000), 20_000)
    }))

  it.scoped("Infinity is all of them, undefined is the default", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(make({
        servers: [],
        mode: undefined,
        concurrency: Infinity,
        strict: undefined,
        startup: undefined,
        requests: undefined,
        connection: undefined,
        connectTimeout: undefined,
        closeTimeout: null
      }))
      assert.isTrue(Exit.isSuccess(exit))
    }))

  it.scoped("a function for the options of connections that throws costs that server only", () =>
    Effect.gen(function*() {
      const [a, b] = yield* Effect.all([fake("a"), fake("b")])
      const lines: Array<Line> = []
      const manager = yield* over([a, b], {
        lines,
        connection: ({ name }) => {
          if (name === "b") throw new Error("scripted")
          return {}
        }
      })
      assert.deepStrictEqual(yield* manager.connectAll, ["a"])
      assert.strictEqual(yield* phases(manager), "a connected, b failed")
      const errors = lines.filter((_) => _.level === "ERROR")
      assert.deepStrictEqual(errors.map((_) => _.server), ["b"])
      assert.include(Cause.pretty(errors[0]!.cause), "scripted")
      const bad = yield* over([a, b], {
        connection: ({ name }) => name === "b" ? { retry: { base: -1 } as never, reconnect: { coolDown: -1 } } : {}
      })
      assert.deepStrictEqual(yield* bad.connectAll, ["a"])
      assert.strictEqual((yield* bad.errors).get("b")?._tag, "ConfigInvalid")
    }))
})
