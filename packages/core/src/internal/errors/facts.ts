/**
 * What every error says, and what several of them say in the same words.
 *
 * Owns: the fields that errors share, and how a process that has ended is described.
 * May not touch: what went wrong.
 */
import * as Schema from "effect/Schema"
import { displayName } from "./display.js"
import { called, longestName } from "./owners.js"

/**
 * Whether the server executed the request an error is about.
 *
 * @since 0.1.0
 * @category models
 */
export type Executed = "no" | "maybe" | "yes"

/**
 * @since 0.1.0
 * @category schemas
 */
export const Executed: Schema.Schema<Executed> = Schema.Literal("no", "maybe", "yes")

export const common = {
  server: Schema.String,
  operation: Schema.String,
  executed: Executed
}

export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(schema)

export const shownServer = (server: string): string => displayName(server, longestName)

export const shownTool = (tool: string): string => displayName(tool, longestName)

/** What every message begins with. */
export const where = (self: { readonly server: string; readonly operation: string }) =>
  `${called(self.server)}: ${self.operation}`

/**
 * How a server process ended: its exit code or the signal that killed it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

export const processExit = Schema.Struct({ code: Schema.NullOr(Schema.Number), signal: Schema.NullOr(Schema.String) })

export const describeExit = (exit: ProcessExit): string =>
  exit.signal !== null ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`

export const describeStderr = (tail: string | undefined): string =>
  tail === undefined || tail.trim() === "" ? "" : `; the end of its stderr:\n${tail.trimEnd()}`

/**
 * One of the last messages of the session before an error of the protocol: the beginning of its JSON, without the secrets
 * that are known of the server; of an older one only its method, or which request it answers. No part of `message`.
 *
 * @since 0.1.0
 * @category models
 */
export interface LastFrame {
  readonly direction: "sent" | "received"
  readonly text: string
}

export const lastFrames = Schema.optional(
  Schema.Array(Schema.Struct({ direction: Schema.Literal("sent", "received"), text: Schema.String }))
)

/**
 * One thing that is wrong with a configuration.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfigProblem {
  readonly field: string
  readonly problem: string
}

export const problems = Schema.Array(Schema.Struct({ field: Schema.String, problem: Schema.String }))

/** Problems in words. There are as many as a server likes, or whoever wrote a configuration. */
export const shownProblems = (
  all: ReadonlyArray<ConfigProblem>,
  most = 30,
  shown = ({ field, problem }: ConfigProblem): string => `${field}: ${problem}`
): string => `${all.slice(0, most).map(shown).join("; ")}${all.length > most ? `; and ${all.length - most} more` : ""}`
