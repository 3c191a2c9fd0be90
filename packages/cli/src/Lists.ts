/**
 * Prompts and resources of the chosen servers.
 *
 * Owns: which server a prompt or a resource is asked for from.
 */
import type * as McpCatalog from "@mcp-runtime/core/McpCatalog"
import type * as McpError from "@mcp-runtime/core/McpError"
import * as Effect from "effect/Effect"
import { documentOf } from "./exit.js"
import * as Servers from "./Servers.js"

export interface Listed<A> {
  readonly server: string
  readonly item: A
}

/** What was listed, and how each server is; `count` is the name of the number of its items. */
export interface All<A> {
  readonly items: ReadonlyArray<Listed<A>>
  readonly errors: ReadonlyMap<string, McpError.McpError>
}

export const flatten = <A>(lists: ReadonlyArray<McpCatalog.ServerList<A>>): All<A> => {
  const errors = new Map<string, McpError.McpError>()
  for (const { error, server } of lists) {
    // What a server does not offer, it has none of.
    if (error !== undefined && error._tag !== "CapabilityMissing") errors.set(server, error)
  }
  return { items: lists.flatMap(({ items, server }) => items.map((item) => ({ server, item }))), errors }
}

export const reports = (
  servers: Servers.Servers,
  errors: ReadonlyMap<string, McpError.McpError>
): Effect.Effect<ReadonlyArray<Servers.ServerReport>> =>
  Effect.map(Servers.reports(servers), (reports) =>
    reports.map((report) => {
      const error = errors.get(report.name)
      return report.error !== null || error === undefined ? report : { ...report, error: documentOf(error) }
    }))
