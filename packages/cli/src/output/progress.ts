/**
 * How far a call has come, from the progress notifications of its server.
 *
 * Owns: the bar. It is gone when the call has ended.
 */
import type * as McpProtocol from "@mcp-runtime/core/McpProtocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Region from "./region.js"
import type { Screen } from "./Screen.js"
import * as Text from "./text.js"

const cells = 24

/** Gives the function that takes the notifications of a call. */
export const bar = (
  what: string
): Effect.Effect<(progress: McpProtocol.Progress) => Effect.Effect<void>, never, Screen | Scope.Scope> =>
  Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    let last: McpProtocol.Progress | undefined
    yield* Region.show(({ now, spinner, style }) => {
      const time = `${((now - startedAt) / 1000).toFixed(1)} s`
      const text = `${spinner} ${Text.oneLine(what)}  ${last === undefined ? "" : `${describe(last)}  `}${time}`
      return [{ text, style: style.cyan }]
    }, { keep: false })
    return (progress) => Effect.sync(() => void (last = progress))
  })

/** Servers may say anything: more than all, less than nothing, no number. */
export const describe = ({ message, progress, total }: McpProtocol.Progress): string => {
  const said = message === undefined ? "" : ` ${Text.oneLine(message.slice(0, 400))}`
  if (typeof total !== "number" || !(total > 0) || !Number.isFinite(total)) return `${number(progress)}${said}`
  const part = Math.min(1, Math.max(0, progress / total)) || 0
  const full = Math.round(part * cells)
  return `[${"█".repeat(full)}${"░".repeat(cells - full)}] ${Math.floor(part * 100)}% ${number(progress)}/${
    number(total)
  }${said}`
}

const number = (value: number): string => String(Math.round(value * 100) / 100)
