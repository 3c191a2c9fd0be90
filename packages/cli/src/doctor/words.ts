/**
 * The words that all advice is made of.
 *
 * Owns: how texts from outside are shown, and how a place in the configuration is named.
 * May not touch: what is advised.
 */
import * as McpError from "@mcp-runtime/core/McpError"
import type { Advice, Detail, Finding, Surroundings } from "../Doctor.js"

const lineLength = 300
const tailLines = 20
const tailLength = 4000

/** A text from outside on one line. */
export const line = (text: string, max: number = lineLength): string =>
  McpError.displayText(text, max).replace(/\s+/g, " ").trim()

/** A text from outside on as many lines as it has, the last ones if there are many. */
export const lines = (text: string): string => {
  const shown = McpError.displayText(text.slice(-tailLength), tailLength).trimEnd().split("\n")
  return shown.length <= tailLines ? shown.join("\n") : ["...", ...shown.slice(-tailLines)].join("\n")
}

export const quoted = (text: string): string => `"${line(text)}"`

export const server = (name: string): string => `Server "${McpError.displayName(name)}"`

/** Where a server without a file comes from. */
export const commandLine = "the command line"

/** The options that stand for fields of a file. */
const options: ReadonlyMap<string, string> = new Map([
  ["url", "--url"],
  ["headers", "--header"],
  ["command", "--command"],
  ["args", "--command"],
  ["env", "--env"]
])

/** Where to look, for a todo: `"command" of "files" in /home/ada/mcp.json`, `--command`. */
export const field = (name: string, on: string, surroundings: Surroundings): string => {
  const shown = `"${line(name, 128)}"`
  if (surroundings.configFile !== commandLine) {
    return `${shown} of "${McpError.displayName(on)}" in ${file(surroundings)}`
  }
  return options.get(name.split(/[.[]/, 1)[0]!) ?? `${shown} of a configuration file`
}

export const file = ({ configFile }: Surroundings): string =>
  configFile === undefined
    ? "your configuration"
    : configFile === commandLine
    ? "a configuration file"
    : line(configFile)

/** A line of ours about one server: `mcp-runtime resources --server docs`. */
export const command = (
  name: string,
  on: string,
  { config, configFile }: Surroundings,
  how: string = "--server "
): string =>
  configFile === commandLine
    ? `mcp-runtime ${name} with the same ${config?.transport === "stdio" ? "--command" : "--url"}`
    : `mcp-runtime ${name} ${how}${shellWord(on)}`

/** A name as a shell takes it. */
const shellWord = (name: string): string => {
  const shown = line(name, 128)
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

/** What was tried, in words of the protocol. */
export const operation = ({ operation }: McpError.McpError): string =>
  quoted(operation === "open" ? "initialize" : operation)

export const detail = (label: string, text: string | undefined): ReadonlyArray<Detail> =>
  text === undefined || text.trim() === "" ? [] : [{ label, text }]

export const find = <Tag extends Finding["_tag"]>(
  { findings }: Surroundings,
  tag: Tag
): Extract<Finding, { readonly _tag: Tag }> | undefined =>
  findings?.find((_): _ is Extract<Finding, { readonly _tag: Tag }> => _._tag === tag)

export const stderr = (tail: string | undefined): ReadonlyArray<Detail> =>
  tail === undefined ? [] : detail("the end of its stderr", lines(tail))

/** `"a", "b" or "c"` */
export const either = (names: ReadonlyArray<string>): string => {
  const all = names.map(quoted)
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} or ${all[all.length - 1]}`
}

export const didYouMean = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 0 ? [] : [`Did you mean ${either(names)}?`]

export const sentence = (text: string): string => {
  const shown = line(text, 1024)
  const capital = shown.charAt(0).toUpperCase() + shown.slice(1)
  return /[.!?]$/.test(capital) || capital === "" ? capital : `${capital}.`
}

export const advice = (
  headline: string,
  happened: string,
  todo: ReadonlyArray<string>,
  details: ReadonlyArray<Detail> = []
): Advice => ({ headline, happened, details, todo: [...new Set(todo)] })

/** What happened, without what messages have in common. What to do, the advice says. */
export const said = (error: McpError.McpError): string => {
  const message = McpError.whatHappened(error)
  const operation = `: ${error.operation}: `
  // What is about no server, such as `<manager>`, says so without the brackets.
  const prefix = [`MCP server "${McpError.displayName(error.server, 320)}"`, error.server.slice(1, -1)].map((_) =>
    _ + operation
  )
    .find((_) => message.startsWith(_))
  return prefix === undefined ? message : message.slice(prefix.length)
}

export const seconds = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${Math.round(millis / 100) / 10} s`

/** What is at the other end, for people. */
export const hostOf = (url: string): string => URL.canParse(url) ? new URL(url).host : "the host"

export const isRemote = (config: McpConfigOf): boolean =>
  config !== undefined && config.transport !== "stdio" && config.transport !== "inMemory"

type McpConfigOf = Surroundings["config"]
