/**
 * Uses HTTP for the first time when no file can be opened any more, and again when it can: `node fewFilesHost.ts <url>`, with
 * a low limit of open files. Says what became of both.
 */
import * as HttpExchange from "@mcp-runtime/core/HttpExchange"
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as UndiciExchange from "@mcp-runtime/node/UndiciExchange"
import { Effect, Exit } from "effect"
import { closeSync, openSync } from "node:fs"

const config: McpConfig.AnyHttpConfig = { name: "far", transport: "http", url: process.argv[2]! }

const asked = Effect.scoped(Effect.gen(function*() {
  const exchange = yield* HttpExchange.HttpExchange
  const client = yield* exchange.open(config)
  return yield* Effect.async<number>((resume) => {
    client.send(
      { method: "GET", url: config.url, headers: {} },
      {
        head: (status) => resume(Effect.succeed(status)),
        data: () => {},
        end: () => {},
        failed: (failure) => resume(Effect.die(failure))
      },
      "request"
    )
  })
})).pipe(Effect.provide(UndiciExchange.layer))

const taken: Array<number> = []
try {
  for (;;) taken.push(openSync("/dev/null", "r"))
} catch {
  // None is left.
}
const first = await Effect.runPromiseExit(asked)
for (const file of taken) closeSync(file)
const second = await Effect.runPromiseExit(asked)

const told = (exit: Exit.Exit<number, unknown>) =>
  Exit.isSuccess(exit) ? { status: exit.value } : exit.cause._tag === "Fail"
    ? { error: exit.cause.error, message: String((exit.cause.error as Error).message) }
    : { cause: exit.cause._tag }

process.stdout.write(JSON.stringify({ first: told(first), second: told(second) }))
