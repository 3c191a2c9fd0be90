import { assert, describe, it } from "@effect/vitest"
import { CatalogStore, McpManager, ToolApproval, ToolFilter, Toolset } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Cause, Effect, Either, HashMap, Layer, Logger, LogLevel, Redacted, TestClock } from "effect"
import { connect, echo, expired, http, pass, refused, settled, stdio } from "../connection/kit.js"
import { lost, openAi } from "../connection/replayKit.js"
import * as Kit from "../toolset/kit.js"
import { knowing } from "./kit.js"

const dying = Logger.make(() => {
  throw new Error("the disk is full")
})

interface Line {
  readonly level: string
  readonly text: string
  readonly cause: string
  readonly annotations: Record<string, unknown>
}

/** What is logged, each line as `"LEVEL step text"`, with all that it is annotated with. */
const logged = () => {
  const lines: Array<Line> = []
  const logger = Logger.make(({ annotations, cause, logLevel, message }) => {
    lines.push({
      level: logLevel.label,
      text: (Array.isArray(message) ? message : [message]).join(" "),
      cause: Cause.pretty(cause),
      annotations: Object.fromEntries(HashMap.toEntries(annotations))
    })
  })
  const keeping = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      Logger.withMinimumLogLevel(LogLevel.All)
    )
  const steps = () => lines.map(({ annotations, level }) => `${level} ${String(annotations["mcp.step"] ?? "-")}`)
  return { lines, keeping, steps }
}

describe("what an operator is told of a connection", () => {
  it.scoped("a quiet life is for whoever debugs; a loss is a warning, and its mending is told", () =>
    Effect.gen(function*() {
      const { keeping, lines, steps } = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio)
        yield* connection.hold
        yield* server.disconnect()
        yield* server.awaitStats((_) => _.opened === 2)
        yield* settled
        yield* connection.close
      }).pipe(keeping)
      assert.deepStrictEqual(steps(), [
        "DEBUG connecting",
        "DEBUG ready",
        "WARN lost",
        "INFO back",
        "DEBUG closed"
      ])
      for (const { annotations } of lines) {
        assert.deepInclude(annotations, { "mcp.server": "scripted", "mcp.operation": "connection" })
      }
      assert.include(lines[1]!.text, "session 1 over stdio")
      assert.include(lines[3]!.text, "back after 0 ms: session 2")
    }))

  it.scoped("a quiet life is told at the level that is wished", () =>
    Effect.gen(function*() {
      const { keeping, steps } = logged()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect({ ...stdio, lifetime: { idle: "1 minute" } }, {}, {
          logLifecycle: LogLevel.Info
        })
        yield* echo(connection)
        yield* pass(120_000, 10_000)
      }).pipe(keeping)
      assert.deepStrictEqual(steps(), ["INFO connecting", "INFO ready", "INFO idle"])
    }))

  it.scoped("a server that has forgotten the session is no warning", () =>
    Effect.gen(function*() {
      const { keeping, steps } = logged()
      let calls = 0
      yield* Effect.gen(function*() {
        const { connection } = yield* connect({ transport: "http", url: "http://127.0.0.1:1/mcp" }, {
          handlers: { "tools/call": () => ++calls === 1 ? Effect.fail(expired) : Effect.succeed({ content: [] }) }
        })
        yield* echo(connection)
        yield* settled
      }).pipe(keeping)
      assert.deepStrictEqual(steps(), ["DEBUG connecting", "DEBUG ready", "INFO lost", "INFO back"])
    }))

  for (
    const [how, start] of [["dies", Effect.dieMessage("scripted")], ["interrupts itself", Effect.interrupt]] as const
  ) {
    it.scoped(`a session that ${how} while it is opened is told of, also one of a single call`, () =>
      Effect.gen(function*() {
        const { keeping, steps } = logged()
        const died = () => steps().filter((_) => _ === "ERROR died").length
        yield* Effect.gen(function*() {
          const first = yield* connect(stdio, { start: () => start })
          yield* Effect.flip(echo(first.connection, { replay: "never" }))
          assert.strictEqual(died(), 1)
          const { connection } = yield* connect({ ...http, recovery: "isolated" }, {
            start: (n) => n > 1 ? start : Effect.void,
            tools: [{ name: "echo", call: () => Effect.fail(lost) }]
          }, { retry: openAi(1) })
          const error = yield* Effect.flip(echo(connection, { replay: "always" }))
          assert.include(error.message, "the log says of what")
          assert.strictEqual(died(), 2)
        }).pipe(keeping)
      }))
  }

  it.scoped("what the opening of a session died of is told once, until there is one", () =>
    Effect.gen(function*() {
      const { keeping, lines, steps } = logged()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect({ ...stdio, env: { TOKEN: Redacted.make("CANARY-TOKEN") } }, {
          start: (n) =>
            n === 3
              ? Effect.void
              : Effect.die(
                new TypeError("dispatch is not a function: https://ada:canary@host/?key=canary with CANARY-TOKEN")
              )
        })
        for (const _ of [1, 2]) {
          const error = yield* Effect.flip(echo(connection, { replay: "never" }))
          assert.include(error.message, "died while the session was opened; the log says of what")
        }
        yield* echo(connection)
        yield* connection.close
        yield* Effect.flip(echo(connection, { replay: "never" }))
      }).pipe(keeping)
      assert.deepStrictEqual(steps().filter((_) => _.endsWith(" died")), ["ERROR died", "ERROR died"])
      const died = lines.find(({ level }) => level === "ERROR")!
      assert.include(died.text, "TypeError: dispatch is not a function: https://host/ with <redacted>")
      assert.notMatch(died.text + died.cause, /canary/i)
      assert.deepInclude(died.annotations, { "mcp.server": "scripted", "mcp.operation": "connection" })
    }))

  it.scoped("who waits for a first connection is told by the error; the end of the tries to reconnect is a warning", () =>
    Effect.gen(function*() {
      const first = logged()
      yield* Effect.gen(function*() {
        const { connection } = yield* connect(stdio, { start: () => Effect.fail(refused) })
        yield* Effect.exit(connection.awaitReady)
      }).pipe(first.keeping)
      assert.deepStrictEqual(first.steps(), ["DEBUG connecting", "DEBUG given up"])

      const again = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio, {
          start: (session) => session === 1 ? Effect.void : Effect.fail(refused)
        })
        yield* connection.hold
        yield* server.disconnect()
        yield* pass(60_000, 500)
      }).pipe(again.keeping)
      assert.deepStrictEqual(again.steps(), ["DEBUG connecting", "DEBUG ready", "WARN lost", "WARN given up"])
    }))

  it.scoped("a logger that dies costs nobody a connection", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connect(stdio)
      yield* echo(connection)
      yield* server.disconnect()
      yield* settled
      yield* echo(connection)
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, dying)), Logger.withMinimumLogLevel(LogLevel.All)))

  it.scoped("a server that comes and goes does not fill the log, and the lines say how many were left out", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio, {}, { reconnect: { stableAfter: "1 millis" } })
        yield* connection.hold
        for (let i = 2; i < 200; i++) {
          yield* TestClock.adjust("100 millis")
          yield* server.disconnect()
          yield* server.awaitStats((_) => _.opened === i)
          yield* settled
        }
      }).pipe(keeping)
      // 12 at once, then one for each 10 of the 20 seconds.
      assert.isAtMost(lines.length, 15)
      assert.isTrue(lines.some((_) => /\(\d+ lines before it were left out\)/.test(_.text)))
    }))

  /** Seven quiet lives of three lines each, more than are shown at once, and then a loss. */
  const quietThenLost = (level: LogLevel.LogLevel, logLifecycle?: LogLevel.LogLevel) =>
    Effect.gen(function*() {
      const { keeping, lines, steps } = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio, {}, logLifecycle === undefined ? {} : { logLifecycle })
        for (let i = 0; i < 7; i++) {
          yield* echo(connection)
          yield* connection.close
        }
        yield* echo(connection)
        yield* connection.hold
        yield* server.disconnect()
        yield* server.awaitStats((_) => _.opened === 9)
        yield* settled
      }).pipe(Logger.withMinimumLogLevel(level), keeping)
      return { lines, steps: steps() }
    })

  it.scoped("what is not shown takes nothing from what is", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* quietThenLost(LogLevel.Info)).steps, ["WARN lost", "INFO back"])
      const all = yield* quietThenLost(LogLevel.All)
      assert.isAtMost(all.lines.length, 12)
    }))

  it.scoped("a quiet life is not told at all where no level is wished", () =>
    Effect.gen(function*() {
      for (const level of [LogLevel.All, LogLevel.Info]) {
        assert.deepStrictEqual((yield* quietThenLost(level, LogLevel.None)).steps, ["WARN lost", "INFO back"])
      }
    }))

  it.scoped("nonsense of a server is for whoever debugs, and told at a falling rate", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio)
        yield* connection.awaitReady
        for (let i = 0; i < 150; i++) yield* server.sendRaw("nonsense")
        yield* settled
      }).pipe(keeping)
      const nonsense = lines.filter((_) => _.annotations.warning === "NotJsonRpc")
      assert.deepStrictEqual(nonsense.map((_) => [_.level, _.annotations.count]), [
        ["DEBUG", 1],
        ["DEBUG", 10],
        ["DEBUG", 100]
      ])
    }))

  it.scoped("a handler of the application's that fails is a warning", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(stdio, {}, {
          handlers: { requests: { "x/ask": () => Effect.fail("no") } }
        })
        yield* connection.awaitReady
        yield* Effect.exit(server.request("x/ask"))
        yield* settled
      }).pipe(keeping)
      assert.deepStrictEqual(lines.filter((_) => _.level === "WARN").map((_) => _.annotations.warning), [
        "HandlerFailed"
      ])
    }))

  it.scoped("a server of a manager that could not be connected is one warning", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      yield* Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          name: "a",
          config: { name: "a", ...stdio } as never,
          start: () => Effect.fail(refused)
        })
        const manager = yield* McpManager.make({ servers: [{ name: "a", ...stdio }] }).pipe(
          Effect.provide([ScriptedServer.layer(server), CatalogStore.layerNone])
        )
        yield* manager.connectAll
      }).pipe(keeping)
      const told = lines.filter((_) => _.level !== "DEBUG")
      assert.deepStrictEqual(told.map((_) => [_.text, _.annotations["mcp.server"]]), [
        [told[0]!.text, "a"]
      ])
      assert.include(told[0]!.text, "could not be connected")
    }))

  it.scoped("a server can't write into the log what it likes", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      yield* Effect.gen(function*() {
        const info = { name: `evil\u001b[2J\nWARN fake line ${"x".repeat(10_000)}`, version: "1" }
        const { connection } = yield* connect(stdio, { info })
        yield* connection.awaitReady
      }).pipe(keeping)
      const ready = lines.find((_) => _.annotations["mcp.step"] === "ready")!
      assert.isFalse([...ready.text].some((_) => _ < " "))
      assert.isBelow(ready.text.length, 400)
    }))

  it.scoped("a secret that a server calls itself, or a notification, shows as <redacted>", () =>
    Effect.gen(function*() {
      const { keeping, lines } = logged()
      const secret = "swordfish"
      yield* Effect.gen(function*() {
        const { connection, server } = yield* connect(
          stdio,
          { info: { name: `my ${secret}`, version: secret } },
          { handlers: { onNotification: () => Effect.fail("no") } },
          (_) => knowing(_, [secret])
        )
        yield* connection.hold
        yield* server.notify(`${secret}/changed`)
        yield* settled
        yield* server.disconnect()
        yield* server.awaitStats((_) => _.opened === 2)
        yield* settled
      }).pipe(keeping)
      const textOf = (what: string) =>
        lines.find(({ annotations }) => annotations["mcp.step"] === what || annotations.warning === what)!.text
      assert.include(textOf("ready"), "with my <redacted> <redacted>,")
      assert.include(textOf("back"), "with my <redacted> <redacted>,")
      assert.include(textOf("HandlerFailed"), "<redacted>/changed")
      assert.notInclude(JSON.stringify(lines), secret)
    }))
})

it.scoped("each line about a server says which operation it is about", () =>
  Effect.gen(function*() {
    const { keeping, lines } = logged()
    const dies = Effect.dieMessage("scripted")
    yield* Effect.gen(function*() {
      const [a, b] = [yield* Kit.server("a", ["x"]), yield* Kit.server("b", ["x"], { way: "refused" })]
      const manager = yield* McpManager.make({ servers: [a.config, b.config] }).pipe(
        Effect.provide(Layer.merge(ScriptedServer.layer(a.server, b.server), CatalogStore.layerNone))
      )
      yield* manager.connectAll
      const toolset = yield* Toolset.make(manager, {
        filter: ToolFilter.dynamic(({ name }) => name === "y" ? dies : true),
        approval: Either.getOrThrow(ToolApproval.make(() => dies)),
        extract: () => {
          throw new Error("scripted")
        },
        servers: { misspelt: {}, a: { approval: ToolApproval.never } }
      })
      const { call, list } = toolset.for({ agent: 1, runContext: 1 })
      yield* list
      yield* call("a__x")
      const asking = yield* Toolset.make(manager, { approval: Either.getOrThrow(ToolApproval.make(() => dies)) })
      yield* Effect.exit(asking.for({ agent: 1, runContext: 1 }).call("a__x"))
      yield* a.offers("x", "y")
      yield* list
      yield* a.server.sendRaw({ jsonrpc: "2.0", id: "nobody asked", result: {} })
      yield* Kit.settled
      yield* a.server.disconnect()
      yield* Kit.settled
    }).pipe(keeping)
    const about = lines.filter((_) => _.annotations["mcp.server"] !== undefined)
    assert.deepStrictEqual(about.filter((_) => typeof _.annotations["mcp.operation"] !== "string"), [])
    const operations = about.map((_) => _.annotations["mcp.operation"])
    for (const operation of ["connect", "connection", "session", "tools/list", "tools/call"]) {
      assert.include(operations, operation)
    }
  }))
