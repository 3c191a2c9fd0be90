/**
 * The command as a real process, in a home and a directory of its own.
 */
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "./bundle.js"

/** The servers of the examples. */
export const example = (name: string): string =>
  fileURLToPath(new URL(`../../../../examples/servers/${name}`, import.meta.url))

export const notes = { command: process.execPath, args: [example("notes.mjs")] }
export const missing = { command: "no-such-program-anywhere" }

export interface Home {
  readonly directory: string
  readonly write: (name: string, text: string) => string
  /** Writes `.mcp.json`. */
  readonly servers: (servers: { readonly [name: string]: object }) => void
  readonly run: (args: ReadonlyArray<string>, options?: Options) => Effect.Effect<Result>
}

export interface Options {
  readonly env?: { readonly [name: string]: string } | undefined
  readonly stdin?: string | undefined
  /** Called with all of stderr each time there is more of it. */
  readonly onStderr?: ((stderr: string) => void) | undefined
  /** Sends Ctrl-C when it is aborted. */
  readonly until?: AbortController | undefined
}

export interface Result {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The one document on stdout, of whatever shape: a test says what it expects. */
  // eslint-disable-next-line typescript/no-explicit-any
  readonly json: () => any
}

/** After this a command is killed, and its test fails. */
const limit = 25_000

export const home: Effect.Effect<Home, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(tmpdir(), "mcp-runtime-cli-")))),
    (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => {
    const write = (name: string, text: string) => {
      const path = Path.join(directory, name)
      Fs.mkdirSync(Path.dirname(path), { recursive: true })
      Fs.writeFileSync(path, text)
      return path
    }
    return {
      directory,
      write,
      servers: (servers) => void write(".mcp.json", JSON.stringify({ mcpServers: servers })),
      run: (args, options = {}) => run(directory, args, options)
    }
  }
)

const run = (
  directory: string,
  args: ReadonlyArray<string>,
  { env, onStderr, stdin, until }: Options
): Effect.Effect<Result> =>
  Effect.async((resume) => {
    const child = spawn(process.execPath, [bundle(), ...args], {
      cwd: directory,
      env: {
        PATH: process.env.PATH,
        HOME: directory,
        TMPDIR: directory,
        XDG_CONFIG_HOME: Path.join(directory, "config"),
        XDG_CACHE_HOME: Path.join(directory, "cache"),
        XDG_DATA_HOME: Path.join(directory, "data"),
        ...env
      },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    until?.signal.addEventListener("abort", () => child.kill("SIGINT"))
    // Real time: the child knows no clock of ours.
    const timer = setTimeout(() => child.kill("SIGKILL"), limit)
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => stdout += chunk)
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk
      onStderr?.(stderr)
    })
    child.stdin.on("error", () => {})
    child.stdin.end(stdin ?? "")
    child.on("close", (code) => {
      clearTimeout(timer)
      resume(Effect.succeed({ code, stdout, stderr, json: () => parse(stdout, stderr) }))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      child.kill("SIGKILL")
    })
  })

const parse = (stdout: string, stderr: string): unknown => {
  try {
    return JSON.parse(stdout)
  } catch {
    return assert.fail(`stdout is no JSON document: ${stdout.slice(0, 2000)}\nstderr: ${stderr.slice(0, 2000)}`)
  }
}
