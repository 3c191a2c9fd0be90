#!/usr/bin/env node
/**
 * The `mcp-runtime` command as a process.
 *
 * Owns: streams, signals, exit. Nothing else in this package touches them.
 *
 * | happens            | then                                                                                     |
 * |--------------------|------------------------------------------------------------------------------------------|
 * | the command ends   | what was written is read by whoever reads it, then exit                                  |
 * | Ctrl-C, SIGTERM    | it is interrupted: every server is closed, then exit with 130 or 143                     |
 * | a second one       | exit at once; the servers are killed, by the same means as when this process is killed  |
 * | nobody reads stdout | it is interrupted, and ends quietly                                                      |
 */
import * as McpError from "@mcp-runtime/core/McpError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import { ExitCode, type Failure, usage } from "./exit.js"
import { make, Screen } from "./output/Screen.js"
import { tell } from "./output/tell.js"
import { clean } from "./output/text.js"
import * as Program from "./Program.js"
import { version } from "./version.js"

const args = process.argv.slice(2)
const parsed = Program.parse(args)
const json = Either.isRight(parsed) ? parsed.right.json : args.includes("--json")
const logLevel = Either.isRight(parsed) ? parsed.right.logLevel : undefined

const screen = make({
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  json,
  logs: logLevel !== undefined
})

// ---------------------------------------------------------------------------------------------------------------------
// what is told
// ---------------------------------------------------------------------------------------------------------------------

const levels = new Map(
  LogLevel.allLevels.map((level) => [level._tag === "Warning" ? "warning" : level._tag.toLowerCase(), level] as const)
)

const logger = Logger.make((options) => {
  process.stderr.write(`${clean(Logger.logfmtLogger.log(options))}\n`)
})

const minimum: Either.Either<LogLevel.LogLevel, Failure> = logLevel === undefined
  ? Either.right(LogLevel.None)
  : Either.fromNullable(
    levels.get(logLevel.toLowerCase()),
    () =>
      usage(`--log-level knows no "${clean(logLevel.slice(0, 40))}"`, [
        `Choose one of ${[...levels.keys()].join(", ")}.`
      ])
  )

const program: Effect.Effect<ExitCode> = Effect.gen(function*() {
  const level = yield* minimum
  const argv = yield* parsed
  return yield* Program.run(argv, version()).pipe(
    Logger.withMinimumLogLevel(level),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
}).pipe(
  Effect.catchAll((failure) => Effect.as(tell(failure), failure.code)),
  Effect.provide(Layer.succeed(Screen, screen))
)

// ---------------------------------------------------------------------------------------------------------------------
// the process
// ---------------------------------------------------------------------------------------------------------------------

const fiber = Effect.runFork(program)

/** Node ends where nothing is left that could happen, but a person may be waiting, as `status --watch` does. */
setInterval(() => {}, 2 ** 31 - 1)

/** Why the program is to end before its time. */
let ended: ExitCode | undefined
let broken = false

const interrupt = (): void => fiber.unsafeInterruptAsFork(fiber.id())

const onSignal = (code: ExitCode) => () => {
  // What the exit leaves alive is killed by the watchdog of `@mcp-runtime/node`, group by group.
  if (ended !== undefined) process.exit(code)
  ended = code
  interrupt()
}

process.on("SIGINT", onSignal(ExitCode.interrupted))
process.on("SIGTERM", onSignal(ExitCode.terminated))
process.on("SIGHUP", onSignal(ExitCode.terminated))

const onPipe = (stream: NodeJS.WriteStream) => (error: NodeJS.ErrnoException) => {
  if (stream !== process.stdout || broken) return
  broken = true
  if (error.code !== "EPIPE") process.stderr.write(`mcp-runtime: stdout can't be written: ${error.code ?? "unknown"}\n`)
  ended ??= error.code === "EPIPE" ? ExitCode.done : ExitCode.failed
  interrupt()
}

process.stdout.on("error", onPipe(process.stdout))
process.stderr.on("error", onPipe(process.stderr))

/** Nothing that was written is lost, however slowly it is read. */
const flush = (stream: NodeJS.WriteStream, then: () => void): void => {
  if (stream.destroyed || stream.writableLength === 0) return then()
  stream.write("", () => then())
}

const describe = (defect: unknown): string => defect instanceof Error ? defect.stack ?? defect.message : typeof defect

const codeOf = (exit: Exit.Exit<ExitCode>): ExitCode => {
  if (ended !== undefined) return ended
  if (Exit.isSuccess(exit)) return exit.value
  if (!Cause.isInterruptedOnly(exit.cause)) {
    const defect = Option.getOrUndefined(Cause.dieOption(exit.cause))
    process.stderr.write(
      `mcp-runtime has failed itself: ${McpError.displayText(describe(defect), 4000)}\n`
    )
  }
  return ExitCode.failed
}

fiber.addObserver((exit) => {
  const code = codeOf(exit)
  flush(process.stdout, () => flush(process.stderr, () => process.exit(code)))
})
