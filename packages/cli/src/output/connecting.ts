/**
 * A line for each server while it connects: spinner, time, result.
 *
 * Owns: how long each server took, and the lines. May not touch: connections; it watches the manager.
 */
import type * as McpManager from "@mcp-runtime/core/McpManager"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { explain } from "../Doctor.js"
import * as Region from "./region.js"
import type { Screen } from "./Screen.js"
import * as Text from "./text.js"

interface Seen {
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly status: McpManager.ServerStatus
}

/** How long each server took, in milliseconds; up to now if it is not done. */
export interface Times {
  readonly of: (server: string) => Effect.Effect<number>
}

/** Watches a manager until the scope closes. To be begun before it connects. */
export const watch = (
  manager: McpManager.Manager
): Effect.Effect<Times, never, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const seen = new Map<string, Seen>()
    const begun = yield* Clock.currentTimeMillis
    const take = ({ servers }: McpManager.ManagerState) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const status of servers) {
          const before = seen.get(status.name)
          const startedAt = before?.startedAt ?? begun
          const over = status.phase !== "disconnected" && status.phase !== "connecting"
          seen.set(status.name, { startedAt, endedAt: over ? before?.endedAt ?? now : undefined, status })
        }
      })
    yield* Region.show((moment) => [...seen.values()].map((_) => lineOf(_, moment)), { keep: true })
    // What the manager says last has to be in the lines before they are left.
    yield* Effect.addFinalizer(() => Effect.flatMap(manager.state, take))
    yield* Effect.forkScoped(Stream.runForEach(manager.changes, take))
    return {
      of: (server) =>
        Effect.gen(function*() {
          yield* Effect.flatMap(manager.state, take)
          const found = seen.get(server)
          return found === undefined ? 0 : (found.endedAt ?? (yield* Clock.currentTimeMillis)) - found.startedAt
        })
    }
  })

const lineOf = ({ endedAt, startedAt, status }: Seen, { now, spinner, style }: Region.Moment): Region.Line => {
  const name = Text.shownName(status.name)
  const time = `${(((endedAt ?? now) - startedAt) / 1000).toFixed(1)} s`
  switch (status.phase) {
    case "disconnected":
    case "connecting":
      return status.tools !== undefined && status.phase === "disconnected"
        ? { text: `· ${name}  not connected`, style: style.dim }
        : { text: `${spinner} ${name}  connecting  ${time}`, style: style.cyan }
    case "failed":
      return {
        text: `✗ ${name}  ${
          status.error === undefined ? "failed" : Text.oneLine(explain(status.error).headline)
        }  ${time}`,
        style: style.red
      }
    case "disabled":
      return { text: `- ${name}  disabled`, style: style.dim }
    default:
      return {
        text: `✓ ${name}  ${status.tools === undefined ? "connected" : tools(status.tools.items.length)}  ${time}`,
        style: style.green
      }
  }
}

const tools = (count: number): string => `${count} ${count === 1 ? "tool" : "tools"}`
