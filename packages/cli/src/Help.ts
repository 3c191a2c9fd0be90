/**
 * What `--help` shows.
 *
 * Owns: the words and their order. The descriptions of options are theirs.
 */
import * as Options from "./Options.js"
import type { Outlet } from "./output/Screen.js"
import { pad, wrap } from "./output/text.js"

export interface CommandHelp {
  /** What follows the name. */
  readonly usage: string
  readonly description: string
  /** Beside those of every command. */
  readonly options?: ReadonlyArray<string> | undefined
  readonly more?: ReadonlyArray<string> | undefined
  /** The names of the commands below it. */
  readonly below?: ReadonlyArray<string> | undefined
}

const common = [
  "server",
  "config",
  "no-project",
  "url",
  "header",
  "command",
  "env",
  "timeout",
  "strict",
  "no-cache",
  "json"
]
const ofTheProgram = ["log-level", "help", "version", "completions"]

const exitCodes =
  "Exit codes: 0 done; 1 failed; 2 the command line or the configuration is wrong; 3 the tool says that it has failed; 130 interrupted; 143 ended."

/** Descriptions that would have less room than this have lines of their own. */
const narrowest = 28

/** For a command, or for the program where the path is empty. */
export const render = (
  [name]: ReadonlyArray<string>,
  commands: ReadonlyMap<string, CommandHelp>,
  { columns, style }: Pick<Outlet, "columns" | "style">
): string => {
  const room = Math.min(columns(), 120)
  const title = (text: string) => ["", style.bold(text)]
  const list = (rows: ReadonlyArray<readonly [string, string]>) => {
    const left = Math.max(...rows.map(([term]) => term.length)) + 4
    if (room - left < narrowest) {
      return rows.flatMap(([term, text]) => [
        `  ${style.cyan(term)}`,
        ...wrap(text, room - 6).map((line) => `      ${line}`)
      ])
    }
    return rows.flatMap(([term, text]) =>
      wrap(text, room - left).map((line, at) =>
        at === 0 ? `  ${style.cyan(pad(term, left - 2))}${line}` : " ".repeat(left) + line
      )
    )
  }
  const options = (names: ReadonlyArray<string>) =>
    list(names.map((_) => {
      const { description, kind } = Options.all.get(_)!
      return [`--${_}${kind === "value" ? " <value>" : ""}`, description]
    }))
  const command = name === undefined ? undefined : commands.get(name)
  const lines = command === undefined
    ? [
      ...wrap("Lists, calls and checks MCP servers: those of .mcp.json or mcp.json here, and your own.", room),
      ...title("Usage"),
      "  mcp-runtime <command> [arguments] [options]",
      ...title("Commands"),
      ...list([...commands].map(([name, { description, usage }]) => [`${name} ${usage}`.trim(), description])),
      ...title("Options of every command"),
      ...options(common),
      ...title("Options of the program"),
      ...options(ofTheProgram),
      "",
      ...wrap(exitCodes, room)
    ]
    : [
      command.description,
      ...title("Usage"),
      `  mcp-runtime ${`${name} ${command.usage}`.trim()} [options]`,
      ...(command.more === undefined
        ? []
        : ["", ...command.more.flatMap((_) => wrap(_, room - 2).map((line) => `  ${line}`))]),
      ...(command.options === undefined ? [] : [...title("Options"), ...options(command.options)]),
      ...title("Options of every command"),
      ...options(common)
    ]
  return lines.map((_) => `${_}\n`).join("")
}
