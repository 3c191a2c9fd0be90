/**
 * Published servers as scoped resources, and what the tests of them share.
 */
import { McpConfig, McpSession, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Stream } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import * as path from "node:path"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"

const require = createRequire(import.meta.url)

/** The program of an installed server package. */
export const program = (name: string): string => {
  const manifest = require.resolve(`@modelcontextprotocol/${name}/package.json`)
  const { bin } = require(manifest) as { bin: Record<string, string> }
  return path.join(path.dirname(manifest), Object.values(bin)[0]!)
}

const preload = fileURLToPath(new URL("fixtures/loopback.mjs", import.meta.url))

/** server-everything over HTTP, on this port of the loopback or a free one. It is killed with the scope, as by a crash. */
export const everythingOverHttp = (
  mode: "sse" | "streamableHttp",
  wanted = 0
): Effect.Effect<number, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--import", preload, program("server-everything"), mode], {
        env: { ...process.env, LOOPBACK_PORT: String(wanted) },
        stdio: ["ignore", "ignore", "pipe"]
      })
    ),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exit = once(child, "exit")
        child.kill("SIGKILL")
        await exit
      })
  ).pipe(
    Effect.flatMap((child) =>
      Effect.async<number, Error>((resume) => {
        const lines = readline.createInterface({ input: child.stderr })
        lines.on("line", (line) => {
          const port = /^listening on (\d+)$/.exec(line)?.[1]
          if (port !== undefined) resume(Effect.succeed(Number(port)))
        })
        child.once("exit", () => resume(Effect.fail(new Error("the server ended before it listened"))))
      })
    )
  )

export const openSession = (input: McpConfig.ServerConfigInput, options?: McpSession.SessionOptions) =>
  Effect.gen(function*() {
    const transport = yield* McpTransport.McpTransport
    const channel = yield* transport.channel(yield* McpConfig.decode(input))
    return yield* McpSession.open(channel, options)
  }).pipe(Effect.provide(NodeMcp.layer))

export const stdio = (
  name: string,
  extra: Partial<Extract<McpConfig.ServerConfigInput, { transport: "stdio" }>> = {}
): McpConfig.ServerConfigInput => ({
  name,
  transport: "stdio",
  command: process.execPath,
  ...extra,
  args: [program(name), ...(extra.args ?? [])]
})

/** The tools, once this one is among them: servers register some after the handshake, and say so. */
export const toolsIncluding = (session: McpSession.McpSession, name: string) => {
  const listed = Effect.map(McpSession.listTools(session), (_) => _.items)
  return Stream.make(undefined).pipe(
    Stream.concat(Stream.filter(session.incoming, (_) => _.method === "notifications/tools/list_changed")),
    Stream.mapEffect(() => listed),
    Stream.filter((tools) => tools.some((_) => _.name === name)),
    Stream.runHead,
    Effect.flatten
  )
}

export const textOf = (result: { readonly content: ReadonlyArray<{ readonly type: string }> }): string =>
  result.content.map((_) => ("text" in _ ? String(_.text) : "")).join("\n")
