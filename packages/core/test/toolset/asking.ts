/**
 * What the tests of filters and approval share: effects where there may be none, and what was logged.
 */
import { assert } from "@effect/vitest"
import { type McpProtocol } from "@mcp-runtime/core"
import { Cause, Effect, HashMap, Logger, LogLevel } from "effect"

export const tool = (name: string, annotations?: McpProtocol.ToolAnnotations): McpProtocol.Tool =>
  Object.freeze({
    name,
    inputSchema: Object.freeze({ type: "object" }),
    ...(annotations === undefined ? {} : { annotations: Object.freeze(annotations) })
  })

export const tools = (...names: ReadonlyArray<string>): ReadonlyArray<McpProtocol.Tool> =>
  Object.freeze(names.map((name) => tool(name)))

/** What is there at once, or an effect. */
export const run = <A, E, R>(now: A | Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.isEffect(now) ? now as Effect.Effect<A, E, R> : Effect.succeed(now)

/** Asserts that no effect was needed. */
export const atOnce = <A>(now: A | Effect.Effect<unknown, unknown, unknown>): A => {
  assert(!Effect.isEffect(now), "an effect")
  return now
}

export interface Line {
  readonly level: string
  readonly text: string
  readonly server: unknown
  readonly tool: unknown
}

/** Runs an effect, and gives what it logged too. */
export const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    const logger = Logger.make(({ annotations, cause, logLevel, message }) => {
      const of = (key: string) => HashMap.unsafeGet(annotations, key)
      lines.push({
        level: logLevel._tag,
        text: `${String(message)}${Cause.isEmpty(cause) ? "" : Cause.pretty(cause)}`,
        server: HashMap.has(annotations, "mcp.server") ? of("mcp.server") : undefined,
        tool: HashMap.has(annotations, "tool") ? of("tool") : undefined
      })
    })
    return effect.pipe(
      Effect.map((value) => ({ value, lines })),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      // What only a debugging log would show is no secret either.
      Logger.withMinimumLogLevel(LogLevel.All)
    )
  })
