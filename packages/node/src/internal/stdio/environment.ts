/**
 * Which variables a server process gets.
 *
 * Owns: the minimal set, what is inherited by name, and what can't be a variable at all.
 * May not touch: our own environment, which is only read.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as Redacted from "effect/Redacted"

/** @internal */
export type Variables = { [name: string]: string }

const minimalPosix = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]

const minimalWindows = [
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "PROGRAMW6432",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
  "WINDIR"
]

/** @internal */
export const make = (
  config: McpConfig.StdioConfig,
  host: { readonly [name: string]: string | undefined },
  platform: string
): Variables => {
  const variables: Variables = {}
  const minimal = platform === "win32" ? minimalWindows : minimalPosix
  const inherited = config.inheritEnv === "all" ? Object.keys(host) : minimal.concat(config.inheritEnv ?? [])
  for (const name of inherited) {
    // Ours is an object with a prototype: "constructor" is no variable.
    const value = Object.hasOwn(host, name) ? host[name] : undefined
    // A value that starts so is a function that a shell has exported.
    if (value !== undefined && !value.startsWith("()")) variables[name] = value
  }
  for (const [name, value] of Object.entries(config.env ?? {})) {
    if (platform === "win32") dropOtherSpellings(variables, name)
    variables[name] = Redacted.value(value)
  }
  return variables
}

/** Windows knows one variable by every spelling of its name. */
const dropOtherSpellings = (variables: Variables, name: string): void => {
  for (const other of Object.keys(variables)) {
    if (other !== name && other.toUpperCase() === name.toUpperCase()) delete variables[other]
  }
}

/** What is wrong with the variables of a configuration, without their values. @internal */
export const problem = (config: McpConfig.StdioConfig): string | undefined => {
  for (const [name, value] of Object.entries(config.env ?? {})) {
    if (name === "" || name.includes("=") || name.includes("\0")) {
      return `the name of an environment variable must not be empty and must not contain "=" or a NUL character`
    }
    if (Redacted.value(value).includes("\0")) {
      return `the value of the environment variable "${name}" contains a NUL character`
    }
  }
  return undefined
}
