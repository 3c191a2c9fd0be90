/**
 * What the processes of servers write to stderr, while they live.
 *
 * Owns: looking at the kept end of it now and then, and telling what is new. May not touch: the transports it looks at.
 */
import * as McpTransport from "@mcp-runtime/core/McpTransport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"

const every = "150 millis"

/** The same transports; `tell` gets each line of stderr once. What was written too fast to be kept is lost. */
export const layer = (
  tell: (server: string, line: string) => Effect.Effect<void>
): Layer.Layer<McpTransport.McpTransport, never, McpTransport.McpTransport> =>
  Layer.effect(
    McpTransport.McpTransport,
    Effect.map(McpTransport.McpTransport, ({ channel }) => ({
      channel: (config) => Effect.map(channel(config), (inner) => ({ config: inner.config, open: tapped(inner, tell) }))
    }))
  )

const tapped = (
  { config, open }: McpTransport.Channel,
  tell: (server: string, line: string) => Effect.Effect<void>
): McpTransport.Channel["open"] =>
(events) =>
  Effect.gen(function*() {
    // Registered before the process is started, so that it is run when nothing more can be written.
    let before = ""
    let look: Effect.Effect<void> = Effect.void
    yield* Effect.addFinalizer(() => look)
    const transport = yield* open(events)
    look = Effect.suspend(() => {
      const now = transport.stderrTail() ?? ""
      if (now === before) return Effect.void
      const lines = added(before, now).split("\n").filter((line) => line.trim() !== "")
      before = now
      return Effect.forEach(lines, (line) => tell(config.name, line), { discard: true })
    })
    yield* Effect.forkScoped(Effect.interruptible(Effect.repeat(Effect.suspend(() => look), Schedule.spaced(every))))
    return transport
  })

/** Where the end of the old text is in the new one, what follows it is new. */
export const added = (before: string, now: string): string => {
  if (now.startsWith(before)) return now.slice(before.length)
  const end = before.slice(-400)
  const at = now.lastIndexOf(end)
  return at < 0 ? now : now.slice(at + end.length)
}
