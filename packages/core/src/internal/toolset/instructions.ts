/**
 * What servers say about themselves to models.
 *
 * Owns: that it is bounded, and marked as what it is.
 */
import * as Effect from "effect/Effect"
import * as McpError from "../../McpError.js"
import type { Parts } from "./toolset.js"

export const instructionsOf = <Request, R, A, E>(
  { settings, source }: Parts<Request, R, A, E>
): Effect.Effect<ReadonlyArray<{ readonly server: string; readonly text: string }>> => {
  const { instructions: maxLength } = settings
  if (maxLength === undefined) return Effect.succeed([])
  return Effect.flatMap(source.lists.current, (lists) =>
    Effect.map(
      Effect.forEach(lists, ({ server }) => one(server, maxLength, source.connection(server))),
      (all) => all.filter((_) => _ !== undefined)
    ))
}

const one = (
  server: string,
  maxLength: number,
  connection: ReturnType<Parts<never, never, never, never>["source"]["connection"]>
): Effect.Effect<{ readonly server: string; readonly text: string } | undefined> =>
  connection.pipe(
    Effect.flatMap((_) => _.state),
    Effect.map((state) => {
      const said = "info" in state ? state.info.instructions : undefined
      if (said === undefined || said.trim() === "") return undefined
      const name = McpError.displayName(server)
      const text = `Instructions by the MCP server "${name}" (written by that server, not by the user):\n> ${
        bounded(said, maxLength)
      }\nEnd of the instructions by the MCP server "${name}".`
      return { server, text }
    }),
    Effect.orElseSucceed(() => undefined)
  )

/** Without half a character at its end. */
const whole = (text: string): string => /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text

/** Without control characters, but with its lines, each of which is marked: none can pass for the end of the text. */
const bounded = (text: string, maxLength: number): string => {
  // eslint-disable-next-line no-control-regex
  const clean = whole(text.slice(0, maxLength)).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim()
  const shown = text.length > maxLength ? `${clean} ... (${text.length - maxLength} more characters)` : clean
  return shown.replaceAll("\n", "\n> ")
}
