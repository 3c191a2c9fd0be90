/**
 * Connections to real processes, and the journal of what those processes did, which outlives them.
 */
import { McpConfig, McpConnection } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { LeakCheck } from "@mcp-runtime/testing"
import { Effect, Stream, TestServices } from "effect"
import type { Scope } from "effect"
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { markedWith, until } from "./processes.js"

const preload = new URL("../fixtures/journal.mjs", import.meta.url)

/** An empty directory that goes with the scope. */
export const directory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "mcp-connection-")))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

export interface Journal {
  /** The environment of servers that write into it. */
  readonly env: { readonly [name: string]: string }
  readonly lines: () => ReadonlyArray<string>
  /** How many lines have this text. */
  readonly count: (text: string) => number
  /** Waits, in real time, until so many lines have this text. */
  readonly awaitCount: (text: string, count: number) => Effect.Effect<void>
  /** The Node processes that have started, in order. */
  readonly pids: () => ReadonlyArray<number>
  /** What was still alive when each of them started, of all that was started before it. */
  readonly beside: () => ReadonlyArray<string>
  /** Everything that was started with this journal and lives. */
  readonly alive: () => ReadonlyArray<number>
}

export const journal: Effect.Effect<Journal, never, Scope.Scope> = Effect.map(directory, (path) => {
  const file = join(path, "journal")
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(preload.pathname).href}`, MCP_JOURNAL: file }
  const lines = () => {
    try {
      return readFileSync(file, "utf8").split("\n").filter((_) => _ !== "")
    } catch {
      return []
    }
  }
  const count = (text: string) => lines().filter((_) => _.includes(text)).length
  const starts = () => lines().flatMap((line) => [.../^started (\d+) beside \[(.*)\]$/.exec(line) ?? []].slice(1, 3))
  return {
    env,
    lines,
    count,
    awaitCount: (text, expected) =>
      TestServices.provideLive(until(`${expected} times "${text}"`, () => count(text) >= expected)),
    pids: () => starts().filter((_, i) => i % 2 === 0).map(Number),
    beside: () => starts().filter((_, i) => i % 2 === 1),
    alive: () => markedWith(`MCP_JOURNAL=${file}`)
  }
})

export const connect = (
  input: McpConfig.ServerConfigInput,
  options?: McpConnection.ConnectionOptions
): Effect.Effect<McpConnection.McpConnection, unknown, Scope.Scope> =>
  Effect.flatMap(McpConfig.decode(input), (config) => McpConnection.make(config, options)).pipe(
    Effect.provide(NodeMcp.layer)
  )

/** The text of the answer of a tool. */
export const call = (
  connection: McpConnection.McpConnection,
  name: string,
  args: { readonly [name: string]: string | number } = {},
  options?: McpConnection.CallOptions
) =>
  Effect.map(
    McpConnection.callTool(connection, { name, arguments: args }, options),
    ({ content }) => content.map((_) => ("text" in _ ? String(_.text) : "")).join("\n")
  )

/** The process that the fixture runs in, and its helper if it has one. */
export const whoIsThere = (connection: McpConnection.McpConnection) =>
  Effect.map(
    call(connection, "pid"),
    (text) => JSON.parse(text) as { readonly pid: number; readonly ppid: number; readonly helper?: number }
  )

/** The first state with this tag, now or later. */
export const awaitState = <Tag extends McpConnection.ConnectionState["_tag"]>(
  connection: McpConnection.McpConnection,
  tag: Tag
): Effect.Effect<Extract<McpConnection.ConnectionState, { readonly _tag: Tag }>> =>
  connection.changes.pipe(
    Stream.filter((state): state is Extract<McpConnection.ConnectionState, { readonly _tag: Tag }> =>
      state._tag === tag
    ),
    Stream.runHead,
    Effect.flatten,
    Effect.orDie
  )

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has just ended.
  }
}

/** Runs a test with a journal. Then nothing that was started with it lives, and nothing else is left behind. */
export const clean = <A, E>(
  body: (journal: Journal) => Effect.Effect<A, E, Scope.Scope>
): Effect.Effect<A, E | Error> =>
  LeakCheck.scoped(
    Effect.gen(function*() {
      const log = yield* journal
      // When the clock of a failed test stands still, nobody else would ever end what ignores everything.
      const result = yield* Effect.scoped(
        Effect.tapErrorCause(body(log), () => Effect.sync(() => log.alive().forEach(kill)))
      )
      const left = log.alive()
      if (left.length > 0) return yield* Effect.fail(new Error(`${left.join(", ")} live after the end of the scope`))
      return result
    })
  )
