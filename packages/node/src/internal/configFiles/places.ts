/**
 * Where configuration files are looked for.
 *
 * Owns: the paths, their order, and the variables of the environment that have a say.
 * May not touch: the files.
 */
import type * as ConfigFile from "@mcp-runtime/core/ConfigFile"
import { homedir } from "node:os"
import { posix, resolve, win32 } from "node:path"
import type { Options, Place } from "../../ConfigFiles.js"

export interface Environment {
  readonly [name: string]: string | undefined
}

const projectFiles = [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"]

export const places = (options: Options, environment: Environment): ReadonlyArray<Place> => {
  const cwd = projectDirectory(options)
  const from = (path: string) => cwd === undefined ? path : resolve(cwd, path)
  const user = userFile(options, environment, from)
  return [
    ...explicitFiles(options, environment).map((path): Place => ({
      level: "explicit",
      paths: [from(path)],
      required: true
    })),
    ...(cwd === undefined || options.enableProjectConfig === false
      ? []
      : [{ level: "project", paths: projectFiles.map(from), required: false } as const]),
    ...(user === undefined ? [] : [{ level: "user", paths: [user], required: false } as const])
  ]
}

/** What the caller names goes before what the environment names. An empty variable names nothing. */
const explicitFiles = ({ explicit }: Options, { MCP_RUNTIME_CONFIG }: Environment): ReadonlyArray<string> => {
  if (explicit !== undefined) return typeof explicit === "string" ? [explicit] : explicit
  return MCP_RUNTIME_CONFIG === undefined || MCP_RUNTIME_CONFIG === "" ? [] : [MCP_RUNTIME_CONFIG]
}

const userFile = (
  { user = true }: Options,
  environment: Environment,
  from: (path: string) => string
): string | undefined => {
  if (typeof user === "string") return from(user)
  return user ? userFileOf(process.platform, environment, homeDirectory()) : undefined
}

export const userFileOf = (
  platform: NodeJS.Platform,
  environment: Environment,
  systemHome: string | undefined
): string | undefined => {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix
  // What is relative would be another place for each working directory; the XDG specification says to ignore it.
  const under = (base: string | undefined, ...rest: ReadonlyArray<string>) =>
    base !== undefined && isAbsolute(base) ? join(base, ...rest, "mcp-runtime", "mcp.json") : undefined
  const home = (platform === "win32" ? environment.USERPROFILE : environment.HOME) ?? systemHome
  return under(environment.XDG_CONFIG_HOME) ??
    (platform === "win32"
      ? under(environment.APPDATA) ?? under(home, "AppData", "Roaming")
      : under(home, ".config"))
}

/** There is none when the working directory was deleted. */
export const projectDirectory = ({ cwd }: Options): string | undefined =>
  attempt(() => cwd === undefined ? process.cwd() : resolve(cwd))

/** The root where the user has none: not the working directory, whatever is wrong. */
export const userDirectory = (
  platform: NodeJS.Platform,
  environment: Environment,
  systemHome: string | undefined = homeDirectory()
): string => {
  const { isAbsolute } = platform === "win32" ? win32 : posix
  const found = [platform === "win32" ? environment.USERPROFILE : environment.HOME, systemHome]
  return found.find((_) => _ !== undefined && isAbsolute(_)) ?? (platform === "win32" ? "C:\\" : "/")
}

const homeDirectory = (): string | undefined => attempt(homedir)

const attempt = <A>(get: () => A): A | undefined => {
  try {
    return get()
  } catch {
    return undefined
  }
}

const variable = "MCP_RUNTIME_TIMEOUT"

/** The timeout that the environment asks for, in milliseconds, or what is wrong with it. */
export const timeoutOf = (environment: Environment): number | ConfigFile.Problem | undefined => {
  const text = environment[variable]?.trim()
  if (text === undefined || text === "") return undefined
  const millis = /^\d+$/.test(text) ? Number(text) : NaN
  return Number.isSafeInteger(millis) ? millis : {
    path: variable,
    problem: "must be a number of milliseconds, such as 30000, or 0 for no timeout; it is ignored",
    severity: "warning"
  }
}
