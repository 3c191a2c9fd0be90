/**
 * What an application may want of a toolset: what is wrong is said with the name of its field, and nothing else is done.
 */
import { assert, describe, it } from "@effect/vitest"
import type { McpProtocol } from "@mcp-runtime/core"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import * as Toolset from "@mcp-runtime/core/Toolset"
import { Effect, Option, Stream, type Types } from "effect"
import { inspect } from "node:util"
import { sent, succeeded } from "./calling.js"
import { connections, failure, listed, type Server, server, servers, told, toolset } from "./kit.js"

/** For each field values that it can't have. */
const wrongOfServers: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  filter: [null, "x", ["x"], {}, () => true],
  approval: [null, "always", {}, () => true],
  failure: [null, "explained", 1, {}],
  output: [null, "text", {}, { convert: 1 }],
  onToolError: [null, "values", true],
  validateArguments: [null, "yes", 0],
  validateOutput: [null, "no", 1]
}

const wrong: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  ...wrongOfServers,
  id: [null, "", 1, "x".repeat(257)],
  only: [null, "a", [1], new Set(["a"]), {}],
  servers: [null, [], "a", 1],
  naming: [null, "raw", {}, { names: {} }],
  reserved: [null, "abc", 1, [1], [undefined], {}],
  schemas: [null, "loose", true],
  includeReturnSchema: [null, 1, "true"],
  onServerError: [null, "ignore", false],
  approvalExpiresIn: [null, 0, -1, "soon", Infinity, Number.NaN],
  meta: [null, {}, "x"],
  around: [null, {}, "x"],
  extract: [null, {}, "x"],
  instructions: [null, 1, "yes", {}, { maxLength: 0 }, { maxLength: 1.5 }, { maxLength: "10" }, []],
  unknown: [1],
  __proto__x: [1],
  constructor: [1]
}

const problemsOf = (source: Toolset.Source, options: unknown) =>
  Effect.map(Effect.exit(Toolset.make(source, options as never)), (exit) => {
    const error = failure(exit)
    assert.strictEqual(error._tag, "ConfigInvalid")
    return error.problems.map((_) => _.field)
  })

describe("a toolbox", () => {
  it.scoped("is shown as what it stands for, also through a proxy, and can be taken apart", () =>
    Effect.gen(function*() {
      const mine = yield* toolset(yield* servers({ a: ["x"] }), { id: "mine" })
      const toolbox = mine.for()
      for (const shown of [toolbox, new Proxy(toolbox, {}), Object.create(toolbox) as typeof toolbox]) {
        assert.strictEqual(JSON.stringify(shown), `{"_id":"Toolbox","toolset":"mine"}`)
        assert.strictEqual(inspect(shown), "{ _id: 'Toolbox', toolset: 'mine' }")
      }
      const { call, changes, list } = { ...toolbox }
      assert.strictEqual(told(yield* list), "a__x")
      assert.strictEqual((yield* call("a__x"))._tag, "Success")
      assert.strictEqual(Option.getOrThrow(yield* Stream.runHead(changes)).tools.length, 1)
    }))
})

describe("options", () => {
  it.scoped("that are wrong are told of by their fields, and no server is touched", () =>
    Effect.gen(function*() {
      const all = yield* servers({ a: ["x"] })
      const source = yield* connections(all)
      for (const [field, values] of Object.entries(wrong)) {
        for (const value of values) {
          assert.deepStrictEqual(
            yield* problemsOf(source, { [field]: value }),
            [field],
            `${field}: ${JSON.stringify(value)}`
          )
        }
      }
      for (const [field, values] of Object.entries(wrongOfServers)) {
        for (const value of values) {
          assert.deepStrictEqual(yield* problemsOf(source, { servers: { a: { [field]: value } } }), [
            `servers.a.${field}`
          ])
        }
      }
      // What holds for all servers only is unknown for one.
      assert.deepStrictEqual(yield* problemsOf(source, { servers: { a: { naming: undefined, only: ["a"] } } }), [
        "servers.a.naming",
        "servers.a.only"
      ])
      for (const root of [null, "x", 1, []]) assert.deepStrictEqual(yield* problemsOf(source, root), ["(root)"])
      for (const root of [null, "x", [], 1]) {
        assert.deepStrictEqual(yield* problemsOf(source, { servers: { a: root } }), ["servers.a.(root)"])
      }
      assert.strictEqual((yield* all[0]!.server.stats).attempts, 0)
    }))

  it.scoped("all that is wrong is said at once, without what was found", () =>
    Effect.gen(function*() {
      const source = yield* connections([yield* server("a")])
      const options = {
        id: "",
        schemas: "secret",
        servers: { a: { validateOutput: "secret" }, ["b\u0000"]: { filter: "secret" } },
        surplus: "secret"
      }
      const error = failure(yield* Effect.exit(Toolset.make([...source, ...source], options as never)))
      assert.strictEqual(error._tag, "ConfigInvalid")
      const fields = error.problems.map((_) => _.field)
      assert.deepStrictEqual(fields.slice(0, 5), ["source", "id", "schemas", "surplus", "servers.a.validateOutput"])
      assert.strictEqual(fields.length, 6)
      assert.notInclude(error.message, "secret")
      // eslint-disable-next-line no-control-regex
      assert.notMatch(error.message, /\u0000/)
    }))

  it.scoped("that say nothing are the defaults, and may name servers that are not there yet", () =>
    Effect.gen(function*() {
      const source = yield* connections([yield* server("__proto__", ["x", "y"]), yield* server("constructor", ["x"])])
      const fields = Object.keys(wrong).filter((_) => !["unknown", "__proto__x", "constructor"].includes(_))
      const made = yield* Toolset.make(source, Object.fromEntries(fields.map((_) => [_, undefined])))
      assert.strictEqual(made.id, "tools")
      assert.strictEqual((yield* made.for().list).tools.length, 3)
      const special = yield* Toolset.make(source, {
        id: "special",
        only: ["__proto__", "gone"],
        servers: { ["__proto__"]: { filter: ToolFilter.allow("x") }, gone: { filter: ToolFilter.none } }
      })
      assert.strictEqual(special.id, "special")
      const { problems, tools } = yield* special.for().list
      assert.strictEqual(tools.map((_) => _.id).join(), "__proto__/x")
      assert.deepStrictEqual(problems.map((_) => `${_.server} ${_.error._tag}`), ["gone UnknownServer"])
    }))

  it.scoped("that are changed afterwards change nothing of a listing", () =>
    Effect.gen(function*() {
      const source = [...yield* connections(yield* servers({ a: ["x"], b: ["x"] }))]
      const options = {
        only: ["a"],
        reserved: [] as Array<string>,
        filter: ToolFilter.all,
        servers: {} as Record<string, object>
      }
      const made = yield* Toolset.make(source, options)
      options.only.push("b")
      options.reserved.push("a__x")
      options.filter = ToolFilter.none
      options.servers.a = { filter: ToolFilter.none }
      source.length = 0
      assert.strictEqual(yield* listed(made.for()), "a__x")
    }))

  it.scoped("that are changed afterwards change nothing of a call", () =>
    Effect.gen(function*() {
      const [a] = (yield* servers({ a: ["x"] })) as [Server]
      const options: Types.Mutable<Toolset.ToolsetOptions<unknown, never, unknown>> = {
        meta: () => ({ by: "first" }),
        around: (_, next) => next(),
        extract: () => "first"
      }
      const { call } = (yield* Toolset.make(yield* connections([a]), options)).for()
      options.meta = () => ({ by: "second" })
      options.around = () => Effect.dieMessage("second")
      options.extract = () => "second"
      const { customData } = yield* succeeded(call("a__x"))
      assert.strictEqual(customData, "first")
      const [params] = yield* sent(a)
      assert.strictEqual((params!._meta as McpProtocol.JsonObject).by, "first")
    }))
})
