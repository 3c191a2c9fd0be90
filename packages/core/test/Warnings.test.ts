import { assert, describe, it } from "@effect/vitest"
import { McpSession } from "@mcp-runtime/core"
import * as ScriptedServer from "@mcp-runtime/testing/ScriptedServer"
import { Effect, Logger, LogLevel } from "effect"

describe("what a session logs", () => {
  it.scoped("the 1st and the 10th of a kind, with the name of the server where every line has it", () =>
    Effect.gen(function*() {
      const lines: Array<{ readonly [key: string]: unknown }> = []
      const logger = Logger.make(({ annotations }) => void lines.push(Object.fromEntries(annotations)))
      const nobody = Array.from({ length: 12 }, (_, i) => ScriptedServer.result(`nobody-${i}`, {}))
      yield* Effect.gen(function*() {
        const server = yield* ScriptedServer.make({
          handlers: { ping: () => Effect.succeed(ScriptedServer.before(nobody, {})) }
        })
        yield* McpSession.ping(yield* McpSession.open(server.channel))
      }).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Logger.withMinimumLogLevel(LogLevel.All)
      )
      assert.deepStrictEqual(lines, [
        { "mcp.server": "scripted", "mcp.operation": "session", warning: "UnknownResponse", count: 1 },
        { "mcp.server": "scripted", "mcp.operation": "session", warning: "UnknownResponse", count: 10 }
      ])
    }))
})
