/**
 * The two servers that the soak talks to, and how they are disturbed.
 */
import { McpConnection } from "@mcp-runtime/core"
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { connect } from "../internal/connections.js"

const script = fileURLToPath(new URL("../fixtures/soak-server.mjs", import.meta.url))

export interface Server {
  readonly connection: McpConnection.McpConnection
  readonly ledger: string
  /** What can happen to it, each with how often. */
  readonly disturbances: ReadonlyArray<readonly [weight: number, Disturbance]>
}

export interface Disturbance {
  readonly name: string
  readonly run: Effect.Effect<unknown, unknown>
  /** Whether there is another session afterwards, sooner or later. */
  readonly renews: boolean
}

export const textOf = ({ content }: { readonly content: ReadonlyArray<unknown> }): string =>
  (content[0] as { readonly text: string }).text

/** Sessions end as often as the soak wants it: no breaker, no waiting. */
const reconnect: McpConnection.ReconnectOptions = { schedule: Schedule.forever }

const reconnectOf = (connection: McpConnection.McpConnection): Disturbance => ({
  name: "reconnect",
  run: Effect.asVoid(connection.reconnect),
  renews: true
})

export const stdioServer = (ledger: string): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const connection = yield* connect({
      name: "stdio",
      transport: "stdio",
      command: process.execPath,
      args: [script],
      env: { SOAK_LEDGER: ledger }
    }, { reconnect })
    const kill: Disturbance = {
      name: "kill",
      run: Effect.map(McpConnection.callTool(connection, { name: "pid" }), (result) => {
        process.kill(Number(textOf(result)), "SIGKILL")
      }),
      renews: true
    }
    return { connection, ledger, disturbances: [[3, kill], [2, reconnectOf(connection)]] }
  })

export const httpServer = (ledger: string): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [script, "http"], {
          stdio: ["pipe", "pipe", "inherit"],
          env: { ...process.env, SOAK_LEDGER: ledger }
        })
      ),
      (child) =>
        Effect.promise(async () => {
          const exit = once(child, "exit")
          child.kill("SIGKILL")
          await exit
        })
    )
    const lines = createInterface({ input: child.stdout })
    const line = Effect.async<string>((resume) => {
      lines.once("line", (text) => resume(Effect.succeed(text)))
    })
    const port = Number((yield* line).slice("port ".length))
    const connection = yield* connect(
      { name: "http", transport: "http", url: `http://127.0.0.1:${port}/mcp` },
      { reconnect }
    )
    const told = (name: string, renews: boolean): Disturbance => ({
      name,
      run: Effect.zipRight(Effect.sync(() => child.stdin.write(`${name}\n`)), line),
      renews
    })
    return {
      connection,
      ledger,
      disturbances: [
        [5, told("expire", true)],
        [3, told("restart", true)],
        [1, told("drop", false)],
        [2, reconnectOf(connection)]
      ]
    }
  })
