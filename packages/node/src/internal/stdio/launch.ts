/**
 * Starts a server process, or says why it could not be started.
 *
 * Owns: the arguments of `spawn` and what its failures mean.
 * May not touch: the process once it runs.
 */
import * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as McpError from "@mcp-runtime/core/McpError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import type { ChildProcess, ChildProcessWithoutNullStreams } from "node:child_process"
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Environment from "./environment.js"
import { showField } from "./secrets.js"

/**
 * A running process with its id, or the Effect that finds out why there is none. Synchronous: when it returns, the process
 * exists or never will.
 *
 * @internal
 */
export type Launched = Either.Either<
  { readonly child: ChildProcessWithoutNullStreams; readonly pid: number },
  Effect.Effect<never, McpError.SpawnFailed>
>

/** @internal */
export const launch = (config: McpConfig.StdioConfig, marks: Environment.Variables): Launched => {
  const invalid = problem(config)
  if (invalid !== undefined) return Either.left(Effect.fail(failure(config, "InvalidArgument", invalid)))
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(config.command, config.args ?? [], {
      cwd: config.cwd,
      env: { ...Environment.make(config, process.env, process.platform), ...marks },
      stdio: ["pipe", "pipe", "pipe"],
      // Its own process group, so that what it starts can be ended with it. On Windows it would get a console instead.
      detached: process.platform !== "win32",
      windowsHide: true
    })
  } catch (error) {
    return Either.left(explain(config, codeOf(error)))
  }
  const { pid } = child
  return pid === undefined
    ? Either.left(Effect.flatMap(startError(child), (error) => explain(config, codeOf(error))))
    : Either.right({ child, pid })
}

const problem = (config: McpConfig.StdioConfig): string | undefined => {
  if (!McpConfig.isResolved(config)) return "its references are not resolved; McpTransport opens such a configuration"
  if (config.command.trim() === "") return "the command is empty"
  if (config.command.includes("\0")) return "the command contains a NUL character"
  if (config.cwd?.includes("\0") === true) return "the working directory contains a NUL character"
  const index = config.args?.findIndex((_) => _.includes("\0")) ?? -1
  if (index >= 0) return `argument ${index + 1} contains a NUL character`
  return Environment.problem(config)
}

/** Node reports a process that could not be started in the next tick, so that the listener must be there at once. */
const startError = (child: ChildProcess): Effect.Effect<unknown> => {
  const failed = Deferred.unsafeMake<unknown>(FiberId.none)
  child.on("error", (error) => {
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    Deferred.unsafeDone(failed, Effect.succeed(error))
  })
  return Deferred.await(failed)
}

const codeOf = (error: unknown): string => {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
  return typeof code === "string" ? code : "UNKNOWN"
}

/** Only the code is used: the message of an error may hold an argument or the value of a variable. */
const explain = (config: McpConfig.StdioConfig, code: string): Effect.Effect<never, McpError.SpawnFailed> => {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
    case "EACCES":
    case "EPERM":
      return Effect.flatMap(directoryProblem(config), (bad) =>
        Effect.fail(
          bad !== undefined
            ? failure(config, "BadDirectory", bad)
            : code === "ENOENT" || code === "ENOTDIR"
            ? failure(
              config,
              "NotFound",
              `the command was not found (${code}); is it installed, and on the PATH that this server gets? ` +
                "For a script, the interpreter in its first line may be missing"
            )
            : failure(config, "NotExecutable", `the command may not be executed (${code})`)
        ))
    case "ENOEXEC":
      return Effect.fail(failure(config, "NotExecutable", "the command is not a program that this system can run"))
    case "E2BIG":
      return Effect.fail(failure(config, "TooLarge", "the arguments and the environment are too large (E2BIG)"))
    case "ERR_INVALID_ARG_VALUE":
    case "ERR_INVALID_ARG_TYPE":
    case "EINVAL":
    case "ENAMETOOLONG":
      return Effect.fail(failure(config, "InvalidArgument", `the system refuses the command or an argument (${code})`))
    default:
      return Effect.fail(failure(config, "Other", `the system refuses to start a process (${code})`))
  }
}

/** A bad directory is reported as if the command were missing. */
const directoryProblem = (config: McpConfig.StdioConfig, cwd = config.cwd): Effect.Effect<string | undefined> =>
  cwd === undefined ? Effect.succeed(undefined) : Effect.async((resume) => {
    const shown = showField(config, cwd)
    Fs.stat(cwd, (error, stats) => {
      if (error !== null) {
        resume(Effect.succeed(`the working directory "${shown}" can't be used (${codeOf(error)})`))
      } else if (!stats.isDirectory()) {
        resume(Effect.succeed(`the working directory "${shown}" is not a directory`))
      } else {
        Fs.access(cwd, Fs.constants.X_OK, (denied) => {
          resume(Effect.succeed(denied === null ? undefined : `the working directory "${shown}" may not be entered`))
        })
      }
    })
  })

const failure = (
  config: McpConfig.StdioConfig,
  reason: McpError.SpawnFailed["reason"],
  detail: string
): McpError.SpawnFailed =>
  new McpError.SpawnFailed({
    server: config.name,
    operation: "open",
    executed: "no",
    reason,
    command: showField(config, config.command),
    detail
  })
