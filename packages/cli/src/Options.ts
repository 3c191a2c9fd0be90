/**
 * The options of every command.
 *
 * Owns: their names, values and descriptions. `Argv` knows from here which words of a command line are options.
 * May not touch: what they do.
 */
import * as Options from "@effect/cli/Options"
import type * as Option from "effect/Option"

/** Whether an option has a value. */
export type Kind = "flag" | "value"

/** What `Argv` has to know of an option. */
export interface Known {
  readonly name: string
  readonly kind: Kind
  readonly description: string
}

const registry = new Map<string, Known>()

const known = (name: string, kind: Kind, description: string): void =>
  void registry.set(name, { name, kind, description })

/** Every option of any command. */
export const all: ReadonlyMap<string, Known> = registry

export const flag = (name: string, description: string): Options.Options<boolean> => {
  known(name, "flag", description)
  return Options.boolean(name).pipe(Options.withDescription(description))
}

export const value = (name: string, description: string): Options.Options<Option.Option<string>> => {
  known(name, "value", description)
  return Options.text(name).pipe(Options.withDescription(description), Options.optional)
}

export const values = (name: string, description: string): Options.Options<ReadonlyArray<string>> => {
  known(name, "value", description)
  return Options.text(name).pipe(Options.withDescription(description), Options.repeated)
}

/** What every command takes that has to do with servers. */
export const common = {
  config: values("config", "Read this file, and no other. May be given more than once."),
  noProject: flag("no-project", "Leave out the files of the project (.mcp.json, mcp.json, ...)."),
  server: values("server", "Only this server. May be given more than once."),
  url: value("url", "A remote server, in place of the files."),
  command: value("command", "A server to be started, in place of the files: \"npx -y some-server\"."),
  header: values("header", "A header for --url: \"Name: value\". ${VAR} is taken from the environment."),
  env: values("env", "A variable for --command: NAME=value."),
  timeout: value(
    "timeout",
    "How long a server may take to connect or to answer: 5000 (milliseconds), 5s, 2m; 0 for no bound."
  ),
  strict: flag("strict", "Fail if any server fails."),
  noCache: flag("no-cache", "Neither use nor store what servers offered last time."),
  json: flag("json", "One JSON document on stdout, and nothing else there.")
}

export interface Common {
  readonly config: ReadonlyArray<string>
  readonly noProject: boolean
  readonly server: ReadonlyArray<string>
  readonly url: Option.Option<string>
  readonly command: Option.Option<string>
  readonly header: ReadonlyArray<string>
  readonly env: ReadonlyArray<string>
  readonly timeout: Option.Option<string>
  readonly strict: boolean
  readonly noCache: boolean
  readonly json: boolean
}

export const refresh = flag("refresh", "Read the lists from the servers, whatever is stored.")
export const out = value(
  "out",
  "The directory for images and other files. Default: a new one among the temporary files."
)
export const watch = flag("watch", "Stay connected and show each change until Ctrl-C.")
export const level = value(
  "level",
  "The least important messages that are shown: debug, info, notice, warning, error, critical, alert, emergency. Default: debug."
)
export const noBrowser = flag("no-browser", "Only print the page to visit.")
export const forget = flag("forget", "Remove what is stored of the authorization.")

// Those of the program itself; `Argv` handles them.
known("help", "flag", "Show this.")
known("version", "flag", "Show the version.")
known("completions", "value", "Print completions for bash, zsh or fish.")
known("log-level", "value", "Show on stderr what happens inside: debug, info, ...")
