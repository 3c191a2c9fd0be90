/**
 * A program of its own that uses a protected server, with its tokens in the directory that others use too. Arguments: the
 * URL of the server, the directory. It says "ready" when it is connected; for each line of its input it makes 5 calls at
 * once and 3 more, each begun when the one before was sent, and says what became of all of them; it ends with its input.
 */
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { Cause, Effect, Queue } from "effect"
import { createInterface } from "node:readline"
import { echo, nobody, program } from "./auths.js"

const [url, path] = process.argv.slice(2) as [string, string]

const say = (text: string) => Effect.async<void>((resume) => void process.stdout.write(text, () => resume(Effect.void)))

const main = Effect.gen(function*() {
  const connection = yield* McpConnection.make(
    yield* McpConfig.decode({ name: "mail", transport: "http", url })
  )
  const lines = yield* Queue.unbounded<string>()
  const input = createInterface({ input: process.stdin })
  input.on("line", (line) => Queue.unsafeOffer(lines, line))
  input.on("close", () => Queue.unsafeOffer(lines, "end"))
  yield* connection.awaitReady
  yield* say("ready\n")
  while ((yield* Queue.take(lines)) !== "end") {
    const calls = [0, 0, 0, 0, 0, 3, 6, 9].map((delay, i) =>
      Effect.either(Effect.delay(echo(connection, `${i}`), delay))
    )
    const results = yield* Effect.all(calls, { concurrency: "unbounded" })
    yield* say(`${JSON.stringify(results.map((_) => _._tag === "Left" ? _.left.message : "ok"))}\n`)
  }
})

Effect.runFork(Effect.scoped(Effect.provide(main, program(path, nobody)))).addObserver((exit) => {
  if (exit._tag === "Failure") process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exitCode = exit._tag === "Success" ? 0 : 1
})
