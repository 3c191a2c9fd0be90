/**
 * Managers of real processes, and what tests ask of them.
 */
import { CatalogStore, type McpConfig, McpManager, McpTransport } from "@mcp-runtime/core"
import { NodeMcp } from "@mcp-runtime/node"
import { Effect, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import { type Journal, journal } from "./connections.js"

export const script = fileURLToPath(new URL("../fixtures/managed-server.mjs", import.meta.url))

type Stdio = Extract<McpConfig.ServerConfigInput, { readonly transport: "stdio" }>

/** A well-behaved server that says what it gets. What it says is in the journal. */
export const managed = (
  name: string,
  { env }: Pick<Journal, "env">,
  args: ReadonlyArray<string> = [],
  extra: Partial<Stdio> = {}
): Stdio => ({
  name,
  transport: "stdio",
  command: process.execPath,
  args: [script, ...args],
  ...extra,
  env: { ...env, ...extra.env }
})

/** So many journals. */
export const journals = (count: number): Effect.Effect<ReadonlyArray<Journal>, never, Scope.Scope> =>
  Effect.forEach(Array.from({ length: count }), () => journal)

export interface Wishes extends McpManager.ManagerOptions {
  /** Where lists outlive the manager. Default: nowhere. */
  readonly directory?: string | undefined
  /** Around the transports. */
  readonly around?: ((transport: McpTransport.McpTransport["Type"]) => McpTransport.McpTransport["Type"]) | undefined
}

export const make = ({ around, directory, ...options }: Wishes) =>
  Effect.gen(function*() {
    const store = directory === undefined ? CatalogStore.layerNone : NodeMcp.layerCatalog(directory)
    const transports = around === undefined
      ? NodeMcp.layerTransport
      : Layer.provide(
        Layer.effect(McpTransport.McpTransport, Effect.map(McpTransport.McpTransport, around)),
        NodeMcp.layerTransport
      )
    const context = yield* Layer.build(Layer.merge(transports, store))
    return yield* Effect.provide(McpManager.make(options), context)
  })

/** Calls `opening` each time before a wire is opened. */
export const opening = (told: (name: string) => Effect.Effect<unknown>) =>
(
  transport: McpTransport.McpTransport["Type"]
): McpTransport.McpTransport["Type"] => ({
  channel: (config) =>
    Effect.map(transport.channel(config), (channel) => ({
      config: channel.config,
      open: (events) => Effect.zipRight(told(config.name), channel.open(events))
    }))
})

export const textOf = (result: { readonly content: ReadonlyArray<{ readonly type: string }> }): string =>
  result.content.map((_) => ("text" in _ ? String(_.text) : "")).join("\n")

/** The text that a tool answers. */
export const call = (
  manager: McpManager.Manager,
  server: string,
  name: string,
  args: { readonly [name: string]: string | number } = {}
) => Effect.map(manager.callTool(server, { name, arguments: args }), textOf)

/** The process of a `managed` server. */
export const pidOf = (manager: McpManager.Manager, server: string) => Effect.map(call(manager, server, "pid"), Number)

/** Waits until all servers are as wanted, and gives how they are. */
export const awaitState = (
  manager: McpManager.Manager,
  predicate: (state: McpManager.ManagerState) => boolean
): Effect.Effect<McpManager.ManagerState> =>
  manager.changes.pipe(Stream.filter(predicate), Stream.runHead, Effect.flatten, Effect.orDie)

export const phaseOf = (state: McpManager.ManagerState, name: string): McpManager.Phase | undefined =>
  state.servers.find((_) => _.name === name)?.phase
