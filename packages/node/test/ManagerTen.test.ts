/** Ten servers under one manager, of which three work, each over its own wire, and seven do not, each in its own way. */
import { assert, describe, it } from "@effect/vitest"
import type { McpConfig, McpManager } from "@mcp-runtime/core"
import { McpError } from "@mcp-runtime/core"
import { HttpFixture, LeakCheck, StdioFixture } from "@mcp-runtime/testing"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { Effect, Fiber, Option } from "effect"
import { createServer } from "node:net"
import * as Managers from "./internal/managers.js"

const shutdown = { afterEof: "100 millis", afterTerm: "100 millis" } as const

/** A port at which nobody listens. */
const closedPort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

const inProcess = () => {
  const server = new McpServer({ name: "in-process", version: "1" })
  server.registerTool("echo", {}, () => ({ content: [{ type: "text", text: "from memory" }] }))
  return server
}

const stdio = (name: string, args: ReadonlyArray<string>, command = process.execPath) =>
  StdioFixture.config([], { name, command, args, shutdown })

const challenge = `Bearer resource_metadata="https://auth.example/metadata"`

const healthy = ["stdio", "http", "memory"]

/** In configured order. */
const names = [
  "hanging at spawn",
  "stdio",
  "401",
  "http",
  "hanging in initialize",
  "refusing",
  "memory",
  "exiting",
  "invalid",
  "flooding"
]

const servers = Effect.gen(function*() {
  const http = yield* HttpFixture.make()
  const guarded = yield* HttpFixture.make({
    override: () => HttpFixture.respond({ status: 401, headers: { "www-authenticate": challenge } })
  })
  const port = yield* closedPort
  const all: Record<string, unknown> = {
    "hanging at spawn": stdio("hanging at spawn", ["-e", "setInterval(() => {}, 60_000)"]),
    stdio: StdioFixture.config([], { name: "stdio" }),
    "401": { name: "401", transport: "http", url: guarded.url },
    http: { name: "http", transport: "http", url: http.url },
    "hanging in initialize": StdioFixture.config(["noinit", "keepalive", "ignoreterm"], {
      name: "hanging in initialize",
      shutdown
    }),
    refusing: { name: "refusing", transport: "http", url: `http://user:secret@127.0.0.1:${port}/mcp?token=secret` },
    memory: { name: "memory", transport: "inMemory", server: inProcess },
    exiting: StdioFixture.config(["earlyexit=4"], { name: "exiting" }),
    invalid: { name: "invalid", transport: "stdio", command: "", args: "not a list" },
    flooding: stdio("flooding", ["-c", `yes "this is not JSON"`], "/bin/sh")
  }
  return names.map((name) => all[name] as McpConfig.ServerConfigInput)
})

type Class<E> = new(...args: ReadonlyArray<never>) => E

const as = <E>(error: unknown, type: Class<E>): E => {
  assert.instanceOf(error, type as never)
  return error as E
}

/** What is told of each that does not work. */
const expectErrors = (errors: ReadonlyMap<string, McpError.McpError>, connectTimeout: number) => {
  for (const [name, error] of errors) {
    assert.strictEqual(error.server, name)
    assert.strictEqual(error.executed, "no")
    assert.notInclude(`${error.message}${JSON.stringify(error)}`, "secret")
    switch (name) {
      case "hanging at spawn":
      case "hanging in initialize":
      case "flooding": {
        const { detail, kind, millis, stderrTail } = as(error, McpError.RequestTimeout)
        assert.deepStrictEqual({ kind, millis }, { kind: "handshake", millis: connectTimeout })
        if (name === "hanging in initialize") assert.include(stderrTail, "stage initialize")
        if (name === "flooding") assert.include(detail, "a line of its output is not JSON: this is not JSON")
        break
      }
      case "exiting": {
        const { exit, stderrTail } = as(error, McpError.HandshakeFailed)
        assert.deepStrictEqual(exit, { code: 4, signal: null })
        assert.include(stderrTail, "fatal: this server can't start")
        break
      }
      case "invalid":
        assert.sameMembers(as(error, McpError.ConfigInvalid).problems.map((_) => _.field), ["command", "args"])
        break
      case "401":
        assert.strictEqual(as(error, McpError.Unauthorized).challenge, challenge)
        break
      case "refusing":
        assert.strictEqual(as(error, McpError.ConnectFailed).reason, "Refused")
        break
      default:
        assert.fail(`${name} should work: ${error.message}`)
    }
  }
}

const broken = (list: ReadonlyArray<string>) => list.filter((_) => !healthy.includes(_))

const callHealthy = (manager: McpManager.Manager) =>
  Effect.forEach(healthy, (name) => Managers.call(manager, name, "echo", { n: 1 }), { concurrency: "unbounded" })

/** The servers that have failed because their time was over. */
const timedOut = ({ servers }: McpManager.ManagerState): ReadonlyArray<string> =>
  servers.filter((_) => _.error?._tag === "RequestTimeout").map((_) => _.name)

describe("ten servers, seven of them broken", () => {
  it.live(
    "in parallel: all attempts begin before the first is out of time, the healthy work meanwhile, each failure is told",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const connectTimeout = 4000
        const opened: Array<{ readonly name: string; readonly timedOut: ReadonlyArray<string> }> = []
        const manager: McpManager.Manager = yield* Managers.make({
          servers: yield* servers,
          connectTimeout,
          around: Managers.opening((name) =>
            Effect.map(manager.state, (state) => void opened.push({ name, timedOut: timedOut(state) }))
          )
        })
        const connecting = yield* Effect.fork(manager.connectAll)
        // While others hang.
        const first = yield* callHealthy(manager)
        assert.include(first[2], "from memory")
        assert.isTrue(Option.isNone(yield* Fiber.poll(connecting)))
        assert.deepStrictEqual(timedOut(yield* manager.state), [])
        const hanging = ["hanging at spawn", "hanging in initialize", "flooding"]
        assert.includeMembers(
          (yield* manager.state).servers.filter((_) => _.phase === "connecting").map((_) => _.name),
          hanging
        )

        assert.deepStrictEqual(yield* Fiber.join(connecting), healthy)
        assert.sameMembers(opened.map((_) => _.name), names.filter((_) => _ !== "invalid"))
        for (const { name, timedOut } of opened) assert.deepStrictEqual(timedOut, [], `${name} has waited for others`)

        assert.deepStrictEqual(yield* manager.configured, names)
        assert.deepStrictEqual(yield* manager.connected, healthy)
        assert.deepStrictEqual(yield* manager.active, healthy)
        assert.deepStrictEqual(yield* manager.failed, broken(names))
        const errors = yield* manager.errors
        assert.deepStrictEqual([...errors.keys()], broken(names))
        expectErrors(errors, connectTimeout)
        yield* callHealthy(manager)

        assert.deepStrictEqual(yield* manager.close, [])
        const { active, servers: closed } = yield* manager.state
        assert.deepStrictEqual(active, [])
        assert.deepStrictEqual(closed.filter((_) => _.phase === "connected").map((_) => _.name), [])
      })),
    60_000
  )

  it.live(
    "in parallel: interrupted in the middle of it, and nothing is left",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const manager = yield* Managers.make({ servers: yield* servers, connectTimeout: "1 minute" })
        const connecting = yield* Effect.fork(manager.connectAll)
        yield* callHealthy(manager)
        yield* Managers.awaitState(manager, (state) => state.servers.filter((_) => _.phase === "failed").length === 4)
        yield* Fiber.interrupt(connecting)
        assert.deepStrictEqual(yield* manager.connected, [])
        assert.deepStrictEqual(yield* manager.active, [])
      })),
    60_000
  )

  it.live(
    "sequential: one after the other in configured order, each failure is told",
    () =>
      LeakCheck.scoped(Effect.gen(function*() {
        const connectTimeout = 3000
        const opened: Array<{ readonly name: string; readonly before: ReadonlyArray<string> }> = []
        const wanted = ["401", "stdio", "hanging in initialize", "http", "exiting", "refusing", "memory", "invalid"]
        const all = yield* servers
        const manager: McpManager.Manager = yield* Managers.make({
          servers: wanted.map((name) => all[names.indexOf(name)]!),
          mode: "sequential",
          connectTimeout,
          around: Managers.opening((name) =>
            Effect.map(manager.state, ({ servers }) =>
              void opened.push({
                name,
                before: servers.filter((_) => _.phase !== "connecting" && _.name !== "invalid").map((_) => _.name)
              }))
          )
        })
        const connecting = yield* Effect.fork(manager.connectAll)
        yield* Managers.awaitState(manager, (state) => Managers.phaseOf(state, "stdio") === "connected")
        yield* Managers.call(manager, "stdio", "echo")
        assert.isTrue(Option.isNone(yield* Fiber.poll(connecting)))
        const active = ["stdio", "http", "memory"]
        assert.deepStrictEqual(yield* Fiber.join(connecting), active)
        const tried = wanted.filter((_) => _ !== "invalid")
        assert.deepStrictEqual(opened, tried.map((name, i) => ({ name, before: tried.slice(0, i) })))
        assert.deepStrictEqual(yield* manager.failed, broken(wanted))
        const errors = yield* manager.errors
        assert.deepStrictEqual([...errors.keys()], broken(wanted))
        expectErrors(errors, connectTimeout)
        yield* callHealthy(manager)
        assert.deepStrictEqual(yield* manager.close, [])
      })),
    60_000
  )
})
