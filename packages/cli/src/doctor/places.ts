/**
 * Whether the program, the script and the directory that a configuration names are there.
 *
 * Owns: looking at the file system, a bounded number of times.
 * May not touch: anything it sees. Nothing is started, nothing is written, and no failure leaves it.
 */
import type * as McpConfig from "@mcp-runtime/core/McpConfig"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { constants } from "node:fs"
import * as Fs from "node:fs/promises"
import { homedir } from "node:os"
import * as Path from "node:path"
import type { Finding } from "../Doctor.js"
import { inTime } from "../together.js"
import { similar } from "./similar.js"

const mostDirectories = 100
const mostNames = 20_000
const firstLineBytes = 256

/** What holds a reference to a variable is known when a server is started, and not before. */
const isReference = (text: string): boolean => text.includes("${")

/** The `PATH` that the process gets, which is the one its command is looked up in. */
export const pathOf = (
  config: McpConfig.ServerConfig,
  environment: { readonly [name: string]: string | undefined } = process.env
): string | undefined => {
  if (config.transport !== "stdio") return undefined
  const env: { readonly [name: string]: unknown } = config.env ?? {}
  const own = Object.hasOwn(env, "PATH") ? env["PATH"] : undefined
  const text = Redacted.isRedacted(own) ? Redacted.value(own) : undefined
  return typeof text === "string" && !isReference(text) ? text : environment["PATH"]
}

/** What is not as it should be in the places that a server process needs. */
export const look = (
  config: McpConfig.ServerConfig,
  environment: { readonly [name: string]: string | undefined } = process.env
): Effect.Effect<ReadonlyArray<Finding>> =>
  config.transport !== "stdio" ? Effect.succeed([]) : inTime(
    Effect.tryPromise(async () => {
      const cwd = config.cwd === undefined || isReference(config.cwd) ? process.cwd() : Path.resolve(config.cwd)
      if (!(await isDirectory(cwd))) return [{ _tag: "DirectoryMissing", directory: cwd } satisfies Finding]
      const findings: Array<Finding> = []
      if (!isReference(config.command)) {
        findings.push(...await lookForCommand(config.command, cwd, pathOf(config, environment) ?? ""))
      }
      const script = scriptOf(config)
      if (script !== undefined) findings.push(...await lookForScript(Path.resolve(cwd, script)))
      return findings
    }),
    "2 seconds",
    () => Effect.succeed([])
  ).pipe(Effect.catchAllCause(() => Effect.succeed([])))

const isDirectory = (path: string): Promise<boolean> => Fs.stat(path).then((_) => _.isDirectory(), () => false)

const isFile = (path: string): Promise<boolean> => Fs.stat(path).then((_) => _.isFile(), () => false)

const mayRun = (path: string): Promise<boolean> => Fs.access(path, constants.X_OK).then(() => true, () => false)

const lookForCommand = async (command: string, cwd: string, path: string): Promise<ReadonlyArray<Finding>> => {
  if (/[/\\]/.test(command)) return lookAtFile(Path.resolve(cwd, command))
  const directories = path.split(Path.delimiter).filter((_) => _ !== "").slice(0, mostDirectories)
  for (const directory of directories) {
    for (const ending of endings) {
      const file = Path.resolve(cwd, directory, command + ending)
      if (await isFile(file) && await mayRun(file)) return lookAtFile(file)
    }
  }
  return [{ _tag: "CommandMissing", similar: similar(command, await programsIn(directories)) }]
}

const endings: ReadonlyArray<string> = process.platform === "win32" ? ["", ".exe", ".cmd", ".bat", ".com"] : [""]

/** Well-known ones come first, where they are there: they are what is meant most often. */
const programsIn = async (directories: ReadonlyArray<string>): Promise<Iterable<string>> => {
  const names = new Set<string>()
  for (const directory of directories) {
    for (const name of await Fs.readdir(directory).catch(() => [])) {
      if (names.size >= mostNames) return names
      names.add(process.platform === "win32" ? name.replace(/\.(?:exe|cmd|bat|com)$/i, "") : name)
    }
  }
  return names
}

const lookAtFile = async (file: string): Promise<ReadonlyArray<Finding>> => {
  if (!(await isFile(file)) || !(await mayRun(file))) return []
  const interpreter = await interpreterOf(file)
  return interpreter === undefined || await isThere(interpreter)
    ? []
    : [{ _tag: "InterpreterMissing", file, interpreter }]
}

const interpreterOf = async (file: string): Promise<string | undefined> => {
  const handle = await Fs.open(file, "r")
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(firstLineBytes), 0, firstLineBytes, 0)
    const found = /^#![ \t]*(\S+)(?:[ \t]+(\S+))?(?:[ \t]+(\S+))?/.exec(buffer.toString("utf8", 0, bytesRead))
    if (found === null) return undefined
    const [, program, first, second] = found
    return program !== undefined && /(?:^|\/)env$/.test(program) ? (first === "-S" ? second : first) : program
  } finally {
    await handle.close()
  }
}

const isThere = async (interpreter: string): Promise<boolean> => {
  if (interpreter.includes("/")) return isFile(interpreter)
  for (const directory of (process.env["PATH"] ?? "").split(Path.delimiter).slice(0, mostDirectories)) {
    if (await isFile(Path.resolve(directory, interpreter))) return true
  }
  return false
}

const interpreters =
  /^(?:node|nodejs|tsx|ts-node|bun|deno|python[\d.]*|py|ruby|perl|php|sh|bash|zsh|java)(?:\.exe|\.cmd)?$/i
const scripts = /\.(?:[cm]?[jt]sx?|py|pyz|rb|pl|php|sh|jar)$/i
const textFollows = new Set(["-e", "--eval", "-p", "--print", "-c", "-m", "-r", "--require", "--import", "--loader"])

/** The file that an interpreter is to run. What follows it is for the file, and may be a secret. */
const scriptOf = ({ args = [], command }: McpConfig.StdioConfig): string | undefined => {
  if (!interpreters.test(Path.basename(command))) return undefined
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    if (arg === "-e" || arg === "--eval" || arg === "-c" || arg === "-m") return undefined
    if (textFollows.has(arg)) i++
    else if (!arg.startsWith("-") && arg !== "run") return scripts.test(arg) && !isReference(arg) ? arg : undefined
  }
  return undefined
}

const lookForScript = async (file: string): Promise<ReadonlyArray<Finding>> => {
  if (await isFile(file)) return []
  const directory = Path.dirname(file)
  const names = await Fs.readdir(directory).catch((): Array<string> => [])
  const near = similar(Path.basename(file), names.slice(0, mostNames)).map((_) => Path.join(directory, _))
  const atHome = /(?:^|\/)~\//.test(file) ? Path.join(homedir(), file.slice(file.indexOf("~/") + 2)) : undefined
  return [{
    _tag: "ScriptMissing",
    file,
    similar: atHome !== undefined && await isFile(atHome) ? [atHome] : near
  }]
}
