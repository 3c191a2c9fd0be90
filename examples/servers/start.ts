/**
 * The two servers of the examples.
 */
import { Effect, Stream } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** What an application configures for a local server: a command. The session starts and ends it. */
export const notesServer = { command: process.execPath, args: [script("notes.mjs")] }

export interface WeatherServer {
  readonly url: string
  /** What it prints. */
  readonly lines: Stream.Stream<string>
}

/** A server that runs whether or not anybody is connected. Ends with the scope. */
export const weatherServer: Effect.Effect<WeatherServer, Error, Scope.Scope> = Effect.gen(function*() {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [script("weather.mjs")], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exit = once(child, "exit")
        child.kill()
        await exit
      })
  )
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = Effect.tryPromise({
    try: () => lines.next(),
    catch: () => new Error("the weather server can't be read")
  }).pipe(
    Effect.flatMap((next) =>
      next.done === true ? Effect.fail(new Error("the weather server has ended")) : Effect.succeed(next.value)
    )
  )
  const url = yield* line
  return { url, lines: Stream.catchAll(Stream.repeatEffect(line), () => Stream.empty) }
})
