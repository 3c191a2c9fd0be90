/** Secrets of servers that are really connected: they arrive, rotated ones too, and show nowhere. */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import {
  CatalogStore,
  McpConfig,
  McpConnection,
  McpError,
  McpManager,
  McpSession,
  McpTransport
} from "@mcp-runtime/core"
import * as SecretResolver from "@mcp-runtime/core/SecretResolver"
import { NodeMcp, StdioTransport } from "@mcp-runtime/node"
import * as NodeSecrets from "@mcp-runtime/node/NodeSecrets"
import { HttpFixture, LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import {
  Cause,
  Config,
  ConfigProvider,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  LogLevel,
  Redacted,
  Stream,
  Tracer
} from "effect"
import type { Context, Scope } from "effect"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { ending } from "../../core/test/clocks.js"
import { isAlive, until } from "./internal/processes.js"

const stdio = (
  name: string,
  extra: Partial<StdioFixture.StdioConfigInput> = {},
  flags: ReadonlyArray<StdioFixture.Flag> = []
) => StdioFixture.config(flags, { name, ...extra })

/** With the secrets of a test in place of those of Node. */
const provided = <A, E>(
  effect: Effect.Effect<A, E, Scope.Scope | McpTransport.McpTransport | CatalogStore.CatalogStore>,
  secrets: Context.Tag.Service<SecretResolver.SecretResolver>
) =>
  Effect.provide(
    effect,
    Layer.merge(
      Layer.provide(NodeMcp.layerTransport, Layer.succeed(SecretResolver.SecretResolver, secrets)),
      CatalogStore.layerNone
    )
  )

const envOf = (manager: McpManager.Manager, server: string) =>
  Effect.map(
    manager.callTool(server, { name: "env" }),
    ({ content }) => JSON.parse((content[0] as { readonly text: string }).text) as Record<string, string>
  )

describe("a server whose secrets can't be had", () => {
  it.live(
    "fails alone, with the field and the variable; it connects when the variable is there",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const env: Record<string, string> = {}
        const manager = yield* provided(
          McpManager.make({
            servers: [
              stdio("first"),
              stdio("broken", { expand: true, env: { TOKEN: "${MISSING}", OTHER: { command: "exit 3" } } }),
              { name: "remote", transport: "http", url: "${MISSING_URL}", expand: true },
              stdio("last", { expand: true, env: { TOKEN: "${MISSING:-default}" } })
            ]
          }),
          NodeSecrets.make({ env })
        )
        assert.deepStrictEqual(yield* manager.connectAll, ["first", "last"])
        const errorOf = (name: string) => Effect.map(manager.status(name), (_) => _.error)
        const broken = yield* errorOf("broken")
        assert(broken instanceof McpError.ConfigInvalid)
        assert.strictEqual(broken.server, "broken")
        assert.deepStrictEqual(broken.problems, [
          {
            field: "env.TOKEN",
            problem: "the environment variable \"MISSING\" is not set; set it, or write \"${MISSING:-default}\""
          },
          { field: "env.OTHER", problem: "its command exited with code 3; run it by hand to see why" }
        ])
        const remote = yield* errorOf("remote")
        assert.include(remote?.message, "url: the environment variable \"MISSING_URL\" is not set")
        assert.strictEqual((yield* envOf(manager, "last")).TOKEN, "default")
        // A call of it says the same.
        const error = yield* Effect.flip(manager.callTool("remote", { name: "x" }))
        assert.strictEqual(error._tag, "ConfigInvalid")
        const server = yield* HttpFixture.make()
        env.MISSING_URL = server.url
        assert.include(yield* manager.reconnect(), "remote")
        assert.strictEqual((yield* manager.status("remote")).phase, "connected")
      })),
    60_000
  )

  it.live(
    "NodeMcp.layer: variables of this process, commands, and the store of the context, without anything to provide",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            process.env.MCP_TEST_SECRET = "from the environment"
            process.env.MCP_INPUT_TEST_ID = "from an input"
          }),
          () =>
            Effect.sync(() => {
              delete process.env.MCP_TEST_SECRET
              delete process.env.MCP_INPUT_TEST_ID
            })
        )
        const env = {
          A: "${MCP_TEST_SECRET}",
          B: { command: "echo from a command" },
          C: { store: "key" },
          D: "${input:test-id}",
          E: Config.string("KEY"),
          F: "${userHome}"
        } as const
        const program = Effect.gen(function*() {
          yield* Effect.orDie(Effect.flatMap(KeyValueStore.KeyValueStore, (_) => _.set("key", "from a store")))
          const manager = yield* McpManager.make({ servers: [stdio("a", { expand: true, env })] })
          yield* manager.connectAll
          return yield* envOf(manager, "a")
        })
        const found = yield* program.pipe(
          Effect.provide(Layer.provideMerge(
            Layer.merge(NodeMcp.layerTransport, CatalogStore.layerNone),
            KeyValueStore.layerMemory
          )),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["KEY", "from a Config"]])))
        )
        assert.deepStrictEqual([found.A, found.B, found.C, found.D, found.E, found.F], [
          "from the environment",
          "from a command",
          "from a store",
          "from an input",
          "from a Config",
          process.env.HOME
        ])
        assert.isUndefined(found.MCP_TEST_SECRET)
      })),
    60_000
  )

  it.live("a configuration that nobody has resolved starts no process", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      for (const extra of [{ expand: true }, { env: { A: { env: "A" } } }] as const) {
        const config = yield* McpConfig.decode(stdio("a", extra))
        assert(config.transport === "stdio")
        const error = yield* Effect.flip(McpSession.open(StdioTransport.channel(config)))
        assert(error instanceof McpError.SpawnFailed)
        assert.include(error.message, "its references are not resolved")
      }
    })))
})

describe("rotation", () => {
  it.live("the next process gets the value of now", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const env: Record<string, string> = { TOKEN: "one" }
      const manager = yield* provided(
        McpManager.make({ servers: [stdio("a", { expand: true, env: { T: "Bearer ${TOKEN}" } })] }),
        NodeSecrets.make({ env })
      )
      yield* manager.connectAll
      assert.strictEqual((yield* envOf(manager, "a")).T, "Bearer one")
      env.TOKEN = "two"
      assert.strictEqual((yield* envOf(manager, "a")).T, "Bearer one")
      yield* manager.reconnect({ failedOnly: false })
      assert.strictEqual((yield* envOf(manager, "a")).T, "Bearer two")
    })), 60_000)

  it.live(
    "HTTP: the same value keeps the sockets; another one is sent over new ones, and the old ones are closed",
    () =>
      LeakCheck.noLeaks(Effect.scoped(Effect.gen(function*() {
        const server = yield* HttpFixture.make({ stream: false })
        yield* Effect.scoped(Effect.gen(function*() {
          const env: Record<string, string> = { TOKEN: "one-canary" }
          const config = yield* McpConfig.decode({
            name: "http",
            transport: "http",
            url: "${URL}",
            expand: true,
            headers: { Authorization: "Bearer ${TOKEN}" }
          })
          env.URL = server.url
          const connection = yield* provided(McpConnection.make(config), NodeSecrets.make({ env }))
          const ports = () => new Set(server.log.filter((_) => _.rpc !== undefined).map((_) => _.port)).size
          const tokens = () => server.log.filter((_) => _.rpc === "tools/call").map((_) => _.headers.authorization)
          const call = McpConnection.callTool(connection, { name: "echo", arguments: {} })
          yield* call
          const before = ports()
          // The server forgets the session, so that it is opened again.
          yield* server.expireSessions
          yield* call
          assert.strictEqual(ports(), before)
          assert.deepStrictEqual(new Set(tokens()), new Set(["Bearer one-canary"]))
          env.TOKEN = "two-canary"
          yield* server.expireSessions
          yield* call
          assert.strictEqual(tokens().at(-1), "Bearer two-canary")
          assert.isAbove(ports(), before)
          const last = new Set(
            server.log.filter((_) => _.headers.authorization === "Bearer two-canary").map((_) => _.port)
          )
          yield* server.awaitSockets((open) => open <= last.size)
          assert.strictEqual((yield* connection.stats).sessions, 3)
        }))
        yield* server.awaitSockets((open) => open === 0)
      }))),
    60_000
  )
})

describe("a command that takes too long", () => {
  const temporary = Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-secrets-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const pids = (file: string) =>
    existsSync(file) ? readFileSync(file, "utf8").trim().split(/\s+/).filter((_) => _ !== "").map(Number) : []

  const opening = (file: string, timeouts: { readonly handshake?: string } = {}) =>
    Effect.gen(function*() {
      const transport = yield* McpTransport.McpTransport
      const config = yield* McpConfig.decode(stdio("a", {
        timeouts: timeouts as never,
        env: { A: { command: `sleep 1000 & echo $$ $! > ${file}; wait` } }
      }))
      return yield* McpSession.open(yield* transport.channel(config))
    })

  it.live("is part of the handshake, and ends with it", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* temporary, "pids")
      const clock = yield* ending(["1 hour", until("the command runs", () => pids(file).length === 2)])
      const error = yield* Effect.flip(provided(opening(file, { handshake: "1 hour" }), NodeSecrets.make())).pipe(
        Effect.withClock(clock)
      )
      assert(error instanceof McpError.RequestTimeout)
      assert.lengthOf(pids(file), 2)
      assert.deepStrictEqual(pids(file).filter(isAlive), [])
    })))

  it.live("is ended when whoever connects is interrupted", () =>
    LeakCheck.scoped(Effect.gen(function*() {
      const file = join(yield* temporary, "pids")
      const fiber = yield* Effect.fork(provided(Effect.scoped(opening(file)), NodeSecrets.make()))
      yield* until("the command runs", () => pids(file).length === 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(pids(file).filter(isAlive), [])
    })))
})

/** Everything that is logged, at every level, and every span with what is on it. */
const overheard = () => {
  const texts: Array<string> = []
  const hear = (...values: ReadonlyArray<unknown>) => {
    for (const value of values) texts.push(inspect(value, { depth: 12, maxStringLength: null }), String(value))
  }
  const logger = Logger.make(({ annotations, cause, message }) => {
    hear(message, [...annotations], Cause.pretty(cause), cause)
  })
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      let status: Tracer.SpanStatus = { _tag: "Started", startTime }
      return {
        _tag: "Span",
        name,
        spanId: "s",
        traceId: "t",
        parent,
        context,
        links,
        sampled: true,
        kind,
        attributes,
        get status() {
          return status
        },
        attribute: (key, value) => {
          hear(key, value)
          attributes.set(key, value)
        },
        event: (name, _, attributes) => hear(name, attributes),
        addLinks: () => {},
        end: (endTime, exit) => {
          status = { _tag: "Ended", startTime, endTime, exit }
          hear(name, [...attributes])
          if (Exit.isFailure(exit)) hear(Cause.pretty(exit.cause))
        }
      }
    }
  })
  const layer = Layer.mergeAll(
    Logger.replace(Logger.defaultLogger, logger),
    Logger.minimumLogLevel(LogLevel.All),
    Layer.setTracer(tracer)
  )
  return { texts, layer }
}

describe("S16: canaries", () => {
  it.live(
    "values show in no error, log, span, state, configuration or stored list",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-secrets-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        const { layer, texts } = overheard()
        const env: Record<string, string> = { TOKEN: "env-canary-1", KEY: "env canary/2", DIR: "/nowhere/shown" }
        const secrets = SecretResolver.make({
          ...NodeSecrets.make({ env }),
          store: () => Effect.succeed(Redacted.make("store-canary-4"))
        })
        // A server that repeats what it was sent, wherever it can.
        const server = yield* HttpFixture.make({
          stream: false,
          override: (request) =>
            request.path.startsWith("/ok")
              ? undefined
              : HttpFixture.respond({
                status: request.path.startsWith("/401") ? 401 : request.path.startsWith("/302") ? 302 : 500,
                headers: {
                  "www-authenticate": `Bearer error="${request.headers["x-key"]}", at="${
                    decodeURIComponent(request.path)
                  }"`,
                  location: `${request.path}&again=${request.headers["x-key"]}`
                },
                body: JSON.stringify({
                  path: request.path,
                  url: decodeURIComponent(request.path),
                  headers: request.headers
                })
              })
        })
        const remote = (name: string, path: string): McpConfig.ServerConfigInput => ({
          name,
          transport: "http",
          expand: true,
          url: `${server.origin}/${path}/\${KEY}/\${TOKEN}/mcp?key=\${KEY}`,
          headers: { Authorization: "Basic ${TOKEN}", "X-Key": "prefix-${KEY};x", "X-Store": { store: "key" } },
          auth: "none"
        })
        const shell = (name: string, script: string, extra: object = {}): McpConfig.ServerConfigInput => ({
          name,
          transport: "stdio",
          command: "/bin/sh",
          expand: true,
          args: ["-c", `${script} #`, "${TOKEN}", "x-${KEY}-y", "${input:id:-${TOKEN}}"],
          env: {
            A: "pre-${TOKEN}-post",
            B: { command: "echo command-canary-5" },
            C: Config.succeed("config-canary-6")
          },
          ...extra
        })
        const servers: ReadonlyArray<McpConfig.ServerConfigInput> = [
          remote("500", "500"),
          remote("401", "401"),
          remote("302", "302"),
          {
            ...remote("refused", "x"),
            url: "http://127.0.0.1:1/${TOKEN}/${KEY}?k=${TOKEN}"
          } as McpConfig.ServerConfigInput,
          { ...remote("bad url", "x"), url: "ftp://${TOKEN}" } as McpConfig.ServerConfigInput,
          { ...remote("bad header", "x"), headers: { A: "${TOKEN}\n" } } as McpConfig.ServerConfigInput,
          { ...remote("bad proxy", "x"), proxy: "http://u:${TOKEN}@127.0.0.1:1" } as McpConfig.ServerConfigInput,
          remote("ok", "ok"),
          shell("exits", "echo \"$0 $1 $2 $A $B $C\" >&2; echo \"$0 $1 $2\"; exit 3"),
          shell("prints", "echo \"$1 $B\"; sleep 0.05; echo \"$C\" >&2; exec sleep 1000", {
            timeouts: { handshake: "400 millis" }
          }),
          shell("not found", "", { command: "/nowhere/${B:-x}${TOKEN:-}", cwd: "/" }),
          shell("no directory", "", { cwd: "${DIR}/${TOKEN}" }),
          shell("no command", "", { env: { A: "${TOKEN}", B: { command: "echo env-canary-1 >&2; exit 1" } } }),
          stdio("fine", { expand: true, args: [StdioFixture.script, "${TOKEN}"], env: { A: "${TOKEN}" } })
        ]
        const program = Effect.gen(function*() {
          const manager = yield* McpManager.make({ servers, connectTimeout: "20 seconds" })
          const states = yield* Effect.forkScoped(
            Stream.runForEach(manager.changes, (state) => Effect.sync(() => texts.push(inspect(state, { depth: 12 }))))
          )
          assert.deepStrictEqual([...(yield* manager.connectAll)].sort(), ["fine", "ok"])
          const calls = yield* Effect.forEach(
            servers,
            ({ name }) =>
              Effect.exit(manager.callTool(name, { name: "echo", arguments: { text: "x" } }, { timeout: "1 second" })),
            { concurrency: "unbounded" }
          )
          for (const [i, called] of calls.entries()) {
            const status = yield* manager.status(servers[i]!.name)
            const cause = Exit.isFailure(called) ? called.cause : undefined
            for (const value of [status, status.error, status.error?.message, cause]) {
              texts.push(
                JSON.stringify(value) ?? "",
                inspect(value, { depth: 12, maxStringLength: null }),
                String(value)
              )
            }
          }
          for (const config of yield* Effect.forEach(servers, (_) => McpConfig.decode(_))) {
            texts.push(JSON.stringify(config), inspect(config, { depth: 12, showHidden: true }), String(config))
            texts.push(McpConfig.describeTarget(config))
          }
          yield* manager.close
          yield* Fiber.interrupt(states)
        })
        const platform = Layer.merge(
          Layer.provide(NodeMcp.layerTransport, Layer.succeed(SecretResolver.SecretResolver, secrets)),
          NodeMcp.layerCatalog(directory)
        )
        yield* Effect.scoped(program).pipe(Effect.withSpan("root"), Effect.provide(Layer.provideMerge(platform, layer)))
        const stored = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((_) => _.isFile())
        assert.isAbove(stored.length, 0)
        for (const file of stored) texts.push(file.name, readFileSync(join(file.parentPath, file.name), "utf8"))
        assert.isAbove(texts.length, 100)
        const found = texts.flatMap((text) =>
          text.match(/.{0,60}(?:canary-\d|canary(?:\/|%2f|%252f)\d).{0,20}/gi) ?? []
        )
        // The command of "no command" is written in the configuration, and its text is no secret.
        assert.deepStrictEqual(found, [])
        // They did arrive.
        const ok = server.log.find((_) => _.rpc === "tools/call")
        assert.strictEqual(ok?.headers.authorization, "Basic env-canary-1")
        assert.strictEqual(ok?.headers["x-store"], "store-canary-4")
        assert.include(ok?.path, "env%20canary/2/env-canary-1/mcp?key=env%20canary/2")
      })),
    90_000
  )
})
