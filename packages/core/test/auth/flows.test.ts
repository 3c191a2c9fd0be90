import { assert, describe, it } from "@effect/vitest"
import { McpAuth, McpConfig, McpSession } from "@mcp-runtime/core"
import { Context, Effect, Layer, TestClock } from "effect"
import { auth, decoded, login, open, person } from "./setup.js"
import * as World from "./world.js"

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

describe("authorization of a server", () => {
  it.scoped("A01 A02: without a token it is an Unauthorized with the page to visit, and finish makes it work", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        const error = yield* Effect.flip(open())
        if (error._tag !== "Unauthorized") return assert.fail(error._tag)
        assert.include(error.challenge, "resource_metadata")
        const url = new URL(error.authorizationUrl!)
        assert.strictEqual(url.origin, World.issuer)
        assert.strictEqual(url.searchParams.get("code_challenge_method"), "S256")
        assert.strictEqual(url.searchParams.get("resource"), World.mcp)
        assert.strictEqual((yield* service.status(config))._tag, "Pending")

        // The same page for the next one who asks, and nothing is registered again.
        const again = yield* Effect.flip(open())
        assert.strictEqual(again._tag === "Unauthorized" ? again.authorizationUrl : "", error.authorizationUrl)
        assert.strictEqual(world.count("register"), 1)

        yield* service.finish(config, world.visit(error.authorizationUrl!))
        const session = yield* open()
        yield* call(session)
        assert.strictEqual(world.count("token"), 1)
        const [token] = world.of("token")
        assert.strictEqual(token!.params.get("resource"), World.mcp)
        assert.strictEqual(token!.params.get("client_id"), url.searchParams.get("client_id"))
        const status = yield* service.status(config)
        assert.deepInclude(status, { _tag: "Authorized", issuer: World.issuer, refreshable: true })
        yield* service.forget(config)
        assert.strictEqual(store.entries.size, 0)
        assert.strictEqual((yield* service.status(config))._tag, "None")
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("a token of the store is used at once", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.scoped(Effect.provide(login(world), auth(world, store)))
      const before = world.asked.length
      yield* Effect.scoped(Effect.provide(Effect.flatMap(open(), call), auth(world, store)))
      assert.deepStrictEqual([...new Set(world.asked.slice(before).map((_) => _.kind))], ["mcp", "GET"])
    }))

  it.scoped("A03: a refresh is taken once, the call is sent again, and the next 401 is one too", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        for (let i = 1; i <= 3; i++) {
          world.tokens.clear()
          yield* call(session)
          assert.strictEqual(world.count("token"), 1 + i)
        }
        assert.strictEqual(world.count("register"), 1)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("A03: a server that rejects every token costs one refresh, however many calls are made", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.script = (asked) =>
          asked.kind === "mcp" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
        const before = world.count("token")
        const sentBefore = world.count("mcp")
        for (let i = 0; i < 3; i++) {
          const error = yield* Effect.flip(call(session))
          assert.strictEqual(error._tag, "Unauthorized")
        }
        assert.strictEqual(world.count("token") - before, 1)
        // The old one, the new one with the same call, and once more to find out that it is refused in any case.
        const sent = world.of("mcp").slice(sentBefore).map((_) => _.headers.authorization).filter((_) =>
          _ !== undefined
        )
        assert.isAtMost(sent.length, 3)
        assert.strictEqual(new Set(sent).size, 2)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("A05: five calls that are refused at once cost one refresh, and all succeed", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        yield* Effect.all(Array.from({ length: 5 }, () => call(session)), { concurrency: "unbounded" })
        assert.strictEqual(world.count("token"), 2)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("A05: two programs that share a store refresh once", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.scoped(Effect.provide(login(world), auth(world, store)))
      const ready = Effect.provide(
        Effect.flatMap(open(), (session) => Effect.as(call(session), session)),
        auth(world, store)
      )
      const one = yield* ready
      const two = yield* ready
      world.tokens.clear()
      yield* Effect.all([call(one), call(two), call(one), call(two)], { concurrency: "unbounded" })
      assert.strictEqual(world.count("token"), 2)
    }).pipe(Effect.scoped))

  it.scoped("A06: 403 insufficient_scope asks for more, once, and never refreshes", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      world.challenge += `, scope="mcp:basic"`
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        yield* login(world)
        assert.strictEqual(world.of("authorize")[0]!.params.get("scope"), "mcp:basic")
        const session = yield* open()
        world.needs = (method) => method === "tools/call" ? "mcp:write" : undefined
        const error = yield* Effect.flip(call(session))
        if (error._tag !== "Forbidden") return assert.fail(error._tag)
        assert.strictEqual(error.scope, "mcp:write")
        assert.strictEqual(new URL(error.authorizationUrl!).searchParams.get("scope"), "mcp:basic mcp:write")
        // The token is good for everything else.
        yield* McpSession.listTools(session)
        assert.strictEqual(world.count("token"), 1)
        yield* service.finish(config, world.visit(error.authorizationUrl!))
        yield* call(session)
        // What was asked for and not given is not asked for again.
        world.needs = () => "mcp:write"
        world.scopes.clear()
        const last = yield* Effect.flip(call(session))
        assert.strictEqual(last._tag === "Forbidden" && last.authorizationUrl, undefined)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("A07: invalid_grant drops the tokens once, and a person is needed", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        world.refreshes.clear()
        for (let i = 0; i < 3; i++) {
          const error = yield* Effect.flip(call(session))
          assert.isTrue(error._tag === "Unauthorized" && error.authorizationUrl !== undefined)
        }
        assert.strictEqual(world.count("token"), 2)
        assert.notInclude([...store.entries.values()].join(), "\"refresh\"")
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("A10: what follows a 401 is the very same request", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        yield* call(session)
        const [first, second] = world.of("mcp").slice(-2)
        assert.strictEqual(first!.body, second!.body)
        const { authorization: a, ...headers } = first!.headers
        const { authorization: b, ...others } = second!.headers
        assert.notStrictEqual(a, b)
        assert.deepStrictEqual(headers, others)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("with somebody to ask, authorize asks them and waits", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        yield* service.authorize(yield* decoded())
        assert.strictEqual(world.count("authorize"), 1)
        yield* Effect.flatMap(open(), call)
      }).pipe(Effect.provide(auth(world, store, person(world))), Effect.scoped)
    }))

  it.scoped("a refresh that something in between refuses costs no tokens", () =>
    Effect.gen(function*() {
      const world = World.make()
      const store = World.tokens()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        world.script = (asked) => asked.kind === "token" ? { status: 403, body: "<html>blocked</html>" } : undefined
        const error = yield* Effect.flip(call(session))
        assert.isTrue(error._tag === "Unauthorized" && error.authorizationUrl === undefined)
        world.script = () => undefined
        yield* TestClock.adjust("1 minute")
        yield* call(session)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.scoped("a code that was redeemed is not lost with a store that fails then", () =>
    Effect.gen(function*() {
      const world = World.make()
      const kept = World.tokens()
      let failing = false
      const store = {
        ...kept,
        layer: Layer.map(kept.layer, (context) => {
          const inner = Context.get(context, McpAuth.TokenStore)
          return Context.make(McpAuth.TokenStore, {
            ...inner,
            lock: (key: string) => failing ? Effect.die("no lock") : inner.lock(key)
          })
        })
      }
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        const config = yield* decoded()
        const { url } = yield* service.begin(config)
        failing = true
        yield* service.finish(config, world.visit(url))
        failing = false
        yield* Effect.flatMap(open(), call)
        assert.strictEqual(world.count("token"), 1)
      }).pipe(Effect.provide(auth(world, store)), Effect.scoped)
    }))

  it.effect("the configuration says what is wrong with its field", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<readonly [unknown, string]> = [
        ["oauth", "auth"],
        [{ type: "oauth", redirectPort: 0 }, "redirectPort"],
        [{ type: "oauth", issuer: "http://login.example" }, "issuer"],
        [{ type: "oauth", clientMetadataUrl: "http://x.example/y" }, "clientMetadataUrl"],
        [{ type: "oauth", scopes: ["a b"] }, "scopes"],
        [{ type: "clientCredentials", clientId: "a" }, "clientSecret or privateKey"],
        [{ type: "clientCredentials", clientSecret: "canary-1" }, "clientId"]
      ]
      for (const [value, expected] of wrong) {
        const error = yield* Effect.flip(McpConfig.decodeUnknown({ ...World.config, auth: value }))
        assert.include(error.message, expected)
        assert.notInclude(error.message, "canary")
      }
    }))
})
