/**
 * A configuration from what says it all: a URL, a script, a server in this process.
 *
 * Owns: what each of them means, and a name where none is given.
 * May not touch: files. Whether there is such a script is found out when it is started.
 */
import type { InProcessServer, ServerConfigInput } from "../../McpConfig.js"

/** What can stand for a configuration, and one itself. */
export type Shorthand = string | URL | InProcessServer | (() => InProcessServer) | ServerConfigInput

export const from = (what: Shorthand, name?: string): ServerConfigInput => {
  if (typeof what === "string") return isUrl(what) ? fromUrl(what, name) : fromPath(what, name)
  if (what instanceof URL) {
    return what.protocol === "file:" ? fromPath(pathOf(what), name) : fromUrl(what.href, name)
  }
  if (typeof what === "function") return { name: name ?? "in-process", transport: "inMemory", server: what }
  if (isServer(what)) return { name: name ?? "in-process", transport: "inMemory", server: giving(what) }
  return name === undefined ? what : { ...what, name }
}

/** What is nothing of all this stays as it is, to be refused where it is decoded. */
const isServer = (what: InProcessServer | ServerConfigInput): what is InProcessServer =>
  typeof what === "object" && what !== null && "connect" in what && typeof what.connect === "function"

/** The same server twice is the same configuration. */
const giving = (server: InProcessServer): () => InProcessServer => {
  const known = givers.get(server)
  if (known !== undefined) return known
  const give = () => server
  givers.set(server, give)
  return give
}

const givers = new WeakMap<InProcessServer, () => InProcessServer>()

/** Not `C:\server.js`, where one letter stands before the colon. */
const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(text)

const fromUrl = (url: string, name: string | undefined): ServerConfigInput =>
  /^file:/i.test(url) && URL.canParse(url)
    ? fromPath(pathOf(new URL(url)), name)
    : { name: name ?? hostOf(url), transport: "auto", url }

/** The path may be a secret, as it is where a URL is all that a server asks for. */
const hostOf = (url: string): string => URL.canParse(url) && new URL(url).host !== "" ? new URL(url).host : "remote"

const fromPath = (path: string, name: string | undefined): ServerConfigInput => {
  const runtime = runtimes.get(/\.[a-z]+$/i.exec(path)?.[0].toLowerCase() ?? "")
  const place = { name: name ?? baseOf(path), transport: "stdio" } as const
  return runtime === undefined ? { ...place, command: path } : { ...place, command: runtime, args: [path] }
}

const runtimes: ReadonlyMap<string, string> = new Map([
  [".js", "node"],
  [".mjs", "node"],
  [".cjs", "node"],
  [".ts", "tsx"],
  [".mts", "tsx"],
  [".cts", "tsx"],
  [".py", "python3"]
])

/** `server` of `/path/to/server.js`. */
const baseOf = (path: string): string => {
  const base = path.split(/[\\/]/).at(-1)!.replace(/\.[a-z0-9]+$/i, "")
  return base.trim() === "" ? "local" : base.slice(0, 256)
}

const pathOf = ({ host, pathname }: URL): string => {
  const path = decoded(pathname)
  return host !== "" ? `//${host}${path}` : /^\/[a-z]:/i.test(path) ? path.slice(1) : path
}

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
