import { assert, describe, it } from "@effect/vitest"
import { McpError, CatalogStore } from "@mcp-runtime/core"
import * as Toolset from "@mcp-runtime/core/Toolset"
import * as ToolFilter from "@mcp-runtime/core/ToolFilter"
import { RpcError } from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Stream, Schema, TestClock, Fiber } from "effect"
import { connections, following, listed, managed, pass, server, servers, settled, told, toolset } from "./kit.js"

const full = (seen: string[]) => seen.join(" | ")
describe("scratch", () => {
  it.scoped("array basics", () => Effect.gen(function*() {
    const all = yield* servers({ b: ["x", "y"], a: ["x"] })
    const t = yield* toolset(all)
    console.log(yield* listed(t.for()))
    const one = yield* t.for().list, two = yield* t.for().list
    console.log(one.tools === two.tools, yield* all[0]!.listings)
  }))
  it.skip("array failing then ok", () => void Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.way = "refused"
    const t = yield* toolset([a, b])
    console.log("1", yield* listed(t.for()))
    b.way = "works"
    console.log("2", yield* listed(t.for()))
    yield* pass(120_000, 1000)
    console.log("3", yield* listed(t.for()), yield* b.server.stats)
  }))
  it.scoped("array changes", () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    const t = yield* toolset([a, b])
    const seen = yield* following(t.for().changes, told)
    yield* pass(1000, 250)
    console.log("first", full(seen))
    yield* a.offers("a", "a2")
    console.log("changed", full(seen), yield* a.listings)
    yield* b.server.disconnect()
    yield* pass(5000, 250)
    console.log("lost", full(seen), yield* b.listings)
  }))
  it.scoped("array changes failing", () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.way = "refused"
    const t = yield* toolset([a, b])
    const seen = yield* following(t.for().changes, told)
    yield* pass(10000, 250)
    console.log("failing", full(seen), (yield* b.server.stats).attempts)
    yield* pass(100000, 250)
    console.log("failing", full(seen), (yield* b.server.stats).attempts)
  }))
  for (const kind of ["array", "manager"] as const) it.skip("connected, tools/list fails " + kind, () => void Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    const t = kind === "array" ? yield* toolset([a, b]) : (yield* managed([a, b])).toolset
    const seen = yield* following(t.for().changes, told)
    yield* pass(1000, 250)
    console.log("ok", full(seen), yield* b.listings)
    b.listing = Effect.fail(new RpcError({ code: -32603, message: "no" }))
    yield* b.offers("z").pipe(Effect.timeoutOption("10 seconds"))
    yield* pass(1000, 250)
    console.log("stale failing", full(seen).slice(0, 600), seen.length, yield* b.listings)
    b.listing = Effect.void
    yield* b.offers("z")
    console.log("well", full(seen).slice(0, 600), seen.length, yield* b.listings)
  }))
  for (const kind of ["array", "manager"] as const) it.scoped("never listed " + kind, () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.listing = Effect.fail(new RpcError({ code: -32603, message: "no" }))
    const t = kind === "array" ? yield* toolset([a, b]) : (yield* managed([a, b])).toolset
    console.log(kind, yield* listed(t.for()), yield* b.listings)
    console.log(kind, yield* listed(t.for()), yield* b.listings)
    const seen = yield* following(t.for().changes, told)
    yield* pass(1000, 250)
    console.log("never", full(seen).slice(0, 600), seen.length, yield* b.listings)
    b.listing = Effect.void
    console.log(kind, yield* listed(t.for()), yield* b.listings)
  }))
  it.scoped("manager failing dropped", () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.way = "refused"
    const { manager, toolset: t } = yield* managed([a, b])
    console.log("dropped", yield* listed(t.for()))
    const seen = yield* following(t.for().changes, told)
    b.way = "works"
    yield* manager.reconnect()
    yield* settled
    console.log("dropped", full(seen))
    yield* manager.disconnect("a")
    yield* settled
    console.log("disconnect", full(seen))
    const f = yield* Toolset.make(manager, { onServerError: "fail" })
    console.log(yield* Effect.exit(f.for().list))
  }))
  it.scoped("manager failing dropped, fail", () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.way = "refused"
    const { manager, toolset: t } = yield* managed([a, b], { onServerError: "fail" })
    console.log("dropped fail", String(yield* Effect.exit(t.for().list)).slice(0, 300))
  }))
  it.scoped("manager failing kept", () => Effect.gen(function*() {
    const a = yield* server("a"), b = yield* server("b")
    b.way = "refused"
    const { manager, toolset: t } = yield* managed([a, b], {}, { dropFailed: false })
    console.log("kept", yield* listed(t.for()))
  }))
  it.scoped("empty array changes", () => Effect.gen(function*() {
    const t = yield* Toolset.make([])
    console.log(yield* Stream.runCollect(Stream.take(t.for().changes, 1)))
  }))
  it.scoped("proto record", () => Effect.gen(function*() {
    const schema = JSON.parse('{"type":"object","__proto__":{"x":1},"properties":{"__proto__":{"type":"string"}}}')
    const a = yield* server("a", [{ name: "t", inputSchema: schema }])
    const t = yield* toolset([a])
    const [tool] = (yield* t.for().list).tools
    const r = Toolset.record(t, tool!)
    console.log(JSON.stringify(r.inputSchema), r.inputSchema === tool!.inputSchema, JSON.stringify(Schema.encodeSync(Toolset.RecordedTool)(r)))
    console.log(JSON.stringify(yield* Schema.decode(Toolset.RecordedTool)(JSON.parse(JSON.stringify(Schema.encodeSync(Toolset.RecordedTool)(r))))))
  }))
})
