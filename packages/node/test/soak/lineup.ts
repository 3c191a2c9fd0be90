/**
 * The servers as they are configured, and as they will be after a change.
 *
 * Owns: the configurations, the deadlines of everything, and which lineups there have been.
 * May not touch: managers.
 */
import type { McpConfig } from "@mcp-runtime/core"
import { fileURLToPath } from "node:url"
import * as Memory from "./memory.js"
import type { Peers } from "./peers.js"
import { type Server, servers } from "./plan.js"

/** In milliseconds: what is configured, from which all bounds follow. */
export const deadlines = {
  request: 2000,
  impatient: 250,
  total: 6000,
  handshake: 8000,
  handler: 1000,
  connect: 10_000,
  close: 8000,
  /** `Catalog`: how long a listing of all servers waits for one of them. */
  listing: 10_000,
  coolDown: 300
}

const script = fileURLToPath(new URL("./peer/stdio.mjs", import.meta.url))

const timeouts = {
  request: deadlines.request,
  handshake: deadlines.handshake,
  handler: deadlines.handler,
  close: 500
}

const shutdown = { afterEof: 200, afterTerm: 200, afterKill: 2000 }

export class Lineup {
  private names: ReadonlyArray<string> = servers.map((_) => _.name)
  private readonly epochs = new Map<string, number>()
  /** All orders that there may be by now, as texts. */
  readonly allowed = new Set<string>()
  private readonly memory: () => McpConfig.InProcessServer

  constructor(
    private readonly peers: Peers,
    private readonly mark: string,
    private readonly journal: (server: string) => string
  ) {
    this.memory = Memory.make(journal("memory"))
    this.allow()
  }

  /** A harmless field of it is another one. */
  change(server: string): void {
    this.epochs.set(server, (this.epochs.get(server) ?? 0) + 1)
  }

  reorder(): void {
    this.names = [...this.names.slice(1), ...this.names.slice(0, 1)]
    this.allow()
  }

  remove(server: string): void {
    this.names = this.names.filter((_) => _ !== server)
    this.allow()
  }

  /** Every server, in the order of the plan. */
  restore(): void {
    this.names = servers.map((_) => _.name)
    this.allow()
  }

  get configs(): ReadonlyArray<McpConfig.ServerConfigInput> {
    return this.names.map((name) => this.config(servers.find((_) => _.name === name)!))
  }

  private allow(): void {
    this.allowed.add(this.names.join())
  }

  private config({ name, trusted, wire }: Server): McpConfig.ServerConfigInput {
    const epoch = this.epochs.get(name) ?? 0
    const common = {
      name,
      trusted,
      timeouts,
      secrets: [`epoch-of-${name}-${epoch}`],
      limits: { messageBytes: 4 * 1024 * 1024 },
      subscriptions: ["soak://one"]
    }
    const url = `http://127.0.0.1:${this.peers.get(name)?.port}/mcp`
    switch (wire) {
      case "memory":
        return { ...common, transport: "inMemory", server: this.memory }
      case "legacy":
        return { ...common, transport: "sse", url }
      case "http":
        return {
          ...common,
          transport: "http",
          url,
          ...(name === "events" && { recovery: "isolated" as const }),
          ...(name === "json" && { keepAlive: { every: "500 millis" as const, timeout: "2 seconds" as const } }),
          ...(name === "guarded" && {
            auth: { type: "clientCredentials" as const, clientId: "soak", clientSecret: "not-a-secret" }
          })
        }
      case "stdio": {
        const program = name === "wrapped"
          // As `npx` does: it waits for the server, which is a grandchild.
          ? { command: "/bin/sh", args: ["-c", `"$0" "$@"; exit $?`, process.execPath, script, "helper"] }
          : { command: process.execPath, args: [script] }
        return {
          ...common,
          ...program,
          transport: "stdio",
          shutdown,
          env: { SOAK_JOURNAL: this.journal(name), SOAK_MARK: this.mark, SOAK_SERVER: name },
          ...(name === "idle" && { lifetime: { idle: "150 millis" as const }, concurrency: "serial" as const })
        }
      }
    }
  }
}
