import { KeyValueStore } from "@effect/platform"
import * as PlatformError from "@effect/platform/Error"
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig } from "@mcp-runtime/core"
import { McpAuth, McpConnection, McpError, McpSession, McpTransport } from "@mcp-runtime/core"
import { Cause, Deferred, Effect, Either, Exit, Fiber, Layer, Logger, Scope, Stream, TestClock } from "effect"
import { generateKeyPairSync, verify } from "node:crypto"
import { inspect } from "node:util"

import { auth, decoded, login, open, person, settle } from "./setup.js"
import * as World from "./world.js"

const call = (session: McpSession.McpSession) => McpSession.callTool(session, { name: "tool" })

const clientCredentials = { type: "clientCredentials" as const, clientId: "app", clientSecret: "canary-app-secret" }

const connected = (input: Partial<McpConfig.ServerConfigInput> = {}) =>
  Effect.flatMap(decoded(input), (config) => McpConnection.make(config))

const untilState = (connection: McpConnection.McpConnection, tag: string) =>
  Stream.runHead(Stream.filter(connection.changes, (_) => _._tag === tag))

describe("a person is asked in the background", () => {
  it.scoped("A02: the connection fails at once, and connects by itself when the person is done", () =>
    Effect.gen(function*() {
      const world = World.make()
      const gate = yield* Deferred.make<void>()
      const authorizer = person(
        world,
        (url) => Effect.as(Deferred.await(gate), url).pipe(Effect.map((_) => world.visit(_)))
      )
      yield* Effect.gen(function*() {
        const connection = yield* connected()
        const error = yield* Effect.flip(connection.awaitReady)
        if (error._tag !== "Unauthorized") return assert.fail(error._tag)
        assert.include(error.authorizationUrl, `${World.issuer}/authorize?`)
        assert.strictEqual((yield* connection.state)._tag, "NeedsAuthorization")
        // Whoever comes meanwhile is sent to the same page.
        const second = yield* Effect.flip(connection.awaitReady)
        assert.strictEqual(second._tag === "Unauthorized" ? second.authorizationUrl : "", error.authorizationUrl)
        assert.strictEqual(world.count("register"), 1)
        const ready = yield* Effect.fork(untilState(connection, "Ready"))
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(ready)
        assert.strictEqual(world.count("authorize"), 1)
        assert.strictEqual(world.count("token"), 1)
      }).pipe(Effect.provide(auth(world, World.tokens(), authorizer)), Effect.scoped)
    }))

  it.scoped("A02: a person who is done before the connection knows that it needs one: it connects by itself, too", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const connection = yield* connected()
        const error = yield* Effect.flip(connection.awaitReady)
        assert.strictEqual(error._tag, "Unauthorized")
        yield* settle
        assert.strictEqual((yield* connection.state)._tag, "Ready")
        assert.strictEqual(world.count("authorize"), 1)
      }).pipe(Effect.provide(auth(world, World.tokens(), person(world))), Effect.scoped)
    }))

  for (const when of ["while it opens", "when it has been refused"] as const) {
    it.scoped(`new credentials ${when}, which are refused each time, are tried once in a second at most`, () =>
      Effect.gen(function*() {
        let opened = 0
        const listeners = new Set<() => void>()
        const tell = Effect.sync(() => [...listeners].forEach((listener) => listener()))
        const channel: McpTransport.Channel = {
          config: yield* decoded(),
          followCredentials: (listener) => {
            listeners.add(listener)
            return () => listeners.delete(listener)
          },
          open: () =>
            Effect.suspend(() => {
              opened++
              const told = when === "while it opens" ? tell : Effect.forkDaemon(Effect.zipRight(settle, tell))
              return Effect.zipRight(
                told,
                new McpError.Unauthorized({ server: "secured", operation: "open", executed: "no" })
              )
            })
        }
        yield* Effect.gen(function*() {
          const connection = yield* connected()
          yield* Effect.flip(connection.awaitReady)
          yield* Effect.repeatN(settle, 3)
          // At once where they are new.
          assert.strictEqual(opened, 2)
          for (let i = 0; i < 20; i++) {
            yield* TestClock.adjust("500 millis")
            yield* settle
          }
          assert.isAtLeast(opened, 11)
          assert.isAtMost(opened, 12)
        }).pipe(
          Effect.provide(Layer.succeed(McpTransport.McpTransport, { channel: () => Effect.succeed(channel) })),
          Effect.scoped
        )
      }))
  }

  it.scoped("a refusal by the person is not asked about at once again, and three times is enough", () =>
    Effect.gen(function*() {
      const world = World.make()
      const authorizer = person(
        world,
        (url) => Effect.sync(() => world.visit(url, (_) => _.set("error", "access_denied")))
      )
      yield* Effect.gen(function*() {
        for (let i = 0; i < 20; i++) {
          yield* Effect.exit(Effect.scoped(open()))
          yield* settle
          yield* TestClock.adjust("20 seconds")
        }
        assert.strictEqual(world.count("authorize"), 3)
        assert.strictEqual(world.count("token"), 0)
      }).pipe(Effect.provide(auth(world, World.tokens(), authorizer)))
    }))

  it.scoped("A08: nothing is shown after the connection has closed", () =>
    Effect.gen(function*() {
      const world = World.make()
      const closed: Array<string> = []
      const shown: Array<string> = []
      const authorizer = Layer.succeed(McpAuth.Authorizer, {
        listen: () =>
          Effect.acquireRelease(
            Effect.succeed({
              redirectUri: "http://127.0.0.1:1/callback",
              authorize: ({ url }: McpAuth.AuthorizationRequest) =>
                Effect.zipRight(Effect.sync(() => shown.push(url)), Effect.never)
            }),
            () => Effect.sync(() => closed.push("closed"))
          )
      })
      yield* Effect.gen(function*() {
        const scope = yield* Scope.make()
        const connection = yield* Scope.extend(connected(), scope)
        yield* Effect.flip(connection.awaitReady)
        yield* settle
        assert.strictEqual(shown.length, 1)
        yield* Scope.close(scope, Exit.void)
        yield* settle
        assert.deepStrictEqual(closed, ["closed"])
        assert.strictEqual(world.open(), 0)

        // While the registration hangs.
        world.script = (asked) => asked.kind === "register" ? "hang" : undefined
        const second = yield* Scope.make()
        const other = yield* Scope.extend(connected({ url: `${World.mcp}/two` }), second)
        const waiting = yield* Effect.fork(Effect.exit(other.awaitReady))
        yield* world.seen("register", 2)
        yield* Scope.close(second, Exit.void)
        yield* Fiber.join(waiting)
        yield* settle
        assert.strictEqual(world.open(), 0)
        assert.strictEqual(shown.length, 1)
      }).pipe(Effect.provide(auth(world, World.tokens(), authorizer)))
    }))

  it.scoped("an Authorizer that dies, fails or never answers is a typed error within its deadline", () =>
    Effect.gen(function*() {
      for (const answer of [Effect.dieMessage("canary-0"), Effect.never] as ReadonlyArray<Effect.Effect<string>>) {
        const world = World.make()
        yield* Effect.gen(function*() {
          const service = yield* McpAuth.McpAuth
          const fiber = yield* Effect.fork(Effect.flip(service.authorize(yield* decoded())))
          yield* world.seen("register")
          yield* settle
          yield* TestClock.adjust("10 minutes")
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(error._tag, "Unauthorized")
          assert.notInclude(error.message, "canary")
        }).pipe(Effect.provide(auth(world, World.tokens(), person(world, () => answer))))
      }
    }))

  it.scoped("scope-retry-limit: every call is refused, and there are at most three pages", () =>
    Effect.gen(function*() {
      const world = World.make()
      world.challenge += `, scope="mcp:basic"`
      yield* Effect.gen(function*() {
        const connection = yield* connected()
        yield* Effect.exit(connection.awaitReady)
        yield* untilState(connection, "Ready")
        world.script = (asked) =>
          asked.kind === "mcp"
            ? { status: 403, headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="mcp:write"` } }
            : undefined
        for (let i = 0; i < 10; i++) {
          yield* Effect.exit(McpConnection.callTool(connection, { name: "tool" }))
          yield* settle
          yield* TestClock.adjust("5 minutes")
          yield* settle
        }
        assert.isAtMost(world.count("authorize"), 3)
        assert.isAtLeast(world.count("authorize"), 2)
      }).pipe(Effect.provide(auth(world, World.tokens(), person(world))), Effect.scoped)
    }))
})

describe("storms", () => {
  it.scoped("A04 L07: a stream that is always refused, with a refresh token that works, costs one token request", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const before = world.count("token")
        world.script = (asked) =>
          asked.kind === "GET" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
        const session = yield* open()
        // The token is good for calls, which is no reason to get another one for the stream.
        yield* call(session)
        for (let i = 0; i < 60; i++) {
          yield* settle
          yield* TestClock.adjust("1 second")
        }
        yield* call(session)
        assert.strictEqual(world.count("token") - before, 1)
        assert.isAtMost(world.count("GET"), 4)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("L07: the same over HTTP+SSE", () =>
    Effect.gen(function*() {
      const world = World.make()
      const input = { transport: "sse" as const }
      yield* Effect.gen(function*() {
        yield* login(world, input)
        world.tokens.clear()
        const before = world.count("token")
        world.script = (asked) =>
          asked.kind === "GET" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
        for (let i = 0; i < 5; i++) {
          const error = yield* Effect.flip(Effect.scoped(open(input)))
          assert.strictEqual(error._tag, "Unauthorized")
        }
        assert.isAtMost(world.count("token") - before, 1)
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))

  it.scoped("an authorization server that is down is asked in growing intervals, and believed when it is back", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        const before = world.count("token")
        world.script = (asked) => asked.kind === "token" ? { status: 503, headers: { "retry-after": "1" } } : undefined
        for (let i = 0; i < 300; i++) {
          const error = yield* Effect.flip(call(session))
          assert.strictEqual(error._tag, "HttpError")
          assert.strictEqual(error.executed, "no")
          yield* TestClock.adjust("1 second")
        }
        assert.isAtMost(world.count("token") - before, 12)
        world.script = () => undefined
        yield* TestClock.adjust("1 minute")
        yield* call(session)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("a token that expires is renewed before it is refused; one that lives for no time is not renewed all the time", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        world.expiresIn = 100
        yield* login(world)
        const session = yield* open()
        yield* TestClock.adjust("95 seconds")
        yield* Effect.all([call(session), call(session), call(session)], { concurrency: "unbounded" })
        assert.strictEqual(world.count("token"), 2)
        assert.isTrue(world.of("mcp").every((_) => _.headers.authorization !== undefined))
        world.expiresIn = 0.001
        yield* TestClock.adjust("95 seconds")
        const before = world.count("token")
        for (let i = 0; i < 50; i++) yield* call(session)
        assert.isAtMost(world.count("token") - before, 1)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("A05: staggered refusals of one token cost one refresh", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        let held = true
        world.script = (asked) => asked.kind === "token" && held ? "hang" : undefined
        const first = yield* Effect.fork(call(session))
        yield* world.seen("token", 2)
        const others = yield* Effect.forkAll([call(session), call(session)])
        yield* settle
        held = false
        // The first one gives up after its deadline; the others begin anew.
        yield* TestClock.adjust("30 seconds")
        const exit = yield* Fiber.await(first)
        assert.isTrue(Exit.isFailure(exit))
        yield* Fiber.await(others)
        yield* TestClock.adjust("2 seconds")
        yield* Effect.all([call(session), call(session), call(session)], { concurrency: "unbounded" })
        assert.isAtMost(world.count("token"), 3)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))
})

describe("the end", () => {
  it.scoped("A08: a token endpoint that hangs: the call ends, close frees everything in a second, nothing follows", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const scope = yield* Scope.make()
        const session = yield* Scope.extend(open(), scope)
        world.tokens.clear()
        world.script = (asked) => asked.kind === "token" ? "hang" : undefined
        const fiber = yield* Effect.fork(Effect.exit(call(session)))
        yield* world.seen("token", 2)
        const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
        yield* settle
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(closing)
        yield* Fiber.join(fiber)
        const requests = world.asked.length
        yield* TestClock.adjust("1 hour")
        yield* settle
        assert.strictEqual(world.open(), 0)
        assert.strictEqual(world.asked.length, requests)
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))

  describe("what a code gives is kept, also where it comes after the end, within a second", () => {
    /** The token request has no answer until the gate opens. */
    const gated = () => {
      const world = World.make()
      let answer = () => {}
      const gate = new Promise<void>((resolve) => {
        answer = resolve
      })
      world.held = ({ kind }) => kind === "token" ? gate : undefined
      return { world, store: World.tokens(), open: Effect.sync(() => answer()) }
    }
    const statusOf = (store: World.Tokens) =>
      Effect.gen(function*() {
        return yield* (yield* McpAuth.McpAuth).status(yield* decoded())
      }).pipe(Effect.provide(auth(World.make(), store)), Effect.scoped)

    it.scoped("who finishes an authorization is interrupted", () =>
      Effect.gen(function*() {
        const gate = gated()
        yield* Effect.gen(function*() {
          const logging = yield* Effect.fork(login(gate.world))
          yield* gate.world.seen("token")
          const end = yield* Effect.fork(Fiber.interrupt(logging))
          yield* settle
          yield* gate.open
          assert.isTrue(Exit.isInterrupted(yield* Fiber.join(end)))
        }).pipe(Effect.provide(auth(gate.world, gate.store)), Effect.scoped)
        assert.strictEqual((yield* statusOf(gate.store))._tag, "Authorized")
        assert.strictEqual(gate.world.open(), 0)
      }))

    it.scoped("nobody wants the server any more, and all is closed", () =>
      Effect.gen(function*() {
        const gate = gated()
        const layers = yield* Scope.make()
        const context = yield* Layer.buildWithScope(auth(gate.world, gate.store, person(gate.world)), layers)
        const scope = yield* Scope.make()
        const opening = yield* Effect.fork(
          Effect.exit(Scope.extend(Effect.provide(open(), context), scope))
        )
        yield* gate.world.seen("token")
        yield* Fiber.interrupt(opening)
        yield* Scope.close(scope, Exit.void)
        const closing = yield* Effect.fork(Scope.close(layers, Exit.void))
        yield* settle
        yield* gate.open
        yield* Fiber.join(closing)
        assert.strictEqual((yield* statusOf(gate.store))._tag, "Authorized")
        assert.strictEqual(gate.world.open(), 0)
      }))

    it.scoped("after that second nothing is asked or kept", () =>
      Effect.gen(function*() {
        const gate = gated()
        yield* Effect.gen(function*() {
          const logging = yield* Effect.fork(login(gate.world))
          yield* gate.world.seen("token")
          const end = yield* Effect.fork(Fiber.interrupt(logging))
          yield* settle
          yield* TestClock.adjust("1 second")
          assert.isTrue(Exit.isInterrupted(yield* Fiber.join(end)))
          yield* gate.open
          yield* settle
        }).pipe(Effect.provide(auth(gate.world, gate.store)), Effect.scoped)
        assert.notStrictEqual((yield* statusOf(gate.store))._tag, "Authorized")
        assert.strictEqual(gate.world.open(), 0)
      }))
  })

  for (const kind of ["resource", "metadata", "register"]) {
    it.scoped(`an interruption while ${kind} is asked leaves nothing, and the next one begins anew`, () =>
      Effect.gen(function*() {
        const world = World.make()
        yield* Effect.gen(function*() {
          world.script = (asked) => asked.kind === kind ? "hang" : undefined
          const fiber = yield* Effect.fork(Effect.scoped(open()))
          yield* world.seen(kind)
          yield* Fiber.interrupt(fiber)
          yield* settle
          assert.strictEqual(world.open(), 0)
          world.script = () => undefined
          yield* login(world)
          yield* Effect.scoped(Effect.flatMap(open(), call))
        }).pipe(Effect.provide(auth(world, World.tokens())))
      }))
  }

  it.scoped("a caller that is interrupted does not take the renewal from the others", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        let held = true
        world.script = (asked) => asked.kind === "resource" && held ? "hang" : undefined
        const one = yield* Effect.fork(call(session))
        yield* world.seen("resource", 2)
        const two = yield* Effect.fork(Effect.either(call(session)))
        yield* settle
        yield* Fiber.interrupt(one)
        held = false
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(two)
        yield* TestClock.adjust("5 seconds")
        yield* call(session)
        assert.strictEqual(world.count("token"), 2)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  it.scoped("a slow answer at each step is a typed error that says which", () =>
    Effect.gen(function*() {
      for (const kind of ["resource", "metadata", "register", "token"]) {
        const world = World.make()
        yield* Effect.gen(function*() {
          world.script = (asked) => asked.kind === kind ? "hang" : undefined
          const fiber = yield* Effect.fork(Effect.either(login(world)))
          yield* world.seen(kind)
          yield* TestClock.adjust("1 minute")
          const outcome = yield* Fiber.join(fiber)
          if (!Either.isLeft(outcome) || outcome.left._tag !== "RequestTimeout") {
            return assert.fail(JSON.stringify(outcome))
          }
          assert.include(outcome.left.message, "https://")
          assert.strictEqual(world.open(), 0)
        }).pipe(Effect.provide(auth(world, World.tokens())))
      }
    }))
})

describe("the store", () => {
  const failing = (change: Partial<KeyValueStore.KeyValueStore>) =>
    Layer.map(Layer.fresh(KeyValueStore.layerMemory), (context) => context).pipe(
      Layer.provideMerge(Layer.empty),
      (memory) =>
        Layer.provide(
          McpAuth.layerTokens,
          Layer.effect(
            KeyValueStore.KeyValueStore,
            Effect.map(KeyValueStore.KeyValueStore, (store) => ({ ...store, ...change }))
          ).pipe(Layer.provide(memory))
        )
    )
  const denied = PlatformError.SystemError.make({
    reason: "PermissionDenied",
    module: "KeyValueStore",
    method: "get",
    message: "canary-store"
  } as never)

  for (
    const [name, get] of [
      ["fails", () => Effect.fail(denied)],
      ["dies", () => Effect.die(new Error("canary-store"))],
      ["throws", () => {
        throw new Error("canary-store")
      }]
    ] as const
  ) {
    it.scoped(`A09: a store that ${name}: a typed error that says so, where the server asks for a token`, () =>
      Effect.gen(function*() {
        const world = World.make()
        const store = { ...World.tokens(), layer: failing({ get: get as never }) }
        yield* Effect.gen(function*() {
          const error = yield* Effect.flip(Effect.scoped(open()))
          assert.strictEqual(error._tag, "Unauthorized")
          assert.include(error.message, "its tokens could not be read")
          assert.notInclude(error.message, "canary")
          // A server that asks for none does not suffer.
          world.script = (asked) =>
            asked.kind === "mcp" && asked.headers.authorization === undefined
              ? {
                status: 200,
                body: {
                  jsonrpc: "2.0",
                  id: JSON.parse(asked.body).id,
                  result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "x", version: "1" } }
                }
              }
              : undefined
          yield* Effect.scoped(open())
        }).pipe(Effect.provide(auth(world, store)))
      }))
  }

  it.scoped("tokens that can't be written are used as long as the process lives", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        const session = yield* open({ auth: clientCredentials })
        yield* call(session)
        assert.strictEqual(world.count("token"), 1)
      }).pipe(
        Effect.provide(auth(world, { ...World.tokens(), layer: failing({ set: () => Effect.fail(denied) }) })),
        Effect.scoped
      )
    }))

  it.scoped("locks are for one at a time, and an interrupted waiter leaves none behind", () =>
    Effect.gen(function*() {
      const store = yield* McpAuth.TokenStore
      const scope = yield* Scope.make()
      yield* Scope.extend(store.lock("k"), scope)
      yield* Effect.scoped(store.lock("other"))
      const waiting = yield* Effect.fork(Effect.scoped(store.lock("k")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiting)
      const second = yield* Effect.fork(Effect.scoped(Effect.as(store.lock("k"), "mine")))
      yield* Effect.yieldNow()
      assert.isNull(second.unsafePoll())
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Fiber.join(second), "mine")
    }).pipe(Effect.provide(McpAuth.layerTokensMemory)))
})

describe("credentials of the application", () => {
  it.scoped("client-credentials-basic: one token request, and again when the token is refused", () =>
    Effect.gen(function*() {
      const world = World.make()
      world.metadata = { ...world.metadata, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
      yield* Effect.gen(function*() {
        world.resource = { ...world.resource, scopes_supported: ["a"] }
        const session = yield* open({ auth: clientCredentials })
        yield* call(session)
        const [token] = world.of("token")
        assert.strictEqual(token!.headers.authorization, `Basic ${btoa("app:canary-app-secret")}`)
        assert.strictEqual(token!.params.get("scope"), "a")
        assert.strictEqual(token!.params.get("resource"), World.mcp)
        world.tokens.clear()
        yield* call(session)
        assert.strictEqual(world.count("token"), 2)
        world.needs = () => "b"
        yield* call(session)
        assert.strictEqual(world.of("token")[2]!.params.get("scope"), "a b")
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))

  for (const algorithm of ["ES256", "RS256"] as const) {
    it.scoped(`client-credentials-jwt: ${algorithm}`, () =>
      Effect.gen(function*() {
        const world = World.make()
        const { privateKey, publicKey } = algorithm === "ES256"
          ? generateKeyPairSync("ec", { namedCurve: "P-256" })
          : generateKeyPairSync("rsa", { modulusLength: 2048 })
        const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string
        yield* Effect.gen(function*() {
          yield* open({ auth: { type: "clientCredentials", clientId: "app", privateKey: pem, algorithm } })
          const { params } = world.of("token")[0]!
          assert.strictEqual(
            params.get("client_assertion_type"),
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
          )
          const [header, claims, signature] = params.get("client_assertion")!.split(".")
          const json = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString())
          assert.deepStrictEqual(json(header!), { alg: algorithm, typ: "JWT" })
          assert.deepInclude(json(claims!), { iss: "app", sub: "app", aud: World.issuer })
          assert.isTrue(
            verify(
              "sha256",
              Buffer.from(`${header}.${claims}`),
              algorithm === "ES256" ? { key: publicKey, dsaEncoding: "ieee-p1363" } : publicKey,
              Buffer.from(signature!, "base64url")
            )
          )
        }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
      }))
  }

  it.scoped("a key that is none says so without showing it", () =>
    Effect.gen(function*() {
      for (const privateKey of ["canary-key", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"]) {
        const error = yield* Effect.flip(open({ auth: { type: "clientCredentials", clientId: "app", privateKey } }))
        assert.strictEqual(error._tag, "ConfigInvalid")
        assert.include(error.message, "auth.privateKey")
        assert.notInclude(inspect(error, { depth: 9 }), "canary")
      }
    }).pipe(Effect.provide(auth(World.make(), World.tokens())), Effect.scoped))

  it.scoped("a server that refuses what it was just given costs one token request", () =>
    Effect.gen(function*() {
      const world = World.make()
      world.script = (asked) =>
        asked.kind === "mcp" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
      yield* Effect.gen(function*() {
        for (let i = 0; i < 5; i++) {
          const error = yield* Effect.flip(Effect.scoped(open({ auth: clientCredentials })))
          assert.strictEqual(error._tag, "Unauthorized")
        }
        assert.isAtMost(world.count("token"), 2)
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))

  it.scoped("a token that is revoked before its first use locks nobody out: a new one in half a minute, then less often", () =>
    Effect.gen(function*() {
      const world = World.make()
      const refusing = (asked: World.Asked) =>
        asked.kind === "mcp" ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined
      const tokensWithin = (seconds: number) =>
        Effect.gen(function*() {
          const before = world.count("token")
          for (let i = 0; i < seconds; i += 5) {
            yield* Effect.exit(Effect.scoped(open({ auth: clientCredentials })))
            yield* TestClock.adjust("5 seconds")
          }
          return world.count("token") - before
        })
      world.script = refusing
      yield* Effect.gen(function*() {
        yield* Effect.exit(Effect.scoped(open({ auth: clientCredentials })))
        yield* TestClock.adjust("31 seconds")
        world.script = () => undefined
        yield* Effect.scoped(open({ auth: clientCredentials }))
        // It was accepted: the next bad moment is the first one again.
        world.script = refusing
        assert.isAtLeast(yield* tokensWithin(70), 2)
        assert.isAtMost(yield* tokensWithin(600), 5)
      }).pipe(Effect.provide(auth(world, World.tokens())))
    }))
})

describe("what is not ours", () => {
  const cases: ReadonlyArray<readonly [string, Partial<McpConfig.ServerConfigInput>, string]> = [
    ["auth none", { auth: "none" }, "Bearer"],
    ["an Authorization header", { headers: { AUTHORIZATION: "Bearer mine" } }, "Bearer"],
    ["credentials in the URL", { url: "https://user:password@mcp.example/mcp" }, "Bearer"],
    ["a header given per request", { requestHeaders: Effect.succeed({ authorization: "Bearer mine" }) }, "Bearer"],
    ["another scheme", {}, "Basic realm=\"x\""]
  ]
  for (const [name, input, challenge] of cases) {
    it.scoped(`${name}: 401 is an Unauthorized and nothing else`, () =>
      Effect.gen(function*() {
        const world = World.make()
        world.challenge = challenge
        yield* Effect.gen(function*() {
          const error = yield* Effect.flip(open(input))
          assert.isTrue(error._tag === "Unauthorized" && error.authorizationUrl === undefined)
          assert.deepStrictEqual([...new Set(world.asked.map((_) => _.kind))], ["mcp"])
        }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
      }))
  }

  it.scoped("without McpAuth everything is as before", () =>
    Effect.gen(function*() {
      const world = World.make()
      const error = yield* Effect.flip(open()).pipe(Effect.provide(Layer.provide(McpTransport.layer, world.http)))
      assert.isTrue(error._tag === "Unauthorized" && error.authorizationUrl === undefined)
      assert.strictEqual(world.asked.length, 1)
    }))

  it.scoped("authorization-server-migration: the new server sees neither the client nor the tokens of the old one", () =>
    Effect.gen(function*() {
      const world = World.make()
      yield* Effect.gen(function*() {
        yield* login(world)
        const session = yield* open()
        world.tokens.clear()
        const other = "https://as2.example"
        world.resource = { ...world.resource, authorization_servers: [other] }
        const old = world.of("authorize")[0]!.params.get("client_id")!
        const usual = world.metadata
        world.script = ({ url }) =>
          url.origin !== other
            ? undefined
            : url.pathname.includes(".well-known")
            ? { status: 200, body: JSON.parse(JSON.stringify(usual).replaceAll(World.issuer, other)) }
            : url.pathname === "/register"
            ? { status: 201, body: { client_id: "another" } }
            : undefined
        const error = yield* Effect.flip(call(session))
        if (error._tag !== "Unauthorized") return assert.fail(error._tag)
        const url = new URL(error.authorizationUrl!)
        assert.strictEqual(url.origin, other)
        assert.strictEqual(url.searchParams.get("client_id"), "another")
        const there = world.asked.filter((_) => _.url.origin === other)
        assert.isTrue(there.every((_) => !JSON.stringify([_.url, _.body, _.headers]).includes(old)))
        assert.strictEqual(world.count("token"), 1)
      }).pipe(Effect.provide(auth(world, World.tokens())), Effect.scoped)
    }))
})

describe("secrets", () => {
  it.scoped("no token, code, verifier or secret is in an error, a log, a span or a printed value", () =>
    Effect.gen(function*() {
      const world = World.make()
      const seen: Array<string> = []
      const note = (value: unknown) => {
        seen.push(
          inspect(value, { depth: 20, showHidden: true, getters: true }),
          String(value),
          JSON.stringify(value) ?? ""
        )
      }
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make((options) =>
          seen.push(inspect([options.message, options.cause, [...options.annotations]], { depth: 20 }))
        )
      )
      const store = World.tokens()
      const services = auth(world, store)
      yield* Effect.gen(function*() {
        const service = yield* McpAuth.McpAuth
        note(service)
        const input = { auth: { type: "oauth" as const, clientId: "pre", clientSecret: "canary-client-secret-1" } }
        const config = yield* decoded(input)
        note(config)
        // The authorization server repeats everything it was sent.
        const echo = (asked: World.Asked) => ({
          error: "invalid_request",
          error_description: `${asked.body} ${asked.headers.authorization}`
        })
        world.script = (asked) => asked.kind === "token" ? { status: 400, body: echo(asked) } : undefined
        const request = yield* service.begin(config)
        note(request)
        note(yield* Effect.flip(service.finish(config, world.visit(request.url))))
        world.script = () => undefined
        yield* login(world, input)
        const session = yield* open(input)
        note(session)
        note(yield* service.status(config))
        yield* call(session)
        // So does the server.
        world.script = (asked) =>
          asked.kind === "mcp"
            ? { status: 401, headers: { "www-authenticate": `Bearer error="${asked.headers.authorization}"` } }
            : asked.kind === "token"
            ? { status: 400, body: { ...echo(asked), error: asked.params.get("refresh_token") } }
            : undefined
        note(yield* Effect.flip(call(session)))
        world.script = (asked) =>
          asked.kind === "mcp" ? { status: 500, body: `you sent ${asked.headers.authorization}` } : undefined
        note(yield* Effect.flip(call(session)))
        note(Cause.pretty(Cause.fail(yield* Effect.flip(call(session)))))
      }).pipe(Effect.provide(services), Effect.scoped, Effect.provide(logger), Effect.withSpan("test"))
      const secrets = [...world.secrets, "canary-client-secret-1"]
      assert.isAbove(secrets.length, 5)
      for (const secret of secrets) {
        const found = seen.find((_) => _.includes(secret))
        assert.isUndefined(found, `${secret} is shown: ${found?.slice(0, 2000)}`)
      }
      assert.isTrue([...store.entries.values()].join().includes("canary-"), "the store has them")
    }))
})
