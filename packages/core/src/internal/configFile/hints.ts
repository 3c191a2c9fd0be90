/**
 * What people write who have another client, another shell or another unit in mind.
 *
 * Owns: the words of advice on fields that are not known, and on values that are allowed but likely not meant.
 * May not touch: values, in what it says; they may be secrets.
 */
import { fields, isNote } from "./format.js"
import type { ServerReport } from "./report.js"
import { closest } from "./suggest.js"

type Fields = Readonly<Record<string, unknown>>

const known: ReadonlySet<string> = new Set([...fields.local, ...fields.remote])

/** What fields of other clients are called here. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["httpUrl", "url"],
  ["serverUrl", "url"],
  ["baseUrl", "url"],
  ["uri", "url"],
  ["endpoint", "url"],
  ["cmd", "command"],
  ["executable", "command"],
  ["arguments", "args"],
  ["argv", "args"],
  ["environment", "env"],
  ["envVars", "env"],
  ["workingDirectory", "cwd"],
  ["workdir", "cwd"],
  ["httpHeaders", "headers"],
  ["requestInit", "headers"],
  ["transportType", "type"],
  ["trust", "trusted"]
])

const advice: ReadonlyMap<string, string> = new Map([
  ["envFile", `is not read: write the variables into "env", or set them in the environment and write "\${NAME}" there`],
  ["includeTools", `is not known: write "tools": { "allow": [...] }`],
  ["excludeTools", `is not known: write "tools": { "block": [...] }`],
  ["autoApprove", `is not known: write "approval": { "never": [...] }`],
  ["alwaysAllow", `is not known: write "approval": { "never": [...] }`],
  ["oauth", `is not known: write "auth": { "type": "oauth", ... }`],
  ["headersHelper", `is not known: a header may be { "command": "..." }, whose output it then is`],
  ["requestTimeout", `is not known: write "timeout", in milliseconds`],
  ["timeoutMs", `is not known: write "timeout", in milliseconds`],
  ["timeoutSeconds", `is not known: write "timeout": "30 seconds"`]
])

/** The field that one of another name was meant to be. */
export const meant = (field: string): string | undefined =>
  advice.has(field) ? undefined : renamed.get(field) ?? closest(field, known)

const mostUnknown = 20

/** A warning for each field that is not known. */
export const unknownFields = (server: Fields, kind: "local" | "remote" | undefined, report: ServerReport): void => {
  let found = 0
  for (const field of Object.keys(server)) {
    if (known.has(field)) {
      if (kind !== undefined && !fields[kind].has(field)) {
        report.warning(field, `has no effect: it belongs to a server with "${kind === "local" ? "url" : "command"}"`)
      }
      continue
    }
    if (isNote(field)) continue
    if (++found > mostUnknown) return report.warning(undefined, "has more fields that are not known")
    // In a damaged file a value may have become a name, with whatever is secret in it.
    if (field.includes("://")) {
      report.warning(undefined, "has a value where a field should be: a comma or a quotation mark is missing")
    } else report.warning(field, unknown(field))
  }
}

export const unknown = (field: string): string => {
  const word = meant(field)
  return advice.get(field) ??
    (word === undefined ? "is not a known field, and has no effect" : `is not a known field: did you mean "${word}"?`)
}

/** Warnings about values. */
export const values = (server: Fields, report: ServerReport): void => {
  const { command, cwd, headers, timeout, tls, url } = server
  if (typeof command === "string") ofCommand(command, report)
  if (typeof cwd === "string" && isHome(cwd)) report.warning("cwd", home)
  if (typeof timeout === "number" && timeout > 0 && timeout < 1000) {
    report.warning("timeout", `is less than a second: it is in milliseconds. Seconds are written "30 seconds"`)
  }
  if (typeof url === "string" && isShellVariable(url)) report.warning("url", shellVariable)
  for (const [name, value] of Object.entries(typeof headers === "object" && headers !== null ? headers : {})) {
    if (typeof value === "string" && isShellVariable(value)) report.warning(`headers.${name}`, shellVariable)
  }
  for (const [name, value] of Object.entries(typeof tls === "object" && tls !== null ? tls : {})) {
    if (name !== "passphrase" && [value].flat().some(isFile)) report.warning(`tls.${name}`, file)
  }
}

const ofCommand = (command: string, report: ServerReport): void => {
  if (isHome(command)) return report.warning("command", home)
  const [first = "", ...rest] = command.trim().split(/\s+/)
  if (rest.length === 0 || /[\\/]/.test(first)) return
  const program = first.includes("=") ? `write variables into "env"` : launchers.has(first)
    ? `write "command": "${first}"`
    : "write the program alone"
  report.warning(
    "command",
    `is the name of one program, spaces included: ${program}, and the rest into "args", one by one`
  )
}

/** Only what is known can be shown. */
const launchers: ReadonlySet<string> = new Set(
  "npx npm pnpm yarn node bun bunx deno tsx uv uvx pipx python python3 docker podman go cargo java dotnet sh bash"
    .split(" ")
)

const isHome = (text: string): boolean => /^~[\\/]/.test(text)

/** PEM has lines. */
const isFile = (u: unknown): boolean =>
  typeof u === "string" && /^[^\r\n]*[\\/.][^\r\n]*$/.test(u) && !u.startsWith("-----") && !u.includes("${")

const file = `is the name of a file, as it seems: PEM is written here, or { "command": "cat <the file>" }`

const home = `~ means nothing here: write \${userHome}`

/** In capitals, as those of the environment are: a text may have a `$` of its own. */
const isShellVariable = (text: string): boolean => /\$[A-Z_][A-Z0-9_]{2,}(?![A-Za-z0-9_])/.test(text)

const shellVariable = `has a $ with a name, which stays as it is: a variable is written \${NAME}`
