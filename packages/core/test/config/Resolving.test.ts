/** When references are looked up, and which channel a session gets. */
import { assert, describe, it } from "@effect/vitest"
import { McpConfig, McpError, McpSession } from "@mcp-runtime/core"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { Deferred, Effect, Exit, Fiber, Redacted, Scope, TestClock } from "effect"
import { events, fromEnv, inScope, problemsOf, recorder } from "./references.kit.js"

const decoded = McpConfig.decode({
  name: "a",
  transport: "http",
  url: "https://h/${VERSION}",
  expand: true,
  timeouts: { handshake: "5 seconds" }
})

/** A session that is open until it is closed. */
const session = (
  channel: { readonly open: (e: typeof events) => Effect.Effect<unknown, McpError.McpError, Scope.Scope> }
) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* Scope.extend(channel.open(events), scope)
    return { close: Scope.close(scope, Exit.void) }
  })

describe("the channel of a configuration with references", () => {
  it.effect("nothing is looked up or made before a session is opened; then all sessions share one client", () =>
    Effect.gen(function*() {
      const env = { VERSION: "1" }
      const { clients, transport } = recorder(fromEnv(env))
      yield* inScope(Effect.gen(function*() {
        const config = yield* decoded
        const channel = yield* transport.channel(config)
        assert.strictEqual(channel.config, config)
        assert.deepStrictEqual(clients, [])
        const first = yield* session(channel)
        const second = yield* session(channel)
        yield* first.close
        yield* second.close
        yield* (yield* session(channel)).close
        assert.deepStrictEqual(clients, ["open https://h/1"])
      }))
      assert.deepStrictEqual(clients, ["open https://h/1", "close https://h/1"])
    }))

  it.effect("rotation: other values make another client; the one before is closed after its last session", () =>
    Effect.gen(function*() {
      const env = { VERSION: "1" }
      const { clients, transport } = recorder(fromEnv(env))
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(yield* decoded)
        const first = yield* session(channel)
        const aside = yield* session(channel)
        env.VERSION = "2"
        const second = yield* session(channel)
        assert.deepStrictEqual(clients, ["open https://h/1", "open https://h/2"])
        yield* first.close
        assert.lengthOf(clients, 2)
        yield* aside.close
        assert.deepStrictEqual(clients.slice(2), ["close https://h/1"])
        yield* second.close
        assert.lengthOf(clients, 3)
        // Nobody uses the second one any more: it is closed as soon as there is a third.
        env.VERSION = "3"
        yield* (yield* session(channel)).close
        assert.deepStrictEqual(clients.slice(3), ["open https://h/3", "close https://h/2"])
      }))
      assert.deepStrictEqual(clients.slice(5), ["close https://h/3"])
    }))

  it.effect("a failure opens nothing, closes nothing, and is over with the next session", () =>
    Effect.gen(function*() {
      const env: Record<string, string> = { VERSION: "1" }
      const { clients, transport } = recorder(fromEnv(env))
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(yield* decoded)
        const first = yield* session(channel)
        delete env.VERSION
        assert.deepStrictEqual(yield* problemsOf(session(channel)), { url: "there is no variable \"VERSION\"" })
        env.VERSION = "1"
        yield* (yield* session(channel)).close
        yield* first.close
        assert.deepStrictEqual(clients, ["open https://h/1"])
      }))
    }))

  it.effect("the scope of the channel closes all clients, also of sessions that are still open", () =>
    Effect.gen(function*() {
      const env = { VERSION: "1" }
      const { clients, transport } = recorder(fromEnv(env))
      const ends: Array<Effect.Effect<void>> = []
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(yield* decoded)
        ends.push((yield* session(channel)).close)
        env.VERSION = "2"
        ends.push((yield* session(channel)).close)
      }))
      const closed = ["close https://h/1", "close https://h/2"]
      assert.deepStrictEqual(clients.slice(2).sort(), closed)
      yield* Effect.all(ends)
      assert.deepStrictEqual(clients.slice(2).sort(), closed)
    }))

  it.effect("two sessions at once with values that are new make one client", () =>
    Effect.gen(function*() {
      const { clients, transport } = recorder(fromEnv({ VERSION: "1" }))
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(yield* decoded)
        const ends = yield* Effect.all(Array.from({ length: 10 }, () => session(channel)), { concurrency: "unbounded" })
        yield* Effect.forEach(ends, (_) => _.close)
        assert.deepStrictEqual(clients, ["open https://h/1"])
      }))
    }))

  it.effect("a resolver that hangs is a handshake timeout, and is interrupted", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const { clients, transport } = recorder(SecretResolver.make({
        env: () =>
          Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
          )
      }))
      yield* inScope(Effect.gen(function*() {
        const channel = yield* transport.channel(yield* decoded)
        const opening = yield* Effect.fork(Effect.flip(McpSession.open(channel)))
        yield* Deferred.await(asked)
        yield* TestClock.adjust("5 seconds")
        const error = yield* Fiber.join(opening)
        assert(error instanceof McpError.RequestTimeout)
        assert.strictEqual(error.kind, "handshake")
        yield* Deferred.await(interrupted)
        assert.deepStrictEqual(clients, [])
      }))
    }))

  it.effect("interruption sweep: whoever is interrupted at any step leaves nothing open", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < 40; steps++) {
        const env = { VERSION: "1" }
        const { clients, transport } = recorder(SecretResolver.make({
          env: () => Effect.zipRight(Effect.yieldNow(), Effect.sync(() => Redacted.make(env.VERSION)))
        }))
        yield* inScope(Effect.gen(function*() {
          const channel = yield* transport.channel(yield* decoded)
          const first = yield* session(channel)
          env.VERSION = "2"
          const fiber = yield* Effect.fork(Effect.scoped(Effect.zipRight(channel.open(events), Effect.never)))
          for (let i = 0; i < steps; i++) yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
          yield* first.close
          env.VERSION = "3"
          yield* (yield* session(channel)).close
          const open = clients.filter((_) => _.startsWith("open")).length
          assert.strictEqual(clients.filter((_) => _.startsWith("close")).length, open - 1)
        }))
        const [opened, closed] = ["open", "close"].map((_) => clients.filter((c) => c.startsWith(_)).length)
        assert.strictEqual(opened, closed)
      }
    }))
})
