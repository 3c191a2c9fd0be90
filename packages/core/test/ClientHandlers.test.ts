import { assert, describe, it } from "@effect/vitest"
import { ClientHandlers, type McpProtocol, McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Context, Deferred, Effect, Exit, Fiber, Scope, Stream, SubscriptionRef, TestClock } from "effect"
import { configWith } from "./configWith.js"

const form = {
  mode: "form",
  message: "who?",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", default: "Ada" },
      age: { type: "integer", default: 36 },
      ok: { type: "boolean", default: true },
      tags: { type: "array", default: ["a"] },
      odd: { type: "object", default: {} }
    },
    required: ["name"]
  }
}
const sampling = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 }
const sampled: McpProtocol.SamplingResult = { role: "assistant", model: "m", content: { type: "text", text: "yo" } }

const openWith = (handlers: ClientHandlers.Handlers, options: ScriptedServer.Options = {}) =>
  Effect.gen(function*() {
    const server = yield* ScriptedServer.make(options)
    const session = yield* McpSession.open(server.channel, { handlers })
    return { server, session }
  })

const refusal = (effect: Effect.Effect<unknown, ScriptedServer.RpcError>) =>
  Effect.map(Effect.flip(effect), ({ code, message }) => ({ code, message }))

const publicFailure = { code: -32603, message: "The client could not handle the request" }

describe("ClientHandlers", () => {
  it.scoped("announces what there are handlers for, and nothing else", () =>
    Effect.gen(function*() {
      const { server } = yield* openWith({
        sampling: { create: () => Effect.succeed(sampled), tools: true },
        elicitation: { form: () => Effect.succeed({ action: "cancel" }) },
        roots: ClientHandlers.rootsOf({ uri: "file:///a" })
      })
      const [initialize] = yield* server.receivedOf("initialize")
      assert.deepStrictEqual(initialize!.params.capabilities, {
        sampling: { tools: {} },
        elicitation: { form: {} },
        roots: { listChanged: false }
      })
      const { server: silent } = yield* openWith(ClientHandlers.none)
      assert.deepStrictEqual((yield* silent.receivedOf("initialize"))[0]!.params.capabilities, {})
    }))

  it.scoped("are taken from the context when none are given", () =>
    Effect.gen(function*() {
      const server = yield* ScriptedServer.make()
      yield* McpSession.open(server.channel).pipe(
        Effect.provideService(ClientHandlers.ClientHandlers, { roots: ClientHandlers.rootsOf() })
      )
      assert.deepStrictEqual((yield* server.receivedOf("initialize"))[0]!.params.capabilities, {
        roots: { listChanged: false }
      })
    }))

  it.scoped("answers sampling, elicitation, roots and ping; ids of any kind, 0 included", () =>
    Effect.gen(function*() {
      const { server } = yield* openWith({
        sampling: { create: (request) => Effect.succeed({ ...sampled, model: String(request.maxTokens) }) },
        elicitation: {
          form: (request) => Effect.succeed({ action: "accept", content: { name: request.message } }),
          url: (request) => Effect.succeed({ action: request.url === "https://x" ? "accept" : "decline" })
        },
        roots: ClientHandlers.rootsOf({ uri: "file:///a", name: "a" })
      })
      assert.deepStrictEqual(yield* server.request("sampling/createMessage", sampling, { id: 0 }), {
        ...sampled,
        model: "10"
      })
      assert.deepStrictEqual(yield* server.request("elicitation/create", form, { id: "text-id" }), {
        action: "accept",
        content: { name: "who?" }
      })
      const url = { mode: "url", message: "go", url: "https://x", elicitationId: "e" }
      assert.deepStrictEqual(yield* server.request("elicitation/create", url), { action: "accept" })
      assert.deepStrictEqual(yield* server.request("roots/list"), { roots: [{ uri: "file:///a", name: "a" }] })
      assert.deepStrictEqual(yield* server.request("ping"), {})
    }))

  it.scoped("C01: without a handler -32601; bad parameters -32602", () =>
    Effect.gen(function*() {
      const { server } = yield* openWith({
        sampling: { create: () => Effect.succeed(sampled) },
        elicitation: { form: () => Effect.succeed({ action: "cancel" }) }
      })
      const notFound = { code: -32601, message: "Method not found" }
      const bad = { code: -32602, message: "Invalid parameters" }
      assert.deepStrictEqual(yield* refusal(server.request("roots/list")), notFound)
      assert.deepStrictEqual(yield* refusal(server.request("toString")), notFound)
      assert.deepStrictEqual(yield* refusal(server.request("sampling/createMessage", {})), bad)
      assert.deepStrictEqual(yield* refusal(server.request("elicitation/create", { message: "x" })), bad)
      assert.deepStrictEqual(yield* refusal(server.request("elicitation/create", { mode: "url", message: "" })), bad)
    }))

  it.scoped("C01: a handler that fails, dies, throws, is interrupted or answers nonsense gives a fixed message", () =>
    Effect.gen(function*() {
      const secret = "/home/me/secret"
      const handlers: ReadonlyArray<ClientHandlers.SamplingHandler["create"]> = [
        () => Effect.fail(secret),
        () => Effect.fail(null),
        () => Effect.die(new Error(secret)),
        () => Effect.interrupt,
        () => {
          throw new Error(secret)
        },
        () => Effect.succeed(null as never),
        () => Effect.succeed({ role: "robot" } as never),
        () => Effect.succeed({ ...sampled, content: { cyclic: 1n } } as never)
      ]
      for (const create of handlers) {
        const { server, session } = yield* openWith({ sampling: { create } })
        assert.deepStrictEqual(yield* refusal(server.request("sampling/createMessage", sampling)), publicFailure)
        yield* McpSession.ping(session)
      }
    }))

  it.scoped("C04: an elicitation answer that the server could not take is not sent", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<unknown> = [
        null,
        { action: "yes" },
        { action: "accept", content: "x" },
        { action: "accept", content: {} },
        { action: "accept", content: { name: { nested: true } } },
        { action: "accept", content: { name: Number.NaN } },
        { action: "decline", content: { name: "x" } }
      ]
      for (const answer of answers) {
        const { server } = yield* openWith({ elicitation: { form: () => Effect.succeed(answer as never) } })
        assert.deepStrictEqual(yield* refusal(server.request("elicitation/create", form)), publicFailure)
      }
    }))

  it.scoped("fills an accepted form with the defaults of its schema, when asked to", () =>
    Effect.gen(function*() {
      const { server } = yield* openWith({
        elicitation: { applyDefaults: true, form: () => Effect.succeed({ action: "accept", content: { age: 1 } }) }
      })
      assert.deepStrictEqual(yield* server.request("elicitation/create", form), {
        action: "accept",
        content: { age: 1, name: "Ada", ok: true, tags: ["a"] }
      })
    }))

  it.scoped("C02: a handler ends when the server cancels, also id 0, and nothing is answered", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const started = yield* Deferred.make<void>()
      const { server } = yield* openWith({
        sampling: {
          create: () =>
            Deferred.succeed(started, undefined).pipe(
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
            )
        }
      })
      const fiber = yield* Effect.fork(server.request("sampling/createMessage", sampling, { id: 0 }))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(ended)
      assert.isFalse((yield* server.received).some((_) => _.method === undefined))
    }))

  it.effect("C02: a handler ends when the session closes", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const started = yield* Deferred.make<void>()
      const scope = yield* Scope.make()
      const { server } = yield* openWith({
        requests: {
          "x/ask": () =>
            Deferred.succeed(started, undefined).pipe(
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
            )
        }
      }).pipe(Scope.extend(scope))
      yield* Effect.fork(Effect.ignore(server.request("x/ask")))
      yield* Deferred.await(started)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(yield* Deferred.isDone(ended))
    }))

  it.scoped("C03: a handler that hangs is ended by its deadline, and the server is told", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ timeouts: { handler: "5 seconds" } })
      const { server } = yield* openWith({ sampling: { create: () => Effect.never } }, { config })
      const fiber = yield* Effect.fork(refusal(server.request("sampling/createMessage", sampling)))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), publicFailure)
    }))

  it.scoped("C03: one that can't be interrupted is answered for all the same, and does not keep the session open", () =>
    Effect.gen(function*() {
      const stuck = Effect.uninterruptible(Effect.never)
      const scope = yield* Scope.make()
      const { server } = yield* openWith({
        sampling: { create: () => stuck },
        onNotification: () => stuck,
        roots: { list: Effect.succeed([]), changes: Stream.fromEffect(stuck) }
      }).pipe(Scope.extend(scope))
      yield* server.notify("notifications/x")
      const asked = yield* Effect.fork(refusal(server.request("sampling/createMessage", sampling)))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* Fiber.join(asked), publicFailure)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.succeed(undefined)))
      for (let i = 0; i < 3; i++) yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(closing)))
      assert.deepStrictEqual((yield* server.stats).live, [])
    }))

  it.scoped("C02: handlers end when the connection is gone, before the scope closes", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const { server } = yield* openWith({
        requests: { "x/ask": () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined)) }
      })
      yield* server.sendRaw({ jsonrpc: "2.0", id: 1, method: "x/ask" })
      yield* server.disconnect()
      yield* Deferred.await(ended)
    }))

  it.scoped("sampling with tools is refused unless it was announced; so is an unknown mode of elicitation", () =>
    Effect.gen(function*() {
      const bad = { code: -32602, message: "Invalid parameters" }
      const withTools = { ...sampling, tools: [] }
      const { server } = yield* openWith({
        sampling: { create: () => Effect.succeed(sampled) },
        elicitation: { form: () => Effect.succeed({ action: "cancel" }) }
      })
      assert.deepStrictEqual(yield* refusal(server.request("sampling/createMessage", withTools)), bad)
      assert.deepStrictEqual(yield* refusal(server.request("elicitation/create", { ...form, mode: "voice" })), bad)
      const { server: able } = yield* openWith({ sampling: { create: () => Effect.succeed(sampled), tools: true } })
      assert.deepStrictEqual(yield* able.request("sampling/createMessage", withTools), sampled)
    }))

  it.scoped("a notification handler that hangs is ended by its deadline, and the next one runs", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ timeouts: { handler: "5 seconds" } })
      const seen: Array<string> = []
      const { server, session } = yield* openWith({
        onNotification: (_) => _.method === "hang" ? Effect.never : Effect.sync(() => seen.push(_.method))
      }, { config })
      yield* server.notify("hang")
      yield* server.notify("next")
      yield* McpSession.ping(session)
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(seen, ["next"])
      assert.strictEqual((yield* session.stats).warnings.HandlerFailed, 1)
    }))

  it.scoped("requests of the server are bounded, and an id under way is not taken twice", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { serverRequests: 2 } })
      const { server, session } = yield* openWith({ requests: { "x/hang": () => Effect.never } }, { config })
      yield* server.sendRaw(
        { jsonrpc: "2.0", id: 1, method: "x/hang" },
        { jsonrpc: "2.0", id: 1, method: "x/hang" },
        { jsonrpc: "2.0", id: "1", method: "x/hang" },
        { jsonrpc: "2.0", id: 3, method: "x/hang" }
      )
      yield* McpSession.ping(session)
      const answers = (yield* server.received).filter((_) => _.method === undefined).map((_) =>
        (_.message as McpProtocol.JsonRpcError).error.code
      )
      assert.deepStrictEqual(answers, [-32600, -32000])
    }))

  it.scoped("requests of the server are bounded in size together, and one alone is always taken", () =>
    Effect.gen(function*() {
      const config = yield* configWith({ limits: { messageBytes: 10_000 } })
      const { server, session } = yield* openWith({ requests: { "x/hang": () => Effect.never } }, { config })
      const ask = (id: number, size: number) =>
        server.sendRaw({ jsonrpc: "2.0", id, method: "x/hang", params: { text: "x".repeat(size) } })
      const cancel = (id: number) =>
        server.sendRaw(ScriptedServer.notification("notifications/cancelled", { requestId: id }))
      const refused = Effect.gen(function*() {
        yield* McpSession.ping(session)
        const answers = (yield* server.received).map((_) => _.message as McpProtocol.JsonRpcError)
        return answers.filter((_) => _.error?.code === -32000).map((_) => _.id)
      })
      yield* Effect.forEach([1, 2, 3, 4], (id) => ask(id, 3000))
      assert.deepStrictEqual(yield* refused, [4])
      yield* cancel(1)
      yield* McpSession.ping(session)
      yield* ask(5, 3000)
      assert.deepStrictEqual(yield* refused, [4], "what has ended gives its room back")
      yield* Effect.forEach([2, 3, 5], cancel)
      yield* McpSession.ping(session)
      yield* ask(6, 20_000)
      yield* ask(7, 1)
      assert.deepStrictEqual(yield* refused, [4, 7])
    }))

  it.scoped("roots in a ref: every change is announced", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<McpProtocol.Root>>([{ uri: "file:///a" }])
      const { server } = yield* openWith({ roots: ClientHandlers.rootsFromRef(ref) })
      assert.deepStrictEqual(yield* server.request("roots/list"), { roots: [{ uri: "file:///a" }] })
      yield* SubscriptionRef.set(ref, [{ uri: "file:///b" }])
      yield* server.awaitReceived("notifications/roots/list_changed")
      assert.deepStrictEqual(yield* server.request("roots/list"), { roots: [{ uri: "file:///b" }] })
      assert.strictEqual((yield* server.receivedOf("notifications/roots/list_changed")).length, 1)
    }))

  it.scoped("what is asked within a task is answered with the task's id", () =>
    Effect.gen(function*() {
      const { server } = yield* openWith({ roots: ClientHandlers.rootsOf() })
      const _meta = { "io.modelcontextprotocol/related-task": { taskId: "t1" } }
      assert.deepStrictEqual(yield* server.request("roots/list", { _meta }), { roots: [], _meta })
    }))

  it.scoped("make takes the services of the handlers from where it is run", () =>
    Effect.gen(function*() {
      class Name extends Context.Tag("Name")<Name, string>() {}
      const handlers = yield* ClientHandlers.make({
        requests: { "x/name": () => Effect.map(Name, (name) => ({ name })) },
        elicitation: { form: () => Effect.map(Name, (name) => ({ action: "accept", content: { name } })) },
        roots: { list: Effect.map(Name, (name) => [{ uri: `file:///${name}` }]) },
        sampling: { create: () => Effect.map(Name, (model) => ({ ...sampled, model })) }
      }).pipe(Effect.provideService(Name, "ada"))
      const { server } = yield* openWith(handlers)
      assert.deepStrictEqual(yield* server.request("x/name"), { name: "ada" })
      assert.deepStrictEqual(yield* server.request("roots/list"), { roots: [{ uri: "file:///ada" }] })
      assert.deepStrictEqual(yield* server.request("elicitation/create", form), {
        action: "accept",
        content: { name: "ada" }
      })
      assert.deepStrictEqual(yield* server.request("sampling/createMessage", sampling), { ...sampled, model: "ada" })
    }))
})
