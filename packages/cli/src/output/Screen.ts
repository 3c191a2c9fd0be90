/**
 * Where everything is written to: stdout for what was asked for, stderr for everything else.
 *
 * Owns: the two streams, what is known of them (terminal, width, colours), and that stdout has one JSON document or none.
 * May not touch: what is written.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Writable } from "node:stream"
import * as Style from "./style.js"
import { safeJson } from "./text.js"

/** One of the two streams. */
export interface Outlet {
  readonly terminal: boolean
  readonly style: Style.Style
  /** How many columns there are to fill. */
  readonly columns: () => number
  /** How many lines a terminal has. */
  readonly rows: () => number
  /** Waits until it was taken. Whether anybody still reads is not its affair. */
  readonly write: (text: string) => Effect.Effect<void>
  readonly line: (text: string) => Effect.Effect<void>
}

/**
 * The service.
 */
export class Screen extends Context.Tag("@mcp-runtime/cli/Screen")<Screen, {
  readonly out: Outlet
  readonly err: Outlet
  /** Whether stdout is for a program. */
  readonly json: boolean
  /** Whether lines on stderr may be written over: a terminal that nobody else writes to. */
  readonly live: boolean
  /** Writes a value as the one document. What is written after it is left out. */
  readonly document: (value: unknown) => Effect.Effect<void>
  /** The same for a list that grows: the document is whole when the scope of `open` closes. */
  readonly documentWritten: () => boolean
  readonly claimDocument: () => void
}>() {}

/** What a line is where nobody says how wide the paper is. */
const columnsOfFiles = 100

const outlet = (
  stream: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number },
  environment: { readonly [name: string]: string | undefined },
  plain: boolean
): Outlet => {
  const terminal = stream.isTTY === true
  const write = (text: string): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      if (text === "" || stream.destroyed || stream.writableEnded) return resume(Effect.void)
      stream.write(text, () => resume(Effect.void))
    })
  return {
    terminal,
    style: !plain && Style.wanted(terminal, environment) ? Style.colored : Style.plain,
    columns: () => {
      const asked = Number(environment.COLUMNS)
      const known = terminal ? stream.columns : undefined
      // Some terminals say 0.
      return Math.max(20, known || (asked > 0 ? asked : terminal ? 80 : columnsOfFiles))
    },
    rows: () => Math.max(4, stream.rows || 24),
    write,
    line: (text) => write(`${text}\n`)
  }
}

export const make = (options: {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly environment: { readonly [name: string]: string | undefined }
  readonly json: boolean
  readonly logs: boolean
}): Context.Tag.Service<Screen> => {
  const { environment, json, logs } = options
  const out = outlet(options.stdout, environment, json)
  const err = outlet(options.stderr, environment, false)
  let written = false
  return {
    out,
    err,
    json,
    live: err.terminal && environment.TERM !== "dumb" && !logs,
    document: (value) =>
      Effect.suspend(() => {
        if (written) return Effect.void
        written = true
        return out.line(text(value, 2))
      }),
    documentWritten: () => written,
    claimDocument: () => {
      written = true
    }
  }
}

/** A value as JSON that no terminal acts upon. */
export const text = (value: unknown, indent = 0): string => safeJson(JSON.stringify(value, undefined, indent) ?? "null")
