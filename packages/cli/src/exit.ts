/**
 * How the command ends.
 *
 * Owns: the exit codes, and the one error that commands fail with.
 * May not touch: the process. `main` is the only one that exits.
 */
import type * as McpError from "@mcp-runtime/core/McpError"
import * as Data from "effect/Data"
import type { Surroundings } from "./Doctor.js"
import { explain, format } from "./Doctor.js"

/**
 * | code | means                                                              |
 * |------|--------------------------------------------------------------------|
 * | 0    | done                                                               |
 * | 1    | failed: a server, a call; with `--strict` any server               |
 * | 2    | the command line or the configuration is wrong; nothing was called |
 * | 3    | the tool ran and says that it has failed                           |
 * | 130  | interrupted by Ctrl-C                                              |
 * | 143  | ended by SIGTERM                                                   |
 */
export const ExitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  toolFailed: 3,
  interrupted: 130,
  terminated: 143
} as const

export type ExitCode = typeof ExitCode[keyof typeof ExitCode]

/** What a program gets to know of a failure. */
export interface FailureDocument {
  readonly tag: string
  readonly message: string
  /** `null`: it has to do with no server. */
  readonly server: string | null
  /** Whether the server may have run the request. */
  readonly executed: McpError.Executed
  readonly todo: ReadonlyArray<string>
}

/** Why a command has failed: the text for people, the document for programs, and the code. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly code: ExitCode
  readonly text: string
  readonly document: FailureDocument
}> {
  override get message() {
    return this.document.message
  }
}

/** The command line is wrong, or asks for something that is not there. `server`: whom that is about, where it is known. */
export const usage = (
  message: string,
  todo: ReadonlyArray<string>,
  tag = "Usage",
  server: string | null = null
): Failure =>
  new Failure({
    code: ExitCode.usage,
    text: format({ headline: message, happened: "", details: [], todo }),
    document: { tag, message, server, executed: "no", todo }
  })

/** The command did what it could, and it was not enough. */
export const failed = (
  message: string,
  todo: ReadonlyArray<string>,
  tag = "Failed",
  executed: McpError.Executed = "no"
): Failure =>
  new Failure({
    code: ExitCode.failed,
    text: format({ headline: message, happened: "", details: [], todo }),
    document: { tag, message, server: null, executed, todo }
  })

export const fromMcpError = (error: McpError.McpError, surroundings: Surroundings = {}): Failure => {
  const advice = explain(error, surroundings)
  return new Failure({ code: codeOf(error), text: format(advice), document: documentOf(error, surroundings) })
}

export const documentOf = (error: McpError.McpError, surroundings: Surroundings = {}): FailureDocument => {
  const { headline, todo } = explain(error, surroundings)
  return {
    tag: error._tag,
    message: headline,
    server: error.server,
    executed: error.executed,
    todo
  }
}

const codeOf = (error: McpError.McpError): ExitCode => {
  switch (error._tag) {
    case "ArgumentsInvalid":
    case "ConfigInvalid":
    case "ToolNotFound":
    case "UnknownServer":
      return ExitCode.usage
    default:
      return ExitCode.failed
  }
}
