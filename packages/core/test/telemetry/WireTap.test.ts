import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpConnection, McpManager, McpSession, type McpTransport, WireTap } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Chunk, Effect, Fiber, Stream, TestClock } from "effect"
import { render } from "../../src/internal/telemetry/render.js"
import { configWith } from "../configWith.js"
import { connect, echo, forkExit, settled, stdio } from "../connection/kit.js"
import { processorMillis } from "../processor.js"
import { knowing } from "./kit.js"

const brief = ({ direction, id, method }: WireTap.Frame) =>
  `${direction === "sent" ? ">" : "<"} ${method ?? "answer"}${id === undefined ? "" : ` ${id}`}`

/** A tap whose frames are kept. */
const listening = (options?: Omit<WireTap.WireTapOptions, "onFrame">) =>
  Effect.gen(function*() {
    const frames: Array<WireTap.Frame> = []
    const tap = yield* WireTap.make({ ...options, onFrame: (_) => void frames.push(_) })
    return { tap, frames }
  })

describe("a tap", () => {
  it.scoped("hears every message, both ways, in order, with the server, the session and the time", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening()
      const { connection, server } = yield* connect(stdio, {
        handlers: { "tools/call": () => Effect.delay(Effect.succeed({ content: [] }), "3 seconds") }
      }, { tap, handlers: { roots: { list: Effect.succeed([]) } } })
      const call = yield* Effect.fork(echo(connection))
      yield* server.awaitReceived("tools/call")
      yield* server.notify("notifications/message", { level: "info", data: "hm" })
      yield* server.request("roots/list", {}, { id: "mine" })
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(call)
      assert.deepStrictEqual(frames.map(brief), [
        "> initialize 1",
        "< answer 1",
        "> notifications/initialized",
        "> tools/call 2",
        "< notifications/message",
        "< roots/list mine",
        "> answer mine",
        "< answer 2"
      ])
      assert.deepStrictEqual(frames.at(-1), {
        server: "scripted",
        generation: 1,
        direction: "received",
        at: 3000,
        method: undefined,
        id: 2,
        text: `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`,
        truncated: false
      })
      assert.isTrue(frames.every(Object.isFrozen))
    }))

  it.scoped("an answer that comes while its request is being sent is heard after it", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening()
      const { connection } = yield* connect(stdio, { reaction: "insideSend" }, { tap })
      yield* echo(connection)
      assert.deepStrictEqual(frames.map(brief).slice(-2), ["> tools/call 2", "< answer 2"])
    }))

  it.scoped("all sessions of a connection, all servers of a manager, and a session alone", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening()
      const one = yield* connect(stdio, {}, { tap })
      yield* one.connection.awaitReady
      yield* one.connection.reconnect
      assert.deepStrictEqual(new Set(frames.map((_) => _.generation)), new Set([1, 2]))

      const servers = yield* Effect.forEach(
        ["a", "b"],
        (name) => ScriptedServer.make({ name, config: { name, ...stdio } as never })
      )
      const manager = yield* McpManager.make({
        servers: ["a", "b"].map((name) => ({ name, ...stdio })),
        connection: { tap }
      }).pipe(Effect.provide([ScriptedServer.layer(...servers), CatalogStore.layerNone]))
      yield* manager.connectAll
      assert.deepStrictEqual(new Set(frames.map((_) => _.server)), new Set(["scripted", "a", "b"]))

      frames.length = 0
      const alone = yield* ScriptedServer.make({ name: "alone" })
      yield* McpSession.open(alone.channel, { tap })
      assert.deepStrictEqual(frames.map((_) => [_.server, _.generation]), Array.from({ length: 3 }, () => ["alone", 0]))
    }))

  it.scoped("nonsense is heard as it is; what has no name has none", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening()
      const { connection, server } = yield* connect(stdio, {}, { tap })
      yield* connection.awaitReady
      frames.length = 0
      yield* server.sendRaw("text", 7, null, [{ id: 1 }], { method: 7, id: {} }, { method: "m".repeat(9999) })
      assert.deepStrictEqual(frames.slice(0, 5).map(({ id, method, text }) => [text, method, id]), [
        [`"text"`, undefined, undefined],
        ["7", undefined, undefined],
        ["null", undefined, undefined],
        [`[{"id":1}]`, undefined, undefined],
        [`{"method":7,"id":{}}`, undefined, undefined]
      ])
      assert.isBelow(frames[5]!.method!.length, 300)
    }))

  it.scoped("a listener that throws harms nobody", () =>
    Effect.gen(function*() {
      let told = 0
      const tap = yield* WireTap.make({
        onFrame: () => {
          told++
          throw new Error("mine")
        }
      })
      const heard = yield* Effect.fork(Stream.runCollect(Stream.take(tap.frames, 5)))
      yield* settled
      const { connection } = yield* connect(stdio, {}, { tap })
      yield* echo(connection)
      assert.isAbove(told, 4)
      assert.strictEqual(Chunk.size(yield* Fiber.join(heard)), 5)
    }))

  it.scoped("a reader that is too slow loses the oldest, and no other reader does", () =>
    Effect.gen(function*() {
      const tap = yield* WireTap.make({ capacity: 4 })
      const { connection, server } = yield* connect(stdio, {}, { tap })
      yield* connection.awaitReady
      const slow: Array<string> = []
      const quick: Array<string> = []
      yield* Effect.forkScoped(Stream.runForEach(tap.frames, (_) =>
        Effect.zipRight(
          Effect.sync(() => slow.push(_.method!)),
          Effect.sleep("1 minute")
        )))
      yield* Effect.forkScoped(Stream.runForEach(tap.frames, (_) => Effect.sync(() => quick.push(_.method!))))
      yield* settled
      for (let i = 0; i < 20; i++) {
        yield* server.notify(`n/${i}`)
        yield* settled
      }
      for (let i = 0; i < 30; i++) yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(quick, Array.from({ length: 20 }, (_, i) => `n/${i}`))
      assert.deepStrictEqual(slow.slice(-4), ["n/16", "n/17", "n/18", "n/19"])
      assert.isBelow(slow.length, 10)
    }))

  it.scoped("where nobody listens no message is looked at, and readers that leave are gone", () =>
    Effect.gen(function*() {
      const tap = yield* WireTap.make()
      const { connection, server } = yield* connect(stdio, {}, { tap })
      yield* connection.awaitReady
      let looked = 0
      const channel: McpTransport.Channel = {
        ...server.channel,
        open: (events) =>
          Effect.map(server.channel.open(events), (wire) => ({
            ...wire,
            secrets: () => {
              looked++
              return []
            }
          }))
      }
      const session = yield* McpSession.open(channel, { tap })
      yield* McpSession.ping(session)
      assert.strictEqual(looked, 0)
      const reader = yield* Effect.fork(Stream.runDrain(tap.frames))
      yield* settled
      yield* McpSession.ping(session)
      assert.isAbove(looked, 0)
      yield* Fiber.interrupt(reader)
      looked = 0
      yield* McpSession.ping(session)
      assert.strictEqual(looked, 0)
      assert.include(String(JSON.stringify(tap)), `"listeners":0`)
    }))

  it.scoped("frames are bounded, and say so", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening({ maxLength: 100 })
      const { connection } = yield* connect(stdio, {}, { tap })
      yield* McpConnection.callTool(connection, { name: "echo", arguments: { text: "x".repeat(1_000_000) } })
      const long = frames.filter((_) => _.truncated)
      assert.isAbove(long.length, 1)
      for (const { text } of frames) assert.isAtMost(text.length, 103)
      assert.isFalse(frames.find((_) => _.method === "notifications/initialized")!.truncated)
    }))

  it.scoped("what the server was given does not show, wherever it stands", () =>
    Effect.gen(function*() {
      const secrets = ["swordfish", "with \"quotes\"", "12345678"]
      const { frames, tap } = yield* listening()
      const server = yield* ScriptedServer.make()
      const session = yield* McpSession.open(knowing(server.channel, secrets), { tap })
      yield* Effect.exit(session.request("tools/call", {
        name: "swordfish",
        arguments: { swordfish: ["a swordfish", secrets[1]], number: 12345678 }
      }))
      yield* server.notify("swordfish/changed", {})
      yield* Effect.exit(server.request("x", {}, { id: "swordfish" }))
      const all = JSON.stringify(frames)
      assert.include(all, "<redacted>")
      assert.notInclude(all, "swordfish")
      assert.notInclude(all, "quotes")
      assert.notInclude(all, "12345678")
    }))

  it.scoped("the first 64 messages before the wire is open are heard, too, once it is known what must not show", () =>
    Effect.gen(function*() {
      const { frames, tap } = yield* listening()
      const server = yield* ScriptedServer.make()
      const channel: McpTransport.Channel = {
        ...knowing(server.channel, ["swordfish"]),
        open: (events) =>
          Effect.suspend(() => {
            for (let i = 0; i < 100; i++) {
              events.message({ jsonrpc: "2.0", method: `early/${i}`, params: { a: "swordfish" } })
            }
            return knowing(server.channel, ["swordfish"]).open(events)
          })
      }
      yield* McpSession.open(channel, { tap })
      assert.deepStrictEqual(
        frames.slice(0, 64).map((_) => _.method),
        Array.from({ length: 64 }, (_, i) => `early/${i}`)
      )
      assert.strictEqual(frames[64]!.method, "initialize")
      assert.notInclude(JSON.stringify(frames), "swordfish")
    }))

  it.scoped("of what comes before the wire is open no more is kept than one message may have, however it is nested", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { messageBytes: 10_000 } })
      const server = yield* ScriptedServer.make({ config })
      const early = (names: ReadonlyArray<string>, params: object) => ({
        ...server.channel,
        open: (events: McpTransport.TransportEvents) =>
          Effect.suspend(() => {
            for (const method of names) events.message({ jsonrpc: "2.0", method, params })
            return server.channel.open(events)
          })
      })
      const heard = (channel: McpTransport.Channel) =>
        Effect.gen(function*() {
          const { frames, tap } = yield* listening()
          yield* McpSession.open(channel, { tap })
          const methods = frames.map((_) => _.method)
          return methods.slice(0, methods.indexOf("initialize"))
        })
      let deep: object = { text: "x".repeat(20_000) }
      for (let i = 0; i < 300; i++) deep = [deep]
      assert.deepStrictEqual(yield* heard(early(["a", "b", "c", "d", "e"], { text: "x".repeat(3000) })), [
        "a",
        "b",
        "c"
      ])
      assert.deepStrictEqual(yield* heard(early(["a", "b"], deep)), [])
    }))

  it.effect("options that can't be used are told, all at once", () =>
    Effect.gen(function*() {
      for (const odd of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        const error = yield* Effect.flip(WireTap.make({ capacity: odd, maxLength: odd, onFrame: "no" as never }))
        assert.strictEqual(error._tag, "ConfigInvalid")
        assert.deepStrictEqual(error.problems.map((_) => _.field), ["capacity", "maxLength", "onFrame"])
      }
    }))

  it.scoped("whoever reads on sees the end of nothing: a connection that closes does not end the tap", () =>
    Effect.gen(function*() {
      const tap = yield* WireTap.make()
      const reader = yield* forkExit(Stream.runDrain(tap.frames))
      const { connection } = yield* connect(stdio, {}, { tap })
      yield* echo(connection)
      yield* connection.close
      yield* settled
      assert.isNull(reader.unsafePoll())
    }))
})

describe("a message as a text", () => {
  it("is JSON, and total", () => {
    const circular: Record<string, unknown> = { a: 1 }
    circular.self = circular
    const throwing = {
      get a() {
        throw new Error("swordfish")
      }
    }
    for (const value of [circular, throwing, Symbol("x"), 1n, () => 1, Number.NaN, undefined, new Date(0)]) {
      assert.isString(render(value, [], 100).text)
    }
    const value = { a: [1, "x", null, true, { b: "\u0000\ud800" }], u: undefined }
    assert.strictEqual(render(value, [], 1000).text, JSON.stringify(value))
    assert.isFalse(render(value, [], 1000).cut)
  })

  it("never takes long, and is never long", () => {
    const deep: { next?: unknown } = {}
    let at = deep
    for (let i = 0; i < 100_000; i++) at = at.next = {} as typeof at
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))
    for (const value of [deep, wide, "x".repeat(10_000_000), Array.from({ length: 1_000_000 }, () => 1)]) {
      const begun = processorMillis()
      for (let i = 0; i < 30; i++) {
        const max = [1, 10, 1000][i % 3]!
        const { cut, text } = render(value, ["secret-value"], max)
        assert.isTrue(cut)
        assert.isAtMost(text.length, max + 3)
      }
      // The engine lists all keys of an object before it gives the first.
      assert.isBelow(processorMillis() - begun, value === wide ? 5000 : 500)
    }
  })

  it("shows no part of a secret, wherever the bound is, and whatever else is masked before it", () => {
    const one = "AAAAAAAAAA-BBBBBBBBBB-CCCCCCCCCC-DDDDDDDDDD-EEEEEEEEEE"
    const other = "ffffffff-BBBBBB-gggggggggggg"
    const part = "BBBBBB"
    const secrets = [part, one, other]
    for (let max = 1; max < 200; max++) {
      for (
        const text of [
          one + "x".repeat(40) + one,
          other + one + other,
          `${one}${one}${other}xx${one}`,
          part.repeat(40) + one
        ]
      ) {
        for (const value of [text, { [text]: text }, [text, text]]) {
          const shown = render(value, secrets, max).text
          assert.notMatch(shown, /A{3}|B{3}|C{3}|D{3}|E{3}|f{3}|g{3}/, `${max}: ${shown}`)
        }
      }
    }
  })
})
